//! Rounds of vectors: what is folded and scanned goes from one to the next.

use super::emit::{Emitter, Res, Width};
use super::lanes::Lane;
use super::points::Over;
use crate::facts::{parts_of, unit};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Sink, Space};
use deckle_ir::loops::{Expr, LoopHint, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::{Item, Lanes};

/// What is summed up of a fold, in lanes.
pub(super) struct Sums {
    pub fold: Node,
    pub types: Vec<(BinOp, ScalarType)>,
    /// Whether the last of these tells in which lanes there was a point.
    pub tracks: bool,
}

impl Emitter<'_> {
    /// Traverses the points from `lo` below `hi` in lanes. Whether there were any is noted for the folds.
    pub(super) fn in_lanes(&mut self, over: Over<'_>, (lo, hi): (Val, Val), lanes: Lanes) -> Res<()> {
        let sums = self.sums_of(over.space, over.items)?;
        let types: Vec<(BinOp, ScalarType)> = sums.iter().flat_map(|s| s.types.clone()).collect();
        let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, lanes.width)).collect();
        let (middle, now) = match lanes.masked {
            true => (lo, units),
            false => self.wide_rounds(over, (lo, hi), lanes, (&sums, &units))?,
        };
        // After full rounds, less than one of them is left.
        let rest = Over { short: over.short || middle != lo, ..over };
        let end = self.masked_rounds(rest, (middle, hi), lanes.width, (&sums, &now))?;
        self.add_totals(&sums, &end, (lo, hi))
    }

    /// Adds the lanes of the sums of a range to the folds.
    pub(super) fn add_totals(&mut self, sums: &[Sums], end: &[Val], (lo, hi): (Val, Val)) -> Res<()> {
        let any = self.b.lt(lo, hi);
        let ops: Vec<BinOp> = sums.iter().flat_map(|s| s.types.iter().map(|t| t.0)).collect();
        let totals = end.iter().zip(ops).map(|(v, op)| self.b.let_(Expr::Total(op, *v)));
        let mut totals: Vec<Val> = totals.collect();
        for sum in sums {
            let mut parts: Vec<Val> = totals.drain(..sum.types.len()).collect();
            let any = if sum.tracks { parts.pop().unwrap_or(any) } else { any };
            self.add_part(sum.fold, &parts, any)?;
        }
        Ok(())
    }

    /// Rounds of several vectors, as long as there are points for all: how far that is, and the sums.
    fn wide_rounds(
        &mut self,
        over: Over<'_>,
        (lo, hi): (Val, Val),
        lanes: Lanes,
        (sums, units): (&[Sums], &[Val]),
    ) -> Res<(Val, Vec<Val>)> {
        let types: Vec<(BinOp, ScalarType)> = sums.iter().flat_map(|s| s.types.clone()).collect();
        let wide = lanes.round();
        // A round is a power of two, and there is no less than nothing.
        let (zero, below) = (self.int(0), self.int(i64::from(wide) - 1));
        let points = self.b.sub(hi, lo);
        let points = self.b.max(points, zero);
        let rest = self.b.let_(Expr::Binary(BinOp::And, points, below));
        let whole = self.b.sub(points, rest);
        let middle = self.b.add(lo, whole);
        // Most rows of ragged arrays are shorter than a round.
        let shortcut = lanes.vectors > 1 && !types.is_empty();
        if shortcut {
            let some = self.b.lt(lo, middle);
            self.b.begin_if(some);
        }
        let mut now = if lanes.apart {
            self.in_streams(over, (lo, whole), lanes, (sums, units))?
        } else {
            let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, wide)).collect();
            let wide = self.rounds((lo, middle), wide, over, (sums, &units), |_, start| Lane {
                space: over.space,
                inside: over.inside.clone(),
                count: wide,
                hint: lanes.stores(),
                start,
                mask: None,
            })?;
            wide.iter().zip(&types).map(|(v, (op, _))| self.halved(*op, *v, lanes.width)).collect()
        };
        if shortcut {
            self.b.begin_else(&now);
            now = self.b.end(units);
        }
        Ok((middle, now))
    }

    /// Rounds of one vector, under a mask.
    pub(super) fn masked_rounds(
        &mut self,
        over: Over<'_>,
        (lo, hi): (Val, Val),
        count: u16,
        (sums, now): (&[Sums], &[Val]),
    ) -> Res<Vec<Val>> {
        self.rounds((lo, hi), count, over, (sums, now), |e, start| {
            let lane = e.masked_lane(over, count, (start, hi));
            // There is a round only where there is a point.
            e.inhabited.extend(lane.mask);
            lane
        })
    }

    /// A vector of the points from `start` on that are below `hi`.
    pub(super) fn masked_lane(&mut self, over: Over<'_>, count: u16, (start, hi): (Val, Val)) -> Lane {
        let left = self.b.sub(hi, start);
        let most = self.int(i64::from(count));
        let left = self.b.min(left, most);
        let left = self.b.let_(Expr::Cast(ScalarType::I32, left));
        let mask = self.first_lanes(left, count);
        let inside = over.inside.clone();
        Lane { space: over.space, inside, count, hint: StoreHint::Cached, start, mask: Some(mask) }
    }

    /// The lanes whose numbers are below that of the type `i32`.
    pub(super) fn first_lanes(&mut self, below: Val, count: u16) -> Val {
        let below = self.b.splat(below, count);
        let numbers = self.b.lanes(count);
        let numbers = self.b.let_lanes(Expr::Cast(ScalarType::I32, numbers), count);
        self.b.let_lanes(Expr::Binary(BinOp::Lt, numbers, below), count)
    }

    /// The sums of these items, in their order.
    pub(super) fn sums_of(&mut self, space: Space, items: &[Item]) -> Res<Vec<Sums>> {
        let mut all = Vec::new();
        for item in items {
            let Item::Fold(fold) = *item else { continue };
            let mut types = self.fold_types(&[fold])?;
            // Whether any point counted is not known where there is a condition.
            let tracks = self.facts.space_of(*item) != space && self.accs.get(&fold).is_some_and(|a| a.has.is_some());
            if tracks {
                types.push((BinOp::Or, ScalarType::Bool));
            }
            all.push(Sums { fold, types, tracks });
        }
        Ok(all)
    }

    /// A loop of rounds. What is folded goes along in vectors, what is scanned in scalars.
    fn rounds(
        &mut self,
        (lo, hi): (Val, Val),
        width: u16,
        over: Over<'_>,
        (sums, before): (&[Sums], &[Val]),
        lane: impl FnOnce(&mut Self, Val) -> Lane,
    ) -> Res<Vec<Val>> {
        let items = over.items;
        let scans: Vec<Node> =
            items.iter().filter_map(|i| if let Item::Scan(n) = i { Some(*n) } else { None }).collect();
        let state = [before, &self.carried(&scans)].concat();
        let hint = if over.short { LoopHint::Short } else { LoopHint::Plain };
        let (start, params) = self.b.begin_for(lo, hi, i64::from(width), &state, hint);
        let (now, scanned) = params.split_at(before.len());
        self.carry(&scans, scanned);
        let lane = lane(self, start);
        let mut after = self.round(lane, items, (sums, now))?;
        after.extend(self.carried(&scans));
        let mut end = self.b.end(&after);
        self.carry(&scans, &end.split_off(before.len()));
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
    pub(super) fn round(&mut self, lane: Lane, items: &[Item], (sums, now): (&[Sums], &[Val])) -> Res<Vec<Val>> {
        let (space, inside) = (lane.space, lane.inside.clone());
        let before = self.set_vectors(Some(lane));
        self.open_point(space, None, &inside);
        let mut now = now.to_vec();
        for row in 0..self.tile.as_ref().map_or(1, |t| t.rows) {
            self.set_row(row);
            self.lane_items(space, items, sums, &mut now)?;
        }
        self.close();
        self.set_vectors(before);
        Ok(now)
    }

    /// What is done in a space, and below it under conditions.
    fn lane_items(&mut self, space: Space, items: &[Item], sums: &[Sums], now: &mut [Val]) -> Res<()> {
        let (here, mut deeper): (Vec<Item>, Vec<Item>) = items.iter().partition(|i| self.facts.space_of(**i) == space);
        // A scan first: it may tell where something is stored.
        for item in &here {
            let Item::Scan(n) = item else { continue };
            if self.facts.is_packing(*n, items) {
                self.pack(*n)?;
            } else {
                self.lane_val(*n)?;
            }
        }
        for item in &here {
            if let Item::Sink(i) = item {
                self.sink(&self.sinks[*i], Width::Lanes)?;
            }
        }
        let mut at = 0;
        for sum in sums {
            let mine = at..at + sum.types.len();
            at = mine.end;
            if here.contains(&Item::Fold(sum.fold)) {
                self.lane_sum(sum, &mut now[mine])?;
            }
        }
        while let Some(first) = deeper.first().copied() {
            let guard = self.facts.below(space, self.facts.space_of(first))?;
            let (mine, rest): (Vec<Item>, Vec<Item>) =
                deeper.into_iter().partition(|i| self.facts.below(space, self.facts.space_of(*i)) == Ok(guard));
            deeper = rest;
            if self.facts.same_for_all(guard) {
                self.guarded_lanes(guard, &mine, sums, now)?;
                continue;
            }
            let holds = self.guard(guard, Width::Lanes)?;
            let (outer, mask) = (self.mask(), self.narrowed(holds)?);
            // Scattering nothing takes time too.
            let scatters = |i: &Item| matches!(i, Item::Sink(i) if matches!(self.sinks[*i], Sink::Scatter { .. }));
            let jump = mine.iter().all(scatters);
            if jump {
                let any = self.b.let_(Expr::Total(BinOp::Or, mask));
                self.b.begin_if(any);
            }
            self.set_mask(Some(mask));
            self.open(guard, None, Vec::new());
            self.lane_items(guard, &mine, sums, now)?;
            self.close();
            self.set_mask(outer);
            if jump {
                self.b.begin_else(&[]);
                self.b.end(&[]);
            }
        }
        Ok(())
    }

    /// What is done under a condition that holds in all lanes or in none.
    fn guarded_lanes(&mut self, guard: Space, items: &[Item], sums: &[Sums], now: &mut [Val]) -> Res<()> {
        let scans: Vec<Node> =
            items.iter().filter_map(|i| if let Item::Scan(n) = i { Some(*n) } else { None }).collect();
        let before = [&*now, &self.carried(&scans)].concat();
        let c = self.guard(guard, Width::One)?;
        self.b.begin_if(c);
        // What is packed is told by a mask.
        let (outer, count) = (self.vector()?.mask, self.vector()?.count);
        let all = self.b.constant_lanes(Scalar::Bool(true), count);
        self.set_mask(Some(outer.unwrap_or(all)));
        self.open(guard, None, Vec::new());
        self.lane_items(guard, items, sums, now)?;
        self.close();
        self.set_mask(outer);
        let after = [&*now, &self.carried(&scans)].concat();
        self.b.begin_else(&after);
        let after = self.b.end(&before);
        let (sums, scanned) = after.split_at(now.len());
        now.copy_from_slice(sums);
        self.carry(&scans, scanned);
        Ok(())
    }

    /// Adds a vector to the sums of a fold.
    fn lane_sum(&mut self, sum: &Sums, now: &mut [Val]) -> Res<()> {
        let (_, elems, how) = parts_of(self.p, sum.fold)?;
        let (count, mask) = (self.vector()?.count, self.vector()?.mask);
        let next = self.add_elements(how, &now[..elems.len()], elems, Width::Lanes)?;
        for (next, now) in next.into_iter().zip(now.iter_mut()) {
            *now = self.where_active(next, *now);
        }
        if let (true, Some(mask), Some(any)) = (sum.tracks, mask, now.last_mut()) {
            *any = self.b.let_lanes(Expr::Assoc(BinOp::Or, *any, mask), count);
        }
        Ok(())
    }
}
