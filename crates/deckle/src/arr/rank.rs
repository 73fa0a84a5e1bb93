//! Ranks: the number of dimensions of a regular array.

use super::Arr;
use crate::elt::{Elt, Handle, IntoExp};
use crate::exp::Exp;
use crate::trace::Raw;

/// The number of dimensions: [`D1`], [`D2`] or [`D3`]. A function that works at every rank has a parameter `D: Rank`.
///
/// ```
/// use deckle::prelude::*;
///
/// fn normalise<D: Rank>(a: Arr<f64, D>) -> Arr<f64, D> {
///     let total = a.sum_all();
///     a.map(|x| x / total)
/// }
///
/// let vector = compile(|a: Arr<f64>| normalise(a))?;
/// assert_eq!(vector.call([1.0, 3.0])?.to_vec(), [0.25, 0.75]);
/// let matrix = compile(|a: Arr<f64, D2>| normalise(a))?;
/// assert_eq!(matrix.call(Array::from_rows(vec![vec![1.0], vec![3.0]])?)?.to_rows(), [[0.25], [0.75]]);
/// # Ok::<(), deckle::Error>(())
/// ```
#[allow(private_interfaces)]
#[diagnostic::on_unimplemented(message = "`{Self}` is not a rank", label = "expected `D1`, `D2` or `D3`")]
pub trait Rank: Copy + std::fmt::Debug + PartialEq + 'static {
    /// The number.
    const N: usize;
    /// A position, or a shape: `Exp<i64>`, or a tuple of two or three.
    type Index: Copy;
    /// A position as an element: `i64`, or a tuple of two or three.
    type Position: Elt;
    /// The radius of a stencil along each axis: `u32`, or a tuple of two or three.
    type Radius;
    /// The result of folding the innermost axis: `Exp<T>`, or an array of one rank less.
    type Folded<T: Elt>: Handle;
    #[doc(hidden)]
    fn index(raws: &[Raw]) -> Self::Index;
    #[doc(hidden)]
    fn raws(index: Self::Index) -> Vec<Raw>;
    #[doc(hidden)]
    fn radii(radius: Self::Radius) -> Vec<u32>;
}

/// One dimension: a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct D1;
/// Two dimensions: a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct D2;
/// Three dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct D3;

#[allow(private_interfaces)]
impl Rank for D1 {
    const N: usize = 1;
    type Index = Exp<i64>;
    type Position = i64;
    type Radius = u32;
    type Folded<T: Elt> = Exp<T>;
    fn index(raws: &[Raw]) -> Exp<i64> {
        Exp::from_raw_elt(raws[0])
    }
    fn raws(index: Exp<i64>) -> Vec<Raw> {
        vec![index.raw_elt()]
    }
    fn radii(radius: u32) -> Vec<u32> {
        vec![radius]
    }
}

#[allow(private_interfaces)]
impl Rank for D2 {
    const N: usize = 2;
    type Index = (Exp<i64>, Exp<i64>);
    type Position = (i64, i64);
    type Radius = (u32, u32);
    type Folded<T: Elt> = Arr<T, D1>;
    fn index(raws: &[Raw]) -> Self::Index {
        (Exp::from_raw_elt(raws[0]), Exp::from_raw_elt(raws[1]))
    }
    fn raws((i, j): Self::Index) -> Vec<Raw> {
        vec![i.raw_elt(), j.raw_elt()]
    }
    fn radii((r, s): (u32, u32)) -> Vec<u32> {
        vec![r, s]
    }
}

#[allow(private_interfaces)]
impl Rank for D3 {
    const N: usize = 3;
    type Index = (Exp<i64>, Exp<i64>, Exp<i64>);
    type Position = (i64, i64, i64);
    type Radius = (u32, u32, u32);
    type Folded<T: Elt> = Arr<T, D2>;
    fn index(raws: &[Raw]) -> Self::Index {
        (Exp::from_raw_elt(raws[0]), Exp::from_raw_elt(raws[1]), Exp::from_raw_elt(raws[2]))
    }
    fn raws((i, j, k): Self::Index) -> Vec<Raw> {
        vec![i.raw_elt(), j.raw_elt(), k.raw_elt()]
    }
    fn radii((r, s, t): (u32, u32, u32)) -> Vec<u32> {
        vec![r, s, t]
    }
}

/// A rank above another: its arrays have rows that are arrays.
#[diagnostic::on_unimplemented(
    message = "an array of rank `{Self}` has no rows that are arrays",
    label = "needs a rank of at least `D2`"
)]
pub trait Above: Rank {
    /// The rank of a row.
    type Row: Rank;
}
impl Above for D2 {
    type Row = D1;
}
impl Above for D3 {
    type Row = D2;
}

/// A rank below another.
#[diagnostic::on_unimplemented(
    message = "there is no rank above `{Self}`",
    label = "arrays have at most three dimensions; use an array of arrays"
)]
pub trait Below: Rank {
    /// The rank with one more dimension.
    type Up: Above<Row = Self>;
}
impl Below for D1 {
    type Up = D2;
}
impl Below for D2 {
    type Up = D3;
}

/// A shape: one size, or a tuple of two or three, each an `Exp<i64>` or a number.
///
/// ```
/// # use deckle::prelude::*;
/// let table = compile(|n: Exp<i64>| generate((n, 3), |(i, j)| i * j)).unwrap();
/// assert_eq!(table.call(2).unwrap().to_rows(), [[0, 0, 0], [0, 1, 2]]);
/// ```
#[allow(private_interfaces)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a shape",
    label = "expected a size (`i64` or `Exp<i64>`), or a tuple of two or three"
)]
pub trait Extent {
    /// Its number of dimensions.
    type Rank: Rank;
    #[doc(hidden)]
    fn sizes(self) -> Vec<Raw>;
}

#[allow(private_interfaces)]
impl Extent for Exp<i64> {
    type Rank = D1;
    fn sizes(self) -> Vec<Raw> {
        vec![self.raw_elt()]
    }
}

#[allow(private_interfaces)]
impl Extent for i64 {
    type Rank = D1;
    fn sizes(self) -> Vec<Raw> {
        vec![self.into_exp().raw_elt()]
    }
}

#[allow(private_interfaces)]
impl<A: IntoExp<i64>, B: IntoExp<i64>> Extent for (A, B) {
    type Rank = D2;
    fn sizes(self) -> Vec<Raw> {
        vec![self.0.into_exp().raw_elt(), self.1.into_exp().raw_elt()]
    }
}

#[allow(private_interfaces)]
impl<A: IntoExp<i64>, B: IntoExp<i64>, C: IntoExp<i64>> Extent for (A, B, C) {
    type Rank = D3;
    fn sizes(self) -> Vec<Raw> {
        vec![self.0.into_exp().raw_elt(), self.1.into_exp().raw_elt(), self.2.into_exp().raw_elt()]
    }
}
