//! Operators that take parts of arrays.

use super::{coll, collect, int, items};
use crate::error::Result;
use crate::machine::Cx;
use deckle_ir::array::{Slicer, SplitBy};
use deckle_ir::fault::Fault;
use deckle_ir::value::Value;

/// With lengths, every element is in a row; with offsets, those before the first and after the last are in none.
pub(super) fn split(cx: &Cx<'_, '_>, by: SplitBy, args: &[Value]) -> Result<Value> {
    let elems = items(cx, &args[0])?;
    let numbers = items(cx, &args[1])?.iter().map(|n| int(cx, n)).collect::<Result<Vec<_>>>()?;
    let offsets = match by {
        SplitBy::Offsets => numbers,
        SplitBy::Lengths => running_sum(cx, &numbers, elems.len())?,
    };
    check_offsets(cx, &offsets, elems.len())?;
    let rows = offsets.windows(2).map(|w| Value::array(elems[w[0] as usize..w[1] as usize].to_vec()));
    Ok(Value::array(rows.collect()))
}

fn running_sum(cx: &Cx<'_, '_>, lengths: &[i64], len: usize) -> Result<Vec<i64>> {
    let mut offsets = vec![0i64];
    let mut total = 0i64;
    for (i, n) in lengths.iter().enumerate() {
        if *n < 0 {
            return Err(cx.fault(&Fault::RowLength, &[i as i128, (*n).into()]));
        }
        total = total.saturating_add(*n);
        offsets.push(total);
    }
    if total != len as i64 {
        return Err(cx.fault(&Fault::RowTotal, &[total.into(), len as i128]));
    }
    Ok(offsets)
}

fn check_offsets(cx: &Cx<'_, '_>, offsets: &[i64], len: usize) -> Result<()> {
    let Some(&first) = offsets.first() else {
        return Err(cx.fault(&Fault::NoOffsets, &[]));
    };
    if first < 0 {
        return Err(cx.fault(&Fault::FirstOffset, &[first.into()]));
    }
    let mut before = first;
    for (i, &offset) in offsets.iter().enumerate() {
        if offset < before {
            return Err(cx.fault(&Fault::Descending, &[i as i128, offset.into(), before.into()]));
        }
        if offset > len as i64 {
            return Err(cx.fault(&Fault::OffsetBeyond, &[i as i128, offset.into(), len as i128]));
        }
        before = offset;
    }
    Ok(())
}

pub(super) fn slice(cx: &Cx<'_, '_>, spec: &[Slicer], args: &[Value]) -> Result<Value> {
    let operands = args[1..].iter().map(|v| int(cx, v)).collect::<Result<Vec<_>>>()?;
    if operands.len() != spec.iter().map(|s| s.operands()).sum::<usize>() {
        return Err(cx.bug("the wrong number of operands"));
    }
    slice_axes(cx, &args[0], spec, &operands)
}

fn slice_axes(cx: &Cx<'_, '_>, v: &Value, spec: &[Slicer], operands: &[i64]) -> Result<Value> {
    let Some((slicer, rest)) = spec.split_first() else { return Ok(v.clone()) };
    let elems = items(cx, v)?;
    let (own, after) = operands.split_at(slicer.operands());
    let kept = match *own {
        [at] => {
            let elem = usize::try_from(at).ok().and_then(|i| elems.get(i));
            let elem =
                elem.ok_or_else(|| cx.fault(&Fault::Index("index".into()), &[at.into(), elems.len() as i128]))?;
            return slice_axes(cx, elem, rest, after);
        }
        [lo, hi] if lo < 0 || hi < lo || hi > elems.len() as i64 => {
            return Err(cx.fault(&Fault::Range, &[lo.into(), hi.into(), elems.len() as i128]));
        }
        [lo, hi] => &elems[lo as usize..hi as usize],
        _ => elems,
    };
    let kept = kept.iter().map(|elem| slice_axes(cx, elem, rest, after)).collect::<Result<Vec<_>>>()?;
    Ok(Value::array(kept))
}

pub(super) fn take(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let elems = items(cx, &args[0])?;
    let k = cut(cx, &args[1], elems.len(), "the number of elements to take")?;
    Ok(collect(coll(&args[0]), elems[..k].to_vec()))
}

pub(super) fn drop(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let elems = items(cx, &args[0])?;
    let k = cut(cx, &args[1], elems.len(), "the number of elements to drop")?;
    Ok(collect(coll(&args[0]), elems[k..].to_vec()))
}

/// A count that is not negative, or all if it is larger.
fn cut(cx: &Cx<'_, '_>, k: &Value, len: usize, what: &'static str) -> Result<usize> {
    match int(cx, k)? {
        k if k < 0 => Err(cx.fault(&Fault::Negative(what.into()), &[k.into()])),
        k => Ok(usize::try_from(k).unwrap_or(len).min(len)),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Build, failure, ints, program, rows, value};
    use deckle_diag::Code;
    use deckle_ir::array::{Op, Slicer, SplitBy};
    use deckle_ir::value::Value;

    #[test]
    fn splitting_by_lengths() {
        let p = program(&["[i64; n0]", "[i64; n1]"], |b, p| b.op(Op::Split(SplitBy::Lengths), p));
        let split = |n: i64, lengths: &[i64]| [ints(&(0..n).collect::<Vec<_>>()), ints(lengths)];
        assert_eq!(value(&p, &split(3, &[2, 0, 1])), rows(&[&[0, 1], &[], &[2]]));
        assert_eq!(value(&p, &split(0, &[])), rows(&[]));
        failure(&p, &split(3, &[2, -1, 2]), Code::BadSegments);
        failure(&p, &split(3, &[2]), Code::BadSegments);
        failure(&p, &split(3, &[i64::MAX, i64::MAX]), Code::BadSegments);
    }

    #[test]
    fn splitting_by_offsets() {
        let p = program(&["[i64; n0]", "[i64; n1]"], |b, p| b.op(Op::Split(SplitBy::Offsets), p));
        let split = |offsets: &[i64]| [ints(&[10, 11, 12, 13]), ints(offsets)];
        assert_eq!(value(&p, &split(&[0, 2, 2, 4])), rows(&[&[10, 11], &[], &[12, 13]]));
        assert_eq!(value(&p, &split(&[1, 3])), rows(&[&[11, 12]]));
        assert_eq!(value(&p, &split(&[0])), rows(&[]));
        for bad in [&[][..], &[-1, 2], &[0, 3, 2], &[0, 5], &[i64::MIN, i64::MAX]] {
            failure(&p, &split(bad), Code::BadSegments);
        }
    }

    #[test]
    fn slicing_rows_and_columns() {
        let a = rows(&[&[1, 2, 3], &[4, 5, 6]]);
        let column = program(&["[[i64; n1]; n0]", "i64"], |b, p| b.op(Op::Slice(vec![Slicer::All, Slicer::At]), p));
        assert_eq!(value(&column, &[a.clone(), Value::int(2)]), ints(&[3, 6]));
        failure(&column, &[a.clone(), Value::int(3)], Code::IndexRange);
        assert_eq!(value(&column, &[rows(&[]), Value::int(3)]), ints(&[]));
        let block = program(&["[[i64; n1]; n0]", "i64", "i64", "i64"], |b, p| {
            b.op(Op::Slice(vec![Slicer::At, Slicer::Range]), p)
        });
        let block_at = |i: i64, lo: i64, hi: i64| [a.clone(), Value::int(i), Value::int(lo), Value::int(hi)];
        assert_eq!(value(&block, &block_at(1, 1, 3)), ints(&[5, 6]));
        assert_eq!(value(&block, &block_at(1, 3, 3)), ints(&[]));
        let e = failure(&block, &block_at(1, 1, 4), Code::IndexRange);
        assert_eq!(e.message, "the range from 1 to 4 does not lie within an array of 3 elements");
        failure(&block, &block_at(1, 2, 1), Code::IndexRange);
        failure(&block, &block_at(2, 0, 0), Code::IndexRange);
        failure(&block, &block_at(0, i64::MIN, i64::MAX), Code::IndexRange);
    }

    #[test]
    fn slices_of_jagged_rows_are_checked_row_by_row() {
        let p =
            program(&["[i0 -> [i64; n1(i0)]; n0]", "i64"], |b, p| b.op(Op::Slice(vec![Slicer::All, Slicer::At]), p));
        assert_eq!(value(&p, &[rows(&[&[1, 2], &[3]]), Value::int(0)]), ints(&[1, 3]));
        failure(&p, &[rows(&[&[1, 2], &[3]]), Value::int(1)], Code::IndexRange);
    }

    #[test]
    fn take_and_drop_stop_at_the_ends() {
        let take = program(&["[i64; n0]", "i64"], |b, p| b.op(Op::Take, p));
        let drop = program(&["[i64; n0]", "i64"], |b, p| b.op(Op::Drop, p));
        let args = |k: i64| [ints(&[1, 2, 3]), Value::int(k)];
        assert_eq!(value(&take, &args(2)), ints(&[1, 2]));
        assert_eq!(value(&take, &args(i64::MAX)), ints(&[1, 2, 3]));
        assert_eq!(value(&drop, &args(2)), ints(&[3]));
        assert_eq!(value(&drop, &args(i64::MAX)), ints(&[]));
        failure(&take, &args(-1), Code::BadSize);
        failure(&drop, &args(i64::MIN), Code::BadSize);
    }
}
