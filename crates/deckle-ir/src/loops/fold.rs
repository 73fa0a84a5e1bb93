//! Constant folding of expressions, for the builder.
//!
//! Only if the result has the same bits as at run time: integers and truth values, and the float operators that are rounded
//! correctly. Transcendental functions are left to the machine that runs the code.

use super::*;
use crate::scalar_eval;

/// The folded form of an expression.
pub(super) enum Known {
    /// This constant, in every lane.
    Const(Scalar),
    /// The same as another value.
    Val(Val),
}

/// Folds an expression, with `constant` returning the constant values of operands.
pub(super) fn fold(expr: &Expr, ty: Ty, vals: &[Ty], constant: impl Fn(Val) -> Option<Scalar>) -> Option<Known> {
    let lanes = |v: Val| vals.get(v.index()).map_or(0, |t| t.lanes);
    match *expr {
        Expr::Const(s) => Some(Known::Const(s)),
        Expr::Splat(v) if ty.lanes == 1 => Some(Known::Val(v)),
        Expr::Splat(v) => constant(v).map(Known::Const),
        Expr::Lanes if ty.lanes == 1 => Some(Known::Const(Scalar::I64(0))),
        Expr::Unary(op, v) if exact_unary(op) => scalar_eval::unary(op, constant(v)?).ok().map(Known::Const),
        Expr::Binary(op, a, b) | Expr::Assoc(op, a, b) => binary(op, a, b, constant(a), constant(b)),
        Expr::Cast(to, v) if vals.get(v.index())?.scalar == to => Some(Known::Val(v)),
        Expr::Cast(to, v) => Some(Known::Const(constant(v)?.cast(to))),
        Expr::Bitcast(to, v) if vals.get(v.index())?.scalar == to => Some(Known::Val(v)),
        Expr::Bitcast(to, v) => Some(Known::Const(Scalar::from_bits(to, constant(v)?.bits()))),
        Expr::Select(_, a, b) if a == b => Some(Known::Val(a)),
        Expr::Select(c, a, b) => constant(c)?.as_bool().map(|c| Known::Val(if c { a } else { b })),
        Expr::Lane(v, _) if lanes(v) == 1 => Some(Known::Val(v)),
        Expr::Lane(v, _) => constant(v).map(Known::Const),
        Expr::Total(_, v) if lanes(v) == 1 => Some(Known::Val(v)),
        Expr::Load { mask: Some(m), .. } if constant(m)?.as_bool() == Some(false) => {
            Some(Known::Const(Scalar::zero(ty.scalar)))
        }
        _ => None,
    }
}

fn exact_unary(op: UnOp) -> bool {
    use UnOp::*;
    matches!(op, Neg | Not | Abs | Sign | Sqrt | Floor | Ceil | Round | Trunc | IsNan | Popcount | Clz | Ctz)
}

fn binary(op: BinOp, a: Val, b: Val, x: Option<Scalar>, y: Option<Scalar>) -> Option<Known> {
    use BinOp::*;
    if let (Some(x), Some(y)) = (x, y) {
        let exact = !(x.ty().is_float() && matches!(op, Pow | Atan2 | Hypot));
        let value = match scalar_eval::binary(op, x, y) {
            Ok(value) => value,
            Err(scalar_eval::Fault::IllTyped) => return None,
            Err(_) => Scalar::zero(x.ty()),
        };
        return exact.then_some(Known::Const(value));
    }
    let is = |s: Option<Scalar>, n: i128| s.and_then(Scalar::as_int) == Some(n);
    match op {
        Add | Or | Xor if is(x, 0) => Some(Known::Val(b)),
        Add | Sub | Or | Xor | Shl | Shr if is(y, 0) => Some(Known::Val(a)),
        Mul if is(x, 1) => Some(Known::Val(b)),
        Mul | Div if is(y, 1) => Some(Known::Val(a)),
        Mul | And if is(x, 0) => x.map(Known::Const),
        Mul | And if is(y, 0) => y.map(Known::Const),
        And | Or | Min | Max if a == b => Some(Known::Val(a)),
        And => match (x.and_then(Scalar::as_bool), y.and_then(Scalar::as_bool)) {
            (Some(true), _) => Some(Known::Val(b)),
            (_, Some(true)) => Some(Known::Val(a)),
            (Some(false), _) | (_, Some(false)) => Some(Known::Const(Scalar::Bool(false))),
            _ => None,
        },
        Or => match (x.and_then(Scalar::as_bool), y.and_then(Scalar::as_bool)) {
            (Some(false), _) => Some(Known::Val(b)),
            (_, Some(false)) => Some(Known::Val(a)),
            (Some(true), _) | (_, Some(true)) => Some(Known::Const(Scalar::Bool(true))),
            _ => None,
        },
        _ => None,
    }
}
