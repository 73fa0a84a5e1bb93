//! Compile, bind, run, stream, report: the one crate that front ends use.
//!
//! ```text
//!  file.dk ──► source ──► entry ──┐
//!  NAME=VALUE, NAME=@FILE ──► bind ──► Callable::call ──► Data, or a Sink that takes elements as they come about; and a Report
//!  Rust closures, host memory ────┘
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`source`] | programs from files, with what they import |
//! | [`entry`] | which function of a program is meant |
//! | [`bind`] | arguments as they are written, matched with parameters |
//! | [`mod@file`] | values and sequences from files and into them, with errors that name the parameter |
//! | [`Callable`] | a function to be called: natively, compiled when first needed, or in the interpreter |
//! | [`Settings`], [`Progress`] | the threads, the memory, the size of chunks; how far a run is |
//! | [`Native`], [`Options`], [`pipeline`] | native code itself: what `Callable` makes, for those who compare ways to make it |
//! | [`explain()`], [`cost()`] | what is decided and predicted before a run, in words |
//!
//! Values at this seam are flat ([`Data`]): typed memory and offsets, well-formed by construction. Trees of values are for literals, printing and the interpreter
//! ([`deckle_io::tree`]). The [README](https://docs.rs/crate/deckle-engine) of this crate tells how programs run, and what always holds.

pub mod bind;
mod callable;
pub mod entry;
mod explain;
pub mod file;
mod interpret;
mod native;
mod settings;
pub mod source;

pub use callable::{Callable, On, Ran, RanOn, Report};
pub use deckle_lower::chunk::Chunks;
pub use deckle_lower::cuts::Cuts;
pub use deckle_lower::simplify::Branches;
pub use deckle_runtime::Data;
pub use explain::{cost, explain};
pub use interpret::Interp;
pub use native::{
    Effort, Gpu, Hold, Input, Kept, Layout, Native, Options, Order, PoolStats, Simulated, Simulator, Traffic, pipeline,
};
pub use settings::{Progress, Settings, pool};

use deckle_diag::Diagnostic;

/// What goes right, or everything that is wrong.
pub type Outcome<T> = Result<T, Vec<Diagnostic>>;
