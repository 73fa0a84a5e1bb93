//! Where groups of equal keys begin in a sorted order.

#![allow(unsafe_code)] // Parts of a shared array; see `disjoint`.

use super::disjoint::Disjoint;
use super::key::check_lengths;
use super::{Key, Segments, Sizes};
use crate::team::{Interrupted, Team};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Writes to `flags`, for every position of `order`, 1 if a group begins there and 0 if not, and returns the number of groups. A group begins where a
/// segment does, and where the key differs from the one before under the order of [`super`]: all NaN are one group, -0.0 and 0.0
/// are two.
///
/// # Panics
/// As [`super::argsort`], and if `order` has an index that is out of range.
pub fn group_flags(
    keys: &[Key<'_>],
    segments: Segments<'_>,
    order: &[i64],
    sizes: Sizes,
    team: &Team,
    flags: &mut [u8],
) -> Result<usize, Interrupted> {
    let n = order.len();
    assert_eq!(flags.len(), n, "a flag for every position");
    check_lengths(keys, n);
    let whole = [0, n as i64];
    let offsets = segments.offsets(&whole, n);
    let (flags, groups) = (Disjoint::new(flags), AtomicUsize::new(0));
    team.run(n.div_ceil(sizes.block), &|task, _| {
        let block = task * sizes.block..((task + 1) * sizes.block).min(n);
        // SAFETY: blocks are disjoint.
        let flags = unsafe { flags.part(block.clone()) };
        flags.fill(0);
        for key in keys {
            // From the position before the block, so that its first one has something to differ from.
            let mut before = order[..block.start].last().map(|&i| key.at(i));
            key.zip_at(&order[block.clone()], flags, |flag, x| {
                *flag |= u8::from(before != Some(x));
                before = Some(x);
            });
        }
        let first = offsets.partition_point(|&o| (o as usize) < block.start);
        for &offset in offsets[first..].iter().take_while(|&&o| (o as usize) < block.end) {
            flags[offset as usize - block.start] = 1;
        }
        groups.fetch_add(flags.iter().map(|&f| usize::from(f)).sum(), Ordering::Relaxed);
    })?;
    Ok(groups.into_inner())
}

/// Writes the positions of the flags that are set, in order.
///
/// # Panics
/// If the length of `starts` is not the number of such flags.
pub fn group_starts(flags: &[u8], starts: &mut [i64]) {
    let mut found = 0;
    for (position, _) in flags.iter().enumerate().filter(|(_, flag)| **flag != 0) {
        starts[found] = position as i64;
        found += 1;
    }
    assert_eq!(found, starts.len(), "a place for every group");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(keys: &[Key<'_>], segments: Segments<'_>, order: &[i64]) -> (usize, Vec<u8>) {
        let mut flags = vec![9; order.len()];
        let groups =
            group_flags(keys, segments, order, Sizes { block: 64, small: 8 }, &Team::new(2), &mut flags).unwrap();
        (groups, flags)
    }

    #[test]
    fn groups_begin_where_keys_differ() {
        let keys = [1.0, f64::NAN, 0.0, -0.0, -f64::NAN, 1.0];
        let order = [3, 2, 0, 5, 1, 4];
        assert_eq!(flags_of(&[Key::F64(&keys)], Segments::Whole, &order), (4, vec![1, 1, 1, 0, 1, 0]));
        let second = [0, 0, 0, 0, 0, 1];
        let both = [Key::F64(&keys), Key::I8(&second)];
        assert_eq!(flags_of(&both, Segments::Whole, &order), (5, vec![1, 1, 1, 1, 1, 0]));
    }

    #[test]
    fn groups_begin_where_segments_do() {
        let segments = Segments::Offsets(&[0, 0, 2, 2, 3, 3]);
        assert_eq!(flags_of(&[Key::I8(&[5, 5, 5])], segments, &[0, 1, 2]), (2, vec![1, 0, 1]));
        assert_eq!(flags_of(&[], Segments::Whole, &[0, 1, 2]), (1, vec![1, 0, 0]));
        assert_eq!(flags_of(&[Key::I8(&[])], Segments::Whole, &[]), (0, vec![]));
    }

    #[test]
    fn groups_are_found_across_blocks() {
        let n = 3usize * 64 + 5;
        let keys: Vec<i64> = (0..n as i64).map(|i| i / 50).collect();
        let order: Vec<i64> = (0..n as i64).collect();
        let (groups, flags) = flags_of(&[Key::I64(&keys)], Segments::Whole, &order);
        let mut starts = vec![0; groups];
        group_starts(&flags, &mut starts);
        assert!(starts.iter().enumerate().all(|(g, &s)| s == 50 * g as i64));
        assert_eq!(groups, n.div_ceil(50));
    }

    #[test]
    #[should_panic(expected = "a place for every group")]
    fn starts_must_be_as_many_as_groups() {
        group_starts(&[1, 0, 1], &mut [0; 3]);
    }
}
