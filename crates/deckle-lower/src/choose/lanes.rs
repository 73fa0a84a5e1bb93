//! Whether the points of a dimension can be computed in the lanes of vectors, whether that gains something, and how many vectors a round has.
//!
//! Points are computed in lanes where vectors gain something: loops or conditions inside, folds, rows of larger arrays; not where LLVM's vectoriser does as well, and not where gathers cost more than vectors save.
//! Width and number of vectors follow from what is computed, never from the data.

use super::Chooser;
use crate::facts::rows::ShortRows;
use crate::facts::{Rounds, has_branches, is_one_value, is_transcendental, parts_of};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, ROOT, Region, Sink, Space};
use deckle_ir::loops::Gathers;
use deckle_ir::schedule::{Item, Lanes};

/// Up to so many nodes at a point, a round has `Cuts::vectors` vectors: with more, their values do not fit the registers.
const SMALL_BODY: usize = 100;
/// So many additions should be in flight: a core has two units for them, each of which takes four cycles for one.
const CHAINS: u16 = 8;

/// How a dimension is traversed in lanes.
pub(super) struct Plan {
    pub lanes: Lanes,
    /// Whether there are loops inside, which all lanes share.
    pub deep: bool,
    /// The rows inside that are folded together.
    pub short: Option<ShortRows>,
}

impl Chooser<'_> {
    /// How to compute items of a dimension in lanes, if that is possible and worth it.
    pub(super) fn lanes(&mut self, dim: Space, items: &[Item]) -> Option<Plan> {
        let (p, cuts) = (self.facts.p, self.facts.cuts);
        // A few points are better unrolled.
        if self.facts.written_out(dim) {
            return None;
        }
        let is_guard = |s: &Space| matches!(p.space(*s).region, Region::Guard(..));
        if !items.iter().all(|i| p.between(dim, self.facts.space_of(*i)).iter().all(is_guard)) {
            return None;
        }
        let guarded = items.iter().any(|i| self.facts.space_of(*i) != dim);
        let folds = items.iter().any(|i| matches!(i, Item::Fold(_)));
        let scans = items.iter().any(|i| matches!(i, Item::Scan(_)));
        let widest = self.widest(items)?;
        let inside = self.facts.needed_inside(dim, items);
        let short = self.short(dim, items);
        let mut in_lanes = inside.clone();
        if let Some((short, _)) = &short {
            in_lanes.retain(|n| !short.folds.contains(n) && !p.encloses(short.dim, p.space_of(*n)));
        }
        let carries = folds || scans || guarded || short.is_some();
        let deep = self.judge(dim, &in_lanes, items, carries)?;
        if let Some((short, lanes)) = short {
            // What is folded over rows of which some were run before has to be added up in one order.
            let possible = !folds && !scans && !guarded;
            return possible.then_some(Plan { lanes, deep: true, short: Some(short) });
        }
        // What is folded may be wider than what it is computed from.
        let mut narrow = 0;
        for n in &inside {
            let works = matches!(p.node(*n).op, Op::Unary(..) | Op::Binary(..) | Op::Select(..) | Op::Fma(..));
            let bytes = p.ty(*n).bytes();
            narrow += match works && bytes > 1 {
                false => 0,
                true if bytes < widest => 1,
                true => -1,
            };
        }
        let widest = if folds && narrow > 0 { widest.min(4) } else { widest };
        let width = (cuts.register / widest).min(cuts.lanes) as u16;
        if deep && guarded {
            return None;
        }
        let vectors = match inside.len() {
            // One vector after another adds to a scan.
            _ if scans || deep && folds => 1,
            _ if deep => self.widening(dim, &inside),
            // The core looks ahead into the next rounds; more vectors are only more code.
            _ if inside.iter().any(|n| is_transcendental(p, *n)) => 1,
            0..=SMALL_BODY => cuts.vectors,
            _ => 2,
        };
        Some(Plan { lanes: Lanes { vectors, ..Lanes::of_width(width) }, deep, short: None })
    }

    /// The bytes of the widest value that items take, if all of them can be computed in lanes.
    fn widest(&mut self, items: &[Item]) -> Option<usize> {
        let p = self.facts.p;
        let mut widest = 1;
        for item in items {
            match item {
                Item::Fold(n) | Item::Scan(n) => {
                    let (_, elems, how) = parts_of(p, *n).ok()?;
                    if !matches!(how, Combine::Ops(_)) {
                        return None;
                    }
                    if matches!(item, Item::Scan(_)) && self.facts.is_packing(*n, items) {
                        continue;
                    }
                    widest = elems.iter().map(|e| p.ty(*e).bytes()).fold(widest, usize::max);
                }
                Item::Sink(i) => match &self.facts.sinks[*i] {
                    Sink::Write { value, .. } => widest = widest.max(p.ty(*value).bytes()),
                    Sink::Check(_) => {}
                    // In any order, if that does not matter.
                    sink if is_one_value(p, sink) && self.gathers == Gathers::Native => {
                        let (_, nodes) = p.sink_parts(sink);
                        widest = nodes.iter().map(|n| p.ty(*n).bytes()).fold(widest, usize::max);
                    }
                    Sink::Scatter { .. } => return None,
                },
            }
        }
        Some(widest)
    }

    /// The rows below a dimension that are folded together, and the lanes for them.
    fn short(&mut self, dim: Space, items: &[Item]) -> Option<(ShortRows, Lanes)> {
        let short = self.facts.short_rows(dim, items).filter(|s| !s.gathered || self.gathers != Gathers::Scalar)?;
        let plan = self.lanes(short.dim, &short.items()).filter(|p| !p.deep)?;
        Some((short, Lanes::of_width(plan.lanes.width)))
    }

    /// How many registers a vector should take with these nodes inside: enough that sums do not wait for each other, and not so many that they do not fit.
    fn widening(&mut self, dim: Space, inside: &[Node]) -> u16 {
        let mut sums = 0;
        for n in inside {
            match &self.facts.p.node(*n).op {
                Op::If { .. } => return 1,
                Op::Loop { space, .. } => match self.facts.in_lanes_of(dim, |facts| facts.rounds_of(*space)) {
                    Rounds::Same(vars) => sums += vars.iter().filter(|same| !**same).count(),
                    Rounds::Own => return 1,
                },
                Op::Fold { over, elems, .. } if !self.facts.written_out(*over) => sums += elems.len(),
                _ => {}
            }
        }
        match sums {
            0 => 1,
            // Rounded down to a power of two.
            _ => 1 << (usize::from(CHAINS) / sums).max(1).ilog2(),
        }
    }

    /// Whether the nodes of a dimension can be computed in lanes, and should be: if so, whether there is more in it than one vector of each.
    fn judge(&mut self, dim: Space, inside: &[Node], items: &[Item], carries: bool) -> Option<bool> {
        let before = self.facts.set_lane(Some(dim));
        let judged = self.judge_lanes(dim, inside, items, carries);
        self.facts.set_lane(before);
        judged
    }

    fn judge_lanes(&mut self, dim: Space, inside: &[Node], items: &[Item], carries: bool) -> Option<bool> {
        let (rows, p) = (self.rows, self.facts.p);
        let (mut deep, mut branches, mut slow, mut mine, mut theirs) = (false, false, false, 0, 0);
        let (mut beside, mut along) = (false, self.is_row(dim, items));
        let facts = &mut self.facts;
        for n in inside {
            let s = p.space_of(*n);
            match &p.node(*n).op {
                Op::Scan { .. } if !items.contains(&Item::Scan(*n)) => return None,
                Op::Loop { .. } => deep = true,
                Op::If { yes, .. } => branches |= facts.guard_holds(*yes).is_none(),
                Op::Fold { over, .. } => {
                    deep = true;
                    for inner in p.between(s, *over) {
                        match p.space(inner).region {
                            // Away from the edges, rows may be of one length. They are cut into blocks even so.
                            Region::Dim(size) if facts.varies(size) || rows == Some(inner) => return None,
                            Region::Dim(_) | Region::Guard(..) => {}
                            _ => return None,
                        }
                    }
                }
                Op::Binary(BinOp::Pow, a, _) if !p.ty(*a).is_float() => return None,
                // One lane after another.
                Op::Binary(BinOp::Div | BinOp::Rem, a, _) if !p.ty(*a).is_float() => along &= !facts.varies(*n),
                // These have branches for unusual numbers, around which nothing but lanes gets.
                Op::Binary(BinOp::Rem | BinOp::Pow, a, _) => slow |= p.ty(*a).is_float(),
                Op::Unary(op, _) => slow |= has_branches(*op),
                Op::Load(_, at) => {
                    let gathered = facts.varies(*at) && !facts.goes_along(*at, dim);
                    mine += usize::from(gathered);
                    along &= !gathered;
                    let own = matches!(p.space(s).region, Region::Dim(_)) && s != dim;
                    theirs += usize::from(own && facts.mentions(*at, s) && !facts.goes_along(*at, s));
                    // What is tested element by element is loaded side by side only in lanes.
                    beside |= s == dim && !facts.follows(*at, dim) && facts.goes_along(*at, dim);
                }
                _ => {}
            }
        }
        // Loads one by one for all lanes, of which few may count.
        let guarded = items.iter().any(|i| facts.space_of(*i) != dim);
        if guarded && mine > 0 && self.gathers != Gathers::Native {
            return None;
        }
        // A loop inside can have lanes of its own: better where it reads what lies side by side.
        let loops = inside.iter().any(|n| matches!(p.node(*n).op, Op::Loop { .. }));
        let scans = items.iter().any(|i| matches!(i, Item::Scan(_)));
        match (deep, carries || slow || branches || beside || along) {
            (false, true) => Some(false),
            (true, _) if scans => None,
            (true, _) if mine <= theirs || loops => Some(true),
            _ => None,
        }
    }

    /// Whether the points of a dimension are rows of larger arrays that are written one element after the other, of 32 bits or more. Such rows end anywhere, and not many vectors
    /// after they begin: the last points of each are a masked vector, which a vectoriser makes into loops of their own.
    fn is_row(&mut self, dim: Space, items: &[Item]) -> bool {
        let p = self.facts.p;
        let inner = p.between(ROOT, p.space(dim).parent).iter().any(|s| matches!(p.space(*s).region, Region::Dim(_)));
        let mut beside = |i: &Item| match i {
            Item::Sink(k) => match &self.facts.sinks[*k] {
                Sink::Write { at, value, .. } => p.ty(*value).bytes() >= 4 && self.facts.follows(*at, dim),
                _ => false,
            },
            _ => false,
        };
        inner && items.iter().all(&mut beside)
    }
}
