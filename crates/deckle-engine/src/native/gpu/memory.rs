//! Arrays on a device, and copies between them and this machine.
//!
//! Copies go through two page-locked areas for each direction, and two for each lane to the device: while the device copies from one, the host fills the other. An upload returns when the host has read
//! its source; a download waits.

use crate::Settings;
use crate::native::device::Handle;
use crate::native::fault::Failure;
use crate::native::gpu::Unit;
use crate::native::gpu::port::{Lane, Port};
use deckle_runtime::Team;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes of a page-locked area.
const AREA: usize = 4 << 20;
/// The least number of bytes for a thread of its own.
const PIECE: usize = 512 << 10;
/// Uploads that share an area start at multiples of this.
const ALIGNED: usize = 64;
/// The host keeps a copy of arrays of at most this many bytes. Most of them are sizes, which it needs for every launch. One that the host has written is uploaded when a kernel is
/// passed it, which for most never happens.
pub(super) const SMALL: usize = 16;

/// An array of a device. Clones are handles of the same memory.
pub(crate) struct Mem<P: Port> {
    held: Arc<Held<P>>,
    len: usize,
}

/// Memory that goes back to the pool with its last handle.
struct Held<P: Port> {
    unit: Arc<Unit<P>>,
    block: Option<P::Mem>,
    size: usize,
    len: usize,
    known: Mutex<Known>,
}

/// The host's copy of a small array.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The contents, if the host knows them.
    bytes: Option<[u8; SMALL]>,
    /// Whether the device does not have them yet.
    ahead: bool,
}

impl<P: Port> Drop for Held<P> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.unit.pool.put(block, self.size);
        }
    }
}

impl<P: Port> Clone for Mem<P> {
    fn clone(&self) -> Mem<P> {
        Mem { held: self.held.clone(), len: self.len }
    }
}

impl<P: Port> fmt::Debug for Mem<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mem({} bytes)", self.len)
    }
}

impl<P: Port> Handle for Mem<P> {
    fn bytes(&self) -> usize {
        self.len
    }

    fn is_alone(&mut self) -> bool {
        Arc::get_mut(&mut self.held).is_some()
    }
}

impl<P: Port> Mem<P> {
    pub(super) fn new(unit: &Arc<Unit<P>>, bytes: usize, name: &str) -> Result<Mem<P>, Failure> {
        let (block, size) = unit.alloc(bytes, name)?;
        let held = Held { unit: unit.clone(), block: Some(block), size, len: bytes, known: Mutex::default() };
        Ok(Mem { held: Arc::new(held), len: bytes })
    }

    /// The first bytes, as an array.
    pub(super) fn first(&self, bytes: usize) -> Mem<P> {
        Mem { held: self.held.clone(), len: bytes.min(self.len) }
    }

    pub(super) fn unit(&self) -> &Arc<Unit<P>> {
        &self.held.unit
    }

    pub(super) fn block(&self) -> Result<&P::Mem, Failure> {
        self.held.block.as_ref().ok_or_else(|| Failure::bug("memory that has been freed"))
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.held.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The contents of a small array, if the host knows them.
    pub(super) fn known(&self) -> Option<[u8; SMALL]> {
        self.lock().bytes
    }

    /// A kernel may write the array.
    pub(super) fn forget(&self) {
        *self.lock() = Known::default();
    }

    /// The device holds these contents.
    pub(super) fn remember(&self, bytes: &[u8]) {
        self.know(bytes, false);
    }

    /// Sets the contents of a small array, to be uploaded when needed. Returns whether it is small; if not, the caller has to upload them.
    pub(super) fn hold(&self, bytes: &[u8]) -> bool {
        self.know(bytes, true)
    }

    fn know(&self, bytes: &[u8], ahead: bool) -> bool {
        let is_all = bytes.len() <= SMALL && bytes.len() == self.held.len;
        if is_all {
            let mut known = [0; SMALL];
            known[..bytes.len()].copy_from_slice(bytes);
            *self.lock() = Known { bytes: Some(known), ahead };
        }
        is_all
    }

    /// Uploads the contents if only the host has them. Holds the lock, so that no other run launches a kernel in between.
    pub(super) fn bring(&self, upload: impl FnOnce(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut known = self.lock();
        match known.bytes {
            Some(bytes) if known.ahead => {
                upload(&bytes[..self.held.len])?;
                known.ahead = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The length in bytes of the allocated array, of which this may be a prefix.
    pub(super) fn whole(&self) -> usize {
        self.held.len
    }
}

/// The page-locked areas of a device.
#[derive(Debug)]
pub(super) struct Staging<P: Port> {
    areas: [Area<P>; 2],
    now: usize,
}

#[derive(Debug)]
struct Area<P: Port> {
    /// Allocated when it is first needed.
    pinned: Option<P::Pinned>,
    /// How many bytes are filled.
    used: usize,
    /// The device uses the area until this event is past.
    until: Option<P::Event>,
}

impl<P: Port> Default for Staging<P> {
    fn default() -> Staging<P> {
        let area = || Area { pinned: None, used: 0, until: None };
        Staging { areas: [area(), area()], now: 0 }
    }
}

impl<P: Port> Drop for Area<P> {
    fn drop(&mut self) {
        // The device may still use it, if it did not come to rest: see `Unit::drop`.
        if self.until.is_some() || self.used > 0 {
            std::mem::forget(self.pinned.take());
        }
    }
}

impl<P: Port> Staging<P> {
    /// The device is idle.
    pub(super) fn rest(&mut self) {
        for area in &mut self.areas {
            (area.until, area.used) = (None, 0);
        }
    }
}

impl<P: Port> Area<P> {
    /// Waits until the device does not use the memory.
    fn ready(&mut self, unit: &Unit<P>, interrupt: &AtomicBool) -> Result<&mut P::Pinned, Failure> {
        if let Some(event) = &self.until {
            unit.wait(event, interrupt)?;
            self.until = None;
        }
        if self.pinned.is_none() {
            self.pinned = Some(unit.ask(unit.port.pinned(AREA))?);
        }
        self.pinned.as_mut().ok_or_else(|| Failure::bug("no page-locked memory"))
    }
}

/// Copies bytes, on all threads if there are many: a single thread is slower than the device.
fn copy(to: &mut [u8], from: &[u8], team: &Team) -> Result<(), Failure> {
    let threads = team.threads().min(to.len() / PIECE);
    if threads < 2 {
        to.copy_from_slice(from);
        return Ok(());
    }
    let each = to.len().div_ceil(threads);
    let parts: Vec<_> = to.chunks_mut(each).zip(from.chunks(each)).map(Mutex::new).collect();
    team.run(parts.len(), &|task, _| {
        let (to, from) = &mut *lock(&parts[task]);
        to.copy_from_slice(from);
    })?;
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is whole at all times.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Port> Unit<P> {
    /// Copies bytes to the start of an array. Returns when it has read them.
    pub(super) fn upload(&self, lane: Lane, to: &Mem<P>, bytes: &[u8], settings: &Settings) -> Result<(), Failure> {
        let interrupt = settings.team.interrupt();
        let mut staging = lock(match lane {
            Lane::Compute => &self.inward,
            Lane::Ahead => &self.ahead,
        });
        let mut at = 0;
        while at < bytes.len() {
            let now = staging.now;
            let room = AREA - staging.areas[now].used;
            let piece = (bytes.len() - at).min(AREA);
            // A small copy shares an area with others; a large one begins another.
            if piece > room {
                staging.areas[now].until = Some(self.ask(self.port.record(lane))?);
                staging.areas[now].used = 0;
                staging.now = 1 - now;
                staging.areas[1 - now].used = 0;
                continue;
            }
            let area = &mut staging.areas[now];
            let used = area.used;
            let pinned = area.ready(self, interrupt)?;
            copy(self.ask(self.port.bytes(pinned, used..used + piece))?, &bytes[at..at + piece], &settings.team)?;
            self.ask(self.port.copy_in(lane, to.block()?, at, (&*pinned, used), piece))?;
            area.used = (used + piece).next_multiple_of(ALIGNED).min(AREA);
            at += piece;
        }
        Ok(())
    }

    /// Copies the first bytes of an array out. Waits.
    pub(super) fn download(&self, from: &Mem<P>, bytes: &mut [u8], settings: &Settings) -> Result<(), Failure> {
        let interrupt = settings.team.interrupt();
        let mut staging = lock(&self.outward);
        let pieces = bytes.len().div_ceil(AREA);
        let range = |k: usize| k * AREA..bytes.len().min((k + 1) * AREA);
        let ranges: Vec<_> = (0..pieces).map(range).collect();
        for k in 0..=pieces {
            if let Some(range) = ranges.get(k) {
                let area = &mut staging.areas[k % 2];
                let pinned = area.ready(self, interrupt)?;
                self.ask(self.port.copy_out(from.block()?, range.start, (pinned, 0), range.len()))?;
                area.until = Some(self.ask(self.port.record(Lane::Compute))?);
            }
            if let Some(range) = k.checked_sub(1).and_then(|k| ranges.get(k)) {
                let pinned = staging.areas[(k - 1) % 2].ready(self, interrupt)?;
                copy(&mut bytes[range.clone()], self.ask(self.port.bytes(pinned, 0..range.len()))?, &settings.team)?;
            }
        }
        Ok(())
    }

    /// Copies a few bytes of several arrays out, from a byte of each on, one after another into `bytes`. Waits once.
    pub(super) fn read(
        &self,
        parts: &[(&Mem<P>, usize, usize)],
        bytes: &mut [u8],
        interrupt: &AtomicBool,
    ) -> Result<(), Failure> {
        let mut staging = lock(&self.outward);
        let area = &mut staging.areas[0];
        let pinned = area.ready(self, interrupt)?;
        let mut end = 0;
        for (from, at, len) in parts {
            self.ask(self.port.copy_out(from.block()?, *at, (pinned, end), *len))?;
            end += len;
        }
        area.until = Some(self.ask(self.port.record(Lane::Compute))?);
        let pinned = area.ready(self, interrupt)?;
        if end != bytes.len() {
            return Err(Failure::bug("a read of another size"));
        }
        bytes.copy_from_slice(self.ask(self.port.bytes(pinned, 0..end))?);
        Ok(())
    }
}
