//! Runs of programs on a GPU: the [`Device`].

use crate::Settings;
use crate::native::device::{Device, Handle, Sort};
use crate::native::early::Coming;
use crate::native::fault::Failure;
use crate::native::gpu::Unit;
use crate::native::gpu::compiled::{OnUnit, Taken};
use crate::native::gpu::feed::Feeder;
use crate::native::gpu::kept::{COPY, OnDevice, Remote};
use crate::native::gpu::memory::{Mem, SMALL};
use crate::native::gpu::port::{Lane, Launching, Port};
use crate::native::grid::{self, PieceSizes};
use crate::native::outside::Input;
use crate::native::run::{self, Memory};
use deckle_ir::kernel::{Kernel, Node, Op, ROOT, Sink};
use deckle_ir::loops::{Access, Function, GridLaunch, RECORD, SplitRows};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_runtime::Buffer;
use std::cell::{Cell, RefCell};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::Scope;

/// The number of launches that have a word for their failure. After that many the host looks whether one has failed, and reuses the words.
const RECORDS: usize = 4096;
/// The host runs at most about twice this many launches ahead of the device.
const AHEAD: usize = 256;

/// What a run did on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Traffic {
    /// The number of kernels launched.
    pub launches: u64,
    /// Their total time, if [`Settings::measured`] is set.
    pub kernel_seconds: f64,
    /// The number of arrays copied to the device.
    pub copies_in: u64,
    /// Their bytes.
    pub bytes_in: u64,
    /// How many of these were copied while kernels of an earlier chunk ran.
    pub bytes_early: u64,
    /// The number of reads from the device.
    pub copies_out: u64,
    /// Their bytes.
    pub bytes_out: u64,
    /// The peak of the bytes of arrays on the device.
    pub device_bytes: u64,
}

/// Numbers that a kernel writes: the array, the value and its bytes.
type Written<P> = Vec<(Mem<P>, Scalar, usize)>;

/// A run.
pub(super) struct Run<'a, P: Port> {
    pub(super) on: &'a OnUnit<P>,
    settings: &'a Settings,
    /// Whether the host waits after each kernel.
    careful: bool,
    /// A word that is zero, and one for each launch.
    records: Mem<P>,
    /// The number of launches that have words, and how many of these are known not to have failed.
    launched: Cell<usize>,
    seen: Cell<usize>,
    traffic: Cell<Traffic>,
    /// Start and end of launches so far that follow each other without a copy or a wait.
    timed: RefCell<Option<[P::Event; 2]>>,
    /// Start and end of such launches whose time has not been read yet.
    times: RefCell<Vec<[P::Event; 2]>>,
    /// An event some launches ago.
    mark: RefCell<Option<P::Event>>,
    /// Copies what later chunks need, in runs that pull sequences.
    feeder: Option<Feeder<P>>,
}

impl<'a, P: Port> Run<'a, P> {
    pub(super) fn new(on: &'a OnUnit<P>, careful: bool, settings: &'a Settings) -> Result<Run<'a, P>, Failure> {
        // Compiled code may look at a whole record.
        let records = Mem::new(&on.unit, (1 + RECORDS + RECORD) * 8, "the failures of kernels")?;
        let run = Run {
            on,
            settings,
            careful,
            records,
            launched: Cell::new(0),
            seen: Cell::new(0),
            traffic: Cell::default(),
            timed: RefCell::default(),
            times: RefCell::default(),
            mark: RefCell::default(),
            feeder: None,
        };
        run.reset()?;
        Ok(run)
    }

    /// Starts a thread that copies what later chunks need.
    pub(super) fn feed<'s>(&mut self, scope: &'s Scope<'s, 'a>)
    where
        'a: 's,
    {
        self.feeder = Feeder::new(&self.on.unit, self.settings, scope);
    }

    /// Runs a program without streams.
    pub(super) fn whole(&self, args: Vec<Input>, keep: bool) -> Result<Taken, Failure> {
        let plan = &self.on.plan;
        run::execute(plan, self, args, None, self.settings, |memory, pushed| {
            if keep && plan.pushes.is_empty() && plan.result_ty.is_concrete() {
                return Ok(Taken::Kept(memory.keep(&plan.program.result, 1)?));
            }
            let result = memory.result(&plan.result_ty, &plan.program.result, &mut plan.pushes.iter(), pushed)?;
            Ok(if keep { Taken::Kept(result.into()) } else { Taken::Data(result) })
        })
    }

    fn unit(&self) -> &Unit<P> {
        &self.on.unit
    }

    fn interrupt(&self) -> &AtomicBool {
        self.settings.team.interrupt()
    }

    fn count(&self, change: impl FnOnce(&mut Traffic)) {
        let mut traffic = self.traffic.get();
        change(&mut traffic);
        self.traffic.set(traffic);
    }

    pub(super) fn add_to(&self, traffic: &mut Traffic) {
        let own = self.traffic.take();
        traffic.launches += own.launches;
        traffic.kernel_seconds += own.kernel_seconds;
        traffic.copies_in += own.copies_in;
        traffic.bytes_in += own.bytes_in;
        traffic.bytes_early += own.bytes_early;
        traffic.copies_out += own.copies_out;
        traffic.bytes_out += own.bytes_out;
    }

    /// Clears all words.
    fn reset(&self) -> Result<(), Failure> {
        self.launched.set(0);
        self.seen.set(0);
        self.clear(&self.records)
    }

    /// Whether a launch may have failed, or has a time to be read.
    fn is_open(&self) -> bool {
        self.seen.get() < self.launched.get() && (self.on.can_fail || self.settings.measured)
    }

    /// Takes the word of the last launch: an error if a launch has failed.
    fn looked(&self, word: [u8; 8]) -> Result<(), Failure> {
        for [from, to] in self.times.take() {
            let seconds = self.unit().ask(self.unit().port.seconds(&from, &to))?;
            self.count(|t| t.kernel_seconds += seconds);
        }
        self.seen.set(self.launched.get());
        if word == [0; 8] {
            return Ok(());
        }
        self.reset()?;
        Err(Failure::Unlocated)
    }

    /// Waits until it is known whether something has failed.
    fn look(&self) -> Result<(), Failure> {
        if !self.is_open() {
            return Ok(());
        }
        let mut word = [0; 8];
        self.paused();
        self.unit().read(&[(&self.records, 8 * self.launched.get(), 8)], &mut word, self.interrupt())?;
        self.looked(word)
    }

    /// Whether a kernel failed before the run ended with this failure.
    pub(super) fn has_failed(&self, failure: &Failure) -> bool {
        matches!(failure, Failure::Unlocated) || matches!(self.look(), Err(Failure::Unlocated))
    }

    fn upload(&self, mem: &Mem<P>, bytes: &[u8]) -> Result<(), Failure> {
        self.count(|t| (t.copies_in, t.bytes_in) = (t.copies_in + 1, t.bytes_in + bytes.len() as u64));
        self.paused();
        self.unit().upload(Lane::Compute, mem, bytes, self.settings)
    }

    /// Fills a buffer of this machine with an array.
    fn fetched(&self, mem: &Mem<P>, buffer: Buffer) -> Result<Buffer, Failure> {
        if mem.known().is_none() {
            self.count(|t| (t.copies_out, t.bytes_out) = (t.copies_out + 1, t.bytes_out + mem.bytes() as u64));
            self.paused();
        }
        mem.fetch_into(buffer, self.settings)
    }

    /// Uploads an array that only the host has written.
    pub(super) fn bring(&self, mem: &Mem<P>) -> Result<(), Failure> {
        mem.bring(|bytes| self.upload(mem, bytes))
    }

    /// Lets the time of the next launch begin anew, after a copy or a wait.
    fn paused(&self) {
        self.times.borrow_mut().extend(self.timed.take());
    }

    /// Counts a launch. The host never runs far ahead of the device: a launch that finds the driver's queue full would block, and could not be interrupted.
    fn launched(&self) -> Result<(), Failure> {
        self.launched.set(self.launched.get() + 1);
        self.count(|t| t.launches += 1);
        if self.launched.get().is_multiple_of(AHEAD) {
            let mark = self.unit().ask(self.unit().port.record(Lane::Compute))?;
            if let Some(earlier) = self.mark.replace(Some(mark)) {
                self.unit().wait(&earlier, self.interrupt())?;
            }
        }
        Ok(())
    }

    /// The numbers that a kernel computes from numbers which the host knows: the counter of a loop, a size of its state. The host computes them too, or it would wait for the
    /// device in each round.
    fn known_numbers(&self, memory: &Memory<'_, Self>, kernel: &Kernel) -> Result<Written<P>, Failure> {
        let program = memory.program;
        let is_known = |n: &Node| {
            let data = program.node(*n);
            let is_light = match data.op {
                Op::Const(_) | Op::Unary(..) | Op::Binary(..) | Op::Cast(..) | Op::Select(..) | Op::Check { .. } => {
                    true
                }
                Op::Load(b, _) => memory.bufs[b.index()].as_ref().is_some_and(|mem| mem.known().is_some()),
                _ => false,
            };
            is_light && !data.ty.is_float()
        };
        let (host, mut all) = (memory.host(), Vec::new());
        for sink in &kernel.sinks {
            if let Sink::Write { space: ROOT, buf, at, value } = sink {
                let (mem, size) = (memory.buffer(*buf)?, program.bufs[buf.index()].elem.bytes());
                let is_number = mem.bytes() == size && mem.whole() == size;
                if is_number && program.needs(&[*at, *value]).iter().all(is_known) {
                    // Where a check fails the kernel says so.
                    all.extend(host.eval(*value).ok().map(|value| (mem.clone(), value, size)));
                }
            }
        }
        Ok(all)
    }

    /// Adds the lists for rows that are split; where there are none, functions look at the totals at most.
    fn pass_lists(&self, lists: PieceSizes, rows: &SplitRows, passed: &mut Vec<Mem<P>>) -> Result<(), Failure> {
        let new = |count: i64, ty: ScalarType| {
            let bytes = usize::try_from(count).ok().and_then(|n| n.checked_mul(ty.bytes())).unwrap_or(usize::MAX);
            Mem::new(&self.on.unit, bytes, "the list of rows that several blocks share")
        };
        let totals = new(2, ScalarType::I64)?;
        if lists.used || rows.lengths.is_some() {
            self.clear(&totals)?;
        }
        if !lists.used {
            passed.extend(vec![totals; 3 + rows.partial.len()]);
            return Ok(());
        }
        passed.extend([totals, new(lists.pieces, ScalarType::I64)?, new(lists.rows, ScalarType::I64)?]);
        for ty in &rows.partial {
            passed.push(new(lists.pieces, *ty)?);
        }
        Ok(())
    }

    /// Enqueues the functions of a launch.
    fn launch(&self, memory: &Memory<'_, Self>, launch: &GridLaunch, at: usize) -> Result<(), Failure> {
        let mut passed: Vec<Mem<P>> = Vec::new();
        let mut elements = 0;
        for b in &launch.buffers {
            let mem = memory.buffer(*b)?;
            elements = elements.max(mem.bytes() / memory.program.bufs[b.index()].elem.bytes());
            self.bring(mem)?;
            passed.push(mem.clone());
        }
        let calls = grid::calls(memory, launch, self.on.layout, elements as i64, self.on.grids.in_chunks[at])?;
        for ty in &launch.scratch {
            let bytes = (calls.parts as usize + 1) * ty.bytes();
            passed.push(Mem::new(&self.on.unit, bytes, "a list of partial results")?);
        }
        if let (Some(lists), Some(rows)) = (calls.rows, &launch.rows) {
            self.pass_lists(lists, rows, &mut passed)?;
        }
        if let Some(sorted) = launch.sorted.as_ref().filter(|_| calls.points > 0) {
            self.pass_sorted(sorted, memory.host().int(sorted.len)?, &calls, &mut passed)?;
        }
        let passed: Vec<&Mem<P>> = passed.iter().collect();
        calls.all.iter().try_for_each(|(function, grid)| self.enqueue(function, *grid, &passed, &calls.scalars))
    }

    /// Enqueues a function.
    pub(super) fn enqueue(
        &self,
        function: &Function,
        grid: u64,
        passed: &[&Mem<P>],
        scalars: &[i64],
    ) -> Result<(), Failure> {
        let buffers = passed.iter().map(|mem| Ok((mem.block()?, mem.bytes())));
        let buffers = buffers.collect::<Result<Vec<_>, Failure>>()?;
        let unit = self.unit();
        if self.launched.get() == RECORDS {
            self.look()?;
            self.reset()?;
        }
        let written = function.buffers.iter().zip(passed).filter(|(b, _)| b.access == Access::Write);
        written.for_each(|(_, mem)| mem.forget());
        let record_event = || unit.ask(unit.port.record(Lane::Compute));
        let begun = match self.timed.take() {
            Some([begun, _]) => Some(begun),
            None => self.settings.measured.then(record_event).transpose()?,
        };
        let (records, record) = (self.records.block()?, self.launched.get());
        let launching = Launching { function, grid, buffers: &buffers, scalars, records, record };
        unit.ask(unit.port.launch(&self.on.code, &launching))?;
        if let Some(begun) = begun {
            self.timed.replace(Some([begun, record_event()?]));
        }
        self.launched()
    }

    /// Reads some bytes of arrays, from a byte of each on, and looks whether a launch has failed.
    pub(super) fn read(&self, parts: &[(&Mem<P>, usize, usize)]) -> Result<Vec<u8>, Failure> {
        if parts.is_empty() {
            return Ok(Vec::new());
        }
        let record = (&self.records, 8 * self.launched.get(), 8);
        let len = parts.iter().map(|(_, _, len)| len).sum::<usize>();
        let mut bytes = vec![0; 8 + len];
        self.paused();
        self.unit().read(&[&[record], parts].concat(), &mut bytes, self.interrupt())?;
        self.count(|t| (t.copies_out, t.bytes_out) = (t.copies_out + 1, t.bytes_out + len as u64));
        let mut word = [0; 8];
        word.copy_from_slice(&bytes[..8]);
        self.looked(word)?;
        Ok(bytes.split_off(8))
    }

    pub(super) fn clear(&self, mem: &Mem<P>) -> Result<(), Failure> {
        self.unit().ask(self.unit().port.zero(mem.block()?, mem.bytes()))
    }
}

impl<P: Port> Device for Run<'_, P> {
    type Mem = Mem<P>;

    fn is_checked(&self) -> bool {
        self.settings.pool.is_checked()
    }

    fn alloc(&self, bytes: usize, name: &str) -> Result<Mem<P>, Failure> {
        Mem::new(&self.on.unit, bytes, name)
    }

    fn put(&self, buffer: Buffer, name: &str) -> Result<Mem<P>, Failure> {
        let mem = self.alloc(buffer.len(), name)?;
        let bytes = buffer.as_slice::<u8>();
        if !mem.hold(bytes) {
            self.upload(&mem, bytes)?;
        }
        Ok(mem)
    }

    fn place(&self, array: Remote, name: &str) -> Result<Mem<P>, Failure> {
        let there = match array {
            Remote::Here(buffer) => return self.put(buffer, name),
            Remote::There(there) => there,
        };
        match there.clone().any().downcast::<Mem<P>>() {
            Ok(mem) if mem.unit().id == self.on.unit.id => {
                drop(there);
                Ok(Arc::try_unwrap(mem).unwrap_or_else(|mem| (*mem).clone()))
            }
            _ => self.put(there.fetch(self.settings)?, name),
        }
    }

    fn leave(&self, mem: &Mem<P>, bytes: usize) -> Result<Remote, Failure> {
        let array: Arc<dyn OnDevice> = Arc::new(mem.first(bytes));
        Ok(Remote::There(array))
    }

    fn get(&self, mem: &Mem<P>) -> Result<Buffer, Failure> {
        self.look()?;
        self.fetched(mem, self.settings.pool.alloc(mem.bytes(), COPY)?)
    }

    fn get_result(&self, mem: &Mem<P>, elem: usize) -> Result<Buffer, Failure> {
        if !self.settings.owned_results {
            return self.get(mem);
        }
        self.look()?;
        let Settings { pool, team, .. } = self.settings;
        self.fetched(mem, pool.alloc_vec(mem.bytes(), elem, team, COPY)?)
    }

    fn element(&self, mem: &Mem<P>, ty: ScalarType, at: usize) -> Result<Scalar, Failure> {
        let size = ty.bytes();
        let Some(from) = at.checked_mul(size).filter(|from| mem.bytes() >= size && *from <= mem.bytes() - size) else {
            return Ok(Scalar::zero(ty));
        };
        let scalar = |bytes: &[u8]| {
            let mut word = [0; 8];
            word[..size].copy_from_slice(&bytes[..size]);
            Scalar::from_bits(ty, u64::from_le_bytes(word))
        };
        if let Some(known) = mem.known() {
            return Ok(scalar(&known[from..]));
        }
        // Of a small array all is read: the host will ask for it again.
        let (start, len) = if mem.bytes() <= SMALL { (0, mem.bytes()) } else { (from, size) };
        let read = self.read(&[(mem, start, len)])?;
        mem.remember(&read);
        Ok(scalar(&read[from - start..]))
    }

    fn copy(&self, mem: &Mem<P>, bytes: usize, name: &str) -> Result<Mem<P>, Failure> {
        let new = self.alloc(bytes, name)?;
        self.bring(mem)?;
        let unit = self.unit();
        unit.ask(unit.port.copy(mem.block()?, new.block()?, bytes.min(mem.bytes())))?;
        Ok(new)
    }

    fn room(&self) -> Option<u64> {
        let room = self.unit().pool.room();
        Some(run::host_room(self.settings).map_or(room, |host| host.min(room)))
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn bring_early(&self, arrays: Vec<Buffer>, name: &str) -> Result<Option<Box<dyn Coming>>, Failure> {
        let Some(feeder) = &self.feeder else { return Ok(None) };
        let mut all = Vec::new();
        for buffer in arrays {
            match self.alloc(buffer.len(), name) {
                Ok(mem) => all.push((buffer, mem)),
                Err(Failure::DeviceMemory(..)) => return Ok(None),
                Err(failure) => return Err(failure),
            }
        }
        let bytes = all.iter().map(|(_, mem)| mem.bytes() as u64).sum::<u64>();
        self.count(|t| {
            t.copies_in += all.len() as u64;
            t.bytes_in += bytes;
            t.bytes_early += bytes;
        });
        feeder.copy(all).map(Some)
    }

    fn defers(&self) -> bool {
        !self.careful
    }

    fn run(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize, defer: bool) -> Result<bool, Failure> {
        let numbers = self.known_numbers(memory, kernel)?;
        let bytes = |value: &Scalar| value.bits().to_le_bytes();
        if numbers.len() == kernel.sinks.len() {
            for (mem, value, size) in numbers {
                if !mem.hold(&bytes(&value)[..size]) {
                    return Err(Failure::bug("a number that is no small array"));
                }
            }
            return Ok(true);
        }
        for launch in &self.on.grids.launches[at] {
            self.launch(memory, launch, at)?;
            if !defer {
                match self.look() {
                    Err(Failure::Unlocated) => return Ok(false),
                    done => done?,
                }
            }
        }
        numbers.iter().for_each(|(mem, value, size)| mem.remember(&bytes(value)[..*size]));
        Ok(true)
    }

    fn sort(&self, memory: &Memory<'_, Self>, sort: &Sort<'_>) -> Result<Mem<P>, Failure> {
        self.sorted(memory, sort)
    }

    fn settle(&self) -> Result<(), Failure> {
        self.look()
    }

    fn diagnose(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize) -> Result<Failure, Failure> {
        grid::diagnose(memory, kernel, at, self.on.plan.contract)
    }
}
