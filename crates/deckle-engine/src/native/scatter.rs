//! Scatters on several threads: see `Copies` and `Owned` of the loop IR.
#![allow(unsafe_code)] // Entry points are called with pointers.

use crate::native::compile::{Entries, Entry};
use crate::native::cpu::Cpu;
use crate::native::fault::Failure;
use crate::native::passed::{Args, Few, Passed, Record, Shared};
use crate::native::run::Memory;
use deckle_ir::loops::{Copies, Launch, Owned};
use deckle_ir::scalar::Scalar;
use deckle_runtime::{Buffer, OverBudget};
use std::sync::{Mutex, PoisonError};

impl Cpu<'_> {
    /// Scatters in one of these ways, if there is one here that is worth it: whether it was done.
    pub(crate) fn scatter(
        &self,
        memory: &Memory<'_, Self>,
        launch: &Launch,
        entries: &Entries,
        points: i64,
    ) -> Result<Option<Option<Record>>, Failure> {
        if let (Some(owned), Some(entry)) = (&launch.owned, entries.owned)
            && self.by_owners(memory, launch, owned, entry, points)?
        {
            return Ok(Some(None));
        }
        match (&launch.copies, entries.merge) {
            (Some(copies), Some(merge)) => self.in_copies(memory, launch, (entries, merge), copies, points),
            _ => Ok(None),
        }
    }

    /// Each part of the array by one thread. What fails is left to the plain way, which does all of it again.
    fn by_owners(
        &self,
        memory: &Memory<'_, Self>,
        launch: &Launch,
        owned: &Owned,
        entry: Entry,
        points: i64,
    ) -> Result<bool, Failure> {
        let len = memory.host().int(owned.len)?.max(0);
        let cuts = &self.make.cuts;
        let block = (cuts.owned / owned.bytes.max(1) as i64).max(1);
        let blocks = (len + block - 1) / block;
        // Every owner goes through all points.
        if blocks < 2 || points.saturating_mul(blocks) > len {
            return Ok(false);
        }
        let args = Args::new(self.passed(memory, launch)?, self.make.checked);
        let record = Shared::default();
        self.settings.team.run(blocks as usize, &|task, _| {
            let scalars = [task as u64, task as u64 + 1, block as u64, blocks as u64, cuts.row_block as u64];
            // SAFETY: as for `main`, which has the same parameters; each task writes to its own part of the array.
            unsafe { entry(args.get(), scalars.as_ptr(), record.get()) }
        })?;
        Ok(record.taken(&args, &self.settings.progress)?.is_none())
    }

    /// Each part of the points into copies of the arrays, one for each part or for each thread, which are merged in order.
    fn in_copies(
        &self,
        memory: &Memory<'_, Self>,
        launch: &Launch,
        (entries, merge): (&Entries, Entry),
        copies: &Copies,
        points: i64,
    ) -> Result<Option<Option<Record>>, Failure> {
        let len = memory.host().int(copies.len)?.max(0);
        let cuts = &self.make.cuts;
        let threads = self.settings.team.threads() as i64;
        // Integers give the same in any order; of other numbers the parts must not depend on the threads, nor on what a point is taken for.
        let exact = copies.exact;
        // As many copies as pay.
        let scattered = if exact && copies.nested { points.saturating_mul(cuts.row_of_points) } else { points };
        let worth = scattered / (cuts.points_for_copied * len.max(cuts.least_copied));
        let parts =
            if exact { threads.min(worth) } else { (cuts.copied / len.max(1)).clamp(cuts.copies[0], cuts.copies[1]) };
        let width: i64 = copies.units.iter().map(|u| u.ty().bytes() as i64).sum();
        let (main, turns, stride) = match (&copies.turns, entries.turns) {
            (Some(turns), Some(entry)) if len * width * turns.tables(len) <= cuts.cached_copies => {
                (entry, turns.tables(len) as usize, turns.stride(len) as usize)
            }
            _ => (entries.main, 1, len as usize),
        };
        let least = if exact && turns == 1 { 2 } else { 1 };
        if parts < least || parts > worth {
            return Ok(None);
        }
        let mut all = Vec::new();
        for _ in 0..parts {
            match self.copy(copies, stride * turns) {
                Ok(copy) => all.push(copy),
                // With fewer the result is the same.
                Err(_) if exact => break,
                Err(over) => return Err(over.into()),
            }
        }
        let parts = all.len() as i64;
        if parts < least {
            return Ok(None);
        }
        self.fill(copies, &mut all)?;
        // Where each thread has a copy, it takes one part of the points after another: a thread that begins late, or is slower, takes fewer.
        // Of many points there are more parts than other kernels have: the threads end nearer to each other, and a part costs only a call.
        let own = exact && parts == threads;
        let tasks = if own { (points / cuts.worth).clamp(parts * cuts.tasks, parts * cuts.tasks * 4) } else { parts };
        let block = (points + tasks - 1) / tasks;
        let targets = self.passed(memory, launch)?;
        let mut args = Vec::new();
        for copy in &all {
            let mut bufs = targets.clone();
            for (target, buffer) in copies.targets.iter().zip(copy) {
                bufs[*target] = Passed::new(buffer, "a copy to scatter into");
            }
            args.push(Args::new(bufs, self.make.checked));
        }
        let record = Shared::default();
        self.settings.team.run(tasks as usize, &|task, thread| {
            let scalars = [task as u64, task as u64 + 1, block as u64, tasks as u64, cuts.row_block as u64];
            let copy = if own { thread } else { task };
            // SAFETY: as for any block of `main`; what it combines into is its own, or its thread's, which does one task at a time.
            unsafe { main(args[copy].get(), scalars.as_ptr(), record.get()) }
        })?;
        if let Some(record) = record.taken(&args[0], &self.settings.progress)? {
            return Ok(Some(Some(record)));
        }
        let mut merged = Vec::new();
        for (part, turn) in args.iter().flat_map(|part| (0..turns).map(move |turn| (part, turn))) {
            let mut bufs: Few<Passed<'_>> = copies.targets.iter().map(|t| targets[*t]).collect();
            for (target, unit) in copies.targets.iter().zip(&copies.units) {
                // In range: a copy has that many tables.
                let width = unit.ty().bytes();
                bufs.push(part.bufs[*target].part(turn * stride * width, len as usize * width));
            }
            merged.push(Args::new(bufs, self.make.checked));
        }
        let pieces = if len > cuts.owned { threads * 4 } else { 1 };
        self.settings.team.run(pieces as usize, &|piece, _| {
            let piece = piece as i64;
            let scalars = [(len * piece / pieces) as u64, (len * (piece + 1) / pieces) as u64, 0, 0, 0];
            for part in &merged {
                // SAFETY: it was compiled for the arrays and then copies; each piece is written by one task.
                unsafe { merge(part.get(), scalars.as_ptr(), record.get()) }
            }
        })?;
        match merged.first() {
            Some(args) => Ok(Some(record.taken(args, &self.settings.progress)?)),
            None => Ok(Some(None)),
        }
    }

    /// A copy of the arrays, not filled so far.
    fn copy(&self, copies: &Copies, elements: usize) -> Result<Vec<Buffer>, OverBudget> {
        let alloc = |unit: &Scalar| self.settings.pool.alloc(elements * unit.ty().bytes(), "a copy to scatter into");
        copies.units.iter().map(alloc).collect()
    }

    /// Fills copies with what changes nothing.
    fn fill(&self, copies: &Copies, all: &mut [Vec<Buffer>]) -> Result<(), Failure> {
        let (mut parts, mut total) = (Vec::new(), 0);
        for (buffer, unit) in all.iter_mut().flat_map(|copy| copy.iter_mut().zip(&copies.units)) {
            let bytes = buffer.get_mut::<u8>().ok_or_else(|| Failure::Bug("a new buffer is shared".into()))?;
            total += bytes.len() as i64;
            parts.push(Mutex::new((bytes, *unit)));
        }
        let one = |part: &Mutex<(&mut [u8], Scalar)>| {
            let (bytes, unit) = &mut *part.lock().unwrap_or_else(PoisonError::into_inner);
            fill(bytes, *unit);
        };
        if total < self.make.cuts.owned {
            parts.iter().for_each(one);
            return Ok(());
        }
        Ok(self.settings.team.run(parts.len(), &|part, _| one(&parts[part]))?)
    }
}

/// Fills bytes with one number.
fn fill(bytes: &mut [u8], with: Scalar) {
    let width = with.ty().bytes();
    // Doubles the filled part. A loop over elements, whose width is not a constant here, calls `memcpy` for each.
    let mut filled = width.min(bytes.len());
    bytes[..filled].copy_from_slice(&with.bits().to_le_bytes()[..filled]);
    while filled < bytes.len() {
        let more = filled.min(bytes.len() - filled);
        bytes.copy_within(..more, filled);
        filled += more;
    }
}
