//! Scalars, tuples and structs of a program: [`Exp`].

use crate::elt::{Elt, Handle, Int, IntoExp, Num, Scalars};
use crate::trace::{self, Raw, apply};
use deckle_ir::array::{BinOp, Op, UnOp};
use std::marker::PhantomData;
use std::ops;

/// A scalar, tuple or struct of a program under construction.
///
/// It is `Copy`, and Rust's arithmetic operators work on it: `x * x + 1.0`. What Rust cannot overload has a method:
/// `x.lt(y)`, `x.equals(y)`, and [`crate::choose`] for `if`.
#[derive(Debug)]
pub struct Exp<T> {
    raw: Raw,
    of: PhantomData<T>,
}

impl<T> Clone for Exp<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Exp<T> {}

impl<T> Exp<T> {
    pub(crate) fn from_raw_elt(raw: Raw) -> Self {
        Exp { raw, of: PhantomData }
    }

    pub(crate) fn raw_elt(self) -> Raw {
        self.raw
    }
}

#[allow(private_interfaces)]
impl<T: Elt> Handle for Exp<T> {
    type Item = T;
    fn raw(self) -> Raw {
        self.raw
    }
    fn from_raw(raw: Raw) -> Self {
        Exp { raw, of: PhantomData }
    }
}

/// A tuple of expressions that can become an expression of a tuple.
pub trait Pack {
    /// The tuple.
    type Packed: Elt;
    /// As one expression.
    fn pack(self) -> Exp<Self::Packed>;
}

/// A tuple of a program that can become a Rust tuple of its components.
///
/// ```
/// # use deckle::prelude::*;
/// let swap = compile(|p: Exp<(i64, f64)>| {
///     let (a, b) = p.unpack();
///     (b, a)
/// })
/// .unwrap();
/// assert_eq!(swap.call((1, 0.5)).unwrap(), (0.5, 1));
/// ```
pub trait Unpack {
    /// The components.
    type Parts;
    /// Its components.
    fn unpack(self) -> Self::Parts;
}

/// A tuple of expressions as one expression.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|x: Exp<i64>| pack((x, x + 1))).unwrap();
/// assert_eq!(f.call(3).unwrap(), (3, 4));
/// ```
#[track_caller]
pub fn pack<P: Pack>(parts: P) -> Exp<P::Packed> {
    parts.pack()
}

/// A Rust value as a constant of the program.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|x: Exp<i64>| constant(5) * x).unwrap();
/// assert_eq!(f.call(2).unwrap(), 10);
/// ```
pub fn constant<T: Elt>(x: T) -> Exp<T> {
    x.lift()
}

impl<T: Elt> From<T> for Exp<T> {
    fn from(x: T) -> Exp<T> {
        x.lift()
    }
}

macro_rules! binary_operators {
    ($($trait:ident $method:ident $op:ident $class:ident;)*) => {$(
        impl<T: $class, R: IntoExp<T>> ops::$trait<R> for Exp<T> {
            type Output = Exp<T>;
            #[track_caller]
            fn $method(self, other: R) -> Exp<T> {
                Exp::from_raw_elt(apply(Op::Binary(BinOp::$op), &[self.raw, other.into_exp().raw]))
            }
        }
    )*};
}

binary_operators! {
    Add add Add Num;
    Sub sub Sub Num;
    Mul mul Mul Num;
    Div div Div Num;
    Rem rem Rem Num;
    BitAnd bitand And Bits;
    BitOr bitor Or Bits;
    BitXor bitxor Xor Bits;
    Shl shl Shl Int;
    Shr shr Shr Int;
}

/// A type with bitwise logic: integers and `bool`.
#[diagnostic::on_unimplemented(message = "`{Self}` has no logic on bits", label = "neither an integer nor `bool`")]
pub trait Bits: Scalars {}

macro_rules! mixed_operators {
    ($($t:ty: $($trait:ident $method:ident $op:ident),*;)*) => {$($(
        impl ops::$trait<Exp<$t>> for $t {
            type Output = Exp<$t>;
            #[track_caller]
            fn $method(self, other: Exp<$t>) -> Exp<$t> {
                Exp::from_raw_elt(apply(Op::Binary(BinOp::$op), &[constant(self).raw, other.raw]))
            }
        }
    )*)*};
}

mixed_operators! {
    i8: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    i16: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    i32: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    i64: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    u8: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    u16: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    u32: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    u64: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    f32: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
    f64: Add add Add, Sub sub Sub, Mul mul Mul, Div div Div, Rem rem Rem;
}

macro_rules! bits {
    ($($t:ty)*) => {$(impl Bits for $t {})*};
}
bits! { bool i8 i16 i32 i64 u8 u16 u32 u64 }

impl<T: Num> ops::Neg for Exp<T> {
    type Output = Exp<T>;
    #[track_caller]
    fn neg(self) -> Exp<T> {
        self.unary(UnOp::Neg)
    }
}

impl<T: Bits> ops::Not for Exp<T> {
    type Output = Exp<T>;
    #[track_caller]
    fn not(self) -> Exp<T> {
        self.unary(UnOp::Not)
    }
}

impl<T> Exp<T> {
    #[track_caller]
    pub(crate) fn unary<U>(self, op: UnOp) -> Exp<U> {
        Exp::from_raw_elt(apply(Op::Unary(op), &[self.raw]))
    }

    #[track_caller]
    pub(crate) fn binary<U>(self, op: BinOp, other: Exp<T>) -> Exp<U> {
        Exp::from_raw_elt(apply(Op::Binary(op), &[self.raw, other.raw]))
    }
}

impl Exp<bool> {
    /// Both, evaluating the second only if the first holds.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<i64>| x.differs(0).and(|| (10 / x).gt(1))).unwrap();
    /// assert!(!f.call(0).unwrap());
    /// ```
    #[track_caller]
    pub fn and(self, other: impl FnOnce() -> Exp<bool>) -> Exp<bool> {
        crate::control::choose(self, other, || constant(false))
    }

    /// Either, evaluating the second only if the first does not hold.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let f = compile(|x: Exp<i64>| x.equals(0).or(|| (10 / x).gt(1))).unwrap();
    /// assert!(f.call(0).unwrap());
    /// ```
    #[track_caller]
    pub fn or(self, other: impl FnOnce() -> Exp<bool>) -> Exp<bool> {
        crate::control::choose(self, || constant(true), other)
    }
}

impl<T: Elt> Exp<T> {
    /// The component at `k` of a tuple or struct, whose type must be `U`; used by `derive(Elt)` and [`Unpack`].
    #[doc(hidden)]
    #[track_caller]
    pub fn component<U: Elt>(self, k: u32) -> Exp<U> {
        Exp::from_raw_elt(apply(Op::Proj(k), &[self.raw]))
    }
}

/// A struct constructed from its fields; used by `derive(Elt)`.
#[doc(hidden)]
#[track_caller]
pub fn record<T: Elt>(name: &str, fields: &[(&str, ErasedExp)]) -> Exp<T> {
    let shape =
        deckle_ir::array::RecordShape { name: name.into(), fields: fields.iter().map(|f| f.0.into()).collect() };
    let args: Vec<Raw> = fields.iter().map(|f| f.1.0).collect();
    Exp::from_raw_elt(trace::apply(Op::Record(std::sync::Arc::new(shape)), &args))
}

/// An expression of any type.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct ErasedExp(Raw);

impl<T> From<Exp<T>> for ErasedExp {
    fn from(e: Exp<T>) -> ErasedExp {
        ErasedExp(e.raw)
    }
}
