//! Operators that make arrays and sequences from numbers.

use super::{collect, nest, scalar, size};
use crate::error::{self, Result};
use crate::machine::{Cx, Place};
use deckle_ir::array::Coll;
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;

pub(super) fn replicate(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let n = size(cx, &args[1], "the number of copies")?;
    let each = args[0].space().par.max(1);
    cx.room((n as i128).saturating_mul(each as i128))?;
    let mut elems = cx.alloc(n)?;
    elems.resize(n, args[0].clone());
    Ok(Value::array(elems))
}

pub(super) fn generate(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let dims = args.iter().map(|n| size(cx, n, "the size")).collect::<Result<Vec<_>>>()?;
    nest(cx, &dims, &mut |cx, at| {
        let indices: Vec<Value> = at.iter().map(|i| Value::int(*i)).collect();
        cx.body(0, Place::Indices(at), &indices)
    })
}

pub(super) fn iota(cx: &Cx<'_, '_>, coll: Coll, args: &[Value]) -> Result<Value> {
    let n = size(cx, &args[0], "the length")?;
    let mut elems = cx.alloc(n)?;
    elems.extend((0..n as i64).map(Value::int));
    Ok(collect(coll, elems))
}

pub(super) fn range(cx: &Cx<'_, '_>, coll: Coll, inclusive: bool, args: &[Value]) -> Result<Value> {
    let ty = scalar(cx, &args[0])?.ty();
    let mut ends = [0i128; 3];
    for (end, arg) in ends.iter_mut().zip(args) {
        *end = scalar(cx, arg)?.as_int().ok_or_else(|| cx.bug("something that is not an integer"))?;
    }
    let [from, to, step] = ends;
    if step == 0 {
        let message = format!("a range from {from} to {to} in steps of 0 would never end");
        return Err(error::bad_size(message, "give a step that is not 0", cx.span()));
    }
    let way = if step > 0 { to - from } else { from - to };
    let way = if inclusive { way } else { way - 1 };
    let n = cx.room(if way < 0 { 0 } else { way / step.abs() + 1 })?;
    let mut elems = cx.alloc(n)?;
    for i in 0..n as i128 {
        let value = Scalar::wrap_int(ty, from + i * step).ok_or_else(|| cx.bug("something that is not an integer"))?;
        elems.push(Value::Scalar(value));
    }
    Ok(collect(coll, elems))
}
