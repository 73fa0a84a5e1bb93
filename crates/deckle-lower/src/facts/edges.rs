//! The interior of a dimension, where conditions on its edges are constant.
//!
//! Stencils read beyond the edges, so their indices are clamped, wrapped or tested; away from the edges none of this has an effect. This module finds such
//! expressions: comparisons, minima, maxima and remainders of the position plus or minus something. Each
//! has a bound from which or up to which it has no effect. Between the greatest of the lower bounds and the least of the upper ones, the code omits it.

use super::Facts;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Linear, Node, Op, Region, Space};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::Item;
use std::collections::{BTreeMap, BTreeSet};

/// A fact about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fact {
    /// A condition: whether it holds.
    Is(bool),
    /// A number: an equal node.
    Same(Node),
}

/// The facts that hold in the interior of a dimension, and its bounds.
#[derive(Debug)]
pub(crate) struct Interior {
    pub dim: Space,
    pub facts: BTreeMap<Node, Fact>,
    /// Lower bounds of positions.
    pub lows: Vec<i64>,
    /// Upper bounds of multiples of positions: sums of values known outside.
    pub highs: Vec<(i64, Linear)>,
}

impl Facts<'_> {
    /// The interior of a dimension, if it affects these items.
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

    /// The interior of one of several dimensions inside each other, if its bounds are known outside of all of them.
    pub(crate) fn interior_among(&mut self, dims: &[Space], dim: Space, items: &[Item]) -> Option<Interior> {
        let outside = self.p.space(*dims.first()?).parent;
        let interior = self.interior(dim, items)?;
        let known = |n: &Node| self.p.encloses(self.p.space_of(*n), outside);
        interior.highs.iter().all(|(_, high)| high.terms.keys().all(known)).then_some(interior)
    }

    /// Records the fact about a node away from the edges, if there is one.
    fn note_fact(&self, space: Space, n: Node, interior: &mut Interior) -> Option<()> {
        let Op::Binary(op, a, b) = self.p.node(n).op else { return None };
        if self.p.ty(a) != ScalarType::I64 {
            return None;
        }
        let known = |n: Node| match interior.facts.get(&n).copied().or_else(|| self.assumed(n)) {
            Some(Fact::Same(m)) => m,
            _ => n,
        };
        // By how much the first exceeds the second.
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

    /// The bound beyond which a sum is not negative, if there is one: from a number on, or up to a symbolic value.
    fn bound(&self, space: Space, sum: &Linear) -> Option<Bound> {
        let (mut times, mut rest) = (0, Linear { constant: sum.constant, ..Linear::default() });
        for (n, c) in &sum.terms {
            let s = self.p.space_of(*n);
            let is_position = matches!(self.p.node(*n).op, Op::Pos);
            if is_position && s == space {
                times = *c;
            } else if is_position && self.p.encloses(space, s) {
                // Positions further in, if their number is known: the worst case of them.
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

/// A lower or upper bound of a position.
enum Bound {
    Low(i64),
    High(i64, Linear),
}
