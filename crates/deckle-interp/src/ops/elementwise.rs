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
        elems.push(cx.collect(0, Place::Element(i), &row)?);
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

#[cfg(test)]
mod tests {
    use crate::testing::{Build, failure, ints, program, rows, seq, tuple, value};
    use deckle_diag::Code;
    use deckle_ir::array::{BinOp, Coll, Monoid, Op};
    use deckle_ir::value::Value;

    #[test]
    fn map_over_several_vectors() {
        let p = program(&["[i64; n0]", "[i64; n1]"], |b, p| b.op1(Op::Map, p, |b, q| b.bin(BinOp::Sub, q[0], q[1])));
        assert_eq!(value(&p, &[ints(&[5, 6]), ints(&[1, 2])]), ints(&[4, 4]));
        assert_eq!(value(&p, &[ints(&[]), ints(&[])]), ints(&[]));
        let e = failure(&p, &[ints(&[5, 6]), ints(&[1])], Code::LengthMismatch);
        assert_eq!(e.message, "equal lengths are needed, but one has 2 elements and the second 1");
    }

    #[test]
    fn map_over_jagged_rows() {
        let p = program(&["[i0 -> [i64; n1(i0)]; n0]"], |b, p| {
            b.op1(Op::Map, p, |b, q| b.op1(Op::Map, q, |b, r| b.bin(BinOp::Mul, r[0], r[0])))
        });
        assert_eq!(value(&p, &[rows(&[&[2, 3], &[], &[4]])]), rows(&[&[4, 9], &[], &[16]]));
        assert_eq!(value(&p, &[rows(&[])]), rows(&[]));
    }

    #[test]
    fn the_result_may_be_jagged() {
        let p = program(&["[i64; n0]"], |b, p| {
            let a = b.op1(Op::Map, p, |b, q| b.op(Op::Iota(Coll::Array), q));
            b.op1(Op::Map, &[a], |b, q| b.op(Op::Reduce(Monoid::Sum), q))
        });
        assert_eq!(value(&p, &[ints(&[3, 0, 5])]), ints(&[3, 0, 10]));
        let e = failure(&p, &[ints(&[3, -2])], Code::BadSize);
        assert_eq!(e.notes, ["at element 1 of this `map`"]);
    }

    #[test]
    fn comprehensions_over_sequences() {
        let p = program(&["{i64}", "{i64}", "i64"], |b, p| {
            b.op1(Op::Map, &p[..2], |b, q| {
                let x = b.bin(BinOp::Add, q[0], q[1]);
                b.bin(BinOp::Mul, x, p[2])
            })
        });
        let args = [seq(&ints(&[1, 2])), seq(&ints(&[3, 4])), Value::int(10)];
        assert_eq!(value(&p, &args), seq(&ints(&[40, 60])));
        failure(&p, &[seq(&ints(&[1])), seq(&ints(&[])), Value::int(1)], Code::LengthMismatch);
    }

    #[test]
    fn zip_and_unzip_are_inverse() {
        let p = program(&["[i64; n0]", "[bool; n0]"], |b, p| {
            let z = b.op(Op::Zip, p);
            b.op(Op::Unzip, &[z])
        });
        let flags = Value::array(vec![Value::bool(true), Value::bool(false)]);
        assert_eq!(value(&p, &[ints(&[1, 2]), flags.clone()]), tuple(&[ints(&[1, 2]), flags.clone()]));
        assert_eq!(value(&p, &[ints(&[]), ints(&[])]), tuple(&[ints(&[]), ints(&[])]));
        let p = program(&["[i64; n0]", "[bool; n1]"], |b, p| b.op(Op::Zip, p));
        failure(&p, &[ints(&[1]), flags], Code::LengthMismatch);
    }
}
