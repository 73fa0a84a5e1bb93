//! Operators that order elements. The order is that of [`crate::scalar::compare`].

use super::items;
use crate::error::Result;
use crate::machine::{Cx, Place};
use crate::scalar::compare;
use deckle_ir::value::Value;

pub(super) fn sort(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut elems = items(cx, &args[0])?.to_vec();
    elems.sort_by(compare);
    Ok(Value::array(elems))
}

/// The elements with their keys, in ascending order of these, stable.
fn by_key(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Vec<(Value, Value)>> {
    let mut pairs = Vec::new();
    for (i, x) in items(cx, &args[0])?.iter().enumerate() {
        let key = cx.body(0, Place::Element(i), std::slice::from_ref(x))?;
        pairs.push((key, x.clone()));
    }
    pairs.sort_by(|(a, _), (b, _)| compare(a, b));
    Ok(pairs)
}

pub(super) fn sort_by(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    Ok(Value::array(by_key(cx, args)?.into_iter().map(|(_, x)| x).collect()))
}

/// Keys are one group where the order does not tell them apart: all NaN are, the two zeros are not. The key of the
/// group is that of its first element.
pub(super) fn group_by(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let pairs = by_key(cx, args)?;
    let groups = pairs.chunk_by(|(a, _), (b, _)| compare(a, b).is_eq()).map(|group| {
        let members = group.iter().map(|(_, x)| x.clone()).collect();
        Value::tuple(vec![group[0].0.clone(), Value::array(members)])
    });
    Ok(Value::array(groups.collect()))
}
