//! Scalar operators, components and elements.

use super::{int, items, parts, scalar};
use crate::error::{self, Result};
use crate::machine::Cx;
use crate::scalar::{self as arithmetic, Fault};
use deckle_diag::Diagnostic;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;

pub(super) fn unary(cx: &Cx<'_, '_>, op: UnOp, args: &[Value]) -> Result<Value> {
    let x = scalar(cx, &args[0])?;
    arithmetic::unary(op, x).map(Value::Scalar).map_err(|f| fault(cx, f, x, x))
}

pub(super) fn binary(cx: &Cx<'_, '_>, op: BinOp, args: &[Value]) -> Result<Value> {
    let (a, b) = (scalar(cx, &args[0])?, scalar(cx, &args[1])?);
    arithmetic::binary(op, a, b).map(Value::Scalar).map_err(|f| fault(cx, f, a, b))
}

/// A fault with the operands that caused it.
pub(super) fn fault(cx: &Cx<'_, '_>, fault: Fault, a: Scalar, b: Scalar) -> Box<Diagnostic> {
    let number = |s: Scalar| s.as_int().map_or_else(|| s.to_string(), |n| n.to_string());
    match fault {
        Fault::DivideByZero => error::divide_by_zero(number(a), cx.span()),
        Fault::NegativeExponent => {
            let message = format!("the integer {} is raised to the negative power {}", number(a), number(b));
            error::bad_size(message, "convert both to `f64` first, where powers may be negative", cx.span())
        }
        Fault::IllTyped => cx.bug("operands of a type that it does not have"),
    }
}

pub(super) fn proj(cx: &Cx<'_, '_>, k: u32, args: &[Value]) -> Result<Value> {
    let parts = parts(cx, &args[0])?;
    parts.get(k as usize).cloned().ok_or_else(|| cx.bug("a tuple without that component"))
}

pub(super) fn index(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut v = &args[0];
    for i in &args[1..] {
        let i = int(cx, i)?;
        let elems = items(cx, v)?;
        v = usize::try_from(i)
            .ok()
            .and_then(|i| elems.get(i))
            .ok_or_else(|| error::index("index", i, elems.len(), cx.span()))?;
    }
    Ok(v.clone())
}
