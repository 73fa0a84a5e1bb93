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
        cx.collect(0, Place::Indices(middle), &[window])
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
    use crate::testing::{Build, failure, ints, program, rows, value};
    use deckle_diag::Code;
    use deckle_ir::array::{BinOp, Boundary, Monoid, Op};
    use deckle_ir::value::Value;

    #[test]
    fn mirrors_keep_reflecting() {
        let seen: Vec<i64> = (-5..8).map(|i| mirror(i, 3)).collect();
        assert_eq!(seen, [1, 2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0, 1]);
        assert!((-9..9).all(|i| mirror(i, 1) == 0));
    }

    /// The first element of the window of radius 2 around each position.
    fn first(boundary: Boundary, xs: &[i64]) -> Value {
        let p = program(&["[i64; n0]", "i64"], |b, p| {
            let args = if boundary == Boundary::Constant { p } else { &p[..1] };
            b.op1(Op::Stencil(vec![2], boundary), args, |b, q| {
                let zero = b.int(0);
                b.op(Op::Index, &[q[0], zero])
            })
        });
        value(&p, &[ints(xs), Value::int(-1)])
    }

    #[test]
    fn boundaries_in_one_dimension() {
        let xs = [5, 6, 7, 8];
        assert_eq!(first(Boundary::Clamp, &xs), ints(&[5, 5, 5, 6]));
        assert_eq!(first(Boundary::Mirror, &xs), ints(&[6, 5, 5, 6]));
        assert_eq!(first(Boundary::Wrap, &xs), ints(&[7, 8, 5, 6]));
        assert_eq!(first(Boundary::Constant, &xs), ints(&[-1, -1, 5, 6]));
        for boundary in [Boundary::Clamp, Boundary::Mirror, Boundary::Wrap] {
            assert_eq!(first(boundary, &[5]), ints(&[5]));
            assert_eq!(first(boundary, &[]), ints(&[]));
        }
    }

    #[test]
    fn a_boundary_function_sees_the_index() {
        let p = program(&["[[i64; n1]; n0]"], |b, p| {
            b.op2(
                Op::Stencil(vec![1, 0], Boundary::Function),
                p,
                |b, q| {
                    let all = b.op(Op::Flatten, q);
                    b.op(Op::Reduce(Monoid::Sum), &[all])
                },
                |b, q| {
                    let hundred = b.int(100);
                    let i = b.bin(BinOp::Mul, q[0], hundred);
                    b.bin(BinOp::Add, i, q[1])
                },
            )
        });
        // Above row 0 there is -100 + j, below row 1 there is 200 + j.
        assert_eq!(value(&p, &[rows(&[&[1, 2], &[3, 4]])]), rows(&[&[-96, -93], &[204, 207]]));
    }

    #[test]
    fn windows_are_limited_and_rows_must_be_regular() {
        let p = program(&["[i64; n0]"], |b, p| {
            b.op1(Op::Stencil(vec![u32::MAX], Boundary::Wrap), p, |b, q| b.op(Op::Reduce(Monoid::Sum), q))
        });
        failure(&p, &[ints(&[1])], Code::LimitExceeded);
        let p = program(&["[[i64; n1]; n0]"], |b, p| {
            b.op1(Op::Stencil(vec![1, 1], Boundary::Clamp), p, |b, q| b.op(Op::Size(2), q))
        });
        assert_eq!(value(&p, &[rows(&[&[1, 2]])]), rows(&[&[9, 9]]));
        failure(&p, &[rows(&[&[1, 2], &[3]])], Code::NotRegular);
    }
}
