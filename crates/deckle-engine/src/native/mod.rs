//! Programs as native code: [`Native::compile`] takes a function of a program through all stages (see [`pipeline`]); [`Native::stream`] runs it, any number of times.

mod again;
mod codes;
mod compile;
mod cpu;
mod data;
mod device;
mod early;
mod fault;
mod gpu;
mod grid;
mod host;
mod outside;
mod passed;
pub mod pipeline;
mod plan;
mod rows;
mod run;
mod scatter;
mod sort;

pub use deckle_interp::simt::Order;
pub(crate) use fault::{CLOSED, Failure, unfit};
pub use gpu::{Gpu, Kept, PoolStats, Simulated, Simulator, Traffic};
pub(crate) use gpu::{OnGpu, Taken};
pub use grid::Layout;
pub use outside::{Hold, Input};

use crate::settings::{Settings, is_checked};
use codes::Codes;
use compile::Make;
use cpu::Cpu;
use deckle_diag::{Code as ErrorCode, Diagnostic};
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel;
use deckle_ir::loops::{Function, Gathers, Launch, Stores};
use deckle_ir::schedule::Schedule;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_llvm::{Compiler, Pipeline, fuses_here, gathers_here, stores_here};
use deckle_lower::chunk::Chunks;
use deckle_lower::cuts::Cuts;
use deckle_lower::lower::LoweredKernel;
use deckle_lower::pipeline::loops;
use deckle_lower::simplify::Branches;
use deckle_runtime::stream::Sink;
use deckle_runtime::{Buffer, Data};
use pipeline::Timings;
use plan::Plan;
use rows::LongCodes;
use std::sync::Mutex;

/// How to compile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Whether arrays are computed where they are used.
    pub fuse: bool,
    /// Whether the program is simplified first.
    pub simplify: bool,
    /// What simplification does to branches.
    pub branches: Branches,
    /// Whether sequences are gone through in chunks.
    pub chunks: Chunks,
    /// How much work goes into making the code fast.
    pub effort: Effort,
    /// How elements from anywhere are loaded; as is faster on this machine, if nothing is said.
    pub gathers: Option<Gathers>,
    /// Whether stores should keep to cache lines; as is faster on this machine, if nothing is said. No bit of a result depends on it.
    pub stores: Option<Stores>,
    /// Which arguments the caller gives away: a bit for each parameter, the lowest for the first. Results may then be computed in their memory. What the
    /// caller still has a handle of is copied before, so to say this of what is kept costs time. [`Native::run`] makes buffers of its own: there all
    /// arguments are given away.
    pub given: u64,
    /// The sizes at which work is cut. There is no reason to change them but to see small arrays divided, as tests do.
    pub cuts: Cuts,
    /// Whether every access of memory is checked, in a run with [`Settings::checked`]: slow, and a way to find bugs of Deckle. `DECKLE_CHECKED=1` in the environment makes
    /// this the default.
    pub checked: bool,
    /// Whether folds that add products of floats round each product and its addition once, by one instruction, where the processor has it: faster, and nearer to the exact sum. No other product
    /// and sum are fused.
    pub contract: bool,
}

/// How much work goes into making code fast.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// None: for code that runs once, on little.
    None,
    /// Some.
    Little,
    /// As much as there is.
    Full,
}

impl Effort {
    fn pipeline(self) -> Pipeline {
        match self {
            Effort::None => Pipeline::O0,
            Effort::Little => Pipeline::O1,
            Effort::Full => Pipeline::LOOPS,
        }
    }
}

impl Options {
    /// All arguments, in [`Options::given`].
    pub const ALL: u64 = u64::MAX;
}

impl Default for Options {
    fn default() -> Options {
        Options {
            fuse: true,
            simplify: true,
            branches: Branches::Merged,
            chunks: Chunks::Needed,
            effort: Effort::Full,
            gathers: None,
            stores: None,
            given: 0,
            cuts: Cuts::default(),
            checked: is_checked(),
            contract: true,
        }
    }
}

/// A program as native code.
#[derive(Debug)]
pub struct Native {
    plan: Plan,
    codes: Codes,
    schedule: Schedule,
    long: LongCodes,
    timings: Timings,
}

fn bug(message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::nowhere(ErrorCode::Internal, message))
}

/// Code could not be made: there is no LLVM, and then what to install, or Deckle has a bug.
fn unloadable(message: String) -> Box<Diagnostic> {
    let Err(missing) = Compiler::host().and_then(Compiler::describe) else { return bug(message) };
    let text = missing.to_string();
    let mut lines = text.lines().map(str::trim);
    let mut d = Diagnostic::nowhere(ErrorCode::NoLlvm, lines.next().unwrap_or("no LLVM can be used"));
    d.helps.extend(lines.next_back().map(str::to_string));
    d.notes.extend(lines.map(str::to_string));
    Box::new(d)
}

/// The schedules of all kernels as one.
fn whole<L>(all: &[LoweredKernel<L>]) -> Schedule {
    Schedule { functions: all.iter().flat_map(|s| s.schedule.functions.iter().cloned()).collect() }
}

impl Native {
    /// Compiles a function.
    ///
    /// # Errors
    /// There is no LLVM, the program does what is not supported, or Deckle has a bug.
    pub fn compile(program: &array::Program, func: Func, options: Options) -> Result<Native, Box<Diagnostic>> {
        Native::compile_as(program, func, options, None)
    }

    /// The same; functions for which a schedule is given follow that.
    ///
    /// # Errors
    /// As [`Native::compile`], and a schedule that does not fit the program.
    pub fn compile_as(
        program: &array::Program,
        func: Func,
        options: Options,
        given: Option<&Schedule>,
    ) -> Result<Native, Box<Diagnostic>> {
        let mut timings = Timings::default();
        let plan = Plan::new(program, func, options, &mut timings)?;
        // The branches of checked code leave little to optimise.
        let effort = if options.checked { options.effort.min(Effort::Little) } else { options.effort };
        let make = Make {
            pipeline: effort.pipeline(),
            gathers: options.gathers.unwrap_or_else(gathers_here),
            stores: options.stores.unwrap_or_else(stores_here),
            cuts: options.cuts,
            checked: options.checked,
            contract: options.contract && fuses_here(),
        };
        let kernels = loops(&plan.program, make.purpose(false), given, &mut timings.passes)?;
        let schedule = whole(&kernels);
        let launches = kernels.into_iter().map(|s| s.launches).collect();
        let codes = Codes::new(&plan.program.steps, launches, make, &mut timings).map_err(unloadable)?;
        Ok(Native { plan, codes, schedule, long: LongCodes::default(), timings })
    }

    /// How long each pass took.
    pub fn timings(&self) -> &Timings {
        &self.timings
    }

    /// The kernels.
    pub fn program(&self) -> &kernel::Program {
        &self.plan.program
    }

    /// How the loops of the kernels run.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The types of the parameters.
    pub fn param_types(&self) -> &[Type] {
        &self.plan.param_types
    }

    /// The type of the result.
    pub fn result_type(&self) -> &Type {
        &self.plan.result_ty
    }

    /// How many kernels there are, in all branches and loops.
    pub fn kernels(&self) -> usize {
        self.codes.launches.len()
    }

    /// How many of them there is code for: what a condition chooses is compiled when it is first chosen.
    pub fn compiled_kernels(&self) -> usize {
        self.codes.compiled()
    }

    /// How many kernels have met rows so long that all threads shared them. Code for that was made when it was first needed.
    pub fn kernels_for_long_rows(&self) -> usize {
        self.long.len()
    }

    /// The loops of all kernels.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.codes.launches.iter().flatten().flat_map(Launch::functions)
    }

    /// Runs it.
    ///
    /// # Errors
    /// What the program's data does wrong, or a limit that is passed.
    pub fn run(&self, args: &[Value], settings: &Settings) -> Result<Value, Box<Diagnostic>> {
        run::run(&self.plan, &self.cpu(settings), args, settings).map_err(|f| f.report(&self.plan.program))
    }

    /// Runs it on buffers: one value for each parameter, and one result.
    ///
    /// # Errors
    /// As [`Native::run`], and arguments that are not of the shape of their parameters: buffers that are too short, offsets that are none, bytes that are no `bool`. What types say of
    /// sizes is checked, too.
    pub fn call(&self, args: Vec<Data>, settings: &Settings) -> Result<Data, Box<Diagnostic>> {
        self.stream(args.into_iter().map(Input::Data).collect(), None, settings)
    }

    /// Runs it on buffers and on sequences that come bit by bit. If the result is a sequence, and there is someone to take it, it is handed over as it comes about, and the number of
    /// its elements is given in its place.
    ///
    /// # Errors
    /// As [`Native::call`], and what those say that elements come from and go to.
    pub fn stream(
        &self,
        args: Vec<Input>,
        sink: Option<Box<dyn Sink>>,
        settings: &Settings,
    ) -> Result<Data, Box<Diagnostic>> {
        self.stream_into(args, sink, None, settings)
    }

    /// The same, and if an array of the result fits into memory that the caller gives, and nobody else has, it is computed there.
    ///
    /// # Errors
    /// As [`Native::stream`].
    pub fn stream_into(
        &self,
        args: Vec<Input>,
        sink: Option<Box<dyn Sink>>,
        room: Option<Buffer>,
        settings: &Settings,
    ) -> Result<Data, Box<Diagnostic>> {
        let sink = sink.filter(|_| self.plan.result_ty.is_seq());
        let cpu = Cpu { room: room.map(|b| Mutex::new(Some(b))), ..self.cpu(settings) };
        run::stream(&self.plan, &cpu, args, sink, settings).map_err(|f| f.report(&self.plan.program))
    }

    fn cpu<'a>(&'a self, settings: &'a Settings) -> Cpu<'a> {
        Cpu { codes: Some(&self.codes), long: &self.long, make: &self.codes.make, settings, room: None }
    }
}
