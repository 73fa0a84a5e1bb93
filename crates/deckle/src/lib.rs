//! **Deckle** is a data-parallel language for ragged data. This crate is the language embedded in Rust.
//!
//! ```
//! use deckle::prelude::*;
//!
//! // A sparse matrix times a dense vector: rows of any length, one after another.
//! let spmv = compile(|off: Arr<i64>, col: Arr<i64>, val: Arr<f64>, x: Arr<f64>| {
//!     col.zip(val).split_offsets(off).stream().map(|row| {
//!         row.stream()
//!             .map(|entry| {
//!                 let (j, v) = entry.unpack();
//!                 v * x.at(j)
//!             })
//!             .sum()
//!     })
//!     .tab()
//! })?;
//! let y = spmv.call([0, 1, 1, 3], [0, 1, 2], [7.0, 2.0, 3.0], [1.0, 10.0, 100.0])?;
//! assert_eq!(y.to_vec(), [7.0, 0.0, 320.0]);
//! # Ok::<(), deckle::Error>(())
//! ```
//!
//! # Four ideas
//!
//! **A size is an expression.** Every dimension of every array carries a symbolic size, which may be read from data: the rows of the matrix
//! above have the type `[i -> [(i64, f64); off[i+1] - off[i]]; n]`. From sizes alone follows what is regular and what is
//! ragged, what needs a check, and what a program costs.
//!
//! **A space is what a loop runs over**: the rows of a sparse matrix, a chunk of a stream, the groups of a group-by are one thing, a tree of dense and ragged
//! dimensions.
//!
//! **A kernel is a space and its sinks.** Everything that happens at the points of one space is one loop; fusion is putting programs
//! into it.
//!
//! **A stream is kernels over time.** A [`Seq`] is never all in memory. Only [`Seq::tab`] makes it an [`Arr`].
//!
//! This version runs programs on the reference interpreter ([`Interp`]), which defines what they mean.
//!
//! # Reading and writing programs
//!
//! [`Exp`], [`Arr`] and [`Seq`] are `Copy` handles. Arithmetic is Rust's own. What Rust cannot overload has a name, the same everywhere:
//! `x.lt(y)`, `x.equals(y)`, [`choose`] for `if`, [`select`] where both sides are cheap, [`repeat`] and [`loop_while`] for loops. What only a
//! run can find out (an index out of range, unequal lengths) is an [`Error`] with the place in your Rust source, never a panic.

mod arr;
mod bundle;
mod compile;
mod control;
mod elt;
mod error;
mod exp;
mod host;
mod maths;
mod seq;
mod trace;

pub use arr::{
    Above, Arr, Below, D1, D2, D3, Edge, Extent, Rank, array, constant_array, fill, generate, generate2, generate3,
    iota, range, range_by, range_inclusive,
};
pub use bundle::{Becomes, Bundle, IntoBundle, Tup, Tupled, tup};
pub use compile::{Backend, Builds, Compiled, Interp, compile};
pub use control::{choose, loop_while, repeat, select};
pub use deckle_macros::Elt;
pub use elt::{Elt, Float, Handle, Int, IntoExp, IntoHandle, Item, Num, Scalars};
pub use error::{Error, Fault};
pub use exp::{Bits, Exp, Pack, Unpack, constant, pack};
pub use host::{Array, HostItem, Hosted};
pub use seq::{Seq, count, count_to, only_if, produce, sequence};

/// Everything that programs use: `use deckle::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Above, Arr, Array, Below, Compiled, D1, D2, D3, Edge, Elt, Error, Exp, Fault, Float, Int, Interp, Num, Pack,
        Rank, Seq, Tup, Unpack, array, choose, compile, constant, constant_array, count, count_to, fill, generate,
        generate2, generate3, iota, loop_while, only_if, pack, produce, range, range_by, range_inclusive, repeat,
        select, sequence, tup,
    };
}

/// What `derive(Elt)` is made of.
#[doc(hidden)]
pub mod __private {
    pub use crate::exp::{ErasedExp, record};
    pub use deckle_ir::types::Type;
    pub use deckle_ir::value::Value;

    /// The type of a struct.
    pub fn record_type(name: &str, fields: &[(&str, Type)]) -> Type {
        let fields = fields.iter().map(|(n, t)| (n.to_string(), t.clone())).collect();
        Type::Record(std::sync::Arc::new(deckle_ir::types::RecordType { name: name.into(), fields }))
    }
}
