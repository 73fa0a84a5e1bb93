//! Windows around every position of a regular array.

use super::{element, nest, regular_dims};
use crate::error::Result;
use crate::machine::{Cx, Place};
use deckle_ir::array::Boundary;
use deckle_ir::value::Value;

pub(super) fn stencil(cx: &mut Cx<'_, '_>, radii: &[u32], boundary: Boundary, args: &[Value]) -> Result<Value> {
    let dims = regular_dims(cx, 0, &args[0], radii.len())?;
    let mut extents = Vec::with_capacity(radii.len());
    for r in radii {
        extents.push(cx.room(2 * *r as i128 + 1)?);
    }
    nest(cx, &dims, &mut |cx, middle| {
        let window = nest(cx, &extents, &mut |cx, offset| {
            let at: Vec<i64> = (0..dims.len()).map(|k| middle[k] + offset[k] - radii[k] as i64).collect();
            neighbour(cx, &at, &dims, boundary, args)
        })?;
        cx.body(0, Place::Indices(middle), &[window])
    })
}

/// The element at indices that may lie beyond the edges.
fn neighbour(cx: &mut Cx<'_, '_>, at: &[i64], dims: &[usize], boundary: Boundary, args: &[Value]) -> Result<Value> {
    let inside = at.iter().zip(dims).all(|(i, n)| (0..*n as i64).contains(i));
    let fold = |inward: fn(i64, i64) -> i64| at.iter().zip(dims).map(|(i, n)| inward(*i, *n as i64) as usize).collect();
    let index: Vec<usize> = match boundary {
        _ if inside => at.iter().map(|i| *i as usize).collect(),
        Boundary::Clamp => fold(|i, n| i.clamp(0, n - 1)),
        Boundary::Mirror => fold(mirror),
        Boundary::Wrap => fold(|i, n| i.rem_euclid(n)),
        Boundary::Constant => return args.get(1).cloned().ok_or_else(|| cx.bug("no boundary element")),
        Boundary::Function => {
            let indices: Vec<Value> = at.iter().map(|i| Value::int(*i)).collect();
            return cx.body(1, Place::Indices(at), &indices);
        }
    };
    element(cx, &args[0], &index)
}

/// `… c b a | a b c | c b a | a b …`
fn mirror(i: i64, n: i64) -> i64 {
    let i = i.rem_euclid(2 * n);
    if i < n { i } else { 2 * n - 1 - i }
}

#[cfg(test)]
mod tests {
    use super::mirror;

    #[test]
    fn mirrors_keep_reflecting() {
        let seen: Vec<i64> = (-5..8).map(|i| mirror(i, 3)).collect();
        assert_eq!(seen, [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
        assert!((-9..9).all(|i| mirror(i, 1) == 0));
    }
}
