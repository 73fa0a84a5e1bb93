//! Random schedules: a chosen one, changed at random. Many are not legal; the caller checks.

use crate::Rng;
use deckle_ir::schedule::{Function, Grid, Item, Lanes, Level, Nest, Share, Take, Threads, Walk, Walks, When};

/// A function with other levels and conditions, over the same dimensions.
pub fn changed(function: &Function, rng: &mut Rng) -> Function {
    let threads = function.threads.map(|t| if rng.chance(40) { shared(t, rng) } else { t });
    let mut changed = Function { threads, walks: walks(&function.walks, false, rng), ..function.clone() };
    if function.threads.is_some_and(|t| in_rounds(t.share)) && !threads.is_some_and(|t| in_rounds(t.share)) {
        leave_rounds(&mut changed);
    }
    let on_grid = |threads: Option<Threads>| threads.is_some_and(|t| t.share.grid().is_some());
    if on_grid(function.threads) && !on_grid(threads) {
        changed.walks = apart(&changed.walks);
    }
    changed
}

/// The same walks where one thread takes all points: no dimensions are shared together.
pub fn apart(walks: &[Walk]) -> Walks {
    let one = |w: &Walk| match &w.nest {
        Nest::Level { level: Level::Joined, inside, .. } => {
            Walk { nest: Nest::level(Level::Serial, apart(inside), ""), ..w.clone() }
        }
        _ => w.clone(),
    };
    walks.iter().map(one).collect()
}

fn in_rounds(share: Share) -> bool {
    matches!(share.grid(), Some(Grid { take: Take::Rounds { .. }, .. }))
}

/// Takes out the walks that only blocks in rounds have: those of scans alone.
pub fn leave_rounds(function: &mut Function) {
    let scans_alone = |w: &&Walk| w.items.iter().all(|i| matches!(i, Item::Scan(_)));
    function.walks = function.walks.iter().filter(|w| !scans_alone(w)).cloned().collect();
}

/// Other threads, or blocks of other sizes.
fn shared(threads: Threads, rng: &mut Rng) -> Threads {
    if let Some(grid) = threads.share.grid() {
        return Threads { share: on_grid(grid, rng), ..threads };
    }
    let shares = [Share::One, Share::Blocks, Share::Rows, Share::Copies, Share::Owners];
    let share = if rng.chance(50) { shares[rng.below(shares.len())] } else { threads.share };
    Threads { share, block: threads.block.map(|_| rng.between(1, 40)), ..threads }
}

/// Another grid; for a function in which groups take points, for arrays of other sizes.
fn on_grid(grid: Grid, rng: &mut Rng) -> Share {
    let threads = 32 * rng.between(1, 4) as u32;
    let take = match (grid.take, rng.below(8)) {
        (Take::Tiles { across, deep, .. }, _) => Take::Tiles {
            rows: 1 << rng.below(4),
            columns: 1 << rng.below(4),
            across: across.min(threads / 2),
            deep: if rng.chance(50) { deep } else { 1 << rng.below(5) },
            at_least: rng.between(0, 9),
        },
        (Take::Groups { width, .. }, _) => {
            let width = match width {
                ..32 => 2 << rng.below(4),
                32 => 32,
                _ => threads,
            };
            Take::Groups { width, at_least: rng.between(0, 9) }
        }
        (Take::Runs { .. }, _) => Take::Runs { elements: rng.between(1, 40) as u32, at_least: rng.between(0, 9) },
        (_, 0) => return Share::One,
        (_, 1) => Take::Strided,
        (_, 2) => Take::Successive,
        (_, 3) => Take::Parts,
        (_, 6) => Take::Sorted,
        (_, 5) => Take::Rounds { each: rng.between(1, 5) as u32 },
        (_, 4) => Take::Binned { bytes: rng.between(1, 200) as u32 },
        (take, _) => take,
    };
    let split = grid.split.filter(|_| rng.chance(80)).map(|_| rng.between(1, 20));
    Share::Grid(Grid { threads, take, split })
}

fn walks(all: &[Walk], in_lanes: bool, rng: &mut Rng) -> Walks {
    all.iter().map(|w| Walk { nest: nest(&w.nest, in_lanes, rng), ..w.clone() }).collect()
}

fn nest(nest: &Nest, in_lanes: bool, rng: &mut Rng) -> Nest {
    match nest {
        Nest::When(_, then, other) if in_lanes || rng.chance(25) => {
            self::nest(if rng.chance(50) { then } else { other }, in_lanes, rng)
        }
        Nest::When(when, then, other) => {
            let when = match when {
                When::Fewer(_) => When::Fewer(rng.between(0, 9)),
                When::AtLeast(_) => When::AtLeast(rng.between(0, 9)),
                When::Elements(_) => When::Elements(rng.between(0, 40)),
                When::Tiles { deepest, .. } => When::Tiles { least: rng.between(0, 4), deepest: *deepest },
                When::Interior => When::Interior,
            };
            Nest::when(when, self::nest(then, false, rng), self::nest(other, false, rng))
        }
        Nest::Level { level, inside, .. } => {
            let level =
                if rng.chance(if in_lanes { 20 } else { 60 }) { any_level(*level, in_lanes, rng) } else { *level };
            let vectors = matches!(level, Level::Lanes(_) | Level::Windows { .. } | Level::Tile { .. });
            let new = Nest::level(level, walks(inside, in_lanes || vectors, rng), "");
            match in_lanes || rng.chance(80) {
                true => new,
                // Some points in one way, some in another.
                false => Nest::when(When::Fewer(rng.between(0, 9)), self::nest(nest, false, rng), new),
            }
        }
    }
}

fn any_level(level: Level, in_lanes: bool, rng: &mut Rng) -> Level {
    let power = |rng: &mut Rng, most: usize| 1u16 << rng.below(most + 1);
    let lanes = |rng: &mut Rng| Lanes {
        width: power(rng, 4).max(2),
        vectors: power(rng, 3),
        apart: rng.chance(30),
        non_temporal: rng.chance(10),
        masked: rng.chance(20),
    };
    let new = match (level, rng.below(if in_lanes { 3 } else { 9 })) {
        (Level::Group, 1..9) => Level::Group,
        (Level::Joined, 3..9) => Level::Joined,
        (_, 0) => Level::Serial,
        (_, 1) => Level::Independent,
        (_, 2) => Level::Unrolled,
        (Level::Tile { .. }, 3..6) => Level::Tile { rows: rng.between(1, 8) as u16, columns: lanes(rng) },
        (Level::Windows { .. }, 3..6) => {
            let width = power(rng, 4).max(2);
            let staged = if rng.chance(50) { rng.between(1, 40) as u16 } else { 0 };
            Level::Windows { rows: width * power(rng, 4), width, crosswise: rng.chance(50), staged }
        }
        (_, 3) => Level::Accumulators(power(rng, 4)),
        (_, 4) if rng.chance(50) => Level::Joined,
        (_, 4) => Level::Lines { together: rng.between(1, 3) as u16, non_temporal: rng.chance(50) },
        _ => Level::Lanes(lanes(rng)),
    };
    // In lanes, loops stay serial or unrolled.
    if in_lanes && matches!(new, Level::Independent) { Level::Serial } else { new }
}
