//! Programs as native code: compiled, and run on one core or all of them.

use crate::interrupt::Interrupt;
use deckle_diag::Diagnostic;
use deckle_exec::{CHUNK, Chunks, Grain, Native, Options, Settings};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::value::Value;
use deckle_runtime::{Pool, Team};
use std::io::Write;
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

/// So many bytes of the memory to stay within are there for an element of a chunk.
const BYTES_OF_AN_ELEMENT: u64 = 512;

impl How {
    /// The elements of a chunk.
    fn chunk(&self) -> i64 {
        let most = self.memory.map_or(CHUNK, |bytes| (bytes / BYTES_OF_AN_ELEMENT).min(CHUNK as u64) as i64);
        self.chunk.unwrap_or(most.max(1))
    }
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
    let settings =
        Settings { team, pool: pool.clone(), max_bytes: LARGEST, grain: Grain::default(), chunk: how.chunk() };
    let started = Instant::now();
    let value = interrupt.during(|| native.run(values, &settings))?;
    let seconds = started.elapsed().as_secs_f64();
    let threads = settings.team.threads();
    Ok(Ran { value, seconds, compile_seconds, array_bytes: pool.stats().peak, kernels: native.kernels(), threads })
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
