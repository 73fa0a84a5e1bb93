//! Kernels on the cores of this machine: compiled code, called by the threads of a team.
#![allow(unsafe_code)] // Entry points are pointers into compiled code, called with pointers.

use crate::Settings;
use crate::native::codes::Codes;
use crate::native::compile::{Compiled, Entries, Entry, Make};
use crate::native::device::{Device, Sort};
use crate::native::fault::Failure;
use crate::native::gpu::Remote;
use crate::native::host;
use crate::native::passed::{Args, Few, Passed, Record, Shared};
use crate::native::pipeline::Timings;
use crate::native::rows::{LongCodes, Uneven};
use crate::native::run::{Memory, host_room};
use deckle_ir::kernel::{Buf, Kernel, ROOT, Sink, Site};
use deckle_ir::loops::{Access, Launch, Work};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_lower::lower::lower_kernel;
use deckle_runtime::Buffer;
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// The size of a block where results depend on it: on the number of points, and on nothing else.
fn fixed_block(least: i64, points: i64, most: i64) -> i64 {
    let mut block = least.max(1);
    while points / block >= most {
        block *= 2;
    }
    block
}

/// How a launch is run.
pub(crate) enum How<'a> {
    /// As is best: the launch of that number of a kernel of that number.
    Best(&'a Kernel, usize, usize),
    /// By one thread, in order.
    Alone,
    /// After long rows were run; with more buffers.
    After(&'a Uneven<'a>, Vec<Passed<'a>>),
}

/// The cores of this machine.
pub(crate) struct Cpu<'a> {
    /// The code of the kernels; none where only a failure is looked for.
    pub codes: Option<&'a Codes>,
    pub long: &'a LongCodes,
    pub make: &'a Make,
    pub settings: &'a Settings,
    /// If the caller gave memory for a result, that, until one is in it.
    pub room: Option<Mutex<Option<Buffer>>>,
}

impl Cpu<'_> {
    /// The memory that the caller gave, if a result of so many bytes fits.
    fn given(&self, bytes: usize) -> Option<Buffer> {
        let mut room = self.room.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let fits =
            |b: &mut Buffer| b.len() >= bytes && b.is_unique() && b.is_padded() && !self.settings.pool.is_checked();
        let mut buffer = room.take_if(|b| fits(b))?;
        buffer.shrink(bytes);
        Some(buffer)
    }
}

impl Device for Cpu<'_> {
    type Mem = Buffer;

    fn is_checked(&self) -> bool {
        self.make.checked
    }

    fn alloc(&self, bytes: usize, name: &str) -> Result<Buffer, Failure> {
        Ok(self.settings.pool.alloc(bytes, name)?)
    }

    fn alloc_result(&self, bytes: usize, elem: usize, name: &str) -> Result<Buffer, Failure> {
        let pool = &self.settings.pool;
        if let Some(buffer) = self.given(bytes) {
            return Ok(buffer);
        }
        Ok(if self.settings.owned_results {
            pool.alloc_vec(bytes, elem, &self.settings.team, name)?
        } else {
            pool.alloc(bytes, name)?
        })
    }

    fn put(&self, buffer: Buffer, name: &str) -> Result<Buffer, Failure> {
        let pool = &self.settings.pool;
        if buffer.is_padded() && !pool.is_checked() {
            return Ok(buffer);
        }
        Ok(buffer.padded(pool, name)?)
    }

    fn place(&self, array: Remote, name: &str) -> Result<Buffer, Failure> {
        self.put(array.fetch(self.settings)?, name)
    }

    fn leave(&self, mem: &Buffer, bytes: usize) -> Result<Remote, Failure> {
        let bytes = (bytes <= mem.len()).then_some(bytes).ok_or_else(|| Failure::bug("a result that is too short"))?;
        Ok(Remote::Here(mem.slice(0, bytes)))
    }

    fn sort(&self, memory: &Memory<'_, Self>, sort: &Sort<'_>) -> Result<Buffer, Failure> {
        self.sorted(memory, sort)
    }

    fn get(&self, mem: &Buffer) -> Result<Buffer, Failure> {
        Ok(mem.clone())
    }

    fn element(&self, mem: &Buffer, ty: ScalarType, at: usize) -> Result<Scalar, Failure> {
        host::written(mem, ty, at)?;
        Ok(host::element(mem, ty, at))
    }

    fn copy(&self, mem: &Buffer, bytes: usize, name: &str) -> Result<Buffer, Failure> {
        let mut new = self.settings.pool.alloc(bytes, name)?;
        new.copy_from(mem, bytes.min(mem.len()));
        Ok(new)
    }

    fn room(&self) -> Option<u64> {
        host_room(self.settings)
    }

    fn run(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize, _: bool) -> Result<bool, Failure> {
        let codes = self.codes.ok_or_else(|| Failure::bug("no code"))?;
        for (i, (launch, entries)) in codes.launches[at].iter().zip(codes.entries(at)?).enumerate() {
            let failed = self.launch(memory, launch, entries, &How::Best(kernel, at, i))?;
            if failed.is_some() {
                return Ok(false);
            }
        }
        self.verify_memory(memory, at)?;
        Ok(true)
    }

    fn diagnose(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize) -> Result<Failure, Failure> {
        let program = match kernel.sinks[..] {
            // Of the host, which leaves to a kernel what there is to tell.
            [Sink::Check(n)] if memory.program.space_of(n) == ROOT => memory.program.clone(),
            _ => memory.program.diagnosing(),
        };
        let kernel = program.diagnosing_kernel(kernel);
        let scheduled = lower_kernel(&program, &kernel, &format!("d{at}"), self.make.purpose(true), None);
        let launches = scheduled.map_err(|e| Failure::Bug(e.to_string()))?.launches;
        // The code has to live as long as it runs.
        let functions = launches.iter().flat_map(Launch::functions);
        let code = Compiled::new(functions, self.make, &mut Timings::default()).map_err(Failure::Bug)?;
        for launch in &launches {
            let entries = code.entries(launch).map_err(Failure::Bug)?;
            if let Some(record) = self.launch(memory, launch, &entries, &How::Alone)? {
                let operands = record[3..].iter().take(record[2] as usize).map(|w| *w as i64).collect();
                return Ok(Failure::Check(Site(record[1] as u32), operands));
            }
        }
        Ok(Failure::Bug("a failure could not be found again".into()))
    }
}

impl Cpu<'_> {
    /// About how many operations a launch takes.
    fn work(&self, memory: &Memory<'_, Self>, launch: &Launch, points: i64) -> Result<i64, Failure> {
        let mut work = points;
        for b in &launch.buffers {
            let elem = memory.program.bufs[b.index()].elem;
            work = work.max((memory.buffer(*b)?.len() / elem.bytes()) as i64);
        }
        match &launch.work {
            Work::Little => {}
            Work::Rounds(sizes) => {
                for n in sizes {
                    work = work.saturating_mul(memory.host().int(*n)?.max(1));
                }
            }
            Work::Unknown => {
                work = work.max(points.saturating_mul((self.make.cuts.worth / self.make.cuts.worth_unknown).max(1)))
            }
        }
        Ok(work)
    }

    /// The buffers of a launch. What it writes must be in no other hands: neither another of its buffers, nor something that is read later.
    pub(crate) fn passed<'m>(&self, memory: &'m Memory<'_, Self>, launch: &Launch) -> Result<Few<Passed<'m>>, Failure> {
        let main = &launch.main;
        let own = || {
            let scans = launch.scans.iter().flat_map(|level| [&level.totals, &level.prefix]);
            scans.chain([main]).chain(&launch.finish)
        };
        let passed = |(k, b): (usize, &Buf)| {
            let (buffer, name) = (memory.buffer(*b)?, &memory.program.bufs[b.index()].name);
            let is_written = own().any(|f| f.buffers.get(k).is_some_and(|p| p.access == Access::Write));
            if is_written && !buffer.is_sole() {
                let message = format!("`{}` writes {name} ({b}), of which there are several handles", main.name);
                return Err(Failure::Bug(message));
            }
            Ok(Passed::new(buffer, name))
        };
        let mut all = Few::with_capacity(launch.buffers.len());
        for at in launch.buffers.iter().enumerate() {
            all.push(passed(at)?);
        }
        Ok(all)
    }

    /// In checked mode, verifies the red zones of all memory that the kernel of that number could reach.
    fn verify_memory(&self, memory: &Memory<'_, Self>, at: usize) -> Result<(), Failure> {
        if !self.make.checked {
            return Ok(());
        }
        let damage = memory.bufs.iter().flatten().find_map(Buffer::damage);
        match damage.or_else(|| self.settings.pool.take_damage().pop()) {
            Some(damage) => Err(Failure::Bug(format!("kernel {at}: {damage}"))),
            None => Ok(()),
        }
    }

    /// Divides blocks among the threads; `call` is given the thread and a range of blocks.
    pub(crate) fn divided(
        &self,
        (first, last): (i64, i64),
        cuts: Option<&dyn Fn(i64) -> Vec<i64>>,
        call: &(dyn Fn(usize, i64, i64) + Sync),
    ) -> Result<(), Failure> {
        let blocks = last - first;
        let tasks = blocks.min(self.settings.team.threads() as i64 * self.make.cuts.tasks);
        let even = |_| (0..=tasks).map(|task| first + blocks * task / tasks.max(1)).collect();
        let cuts = cuts.unwrap_or(&even)(tasks);
        self.settings.team.run(tasks as usize, &|task, thread| call(thread, cuts[task], cuts[task + 1]))?;
        Ok(())
    }

    /// Runs the functions of a launch. Gives the record if something failed.
    pub(crate) fn launch(
        &self,
        memory: &Memory<'_, Self>,
        launch: &Launch,
        entries: &Entries,
        how: &How<'_>,
    ) -> Result<Option<Record>, Failure> {
        let points = match launch.size {
            Some(n) => memory.host().int(n)?.max(0),
            None => 1,
        };
        if let How::Best(..) = how
            && let Some(done) = self.scatter(memory, launch, entries, points)?
        {
            return Ok(done);
        }
        let cuts = &self.make.cuts;
        let alone = matches!(how, How::Alone) || launch.ordered;
        let threads = if alone { 1 } else { self.settings.team.threads() as i64 };
        let nested = launch.work != Work::Little;
        let parallel = threads > 1 && launch.size.is_some() && self.work(memory, launch, points)? >= cuts.worth;
        let found;
        let uneven = match how {
            How::After(uneven, _) => Some(*uneven),
            How::Best(kernel, at, i) if threads > 1 => {
                found = match self.uneven(memory, launch, entries, points, parallel)? {
                    Ok(found) => found,
                    Err(record) => return Ok(Some(record)),
                };
                if let Some(uneven) = found.as_ref().filter(|u| u.has_long())
                    && let Some(done) = self.long_rows(memory, kernel, (*at, *i), uneven)?
                {
                    return Ok(done);
                }
                found.as_ref()
            }
            _ => None,
        };
        let parallel = parallel || uneven.is_some_and(|u| u.work() >= cuts.worth);
        // What is copied for a block should serve many points.
        let pieces = if launch.private.is_empty() { threads * cuts.tasks * 4 } else { threads * 4 };
        let block = match (launch.block, nested, parallel) {
            (Some(fixed), ..) => fixed_block(fixed, points, cuts.partial),
            (None, false, _) => cuts.block,
            (None, true, false) => points.max(1),
            (None, true, true) => {
                let even = (points / pieces).clamp(1, if uneven.is_some() { cuts.rows_in_block } else { cuts.block });
                // The last points of a block, fewer than a round, take as long as some rounds.
                let rounds = (even + launch.together - 1) / launch.together;
                if even < launch.together { even } else { rounds * launch.together }
            }
        };
        let blocks = if launch.size.is_some() { (points + block - 1) / block } else { 1 };
        let mut scratch = Vec::new();
        for ty in &launch.scratch {
            let bytes = (blocks as usize + 1) * ty.bytes();
            scratch.push(self.settings.pool.alloc(bytes, "a list of partial results")?);
        }
        let mut bufs = self.passed(memory, launch)?;
        bufs.extend(scratch.iter().map(|b| Passed::new(b, "a list of partial results")));
        if let How::After(_, more) = how {
            bufs.extend(more.iter().copied());
        }
        // Each thread has the same buffers, and some of its own.
        let mut private = Vec::new();
        let mut args = SmallVec::<[_; 1]>::new();
        let count = if parallel { threads } else { 1 };
        for left in (0..count).rev() {
            let mut all = if left == 0 { std::mem::take(&mut bufs) } else { bufs.clone() };
            for (ty, len) in &launch.private {
                let own = self.settings.pool.alloc(len * ty.bytes(), "a copy of columns")?;
                all.push(Passed::new(&own, "a copy of columns"));
                private.push(own);
            }
            args.push(Args::new(all, self.make.checked));
        }
        let record = Shared::default();
        let call = |thread: usize, entry: Entry, first: i64, last: i64| {
            let scalars = [first, last, block, blocks, cuts.row_block].map(|x| x as u64);
            // SAFETY: the code was compiled for these buffers in this order; it stays within their sizes, as schedules are tested to do on
            // the simulator, and the record outlives the call.
            unsafe { entry(args[thread].get(), scalars.as_ptr(), record.get()) }
        };
        let divided = |entry: Entry, first: i64, last: i64| -> Result<(), Failure> {
            if !parallel || last - first < 2 {
                call(0, entry, first, last);
                return Ok(());
            }
            let by_work = uneven.map(|u| move |tasks: i64| u.cuts(block, (first, last), tasks));
            let cuts = by_work.as_ref().map(|c| c as &dyn Fn(i64) -> Vec<i64>);
            // A thread notes its own failures; of those of others it hears between calls.
            let together = (self.make.cuts.points_in_call / block).max(1);
            self.divided((first, last), cuts, &|thread, first, last| {
                let mut at = first;
                while at < last && !record.has_failed() {
                    let end = last.min(at.saturating_add(together));
                    call(thread, entry, at, end);
                    at = end;
                }
            })
        };
        if entries.scans.is_empty() {
            divided(entries.main, 0, blocks)?;
            entries.finish.into_iter().for_each(|finish| call(0, finish, 0, blocks));
            return record.taken(&args[0], &self.settings.progress);
        }
        // What one thread scans is carried along.
        let window = if !parallel || nested { blocks } else { threads * cuts.scan_window };
        let mut first = 0;
        while first < blocks {
            let last = blocks.min(first + window.max(1));
            if parallel && blocks > 1 {
                // What the last block adds, nobody asks for.
                let end = last.min(blocks - 1);
                for (totals, prefix) in &entries.scans {
                    divided(*totals, first, end)?;
                    call(0, *prefix, first, end);
                }
            } else {
                entries.scans.iter().for_each(|(_, prefix)| call(0, *prefix, 0, 0));
            }
            divided(entries.main, first, last)?;
            first = last;
        }
        entries.finish.into_iter().for_each(|finish| call(0, finish, 0, blocks));
        record.taken(&args[0], &self.settings.progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARTIAL: i64 = 1 << 18;

    #[test]
    fn partial_results_take_little_memory_however_many_points_there_are() {
        assert_eq!([0, 1, 1 << 20, (1 << 32) - 1].map(|n| fixed_block(1 << 14, n, PARTIAL)), [1 << 14; 4]);
        for points in [1 << 32, (1 << 36) + 5, i64::MAX] {
            let block = fixed_block(1 << 14, points, PARTIAL);
            assert!((PARTIAL / 2 - 1..PARTIAL).contains(&(points / block)), "{points}");
            assert!(block % (1 << 14) == 0);
        }
    }
}
