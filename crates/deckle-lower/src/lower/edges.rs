//! The interior of a dimension, where nothing has to be said about its edges: see [`crate::facts::edges`].

use super::emit::{Emitter, Res};
use crate::facts::edges::Interior;
use deckle_ir::array::BinOp;
use deckle_ir::loops::{Expr, Val};

impl Emitter<'_> {
    /// The part of a range that is in the interior.
    pub(super) fn interior_range(&mut self, interior: &Interior, (lo, hi): (Val, Val)) -> Res<(Val, Val)> {
        let low = interior.lows.iter().copied().fold(0, i64::max);
        let low = self.b.i64(low);
        let mut end = hi;
        for (times, high) in &interior.highs {
            let mut sum = self.b.i64(high.constant);
            for (n, c) in &high.terms {
                let v = self.val(*n)?;
                let v = self.b.mul_const(v, *c);
                sum = self.b.add(sum, v);
            }
            let after = match times {
                1 => self.b.add_const(sum, 1),
                _ => {
                    // Rounded down; of what is negative nothing is in the interior.
                    let by = self.b.i64(*times);
                    let zero = self.b.i64(0);
                    let up = self.b.max(sum, zero);
                    let most = self.b.let_(Expr::Binary(BinOp::Div, up, by));
                    let after = self.b.add_const(most, 1);
                    let negative = self.b.lt(sum, zero);
                    self.b.select(negative, zero, after)
                }
            };
            end = self.b.min(end, after);
        }
        let first = self.b.max(lo, low);
        let first = self.b.min(first, hi);
        Ok((first, self.b.max(first, end)))
    }
}
