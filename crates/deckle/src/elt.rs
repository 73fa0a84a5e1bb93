//! What can be an element: scalars, tuples of elements, and structs that derive [`Elt`].

use crate::arr::{Arr, Rank};
use crate::exp::Exp;
use crate::seq::Seq;
use crate::trace::Raw;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;

/// A value made of scalars: a number, a truth value, a tuple of elements, or a struct that derives it.
pub trait Elt: Copy + 'static {
    /// Its type in the language.
    fn ty() -> Type;
    /// As a value of the interpreter.
    fn to_value(self) -> Value;
    /// From a value of the interpreter; `None` if it has another type.
    fn from_value(v: &Value) -> Option<Self>;
}

/// A scalar type.
pub trait Scalars: Elt {
    /// Which one.
    const TYPE: ScalarType;
    /// As a scalar of the IR.
    fn scalar(self) -> Scalar;
}

/// A type that has arithmetic.
pub trait Num: Scalars {}
/// An integer type.
pub trait Int: Num {}
/// `f32` or `f64`.
pub trait Float: Num {}

macro_rules! scalars {
    ($($t:ty, $variant:ident, [$($class:ident)*];)*) => {$(
        impl Elt for $t {
            fn ty() -> Type { ScalarType::$variant.into() }
            fn to_value(self) -> Value { Scalar::$variant(self).into() }
            fn from_value(v: &Value) -> Option<Self> {
                match v.as_scalar()? { Scalar::$variant(x) => Some(x), _ => None }
            }
        }
        impl Scalars for $t {
            const TYPE: ScalarType = ScalarType::$variant;
            fn scalar(self) -> Scalar { Scalar::$variant(self) }
        }
        impl Item for $t { type Handle = Exp<$t>; fn kind() -> Type { <$t as Elt>::ty() } }
        $(impl $class for $t {})*
    )*};
}

scalars! {
    bool, Bool, [];
    i8, I8, [Num Int];
    i16, I16, [Num Int];
    i32, I32, [Num Int];
    i64, I64, [Num Int];
    u8, U8, [Num Int];
    u16, U16, [Num Int];
    u32, U32, [Num Int];
    u64, U64, [Num Int];
    f32, F32, [Num Float];
    f64, F64, [Num Float];
}

/// What a vector or sequence may hold: elements, arrays, and (sequences only) sequences.
pub trait Item: Sized + 'static {
    /// How the language speaks of one.
    type Handle: Handle<Item = Self>;
    /// Its type without sizes.
    fn kind() -> Type;
}

/// A value of a program under construction: [`Exp`], [`Arr`] or [`Seq`].
#[allow(private_interfaces)]
pub trait Handle: Copy {
    /// What it is when it is in a collection.
    type Item: Item<Handle = Self>;
    #[doc(hidden)]
    fn raw(self) -> Raw;
    #[doc(hidden)]
    fn from_raw(raw: Raw) -> Self;
}

/// What a closure may return: a handle, a tuple of expressions, or a plain Rust value.
pub trait IntoHandle {
    /// The handle that it becomes.
    type Handle: Handle;
    /// As a handle.
    fn into_handle(self) -> Self::Handle;
}

impl<T: Item<Handle = Exp<T>> + Elt> IntoHandle for Exp<T> {
    type Handle = Exp<T>;
    fn into_handle(self) -> Self {
        self
    }
}

impl<T: Item, D: Rank> IntoHandle for Arr<T, D> {
    type Handle = Self;
    fn into_handle(self) -> Self {
        self
    }
}

impl<A: Item> IntoHandle for Seq<A> {
    type Handle = Self;
    fn into_handle(self) -> Self {
        self
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),+);)*) => {$(
        impl<$($name: Elt),+> Elt for ($($name,)+) {
            fn ty() -> Type { Type::tuple(vec![$($name::ty()),+]) }
            fn to_value(self) -> Value { Value::tuple(vec![$(self.$index.to_value()),+]) }
            fn from_value(v: &Value) -> Option<Self> {
                let parts = v.parts()?;
                Some(($($name::from_value(parts.get($index)?)?,)+))
            }
        }
        impl<$($name: Elt),+> Item for ($($name,)+) {
            type Handle = Exp<($($name,)+)>;
            fn kind() -> Type { <Self as Elt>::ty() }
        }
        impl<$($name: Elt),+> IntoHandle for ($(Exp<$name>,)+) {
            type Handle = Exp<($($name,)+)>;
            fn into_handle(self) -> Self::Handle { crate::exp::pack(self) }
        }
        impl<$($name: Elt),+> crate::exp::Pack for ($(Exp<$name>,)+) {
            type Packed = ($($name,)+);
            #[track_caller]
            fn pack(self) -> Exp<Self::Packed> {
                Exp::from_raw_elt(crate::trace::apply(deckle_ir::array::Op::Tuple, &[$(self.$index.raw_elt()),+]))
            }
        }
        impl<$($name: Elt),+> crate::exp::Unpack for Exp<($($name,)+)> {
            type Parts = ($(Exp<$name>,)+);
            #[track_caller]
            fn unpack(self) -> Self::Parts {
                ($(Exp::<$name>::from_raw_elt(crate::trace::apply(deckle_ir::array::Op::Proj($index), &[self.raw_elt()])),)+)
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
