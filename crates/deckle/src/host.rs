//! Arrays of the host: what goes into a program and comes out of it.

use crate::arr::{Arr, D1, D2, D3, Rank};
use crate::bundle::Tup;
use crate::elt::{Elt, Item};
use crate::error::{Error, Fault};
use crate::exp::Exp;
use crate::seq::Seq;
use deckle_ir::value::Value;
use std::marker::PhantomData;

/// An array in memory, row by row: a shape and its elements.
///
/// It converts from `Vec`, slices and arrays, and back to `Vec`; with the cargo feature `ndarray` also from and to `ndarray::Array`. What is
/// owned and lies row by row is moved, everything else is copied:
///
/// | from | to | |
/// |---|---|---|
/// | `Vec<T>`, or a shape and a `Vec<T>` ([`Array::new`]) | `Array<T, D>` | moves the buffer |
/// | `Array<T, D>` | `Vec<T>`, [`into_iter`](IntoIterator::into_iter) | moves the buffer |
/// | `Array<T, D>` | `&[T]` ([`as_slice`](Array::as_slice)) | borrows |
/// | `ndarray::Array` in standard layout | `Array<T, D>` | moves the buffer, if the array shows all of it |
/// | `Array<T, D>` | `ndarray::Array` | moves the buffer |
/// | slices, `[T; N]`, references, rows ([`Array::from_rows`]) | `Array<T, D>` | copies |
/// | `ndarray::Array` in any other layout, views | `Array<T, D>` | copies, row by row |
///
/// Calling a program on [`Interp`](crate::Interp) copies once each way: the interpreter has values of its own.
///
/// ```
/// # use deckle::prelude::*;
/// let data = vec![1.0, 2.0, 3.0, 4.0];
/// let buffer = data.as_ptr();
/// let a = Array::<f64, D2>::new(&[2, 2], data)?;
/// assert_eq!(a.to_rows(), [[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(Vec::from(a).as_ptr(), buffer);
/// # Ok::<(), deckle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Array<T, D = D1> {
    shape: Vec<usize>,
    data: Vec<T>,
    rank: PhantomData<D>,
}

impl<T, D: Rank> Array<T, D> {
    /// An array of this shape, without copying; an error if there are not as many elements, or dimensions, as it says.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// assert!(Array::<i64, D2>::new(&[2, 2], vec![1, 2, 3, 4]).is_ok());
    /// assert!(Array::<i64, D2>::new(&[2, 2], vec![1, 2, 3]).is_err());
    /// ```
    pub fn new(shape: &[usize], data: Vec<T>) -> Result<Self, Error> {
        let size = shape.iter().try_fold(1usize, |n, m| n.checked_mul(*m));
        if shape.len() != D::N || size != Some(data.len()) {
            let message =
                format!("an array of shape {shape:?} cannot hold {} elements in {} dimensions", data.len(), D::N);
            return Err(Error::new(Fault::Argument(message), None));
        }
        Ok(Array { shape: shape.to_vec(), data, rank: PhantomData })
    }

    /// The size of each dimension.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements, row by row.
    pub fn as_slice(&self) -> &[T] {
        &self.data
    }

    /// The elements, row by row, without copying.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}

impl<T: Clone> Array<T> {
    /// The elements of a vector, copied.
    pub fn to_vec(&self) -> Vec<T> {
        self.data.clone()
    }
}

impl<T: Clone> Array<T, D2> {
    /// A matrix of these rows, copied together; an error if they differ in length.
    pub fn from_rows(rows: Vec<Vec<T>>) -> Result<Self, Error> {
        let cols = rows.first().map_or(0, Vec::len);
        if let Some((i, row)) = rows.iter().enumerate().find(|(_, r)| r.len() != cols) {
            let message =
                format!("row {i} has {} elements, but row 0 has {cols}: a matrix has rows of one length", row.len());
            return Err(Error::new(Fault::Argument(message), None));
        }
        Array::new(&[rows.len(), cols], rows.into_iter().flatten().collect())
    }

    /// The rows, copied.
    pub fn to_rows(&self) -> Vec<Vec<T>> {
        match self.shape[1] {
            0 => vec![Vec::new(); self.shape[0]],
            cols => self.data.chunks(cols).map(<[T]>::to_vec).collect(),
        }
    }
}

/// Without copying.
impl<T> From<Vec<T>> for Array<T> {
    fn from(data: Vec<T>) -> Self {
        Array { shape: vec![data.len()], data, rank: PhantomData }
    }
}

/// Copies.
impl<T: Clone> From<&[T]> for Array<T> {
    fn from(data: &[T]) -> Self {
        data.to_vec().into()
    }
}

/// Copies.
impl<T: Clone> From<&Vec<T>> for Array<T> {
    fn from(data: &Vec<T>) -> Self {
        data.clone().into()
    }
}

impl<T, const N: usize> From<[T; N]> for Array<T> {
    fn from(data: [T; N]) -> Self {
        Vec::from(data).into()
    }
}

impl<T, const N: usize, const M: usize> From<[[T; M]; N]> for Array<T, D2> {
    fn from(rows: [[T; M]; N]) -> Self {
        Array { shape: vec![N, M], data: rows.into_iter().flatten().collect(), rank: PhantomData }
    }
}

impl<T: Clone, D: Rank> From<&Array<T, D>> for Array<T, D> {
    fn from(array: &Array<T, D>) -> Self {
        array.clone()
    }
}

/// Without copying.
impl<T, D: Rank> From<Array<T, D>> for Vec<T> {
    fn from(array: Array<T, D>) -> Vec<T> {
        array.data
    }
}

impl<T> FromIterator<T> for Array<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        items.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T, D: Rank> IntoIterator for Array<T, D> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.data.into_iter()
    }
}

impl<T, D: Rank> AsRef<[T]> for Array<T, D> {
    fn as_ref(&self) -> &[T] {
        &self.data
    }
}

#[cfg(feature = "ndarray")]
mod ndarray;

/// A handle, or a tuple of handles, that can be an argument or a result: what it is on the host.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or result of a program",
    label = "has no type on the host"
)]
pub trait Hosted {
    /// The Rust type of its values.
    type Host;
    #[doc(hidden)]
    fn to_value(host: Self::Host) -> Value;
    #[doc(hidden)]
    fn from_value(value: &Value) -> Option<Self::Host>;
}

impl<T: Elt> Hosted for Exp<T> {
    type Host = T;
    fn to_value(host: T) -> Value {
        host.to_value()
    }
    fn from_value(value: &Value) -> Option<T> {
        T::from_value(value)
    }
}

/// Elements and rows, as they are on the host inside a collection.
pub trait HostItem: Item {
    /// The Rust type of one.
    type Plain;
    #[doc(hidden)]
    fn plain_to_value(plain: Self::Plain) -> Value;
    #[doc(hidden)]
    fn plain_from_value(value: &Value) -> Option<Self::Plain>;
}

impl<T: Elt> HostItem for T {
    type Plain = T;
    fn plain_to_value(plain: T) -> Value {
        plain.to_value()
    }
    fn plain_from_value(value: &Value) -> Option<T> {
        T::from_value(value)
    }
}

impl<T: HostItem> HostItem for Arr<T> {
    type Plain = Vec<T::Plain>;
    fn plain_to_value(plain: Self::Plain) -> Value {
        Value::array(plain.into_iter().map(T::plain_to_value).collect())
    }
    fn plain_from_value(value: &Value) -> Option<Self::Plain> {
        value.items()?.iter().map(T::plain_from_value).collect()
    }
}

impl<A: HostItem> HostItem for Seq<A> {
    type Plain = Vec<A::Plain>;
    fn plain_to_value(plain: Self::Plain) -> Value {
        Value::seq(plain.into_iter().map(A::plain_to_value).collect())
    }
    fn plain_from_value(value: &Value) -> Option<Self::Plain> {
        value.items()?.iter().map(A::plain_from_value).collect()
    }
}

impl<T: HostItem> HostItem for Arr<T, D2> {
    type Plain = Array<T::Plain, D2>;
    fn plain_to_value(plain: Self::Plain) -> Value {
        <Self as Hosted>::to_value(plain)
    }
    fn plain_from_value(value: &Value) -> Option<Self::Plain> {
        <Self as Hosted>::from_value(value)
    }
}

impl<T: HostItem> HostItem for Arr<T, D3> {
    type Plain = Array<T::Plain, D3>;
    fn plain_to_value(plain: Self::Plain) -> Value {
        <Self as Hosted>::to_value(plain)
    }
    fn plain_from_value(value: &Value) -> Option<Self::Plain> {
        <Self as Hosted>::from_value(value)
    }
}

impl<T: HostItem, D: Rank> Hosted for Arr<T, D> {
    type Host = Array<T::Plain, D>;
    fn to_value(host: Self::Host) -> Value {
        nested(&host.shape, &mut host.data.into_iter().map(T::plain_to_value))
    }
    fn from_value(value: &Value) -> Option<Self::Host> {
        of_shape(&shape_of(value, D::N)?, value, T::plain_from_value)
    }
}

/// The sizes of the outer dimensions of a tree, as its first elements have them.
pub(crate) fn shape_of(value: &Value, rank: usize) -> Option<Vec<usize>> {
    let mut shape = Vec::with_capacity(rank);
    let mut level = Some(value);
    for _ in 0..rank {
        let items = level.map_or(Some(&[][..]), Value::items)?;
        shape.push(items.len());
        level = items.first();
    }
    Some(shape)
}

/// The elements of a tree of this shape; `None` if it has another.
pub(crate) fn of_shape<T, D: Rank>(
    shape: &[usize],
    value: &Value,
    mut elem: impl FnMut(&Value) -> Option<T>,
) -> Option<Array<T, D>> {
    let mut data = Vec::with_capacity(shape.iter().product());
    take_apart(value, shape, &mut |x| {
        data.push(elem(x)?);
        Some(())
    })?;
    Array::new(shape, data).ok()
}

/// The next elements as a tree of this shape.
pub(crate) fn nested(shape: &[usize], elems: &mut dyn Iterator<Item = Value>) -> Value {
    match shape {
        [n] => Value::array(elems.take(*n).collect()),
        [n, inner @ ..] => Value::array((0..*n).map(|_| nested(inner, elems)).collect()),
        [] => Value::array(Vec::new()),
    }
}

/// Visits the elements of a tree of this shape; `None` if it has another.
fn take_apart(value: &Value, shape: &[usize], visit: &mut dyn FnMut(&Value) -> Option<()>) -> Option<()> {
    let Some((n, inner)) = shape.split_first() else { return visit(value) };
    let items = value.items().filter(|items| items.len() == *n)?;
    items.iter().try_for_each(|item| take_apart(item, inner, visit))
}

impl<A: HostItem> Hosted for Seq<A> {
    type Host = Vec<A::Plain>;
    fn to_value(host: Self::Host) -> Value {
        Value::seq(host.into_iter().map(A::plain_to_value).collect())
    }
    fn from_value(value: &Value) -> Option<Self::Host> {
        value.items()?.iter().map(A::plain_from_value).collect()
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+);)*) => {$(
        impl<$($name: Hosted),+> Hosted for ($($name,)+) {
            type Host = ($($name::Host,)+);
            fn to_value(host: Self::Host) -> Value { Value::tuple(vec![$($name::to_value(host.$index)),+]) }
            fn from_value(value: &Value) -> Option<Self::Host> {
                let parts = value.parts()?;
                Some(($($name::from_value(parts.get($index)?)?,)+))
            }
        }
        impl<$($name: HostItem),+> HostItem for Tup<($($name,)+)> {
            type Plain = ($($name::Plain,)+);
            fn plain_to_value(plain: Self::Plain) -> Value {
                Value::tuple(vec![$($name::plain_to_value(plain.$index)),+])
            }
            fn plain_from_value(value: &Value) -> Option<Self::Plain> {
                let parts = value.parts()?;
                Some(($($name::plain_from_value(parts.get($index)?)?,)+))
            }
        }
        impl<$($name: HostItem),+> Hosted for Tup<($($name,)+)> {
            type Host = ($($name::Plain,)+);
            fn to_value(host: Self::Host) -> Value { <Self as HostItem>::plain_to_value(host) }
            fn from_value(value: &Value) -> Option<Self::Host> { <Self as HostItem>::plain_from_value(value) }
        }
    )*};
}

tuples! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
