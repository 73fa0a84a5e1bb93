//! Running the steps of a program.

use crate::Settings;
use crate::native::cpu::Cpu;
use crate::native::data::buffer_of;
use crate::native::device::{Device, Handle, Sort};
use crate::native::fault::Failure;
use crate::native::gpu::Kept;
use crate::native::host::{Host, Known};
use crate::native::outside::{Input, Much, Outside, collected, elements, validated};
use crate::native::plan::Plan;
use deckle_io::tree;
use deckle_ir::array::BinOp;
use deckle_ir::fault::{self, Fault};
use deckle_ir::kernel::{self, Buf, Kernel, Node, Op, Program, Rep, Rows, Step, Stream};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_lower::cuts::Cuts;
use deckle_runtime::Data;
use deckle_runtime::chunk::{ChunkScheduler, Done};
use deckle_runtime::stream::{Ahead, Behind, Sink, Sizes};
use smallvec::{SmallVec, smallvec};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Blocks that are read for a device with its own memory are this many times as large: every chunk costs launches and a wait.
const REMOTE: usize = 8;
/// The bytes that an element inside another may need.
const BYTES_INSIDE: u64 = 256;

/// A run under way.
pub(crate) struct Memory<'a, D: Device> {
    pub program: &'a Program,
    pub device: &'a D,
    pub settings: &'a Settings,
    pub bufs: SmallVec<[Option<D::Mem>; 8]>,
    pub known: Known,
}

/// Runs a program on values.
pub(crate) fn run<D: Device>(plan: &Plan, device: &D, args: &[Value], settings: &Settings) -> Result<Value, Failure> {
    let result = stream(plan, device, inputs(plan, args, settings)?, None, settings)?;
    Ok(tree::value(&plan.result_ty, &result, 0))
}

/// Values as arguments.
pub(crate) fn inputs(plan: &Plan, args: &[Value], settings: &Settings) -> Result<Vec<Input>, Failure> {
    let params = plan.param_types.iter().zip(&plan.param_names).zip(args);
    let input = |((ty, name), value): ((&Type, &String), &Value)| {
        Ok(Input::Data(tree::flat(ty, [value], &settings.pool, &format!("argument `{name}`"))?))
    };
    params.map(input).collect()
}

/// Runs a program on buffers and what comes bit by bit. If its result is a sequence, and there is someone to take it, how many elements there were is given in its place.
pub(crate) fn stream<D: Device>(
    plan: &Plan,
    device: &D,
    args: Vec<Input>,
    sink: Option<Box<dyn Sink>>,
    settings: &Settings,
) -> Result<Data, Failure> {
    // A result that is not handed over in parts is handed over at the end.
    let (behind, late) = if plan.pushes.is_empty() { (None, sink) } else { (sink, None) };
    let result = execute(plan, device, args, behind, settings, |memory, pushed| {
        memory.result(&plan.result_ty, &plan.program.result, &mut plan.pushes.iter(), pushed)
    })?;
    handed_over(plan, late, result, settings)
}

/// The result, or the number of its elements if a sink took them.
pub(crate) fn handed_over(
    plan: &Plan,
    sink: Option<Box<dyn Sink>>,
    result: Data,
    settings: &Settings,
) -> Result<Data, Failure> {
    match sink {
        Some(sink) if plan.result_ty.is_seq() => {
            let block = result.into_elements().ok_or_else(|| Failure::bug("a sequence that is none"))?;
            let count = Data::copied(&[block.len() as i64], &settings.pool, "a count")?;
            let mut behind = Behind::new(sink)?;
            behind.push(block, settings.team.interrupt())?;
            behind.finish()?;
            Ok(count)
        }
        _ => Ok(result),
    }
}

/// Runs a program. `finish` makes the result from the memory at the end, and from pushed elements that no sink took.
pub(crate) fn execute<D: Device, R>(
    plan: &Plan,
    device: &D,
    args: Vec<Input>,
    behind: Option<Box<dyn Sink>>,
    settings: &Settings,
    finish: impl FnOnce(&Memory<'_, D>, &mut [Option<Data>]) -> Result<R, Failure>,
) -> Result<R, Failure> {
    let program = &plan.program;
    if device.is_checked() != settings.pool.is_checked() {
        let message = "code in checked mode and memory in checked mode belong together: see `Settings::checked`";
        return Err(Failure::Bug(message.into()));
    }
    let bufs = smallvec![None; program.bufs.len()];
    let mut machine = Machine {
        memory: Memory { program, device, settings, bufs, known: Known::new(program) },
        plan,
        outside: Outside::new(plan, behind)?,
        next: 0,
        chunks: Chunking::new(plan.cuts.most_chunk, device.is_remote(), settings),
        repeats: false,
        streams: !program.streams().is_empty(),
    };
    let Machine { memory, outside, .. } = &mut machine;
    for (b, data) in &program.data {
        let ty = program.bufs[b.index()].elem;
        let buffer = buffer_of(&settings.pool, ty, data, "a list of constants")?;
        memory.hold(*b, device.put(buffer, "a list of constants")?);
    }
    let mut args = args.into_iter();
    for (k, (ty, name)) in plan.param_types.iter().zip(&plan.param_names).enumerate() {
        let input = args.next().ok_or_else(|| Failure::Argument(name.clone()))?;
        let rep = &program.params[k];
        // In chunks, a sequence is nothing but what is pulled of it.
        let unused = matches!((ty, rep), (Type::Seq(_), Rep::Tuple(parts)) if parts.is_empty());
        match (input, plan.pulled[k]) {
            (_, false) if unused => {}
            (Input::Kept(kept, _), true) => {
                let data = kept.fetched(settings)?;
                let block = elements(data, ty).ok_or_else(|| Failure::Argument(name.clone()))?;
                outside.comes(k, Ahead::given(block), settings);
            }
            (Input::Kept(kept, _), false) => memory.argument(rep, kept, name).map_err(|f| f.of_parameter(plan, k))?,
            (Input::Stream(source), true) => {
                let source = validated(source, ty, name);
                outside.comes(
                    k,
                    Ahead::new(source, read_sizes(&plan.cuts, device.is_remote()), &settings.pool),
                    settings,
                );
            }
            (Input::Data(data) | Input::Lent(data), true) => {
                let block = elements(data, ty).ok_or_else(|| Failure::Argument(name.clone()))?;
                outside.comes(k, Ahead::given(block), settings);
            }
            (Input::Data(data) | Input::Lent(data), false) => {
                memory.argument(rep, data.into(), name).map_err(|f| f.of_parameter(plan, k))?
            }
            (Input::Stream(source), false) => {
                let data = collected(validated(source, ty, name), ty, plan.cuts.whole_read, settings)?;
                memory.argument(rep, data.into(), name).map_err(|f| f.of_parameter(plan, k))?;
            }
        }
    }
    if let Some([chunk, inside]) = plan.sizes {
        memory.set(chunk, settings.chunk.unwrap_or(1).max(1))?;
        memory.set(inside, elements_inside(settings, device.room(), &plan.cuts))?;
    }
    memory.complete_sizes(plan)?;
    machine.block(&program.steps)?;
    device.settle()?;
    let mut pushed = std::mem::take(&mut machine.outside).finish(plan, settings)?;
    finish(&machine.memory, &mut pushed)
}

/// The bytes of what is read ahead.
fn read_sizes(cuts: &Cuts, is_remote: bool) -> Sizes {
    let times = if is_remote { REMOTE } else { 1 };
    Sizes { first: cuts.first_read, largest: times * cuts.largest_read, piece: times * cuts.worth_chunk }
}

/// How many elements are gone through at once inside others: as many as keep the threads busy, if the arguments leave memory for what is made of them.
fn elements_inside(settings: &Settings, room: Option<u64>, cuts: &Cuts) -> i64 {
    let busy = (settings.team.threads() as i64 * cuts.inside_for_thread).max(cuts.inside);
    let fits = room.map_or(busy, |room| busy.min((room / BYTES_INSIDE) as i64));
    settings.chunk.map_or(fits, |n| n.min(fits)).max(cuts.least_inside)
}

/// The bytes of this machine's memory that can still be allocated, if there is a budget.
pub(crate) fn host_room(settings: &Settings) -> Option<u64> {
    let stats = settings.pool.stats();
    stats.budget.map(|all| all.saturating_sub(stats.current))
}

impl<D: Device> Memory<'_, D> {
    /// The result: what is in memory, and in the places of sequences what was pushed.
    pub(crate) fn result(
        &self,
        ty: &Type,
        rep: &Rep,
        pushes: &mut dyn Iterator<Item = &u32>,
        pushed: &mut [Option<Data>],
    ) -> Result<Data, Failure> {
        match (ty, rep) {
            (Type::Seq(_), Rep::Scalar(_)) => {
                let block = pushes.next().and_then(|k| pushed.get(*k as usize)).cloned().flatten();
                match block {
                    Some(block) => Ok(Data::array(block)),
                    None => self.give(rep, 0, 1),
                }
            }
            (_, Rep::Tuple(parts)) if !ty.is_concrete() => {
                let parts = parts.iter().zip(ty.parts().unwrap_or_default());
                let parts = parts.map(|(p, t)| self.result(t, p, pushes, pushed));
                Data::tuples(1, parts.collect::<Result<_, _>>()?)
                    .map_err(|_| Failure::bug("a result that does not come once"))
            }
            _ => self.give(rep, 0, 1),
        }
    }

    /// Takes an argument, of which there is one.
    fn argument(&mut self, rep: &Rep, data: Kept, name: &str) -> Result<(), Failure> {
        if data.len == 1 { self.take(rep, data, name) } else { Err(Failure::Argument(name.to_string())) }
    }

    pub(crate) fn host(&self) -> Host<'_, D> {
        Host { program: self.program, device: self.device, bufs: &self.bufs, known: &self.known }
    }

    /// From now on this is the memory of a buffer.
    pub(crate) fn hold(&mut self, b: Buf, mem: D::Mem) {
        self.bufs[b.index()] = Some(mem);
        self.known.forget();
    }

    /// The same on this machine.
    pub(crate) fn brought_to<'c>(&'c self, cpu: &'c Cpu<'c>) -> Result<Memory<'c, Cpu<'c>>, Failure> {
        let bufs = self.bufs.iter().map(|m| m.as_ref().map(|m| self.device.get(m)).transpose());
        let bufs = bufs.collect::<Result<_, _>>()?;
        Ok(Memory {
            program: self.program,
            device: cpu,
            settings: self.settings,
            bufs,
            known: Known::new(self.program),
        })
    }

    /// What is in buffers that a kernel changes, if that decides on whether it fails: to find out where, it is run on the same again.
    fn copies(&self, kernel: &Kernel) -> Result<Vec<(Buf, D::Mem)>, Failure> {
        let mut copies = Vec::new();
        for sink in &kernel.sinks {
            if let kernel::Sink::Scatter { bufs, combine: Some(combine), .. } = sink
                && self.program.can_fail(combine)
            {
                for b in bufs {
                    let mem = self.buffer(*b)?;
                    copies.push((*b, self.device.copy(mem, mem.bytes(), &self.program.bufs[b.index()].name)?));
                }
            }
        }
        Ok(copies)
    }

    /// The memory of a buffer.
    pub(crate) fn buffer(&self, b: Buf) -> Result<&D::Mem, Failure> {
        self.bufs[b.index()].as_ref().ok_or_else(|| Failure::Bug(format!("{b} has no memory")))
    }

    /// Sizes that an argument without rows does not show: what the checks of arguments are to compare them with, else 0.
    fn complete_sizes(&mut self, plan: &Plan) -> Result<(), Failure> {
        let mut sizes = Vec::new();
        self.program.params.iter().for_each(|r| size_bufs(self.program, r, &mut sizes));
        if sizes.iter().all(|b| self.bufs[b.index()].is_some()) {
            return Ok(());
        }
        let arguments: Vec<String> = plan.param_names.iter().map(|name| fault::argument(name, &plan.name)).collect();
        let of_argument = |site: kernel::Site| match &self.program.sites[site.index()].kind {
            Fault::Size(what, _) => arguments.iter().any(|a| **a == **what),
            _ => false,
        };
        let steps = self.program.steps.iter();
        let checks: Vec<(Node, Node)> = steps
            .filter_map(|step| {
                let Step::Check(n) = step else { return None };
                let Op::Check { cond, site, .. } = self.program.node(*n).op else { return None };
                let Op::Binary(BinOp::Eq, a, b) = self.program.node(cond).op else { return None };
                of_argument(site).then_some((a, b))
            })
            .collect();
        for _ in 0..sizes.len() {
            for &(a, b) in &checks {
                for (x, y) in [(a, b), (b, a)] {
                    // What cannot be computed is reported by its own check, when its time comes.
                    if let Some((buf, extra)) = self.unknown(x)
                        && sizes.contains(&buf)
                        && self.is_known(y)
                        && let Ok(value) = self.host().int(y)
                    {
                        self.set(buf, value.wrapping_sub(extra))?;
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
            Op::Binary(BinOp::Add, x, y) => {
                let (x, y) = if self.program.as_int(x).is_some() { (y, x) } else { (x, y) };
                let (b, extra) = self.unknown(x)?;
                Some((b, extra.wrapping_add(self.program.as_int(y)?)))
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

/// Whether a representation has this buffer.
fn is_in(rep: &Rep, b: Buf) -> bool {
    match rep {
        Rep::Scalar(own) => *own == b,
        Rep::Tuple(parts) => parts.iter().any(|p| is_in(p, b)),
        Rep::Array(rows, elem) => matches!(rows, Rows::Offsets(own) if *own == b) || is_in(elem, b),
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

pub(super) struct Machine<'a, D: Device> {
    pub(super) memory: Memory<'a, D>,
    plan: &'a Plan,
    pub(super) outside: Outside,
    /// The number of the next kernel, in the order of the text.
    next: usize,
    pub(super) chunks: Chunking,
    /// Whether the round under way is repeated in smaller chunks if it fails: then it does not matter where.
    pub(super) repeats: bool,
    /// Whether the program pulls or pushes elements, so that the run cannot be repeated as a whole.
    streams: bool,
}

/// What decides on the elements of a chunk, and what is known of the one under way.
pub(super) struct Chunking {
    pub(super) scheduler: ChunkScheduler,
    /// How many the next chunk has at most.
    pub(super) size: i64,
    /// The bytes that were asked for since the chunk began.
    pub(super) bytes: u64,
    /// Those that came from outside since.
    pub(super) came: u64,
    /// The elements that came from outside since, if any were to.
    pub(super) pulled: Option<usize>,
}

impl Chunking {
    fn new(most: i64, is_remote: bool, settings: &Settings) -> Chunking {
        let scheduler = ChunkScheduler::new(settings.chunk.map(|n| n.max(1)), settings.team.threads()).at_most(most);
        let scheduler = if is_remote { scheduler.without_caches() } else { scheduler };
        let size = scheduler.size();
        Chunking { scheduler, size, bytes: 0, came: 0, pulled: None }
    }
}

impl<D: Device> Machine<'_, D> {
    fn block(&mut self, steps: &[Step]) -> Result<(), Failure> {
        steps.iter().try_for_each(|s| self.step(s).or_else(|failure| self.told(failure)))
    }

    /// A failure, with what a kernel has to compute for it to be told.
    fn told(&self, failure: Failure) -> Result<(), Failure> {
        let Failure::Untold(n) = failure else { return Err(failure) };
        if self.repeats {
            return Err(failure);
        }
        let kernel = Kernel { sinks: vec![kernel::Sink::Check(n)], name: "a failed check".into() };
        Err(self.memory.device.diagnose(&self.memory, &kernel, self.next)?)
    }

    fn step(&mut self, step: &Step) -> Result<(), Failure> {
        if self.memory.settings.team.interrupt().load(std::sync::atomic::Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        match step {
            Step::Alloc(b, n) => {
                let bytes = self.bytes(*b, *n)?;
                let data = &self.memory.program.bufs[b.index()];
                let device = self.memory.device;
                let mem = if is_in(&self.memory.program.result, *b) {
                    device.alloc_result(bytes, data.elem.bytes(), &data.name)
                } else {
                    device.alloc(bytes, &data.name)
                };
                let mem = mem.map_err(|f| f.at(data.span))?;
                // What is in it is known when it has been written.
                self.memory.bufs[b.index()] = Some(mem);
                self.chunks.bytes += bytes as u64;
            }
            Step::Check(n) => {
                self.memory.host().eval(*n)?;
            }
            Step::Run(kernel) => {
                let at = self.next;
                self.next += 1;
                let defer = self.defers();
                let before = if defer { Vec::new() } else { self.memory.copies(kernel)? };
                let done = self.memory.device.run(&self.memory, kernel, at, defer)?;
                self.memory.known.forget();
                if !done && self.repeats {
                    return Err(Failure::Unlocated);
                }
                if !done {
                    before.into_iter().for_each(|(b, mem)| self.memory.hold(b, mem));
                    return Err(self.memory.device.diagnose(&self.memory, kernel, at)?);
                }
            }
            Step::Sort { order, keys, len, offsets, rows } => self.sort(*order, keys, *len, *offsets, *rows)?,
            Step::Pull { param, count, all, rep } => {
                let count = self.memory.host().int(*count)?;
                let much = Much { count, all: *all, early: self.repeats && self.memory.device.is_remote() };
                let (n, bytes) = self.memory.pull(&mut self.outside, self.plan, *param as usize, much, rep)?;
                self.chunks.came += bytes as u64;
                self.chunks.pulled = Some(self.chunks.pulled.map_or(n, |m| m.max(n)));
            }
            Step::Push { to, rep } => self.memory.push(&mut self.outside, *to, rep)?,
            Step::Bind(pairs) => {
                let new: Vec<Option<D::Mem>> =
                    pairs.iter().map(|(_, from)| self.memory.bufs[from.index()].clone()).collect();
                for ((to, _), buffer) in pairs.iter().zip(new) {
                    self.memory.bufs[to.index()] = buffer;
                }
                self.memory.known.forget();
            }
            Step::Take(to, from, n) => {
                let bytes = self.bytes(*to, *n)?;
                let taken = self.memory.bufs[from.index()].take();
                let mut mem = taken.ok_or_else(|| Failure::Bug(format!("{from} has no memory")))?;
                if mem.bytes() != bytes || !mem.is_alone() {
                    let data = &self.memory.program.bufs[to.index()];
                    mem = self.memory.device.copy(&mem, bytes, &data.name).map_err(|f| f.at(data.span))?;
                }
                self.memory.hold(*to, mem);
            }
            Step::Free(bufs) => bufs.iter().for_each(|b| self.memory.bufs[b.index()] = None),
            Step::If(cond, yes, no) => {
                let start = self.next;
                let middle = start + kernels(yes);
                if self.memory.host().truth(*cond)? {
                    self.block(yes)?;
                } else {
                    self.next = middle;
                    self.block(no)?;
                }
                self.next = middle + kernels(no);
            }
            Step::While { test, cond, body, stream } => {
                let start = self.next;
                let mut rounds = None;
                if let Some(stream) = stream {
                    self.begin_stream(stream)?;
                    rounds = self.repeatable(step, stream);
                }
                loop {
                    self.next = start;
                    self.block(test)?;
                    if !self.memory.host().truth(*cond)? {
                        break;
                    }
                    let begun = Instant::now();
                    if let Some(rounds) = &mut rounds {
                        self.begin_round(rounds);
                    }
                    match (self.round(body), &mut rounds) {
                        (Err(failure), Some(rounds)) if self.repeats && failure.is_of_elements() => {
                            self.again(rounds)?;
                            continue;
                        }
                        (done, _) => done?,
                    }
                    if let Some(stream) = stream {
                        match &mut rounds {
                            Some(rounds) => self.end_round(rounds, begun.elapsed())?,
                            None => self.end_chunk(stream, begun.elapsed(), false)?,
                        }
                        // What was read before an error has been gone through.
                        if let Some(failure) = self.outside.failure() {
                            return Err(failure);
                        }
                    }
                }
                if stream.is_some() {
                    self.outside.release();
                }
                self.next = start + kernels(test) + kernels(body);
            }
        }
        Ok(())
    }

    /// Whether a failure may be noticed later: if the run, or the current round, is repeated after a failure.
    fn defers(&self) -> bool {
        self.memory.device.defers() && (self.repeats || !self.streams)
    }

    /// The steps of a round. If the round can be repeated, waits until no kernel of it can fail any more.
    fn round(&mut self, body: &[Step]) -> Result<(), Failure> {
        self.block(body)?;
        if self.repeats { self.memory.device.settle() } else { Ok(()) }
    }

    /// Before the first round of a stream.
    fn begin_stream(&mut self, stream: &Stream) -> Result<(), Failure> {
        let chunks = &mut self.chunks;
        (chunks.bytes, chunks.came, chunks.pulled) = (0, 0, None);
        let size = chunks.scheduler.begin();
        self.set_chunk(stream, size)
    }

    /// The next chunk has so many elements at most.
    pub(super) fn set_chunk(&mut self, stream: &Stream, size: i64) -> Result<(), Failure> {
        self.chunks.size = size;
        self.memory.set(stream.chunk, size)
    }

    /// A chunk is done: how large is the next? As large, if that *stays*.
    pub(super) fn end_chunk(&mut self, stream: &Stream, took: Duration, stays: bool) -> Result<(), Failure> {
        let chunks = &mut self.chunks;
        let progress = &self.memory.settings.progress;
        progress.chunks.fetch_add(1, Relaxed);
        // Less may have come than was asked for; nothing, or more, if something else had to be waited for.
        let (size, pulled) = (chunks.size, chunks.pulled.take().filter(|n| *n > 0));
        let elements = pulled.map_or(size, |n| size.min(n as i64));
        progress.elements.fetch_add(pulled.map_or(size as u64, |n| n as u64), Relaxed);
        // Of a chunk that is copied early there are two at a time.
        let early = self.outside.early_bytes();
        let room = self.memory.device.room().map(|room| room + early);
        let (bytes, came) = (std::mem::take(&mut chunks.bytes), std::mem::take(&mut chunks.came));
        let came = if early > 0 { 2 * came } else { came };
        if stays {
            return Ok(());
        }
        let size = chunks.scheduler.done(Done { took, elements, bytes, came }, room);
        progress.chunk.store(size as u64, Relaxed);
        if size == chunks.size { Ok(()) } else { self.set_chunk(stream, size) }
    }

    /// How many bytes a buffer of so many elements has.
    fn bytes(&self, b: Buf, n: Node) -> Result<usize, Failure> {
        let data = &self.memory.program.bufs[b.index()];
        let n = self.memory.host().int(n)?;
        let bytes = usize::try_from(n).ok().and_then(|n| n.checked_mul(data.elem.bytes()));
        let limit = self.memory.settings.max_bytes;
        bytes.filter(|b| *b as u64 <= limit).ok_or_else(|| Failure::TooLarge(data.name.clone(), n, data.span))
    }

    fn sort(&mut self, order: Buf, keys: &[Buf], len: Node, offsets: Option<Buf>, rows: Node) -> Result<(), Failure> {
        let (len, rows) = (self.memory.host().int(len)?.max(0), self.memory.host().int(rows)?.max(0));
        let data = &self.memory.program.bufs[order.index()];
        let sort = Sort { keys, len, offsets, rows, name: &data.name };
        let mem = self.memory.device.sort(&self.memory, &sort).map_err(|failure| match failure {
            Failure::Memory(e, _) => Failure::Memory(e, data.span),
            other => other,
        })?;
        self.memory.hold(order, mem);
        Ok(())
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
