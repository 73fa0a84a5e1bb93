//! The interface to a GPU: memory, asynchronous copies and launches on two streams ([`Lane`]), and events.
//!
//! NVIDIA's driver and the simulator implement it. Everything above (the pool, staging, deferred failures, results that stay on the device) is written once and tested on
//! the simulator.

use deckle_ir::loops::Function;
use std::fmt;
use std::ops::Range;

/// Why a call of a port failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PortError {
    /// The device has no memory left. The caller can free some and try again.
    OutOfMemory,
    /// The device has failed, and cannot be used again by this process. The reason.
    Lost(String),
    /// A kernel made an invalid access, for example. The device cannot be used again by this process.
    Kernel(String),
    /// A simulated kernel exceeds the limit of steps.
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

/// The result of a call of a port.
pub(crate) type Ported<T> = Result<T, PortError>;

/// A stream of a device. Work of one lane runs in the order of the calls; work of different lanes overlaps, unless one waits for an event of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lane {
    /// Kernels, and the copies that they depend on. All memory of the pool belongs to it: see [`Port::wait`].
    Compute,
    /// Copies to the device of what a later chunk needs.
    Ahead,
}

/// A device. Enqueued work returns at once.
pub(crate) trait Port: fmt::Debug + Send + Sync + Sized + 'static {
    /// Memory of the device, freed when it is dropped.
    type Mem: fmt::Debug + Send + Sync;
    /// Page-locked memory of this machine.
    type Pinned: fmt::Debug + Send;
    /// A point in a lane.
    type Event: fmt::Debug + Send;
    /// Loaded kernels.
    type Code: fmt::Debug + Send + Sync;

    /// Its name.
    fn name(&self) -> String;

    /// Allocates memory; its contents are unspecified.
    fn alloc(&self, bytes: usize) -> Ported<Self::Mem>;

    /// Cached memory is reused. The simulator overwrites its contents.
    fn reused(&self, _: &Self::Mem) {}

    /// Allocates page-locked memory of this machine.
    fn pinned(&self, bytes: usize) -> Ported<Self::Pinned>;

    /// Some of its bytes, which no enqueued copy uses.
    fn bytes<'a>(&self, pinned: &'a mut Self::Pinned, range: Range<usize>) -> Ported<&'a mut [u8]>;

    /// Enqueues a copy from this machine, from a byte of `from` on. The caller neither writes nor frees these bytes until an event recorded later in the lane is past.
    fn copy_in(&self, lane: Lane, to: &Self::Mem, at: usize, from: (&Self::Pinned, usize), bytes: usize) -> Ported<()>;

    /// Enqueues a copy to this machine, to a byte of `to` and what follows. The caller neither reads, writes nor frees these bytes until an event recorded later is past.
    fn copy_out(&self, from: &Self::Mem, at: usize, to: (&mut Self::Pinned, usize), bytes: usize) -> Ported<()>;

    /// Enqueues a copy of the first bytes.
    fn copy(&self, from: &Self::Mem, to: &Self::Mem, bytes: usize) -> Ported<()>;

    /// Enqueues setting the first bytes to zero.
    fn zero(&self, to: &Self::Mem, bytes: usize) -> Ported<()>;

    /// Enqueues a launch.
    fn launch(&self, code: &Self::Code, launching: &Launching<'_, Self>) -> Ported<()>;

    /// An event after all work that is enqueued in the lane so far.
    fn record(&self, lane: Lane) -> Ported<Self::Event>;

    /// Later work of the lane waits for the event.
    ///
    /// An array that [`Lane::Ahead`] copies to may be reused memory: the copy waits for an event of [`Lane::Compute`], recorded after the array was allocated. Before the array is used or freed,
    /// [`Lane::Compute`] waits for an event after the copy.
    fn wait(&self, lane: Lane, event: &Self::Event) -> Ported<()>;

    /// Whether the work before the event is done.
    fn is_past(&self, event: &Self::Event) -> Ported<bool>;

    /// The seconds between two events that are past.
    fn seconds(&self, from: &Self::Event, to: &Self::Event) -> Ported<f64>;
}

/// A launch of a function.
///
/// Its *record* is a word of a list, which the function sets if a check fails. If the word before is set, an earlier launch has failed; the function then
/// only sets its own. So no kernel uses the results of a failed one, though the host does not wait between them, and the last word tells whether any launch
/// has failed.
pub(crate) struct Launching<'a, P: Port> {
    pub function: &'a Function,
    pub grid: u64,
    /// Memory, and the bytes of the array in it.
    pub buffers: &'a [(&'a P::Mem, usize)],
    pub scalars: &'a [i64],
    pub records: &'a P::Mem,
    /// The index of the word before its record.
    pub record: usize,
}
