//! The interior of a dimension, where nothing has to be said about its edges.
//!
//! Stencils look beyond the edges, so what they read is clamped, wrapped or tested; away from the edges none of that does anything. Here such
//! expressions are found: comparisons, minima, maxima and remainders of the position plus or minus something. Each
//! tells from where or up to where it does nothing. Between the greatest of these bounds and the least, code is made that does without.

use super::Facts;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Linear, Node, Op, Region, Space};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::Item;
use std::collections::{BTreeMap, BTreeSet};

/// What is known of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// A condition: whether it holds.
    Is(bool),
    /// A number: another one that is the same.
    Same(Node),
}

/// What holds in the interior of a dimension, and where that is.
#[derive(Debug)]
pub(crate) struct Interior {
    pub dim: Space,
    pub facts: BTreeMap<Node, Fact>,
    /// Positions are at least each of these.
    pub lows: Vec<i64>,
    /// And a multiple of them at most each of these, sums of what is known outside.
    pub highs: Vec<(i64, Linear)>,
}

impl Facts<'_> {
    /// The interior of a dimension, if it has one that matters to these items.
    pub(crate) fn interior(&mut self, space: Space, items: &[Item]) -> Option<Interior> {
        let mut needs = BTreeSet::new();
        items.iter().for_each(|i| needs.extend(self.needs_of(*i)));
        let mut interior = Interior { dim: space, facts: BTreeMap::new(), lows: Vec::new(), highs: Vec::new() };
        for n in needs {
            if self.p.encloses(space, self.p.space_of(n)) && self.assumed(n).is_none() && self.mentions(n, space) {
                self.note_fact(space, n, &mut interior);
            }
        }
        (!interior.facts.is_empty()).then_some(interior)
    }

    /// Notes what is known of a node away from the edges, if there is anything.
    fn note_fact(&self, space: Space, n: Node, interior: &mut Interior) -> Option<()> {
        let Op::Binary(op, a, b) = self.p.node(n).op else { return None };
        if self.p.ty(a) != ScalarType::I64 {
            return None;
        }
        let known = |n: Node| match interior.facts.get(&n).copied().or_else(|| self.assumed(n)) {
            Some(Fact::Same(m)) => m,
            _ => n,
        };
        // How much the first is greater than the second.
        let over = |x: Node, y: Node, less: i64| {
            let mut sum = self.p.linear(x, &known)?;
            sum.add(&self.p.linear(y, &known)?, -1)?;
            sum.constant = sum.constant.checked_sub(less)?;
            Some(sum)
        };
        let (fact, bounds) = match op {
            BinOp::Ge | BinOp::Gt | BinOp::Le | BinOp::Lt => {
                let (x, y, less) = match op {
                    BinOp::Ge => (a, b, 0),
                    BinOp::Gt => (a, b, 1),
                    BinOp::Le => (b, a, 0),
                    _ => (b, a, 1),
                };
                let holds = over(x, y, less)?;
                let mut fails = Linear { constant: -1, ..Linear::default() };
                fails.add(&holds, -1)?;
                match (self.bound(space, &holds), self.bound(space, &fails)) {
                    (Some(bound), _) => (Fact::Is(true), vec![bound]),
                    (_, Some(bound)) => (Fact::Is(false), vec![bound]),
                    _ => return None,
                }
            }
            BinOp::Max | BinOp::Min => {
                let (x, y) = if op == BinOp::Max { (a, b) } else { (b, a) };
                let bound = self.bound(space, &over(x, y, 0)?)?;
                (Fact::Same(known(a)), vec![bound])
            }
            BinOp::Rem => {
                let (above, below) = (self.p.linear(a, &known)?, over(b, a, 1)?);
                (Fact::Same(known(a)), vec![self.bound(space, &above)?, self.bound(space, &below)?])
            }
            _ => return None,
        };
        interior.facts.insert(n, fact);
        for bound in bounds {
            match bound {
                Bound::Low(low) => interior.lows.push(low),
                Bound::High(times, high) => interior.highs.push((times, high)),
            }
        }
        Some(())
    }

    /// Where a sum is not negative, if that is so away from an edge: from a number on, or up to something that is no number.
    fn bound(&self, space: Space, sum: &Linear) -> Option<Bound> {
        let (mut times, mut rest) = (0, Linear { constant: sum.constant, ..Linear::default() });
        for (n, c) in &sum.terms {
            let s = self.p.space_of(*n);
            let is_position = matches!(self.p.node(*n).op, Op::Pos);
            if is_position && s == space {
                times = *c;
            } else if is_position && self.p.encloses(space, s) {
                // Positions further in, where their number is known: the worst of them.
                let Region::Dim(size) = self.p.space(s).region else { return None };
                let last = self.p.as_int(size)?.checked_sub(1)?;
                rest.constant = rest.constant.checked_add(last.checked_mul(*c)?.min(0))?;
            } else if self.p.encloses(s, self.p.space(space).parent) {
                rest.terms.insert(*n, *c);
            } else {
                return None;
            }
        }
        match (times, rest.terms.is_empty()) {
            (1, true) => Some(Bound::Low(rest.constant.checked_neg()?)),
            (..=-1, false) => Some(Bound::High(times.checked_neg()?, rest)),
            _ => None,
        }
    }
}

/// From or up to where a position may go.
enum Bound {
    Low(i64),
    High(i64, Linear),
}
