//! Indices that need no check: those that are positions, plus or minus what is known.
//!
//! An index is a sum of positions, each at least 0 and below the size of its dimension, and numbers. If the sum of the greatest positions is below the size of
//! the array, whatever the sizes are, the index is in range.
//!
//! A proof relies on a size, and a size on its checks. The host has made those of the root before a kernel runs; a kernel runs on where one of its own fails, until all points are
//! done. There the size is not what it was proven to be, and the index is 0: [`Flattener::proven`].

use super::Flattener;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Linear, Node, Op, ROOT, Region, Space};

impl Flattener<'_> {
    fn linear(&self, n: Node) -> Option<Linear> {
        self.k.linear(n, &|n| n)
    }

    /// Whether an index is at least 0 and below a size, for certain.
    pub(super) fn is_in_range(&self, index: Node, size: Node) -> bool {
        self.margin(index, size).is_some_and(|least| least >= 0)
    }

    /// By how much the index stays below the size at least.
    fn margin(&self, index: Node, size: Node) -> Option<i64> {
        let index = self.linear(index)?;
        let mut most = Linear { constant: index.constant, ..Linear::default() };
        if index.constant < 0 {
            return None;
        }
        for (n, c) in &index.terms {
            if !matches!(self.k.node(*n).op, Op::Pos) || *c < 0 {
                return None;
            }
            let Region::Dim(size) = self.k.space(self.k.space_of(*n)).region else { return None };
            let mut last = self.linear(size)?;
            last.constant = last.constant.checked_sub(1)?;
            most.add(&last, *c)?;
        }
        let mut room = self.linear(size)?;
        room.add(&most, -1)?;
        // What is left over must be a number: sizes may be anything.
        room.terms.is_empty().then(|| room.constant.checked_sub(1)).flatten()
    }

    /// An index that is proven to be below a size, at the points of a context: 0 where a check fails that the size depends on, unless then there are no points.
    pub(super) fn proven(&mut self, index: Node, size: Node, ctx: Space) -> Node {
        let mut conds = self.k.checks_of(vec![size], true);
        let mut space = ctx;
        while space != ROOT && !conds.is_empty() {
            if let Region::Dim(n) = self.k.space(space).region {
                let without = self.k.checks_of(vec![n], true);
                conds.retain(|c| !without.contains(c));
            }
            space = self.k.space(space).parent;
        }
        let Some(ok) = conds.into_iter().reduce(|a, b| self.k.binary(BinOp::And, a, b)) else { return index };
        let zero = self.k.int(0);
        self.k.select(ok, index, zero)
    }
}
