//! Operators that combine all elements, or all prefixes of them.

use super::scalars::fault;
use super::{coll, collect, count, items, scalar, truth};
use crate::error::{self, Result};
use crate::machine::{Cx, Place};
use crate::scalar as arithmetic;
use deckle_ir::array::{BinOp, Direction, Monoid, ScanKind};
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;

pub(super) fn fold(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut total = args[0].clone();
    for (i, x) in items(cx, &args[1])?.iter().enumerate() {
        total = cx.body(0, Place::Element(i), &[total, x.clone()])?;
    }
    Ok(total)
}

pub(super) fn fold1(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let Some((first, rest)) = items(cx, &args[0])?.split_first() else {
        return Err(error::empty("fold1", cx.span()));
    };
    let mut total = first.clone();
    for (i, x) in rest.iter().enumerate() {
        total = cx.body(0, Place::Element(i + 1), &[total, x.clone()])?;
    }
    Ok(total)
}

pub(super) fn reduce(cx: &Cx<'_, '_>, monoid: Monoid, args: &[Value]) -> Result<Value> {
    let elems = items(cx, &args[0])?;
    match monoid {
        Monoid::Sum | Monoid::Product => {
            let ty = cx.ty().as_scalar().ok_or_else(|| cx.bug("something that is not a scalar"))?;
            let (op, unit) = match monoid {
                Monoid::Sum => (BinOp::Add, Scalar::zero(ty)),
                _ => (BinOp::Mul, Scalar::one(ty)),
            };
            combine(cx, op, unit, elems)
        }
        Monoid::Min | Monoid::Max => {
            let op = if monoid == Monoid::Min { BinOp::Min } else { BinOp::Max };
            match elems.split_first() {
                Some((first, rest)) => combine(cx, op, scalar(cx, first)?, rest),
                None => Err(error::empty(monoid_name(monoid), cx.span())),
            }
        }
        Monoid::Any | Monoid::All => {
            let mut seen = [false; 2];
            for x in elems {
                seen[usize::from(truth(cx, x)?)] = true;
            }
            Ok(Value::bool(if monoid == Monoid::Any { seen[1] } else { !seen[0] }))
        }
        Monoid::ArgMin | Monoid::ArgMax => position(cx, monoid, elems),
    }
}

fn monoid_name(monoid: Monoid) -> &'static str {
    Monoid::ALL.iter().find(|(m, _)| *m == monoid).map_or("reduce", |(_, name)| name)
}

fn combine(cx: &Cx<'_, '_>, op: BinOp, start: Scalar, elems: &[Value]) -> Result<Value> {
    let mut total = start;
    for x in elems {
        let x = scalar(cx, x)?;
        total = arithmetic::binary(op, total, x).map_err(|f| fault(cx, f, total, x))?;
    }
    Ok(Value::Scalar(total))
}

/// The first position of the least or greatest element, or of the first NaN.
fn position(cx: &Cx<'_, '_>, monoid: Monoid, elems: &[Value]) -> Result<Value> {
    let mut best: Option<(usize, Scalar)> = None;
    for (i, x) in elems.iter().enumerate() {
        let x = scalar(cx, x)?;
        if x.as_float().is_some_and(f64::is_nan) {
            return Ok(count(i));
        }
        let better = best.is_none_or(|(_, b)| match monoid {
            Monoid::ArgMin => arithmetic::compare_scalars(x, b).is_lt(),
            _ => arithmetic::compare_scalars(x, b).is_gt(),
        });
        if better {
            best = Some((i, x));
        }
    }
    best.map(|(i, _)| count(i)).ok_or_else(|| error::empty(monoid_name(monoid), cx.span()))
}

/// From the right, the element stands to the left of what is combined so far.
pub(super) fn scan(cx: &mut Cx<'_, '_>, direction: Direction, kind: ScanKind, args: &[Value]) -> Result<Value> {
    let (start, xs) = match args {
        [xs] => (None, xs),
        [z, xs] => (Some(z.clone()), xs),
        _ => return Err(cx.bug("the wrong number of operands")),
    };
    let elems = items(cx, xs)?;
    if start.is_none() && kind != ScanKind::Inclusive {
        return Err(cx.bug("no start"));
    }
    // Exclusive partial results are those before each element: the last element is never combined.
    let combined = match kind {
        ScanKind::Exclusive => elems.len().saturating_sub(1),
        _ => elems.len(),
    };
    let mut partial = cx.alloc(elems.len() + usize::from(kind == ScanKind::Full))?;
    if kind == ScanKind::Full || (kind == ScanKind::Exclusive && !elems.is_empty()) {
        partial.extend(start.clone());
    }
    let mut total = start;
    for k in 0..combined {
        let i = if direction == Direction::Left { k } else { elems.len() - 1 - k };
        let x = elems[i].clone();
        let next = match total {
            None => x,
            Some(t) if direction == Direction::Left => cx.body(0, Place::Element(i), &[t, x])?,
            Some(t) => cx.body(0, Place::Element(i), &[x, t])?,
        };
        partial.push(next.clone());
        total = Some(next);
    }
    if direction == Direction::Right {
        partial.reverse();
    }
    Ok(collect(coll(xs), partial))
}
