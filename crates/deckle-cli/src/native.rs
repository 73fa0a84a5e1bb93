//! Programs as native code: compiled, and run on one core or all of them.

use crate::interrupt::Interrupt;
use deckle_diag::Diagnostic;
use deckle_exec::{Chunks, Grain, Native, Options, Settings};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::value::Value;
use deckle_runtime::{Pool, Team};
use std::io::Write;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The most bytes of one array, whatever the budget: more than any machine has.
const LARGEST: u64 = 1 << 40;

/// What a run gives, and what it took.
pub struct Ran {
    pub value: Value,
    pub seconds: f64,
    pub compile_seconds: f64,
    /// The most bytes that arrays took at once: what `--memory` is about.
    pub array_bytes: u64,
    pub kernels: usize,
    /// How many chunks of sequences were gone through.
    pub chunks: u64,
    pub threads: usize,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub threads: usize,
    pub memory: Option<u64>,
    /// The elements of a chunk; as many as are needed, if nothing is said.
    pub chunk: Option<i64>,
}

/// Compiles a function and runs it.
pub fn run(
    program: &Program,
    func: Func,
    values: &[Value],
    how: How,
    interrupt: &Interrupt,
) -> Result<Ran, Box<Diagnostic>> {
    let started = Instant::now();
    let chunks = if how.chunk.is_some() { Chunks::Always } else { Chunks::Needed };
    let native = Native::compile(program, func, Options { chunks, given: Options::ALL, ..Options::default() })?;
    let compile_seconds = started.elapsed().as_secs_f64();
    let pool = Pool::new(how.memory);
    let team = Team::with_interrupt(how.threads, interrupt.flag());
    let settings = Settings {
        team,
        pool: pool.clone(),
        max_bytes: LARGEST,
        grain: Grain::default(),
        chunk: how.chunk,
        progress: std::sync::Arc::default(),
    };
    let started = Instant::now();
    let value = interrupt.during(|| native.run(values, &settings))?;
    let seconds = started.elapsed().as_secs_f64();
    let (threads, chunks) = (settings.team.threads(), settings.progress.chunks.load(Ordering::Relaxed));
    let (array_bytes, kernels) = (pool.stats().peak, native.kernels());
    Ok(Ran { value, seconds, compile_seconds, array_bytes, kernels, chunks, threads })
}

/// Says in one line that the interpreter runs the program, and what to install for native code.
pub fn tell_without_llvm(missing: &Diagnostic) {
    let remedy = missing.helps.first().map_or(String::new(), |h| format!("; {h}"));
    let _ = writeln!(
        std::io::stderr(),
        "deckle: {}, so the reference interpreter runs the program, slowly{remedy}",
        missing.message
    );
}
