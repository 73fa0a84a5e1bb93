//! The simulator of the loop IR: what a function does on a CPU thread or on a grid of GPU threads, one step at a time.
//!
//! It is how schedules are tested without the hardware, so it is strict where hardware is not:
//! - every access is checked against the length of its buffer (index 0 of an empty buffer reads 0, as the IR promises);
//! - a barrier or a shuffle that only some threads reach is an error, and so are barriers that warps reach at different places;
//! - two threads that use one element, one of them storing, without a barrier of their block between them, are an error, in shared memory and in that of all blocks (`touched.rs`);
//! - a load of an element that has not been stored is an error; local buffers begin with garbage; streaming stores of several lanes have to be aligned.
//!
//! After a check of the program has failed, results mean nothing, and the last two are no errors.
//!
//! # How threads run
//! Blocks run one after another in the [`Order`] that is asked for. The warps of a block (32 threads; on a CPU one thread) take turns from barrier to
//! barrier, in the same order. A warp runs in lock step: the function is flattened (`flat.rs`) to instructions with jumps, and a mask says which threads take part.
//! Where threads part at an `if`, first those run that take the first block, then the others; a loop runs until its last thread is done.
//!
//! Products and sums are not contracted, and nothing is regrouped: floats differ from compiled code by that.

mod eval;
mod flat;
mod memory;
mod order;
mod quick;
#[cfg(test)]
mod tests;
mod touched;
mod warp;

pub use memory::BufferMem;
pub use order::Order;

use deckle_ir::loops::{Buf, Function, Place, RECORD, verify};
use deckle_ir::scalar::Scalar;
use memory::{Launched, Memory, Shared};
use std::fmt;
use warp::{Stop, Warp};

/// How many instructions all warps of a run may take together: a loop that does not end is an error and not a test that does not.
const MAX_STEPS: u64 = if cfg!(test) { 1 << 20 } else { 1 << 28 };

/// Why a run was stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SimError {
    /// The function does not verify, or is called with the wrong arguments.
    IllFormed(Vec<String>),
    /// An index that is not below the length of its buffer, or negative.
    OutOfRange {
        /// Which buffer.
        buf: Buf,
        /// Which element.
        index: i128,
        /// How many it has.
        len: usize,
        /// The block and the thread in it.
        thread: (u64, u32),
    },
    /// A streaming store of several lanes to a place that is no multiple of them.
    Misaligned {
        /// Which buffer.
        buf: Buf,
        /// The first element.
        index: i128,
    },
    /// Something that all threads of a warp or block have to reach, and only some do.
    Divergent {
        /// `barrier` or `shuffle`.
        what: &'static str,
        /// The block.
        block: u64,
    },
    /// Two threads at one element, one of them storing, without a barrier between them.
    Race {
        /// Which buffer.
        buf: Buf,
        /// Which element.
        index: usize,
        /// The block and the number in it of the second of them.
        thread: (u64, u32),
    },
    /// A load of an element that has not been stored.
    Unset {
        /// Which buffer.
        buf: Buf,
        /// Which element.
        index: usize,
        /// The block and the thread in it.
        thread: (u64, u32),
    },
    /// It takes too long.
    Endless,
}

impl fmt::Display for SimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimError::IllFormed(faults) => write!(f, "ill-formed: {}", faults.join("; ")),
            SimError::OutOfRange { buf, index, len, thread: (block, thread) } => {
                write!(f, "{buf}[{index}] is out of range: it has {len} elements (block {block}, thread {thread})")
            }
            SimError::Misaligned { buf, index } => write!(f, "the streaming store to {buf}[{index}] is not aligned"),
            SimError::Divergent { what, block } => write!(f, "not all threads reach a {what} (block {block})"),
            SimError::Race { buf, index, thread: (block, thread) } => {
                write!(
                    f,
                    "thread {thread} of block {block} and another use {buf}[{index}] without a barrier between them"
                )
            }
            SimError::Unset { buf, index, thread: (block, thread) } => {
                write!(f, "{buf}[{index}] is loaded, but has not been stored (block {block}, thread {thread})")
            }
            SimError::Endless => write!(f, "more than {MAX_STEPS} steps"),
        }
    }
}

impl std::error::Error for SimError {}

/// Runs a function: on a CPU (where [`Function::block`] is 0) once, on a GPU for all threads of `grid` blocks. `error` is its error record.
pub fn run(
    function: &Function,
    grid: u64,
    buffers: &mut [BufferMem],
    scalars: &[Scalar],
    error: &mut [u64; RECORD],
) -> Result<(), SimError> {
    run_in(Order::Ascending, function, grid, buffers, scalars, error)
}

/// The same, with blocks and warps in another order.
pub fn run_in(
    order: Order,
    function: &Function,
    grid: u64,
    buffers: &mut [BufferMem],
    scalars: &[Scalar],
    error: &mut [u64; RECORD],
) -> Result<(), SimError> {
    verify(function).map_err(SimError::IllFormed)?;
    check_arguments(function, buffers, scalars)?;
    let code = flat::flatten(function);
    let (grid, threads) = if function.block == 0 { (1, 1) } else { (grid, 32) };
    let warps = (function.block / 32).max(1);
    let mut steps = MAX_STEPS;
    let mut launched = Launched::new(function, buffers);
    for block in order.of(grid, 0) {
        let mut shared = Shared::new(function);
        let mut all: Vec<Warp<'_>> =
            (0..warps).map(|w| Warp::new(function, &code, threads, (block, grid, w * 32), scalars)).collect();
        for meeting in 1.. {
            let mut stops = Vec::new();
            for warp in order.of(u64::from(warps), meeting) {
                let (shared, launched) = (&mut shared, &mut launched);
                let mut memory = Memory { function, passed: buffers, shared, launched, error };
                stops.push(all[warp as usize].run(&mut memory, &mut steps)?);
            }
            if stops.iter().any(|s| *s != stops[0]) {
                return Err(SimError::Divergent { what: "barrier", block });
            }
            if stops[0] == Stop::End {
                break;
            }
        }
        if all.iter().any(Warp::failed) {
            error[0] = 1;
        }
    }
    launched.wrong.filter(|_| error[0] == 0).map_or(Ok(()), Err)
}

fn check_arguments(function: &Function, buffers: &[BufferMem], scalars: &[Scalar]) -> Result<(), SimError> {
    let mut faults = Vec::new();
    if buffers.len() != function.buffers.len() {
        faults.push(format!("{} buffers are passed where {} are expected", buffers.len(), function.buffers.len()));
    }
    for (k, (given, param)) in buffers.iter().zip(&function.buffers).enumerate() {
        if given.elem() != param.elem {
            faults.push(format!("b{k} is passed as {} but is {}", given.elem(), param.elem));
        }
    }
    if scalars.len() != function.scalars.len() {
        faults.push(format!("{} scalars are passed where {} are expected", scalars.len(), function.scalars.len()));
    }
    for (given, &v) in scalars.iter().zip(&function.scalars) {
        let ty = function.vals[v.index()].scalar;
        if given.ty() != ty {
            faults.push(format!("{v} is passed as {} but is {ty}", given.ty()));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(SimError::IllFormed(faults)) }
}

/// Whether a buffer is shared memory.
fn is_shared(function: &Function, buf: Buf) -> bool {
    let local = buf.index().checked_sub(function.buffers.len());
    local.and_then(|k| function.locals.get(k)).is_some_and(|l| l.place == Place::Shared)
}
