//! Several parts of the points side by side: one core reads from several places faster than from one.
//!
//! Each vector of a round then has a part of the points for itself, in the place of standing beside the others. So sums are added up in another order,
//! which is a matter of the program and of how many points there are, as ever.

use super::emit::{Emitter, Item, Res};
use super::lanes::{Lane, Plan, has_branches};
use super::rounds::Sums;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Op, Space};
use deckle_ir::loops::{Expr, LoopHint, Val};
use std::collections::BTreeSet;

/// From so many arrays it may be read in several places at once.
const STREAMS: usize = 3;

impl Emitter<'_> {
    /// Whether to go through several parts of the points side by side.
    pub(super) fn is_streamed(&mut self, space: Space, items: &[Item], plan: &Plan) -> bool {
        let is_fold = |i: &Item| matches!(i, Item::Fold(_));
        if plan.is_deep() || plan.wide == plan.count || !plan.is_long() && !items.iter().all(is_fold) {
            return false;
        }
        let needs: BTreeSet<Node> = items.iter().flat_map(|i| self.needs_of(*i)).collect();
        let mut streams = BTreeSet::new();
        for n in needs {
            let (buf, at) = match self.p.node(n).op {
                Op::Load(buf, at) => (buf, at),
                // Where there is much to compute, memory does not matter.
                Op::Unary(op, _) if has_branches(op) => return false,
                _ => continue,
            };
            if !self.p.encloses(space, self.p.space_of(n)) || !self.mentions(at, space) {
                continue;
            }
            if !self.goes_along(at, space) {
                return false;
            }
            streams.insert(buf);
        }
        (1..=STREAMS).contains(&streams.len())
    }

    /// Goes through so many points from `lo` on, a multiple of a round: each vector of a round has a part of them for itself.
    pub(super) fn in_streams(
        &mut self,
        items: &[Item],
        (lo, whole): (Val, Val),
        plan: &Plan,
        space: Space,
        (sums, units): (&[Sums], &[Val]),
    ) -> Res<Vec<Val>> {
        let (parts, count) = (plan.wide / plan.count, plan.count);
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
            let lane = Lane { space, count, hint: plan.hint, start, mask: None };
            let now = &params[part * units.len()..(part + 1) * units.len()];
            after.extend(self.round(lane, items, (sums, now))?);
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
