//! What compiled code is passed, and what it records.
//!
//! Without checked mode a buffer is a pointer. In checked mode its length and its shadow come along, and accesses that are out of range, or that read what has not been
//! written, come back in the record: see `deckle_llvm::emit`.
#![allow(unsafe_code)] // The record is written by compiled code.

use crate::Progress;
use crate::native::fault::Failure;
use deckle_llvm::emit::{NAME_WORDS, OUT_OF_RANGE, RECORD, ROUNDS, UNWRITTEN};
use deckle_runtime::Buffer;
use smallvec::SmallVec;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A list that is short as a rule, and then takes no allocation: a call that does little has few buffers and one thread.
pub(crate) type Few<T> = SmallVec<[T; 4]>;

/// A buffer that is passed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Passed<'a> {
    pointer: *mut u8,
    bytes: usize,
    shadow: *mut u8,
    /// What it is, in words.
    name: &'a str,
}

impl<'a> Passed<'a> {
    pub(crate) fn new(buffer: &Buffer, name: &'a str) -> Passed<'a> {
        let shadow = buffer.shadow().unwrap_or(std::ptr::null_mut());
        Passed { pointer: buffer.as_ptr().cast_mut(), bytes: buffer.len(), shadow, name }
    }

    /// Elements that the host holds, with a shadow for as many bytes.
    pub(crate) fn of_slice(elements: &mut [i64], shadow: &mut [u8], name: &'a str) -> Passed<'a> {
        let bytes = size_of_val(elements).min(shadow.len());
        Passed { pointer: elements.as_mut_ptr().cast(), bytes, shadow: shadow.as_mut_ptr(), name }
    }

    /// Some bytes of it, which must be in range.
    pub(crate) fn part(self, from: usize, bytes: usize) -> Passed<'a> {
        let shadow = if self.shadow.is_null() { self.shadow } else { self.shadow.wrapping_add(from) };
        Passed { pointer: self.pointer.wrapping_add(from), bytes, shadow, name: self.name }
    }
}

/// Buffers that are passed to several threads.
#[derive(Clone)]
pub(crate) struct Args<'a> {
    pub bufs: Few<Passed<'a>>,
    checked: bool,
    words: Few<*mut u8>,
}

// SAFETY: the buffers live as long as the call, and the kernels of one call write to different elements.
unsafe impl Sync for Args<'_> {}

impl<'a> Args<'a> {
    pub(crate) fn new(bufs: Few<Passed<'a>>, checked: bool) -> Args<'a> {
        let mut words: Few<*mut u8> = bufs.iter().map(|b| b.pointer).collect();
        if checked {
            words.extend(bufs.iter().map(|b| std::ptr::without_provenance_mut(b.bytes)));
            words.extend(bufs.iter().map(|b| b.shadow));
        }
        Args { bufs, checked, words }
    }

    pub(crate) fn get(&self) -> *const *mut u8 {
        self.words.as_ptr()
    }

    /// The same, and one more.
    pub(crate) fn with(&self, more: Passed<'a>) -> Args<'a> {
        Args::new(self.bufs.iter().copied().chain([more]).collect(), self.checked)
    }
}

/// What compiled code records where something failed: that it did, the site, the operands; and what checked mode found. It is rare, and larger than all else that a launch gives.
pub(crate) type Record = Box<Words>;

type Words = [u64; RECORD];

pub(crate) struct Shared(std::cell::UnsafeCell<Words>);

impl Default for Shared {
    fn default() -> Shared {
        Shared(std::cell::UnsafeCell::new([0; RECORD]))
    }
}

// SAFETY: compiled code stores to its first word with atomic stores only; the others are written by one thread.
unsafe impl Sync for Shared {}

impl Shared {
    pub(crate) fn get(&self) -> *mut u64 {
        self.0.get().cast()
    }

    /// Whether code that has returned noted a failure.
    pub(crate) fn has_failed(&self) -> bool {
        // SAFETY: the word is aligned, lives as long as this, and is only accessed atomically while code runs.
        unsafe { AtomicU64::from_ptr(self.get()) }.load(Relaxed) != 0
    }

    /// What was recorded, if something failed, when no code runs any more that was passed these buffers. Where a check failed, results mean nothing,
    /// and so it does not matter if some were not computed; but nothing may be out of range, except that an index that failed its check becomes 0, which
    /// an empty buffer does not have.
    ///
    /// # Errors
    /// What checked mode found: a bug.
    pub(crate) fn taken(&self, args: &Args<'_>, progress: &Progress) -> Result<Option<Record>, Failure> {
        // SAFETY: whoever was given the pointer has returned.
        let record = unsafe { &*self.0.get() };
        if record[ROUNDS] > 0 {
            progress.rounds.fetch_add(record[ROUNDS], Relaxed);
        }
        let failed = record[0] != 0;
        let of_nothing = |f: &Found| failed && f.len == 0 && f.index == 0;
        if let Some(found) = found(&record[OUT_OF_RANGE..], args).filter(|f| !of_nothing(f)) {
            let Found { function, buffer, index, len } = found;
            let message = format!("`{function}` accesses element {index} of {buffer}, which has {len}");
            return Err(Failure::Bug(message));
        }
        if let Some(found) = found(&record[UNWRITTEN..], args).filter(|_| !failed) {
            let Found { function, buffer, index, len } = found;
            let message =
                format!("`{function}` reads element {index} of {buffer} ({len} elements), which has not been written");
            return Err(Failure::Bug(message));
        }
        Ok(failed.then(|| Box::new(*record)))
    }
}

/// What checked mode found.
struct Found {
    function: String,
    buffer: String,
    index: i64,
    len: i64,
}

fn found(words: &[u64], args: &Args<'_>) -> Option<Found> {
    if words[0] == 0 {
        return None;
    }
    let name: Vec<u8> = words[4..4 + NAME_WORDS].iter().flat_map(|w| w.to_le_bytes()).filter(|b| *b != 0).collect();
    let number = words[1] as usize;
    let buffer = match args.bufs.get(number) {
        Some(b) => format!("buffer {number} ({})", b.name),
        None => format!("local buffer {}", number - args.bufs.len()),
    };
    let function = String::from_utf8_lossy(&name).into_owned();
    Some(Found { function, buffer, index: words[2] as i64, len: words[3] as i64 })
}
