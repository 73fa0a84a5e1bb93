//! About how long a level takes, and what another one would: for people who read a schedule, and wonder.
//!
//! A point takes as long as what bounds it most: the instructions that a core issues, the wait of one value that is carried for the next, or, where a condition says that arrays do not fit the caches, their
//! bytes. Rules decide, not these numbers; where the two disagree, one of them is worth looking at.

use super::Chooser;
use crate::facts::{is_transcendental, parts_of};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Op, Region, Sink, Space};
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
/// The points of a dimension of which nothing is known.
const MANY: f64 = 4096.0;
/// The points at the edges of one.
const EDGES: f64 = 2.0;

/// What a point takes.
#[derive(Default)]
struct Body {
    /// About how many there are.
    points: f64,
    /// What is read and written side by side, in bytes.
    bytes: f64,
    instructions: f64,
    /// Loads from anywhere.
    gathers: f64,
    /// Whether LLVM's vectoriser is unlikely to take it.
    uneven: bool,
    /// The cycles from one value that is carried to the next, if any is, and whether scans are among them.
    wait: f64,
    scans: bool,
}

impl Chooser<'_> {
    /// The same walks; where a level has no loops inside, with what the best other one would cost.
    pub(crate) fn compared(&mut self, walks: &[Walk]) -> Walks {
        let mut compared = |w: &Walk| {
            let points = self.facts.points_of(w.dim).map_or(MANY, |n| n as f64);
            Walk { nest: self.compared_nest(w, &w.nest, points), ..w.clone() }
        };
        walks.iter().map(&mut compared).collect()
    }

    /// The same for a nest with about so many points; infinitely many if their arrays do not fit the caches.
    fn compared_nest(&mut self, walk: &Walk, nest: &Nest, points: f64) -> Nest {
        match nest {
            Nest::When(when, then, other) => {
                // Fewer than said, or at the edges: a few.
                let [yes, no] = match when {
                    When::Fewer(n) => [points.min(*n as f64 / 2.0), points],
                    When::Interior => [points, EDGES],
                    When::AtLeast(_) => [f64::INFINITY, points],
                    _ => [points; 2],
                };
                let (then, other) = (self.compared_nest(walk, then, yes), self.compared_nest(walk, other, no));
                Nest::when(*when, then, other)
            }
            Nest::Level { level, inside, why } if inside.is_empty() && !walk.items.is_empty() => {
                let instead = self.instead(walk.dim, &walk.items, *level, points.max(1.0));
                Nest::Level { level: *level, inside: inside.clone(), why: Why { instead, ..*why } }
            }
            Nest::Level { level, inside, why } => {
                // In lanes, loops are serial: there is no other way.
                let in_lanes = matches!(level, Level::Lanes(_) | Level::Tile { .. });
                let inside = if in_lanes { inside.clone() } else { self.compared(inside) };
                Nest::Level { level: *level, inside, why: *why }
            }
        }
    }

    /// The best other level.
    fn instead(&mut self, dim: Space, items: &[Item], chosen: Level, points: f64) -> Option<Instead> {
        let mut body = Body { points: points.min(MANY), ..self.body(dim, items) };
        if points.is_finite() {
            body.bytes = 0.0;
        }
        let cuts = self.facts.cuts;
        let width = (cuts.register / self.width_of(items)).clamp(2, cuts.lanes) as u16;
        let lanes = [1, cuts.vectors].map(|vectors| Level::Lanes(Lanes { vectors, ..Lanes::of_width(width) }));
        let turns = Level::Accumulators(cuts.accumulators as u16);
        let others = [Level::Serial, Level::Unrolled, Level::Independent, turns, lanes[0], lanes[1]];
        let in_vectors = |level: Level| !matches!(level, Level::Serial | Level::Unrolled | Level::Accumulators(_));
        let mut best: Option<(Level, f64)> = None;
        for level in others {
            // Other vectors are no other way.
            let alike = level == chosen || in_vectors(level) && in_vectors(chosen);
            if alike || self.legal_level(dim, items, level).is_err() {
                continue;
            }
            let cycles = self.cycles(&body, level, width);
            if best.is_none_or(|(_, least)| cycles < least) {
                best = Some((level, cycles));
            }
        }
        let (level, cycles) = best?;
        let chosen = self.cycles(&body, chosen, width);
        Some(Instead { level, times: (cycles / chosen) as f32 })
    }

    /// About how many cycles a point takes.
    fn cycles(&self, body: &Body, level: Level, width: u16) -> f64 {
        let scalar = |round: f64, chains: f64| {
            let issued = (body.instructions + body.gathers + round) / ISSUED[0];
            issued.max(body.wait / chains)
        };
        let lanes = |width: u16, vectors: u16| {
            let (width, vectors) = (f64::from(width), f64::from(vectors));
            // Of the last vector, some lanes are empty.
            let full = body.points / ((body.points / width).ceil() * width);
            let gather = GATHER[usize::from(self.gathers == Gathers::Emulated)];
            let steps = if body.scans { 2.0 * width.log2() } else { 0.0 };
            let vector = body.instructions + steps + body.gathers * width * gather;
            let issued = (vector / ISSUED[1] + ROUND / ISSUED[0] / vectors) / width;
            // A scan carries what the vector before has added up to; the lanes of a fold are combined at its end.
            let chains = if body.scans { 1.0 } else { vectors };
            issued.max(body.wait / width / chains) / full + body.wait * width.log2() / body.points
        };
        let busy = match level {
            Level::Serial => scalar(ROUND, 1.0),
            Level::Unrolled => scalar(0.0, 1.0),
            Level::Accumulators(n) => scalar(ROUND / f64::from(n), f64::from(n)),
            Level::Independent if body.uneven || body.gathers > 0.0 => scalar(ROUND, 1.0),
            Level::Independent => lanes(width, self.facts.cuts.vectors),
            Level::Lanes(l) => lanes(l.width, l.vectors),
            Level::Windows { width, .. } => lanes(width, 1),
            Level::Tile { columns, .. } => lanes(columns.width, columns.vectors),
        };
        busy.max(body.bytes / BYTES)
    }

    fn body(&mut self, dim: Space, items: &[Item]) -> Body {
        let p = self.facts.p;
        let inside = self.facts.needed_inside(dim, items);
        let mut body = Body::default();
        for n in inside {
            match &p.node(n).op {
                Op::Const(_) | Op::Pos | Op::Var(_) | Op::Part(..) | Op::Fold { .. } | Op::Scan { .. } => {}
                Op::Load(_, at) if !self.facts.mentions(*at, dim) || self.facts.goes_along(*at, dim) => {
                    body.instructions += 1.0;
                    body.bytes += p.ty(n).bytes() as f64;
                }
                Op::Load(..) => body.gathers += 1.0,
                Op::Binary(BinOp::Div | BinOp::Rem, ..) => body.instructions += DIVISION,
                Op::If { .. } | Op::Loop { .. } => body.uneven = true,
                _ if is_transcendental(p, n) => {
                    body.instructions += FUNCTION;
                    body.uneven = true;
                }
                _ => body.instructions += 1.0,
            }
            body.uneven |= matches!(p.space(p.space_of(n)).region, Region::Guard(..));
        }
        for item in items {
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
