//! Sequences from outside and to outside: sources are read ahead of what computes, sinks take behind it, each on a thread of its own with a short queue between.
//!
//! ```text
//!  source ──► [block][block] ──► pull: so many elements ──► a chunk is computed ──► push ──► [block][block] ──► sink
//!  └ a thread ┘                  └───────────────────── the program ────────────────────┘                 └ a thread ┘
//! ```
//!
//! # Invariants
//! - A queue holds at most `QUEUE` blocks: whoever is ahead waits.
//! - An error stands in the queue behind the elements that were read before it: these are computed, and then the run fails.
//! - Whoever goes away takes the other with it: a source is let go of at the next block when nobody pulls any more, a sink without [`Sink::finish`] when the program fails.
//! - All elements are in memory of the pool, so they count against the budget.

mod ahead;
mod behind;

pub use ahead::{Ahead, Seen, Sizes};
pub use behind::Behind;

use crate::data::Data;
use crate::pool::{OverBudget, Pool};
use std::fmt;

/// How many blocks wait between two threads.
const QUEUE: usize = 2;

/// Where elements come from.
pub trait Source: Send {
    /// The next elements: one at least, and then as many as there are without waiting for more, up to about so many bytes. `None` behind the last.
    ///
    /// # Errors
    /// Whatever keeps them from coming. It is not asked again.
    fn next(&mut self, bytes: usize, pool: &Pool) -> Result<Option<Data>, Error>;

    /// How much has been read, and how much there is, if that is known: bytes of a file, say.
    fn progress(&self) -> Option<(u64, u64)> {
        None
    }
}

/// Where elements go.
pub trait Sink: Send {
    /// Takes the next elements.
    ///
    /// # Errors
    /// Whatever keeps it from doing so. It is not asked again.
    fn take(&mut self, block: Data) -> Result<(), Error>;

    /// These were all.
    ///
    /// # Errors
    /// What was taken cannot be kept.
    fn finish(self: Box<Self>) -> Result<(), Error> {
        Ok(())
    }
}

/// Why a stream ends before its end.
#[derive(Debug)]
pub enum Error {
    /// There is no room for its elements.
    OverBudget(OverBudget),
    /// The run is to stop.
    Interrupted,
    /// Nobody wants the elements any more.
    Closed,
    /// What the source or the sink says.
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
            Error::Closed => f.write_str("nobody takes the elements any more"),
            Error::Failed(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for Error {}
