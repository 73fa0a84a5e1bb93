//! Checked memory: the additional state of every array of a pool in checked mode.
//!
//! An array of such a pool lies between two red zones, whose bytes must not change; its elements hold [`POISON`] at first; and each of its
//! bytes has a *shadow* byte, which is 0 once the byte has been written and `0xff` before. Code that was compiled in checked mode updates the
//! shadow at its stores and tests it at its loads. Rust code that requests write access to an array ([`Buffer::get_mut`]) is assumed to write all of it.
//!
//! Shadows do not count against the budget, since a program does not need them; red zones do.
//!
//! [`Buffer::get_mut`]: crate::Buffer::get_mut

#![allow(unsafe_code)] // Red zones are read in place, around the bytes of an array.

use crate::block::{ALIGN, Block};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// The bytes of a red zone before an array. The one behind it reaches to the end of the block, and has at least as many.
pub(crate) const RED: usize = ALIGN;
/// The bytes of red zones.
const ZONE: u8 = 0xfd;
/// The bytes of an array before they are written.
pub const POISON: u8 = 0xdb;
/// The shadow of an unwritten byte.
const UNWRITTEN: u8 = 0xff;

/// The shadow and the red zones of one array.
#[derive(Debug)]
pub(crate) struct Guarded {
    /// The name of the array.
    what: String,
    shadow: Box<[AtomicU8]>,
}

impl Guarded {
    /// Poisons an unused block, for an array of `len` bytes that begins after the first red zone.
    pub(crate) fn new(block: &Block, len: usize, what: &str) -> Guarded {
        // SAFETY: the block has room for a red zone, the array and the padding, and belongs to the caller.
        unsafe {
            block.start().write_bytes(ZONE, block.capacity());
            block.start().add(RED).write_bytes(POISON, len);
        }
        Guarded { what: what.to_string(), shadow: (0..len).map(|_| AtomicU8::new(UNWRITTEN)).collect() }
    }

    /// The start of the array.
    pub(crate) fn start(block: &Block) -> NonNull<u8> {
        // SAFETY: within the block, which has room for a red zone and the array.
        unsafe { block.start().add(RED) }
    }

    /// The shadow of a byte, and of those after it. Other threads may read and write it meanwhile.
    pub(crate) fn shadow(&self, from: usize) -> *mut u8 {
        self.shadow[from..].as_ptr().cast::<u8>().cast_mut()
    }

    /// The first unwritten byte of a range, counted from its start.
    pub(crate) fn unwritten(&self, from: usize, len: usize) -> Option<usize> {
        self.shadow[from..from + len].iter().position(|s| s.load(Relaxed) != 0)
    }

    /// Marks all bytes as written.
    pub(crate) fn written(&self) {
        self.shadow.iter().for_each(|s| s.store(0, Relaxed));
    }

    /// Copies the shadow of another array, from one of its bytes on, to the first bytes, and marks the others as unwritten.
    pub(crate) fn as_written_as(&self, other: Option<(&Guarded, usize)>, len: usize) {
        for (k, s) in self.shadow.iter().enumerate() {
            let there = |(other, from): (&Guarded, usize)| other.shadow[from + k].load(Relaxed);
            let written = if k < len { other.map_or(0, there) } else { UNWRITTEN };
            s.store(written, Relaxed);
        }
    }

    /// A description of damage to the red zones. No thread may write to the block meanwhile.
    pub(crate) fn damage(&self, block: &Block) -> Option<String> {
        // SAFETY: the block is alive and initialised.
        let all = unsafe { std::slice::from_raw_parts(block.start().as_ptr(), block.capacity()) };
        let (before, rest) = all.split_at(RED);
        let behind = &rest[self.shadow.len()..];
        let intact = |b: &u8| *b == ZONE;
        let place = match (before.iter().rposition(|b| !intact(b)), behind.iter().position(|b| !intact(b))) {
            (Some(k), _) => format!("{} bytes before its start", RED - k),
            (None, Some(k)) => format!("{k} bytes behind its end"),
            (None, None) => return None,
        };
        Some(format!("the memory of {} ({} bytes) was written {place}", self.what, self.shadow.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Buffer, Pool};

    #[test]
    fn what_is_new_is_poison_and_unwritten() {
        let pool = Pool::checked(None);
        // The second time around, the block has been used.
        for _ in 0..2 {
            let mut b = pool.alloc(100, "b").unwrap();
            assert!(b.as_slice::<u8>().iter().all(|x| *x == POISON));
            assert_eq!((b.as_ptr() as usize % ALIGN, b.unwritten()), (0, Some(0)));
            b.get_mut::<u8>().unwrap().fill(1);
            assert_eq!((b.unwritten(), b.damage()), (None, None));
        }
        assert_eq!(pool.take_damage(), [""; 0]);
    }

    #[test]
    fn copies_know_what_was_written() {
        let pool = Pool::checked(None);
        let (mut a, b) = (pool.alloc(8, "a").unwrap(), pool.alloc_from(&[1u8, 2, 3, 4, 5], "b").unwrap());
        a.copy_from(&b.slice(2, 5), 3);
        assert_eq!((&a.as_slice::<u8>()[..3], a.unwritten()), (&[3, 4, 5][..], Some(3)));
        assert_eq!((a.slice(0, 3).unwritten(), a.slice(4, 8).unwritten()), (None, Some(0)));
        let mut c = pool.alloc(6, "c").unwrap();
        c.copy_from(&a.slice(1, 8), 6);
        assert_eq!(c.unwritten(), Some(2));
    }

    #[test]
    fn writing_into_a_red_zone_is_found() {
        for (at, place) in [
            (-1isize, "1 bytes before its start"),
            (-64, "64 bytes before"),
            (12, "0 bytes behind its end"),
            (70, "58 bytes behind"),
        ] {
            let pool = Pool::checked(None);
            let mut b = pool.alloc(12, "the array `xs`").unwrap();
            // SAFETY: a red zone has 64 bytes at least.
            unsafe { b.as_mut_ptr().unwrap().offset(at).write(0) };
            let found = b.damage().unwrap();
            assert!(
                found.starts_with("the memory of the array `xs` (12 bytes) was written") && found.contains(place),
                "{found}"
            );
            drop(b);
            assert_eq!(pool.take_damage(), [found]);
            assert_eq!(pool.take_damage(), [""; 0]);
        }
    }

    #[test]
    fn arguments_are_guarded_where_they_are_not() {
        let (plain, pool) = (Pool::new(None), Pool::checked(None));
        let given = plain.alloc_from(&[1i64, 2], "given").unwrap();
        let guarded = given.padded(&pool, "given").unwrap();
        assert!(given.shadow().is_none() && guarded.shadow().is_some() && guarded.unwritten().is_none());
        assert_eq!(guarded.padded(&pool, "given").unwrap().as_ptr(), guarded.as_ptr());
        assert!(Buffer::empty().padded(&pool, "nothing").unwrap().shadow().is_some());
    }
}
