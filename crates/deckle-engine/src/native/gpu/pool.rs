//! A caching allocator for the memory of a device, with a budget.
//!
//! Freed memory is cached and reused for later arrays. It belongs to the compute lane, so it can be reused as soon as the host frees it: its last use precedes the next one in the lane, and the host never
//! waits. A copy in the other lane waits for what the compute lane did before the allocation, and the compute lane waits for the copy before the memory is used or freed
//! ([`Port::wait`]).
//!
//! If the budget or the device has no room, the cache is freed and the allocation is repeated once; then it is an error that names the array.

use crate::native::gpu::port::{Port, PortError};
use deckle_runtime::OverBudget;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sizes are multiples of this.
const LEAST: usize = 256;
/// A size is rounded up by at most this fraction (one part in eight), or to [`LEAST`].
const ROUNDED: usize = 8;

/// The memory of a device.
#[derive(Debug)]
pub(super) struct Pool<P: Port> {
    budget: u64,
    books: Mutex<Books<P>>,
}

#[derive(Debug)]
struct Books<P: Port> {
    /// By size; no empty lists.
    free: BTreeMap<usize, Vec<P::Mem>>,
    cached: u64,
    in_use: u64,
    peak: u64,
}

/// Bytes of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Bytes of live arrays.
    pub in_use: u64,
    /// Bytes of freed memory that is cached.
    pub cached: u64,
    /// The peak of `in_use` since the last run began.
    pub peak: u64,
    /// The limit of `in_use` and `cached` together.
    pub budget: u64,
}

/// Why an allocation failed.
#[derive(Debug)]
pub(super) enum NoMemory {
    Over(OverBudget),
    Port(PortError),
}

/// The bytes to allocate for an array.
fn rounded(bytes: usize) -> Option<usize> {
    let grain = (bytes.checked_next_power_of_two()? / 2 / ROUNDED).max(LEAST);
    bytes.max(1).checked_next_multiple_of(grain)
}

impl<P: Port> Pool<P> {
    pub(super) fn new(budget: u64) -> Pool<P> {
        let books = Books { free: BTreeMap::new(), cached: 0, in_use: 0, peak: 0 };
        Pool { budget, books: Mutex::new(books) }
    }

    fn books(&self) -> MutexGuard<'_, Books<P>> {
        // What is behind the lock is whole at all times.
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn stats(&self) -> PoolStats {
        let b = self.books();
        PoolStats { in_use: b.in_use, cached: b.cached, peak: b.peak, budget: self.budget }
    }

    /// Starts a new peak.
    pub(super) fn reset_peak(&self) {
        let mut books = self.books();
        books.peak = books.in_use;
    }

    /// The bytes that can still be allocated.
    pub(super) fn room(&self) -> u64 {
        self.budget.saturating_sub(self.books().in_use)
    }

    /// Allocates memory for an array; returns its capacity too.
    pub(super) fn alloc(&self, port: &P, bytes: usize, what: &str) -> Result<(P::Mem, usize), NoMemory> {
        let mut books = self.books();
        let over = |books: &Books<P>, budget: Option<u64>| {
            NoMemory::Over(OverBudget { what: what.into(), asked: bytes as u64, in_use: books.in_use, budget })
        };
        let Some(size) = rounded(bytes).filter(|size| *size as u64 <= self.budget) else {
            return Err(over(&books, Some(self.budget)));
        };
        if let Some((size, mem)) = books.cached(size) {
            port.reused(&mem);
            return Ok((mem, size));
        }
        if books.in_use + books.cached + size as u64 > self.budget {
            books.clear();
            if books.in_use + size as u64 > self.budget {
                return Err(over(&books, Some(self.budget)));
            }
        }
        let mem = match port.alloc(size) {
            Err(PortError::OutOfMemory) => {
                books.clear();
                match port.alloc(size) {
                    Err(PortError::OutOfMemory) => return Err(over(&books, None)),
                    again => again,
                }
            }
            first => first,
        };
        let mem = mem.map_err(NoMemory::Port)?;
        books.took(size);
        Ok((mem, size))
    }

    /// Forgets the cache without freeing it.
    pub(super) fn leak(&self) {
        std::mem::take(&mut self.books().free).into_values().flatten().for_each(std::mem::forget);
    }

    /// Frees memory: it goes to the cache.
    pub(super) fn put(&self, mem: P::Mem, size: usize) {
        let mut books = self.books();
        books.in_use = books.in_use.saturating_sub(size as u64);
        books.cached += size as u64;
        books.free.entry(size).or_default().push(mem);
    }
}

impl<P: Port> Books<P> {
    /// Cached memory of about that size.
    fn cached(&mut self, size: usize) -> Option<(usize, P::Mem)> {
        let (&found, list) = self.free.range_mut(size..=size.saturating_add(size / ROUNDED)).next()?;
        let mem = list.pop()?;
        if list.is_empty() {
            self.free.remove(&found);
        }
        self.cached -= found as u64;
        self.took(found);
        Some((found, mem))
    }

    fn took(&mut self, size: usize) {
        self.in_use += size as u64;
        self.peak = self.peak.max(self.in_use);
    }

    /// Returns the cache to the device.
    fn clear(&mut self) {
        self.free.clear();
        self.cached = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_rounded_by_an_eighth_at_most() {
        assert_eq!([0, 1, 256, 257].map(rounded), [Some(256), Some(256), Some(256), Some(512)]);
        for bytes in [5000, 100_001, (1 << 20) + 1, 3_333_333] {
            let size = rounded(bytes).unwrap();
            assert!(size >= bytes && size - bytes <= (bytes / ROUNDED).max(LEAST), "{bytes}: {size}");
        }
        assert_eq!(rounded(usize::MAX), None);
    }
}
