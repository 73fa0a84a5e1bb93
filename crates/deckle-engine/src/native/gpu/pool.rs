//! Memory of a device within a budget. What is freed is kept, and given to later arrays.
//!
//! Everything that a device does is enqueued in one order, so memory may be handed out again as soon as the host lets go of it: whatever still uses it comes before whatever
//! uses it next. Nobody waits.
//!
//! If there is no room, or the device has no more, what is kept is freed, and one more attempt is made; then it is an error that names the array.

use crate::native::gpu::port::{Port, PortError};
use deckle_runtime::OverBudget;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sizes are multiples of this.
const LEAST: usize = 256;
/// An array is rounded up by at most one part in so many.
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
    /// Held by arrays.
    pub in_use: u64,
    /// Kept for later arrays.
    pub cached: u64,
    /// The largest that `in_use` has been.
    pub peak: u64,
    /// The most that both may be together.
    pub budget: u64,
}

/// Why there is no memory.
#[derive(Debug)]
pub(super) enum NoMemory {
    Over(OverBudget),
    Port(PortError),
}

/// How many bytes are allocated for an array.
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

    /// From now on `peak` is of what follows.
    pub(super) fn reset_peak(&self) {
        let mut books = self.books();
        books.peak = books.in_use;
    }

    /// How many bytes there is room for.
    pub(super) fn room(&self) -> u64 {
        self.budget.saturating_sub(self.books().in_use)
    }

    /// Memory for an array, and how large it is.
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

    /// Lets go of what is kept without freeing it.
    pub(super) fn leak(&self) {
        std::mem::take(&mut self.books().free).into_values().flatten().for_each(std::mem::forget);
    }

    /// Takes memory back.
    pub(super) fn put(&self, mem: P::Mem, size: usize) {
        let mut books = self.books();
        books.in_use = books.in_use.saturating_sub(size as u64);
        books.cached += size as u64;
        books.free.entry(size).or_default().push(mem);
    }
}

impl<P: Port> Books<P> {
    /// Memory of about that size that is kept.
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

    /// Gives what is kept back to the device.
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
