//! Several sums in turn.
//!
//! A fold over gathered elements, as the products of a sparse matrix are, is bound by loading these. On machines without a good instruction for it, to collect them into vectors costs more than
//! the vectors save. There they are added one by one, to several sums in turn, which do not wait for each other, and an index that is out of range is jumped at.

use super::emit::{Emitter, Res, Width};
use super::folds::Acc;
use super::points::Over;
use crate::facts::parts_of;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::Node;
use deckle_ir::loops::{Expr, LoopHint, Val};
use deckle_ir::schedule::Item;

impl Emitter<'_> {
    /// Folds the points from `lo` below `hi` in turns.
    pub(super) fn in_turns(&mut self, over: Over<'_>, (lo, hi): (Val, Val), turns: i64) -> Res<()> {
        let mut folds = Vec::new();
        for item in over.items {
            let Item::Fold(n) = item else { return Err("only folds take turns".into()) };
            folds.push(*n);
        }
        let types = self.fold_types(&folds)?;
        let units: Vec<Val> = types.iter().map(|(op, ty)| self.unit_lanes(*op, *ty, 1)).collect();
        let points = self.b.sub(hi, lo);
        let (zero, multiples) = (self.int(0), self.int(-turns));
        let points = self.b.max(points, zero);
        let whole = self.b.let_(Expr::Binary(BinOp::And, points, multiples));
        let middle = self.b.add(lo, whole);
        let jumps = std::mem::replace(&mut self.jumps, true);
        let sums = self.turn(over, &folds, (lo, middle, turns), &units.repeat(turns as usize))?;
        let (first, others) = sums.split_at(types.len());
        let first = self.turn(over, &folds, (middle, hi, 1), first)?;
        self.jumps = jumps;
        let any = self.b.lt(lo, hi);
        let mut sums = [&first, others].concat();
        while sums.len() > types.len() {
            let half = sums.len() / 2;
            let ops = types.iter().map(|(op, _)| *op).cycle();
            let pairs = sums[..half].iter().zip(&sums[half..]).zip(ops);
            sums = pairs.map(|((a, b), op)| self.b.let_(Expr::Assoc(op, *a, *b))).collect();
        }
        let mut sums = sums.into_iter();
        for n in folds {
            let parts: Vec<Val> = sums.by_ref().take(parts_of(self.p, n)?.1.len()).collect();
            self.add_part(n, &parts, any)?;
        }
        Ok(())
    }

    /// A loop that adds so many points at a time, each to sums of its own.
    fn turn(&mut self, over: Over<'_>, folds: &[Node], (lo, hi, step): (Val, Val, i64), sums: &[Val]) -> Res<Vec<Val>> {
        let (pos, params) = self.b.begin_for(lo, hi, step, sums, LoopHint::Plain);
        let mut params = params.into_iter();
        let mut after = Vec::new();
        for turn in 0..step {
            let pos = self.b.add_const(pos, turn);
            self.open_point(over.space, Some(pos), over.inside);
            for n in folds {
                let (_, elems, how) = parts_of(self.p, *n)?;
                let sums: Vec<Val> = params.by_ref().take(elems.len()).collect();
                after.extend(self.add_elements(how, &sums, elems, Width::One)?);
            }
            self.close();
        }
        Ok(self.b.end(&after))
    }

    /// What was folded over some points, added to what was before; `any` tells whether there were any.
    pub(super) fn add_part(&mut self, fold: Node, parts: &[Val], any: Val) -> Res<()> {
        let (_, _, how) = parts_of(self.p, fold)?;
        let acc = self.accs.get(&fold).cloned().ok_or_else(|| format!("{fold} is not carried"))?;
        let vals = self.combine(how, &acc.vals, parts, Width::One)?;
        let has = acc.has.map(|has| self.b.or(has, any));
        self.accs.insert(fold, Acc { vals, has, before: acc.before });
        Ok(())
    }
}
