//! The simulator of GPUs as a [`Port`]. It tests schedules, and everything that the host does for a GPU, without one.
//!
//! A race, an access out of range, a load of what was never stored, or a barrier that not all threads reach is an internal error. So is work that overlaps with other work on the same memory
//! (`overlap.rs`).

use crate::Settings;
use crate::native::gpu::Unit;
use crate::native::gpu::compiled::OnUnit;
use crate::native::gpu::overlap::{Accesses, Clock, Clocks, Operation};
use crate::native::gpu::port::{Lane, Launching, Port, PortError, Ported};
use crate::native::grid::Layout;
use crate::native::{Input, Options};
use deckle_diag::Diagnostic;
use deckle_interp::simt::{self, BufferMem, Order, SimError};
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel;
use deckle_ir::loops::{Access, Function, RECORD};
use deckle_ir::scalar::Scalar;
use deckle_ir::schedule::Schedule;
use deckle_ir::value::Value;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What memory holds that nothing has been written to.
const GARBAGE: u8 = 0xa5;
/// The default memory of a device in bytes.
const BYTES: u64 = 4 << 30;

/// A simulated device, with faults to inject. Kernels run when they are launched.
#[derive(Debug)]
pub struct Simulator {
    bytes: u64,
    taken: Arc<AtomicU64>,
    launches: AtomicU64,
    lost_after: u64,
    stuck_after: u64,
    /// The number of page-locked areas so far, and of that which there is no memory for, once.
    areas: [AtomicU64; 2],
    /// The number of early copies so far, and of that with which the device is lost.
    early: [AtomicU64; 2],
    /// The order of the blocks of a launch.
    order: Mutex<Order>,
    clocks: Clocks,
}

impl Default for Simulator {
    fn default() -> Simulator {
        Simulator::new(BYTES)
    }
}

impl Simulator {
    /// A device with this memory in bytes.
    pub fn new(bytes: u64) -> Simulator {
        let (never, zero) = (u64::MAX, AtomicU64::new(0));
        let order = Mutex::new(Order::Ascending);
        Simulator {
            bytes,
            taken: Arc::default(),
            launches: zero,
            lost_after: never,
            stuck_after: never,
            areas: [AtomicU64::new(0), AtomicU64::new(never)],
            early: [AtomicU64::new(0), AtomicU64::new(never)],
            order,
            clocks: Clocks::default(),
        }
    }

    /// The device is lost after this many launches.
    pub fn lost_after(self, launches: u64) -> Simulator {
        Simulator { lost_after: launches, ..self }
    }

    /// The launch of this number does not terminate.
    pub fn stuck_after(self, launches: u64) -> Simulator {
        Simulator { stuck_after: launches, ..self }
    }

    /// There is no memory for the page-locked area of this number, once.
    pub fn without_area(self, number: u64) -> Simulator {
        Simulator { areas: [AtomicU64::new(0), AtomicU64::new(number)], ..self }
    }

    /// The device is lost with the early copy of this number.
    pub fn lost_with_early_copy(self, number: u64) -> Simulator {
        Simulator { early: [AtomicU64::new(0), AtomicU64::new(number)], ..self }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether this call is the one at which something goes wrong.
    fn is_reached([calls, at]: &[AtomicU64; 2]) -> bool {
        calls.fetch_add(1, Ordering::Relaxed) == at.load(Ordering::Relaxed)
    }

    fn works(&self) -> Ported<()> {
        if self.launches.load(Ordering::Relaxed) >= self.lost_after {
            return Err(PortError::Lost("it does not answer".into()));
        }
        Ok(())
    }
}

/// Memory of a simulated device.
#[derive(Debug)]
pub(crate) struct SimulatedMem {
    cells: Mutex<Cells>,
    accesses: Accesses,
    size: u64,
    taken: Arc<AtomicU64>,
}

/// Page-locked memory of a simulated device.
#[derive(Debug)]
pub(crate) struct SimulatedPinned {
    bytes: Vec<u8>,
    accesses: Accesses,
}

/// An event of a simulated device.
#[derive(Debug)]
pub(crate) struct SimulatedEvent {
    at: Instant,
    follows: Clock,
}

/// Bytes, and which of them have been stored.
#[derive(Clone, Debug)]
struct Cells {
    bytes: Vec<u8>,
    stored: Vec<bool>,
}

impl Cells {
    fn unset(bytes: usize) -> Cells {
        Cells { bytes: vec![GARBAGE; bytes], stored: vec![false; bytes] }
    }
}

impl SimulatedMem {
    fn lock(&self) -> MutexGuard<'_, Cells> {
        self.cells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Some of the memory.
    fn part(&self, at: usize, bytes: usize) -> Ported<Cells> {
        let all = self.lock();
        let end = at.checked_add(bytes).filter(|end| *end <= all.bytes.len());
        let end = end.ok_or_else(|| outside(at, bytes, all.bytes.len()))?;
        Ok(Cells { bytes: all.bytes[at..end].to_vec(), stored: all.stored[at..end].to_vec() })
    }

    fn set(&self, at: usize, cells: &Cells) -> Ported<()> {
        let mut all = self.lock();
        let (bytes, len) = (cells.bytes.len(), all.bytes.len());
        let end = at.checked_add(bytes).filter(|end| *end <= len).ok_or_else(|| outside(at, bytes, len))?;
        all.bytes[at..end].copy_from_slice(&cells.bytes);
        all.stored[at..end].copy_from_slice(&cells.stored);
        Ok(())
    }

    /// An operation reads or writes it.
    fn accessed(&self, by: Operation, writes: bool) -> Ported<()> {
        self.accesses.add(by, writes, 0..usize::MAX)
    }

    fn set_bytes(&self, at: usize, bytes: &[u8]) -> Ported<()> {
        self.set(at, &Cells { bytes: bytes.to_vec(), stored: vec![true; bytes.len()] })
    }
}

fn outside(at: usize, bytes: usize, len: usize) -> PortError {
    PortError::Refused(format!("{bytes} bytes at {at} are not within {len} bytes of simulated memory"))
}

impl Drop for SimulatedMem {
    fn drop(&mut self) {
        self.taken.fetch_sub(self.size, Ordering::Relaxed);
    }
}

impl Port for Simulator {
    type Mem = SimulatedMem;
    type Pinned = SimulatedPinned;
    type Event = SimulatedEvent;
    type Code = ();

    fn name(&self) -> String {
        "the simulated GPU".into()
    }

    fn alloc(&self, bytes: usize) -> Ported<SimulatedMem> {
        self.works()?;
        let size = bytes as u64;
        if self.taken.fetch_add(size, Ordering::Relaxed) + size > self.bytes {
            self.taken.fetch_sub(size, Ordering::Relaxed);
            return Err(PortError::OutOfMemory);
        }
        let (cells, accesses) = (Mutex::new(Cells::unset(bytes)), Accesses::default());
        Ok(SimulatedMem { cells, accesses, size, taken: self.taken.clone() })
    }

    fn reused(&self, mem: &SimulatedMem) {
        let mut cells = mem.lock();
        *cells = Cells::unset(cells.bytes.len());
    }

    fn pinned(&self, bytes: usize) -> Ported<SimulatedPinned> {
        if Simulator::is_reached(&self.areas) {
            return Err(PortError::OutOfMemory);
        }
        Ok(SimulatedPinned { bytes: vec![0; bytes], accesses: Accesses::default() })
    }

    fn bytes<'a>(&self, pinned: &'a mut SimulatedPinned, range: Range<usize>) -> Ported<&'a mut [u8]> {
        pinned.accesses.by_host(&self.clocks, range.clone())?;
        let (bytes, len) = (range.len(), pinned.bytes.len());
        pinned.bytes.get_mut(range.clone()).ok_or_else(|| outside(range.start, bytes, len))
    }

    fn copy_in(
        &self,
        lane: Lane,
        to: &SimulatedMem,
        at: usize,
        (from, start): (&SimulatedPinned, usize),
        bytes: usize,
    ) -> Ported<()> {
        self.works()?;
        if lane == Lane::Ahead && Simulator::is_reached(&self.early) {
            return Err(PortError::Lost("it does not answer".into()));
        }
        let by = self.clocks.next(lane);
        let part = start.checked_add(bytes).and_then(|end| from.bytes.get(start..end));
        let part = part.ok_or_else(|| outside(start, bytes, from.bytes.len()))?;
        from.accesses.add(by, false, start..start + bytes)?;
        to.accessed(by, true)?;
        to.set_bytes(at, part)
    }

    fn copy_out(
        &self,
        from: &SimulatedMem,
        at: usize,
        (to, start): (&mut SimulatedPinned, usize),
        bytes: usize,
    ) -> Ported<()> {
        self.works()?;
        let (by, len) = (self.clocks.next(Lane::Compute), to.bytes.len());
        let part = start.checked_add(bytes).and_then(|end| to.bytes.get_mut(start..end));
        let part = part.ok_or_else(|| outside(start, bytes, len))?;
        to.accesses.add(by, true, start..start + bytes)?;
        from.accessed(by, false)?;
        part.copy_from_slice(&from.part(at, bytes)?.bytes);
        Ok(())
    }

    fn copy(&self, from: &SimulatedMem, to: &SimulatedMem, bytes: usize) -> Ported<()> {
        self.works()?;
        let by = self.clocks.next(Lane::Compute);
        from.accessed(by, false)?;
        to.accessed(by, true)?;
        to.set(0, &from.part(0, bytes)?)
    }

    fn zero(&self, to: &SimulatedMem, bytes: usize) -> Ported<()> {
        self.works()?;
        to.accessed(self.clocks.next(Lane::Compute), true)?;
        to.set_bytes(0, &vec![0; bytes])
    }

    fn launch(&self, (): &(), launching: &Launching<'_, Simulator>) -> Ported<()> {
        self.works()?;
        self.launches.fetch_add(1, Ordering::Relaxed);
        let Launching { function, buffers, records, record, .. } = launching;
        let by = self.clocks.next(Lane::Compute);
        records.accessed(by, true)?;
        for ((mem, _), param) in buffers.iter().zip(&function.buffers) {
            mem.accessed(by, param.access == Access::Write)?;
        }
        let before = records.part(8 * record, 8)?.bytes;
        let order = *self.order.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = if before == [0; 8] { simulated(launching, order)? } else { true };
        records.set_bytes(8 * (record + 1), &u64::from(failed).to_le_bytes())
    }

    fn record(&self, lane: Lane) -> Ported<SimulatedEvent> {
        Ok(SimulatedEvent { at: Instant::now(), follows: self.clocks.event(lane) })
    }

    fn wait(&self, lane: Lane, event: &SimulatedEvent) -> Ported<()> {
        self.clocks.wait(lane, &event.follows);
        Ok(())
    }

    fn is_past(&self, event: &SimulatedEvent) -> Ported<bool> {
        self.works()?;
        let is_past = self.launches.load(Ordering::Relaxed) < self.stuck_after;
        if is_past {
            self.clocks.past(&event.follows);
        }
        Ok(is_past)
    }

    fn seconds(&self, from: &SimulatedEvent, to: &SimulatedEvent) -> Ported<f64> {
        Ok(to.at.duration_since(from.at).as_secs_f64())
    }
}

/// Runs a function; tells whether something failed.
fn simulated(launching: &Launching<'_, Simulator>, order: Order) -> Ported<bool> {
    let Launching { function, grid, buffers, scalars, .. } = launching;
    let scalars: Vec<Scalar> = scalars.iter().copied().map(Scalar::I64).collect();
    let mut passed = Vec::new();
    for ((mem, bytes), param) in buffers.iter().zip(&function.buffers) {
        let cells = mem.part(0, *bytes)?;
        passed.push(BufferMem::partly(param.elem, cells.bytes, &cells.stored));
    }
    let mut record = [0; RECORD];
    let before = passed.clone();
    if let Err(e) = simt::run_in(order, function, *grid, &mut passed, &scalars, &mut record) {
        // The element after the last may be touched where a check fails, of an empty row for example: all memory is padded.
        let mut passed: Vec<BufferMem> = before.iter().map(padded).collect();
        let after_last = matches!(&e, SimError::OutOfRange { index, len, .. } if *index == *len as i128);
        let again = after_last && simt::run_in(order, function, *grid, &mut passed, &scalars, &mut record).is_ok();
        if again && record[0] != 0 {
            return Ok(true);
        }
        let message = format!("the simulator: {e}, in\n{function}");
        return Err(if e == SimError::Endless { PortError::Steps(message) } else { PortError::Kernel(message) });
    }
    for (((mem, _), param), new) in buffers.iter().zip(&function.buffers).zip(&passed) {
        if param.access == Access::Write {
            let size = new.elem().bytes();
            let mut cells = mem.part(0, new.bytes().len())?;
            cells.bytes.copy_from_slice(new.bytes());
            for (stored, known) in cells.stored.chunks_exact_mut(size).zip(new.stored()) {
                stored.fill(*known || stored.iter().all(|s| *s));
            }
            mem.set(0, &cells)?;
        }
    }
    Ok(record[0] != 0)
}

/// The same with one more element.
fn padded(buffer: &BufferMem) -> BufferMem {
    let more = [buffer.bytes(), &[0; 8][..buffer.elem().bytes()]].concat();
    BufferMem::from_bytes(buffer.elem(), more)
}

/// A program on the simulator, for those who compare schedules.
#[derive(Debug)]
pub struct Simulated(OnUnit<Simulator>);

impl Simulated {
    /// Schedules a function.
    ///
    /// # Errors
    /// The program does what is not supported, or Deckle has a bug.
    pub fn compile(
        program: &array::Program,
        func: Func,
        options: Options,
        layout: Layout,
    ) -> Result<Simulated, Box<Diagnostic>> {
        Simulated::compile_as(program, func, options, layout, None)
    }

    /// The same; functions for which a schedule is given follow that.
    ///
    /// # Errors
    /// As [`Simulated::compile`], and a schedule that does not fit the program.
    pub fn compile_as(
        program: &array::Program,
        func: Func,
        options: Options,
        layout: Layout,
        given: Option<&Schedule>,
    ) -> Result<Simulated, Box<Diagnostic>> {
        let unit = Unit::new(Simulator::new(BYTES), BYTES);
        Ok(Simulated(OnUnit::compile(unit, (program, func), options, layout, given, &|_| Ok(()))?))
    }

    /// The kernels.
    pub fn program(&self) -> &kernel::Program {
        self.0.program()
    }

    /// The loops of all kernels.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.0.functions()
    }

    /// Runs it.
    ///
    /// # Errors
    /// What the program's data does wrong, a limit that is passed, or what the simulator finds wrong with the schedule.
    pub fn run(&self, args: &[Value], settings: &Settings) -> Result<Value, Box<Diagnostic>> {
        self.run_in(Order::Ascending, args, settings)
    }

    /// The same, with the blocks of each launch in another order.
    ///
    /// # Errors
    /// As [`Simulated::run`].
    pub fn run_in(&self, order: Order, args: &[Value], settings: &Settings) -> Result<Value, Box<Diagnostic>> {
        *self.0.unit.port.order.lock().unwrap_or_else(PoisonError::into_inner) = order;
        self.0.run_values(args, settings)
    }

    /// Runs it on flat values.
    ///
    /// # Errors
    /// As [`Simulated::run`].
    pub fn call(&self, args: Vec<Input>, settings: &Settings) -> Result<deckle_runtime::Data, Box<Diagnostic>> {
        self.0.call(args, settings)
    }
}
