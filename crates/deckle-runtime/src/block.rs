//! Raw blocks of memory, and their size classes.
//!
//! A block is memory from the system without an owner yet: the pool hands it out and takes it back, and only the pool
//! frees it.
//!
//! Small blocks come from the global allocator. Blocks of [`LARGE`] bytes or more are mapped, begin at a multiple of the
//! huge page size, and request huge pages: if the system's setting is `madvise`, they are not used otherwise, and without
//! them streaming kernels spend a good part of their time in page faults and TLB misses.

#![allow(unsafe_code)] // It is about raw memory.

use crate::team::Team;
use std::alloc::Layout;
use std::ptr::NonNull;

/// Every block begins at a multiple of this: a cache line, and a full vector.
pub const ALIGN: usize = 64;

/// Bytes that may be read past the last byte of a payload, and the least size of a payload's memory.
pub const PADDING: usize = 64;

/// Blocks from this size on are mapped rather than taken from the allocator.
pub const LARGE: usize = 2 << 20;

#[cfg(all(unix, not(miri)))]
const HUGE_PAGE: usize = 2 << 20;
/// Capacities of large blocks are multiples of this, so that chunks of nearly equal size can reuse each other's blocks.
const LARGE_STEP: usize = 64 << 10;

/// From this size on several threads clear memory for vectors: for less, waking them takes longer than clearing.
const CLEARED_BY_ALL: usize = 1 << 20;
/// Up to this size: glibc maps larger memory, and mapped memory is zero without being written.
const CLEARED_BY_SYSTEM: usize = 32 << 20;
/// The bytes that one task clears.
const CLEARED_AT_ONCE: usize = 256 << 10;

/// Memory that begins at a multiple of [`ALIGN`], all of it initialised.
#[derive(Debug)]
pub struct Block {
    start: NonNull<u8>,
    capacity: usize,
}

// SAFETY: a block is owned memory; it is tied to no thread.
unsafe impl Send for Block {}

impl Block {
    /// Allocates `capacity` zero bytes from the system, which may refuse. `capacity` is one of [`capacity_for`].
    pub fn map(capacity: usize) -> Option<Block> {
        debug_assert!(capacity >= ALIGN && capacity.is_multiple_of(ALIGN));
        let start = if capacity >= LARGE { map_large(capacity) } else { allocate(capacity) }?;
        Some(Block { start, capacity })
    }

    /// The first byte.
    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// All bytes, padding included.
    pub fn capacity(&self) -> usize {
        self.capacity
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: `start` and `capacity` are those of `map`, which decided by the same comparison, and the block is freed
        // once since it is not `Clone`.
        unsafe {
            if self.capacity >= LARGE {
                unmap_large(self.start, self.capacity)
            } else {
                free(self.start, self.capacity)
            }
        }
    }
}

/// The capacity of the block for a payload of `bytes`: padding included, rounded up so that few different capacities
/// occur. `None` if there is no such size.
///
/// Small capacities are a power of two or 1.25, 1.5 or 1.75 times one, so at most a fifth of a block is lost to rounding.
pub fn capacity_for(bytes: usize) -> Option<usize> {
    let least = bytes.max(PADDING).checked_add(PADDING)?;
    if least > isize::MAX as usize / 2 {
        return None;
    }
    let step = if least > LARGE / 2 { LARGE_STEP } else { (1usize << ((least - 1).ilog2() - 2)).max(ALIGN) };
    Some(least.next_multiple_of(step))
}

fn layout(capacity: usize) -> Layout {
    Layout::from_size_align(capacity, ALIGN).expect("capacities are at most half of the address space")
}

fn allocate(capacity: usize) -> Option<NonNull<u8>> {
    zeros(layout(capacity))
}

/// Zero bytes from the global allocator, with huge pages for large sizes. `None` if the allocation fails or the size is zero.
pub fn zeros(layout: Layout) -> Option<NonNull<u8>> {
    if layout.size() == 0 {
        return None;
    }
    // SAFETY: the layout is not of size zero.
    let start = NonNull::new(unsafe { std::alloc::alloc_zeroed(layout) })?;
    advise(start, layout);
    Some(start)
}

/// The same, cleared by the threads of a team if an allocator is likely to return memory that was used before: clearing it on one thread would keep all
/// others waiting.
pub fn zeros_by(team: &Team, layout: Layout) -> Option<NonNull<u8>> {
    let bytes = layout.size();
    if team.threads() == 1 || !(CLEARED_BY_ALL..=CLEARED_BY_SYSTEM).contains(&bytes) {
        return zeros(layout);
    }
    // SAFETY: the layout is not of size zero.
    let start = NonNull::new(unsafe { std::alloc::alloc(layout) })?;
    advise(start, layout);
    let address = start.as_ptr().expose_provenance();
    let clear = |from: usize, to: usize| {
        let at = std::ptr::with_exposed_provenance_mut::<u8>(address + from);
        // SAFETY: a part of the allocation, which no other code has yet; parts do not overlap.
        unsafe { at.write_bytes(0, to - from) }
    };
    let part = |task: usize| (task * CLEARED_AT_ONCE).min(bytes);
    let done = team.run(bytes.div_ceil(CLEARED_AT_ONCE), &|task, _| clear(part(task), part(task + 1)));
    if done.is_err() {
        // Some parts may have been skipped, and memory must always be initialised.
        clear(0, bytes);
    }
    Some(start)
}

/// Requests huge pages for large sizes.
fn advise(start: NonNull<u8>, layout: Layout) {
    #[cfg(all(target_os = "linux", not(miri)))]
    if layout.size() >= 2 * LARGE {
        let (lo, hi) = (start.as_ptr() as usize, start.as_ptr() as usize + layout.size());
        let (lo, hi) = (lo.next_multiple_of(HUGE_PAGE), hi / HUGE_PAGE * HUGE_PAGE);
        // SAFETY: whole pages inside of the allocation; advice does not change their contents.
        unsafe { libc::madvise(lo as *mut libc::c_void, hi.saturating_sub(lo), libc::MADV_HUGEPAGE) };
    }
    #[cfg(not(all(target_os = "linux", not(miri))))]
    let _ = (start, layout);
}

/// # Safety
/// `start` came from `allocate(capacity)` and is not used afterwards.
unsafe fn free(start: NonNull<u8>, capacity: usize) {
    // SAFETY: by the contract above, the same layout.
    unsafe { std::alloc::dealloc(start.as_ptr(), layout(capacity)) }
}

/// Maps one huge page more than requested and unmaps the ends, since the system aligns to small pages only. The
/// last part of a block, less than a huge page, consists of small pages: touching the padding of an array whose length is a
/// power of two must not cost two megabytes.
#[cfg(all(unix, not(miri)))]
fn map_large(capacity: usize) -> Option<NonNull<u8>> {
    let mapped = capacity.checked_add(HUGE_PAGE)?;
    // SAFETY: a new anonymous mapping at an address of the system's choice overlaps no existing memory. The unmapped
    // parts lie within it, are whole pages (`capacity` is a multiple of 64 KiB), and are not in use.
    unsafe {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let base = libc::mmap(std::ptr::null_mut(), mapped, protection, libc::MAP_PRIVATE | libc::MAP_ANON, -1, 0);
        if base == libc::MAP_FAILED {
            return None;
        }
        let head = (base as usize).next_multiple_of(HUGE_PAGE) - base as usize;
        let tail = HUGE_PAGE - head;
        let start = base.cast::<u8>().add(head);
        if head > 0 {
            libc::munmap(base, head);
        }
        if tail > 0 {
            libc::munmap(start.add(capacity).cast(), tail);
        }
        // Only advice: without huge pages everything works, slower.
        #[cfg(target_os = "linux")]
        libc::madvise(start.cast(), capacity, libc::MADV_HUGEPAGE);
        NonNull::new(start)
    }
}

/// # Safety
/// `start` came from `map_large(capacity)` and is not used afterwards.
#[cfg(all(unix, not(miri)))]
unsafe fn unmap_large(start: NonNull<u8>, capacity: usize) {
    // SAFETY: by the contract above the range is a mapping of ours.
    unsafe {
        libc::munmap(start.as_ptr().cast(), capacity);
    }
}

#[cfg(not(all(unix, not(miri))))]
fn map_large(capacity: usize) -> Option<NonNull<u8>> {
    allocate(capacity)
}

/// # Safety
/// As of [`free`].
#[cfg(not(all(unix, not(miri))))]
unsafe fn unmap_large(start: NonNull<u8>, capacity: usize) {
    // SAFETY: the caller's promise.
    unsafe { free(start, capacity) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacities_hold_payload_and_padding_with_little_loss() {
        assert_eq!(capacity_for(0), Some(128));
        assert_eq!(capacity_for(64), Some(128));
        assert_eq!(capacity_for(65), Some(192));
        let mut bytes = 0;
        while bytes < 64 << 20 {
            let capacity = capacity_for(bytes).unwrap();
            assert!(capacity >= bytes + PADDING && capacity.is_multiple_of(ALIGN), "{bytes}: {capacity}");
            let least = bytes.max(PADDING) + PADDING;
            assert!(capacity - least < (least / 4).max(ALIGN), "{bytes}: {capacity}");
            bytes = bytes * 9 / 8 + 1;
        }
    }

    #[test]
    fn capacities_are_stable_under_reuse() {
        // A payload that fits a block exactly requests a block of the same capacity again.
        for bytes in [1, 100, 1000, 5000, 1 << 20, 3 << 20] {
            let capacity = capacity_for(bytes).unwrap();
            assert_eq!(capacity_for(capacity - PADDING), Some(capacity), "{bytes}");
        }
    }

    #[test]
    fn impossible_sizes_have_no_capacity() {
        assert_eq!(capacity_for(usize::MAX), None);
        assert_eq!(capacity_for(usize::MAX - 64), None);
        assert_eq!(capacity_for(isize::MAX as usize), None);
    }

    #[test]
    fn memory_for_vectors_is_zero_whoever_clears_it() {
        let sizes = [1, CLEARED_BY_ALL - 1, CLEARED_BY_ALL, CLEARED_BY_ALL + 5, 3 * CLEARED_AT_ONCE * 4];
        for team in [1, 3].map(Team::new) {
            for bytes in sizes {
                // The second time, an allocator may return the memory of the first.
                for _ in 0..2 {
                    let layout = Layout::from_size_align(bytes, 8).unwrap();
                    let start = zeros_by(&team, layout).unwrap();
                    // SAFETY: it was allocated just now with that many bytes, and is freed once.
                    unsafe {
                        let all = std::slice::from_raw_parts_mut(start.as_ptr(), bytes);
                        assert!(all.iter().all(|&b| b == 0), "{bytes}");
                        all.fill(7);
                        std::alloc::dealloc(start.as_ptr(), layout);
                    }
                }
            }
        }
        let (interrupt, layout) = (std::sync::Arc::<std::sync::atomic::AtomicBool>::default(), layout(4 << 20));
        interrupt.store(true, std::sync::atomic::Ordering::Relaxed);
        let start = zeros_by(&Team::with_interrupt(2, interrupt), layout).unwrap();
        // SAFETY: as above.
        unsafe {
            assert!(std::slice::from_raw_parts(start.as_ptr(), layout.size()).iter().all(|&b| b == 0));
            std::alloc::dealloc(start.as_ptr(), layout);
        }
    }

    #[test]
    fn blocks_are_aligned_zero_and_writable_to_the_end() {
        for bytes in [0, 1000, LARGE - 1, LARGE, LARGE + (1 << 20)] {
            let bytes = if cfg!(miri) { bytes / 64 } else { bytes };
            let capacity = capacity_for(bytes).unwrap();
            let block = Block::map(capacity).unwrap();
            assert!((block.start().as_ptr() as usize).is_multiple_of(ALIGN));
            if cfg!(unix) && !cfg!(miri) && capacity >= LARGE {
                assert!((block.start().as_ptr() as usize).is_multiple_of(2 << 20));
            }
            // SAFETY: the block is ours and has `capacity` initialised bytes.
            let all = unsafe { std::slice::from_raw_parts_mut(block.start().as_ptr(), capacity) };
            assert!(all.iter().all(|&b| b == 0));
            all.fill(7);
        }
    }
}
