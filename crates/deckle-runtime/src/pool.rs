//! Memory within a budget.
//!
//! # What is counted
//!
//! The capacity of every block that the pool holds, in use or cached: payload, padding and rounding (at most a quarter more than
//! requested, 64 KiB more for a large array). Not counted: memory with other owners ([`Buffer::from_external`]), code, and
//! the few words of bookkeeping per array.
//!
//! # Caching
//!
//! A block whose last owner drops it is cached for the next array of about its size: its pages are mapped already, and in a
//! stream every chunk requests the same sizes again. Cached blocks count toward the budget, but they never cause a
//! failure: they go back to the system before an allocation is refused. Without a budget the pool holds at most twice the
//! peak use (and at least [`FREE_HAND`]), so the cache is bounded then too.
//!
//! # Scenarios
//!
//! - *Budget 512M, a chunk needs 300M, the last chunk's 300M are free*: the cached block is taken; nothing is mapped.
//! - *Budget 512M, 300M cached, 400M requested*: 300M do not fit and go back to the system, 400M are mapped.
//! - *Budget 512M, 300M in use, 400M requested*: [`OverBudget`], naming the array.
//!
//! # Checked mode
//!
//! Arrays of [`Pool::checked`] are poisoned, lie between red zones and record which of their bytes have been written: see [`crate::guarded`]. Red zones are
//! verified when an array is dropped; [`Pool::take_damage`] returns the findings. Other pools have none of this.
//!
//! One lock guards the accounting. An allocation is made per array and chunk, never per element, so the lock is not contended.

use crate::block::{Block, PADDING, capacity_for, zeros_by};
use crate::buffer::{Buffer, Plain};
use crate::guarded::{Guarded, RED};
use crate::team::Team;
use std::alloc::Layout;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The bytes that a pool without a budget may always hold.
pub const FREE_HAND: u64 = 64 << 20;

/// A source of [`Buffer`]s that counts their bytes against a budget. Clones are handles to the same pool.
#[derive(Clone, Debug)]
pub struct Pool(Arc<Shared>);

/// The state to which buffers return their blocks.
#[derive(Debug)]
pub(crate) struct Shared {
    budget: Option<u64>,
    books: Mutex<Books>,
    /// Whether arrays are guarded, and the damage found so far.
    checked: Option<Mutex<Vec<String>>>,
}

/// Invariant: `in_use + cached` is at most the budget, and `cached` is the sum of the capacities in `free`.
#[derive(Debug, Default)]
struct Books {
    in_use: u64,
    cached: u64,
    peak: u64,
    /// The part of `in_use` that was requested, and its peak.
    data: u64,
    data_peak: u64,
    /// By capacity; no empty lists.
    free: BTreeMap<usize, Vec<Block>>,
}

/// Bytes held by a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stats {
    /// Held by live buffers.
    pub current: u64,
    /// Cached for the next arrays.
    pub cached: u64,
    /// The peak of `current` since the pool was created or [`Pool::reset_peak`] was called.
    pub peak: u64,
    /// The peak of the bytes of elements alone since then: without padding and rounding.
    pub data_peak: u64,
    /// The maximum of the sum of `current` and `cached`.
    pub budget: Option<u64>,
}

/// A failed allocation of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// The name of the array.
    pub what: String,
    /// Bytes of the array.
    pub asked: u64,
    /// Bytes of the pool that were in use.
    pub in_use: u64,
    /// The budget that would have been exceeded; `None` if the system had no more memory.
    pub budget: Option<u64>,
}

impl std::error::Error for OverBudget {}

impl fmt::Display for OverBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OverBudget { what, asked, in_use, budget } = self;
        write!(f, "{what} needs {}, but {} are in use and ", Bytes(*asked), Bytes(*in_use))?;
        match budget {
            Some(budget) => write!(f, "the memory budget is {}", Bytes(*budget)),
            None => write!(f, "the system has no more"),
        }
    }
}

/// A number of bytes, shown in a readable unit.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        if self.0 < 1024 {
            return write!(f, "{} B", self.0);
        }
        let unit = self.0.ilog2() as usize / 10 - 1;
        let amount = self.0 as f64 / (1u64 << (10 * (unit + 1))) as f64;
        let decimals = if amount.fract() == 0.0 || amount >= 100.0 { 0 } else { 1 };
        write!(f, "{amount:.decimals$} {}", UNITS[unit])
    }
}

impl Pool {
    /// A pool that holds at most `budget` bytes, or any number.
    pub fn new(budget: Option<u64>) -> Pool {
        Pool(Arc::new(Shared { budget, books: Mutex::default(), checked: None }))
    }

    /// As [`Pool::new`], in checked mode.
    pub fn checked(budget: Option<u64>) -> Pool {
        Pool(Arc::new(Shared { budget, books: Mutex::default(), checked: Some(Mutex::default()) }))
    }

    /// Whether this pool is in checked mode.
    pub fn is_checked(&self) -> bool {
        self.0.checked.is_some()
    }

    /// Damage to red zones found since the last call, as text: each is a bug of Deckle.
    pub fn take_damage(&self) -> Vec<String> {
        let damage = self.0.checked.as_ref().map(|d| std::mem::take(&mut *lock(d)));
        damage.unwrap_or_default()
    }

    /// An array of `bytes`, whose contents are unspecified: zero, or those of an earlier array. Its padding is zero. In checked mode both are poison.
    ///
    /// `what` names the array in the error.
    pub fn alloc(&self, bytes: usize, what: &str) -> Result<Buffer, OverBudget> {
        let refuse = |in_use, budget| OverBudget { what: what.to_string(), asked: bytes as u64, in_use, budget };
        let zone = if self.is_checked() { RED } else { 0 };
        let Some(capacity) = bytes.checked_add(zone).and_then(capacity_for) else {
            return Err(refuse(self.0.books().in_use, self.0.budget));
        };
        let block = self.0.take(capacity, bytes as u64).map_err(|(in_use, budget)| refuse(in_use, budget))?;
        let guarded = self.is_checked().then(|| Guarded::new(&block, bytes, what));
        Ok(Buffer::pooled(block, self.0.clone(), bytes, guarded))
    }

    /// An array with the given elements.
    pub fn alloc_from<T: Plain>(&self, elements: &[T], what: &str) -> Result<Buffer, OverBudget> {
        let mut buffer = self.alloc(std::mem::size_of_val(elements), what)?;
        if let Some(all) = buffer.get_mut::<T>() {
            all.copy_from_slice(elements);
        }
        Ok(buffer)
    }

    /// An array of `bytes` zeros in memory that a vector of elements of `elem` bytes each can own: see [`Buffer::into_vec`]. It is not cached. A team clears it. In checked mode
    /// it is as from [`Pool::alloc`].
    pub fn alloc_vec(&self, bytes: usize, elem: usize, team: &Team, what: &str) -> Result<Buffer, OverBudget> {
        if self.is_checked() || bytes == 0 {
            return self.alloc(bytes, what);
        }
        if let Some(few) = Buffer::inside(bytes) {
            return Ok(few);
        }
        let refuse = |in_use, budget| OverBudget { what: what.to_string(), asked: bytes as u64, in_use, budget };
        let capacity = bytes.checked_add(PADDING).map(|n| n.next_multiple_of(elem.max(1)));
        let layout = capacity.and_then(|n| Layout::from_size_align(n, elem).ok());
        let Some(layout) = layout else { return Err(refuse(self.0.books().in_use, self.0.budget)) };
        let counted = layout.size() as u64;
        self.0.reserve(counted).map_err(|(in_use, budget)| refuse(in_use, budget))?;
        let start = zeros_by(team, layout).ok_or_else(|| {
            self.0.release(counted);
            refuse(self.0.books().in_use, None)
        })?;
        Ok(Buffer::of_vec(start, layout, bytes, Some((self.0.clone(), counted))))
    }

    /// The memory of a vector, counted from now on.
    pub fn adopt<T: Plain>(&self, elements: Vec<T>, what: &str) -> Result<Buffer, OverBudget> {
        if self.is_checked() {
            return self.alloc_from(&elements, what);
        }
        let (bytes, counted) = (size_of_val(&elements[..]) as u64, (elements.capacity() * size_of::<T>()) as u64);
        let refuse = |(in_use, budget)| OverBudget { what: what.to_string(), asked: bytes, in_use, budget };
        self.0.reserve(counted).map_err(refuse)?;
        Ok(Buffer::from_vec(elements).counted(&self.0, counted))
    }

    /// The bytes that the pool holds now.
    pub fn stats(&self) -> Stats {
        let books = self.0.books();
        let (budget, data_peak) = (self.0.budget, books.data_peak);
        Stats { current: books.in_use, cached: books.cached, peak: books.peak, data_peak, budget }
    }

    /// Resets the peak: for the peak of one run in a process of several.
    pub fn reset_peak(&self) {
        let mut books = self.0.books();
        (books.peak, books.data_peak) = (books.in_use, books.data);
    }

    /// Returns all cached blocks to the system.
    pub fn trim(&self) {
        let mut books = self.0.books();
        books.cached = 0;
        let free = std::mem::take(&mut books.free);
        drop(books);
        drop(free);
    }
}

/// Without a budget.
impl Default for Pool {
    fn default() -> Pool {
        Pool::new(None)
    }
}

impl Shared {
    /// The accounting is changed by assignments that cannot panic, so it is consistent even if a lock is poisoned.
    fn books(&self) -> MutexGuard<'_, Books> {
        lock(&self.books)
    }

    /// Records damage to a red zone.
    pub(crate) fn note_damage(&self, what: String) {
        if let Some(damage) = &self.checked {
            lock(damage).push(what);
        }
    }

    /// A block of at least `capacity` bytes, cached or new. The error holds the bytes in use, and the budget if that is the
    /// reason.
    fn take(&self, capacity: usize, data: u64) -> Result<Block, (u64, Option<u64>)> {
        let mut books = self.books();
        if let Some(block) = books.take_cached(capacity) {
            books.hold_more(data);
            return Ok(block);
        }
        let asked = capacity as u64;
        self.make_room(&mut books, asked)?;
        let block = Block::map(capacity).or_else(|| {
            // The system is short of memory: cached blocks are freed first.
            books.give_up(0);
            Block::map(capacity)
        });
        let block = block.ok_or((books.in_use, None))?;
        books.use_more(asked);
        books.hold_more(data);
        Ok(block)
    }

    /// Counts memory that is not the pool's own. The error is as for [`Shared::take`].
    fn reserve(&self, bytes: u64) -> Result<(), (u64, Option<u64>)> {
        let mut books = self.books();
        self.make_room(&mut books, bytes)?;
        books.use_more(bytes);
        books.hold_more(bytes);
        Ok(())
    }

    /// Frees cached blocks until `bytes` more fit the budget. The error is as for [`Shared::take`].
    fn make_room(&self, books: &mut Books, bytes: u64) -> Result<(), (u64, Option<u64>)> {
        if self.budget.is_some_and(|budget| books.in_use + bytes > budget) {
            return Err((books.in_use, self.budget));
        }
        let limit = self.budget.unwrap_or_else(|| books.free_hand(bytes));
        books.give_up(limit.saturating_sub(bytes));
        Ok(())
    }

    /// Removes it from the count.
    pub(crate) fn release(&self, bytes: u64) {
        let mut books = self.books();
        books.data -= bytes;
        books.in_use -= bytes;
    }

    /// Takes back the block of a buffer without owners.
    pub(crate) fn put(&self, block: Block, data: u64) {
        let mut books = self.books();
        books.data -= data;
        let capacity = block.capacity();
        books.in_use -= capacity as u64;
        books.cached += capacity as u64;
        books.free.entry(capacity).or_default().push(block);
        if self.budget.is_none() {
            let limit = books.free_hand(0);
            books.give_up(limit);
        }
    }
}

impl Books {
    fn use_more(&mut self, bytes: u64) {
        self.in_use += bytes;
        self.peak = self.peak.max(self.in_use);
    }

    fn hold_more(&mut self, data: u64) {
        self.data += data;
        self.data_peak = self.data_peak.max(self.data);
    }

    fn free_hand(&self, more: u64) -> u64 {
        (2 * self.peak.max(self.in_use + more)).max(FREE_HAND)
    }

    /// The smallest cached block of at least `capacity` that wastes at most a quarter.
    fn take_cached(&mut self, capacity: usize) -> Option<Block> {
        let fitting = *self.free.range(capacity..=capacity + capacity / 4).next()?.0;
        let block = self.take_free(fitting)?;
        self.use_more(fitting as u64);
        Some(block)
    }

    fn take_free(&mut self, capacity: usize) -> Option<Block> {
        let list = self.free.get_mut(&capacity)?;
        let block = list.pop();
        if list.is_empty() {
            self.free.remove(&capacity);
        }
        self.cached -= block.as_ref().map_or(0, |b| b.capacity() as u64);
        block
    }

    /// Frees cached blocks until at most `limit` bytes are held: the smallest that suffices, else the largest.
    fn give_up(&mut self, limit: u64) {
        while self.in_use + self.cached > limit {
            let excess = usize::try_from(self.in_use + self.cached - limit).unwrap_or(usize::MAX);
            let sufficient = self.free.range(excess..).next().or_else(|| self.free.last_key_value());
            let Some(capacity) = sufficient.map(|(capacity, _)| *capacity) else { return };
            drop(self.take_free(capacity));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The bytes that a pool counts for an array of `bytes`; `None` if that exceeds the address space.
pub fn counted_bytes(bytes: usize) -> Option<u64> {
    capacity_for(bytes).map(|c| c as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: usize = if cfg!(miri) { 1 << 10 } else { 1 << 20 };

    #[test]
    fn bytes_are_counted_until_they_are_dropped() {
        let pool = Pool::new(Some(100 * UNIT as u64));
        let a = pool.alloc(10 * UNIT, "a").unwrap();
        let b = pool.alloc(20 * UNIT, "b").unwrap();
        let both = pool.stats();
        assert!(both.current >= 30 * UNIT as u64 && both.current <= 38 * UNIT as u64, "{both:?}");
        drop(a.clone());
        assert_eq!(pool.stats().current, both.current);
        drop((a, b));
        let after = pool.stats();
        assert_eq!((after.current, after.cached, after.peak), (0, both.current, both.current));
        pool.reset_peak();
        pool.trim();
        let none = Stats { current: 0, cached: 0, peak: 0, data_peak: 0, budget: Some(100 * UNIT as u64) };
        assert_eq!(pool.stats(), none);
    }

    #[test]
    fn what_is_too_large_is_refused_with_names_and_numbers() {
        let pool = Pool::new(Some(512 << 20));
        let _held = pool.alloc(1000, "small");
        let error = pool.alloc(3 << 29, "the array `xs`").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the array `xs` needs 1.5 GiB, but 1.2 KiB are in use and the memory budget is 512 MiB"
        );
        let error = pool.alloc(usize::MAX, "everything").unwrap_err();
        assert!(error.to_string().starts_with("everything needs 16 EiB, but "), "{error}");
        let error = OverBudget { what: "it".into(), asked: 100, in_use: 2048, budget: None };
        assert_eq!(error.to_string(), "it needs 100 B, but 2 KiB are in use and the system has no more");
    }

    #[test]
    fn freed_blocks_are_used_again() {
        let pool = Pool::new(None);
        let a = pool.alloc(4 * UNIT, "a").unwrap();
        let place = a.as_ptr();
        drop(a);
        let b = pool.alloc(4 * UNIT - 100, "b").unwrap();
        assert_eq!(b.as_ptr(), place);
        assert_eq!(pool.stats().cached, 0);
    }

    #[test]
    fn a_much_larger_block_is_not_wasted_on_a_small_array() {
        let pool = Pool::new(None);
        drop(pool.alloc(4 * UNIT, "a").unwrap());
        let _b = pool.alloc(UNIT, "b").unwrap();
        assert!(pool.stats().cached >= 4 * UNIT as u64);
    }

    #[test]
    fn cached_blocks_are_given_up_before_an_array_is_refused() {
        let pool = Pool::new(Some(10 * UNIT as u64));
        drop((pool.alloc(2 * UNIT, "a").unwrap(), pool.alloc(4 * UNIT, "b").unwrap()));
        let c = pool.alloc(8 * UNIT, "c").unwrap();
        let stats = pool.stats();
        assert!(stats.current + stats.cached <= 10 * UNIT as u64, "{stats:?}");
        assert!(pool.alloc(4 * UNIT, "d").is_err());
        drop(c);
        assert!(pool.alloc(4 * UNIT, "d").is_ok());
    }

    #[test]
    fn a_refused_array_changes_nothing() {
        let pool = Pool::new(Some(10 * UNIT as u64));
        drop(pool.alloc(4 * UNIT, "a").unwrap());
        let before = pool.stats();
        assert!(pool.alloc(20 * UNIT, "b").is_err());
        assert_eq!(pool.stats(), before);
    }

    #[test]
    fn without_a_budget_the_cache_is_bounded_by_the_peak() {
        let pool = Pool::new(None);
        let unit = if cfg!(miri) { 1 << 20 } else { 4 << 20 };
        for k in 1..60 {
            drop(pool.alloc(k * unit, "a").unwrap());
            let stats = pool.stats();
            assert!(stats.cached <= (2 * stats.peak).max(FREE_HAND), "{stats:?}");
        }
    }

    #[test]
    fn threads_share_a_pool() {
        let pool = Pool::new(Some(64 * UNIT as u64));
        std::thread::scope(|s| {
            for t in 0..4 {
                let pool = &pool;
                s.spawn(move || {
                    for k in 0..50 {
                        let mut b = pool.alloc(1000 * (k % 7 + 1), "b").unwrap();
                        b.get_mut::<u8>().unwrap().fill(t);
                        assert!(b.as_slice::<u8>().iter().all(|&x| x == t));
                    }
                });
            }
        });
        assert_eq!(pool.stats().current, 0);
    }

    #[test]
    fn bytes_read_well() {
        let shown: Vec<String> = [0, 1023, 1024, 1536, 300 << 20, 123_456_789].map(|b| Bytes(b).to_string()).into();
        assert_eq!(shown, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "300 MiB", "118 MiB"]);
    }
}
