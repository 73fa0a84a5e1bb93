//! Runtime support for compiled programs.
//!
//! | module | what it is |
//! |---|---|
//! | [`pool`], [`buffer`] | memory counted against a budget; reference-counted, padded arrays |
//! | [`guarded`] | additional state of arrays in checked mode: red zones, and which bytes have been written |
//! | [`data`] | values in such arrays, well-formed by construction |
//! | [`stream`] | sequences from outside, read ahead, and results, written behind |
//! | [`team`] | a persistent team of threads that claims numbered tasks |
//! | [`chunk`] | chooses chunk sizes |
//! | [`sort`] | `sort` and `group` for keys of any flat type, within segments |
//! | [`cpu`] | the number of usable cores and the sizes of their caches |
//! | [`lend`] | borrows data for the time of a call |
//! | [`standard`] | whether standard input and output were closed from the start |
//! | [`cuda`] | the CUDA driver, opened at run time |
//!
//! No module depends on a compiler or LLVM, nor on the IR except the types of scalars: compiled code comes as pointers, and arrays as bytes.
//!
//! # Invariants
//!
//! - A result never depends on the number of threads: the team only decides *who* does a task, never what the tasks are
//!   combined into.
//! - Memory of the pool is always initialised (fresh memory is zero, reused memory has its old contents), so reading an
//!   unwritten array gives a wrong value at worst and is never undefined behaviour.
//! - `unsafe` is confined to modules that document why they need it and what they rely on.

mod block;
pub mod buffer;
pub mod chunk;
pub mod cpu;
pub mod cuda;
pub mod data;
pub mod guarded;
pub mod lend;
pub mod pool;
pub mod sort;
pub mod standard;
pub mod stream;
pub mod team;

pub use buffer::{Buffer, Number, Plain};
pub use data::{Data, Form, Malformed, Offsets};
pub use lend::{Lender, lending};
pub use pool::{OverBudget, Pool, Stats};
pub use team::{Interrupted, Team};
