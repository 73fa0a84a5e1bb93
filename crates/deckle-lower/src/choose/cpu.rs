//! The rules for cores with vector registers.
//!
//! A rule looks at a dimension and the items that are traversed along it, and gives a nest or passes. The first that gives one decides:
//!
//! 1. the interior apart from the edges, where clamps and comparisons of positions have no effect away from these ([`Chooser::nest`]);
//! 2. non-temporal stores, where arrays larger than the caches are written from one end to the other ([`Chooser::streaming`]);
//! 3. rows whose elements do not depend on the row that they are in as one row ([`Chooser::joined`]); rows that are written side by side gathered to whole cache lines, where such arrays do not fit the caches and other stores are slow ([`Chooser::whole_lines`]);
//! 4. several accumulators, where gathered elements are folded and gathers are slow ([`Chooser::takes_turns`]);
//! 5. lanes, where points are independent and vectors gain something ([`Chooser::lanes`]): loops or conditions inside, folds, rows of larger arrays; rows of different lengths below them in windows;
//! 6. tiles, where two dimensions share what they read;
//! 7. a serial loop.
//!
//! Width and number of vectors decide in which order floats are combined: they follow from the program, never from the data or the threads.

use super::Chooser;
use super::lanes::Plan;
use super::legal::writes_in_order;
use crate::facts::rows::ShortRows;
use crate::facts::{has_branches, is_plain, is_transcendental, parts_of};
use deckle_ir::kernel::{Combine, Node, Op, Sink, Space};
use deckle_ir::loops::{Gathers, Stores};
use deckle_ir::schedule::{Item, Lanes, Level, Nest, Walk, Walks, When};
use std::collections::BTreeSet;

/// Up to so many nodes for each gathered element, loads bound the loop and vectors do not help.
const NODES_PER_GATHER: usize = 24;
/// Up to so many nodes in a row, the code for a short row is unrolled for each lane.
const SMALL_ROW: usize = 16;
/// A core reads up to so many arrays in several places at once faster than in one.
const STREAMS: usize = 3;

/// Lets a nest of lanes take one vector in a round, since each is stored on its own; whether it is one.
fn one_vector(nest: &mut Nest) -> bool {
    match nest {
        Nest::When(_, then, other) => one_vector(then) && one_vector(other),
        Nest::Level { level: Level::Lanes(lanes), .. } => {
            lanes.vectors = 1;
            true
        }
        Nest::Level { .. } => false,
    }
}

impl Chooser<'_> {
    /// How a dimension is traversed. `outermost` says that the range is a part of the first dimension.
    pub(super) fn nest(&mut self, dim: Space, items: &[Item], outermost: bool) -> Nest {
        if self.is_in_group(dim) {
            return self.in_group(dim, items);
        }
        if !self.vectors {
            return self.on_grid(dim, items);
        }
        if self.facts.is_single(dim) && !self.facts.written_out(dim) {
            return Nest::level(Level::Serial, self.inside(dim, items), "one point at most");
        }
        // Floats that are combined along the dimension would be grouped differently.
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
    pub(super) fn one_by_one(&mut self, dim: Space, items: &[Item]) -> Nest {
        let level = self.facts.serial_level(dim, items);
        let why = match level {
            Level::Unrolled => "a few points, known before running",
            Level::Independent if items.iter().all(|i| matches!(i, Item::Sink(_))) => "points are independent",
            Level::Independent => "the elements of the folds may be grouped in any way",
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
            "several points may store to the same element"
        } else {
            ""
        }
    }

    /// The same, away from edges or without any.
    fn points(&mut self, dim: Space, items: &[Item], outermost: bool) -> Nest {
        if outermost && let Some((lanes, bytes)) = self.streaming(dim, items) {
            let why = match lanes.non_temporal {
                true => "the arrays do not fit the caches",
                false => "an array larger than the caches is updated in place",
            };
            let large = Nest::level(Level::Lanes(lanes), self.inside_lanes(dim, items), why);
            let (other, many) = (self.cached(dim, items), self.facts.cuts.non_temporal / bytes);
            return match self.facts.points_of(dim) {
                Some(points) if points < many => other,
                Some(_) => large,
                None => Nest::when(When::AtLeast(many), large, other),
            };
        }
        if let Some(nest) = self.joined(dim, items).or_else(|| self.whole_lines(dim, items)) {
            return nest;
        }
        self.cached(dim, items)
    }

    /// Rows whose elements do not depend on the row that they are in.
    fn joined(&mut self, dim: Space, items: &[Item]) -> Option<Nest> {
        let rows = self.facts.joined_rows(dim, items)?;
        let why = "elements do not depend on the row that they are in";
        let joined = Nest::level(Level::Joined, self.inside(dim, items), why);
        let Some((lanes, bytes)) = self.streaming(rows.row, items).filter(|(lanes, _)| lanes.non_temporal) else {
            return Some(joined);
        };
        let why_past = "the arrays do not fit the caches";
        let large = Nest::level(Level::Lanes(lanes), self.inside_lanes(rows.row, items), why_past);
        let inside = [Walk { dim: rows.row, items: items.to_vec(), nest: large }];
        let many = self.facts.cuts.non_temporal / bytes;
        Some(Nest::when(When::Elements(many), Nest::level(Level::Joined, inside, why), joined))
    }

    /// Rows that are written side by side into arrays that do not fit the caches, where vectors should not cross the ends of cache lines.
    fn whole_lines(&mut self, dim: Space, items: &[Item]) -> Option<Nest> {
        let rows = self.facts.successive_rows(dim, items).filter(|_| self.stores == Stores::InLines)?;
        let cuts = self.facts.cuts;
        let mut inside = self.inside(dim, items).to_vec();
        for walk in &mut inside {
            let mine = walk.items.iter().any(|i| matches!(i, Item::Sink(k) if rows.sinks.contains(k)));
            if mine && !one_vector(&mut walk.nest) {
                return None;
            }
        }
        if !writes_in_order(&inside, &rows) {
            return None;
        }
        let level = Level::Lines { together: cuts.whole_lines, non_temporal: true };
        let lines = Nest::level(level, inside, "rows end within cache lines, and the arrays do not fit the caches");
        let many = cuts.non_temporal / rows.bytes;
        Some(Nest::when(When::Elements(many), lines, self.cached(dim, items)))
    }

    /// The same, where what is written stays in the caches.
    fn cached(&mut self, dim: Space, items: &[Item]) -> Nest {
        let cuts = self.facts.cuts;
        if self.takes_turns(dim, items) {
            let staged = self.staged == Some(dim);
            let plan = if staged || self.gathers == Gathers::Native { self.lanes(dim, items) } else { None };
            if let Some(plan) = plan {
                // A gather takes longer than an addition: more vectors do not hide anything, and rows that are shorter than a round have none.
                let level = Level::Lanes(Lanes { vectors: 1, ..plan.lanes });
                let why =
                    if staged { "gathers are loaded ahead, and rows are short" } else { "gathers bound the loop" };
                return Nest::level(level, self.inside_lanes(dim, items), why);
            }
            let turns = Level::Accumulators(cuts.accumulators as u16);
            let turns = Nest::level(turns, self.inside(dim, items), "loads of gathered elements bound the loop");
            // Up to two rounds take no longer than adding up the accumulators; the additions of the next row do not wait.
            let few = 2 * cuts.accumulators + 1;
            return match self.facts.points_of(dim) {
                _ if self.gathers != Gathers::Scalar => turns,
                Some(points) if points >= few => turns,
                points => {
                    let serial = Nest::level(Level::Serial, self.inside(dim, items), "a few elements");
                    if points.is_some() { serial } else { Nest::when(When::Fewer(few), serial, turns) }
                }
            };
        }
        if let Some(plan) = self.lanes(dim, items) {
            return self.vectors_of(dim, items, plan);
        }
        let serial = self.one_by_one(dim, items);
        let Some(tiled) = self.facts.tiled(dim, items) else { return serial };
        let Some(plan) = self.lanes(tiled.columns, items).filter(|p| p.deep) else { return serial };
        // Each vector of columns has as many sums as there are rows.
        let columns = Lanes { vectors: plan.lanes.vectors.min(cuts.vectors), ..plan.lanes };
        let rows = cuts.tile_rows[usize::from(tiled.sums > 1)] as u16;
        let inside = self.inside_lanes(tiled.columns, items);
        let tile =
            Nest::level(Level::Tile { rows, columns }, inside, "the rows of a tile share the loads of its columns");
        Nest::when(When::Tiles { least: cuts.least_tiled, deepest: cuts.deepest_tile }, tile, serial)
    }

    fn vectors_of(&mut self, dim: Space, items: &[Item], plan: Plan) -> Nest {
        let Some(short) = plan.short else {
            let masked = plan.lanes.vectors == 1 && self.has_large_loops(dim, items);
            let lanes = Lanes { apart: self.reads_apart(dim, items, &plan, false), masked, ..plan.lanes };
            let why = match (lanes.apart, plan.deep) {
                _ if masked => "a large body with loops is compiled once, for masked vectors",
                (true, _) => "folds of a few arrays: several streams raise the read bandwidth of a core",
                (_, true) => "points are independent and share the loops inside",
                _ if items.iter().any(|i| matches!(i, Item::Scan(_))) => {
                    "the lanes of a vector are scanned in log2(lanes) steps"
                }
                _ if items.iter().any(|i| matches!(i, Item::Fold(_))) => "each lane folds points of its own",
                _ => "points are independent",
            };
            return Nest::level(Level::Lanes(lanes), self.inside_lanes(dim, items), why);
        };
        let (cuts, width) = (self.facts.cuts, plan.lanes.width);
        let crosswise = short.side_by_side && short.nodes <= SMALL_ROW;
        if short.ahead.is_some() && cuts.staged_rows >= width {
            let level = Level::Windows { rows: cuts.staged_rows, width, crosswise, staged: cuts.staged };
            let outer = self.staged.replace(short.dim);
            let inside = self.inside_windows(dim, items, &short);
            self.staged = outer;
            return Nest::level(level, inside, "rows are short: their gathers are loaded ahead");
        }
        let crosswise = crosswise && (!short.gathered || self.gathers == Gathers::Native);
        let level = Level::Windows { rows: cuts.row_window, width, crosswise, staged: 0 };
        Nest::level(level, self.inside_windows(dim, items, &short), "rows differ in length, most are short")
    }

    /// Whether what is computed at a point is large, and has loops that go on as long as any lane does. These have masks, also for full vectors.
    fn has_large_loops(&mut self, dim: Space, items: &[Item]) -> bool {
        let inside = self.facts.needed_inside(dim, items);
        let loops = inside.iter().any(|n| matches!(self.facts.p.node(*n).op, Op::Loop { .. }));
        loops && inside.len() > self.facts.cuts.large_point
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

    /// Lanes for arrays that are written from one end to the other, and the bytes of a point: such stores can bypass the caches, unless arrays are computed in place.
    pub(super) fn streaming(&mut self, dim: Space, items: &[Item]) -> Option<(Lanes, i64)> {
        let (p, cuts) = (self.facts.p, self.facts.cuts);
        let (mut widest, mut bytes, mut non_temporal) = (4, 0, true);
        for item in items {
            let Item::Sink(i) = item else { return None };
            let Sink::Write { space: s, buf, at, value } = &self.facts.sinks[*i] else { return None };
            let width = p.ty(*value).bytes();
            if *s != dim || !self.facts.follows(*at, dim) || width < 4 {
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
        let lanes = Lanes { width, vectors: cuts.vectors, apart: false, non_temporal, masked: false };
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
