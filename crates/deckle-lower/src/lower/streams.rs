//! Several parts of the points side by side: one core reads from several places faster than from one.
//!
//! Each vector of a round then has a part of the points for itself, in the place of standing beside the others. So sums are added up in another order,
//! which is a matter of the program and of how many points there are, as ever.

use super::emit::{Emitter, Res};
use super::lanes::Lane;
use super::points::Over;
use super::rounds::Sums;
use deckle_ir::array::BinOp;
use deckle_ir::loops::{Expr, LoopHint, Val};
use deckle_ir::schedule::Lanes;

impl Emitter<'_> {
    /// Goes through so many points from `lo` on, a multiple of a round: each vector of a round has a part of them for itself.
    pub(super) fn in_streams(
        &mut self,
        over: Over<'_>,
        (lo, whole): (Val, Val),
        lanes: Lanes,
        (sums, units): (&[Sums], &[Val]),
    ) -> Res<Vec<Val>> {
        let (parts, count) = (lanes.vectors, lanes.width);
        let by = self.int(i64::from(parts));
        let each = self.b.let_(Expr::Binary(BinOp::Div, whole, by));
        let mut firsts = vec![lo];
        for k in 1..parts {
            firsts.push(self.b.add(firsts[usize::from(k) - 1], each));
        }
        let zero = self.int(0);
        let state = units.repeat(usize::from(parts));
        let (k, params) = self.b.begin_for(zero, each, i64::from(count), &state, LoopHint::Plain);
        let mut after = Vec::new();
        for (part, first) in firsts.iter().enumerate() {
            let start = self.b.add(*first, k);
            let inside = over.inside.clone();
            let lane = Lane { space: over.space, inside, count, hint: lanes.stores(), start, mask: None };
            let now = &params[part * units.len()..(part + 1) * units.len()];
            after.extend(self.round(lane, over.items, (sums, now))?);
        }
        let mut end = self.b.end(&after);
        let ops: Vec<BinOp> = sums.iter().flat_map(|s| s.types.iter().map(|t| t.0)).collect();
        while end.len() > units.len() {
            let (low, high) = end.split_at(end.len() / 2);
            let pairs = low.iter().zip(high).zip(ops.iter().cycle());
            end = pairs.map(|((a, b), op)| self.b.let_lanes(Expr::Assoc(*op, *a, *b), count)).collect();
        }
        Ok(end)
    }
}
