//! Running the steps of a program.
#![allow(unsafe_code)] // Compiled code is called through pointers; see `Machine::call`.

use crate::data::{Data, buffer_of};
use crate::fault::Failure;
use crate::host::Host;
use crate::{Entries, Native, Settings};
use deckle_ir::kernel::{Buf, Kernel, Node, Op, Program, Rep, Rows, Step};
use deckle_ir::loops::{Function, Launch};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::value::Value;
use deckle_runtime::sort::{self, Key, Segments};
use deckle_runtime::{Buffer, Team};

/// What is worth a thread: so many elements.
const WORTH: i64 = 1 << 15;
/// A block, where results do not depend on its size.
const BLOCK: i64 = 1 << 14;
/// So many tasks for each thread.
const TASKS: i64 = 8;

/// A run under way.
pub(crate) struct Memory<'a> {
    pub program: &'a Program,
    pub settings: &'a Settings,
    pub bufs: Vec<Option<Buffer>>,
}

/// Pointers that are passed to several threads.
struct Args {
    bufs: Vec<*mut u8>,
}

// SAFETY: the buffers live as long as the call, and the kernels of one call write to different elements.
unsafe impl Sync for Args {}

/// The record of a failure: whether there is one, the site, four operands.
type Record = [u64; 6];

struct Shared(std::cell::UnsafeCell<Record>);

impl Shared {
    fn get(&self) -> *mut u64 {
        self.0.get().cast()
    }
}

impl Args {
    fn get(&self) -> *const *mut u8 {
        self.bufs.as_ptr()
    }
}

// SAFETY: compiled code stores to its first word with atomic stores only; the others are written by one thread.
unsafe impl Sync for Shared {}

/// Runs a program on values.
pub(crate) fn run(native: &Native, args: &[Value], settings: &Settings) -> Result<Value, Failure> {
    let memory = start(native, settings, &mut |memory| {
        let mut pairs = memory.program.params.iter().zip(args);
        pairs.try_for_each(|(rep, value)| memory.fill(rep, &[value], "an argument"))
    })?;
    memory.read(&native.program.result, &native.result_ty, 0)
}

/// Runs a program on buffers.
pub(crate) fn call(native: &Native, args: Vec<Data>, settings: &Settings) -> Result<Data, Failure> {
    let mut args = args.into_iter();
    let memory = start(native, settings, &mut |memory| {
        let params = memory.program.params.iter().zip(&native.param_names);
        for (rep, name) in params {
            let data = args.next().ok_or_else(|| Failure::Argument(name.clone()))?;
            memory.take(rep, data, name)?;
        }
        Ok(())
    })?;
    memory.give(&native.program.result)
}

fn start<'a>(
    native: &'a Native,
    settings: &'a Settings,
    bind: &mut dyn FnMut(&mut Memory<'a>) -> Result<(), Failure>,
) -> Result<Memory<'a>, Failure> {
    let program = &native.program;
    let mut memory = Memory { program, settings, bufs: vec![None; program.bufs.len()] };
    for (b, data) in &program.data {
        let ty = program.bufs[b.index()].elem;
        let buffer = buffer_of(&settings.pool, ty, &mut data.iter().copied(), "constants")?;
        memory.bufs[b.index()] = Some(buffer);
    }
    bind(&mut memory)?;
    memory.complete_sizes(&program.params)?;
    let mut machine = Machine { native, memory, next: 0 };
    machine.block(&program.steps, true)?;
    Ok(machine.memory)
}

impl Memory<'_> {
    pub(crate) fn host(&self) -> Host<'_> {
        Host { program: self.program, bufs: &self.bufs }
    }

    /// Sizes that an argument without rows does not show: as those checks say that will be made, else 0.
    fn complete_sizes(&mut self, params: &[Rep]) -> Result<(), Failure> {
        let mut sizes = Vec::new();
        params.iter().for_each(|r| size_bufs(self.program, r, &mut sizes));
        for _ in 0..sizes.len() {
            for step in &self.program.steps {
                let Step::Check(n) = step else { continue };
                let Op::Check { cond, .. } = self.program.node(*n).op else { continue };
                let Op::Binary(_, a, b) = self.program.node(cond).op else { continue };
                for (x, y) in [(a, b), (b, a)] {
                    if let Some((buf, extra)) = self.unknown(x)
                        && self.is_known(y)
                    {
                        let value = self.host().int(y)? - extra;
                        self.set(buf, value)?;
                    }
                }
            }
        }
        for b in sizes {
            if self.bufs[b.index()].is_none() {
                self.set(b, 0)?;
            }
        }
        Ok(())
    }

    /// A size that has no value yet, and what is added to it.
    fn unknown(&self, n: Node) -> Option<(Buf, i64)> {
        match self.program.node(n).op {
            Op::Load(b, _) if self.bufs[b.index()].is_none() => Some((b, 0)),
            Op::Binary(deckle_ir::array::BinOp::Add, x, y) => {
                let (x, y) = if self.program.as_int(x).is_some() { (y, x) } else { (x, y) };
                let (b, extra) = self.unknown(x)?;
                Some((b, extra + self.program.as_int(y)?))
            }
            _ => None,
        }
    }

    fn is_known(&self, n: Node) -> bool {
        self.program.needs(&[n]).iter().all(|n| match self.program.node(*n).op {
            Op::Load(b, _) => self.bufs[b.index()].is_some(),
            _ => true,
        })
    }
}

fn size_bufs(program: &Program, rep: &Rep, sizes: &mut Vec<Buf>) {
    match rep {
        Rep::Scalar(_) => {}
        Rep::Tuple(parts) => parts.iter().for_each(|p| size_bufs(program, p, sizes)),
        Rep::Array(rows, elem) => {
            if let Rows::Equal(n) = rows
                && let Op::Load(b, _) = program.node(*n).op
            {
                sizes.push(b);
            }
            size_bufs(program, elem, sizes);
        }
    }
}

struct Machine<'a> {
    native: &'a Native,
    memory: Memory<'a>,
    /// The number of the next kernel, in the order of the text.
    next: usize,
}

impl Machine<'_> {
    fn team(&self) -> &Team {
        &self.memory.settings.team
    }

    fn block(&mut self, steps: &[Step], outermost: bool) -> Result<(), Failure> {
        for (i, step) in steps.iter().enumerate() {
            self.step(step)?;
            if outermost {
                for b in &self.native.last_uses[i] {
                    self.memory.bufs[b.index()] = None;
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), Failure> {
        if self.team().interrupt().load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        match step {
            Step::Alloc(b, n) => {
                let n = self.memory.host().int(*n)?;
                let buffer = self.alloc(self.memory.program.bufs[b.index()].elem, n, *b)?;
                self.memory.bufs[b.index()] = Some(buffer);
            }
            Step::Check(n) => {
                self.memory.host().eval(*n)?;
            }
            Step::Run(kernel) => {
                let at = self.next;
                self.next += 1;
                self.kernel(kernel, at)?;
            }
            Step::Sort { order, keys, len, offsets, rows } => self.sort(*order, keys, *len, *offsets, *rows)?,
            Step::Bind(pairs) => {
                let new: Vec<Option<Buffer>> =
                    pairs.iter().map(|(_, from)| self.memory.bufs[from.index()].clone()).collect();
                for ((to, _), buffer) in pairs.iter().zip(new) {
                    self.memory.bufs[to.index()] = buffer;
                }
            }
            Step::Own(to, from, _) => {
                let bytes = self.buffer(*from)?.as_slice::<u8>().to_vec();
                self.memory.bufs[to.index()] = Some(self.memory.settings.pool.alloc_from(&bytes, "a copy")?);
            }
            Step::If(cond, yes, no) => {
                let start = self.next;
                let middle = start + kernels(yes);
                if self.memory.host().truth(*cond)? {
                    self.block(yes, false)?;
                } else {
                    self.next = middle;
                    self.block(no, false)?;
                }
                self.next = middle + kernels(no);
            }
            Step::While { test, cond, body } => {
                let start = self.next;
                loop {
                    self.next = start;
                    self.block(test, false)?;
                    if !self.memory.host().truth(*cond)? {
                        break;
                    }
                    self.block(body, false)?;
                }
                self.next = start + kernels(test) + kernels(body);
            }
        }
        Ok(())
    }

    fn alloc(&self, ty: ScalarType, n: i64, b: Buf) -> Result<Buffer, Failure> {
        let name = &self.memory.program.bufs[b.index()].name;
        let bytes = usize::try_from(n).ok().and_then(|n| n.checked_mul(ty.bytes()));
        let limit = self.memory.settings.max_bytes;
        match bytes.filter(|b| *b as u64 <= limit) {
            Some(bytes) => Ok(self.memory.settings.pool.alloc(bytes, name)?),
            None => Err(Failure::TooLarge(name.clone(), n)),
        }
    }

    fn buffer(&self, b: Buf) -> Result<&Buffer, Failure> {
        self.memory.bufs[b.index()].as_ref().ok_or_else(|| Failure::Bug(format!("{b} has no memory")))
    }

    fn kernel(&mut self, kernel: &Kernel, at: usize) -> Result<(), Failure> {
        let native = self.native;
        for (launch, entries) in native.launches[at].iter().zip(&native.entries[at]) {
            let failed = self.launch(launch, entries, false)?;
            if failed.is_some() {
                return Err(self.diagnose(kernel, at)?);
            }
        }
        Ok(())
    }

    /// Runs a kernel again, in order, to see where it fails first.
    fn diagnose(&mut self, kernel: &Kernel, at: usize) -> Result<Failure, Failure> {
        let (launches, entries) = self.native.diagnosing(kernel, at).map_err(Failure::Bug)?;
        for (launch, entries) in launches.iter().zip(&entries) {
            if let Some(record) = self.launch(launch, entries, true)? {
                let operands = record[2..].iter().map(|w| *w as i64).collect();
                return Ok(Failure::Check(deckle_ir::kernel::Site(record[1] as u32), operands));
            }
        }
        Ok(Failure::Bug("a failure could not be found again".into()))
    }

    /// Runs the functions of a launch. Gives the record if something failed.
    fn launch(&mut self, launch: &Launch, entries: &Entries, alone: bool) -> Result<Option<Record>, Failure> {
        let points = match launch.size {
            Some(n) => self.memory.host().int(n)?.max(0),
            None => 1,
        };
        let threads = if alone || launch.ordered { 1 } else { self.team().threads() as i64 };
        let mut work = points;
        for b in &launch.buffers {
            let elem = self.memory.program.bufs[b.index()].elem;
            work = work.max((self.buffer(*b)?.len() / elem.bytes()) as i64);
        }
        let parallel = threads > 1 && work >= WORTH && launch.size.is_some();
        let block = match (launch.block, launch.nested, parallel) {
            (Some(fixed), ..) => fixed,
            (None, false, _) => BLOCK,
            (None, true, false) => points.max(1),
            (None, true, true) => (points / (threads * TASKS * 4)).clamp(1, BLOCK),
        };
        let blocks = if launch.size.is_some() { (points + block - 1) / block } else { 1 };
        let mut scratch = Vec::new();
        for ty in &launch.scratch {
            let bytes = (blocks as usize + 1) * ty.bytes();
            scratch.push(self.memory.settings.pool.alloc(bytes, "partial results")?);
        }
        let mut bufs = Vec::new();
        for b in &launch.buffers {
            bufs.push(self.buffer(*b)?.as_ptr().cast_mut());
        }
        bufs.extend(scratch.iter().map(|b| b.as_ptr().cast_mut()));
        let args = Args { bufs };
        let record = Shared(std::cell::UnsafeCell::new([0; 6]));
        let call = |entry: crate::Entry, first: i64, last: i64| {
            let scalars = [first as u64, last as u64, block as u64, blocks as u64];
            // SAFETY: the code was compiled for these buffers in this order; it stays within their sizes, as schedules are tested to do on
            // the simulator, and the record outlives the call.
            unsafe { entry(args.get(), scalars.as_ptr(), record.get()) }
        };
        let divided = |entry: crate::Entry, blocks: i64| -> Result<(), Failure> {
            let tasks = blocks.min(threads * TASKS);
            self.team().run(tasks as usize, &|task, _| {
                let task = task as i64;
                call(entry, blocks * task / tasks, blocks * (task + 1) / tasks);
            })?;
            Ok(())
        };
        if let Some(prefix) = entries.prefix {
            if parallel && blocks > 1 {
                if let Some(totals) = entries.totals {
                    divided(totals, blocks - 1)?;
                }
                call(prefix, 0, blocks - 1);
            } else {
                call(prefix, 0, 0);
            }
        }
        if blocks > 0 {
            if parallel && blocks > 1 { divided(entries.main, blocks)? } else { call(entries.main, 0, blocks) }
        }
        if let Some(finish) = entries.finish {
            call(finish, 0, blocks);
        }
        // SAFETY: all calls have returned.
        let record = unsafe { *record.0.get() };
        Ok((record[0] != 0).then_some(record))
    }

    fn sort(&mut self, order: Buf, keys: &[Buf], len: Node, offsets: Option<Buf>, rows: Node) -> Result<(), Failure> {
        let (len, rows) = (self.memory.host().int(len)?, self.memory.host().int(rows)?);
        let mut result = vec![0i64; usize::try_from(len).unwrap_or(0)];
        let equal: Vec<i64>;
        let segments = match offsets {
            Some(b) => {
                let offsets = self.buffer(b)?.as_slice::<i64>();
                Segments::Offsets(&offsets[..=(rows as usize).min(offsets.len().saturating_sub(1))])
            }
            None => {
                equal = (0..=rows).map(|i| if rows == 0 { 0 } else { len / rows * i }).collect();
                Segments::Offsets(&equal)
            }
        };
        let mut columns = Vec::new();
        for b in keys {
            columns.push(column(self.buffer(*b)?, self.memory.program.bufs[b.index()].elem, result.len()));
        }
        sort::argsort(&columns, segments, self.team(), &self.memory.settings.pool, &mut result).map_err(|e| match e {
            sort::Error::OverBudget(e) => Failure::Memory(e),
            sort::Error::Interrupted => Failure::Interrupted,
        })?;
        let mut all = result.into_iter().map(Scalar::I64);
        let buffer = buffer_of(&self.memory.settings.pool, ScalarType::I64, &mut all, "order")?;
        self.memory.bufs[order.index()] = Some(buffer);
        Ok(())
    }
}

fn column(buffer: &Buffer, ty: ScalarType, n: usize) -> Key<'_> {
    match ty {
        ScalarType::Bool => Key::Bool(&buffer.as_slice()[..n]),
        ScalarType::I8 => Key::I8(&buffer.as_slice()[..n]),
        ScalarType::I16 => Key::I16(&buffer.as_slice()[..n]),
        ScalarType::I32 => Key::I32(&buffer.as_slice()[..n]),
        ScalarType::I64 => Key::I64(&buffer.as_slice()[..n]),
        ScalarType::U8 => Key::U8(&buffer.as_slice()[..n]),
        ScalarType::U16 => Key::U16(&buffer.as_slice()[..n]),
        ScalarType::U32 => Key::U32(&buffer.as_slice()[..n]),
        ScalarType::U64 => Key::U64(&buffer.as_slice()[..n]),
        ScalarType::F32 => Key::F32(&buffer.as_slice()[..n]),
        ScalarType::F64 => Key::F64(&buffer.as_slice()[..n]),
    }
}

/// How many kernels there are in a list of steps.
pub(crate) fn kernels(steps: &[Step]) -> usize {
    let inside = |s: &Step| match s {
        Step::Run(_) => 1,
        Step::If(_, yes, no) => kernels(yes) + kernels(no),
        Step::While { test, body, .. } => kernels(test) + kernels(body),
        _ => 0,
    };
    steps.iter().map(inside).sum()
}

/// The name under which a function is looked up.
pub(crate) fn symbol(function: &Function) -> &str {
    &function.name
}
