//! The entries that a sort moves: a word of the key, and the original index.

use crate::buffer::{Plain, sealed::Sealed};

/// The position of a key in the bits of an entry: from bit `low` up to but not including bit `high`. Below `low` is the index of a
/// packed entry.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub low: u32,
    pub high: u32,
}

/// A key with its index.
pub trait Entry: Plain {
    fn new(key: u64, index: usize, layout: Layout) -> Self;
    /// Adds bits to a key that has none there.
    fn with(self, key: u64, layout: Layout) -> Self;
    /// The bits that runs are partitioned by.
    fn bits(self) -> u64;
    fn index(self, layout: Layout) -> i64;
    /// Sorts by key, stably.
    fn sort_small(run: &mut [Self]);
    /// Whether the keys are already in order.
    fn is_sorted(run: &[Self]) -> bool {
        run.is_sorted_by_key(|e| e.bits())
    }
}

/// Key above, index below: one comparison orders both, and since no two are equal any sort is stable.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(transparent)]
pub struct Packed(u64);

/// A key of up to 64 bits and any index. Entries of equal keys need not be in the order of their indices (in the second
/// word of a key they are in the order of the first), so only stable sorts are correct.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C)]
pub struct Pair {
    key: u64,
    index: u64,
}

impl Sealed for Packed {}
impl Plain for Packed {}
impl Sealed for Pair {}
impl Plain for Pair {}

impl Entry for Packed {
    #[inline]
    fn new(key: u64, index: usize, layout: Layout) -> Packed {
        Packed(key << layout.low | index as u64)
    }

    #[inline]
    fn with(self, key: u64, layout: Layout) -> Packed {
        Packed(self.0 | key << layout.low)
    }

    #[inline]
    fn bits(self) -> u64 {
        self.0
    }

    #[inline]
    fn index(self, layout: Layout) -> i64 {
        (self.0 & ((1 << layout.low) - 1)) as i64
    }

    #[inline]
    fn sort_small(run: &mut [Packed]) {
        if !merge_two(run) {
            run.sort_unstable_by_key(|e| e.0);
        }
    }
}

/// The longest run that is merged on the stack.
const MERGED: usize = 256;

/// Merges a run that consists of two parts in order, as the entries of two sorted rows do; whether it does.
fn merge_two(run: &mut [Packed]) -> bool {
    let descends = |w: &[Packed]| w[1].0 < w[0].0;
    let Some(middle) = run.windows(2).position(descends).map(|p| p + 1) else { return true };
    if run.len() > MERGED || run[middle..].windows(2).any(descends) {
        return false;
    }
    let mut left = [0; MERGED];
    let left = &mut left[..middle];
    left.iter_mut().zip(&run[..middle]).for_each(|(to, e)| *to = e.0);
    // What is written has been read: as many places are free as elements of the left part remain.
    let (mut i, mut j, mut to) = (0, middle, 0);
    while i < left.len() && j < run.len() {
        let (a, b) = (left[i], run[j].0);
        let first = a < b;
        run[to] = Packed(if first { a } else { b });
        (i, j, to) = (i + usize::from(first), j + usize::from(!first), to + 1);
    }
    run[to..].iter_mut().zip(&left[i..]).for_each(|(to, a)| *to = Packed(*a));
    true
}

impl Entry for Pair {
    #[inline]
    fn new(key: u64, index: usize, _: Layout) -> Pair {
        Pair { key, index: index as u64 }
    }

    #[inline]
    fn with(self, key: u64, _: Layout) -> Pair {
        Pair { key: self.key | key, ..self }
    }

    #[inline]
    fn bits(self) -> u64 {
        self.key
    }

    #[inline]
    fn index(self, _: Layout) -> i64 {
        self.index as i64
    }

    #[inline]
    fn sort_small(run: &mut [Pair]) {
        run.sort_by_key(|e| e.key);
    }
}
