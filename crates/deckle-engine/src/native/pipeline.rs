//! The way of a program from the array IR to code: one list of stages, each with the pass that makes it of the one before.
//!
//! `deckle explain --ir` prints a program at any of them ([`show`]), `deckle explain --timing` tells what each pass took ([`Timings`]). Where
//! debug assertions are on, kernel programs are verified after each pass that made or changed them.

use crate::native::plan::Plan;
use crate::native::{Layout, Options, bug, gpu, grid, lowered, unloadable, whole};
use deckle_diag::Diagnostic;
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Step};
use deckle_ir::loops::{Function, GridLaunch, Launch};
use deckle_ir::schedule::Schedule;
use deckle_llvm::{Compiler, Gpu, Origin, Pipeline, emit, fuses_here, gathers_here, stores_here};
use deckle_lower::chunk::{Unchunked, chunk, lower};
use deckle_lower::flatten;
use deckle_lower::lower::{LoweredKernel, Purpose};
use deckle_lower::simplify::simplify;
use std::fmt;
use std::time::{Duration, Instant};

/// How far a program has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// Array IR, as a front end made it.
    Array,
    /// Array IR, simplified.
    Simple,
    /// Array IR, with sequences in chunks.
    Chunks,
    /// Kernel IR.
    Kernel,
    /// Kernel IR, with its memory.
    Memory,
    /// How the loops of each kernel run.
    Schedule,
    /// Loop IR.
    Loop,
    /// LLVM IR.
    Llvm,
    /// Machine code.
    Asm,
    /// Code for GPUs.
    Ptx,
}

/// What there is to say of a stage.
#[derive(Clone, Copy, Debug)]
pub struct StageInfo {
    /// Which.
    pub stage: Stage,
    /// Its name.
    pub name: &'static str,
    /// The pass that makes it, if one does.
    pub pass: &'static str,
    /// What it is.
    pub about: &'static str,
}

const fn stage(stage: Stage, name: &'static str, pass: &'static str, about: &'static str) -> StageInfo {
    StageInfo { stage, name, pass, about }
}

/// All stages, in order. The last one is another way to go from the kernels on.
pub const STAGES: [StageInfo; 10] = [
    stage(Stage::Array, "array", "", "The operators of the program as written"),
    stage(Stage::Simple, "simple", "simplify", "The same, simplified"),
    stage(
        Stage::Chunks,
        "chunks",
        "chunk",
        "The same, with sequences in chunks, as it is flattened where something would be kept",
    ),
    stage(Stage::Kernel, "kernel", "flatten", "After fusion: kernels, and what the host does around them"),
    stage(Stage::Memory, "memory", "reuse", "The same, with what is computed in place and when memory is let go of"),
    stage(Stage::Schedule, "schedule", "choose", "How the loops of each kernel run, and why"),
    stage(Stage::Loop, "loop", "lower", "The loops of each kernel"),
    stage(Stage::Llvm, "llvm", "emit", "LLVM IR for this machine, optimised"),
    stage(Stage::Asm, "asm", "load", "Machine code for this machine"),
    stage(Stage::Ptx, "ptx", "emit", "Code for NVIDIA GPUs"),
];

impl Stage {
    /// The stage of that name.
    pub fn from_name(name: &str) -> Option<Stage> {
        STAGES.iter().find(|s| s.name == name).map(|s| s.stage)
    }

    /// What there is to say of it.
    pub fn info(self) -> StageInfo {
        STAGES.into_iter().find(|s| s.stage == self).unwrap_or(STAGES[0])
    }
}

/// How long each pass took that was run, in order, and where the code came from.
#[derive(Clone, Debug, Default)]
pub struct Timings {
    /// The stage that was made, and how long that took.
    pub passes: Vec<(Stage, Duration)>,
    /// Where the code came from, if there is any.
    pub origin: Option<Origin>,
}

impl Timings {
    /// Runs a pass.
    pub(crate) fn time<T>(&mut self, stage: Stage, pass: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = pass();
        self.passes.push((stage, begun.elapsed()));
        result
    }
}

/// A table.
impl fmt::Display for Timings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |d: Duration| 1e3 * d.as_secs_f64();
        writeln!(f, "{:<10}{:<10}{:>10}", "pass", "makes", "ms")?;
        for (stage, time) in &self.passes {
            let info = stage.info();
            let from = match (stage, self.origin) {
                (Stage::Asm, Some(Origin::Disk)) => "  from the cache on disk",
                (Stage::Asm, Some(Origin::Memory)) => "  from the cache in memory",
                _ => "",
            };
            writeln!(f, "{:<10}{:<10}{:>10.3}{from}", info.pass, info.name, ms(*time))?;
        }
        writeln!(f, "{:<20}{:>10.3}", "all", ms(self.passes.iter().map(|p| p.1).sum()))
    }
}

/// Sees to it that the kernel IR that a pass has made is well formed.
pub(crate) fn verified(program: &kernel::Program, stage: Stage) -> Result<(), Box<Diagnostic>> {
    if cfg!(debug_assertions)
        && let Err(wrong) = kernel::verify(program)
    {
        let pass = stage.info().pass;
        return Err(bug(format!("`{pass}` made a program that is not well formed: {}", wrong.join("; "))));
    }
    Ok(())
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
    let plan = || Plan::new(program, func, options, &mut Timings::default());
    match stage {
        Stage::Array => Ok(program.to_string()),
        Stage::Simple => Ok(simplify(program).to_string()),
        Stage::Chunks => match chunk(&simplify(program), func, options.cuts) {
            Ok(Some(chunks)) => Ok(chunks.program.to_string()),
            Ok(None) => Ok(format!("// There are no sequences.\n{}", simplify(program))),
            Err(Unchunked::Whole(whole)) => Ok(format!("// Not in chunks: {}\n{}", whole.why, simplify(program))),
            Err(Unchunked::Bug(d)) => Err(d),
        },
        Stage::Kernel => {
            let fusing = flatten::Options { fuse: options.fuse, cuts: options.cuts };
            Ok(format!("{}\n", lower(&simplify(program), func, fusing, options.chunks)?.program))
        }
        Stage::Memory => Ok(format!("{}\n", plan()?.program)),
        Stage::Schedule => {
            let plan = plan()?;
            let schedules: Vec<Schedule> = match target {
                Target::Cpu => schedules(lowered(&plan, explained(&plan, options), None)?),
                Target::Gpu => schedules(grid::lowered(&plan, Layout::default(), None)?),
            };
            let all = names(&plan).into_iter().zip(schedules);
            Ok(all.map(|(kernel, schedule)| format!("// {kernel}\n{schedule}\n")).collect())
        }
        Stage::Loop => {
            let plan = plan()?;
            let functions = match target {
                Target::Cpu => functions(&plan)?,
                Target::Gpu => functions_on_grid(&plan)?,
            };
            Ok(functions.iter().map(|f| format!("{f}\n")).collect::<Vec<_>>().join("\n"))
        }
        Stage::Llvm | Stage::Asm => {
            let ir = emit::host(&functions(&plan()?)?, gathers_here());
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
    Ok(whole(&lowered(&plan, explained(&plan, options), given)?))
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
    let kernels = grid::lowered(plan, Layout::default(), None)?;
    Ok(kernels.iter().flat_map(|k| &k.launches).flat_map(GridLaunch::functions).cloned().collect())
}

/// Those of each kernel.
fn schedules<L>(kernels: Vec<LoweredKernel<L>>) -> Vec<Schedule> {
    kernels.into_iter().map(|k| k.schedule).collect()
}

/// For schedules that are read by people.
fn explained(plan: &Plan, options: Options) -> Purpose {
    let gathers = options.gathers.unwrap_or_else(gathers_here);
    let stores = options.stores.unwrap_or_else(stores_here);
    let contract = plan.contract && fuses_here();
    Purpose { gathers, stores, diagnose: false, compare: true, contract, cuts: plan.cuts }
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
    let all = lowered(&plan, explained(&plan, options), None)?;
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
fn names(plan: &Plan) -> Vec<String> {
    plan.kernels(&mut |kernel, _| Ok::<_, String>(kernel.name.clone())).unwrap_or_default()
}

fn functions(plan: &Plan) -> Result<Vec<Function>, Box<Diagnostic>> {
    let purpose = Purpose { compare: false, ..explained(plan, Options::default()) };
    let all = lowered(plan, purpose, None)?;
    Ok(all.iter().flat_map(|s| &s.launches).flat_map(Launch::functions).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stage_has_a_name_of_its_own() {
        for info in STAGES {
            assert_eq!(Stage::from_name(info.name), Some(info.stage));
            assert_eq!(info.stage.info().name, info.name);
        }
        assert_eq!(Stage::from_name("nothing"), None);
    }

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
        t.passes = vec![(Stage::Kernel, Duration::from_micros(1250)), (Stage::Asm, Duration::from_millis(30))];
        let table = "\
pass      makes             ms
flatten   kernel         1.250
load      asm           30.000  from the cache on disk
all                     31.250
";
        assert_eq!(t.to_string(), table);
    }
}
