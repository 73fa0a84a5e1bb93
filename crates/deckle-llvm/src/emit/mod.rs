//! Loop IR to textual LLVM IR.
//!
//! | file | what it writes |
//! |---|---|
//! | `types.rs` | types and constants |
//! | `module.rs` | what functions of a module share: declarations, helpers, metadata |
//! | `function.rs` | one function: parameters, error record, entry |
//! | `stmt.rs` | statements: loops, branches, failures |
//! | `memory.rs` | loads and stores |
//! | `atomics.rs` | atomic operations |
//! | `checked.rs` | the checks around them in checked mode |
//! | `expr.rs` | expressions that move lanes and threads about |
//! | `ops.rs`, `casts.rs` | scalar operators and conversions |
//! | `maths.rs` | transcendental functions and remainders of floats |
//!
//! # Calling convention on the host
//! Each function `f` becomes `void f(void **buffers, uint64_t *scalars, uint64_t *error)`. `buffers` has one pointer for each buffer parameter;
//! `scalars` one word for each scalar parameter, with the value in its low bits and floats as their bits. `error` is the record, of [`deckle_ir::loops::RECORD`] words: whether it failed, the site, how many operands there are, the operands.
//!
//! In checked mode ([`checked`]) `buffers` has three words for each buffer: first all pointers, then the lengths in bytes, then the pointers to the shadows, which have a byte for
//! each byte of a buffer: 0 where it has been written. The record has [`RECORD`] words.
//!
//! # Calling convention on a GPU
//! Each function becomes a kernel whose parameters are its buffers (pointers to global memory), its scalars (64-bit words as on the host) and the
//! error record (a pointer to global memory), in this order. The word before the record says whether something that was launched earlier has failed: then
//! the kernel does nothing but say so in its own record. So the host need not look at a record before it launches the next kernel.
//!
//! # What the module leaves open
//! It names no CPU and no data layout: these belong to the target machine, and whoever compiles it sets them.
//! It refers to nothing outside itself, except to `fma` and `fmaf` where the processor has no such instruction.
//!
//! # Exactness
//! Operators compute what `scalar_eval` says. LLVM fuses no product with a sum: only [`Expr::Fma`] is one operation. It regroups no
//! sum of floats either, not even [`Expr::Assoc`]: in which order they are added is the schedule's choice, so that bits do not depend on the version of LLVM, nor on the loop around. Text that is made of an ill-formed function is ill-formed, and LLVM says so.
//!
//! [`Expr::Assoc`]: deckle_ir::loops::Expr::Assoc
//! [`Expr::Fma`]: deckle_ir::loops::Expr::Fma

mod atomics;
mod casts;
mod checked;
mod expr;
mod function;
mod maths;
mod memory;
mod module;
mod ops;
mod stmt;
mod types;

pub use checked::{NAME_WORDS, OUT_OF_RANGE, RECORD, ROUNDS, UNWRITTEN};

use deckle_ir::loops::Function;
use deckle_ir::loops::Gathers;
use module::{Module, Target};

/// How a module is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// How gathered elements are loaded.
    pub gathers: Gathers,
    /// Whether accesses are checked: those out of range do not happen, and they and loads of what has not been written are recorded.
    pub checked: bool,
    /// The most rounds of a loop between two looks at whether something has failed.
    pub strip: i64,
}

impl Default for Options {
    fn default() -> Options {
        Options { gathers: Gathers::Native, checked: false, strip: 1 << 22 }
    }
}

/// A module for the CPU of this machine.
pub fn host(functions: &[Function], gathers: Gathers) -> String {
    host_with(functions, Options { gathers, ..Options::default() })
}

/// As [`host`], in checked mode.
pub fn checked(functions: &[Function], gathers: Gathers) -> String {
    host_with(functions, Options { gathers, checked: true, ..Options::default() })
}

/// As [`host`], in any way.
pub fn host_with<'a>(functions: impl IntoIterator<Item = &'a Function>, options: Options) -> String {
    emit(functions, Target::Host, options)
}

/// A module for GPUs of NVIDIA.
pub fn nvptx(functions: &[Function]) -> String {
    emit(functions, Target::Nvptx, Options::default())
}

fn emit<'a>(functions: impl IntoIterator<Item = &'a Function>, target: Target, options: Options) -> String {
    let mut module = Module::new(target, options);
    for function in functions {
        function::emit(&mut module, function);
    }
    module.finish()
}
