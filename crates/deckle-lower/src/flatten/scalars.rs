//! Scalar operators, and element accesses.

use super::value::Val;
use super::{Cx, Flattener, Frame, Res, bug};
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Op, UnOp};
use deckle_ir::kernel::{Fault, Node, Space};
use deckle_ir::scalar::{Scalar, ScalarType};

impl<'p> Flattener<'p> {
    pub(super) fn arithmetic(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arg = |f: &Self, i: usize| f.scalar(fx, cx.inst.args[i]);
        let a = arg(self, 0)?;
        let n = match &cx.inst.op {
            Op::Unary(op) => self.k.unary(*op, a),
            Op::Cast(to) => self.k.cast(*to, a),
            Op::Binary(op) => {
                let b = arg(self, 1)?;
                self.operator(*op, a, b, cx.span, cx.ctx)
            }
            Op::Fma => {
                let (b, c) = (arg(self, 1)?, arg(self, 2)?);
                self.k.fma(a, b, c)
            }
            _ => {
                let (x, y) = (self.get(fx, cx.inst.args[1])?, self.get(fx, cx.inst.args[2])?);
                return self.choose(a, &x, &y);
            }
        };
        Ok(Val::Scalar(n))
    }

    /// One of two flat values, both computed.
    pub(super) fn choose(&mut self, c: Node, x: &Val, y: &Val) -> Res<Val> {
        Ok(match (x, y) {
            (Val::Scalar(x), Val::Scalar(y)) => Val::Scalar(self.k.select(c, *x, *y)),
            (Val::Tuple(xs), Val::Tuple(ys)) => {
                Val::tuple(xs.iter().zip(ys.iter()).map(|(x, y)| self.choose(c, x, y)).collect::<Res<_>>()?)
            }
            _ => return Err(bug("one of two values of different types is chosen")),
        })
    }

    /// A scalar operator, with the checks that it needs.
    pub(super) fn operator(&mut self, op: BinOp, a: Node, b: Node, span: Span, ctx: Space) -> Node {
        let ty = self.k.ty(a);
        if !ty.is_int() {
            return self.k.binary(op, a, b);
        }
        let zero = self.k.constant(Scalar::zero(ty));
        match op {
            BinOp::Div | BinOp::Rem => {
                let known = self.k.as_const(b).and_then(Scalar::as_int);
                if known.is_some_and(|k| k != 0) {
                    let divisor = self.k.as_int(b).filter(|_| op == BinOp::Div);
                    let quotient = divisor.and_then(|m| self.exact_quotient(a, m));
                    return quotient.unwrap_or_else(|| self.k.binary(op, a, b));
                }
                let ok = self.k.binary(BinOp::Ne, b, zero);
                let dividend = self.k.cast(ScalarType::I64, a);
                let b = self.check(ok, b, Fault::DivideByZero(ty), span, &[dividend], ctx);
                self.k.binary(op, a, b)
            }
            BinOp::Pow if ty.is_signed() => {
                let ok = self.k.binary(BinOp::Ge, b, zero);
                let operands = [a, b].map(|n| self.k.cast(ScalarType::I64, n));
                let b = self.check(ok, b, Fault::NegativeExponent, span, &operands, ctx);
                self.k.binary(op, a, b)
            }
            _ => self.compared(op, a, b, ctx),
        }
    }

    /// A scalar operator that needs no check; a comparison with a known outcome is a constant.
    pub(super) fn compared(&mut self, op: BinOp, a: Node, b: Node, ctx: Space) -> Node {
        let compares = matches!(op, BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge | BinOp::Eq | BinOp::Ne);
        if !compares || self.k.ty(a) != ScalarType::I64 {
            return self.k.binary(op, a, b);
        }
        if let Some(holds) = self.known_comparison(op, a, b, ctx) {
            return self.k.constant(Scalar::Bool(holds));
        }
        let (a, b) = self.number_and_rest(a, b).unwrap_or((a, b));
        self.k.binary(op, a, b)
    }

    /// An index that is in range from here on.
    pub(super) fn in_range(&mut self, i: Node, size: Node, what: &'static str, span: Span, ctx: Space) -> Node {
        if let (Some(i), Some(n)) = (self.k.as_int(i), self.k.as_int(size))
            && 0 <= i
            && i < n
        {
            return self.k.int(i);
        }
        if self.is_in_range(i, size) || self.is_said_in_range(i, size, ctx) {
            return self.proven(i, size, ctx);
        }
        // One comparison for both ends: a negative index is a large unsigned one.
        let (ui, un) = (self.k.cast(ScalarType::U64, i), self.k.cast(ScalarType::U64, size));
        let ok = self.k.binary(BinOp::Lt, ui, un);
        self.check(ok, i, Fault::Index(what.into()), span, &[i, size], ctx)
    }

    pub(super) fn index(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let mut val = self.get(fx, cx.inst.args[0])?;
        let proven = fx.proven[cx.v.index()];
        for a in &cx.inst.args[1..] {
            let i = self.scalar(fx, *a)?;
            let arr = super::as_array(&val)?;
            let arr = self.random(&arr)?;
            let size = self.size(&arr, cx.ctx)?;
            // The proof holds at the access: further out, where it might be loaded from, it may not.
            let i = match proven && self.k.space_of(i) == cx.ctx {
                true => self.proven(i, size, cx.ctx),
                false => self.in_range(i, size, "index", cx.span, cx.ctx),
            };
            val = self.at(&arr, i, cx.ctx)?;
        }
        Ok(val)
    }

    // Short names for common operations.

    pub(super) fn add(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::Add, a, b)
    }

    pub(super) fn sub(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::Sub, a, b)
    }

    pub(super) fn mul(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::Mul, a, b)
    }

    pub(super) fn lt(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::Lt, a, b)
    }

    pub(super) fn ge(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::Ge, a, b)
    }

    pub(super) fn eq(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::Eq, a, b)
    }

    pub(super) fn and(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::And, a, b)
    }

    pub(super) fn or(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::Or, a, b)
    }

    pub(super) fn not(&mut self, a: Node) -> Node {
        self.k.unary(UnOp::Not, a)
    }

    pub(super) fn min(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::Min, a, b)
    }

    pub(super) fn max(&mut self, a: Node, b: Node) -> Node {
        self.k.binary(BinOp::Max, a, b)
    }

    /// Whether the first comes before the second in the order of `sort`.
    pub(super) fn before(&mut self, a: Node, b: Node) -> Node {
        let less = self.lt(a, b);
        if !self.k.ty(a).is_float() {
            return less;
        }
        let (nan_a, nan_b) = (self.k.unary(UnOp::IsNan, a), self.k.unary(UnOp::IsNan, b));
        let not_nan_a = self.not(nan_a);
        let last = self.and(not_nan_a, nan_b);
        let zeros = self.zeros_differ(a, b);
        let some = self.or(less, last);
        self.or(some, zeros)
    }

    /// Whether the first is -0.0 and the second 0.0.
    fn zeros_differ(&mut self, a: Node, b: Node) -> Node {
        let ty = self.k.ty(a);
        let (zero, one) = (self.k.constant(Scalar::zero(ty)), self.k.constant(Scalar::one(ty)));
        let (za, zb) = (self.eq(a, zero), self.eq(b, zero));
        let (ia, ib) = (self.k.binary(BinOp::Div, one, a), self.k.binary(BinOp::Div, one, b));
        let (na, pb) = (self.lt(ia, zero), self.lt(zero, ib));
        let zeros = self.and(za, zb);
        let signs = self.and(na, pb);
        self.and(zeros, signs)
    }

    /// Whether the order of `sort` treats two scalars as equal.
    pub(super) fn alike(&mut self, a: Node, b: Node) -> Node {
        if !self.k.ty(a).is_float() {
            return self.eq(a, b);
        }
        let (x, y) = (self.before(a, b), self.before(b, a));
        let either = self.or(x, y);
        self.not(either)
    }
}
