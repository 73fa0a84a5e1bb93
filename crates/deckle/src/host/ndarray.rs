//! Conversion from and to `ndarray`: a move if the elements are row-major, a copy otherwise.

use super::{Array, HostItem, lent};
use crate::arr::{Arr, D1, D2, D3};
use crate::flat::Flat;
use crate::stream::{Arg, Argument};
use deckle_runtime::{Lender, OverBudget};
use ndarray::{Array as Nd, ArrayView, Dimension, Ix1, Ix2, Ix3};
use std::marker::PhantomData;

macro_rules! ranks {
    ($($rank:ident $dim:ident;)*) => {$(
        /// Without copying if the array is in standard layout and covers all that it owns.
        impl<T: Clone> From<Nd<T, $dim>> for Array<T, $rank> {
            fn from(array: Nd<T, $dim>) -> Self {
                let shape = array.shape().to_vec();
                let data = if array.is_standard_layout() {
                    let len = array.len();
                    match array.into_raw_vec_and_offset() {
                        (data, None | Some(0)) if data.len() == len => data,
                        (data, offset) => data.into_iter().skip(offset.unwrap_or(0)).take(len).collect(),
                    }
                } else {
                    array.iter().cloned().collect()
                };
                Array { shape, data, rank: PhantomData }
            }
        }

        impl<T: Clone> From<ArrayView<'_, T, $dim>> for Array<T, $rank> {
            fn from(view: ArrayView<'_, T, $dim>) -> Self {
                Array { shape: view.shape().to_vec(), data: view.iter().cloned().collect(), rank: PhantomData }
            }
        }

        impl<T: Clone> From<&Nd<T, $dim>> for Array<T, $rank> {
            fn from(array: &Nd<T, $dim>) -> Self {
                array.view().into()
            }
        }

        /// Moved into the program, like [`Array`].
        impl<'a, T: HostItem> Argument<'a, Arr<T, $rank>> for Nd<T::Plain, $dim>
        where
            T::Plain: Clone,
        {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                Argument::<Arr<T, $rank>>::into_arg(Array::<T::Plain, $rank>::from(self), lender)
            }
        }

        /// Lent to the program if it is row-major; copied otherwise.
        impl<'a, T: HostItem> Argument<'a, Arr<T, $rank>> for ArrayView<'a, T::Plain, $dim>
        where
            T::Plain: Clone,
        {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                match self.to_slice() {
                    Some(elems) => lent(T::Flat::lend(elems, lender), self.shape()),
                    None => Argument::<Arr<T, $rank>>::into_arg(Array::<T::Plain, $rank>::from(self), lender),
                }
            }
        }

        impl<'a, T: HostItem> Argument<'a, Arr<T, $rank>> for &'a Nd<T::Plain, $dim>
        where
            T::Plain: Clone,
        {
            fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
                Argument::<Arr<T, $rank>>::into_arg(self.view(), lender)
            }
        }

        /// Without copying.
        impl<T> From<Array<T, $rank>> for Nd<T, $dim> {
            fn from(array: Array<T, $rank>) -> Self {
                let mut dim = $dim::default();
                dim.slice_mut().copy_from_slice(&array.shape);
                Nd::from_shape_vec(dim, array.data).expect("an array has as many elements as its shape says")
            }
        }
    )*};
}

ranks! {
    D1 Ix1;
    D2 Ix2;
    D3 Ix3;
}
