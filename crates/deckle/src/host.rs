//! Arrays of the host: arguments and results of programs.

use crate::arr::{Arr, D1, D2, D3, Rank};
use crate::bundle::Tup;
use crate::elt::{Elt, Item};
use crate::error::{Error, Fault};
use crate::exp::Exp;
use crate::flat::{self, Elements, Flat, Grids, Rows, shape_of, shaped};
use crate::seq::Seq;
use crate::stream::{Arg, Argument};
use deckle_engine::{Hold, Input, Kept, Settings};
use deckle_runtime::{Data, Form, Lender, Offsets, OverBudget};
use std::marker::PhantomData;
use std::sync::Arc;

/// An array in memory, row by row: a shape and its elements.
///
/// It converts from `Vec`, slices and arrays, and back to `Vec`; with the cargo feature `ndarray` also from and to `ndarray::Array`. Owned
/// row-major data is moved, everything else is copied:
///
/// | from | to | |
/// |---|---|---|
/// | `Vec<T>`, or a shape and a `Vec<T>` ([`Array::new`]) | `Array<T, D>` | moves the buffer |
/// | `Array<T, D>` | `Vec<T>`, [`into_iter`](IntoIterator::into_iter) | moves the buffer |
/// | `Array<T, D>` | `&[T]` ([`as_slice`](Array::as_slice)) | borrows |
/// | `ndarray::Array` in standard layout | `Array<T, D>` | moves the buffer, if the array covers all of it |
/// | `Array<T, D>` | `ndarray::Array` | moves the buffer |
/// | slices, `[T; N]`, references, rows ([`Array::from_rows`]) | `Array<T, D>` | copies |
/// | `ndarray::Array` in any other layout, views | `Array<T, D>` | copies, row by row |
///
/// A program is called with any of these: owned data is moved into it, may be overwritten by it, and may be returned as its result; borrowed data is lent. Neither is copied,
/// except for elements that are tuples or structs, which are split into columns, and for [`Interp`](crate::Interp), which has values of its own.
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
    /// An array of this shape, without copying; an error if the number of elements, or of dimensions, does not match.
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
    /// A matrix of these rows, copied; an error if they differ in length.
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

/// Vectors of any lengths, one after another: their elements, and the offset of each.
///
/// A program accepts it as a jagged vector `Arr<Arr<T>>`, or a sequence `Seq<Arr<T>>`, without traversing its rows. `Vec<Vec<T>>` is accepted too, and is copied into one.
///
/// ```
/// # use deckle::prelude::*;
/// let sums = compile(|rows: Arr<Arr<f64>>| rows.map(|row| row.sum()))?;
/// let rows = Ragged::new(vec![0, 2, 2, 5], vec![1.0, 2.0, 3.0, 4.0, 5.0])?;
/// assert_eq!(sums.call(&rows)?.to_vec(), [3.0, 0.0, 12.0]);
/// assert!(Ragged::new(vec![0, 3, 1], vec![1, 2, 3]).is_err());
/// # Ok::<(), deckle::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ragged<T> {
    offsets: Offsets,
    data: Vec<T>,
}

impl<T> Ragged<T> {
    /// Rows that begin at these offsets, without copying; an error if they do not begin with 0, decrease, or do not end at the number of elements.
    pub fn new(offsets: Vec<i64>, data: Vec<T>) -> Result<Self, Error> {
        let wrong = |message: String| Error::new(Fault::Argument(message), None);
        let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else {
            return Err(wrong("there are no offsets: of no rows there is one, 0".into()));
        };
        if *first != 0 || *last != data.len() as i64 {
            let message = format!(
                "offsets of {} elements begin with 0 and end with that, not with {first} and {last}",
                data.len()
            );
            return Err(wrong(message));
        }
        let offsets = Offsets::new(offsets).map_err(|e| wrong(e.to_string()))?;
        Ok(Ragged { offsets, data })
    }

    /// The number of rows.
    pub fn len(&self) -> usize {
        self.offsets().len() - 1
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A row.
    pub fn row(&self, at: usize) -> Option<&[T]> {
        let (lo, hi) = (self.offsets().get(at)?, self.offsets().get(at + 1)?);
        self.data.get(*lo as usize..*hi as usize)
    }

    /// The offsets of the rows, and the end of the last.
    pub fn offsets(&self) -> &[i64] {
        self.offsets.as_slice()
    }

    /// The elements of all rows.
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// Offsets and elements, without copying.
    pub fn into_parts(self) -> (Vec<i64>, Vec<T>) {
        (self.offsets.into_vec(), self.data)
    }
}

/// A handle, or a tuple of handles, that can be an argument or a result: its representation on the host.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument or result of a program",
    label = "has no type on the host"
)]
pub trait Hosted {
    /// The Rust type of its values.
    type Host;
    /// A result with no other owner: data in the layout of the host is not copied. `None` if it is of another type.
    #[doc(hidden)]
    fn from_data(data: Data) -> Option<Self::Host>;
}

impl<T: Elt> Hosted for Exp<T> {
    type Host = T;
    fn from_data(data: Data) -> Option<T> {
        let read = <T::Columns as flat::Columns<T>>::reader(&data)?;
        (data.len() == 1).then(|| read(0))
    }
}

/// Elements and rows: their representation on the host inside a collection.
pub trait HostItem: Item {
    /// The Rust type of one.
    type Plain;
    /// Values in flat memory.
    #[doc(hidden)]
    type Flat: Flat<Self::Plain>;
}

impl<T: Elt> HostItem for T {
    type Plain = T;
    type Flat = Elements<T>;
}

impl<T: HostItem> HostItem for Arr<T> {
    type Plain = Vec<T::Plain>;
    type Flat = Rows<T::Flat>;
}

impl<A: HostItem> HostItem for Seq<A> {
    type Plain = Vec<A::Plain>;
    type Flat = Rows<A::Flat>;
}

impl<T: HostItem> HostItem for Arr<T, D2> {
    type Plain = Array<T::Plain, D2>;
    type Flat = Grids<T::Flat, D2>;
}

impl<T: HostItem> HostItem for Arr<T, D3> {
    type Plain = Array<T::Plain, D3>;
    type Flat = Grids<T::Flat, D3>;
}

impl<T: HostItem, D: Rank> Hosted for Arr<T, D> {
    type Host = Array<T::Plain, D>;
    fn from_data(data: Data) -> Option<Self::Host> {
        let (shape, elems) = shape_of(data, D::N)?;
        Array::new(&shape, T::Flat::into_vec(elems)?).ok()
    }
}

impl<A: HostItem> Hosted for Seq<A> {
    type Host = Vec<A::Plain>;
    fn from_data(data: Data) -> Option<Self::Host> {
        A::Flat::into_vec(data.into_elements()?)
    }
}

/// A result that stays in the engine between calls, with the type of the handle `H`: [`Compiled::keep`](crate::Compiled::keep).
///
/// On a GPU it stays on the device. It is an argument for parameters of the same type, and is not copied on the same device. Borrowed, it stays; moved, its memory may be reused for the result. Only
/// [`into_host`](Resident::into_host) converts it.
///
/// ```
/// # use deckle::prelude::*;
/// let squares = compile(|xs: Arr<f64>| xs.map(|x| x * x))?;
/// let total = compile(|xs: Arr<f64>| xs.sum())?;
/// let kept = squares.keep(vec![1.0, 2.0, 3.0])?;
/// assert_eq!(total.call(&kept)?, 14.0);
/// assert_eq!(squares.keep(kept)?.into_host()?.to_vec(), [1.0, 16.0, 81.0]);
/// # Ok::<(), deckle::Error>(())
/// ```
#[derive(Debug)]
pub struct Resident<H> {
    kept: Kept,
    /// The settings for copying it from a device.
    settings: Arc<Settings>,
    of: PhantomData<fn() -> H>,
}

impl<H: Hosted> Resident<H> {
    pub(crate) fn new(kept: Kept, settings: Arc<Settings>) -> Resident<H> {
        Resident { kept, settings, of: PhantomData }
    }

    /// Its size in bytes.
    pub fn bytes(&self) -> usize {
        self.kept.bytes()
    }

    /// As a value of the host: without copying, if it has the layout of the host. From a GPU it is copied, once everything that it depends on has been computed.
    ///
    /// # Errors
    /// There is no memory for a copy from a GPU, or the GPU has been lost.
    pub fn into_host(self) -> Result<H::Host, Error> {
        let data = self.kept.fetch(&self.settings).map_err(|d| Error::new(Fault::Run(d), None))?;
        H::from_data(data).ok_or_else(crate::error::misfit)
    }
}

impl<'a, H: Hosted> Argument<'a, H> for Resident<H> {
    fn into_arg(self, _: &Lender<'a>) -> Result<Arg, OverBudget> {
        Ok(Arg::Input(Input::Kept(self.kept, Hold::Given)))
    }
}

impl<'a, H: Hosted> Argument<'a, H> for &'a Resident<H> {
    fn into_arg(self, _: &Lender<'a>) -> Result<Arg, OverBudget> {
        Ok(Arg::Input(Input::Kept(self.kept.clone(), Hold::Lent)))
    }
}

/// An argument that is given away.
fn given(data: Result<Data, OverBudget>, shape: &[usize]) -> Result<Arg, OverBudget> {
    Ok(Arg::Input(Input::Data(shaped(shape, data?))))
}

/// An argument that is lent.
fn lent(data: Result<Data, OverBudget>, shape: &[usize]) -> Result<Arg, OverBudget> {
    Ok(Arg::Input(Input::Lent(shaped(shape, data?))))
}

impl<'a, T: Elt> Argument<'a, Exp<T>> for T {
    fn into_arg(self, _: &Lender<'a>) -> Result<Arg, OverBudget> {
        given(<T::Columns as flat::Columns<T>>::one(self), &[])
    }
}

impl<'a, T: HostItem, D: Rank> Argument<'a, Arr<T, D>> for Array<T::Plain, D> {
    fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
        given(T::Flat::from_vec(self.data, lender.threads()).into_data(None), &self.shape)
    }
}

impl<'a, T: HostItem, D: Rank> Argument<'a, Arr<T, D>> for &'a Array<T::Plain, D> {
    fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
        lent(T::Flat::lend(&self.data, lender), &self.shape)
    }
}

impl<'a, T: HostItem, const N: usize, const M: usize> Argument<'a, Arr<T, D2>> for [[T::Plain; M]; N] {
    fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
        given(T::Flat::from_vec(self.into_iter().flatten().collect(), lender.threads()).into_data(None), &[N, M])
    }
}

/// Arguments for vectors and for sequences.
macro_rules! lists {
    ($($handle:ident)*) => {$(
        impl<'a, T: HostItem> Argument<'a, $handle<T>> for Vec<T::Plain> {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                let n = self.len();
                given(T::Flat::from_vec(self, lender.threads()).into_data(None), &[n])
            }
        }

        impl<'a, T: HostItem> Argument<'a, $handle<T>> for &'a [T::Plain] {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                lent(T::Flat::lend(self, lender), &[self.len()])
            }
        }

        impl<'a, T: HostItem> Argument<'a, $handle<T>> for &'a Vec<T::Plain> {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                lent(T::Flat::lend(self, lender), &[self.len()])
            }
        }

        impl<'a, T: HostItem, const N: usize> Argument<'a, $handle<T>> for [T::Plain; N] {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                given(T::Flat::from_vec(self.into(), lender.threads()).into_data(None), &[N])
            }
        }

        impl<'a, T: HostItem, const N: usize> Argument<'a, $handle<T>> for &'a [T::Plain; N] {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                lent(T::Flat::lend(self, lender), &[N])
            }
        }

        impl<'a, T: HostItem> Argument<'a, $handle<Arr<T>>> for Ragged<T::Plain> {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                let n = self.len();
                let elements = T::Flat::from_vec(self.data, lender.threads()).into_data(None)?;
                given(Ok(Data::rows_at(self.offsets, elements).expect(ENDS)), &[n])
            }
        }

        impl<'a, T: HostItem> Argument<'a, $handle<Arr<T>>> for &'a Ragged<T::Plain> {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                let elements = T::Flat::lend(&self.data, lender)?;
                lent(Ok(lender.lend_rows(&self.offsets, elements).expect(ENDS)), &[self.len()])
            }
        }
    )*};
}

const ENDS: &str = "it was checked when the rows were made that offsets end where the elements do";

lists! { Arr Seq }

macro_rules! tuples {
    ($(($($name:ident $index:tt),+);)*) => {$(
        impl<$($name: Hosted),+> Hosted for ($($name,)+) {
            type Host = ($($name::Host,)+);
            fn from_data(data: Data) -> Option<Self::Host> {
                let Form::Tuple(parts) = data.into_form() else { return None };
                let mut parts = parts.into_iter();
                Some(($($name::from_data(parts.next()?)?,)+))
            }
        }
        impl<$($name: HostItem),+> HostItem for Tup<($($name,)+)> {
            type Plain = ($($name::Plain,)+);
            type Flat = ($($name::Flat,)+);
        }
        impl<$($name: HostItem),+> Hosted for Tup<($($name,)+)> {
            type Host = ($($name::Plain,)+);
            fn from_data(data: Data) -> Option<Self::Host> {
                <<Self as HostItem>::Flat as Flat<Self::Host>>::into_vec(data)?.pop()
            }
        }
        impl<'a, $($name: HostItem),+> Argument<'a, Tup<($($name,)+)>> for ($($name::Plain,)+) {
            fn into_arg(self, _: &Lender<'a>) -> Result<Arg, OverBudget> {
                let mut flat = <Tup<($($name,)+)> as HostItem>::Flat::default();
                flat.push(&self);
                given(flat.into_data(None), &[])
            }
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

/// Tuples or structs whose components are passed separately: [`columns`].
#[derive(Debug)]
pub struct InColumns<C> {
    columns: C,
}

/// A vector or sequence of tuples or structs, passed in its flat layout: a slice or `Vec` for each component, in their order and of equal length. Nothing is converted; slices are
/// lent.
///
/// ```
/// # use deckle::prelude::*;
/// #[derive(Clone, Copy, Debug, PartialEq, Elt)]
/// struct Body {
///     mass: f64,
///     speed: f32,
/// }
/// let energy = compile(|bs: Arr<Body>| bs.map(|b| b.mass() * 0.5 * b.speed().cast::<f64>() * b.speed().cast::<f64>()).sum())?;
/// let (mass, speed) = (vec![2.0, 1.0], vec![3.0f32, 4.0]);
/// assert_eq!(energy.call(columns((&mass, &speed)))?, 17.0);
/// assert!(energy.call(columns((&mass, &speed[..1]))).is_err());
/// # Ok::<(), deckle::Error>(())
/// ```
pub fn columns<C>(columns: C) -> InColumns<C> {
    InColumns { columns }
}

/// One component of a collection of tuples or structs.
#[diagnostic::on_unimplemented(message = "`{Self}` is no column", label = "expected a slice or a `Vec` of elements")]
pub trait Column<'a> {
    #[doc(hidden)]
    fn into_column(self, lender: &Lender<'a>) -> Result<Data, OverBudget>;
}

impl<'a, T: Elt> Column<'a> for &'a [T] {
    fn into_column(self, lender: &Lender<'a>) -> Result<Data, OverBudget> {
        Elements::<T>::lend(self, lender)
    }
}

impl<'a, T: Elt> Column<'a> for &'a Vec<T> {
    fn into_column(self, lender: &Lender<'a>) -> Result<Data, OverBudget> {
        Elements::<T>::lend(self, lender)
    }
}

impl<'a, T: Elt> Column<'a> for Vec<T> {
    fn into_column(self, lender: &Lender<'a>) -> Result<Data, OverBudget> {
        Elements::<T>::from_vec(self, lender.threads()).into_data(None)
    }
}

/// Columns, combined.
fn beside(columns: Vec<Data>) -> Arg {
    let len = columns.first().map_or(0, Data::len);
    match Data::tuples(len, columns) {
        Ok(data) => Arg::Input(Input::Lent(Data::array(data))),
        Err(why) => Arg::Wrong(why.to_string()),
    }
}

macro_rules! columns {
    ($(($($name:ident $index:tt),+);)*) => {$(
        columns! { Arr ($($name $index),+) }
        columns! { Seq ($($name $index),+) }
    )*};
    ($handle:ident ($($name:ident $index:tt),+)) => {
        impl<'a, T: Elt, $($name: Column<'a>),+> Argument<'a, $handle<T>> for InColumns<($($name,)+)> {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                Ok(beside(vec![$(self.columns.$index.into_column(lender)?),+]))
            }
        }
    };
}

columns! {
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
}
