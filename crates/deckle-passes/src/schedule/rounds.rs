//! Rounds of vectors: what is folded and scanned goes from one to the next.

use super::emit::{Emitter, Item, Res, parts_of, unit};
use super::lanes::{Lane, Plan};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, Sink, Space};
use deckle_ir::loops::{Expr, LoopHint, Stmt, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};

impl Emitter<'_> {
    /// Goes through the points from `lo` below `hi` in lanes. Whether there were any is noted for the folds.
    pub(super) fn in_lanes(&mut self, space: Space, items: &[Item], (lo, hi): (Val, Val), plan: &Plan) -> Res<()> {
        let types = self.fold_types(&folds_of(items))?;
        let (count, width) = (plan.count, i64::from(plan.count));
        let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, plan.wide)).collect();
        let round = i64::from(plan.wide);
        // A round is a power of two, and there is no less than nothing.
        let (zero, below) = (self.int(0), self.int(round - 1));
        let points = self.b.let_(Expr::Binary(BinOp::Sub, hi, lo));
        let points = self.b.let_(Expr::Binary(BinOp::Max, points, zero));
        let rest = self.b.let_(Expr::Binary(BinOp::And, points, below));
        let whole = self.b.let_(Expr::Binary(BinOp::Sub, points, rest));
        let middle = self.b.let_(Expr::Binary(BinOp::Add, lo, whole));
        // Most rows of ragged arrays are shorter than a round.
        let shortcut = plan.wide > count && !types.is_empty();
        if shortcut {
            let some = self.b.let_(Expr::Binary(BinOp::Lt, lo, middle));
            self.b.begin_if(some);
        }
        let sums = self.rounds((lo, middle), plan.wide, items, &units, |_, start| Lane {
            space,
            count: plan.wide,
            hint: plan.hint,
            start,
            mask: None,
        })?;
        let mut sums: Vec<Val> = sums.iter().zip(&types).map(|(v, (op, _))| self.halved(*op, *v, count)).collect();
        if shortcut {
            self.b.begin_else(&sums);
            let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, count)).collect();
            sums = self.b.end(&units);
        }
        // Then one at a time, under a mask.
        let sums = self.rounds((middle, hi), count, items, &sums, |e, start| {
            let left = e.b.let_(Expr::Binary(BinOp::Sub, hi, start));
            let most = e.int(width);
            let left = e.b.let_(Expr::Binary(BinOp::Min, left, most));
            let left = e.b.let_(Expr::Cast(ScalarType::I32, left));
            let left = e.b.splat(left, count);
            let numbers = e.b.let_lanes(Expr::Lanes, count);
            let numbers = e.b.let_lanes(Expr::Cast(ScalarType::I32, numbers), count);
            let mask = e.b.let_lanes(Expr::Binary(BinOp::Lt, numbers, left), count);
            Lane { space, count, hint: StoreHint::Cached, start, mask: Some(mask) }
        })?;
        self.add_totals(&folds_of(items), &types, &sums, (lo, hi))
    }

    /// A loop of rounds. What is folded goes along in vectors, what is scanned in scalars.
    fn rounds(
        &mut self,
        (lo, hi): (Val, Val),
        width: u16,
        items: &[Item],
        sums: &[Val],
        lane: impl FnOnce(&mut Self, Val) -> Lane,
    ) -> Res<Vec<Val>> {
        let scans: Vec<Node> =
            items.iter().filter_map(|i| if let Item::Scan(n) = i { Some(*n) } else { None }).collect();
        let state = [sums, &self.carried(&scans)].concat();
        let (start, params) = self.b.begin_for(lo, hi, i64::from(width), &state, LoopHint::Plain);
        let (now, before) = params.split_at(sums.len());
        self.carry(&scans, before);
        let lane = lane(self, start);
        let mut after = self.round(lane, items, now)?;
        after.extend(self.carried(&scans));
        let mut end = self.b.end(&after);
        self.carry(&scans, &end.split_off(sums.len()));
        Ok(end)
    }

    /// A vector whose halves are combined until so many lanes are left.
    fn halved(&mut self, op: BinOp, v: Val, count: u16) -> Val {
        let lanes = self.b.ty(v).lanes;
        if lanes <= count {
            return v;
        }
        let half = lanes / 2;
        let low = self.b.let_(Expr::Swizzle(v, v, (0..half).collect()));
        let high = self.b.let_(Expr::Swizzle(v, v, (half..lanes).collect()));
        let both = self.b.let_lanes(Expr::Assoc(op, low, high), half);
        self.halved(op, both, count)
    }

    /// The lanes combined, and added to what is folded.
    fn add_totals(
        &mut self,
        folds: &[Node],
        types: &[(BinOp, ScalarType)],
        total: &[Val],
        range: (Val, Val),
    ) -> Res<()> {
        if folds.is_empty() {
            return Ok(());
        }
        let any = self.b.let_(Expr::Binary(BinOp::Lt, range.0, range.1));
        let totals = total.iter().zip(types).map(|(v, (op, _))| self.b.let_(Expr::Total(*op, *v)));
        let totals: Vec<Val> = totals.collect();
        self.add_parts(folds, &totals, any)
    }

    pub(super) fn int(&mut self, n: i64) -> Val {
        self.constant(Scalar::I64(n))
    }

    /// The operator and the type of each sum.
    pub(super) fn fold_types(&self, folds: &[Node]) -> Res<Vec<(BinOp, ScalarType)>> {
        let mut types = Vec::new();
        for n in folds {
            let (_, elems, how) = parts_of(self.p, *n)?;
            let Combine::Ops(ops) = how else { return Err(format!("{n} cannot be folded in lanes")) };
            types.extend(ops.iter().copied().zip(elems.iter().map(|e| self.p.ty(*e))));
        }
        Ok(types)
    }

    pub(super) fn unit_lanes(&mut self, op: BinOp, ty: ScalarType, count: u16) -> Val {
        let c = unit(op, ty).unwrap_or(Scalar::zero(ty));
        let v = self.constant(c);
        self.b.splat(v, count)
    }

    /// One vector: the sinks take their values, and the sums are added to.
    pub(super) fn round(&mut self, lane: Lane, items: &[Item], sums: &[Val]) -> Res<Vec<Val>> {
        let (space, count, mask, hint) = (lane.space, lane.count, lane.mask, lane.hint);
        self.varying.clear();
        self.vectors = Some(lane);
        self.open(space, None, Vec::new());
        for row in 0..self.tile.as_ref().map_or(1, |t| t.rows) {
            self.set_row(row);
            for item in items {
                if let Item::Scan(n) = item {
                    self.lane_val(*n)?;
                }
                let Item::Sink(i) = item else { continue };
                if let Sink::Check(n) = &self.sinks[*i] {
                    self.lane_val(*n)?;
                }
                let Sink::Write { buf, at, value, .. } = &self.sinks[*i] else { continue };
                let value = self.lane_val(*value)?;
                let at = self.place(*at)?;
                let buf = self.buf(*buf)?;
                let hint = if self.b.ty(at).lanes > 1 { StoreHint::Cached } else { hint };
                self.b.stmt(Stmt::Store { buf, at, value, mask, hint });
            }
        }
        let mut after = Vec::new();
        let mut sums = sums.iter();
        for n in folds_of(items) {
            let (_, elems, how) = parts_of(self.p, n)?;
            let Combine::Ops(ops) = how else { continue };
            for (op, e) in ops.iter().zip(elems) {
                let Some(sum) = sums.next() else { continue };
                let x = self.lane_val(*e)?;
                let next = self.b.let_lanes(Expr::Assoc(*op, *sum, x), count);
                after.push(self.where_active(next, *sum));
            }
        }
        self.close();
        self.vectors = None;
        self.varying.clear();
        Ok(after)
    }

    /// The first value in the lanes of the mask, the second in the others.
    pub(super) fn where_active(&mut self, new: Val, old: Val) -> Val {
        match &self.vectors {
            Some(Lane { mask: Some(mask), count, .. }) => {
                let (mask, count) = (*mask, *count);
                self.b.let_lanes(Expr::Select(mask, new, old), count)
            }
            _ => new,
        }
    }

    /// A scan in all lanes: each is combined with those before it, in so many steps as the lanes can be halved, and with what came before this round.
    pub(super) fn lane_scan(&mut self, n: Node) -> Res<Vec<Val>> {
        let Op::Scan { exclusive, .. } = self.p.node(n).op else { return Err(format!("{n} is no scan")) };
        let types = self.fold_types(&[n])?;
        let (_, elems, _) = parts_of(self.p, n)?;
        let count = self.vector()?.count;
        let mut acc = self.accs.get(&n).cloned().ok_or_else(|| format!("{n} is not carried"))?;
        let mut shown = Vec::new();
        for (k, (e, (op, ty))) in elems.iter().zip(types).enumerate() {
            let unit = self.unit_lanes(op, ty, count);
            let x = self.lane_val(*e)?;
            let mut sums = self.where_active(x, unit);
            let mut by = 1;
            while by < count {
                let from = (0..count).map(|i| if i < by { i } else { count + i - by }).collect();
                let earlier = self.b.let_(Expr::Swizzle(unit, sums, from));
                sums = self.b.let_lanes(Expr::Assoc(op, earlier, sums), count);
                by *= 2;
            }
            let before = self.b.splat(acc.vals[k], count);
            let mut upto = self.b.let_lanes(Expr::Assoc(op, before, sums), count);
            if exclusive {
                let from = (0..count).map(|i| if i == 0 { 0 } else { count + i - 1 }).collect();
                upto = self.b.let_(Expr::Swizzle(before, upto, from));
            }
            if let Some(first) = &acc.before {
                let first = self.b.splat(first.vals[k], count);
                upto = self.b.let_lanes(Expr::Assoc(op, first, upto), count);
            }
            shown.push(upto);
            let all = self.b.let_(Expr::Lane(sums, count - 1));
            acc.vals[k] = self.b.let_(Expr::Assoc(op, acc.vals[k], all));
        }
        if acc.has.is_some() {
            acc.has = Some(self.constant(Scalar::Bool(true)));
        }
        self.accs.insert(n, acc);
        Ok(shown)
    }
}

fn folds_of(items: &[Item]) -> Vec<Node> {
    items.iter().filter_map(|i| if let Item::Fold(n) = i { Some(*n) } else { None }).collect()
}
