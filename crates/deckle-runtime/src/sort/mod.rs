//! `sort` and `group`: the stable order of keys, within segments, on all threads.
//!
//! # The order
//!
//! That of `deckle_ir::scalar_eval::compare_scalars`, component after component: false before true, integers by value,
//! floats by IEEE total order except that every NaN is equal to every other and comes last. So -0.0 is before 0.0. Equal keys keep
//! the order of their indices. There is exactly one such order: it does not depend on how the work was divided.
//!
//! # How
//!
//! ```text
//!  keys ─► order-preserving integers ─► words ─► entries ─► MSD radix, smaller and smaller runs ─► indices
//!  key.rs                               key.rs   entry.rs   radix.rs, count.rs
//! ```
//!
//! 1. Every scalar is mapped to an unsigned integer of the same order. Columns are measured: most use few of their bits (a row number, a
//!    year), so the minimum is subtracted and all columns are packed into one word of 64 bits, or into as few as
//!    needed.
//! 2. If word and index fit into 64 bits together, an entry is that one integer, otherwise a pair.
//! 3. Runs are partitioned by eight bits, the most significant first, from one scratch array into another and back; small runs
//!    are sorted by `std`. A partition by the leading bits makes the rest fit into a cache, which a sort from the last bit on never does.
//! 4. One column of few bits, and short runs, are sorted by counting instead (`count.rs`).
//! 5. With several words, the least significant is sorted by first; all steps are stable.
//!
//! Segments are divided among tasks by elements *and* segments, so that a million tiny ones and a few long ones both divide well; all threads
//! together partition a segment that is too long for one task, until its runs are not.
//!
//! Scratch memory is the pool's: 8 or 16 bytes per element, twice that if there are segments of more than a few hundred elements.

#![allow(unsafe_code)] // Parts of shared arrays; see `disjoint`.

mod count;
mod disjoint;
mod entry;
mod groups;
mod key;
mod radix;

pub use groups::{group_flags, group_starts};
pub use key::Key;

use crate::pool::{OverBudget, Pool};
use crate::team::{Interrupted, Team};
use disjoint::Disjoint;
use entry::{Entry, Layout, Packed, Pair};
use key::Words;
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// The sizes at which a sort is divided. The order does not depend on them: tests set them to a few elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Elements of a task if the division is free: enough to hide the dispatch, few enough for the second-level cache. At least 1.
    pub block: usize,
    /// Runs up to this length are sorted by `std`, which needs no scratch memory for them.
    pub small: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { block: 1 << 15, small: 256 }
    }
}

/// The ranges that are sorted separately.
#[derive(Clone, Copy, Debug)]
pub enum Segments<'a> {
    /// All elements together.
    Whole,
    /// Segment `s` is the elements from `offsets[s]` to `offsets[s + 1]`. The first offset is 0, the last the number
    /// of elements.
    Offsets(&'a [i64]),
}

/// Why a sort did not finish. The order is then incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// Not enough memory for scratch space.
    OverBudget(OverBudget),
    /// The team's interrupt flag was set.
    Interrupted,
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::OverBudget(e) => e.fmt(f),
            Error::Interrupted => Interrupted.fmt(f),
        }
    }
}

impl From<OverBudget> for Error {
    fn from(e: OverBudget) -> Error {
        Error::OverBudget(e)
    }
}

impl From<Interrupted> for Error {
    fn from(_: Interrupted) -> Error {
        Error::Interrupted
    }
}

/// Writes to `order`, for every position, the index of the element that belongs there: the stable order of each segment by `keys`, the
/// first the most significant. Indices count from the start of the arrays, not of the segment.
///
/// # Panics
/// If keys and `order` have different lengths, or the offsets do not ascend from 0 to that length.
pub fn argsort(
    keys: &[Key<'_>],
    segments: Segments<'_>,
    sizes: Sizes,
    team: &Team,
    pool: &Pool,
    order: &mut [i64],
) -> Result<(), Error> {
    let n = order.len();
    key::check_lengths(keys, n);
    let whole = [0, n as i64];
    let offsets = segments.offsets(&whole, n);
    let longest = offsets.windows(2).map(|w| (w[1] - w[0]) as usize).max().unwrap_or(0);
    let words = if longest > 1 { Words::measure(keys, n, sizes.block, team)? } else { Words::default() };
    let index_bits = usize::BITS - n.saturating_sub(1).leading_zeros();
    if let (true, Some((column, bits))) = (longest == n, words.only_column(keys))
        && count::is_counted(bits, n)
    {
        return count::order_by_count(&column, bits, sizes.block, team, pool, order);
    }
    match words.widths() {
        [] => Ok(write_identity(sizes.block, team, order)?),
        &[bits] if bits + index_bits <= 64 => {
            let layout = Layout { low: index_bits, high: index_bits + bits };
            Sort { keys, words: &words, layout, offsets, sizes, team }.run::<Packed>(longest, pool, order)
        }
        _ => {
            let layout = Layout { low: 0, high: 64 };
            Sort { keys, words: &words, layout, offsets, sizes, team }.run::<Pair>(longest, pool, order)
        }
    }
}

fn write_identity(block: usize, team: &Team, order: &mut [i64]) -> Result<(), Interrupted> {
    let (n, order) = (order.len(), Disjoint::new(order));
    team.run(n.div_ceil(block), &|task, _| {
        let range = task * block..((task + 1) * block).min(n);
        // SAFETY: blocks are disjoint.
        let part = unsafe { order.part(range.clone()) };
        part.iter_mut().zip(range).for_each(|(o, i)| *o = i as i64);
    })
}

impl Segments<'_> {
    /// The offsets, checked: everything that follows divides memory by them.
    fn offsets<'b>(&'b self, whole: &'b [i64], n: usize) -> &'b [i64] {
        let offsets = match self {
            Segments::Whole => whole,
            Segments::Offsets(offsets) => offsets,
        };
        let ends = (offsets.first().copied(), offsets.last().copied());
        assert_eq!(ends, (Some(0), Some(n as i64)), "offsets from 0 to the number of elements");
        assert!(offsets.is_sorted(), "offsets that ascend");
        offsets
    }
}

/// One call of [`argsort`].
struct Sort<'a> {
    keys: &'a [Key<'a>],
    words: &'a Words,
    layout: Layout,
    offsets: &'a [i64],
    sizes: Sizes,
    team: &'a Team,
}

impl Sort<'_> {
    fn run<E: Entry>(&self, longest: usize, pool: &Pool, order: &mut [i64]) -> Result<(), Error> {
        let n = order.len();
        let bytes = n.saturating_mul(size_of::<E>());
        let what = "the scratch memory of a sort";
        let mut entries = pool.alloc(bytes, what)?;
        let mut other = pool.alloc(if longest > self.sizes.small { bytes } else { 0 }, what)?;
        let arrays = Arrays {
            sizes: self.sizes,
            entries: Disjoint::new(entries.get_mut::<E>().unwrap_or_default()),
            other: Disjoint::new(other.get_mut::<E>().unwrap_or_default()),
            order: Disjoint::new(order),
        };
        let huge = radix::too_long_for_one(n, self.sizes, self.team);
        let divisions = divide(self.offsets, self.sizes.block);
        let left = Mutex::new(Vec::new());
        self.team.run(divisions.len() - 1, &|task, _| {
            for s in self.sort_segments(divisions[task]..divisions[task + 1], huge, &arrays) {
                left.lock().unwrap_or_else(PoisonError::into_inner).push(s);
            }
        })?;
        for s in left.into_inner().unwrap_or_else(PoisonError::into_inner) {
            self.sort_huge(self.elements(s..s + 1), huge, &arrays)?;
        }
        Ok(())
    }

    fn elements(&self, segments: Range<usize>) -> Range<usize> {
        self.offsets[segments.start] as usize..self.offsets[segments.end] as usize
    }

    /// Sorts the given segments, except those with more than `huge` elements, which it returns.
    fn sort_segments<E: Entry>(&self, segments: Range<usize>, huge: usize, arrays: &Arrays<'_, E>) -> Vec<usize> {
        let mut left = Vec::new();
        let mut first = segments.start;
        while first < segments.end {
            let is_huge = |&s: &usize| self.elements(s..s + 1).len() > huge;
            let end = (first..segments.end).find(is_huge).unwrap_or(segments.end);
            self.sort_stretch(first..end, arrays);
            if end < segments.end {
                left.push(end);
            }
            first = end + 1;
        }
        left
    }

    /// Sorts adjacent segments, none of them huge. Entries are created for all at once: segments may be tiny.
    fn sort_stretch<E: Entry>(&self, segments: Range<usize>, arrays: &Arrays<'_, E>) {
        let all = self.elements(segments.clone());
        let scratch = if arrays.other.is_empty() { 0..0 } else { all.clone() };
        // SAFETY: tasks have different segments, and offsets ascend.
        let (entries, other, order) =
            unsafe { (arrays.entries.part(all.clone()), arrays.other.part(scratch), arrays.order.part(all.clone())) };
        for word in self.words.least_significant_first() {
            word.fill(self.keys, all.start, self.layout, entries, order);
            let layout = word.layout(self.layout);
            for s in segments.clone() {
                let run = self.elements(s..s + 1);
                let run = run.start - all.start..run.end - all.start;
                // The other array does not exist if all runs are small.
                let scratch = if run.len() > self.sizes.small { &mut other[run.clone()] } else { &mut [] };
                radix::sort_run(
                    &mut entries[run.clone()],
                    scratch,
                    self.sizes.small,
                    layout,
                    self.layout,
                    &mut order[run],
                );
            }
        }
    }

    /// Sorts a segment that is worth using the whole team.
    fn sort_huge<E: Entry>(&self, all: Range<usize>, huge: usize, arrays: &Arrays<'_, E>) -> Result<(), Interrupted> {
        let size = self.sizes.block;
        for word in self.words.least_significant_first() {
            self.team.run(all.len().div_ceil(size), &|task, _| {
                let start = all.start + task * size;
                let block = start..(start + size).min(all.end);
                // SAFETY: blocks are disjoint.
                let (entries, order) = unsafe { (arrays.entries.part(block.clone()), arrays.order.part(block)) };
                word.fill(self.keys, start, self.layout, entries, order);
            })?;
            radix::sort_together(&all, huge, word.layout(self.layout), self.layout, self.team, arrays)?;
        }
        Ok(())
    }
}

/// The state that all tasks of a sort share: they write to arrays, each in its own range.
struct Arrays<'a, E> {
    sizes: Sizes,
    entries: Disjoint<'a, E>,
    other: Disjoint<'a, E>,
    order: Disjoint<'a, i64>,
}

/// Divides segments into tasks of about `work` elements and segments together: `result[t]` is the first segment of task
/// `t`. Each boundary is found independently, by binary search.
fn divide(offsets: &[i64], work: usize) -> Vec<usize> {
    let segments = offsets.len() - 1;
    let total = offsets[segments] as usize + segments;
    let tasks = total.div_ceil(work).max(1);
    let mut result: Vec<usize> = (0..=tasks).map(|t| first_at(offsets, t * work)).collect();
    result[tasks] = segments;
    result
}

/// The first segment that lies, together with its number, at `work` or later.
fn first_at(offsets: &[i64], work: usize) -> usize {
    let (mut low, mut high) = (0, offsets.len() - 1);
    while low < high {
        let middle = low.midpoint(high);
        if (offsets[middle] as usize + middle) < work { low = middle + 1 } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_divided_by_elements_and_number() {
        let tiny: Vec<i64> = (0..=1000).collect();
        assert_eq!(divide(&tiny, 500), [0, 250, 500, 750, 1000]);
        let empty = vec![0i64; 1001];
        assert_eq!(divide(&empty, 500), [0, 500, 1000]);
        assert_eq!(divide(&[0, 1_000_000, 1_000_001], 500_000), [0, 1, 1, 2]);
        assert_eq!(divide(&[0], 500), [0, 0]);
    }

    #[test]
    #[should_panic(expected = "offsets that ascend")]
    fn offsets_that_go_back_are_refused() {
        let (team, pool) = (Team::new(1), Pool::new(None));
        let _ = argsort(
            &[Key::I8(&[1, 2, 3])],
            Segments::Offsets(&[0, 2, 1, 3]),
            Sizes::default(),
            &team,
            &pool,
            &mut [0; 3],
        );
    }

    #[test]
    #[should_panic(expected = "a key of 2 elements")]
    fn keys_of_another_length_are_refused() {
        let (team, pool) = (Team::new(1), Pool::new(None));
        let _ = argsort(&[Key::I8(&[1, 2])], Segments::Whole, Sizes::default(), &team, &pool, &mut [0; 3]);
    }

    #[test]
    fn scratch_memory_is_within_the_budget_and_given_back() {
        let (team, keys) = (Team::new(2), vec![1.5f64; 10_000]);
        let mut order = vec![0; keys.len()];
        let mut varied = keys.clone();
        varied[7] = 0.25;
        let (small, large) = (Pool::new(Some(1 << 10)), Pool::new(Some(1 << 20)));
        let error =
            argsort(&[Key::F64(&varied)], Segments::Whole, Sizes::default(), &team, &small, &mut order).unwrap_err();
        assert!(error.to_string().contains("scratch memory of a sort needs"), "{error}");
        argsort(&[Key::F64(&varied)], Segments::Whole, Sizes::default(), &team, &large, &mut order).unwrap();
        assert_eq!((order[0], order[1], large.stats().current), (7, 0, 0));
    }

    #[test]
    fn an_interrupted_sort_says_so() {
        let (team, pool) = (Team::new(2), Pool::new(None));
        team.interrupt().store(true, std::sync::atomic::Ordering::Relaxed);
        let outcome = argsort(&[Key::I8(&[2, 1])], Segments::Whole, Sizes::default(), &team, &pool, &mut [0; 2]);
        assert_eq!(outcome, Err(Error::Interrupted));
    }
}
