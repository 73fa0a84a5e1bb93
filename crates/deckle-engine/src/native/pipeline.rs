//! What people see of the [pipeline](deckle_lower::pipeline), and its last stages, which make code of loops.
//!
//! `deckle explain --ir` prints a program at any stage ([`show`]), `deckle explain --timing` the time of each pass ([`Timings`]).

use crate::native::grid::Grids;
use crate::native::plan::Plan;
use crate::native::{Layout, Options, bug, gpu, grid, unloadable, whole};
use deckle_diag::Diagnostic;
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::Step;
use deckle_ir::loops::{Function, Launch};
use deckle_ir::schedule::Schedule;
use deckle_llvm::{Compiler, Gpu, Origin, Pipeline, emit, fuses_here, gathers_here, stores_here};
use deckle_lower::chunk::Chunks;
use deckle_lower::lower::{LoweredKernel, Purpose};
use deckle_lower::pipeline::{Passes, each, grids, loops, simple};
pub use deckle_lower::pipeline::{STAGES, Stage, StageInfo};
use std::fmt;
use std::time::Duration;

/// The passes that were run, with their times, and where the code came from.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    /// The passes.
    pub passes: Passes,
    /// Where the code came from, if there is any.
    pub origin: Option<Origin>,
}

impl Timings {
    /// Runs a pass that makes code.
    pub(crate) fn time<T>(&mut self, stage: Stage, pass: impl FnOnce() -> T) -> T {
        self.passes.time(stage, pass)
    }
}

/// A table.
impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |d: Duration| 1e3 * d.as_secs_f64();
        writeln!(f, "{:<10}{:<10}{:>10}", "pass", "makes", "ms")?;
        for (stage, time) in &self.passes.times {
            let info = stage.info();
            let from = match (stage, self.origin) {
                (Stage::Asm, Some(Origin::Disk)) => "  from the cache on disk",
                (Stage::Asm, Some(Origin::Memory)) => "  from the cache in memory",
                _ => "",
            };
            writeln!(f, "{:<10}{:<10}{:>10.3}{from}", info.pass, info.name, ms(*time))?;
        }
        writeln!(f, "{:<20}{:>10.3}", "verify", ms(self.passes.verifying))?;
        let all = self.passes.times.iter().map(|p| p.1).sum::<Duration>() + self.passes.verifying;
        writeln!(f, "{:<20}{:>10.3}", "all", ms(all))
    }
}

/// What kernels are lowered for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Target {
    /// The cores of this machine.
    #[default]
    Cpu,
    /// A GPU.
    Gpu,
}

/// The text of a function at a stage; of the array IR, that of the whole program. Schedules and loops are those for the target; LLVM IR and machine code are for this machine, PTX is for GPUs.
///
/// # Errors
/// As [`crate::Native::compile`].
pub fn show(
    program: &array::Program,
    func: Func,
    options: Options,
    (stage, target): (Stage, Target),
) -> Result<String, Box<Diagnostic>> {
    // The passes up to the kernels, of which one may print what it makes.
    let plan = |options, passes| {
        let mut timings = Timings { passes, origin: None };
        let plan = Plan::new(program, func, options, &mut timings)?;
        Ok::<_, Box<Diagnostic>>((plan, timings.passes))
    };
    let whole = || Ok::<_, Box<Diagnostic>>(simple(program, options.branches, &mut Passes::default())?.to_string());
    match stage {
        Stage::Array => Ok(program.to_string()),
        Stage::Simple => whole(),
        Stage::Chunks => {
            let (plan, passes) = plan(Options { chunks: Chunks::Always, ..options }, Passes::printing(stage))?;
            match (passes.text(), &plan.whole) {
                (Some(chunks), _) => Ok(chunks.to_string()),
                (None, Some(why)) => Ok(format!("// Not in chunks: {}\n{}", why.why, whole()?)),
                (None, None) => Ok(format!("// There are no sequences.\n{}", whole()?)),
            }
        }
        Stage::Kernel | Stage::Memory => printed(&plan(options, Passes::printing(stage))?.1),
        Stage::Schedule => {
            let (plan, _) = plan(options, Passes::default())?;
            let schedules: Vec<Schedule> = match target {
                Target::Cpu => schedules(cores(&plan, options, None)?),
                Target::Gpu => schedules(grid::lowered(&plan, Layout::default(), None)?),
            };
            let all = names(&plan).zip(schedules);
            Ok(all.map(|(kernel, schedule)| format!("// {kernel}\n{schedule}\n")).collect())
        }
        Stage::Loop => {
            let (plan, mut passes) = plan(options, Passes::printing(stage))?;
            match target {
                Target::Cpu => drop(loops(&plan.program, unexplained(&plan), None, &mut passes)?),
                Target::Gpu => drop(grids(&plan.program, Layout::default().purpose(&plan), None, &mut passes)?),
            }
            printed(&passes)
        }
        Stage::Llvm | Stage::Asm => {
            let (plan, mut passes) = plan(options, Passes::default())?;
            let all = loops(&plan.program, unexplained(&plan), None, &mut passes)?;
            let functions: Vec<_> = all.iter().flat_map(|k| &k.launches).flat_map(Launch::functions).cloned().collect();
            let ir = emit::host(&functions, gathers_here());
            let compiler = Compiler::host().map_err(|e| unloadable(e.to_string()))?;
            let text = match stage {
                Stage::Llvm => compiler.optimised_ir(&ir, Pipeline::LOOPS),
                _ => compiler.assembly(&ir, Pipeline::LOOPS),
            };
            text.map_err(|e| unloadable(e.to_string()))
        }
        Stage::Ptx => ptx(program, func, options, &Gpu::new(8, 0)),
    }
}

/// The text of the stage that was to be printed.
fn printed(passes: &Passes) -> Result<String, Box<Diagnostic>> {
    passes.text().map(str::to_string).ok_or_else(|| bug("the stage to be printed was not made".into()))
}

/// The schedule of a function of a program, if that of some of its functions is given.
///
/// # Errors
/// As [`crate::Native::compile_as`], but that no LLVM is needed.
pub fn scheduled(
    program: &array::Program,
    func: Func,
    options: Options,
    given: Option<&Schedule>,
) -> Result<Schedule, Box<Diagnostic>> {
    let plan = Plan::new(program, func, options, &mut Timings::default())?;
    Ok(whole(&cores(&plan, options, given)?))
}

/// The schedule of a function of a program for a GPU, if that of some of its functions is given.
///
/// # Errors
/// As [`scheduled`].
pub fn scheduled_on_grid(
    program: &array::Program,
    func: Func,
    options: Options,
    layout: Layout,
    given: Option<&Schedule>,
) -> Result<Schedule, Box<Diagnostic>> {
    let plan = Plan::new(program, func, options, &mut Timings::default())?;
    Ok(whole(&grid::lowered(&plan, layout, given)?))
}

/// PTX for a function of a program: what [`crate::Callable::with_ptx`] takes, on a machine without LLVM.
///
/// # Errors
/// There is no LLVM, the program does what is not supported, or Deckle has a bug.
pub fn ptx(program: &array::Program, func: Func, options: Options, target: &Gpu) -> Result<String, Box<Diagnostic>> {
    let plan = Plan::new(program, func, options, &mut Timings::default())?;
    gpu::ptx(&functions_on_grid(&plan)?, target)
}

fn functions_on_grid(plan: &Plan) -> Result<Vec<Function>, Box<Diagnostic>> {
    Ok(Grids::new(plan, Layout::default(), None)?.functions().cloned().collect())
}

/// Those of each kernel.
fn schedules<L>(kernels: Vec<LoweredKernel<L>>) -> Vec<Schedule> {
    kernels.into_iter().map(|k| k.schedule).collect()
}

/// The loops for cores, with schedules that are read by people.
fn cores(plan: &Plan, options: Options, given: Option<&Schedule>) -> Result<Vec<LoweredKernel>, Box<Diagnostic>> {
    let gathers = options.gathers.unwrap_or_else(gathers_here);
    let stores = options.stores.unwrap_or_else(stores_here);
    let purpose = Purpose { gathers, stores, compare: true, ..unexplained(plan) };
    loops(&plan.program, purpose, given, &mut Passes::default())
}

/// For loops that are read by people.
fn unexplained(plan: &Plan) -> Purpose {
    let contract = plan.contract && fuses_here();
    let (gathers, stores) = (gathers_here(), stores_here());
    Purpose { gathers, stores, diagnose: false, compare: false, contract, cuts: plan.cuts }
}

/// How many kernels a function is lowered to. A kernel is counted once, however often it runs, and the kernels of both branches of a conditional are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All kernels.
    pub kernels: usize,
    /// Those that are inside a loop of the host.
    pub in_loops: usize,
    /// The launches of all kernels: a kernel has one for each of its outermost dimensions.
    pub launches: usize,
    /// The sorts, which are not kernels.
    pub sorts: usize,
}

/// `kernels 3, in loops 2, launches 4, sorts 1`: all kernels, then the counts that say something more.
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "kernels {}", self.kernels)?;
        if self.in_loops > 0 {
            write!(f, ", in loops {}", self.in_loops)?;
        }
        if self.launches != self.kernels {
            write!(f, ", launches {}", self.launches)?;
        }
        if self.sorts > 0 {
            write!(f, ", sorts {}", self.sorts)?;
        }
        Ok(())
    }
}

/// Counts the kernels of a function of a program.
///
/// # Errors
/// As [`scheduled`].
pub fn counts(program: &array::Program, func: Func, options: Options) -> Result<Counts, Box<Diagnostic>> {
    let plan = Plan::new(program, func, options, &mut Timings::default())?;
    let all = cores(&plan, options, None)?;
    let mut counts = Counts { launches: all.iter().map(|s| s.launches.len()).sum(), ..Counts::default() };
    counts.add(&plan.program.steps, false);
    Ok(counts)
}

impl Counts {
    fn add(&mut self, steps: &[Step], in_loop: bool) {
        for step in steps {
            match step {
                Step::Run(_) => {
                    self.kernels += 1;
                    self.in_loops += usize::from(in_loop);
                }
                Step::Sort { .. } => self.sorts += 1,
                Step::If(_, yes, no) => {
                    self.add(yes, in_loop);
                    self.add(no, in_loop);
                }
                Step::While { test, body, .. } => {
                    self.add(test, true);
                    self.add(body, true);
                }
                Step::Alloc(..) | Step::Check(_) | Step::Bind(_) | Step::Take(..) | Step::Free(_) => {}
                Step::Pull { .. } | Step::Push { .. } => {}
            }
        }
    }
}

/// What each kernel is for.
fn names(plan: &Plan) -> impl Iterator<Item = &String> {
    each(&plan.program.steps).into_iter().map(|kernel| &kernel.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_say_nothing_more_are_left_out() {
        let counts = Counts { kernels: 2, launches: 2, ..Counts::default() };
        assert_eq!(counts.to_string(), "kernels 2");
        let counts = Counts { kernels: 3, in_loops: 2, launches: 4, sorts: 1 };
        assert_eq!(counts.to_string(), "kernels 3, in loops 2, launches 4, sorts 1");
    }

    #[test]
    fn timings_are_a_table() {
        let mut t = Timings { origin: Some(Origin::Disk), ..Timings::default() };
        t.passes.times = vec![(Stage::Kernel, Duration::from_micros(1250)), (Stage::Asm, Duration::from_millis(30))];
        t.passes.verifying = Duration::from_micros(750);
        let table = "\
pass      makes             ms
flatten   kernel         1.250
load      asm           30.000  from the cache on disk
verify                   0.750
all                     32.000
";
        assert_eq!(t.to_string(), table);
    }
}
