//! Rules for scalars: values that are known statically.

use super::pass::Pass;
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Op, UnOp};
use deckle_ir::entity::Var;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::scalar_eval as eval;
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;

impl Pass<'_> {
    /// The replacement of a scalar operator.
    pub(super) fn scalar_rule(&mut self, op: &Op, args: &[Var], span: Span) -> Option<Var> {
        match op {
            Op::Unary(op) => self.unary(*op, args[0], span),
            Op::Binary(op) => self.binary(*op, args[0], args[1], span),
            Op::Cast(to) => match self.scalar(args[0]) {
                Some(x) => self.constant(x.cast(*to), span),
                None => (*self.b.ty(args[0]) == Type::Scalar(*to)).then_some(args[0]),
            },
            Op::Select => self.select(args, span),
            Op::Proj(k) => self.component(*k, args[0]),
            Op::Tuple | Op::Record(_) => self.rebuilt(op, args),
            _ => None,
        }
    }

    fn unary(&mut self, op: UnOp, x: Var, span: Span) -> Option<Var> {
        if let Some(c) = self.scalar(x) {
            let value = eval::unary(op, c).ok()?;
            return self.constant(value, span);
        }
        let inner = self.inst(x)?;
        match (op, &inner.op) {
            (UnOp::Neg, Op::Unary(UnOp::Neg)) | (UnOp::Not, Op::Unary(UnOp::Not)) => Some(inner.args[0]),
            (UnOp::Abs, Op::Unary(UnOp::Abs)) => Some(x),
            _ => None,
        }
    }

    fn binary(&mut self, op: BinOp, x: Var, y: Var, span: Span) -> Option<Var> {
        let ty = self.b.ty(x).as_scalar()?;
        if let (Some(a), Some(b)) = (self.scalar(x), self.scalar(y)) {
            // An operation that fails stays.
            let value = eval::binary(op, a, b).ok()?;
            return self.constant(value, span);
        }
        if ty.is_float() {
            return self.float_identity(op, x, y);
        }
        self.identity(op, ty, x, y, span).or_else(|| {
            if ty != ScalarType::I64 {
                return None;
            }
            match op {
                BinOp::Add | BinOp::Sub | BinOp::Mul => self.cancelled(op, x, y, span),
                BinOp::Div => self.divided(x, y, span).map(|(q, _)| q),
                BinOp::Rem => self.divided(x, y, span).map(|(_, r)| r),
                _ => None,
            }
        })
    }

    /// Identities that preserve every bit, including for NaN and the sign of zero.
    fn float_identity(&self, op: BinOp, x: Var, y: Var) -> Option<Var> {
        let is = |v: Var, c: f64| self.scalar(v).and_then(Scalar::as_float).is_some_and(|f| f.to_bits() == c.to_bits());
        match op {
            BinOp::Mul | BinOp::Div if is(y, 1.0) => Some(x),
            BinOp::Mul if is(x, 1.0) => Some(y),
            BinOp::Sub if is(y, 0.0) => Some(x),
            BinOp::Add if is(y, -0.0) => Some(x),
            BinOp::Add if is(x, -0.0) => Some(y),
            BinOp::Min | BinOp::Max if x == y => Some(x),
            _ => None,
        }
    }

    /// Identities of integers and booleans.
    fn identity(&mut self, op: BinOp, ty: ScalarType, x: Var, y: Var, span: Span) -> Option<Var> {
        let (a, b) = (self.scalar(x), self.scalar(y));
        let int = |c: Option<Scalar>| c.and_then(Scalar::as_int);
        let truth = |c: Option<Scalar>| c.and_then(Scalar::as_bool);
        let zero = |s: &mut Self| s.constant(Scalar::zero(ty), span);
        let bool = |s: &mut Self, c: bool| s.constant(Scalar::Bool(c), span);
        match op {
            BinOp::Add | BinOp::Or | BinOp::Xor if int(a) == Some(0) => Some(y),
            BinOp::Add | BinOp::Sub | BinOp::Or | BinOp::Xor | BinOp::Shl | BinOp::Shr if int(b) == Some(0) => Some(x),
            BinOp::Mul if int(a) == Some(1) => Some(y),
            BinOp::Mul | BinOp::Div if int(b) == Some(1) => Some(x),
            BinOp::Mul | BinOp::And if int(a) == Some(0) || int(b) == Some(0) => zero(self),
            BinOp::Rem if int(b) == Some(1) => zero(self),
            BinOp::Pow if int(b) == Some(1) => Some(x),
            BinOp::Pow if int(b) == Some(0) => self.constant(Scalar::one(ty), span),
            BinOp::Sub if x == y => zero(self),
            BinOp::Xor if x == y && ty.is_int() => zero(self),
            BinOp::Min | BinOp::Max | BinOp::And | BinOp::Or if x == y => Some(x),
            BinOp::Eq | BinOp::Le | BinOp::Ge if x == y => bool(self, true),
            BinOp::Ne | BinOp::Lt | BinOp::Gt | BinOp::Xor if x == y => bool(self, false),
            BinOp::And if truth(a) == Some(true) => Some(y),
            BinOp::And if truth(b) == Some(true) => Some(x),
            BinOp::And if truth(a) == Some(false) || truth(b) == Some(false) => bool(self, false),
            BinOp::Or if truth(a) == Some(false) => Some(y),
            BinOp::Or if truth(b) == Some(false) => Some(x),
            BinOp::Or if truth(a) == Some(true) || truth(b) == Some(true) => bool(self, true),
            BinOp::Eq if truth(b) == Some(true) => Some(x),
            BinOp::Eq if truth(a) == Some(true) => Some(y),
            _ => None,
        }
    }

    /// Sums, differences and products of `i64` that reduce to a number or to one variable. Only residues modulo 2⁶⁴
    /// matter, so wrapping is harmless.
    fn cancelled(&mut self, op: BinOp, x: Var, y: Var, span: Span) -> Option<Var> {
        let (a, b) = (self.ring(x, 16), self.ring(y, 16));
        let size = match op {
            BinOp::Add => a.add(&b),
            BinOp::Sub => a.sub(&b),
            _ => a.mul(&b),
        };
        self.as_variable(&size, span)
    }

    /// An integer as a polynomial of variables, as far as it consists of sums, differences and products.
    fn ring(&self, v: Var, fuel: u32) -> Size {
        let opaque = || Size::value(v);
        let Some(inst) = self.inst(v).filter(|_| fuel > 0) else { return opaque() };
        let size = match &inst.op {
            Op::Const(c) => c.as_int().map_or_else(opaque, Size::constant),
            Op::Binary(op @ (BinOp::Add | BinOp::Sub | BinOp::Mul)) => {
                let (a, b) = (self.ring(inst.args[0], fuel / 2), self.ring(inst.args[1], fuel / 2));
                match op {
                    BinOp::Add => a.add(&b),
                    BinOp::Sub => a.sub(&b),
                    _ => a.mul(&b),
                }
            }
            _ => opaque(),
        };
        let large =
            size.terms().len() > 8 || size.terms().iter().any(|(m, c)| m.len() > 4 || c.unsigned_abs() > 1 << 80);
        if large { opaque() } else { size }
    }

    /// The variable that has a value of this residue, if it is a number or an existing integer.
    pub(super) fn as_variable(&mut self, size: &Size, span: Span) -> Option<Var> {
        if let Some(c) = size.as_constant() {
            let c = Scalar::wrap_int(ScalarType::I64, c)?;
            return self.constant(c, span);
        }
        match size.as_atom()? {
            Atom::Value(p) if p.fields.is_empty() && *self.b.ty(p.root) == Type::INT => Some(p.root),
            _ => None,
        }
    }

    /// Quotient and remainder of `q·m + r` by `m`, where `0 ≤ r < m` and `0 ≤ q` are proven and nothing wraps.
    pub(super) fn divided(&mut self, x: Var, m: Var, span: Span) -> Option<(Var, Var)> {
        let func = self.func();
        let (size, divisor) = (self.facts.residue(func, x), self.facts.exact(func, m));
        if !self.facts.is_value(func, &size) {
            return None;
        }
        let (q, r) = self.quotient(&size, &divisor)?;
        Some((self.as_variable(&q, span)?, self.as_variable(&r, span)?))
    }

    /// Whether a variable has this size, or it is a number.
    fn has_variable(&self, size: &Size) -> bool {
        let int = |v: Var| *self.b.ty(v) == Type::INT;
        size.as_constant().is_some()
            || matches!(size.as_atom(), Some(Atom::Value(p)) if p.fields.is_empty() && int(p.root))
    }

    /// As [`Pass::divided`], for an integer that is not negative; both are variables or numbers.
    pub(super) fn quotient(&self, size: &Size, divisor: &Size) -> Option<(Size, Size)> {
        let (q, r) = split(size, divisor)?;
        let natural = |s: &Size| self.facts.natural(self.func(), s);
        let proven = natural(&q) && natural(&r) && natural(&divisor.sub(&r).sub(&1.into()));
        (proven && self.has_variable(&q) && self.has_variable(&r)).then_some((q, r))
    }

    fn select(&mut self, args: &[Var], span: Span) -> Option<Var> {
        let [c, x, y] = *args else { return None };
        if x == y {
            return Some(x);
        }
        if let Some(c) = self.scalar(c).and_then(Scalar::as_bool) {
            return Some(if c { x } else { y });
        }
        if let Some(inst) = self.inst(c).filter(|i| i.op == Op::Unary(UnOp::Not)) {
            let c = inst.args[0];
            return self.emit(Op::Select, &[c, y, x], span);
        }
        let truth = |s: &Self, v: Var| s.scalar(v).and_then(Scalar::as_bool);
        match (truth(self, x), truth(self, y)) {
            (Some(true), Some(false)) => Some(c),
            (Some(false), Some(true)) => self.emit(Op::Unary(UnOp::Not), &[c], span),
            (Some(true), None) => self.emit(Op::Binary(BinOp::Or), &[c, y], span),
            (None, Some(false)) => self.emit(Op::Binary(BinOp::And), &[c, x], span),
            (Some(a), Some(_)) => self.constant(Scalar::Bool(a), span),
            _ => match (self.scalar(x), self.scalar(y)) {
                (Some(a), Some(b)) if same_bits(a, b) => Some(x),
                _ => None,
            },
        }
    }

    /// A component of a tuple that is built, or destructured, here.
    fn component(&mut self, k: u32, tuple: Var) -> Option<Var> {
        let inst = self.inst(tuple)?;
        match &inst.op {
            Op::Tuple | Op::Record(_) => inst.args.get(k as usize).copied(),
            Op::Unzip => {
                let zipped = self.inst(inst.args[0])?;
                let part = *zipped.args.get(k as usize).filter(|_| zipped.op == Op::Zip)?;
                let good = self.b.ty(part).is_concrete() && self.may_stand(part, &Op::Proj(k), &[tuple]);
                good.then_some(part)
            }
            _ => None,
        }
    }

    /// A tuple of all components of another one, in order, is that one.
    fn rebuilt(&self, op: &Op, args: &[Var]) -> Option<Var> {
        let whole = match self.inst(*args.first()?)? {
            inst if inst.op == Op::Proj(0) => inst.args[0],
            _ => return None,
        };
        let part = |(k, v): (usize, &Var)| {
            self.inst(*v).is_some_and(|inst| inst.op == Op::Proj(k as u32) && inst.args[0] == whole)
        };
        let parts = self.b.ty(whole).parts()?.len();
        let good = parts == args.len() && args.iter().enumerate().all(part) && self.b.ty(whole).is_concrete();
        (good && self.may_stand(whole, op, args)).then_some(whole)
    }
}

fn same_bits(a: Scalar, b: Scalar) -> bool {
    match (a, b) {
        (Scalar::F32(x), Scalar::F32(y)) => x.to_bits() == y.to_bits(),
        (Scalar::F64(x), Scalar::F64(y)) => x.to_bits() == y.to_bits(),
        _ => a == b,
    }
}

/// `size = q·m + r`, where `m` is a number or a single product and `q` has the terms divisible by it.
fn split(size: &Size, m: &Size) -> Option<(Size, Size)> {
    let [(divisor, c)] = m.terms() else { return None };
    if *c <= 0 {
        return None;
    }
    let (mut q, mut r) = (Size::constant(0), Size::constant(0));
    for (product, k) in size.terms() {
        let mut rest = product.clone();
        let divides = k % c == 0
            && divisor.iter().all(|a| match rest.iter().position(|b| a == b) {
                Some(at) => {
                    rest.remove(at);
                    true
                }
                None => false,
            });
        let (into, atoms, k) = if divides { (&mut q, &rest, k / c) } else { (&mut r, product, *k) };
        let term = atoms.iter().fold(Size::constant(k), |p, a| p.mul(&Size::from(a.clone())));
        *into = into.add(&term);
    }
    if divisor.is_empty() {
        // A number also divides the rest of the constant term.
        let whole = r.terms().iter().find(|(m, _)| m.is_empty()).map_or(0, |(_, k)| k.div_euclid(*c));
        q = q.add(&Size::constant(whole));
        r = r.sub(&Size::constant(whole * c));
    }
    Some((q, r))
}
