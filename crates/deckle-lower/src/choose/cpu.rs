//! The rules for cores with vector registers.
//!
//! A rule looks at a dimension and the items that are traversed along it, and gives a nest or passes. The first that gives one decides:
//!
//! 1. the interior apart from the edges, where clamps and comparisons of positions have no effect away from these ([`Chooser::nest`]);
//! 2. non-temporal stores, where arrays larger than the caches are written from one end to the other ([`Chooser::streaming`]);
//! 3. several accumulators, where gathered elements are folded and gathers are slow ([`Chooser::takes_turns`]);
//! 4. lanes, where points are independent and vectors gain something ([`Chooser::lanes`]): loops or conditions inside, folds, rows of larger arrays; rows of different lengths below them in windows;
//! 5. tiles, where two dimensions share what they read;
//! 6. a serial loop.
//!
//! Width and number of vectors decide in which order floats are combined: they follow from the program, never from the data or the threads.

use super::Chooser;
use crate::facts::rows::ShortRows;
use crate::facts::{has_branches, is_one_value, is_plain, is_transcendental, parts_of};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, ROOT, Region, Sink, Space};
use deckle_ir::loops::Gathers;
use deckle_ir::schedule::{Item, Lanes, Level, Nest, Walks, When};
use std::collections::BTreeSet;

/// Up to so many nodes at a point, a round has `Cuts::vectors` vectors: with more, their values do not fit the registers.
const SMALL_BODY: usize = 100;
/// Up to so many nodes for each gathered element, loads bound the loop and vectors do not help.
const NODES_PER_GATHER: usize = 24;
/// Up to so many nodes in a row, the code for a short row is unrolled for each lane.
const SMALL_ROW: usize = 16;
/// A core reads up to so many arrays in several places at once faster than in one.
const STREAMS: usize = 3;

/// How a dimension is traversed in lanes.
struct Plan {
    lanes: Lanes,
    /// Whether there are loops inside, which all lanes share.
    deep: bool,
    /// The rows inside that are folded together.
    short: Option<ShortRows>,
}

impl Chooser<'_> {
    /// How a dimension is traversed. `outermost` says that the range is a part of the first dimension.
    pub(super) fn nest(&mut self, dim: Space, items: &[Item], outermost: bool) -> Nest {
        if !self.vectors {
            return self.one_by_one(dim, items);
        }
        if self.facts.is_single(dim) && !self.facts.written_out(dim) {
            return Nest::level(Level::Serial, self.inside(dim, items), "one point at most");
        }
        // Floats that are combined along the dimension would be grouped otherwise.
        let splits = !items.iter().any(|i| self.facts.adds_floats(dim, *i));
        if splits && let Some(interior) = self.facts.interior(dim, items) {
            let flat = items.iter().all(|i| self.facts.space_of(*i) == dim);
            self.facts.assume(interior);
            let then = if flat { self.points(dim, items, false) } else { self.in_order(dim, items) };
            self.facts.forget_last();
            let other = self.in_order(dim, items);
            return Nest::when(When::Interior, then, other);
        }
        self.points(dim, items, outermost)
    }

    /// One point after another: in any order, if it does not matter.
    fn one_by_one(&mut self, dim: Space, items: &[Item]) -> Nest {
        let level = self.facts.serial_level(dim, items);
        let why = match level {
            Level::Unrolled => "a few points, known before running",
            Level::Independent if items.iter().all(|i| matches!(i, Item::Sink(_))) => "points are independent",
            Level::Independent => "what is folded may be grouped in any way",
            _ => self.serial_reason(dim, items),
        };
        Nest::level(level, self.inside(dim, items), why)
    }

    fn in_order(&mut self, dim: Space, items: &[Item]) -> Nest {
        Nest::level(Level::Serial, self.inside(dim, items), self.serial_reason(dim, items))
    }

    /// Why the points of a dimension come one after another.
    fn serial_reason(&self, dim: Space, items: &[Item]) -> &'static str {
        let by_function = |i: &Item| match i {
            Item::Fold(n) | Item::Scan(n) => {
                parts_of(self.facts.p, *n).is_ok_and(|(_, _, how)| how.function().is_some())
            }
            Item::Sink(_) => false,
        };
        let scatters = |i: &Item| matches!(i, Item::Sink(k) if matches!(self.facts.sinks[*k], Sink::Scatter { .. }));
        if items.iter().any(by_function) {
            "a function combines one point after another"
        } else if items.iter().any(|i| self.facts.space_of(*i) != dim) {
            "each point has loops or conditions inside"
        } else if items.iter().any(scatters) {
            "several points may store in one place"
        } else {
            ""
        }
    }

    /// The same, away from edges or without any.
    fn points(&mut self, dim: Space, items: &[Item], outermost: bool) -> Nest {
        if outermost && let Some((lanes, bytes)) = self.streaming(dim, items) {
            let why = match lanes.non_temporal {
                true => "the arrays do not fit the caches",
                false => "an array that does not fit the caches is changed in place",
            };
            let large = Nest::level(Level::Lanes(lanes), self.inside_lanes(dim, items), why);
            let (other, many) = (self.cached(dim, items), self.facts.cuts.non_temporal / bytes);
            return match self.facts.points_of(dim) {
                Some(points) if points < many => other,
                Some(_) => large,
                None => Nest::when(When::AtLeast(many), large, other),
            };
        }
        self.cached(dim, items)
    }

    /// The same, where what is written stays in the caches.
    fn cached(&mut self, dim: Space, items: &[Item]) -> Nest {
        let cuts = self.facts.cuts;
        if self.takes_turns(dim, items) {
            let plan = if self.gathers == Gathers::Native { self.lanes(dim, items) } else { None };
            if let Some(plan) = plan {
                // A gather takes longer than an addition: more vectors do not hide anything, and rows that are shorter than a round have none.
                let level = Level::Lanes(Lanes { vectors: 1, ..plan.lanes });
                return Nest::level(level, self.inside_lanes(dim, items), "gathers bound the loop");
            }
            let turns = Level::Accumulators(cuts.accumulators as u16);
            return Nest::level(turns, self.inside(dim, items), "loads of gathered elements bound the loop");
        }
        if let Some(plan) = self.lanes(dim, items) {
            return self.vectors_of(dim, items, plan);
        }
        let serial = self.one_by_one(dim, items);
        let Some(tiled) = self.facts.tiled(dim, items) else { return serial };
        let Some(plan) = self.lanes(tiled.columns, items).filter(|p| p.deep) else { return serial };
        let rows = cuts.tile_rows[usize::from(tiled.sums > 1)] as u16;
        let inside = self.inside_lanes(tiled.columns, items);
        let tile = Nest::level(Level::Tile { rows, columns: plan.lanes }, inside, "rows share what columns read");
        Nest::when(When::Tiles { least: cuts.least_tiled, deepest: cuts.deepest_tile }, tile, serial)
    }

    fn vectors_of(&mut self, dim: Space, items: &[Item], plan: Plan) -> Nest {
        let Some(short) = plan.short else {
            let lanes = Lanes { apart: self.reads_apart(dim, items, &plan, false), ..plan.lanes };
            let why = match (lanes.apart, plan.deep) {
                (true, _) => "folds of a few arrays: a core reads faster in several places",
                (_, true) => "points are independent and share the loops inside",
                _ if items.iter().any(|i| matches!(i, Item::Scan(_))) => {
                    "the lanes of a scan are combined in a few steps"
                }
                _ if items.iter().any(|i| matches!(i, Item::Fold(_))) => "each lane folds points of its own",
                _ => "points are independent",
            };
            return Nest::level(Level::Lanes(lanes), self.inside_lanes(dim, items), why);
        };
        let fast = !short.gathered || self.gathers == Gathers::Native;
        let crosswise = short.side_by_side && short.nodes <= SMALL_ROW && fast;
        let level = Level::Windows { rows: self.facts.cuts.row_window, width: plan.lanes.width, crosswise };
        Nest::level(level, self.inside_windows(dim, items, &short), "rows differ in length, most are short")
    }

    /// What is traversed in windows of rows: the longer rows each on its own, everything else in lanes.
    pub(super) fn inside_windows(&mut self, dim: Space, items: &[Item], short: &ShortRows) -> Walks {
        let mut walks = Vec::new();
        self.traverse(dim, &short.items(), false, &mut walks);
        let inside = self.inside_lanes(dim, items);
        let mine = |i: &Item| matches!(i, Item::Fold(n) if short.folds.contains(n));
        walks.extend(inside.iter().filter(|w| !w.items.iter().any(mine)).cloned());
        walks.into()
    }

    /// Whether a fold over gathered elements, as the products of a sparse matrix are, is bound by loading these. On machines without a good instruction for it, to collect them into vectors
    /// costs more than the vectors save: they are folded with several accumulators.
    fn takes_turns(&mut self, dim: Space, items: &[Item]) -> bool {
        let facts = &mut self.facts;
        if facts.written_out(dim) {
            return false;
        }
        for item in items {
            let Item::Fold(n) = item else { return false };
            if facts.space_of(*item) != dim || !matches!(parts_of(facts.p, *n), Ok((_, _, Combine::Ops(_)))) {
                return false;
            }
        }
        let inside = facts.needed_inside(dim, items);
        if !inside.iter().all(|n| is_plain(&facts.p.node(*n).op)) {
            return false;
        }
        let gathers = facts.in_lanes_of(dim, |facts| {
            let p = facts.p;
            let gathered =
                |n: &&Node| matches!(p.node(**n).op, Op::Load(_, at) if facts.varies(at) && !facts.goes_along(at, dim));
            inside.iter().filter(gathered).count()
        });
        inside.len() <= NODES_PER_GATHER * gathers
    }

    /// How to compute items of a dimension in lanes, if that is possible and worth it.
    fn lanes(&mut self, dim: Space, items: &[Item]) -> Option<Plan> {
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
            _ if deep => self.widening(&inside),
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
        let short = self.facts.short_rows(dim, items)?;
        let plan = self.lanes(short.dim, &short.items()).filter(|p| !p.deep)?;
        Some((short, Lanes::of_width(plan.lanes.width)))
    }

    /// How many registers a vector should take with these nodes inside: enough that sums do not wait for each other, and not so many that they do not fit.
    fn widening(&self, inside: &[Node]) -> u16 {
        let mut sums = 0;
        for n in inside {
            match &self.facts.p.node(*n).op {
                Op::Loop { .. } | Op::If { .. } => return 1,
                Op::Fold { over, elems, .. } if !self.facts.written_out(*over) => sums += elems.len(),
                _ => {}
            }
        }
        match sums {
            1 => 4,
            2..=4 => 2,
            _ => 1,
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
        if guarded && mine > 0 && self.gathers == Gathers::Emulated {
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

    /// Lanes for arrays that are written from one end to the other, and the bytes of a point: such stores can bypass the caches, unless arrays are computed in place.
    pub(super) fn streaming(&mut self, dim: Space, items: &[Item]) -> Option<(Lanes, i64)> {
        let (p, cuts) = (self.facts.p, self.facts.cuts);
        let (mut widest, mut bytes, mut non_temporal) = (4, 0, true);
        for item in items {
            let Item::Sink(i) = item else { return None };
            let Sink::Write { space: s, buf, at, value } = &self.facts.sinks[*i] else { return None };
            let width = p.ty(*value).bytes();
            if *s != dim || !matches!(p.node(*at).op, Op::Pos) || p.space_of(*at) != dim || width < 4 {
                return None;
            }
            widest = widest.max(width);
            bytes += width as i64;
            for n in self.facts.needs_of(*item) {
                // What is computed in place is in the caches.
                non_temporal &= !matches!(p.node(n).op, Op::Load(b, _) if b == *buf);
                let s = p.space_of(n);
                // Where there is much to compute, memory does not matter.
                if p.encloses(dim, s) && is_transcendental(p, n) {
                    return None;
                }
                let plain =
                    !matches!(p.node(n).op, Op::Scan { .. } | Op::Fold { .. } | Op::If { .. } | Op::Loop { .. });
                if p.encloses(dim, s) && (s != dim || !plain) {
                    return None;
                }
            }
        }
        let width = (cuts.register / widest) as u16;
        let lanes = Lanes { width, vectors: cuts.vectors, apart: false, non_temporal };
        let plan = Plan { lanes, deep: false, short: None };
        let apart = self.reads_apart(dim, items, &plan, true);
        Some((Lanes { apart, ..lanes }, bytes))
    }

    /// Whether each vector of a round gets a part of the points for itself. `long` says that arrays are written from one end to the other.
    fn reads_apart(&mut self, dim: Space, items: &[Item], plan: &Plan, long: bool) -> bool {
        let is_fold = |i: &Item| matches!(i, Item::Fold(_));
        if plan.deep || plan.lanes.vectors == 1 || !long && !items.iter().all(is_fold) {
            return false;
        }
        let facts = &mut self.facts;
        let needs: BTreeSet<Node> = items.iter().flat_map(|i| facts.needs_of(*i)).collect();
        let mut streams = BTreeSet::new();
        for n in needs {
            let (buf, at) = match facts.p.node(n).op {
                Op::Load(buf, at) => (buf, at),
                // Where there is much to compute, memory does not matter.
                Op::Unary(op, _) if has_branches(op) => return false,
                _ => continue,
            };
            if !facts.p.encloses(dim, facts.p.space_of(n)) || !facts.mentions(at, dim) {
                continue;
            }
            if !facts.goes_along(at, dim) {
                return false;
            }
            streams.insert(buf);
        }
        (1..=STREAMS).contains(&streams.len())
    }
}
