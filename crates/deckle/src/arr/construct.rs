//! Constructing arrays.

use super::{Arr, D2, D3, Extent, Made, Rank, wrap};
use crate::elt::{Elt, Handle, IntoExp, IntoHandle, Item};
use crate::exp::Exp;
use crate::trace::{Raw, apply, apply_body};
use deckle_ir::array::{Coll, Constant, Op};
use deckle_ir::size::Size;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::sync::Arc;

/// The integers from 0 below `n`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| iota(n)).unwrap();
/// assert_eq!(f.call(3).unwrap().to_vec(), [0, 1, 2]);
/// ```
#[track_caller]
pub fn iota(n: impl IntoExp<i64>) -> Arr<i64> {
    wrap(apply(Op::Iota(Coll::Array), &[n.into_exp().raw_elt()]))
}

/// The integers from `a` below `b`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| range(2, n)).unwrap();
/// assert_eq!(f.call(5).unwrap().to_vec(), [2, 3, 4]);
/// ```
#[track_caller]
pub fn range(a: impl IntoExp<i64>, b: impl IntoExp<i64>) -> Arr<i64> {
    range_by(a, b, 1)
}

/// The integers from `a` to `b`, both included.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| range_inclusive(1, n)).unwrap();
/// assert_eq!(f.call(3).unwrap().to_vec(), [1, 2, 3]);
/// ```
#[track_caller]
pub fn range_inclusive(a: impl IntoExp<i64>, b: impl IntoExp<i64>) -> Arr<i64> {
    let args = [a.into_exp().raw_elt(), b.into_exp().raw_elt(), 1i64.into_exp().raw_elt()];
    wrap(apply(Op::Range(Coll::Array, true), &args))
}

/// The integers from `a` below `b` (or above it, for a negative step) in steps.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| range_by(n, 0, -2)).unwrap();
/// assert_eq!(f.call(5).unwrap().to_vec(), [5, 3, 1]);
/// ```
#[track_caller]
pub fn range_by(a: impl IntoExp<i64>, b: impl IntoExp<i64>, step: impl IntoExp<i64>) -> Arr<i64> {
    let args = [a.into_exp().raw_elt(), b.into_exp().raw_elt(), step.into_exp().raw_elt()];
    wrap(apply(Op::Range(Coll::Array, false), &args))
}

/// The array of this shape whose element at `i`, `(i, j)` or `(i, j, k)` is `f` of that.
///
/// ```
/// # use deckle::prelude::*;
/// let squares = compile(|n: Exp<i64>| generate(n, |i| i * i)).unwrap();
/// assert_eq!(squares.call(4).unwrap().to_vec(), [0, 1, 4, 9]);
///
/// let identity = compile(|n: Exp<i64>| generate((n, n), |(i, j)| select(i.equals(j), 1.0, 0.0))).unwrap();
/// assert_eq!(identity.call(2).unwrap().to_rows(), [[1.0, 0.0], [0.0, 1.0]]);
///
/// let cube = compile(|n: Exp<i64>| generate((n, 2, n), |(i, j, k)| i * 100 + j * 10 + k).sum_all()).unwrap();
/// assert_eq!(cube.call(1).unwrap(), 10);
/// ```
#[track_caller]
pub fn generate<E: Extent, R: IntoHandle>(
    shape: E,
    f: impl FnOnce(<E::Rank as Rank>::Index) -> R,
) -> Arr<Made<R>, E::Rank> {
    let sizes = shape.sizes();
    wrap(apply_body(Op::Generate, &sizes, |i| f(E::Rank::index(i)).into_handle().raw()))
}

/// The matrix whose element at `(i, j)` is `f(i, j)`: [`generate`] without the tuples.
///
/// ```
/// # use deckle::prelude::*;
/// let table = compile(|n: Exp<i64>| generate2(n, 3, |i, j| i * j)).unwrap();
/// assert_eq!(table.call(2).unwrap().to_rows(), [[0, 0, 0], [0, 1, 2]]);
/// ```
#[track_caller]
pub fn generate2<R: IntoHandle>(
    n: impl IntoExp<i64>,
    m: impl IntoExp<i64>,
    f: impl FnOnce(Exp<i64>, Exp<i64>) -> R,
) -> Arr<Made<R>, D2> {
    generate((n, m), |(i, j)| f(i, j))
}

/// The array of rank 3 whose element at `(i, j, k)` is `f(i, j, k)`.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| generate3(n, 2, 2, |i, j, k| i + j * k)).unwrap();
/// assert_eq!(f.call(1).unwrap().as_slice(), [0, 0, 0, 1]);
/// ```
#[track_caller]
pub fn generate3<R: IntoHandle>(
    n: impl IntoExp<i64>,
    m: impl IntoExp<i64>,
    l: impl IntoExp<i64>,
    f: impl FnOnce(Exp<i64>, Exp<i64>, Exp<i64>) -> R,
) -> Arr<Made<R>, D3> {
    generate((n, m, l), |(i, j, k)| f(i, j, k))
}

/// An array of this shape whose elements are all the same.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|n: Exp<i64>| fill(0.5, n)).unwrap();
/// assert_eq!(f.call(2).unwrap().to_vec(), [0.5, 0.5]);
///
/// let zeros = compile(|n: Exp<i64>| fill(0i64, (n, 2))).unwrap();
/// assert_eq!(zeros.call(2).unwrap().to_rows(), [[0, 0], [0, 0]]);
/// ```
#[track_caller]
pub fn fill<X: IntoHandle, E: Extent>(x: X, shape: E) -> Arr<Made<X>, E::Rank> {
    let x = x.into_handle().raw();
    let mut made = x;
    for n in shape.sizes().into_iter().rev() {
        made = apply(Op::Replicate, &[made, n]);
    }
    wrap(made)
}

/// The vector of these elements.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|x: Exp<i64>| array([x, x + 1])).unwrap();
/// assert_eq!(f.call(1).unwrap().to_vec(), [1, 2]);
///
/// let jagged = compile(|n: Exp<i64>| array([iota(n), iota(1)])).unwrap();
/// assert_eq!(jagged.call(2).unwrap().to_vec(), [vec![0, 1], vec![0]]);
/// ```
#[track_caller]
pub fn array<X: IntoHandle, const K: usize>(items: [X; K]) -> Arr<Made<X>> {
    let items: Vec<Raw> = items.into_iter().map(|x| x.into_handle().raw()).collect();
    wrap(apply(Op::Array(<Made<X> as Item>::kind()), &items))
}

/// A vector of Rust values as a constant of the program.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|i: Exp<i64>| constant_array(&[2.0, 3.0, 5.0]).at(i)).unwrap();
/// assert_eq!(f.call(2).unwrap(), 5.0);
/// ```
#[track_caller]
pub fn constant_array<T: Elt>(items: &[T]) -> Arr<T> {
    let value = Value::array(items.iter().map(|x| x.to_value()).collect());
    let ty = Type::array(Size::constant(items.len() as i128), T::ty());
    wrap(apply(Op::Use(Arc::new(Constant { ty, value })), &[]))
}
