//! Sorting by counting: how often each value of a digit occurs tells where the elements with that value begin. Stable, and without comparisons.
//!
//! - One column of few bits is sorted in one pass from the keys to the order ([`order_by_count`]): its counters fit into the second-level cache, and elements that are near each other
//!   often have keys that are, as the columns of a sparse matrix.
//! - A short run is sorted digit by digit, the least significant first ([`sort_short`]); all of it stays in the nearest cache. For longer ones [`super::radix`] is faster, which writes to
//!   fewer places at a time.

#![allow(unsafe_code)] // Parts of shared arrays; see `disjoint`.

use super::disjoint::Disjoint;
use super::entry::{Entry, Layout};
use super::key::Column;
use super::{Error, Pool, Team};

/// The most bits of a key that is counted in one pass.
const MOST_BITS: u32 = 16;
/// The counters for each element, at most.
const COUNTERS: usize = 4;
/// The bits of a digit of a short run, whose counters should not take longer than its entries.
const DIGIT: u32 = 8;
/// The most digits of a short run.
const PASSES: u32 = 3;
/// The longest short run.
const SHORT: usize = 1 << 13;

/// Whether a column of keys of that many bits is sorted in one pass.
pub fn is_counted(bits: u32, len: usize) -> bool {
    bits <= MOST_BITS && 1 << bits <= COUNTERS.saturating_mul(len) && u32::try_from(len).is_ok()
}

/// Writes the order of a column of keys below `1 << bits`. Each task counts and places a block of elements; within a key, block follows block, so the order does not depend on
/// the division.
pub fn order_by_count(
    column: &Column<'_>,
    bits: u32,
    block: usize,
    team: &Team,
    pool: &Pool,
    order: &mut [i64],
) -> Result<(), Error> {
    let (n, values) = (order.len(), 1usize << bits);
    let block = n.div_ceil(team.threads()).max(block);
    let blocks = n.div_ceil(block);
    let mut memory = pool.alloc(blocks * values * size_of::<u32>(), "the scratch memory of a sort")?;
    let places = memory.get_mut::<u32>().unwrap_or_default();
    let range = |task: usize| task * block..((task + 1) * block).min(n);
    {
        let places = Disjoint::new(&mut *places);
        team.run(blocks, &|task, _| {
            // SAFETY: each task has counters of its own.
            let counts = unsafe { places.part(task * values..(task + 1) * values) };
            counts.fill(0);
            column.each(range(task), |key| counts[key as usize & (values - 1)] += 1);
        })?;
    }
    let mut next = 0;
    for value in 0..values {
        for counter in places[value..].iter_mut().step_by(values) {
            next += std::mem::replace(counter, next);
        }
    }
    let (places, order) = (Disjoint::new(places), Disjoint::new(order));
    team.run(blocks, &|task, _| {
        // SAFETY: each task has counters of its own.
        let places = unsafe { places.part(task * values..(task + 1) * values) };
        let mut index = range(task).start as i64;
        column.each(range(task), |key| {
            let place = &mut places[key as usize & (values - 1)];
            // SAFETY: by the counts, every element of every block has a place of its own.
            unsafe { order.write(*place as usize, index) };
            *place += 1;
            index += 1;
        });
    })?;
    Ok(())
}

/// Sorts a short run whose keys have few bits and writes its indices to `order`; whether it is one. `other` is scratch memory of the same length.
pub fn sort_short<E: Entry>(run: &mut [E], other: &mut [E], layout: Layout, index: Layout, order: &mut [i64]) -> bool {
    let bits = layout.high - layout.low;
    let passes = bits.div_ceil(DIGIT);
    if !(1..=PASSES).contains(&passes) || run.len() > SHORT {
        return false;
    }
    let width = bits.div_ceil(passes);
    let digit = |e: &E, pass: u32| (e.bits() >> (layout.low + pass * width)) as usize & ((1 << width) - 1);
    let mut counts = [[0u32; 1 << DIGIT]; PASSES as usize];
    for e in run.iter() {
        for pass in 0..passes {
            counts[pass as usize][digit(e, pass)] += 1;
        }
    }
    let (mut from, mut to) = (run, other);
    for (pass, places) in (0..passes).zip(&mut counts) {
        let mut next = 0;
        for place in &mut places[..1 << width] {
            next += std::mem::replace(place, next);
        }
        let mut place_of = |e: &E| {
            let place = &mut places[digit(e, pass)];
            *place += 1;
            *place as usize - 1
        };
        if pass + 1 == passes {
            from.iter().for_each(|e| order[place_of(e)] = e.index(index));
        } else {
            from.iter().for_each(|e| to[place_of(e)] = *e);
            (from, to) = (to, from);
        }
    }
    true
}
