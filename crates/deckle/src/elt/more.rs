//! Elements of kernels: `usize` and `isize`, which are `i64` in the language, and arrays `[T; N]`, which are tuples.
//!
//! ```
//! use deckle::prelude::*;
//!
//! let last = compile(|rows: Arr<[f32; 2]>, i: Exp<usize>| rows.at(i.cast::<i64>()))?;
//! assert_eq!(last.call([[1.0, 2.0], [3.0, 4.0]], 1usize)?, [3.0, 4.0]);
//! # Ok::<(), deckle::Error>(())
//! ```

use super::{Elt, Int, IntoExp, IntoHandle, Num, Scalars};
use crate::bundle::IntoBundle;
use crate::exp::{Bits, Exp};
use crate::trace::apply;
use deckle_ir::array::Op;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;

macro_rules! positions {
    ($($t:ty, $is:literal;)*) => {$(
        impl Elt for $t {
            fn ty() -> Type { ScalarType::I64.into() }
            fn to_value(self) -> Value { Scalar::I64(self as i64).into() }
            fn from_value(v: &Value) -> Option<Self> {
                match v.as_scalar()? { Scalar::I64(x) => Some(x as $t), _ => None }
            }
            type Columns = Vec<i64>;
            fn lift(self) -> Exp<$t> { Exp::from_raw_elt(apply(Op::Const(Scalar::I64(self as i64)), &[])) }
        }
        impl Scalars for $t {
            const TYPE: ScalarType = ScalarType::I64;
            const POSITION: bool = $is;
            fn scalar(self) -> Scalar { Scalar::I64(self as i64) }
        }
        impl Num for $t {}
        impl Int for $t {}
        impl Bits for $t {}
    )*};
}

positions! {
    usize, true;
    isize, false;
}

impl<T: Elt, const N: usize> Elt for [T; N] {
    fn ty() -> Type {
        Type::tuple(vec![T::ty(); N])
    }
    fn to_value(self) -> Value {
        Value::tuple(self.map(Elt::to_value).to_vec())
    }
    fn from_value(v: &Value) -> Option<Self> {
        let parts: Option<Vec<T>> = v.parts()?.iter().map(T::from_value).collect();
        parts?.try_into().ok()
    }
    type Columns = ArrayColumns<T, N>;
    fn lift(self) -> Exp<Self> {
        Exp::from_raw_elt(apply(Op::Tuple, &self.map(|x| x.lift().raw_elt())))
    }
}

impl<T: Elt, const N: usize> IntoExp<[T; N]> for [T; N] {
    fn into_exp(self) -> Exp<[T; N]> {
        self.lift()
    }
}

impl<T: Elt, const N: usize> IntoHandle for [T; N] {
    type Handle = Exp<[T; N]>;
    fn into_handle(self) -> Exp<[T; N]> {
        self.lift()
    }
}

impl<T: Elt, const N: usize> IntoBundle for [T; N] {
    type Bundle = Exp<[T; N]>;
    fn into_bundle(self) -> Exp<[T; N]> {
        self.lift()
    }
}

/// The columns of arrays: those of each position.
#[derive(Debug)]
pub struct ArrayColumns<T: Elt, const N: usize>(pub(crate) [T::Columns; N]);

impl<T: Elt, const N: usize> Default for ArrayColumns<T, N> {
    fn default() -> Self {
        ArrayColumns(std::array::from_fn(|_| <T::Columns as Default>::default()))
    }
}

/// Its number of elements is that of its first column, so an array has one.
pub(crate) const fn has_elements(n: usize) {
    assert!(n > 0, "an array without elements is not an element of the language");
}

impl<T: Elt, const N: usize> ArrayColumns<T, N> {
    pub(crate) fn each<'a>(&'a mut self) -> impl Iterator<Item = &'a mut T::Columns> + use<'a, T, N> {
        const { has_elements(N) };
        self.0.iter_mut()
    }

    pub(crate) fn of(mut make: impl FnMut() -> T::Columns) -> Self {
        ArrayColumns(std::array::from_fn(|_| make()))
    }
}
