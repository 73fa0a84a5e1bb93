//! Operators that work position by position.

use super::{coll, collect, common_length, items, parts};
use crate::error::Result;
use crate::machine::{Cx, Place};
use deckle_ir::value::Value;

pub(super) fn map(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let n = common_length(cx, args, 0)?;
    let mut elems = cx.alloc(n)?;
    for i in 0..n {
        let row = row(cx, args, i)?;
        elems.push(cx.body(0, Place::Element(i), &row)?);
    }
    Ok(collect(coll(&args[0]), elems))
}

pub(super) fn zip(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let n = common_length(cx, args, 0)?;
    let mut elems = cx.alloc(n)?;
    for i in 0..n {
        elems.push(Value::tuple(row(cx, args, i)?));
    }
    Ok(collect(coll(&args[0]), elems))
}

/// The elements at position `i` of collections that have one.
fn row(cx: &Cx<'_, '_>, args: &[Value], i: usize) -> Result<Vec<Value>> {
    args.iter().map(|a| items(cx, a).map(|elems| elems[i].clone())).collect()
}

pub(super) fn unzip(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let elems = items(cx, &args[0])?;
    let width = cx.ty().parts().map_or(0, |p| p.len());
    let mut columns = Vec::with_capacity(width);
    for k in 0..width {
        let mut column = cx.alloc(elems.len())?;
        for elem in elems {
            let part = parts(cx, elem)?.get(k).cloned();
            column.push(part.ok_or_else(|| cx.bug("a tuple with fewer components"))?);
        }
        columns.push(collect(coll(&args[0]), column));
    }
    Ok(Value::tuple(columns))
}
