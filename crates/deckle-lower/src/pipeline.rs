//! The pipeline: from the array IR of a front end to loop IR, one pass after the other.
//!
//! [`STAGES`] lists every form of a program with the pass that makes it. [`kernels`] runs the passes that work on the whole program, [`loops`]
//! and [`grids`] those that work on one kernel at a time. Each pass runs under [`Passes::run`], which times it, verifies what it made and
//! prints that if it is asked for. The last stages, from loop IR to machine code, are those of `deckle-llvm`; they are in the list so that
//! there is only one.

use crate::chunk::{ChunkSizes, Chunks, Unchunked, Whole, chunk, is_chunked};
use crate::cuts::Cuts;
use crate::flatten::{self, flatten};
use crate::lower::{GridPurpose, LoweredKernel, NotLowered, Purpose, grid_sort, lower_gpu, lower_kernel};
use crate::reuse::reuse;
use crate::simplify::{Branches, simplify_as};
use deckle_diag::{Code, Diagnostic};
use deckle_ir::array::{self, Function};
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Kernel, Step};
use deckle_ir::loops::{self, GridLaunch, GridSort, Launch};
use deckle_ir::scalar::ScalarType;
use deckle_ir::schedule::Schedule;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Display;
use std::time::{Duration, Instant};

/// A form of a program on its way to code.
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

/// What is known of a stage.
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

/// All stages, in order. The last one follows from the loop IR for GPUs, in place of the two before it.
pub const STAGES: [StageInfo; 10] = [
    stage(Stage::Array, "array", "", "The operators of the program as written"),
    stage(Stage::Simple, "simple", "simplify", "The same, simplified"),
    stage(
        Stage::Chunks,
        "chunks",
        "chunk",
        "The same, with sequences in chunks, as it is flattened if something would be materialised",
    ),
    stage(Stage::Kernel, "kernel", "flatten", "After fusion: kernels, and the steps of the host around them"),
    stage(Stage::Memory, "memory", "reuse", "The same, with what is computed in place and when memory is freed"),
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

    /// What is known of it.
    pub fn info(self) -> StageInfo {
        STAGES.into_iter().find(|s| s.stage == self).unwrap_or(STAGES[0])
    }
}

/// How a program is lowered to kernels.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Whether the array IR is simplified first.
    pub simplify: bool,
    /// What simplification does to branches.
    pub branches: Branches,
    /// Whether arrays are computed where they are used.
    pub fuse: bool,
    /// Whether sequences are traversed in chunks.
    pub chunks: Chunks,
    /// Which arguments the caller gives away: a bit for each parameter, the lowest for the first.
    pub given: u64,
    /// The sizes at which work is cut.
    pub cuts: Cuts,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            simplify: true,
            branches: Branches::Merged,
            fuse: true,
            chunks: Chunks::Needed,
            given: 0,
            cuts: Cuts::default(),
        }
    }
}

/// A function as kernels, with their memory.
#[derive(Debug)]
pub struct Kernels {
    /// The kernels.
    pub program: kernel::Program,
    /// The function that they were made of.
    pub function: Function,
    /// For each sequence in the result, in order, the number of the push by which it is handed over. Without chunks the result holds them.
    pub pushes: Vec<u32>,
    /// If its sequences are traversed in chunks, the parameters for their sizes; or the reason why they are not.
    pub chunked: Result<Option<ChunkSizes>, Whole>,
}

/// Lowers a function of a program to kernels.
///
/// # Errors
/// What the program does that is not supported, or a bug of a pass, with its name.
pub fn kernels(
    program: &array::Program,
    func: Func,
    options: Options,
    passes: &mut Passes,
) -> Result<Kernels, Box<Diagnostic>> {
    let fusing = flatten::Options { fuse: options.fuse, cuts: options.cuts };
    // Rewrite the array IR to a smaller program of the same meaning.
    let simple = match options.simplify {
        true => Cow::Owned(simple(program, options.branches, passes)?),
        false => Cow::Borrowed(program),
    };
    // Fuse, and remove nesting: the kernels of a program whose sequences are whole.
    let whole = passes.run(Stage::Kernel, || flatten(&simple, func, fusing))?;
    // Traverse sequences in chunks if their elements come from outside, or some of them would be materialised.
    let chunks = match is_chunked(options.chunks, &simple.funcs[func.index()], &whole) {
        true => match passes.run(Stage::Chunks, || chunk(&simple, func, options.cuts)) {
            Ok(chunks) => Ok(chunks),
            Err(Unchunked::Whole(why)) => Err(why),
            Err(Unchunked::Bug(bug)) => return Err(bug),
        },
        false => Ok(None),
    };
    // Then the kernels are those of the loops over chunks.
    let mut kernels = match chunks {
        Ok(Some(chunks)) => {
            let program = passes.run(Stage::Kernel, || flatten(&chunks.program, func, fusing))?;
            let function = chunks.program.funcs[func.index()].clone();
            Kernels { program, function, pushes: chunks.pushes, chunked: Ok(Some(chunks.sizes)) }
        }
        not => {
            let function = simple.funcs[func.index()].clone();
            Kernels { program: whole, function, pushes: Vec::new(), chunked: not.map(|_| None) }
        }
    };
    // Share memory among buffers, and free it after its last use.
    kernels.program = passes.run(Stage::Memory, || {
        reuse(&mut kernels.program, options.given);
        Ok::<_, Box<Diagnostic>>(kernels.program)
    })?;
    Ok(kernels)
}

/// Simplifies a program.
///
/// # Errors
/// A bug of the pass.
pub fn simple(
    program: &array::Program,
    branches: Branches,
    passes: &mut Passes,
) -> Result<array::Program, Box<Diagnostic>> {
    passes.run(Stage::Simple, || Ok(simplify_as(program, branches)))
}

/// Chooses schedules for all kernels and lowers them to loops for cores. Functions for which a schedule is given follow that one.
///
/// # Errors
/// A schedule that was given and is not legal, or names what the program does not have; or a bug of a pass.
pub fn loops(
    program: &kernel::Program,
    purpose: Purpose,
    given: Option<&Schedule>,
    passes: &mut Passes,
) -> Result<Vec<LoweredKernel<Launch>>, Box<Diagnostic>> {
    let silent = program.silent();
    let lower = |kernel: &Kernel, at, given: Option<&Schedule>| {
        lower_kernel(&silent, kernel, &format!("k{at}"), purpose, given)
    };
    passes.run(Stage::Loop, || following(program, given, &lower))
}

/// The same for the grids of a GPU.
///
/// # Errors
/// As [`loops`].
pub fn grids(
    program: &kernel::Program,
    purpose: GridPurpose,
    given: Option<&Schedule>,
    passes: &mut Passes,
) -> Result<Vec<LoweredKernel<GridLaunch>>, Box<Diagnostic>> {
    let silent = program.silent();
    let lower =
        |kernel: &Kernel, at, given: Option<&Schedule>| lower_gpu(&silent, kernel, &format!("g{at}"), purpose, given);
    passes.run(Stage::Loop, || following(program, given, &lower))
}

/// The functions that sort on the grids of a GPU, if the program sorts.
///
/// # Errors
/// A bug of the pass.
pub fn grid_sorts(
    program: &kernel::Program,
    launches: &[Vec<GridLaunch>],
    purpose: GridPurpose,
    passes: &mut Passes,
) -> Result<Option<GridSort>, Box<Diagnostic>> {
    // Points are sorted by numbers of elements.
    let sorts_points = launches.iter().flatten().any(|launch| launch.sorted.is_some());
    let mut types = sorts_points.then(|| BTreeSet::from([ScalarType::U64]));
    for step in steps(&program.steps) {
        if let Step::Sort { keys, .. } = step {
            types.get_or_insert_with(BTreeSet::new).extend(keys.iter().map(|b| program.bufs[b.index()].elem));
        }
    }
    let Some(types) = types else { return Ok(None) };
    let types = Vec::from_iter(types);
    passes.time(Stage::Loop, || grid_sort(&types, purpose)).map(Some).map_err(bug)
}

/// Lowers a kernel, given its number and the schedule that its functions are to follow.
type LowerKernel<'a, L> = dyn Fn(&Kernel, usize, Option<&Schedule>) -> Result<LoweredKernel<L>, NotLowered> + 'a;

/// All kernels lowered. Every function of a schedule that is given must exist.
fn following<L: Clone>(
    program: &kernel::Program,
    given: Option<&Schedule>,
    lower: &LowerKernel<'_, L>,
) -> Result<Vec<LoweredKernel<L>>, Box<Diagnostic>> {
    let all = |given| {
        let all: Result<Vec<_>, _> =
            each(&program.steps).into_iter().zip(0..).map(|(k, at)| lower(k, at, given)).collect();
        all.map_err(|e| match e {
            NotLowered::Illegal(why) => unfit(why),
            NotLowered::Bug(message) => bug(message),
        })
    };
    let lowered = all(given)?;
    let Some(given) = given else { return Ok(lowered) };
    let missing = |lowered: &[LoweredKernel<L>]| {
        let has = |name: &str| lowered.iter().any(|s| s.schedule.functions.iter().any(|f| f.name == name));
        given.functions.iter().find(|f| !has(&f.name)).map(|f| f.name.clone())
    };
    if missing(&lowered).is_none() {
        return Ok(lowered);
    }
    // If threads share points differently than in the chosen schedule, some of its functions are not needed.
    let known = [all(None)?, lowered.clone()].concat();
    match missing(&known) {
        Some(name) => Err(unfit(format!("the schedule has a function `{name}`, which the program does not have"))),
        None => Ok(lowered),
    }
}

/// A schedule that was given and does not fit.
fn unfit(message: String) -> Box<Diagnostic> {
    let help = "`deckle explain --ir schedule` prints the schedule of a program, to be changed and given to `deckle run --schedule`";
    Box::new(Diagnostic::nowhere(Code::BadFile, message).help(help))
}

fn bug(message: String) -> Box<Diagnostic> {
    Box::new(Diagnostic::nowhere(Code::Internal, message))
}

/// All kernels of some steps, in the order of the text.
pub fn each(all: &[Step]) -> Vec<&Kernel> {
    let mut kernels = Vec::new();
    for step in steps(all) {
        if let Step::Run(kernel) = step {
            kernels.push(kernel);
        }
    }
    kernels
}

/// For each of these kernels, whether it runs for each chunk of a sequence.
pub fn in_chunks(all: &[Step]) -> Vec<bool> {
    let mut found = Vec::new();
    for step in all {
        match step {
            Step::Run(_) => found.push(false),
            Step::If(_, one, other) => found.extend([in_chunks(one), in_chunks(other)].concat()),
            Step::While { test, body, stream, .. } => {
                let inside = [in_chunks(test), in_chunks(body)].concat();
                found.extend(inside.into_iter().map(|is| is || stream.is_some()));
            }
            _ => {}
        }
    }
    found
}

/// All steps, with those inside others after these.
fn steps(all: &[Step]) -> Vec<&Step> {
    let mut found = Vec::new();
    for step in all {
        found.push(step);
        if let Step::If(_, one, other) | Step::While { test: one, body: other, .. } = step {
            found.extend(steps(one).into_iter().chain(steps(other)));
        }
    }
    found
}

/// The passes that have run.
#[derive(Clone, Debug, Default)]
pub struct Passes {
    /// The stage that each made, and how long it took.
    pub times: Vec<(Stage, Duration)>,
    /// How long verifying what they made took.
    pub verifying: Duration,
    printed: Option<Stage>,
    text: Option<String>,
}

impl Passes {
    /// None yet; a stage will be printed when it is made.
    pub fn printing(stage: Stage) -> Passes {
        Passes { printed: Some(stage), ..Passes::default() }
    }

    /// The text of the stage to be printed, if it was made.
    pub fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Runs a pass: times it, verifies what it made, and prints that if it is the stage to be printed.
    ///
    /// # Errors
    /// That of the pass, or what is wrong with what it made: a bug that names the pass.
    pub fn run<F: Form, E: From<Box<Diagnostic>>>(
        &mut self,
        stage: Stage,
        pass: impl FnOnce() -> Result<F, E>,
    ) -> Result<F, E> {
        let made = self.time(stage, pass)?;
        let begun = Instant::now();
        let verified = made.verify();
        self.verifying += begun.elapsed();
        verified.map_err(|wrong| {
            let pass = stage.info().pass;
            bug(format!("`{pass}` made a program that is not well formed: {wrong}"))
        })?;
        if self.printed == Some(stage)
            && let Some(text) = made.text()
        {
            self.text = Some(text);
        }
        Ok(made)
    }

    /// Runs a pass and times it. What it makes is verified elsewhere.
    pub fn time<T>(&mut self, stage: Stage, pass: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = pass();
        self.times.push((stage, begun.elapsed()));
        result
    }
}

/// What a pass makes.
pub trait Form {
    /// Whether it is well formed.
    ///
    /// # Errors
    /// What is wrong.
    fn verify(&self) -> Result<(), String>;

    /// Its text, if there is anything to print.
    fn text(&self) -> Option<String>;
}

impl Form for array::Program {
    fn verify(&self) -> Result<(), String> {
        array::verify(self).map_err(joined)
    }

    fn text(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl Form for Option<crate::chunk::Chunked> {
    fn verify(&self) -> Result<(), String> {
        self.as_ref().map_or(Ok(()), |chunked| chunked.program.verify())
    }

    fn text(&self) -> Option<String> {
        self.as_ref().and_then(|chunked| chunked.program.text())
    }
}

impl Form for kernel::Program {
    fn verify(&self) -> Result<(), String> {
        kernel::verify(self).map_err(joined)
    }

    fn text(&self) -> Option<String> {
        Some(format!("{self}\n"))
    }
}

impl Form for Vec<LoweredKernel<Launch>> {
    /// Each function was verified when it was built.
    fn verify(&self) -> Result<(), String> {
        Ok(())
    }

    fn text(&self) -> Option<String> {
        Some(texts(self.iter().flat_map(|k| &k.launches).flat_map(Launch::functions)))
    }
}

impl Form for Vec<LoweredKernel<GridLaunch>> {
    /// As for cores.
    fn verify(&self) -> Result<(), String> {
        Ok(())
    }

    fn text(&self) -> Option<String> {
        Some(texts(self.iter().flat_map(|k| &k.launches).flat_map(GridLaunch::functions)))
    }
}

fn texts<'f>(functions: impl Iterator<Item = &'f loops::Function>) -> String {
    functions.map(|f| format!("{f}\n")).collect::<Vec<_>>().join("\n")
}

fn joined<E: Display>(errors: Vec<E>) -> String {
    errors.iter().map(E::to_string).collect::<Vec<_>>().join("; ")
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
    fn what_a_pass_made_is_verified_and_named_if_it_is_not_well_formed() {
        let mut sources = deckle_diag::SourceMap::new();
        let none = &mut |_: &str, _: &str| Err(String::new());
        let text = b"def main(xs: [int; n]) = sum(xs)".to_vec();
        let good = deckle_syntax::compile(&mut sources, "test.dk", text, none).unwrap().program;
        let mut passes = Passes::printing(Stage::Simple);
        passes.run(Stage::Simple, || Ok::<_, Box<Diagnostic>>(good.clone())).unwrap();
        assert_eq!(passes.text(), Some(&*good.to_string()));
        let twice = array::Program { funcs: [good.funcs.clone(), good.funcs].concat() };
        let wrong = passes.run(Stage::Simple, || Ok::<_, Box<Diagnostic>>(twice)).unwrap_err();
        assert_eq!(wrong.code, Code::Internal);
        assert!(wrong.message.starts_with("`simplify` made a program that is not well formed: "), "{}", wrong.message);
        assert_eq!(passes.times.len(), 2);
    }
}
