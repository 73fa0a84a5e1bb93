//! Indexing in kernels: arrays, slices and constants.
//!
//! A slice is a vector of the language, and its index is checked where it is read (D0301). An array is a tuple, of which an index selects a component:
//! the index is checked by reading a position, `[0, 1, ..., N-1][i]`, which needs no memory.

use super::value::{part, replaced};
use crate::arr::Arr;
use crate::elt::{Elt, Handle};
use crate::exp::Exp;
use crate::trace::{Raw, apply, constant_of};
use deckle_ir::array::{BinOp, Coll, Op};
use deckle_ir::scalar::Scalar;

/// The index, if it is a constant below `n`.
fn known(i: Exp<usize>, n: usize) -> Option<usize> {
    let i = constant_of(i.raw_elt())?.as_int()?;
    usize::try_from(i).ok().filter(|i| *i < n)
}

#[track_caller]
fn int(n: usize) -> Raw {
    apply(Op::Const(Scalar::I64(n as i64)), &[])
}

/// The index, checked.
#[track_caller]
fn checked(i: Exp<usize>, n: usize) -> Raw {
    let positions = apply(Op::Iota(Coll::Array), &[int(n)]);
    apply(Op::Index, &[positions, i.raw_elt()])
}

/// One of several values, by the bits of a position: as many comparisons as bits, and a short chain of selections.
#[track_caller]
fn chosen(i: Raw, mut values: Vec<Raw>) -> Option<Raw> {
    let mut bit = 1;
    while values.len() > 1 {
        let masked = apply(Op::Binary(BinOp::And), &[i, int(bit)]);
        let is_set = apply(Op::Binary(BinOp::Ne), &[masked, int(0)]);
        let one = |pair: &[Raw]| match *pair {
            [low, high] => apply(Op::Select, &[is_set, high, low]),
            _ => pair[0],
        };
        values = values.chunks(2).map(one).collect();
        bit *= 2;
    }
    values.pop()
}

/// What a kernel can index.
#[diagnostic::on_unimplemented(
    message = "a kernel cannot index into `{Self}`",
    label = "neither a slice of elements nor an array `[T; N]`"
)]
pub trait Indexed: Copy {
    /// Its elements.
    type Item: Elt;
    /// `xs[i]`
    #[track_caller]
    fn element(self, i: Exp<usize>) -> Exp<Self::Item>;
    /// `xs.len()`
    #[track_caller]
    fn count(self) -> Exp<usize>;
}

impl<T: Elt> Indexed for Arr<T> {
    type Item = T;
    fn element(self, i: Exp<usize>) -> Exp<T> {
        Exp::from_raw_elt(apply(Op::Index, &[self.raw(), i.raw_elt()]))
    }
    fn count(self) -> Exp<usize> {
        Exp::from_raw_elt(apply(Op::Length, &[self.raw()]))
    }
}

impl<T: Elt, const N: usize> Indexed for Exp<[T; N]> {
    type Item = T;
    fn element(self, i: Exp<usize>) -> Exp<T> {
        if let Some(i) = known(i, N) {
            return Exp::from_raw_elt(part(self.raw_elt(), i));
        }
        let i = checked(i, N);
        let parts: Vec<Raw> = (0..N).map(|k| part(self.raw_elt(), k)).collect();
        Exp::from_raw_elt(chosen(i, parts).unwrap_or_else(|| super::unset::<T>().raw_elt()))
    }
    fn count(self) -> Exp<usize> {
        super::lit(N)
    }
}

/// `xs[i]`
#[track_caller]
pub fn at<X: Indexed>(xs: X, i: Exp<usize>) -> Exp<X::Item> {
    xs.element(i)
}

/// `xs.len()`
#[track_caller]
pub fn len<X: Indexed>(xs: X) -> Exp<usize> {
    xs.count()
}

/// `xs.is_empty()`
#[track_caller]
pub fn is_empty<X: Indexed>(xs: X) -> Exp<bool> {
    super::eq(xs.count(), super::lit(0usize))
}

/// `a` with another element at `i`.
#[track_caller]
pub fn with_element<T: Elt, const N: usize>(a: Exp<[T; N]>, i: Exp<usize>, x: Exp<T>) -> Exp<[T; N]> {
    if let Some(i) = known(i, N) {
        return replaced(a, i, x.raw_elt());
    }
    let i = checked(i, N);
    let parts: Vec<Raw> = (0..N)
        .map(|k| {
            let here = apply(Op::Binary(BinOp::Eq), &[i, int(k)]);
            apply(Op::Select, &[here, x.raw_elt(), part(a.raw_elt(), k)])
        })
        .collect();
    Exp::from_raw_elt(apply(Op::Tuple, &parts))
}

/// `TABLE[i]`: a constant of the program.
#[track_caller]
pub fn in_table<T: Elt>(table: &[T], i: Exp<usize>) -> Exp<T> {
    match known(i, table.len()) {
        Some(i) => table[i].lift(),
        None => crate::arr::constant_array(table).element(i),
    }
}
