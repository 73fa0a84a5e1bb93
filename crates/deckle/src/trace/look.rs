//! Looking at the program under construction: what is known of a value while it is traced.
//!
//! Kernels use it to compute with constants immediately, to unroll loops of known length, and to compare sizes as Rust does.

use super::{Raw, TRACERS};
use deckle_ir::array::{BinOp, Inst, Op};
use deckle_ir::entity::Var;
use deckle_ir::scalar::{Scalar, ScalarType};

/// The operators between a value and a conversion that are looked through.
const FAR: usize = 12;

fn look<R>(raw: Raw, see: impl FnOnce(&deckle_ir::array::Function, Var) -> Option<R>) -> Option<R> {
    TRACERS.with(|t| {
        let tracers = t.borrow();
        let tracer = tracers.last().filter(|t| t.id == raw.program && t.fault.is_none())?;
        see(tracer.b.func(), raw.var)
    })
}

/// The scalar, if the value is a constant.
pub(crate) fn constant_of(raw: Raw) -> Option<Scalar> {
    look(raw, |f, v| match f.inst(v)?.op {
        Op::Const(x) => Some(x),
        _ => None,
    })
}

/// Whether the value is the length of an array, and so not negative.
pub(crate) fn is_length(raw: Raw) -> bool {
    look(raw, |f, v| Some(matches!(f.inst(v)?.op, Op::Length))).unwrap_or(false)
}

/// The component of a tuple or record that was put together in view.
pub(crate) fn part_of(raw: Raw, k: usize) -> Option<Raw> {
    look(raw, |f, v| match f.inst(v)? {
        Inst { op: Op::Tuple | Op::Record(_), args, .. } => args.get(k).copied(),
        _ => None,
    })
    .and_then(|var| visible(raw, var))
}

/// A handle of a variable that is in scope wherever `near` is, because `near` was computed from it.
fn visible(near: Raw, var: Var) -> Option<Raw> {
    Some(Raw { var, ..near })
}

/// Whether a `usize`, which the language stores as `i64`, may be 2^63 or more: it was converted from a signed or 64-bit integer, or its bits were computed.
pub(crate) fn may_be_huge(raw: Raw) -> bool {
    look(raw, |f, v| {
        let mut pending = vec![v];
        for _ in 0..FAR {
            let Some(v) = pending.pop() else { return Some(false) };
            let Some(inst) = f.inst(v) else { continue };
            match &inst.op {
                Op::Const(x) if x.as_int().is_some_and(|x| x < 0) => return Some(true),
                Op::Cast(_) => {
                    let from = f.ty(inst.args[0]).as_scalar();
                    if from.is_some_and(|t| t.is_signed() || t == ScalarType::U64) {
                        return Some(true);
                    }
                }
                Op::Unary(_) | Op::Binary(BinOp::Xor | BinOp::Or) => return Some(true),
                Op::Binary(_) => pending.extend(inst.args.iter().copied()),
                Op::Select => pending.extend(inst.args[1..].iter().copied()),
                _ => {}
            }
        }
        Some(false)
    })
    .unwrap_or(false)
}
