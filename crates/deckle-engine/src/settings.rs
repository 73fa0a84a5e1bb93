//! What a run may use, and how far it is.

use deckle_runtime::stream::Seen;
use deckle_runtime::{Pool, Team};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, Weak};

/// What a run may use.
#[derive(Debug)]
pub struct Settings {
    /// The threads, and what interrupts them.
    pub team: Team,
    /// The memory.
    pub pool: Pool,
    /// The most bytes of one array.
    pub max_bytes: u64,
    /// The elements of a chunk, in programs that go through sequences in chunks; found out while they run, if nothing is said. Results do not depend on it.
    pub chunk: Option<i64>,
    /// Whether results are in memory that a `Vec` can own ([`deckle_runtime::Buffer::into_vec`]), for a caller who keeps them. Otherwise their memory is used again when they are dropped.
    pub owned_results: bool,
    /// Whether to measure the time of kernels on a GPU, which costs a few microseconds per kernel.
    pub measured: bool,
    /// How far the run is.
    pub progress: Arc<Progress>,
}

/// How far a run is with the sequences that it goes through in chunks. Others may look at it meanwhile.
#[derive(Debug, Default)]
pub struct Progress {
    /// How many chunks were gone through.
    pub chunks: AtomicU64,
    /// How many elements they had, or would have had if there were so many.
    pub elements: AtomicU64,
    /// How many elements the next one has.
    pub chunk: AtomicU64,
    /// How many elements came from outside.
    pub pulled: AtomicU64,
    /// How many elements went there.
    pub pushed: AtomicU64,
    /// In checked mode, how many rounds all loops of compiled code had, a vector of lanes counting as one: what the work of the cost model bounds.
    pub rounds: AtomicU64,
    /// The sequences that come from outside, as long as they do.
    pub sources: Mutex<Vec<Weak<Seen>>>,
}

/// Whether the environment asks for checked mode.
pub(crate) fn is_checked() -> bool {
    std::env::var_os("DECKLE_CHECKED").is_some_and(|v| v == "1")
}

/// A pool for [`Settings`]: in checked mode, if the environment asks for it.
pub fn pool(memory: Option<u64>) -> Pool {
    if is_checked() { Pool::checked(memory) } else { Pool::new(memory) }
}

/// A panic of whoever calls leaves threads and memory as they are.
impl std::panic::RefUnwindSafe for Settings {}
impl std::panic::UnwindSafe for Settings {}

impl Settings {
    /// More bytes than any machine has.
    pub const LARGEST: u64 = 1 << 40;

    /// So many threads, and as much memory as there is, or so many bytes. In checked mode, if the environment asks for it.
    pub fn new(threads: usize, memory: Option<u64>) -> Settings {
        Settings::with(Team::new(threads), pool(memory))
    }

    /// As [`Settings::new`], for code that was compiled with [`Options::checked`](crate::Options::checked).
    pub fn checked(threads: usize, memory: Option<u64>) -> Settings {
        Settings::with(Team::new(threads), Pool::checked(memory))
    }

    /// These threads and this memory.
    pub fn with(team: Team, pool: Pool) -> Settings {
        Settings {
            team,
            pool,
            max_bytes: Settings::LARGEST,
            chunk: None,
            owned_results: false,
            measured: false,
            progress: Arc::default(),
        }
    }
}
