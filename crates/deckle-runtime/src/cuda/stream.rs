//! Streams: copies and launches that run in the order in which they were enqueued, while the caller goes on; and events, which say how far a stream is.

#![allow(unsafe_code)] // Foreign functions.

use super::driver::{Handle, NON_BLOCKING, status};
use super::{Context, CudaError, DeviceBuffer, Pinned};
use std::fmt;

/// A stream of a device.
pub struct Stream {
    context: Context,
    pub(super) handle: Handle,
}

// SAFETY: a stream is a name for an object of the driver, which takes calls from any thread.
unsafe impl Send for Stream {}
// SAFETY: as above.
unsafe impl Sync for Stream {}

impl Context {
    /// A stream of its own.
    pub fn stream(&self) -> Result<Stream, CudaError> {
        let d = self.enter()?;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: writes one handle.
        d.check("cuStreamCreate", unsafe { (d.stream_create)(&mut handle, NON_BLOCKING) })?;
        Ok(Stream { context: self.clone(), handle })
    }
}

impl Stream {
    /// Copies `bytes` from the byte `start` of `from` on to the place that begins `offset` bytes from the start of `to`. Returns at once.
    ///
    /// # Safety
    /// Until an event that was recorded later is past, `from` is neither written nor dropped.
    pub unsafe fn copy_in(
        &self,
        to: &DeviceBuffer,
        offset: usize,
        (from, start): (&Pinned, usize),
        bytes: usize,
    ) -> Result<(), CudaError> {
        let (to, d) = (to.range(offset, bytes)?, self.context.enter()?);
        let from = from.place(start, bytes)?;
        // SAFETY: reads `bytes` bytes, which `from` has and keeps as the caller promises; writes within the allocation.
        d.check("cuMemcpyHtoDAsync", unsafe { (d.copy_in)(to, from.cast_const().cast(), bytes, self.handle) })
    }

    /// Copies `bytes` from the place that begins `offset` bytes from the start of `from` to the byte `start` of `to` and what follows. Returns at once.
    ///
    /// # Safety
    /// Until an event that was recorded later is past, `to` is neither read, written nor dropped.
    pub unsafe fn copy_out(
        &self,
        from: &DeviceBuffer,
        offset: usize,
        (to, start): (&mut Pinned, usize),
        bytes: usize,
    ) -> Result<(), CudaError> {
        let (from, d) = (from.range(offset, bytes)?, self.context.enter()?);
        let to = to.place(start, bytes)?;
        // SAFETY: writes `bytes` bytes, which `to` has and lends as the caller promises.
        d.check("cuMemcpyDtoHAsync", unsafe { (d.copy_out)(to.cast(), from, bytes, self.handle) })
    }

    /// Copies the first `bytes` from one buffer of the device to another. Returns at once.
    pub fn copy(&self, from: &DeviceBuffer, to: &DeviceBuffer, bytes: usize) -> Result<(), CudaError> {
        let (from, to, d) = (from.range(0, bytes)?, to.range(0, bytes)?, self.context.enter()?);
        // SAFETY: both ranges are within their allocations. Memory that is freed is freed after what the driver has been asked for before.
        d.check("cuMemcpyDtoDAsync", unsafe { (d.copy)(to, from, bytes, self.handle) })
    }

    /// Sets the first `bytes`. Returns at once.
    pub fn fill(&self, to: &DeviceBuffer, bytes: usize, byte: u8) -> Result<(), CudaError> {
        let (to, d) = (to.range(0, bytes)?, self.context.enter()?);
        // SAFETY: the range is within the allocation.
        d.check("cuMemsetD8Async", unsafe { (d.memset)(to, byte, bytes, self.handle) })
    }

    /// An event that is past when everything that was enqueued before is done.
    pub fn record(&self) -> Result<Event, CudaError> {
        let d = self.context.enter()?;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: writes one handle.
        d.check("cuEventCreate", unsafe { (d.event_create)(&mut handle, 0) })?;
        let event = Event { context: self.context.clone(), handle };
        // SAFETY: both handles are alive.
        d.check("cuEventRecord", unsafe { (d.event_record)(handle, self.handle) })?;
        Ok(event)
    }

    /// Makes what is enqueued later wait for an event, of any stream of the context. Returns at once.
    pub fn wait(&self, event: &Event) -> Result<(), CudaError> {
        let d = self.context.enter()?;
        // SAFETY: both handles are alive; the driver keeps what it needs of the event.
        d.check("cuStreamWaitEvent", unsafe { (d.stream_wait)(self.handle, event.handle, 0) })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if let Ok(d) = self.context.enter() {
            // SAFETY: created once, destroyed once; what is enqueued is still done.
            let _ = unsafe { (d.stream_destroy)(self.handle) };
        }
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Stream({:?})", self.handle)
    }
}

/// A point of a stream.
pub struct Event {
    context: Context,
    handle: Handle,
}

// SAFETY: an event is a name for an object of the driver, which takes calls from any thread.
unsafe impl Send for Event {}
// SAFETY: as above.
unsafe impl Sync for Event {}

impl Event {
    /// Whether the stream has come so far. Faults of kernels, and of the device, are reported here.
    pub fn is_past(&self) -> Result<bool, CudaError> {
        let d = self.context.enter()?;
        // SAFETY: the handle is alive.
        match unsafe { (d.event_query)(self.handle) } {
            status::NOT_READY => Ok(false),
            other => d.check("cuEventQuery", other).map(|()| true),
        }
    }

    /// The seconds from an earlier event to this one; both are past.
    pub fn seconds_since(&self, earlier: &Event) -> Result<f64, CudaError> {
        let d = self.context.enter()?;
        let mut milliseconds = 0f32;
        // SAFETY: writes one number; the handles are alive.
        let status = unsafe { (d.event_elapsed)(&mut milliseconds, earlier.handle, self.handle) };
        d.check("cuEventElapsedTime", status)?;
        Ok(f64::from(milliseconds) / 1e3)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(d) = self.context.enter() {
            // SAFETY: created once, destroyed once; the driver keeps what it still needs of it.
            let _ = unsafe { (d.event_destroy)(self.handle) };
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({:?})", self.handle)
    }
}
