//! Which schedules are legal: what may be asked of a kernel, chosen by the rules or given by hand.
//!
//! Every walk of a function is checked against the walks that the kernel has, and every level against what its items allow: an order that an operator forbids, lanes for what has none, more
//! memory than a tile has. A legal schedule gives the right result; which one is fast is a matter of [`super::cpu`].

use super::Chooser;
use crate::facts::lines::SuccessiveRows;
use crate::facts::{is_one_value, parts_of};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, Region, Sink, Space};
use deckle_ir::loops::Gathers;
use deckle_ir::schedule::{Item, Lanes, Level, Nest, Walk, Walks, When, find};

/// The most lanes of a vector, vectors of a round, rows of a tile, accumulators, and cache lines that leave together.
const MOST: [u16; 5] = [16, 8, 8, 16, 16];
/// The most elements that are loaded ahead: their buffers lie on the stack.
const MOST_STAGED: u16 = 1 << 13;

/// Why a schedule is not legal.
type Legal = Result<(), String>;

impl Chooser<'_> {
    /// Whether walks that are given can replace those that were chosen.
    pub(crate) fn legal(&mut self, given: &[Walk], chosen: &[Walk]) -> Legal {
        for walk in chosen {
            let Some(given) = find(given, walk.dim, &walk.items) else {
                return Err(format!("there is no walk {}", heading(walk)));
            };
            match (&given.nest, &walk.nest) {
                // Points on their own: what is traversed there does not follow from items.
                (Nest::Level { level, inside, .. }, Nest::Level { level: own, inside: wanted, .. })
                    if walk.items.is_empty() && level == own =>
                {
                    self.legal(inside, wanted)?;
                }
                _ => self.legal_nest(given, &given.nest)?,
            }
        }
        for walk in given {
            if find(chosen, walk.dim, &walk.items).is_none() {
                return Err(format!("nothing needs the walk {}", heading(walk)));
            }
        }
        Ok(())
    }

    fn legal_nest(&mut self, walk: &Walk, nest: &Nest) -> Legal {
        let (dim, items) = (walk.dim, &walk.items[..]);
        let no = |why: &str| Err(format!("`{}` {}: {why}", first_of(nest), heading(walk)));
        match nest {
            Nest::When(When::Interior, then, other) if !self.vectors && !items.is_empty() => {
                let dims = match self.interior_on_grid(dim, items, (then, other)) {
                    Ok(dims) => dims,
                    Err(why) => return no(&why),
                };
                let count = self.facts.assume_interiors(&dims, items);
                let within = if count == 0 { no("it has no edges") } else { self.legal_nest(walk, then) };
                (0..count).for_each(|_| self.facts.forget_last());
                within?;
                self.legal_nest(walk, other)
            }
            Nest::When(..) if !self.vectors || items.is_empty() => no("all points are traversed in one way here"),
            Nest::When(When::Interior, then, other) => {
                if items.iter().any(|i| self.facts.adds_floats(dim, *i)) {
                    return no("floats that are combined along it would be grouped differently");
                }
                let Some(interior) = self.facts.interior(dim, items) else { return no("it has no edges") };
                let flat = items.iter().all(|i| self.facts.space_of(*i) == dim);
                let serial = |n: &Nest| matches!(n, Nest::Level { level: Level::Serial, .. });
                if !(flat || serial(then) && serial(other)) {
                    return no("there are inner dimensions, so that both sides are serial");
                }
                self.facts.assume(interior);
                let within = self.legal_nest(walk, then);
                self.facts.forget_last();
                within?;
                self.legal_nest(walk, other)
            }
            Nest::When(when, then, other) => {
                let tile = matches!(**then, Nest::Level { level: Level::Tile { .. }, .. });
                match when {
                    When::Tiles { least: 0.., deepest }
                        if tile && (0..=self.facts.cuts.deepest_tile).contains(deepest) => {}
                    When::Fewer(0..) | When::AtLeast(0..) if !tile => {}
                    When::Elements(0..) if !tile && self.facts.rows_side_by_side(dim, items).is_some() => {}
                    When::Elements(_) => return no("no rows are written side by side"),
                    _ => return no("a tile needs `tiles`, and its memory bounds how deep it is"),
                }
                self.legal_nest(walk, then)?;
                self.legal_nest(walk, other)
            }
            Nest::Level { level, inside, .. } => {
                if let Err(why) = self.legal_level(dim, items, *level) {
                    return no(&why);
                }
                let wanted = match self.wanted_inside(dim, items, *level) {
                    Ok(wanted) => wanted,
                    Err(why) => return no(why),
                };
                let vectors = self.vectors;
                self.vectors &= !has_lanes(*level);
                let legal = match level {
                    // The rows that are on their own have all levels, what is in lanes has none.
                    Level::Windows { .. } => self.legal_windows(dim, items, inside, &wanted, vectors),
                    _ => self.legal(inside, &wanted),
                };
                self.vectors = vectors;
                if let (Level::Lines { .. }, Some(rows)) = (level, self.facts.successive_rows(dim, items))
                    && !writes_in_order(inside, &rows)
                {
                    return no("what rows write is gathered in order: by `serial`, or by `lanes` side by side");
                }
                legal
            }
        }
    }

    /// What has to be traversed at the points of a level.
    pub(super) fn wanted_inside(&mut self, dim: Space, items: &[Item], level: Level) -> Result<Walks, &'static str> {
        match level {
            Level::Windows { .. } => match self.facts.short_rows(dim, items) {
                Some(short) => Ok(self.inside_windows(dim, items, &short)),
                None => Err("it has no rows to fold"),
            },
            Level::Tile { .. } => match self.facts.tiled(dim, items) {
                Some(tiled) => Ok(self.inside_lanes(tiled.columns, items)),
                None => Err("it cannot be tiled"),
            },
            _ if has_lanes(level) => Ok(self.inside_lanes(dim, items)),
            _ => Ok(self.inside(dim, items)),
        }
    }

    fn legal_windows(&mut self, dim: Space, items: &[Item], given: &[Walk], wanted: &[Walk], vectors: bool) -> Legal {
        let Some(short) = self.facts.short_rows(dim, items) else { return Err(format!("{dim} has no rows to fold")) };
        let own = |w: &Walk| w.items.iter().any(|i| matches!(i, Item::Fold(n) if short.folds.contains(n)));
        let split = |walks: &[Walk]| walks.iter().cloned().partition::<Vec<Walk>, _>(own);
        let ((given, given_lanes), (wanted, wanted_lanes)) = (split(given), split(wanted));
        self.legal(&given_lanes, &wanted_lanes)?;
        self.vectors = vectors;
        self.legal(&given, &wanted)
    }

    pub(super) fn legal_level(&mut self, dim: Space, items: &[Item], level: Level) -> Legal {
        let no = |why: &str| Err(why.to_string());
        if self.is_in_group(dim) {
            self.legal_in_group(items, level)?;
        }
        let one_by_one = match level {
            Level::Serial | Level::Independent | Level::Unrolled | Level::Group => true,
            level => level == Level::Joined && self.is_joined(dim),
        };
        if !self.vectors && !one_by_one {
            return no("points are traversed one by one here");
        }
        match level {
            Level::Serial => Ok(()),
            Level::Independent if self.facts.serial_level(dim, items) == Level::Serial => {
                no("the order of points matters")
            }
            Level::Independent => Ok(()),
            Level::Unrolled if !self.facts.written_out(dim) => no("its number of points is not known to be small"),
            Level::Unrolled => Ok(()),
            Level::Joined if self.is_joined(dim) => Ok(()),
            Level::Joined if self.facts.joined_rows(dim, items).is_none() => {
                no("there are no rows whose elements could be in any row")
            }
            Level::Joined => Ok(()),
            Level::Lines { together, .. } => match self.facts.successive_rows(dim, items) {
                None => no("no rows are written side by side"),
                Some(_) if !(1..=MOST[4]).contains(&together) => no("a buffer has a few lines"),
                Some(_) => Ok(()),
            },
            Level::Accumulators(n) => {
                let can = |i: &Item| {
                    let Item::Fold(f) = i else { return false };
                    self.facts.space_of(*i) == dim && matches!(parts_of(self.facts.p, *f), Ok((_, _, Combine::Ops(_))))
                };
                match is_power(n, MOST[3]) && items.iter().all(can) {
                    true => Ok(()),
                    false => no("only folds with operators have accumulators, a power of two"),
                }
            }
            Level::Group if !self.is_in_group(dim) => no("no group takes the point around it"),
            Level::Group => Ok(()),
            Level::Lanes(lanes) => self.legal_lanes(dim, items, lanes),
            Level::Windows { rows, width, crosswise, staged } => {
                let Some(short) = self.facts.short_rows(dim, items) else { return no("it has no rows to fold") };
                let plain = items.iter().all(|i| matches!(i, Item::Sink(_)) && self.facts.space_of(*i) == dim);
                if !plain
                    || !is_power(width, MOST[0])
                    || width < 2
                    || rows < width
                    || rows % width != 0
                    || crosswise && !short.side_by_side
                {
                    return no(
                        "rows in windows are a multiple of the lanes, and nothing is carried from one to the next",
                    );
                }
                if staged > 0 && (short.ahead.is_none() || staged > MOST_STAGED) {
                    return no(
                        "only a few thousand gathered elements that do not depend on their row are loaded ahead",
                    );
                }
                self.can_be_lanes(dim, items, Some((short.dim, &short.folds))).map(|_| ())?;
                self.can_be_lanes(short.dim, &short.items(), None).map(|_| ())
            }
            Level::Tile { rows, columns } => {
                let Some(tiled) = self.facts.tiled(dim, items) else { return no("it cannot be tiled") };
                if !(1..=MOST[2]).contains(&rows) || columns.apart || columns.non_temporal || columns.masked {
                    return no("a tile has a few rows, and full vectors of columns side by side");
                }
                self.legal_lanes(tiled.columns, items, columns)
            }
        }
    }

    fn legal_lanes(&mut self, dim: Space, items: &[Item], lanes: Lanes) -> Legal {
        let Lanes { width, vectors, apart, non_temporal, masked } = lanes;
        if !is_power(width, MOST[0]) || width < 2 || !is_power(vectors, MOST[1]) {
            return Err("lanes and vectors are powers of two, and not too many".into());
        }
        let deep = self.can_be_lanes(dim, items, None)?;
        let folds = items.iter().any(|i| matches!(i, Item::Fold(_)));
        let scans = items.iter().any(|i| matches!(i, Item::Scan(_)));
        if vectors > 1 && (scans || deep && folds) {
            return Err("one vector after another adds to what is carried".into());
        }
        if masked && (vectors > 1 || non_temporal) {
            return Err("rounds under a mask have one vector, and usual stores".into());
        }
        let flat = items.iter().all(|i| self.facts.space_of(*i) == dim);
        if apart && (vectors == 1 || deep || scans || !flat) {
            return Err("only points without loops or conditions can be read in several places".into());
        }
        let aligned = |c: &mut Self| c.streaming(dim, items).is_some_and(|(l, _)| l.non_temporal && l.width == width);
        if non_temporal && !aligned(self) {
            return Err("non-temporal stores write arrays from one end to the other, a register at a time".into());
        }
        Ok(())
    }

    /// Whether items can be computed in lanes, apart from rows that are folded on their own: then, whether there are loops inside.
    fn can_be_lanes(
        &mut self,
        dim: Space,
        items: &[Item],
        apart_from: Option<(Space, &[Node])>,
    ) -> Result<bool, String> {
        let p = self.facts.p;
        let no = |why: &str| Err(why.to_string());
        let is_guard = |s: &Space| matches!(p.space(*s).region, Region::Guard(..));
        if !items.iter().all(|i| p.between(dim, self.facts.space_of(*i)).iter().all(is_guard)) {
            return no("there are inner dimensions");
        }
        for item in items {
            match item {
                Item::Fold(n) | Item::Scan(n) => {
                    if !matches!(parts_of(p, *n)?, (_, _, Combine::Ops(_))) {
                        return no("functions are combined one after another");
                    }
                }
                Item::Sink(i) => match &self.facts.sinks[*i] {
                    sink @ Sink::Scatter { .. } if !is_one_value(p, sink) || self.gathers != Gathers::Native => {
                        return no("what is combined into memory is combined one after another");
                    }
                    _ => {}
                },
            }
        }
        let mut inside = self.facts.needed_inside(dim, items);
        if let Some((row, folds)) = apart_from {
            inside.retain(|n| !folds.contains(n) && !p.encloses(row, p.space_of(*n)));
        }
        let guarded = items.iter().any(|i| self.facts.space_of(*i) != dim);
        let scans = items.iter().any(|i| matches!(i, Item::Scan(_)));
        let rows = self.rows;
        self.facts.in_lanes_of(dim, |facts| {
            let mut deep = false;
            for n in inside {
                match &p.node(n).op {
                    Op::Scan { .. } if !items.contains(&Item::Scan(n)) => {
                        return no("a scan in an inner dimension takes one element after another");
                    }
                    Op::Loop { .. } => deep = true,
                    Op::Fold { over, .. } => {
                        deep = true;
                        for inner in p.between(p.space_of(n), *over) {
                            match p.space(inner).region {
                                Region::Dim(size) if facts.varies(size) || rows == Some(inner) => {
                                    return no("rows inside differ in length");
                                }
                                Region::Dim(_) | Region::Guard(..) => {}
                                _ => return no("the inner fold is not over a dimension"),
                            }
                        }
                    }
                    Op::Binary(BinOp::Pow, a, _) if !p.ty(*a).is_float() => {
                        return no("powers of integers have no lanes");
                    }
                    _ => {}
                }
            }
            match deep && (guarded || scans) {
                true => no("loops inside need all lanes"),
                false => Ok(deep),
            }
        })
    }
}

/// Whether the points of a level are in lanes.
fn has_lanes(level: Level) -> bool {
    matches!(level, Level::Lanes(_) | Level::Windows { .. } | Level::Tile { .. })
}

/// Whether a number is a power of two up to a limit.
fn is_power(n: u16, most: u16) -> bool {
    n.is_power_of_two() && n <= most
}

/// Whether the walks at the points of a dimension write the elements of rows from the first to the last.
pub(super) fn writes_in_order(walks: &[Walk], rows: &SuccessiveRows) -> bool {
    fn in_order(nest: &Nest) -> bool {
        match nest {
            Nest::When(_, then, other) => in_order(then) && in_order(other),
            Nest::Level { level: Level::Lanes(lanes), .. } => !lanes.apart && !lanes.non_temporal,
            Nest::Level { level, .. } => matches!(level, Level::Serial | Level::Unrolled),
        }
    }
    let writes = |w: &&Walk| w.items.iter().any(|i| matches!(i, Item::Sink(k) if rows.sinks.contains(k)));
    walks.iter().filter(writes).all(|w| in_order(&w.nest))
}

fn heading(walk: &Walk) -> String {
    let items: Vec<String> = walk.items.iter().map(Item::to_string).collect();
    format!("over {} for {}", walk.dim, if items.is_empty() { "points on their own".into() } else { items.join(", ") })
}

fn first_of(nest: &Nest) -> String {
    match nest {
        Nest::When(when, ..) => format!("when {when}"),
        Nest::Level { level, .. } => level.to_string(),
    }
}
