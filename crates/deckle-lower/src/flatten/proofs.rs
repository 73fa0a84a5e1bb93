//! Indices that need no check: those that are positions, plus or minus a known number, and those that a branch compares with the size; and comparisons whose
//! outcome is known where they are made.
//!
//! An index is a sum of positions, each at least 0 and below the size of its dimension, of counters of loops, which are below their limits, and numbers. If the sum of the greatest positions
//! is below the size of the array, whatever the sizes are, the index is in range.
//!
//! A proof relies on a size, and a size on its checks. The host has made those of the root before a kernel runs; if a kernel's own check fails, the kernel continues until all points are
//! done. There the size differs from the proven one, and the index is 0: [`Flattener::proven`].
//!
//! A branch, or a round of a loop, runs only if its condition holds: `b - a - 1` is not negative inside of `if a < b`. The same is known of a difference that is a multiple
//! of this one plus a number ([`Flattener::exceeds`]). Conditions compare values, so sums are decomposed only if they do not wrap; checks, which are 0 if they fail, are never decomposed.
//!
//! ```text
//! for j < n { if 64·j + 3 < 64·n - 8 .. }      64·n - 8 - (64·j + 3) - 1  =  64·(n - j - 1) + 52
//! ```

use super::Flattener;
use super::extents::INTS;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::kernel::{Linear, Node, Op, ROOT, Region, Space};
use deckle_ir::scalar::{Scalar, ScalarType};

impl Flattener<'_> {
    fn linear(&self, n: Node) -> Option<Linear> {
        self.k.linear(n, &|n| n)
    }

    /// Whether an index is certainly at least 0 and below a size.
    pub(super) fn is_in_range(&self, index: Node, size: Node) -> bool {
        self.margin(index, size).is_some_and(|least| least >= 0)
    }

    /// A lower bound of the distance between the index and the size.
    fn margin(&self, index: Node, size: Node) -> Option<i64> {
        let index = self.linear(index)?;
        let mut most = Linear { constant: index.constant, ..Linear::default() };
        if index.constant < 0 {
            return None;
        }
        for (n, c) in &index.terms {
            let size = match (&self.k.node(*n).op, self.k.space(self.k.space_of(*n)).region) {
                _ if *c < 0 => return None,
                (Op::Pos, Region::Dim(size)) => size,
                (Op::Var(_), _) => self.counters.get(n)?.limit,
                _ => return None,
            };
            let mut last = self.linear(size)?;
            last.constant = last.constant.checked_sub(1)?;
            most.add(&last, *c)?;
        }
        let mut room = self.linear(size)?;
        room.add(&most, -1)?;
        // The rest must be a number: sizes may be anything.
        room.terms.is_empty().then(|| room.constant.checked_sub(1)).flatten()
    }

    /// Whether the branches and loops around a context run only if an index is at least 0 and below a size. It is not loaded outside of them ([`Program::pin`](deckle_ir::kernel::Program::pin)).
    pub(super) fn is_said_in_range(&mut self, index: Node, size: Node, ctx: Space) -> bool {
        let (said, zero) = (self.said(ctx), self.k.int(0));
        !said.is_empty()
            && self.exceeds(size, index, 1, &said)
            && (self.range_of(index).0 >= 0 || self.exceeds(index, zero, 0, &said))
    }

    /// An upper bound of an integer where the conditions around a context hold.
    pub(super) fn most_said(&self, n: Node, ctx: Space) -> i128 {
        let most = |known: &Linear| {
            let others = known.terms.iter().filter(|(m, _)| **m != n);
            let greatest = |(m, c): (&Node, &i64)| {
                let ((lo, hi), c) = (self.range_of(*m), i128::from(*c));
                (c * lo).max(c * hi)
            };
            (known.terms.get(&n) == Some(&-1)).then(|| i128::from(known.constant) + others.map(greatest).sum::<i128>())
        };
        self.said(ctx).iter().filter_map(most).fold(self.range_of(n).1, i128::min)
    }

    /// The outcome of a comparison at the points of a context, if known.
    pub(super) fn known_comparison(&self, op: BinOp, a: Node, b: Node, ctx: Space) -> Option<bool> {
        let said = self.said(ctx);
        if said.is_empty() {
            return None;
        }
        let exceeds = |a: Node, b: Node, by: i64| self.exceeds(a, b, by, &said);
        let (less, not_less) = (|a, b| exceeds(b, a, 1), |a, b| exceeds(a, b, 0));
        let either = |yes: bool, no: bool| if yes { Some(true) } else { no.then_some(false) };
        match op {
            BinOp::Lt => either(less(a, b), not_less(a, b)),
            BinOp::Ge => either(not_less(a, b), less(a, b)),
            BinOp::Gt => either(less(b, a), not_less(b, a)),
            BinOp::Le => either(not_less(b, a), less(b, a)),
            BinOp::Eq => (less(a, b) || less(b, a)).then_some(false),
            _ => (less(a, b) || less(b, a)).then_some(true),
        }
    }

    /// A number and a difference that compare as two nodes do: in unrolled rounds, all comparisons with one bound then share the difference. Only for comparisons of a loop
    /// counter: those of positions are recognised by their form (`facts/edges.rs`).
    pub(super) fn number_and_rest(&mut self, a: Node, b: Node) -> Option<(Node, Node)> {
        let mut sum = self.exact(b);
        sum.add(&self.exact(a), -1)?;
        let number = sum.constant.checked_neg()?;
        if number == 0 || !sum.terms.keys().any(|n| self.counters.contains_key(n)) {
            return None;
        }
        let mut rest = self.k.int(0);
        for (n, c) in &sum.terms {
            let times = self.k.int(*c);
            let term = self.mul(*n, times);
            rest = self.add(rest, term);
        }
        (self.range_of(rest) != INTS).then(|| (self.k.int(number), rest))
    }

    /// A quotient where a number divides every term of a sum that does not wrap.
    pub(super) fn exact_quotient(&mut self, a: Node, m: i64) -> Option<Node> {
        let sum = self.exact_sum(a).filter(|s| m > 0 && s.constant % m == 0 && s.terms.values().all(|c| c % m == 0))?;
        let mut total = None;
        for (n, c) in &sum.terms {
            let c = self.k.int(c / m);
            let term = self.mul(*n, c);
            total = Some(total.map_or(term, |t| self.add(t, term)));
        }
        let last = self.k.int(sum.constant / m);
        Some(total.map_or(last, |t| self.add(t, last)))
    }

    /// Whether `a - b` is at least a number, given the conditions.
    fn exceeds(&self, a: Node, b: Node, by: i64, said: &[Linear]) -> bool {
        let difference = || {
            let mut sum = self.exact(a);
            sum.add(&self.exact(b), -1)?;
            sum.constant = sum.constant.checked_sub(by)?;
            Some(sum)
        };
        let Some(sum) = difference() else { return false };
        let follows = |known: &Linear| {
            let (n, c) = known.terms.first_key_value()?;
            let times = sum.terms.get(n)? / c;
            let mut rest = sum.clone();
            rest.add(known, times.checked_neg()?)?;
            (times > 0 && rest.terms.is_empty() && rest.constant >= 0).then_some(())
        };
        sum.terms.is_empty() && sum.constant >= 0 || said.iter().any(|known| follows(known).is_some())
    }

    /// The conditions around a context, as sums that are not negative.
    fn said(&self, ctx: Space) -> Vec<Linear> {
        let (mut said, mut space) = (Vec::new(), ctx);
        while space != ROOT {
            if let Region::Guard(cond, when) = self.k.space(space).region {
                self.condition(cond, when, &mut said);
            }
            space = self.k.space(space).parent;
        }
        said
    }

    fn condition(&self, cond: Node, holds: bool, said: &mut Vec<Linear>) {
        match self.k.node(cond).op {
            Op::Unary(UnOp::Not, x) => self.condition(x, !holds, said),
            Op::Binary(op @ (BinOp::And | BinOp::Or), a, b)
                if (op == BinOp::And) == holds && self.k.ty(cond) == ScalarType::Bool =>
            {
                [a, b].into_iter().for_each(|c| self.condition(c, holds, said));
            }
            // `a && b`, where `b` is computed only if `a` holds.
            Op::Part(group, k) if holds => {
                if let Op::If { yes, then, other, .. } = &self.k.node(group).op
                    && self.k.as_const(other[k as usize]) == Some(Scalar::Bool(false))
                    && let Region::Guard(first, when) = self.k.space(*yes).region
                {
                    self.condition(first, when, said);
                    self.condition(then[k as usize], true, said);
                }
            }
            Op::Binary(op, a, b) if self.k.ty(a) == ScalarType::I64 => {
                let (less, more, by) = match (op, holds) {
                    (BinOp::Lt, true) | (BinOp::Ge, false) => (a, b, 1),
                    (BinOp::Le, true) | (BinOp::Gt, false) => (a, b, 0),
                    (BinOp::Gt, true) | (BinOp::Le, false) => (b, a, 1),
                    (BinOp::Ge, true) | (BinOp::Lt, false) => (b, a, 0),
                    _ => return,
                };
                let mut sum = self.exact(more);
                let added = sum.add(&self.exact(less), -1).and_then(|()| sum.constant.checked_sub(by));
                if let Some(constant) = added {
                    said.push(Linear { constant, ..sum });
                }
            }
            _ => {}
        }
    }

    /// A node as a sum that has exactly its value.
    fn exact(&self, n: Node) -> Linear {
        self.exact_sum(n).unwrap_or_else(|| Linear { terms: [(n, 1)].into(), constant: 0 })
    }

    fn exact_sum(&self, n: Node) -> Option<Linear> {
        if let Some(constant) = self.k.as_int(n) {
            return Some(Linear { constant, ..Linear::default() });
        }
        let Op::Binary(op, a, b) = self.k.node(n).op else { return None };
        // A value that may wrap may be any integer. The size of a row is known as a whole, and not by its offsets.
        if self.k.ty(n) != ScalarType::I64 || self.range_of(n) == INTS || op == BinOp::Sub && self.is_row(a, b) {
            return None;
        }
        let mut sum = Linear::default();
        match (op, self.k.as_int(a), self.k.as_int(b)) {
            (BinOp::Add | BinOp::Sub, ..) => {
                sum.add(&self.exact(a), 1)?;
                sum.add(&self.exact(b), if op == BinOp::Add { 1 } else { -1 })?;
            }
            (BinOp::Mul, Some(c), _) => sum.add(&self.exact(b), c)?,
            (BinOp::Mul, _, Some(c)) => sum.add(&self.exact(a), c)?,
            _ => return None,
        }
        Some(sum)
    }

    /// An index that is proven to be below a size, at the points of a context: 0 if a check fails that the size depends on, unless then there are no points.
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
