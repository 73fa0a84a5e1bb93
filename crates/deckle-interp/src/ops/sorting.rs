//! Operators that order elements. The order is that of [`deckle_ir::scalar_eval::compare`].

use super::items;
use crate::error::Result;
use crate::machine::{Cx, Place};
use deckle_ir::scalar::Scalar;
use deckle_ir::scalar_eval::compare;
use deckle_ir::value::Value;

pub(super) fn sort(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut elems = items(cx, &args[0])?.to_vec();
    elems.sort_by(compare);
    Ok(Value::array(elems))
}

/// The elements with their keys.
fn keyed(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Vec<(Value, Value)>> {
    let mut pairs = Vec::new();
    for (i, x) in items(cx, &args[0])?.iter().enumerate() {
        let key = cx.collect(0, Place::Element(i), std::slice::from_ref(x))?;
        pairs.push((key, x.clone()));
    }
    Ok(pairs)
}

pub(super) fn sort_by(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut pairs = keyed(cx, args)?;
    pairs.sort_by(|(a, _), (b, _)| compare(a, b));
    Ok(Value::array(pairs.into_iter().map(|(_, x)| x).collect()))
}

/// Equal keys form one group: the two zeros do, with the key 0.0, and so do all NaN, which the order treats as equal.
pub(super) fn group_by(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut pairs = keyed(cx, args)?;
    pairs.iter_mut().for_each(|(key, _)| *key = with_one_zero(key));
    pairs.sort_by(|(a, _), (b, _)| compare(a, b));
    let groups = pairs.chunk_by(|(a, _), (b, _)| compare(a, b).is_eq()).map(|group| {
        let members = group.iter().map(|(_, x)| x.clone()).collect();
        Value::tuple(vec![group[0].0.clone(), Value::array(members)])
    });
    Ok(Value::array(groups.collect()))
}

/// A key with -0.0 replaced by 0.0.
fn with_one_zero(key: &Value) -> Value {
    match key {
        Value::Scalar(Scalar::F32(x)) => Value::Scalar(Scalar::F32(x + 0.0)),
        Value::Scalar(Scalar::F64(x)) => Value::Scalar(Scalar::F64(x + 0.0)),
        Value::Scalar(_) => key.clone(),
        _ => match key.parts() {
            Some(parts) => Value::tuple(parts.iter().map(with_one_zero).collect()),
            None => key.clone(),
        },
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Build, ints, program, reals, rows, tuple, value};
    use deckle_ir::array::{BinOp, Op, UnOp};
    use deckle_ir::value::Value;

    #[test]
    fn sorting_floats() {
        let p = program(&["[f64; n0]"], |b, p| b.op(Op::Sort, p));
        let nan = f64::NAN;
        assert_eq!(value(&p, &[reals(&[1.0, nan, 0.0, -0.0])]), reals(&[-0.0, 0.0, 1.0, nan]));
        assert_eq!(value(&p, &[reals(&[])]), reals(&[]));
    }

    #[test]
    fn sorting_by_a_key_is_stable() {
        let p = program(&["[(i64, i64); n0]"], |b, p| {
            b.op1(Op::SortBy, p, |b, q| {
                let key = b.op(Op::Proj(0), q);
                b.op(Op::Unary(UnOp::Neg), &[key])
            })
        });
        let pairs =
            |v: &[(i64, i64)]| Value::array(v.iter().map(|(a, b)| tuple(&[Value::int(*a), Value::int(*b)])).collect());
        let sorted = value(&p, &[pairs(&[(1, 0), (2, 1), (1, 2), (2, 3)])]);
        assert_eq!(sorted, pairs(&[(2, 1), (2, 3), (1, 0), (1, 2)]));
    }

    #[test]
    fn groups_come_in_order_of_their_keys() {
        let p = program(&["[i64; n0]"], |b, p| {
            b.op1(Op::GroupBy, p, |b, q| {
                let three = b.int(3);
                b.bin(BinOp::Rem, q[0], three)
            })
        });
        let group = |k: i64, v: &[i64]| tuple(&[Value::int(k), ints(v)]);
        let grouped = value(&p, &[ints(&[5, 3, 7, 2, 9])]);
        assert_eq!(grouped, Value::array(vec![group(0, &[3, 9]), group(1, &[7]), group(2, &[5, 2])]));
        assert_eq!(value(&p, &[ints(&[])]), rows(&[]));
    }

    #[test]
    fn all_nan_are_one_group_and_all_zeros_are() {
        let p = program(&["[f64; n0]"], |b, p| b.op1(Op::GroupBy, p, |_, q| q[0]));
        let grouped = value(&p, &[reals(&[f64::NAN, 0.0, -f64::NAN, -0.0])]);
        assert_eq!(grouped.items().unwrap().len(), 2);
        // Members stay in the order of the elements.
        let zeros = tuple(&[Value::Scalar(deckle_ir::scalar::Scalar::F64(0.0)), reals(&[0.0, -0.0])]);
        assert_eq!(format!("{:?}", grouped.items().unwrap()[0]), format!("{zeros:?}"));
    }
}
