//! Arithmetic of sizes: every sum, product and scan of numbers of elements is made here, and checked once.
//!
//! *Invariant.* A size (of a [`Region::Dim`], of an array) is at least 0 and at most [`MOST`]; so is the number of points of every space whose points have
//! numbers. Every operation that could violate this is checked before anything relies on it:
//! - an integer of the program that becomes a size, by [`Flattener::natural`];
//! - a sum or product of sizes, by [`Flattener::size_add`] and [`Flattener::size_mul`], unless the ranges of the operands prove it;
//! - a sum over the points of a space, by one test of the total. Sizes are not negative, so a saturating sum is associative, and exact if the total is
//!   below the end of its range. Prefixes are then exact as well ([`Flattener::offsets_fit`]);
//! - the points of nested dense dimensions, by [`Flattener::points`].
//!
//! So two sizes can be added, a position can be added to a base, and the number `p·m + j` of a point can be computed without a check: none of them wraps.
//! The proofs of `bounds` rely on the same bound.
//!
//! A check at the root is a step of the host, before the steps that use the number, which then use it directly. Elsewhere the number is used through its
//! check: it is 0 if that fails, and the points that it counts are not traversed.

use super::{Flattener, Res};
use deckle_diag::Span;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Buf, Combine, Fault, FoldSpec, Node, Op, ROOT, Region, Rep, Rows, Space};
use deckle_ir::scalar::{Scalar, ScalarType};

/// The maximal number of elements of an array, and of numbered points of a space.
pub(super) const MOST: i64 = deckle_analysis::bounds::MANY as i64;
/// The maximal number of elements in memory: machines address fewer bytes. A few such sizes can be added within [`MOST`].
const STORED: i64 = 1 << 56;
/// The depth to which ranges of nodes are computed.
const DEPTH: u32 = 6;

pub(super) const INTS: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);
const SIZES: (i128, i128) = (0, MOST as i128);

impl Flattener<'_> {
    /// A number of elements: not negative, and at most [`MOST`].
    pub(super) fn natural(&mut self, n: Node, what: &'static str, span: Span, ctx: Space) -> Node {
        if self.is_size(n) || within(self.range_of(n), SIZES) {
            return n;
        }
        // A negative number is a large unsigned one.
        let (unsigned, most) = (self.k.cast(ScalarType::U64, n), self.k.constant(Scalar::U64(MOST as u64)));
        let ok = self.k.binary(BinOp::Le, unsigned, most);
        self.check(ok, n, Fault::Count(what.into()), span, &[n], ctx)
    }

    /// A number that is not negative, and may be larger than any size.
    pub(super) fn not_negative(&mut self, n: Node, what: &'static str, span: Span, ctx: Space) -> Node {
        if self.is_size(n) || self.range_of(n).0 >= 0 {
            return n;
        }
        let zero = self.k.int(0);
        let ok = self.ge(n, zero);
        self.check(ok, n, Fault::Negative(what.into()), span, &[n], ctx)
    }

    /// The length of a range: 0 if there is `none`, else `n`, which is `steps` or one more unless it wrapped.
    pub(super) fn counted(&mut self, n: Node, none: Node, steps: Node, span: Span, ctx: Space) -> Node {
        if within(self.range_of(n), SIZES) {
            return n;
        }
        let most = self.k.constant(Scalar::U64(MOST as u64));
        let few = self.k.binary(BinOp::Lt, steps, most);
        let ok = self.or(none, few);
        let end = self.k.constant(Scalar::U64(i64::MAX as u64));
        let steps = self.k.binary(BinOp::Min, steps, end);
        let steps = self.k.cast(ScalarType::I64, steps);
        self.limited(n, ok, steps, ("the range".into(), span), ctx)
    }

    /// The sum of two sizes.
    pub(super) fn size_add(&mut self, a: Node, b: Node, ctx: Space) -> Node {
        let sum = self.add(a, b);
        self.at_most(sum, sum, MOST, ctx)
    }

    /// The product of two sizes.
    pub(super) fn size_mul(&mut self, a: Node, b: Node, ctx: Space) -> Node {
        let (product, exact) = (self.mul(a, b), self.k.binary(BinOp::MulSat, a, b));
        self.at_most(product, exact, MOST, ctx)
    }

    /// The number of points of `rows` rows of a size: a node of the root.
    pub(super) fn points(&mut self, rows: Node, size: Node) -> Node {
        self.size_mul(rows, size, ROOT)
    }

    /// The sum of a size over the points of a space.
    pub(super) fn size_sum(&mut self, over: Space, size: Node, ctx: Space) -> Res<Node> {
        let total = self.saturating_sum(over, size, ctx)?;
        Ok(self.at_most(total, total, MOST, ctx))
    }

    /// The same, unchecked: a total at the end of the range of its type may be larger.
    pub(super) fn saturating_sum(&mut self, over: Space, size: Node, ctx: Space) -> Res<Node> {
        let spec = self.summing(size);
        Ok(self.fold(over, spec, ctx, &[0])?[0])
    }

    /// The combination of sizes in folds and scans.
    pub(super) fn summing(&mut self, size: Node) -> FoldSpec {
        let zero = self.k.int(0);
        FoldSpec { init: Some(vec![zero]), elems: vec![size], combine: Combine::Ops(vec![BinOp::AddSat]) }
    }

    /// Checks offsets that a kernel has summed up, before any use: the last one, `total`, bounds all of them.
    pub(super) fn offsets_fit(&mut self, offsets: Buf, total: Node) {
        self.offset_bufs.insert(offsets);
        self.at_most(total, total, STORED, ROOT);
    }

    /// A number of elements that must be at most `most`. `exact` is the number itself unless that wrapped, and then more than `most`.
    fn at_most(&mut self, n: Node, exact: Node, most: i64, ctx: Space) -> Node {
        if self.is_size(exact) || self.range_of(exact).1 <= i128::from(most) {
            return n;
        }
        let most = self.k.int(most);
        let ok = self.k.binary(BinOp::Le, exact, most);
        self.limited(n, ok, exact, (self.name.clone(), self.span), ctx)
    }

    /// A number of elements that is checked at every point of a context. It stays in its own space, so that a dense dimension stays dense.
    fn limited(&mut self, n: Node, ok: Node, operand: Node, (name, span): (String, Span), ctx: Space) -> Node {
        let home = self.k.inner(self.k.space_of(n), self.k.space_of(ok));
        let fault = Fault::TooMany(name.into());
        if ctx != ROOT && (home == ctx || !self.on_host(ctx)) {
            return self.check(ok, n, fault, span, &[operand], ctx);
        }
        self.check_at(ok, n, fault, span, &[operand], ctx);
        if ctx == ROOT {
            return n;
        }
        let zero = self.k.int(0);
        let n = self.k.select(ok, n, zero);
        self.sized.insert(n);
        n
    }

    /// Makes a check of sizes at every point of a context, whose value is not used: by the host, once, if it is the same at all of them.
    pub(super) fn check_at(&mut self, ok: Node, n: Node, fault: Fault, span: Span, operands: &[Node], ctx: Space) {
        let is_pos = |n: &Node| matches!(self.k.node(*n).op, Op::Pos);
        let others = operands.iter().filter(|n| !is_pos(n));
        let of_root = [ok, n].iter().chain(others).all(|n| self.k.space_of(*n) == ROOT);
        let (at, cond) = match self.has_points(ctx) {
            // Without points there is nothing to check.
            Some(some) if of_root => {
                let none = self.not(some);
                (ROOT, self.or(ok, none))
            }
            _ => (ctx, ok),
        };
        if at == ROOT && self.scopes().any(|s| s.fitting.contains(&cond)) {
            return;
        }
        let operands: Vec<Node> = operands.iter().map(|n| self.first_position(*n, at)).collect();
        self.check(cond, n, fault, span, &operands, at);
        if at == ROOT {
            self.here.scope.fitting.insert(cond);
        }
    }

    /// The operands that a check at the root reports for a position further inside: they are the same at all points, so the first one fails.
    pub(super) fn first_position(&mut self, n: Node, at: Space) -> Node {
        if at == ROOT && self.k.space_of(n) != ROOT && matches!(self.k.node(n).op, Op::Pos) {
            return self.k.int(0);
        }
        n
    }

    /// Whether a space has any points: a node of the root, if it can be computed there.
    fn has_points(&mut self, s: Space) -> Option<Node> {
        let zero = self.k.int(0);
        let mut some = self.k.constant(Scalar::Bool(true));
        for s in self.k.between(ROOT, s) {
            let Region::Dim(size) = self.k.space(s).region else { return None };
            if self.k.space_of(size) != ROOT {
                return None;
            }
            let here = self.lt(zero, size);
            some = self.and(some, here);
        }
        Some(some)
    }

    /// Records a representation with `count` elements that is in memory whenever it is used: its sizes are checked already.
    pub(super) fn in_memory(&mut self, rep: &Rep, count: Node) {
        self.k.measure(rep, count);
        self.note_memory(rep, Some(count));
    }

    /// The same, where the number of elements may not be a node of the root.
    pub(super) fn note_memory(&mut self, rep: &Rep, count: Option<Node>) {
        match rep {
            Rep::Scalar(_) => {}
            Rep::Tuple(parts) => parts.iter().for_each(|p| self.note_memory(p, count)),
            Rep::Array(Rows::Equal(size), elem) => {
                let all = count.map(|rows| {
                    let exact = self.k.binary(BinOp::MulSat, rows, *size);
                    self.here.scope.sizes.extend([*size, exact]);
                    self.mul(rows, *size)
                });
                self.note_memory(elem, all);
            }
            Rep::Array(Rows::Offsets(buf), elem) => {
                self.offset_bufs.insert(*buf);
                let all = count.map(|rows| self.k.load(*buf, rows, ROOT));
                self.note_memory(elem, all);
            }
        }
    }

    /// A sum of products of integers, exact, or more than any size if it may not be exact.
    pub(super) fn polynomial(&mut self, terms: &[(i64, Vec<Node>)]) -> Node {
        let mut ranges = Vec::new();
        for (c, factors) in terms {
            let mut product = (i128::from(*c), i128::from(*c));
            for (a, b) in factors.iter().map(|f| self.range_of(*f)) {
                let corners = [(product.0, a), (product.0, b), (product.1, a), (product.1, b)];
                let [w, x, y, z] = corners.map(|(x, y)| x.saturating_mul(y));
                product = (w.min(x).min(y).min(z), w.max(x).max(y).max(z));
            }
            ranges.push(product);
        }
        let sum = |pick: fn(&(i128, i128)) -> i128| ranges.iter().map(pick).fold(0, i128::saturating_add);
        let plain = terms.len() == 1 && ranges.iter().all(|r| within(*r, INTS))
            || within((sum(|r| r.0.min(0)), sum(|r| r.1.max(0))), INTS);
        let (mut total, mut fits) = (self.k.int(0), self.k.constant(Scalar::Bool(true)));
        // Terms within this bound can be added without wrapping.
        let bound = (1i64 << 62) / (terms.len().max(1).next_power_of_two() as i64);
        let (least, most) = (self.k.int(-bound), self.k.int(bound));
        for (c, factors) in terms {
            // An offset that is subtracted: its own bounds are those of the term.
            if let (-1, [factor], false) = (*c, &factors[..], plain) {
                total = self.sub(total, *factor);
                let (low, high) = (self.ge(*factor, least), self.ge(most, *factor));
                let both = self.and(low, high);
                fits = self.and(fits, both);
                continue;
            }
            let op = if plain { BinOp::Mul } else { BinOp::MulSat };
            let c = self.k.int(*c);
            let term = factors.iter().fold(c, |p, f| self.k.binary(op, p, *f));
            total = self.add(total, term);
            if !plain {
                let (low, high) = (self.ge(term, least), self.ge(most, term));
                let both = self.and(low, high);
                fits = self.and(fits, both);
            }
        }
        let end = self.k.int(i64::MAX);
        self.k.select(fits, total, end)
    }

    /// A polynomial that is known to be the size of an array and so cannot overflow: as a sum, which index proofs understand.
    pub(super) fn without_end(&self, n: Node) -> Node {
        match self.k.node(n).op {
            Op::Select(_, total, end) if self.k.as_int(end) == Some(i64::MAX) => total,
            _ => n,
        }
    }

    /// Whether a node is known to be the size of an array.
    fn is_size(&self, n: Node) -> bool {
        self.sized.contains(&n) || self.scopes().any(|s| s.sizes.contains(&n))
    }

    /// The range of an integer node, whatever the data.
    pub(super) fn range_of(&self, n: Node) -> (i128, i128) {
        self.range_within(n, DEPTH)
    }

    fn range_within(&self, n: Node, depth: u32) -> (i128, i128) {
        let ty = self.k.ty(n);
        let all = ty.int_range().unwrap_or(INTS);
        if let Some(c) = self.k.as_const(n).and_then(Scalar::as_int) {
            return (c, c);
        }
        if self.is_size(n) {
            return SIZES;
        }
        if depth == 0 {
            return all;
        }
        let of = |n: Node| self.range_within(n, depth - 1);
        let hull = |a: (i128, i128), b: (i128, i128)| (a.0.min(b.0), a.1.max(b.1));
        // A value outside the range of its type wraps.
        let exact = |r: (i128, i128)| if within(r, all) { r } else { all };
        match &self.k.node(n).op {
            Op::Pos => (0, SIZES.1 - 1),
            Op::Var(_) => match (self.counters.get(&n), self.natural.get(&n)) {
                (Some(counter), _) => (0, counter.most),
                (None, Some(most)) => (0, *most),
                (None, None) => all,
            },
            Op::Cast(_, x) if self.k.ty(*x) == ScalarType::Bool => (0, 1),
            Op::Cast(_, x) if self.k.ty(*x).is_int() => exact(of(*x)),
            Op::Select(_, x, y) => hull(of(*x), of(*y)),
            Op::Check { value, site, .. } => {
                let value = of(*value);
                match self.k.sites[site.index()].kind {
                    // If it fails it is 0.
                    Fault::Count(_) => SIZES,
                    Fault::TooMany(_) => (value.0.min(0), value.1.min(SIZES.1)),
                    _ => hull(value, (0, 0)),
                }
            }
            Op::Binary(op, a, b) => {
                if *op == BinOp::Sub && self.is_row(*a, *b) {
                    return (0, i128::from(STORED));
                }
                let (x, y) = (of(*a), of(*b));
                let corners = || [x.0 * y.0, x.0 * y.1, x.1 * y.0, x.1 * y.1];
                let narrow = |r: (i128, i128)| within(r, INTS);
                let product = || match narrow(x) && narrow(y) {
                    true => corners().iter().fold((x.0 * y.0, x.0 * y.0), |r, c| hull(r, (*c, *c))),
                    false => (i128::MIN, i128::MAX),
                };
                let clamped = |r: (i128, i128)| (r.0.clamp(all.0, all.1), r.1.clamp(all.0, all.1));
                match op {
                    BinOp::Add => exact((x.0 + y.0, x.1 + y.1)),
                    BinOp::Sub => exact((x.0 - y.1, x.1 - y.0)),
                    BinOp::Mul => exact(product()),
                    BinOp::AddSat => clamped((x.0 + y.0, x.1 + y.1)),
                    BinOp::MulSat => clamped(product()),
                    BinOp::Min => (x.0.min(y.0), x.1.min(y.1)),
                    BinOp::Max => (x.0.max(y.0), x.1.max(y.1)),
                    BinOp::Div if x.0 >= 0 && y.0 > 0 => (x.0 / y.1, x.1 / y.0),
                    BinOp::Rem if x.0 >= 0 && y.0 > 0 => (0, x.1.min(y.1 - 1)),
                    _ => all,
                }
            }
            Op::Part(group, k) => match &self.k.node(*group).op {
                Op::If { then, other, .. } => hull(of(then[*k as usize]), of(other[*k as usize])),
                _ => all,
            },
            _ => all,
        }
    }

    /// Whether two nodes are offsets of the same array, so that their difference is the size of rows in memory, if it is a size.
    pub(super) fn is_row(&self, hi: Node, lo: Node) -> bool {
        match (&self.k.node(hi).op, &self.k.node(lo).op) {
            (Op::Load(a, _), Op::Load(b, _)) => a == b && self.offset_bufs.contains(a),
            _ => false,
        }
    }
}

fn within((lo, hi): (i128, i128), (least, most): (i128, i128)) -> bool {
    lo >= least && hi <= most
}
