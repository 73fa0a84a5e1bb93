//! Traversing the points of a space as its schedule says: in vectors, in tiles, beside the edges, or one by one.

use super::emit::{Emitter, Res, Width};
use crate::facts::{carried_by, parts_of};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, ROOT, Region, Sink, Space};
use deckle_ir::loops::{Expr, LoopHint, Val};
use deckle_ir::scalar::Scalar;
use deckle_ir::schedule::{Item, Level, Nest, Walks, When};

/// A dimension that is traversed, for which items, and what is traversed at its points.
#[derive(Clone, Copy)]
pub(super) struct Over<'a> {
    pub space: Space,
    pub items: &'a [Item],
    pub inside: &'a Walks,
    /// Whether the range is a row of one block at most, or a window.
    pub short: bool,
}

impl Emitter<'_> {
    /// Traverses all points of the items, from a space on which is open. `range` restricts the first dimension.
    pub(super) fn traverse(&mut self, from: Space, items: &[Item], range: Option<(Val, Val)>) -> Res<()> {
        let mut items = self.facts.with_scans(from, items);
        let mut fresh = Vec::new();
        for item in &items {
            if let Item::Scan(n) = item
                && !self.accs.contains_key(n)
            {
                let acc = self.start(*n)?;
                self.accs.insert(*n, acc);
                fresh.push(*n);
            }
        }
        while let Some(first) = items.first().copied() {
            let next = self.facts.below(from, self.facts.space_of(first))?;
            let (mine, rest): (Vec<Item>, Vec<Item>) =
                items.into_iter().partition(|i| self.facts.below(from, self.facts.space_of(*i)) == Ok(next));
            self.enter(next, &mine, range)?;
            items = rest;
        }
        for n in fresh {
            self.accs.remove(&n);
        }
        Ok(())
    }

    /// The values that go from round to round.
    pub(super) fn carried(&mut self, nodes: &[Node]) -> Vec<Val> {
        nodes.iter().filter_map(|n| self.accs.get(n)).flat_map(|a| a.vals.iter().chain(&a.has).copied()).collect()
    }

    pub(super) fn carry(&mut self, nodes: &[Node], vals: &[Val]) {
        let mut vals = vals.iter().copied();
        for n in nodes {
            if let Some(acc) = self.accs.get_mut(n) {
                acc.vals.iter_mut().chain(&mut acc.has).zip(&mut vals).for_each(|(a, v)| *a = v);
            }
        }
    }

    pub(super) fn inside(&mut self, space: Space, items: &[Item]) -> Res<()> {
        let (here, deeper): (Vec<Item>, Vec<Item>) = items.iter().partition(|i| self.facts.space_of(**i) == space);
        for item in &here {
            match *item {
                Item::Sink(i) => self.sink(&self.sinks[i], Width::One)?,
                Item::Scan(n) => {
                    self.vals(n, Width::One)?;
                }
                Item::Fold(n) => {
                    let (_, elems, how) = parts_of(self.p, n)?;
                    let acc = self.accs.get(&n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
                    let acc = self.fold_point(how, &acc, elems)?;
                    self.accs.insert(n, acc);
                }
            }
        }
        if !deeper.is_empty() {
            self.traverse(space, &deeper, None)?;
        }
        Ok(())
    }

    /// Opens a space for items, whose values it carries.
    pub(super) fn enter(&mut self, space: Space, items: &[Item], range: Option<(Val, Val)>) -> Res<()> {
        let carried = carried_by(items);
        let before = self.carried(&carried);
        match self.p.space(space).region {
            Region::Dim(size) => {
                let (lo, hi, step) = match range {
                    Some((lo, hi)) => (lo, hi, self.grid.stride.max(1)),
                    None => (self.constant(Scalar::I64(0)), self.val(size)?, 1),
                };
                if range.is_none() && (self.row(space, items, hi)? || self.split_row(space, items, hi)?) {
                    return Ok(());
                }
                // A few points end soon anyway.
                let hi = if self.facts.written_out(space) { hi } else { self.unless_failed(lo, hi) };
                let done = range.is_some() && self.around_long(space, items, (lo, hi))?;
                return if done { Ok(()) } else { self.dimension(space, items, (lo, hi, step)) };
            }
            Region::Guard(..) => {
                let c = self.guard(space, Width::One)?;
                self.b.begin_if(c);
                self.open(space, None, Vec::new());
                self.inside(space, items)?;
                self.close();
                let after = self.carried(&carried);
                self.b.begin_else(&after);
                let after = self.b.end(&before);
                self.carry(&carried, &after);
            }
            _ => return Err(format!("{space} cannot be traversed")),
        }
        Ok(())
    }

    /// The end of a range, or its start if something has failed: results mean nothing then, and what is left may be endless. On a GPU the threads of a warp
    /// stay together.
    pub(super) fn unless_failed(&mut self, lo: Val, hi: Val) -> Val {
        if !self.can_fail || self.grid.on {
            return hi;
        }
        let failed = self.b.let_(Expr::Failed);
        self.b.select(failed, lo, hi)
    }

    /// Traverses the points of a dimension, from the first number below the second in steps, as the schedule says.
    pub(super) fn dimension(&mut self, space: Space, items: &[Item], range: (Val, Val, i64)) -> Res<()> {
        let nest = self.nest_of(space, items)?;
        self.nest(&nest, space, items, range)
    }

    /// Whether several points may be computed at once: to find a failure, they are not; on a GPU, threads are the lanes.
    fn vectors_allowed(&self) -> bool {
        !self.diagnose && !self.grid.on
    }

    fn nest(&mut self, nest: &Nest, space: Space, items: &[Item], range: (Val, Val, i64)) -> Res<()> {
        let (lo, hi, _) = range;
        match nest {
            Nest::Level { level, inside, .. } => {
                let short = self.short_row == Some(space);
                self.level(*level, Over { space, items, inside, short }, range)
            }
            Nest::When(When::Interior, then, other) if self.grid.on => {
                let Nest::Level { inside, .. } = &**then else { return Err(format!("{space} has one interior")) };
                let over = Over { space, items, inside, short: false };
                self.around_edges_on_grid(over, range, (then, other))
            }
            Nest::When(When::Interior, then, other) => self.around_edges(space, items, (lo, hi), (then, other)),
            Nest::When(when, then, other) => {
                let holds = self.condition(*when, space, items, (lo, hi), then)?;
                let carried = carried_by(items);
                let before = self.carried(&carried);
                self.b.begin_if(holds);
                self.nest(then, space, items, range)?;
                let after = self.carried(&carried);
                self.b.begin_else(&after);
                self.carry(&carried, &before);
                self.nest(other, space, items, range)?;
                let after = self.carried(&carried);
                let after = self.b.end(&after);
                self.carry(&carried, &after);
                Ok(())
            }
        }
    }

    /// Whether a condition of a schedule holds for a range.
    fn condition(&mut self, when: When, space: Space, items: &[Item], (lo, hi): (Val, Val), then: &Nest) -> Res<Val> {
        match when {
            When::Interior => Err("the interior is a matter of points".into()),
            When::Fewer(n) => {
                let (points, few) = (self.b.sub(hi, lo), self.constant(Scalar::I64(n)));
                Ok(self.b.lt(points, few))
            }
            When::AtLeast(n) => {
                let Region::Dim(size) = self.p.space(space).region else {
                    return Err(format!("{space} is no dimension"));
                };
                let points = self.val(size)?;
                let many = self.constant(Scalar::I64(n));
                Ok(self.b.let_(Expr::Binary(BinOp::Ge, points, many)))
            }
            When::Elements(n) => {
                let elements = self.elements_in_rows(space, items)?;
                let many = self.constant(Scalar::I64(n));
                Ok(self.b.let_(Expr::Binary(BinOp::Ge, elements, many)))
            }
            When::Tiles { least, deepest } => match then {
                Nest::Level { level: Level::Tile { columns, .. }, .. } => {
                    let tiled = self.tiled(space, items)?;
                    self.worth_tiling(&tiled, (lo, hi), (least, deepest, columns.round()))
                }
                _ => Err("there is no tile to choose".into()),
            },
        }
    }

    fn level(&mut self, level: Level, over: Over<'_>, range: (Val, Val, i64)) -> Res<()> {
        let (lo, hi, _) = range;
        if self.p.space(over.space).parent == ROOT {
            self.together = self.together.max(i64::from(level.together()));
        }
        match level {
            Level::Serial => self.one_by_one(over, range, LoopHint::Plain),
            Level::Independent => self.one_by_one(over, range, LoopHint::Independent),
            Level::Unrolled => self.one_by_one(over, range, LoopHint::Unroll),
            Level::Joined if self.grid.on => self.in_joined(level, over, range, None),
            Level::Joined => self.joined(over, (lo, hi)),
            Level::Lines { together, non_temporal } => self.in_whole_lines(over, (lo, hi), (together, non_temporal)),
            Level::Accumulators(n) => self.in_turns(over, (lo, hi), i64::from(n)),
            Level::Lanes(lanes) => {
                let mut first = lo;
                if lanes.non_temporal {
                    first = self.first_aligned(over, (lo, hi))?;
                    let hint = self.hint(over);
                    self.one_by_one(over, (lo, first, 1), hint)?;
                }
                self.in_lanes(over, (first, hi), lanes)
            }
            Level::Windows { .. } => self.in_windows(over, (lo, hi), level),
            Level::Tile { rows, columns } => self.in_tiles(over, (lo, hi), (rows, columns)),
            Level::Group => self.by_threads(over, (lo, hi)),
        }
    }

    /// Whether a loop of scalars may run in any order.
    pub(super) fn hint(&mut self, over: Over<'_>) -> LoopHint {
        match self.facts.serial_level(over.space, over.items) {
            Level::Unrolled => LoopHint::Unroll,
            Level::Independent => LoopHint::Independent,
            _ => LoopHint::Plain,
        }
    }

    /// Traverses the points of a dimension, those of its interior apart.
    fn around_edges(
        &mut self,
        space: Space,
        items: &[Item],
        (lo, hi): (Val, Val),
        (then, other): (&Nest, &Nest),
    ) -> Res<()> {
        let interior = self.facts.interior(space, items).ok_or_else(|| format!("{space} has no interior"))?;
        let (first, end) = self.interior_range(&interior, (lo, hi))?;
        if items.iter().all(|i| self.facts.space_of(*i) == space) {
            self.nest(other, space, items, (lo, first, 1))?;
            self.facts.assume(interior);
            self.nest(then, space, items, (first, end, 1))?;
            self.facts.forget_last();
            return self.nest(other, space, items, (end, hi, 1));
        }
        // With more dimensions below, each point is in it or not.
        let (Nest::Level { inside: then, .. }, Nest::Level { inside: other, .. }) = (then, other) else {
            return Err(format!("the points of {space} are not traversed one by one"));
        };
        let carried = carried_by(items);
        let before = self.carried(&carried);
        let (pos, params) = self.b.begin_for(lo, hi, 1, &before, LoopHint::Plain);
        self.carry(&carried, &params);
        let (a, b) = (self.b.binary(BinOp::Ge, pos, first), self.b.lt(pos, end));
        let within = self.b.and(a, b);
        self.b.begin_if(within);
        self.open_point(space, Some(pos), then);
        self.facts.assume(interior);
        self.inside(space, items)?;
        self.facts.forget_last();
        self.close();
        let after = self.carried(&carried);
        self.b.begin_else(&after);
        self.carry(&carried, &params);
        self.open_point(space, Some(pos), other);
        self.inside(space, items)?;
        self.close();
        let after = self.carried(&carried);
        let after = self.b.end(&after);
        let after = self.b.end(&after);
        self.carry(&carried, &after);
        Ok(())
    }

    /// The first point whose elements are written at a multiple of 64 bytes, which stores past the caches require: of memory that is the caller's, the first element need not be. Where there
    /// is no such point for all arrays that are written, the end.
    fn first_aligned(&mut self, over: Over<'_>, (lo, hi): (Val, Val)) -> Res<Val> {
        let mut first: Option<Val> = None;
        for item in over.items {
            let Item::Sink(i) = item else { continue };
            let Sink::Write { buf, at, value, .. } = &self.sinks[*i] else { continue };
            self.open_point(over.space, Some(lo), over.inside);
            let place = self.val(*at);
            self.close();
            let place = place?;
            let (buf, width) = (self.buf(*buf)?, self.p.ty(*value).bytes() as i64);
            let line = self.constant(Scalar::I64(64 / width));
            let behind = self.b.let_(Expr::Unaligned(buf));
            let behind = self.b.binary(BinOp::Add, behind, place);
            let behind = self.b.binary(BinOp::Rem, behind, line);
            let missing = self.b.binary(BinOp::Sub, line, behind);
            let missing = self.b.binary(BinOp::Rem, missing, line);
            let point = self.b.binary(BinOp::Add, lo, missing);
            first = Some(match first {
                None => point,
                Some(other) => {
                    let same = self.b.binary(BinOp::Eq, point, other);
                    self.b.let_(Expr::Select(same, point, hi))
                }
            });
        }
        Ok(first.map_or(lo, |point| self.b.binary(BinOp::Min, point, hi)))
    }

    /// Traverses the points of a dimension in a plain loop.
    pub(super) fn one_by_one(&mut self, over: Over<'_>, range: (Val, Val, i64), hint: LoopHint) -> Res<()> {
        let (lo, hi, step) = range;
        let carried = carried_by(over.items);
        let before = self.carried(&carried);
        let (pos, params) = self.b.begin_for(lo, hi, step, &before, hint);
        self.carry(&carried, &params);
        let pos = self.point_of_group(over.space, pos, hi);
        self.open_point(over.space, Some(pos), over.inside);
        let jumps = hint == LoopHint::Plain && self.vectors_allowed();
        let jumps = std::mem::replace(&mut self.jumps, jumps);
        self.inside(over.space, over.items)?;
        self.jumps = jumps;
        self.close();
        let after = self.carried(&carried);
        let after = self.b.end(&after);
        self.carry(&carried, &after);
        Ok(())
    }
}
