//! Indices that need no check: those that are positions, plus or minus what is known.
//!
//! An index is a sum of positions, each at least 0 and below the size of its dimension, and numbers. If the sum of the greatest positions is below the size of
//! the array, whatever the sizes are, the index is in range.

use super::Flattener;
use deckle_ir::kernel::{Linear, Node, Op, Region};

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
}
