//! Operators on sequences.

use super::{count, int, items, nest, regular_dims, size, truth};
use crate::error::{self, Result};
use crate::machine::{Cx, Place};
use deckle_ir::value::Value;

pub(super) fn the(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    match items(cx, &args[0])? {
        [one] => Ok(one.clone()),
        other => Err(error::not_singleton(other.len(), cx.span())),
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
    let fail = |message: String| {
        let help = "give a `false` for each element, and a `true` at the end of each subsequence";
        Err(error::segments(message, help, cx.span()))
    };
    let elems = items(cx, &args[0])?;
    let flags = items(cx, &args[1])?.iter().map(|f| truth(cx, f)).collect::<Result<Vec<_>>>()?;
    let falses = flags.iter().filter(|f| !**f).count();
    if falses != elems.len() {
        return fail(format!("{falses} of the flags are `false`, but there are {}", error::elements(elems.len())));
    }
    if flags.last() == Some(&false) {
        return fail("the last flag is `false`, so the last subsequence does not end".into());
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
        elems.push(cx.body(0, Place::Element(i), &[count(i)])?);
    }
    Ok(Value::seq(elems))
}

pub(super) fn tiles(cx: &mut Cx<'_, '_>, depth: usize, args: &[Value]) -> Result<Value> {
    let extents = args[1..].iter().map(|n| int(cx, n)).collect::<Result<Vec<_>>>()?;
    if let Some(n) = extents.iter().find(|n| **n < 1) {
        let message = format!("a tile size is {n}, but must be at least 1");
        return Err(error::bad_size(message, "give a positive number of elements for each dimension", cx.span()));
    }
    let dims = regular_dims(cx, 0, &args[0], depth)?;
    let extents: Vec<usize> = extents.iter().map(|n| usize::try_from(*n).unwrap_or(usize::MAX)).collect();
    if extents.len() != depth {
        return Err(cx.bug("the wrong number of tile sizes"));
    }
    let counts: Vec<usize> = dims.iter().zip(&extents).map(|(n, e)| n.div_ceil(*e)).collect();
    let mut tiles = Vec::new();
    // The nest is only the order in which the tiles come.
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
