//! Programs of the suite, from text to native code.

use deckle_diag::SourceMap;
use deckle_engine::{Chunks, Native, Options, entry, source};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::schedule::{self, Schedule};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The folder of the programs.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("programs")
}

/// A program that can be run.
pub struct Compiled {
    /// The code.
    pub native: Native,
    /// The time from text to code.
    pub seconds: f64,
    /// The number of kernels.
    pub kernels: usize,
}

/// A program from a file, and a function of it.
pub fn read(file: &str, entry: &str) -> Result<(Program, Func), String> {
    let mut sources = SourceMap::new();
    let compiled = source::compile(&folder().join(file), &mut sources);
    let compiled = compiled.map_err(|ds| deckle_diag::render_all(&ds, &sources, false))?;
    let func = entry::choose(&compiled, Some(entry)).map_err(|d| d.message)?.func;
    Ok((compiled.program, func))
}

/// Compiles a function of a file. `given` lists the arguments it may overwrite.
pub fn compile(file: &str, entry: &str, given: u64) -> Result<Compiled, String> {
    with(file, entry, Options { given, ..Options::default() }, None)
}

/// The same, following a schedule from a file.
pub fn compile_as(file: &str, entry: &str, given: u64, schedule: &str) -> Result<Compiled, String> {
    let text = std::fs::read_to_string(schedule).map_err(|e| format!("{schedule}: {e}"))?;
    let schedule = schedule::parse(&text).map_err(|e| format!("{schedule}: {e}"))?;
    with(file, entry, Options { given, ..Options::default() }, Some(&schedule))
}

/// Compiles a function of a file, its sequences in chunks or as a whole.
pub fn compile_with(file: &str, entry: &str, chunks: Chunks) -> Result<Compiled, String> {
    with(file, entry, Options { chunks, ..Options::default() }, None)
}

fn with(file: &str, name: &str, options: Options, schedule: Option<&Schedule>) -> Result<Compiled, String> {
    let (begun, mut sources) = (Instant::now(), SourceMap::new());
    let compiled = source::compile(&folder().join(file), &mut sources);
    let compiled = compiled.map_err(|ds| deckle_diag::render_all(&ds, &sources, false))?;
    let func = entry::choose(&compiled, Some(name)).map_err(|d| d.message)?.func;
    let native = Native::compile_as(&compiled.program, func, options, schedule);
    let native = native.map_err(|d| deckle_diag::render(&d, &sources, false))?;
    let seconds = begun.elapsed().as_secs_f64();
    let kernels = count(&native.program().steps);
    Ok(Compiled { native, seconds, kernels })
}

fn count(steps: &[deckle_ir::kernel::Step]) -> usize {
    use deckle_ir::kernel::Step;
    let inside = |s: &Step| match s {
        Step::Run(_) => 1,
        Step::If(_, yes, no) => count(yes) + count(no),
        Step::While { test, body, .. } => count(test) + count(body),
        _ => 0,
    };
    steps.iter().map(inside).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::kernel::{Op, Program, ROOT, Step};

    /// The checks that kernels make at points.
    fn checks(program: &Program) -> usize {
        let kernels = program.steps.iter().filter_map(|s| if let Step::Run(kernel) = s { Some(kernel) } else { None });
        let needs = kernels.flat_map(|k| &k.sinks).flat_map(|sink| program.sink_needs(sink));
        let is_check = |n: &deckle_ir::kernel::Node| {
            matches!(program.node(*n).op, Op::Check { .. }) && program.space_of(*n) != ROOT
        };
        needs.filter(is_check).count()
    }

    /// An unproven check costs several times as much as these programs.
    #[test]
    fn the_loops_of_dense_programs_check_nothing() {
        for (file, entry) in [
            ("conv1d.dk", "single"),
            ("conv2d.dk", "single"),
            ("conv2d.dk", "stencil_single"),
            ("matmul.dk", "single"),
            ("nbody.dk", "single"),
            ("norms.dk", "sum_single"),
            ("stencil7.dk", "single"),
        ] {
            let compiled = compile(file, entry, 0).unwrap();
            assert_eq!(checks(compiled.native.program()), 0, "{file} {entry}\n{}", compiled.native.program());
        }
    }
}
