//! Copies to a device while its kernels run.
//!
//! A copy needs the host: bytes go through page-locked areas. So a thread of the run, the feeder, fills them and enqueues copies in [`Lane::Ahead`].
//!
//! ```text
//!  the run     allocates; Ahead waits for Compute ──► job              Compute waits for the copies ──► kernels
//!  the feeder                                         areas, copies ──► event ──┘
//! ```

use crate::Settings;
use crate::native::early::Coming;
use crate::native::fault::Failure;
use crate::native::gpu::Unit;
use crate::native::gpu::kept::Remote;
use crate::native::gpu::memory::Mem;
use crate::native::gpu::port::{Lane, Port};
use deckle_runtime::Buffer;
use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope};

/// Arrays to be copied.
struct Job<P: Port> {
    arrays: Vec<(Buffer, Mem<P>)>,
    done: SyncSender<Result<P::Event, Failure>>,
}

/// A thread that copies arrays to the device, until this is dropped.
pub(super) struct Feeder<P: Port> {
    unit: Arc<Unit<P>>,
    jobs: Sender<Job<P>>,
}

impl<P: Port> Feeder<P> {
    /// Starts it, if the system has a thread.
    pub(super) fn new<'s, 'e: 's>(
        unit: &Arc<Unit<P>>,
        settings: &'e Settings,
        scope: &'s Scope<'s, 'e>,
    ) -> Option<Feeder<P>> {
        let (jobs, todo) = channel();
        let theirs = unit.clone();
        let thread = Builder::new().name("deckle-feeder".into());
        thread.spawn_scoped(scope, move || feed(&theirs, &todo, settings)).ok()?;
        Some(Feeder { unit: unit.clone(), jobs })
    }

    /// Starts to copy arrays.
    pub(super) fn copy(&self, arrays: Vec<(Buffer, Mem<P>)>) -> Result<Box<dyn Coming>, Failure> {
        // Earlier work may use the memory that was allocated.
        let allocated = self.unit.ask(self.unit.port.record(Lane::Compute))?;
        self.unit.ask(self.unit.port.wait(Lane::Ahead, &allocated))?;
        let (done, event) = sync_channel(1);
        let mems = arrays.iter().map(|(_, mem)| mem.clone()).collect();
        let coming = Arriving { unit: self.unit.clone(), mems, event: Some(event) };
        self.jobs.send(Job { arrays, done }).map_err(|_| Failure::bug("a feeder that has ended"))?;
        Ok(Box::new(coming))
    }
}

fn feed<P: Port>(unit: &Unit<P>, jobs: &Receiver<Job<P>>, settings: &Settings) {
    while let Ok(Job { arrays, done }) = jobs.recv() {
        let mut upload = arrays.iter().map(|(buffer, mem)| unit.upload(Lane::Ahead, mem, buffer.as_slice(), settings));
        let copied = upload.try_for_each(|copied| copied);
        let event = unit.ask(unit.port.record(Lane::Ahead));
        if let (Err(_), Ok(event)) = (&copied, &event) {
            // The memory is freed, but copies into it may be under way.
            let _ = unit.port.wait(Lane::Compute, event);
        }
        // A kernel may only overwrite memory that has one handle.
        drop(arrays);
        let _ = done.send(copied.and(event));
    }
}

/// Arrays that the feeder copies.
struct Arriving<P: Port> {
    unit: Arc<Unit<P>>,
    mems: Vec<Mem<P>>,
    /// After the copies.
    event: Option<Receiver<Result<P::Event, Failure>>>,
}

impl<P: Port> Arriving<P> {
    fn settle(&mut self) -> Result<(), Failure> {
        let Some(event) = self.event.take() else { return Ok(()) };
        // The feeder stops at an interrupt, and if the device is lost.
        let event = event.recv().map_err(|_| Failure::bug("a feeder that has ended"))??;
        self.unit.ask(self.unit.port.wait(Lane::Compute, &event))
    }
}

impl<P: Port> Coming for Arriving<P> {
    fn arrays(mut self: Box<Self>) -> Result<Vec<Remote>, Failure> {
        self.settle()?;
        Ok(std::mem::take(&mut self.mems).into_iter().map(|mem| Remote::There(Arc::new(mem))).collect())
    }
}

impl<P: Port> Drop for Arriving<P> {
    fn drop(&mut self) {
        // Before the memory is freed.
        let _ = self.settle();
    }
}

impl<P: Port> fmt::Debug for Arriving<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Arriving({:?})", self.mems)
    }
}
