//! Several values at once: the state of loops, the results of conditionals and whole programs, and tuples inside collections.
//!
//! A Rust tuple of handles is a [`Bundle`]. Inside a vector or sequence, where one handle must stand for one
//! element, a tuple of scalars is an `Exp` of a tuple, and a tuple that holds arrays or sequences is a [`Tup`].

use crate::arr::{Arr, Rank};
use crate::elt::{Elt, Handle, IntoExp, IntoHandle, Item};
use crate::exp::{Exp, Unpack};
use crate::seq::Seq;
use crate::trace::{Raw, apply};
use deckle_ir::array::Op;
use deckle_ir::types::Type;
use std::marker::PhantomData;

/// A handle, or a tuple of bundles.
#[allow(private_interfaces)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a value of a program nor a tuple of such",
    label = "expected handles: `Exp<_>`, `Arr<_>`, `Seq<_>`, or a tuple of them"
)]
pub trait Bundle: Copy {
    #[doc(hidden)]
    fn bundle_raw(self) -> Raw;
    #[doc(hidden)]
    fn unbundle(raw: Raw) -> Self;
}

#[allow(private_interfaces)]
impl<H: Handle> Bundle for H {
    fn bundle_raw(self) -> Raw {
        self.raw()
    }
    fn unbundle(raw: Raw) -> H {
        H::from_raw(raw)
    }
}

/// A result, a branch, or the state of a loop: a handle, a plain scalar, or a tuple of these.
#[diagnostic::on_unimplemented(
    message = "a program, branch or loop cannot have the result `{Self}`",
    label = "expected a handle, a scalar, or a tuple of these"
)]
pub trait IntoBundle {
    /// Its bundle.
    type Bundle: Bundle;
    /// As a bundle.
    fn into_bundle(self) -> Self::Bundle;
}

/// A value that can be used as the bundle `S`: the second branch of a conditional, the next state of a loop.
#[diagnostic::on_unimplemented(
    message = "expected `{S}`, found `{Self}`",
    label = "is not, and does not become, `{S}`",
    note = "both branches of `choose` have one type, and the step of a loop gives what it takes"
)]
pub trait Becomes<S> {
    /// As that bundle.
    fn becomes(self) -> S;
}

impl<T: Elt, X: IntoExp<T>> Becomes<Exp<T>> for X {
    fn becomes(self) -> Exp<T> {
        self.into_exp()
    }
}

macro_rules! themselves {
    ($(($($bound:tt)*) $t:ty;)*) => {$(
        impl<$($bound)*> IntoBundle for $t where $t: Handle {
            type Bundle = Self;
            fn into_bundle(self) -> Self { self }
        }
    )*};
}

themselves! {
    (T: Elt) Exp<T>;
    (T: Item, D: Rank) Arr<T, D>;
    (A: Item) Seq<A>;
    (P) Tup<P>;
}

macro_rules! become_themselves {
    ($(($($bound:tt)*) $t:ty;)*) => {$(
        impl<$($bound)*> Becomes<$t> for $t {
            fn becomes(self) -> Self { self }
        }
    )*};
}

become_themselves! {
    (T: Item, D: Rank) Arr<T, D>;
    (A: Item) Seq<A>;
    (P) Tup<P>;
}

/// A tuple as one element of a collection, if not all components are scalars: `Arr<Tup<(i64, Arr<f64>)>>`.
///
/// [`tup`] creates one; [`Unpack::unpack`] returns its components.
#[derive(Debug)]
pub struct Tup<P> {
    raw: Raw,
    of: PhantomData<P>,
}

impl<P> Clone for Tup<P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Tup<P> {}

#[allow(private_interfaces)]
impl<P> Handle for Tup<P>
where
    Tup<P>: Item<Handle = Tup<P>>,
{
    type Item = Tup<P>;
    fn raw(self) -> Raw {
        self.raw
    }
    fn from_raw(raw: Raw) -> Self {
        Tup { raw, of: PhantomData }
    }
}

/// A Rust tuple of handles that can become one handle.
pub trait Tupled {
    /// The element type.
    type Items;
    /// As one handle.
    fn tupled(self) -> Tup<Self::Items>;
}

/// A tuple of handles of any kind as one handle.
///
/// ```
/// # use deckle::prelude::*;
/// let f = compile(|xss: Arr<Arr<i64>>| xss.map(|row| tup((row.len(), row.rev())))).unwrap();
/// assert_eq!(f.call(vec![vec![1, 2], vec![]]).unwrap().to_vec(), [(2, vec![2, 1]), (0, vec![])]);
/// ```
#[track_caller]
pub fn tup<P: Tupled>(parts: P) -> Tup<P::Items> {
    parts.tupled()
}

macro_rules! tuples {
    ($(($($name:ident $part:ident $index:tt),+);)*) => {$(
        impl<$($name, $part: Becomes<$name>),+> Becomes<($($name,)+)> for ($($part,)+) {
            fn becomes(self) -> ($($name,)+) { ($(self.$index.becomes(),)+) }
        }
        #[allow(private_interfaces)]
        impl<$($name: Bundle),+> Bundle for ($($name,)+) {
            #[track_caller]
            fn bundle_raw(self) -> Raw { apply(Op::Tuple, &[$(self.$index.bundle_raw()),+]) }
            #[track_caller]
            fn unbundle(raw: Raw) -> Self { ($($name::unbundle(apply(Op::Proj($index), &[raw])),)+) }
        }
        impl<$($name: IntoBundle),+> IntoBundle for ($($name,)+) {
            type Bundle = ($($name::Bundle,)+);
            fn into_bundle(self) -> Self::Bundle { ($(self.$index.into_bundle(),)+) }
        }
        impl<$($name: Item),+> Item for Tup<($($name,)+)> {
            type Handle = Self;
            fn kind() -> Type { Type::tuple(vec![$($name::kind()),+]) }
        }
        impl<$($name: IntoHandle),+> Tupled for ($($name,)+) {
            type Items = ($(<$name::Handle as Handle>::Item,)+);
            #[track_caller]
            fn tupled(self) -> Tup<Self::Items> {
                Tup { raw: apply(Op::Tuple, &[$(self.$index.into_handle().raw()),+]), of: PhantomData }
            }
        }
        impl<$($name: Item),+> Unpack for Tup<($($name,)+)> {
            type Parts = ($($name::Handle,)+);
            #[track_caller]
            fn unpack(self) -> Self::Parts {
                ($($name::Handle::from_raw(apply(Op::Proj($index), &[self.raw])),)+)
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
