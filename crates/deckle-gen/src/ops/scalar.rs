//! Scalars, tuples and indices.

use crate::generate::{Gen, Run};
use crate::guess::Guess;
use deckle_ir::array::{BinOp, Op, OperandClass, RecordShape, UnOp};
use deckle_ir::entity::Var;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use std::sync::Arc;

pub(super) fn constant(g: &mut Gen<'_>) -> Option<Var> {
    g.any_const()
}

/// A scalar operand of an operator.
fn operand(g: &mut Gen<'_>, class: OperandClass) -> Option<Var> {
    if let Some(v) = g.pick_type(|t| t.as_scalar().is_some_and(|s| class.has(s))) {
        return Some(v);
    }
    let types: Vec<ScalarType> = ScalarType::ALL.into_iter().filter(|t| class.has(*t)).collect();
    let ty = g.rng.of(&types)?;
    g.scalar(ty)
}

pub(super) fn unary(g: &mut Gen<'_>) -> Option<Var> {
    let op = g.rng.of(UnOp::ALL)?;
    let x = operand(g, op.operands())?;
    g.push(Op::Unary(op), &[x], &[], Guess::SCALAR)
}

pub(super) fn binary(g: &mut Gen<'_>) -> Option<Var> {
    let op = g.rng.of(BinOp::ALL)?;
    let x = operand(g, op.operands())?;
    let ty = g.ty(x).as_scalar()?;
    let mut y = g.scalar(ty)?;
    if ty.is_int() && g.careful() {
        if matches!(op, BinOp::Div | BinOp::Rem) {
            let one = g.literal(Scalar::one(ty))?;
            y = g.binary(BinOp::Or, y, one)?;
        } else if op == BinOp::Pow {
            let three = g.literal(Scalar::wrap_int(ty, 3)?)?;
            y = g.binary(BinOp::And, y, three)?;
        }
    }
    g.binary(op, x, y)
}

pub(super) fn cast(g: &mut Gen<'_>) -> Option<Var> {
    let x = g.pick_type(|t| t.as_scalar().is_some())?;
    let to = g.rng.of(&ScalarType::ALL)?;
    g.push(Op::Cast(to), &[x], &[], Guess::SCALAR)
}

pub(super) fn select(g: &mut Gen<'_>) -> Option<Var> {
    let x = g.pick_type(Type::is_flat)?;
    let kind = g.ty(x).clone();
    let y = g.value(&kind)?;
    let c = g.truth()?;
    let guess = g.guess(x).with(g.guess(y));
    g.push(Op::Select, &[c, x, y], &[], guess)
}

pub(super) fn fma(g: &mut Gen<'_>) -> Option<Var> {
    let x = g.pick_type(|t| t.as_scalar().is_some_and(|s| s.is_float()))?;
    let kind = g.ty(x).clone();
    let (y, z) = (g.value(&kind)?, g.value(&kind)?);
    g.push(Op::Fma, &[x, y, z], &[], Guess::SCALAR)
}

pub(super) fn tuple(g: &mut Gen<'_>) -> Option<Var> {
    let n = if g.rng.chance(5) { 0 } else { 1 + g.rng.below(3) };
    let parts = (0..n).map(|_| g.pick(|_, _| true)).collect::<Option<Vec<_>>>()?;
    g.tuple(&parts)
}

pub(super) fn record(g: &mut Gen<'_>) -> Option<Var> {
    let n = g.rng.below(4);
    let parts = (0..n).map(|_| g.pick(|_, _| true)).collect::<Option<Vec<_>>>()?;
    let guess = g.together(&parts);
    let fields = ["x", "y", "z"][..n].iter().map(|s| s.to_string()).collect();
    g.push(Op::Record(Arc::new(RecordShape { name: "point".into(), fields })), &parts, &[], guess)
}

pub(super) fn proj(g: &mut Gen<'_>) -> Option<Var> {
    let t = g.pick_type(|t| t.parts().is_some_and(|p| !p.is_empty()))?;
    let n = g.ty(t).parts()?.len();
    let k = g.rng.below(n);
    g.proj(t, k)
}

/// An index below the length of a vector, if that is not empty.
fn position(g: &mut Gen<'_>, len: Var) -> Option<Var> {
    let i = g.scalar(ScalarType::I64)?;
    let i = if g.guess(i).bound.is_some() {
        i
    } else {
        let mask = g.int(i64::MAX)?;
        g.binary(BinOp::And, i, mask)?
    };
    g.binary(BinOp::Rem, i, len)
}

pub(super) fn index(g: &mut Gen<'_>) -> Option<Var> {
    let a = g.pick_type(|t| t.as_array().is_some())?;
    let elem = g.guess(a).elem();
    let array = g.ty(a).as_array()?.clone();
    if let Some(n) = array.size.as_constant().filter(|n| *n > 0)
        && g.careful()
    {
        let i = g.rng.below(n as usize) as i64;
        let i = g.int(i)?;
        return g.push(Op::Index, &[a, i], &[], elem);
    }
    let deep = array.elem.as_array().is_some();
    if !g.careful() || (deep && g.rng.chance(30)) {
        let n = 1 + usize::from(deep && g.rng.chance(60));
        let mut args = vec![a];
        for _ in 0..n {
            args.push(g.natural(2)?);
        }
        return g.push(Op::Index, &args, &[], elem);
    }
    let len = g.length(a)?;
    let zero = g.int(0)?;
    let some = g.binary(BinOp::Gt, len, zero)?;
    // If the vector is empty the remainder itself fails, so it is in the branch.
    let yes = g.body(&Op::If, &[some], 0, Run::once().plain(), |g, _| {
        let i = position(g, len)?;
        g.push(Op::Index, &[a, i], &[], elem)
    })?;
    let no = g.body(&Op::If, &[some], 1, Run::once().plain(), |g, _| g.value(&array.elem))?;
    g.push(Op::If, &[some], &[yes.0, no.0], yes.1.with(no.1))
}
