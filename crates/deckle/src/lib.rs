//! **Deckle** is a data-parallel language for ragged data. This crate is the language embedded in Rust.
//!
//! A program is a Rust closure over *handles*. [`compile`] runs the closure once, and the operators it applies to the handles are the program. The
//! result is called with ordinary Rust values, any number of times.
//!
//! ```
//! use deckle::prelude::*;
//!
//! let dot = compile(|xs: Arr<f64>, ys: Arr<f64>| xs.zip_with(ys, |x, y| x * y).sum())?;
//! assert_eq!(dot.call([1.0, 2.0], [3.0, 4.0])?, 11.0);
//! # Ok::<(), deckle::Error>(())
//! ```
//!
//! # A worked example
//!
//! A sparse matrix in the format CSR: the columns and values of all rows one after another, and the offsets at which the rows begin. Rows
//! have any lengths; `split_offsets` declares them, and from there on a row is a vector like any other.
//!
//! ```
//! use deckle::prelude::*;
//!
//! #[derive(Clone, Copy, Elt)]
//! struct Entry {
//!     col: i64,
//!     val: f64,
//! }
//!
//! // An ordinary Rust function is a function of the language.
//! fn times(row: Arr<Entry>, x: Arr<f64>) -> Exp<f64> {
//!     row.map(|e| e.val() * x.at(e.col())).sum()
//! }
//!
//! let power = compile(|off: Arr<i64>, entries: Arr<Entry>, x: Arr<f64>, steps: Exp<i64>| {
//!     let matrix = entries.split_offsets(off);
//!     repeat(steps, x, |_, x| {
//!         let y = matrix.map(|row| times(row, x));
//!         let norm = y.map(|v| v * v).sum().sqrt();
//!         y.map(|v| v / norm)
//!     })
//! })?;
//! let entries = [(0, 2.0), (1, 1.0), (1, 1.0)].map(|(col, val)| Entry { col, val });
//! let x = power.call([0, 2, 3], entries, [1.0, 1.0], 50)?;
//! assert!((x.as_slice()[0] - 1.0).abs() < 1e-9);
//!
//! // A column that is not there is an error with the place in this file, not a panic.
//! let outside = Entry { col: 7, val: 1.0 };
//! assert!(power.call([0, 1], [outside], [1.0], 1).is_err());
//! # Ok::<(), deckle::Error>(())
//! ```
//!
//! # Four ideas
//!
//! **A size is an expression.** Every dimension of every array carries a symbolic size, which may be read from data: the matrix
//! above has the type `[i -> [Entry; off[i+1] - off[i]]; n]`. Sizes alone determine what is regular and what is
//! ragged, which checks are needed, and the cost of a program. [`Compiled::program`] shows them.
//!
//! **A space is what a loop iterates over**: the rows of a sparse matrix, a chunk of a stream, the groups of a group-by are all the same, a tree
//! of dense and ragged dimensions. So ragged data needs no second set of operators: a `map` in a `map` is sufficient.
//!
//! **A kernel is a space and its sinks.** All computations at the points of one space share one loop; fusion merges programs
//! into it. Write small steps: they are free.
//!
//! **A stream is kernels over time.** A [`Seq`](struct@Seq) is never entirely in memory, and [`Seq`](struct@Seq)s nest. Only [`Seq::tab`] turns one into an [`Arr`].
//!
//! ```
//! # use deckle::prelude::*;
//! // The sum of the logarithms of all numbers up to n, in constant space.
//! let logsum = compile(|n: Exp<i64>| count(1, n + 1).map(|i| i.cast::<f64>().ln()).sum())?;
//! assert!((logsum.call(5)? - 120f64.ln()).abs() < 1e-12);
//! # Ok::<(), deckle::Error>(())
//! ```
//!
//! Elements of a sequence come from any iterator while the program runs ([`feed`]), and a result that is a sequence is an iterator ([`Compiled`]'s `stream`):
//!
//! ```
//! # use deckle::prelude::*;
//! let logs = compile(|xs: Seq<f64>| xs.map(|x| x.ln()))?;
//! for y in logs.stream(feed((1..).map(f64::from))).take(3) {
//!     println!("{}", y?);
//! }
//! # Ok::<(), deckle::Error>(())
//! ```
//!
//! # Rust functions
//!
//! [`#[kernel]`](macro@kernel) above an ordinary Rust function makes it a function of the language: `f` is still the function, and `f::kernel` its twin, for any operator. So
//! code that exists, with its branches, loops and early returns, need not be rewritten:
//!
//! ```
//! # use deckle::prelude::*;
//! #[kernel]
//! fn root(x: f64) -> f64 {
//!     let mut guess = x;
//!     for _ in 0..20 {
//!         guess = (guess + x / guess) / 2.0;
//!     }
//!     guess
//! }
//!
//! let roots = compile(|xs: Arr<f64>| xs.map(root::kernel))?;
//! assert_eq!(roots.call([2.0, 9.0])?.to_vec(), [root(2.0), 3.0]);
//! # Ok::<(), deckle::Error>(())
//! ```
//!
//! # Backends
//!
//! [`Compiled::on`] selects the backend; the program stays the same. Native code needs an LLVM, which is located at first use, for example in
//! the Rust toolchain; without one the interpreter runs the program and reports it. Compiled code is cached for the next call, and
//! on disk for the next process.
//!
//! | backend | |
//! |---|---|
//! | [`Cpu`], [`Cpu::threads`] | native code on all cores, the default, or on a number of threads: the same bits as on one |
//! | [`Seq`](const@Seq) | native code on one core |
//! | [`Gpu`](const@Gpu), with a [`device`](OneGpu::device) and a budget of [`memory`](OneGpu::memory) | a GPU of NVIDIA, which requires only the driver; resident results stay there |
//! | [`Interp`] | the reference interpreter, which defines the meaning of programs: slow, and checked |
//!
//! ```
//! # use deckle::prelude::*;
//! let dot = compile(|xs: Arr<f32>, ys: Arr<f32>| xs.zip_with(ys, |x, y| x * y).sum())?;
//! assert_eq!(dot.on(Cpu).call([1.0, 2.0], [3.0, 4.0])?, dot.on(Interp).call([1.0, 2.0], [3.0, 4.0])?);
//! # Ok::<(), deckle::Error>(())
//! ```
//!
//! [`compute`] compiles and calls in one, where a program is needed once: `compute((&xs, &ys), dot).on(Gpu)`.
//!
//! # What a call costs
//!
//! Arguments are lent or given away. Those with scalar elements are passed without touching the elements:
//!
//! | argument | |
//! |---|---|
//! | `&[T]`, `&Vec<T>`, `&Array<T, D>`, ndarray views in standard layout | lent until the call returns |
//! | `Vec<T>`, `Array<T, D>` | given away: the result may be computed in its memory, and is then the same `Vec` |
//! | [`Ragged<T>`](Ragged), owned or borrowed | as above; the offsets were checked at construction, and are not checked again |
//! | a `Vec` or slice of tuples, or of structs with `#[derive(Elt)]` | split into a column for each scalar, in one pass |
//! | [`columns`]`((&[A], &[B]))` for vectors of tuples and structs | lent, a column for each component, without conversion |
//! | `Vec<Vec<T>>` | copied into one array |
//! | [`feed`]`(iterator)`, [`feed_blocks`]`(iterator)` | read ahead on a thread of its own, in blocks: some nanoseconds per element; almost nothing for blocks that are `Vec`s |
//! | [`from_file`]`(path)` | read ahead from a file, block by block |
//! | a [`Resident`], owned or borrowed | left in the engine by [`Compiled`]'s `keep`: no cost |
//!
//! Results are new memory that the caller owns. A call has an overhead of about a microsecond. Lent memory that ends in the last 64 bytes of a page is copied: compiled code reads
//! whole vectors.
//!
//! ```
//! # use deckle::prelude::*;
//! let twice = compile(|xs: Arr<f32>| xs.map(|x| x * 2.0))?;
//! let mut data = Vec::with_capacity(1024);
//! data.extend([1.0f32; 1000]);
//! let place = data.as_ptr();
//! let twice = twice.call(data)?.into_vec();
//! assert_eq!((twice[999], twice.as_ptr()), (2.0, place));
//! # Ok::<(), deckle::Error>(())
//! ```
//!
//! [`Compiled::memory`], [`Compiled::chunk`] and [`Cpu::threads`] limit the resources of a program; [`Compiled::progress`] reports its progress; [`Compiled::explain`] and [`Compiled::cost`] describe it before it runs.
//!
//! # Reading and writing programs
//!
//! | | a value of the program | on the host |
//! |---|---|---|
//! | a scalar, tuple or struct | [`Exp<T>`](Exp) | `T` |
//! | a vector, matrix, cube | [`Arr<T>`](Arr), `Arr<T, D2>`, `Arr<T, D3>` | [`Array<T, D>`](Array), from `Vec`, slices, `ndarray` |
//! | a jagged vector | `Arr<Arr<T>>` | `Array<Vec<T>>`, from `Vec<Vec<T>>` |
//! | a sequence | [`Seq<T>`](struct@Seq), `Seq<Arr<T>>`, `Seq<Seq<T>>` | `Vec` |
//! | several of these | a Rust tuple of handles; inside a collection [`Tup`] | a tuple |
//!
//! Handles are `Copy`, and the same operator on the same operands is computed once: `x * x + x * x` has one product, and
//! `xs.map(f).zip(xs.map(f))` one map, for a function `f`.
//!
//! Arithmetic uses Rust's operators. What Rust cannot overload has a method or function, with the same name everywhere:
//! `x.lt(y)`, `x.equals(y)`, [`choose`] for `if`, [`select`] if both sides are cheap, [`repeat`] and [`loop_while`] for loops.
//! The rank is in the type: passing a matrix for a vector does not compile, and a function that works at every rank has
//! `D: `[`Rank`]. Most operators do: `map` applies to all elements, `fold` and `scan` run along the innermost axis, `take` and `slice` along
//! the outermost.
//!
//! Errors that only a run can find (an index out of range, unequal lengths) are an [`Error`] with the place in your Rust source, never a
//! panic. So are a handle that leaves its closure, or its program, and a closure that does not terminate: see [`Fault`].
//!
//! # Features
//!
//! - `ndarray` (off by default): [`Array`] from and to `ndarray::Array`, without copying if the elements are row-major.

mod arr;
mod backend;
mod bundle;
mod compile;
mod compute;
mod control;
mod elt;
mod error;
mod exp;
#[doc(hidden)]
pub mod flat;
mod host;
pub mod io;
mod maths;
mod seq;
mod stream;
mod trace;
#[doc(hidden)]
pub mod twin;

pub use arr::{
    Above, Arr, Below, D1, D2, D3, Edge, Extent, Rank, array, constant_array, fill, generate, generate2, generate3,
    iota, range, range_by, range_inclusive,
};
pub use backend::{Backend, Cpu, Gpu, Interp, OneCore, OneGpu, Patient, Seq, SomeCores};
pub use bundle::{Becomes, Bundle, IntoBundle, Tup, Tupled, tup};
pub use compile::{Builds, Compiled, compile};
pub use compute::{Computation, Given, compute};
pub use control::{choose, loop_while, repeat, select};
pub use deckle_engine::Progress;
pub use deckle_macros::{Elt, kernel};
pub use elt::{Elt, Float, Handle, Int, IntoExp, IntoHandle, Item, Num, Scalars};
pub use error::{Error, Fault};
pub use exp::{Bits, Exp, Pack, Unpack, constant, pack};
pub use host::{Array, Column, HostItem, Hosted, InColumns, Ragged, Resident, columns};
pub use seq::{Seq, count, count_to, only_if, produce, sequence};
#[doc(hidden)]
pub use stream::Arg;
pub use stream::{Argument, Blocks, Feed, FromFile, Results, feed, feed_blocks, feed_results, from_file};

/// Everything that programs need: `use deckle::prelude::*;`.
pub mod prelude {
    pub use crate::{
        Above, Arr, Array, Below, Compiled, Cpu, D1, D2, D3, Edge, Elt, Error, Exp, Fault, Float, Gpu, Int, Interp,
        Num, Pack, Progress, Ragged, Rank, Resident, Seq, Tup, Unpack, array, choose, columns, compile, compute,
        constant, constant_array, count, count_to, feed, feed_blocks, feed_results, fill, from_file, generate,
        generate2, generate3, iota, kernel, loop_while, only_if, pack, produce, range, range_by, range_inclusive,
        repeat, select, sequence, tup,
    };
}

/// The support code of `derive(Elt)` and `#[kernel]`.
#[doc(hidden)]
pub mod __private {
    pub use crate::exp::{ErasedExp, record};
    pub use crate::flat::{Columns, Counts, tuples};
    pub use deckle_ir::types::Type;
    pub use deckle_ir::value::Value;
    pub use deckle_runtime::{Data, OverBudget};

    /// The type of a struct.
    pub fn record_type(name: &str, fields: &[(&str, Type)]) -> Type {
        let fields = fields.iter().map(|(n, t)| (n.to_string(), t.clone())).collect();
        Type::Record(std::sync::Arc::new(deckle_ir::types::RecordType { name: name.into(), fields }))
    }
}

/// The examples of `docs/kernels.md`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/kernels.md")]
mod kernels_page {}
