//! Operators that read or change the dimensions of whole arrays.

use super::{coll, collect, common_length, count, element, int, items, nest, regular_dims, size as size_operand};
use crate::error::Result;
use crate::machine::Cx;
use deckle_ir::fault::Fault;
use deckle_ir::value::Value;

pub(super) fn shape(cx: &Cx<'_, '_>, depth: usize, args: &[Value]) -> Result<Value> {
    let dims = regular_dims(cx, 0, &args[0], depth)?;
    Ok(Value::tuple(dims.into_iter().map(count).collect()))
}

pub(super) fn size(cx: &Cx<'_, '_>, depth: usize, args: &[Value]) -> Result<Value> {
    total(cx, &args[0], depth).map(count)
}

/// The number of elements at a depth.
fn total(cx: &Cx<'_, '_>, v: &Value, depth: usize) -> Result<usize> {
    match depth {
        0 => Ok(1),
        1 => Ok(items(cx, v)?.len()),
        _ => items(cx, v)?.iter().try_fold(0, |n: usize, row| Ok(n.saturating_add(total(cx, row, depth - 1)?))),
    }
}

pub(super) fn reshape(cx: &mut Cx<'_, '_>, depth: usize, args: &[Value]) -> Result<Value> {
    let sizes = args[1..].iter().map(|n| int(cx, n)).collect::<Result<Vec<_>>>()?;
    if let Some(n) = sizes.iter().find(|n| **n < 0) {
        return Err(cx.fault(&Fault::Negative("a size of the new shape".into()), &[(*n).into()]));
    }
    let from = regular_dims(cx, 0, &args[0], depth)?;
    let have: usize = from.iter().product();
    let want = sizes.iter().fold(1i128, |n, s| n.saturating_mul(*s as i128));
    if want != have as i128 {
        let operands: Vec<i128> = [have as i128].into_iter().chain(sizes.iter().map(|n| i128::from(*n))).collect();
        return Err(cx.fault(&Fault::Reshape, &operands));
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
    let rows = total(cx, &args[0], axis as usize)? as i128;
    cx.room(rows.saturating_mul(lo as i128 + hi as i128))?;
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

#[cfg(test)]
mod tests {
    use crate::testing::{Build, failure, ints, program, rows, tuple, value};
    use deckle_diag::Code;
    use deckle_ir::array::Op;
    use deckle_ir::value::Value;

    const MATRIX: &str = "[[i64; n1]; n0]";
    const JAGGED: &str = "[i0 -> [i64; n1(i0)]; n0]";

    #[test]
    fn shapes_and_sizes() {
        let p = program(&[MATRIX], |b, p| b.op(Op::Shape(2), p));
        let pair = |a: i64, b: i64| tuple(&[Value::int(a), Value::int(b)]);
        assert_eq!(value(&p, &[rows(&[&[1, 2, 3], &[4, 5, 6]])]), pair(2, 3));
        assert_eq!(value(&p, &[rows(&[&[], &[]])]), pair(2, 0));
        assert_eq!(value(&p, &[rows(&[])]), pair(0, 0));
        let p = program(&[JAGGED], |b, p| b.op(Op::Size(2), p));
        assert_eq!(value(&p, &[rows(&[&[1, 2, 3], &[], &[4]])]), Value::int(4));
    }

    #[test]
    fn an_empty_array_has_the_shape_of_its_type() {
        let p = program(&["i64", "i64"], |b, p| {
            let a = b.op1(Op::Generate, p, |_, q| q[0]);
            let t = b.op(Op::Transpose(vec![1, 0]), &[a]);
            let s = b.op(Op::Shape(2), &[a]);
            b.op(Op::Tuple, &[t, s])
        });
        let shape = tuple(&[Value::int(0), Value::int(2)]);
        assert_eq!(value(&p, &[Value::int(0), Value::int(2)]), tuple(&[rows(&[&[], &[]]), shape]));
    }

    #[test]
    fn regularity_is_checked() {
        // The type differs from the value only if the arguments are wrong.
        let p = program(&[MATRIX], |b, p| b.op(Op::Transpose(vec![1, 0]), p));
        let e = failure(&p, &[rows(&[&[1, 2], &[3]])], Code::NotRegular);
        let expected =
            "argument `p0` of `main` needs rows of equal length, but row 1 has 1 element and a row before it 2";
        assert_eq!(e.message, expected);
        let p = program(&[JAGGED, "i64"], |b, p| b.op(Op::Reshape(2), p));
        failure(&p, &[rows(&[&[1, 2], &[3]]), Value::int(3)], Code::NotRegular);
    }

    #[test]
    fn reshaping_keeps_the_order() {
        let p = program(&[MATRIX, "i64", "i64"], |b, p| b.op(Op::Reshape(2), p));
        let a = rows(&[&[1, 2, 3], &[4, 5, 6]]);
        let reshape = |n: i64, m: i64| [a.clone(), Value::int(n), Value::int(m)];
        assert_eq!(value(&p, &reshape(3, 2)), rows(&[&[1, 2], &[3, 4], &[5, 6]]));
        let e = failure(&p, &reshape(4, 2), Code::LengthMismatch);
        assert_eq!(e.message, "6 elements cannot be given the shape 4 by 2");
        failure(&p, &reshape(-3, -2), Code::BadSize);
        failure(&p, &reshape(i64::MAX, i64::MAX), Code::LengthMismatch);
        failure(&p, &[rows(&[]), Value::int(i64::MAX), Value::int(0)], Code::LimitExceeded);
        assert_eq!(value(&p, &[rows(&[]), Value::int(0), Value::int(7)]), rows(&[]));
    }

    #[test]
    fn flattening_jagged_rows() {
        let p = program(&[JAGGED], |b, p| b.op(Op::Flatten, p));
        assert_eq!(value(&p, &[rows(&[&[1, 2], &[], &[3]])]), ints(&[1, 2, 3]));
        assert_eq!(value(&p, &[rows(&[])]), ints(&[]));
    }

    #[test]
    fn transposing_three_dimensions() {
        let p = program(&["[[[i64; n2]; n1]; n0]"], |b, p| b.op(Op::Transpose(vec![2, 0, 1]), p));
        let a = Value::array(vec![rows(&[&[1, 2]]), rows(&[&[3, 4]]), rows(&[&[5, 6]])]);
        // Shape 3 by 1 by 2 becomes 2 by 3 by 1.
        let expected = Value::array(vec![rows(&[&[1], &[3], &[5]]), rows(&[&[2], &[4], &[6]])]);
        assert_eq!(value(&p, &[a]), expected);
    }

    #[test]
    fn reversing_any_axis() {
        let a = rows(&[&[1, 2], &[], &[3]]);
        let p = program(&[JAGGED], |b, p| b.op(Op::Reverse(0), p));
        assert_eq!(value(&p, std::slice::from_ref(&a)), rows(&[&[3], &[], &[1, 2]]));
        let p = program(&[JAGGED], |b, p| b.op(Op::Reverse(1), p));
        assert_eq!(value(&p, &[a]), rows(&[&[2, 1], &[], &[3]]));
    }

    #[test]
    fn concatenating_along_axes() {
        let two = ["[i0 -> [i64; n1(i0)]; n0]", "[i0 -> [i64; n3(i0)]; n2]"];
        let (a, b) = (rows(&[&[1], &[2, 3]]), rows(&[&[4, 5], &[]]));
        let p = program(&two, |b, p| b.op(Op::Concat(0), p));
        assert_eq!(value(&p, &[a.clone(), b.clone()]), rows(&[&[1], &[2, 3], &[4, 5], &[]]));
        let p = program(&two, |b, p| b.op(Op::Concat(1), p));
        assert_eq!(value(&p, &[a.clone(), b]), rows(&[&[1, 4, 5], &[2, 3]]));
        failure(&p, &[a, rows(&[])], Code::LengthMismatch);
    }

    #[test]
    fn padding_rows() {
        let p = program(&[JAGGED, "i64", "i64", "i64"], |b, p| b.op(Op::Pad(1), p));
        let pad = |lo: i64, hi: i64| [rows(&[&[1], &[]]), Value::int(lo), Value::int(hi), Value::int(9)];
        assert_eq!(value(&p, &pad(1, 2)), rows(&[&[9, 1, 9, 9], &[9, 9, 9]]));
        failure(&p, &pad(-1, 2), Code::BadSize);
        failure(&p, &pad(0, i64::MAX), Code::LimitExceeded);
        failure(&p, &pad(1 << 27, (1 << 27) - 1), Code::LimitExceeded);
    }
}
