//! Conversion from and to `ndarray`: a move where the elements lie row by row, a copy otherwise.

use super::Array;
use crate::arr::{D1, D2, D3};
use ndarray::{Array as Nd, ArrayView, Dimension, Ix1, Ix2, Ix3};
use std::marker::PhantomData;

macro_rules! ranks {
    ($($rank:ident $dim:ident;)*) => {$(
        /// Without copying if the array is in standard layout and owns no more than it shows.
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
