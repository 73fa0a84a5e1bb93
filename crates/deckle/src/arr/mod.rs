//! Arrays of a program: [`Arr`].
//!
//! `Arr<T>` is a vector; `Arr<T, D2>` a regular matrix; `Arr<Arr<T>>` a vector of vectors of any lengths. The rank is in the type,
//! so passing a matrix for a vector is an error of the Rust compiler. Most operators work at every rank: `map` on all
//! elements, `fold` and `scan` along the innermost axis, `take`, `slice` and `rev` along the outermost.

mod construct;
mod elementwise;
mod folding;
mod moving;
mod rank;
mod scanning;
mod shape;
mod stencil;

pub use construct::{
    array, constant_array, fill, generate, generate2, generate3, iota, range, range_by, range_inclusive,
};
pub use rank::{Above, Below, D1, D2, D3, Extent, Rank};
pub use stencil::Edge;

use crate::elt::{Handle, IntoHandle, Item};
use crate::trace::Raw;
use deckle_ir::size::Size;
use deckle_ir::types::Type;
use std::marker::PhantomData;

/// An array of a program under construction.
#[derive(Debug)]
pub struct Arr<T, D = D1> {
    raw: Raw,
    of: PhantomData<(T, D)>,
}

impl<T, D> Clone for Arr<T, D> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, D> Copy for Arr<T, D> {}

impl<T: Item, D: Rank> Item for Arr<T, D> {
    type Handle = Arr<T, D>;
    const RANK: usize = D::N;
    fn kind() -> Type {
        (0..D::N).fold(T::kind(), |t, _| Type::array(Size::constant(0), t))
    }
}

#[allow(private_interfaces)]
impl<T: Item, D: Rank> Handle for Arr<T, D> {
    type Item = Arr<T, D>;
    fn raw(self) -> Raw {
        self.raw
    }
    fn from_raw(raw: Raw) -> Self {
        wrap(raw)
    }
}

/// The result of a closure, in a collection.
pub(crate) type Made<R> = <<R as IntoHandle>::Handle as Handle>::Item;

fn wrap<T, D>(raw: Raw) -> Arr<T, D> {
    Arr { raw, of: PhantomData }
}
