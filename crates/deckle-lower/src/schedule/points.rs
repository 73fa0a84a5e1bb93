//! Going through the points of a space: in vectors, in tiles, beside the edges, or one by one.

use super::edges::Interior;
use super::emit::{Emitter, Item, Res, carried_by, parts_of};
use super::lanes::Plan;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Region, Sink, Space};
use deckle_ir::loops::{Expr, Gathers, LoopHint, StoreHint, Val};
use deckle_ir::scalar::Scalar;

impl Emitter<'_> {
    /// Opens a space for items, whose values it carries.
    pub(super) fn enter(&mut self, space: Space, items: &[Item], range: Option<(Val, Val)>) -> Res<()> {
        let carried = carried_by(items);
        let before = self.carried(&carried);
        match self.p.space(space).region {
            Region::Dim(size) => {
                let (lo, hi, step) = match (range, self.lane()) {
                    (Some((lo, hi)), _) => (lo, hi, self.grid.stride.max(1)),
                    (None, Some(lane)) => (lane, self.val(size)?, 32),
                    (None, None) => (self.constant(Scalar::I64(0)), self.val(size)?, 1),
                };
                let hi = self.unless_failed(lo, hi);
                let done = match range {
                    None => self.row(space, items, hi)?,
                    Some(_) => self.around_long(space, items, (lo, hi))?,
                };
                return if done { Ok(()) } else { self.dimension(space, items, (lo, hi, step), range.is_some()) };
            }
            Region::Guard(..) => {
                let c = self.guard(space)?;
                self.b.begin_if(c);
                self.open(space, None, Vec::new());
                self.inside(space, items)?;
                self.close();
                let after = self.carried(&carried);
                self.b.begin_else(&after);
                let after = self.b.end(&before);
                self.carry(&carried, &after);
            }
            _ => return Err(format!("{space} cannot be gone through")),
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

    /// Goes through the points of a dimension, from the first number below the second in steps. `outermost` tells that they are a part of all.
    pub(super) fn dimension(
        &mut self,
        space: Space,
        items: &[Item],
        range: (Val, Val, i64),
        outermost: bool,
    ) -> Res<()> {
        if self.vectors_allowed()
            && !items.iter().any(|i| self.adds_floats(space, *i))
            && let Some(interior) = self.plan_interior(space, items)
        {
            return self.around_edges(space, items, (range.0, range.1), &interior);
        }
        self.points(space, items, range, outermost)
    }

    /// Whether floats are added up along a dimension: where it is cut would then show.
    fn adds_floats(&self, space: Space, item: Item) -> bool {
        let (Item::Fold(n) | Item::Scan(n)) = item else { return false };
        let Ok((_, elems, how)) = parts_of(self.p, n) else { return false };
        let exact = |k: usize, e: &Node| {
            !self.p.ty(*e).is_float() || matches!(how, Combine::Ops(ops) if matches!(ops[k], BinOp::Min | BinOp::Max))
        };
        self.space_of(item) == space && !elems.iter().enumerate().all(|(k, e)| exact(k, e))
    }

    /// Whether several points may be computed at once: to find a failure, they are not; on a GPU, threads are the lanes.
    fn vectors_allowed(&self) -> bool {
        !self.diagnose && !self.grid.on
    }

    /// Goes through the points of a dimension, those of its interior apart.
    fn around_edges(&mut self, space: Space, items: &[Item], (lo, hi): (Val, Val), interior: &Interior) -> Res<()> {
        let (first, end) = self.interior_range(interior, (lo, hi))?;
        if items.iter().all(|i| self.space_of(*i) == space) {
            // Few points are beside it: those need no vectors.
            self.one_by_one(space, items, (lo, first, 1), LoopHint::Plain)?;
            self.assuming(interior, |e| e.points(space, items, (first, end, 1), false))?;
            return self.one_by_one(space, items, (end, hi, 1), LoopHint::Plain);
        }
        // With more dimensions below, each point is in it or not.
        let carried = carried_by(items);
        let before = self.carried(&carried);
        let (pos, params) = self.b.begin_for(lo, hi, 1, &before, LoopHint::Plain);
        self.carry(&carried, &params);
        let (a, b) = (self.b.binary(BinOp::Ge, pos, first), self.b.lt(pos, end));
        let within = self.b.and(a, b);
        self.b.begin_if(within);
        self.open(space, Some(pos), Vec::new());
        self.assuming(interior, |e| e.inside(space, items))?;
        self.close();
        let after = self.carried(&carried);
        self.b.begin_else(&after);
        self.carry(&carried, &params);
        self.open(space, Some(pos), Vec::new());
        self.inside(space, items)?;
        self.close();
        let after = self.carried(&carried);
        let after = self.b.end(&after);
        let after = self.b.end(&after);
        self.carry(&carried, &after);
        Ok(())
    }

    /// The same, if there are no edges to keep away from.
    fn points(&mut self, space: Space, items: &[Item], range: (Val, Val, i64), outermost: bool) -> Res<()> {
        let (lo, hi, _) = range;
        // Arrays larger than the caches are written past them.
        if self.vectors_allowed()
            && outermost
            && let Some((plan, bytes)) = self.plan_streaming(space, items)
        {
            let Region::Dim(size) = self.p.space(space).region else { return Err(format!("{space} is no dimension")) };
            let points = self.val(size)?;
            let many = self.constant(Scalar::I64(self.cuts.non_temporal / bytes));
            let large = self.b.let_(Expr::Binary(BinOp::Ge, points, many));
            self.b.begin_if(large);
            let aligned = self.first_aligned(items, (lo, hi), &plan)?;
            let hint = self.hint(space, items);
            self.one_by_one(space, items, (lo, aligned, 1), hint)?;
            self.in_lanes(space, items, (aligned, hi), &plan)?;
            self.b.begin_else(&[]);
            self.cached_points(space, items, range)?;
            self.b.end(&[]);
            return Ok(());
        }
        self.cached_points(space, items, range)
    }

    /// The first point whose elements are written at a multiple of 64 bytes, which stores past the caches require: of memory that is the caller's, the first element need not be. Where there
    /// is no such point for all arrays that are written, the end.
    fn first_aligned(&mut self, items: &[Item], (lo, hi): (Val, Val), plan: &Plan) -> Res<Val> {
        if plan.hint != StoreHint::Streaming {
            return Ok(lo);
        }
        let mut first: Option<Val> = None;
        for item in items {
            let Item::Sink(i) = item else { continue };
            let Sink::Write { buf, value, .. } = &self.sinks[*i] else { continue };
            let (buf, width) = (self.buf(*buf)?, self.p.ty(*value).bytes() as i64);
            let line = self.constant(Scalar::I64(64 / width));
            let behind = self.b.let_(Expr::Unaligned(buf));
            let behind = self.b.binary(BinOp::Add, behind, lo);
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

    /// The same, whatever is written staying in the caches: in lanes, in tiles or one by one.
    fn cached_points(&mut self, space: Space, items: &[Item], range: (Val, Val, i64)) -> Res<()> {
        let (lo, hi, _) = range;
        let vectors = self.vectors_allowed();
        if vectors && self.plan_turns(space, items) {
            let plan = if self.gathers == Gathers::Native { self.plan_lanes(space, items) } else { None };
            return match plan {
                Some(plan) => self.in_turns_or_lanes(space, items, (lo, hi), &plan),
                None => self.in_turns(space, items, (lo, hi)),
            };
        }
        if vectors && let Some(plan) = self.plan_lanes(space, items) {
            return self.in_lanes(space, items, (lo, hi), &plan);
        }
        let hint = self.hint(space, items);
        let Some(tiling) = vectors.then(|| self.plan_tile(space, items)).flatten() else {
            return self.one_by_one(space, items, range, hint);
        };
        let worth = self.worth_tiling(&tiling, (lo, hi))?;
        self.b.begin_if(worth);
        self.in_tiles(space, items, (lo, hi), &tiling)?;
        self.b.begin_else(&[]);
        self.one_by_one(space, items, range, hint)?;
        self.b.end(&[]);
        Ok(())
    }

    /// Folds elements from anywhere: few of them in turns, which overlap with those of the next rows, many in lanes.
    fn in_turns_or_lanes(&mut self, space: Space, items: &[Item], (lo, hi): (Val, Val), plan: &Plan) -> Res<()> {
        let carried = carried_by(items);
        let before = self.carried(&carried);
        let (points, few) = (self.b.sub(hi, lo), self.constant(Scalar::I64(self.cuts.in_turns)));
        let is_short = self.b.lt(points, few);
        self.b.begin_if(is_short);
        self.in_turns(space, items, (lo, hi))?;
        let after = self.carried(&carried);
        self.b.begin_else(&after);
        self.carry(&carried, &before);
        self.in_lanes(space, items, (lo, hi), plan)?;
        let after = self.carried(&carried);
        let after = self.b.end(&after);
        self.carry(&carried, &after);
        Ok(())
    }

    /// Goes through the points of a dimension in a plain loop.
    fn one_by_one(&mut self, space: Space, items: &[Item], range: (Val, Val, i64), hint: LoopHint) -> Res<()> {
        let (lo, hi, step) = range;
        let carried = carried_by(items);
        let before = self.carried(&carried);
        let (pos, params) = self.b.begin_for(lo, hi, step, &before, hint);
        self.carry(&carried, &params);
        self.open(space, Some(pos), Vec::new());
        let jumps = hint == LoopHint::Plain && self.vectors_allowed();
        let jumps = std::mem::replace(&mut self.jumps, jumps);
        self.inside(space, items)?;
        self.jumps = jumps;
        self.close();
        let after = self.carried(&carried);
        let after = self.b.end(&after);
        self.carry(&carried, &after);
        Ok(())
    }
}
