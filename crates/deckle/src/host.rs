//! Arrays of the host: what goes into a program and comes out of it.

use crate::arr::{Arr, D1, D2, Rank};
use crate::elt::{Elt, Item};
use crate::error::{Error, Fault};
use crate::exp::Exp;
use crate::seq::Seq;
use deckle_ir::value::Value;
use std::marker::PhantomData;

/// An array in memory, row by row: a shape and its elements.
#[derive(Clone, Debug, PartialEq)]
pub struct Array<T, D = D1> {
    shape: Vec<usize>,
    data: Vec<T>,
    rank: PhantomData<D>,
}

impl<T, D: Rank> Array<T, D> {
    /// An array of this shape; an error if there are not as many elements, or dimensions, as it says.
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

    /// The elements, row by row.
    pub fn into_vec(self) -> Vec<T> {
        self.data
    }
}

impl<T: Clone> Array<T> {
    /// The elements of a vector.
    pub fn to_vec(&self) -> Vec<T> {
        self.data.clone()
    }
}

impl<T: Clone> Array<T, D2> {
    /// A matrix of these rows; an error if they differ in length.
    pub fn from_rows(rows: Vec<Vec<T>>) -> Result<Self, Error> {
        let cols = rows.first().map_or(0, Vec::len);
        if let Some((i, row)) = rows.iter().enumerate().find(|(_, r)| r.len() != cols) {
            let message =
                format!("row {i} has {} elements, but row 0 has {cols}: a matrix has rows of one length", row.len());
            return Err(Error::new(Fault::Argument(message), None));
        }
        Array::new(&[rows.len(), cols], rows.into_iter().flatten().collect())
    }

    /// The rows.
    pub fn to_rows(&self) -> Vec<Vec<T>> {
        match self.shape[1] {
            0 => vec![Vec::new(); self.shape[0]],
            cols => self.data.chunks(cols).map(<[T]>::to_vec).collect(),
        }
    }
}

impl<T> From<Vec<T>> for Array<T> {
    fn from(data: Vec<T>) -> Self {
        Array { shape: vec![data.len()], data, rank: PhantomData }
    }
}

impl<T: Clone> From<&[T]> for Array<T> {
    fn from(data: &[T]) -> Self {
        data.to_vec().into()
    }
}

impl<T, const N: usize> From<[T; N]> for Array<T> {
    fn from(data: [T; N]) -> Self {
        Vec::from(data).into()
    }
}

/// A handle that can be an argument or a result: what it is on the host.
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

impl<T: Item + Elt> HostItem for T {
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

impl<T: HostItem> Hosted for Arr<T> {
    type Host = Array<T::Plain>;
    fn to_value(host: Self::Host) -> Value {
        Value::array(host.data.into_iter().map(T::plain_to_value).collect())
    }
    fn from_value(value: &Value) -> Option<Self::Host> {
        let data: Option<Vec<_>> = value.items()?.iter().map(T::plain_from_value).collect();
        data.map(Array::from)
    }
}

impl<T: HostItem> Hosted for Arr<T, D2> {
    type Host = Array<T::Plain, D2>;
    fn to_value(host: Self::Host) -> Value {
        let cols = host.shape[1];
        let mut rest = host.data.into_iter().map(T::plain_to_value);
        let rows = (0..host.shape[0]).map(|_| Value::array(rest.by_ref().take(cols).collect()));
        Value::array(rows.collect())
    }
    fn from_value(value: &Value) -> Option<Self::Host> {
        let rows = value.items()?;
        let cols = rows.first().and_then(|r| r.items()).map_or(0, <[Value]>::len);
        let mut data = Vec::with_capacity(rows.len() * cols);
        for row in rows {
            let row = row.items()?;
            if row.len() != cols {
                return None;
            }
            for x in row {
                data.push(T::plain_from_value(x)?);
            }
        }
        Array::new(&[rows.len(), cols], data).ok()
    }
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
