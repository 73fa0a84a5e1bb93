//! What a GPU does for the host, and no more: raw memory, copies and launches that are enqueued, and events that say how far it is.
//!
//! NVIDIA's driver and the simulator implement it. Everything above (the pool, staging, deferred failures, what stays on the device) is written once and tested on
//! the simulator.

use deckle_ir::loops::Function;
use std::fmt;

/// Why a call of a port failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PortError {
    /// The device has no memory left. The caller can free some and try again.
    OutOfMemory,
    /// The device does not answer any more, and will not in this process. Says why.
    Lost(String),
    /// A kernel did what no kernel may do. Nothing works after that.
    Kernel(String),
    /// A simulated kernel takes more steps than are simulated.
    Steps(String),
    /// The call was refused.
    Refused(String),
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PortError::OutOfMemory => f.write_str("the GPU has no memory left"),
            PortError::Lost(why) | PortError::Kernel(why) | PortError::Steps(why) | PortError::Refused(why) => {
                f.write_str(why)
            }
        }
    }
}

/// What a call of a port gives.
pub(crate) type Ported<T> = Result<T, PortError>;

/// A device. What is enqueued happens in the order of the calls; the calls return at once.
pub(crate) trait Port: fmt::Debug + Send + Sync + Sized + 'static {
    /// Memory of the device, freed when it is dropped.
    type Mem: fmt::Debug + Send + Sync;
    /// Memory of this machine that is copied from and to.
    type Pinned: fmt::Debug + Send;
    /// A point in the order of what is enqueued.
    type Event: fmt::Debug + Send;
    /// Kernels that are loaded.
    type Code: fmt::Debug + Send + Sync;

    /// Its name.
    fn name(&self) -> String;

    /// Memory of so many bytes, whatever they hold.
    fn alloc(&self, bytes: usize) -> Ported<Self::Mem>;

    /// Memory that was used before is handed out again. The simulator makes what it holds useless.
    fn reused(&self, _: &Self::Mem) {}

    /// Memory of this machine.
    fn pinned(&self, bytes: usize) -> Ported<Self::Pinned>;

    /// What it holds. Meaningless while a copy into it is enqueued.
    fn bytes(pinned: &mut Self::Pinned) -> &mut [u8];

    /// Enqueues a copy of memory of this machine, from a byte of it on, which stays as it is until an event recorded later is past.
    fn copy_in(&self, to: &Self::Mem, at: usize, from: (&Self::Pinned, usize), bytes: usize) -> Ported<()>;

    /// Enqueues a copy to memory of this machine, from a byte of it on, which stays until an event recorded later is past.
    fn copy_out(&self, from: &Self::Mem, at: usize, to: (&mut Self::Pinned, usize), bytes: usize) -> Ported<()>;

    /// Enqueues a copy of the first bytes.
    fn copy(&self, from: &Self::Mem, to: &Self::Mem, bytes: usize) -> Ported<()>;

    /// Enqueues that the first bytes are zero.
    fn zero(&self, to: &Self::Mem, bytes: usize) -> Ported<()>;

    /// Enqueues a launch.
    fn launch(&self, code: &Self::Code, launching: &Launching<'_, Self>) -> Ported<()>;

    /// The point after what is enqueued so far.
    fn record(&self) -> Ported<Self::Event>;

    /// Whether the device has come so far.
    fn is_past(&self, event: &Self::Event) -> Ported<bool>;

    /// The seconds between two events that are past.
    fn seconds(&self, from: &Self::Event, to: &Self::Event) -> Ported<f64>;
}

/// A launch of a function.
///
/// Its *record* is a word of a list: the function sets it where a check fails. If the word before is set, something that was launched earlier has failed; then
/// the function does nothing but set its own. So no kernel works with what a failed one has left, though nobody waits between them, and the last word says whether anything
/// has failed.
pub(crate) struct Launching<'a, P: Port> {
    pub function: &'a Function,
    pub grid: u64,
    /// Memory, and how many bytes of it are the array.
    pub buffers: &'a [(&'a P::Mem, usize)],
    pub scalars: [i64; 2],
    pub records: &'a P::Mem,
    /// Which word, after the first.
    pub record: usize,
}
