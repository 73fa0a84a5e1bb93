//! One array, written by several tasks in disjoint ranges.

#![allow(unsafe_code)] // Ranges are disjoint by arithmetic, which the type system does not see.

use std::marker::PhantomData;
use std::ops::Range;

/// A mutable slice that is shared between the tasks of a job, which use disjoint ranges of it: from offsets that were checked
/// to ascend, from blocks of fixed size, or from prefix sums of counts.
pub struct Disjoint<'a, T> {
    start: *mut T,
    len: usize,
    array: PhantomData<&'a mut [T]>,
}

// SAFETY: tasks use disjoint elements, and `T: Send` lets each be used on another thread.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}
// SAFETY: as a `&mut [T]`.
unsafe impl<T: Send> Send for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    pub fn new(array: &'a mut [T]) -> Disjoint<'a, T> {
        Disjoint { start: array.as_mut_ptr(), len: array.len(), array: PhantomData }
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The elements of a range.
    ///
    /// # Safety
    /// While the slice is in use, no other code uses an element of the range, unless all only read.
    #[allow(clippy::mut_from_ref)] // The caller's promise.
    pub unsafe fn part(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} of {}", self.len);
        // SAFETY: within the array, which is borrowed mutably for 'a; not aliased by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }

    /// Writes one element.
    ///
    /// # Safety
    /// No other code uses this element during the job.
    #[inline]
    pub unsafe fn write(&self, at: usize, value: T) {
        assert!(at < self.len);
        // SAFETY: as for `part`.
        unsafe { self.start.add(at).write(value) }
    }
}
