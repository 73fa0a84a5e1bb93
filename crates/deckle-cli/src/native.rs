//! Programs as native code: compiled, and run on one core or all of them.

use crate::bind::Bound;
use crate::interrupt::Interrupt;
use crate::progress::Shown;
use deckle_diag::{Code, Diagnostic};
use deckle_engine::{Input, Native, Options, Settings};
use deckle_io::tree;
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::stream::Sink;
use deckle_runtime::{OverBudget, Team};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// The most bytes of one array, whatever the budget: more than any machine has.
const LARGEST: u64 = 1 << 40;

/// What a run gives, and what it took.
pub struct Ran {
    /// The result, unless it was handed over as it came about.
    pub value: Option<Value>,
    pub seconds: f64,
    /// The most bytes that arrays took at once: what `--memory` is about.
    pub array_bytes: u64,
    pub kernels: usize,
    /// How many chunks of sequences were gone through.
    pub chunks: u64,
    pub threads: usize,
    /// In checked mode, how many rounds the loops of compiled code had.
    pub rounds: u64,
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct How {
    pub threads: usize,
    pub memory: Option<u64>,
    /// The elements of a chunk; as many as are needed, if nothing is said.
    pub chunk: Option<i64>,
    /// Whether to show how far the run is.
    pub progress: bool,
    /// Whether the result is printed as it comes about.
    pub is_seen: bool,
}

/// Compiles a function.
pub fn compile(program: &Program, func: Func, contract: bool) -> Result<Native, Box<Diagnostic>> {
    // The size of chunks decides nothing but that: whether there are any is a matter of the program, and so are the bits of its result.
    Native::compile(program, func, Options { given: Options::ALL, contract, ..Options::default() })
}

/// Runs a function that was compiled.
pub fn run(
    native: &Native,
    inputs: Vec<Bound>,
    sink: Option<Box<dyn Sink>>,
    how: How,
    interrupt: &Interrupt,
) -> Result<Ran, Box<Diagnostic>> {
    let pool = deckle_engine::pool(how.memory);
    let settings = Settings {
        team: Team::with_interrupt(how.threads, interrupt.flag()),
        pool: pool.clone(),
        max_bytes: LARGEST,
        chunk: how.chunk,
        owned_results: false,
        progress: Arc::default(),
    };
    interrupt.follow(&settings.progress, how.is_seen);
    let shown = how.progress.then(|| Shown::new(&settings.progress, &pool));
    let started = Instant::now();
    let is_taken = sink.is_some();
    let input = |(bound, ty): (Bound, &Type)| match bound {
        Bound::Value(value) => tree::flat(ty, [&value], &pool, "an argument").map(Input::Data),
        Bound::Stream(source) => Ok(Input::Stream(source)),
    };
    let inputs = inputs.into_iter().zip(native.param_types()).map(input).collect::<Result<_, _>>();
    let over = |e: OverBudget| Box::new(Diagnostic::nowhere(Code::LimitExceeded, e.to_string()));
    let result = native.stream(inputs.map_err(over)?, sink, &settings);
    drop(shown);
    let result = result?;
    let seconds = started.elapsed().as_secs_f64();
    let value = (!is_taken).then(|| tree::value(native.result_type(), &result, 0));
    let (threads, progress) = (settings.team.threads(), &settings.progress);
    let (chunks, rounds) = (progress.chunks.load(Ordering::Relaxed), progress.rounds.load(Ordering::Relaxed));
    Ok(Ran { value, seconds, array_bytes: pool.stats().peak, kernels: native.kernels(), chunks, threads, rounds })
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
