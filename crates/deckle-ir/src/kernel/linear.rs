//! Nodes as sums of multiples of other nodes.

use super::{Node, Op, Program};
use crate::array::BinOp;
use crate::scalar::ScalarType;
use std::collections::BTreeMap;

/// A sum of multiples of nodes, and a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linear {
    /// The coefficient of each node; never 0.
    pub terms: BTreeMap<Node, i64>,
    /// The constant term.
    pub constant: i64,
}

impl Linear {
    /// Adds a multiple of another sum; `None` if a number gets too large.
    pub fn add(&mut self, other: &Linear, times: i64) -> Option<()> {
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

impl Program {
    /// A node of type `i64` as a sum. A check is replaced by its value. `known` may replace a node by an equal one.
    pub fn linear(&self, n: Node, known: &dyn Fn(Node) -> Node) -> Option<Linear> {
        let n = known(n);
        let mut sum = Linear::default();
        match self.node(n).op {
            Op::Const(c) => sum.constant = i64::try_from(c.as_int()?).ok()?,
            Op::Binary(op @ (BinOp::Add | BinOp::Sub), a, b) if self.ty(n) == ScalarType::I64 => {
                sum.add(&self.linear(a, known)?, 1)?;
                sum.add(&self.linear(b, known)?, if op == BinOp::Add { 1 } else { -1 })?;
            }
            Op::Binary(BinOp::Mul, a, b) if self.ty(n) == ScalarType::I64 => match (self.as_int(a), self.as_int(b)) {
                (Some(c), _) => sum.add(&self.linear(b, known)?, c)?,
                (_, Some(c)) => sum.add(&self.linear(a, known)?, c)?,
                _ => drop(sum.terms.insert(n, 1)),
            },
            Op::Check { value, .. } => sum = self.linear(value, known)?,
            _ => drop(sum.terms.insert(n, 1)),
        }
        Some(sum)
    }
}
