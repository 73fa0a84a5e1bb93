//! Indices that need no check: those that are positions, plus or minus what is known.
//!
//! An index is a sum of positions, each at least 0 and below the size of its dimension, and numbers. If the sum of the greatest positions is below the size of
//! the array, whatever the sizes are, the index is in range.

use super::Flattener;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Op};
use deckle_ir::scalar::ScalarType;
use std::collections::BTreeMap;

/// A sum of multiples of nodes, and a number.
#[derive(Clone, Debug, Default)]
struct Linear {
    terms: BTreeMap<Node, i64>,
    constant: i64,
}

impl Linear {
    fn add(&mut self, other: &Linear, times: i64) -> Option<()> {
        for (n, c) in &other.terms {
            let c = c.checked_mul(times)?;
            let sum = self.terms.entry(*n).or_default();
            *sum = sum.checked_add(c)?;
            if *sum == 0 {
                self.terms.remove(n);
            }
        }
        self.constant = self.constant.checked_add(other.constant.checked_mul(times)?)?;
        Some(())
    }
}

impl Flattener<'_> {
    /// A node as a sum. What is checked is what it is, where the check holds.
    fn linear(&self, n: Node) -> Option<Linear> {
        let mut sum = Linear::default();
        match self.k.node(n).op {
            Op::Const(c) => sum.constant = i64::try_from(c.as_int()?).ok()?,
            Op::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) if self.k.ty(n) == ScalarType::I64 => {
                sum.add(&self.linear(a)?, 1)?;
                sum.add(&self.linear(b)?, if op == BinOp::Add { 1 } else { -1 })?;
            }
            Op::Binary(BinOp::Mul, a, b) => match (self.k.as_int(a), self.k.as_int(b)) {
                (Some(c), _) => sum.add(&self.linear(b)?, c)?,
                (_, Some(c)) => sum.add(&self.linear(a)?, c)?,
                _ => drop(sum.terms.insert(n, 1)),
            },
            Op::Check { value, .. } => sum = self.linear(value)?,
            _ => drop(sum.terms.insert(n, 1)),
        }
        Some(sum)
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
            let mut last = self.linear(self.dim_size(self.k.space_of(*n)))?;
            last.constant = last.constant.checked_sub(1)?;
            most.add(&last, *c)?;
        }
        let mut room = self.linear(size)?;
        room.add(&most, -1)?;
        // What is left over must be a number: sizes may be anything.
        room.terms.is_empty().then(|| room.constant.checked_sub(1)).flatten()
    }
}
