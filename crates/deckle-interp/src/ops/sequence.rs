//! Operators on sequences.

use super::{count, int, items, nest, regular_dims, size, truth};
use crate::error::Result;
use crate::machine::{Cx, Place};
use deckle_ir::fault::Fault;
use deckle_ir::value::Value;

pub(super) fn the(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    match items(cx, &args[0])? {
        [one] => Ok(one.clone()),
        other => Err(cx.fault(&Fault::NotSingleton, &[other.len() as i128])),
    }
}

pub(super) fn append(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let (s, t) = (items(cx, &args[0])?, items(cx, &args[1])?);
    let n = cx.room(s.len() as i128 + t.len() as i128)?;
    let mut elems = cx.alloc(n)?;
    elems.extend_from_slice(s);
    elems.extend_from_slice(t);
    Ok(Value::seq(elems))
}

pub(super) fn flagpart(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let elems = items(cx, &args[0])?;
    let flags = items(cx, &args[1])?.iter().map(|f| truth(cx, f)).collect::<Result<Vec<_>>>()?;
    let falses = flags.iter().filter(|f| !**f).count();
    if falses != elems.len() {
        return Err(cx.fault(&Fault::Flags, &[falses as i128, elems.len() as i128]));
    }
    if flags.last() == Some(&false) {
        return Err(cx.fault(&Fault::OpenGroup, &[]));
    }
    let mut rest = elems.iter().cloned();
    let runs = flags.split_inclusive(|f| *f).map(|run| Value::seq(rest.by_ref().take(run.len() - 1).collect()));
    Ok(Value::seq(runs.collect()))
}

pub(super) fn guard(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    if !truth(cx, &args[0])? {
        return Ok(Value::seq(Vec::new()));
    }
    Ok(Value::seq(vec![cx.body(0, Place::Once, &[])?]))
}

pub(super) fn produce(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let n = size(cx, &args[0], "the length")?;
    let mut elems = cx.alloc(n)?;
    for i in 0..n {
        elems.push(cx.collect(0, Place::Element(i), &[count(i)])?);
    }
    Ok(Value::seq(elems))
}

pub(super) fn tiles(cx: &mut Cx<'_, '_>, depth: usize, args: &[Value]) -> Result<Value> {
    let extents = args[1..].iter().map(|n| int(cx, n)).collect::<Result<Vec<_>>>()?;
    if let Some(n) = extents.iter().find(|n| **n < 1) {
        return Err(cx.fault(&Fault::TileSize, &[(*n).into()]));
    }
    let dims = regular_dims(cx, 0, &args[0], depth)?;
    let extents: Vec<usize> = extents.iter().map(|n| usize::try_from(*n).unwrap_or(usize::MAX)).collect();
    if extents.len() != depth {
        return Err(cx.bug("the wrong number of tile sizes"));
    }
    let counts: Vec<usize> = dims.iter().zip(&extents).map(|(n, e)| n.div_ceil(*e)).collect();
    let mut tiles = Vec::new();
    // The nest is only the order of the tiles.
    nest(cx, &counts, &mut |cx, tile| {
        let starts: Vec<usize> = tile.iter().zip(&extents).map(|(t, e)| *t as usize * e).collect();
        tiles.push(cut(cx, &args[0], &starts, &extents)?);
        Ok(Value::tuple(Vec::new()))
    })?;
    Ok(Value::seq(tiles))
}

/// The sub-array from `starts` on of at most `extents`.
fn cut(cx: &Cx<'_, '_>, v: &Value, starts: &[usize], extents: &[usize]) -> Result<Value> {
    let (Some((start, starts)), Some((extent, extents))) = (starts.split_first(), extents.split_first()) else {
        return Ok(v.clone());
    };
    let rows = items(cx, v)?.iter().skip(*start).take(*extent);
    Ok(Value::array(rows.map(|row| cut(cx, row, starts, extents)).collect::<Result<Vec<_>>>()?))
}

pub(super) fn tabulate(cx: &Cx<'_, '_>, depth: usize, args: &[Value]) -> Result<Value> {
    let elems = items(cx, &args[0])?;
    let mut extents = Vec::with_capacity(depth);
    let mut level: Vec<&Value> = elems.iter().collect();
    for _ in 0..depth {
        let rows = level.iter().map(|v| items(cx, v)).collect::<Result<Vec<_>>>()?;
        let least = rows.iter().map(|row| row.len()).min().unwrap_or(0);
        extents.push(least);
        level = rows.into_iter().flat_map(|row| &row[..least]).collect();
    }
    let starts = vec![0; depth];
    let trimmed = elems.iter().map(|v| cut(cx, v, &starts, &extents)).collect::<Result<Vec<_>>>()?;
    Ok(Value::array(trimmed))
}

pub(super) fn pull(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let elems = items(cx, &args[0])?;
    let (from, n) = (int(cx, &args[1])?, int(cx, &args[2])?);
    let from = usize::try_from(from).unwrap_or(0).min(elems.len());
    let n = usize::try_from(n).unwrap_or(0).min(elems.len() - from);
    Ok(Value::array(elems[from..from + n].iter().map(in_memory).collect()))
}

/// A value with vectors in place of sequences.
fn in_memory(v: &Value) -> Value {
    match v {
        Value::Scalar(_) => v.clone(),
        Value::Tuple(parts) => Value::tuple(parts.iter().map(in_memory).collect()),
        Value::Array(items) | Value::Seq(items) => Value::array(items.iter().map(in_memory).collect()),
    }
}

pub(super) fn push(cx: &mut Cx<'_, '_>, to: u32, args: &[Value]) -> Result<Value> {
    let (before, xs) = (int(cx, &args[0])?, items(cx, &args[1])?);
    let now = before.wrapping_add(xs.len() as i64);
    cx.push(to as usize, before, xs)?;
    Ok(Value::int(now))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Build, bools, failure, ints, program, rows, seq, value};
    use deckle_diag::Code;
    use deckle_ir::array::{BinOp, Coll, Op};
    use deckle_ir::types::Type;
    use deckle_ir::value::Value;

    #[test]
    fn the_only_element() {
        let p = program(&["{i64}"], |b, p| b.op(Op::The, p));
        assert_eq!(value(&p, &[seq(&ints(&[4]))]), Value::int(4));
        let e = failure(&p, &[seq(&ints(&[4, 5]))], Code::NotSingleton);
        assert_eq!(e.message, "`the` needs exactly one element, but the sequence has 2 elements");
        failure(&p, &[seq(&ints(&[]))], Code::NotSingleton);
    }

    #[test]
    fn appending_and_testing() {
        let p = program(&["{i64}", "{i64}"], |b, p| b.op(Op::Append, p));
        assert_eq!(value(&p, &[seq(&ints(&[1])), seq(&ints(&[2, 3]))]), seq(&ints(&[1, 2, 3])));
        let p = program(&["{i64}"], |b, p| b.op(Op::Empty, p));
        assert_eq!(value(&p, &[seq(&ints(&[]))]), Value::bool(true));
        let p = program(&["i64"], |b, p| b.op(Op::MkSeq(Type::INT), &[p[0], p[0]]));
        assert_eq!(value(&p, &[Value::int(7)]), seq(&ints(&[7, 7])));
    }

    #[test]
    fn flagpart_as_in_the_paper() {
        let p = program(&["{i64}", "{bool}"], |b, p| b.op(Op::FlagPart, p));
        let cut = |xs: &[i64], flags: &str| [seq(&ints(xs)), seq(&bools(flags))];
        let parts = [&[3, 1, 4][..], &[], &[1], &[5, 9]].map(|v| seq(&ints(v)));
        assert_eq!(value(&p, &cut(&[3, 1, 4, 1, 5, 9], "FFFTTFTFFT")), Value::seq(parts.to_vec()));
        assert_eq!(value(&p, &cut(&[], "")), seq(&ints(&[])));
        failure(&p, &cut(&[1, 2], "FFTFT"), Code::BadSegments);
        failure(&p, &cut(&[1, 2], "FT"), Code::BadSegments);
        failure(&p, &cut(&[1, 2], "FTF"), Code::BadSegments);
        failure(&p, &cut(&[1], ""), Code::BadSegments);
    }

    #[test]
    fn materialising_and_streaming() {
        let p = program(&["[i64; n0]"], |b, p| {
            let s = b.op(Op::Seq, p);
            let t = b.op1(Op::Map, &[s], |b, q| b.op(Op::Iota(Coll::Array), q));
            b.op(Op::Tab, &[t])
        });
        assert_eq!(value(&p, &[ints(&[2, 0, 1])]), rows(&[&[0, 1], &[], &[0]]));
    }

    #[test]
    fn a_guard_runs_at_most_once() {
        let p = program(&["i64"], |b, p| {
            let zero = b.int(0);
            let c = b.bin(BinOp::Ne, p[0], zero);
            b.op1(Op::Guard, &[c], |b, _| b.bin(BinOp::Div, p[0], p[0]))
        });
        assert_eq!(value(&p, &[Value::int(0)]), seq(&ints(&[])));
        assert_eq!(value(&p, &[Value::int(3)]), seq(&ints(&[1])));
    }

    #[test]
    fn producing() {
        let p = program(&["i64"], |b, p| b.op1(Op::Produce, p, |b, q| b.op(Op::Iota(Coll::Array), q)));
        assert_eq!(value(&p, &[Value::int(3)]), seq(&rows(&[&[], &[0], &[0, 1]])));
        failure(&p, &[Value::int(-3)], Code::BadSize);
    }

    #[test]
    fn tiles_at_the_edges_are_smaller() {
        let p = program(&["[[i64; n1]; n0]", "i64", "i64"], |b, p| b.op(Op::Tiles(2), p));
        let a = rows(&[&[1, 2, 3], &[4, 5, 6], &[7, 8, 9]]);
        let tiles = |p: i64, q: i64| [a.clone(), Value::int(p), Value::int(q)];
        let expected = [rows(&[&[1, 2], &[4, 5]]), rows(&[&[3], &[6]]), rows(&[&[7, 8]]), rows(&[&[9]])];
        assert_eq!(value(&p, &tiles(2, 2)), Value::seq(expected.to_vec()));
        assert_eq!(value(&p, &tiles(i64::MAX, 3)), Value::seq(vec![a.clone()]));
        assert_eq!(value(&p, &[rows(&[]), Value::int(1), Value::int(1)]), Value::seq(vec![]));
        failure(&p, &tiles(2, 0), Code::BadSize);
        failure(&p, &[rows(&[&[1], &[]]), Value::int(1), Value::int(1)], Code::NotRegular);
    }

    #[test]
    fn tabulating_cuts_to_the_least_extent() {
        let p = program(&["{i0 -> [i64; n0(i0)]}"], |b, p| b.op(Op::Tabulate(1), p));
        assert_eq!(value(&p, &[seq(&rows(&[&[1, 2, 3], &[4, 5]]))]), rows(&[&[1, 2], &[4, 5]]));
        assert_eq!(value(&p, &[seq(&rows(&[]))]), rows(&[]));
        let p = program(&["[[i64; n1]; n0]", "i64"], |b, p| {
            let tiles = b.op(Op::Tiles(2), &[p[0], p[1], p[1]]);
            b.op(Op::Tabulate(2), &[tiles])
        });
        let a = rows(&[&[1, 2, 3], &[4, 5, 6]]);
        let expected = Value::array(vec![rows(&[&[1], &[4]]), rows(&[&[3], &[6]])]);
        assert_eq!(value(&p, &[a, Value::int(2)]), expected);
    }
}
