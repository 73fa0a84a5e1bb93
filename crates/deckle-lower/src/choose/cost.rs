//! About how long a level takes, and what another one would: for people who read a schedule, and wonder.
//!
//! A point takes as long as what bounds it most: the instructions that a core issues, the wait of one value that is carried for the next, or, where a condition says that arrays do not fit the caches, their
//! bytes. To it is added what the walks inside take: the points that they are known to have before running, else [`MANY`], or [`ROW`] where rows differ in length, times what each of these takes. What another
//! level would have inside is what the rules choose there. Rules decide, not these numbers; where the two disagree, one of them is worth looking at.

use super::Chooser;
use crate::facts::{is_transcendental, parts_of};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Op, ROOT, Region, Sink, Space};
use deckle_ir::loops::Gathers;
use deckle_ir::schedule::{Instead, Item, Lanes, Level, Nest, Walk, Walks, When, Why};

/// The instructions that a core issues in a cycle: scalar ones, and those on vectors.
const ISSUED: [f64; 2] = [4.0, 2.0];
/// The cycles from one sum of floats, or of integers, to the next that needs it.
const WAIT: [f64; 2] = [4.0, 1.0];
/// The instructions of a transcendental function, of a division, and of the end of a round.
const FUNCTION: f64 = 24.0;
const DIVISION: f64 = 8.0;
const ROUND: f64 = 2.0;
/// The instructions for each lane of a gather: where the processor is good at it, and where not.
const GATHER: [f64; 2] = [1.0, 3.0];
/// The bytes that a core gets from memory in a cycle.
const BYTES: f64 = 5.0;
/// The points of a dimension of which nothing is known, and of a row inside another dimension where rows differ in length. A walk over rows is compared for long ones: short ones are in windows.
const MANY: f64 = 4096.0;
const ROW: f64 = 8.0;
/// The instructions by which the lanes of a row are combined with those of others, crosswise.
const CROSSWISE: f64 = 3.0;
/// The points at the edges of one.
const EDGES: f64 = 2.0;

/// What a point takes, without the walks inside.
#[derive(Default)]
struct Body {
    /// What is read and written side by side, in bytes.
    bytes: f64,
    instructions: f64,
    /// Those that are the same for all points of the dimension whose points are lanes.
    uniform: f64,
    /// Gathered elements.
    gathers: f64,
    /// Whether LLVM's vectoriser is unlikely to take it.
    uneven: bool,
    /// The cycles from one value that is carried to the next, if any is, and whether scans are among them.
    wait: f64,
    scans: bool,
}

/// Vectors that compute the points of a dimension around a walk.
#[derive(Clone, Copy)]
struct Around {
    dim: Space,
    lanes: Lanes,
    /// The rows of a tile, which share what columns read.
    rows: f64,
}

impl Chooser<'_> {
    /// The same walks, each level with what the best other one would cost.
    pub(crate) fn compared(&mut self, walks: &[Walk]) -> Walks {
        let mut compared = |w: &Walk| {
            let points = self.facts.points_of(w.dim).map_or(MANY, |n| n as f64);
            Walk { nest: self.compared_nest(w, &w.nest, points), ..w.clone() }
        };
        walks.iter().map(&mut compared).collect()
    }

    /// About how many points a dimension has at each point around it.
    fn points_in(&mut self, dim: Space) -> f64 {
        let p = self.facts.p;
        let Region::Dim(size) = p.space(dim).region else { return 1.0 };
        match self.facts.points_of(dim) {
            Some(n) => n as f64,
            None if p.space(dim).offsets.is_some() || p.space_of(size) != ROOT => ROW,
            None => MANY,
        }
    }

    /// About how many of them are traversed where a condition holds, and where it does not: infinitely many if their arrays do not fit the caches.
    fn divided(when: When, points: f64) -> [f64; 2] {
        match when {
            // Fewer than it says, or at the edges: a few.
            When::Fewer(n) => [points.min(n as f64 / 2.0), points],
            When::Interior => [points, EDGES],
            When::AtLeast(_) | When::Elements(_) => [f64::INFINITY, points],
            When::Tiles { .. } => [points; 2],
        }
    }

    /// The same for a nest with about as many points.
    fn compared_nest(&mut self, walk: &Walk, nest: &Nest, points: f64) -> Nest {
        match nest {
            Nest::When(when, then, other) => {
                let [yes, no] = Self::divided(*when, points);
                let (then, other) = (self.compared_nest(walk, then, yes), self.compared_nest(walk, other, no));
                Nest::when(*when, then, other)
            }
            Nest::Level { level, inside, why } => {
                let instead = match walk.items.is_empty() {
                    // Points on their own have no other way.
                    true => None,
                    false => self.instead(walk, (*level, inside), points.max(1.0)),
                };
                // In lanes, loops are serial: there is no other way.
                let in_lanes = matches!(level, Level::Lanes(_) | Level::Tile { .. });
                let inside = if in_lanes { inside.clone() } else { self.compared(inside) };
                Nest::Level { level: *level, inside, why: Why { instead, ..*why } }
            }
        }
    }

    /// The best other level.
    fn instead(&mut self, walk: &Walk, (chosen, inside): (Level, &Walks), points: f64) -> Option<Instead> {
        let (dim, items) = (walk.dim, &walk.items[..]);
        let cuts = self.facts.cuts;
        let width = (cuts.register / self.width_of(items)).clamp(2, cuts.lanes) as u16;
        let lanes = [1, cuts.vectors].map(|vectors| Level::Lanes(Lanes { vectors, ..Lanes::of_width(width) }));
        let turns = Level::Accumulators(cuts.accumulators as u16);
        let windows = Level::Windows { rows: cuts.row_window, width, crosswise: false, staged: 0 };
        let others = [Level::Serial, Level::Unrolled, Level::Independent, turns, lanes[0], lanes[1], windows];
        let in_vectors = |level: Level| !matches!(level, Level::Serial | Level::Unrolled | Level::Accumulators(_));
        let mut best: Option<(Level, f64)> = None;
        for level in others {
            // Other vectors are no other way.
            let alike = level == chosen || in_vectors(level) && in_vectors(chosen);
            if alike || self.legal_level(dim, items, level).is_err() {
                continue;
            }
            let Ok(inside) = self.wanted_inside(dim, items, level) else { continue };
            let cycles = self.cycles((dim, items), (level, &inside), points);
            if best.is_none_or(|(_, least)| cycles < least) {
                best = Some((level, cycles));
            }
        }
        let (level, cycles) = best?;
        let chosen = self.cycles((dim, items), (chosen, inside), points);
        Some(Instead { level, times: (cycles / chosen) as f32 })
    }

    /// About how many cycles a point takes, with what is inside.
    fn cycles(&mut self, (dim, items): (Space, &[Item]), (level, inside): (Level, &Walks), points: f64) -> f64 {
        let body = self.body((dim, items), None);
        let bytes = if points.is_finite() { 0.0 } else { body.bytes };
        let points = points.min(MANY);
        let width = (self.facts.cuts.register / self.width_of(items)).clamp(2, self.facts.cuts.lanes) as u16;
        let gather = self.gather();
        let scalar = |round: f64, chains: f64| {
            let issued = (body.instructions + body.gathers + round) / ISSUED[0];
            issued.max(body.wait / chains)
        };
        // Of the last vector, some lanes are empty.
        let full = |width: u16| points / ((points / f64::from(width)).ceil() * f64::from(width));
        let lanes = |width: u16, vectors: u16| {
            let full = full(width);
            let (width, vectors) = (f64::from(width), f64::from(vectors));
            let steps = if body.scans { 2.0 * width.log2() } else { 0.0 };
            let vector = body.instructions + steps + body.gathers * width * gather;
            let issued = (vector / ISSUED[1] + ROUND / ISSUED[0] / vectors) / width;
            // A scan carries what the vector before has added up to; the lanes of a fold are combined at its end.
            let chains = if body.scans { 1.0 } else { vectors };
            issued.max(body.wait / width / chains) / full + body.wait * width.log2() / points
        };
        let busy = match level {
            Level::Serial | Level::Joined | Level::Lines { .. } => scalar(ROUND, 1.0),
            Level::Unrolled => scalar(0.0, 1.0),
            Level::Accumulators(n) => scalar(ROUND / f64::from(n), f64::from(n)),
            Level::Independent if body.uneven || body.gathers > 0.0 => scalar(ROUND, 1.0),
            Level::Independent => lanes(width, self.facts.cuts.vectors),
            Level::Lanes(l) => lanes(l.width, l.vectors),
            Level::Windows { width, .. } => lanes(width, 1),
            // What is stored is that of the columns.
            Level::Tile { .. } => 0.0,
            // Nothing is estimated for GPUs, where levels are not compared.
            Level::Group => f64::INFINITY,
        };
        let deeper = match level {
            Level::Lanes(l) => {
                let around = Around { dim, lanes: l, rows: 1.0 };
                self.rounds(inside, around) / f64::from(l.round()) / full(l.width)
            }
            Level::Windows { width, crosswise, staged, .. } => {
                self.in_windows((dim, items), inside, (width, crosswise, staged > 0))
            }
            Level::Tile { rows, columns } => self.in_tiles((dim, items), inside, (rows, columns)),
            _ => inside.iter().map(|w| self.traversal(w)).sum(),
        };
        (busy + deeper).max(bytes / BYTES)
    }

    /// About how many cycles it takes to traverse a dimension once.
    fn traversal(&mut self, walk: &Walk) -> f64 {
        let points = self.points_in(walk.dim);
        let mut nest = &walk.nest;
        loop {
            nest = match nest {
                Nest::Level { level, inside, .. } => {
                    return points * self.cycles((walk.dim, &walk.items), (*level, inside), points);
                }
                Nest::When(When::Fewer(n), then, other) => {
                    if points < *n as f64 {
                        then
                    } else {
                        other
                    }
                }
                // Arrays that are traversed again and again fit the caches.
                Nest::When(When::AtLeast(_) | When::Elements(_), _, other) => other,
                Nest::When(When::Interior | When::Tiles { .. }, then, _) => then,
            }
        }
    }

    /// About how many cycles the walks inside take for a round of vectors.
    fn rounds(&mut self, walks: &[Walk], around: Around) -> f64 {
        walks.iter().map(|w| self.round(w, around)).sum()
    }

    fn round(&mut self, walk: &Walk, around: Around) -> f64 {
        let Nest::Level { level, inside, .. } = &walk.nest else { return f64::INFINITY };
        let body = self.body((walk.dim, &walk.items), Some(around));
        let (width, vectors) = (f64::from(around.lanes.width), f64::from(around.lanes.vectors));
        let vector = vectors * (body.instructions + body.gathers * width * self.gather());
        let end = if *level == Level::Unrolled { 0.0 } else { ROUND };
        let issued = vector / ISSUED[1] + (body.uniform + end / around.rows) / ISSUED[0];
        let point = issued.max(body.wait / around.rows) + self.rounds(inside, around);
        self.points_in(walk.dim) * point
    }

    /// About how many cycles what is inside takes for a row of a window.
    fn in_windows(
        &mut self,
        (dim, items): (Space, &[Item]),
        inside: &[Walk],
        (width, crosswise, staged): (u16, bool, bool),
    ) -> f64 {
        let Some(short) = self.facts.short_rows(dim, items) else { return f64::INFINITY };
        let around = Around { dim, lanes: Lanes::of_width(width), rows: 1.0 };
        let mut cycles = 0.0;
        for walk in inside {
            let mine = walk.items.iter().any(|i| matches!(i, Item::Fold(n) if short.folds.contains(n)));
            cycles += match mine {
                false => self.round(walk, around) / f64::from(width),
                true if crosswise && ROW <= f64::from(width) => {
                    let body = self.body((walk.dim, &walk.items), None);
                    // What is loaded ahead is loaded one by one.
                    let gather = if staged { GATHER[0] } else { self.gather() };
                    let vector = body.instructions + CROSSWISE + body.gathers * ROW * gather;
                    vector / ISSUED[1]
                }
                true => self.traversal(walk),
            };
        }
        cycles
    }

    /// About how many cycles a row of a tile takes.
    fn in_tiles(&mut self, (dim, items): (Space, &[Item]), inside: &[Walk], (rows, lanes): (u16, Lanes)) -> f64 {
        let Some(tiled) = self.facts.tiled(dim, items) else { return f64::INFINITY };
        let around = Around { dim: tiled.columns, lanes, rows: f64::from(rows) };
        let body = self.body((tiled.columns, items), None);
        let column = body.instructions / ISSUED[1] / f64::from(lanes.width);
        self.points_in(tiled.columns) * (column + self.rounds(inside, around) / f64::from(lanes.round()))
    }

    /// The instructions for each lane of a gather.
    fn gather(&self) -> f64 {
        GATHER[usize::from(self.gathers != Gathers::Native)]
    }

    /// Whether something at or below the points of a dimension is in a dimension further in.
    fn is_deeper(&self, dim: Space, at: Space) -> bool {
        let p = self.facts.p;
        p.between(dim, at).iter().any(|s| matches!(p.space(*s).region, Region::Dim(_)))
    }

    /// What a point of a dimension takes, whose points are computed one by one or in lanes, or those of a dimension around it in lanes.
    fn body(&mut self, (dim, items): (Space, &[Item]), around: Option<Around>) -> Body {
        let lane = around.map_or(dim, |a| a.dim);
        let before = self.facts.set_lane(Some(lane));
        let body = self.body_in((dim, items), lane, around.map_or(1.0, |a| a.rows));
        self.facts.set_lane(before);
        body
    }

    fn body_in(&mut self, (dim, items): (Space, &[Item]), lane: Space, rows: f64) -> Body {
        let p = self.facts.p;
        let inside = self.facts.needed_inside(dim, items);
        let mut body = Body::default();
        for n in inside {
            if self.is_deeper(dim, p.space_of(n)) {
                continue;
            }
            // What is the same for all lanes is computed once.
            let uniform = lane != dim && !self.facts.varies(n);
            let cost = match &p.node(n).op {
                Op::Const(_) | Op::Pos | Op::Var(_) | Op::Part(..) | Op::Fold { .. } | Op::Scan { .. } => 0.0,
                Op::Load(_, at) if !self.facts.mentions(*at, lane) || self.facts.goes_along(*at, lane) => {
                    body.bytes += p.ty(n).bytes() as f64;
                    if uniform { 1.0 } else { 1.0 / rows }
                }
                Op::Load(..) => {
                    body.gathers += 1.0;
                    0.0
                }
                Op::Binary(BinOp::Div | BinOp::Rem, ..) => DIVISION,
                Op::If { .. } | Op::Loop { .. } => {
                    body.uneven = true;
                    0.0
                }
                _ if is_transcendental(p, n) => {
                    body.uneven = true;
                    FUNCTION
                }
                _ => 1.0,
            };
            if uniform {
                body.uniform += cost;
            } else {
                body.instructions += cost;
            }
            body.uneven |= matches!(p.space(p.space_of(n)).region, Region::Guard(..));
        }
        for item in items {
            if self.is_deeper(dim, self.facts.space_of(*item)) {
                continue;
            }
            match item {
                Item::Fold(n) | Item::Scan(n) => {
                    let floats = self.parts_are(*n, |p, e| p.ty(e).is_float());
                    body.wait = body.wait.max(WAIT[usize::from(!floats)]);
                    body.instructions += 1.0;
                    body.scans |= matches!(item, Item::Scan(_));
                }
                Item::Sink(_) => {
                    body.instructions += 1.0;
                    body.bytes += self.width_of(&[*item]) as f64;
                }
            }
        }
        body
    }

    fn parts_are(&self, n: Node, is: impl Fn(&deckle_ir::kernel::Program, Node) -> bool) -> bool {
        let p = self.facts.p;
        parts_of(p, n).is_ok_and(|(_, elems, _)| elems.iter().any(|e| is(p, *e)))
    }

    /// The bytes of the widest value that items take.
    fn width_of(&self, items: &[Item]) -> usize {
        let p = self.facts.p;
        let bytes = |nodes: &[Node]| nodes.iter().map(|n| p.ty(*n).bytes()).max().unwrap_or(1);
        let each = items.iter().map(|item| match item {
            Item::Fold(n) | Item::Scan(n) => parts_of(p, *n).map_or(1, |(_, elems, _)| bytes(elems)),
            Item::Sink(i) => match &self.facts.sinks[*i] {
                Sink::Write { value, .. } => bytes(&[*value]),
                Sink::Scatter { values, .. } => bytes(values),
                Sink::Check(_) => 1,
            },
        });
        each.max().unwrap_or(1).max(4)
    }
}
