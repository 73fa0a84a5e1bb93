//! Operators that look at or change the dimensions of whole arrays.

use super::{coll, collect, common_length, count, element, int, items, nest, regular_dims, size as size_operand};
use crate::error::{self, Result};
use crate::machine::Cx;
use deckle_ir::value::Value;

pub(super) fn shape(cx: &Cx<'_, '_>, depth: usize, args: &[Value]) -> Result<Value> {
    let dims = regular_dims(cx, 0, &args[0], depth)?;
    Ok(Value::tuple(dims.into_iter().map(count).collect()))
}

pub(super) fn size(cx: &Cx<'_, '_>, depth: usize, args: &[Value]) -> Result<Value> {
    fn total(cx: &Cx<'_, '_>, v: &Value, depth: usize) -> Result<usize> {
        match depth {
            0 => Ok(1),
            1 => Ok(items(cx, v)?.len()),
            _ => items(cx, v)?.iter().try_fold(0, |n: usize, row| Ok(n.saturating_add(total(cx, row, depth - 1)?))),
        }
    }
    total(cx, &args[0], depth).map(count)
}

pub(super) fn reshape(cx: &mut Cx<'_, '_>, depth: usize, args: &[Value]) -> Result<Value> {
    let sizes = args[1..].iter().map(|n| int(cx, n)).collect::<Result<Vec<_>>>()?;
    if let Some(n) = sizes.iter().find(|n| **n < 0) {
        return Err(error::negative("a size of the new shape", *n, cx.span()));
    }
    let from = regular_dims(cx, 0, &args[0], depth)?;
    let have: usize = from.iter().product();
    let want = sizes.iter().fold(1i128, |n, s| n.saturating_mul(*s as i128));
    if want != have as i128 {
        let shape = sizes.iter().map(i64::to_string).collect::<Vec<_>>().join(" by ");
        return Err(error::reshape(have, &shape, cx.span()));
    }
    let dims = sizes.iter().map(|n| cx.room(*n as i128)).collect::<Result<Vec<_>>>()?;
    nest(cx, &dims, &mut |cx, at| {
        let mut flat = at.iter().zip(&dims).fold(0, |flat, (i, n)| flat * n + *i as usize);
        let mut index = vec![0; from.len()];
        for (i, n) in index.iter_mut().zip(&from).rev() {
            *i = flat % n;
            flat /= n;
        }
        element(cx, &args[0], &index)
    })
}

pub(super) fn flatten(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let rows = items(cx, &args[0])?;
    let mut n = 0;
    for row in rows {
        n += items(cx, row)?.len() as i128;
    }
    let n = cx.room(n)?;
    let mut elems = cx.alloc(n)?;
    for row in rows {
        elems.extend_from_slice(items(cx, row)?);
    }
    Ok(collect(coll(&args[0]), elems))
}

pub(super) fn transpose(cx: &mut Cx<'_, '_>, axes: &[u32], args: &[Value]) -> Result<Value> {
    let from = regular_dims(cx, 0, &args[0], axes.len())?;
    let axis = |k: u32| from.get(k as usize).copied();
    let to = axes.iter().map(|k| axis(*k)).collect::<Option<Vec<_>>>();
    let to = to.ok_or_else(|| cx.bug("an axis that there is not"))?;
    nest(cx, &to, &mut |cx, at| {
        let mut index = vec![0; from.len()];
        for (i, k) in at.iter().zip(axes) {
            index[*k as usize] = *i as usize;
        }
        element(cx, &args[0], &index)
    })
}

pub(super) fn reverse(cx: &Cx<'_, '_>, axis: u32, v: &Value) -> Result<Value> {
    along(cx, axis, v, &|_, elems| Ok(elems.iter().rev().cloned().collect()))
}

pub(super) fn pad(cx: &Cx<'_, '_>, axis: u32, args: &[Value]) -> Result<Value> {
    let lo = size_operand(cx, &args[1], "the number of elements to put before")?;
    let hi = size_operand(cx, &args[2], "the number of elements to put after")?;
    along(cx, axis, &args[0], &|cx, elems| {
        let n = cx.room(elems.len() as i128 + lo as i128 + hi as i128)?;
        let mut padded = cx.alloc(n)?;
        padded.resize(lo, args[3].clone());
        padded.extend_from_slice(elems);
        padded.resize(n, args[3].clone());
        Ok(padded)
    })
}

type Change<'f> = dyn Fn(&Cx<'_, '_>, &[Value]) -> Result<Vec<Value>> + 'f;

/// Changes the elements of one axis, row by row.
fn along(cx: &Cx<'_, '_>, axis: u32, v: &Value, change: &Change<'_>) -> Result<Value> {
    let elems = items(cx, v)?;
    let changed = match axis {
        0 => change(cx, elems)?,
        _ => elems.iter().map(|row| along(cx, axis - 1, row, change)).collect::<Result<Vec<_>>>()?,
    };
    Ok(Value::array(changed))
}

pub(super) fn concat(cx: &Cx<'_, '_>, axis: u32, args: &[Value]) -> Result<Value> {
    if axis == 0 {
        let mut n = 0;
        for a in args {
            n += items(cx, a)?.len() as i128;
        }
        let n = cx.room(n)?;
        let mut elems = cx.alloc(n)?;
        for a in args {
            elems.extend_from_slice(items(cx, a)?);
        }
        return Ok(Value::array(elems));
    }
    let n = common_length(cx, args, 0)?;
    let mut rows = cx.alloc(n)?;
    for i in 0..n {
        let row = args.iter().map(|a| items(cx, a).map(|rows| rows[i].clone())).collect::<Result<Vec<_>>>()?;
        rows.push(concat(cx, axis - 1, &row)?);
    }
    Ok(Value::array(rows))
}
