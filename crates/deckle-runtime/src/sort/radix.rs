//! Sorting runs of entries: partition by the leading bits until runs are small.
//!
//! A *run* is a range of positions whose entries belong there, in an order yet to be determined. It lies in one of two
//! arrays, and partitioning moves it to the other. When a run is in order its indices are written out, so nothing is ever
//! copied back.

#![allow(unsafe_code)] // Parts of shared arrays; see `disjoint`.

use super::count::sort_short;
use super::disjoint::Disjoint;
use super::entry::{Entry, Layout};
use super::{Arrays, Sizes};
use crate::team::{Interrupted, Team};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

const DIGIT: u32 = 8;
const DIGITS: usize = 1 << DIGIT;
type Counts = [usize; DIGITS];

/// The length from which on the whole team partitions a run: then every thread has several runs to claim, and
/// smaller ones fit into a cache anyway. Runs that need no scratch memory are excluded: there may be none.
pub fn too_long_for_one(n: usize, sizes: Sizes, team: &Team) -> usize {
    (n / (4 * team.threads())).max(2 * sizes.block).max(sizes.small)
}

/// The next digit of a key, below `high`.
#[derive(Clone, Copy)]
struct Digit {
    shift: u32,
    mask: u64,
}

impl Digit {
    fn below(layout: Layout) -> Digit {
        let bits = DIGIT.min(layout.high - layout.low);
        Digit { shift: layout.high - bits, mask: (1 << bits) - 1 }
    }

    #[inline]
    fn of(self, bits: u64) -> usize {
        (bits >> self.shift & self.mask) as usize % DIGITS
    }

    fn count<E: Entry>(self, run: &[E]) -> Counts {
        // Two tables: adjacent entries often have the same digit, and their increments would depend on each other.
        let (mut counts, mut more) = ([0; DIGITS], [0; DIGITS]);
        let (pairs, rest) = run.as_chunks::<2>();
        for [a, b] in pairs {
            counts[self.of(a.bits())] += 1;
            more[self.of(b.bits())] += 1;
        }
        for e in rest {
            counts[self.of(e.bits())] += 1;
        }
        counts.iter_mut().zip(more).for_each(|(a, b)| *a += b);
        counts
    }
}

/// Sorts one run, of entries whose bits from `layout.high` on are equal, and writes its indices to `order`. `other` is
/// scratch memory of the same length; a run of at most `small` does not use it. `index` is the layout for indices.
pub fn sort_run<E: Entry>(
    run: &mut [E],
    other: &mut [E],
    small: usize,
    mut layout: Layout,
    index: Layout,
    order: &mut [i64],
) {
    loop {
        let is_small = run.len() <= small;
        if is_small || layout.high == layout.low || E::is_sorted(run) {
            if is_small && layout.high > layout.low {
                E::sort_small(run);
            }
            order.iter_mut().zip(run).for_each(|(o, e)| *o = e.index(index));
            return;
        }
        if sort_short(run, other, layout, index, order) {
            return;
        }
        let digit = Digit::below(layout);
        let counts = digit.count(run);
        layout.high = digit.shift;
        if counts.contains(&run.len()) {
            continue;
        }
        let mut places = starts(&counts, 0);
        for e in run.iter() {
            let place = &mut places[digit.of(e.bits())];
            other[*place] = *e;
            *place += 1;
        }
        // `places` are now the ends.
        let mut start = 0;
        for end in places {
            if end > start {
                sort_run(&mut other[start..end], &mut run[start..end], small, layout, index, &mut order[start..end]);
            }
            start = end;
        }
        return;
    }
}

fn starts(counts: &Counts, base: usize) -> Counts {
    let mut next = base;
    counts.map(|count| {
        next += count;
        next - count
    })
}

/// A run among others.
struct Run {
    range: Range<usize>,
    /// Whether it lies in the second array.
    is_moved: bool,
    layout: Layout,
}

/// Sorts the run at `all`, all of whose entries are in the first array, on the whole team.
pub fn sort_together<E: Entry>(
    all: &Range<usize>,
    huge: usize,
    layout: Layout,
    index: Layout,
    team: &Team,
    arrays: &Arrays<'_, E>,
) -> Result<(), Interrupted> {
    let mut large = vec![Run { range: all.clone(), is_moved: false, layout }];
    let mut rest = Vec::new();
    while let Some(run) = large.pop() {
        if run.range.len() <= huge {
            rest.push(run);
        } else if run.layout.high == run.layout.low || is_sorted_together(&run, team, arrays)? {
            rest.extend(pieces(&run, arrays.sizes.block));
        } else {
            large.extend(partition_together(&run, team, arrays)?);
        }
    }
    // The longest first, so that no thread begins one when the others are done.
    rest.sort_by_key(|run| std::cmp::Reverse(run.range.len()));
    team.run(rest.len(), &|task, _| {
        let Run { range, layout, .. } = &rest[task];
        let (from, to) = rest[task].arrays(arrays);
        // SAFETY: the runs are parts of parts of one run, so they are disjoint.
        let (run, other, order) =
            unsafe { (from.part(range.clone()), to.part(range.clone()), arrays.order.part(range.clone())) };
        sort_run(run, other, arrays.sizes.small, *layout, index, order);
    })
}

/// Splits a run that is in order into parts that need no further sorting.
fn pieces(run: &Run, block: usize) -> impl Iterator<Item = Run> {
    let Run { range: Range { start, end }, is_moved, layout } = *run;
    let done = Layout { high: layout.low, ..layout };
    (start..end).step_by(block).map(move |s| Run { range: s..(s + block).min(end), is_moved, layout: done })
}

impl Run {
    fn arrays<'a, 'b, E>(&self, arrays: &'b Arrays<'a, E>) -> (&'b Disjoint<'a, E>, &'b Disjoint<'a, E>) {
        if self.is_moved { (&arrays.other, &arrays.entries) } else { (&arrays.entries, &arrays.other) }
    }
}

/// Whether a long run is in order. Each task examines a block and the entry before it; all stop at the first violation.
fn is_sorted_together<E: Entry>(run: &Run, team: &Team, arrays: &Arrays<'_, E>) -> Result<bool, Interrupted> {
    // SAFETY: all tasks only read.
    let entries: &[E] = unsafe { run.arrays(arrays).0.part(run.range.clone()) };
    let (sorted, size) = (AtomicBool::new(true), arrays.sizes.block);
    team.run(entries.len().div_ceil(size), &|task, _| {
        let block = (task * size).saturating_sub(1)..((task + 1) * size).min(entries.len());
        if sorted.load(Ordering::Relaxed) && !E::is_sorted(&entries[block]) {
            sorted.store(false, Ordering::Relaxed);
        }
    })?;
    Ok(sorted.into_inner())
}

/// Partitions a long run: blocks are counted, the places of every digit of every block follow from the counts, and blocks are moved.
/// Within a digit, block follows block: that is stable, and does not depend on which thread moves which.
fn partition_together<E: Entry>(run: &Run, team: &Team, arrays: &Arrays<'_, E>) -> Result<Vec<Run>, Interrupted> {
    let digit = Digit::below(run.layout);
    let (from, to) = run.arrays(arrays);
    // SAFETY: all tasks only read from this array; they write to the other one.
    let entries: &[E] = unsafe { from.part(run.range.clone()) };
    let layout = Layout { high: digit.shift, ..run.layout };
    // A block has many entries per digit, so that they are moved in whole cache lines.
    let block = entries.len().div_ceil(8 * team.threads()).max(2 * arrays.sizes.block);
    let blocks: Vec<&[E]> = entries.chunks(block).collect();

    let mut places = vec![[0; DIGITS]; blocks.len()];
    {
        let places = Disjoint::new(&mut places);
        // SAFETY: each task has an element of its own.
        team.run(blocks.len(), &|task, _| unsafe { places.write(task, digit.count(blocks[task])) })?;
    }
    let mut next = run.range.start;
    let mut runs = Vec::new();
    for d in 0..DIGITS {
        let start = next;
        for counts in &mut places {
            next += std::mem::replace(&mut counts[d], next);
        }
        if next > start {
            runs.push(Run { range: start..next, is_moved: !run.is_moved, layout });
        }
    }
    if let [all] = &mut runs[..] {
        all.is_moved = run.is_moved;
        return Ok(runs);
    }
    team.run(blocks.len(), &|task, _| {
        let mut places = places[task];
        for e in blocks[task] {
            let place = &mut places[digit.of(e.bits())];
            // SAFETY: by the counts, every entry of every block has a place of its own.
            unsafe { to.write(*place, *e) };
            *place += 1;
        }
    })?;
    Ok(runs)
}
