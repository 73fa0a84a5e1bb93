//! Values of kernels: literals, tuples, structs, arrays, and their parts.
//!
//! A struct, tuple or array is one value of the language, a tuple with a component for each field or element. Where one is put together and taken apart in view
//! the components are used directly, so arrays that are indexed with constants cost nothing.

use crate::arr::Arr;
use crate::elt::{Elt, Handle};
use crate::exp::Exp;
use crate::trace::{Raw, apply, part_of};
use deckle_ir::array::{Op, RecordShape};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use std::sync::Arc;

/// A literal, a constant, or a variant without data.
pub fn lit<T: Elt>(x: T) -> Exp<T> {
    x.lift()
}

/// The value of a variable before its first assignment: never read.
pub fn unset<T: Elt>() -> Exp<T> {
    Exp::from_raw_elt(zero(&T::ty()))
}

fn zero(ty: &Type) -> Raw {
    match ty {
        Type::Scalar(s) => apply(Op::Const(Scalar::zero(*s)), &[]),
        _ => {
            let parts: Vec<Raw> = ty.parts().unwrap_or_default().iter().map(|t| zero(t)).collect();
            compose(ty, &parts)
        }
    }
}

/// A tuple or record of this type with these components.
#[track_caller]
fn compose(ty: &Type, parts: &[Raw]) -> Raw {
    match ty {
        Type::Record(r) => {
            let fields = r.fields.iter().map(|(name, _)| name.clone()).collect();
            apply(Op::Record(Arc::new(RecordShape { name: r.name.clone(), fields })), parts)
        }
        _ => apply(Op::Tuple, parts),
    }
}

/// The component at `k`.
#[track_caller]
pub(super) fn part(whole: Raw, k: usize) -> Raw {
    part_of(whole, k).unwrap_or_else(|| apply(Op::Proj(k as u32), &[whole]))
}

/// The number of components.
pub(super) fn width(ty: &Type) -> usize {
    ty.parts().map_or(0, |parts| parts.len())
}

/// The position of a field, which has a name in a struct and a number in a tuple or array.
fn position(ty: &Type, field: &str) -> usize {
    match ty {
        Type::Record(r) => r.fields.iter().position(|(name, _)| **name == *field).unwrap_or(usize::MAX),
        _ => field.parse().unwrap_or(usize::MAX),
    }
}

/// `p.x`; `get` is for its type alone.
#[track_caller]
pub fn field<T: Elt, U: Elt>(p: Exp<T>, name: &str, _get: impl Fn(&T) -> U) -> Exp<U> {
    Exp::from_raw_elt(part(p.raw_elt(), position(&T::ty(), name)))
}

/// `p` with another field.
#[track_caller]
pub fn with_field<T: Elt, U: Elt>(p: Exp<T>, name: &str, _get: impl Fn(&T) -> U, x: Exp<U>) -> Exp<T> {
    replaced(p, position(&T::ty(), name), x.raw_elt())
}

#[track_caller]
pub(super) fn replaced<T: Elt>(p: Exp<T>, at: usize, x: Raw) -> Exp<T> {
    let ty = T::ty();
    let parts: Vec<Raw> = (0..width(&ty)).map(|k| if k == at { x } else { part(p.raw_elt(), k) }).collect();
    Exp::from_raw_elt(compose(&ty, &parts))
}

/// The fields of a struct in the order of an expression: `(Exp<A>, (Exp<B>, ()))`.
pub trait Fields {
    /// The same on the host.
    type Host;
    /// Their handles.
    #[doc(hidden)]
    #[allow(private_interfaces)]
    fn raws(self) -> Vec<Raw>;
}

#[allow(private_interfaces)]
impl Fields for () {
    type Host = ();
    fn raws(self) -> Vec<Raw> {
        Vec::new()
    }
}

#[allow(private_interfaces)]
impl<T: Elt, R: Fields> Fields for (Exp<T>, R) {
    type Host = (T, R::Host);
    fn raws(self) -> Vec<Raw> {
        std::iter::once(self.0.raw_elt()).chain(self.1.raws()).collect()
    }
}

/// `Body { pos: a, mass: b }`; `make` is for the types alone.
#[track_caller]
pub fn construct<T: Elt, F: Fields>(fields: F, names: &[&str], _make: impl Fn(F::Host) -> T) -> Exp<T> {
    assemble(fields.raws(), names, None)
}

/// `Body { mass: b, ..base }`.
#[track_caller]
pub fn update<T: Elt, F: Fields>(fields: F, names: &[&str], base: Exp<T>, _make: impl Fn(F::Host, T) -> T) -> Exp<T> {
    assemble(fields.raws(), names, Some(base.raw_elt()))
}

#[track_caller]
fn assemble<T: Elt>(fields: Vec<Raw>, names: &[&str], base: Option<Raw>) -> Exp<T> {
    let ty = T::ty();
    let at: Vec<usize> = names.iter().map(|name| position(&ty, name)).collect();
    let mut parts = Vec::new();
    for k in 0..width(&ty) {
        let given = at.iter().position(|p| *p == k).and_then(|f| fields.get(f).copied());
        parts.extend(given.or_else(|| Some(part(base?, k))));
    }
    Exp::from_raw_elt(compose(&ty, &parts))
}

/// `[a, b, c]`
#[track_caller]
pub fn array<T: Elt, const N: usize>(items: [Exp<T>; N]) -> Exp<[T; N]> {
    Exp::from_raw_elt(apply(Op::Tuple, &items.map(|x| x.raw_elt())))
}

/// `[x; N]`
#[track_caller]
pub fn filled<T: Elt, const N: usize>(x: Exp<T>) -> Exp<[T; N]> {
    Exp::from_raw_elt(apply(Op::Tuple, &[x.raw_elt(); N]))
}

macro_rules! tuples {
    ($($make:ident ($($name:ident $arg:ident),+);)*) => {$(
        /// A tuple.
        #[track_caller]
        #[allow(clippy::too_many_arguments)]
        pub fn $make<$($name: Elt),+>($($arg: Exp<$name>),+) -> Exp<($($name,)+)> {
            Exp::from_raw_elt(apply(Op::Tuple, &[$($arg.raw_elt()),+]))
        }
    )*};
}

tuples! {
    tuple2(A a, B b);
    tuple3(A a, B b, C c);
    tuple4(A a, B b, C c, D d);
    tuple5(A a, B b, C c, D d, E e);
    tuple6(A a, B b, C c, D d, E e, F f);
    tuple7(A a, B b, C c, D d, E e, F f, G g);
    tuple8(A a, B b, C c, D d, E e, F f, G g, H h);
}

/// An enum without data that derives `Elt`.
pub trait Variants: Elt {
    /// The number of its last variant.
    const LAST: u8;
    /// The number of a variant.
    fn number(self) -> u8;
    /// The variant with a number.
    fn variant(number: u8) -> Self;
}

/// A variant as a constant of the program.
pub fn variant<T: Variants>(x: T) -> Exp<T> {
    Exp::from_raw_elt(x.number().lift().raw_elt())
}

/// The variant with a number, if there is one.
pub fn variant_of<T: Variants>(number: u8) -> Option<T> {
    (number <= T::LAST).then(|| T::variant(number))
}

/// The variants with the numbers that `read` returns for indices below `n`, if all are variants.
pub fn variants<T: Variants>(read: impl Fn(usize) -> u8, n: usize) -> Option<impl Fn(usize) -> T> {
    let valid = (0..n).all(|k| read(k) <= T::LAST);
    valid.then_some(move |k: usize| T::variant(read(k)))
}

/// An argument of type `usize` or `isize`: also an `Exp<i64>`, which is how the language writes positions.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a position: the kernel takes a `{T}` here",
    label = "expected `Exp<i64>`, `Exp<{T}>` or `{T}`"
)]
pub trait Position<T> {
    /// As an expression.
    fn position(self) -> Exp<T>;
}

macro_rules! positions {
    ($($t:ident)*) => {$(
        impl Position<$t> for Exp<$t> {
            fn position(self) -> Exp<$t> {
                self
            }
        }
        impl Position<$t> for Exp<i64> {
            fn position(self) -> Exp<$t> {
                Exp::from_raw_elt(self.raw_elt())
            }
        }
        impl Position<$t> for $t {
            fn position(self) -> Exp<$t> {
                self.lift()
            }
        }
        impl Slice<$t> for Arr<i64> {
            fn slice(self) -> Arr<$t> {
                Handle::from_raw(self.raw())
            }
        }
    )*};
}

positions! { usize isize }

/// An argument of type `&[T]`: a vector of the language, or an array, which is copied into one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a slice: the kernel takes a `&[{T}]` here",
    label = "expected `Arr<{T}>`"
)]
pub trait Slice<T> {
    /// As a vector.
    fn slice(self) -> Arr<T>;
}

impl<T: Elt> Slice<T> for Arr<T> {
    fn slice(self) -> Arr<T> {
        self
    }
}

impl<T: Elt, const N: usize> Slice<T> for Exp<[T; N]> {
    fn slice(self) -> Arr<T> {
        crate::arr::array(std::array::from_fn::<_, N, _>(|k| Exp::<T>::from_raw_elt(part(self.raw_elt(), k))))
    }
}

/// `x.clone()`
pub fn clone<T: Elt>(x: Exp<T>) -> Exp<T> {
    x
}
