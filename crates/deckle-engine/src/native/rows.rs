//! Rows of different lengths: work is divided by what is in them, and all threads share those that are too much for one. See `Rows` and `Long` of the loop IR.
#![allow(unsafe_code)] // Entry points are called with pointers.

use crate::native::compile::{Compiled, Entries, Entry, Make};
use crate::native::cpu::{Cpu, How};
use crate::native::fault::Failure;
use crate::native::passed::{Args, Passed, Record, Shared};
use crate::native::pipeline::Timings;
use crate::native::run::Memory;
use deckle_ir::kernel::{Kernel, Program};
use deckle_ir::loops::{Launch, Lengths, Long};
use deckle_ir::scalar::ScalarType;
use deckle_lower::cuts::Cuts;
use deckle_lower::lower::lower_long;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

/// Where rows begin, and which are long.
pub(crate) struct Uneven<'a> {
    /// Where each group of rows begins, and the end.
    offsets: Cow<'a, [i64]>,
    /// How many rows there are, and how many of them are a group.
    rows: i64,
    group: i64,
    /// The long rows, in ascending order, and how many elements each has.
    long: Vec<(i64, i64)>,
    /// How many elements they have up to and with each, where these are counted in the offsets.
    done: Vec<i64>,
}

impl<'a> Uneven<'a> {
    /// The rows of which element `i` of a list tells where row `i` begins; long are those of more than so many elements, or of more than a share.
    pub(crate) fn new(offsets: &'a [i64], rows: i64, (threads, least): (i64, i64), cuts: &Cuts) -> Option<Uneven<'a>> {
        let offsets = offsets.get(..usize::try_from(rows).ok()?.checked_add(1)?)?;
        let all = offsets.last()?.saturating_sub(offsets[0]);
        let mut uneven = Uneven { offsets: Cow::Borrowed(offsets), rows, group: 1, long: Vec::new(), done: Vec::new() };
        uneven.search((0, offsets.len() - 1), least.max(all / (threads * cuts.shares)), cuts.most_long);
        // Whether offsets make sense is checked where rows are gone through: those that do not are left to that.
        let makes_sense = |(row, _): &(i64, i64)| {
            let (from, to) = (offsets[*row as usize], offsets[*row as usize + 1]);
            0 <= from && from <= to && to <= offsets[offsets.len() - 1]
        };
        uneven.long.iter().all(makes_sense).then_some(uneven)
    }

    /// Looks for rows of more than so many elements: where all rows together have no more, there is none.
    fn search(&mut self, (from, to): (usize, usize), least: i64, most: usize) {
        let size = self.offsets[to].saturating_sub(self.offsets[from]);
        if from == to || size <= least || self.long.len() >= most {
            return;
        }
        if to - from == 1 {
            self.done.push(self.done.last().map_or(size, |before| before.saturating_add(size)));
            self.long.push((from as i64, size));
            return;
        }
        let middle = from.midpoint(to);
        self.search((from, middle), least, most);
        self.search((middle, to), least, most);
    }

    pub(crate) fn has_long(&self) -> bool {
        !self.long.is_empty()
    }

    /// How much there is to do, if long rows are done already.
    pub(crate) fn work(&self) -> i64 {
        self.before(self.rows)
    }

    /// The rows of groups that have so many elements each; `lengths` tells those of the rows of a group. Long are the same as of [`Uneven::new`].
    fn of_groups(
        mut totals: Vec<i64>,
        (rows, group): (i64, i64),
        (threads, least): (i64, i64),
        cuts: &Cuts,
        lengths: &dyn Fn(i64) -> Vec<i64>,
    ) -> Uneven<'static> {
        let all = totals.iter().fold(0i64, |all, n| all.saturating_add(*n));
        let least = least.max(all / (threads * cuts.shares));
        let mut long = Vec::new();
        for (k, total) in totals.iter_mut().enumerate().filter(|(_, total)| **total > least) {
            let (mut rest, first) = (0i64, k as i64 * group);
            for (row, size) in (first..).zip(lengths(k as i64)) {
                if size > least && long.len() < cuts.most_long {
                    long.push((row, size));
                } else {
                    rest = rest.saturating_add(size);
                }
            }
            *total = rest;
        }
        let mut offsets = vec![0i64];
        totals.iter().for_each(|n| offsets.push(offsets[offsets.len() - 1].saturating_add(*n)));
        Uneven { offsets: Cow::Owned(offsets), rows, group, long, done: Vec::new() }
    }

    /// How many elements there are before a row; inside a group, as if all its rows were alike.
    fn offset(&self, row: i64) -> i64 {
        let (k, inside) = ((row / self.group) as usize, row % self.group);
        let start = self.offsets[k];
        match self.offsets.get(k + 1) {
            Some(end) if row == self.rows => *end,
            Some(end) if inside > 0 => {
                let size = i128::from(end.saturating_sub(start));
                start.saturating_add((size * i128::from(inside) / i128::from(self.group)) as i64)
            }
            _ => start,
        }
    }

    /// How much there is to do before a row, if long rows are done already.
    fn before(&self, row: i64) -> i64 {
        let long = self.long.partition_point(|(r, _)| *r < row);
        let done = if long == 0 { 0 } else { self.done.get(long - 1).copied().unwrap_or(0) };
        self.offset(row).saturating_sub(self.offsets[0]).saturating_sub(done).saturating_add(row)
    }

    /// A range of blocks of so many rows, divided into tasks of about as much work: where each begins, and the end.
    pub(crate) fn cuts(&self, block: i64, (first, last): (i64, i64), tasks: i64) -> Vec<i64> {
        let rows = self.rows;
        let start = self.before((first * block).min(rows));
        let all = self.before((last * block).min(rows)).saturating_sub(start);
        let mut cuts = vec![first];
        for task in 1..tasks {
            let want = start.saturating_add((i128::from(all) * i128::from(task) / i128::from(tasks)) as i64);
            let (mut lo, mut hi) = (cuts[cuts.len() - 1], last);
            while lo < hi {
                let middle = lo.midpoint(hi);
                if self.before((middle * block).min(rows)) < want { lo = middle + 1 } else { hi = middle }
            }
            cuts.push(lo);
        }
        cuts.push(last);
        cuts
    }
}

/// The code for the long rows of a launch.
#[derive(Debug)]
pub(crate) struct LongCode {
    long: Long,
    phases: Vec<Entry>,
    entries: Entries,
    _code: Compiled,
}

impl LongCode {
    fn new(program: &Program, kernel: &Kernel, (at, launch): (usize, usize), make: &Make) -> Result<LongCode, String> {
        let silent = program.silent();
        let long = lower_long(&silent, kernel, &format!("r{at}_{launch}"), launch, make.purpose(false))?;
        let code = Compiled::new(long.functions(), make, &mut Timings::default())?;
        let phases = long.phases.iter().map(|p| code.entry(&p.function)).collect::<Result<_, _>>()?;
        let entries = code.entries(&long.launch)?;
        Ok(LongCode { long, phases, entries, _code: code })
    }
}

/// Code for long rows, by kernel and launch, made when it was first needed.
#[derive(Debug, Default)]
pub(crate) struct LongCodes(Mutex<HashMap<(usize, usize), Arc<LongCode>>>);

impl LongCodes {
    pub(crate) fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn get(
        &self,
        key: (usize, usize),
        make: impl FnOnce() -> Result<LongCode, String>,
    ) -> Result<Arc<LongCode>, String> {
        let mut codes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(code) = codes.get(&key) {
            return Ok(code.clone());
        }
        let code = Arc::new(make()?);
        codes.insert(key, code.clone());
        Ok(code)
    }
}

impl Cpu<'_> {
    /// What is known of the rows of a launch, if it has some; or what failed where their lengths were computed. `parallel` tells that it is worth several threads as far as one knew without.
    pub(crate) fn uneven<'m>(
        &self,
        memory: &'m Memory<'_, Self>,
        launch: &Launch,
        entries: &Entries,
        points: i64,
        parallel: bool,
    ) -> Result<Result<Option<Uneven<'m>>, Record>, Failure> {
        let Some(rows) = &launch.rows else { return Ok(Ok(None)) };
        let (cuts, threads) = (&self.make.cuts, self.settings.team.threads() as i64);
        // A row of one block is not combined block by block.
        let least = if rows.divisible { cuts.long.max(cuts.row_block) } else { i64::MAX };
        match (&rows.lengths, entries.lengths) {
            (Lengths::Offsets(buf), _) if parallel => {
                Ok(Ok(Uneven::new(memory.buffer(*buf)?.as_slice(), points, (threads, least), cuts)))
            }
            (Lengths::Computed(_), Some(entry)) if points > 0 => {
                Ok(self.computed(memory, launch, entry, (points, threads, least))?.map(Some))
            }
            _ => Ok(Ok(None)),
        }
    }

    /// Computes how long rows are.
    fn computed(
        &self,
        memory: &Memory<'_, Self>,
        launch: &Launch,
        entry: Entry,
        (rows, threads, least): (i64, i64, i64),
    ) -> Result<Result<Uneven<'static>, Record>, Failure> {
        let cuts = &self.make.cuts;
        let group = match rows <= cuts.row_groups {
            true => 1,
            false => (rows / cuts.row_groups / cuts.group_rows + 1) * cuts.group_rows,
        };
        let groups = (rows + group - 1) / group;
        let args = Args::new(self.passed(memory, launch)?, self.make.checked);
        let record = Shared::default();
        // Those of some groups of so many rows.
        let totals_of = |(first, last): (i64, i64), group: i64| {
            let mut totals = vec![0i64; (last - first) as usize];
            let mut shadow = if self.make.checked { vec![0; size_of_val(&totals[..])] } else { Vec::new() };
            let args = args.with(Passed::of_slice(&mut totals, &mut shadow, "lengths of rows"));
            let scalars = [first, last, group, last, self.make.cuts.row_block].map(|x| x as u64);
            // SAFETY: it was compiled for these buffers and scalars, and writes an element for each group.
            unsafe { entry(args.get(), scalars.as_ptr(), record.get()) }
            totals
        };
        let totals = if rows < cuts.many_rows {
            totals_of((0, groups), group)
        } else {
            let parts = Mutex::new(BTreeMap::new());
            self.divided((0, groups), None, &|_, first, last| {
                let part = totals_of((first, last), group);
                parts.lock().unwrap_or_else(PoisonError::into_inner).insert(first, part);
            })?;
            parts.into_inner().unwrap_or_else(PoisonError::into_inner).into_values().flatten().collect()
        };
        let lengths = |k: i64| totals_of((k * group, rows.min((k + 1) * group)), 1);
        let uneven = Uneven::of_groups(totals, (rows, group), (threads, least), cuts, &lengths);
        // Where a length fails its check, others may be so large that nobody could wait for their rows.
        Ok(record.taken(&args, &self.settings.progress)?.map_or(Ok(uneven), Err))
    }

    /// Runs the long rows of a launch, each by all threads, and then everything else: if there is memory for that.
    pub(crate) fn long_rows(
        &self,
        memory: &Memory<'_, Self>,
        kernel: &Kernel,
        which: (usize, usize),
        uneven: &Uneven<'_>,
    ) -> Result<Option<Option<Record>>, Failure> {
        let make = || LongCode::new(memory.program, kernel, which, self.make);
        let code = self.long.get(which, make).map_err(Failure::Bug)?;
        let piece = self.make.cuts.row_block;
        let blocks_of = |size: i64| size / piece + i64::from(size % piece != 0);
        let mut list = vec![uneven.long.len() as i64];
        let mut places = vec![0];
        let (mut all, mut most) = (0i64, 0);
        for (row, size) in &uneven.long {
            list.push(*row);
            places.push(all);
            all = all.saturating_add(blocks_of(*size));
            most = most.max(blocks_of(*size));
        }
        list.push(i64::MAX);
        places.push(all);
        let long = &code.long;
        let alloc = |types: &[ScalarType], blocks: i64| {
            let bytes = |ty: &ScalarType| (blocks as usize).saturating_add(1).saturating_mul(ty.bytes());
            let alloc = |ty| self.settings.pool.alloc(bytes(ty), "a list of partial results");
            types.iter().map(alloc).collect::<Result<Vec<_>, _>>()
        };
        let lists = [&list, &places].map(|l| self.settings.pool.alloc_from(l, "a list of long rows"));
        let lists = lists.into_iter().collect::<Result<Vec<_>, _>>();
        let (Ok(partial), Ok(scratch), Ok(lists)) = (alloc(&long.partial, all), alloc(&long.scratch, most), lists)
        else {
            return Ok(None);
        };
        let mut bufs = self.passed(memory, &long.launch)?;
        bufs.extend(partial.iter().chain(&scratch).map(|b| Passed::new(b, "partial results of long rows")));
        let (args, record) = (Args::new(bufs, self.make.checked), Shared::default());
        'rows: for (k, (row, size)) in uneven.long.iter().enumerate() {
            let blocks = blocks_of(*size);
            let call = |entry: Entry, first: i64, last: i64| {
                let scalars = [first, last, piece, blocks, piece, *row, places[k + 1]].map(|x| x as u64);
                // SAFETY: it was compiled for these buffers and scalars; the blocks of a row write to different elements, and the row is as long to the host as
                // to the code.
                unsafe { entry(args.get(), scalars.as_ptr(), record.get()) }
            };
            // What is folded must be complete before it is used.
            let window = if partial.is_empty() {
                self.settings.team.threads() as i64 * self.make.cuts.scan_window
            } else {
                blocks
            };
            for first in (0..blocks).step_by(window.max(1) as usize) {
                if record.has_failed() {
                    break 'rows;
                }
                let last = blocks.min(first + window);
                for (phase, entry) in long.phases.iter().zip(&code.phases) {
                    if phase.alone {
                        call(*entry, first, last);
                    } else {
                        self.divided((first, last), None, &|_, first, last| call(*entry, first, last))?;
                    }
                }
            }
        }
        if let Some(record) = record.taken(&args, &self.settings.progress)? {
            return Ok(Some(Some(record)));
        }
        let more = lists.iter().chain(&partial).map(|b| Passed::new(b, "results of long rows")).collect();
        self.launch(memory, &long.launch, &code.entries, &How::After(uneven, more)).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(sizes: &[i64]) -> Vec<i64> {
        let mut all = vec![3];
        sizes.iter().for_each(|n| all.push(all[all.len() - 1] + n));
        all
    }

    fn long(sizes: &[i64], threads: i64, least: i64) -> Vec<i64> {
        let offsets = offsets(sizes);
        let uneven = Uneven::new(&offsets, sizes.len() as i64, (threads, least), &Cuts::default()).unwrap();
        uneven.long.iter().map(|l| l.0).collect()
    }

    #[test]
    fn long_rows_are_found() {
        assert_eq!(long(&[0, 0, 1, 100, 2, 0, 50, 0], 2, 10), [3, 6]);
        assert_eq!(long(&[100], 2, 10), [0]);
        assert_eq!(long(&[100], 2, 100), [0; 0]);
        assert_eq!(long(&[20; 100], 2, 10), [0; 0], "none is more than a share");
        assert_eq!(long(&[], 2, 10), [0; 0]);
    }

    #[test]
    fn lists_that_are_too_short_tell_nothing() {
        assert!(Uneven::new(&[0, 1], 2, (2, 1), &Cuts::default()).is_none());
        assert!(Uneven::new(&[], 0, (2, 1), &Cuts::default()).is_none());
        assert!(Uneven::new(&[0, 1], -1, (2, 1), &Cuts::default()).is_none());
    }

    #[test]
    fn work_is_cut_by_elements_and_rows_without_the_long_ones() {
        let sizes = [1, 1, 1, 1000, 1, 1, 1, 1, 1];
        let offsets = offsets(&sizes);
        let uneven = Uneven::new(&offsets, 9, (2, 100), &Cuts::default()).unwrap();
        assert_eq!(uneven.cuts(1, (0, 9), 2), [0, 5, 9]);
        let none = Uneven::new(&offsets, 9, (2, 5000), &Cuts::default()).unwrap();
        assert_eq!(none.cuts(1, (0, 9), 2), [0, 4, 9]);
        assert_eq!(none.cuts(2, (0, 5), 4), [0, 2, 2, 2, 5]);
    }

    fn of_groups(sizes: &[i64], group: i64, threads: i64, least: i64) -> Uneven<'static> {
        let chunks = || sizes.chunks(group as usize);
        let most = i64::MAX / group;
        let totals = chunks().map(|c| c.iter().map(|n| (*n).min(most)).sum()).collect();
        let lengths = |k: i64| chunks().nth(k as usize).unwrap().to_vec();
        Uneven::of_groups(totals, (sizes.len() as i64, group), (threads, least), &Cuts::default(), &lengths)
    }

    #[test]
    fn long_rows_are_found_in_groups() {
        let sizes = [0, 0, 1, 100, 2, 0, 50, 0, 7];
        for group in [1, 2, 4, 100] {
            let uneven = of_groups(&sizes, group, 2, 10);
            assert_eq!(uneven.long, [(3, 100), (6, 50)]);
            assert_eq!(uneven.work(), 10 + 9, "what is left, and as much for each row");
            let cuts = uneven.cuts(1, (0, 9), 3);
            assert!(cuts.is_sorted() && cuts[0] == 0 && cuts[3] == 9, "{cuts:?}");
        }
        assert_eq!(of_groups(&[20; 100], 8, 2, 10).long, [], "none is more than a share");
        assert_eq!(of_groups(&[20; 100], 8, 2, 10).cuts(1, (0, 100), 4), [0, 25, 50, 75, 100]);
        assert_eq!(of_groups(&[1, i64::MAX, i64::MAX / 2, 3], 2, 2, 10).long, [(1, i64::MAX), (2, i64::MAX / 2)]);
    }

    #[test]
    fn offsets_that_make_no_sense_do_no_harm() {
        let wild = [0, i64::MAX, -5, i64::MIN, 7, 7, i64::MAX, 100];
        assert!(Uneven::new(&wild, 7, (2, 1), &Cuts::default()).is_none());
        let uneven = Uneven::new(&wild, 7, (2, i64::MAX), &Cuts::default()).unwrap();
        let cuts = uneven.cuts(2, (0, 4), 3);
        assert!(cuts.is_sorted() && cuts[0] == 0 && cuts[3] == 4, "{cuts:?}");
    }
}
