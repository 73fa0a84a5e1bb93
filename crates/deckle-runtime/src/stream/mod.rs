//! Input and output of sequences: sources are read ahead of the computation, sinks write behind it, each on a thread of its own with a short queue in between.
//!
//! ```text
//!  source ──► [block][block] ──► pull: so many elements ──► a chunk is computed ──► push ──► [block][block] ──► sink
//!  └ a thread ┘                  └───────────────────── the program ────────────────────┘                 └ a thread ┘
//! ```
//!
//! # Invariants
//! - A queue holds at most `QUEUE` blocks: the faster side waits.
//! - An error is queued behind the elements that were read before it: these are processed, and then the run fails.
//! - Termination propagates: a source is dropped at the next block when the program no longer pulls, a sink without [`Sink::finish`] when the program fails.
//! - All elements are in memory of the pool, so they count against the budget.

mod ahead;
mod behind;

pub use ahead::{Ahead, Seen, Sizes};
pub use behind::Behind;

use crate::data::Data;
use crate::pool::{OverBudget, Pool};
use std::fmt;

/// The number of blocks that wait between two threads.
const QUEUE: usize = 2;

/// A producer of elements.
pub trait Source: Send {
    /// The next elements: at least one, and more only if available without waiting, up to about `bytes` bytes. `None` after the last.
    ///
    /// # Errors
    /// Any error of the producer. It is not called again.
    fn next(&mut self, bytes: usize, pool: &Pool) -> Result<Option<Data>, Error>;

    /// The amount read so far, and the total if known: bytes of a file, for example.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }
}

/// A consumer of elements.
pub trait Sink: Send {
    /// Takes the next elements.
    ///
    /// # Errors
    /// Any error of the consumer. It is not called again.
    fn take(&mut self, block: Data) -> Result<(), Error>;

    /// Called after the last element.
    ///
    /// # Errors
    /// The elements could not be stored.
    fn finish(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

/// Why a stream stops early.
#[derive(Debug)]
pub enum Error {
    /// There is not enough memory for its elements.
    OverBudget(OverBudget),
    /// The run was interrupted.
    Interrupted,
    /// The consumer is gone.
    Closed,
    /// The error of the source or the sink.
    Failed(Box<dyn std::error::Error + Send + Sync>),
}

impl From<OverBudget> for Error {
    fn from(e: OverBudget) -> Error {
        Error::OverBudget(e)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::OverBudget(e) => e.fmt(f),
            Error::Interrupted => f.write_str("interrupted"),
            Error::Closed => f.write_str("the consumer of the elements is closed"),
            Error::Failed(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
