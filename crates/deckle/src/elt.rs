//! Element types: scalars, tuples and arrays of elements, and structs and enums that derive [`Elt`].

use crate::arr::{Arr, Rank};
use crate::bundle::{IntoBundle, Tup};
use crate::exp::Exp;
use crate::flat::Columns;
use crate::seq::Seq;
use crate::trace::{Raw, apply, apply_body};
use deckle_ir::array::Op;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::ops::{
    Add, AddAssign, BitAnd, BitOr, BitXor, Div, DivAssign, Mul, MulAssign, Neg, Not, Rem, RemAssign, Shl, Shr, Sub,
    SubAssign,
};

mod more;

pub(crate) use more::ArrayColumns;

/// A value that consists of scalars: a number, a truth value, a tuple or array `[T; N]` of elements, or a struct, or enum without data, that derives it.
///
/// ```
/// use deckle::prelude::*;
///
/// #[derive(Clone, Copy, Debug, PartialEq, Elt)]
/// struct Body {
///     pos: (f64, f64),
///     mass: f64,
/// }
///
/// let heavier = compile(|bs: Arr<Body>| bs.map(|b| Body::exp(b.pos(), b.mass() * 2.0)))?;
/// let out = heavier.call([Body { pos: (0.0, 1.0), mass: 3.0 }])?;
/// assert_eq!(out.to_vec(), [Body { pos: (0.0, 1.0), mass: 6.0 }]);
/// # Ok::<(), deckle::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an element of the language",
    label = "not an element",
    note = "elements are `bool`, the numbers of 8 to 64 bits, tuples of 2 to 8 elements, arrays `[T; N]`, and `Copy` structs and enums without data with `#[derive(Elt)]`"
)]
pub trait Elt: Copy + Send + Sync + 'static {
    /// Its type in the language.
    fn ty() -> Type;
    /// As a value of the interpreter.
    fn to_value(self) -> Value;
    /// From a value of the interpreter; `None` if it has another type.
    fn from_value(v: &Value) -> Option<Self>;
    /// Elements in flat memory.
    #[doc(hidden)]
    type Columns: Columns<Self>;
    #[doc(hidden)]
    fn lift(self) -> Exp<Self>;
}

/// A scalar type.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a scalar of the language", label = "not a scalar")]
pub trait Scalars: Elt {
    /// The scalar type.
    const TYPE: ScalarType;
    /// Whether it is `usize`, whose values are positions: the language stores them as `i64`.
    #[doc(hidden)]
    const POSITION: bool = false;
    /// As a scalar of the IR.
    fn scalar(self) -> Scalar;
}

/// A type with arithmetic.
#[diagnostic::on_unimplemented(message = "`{Self}` has no arithmetic", label = "not a number")]
pub trait Num:
    Scalars
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Rem<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
    + RemAssign
{
}
/// An integer type.
#[diagnostic::on_unimplemented(message = "`{Self}` is not an integer type", label = "not an integer")]
pub trait Int:
    Num
    + Eq
    + Ord
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
}
/// `f32` or `f64`, with their mathematics: for functions that are generic over both.
#[diagnostic::on_unimplemented(message = "`{Self}` is neither `f32` nor `f64`", label = "not a float")]
#[allow(missing_docs)] // The methods are those of `f32` and `f64`.
pub trait Float: Num + Neg<Output = Self> {
    fn sqrt(self) -> Self;
    fn cbrt(self) -> Self;
    fn exp(self) -> Self;
    fn exp2(self) -> Self;
    fn ln(self) -> Self;
    fn log2(self) -> Self;
    fn log10(self) -> Self;
    fn sin(self) -> Self;
    fn cos(self) -> Self;
    fn tan(self) -> Self;
    fn tanh(self) -> Self;
    fn floor(self) -> Self;
    fn ceil(self) -> Self;
    fn round(self) -> Self;
    fn trunc(self) -> Self;
    fn abs(self) -> Self;
    fn min(self, other: Self) -> Self;
    fn max(self, other: Self) -> Self;
    fn powf(self, power: Self) -> Self;
    fn powi(self, power: i32) -> Self;
    fn atan2(self, x: Self) -> Self;
    fn hypot(self, y: Self) -> Self;
    fn mul_add(self, y: Self, z: Self) -> Self;
    fn clamp(self, lo: Self, hi: Self) -> Self;
    fn is_nan(self) -> bool;
}

macro_rules! floats {
    ($t:ident $($method:ident($($arg:ident: $ty:ty),*) $result:ty;)*) => {
        impl Float for $t {
            $(fn $method(self, $($arg: $ty),*) -> $result { $t::$method(self, $($arg),*) })*
        }
    };
}

macro_rules! both_floats {
    ($($methods:tt)*) => {
        floats! { f32 $($methods)* }
        floats! { f64 $($methods)* }
    };
}

both_floats! {
    sqrt() Self; cbrt() Self; exp() Self; exp2() Self; ln() Self; log2() Self; log10() Self; sin() Self; cos() Self;
    tan() Self; tanh() Self; floor() Self; ceil() Self; round() Self; trunc() Self; abs() Self;
    min(x: Self) Self; max(x: Self) Self; powf(x: Self) Self; powi(n: i32) Self; atan2(x: Self) Self;
    hypot(x: Self) Self; mul_add(x: Self, y: Self) Self; clamp(x: Self, y: Self) Self; is_nan() bool;
}

macro_rules! scalars {
    ($($t:ty, $variant:ident, [$($class:ident)*];)*) => {$(
        impl Elt for $t {
            fn ty() -> Type { ScalarType::$variant.into() }
            fn to_value(self) -> Value { Scalar::$variant(self).into() }
            fn from_value(v: &Value) -> Option<Self> {
                match v.as_scalar()? { Scalar::$variant(x) => Some(x), _ => None }
            }
            type Columns = Vec<$t>;
            fn lift(self) -> Exp<$t> { Exp::from_raw_elt(apply(Op::Const(Scalar::$variant(self)), &[])) }
        }
        impl Scalars for $t {
            const TYPE: ScalarType = ScalarType::$variant;
            fn scalar(self) -> Scalar { Scalar::$variant(self) }
        }
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
    f32, F32, [Num];
    f64, F64, [Num];
}

/// The possible elements of a vector or sequence: elements, arrays, tuples of them ([`Tup`]), and (sequences only) sequences.
#[diagnostic::on_unimplemented(
    message = "no array or sequence of a program can hold `{Self}`",
    label = "neither an element, nor an array, nor a sequence",
    note = "elements are `bool`, the numbers of 8 to 64 bits, tuples of 2 to 8 elements, arrays `[T; N]`, and `Copy` structs and enums without data with `#[derive(Elt)]`"
)]
pub trait Item: Sized + 'static {
    /// The handle of an element in the language.
    type Handle: Handle<Item = Self>;
    /// Its type without sizes.
    fn kind() -> Type;
    /// The number of its outer regular dimensions.
    #[doc(hidden)]
    const RANK: usize = 0;
}

impl<T: Elt> Item for T {
    type Handle = Exp<T>;
    fn kind() -> Type {
        T::ty()
    }
}

/// A value of a program under construction: [`Exp`], [`Arr`], [`Seq`] or [`Tup`].
#[allow(private_interfaces)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a value of a program",
    label = "expected `Exp<_>`, `Arr<_>`, `Arr<_, D2>`, `Seq<_>` or `Tup<_>`"
)]
pub trait Handle: Copy {
    /// Its type as an element of a collection.
    type Item: Item<Handle = Self>;
    #[doc(hidden)]
    fn raw(self) -> Raw;
    #[doc(hidden)]
    fn from_raw(raw: Raw) -> Self;
}

/// A result of a closure that returns elements: a handle, a tuple of expressions, or a plain Rust value.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a program's array or sequence",
    label = "expected a handle, a tuple of expressions, or a scalar",
    note = "a tuple that holds arrays is made with `tup((a, b))`"
)]
pub trait IntoHandle {
    /// Its handle.
    type Handle: Handle;
    /// As a handle.
    fn into_handle(self) -> Self::Handle;
}

/// A sequential fold or scan of a collection, from an initial state.
#[track_caller]
pub(crate) fn in_order<S: IntoHandle, A: Item, R: IntoHandle<Handle = S::Handle>>(
    op: Op,
    start: S,
    elements: Raw,
    f: impl FnOnce(S::Handle, A::Handle) -> R,
) -> Raw {
    let start = start.into_handle().raw();
    apply_body(op, &[start, elements], |x| f(S::Handle::from_raw(x[0]), A::Handle::from_raw(x[1])).into_handle().raw())
}

/// A value that can be used as an expression of `T`: `Exp<T>`, a plain `T`, and for tuples a tuple of such.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an expression of `{T}`",
    label = "expected `Exp<{T}>` or `{T}`",
    note = "numbers are never converted silently: say `x.cast::<{T}>()`"
)]
pub trait IntoExp<T> {
    /// As an expression.
    fn into_exp(self) -> Exp<T>;
}

impl<T: Elt> IntoExp<T> for Exp<T> {
    fn into_exp(self) -> Exp<T> {
        self
    }
}

impl<T: Scalars> IntoExp<T> for T {
    fn into_exp(self) -> Exp<T> {
        self.lift()
    }
}

impl<T: Elt> IntoHandle for Exp<T> {
    type Handle = Exp<T>;
    fn into_handle(self) -> Self {
        self
    }
}

impl<T: Scalars> IntoHandle for T {
    type Handle = Exp<T>;
    fn into_handle(self) -> Exp<T> {
        self.lift()
    }
}

impl<T: Scalars> IntoBundle for T {
    type Bundle = Exp<T>;
    fn into_bundle(self) -> Exp<T> {
        self.lift()
    }
}

macro_rules! themselves {
    ($(($($bound:tt)*) $t:ty;)*) => {$(
        impl<$($bound)*> IntoHandle for $t where $t: Handle {
            type Handle = Self;
            fn into_handle(self) -> Self { self }
        }
    )*};
}

themselves! {
    (T: Item, D: Rank) Arr<T, D>;
    (A: Item) Seq<A>;
    (P) Tup<P>;
}

macro_rules! tuples {
    ($(($($name:ident $part:ident $index:tt),+);)*) => {$(
        impl<$($name: Elt),+> Elt for ($($name,)+) {
            fn ty() -> Type { Type::tuple(vec![$($name::ty()),+]) }
            fn to_value(self) -> Value { Value::tuple(vec![$(self.$index.to_value()),+]) }
            fn from_value(v: &Value) -> Option<Self> {
                let parts = v.parts()?;
                Some(($($name::from_value(parts.get($index)?)?,)+))
            }
            type Columns = ($($name::Columns,)+);
            fn lift(self) -> Exp<Self> {
                Exp::from_raw_elt(apply(Op::Tuple, &[$(self.$index.lift().raw_elt()),+]))
            }
        }
        impl<$($name: Elt, $part: IntoExp<$name>),+> IntoExp<($($name,)+)> for ($($part,)+) {
            #[track_caller]
            fn into_exp(self) -> Exp<($($name,)+)> {
                Exp::from_raw_elt(apply(Op::Tuple, &[$(self.$index.into_exp().raw_elt()),+]))
            }
        }
        impl<$($name: Elt, $part: IntoHandle<Handle = Exp<$name>>),+> IntoHandle for ($($part,)+) {
            type Handle = Exp<($($name,)+)>;
            #[track_caller]
            fn into_handle(self) -> Self::Handle {
                Exp::from_raw_elt(apply(Op::Tuple, &[$(self.$index.into_handle().raw_elt()),+]))
            }
        }
        impl<$($name: Elt),+> From<($(Exp<$name>,)+)> for Exp<($($name,)+)> {
            #[track_caller]
            fn from(parts: ($(Exp<$name>,)+)) -> Self { parts.into_exp() }
        }
        impl<$($name: Elt, $part: IntoHandle<Handle = Exp<$name>>),+> crate::exp::Pack for ($($part,)+) {
            type Packed = ($($name,)+);
            #[track_caller]
            fn pack(self) -> Exp<Self::Packed> { self.into_handle() }
        }
        impl<$($name: Elt),+> crate::exp::Unpack for Exp<($($name,)+)> {
            type Parts = ($(Exp<$name>,)+);
            #[track_caller]
            fn unpack(self) -> Self::Parts {
                ($(Exp::<$name>::from_raw_elt(apply(Op::Proj($index), &[self.raw_elt()])),)+)
            }
        }
    )*};
}

tuples! {
    (A P 0, B Q 1);
    (A P 0, B Q 1, C R 2);
    (A P 0, B Q 1, C R 2, D S 3);
    (A P 0, B Q 1, C R 2, D S 3, E T 4);
    (A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5);
    (A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6);
    (A P 0, B Q 1, C R 2, D S 3, E T 4, F U 5, G V 6, H W 7);
}
