//! Programs on the simulator of GPUs: how schedules for GPUs are tested without one.
//!
//! A race, an access out of range, a load of what was never stored, or a barrier that not all threads reach is an internal error here.

use crate::Settings;
use crate::native::Options;
use crate::native::device::Device;
use crate::native::fault::Failure;
use crate::native::grid::{self, Layout};
use crate::native::pipeline::Timings;
use crate::native::plan::Plan;
use crate::native::run::{self, Memory};
use deckle_diag::Diagnostic;
use deckle_interp::simt::{self, BufferMem, Order, SimError};
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Kernel};
use deckle_ir::loops::{Access, Function, GridLaunch, RECORD};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::Schedule;
use deckle_ir::value::Value;
use deckle_runtime::{Buffer, OverBudget};
use std::cell::RefCell;
use std::rc::Rc;

/// A program, scheduled for a GPU.
#[derive(Debug)]
pub struct Simulated {
    plan: Plan,
    launches: Vec<Vec<GridLaunch>>,
    layout: Layout,
}

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
        let plan = Plan::new(program, func, options, &mut Timings::default())?;
        let kernels = grid::lowered(&plan, layout, given)?;
        let launches: Vec<_> = kernels.into_iter().map(|k| k.launches).collect();
        Ok(Simulated { plan, launches, layout })
    }

    /// The kernels.
    pub fn program(&self) -> &kernel::Program {
        &self.plan.program
    }

    /// The loops of all kernels.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.launches.iter().flatten().flat_map(GridLaunch::functions)
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
        let (launches, layout, contract) = (&self.launches[..], self.layout, self.plan.contract);
        let device = Simulator { launches, layout, contract, settings, order };
        run::run(&self.plan, &device, args, settings).map_err(|f| f.report(&self.plan.program))
    }
}

struct Simulator<'a> {
    launches: &'a [Vec<GridLaunch>],
    layout: Layout,
    contract: bool,
    settings: &'a Settings,
    order: Order,
}

/// Memory of the simulated device.
#[derive(Debug)]
pub(crate) struct Cells {
    pub bytes: Vec<u8>,
    /// Which bytes have been stored.
    pub stored: Vec<bool>,
}

type Bytes = Rc<RefCell<Cells>>;

fn cells(bytes: Vec<u8>, stored: Vec<bool>) -> Bytes {
    Rc::new(RefCell::new(Cells { bytes, stored }))
}

impl Device for Simulator<'_> {
    type Mem = Bytes;

    fn is_checked(&self) -> bool {
        self.settings.pool.is_checked()
    }

    fn alloc(&self, bytes: usize, what: &str) -> Result<Bytes, Failure> {
        let (asked, stats) = (bytes as u64, self.settings.pool.stats());
        if let Some(budget) = stats.budget.filter(|b| *b < asked) {
            return Err(OverBudget { what: what.into(), asked, in_use: stats.current, budget: Some(budget) }.into());
        }
        Ok(cells(vec![0xa5; bytes], vec![false; bytes]))
    }

    fn put(&self, buffer: Buffer) -> Result<Bytes, Failure> {
        let bytes = buffer.as_slice::<u8>().to_vec();
        let stored = vec![true; bytes.len()];
        Ok(cells(bytes, stored))
    }

    fn get(&self, mem: &Bytes) -> Result<Buffer, Failure> {
        Ok(self.settings.pool.alloc_from(mem.borrow().bytes.as_slice(), "a copy")?)
    }

    fn element(&self, mem: &Bytes, ty: ScalarType, at: usize) -> Result<Scalar, Failure> {
        let size = ty.bytes();
        let mut word = [0; 8];
        if let Some(bytes) = mem.borrow().bytes.get(at * size..(at + 1) * size) {
            word[..size].copy_from_slice(bytes);
        }
        Ok(Scalar::from_bits(ty, u64::from_le_bytes(word)))
    }

    fn copy(&self, mem: &Bytes, bytes: usize, _: &str) -> Result<Bytes, Failure> {
        let (mut new, mut stored) = (mem.borrow().bytes.clone(), mem.borrow().stored.clone());
        new.resize(bytes, 0xa5);
        stored.resize(bytes, false);
        Ok(cells(new, stored))
    }

    fn run(&self, memory: &Memory<'_, Self>, _: &Kernel, at: usize) -> Result<bool, Failure> {
        for launch in &self.launches[at] {
            if self.launch(memory, launch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn diagnose(&self, memory: &Memory<'_, Self>, kernel: &Kernel, at: usize) -> Result<Failure, Failure> {
        grid::diagnose(memory, kernel, at, self.contract)
    }
}

impl Simulator<'_> {
    /// Runs the functions of a launch; tells whether something failed.
    fn launch(&self, memory: &Memory<'_, Self>, launch: &GridLaunch) -> Result<bool, Failure> {
        let mut passed = Vec::new();
        for b in &launch.buffers {
            let memory_of = memory.buffer(*b)?.borrow();
            let elem = memory.program.bufs[b.index()].elem;
            passed.push(BufferMem::partly(elem, memory_of.bytes.clone(), &memory_of.stored));
        }
        let elements = passed.iter().map(BufferMem::len).max().unwrap_or(0) as i64;
        let calls = grid::calls(memory, launch, self.layout, elements)?;
        passed.extend(launch.scratch.iter().map(|ty| BufferMem::unset(*ty, calls.parts as usize + 1)));
        let scalars = [Scalar::I64(calls.points), Scalar::I64(calls.parts)];
        let mut record = [0; RECORD];
        for (function, grid) in calls.all {
            let before = passed.clone();
            if let Err(e) = simt::run_in(self.order, function, grid, &mut passed, &scalars, &mut record) {
                // The element after the last may be touched where a check fails, of an empty row for example: all memory is padded.
                let mut passed: Vec<BufferMem> = before.iter().map(padded).collect();
                let after_last = matches!(&e, SimError::OutOfRange { index, len, .. } if *index == *len as i128);
                let again =
                    after_last && simt::run_in(self.order, function, grid, &mut passed, &scalars, &mut record).is_ok();
                if again && record[0] != 0 {
                    return Ok(true);
                }
                let message = format!("the simulator: {e}, in\n{function}");
                return Err(if e == SimError::Endless { Failure::Steps(message) } else { Failure::Bug(message) });
            }
            for (k, b) in launch.buffers.iter().enumerate() {
                if function.buffers[k].access == Access::Write {
                    let mut cells = memory.buffer(*b)?.borrow_mut();
                    let size = passed[k].elem().bytes();
                    cells.bytes.copy_from_slice(passed[k].bytes());
                    for (stored, known) in cells.stored.chunks_exact_mut(size).zip(passed[k].stored()) {
                        stored.fill(*known || stored.iter().all(|s| *s));
                    }
                }
            }
        }
        Ok(record[0] != 0)
    }
}

/// The same with one more element.
fn padded(buffer: &BufferMem) -> BufferMem {
    let more = [buffer.bytes(), &[0; 8][..buffer.elem().bytes()]].concat();
    BufferMem::from_bytes(buffer.elem(), more)
}
