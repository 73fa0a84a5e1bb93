//! The backends that must agree, and the meaning of agreement.
//!
//! The interpreter is the reference: its result is what a file shows. Every backend of [`BACKENDS`] runs the same program on the same
//! arguments, and a test fails if its result differs. To test a new backend, implement [`Backend`] and
//! add it to the list.

use deckle_diag::{Code, Diagnostic};
use deckle_engine::{Cuts, Effort};
use deckle_interp::{Argument, Options, Outcome, Streamed};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::fault::agrees;
use deckle_ir::loops::{Gathers, Stores};
use deckle_ir::value::Value;
use deckle_lower::simplify::{Branches, simplify};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The result of a run.
pub type Run<T> = Result<T, Box<Diagnostic>>;

/// An implementation that runs programs.
pub trait Backend: Sync {
    /// Its name in a report.
    fn name(&self) -> &'static str;

    /// Whether it fails like the interpreter does, with the program or with the simplified one; otherwise with an error of the same code.
    fn is_exact(&self) -> bool {
        true
    }

    /// Compiles a function, for any number of runs.
    ///
    /// # Errors
    /// What the backend cannot compile.
    fn compile(&self, program: &Program, func: Func) -> Run<Compiled>;
}

/// A compiled function: its value for these arguments, or an error in the user's data.
pub type Compiled = Box<dyn Fn(&[Value]) -> Run<Value>>;

/// The functions of a program that have been compiled, by function and backend.
#[derive(Default)]
pub struct Prepared(RefCell<HashMap<Key, Rc<Run<Compiled>>>>);

type Key = (Func, &'static str);

impl Prepared {
    /// Runs a function on a backend, which compiles it once.
    ///
    /// # Errors
    /// What the backend cannot compile, and errors in the user's data.
    pub fn run(&self, backend: &dyn Backend, program: &Program, func: Func, args: &[Value]) -> Run<Value> {
        let key = (func, backend.name());
        let known = self.0.borrow().get(&key).cloned();
        let compiled = known.unwrap_or_else(|| {
            let compiled = Rc::new(backend.compile(program, func));
            self.0.borrow_mut().insert(key, compiled.clone());
            compiled
        });
        match &*compiled {
            Ok(run) => run(args),
            Err(error) => Err(error.clone()),
        }
    }
}

/// All backends that must agree with the interpreter.
pub const BACKENDS: &[&dyn Backend] = &[
    &CheckedSizes,
    &Simplified,
    &OneAtATime,
    &OnCores { name: "native code on one thread", fuse: true, threads: 1, checked: false },
    &OnCores { name: "native code on two threads", fuse: true, threads: 2, checked: false },
    &OnCores { name: "native code without fusion", fuse: false, threads: 1, checked: false },
    &OnCores { name: "native code on two threads, checked", fuse: true, threads: 2, checked: true },
    &OnGrid { name: "the schedule for GPUs, simulated, many parts", parts: Some(5), wide: false },
    &OnGrid { name: "the schedule for GPUs, simulated, a warp for a point", parts: None, wide: true },
];

/// The limit on steps: no test loops forever.
const MAX_STEPS: u64 = 100_000_000;

/// The reference.
pub fn reference(program: &Program, func: Func, args: &[Value]) -> Run<Outcome> {
    deckle_interp::run(program, func, args, &options(false))
}

fn options(check_sizes: bool) -> Options {
    Options { check_sizes, max_steps: Some(MAX_STEPS), ..Options::default() }
}

/// The interpreter, comparing every value with the sizes of its type.
struct CheckedSizes;

impl Backend for CheckedSizes {
    fn name(&self) -> &'static str {
        "the interpreter with sizes checked"
    }

    fn compile(&self, program: &Program, func: Func) -> Run<Compiled> {
        let program = program.clone();
        Ok(Box::new(move |args| deckle_interp::run(&program, func, args, &options(true)).map(|o| o.value)))
    }
}

/// The interpreter on the simplified program, comparing every value with its sizes.
struct Simplified;

impl Backend for Simplified {
    fn name(&self) -> &'static str {
        "the simplified program"
    }

    // Another statement may be the first to fail.
    fn is_exact(&self) -> bool {
        false
    }

    fn compile(&self, program: &Program, func: Func) -> Run<Compiled> {
        let simplified = simplify(program);
        Ok(Box::new(move |args| deckle_interp::run(&simplified, func, args, &options(true)).map(|o| o.value)))
    }
}

/// The machine that runs one element at a time, without buffers; programs that cannot be streamed run as with `--materialize`.
struct OneAtATime;

impl Backend for OneAtATime {
    fn name(&self) -> &'static str {
        "the machine that streams one element at a time"
    }

    // Another statement may be the first to fail.
    fn is_exact(&self) -> bool {
        false
    }

    fn compile(&self, program: &Program, func: Func) -> Run<Compiled> {
        let kept = match deckle_analysis::stream::materialize(program) {
            Some((kept, _)) => kept,
            None => program.clone(),
        };
        Ok(Box::new(move |args| {
            let args = args.iter().cloned().map(Argument::Value).collect();
            match deckle_interp::run_streaming(&kept, func, args, None, &options(false))? {
                Streamed::Done(value) => Ok(value),
                other => Err(Box::new(Diagnostic::nowhere(Code::Internal, format!("it gets stuck: {other:?}")))),
            }
        }))
    }
}

/// Native code. Files with different float rounding agree within [`close`].
struct OnCores {
    name: &'static str,
    fuse: bool,
    threads: usize,
    checked: bool,
}

impl Backend for OnCores {
    fn name(&self) -> &'static str {
        self.name
    }

    fn compile(&self, program: &Program, func: Func) -> Run<Compiled> {
        let given = if self.threads > 1 { deckle_engine::Options::ALL } else { 0 };
        // With both settings, on any machine.
        let gathers = Some(if self.threads > 1 { Gathers::Emulated } else { Gathers::Native });
        let stores = Some(if self.threads > 1 { Stores::InLines } else { Stores::Anywhere });
        let branches = if self.threads > 1 { Branches::Apart } else { Branches::Merged };
        let chunks = if self.threads > 1 { deckle_engine::Chunks::Always } else { deckle_engine::Chunks::Needed };
        // Small arrays in many blocks, and rows of a few elements that all threads share.
        let cuts = if self.threads > 1 { Cuts::small() } else { Cuts::default() };
        let (fuse, checked, threads) = (self.fuse, self.checked, self.threads);
        // LLVM takes nearly all of the time: one backend uses the full pipeline of users, the others test the code that Deckle generates.
        let effort = if fuse && self.threads == 1 { Effort::Full } else { Effort::None };
        let options = deckle_engine::Options {
            fuse,
            chunks,
            given,
            stores,
            effort,
            gathers,
            cuts,
            checked,
            contract: true,
            simplify: true,
            branches,
        };
        let native = deckle_engine::Native::compile(program, func, options)?;
        Ok(Box::new(move |args| {
            let settings = if checked { deckle_engine::Settings::checked } else { deckle_engine::Settings::new };
            let mut settings = settings(threads, Some(4 << 30));
            let result = native.run(args, &settings)?;
            if threads > 1 {
                // Chunks of any size give the same bits. Checked code is slow: one size is sufficient there.
                let sizes: &[i64] = if checked { &[7] } else { &[1, 2, 7, 64] };
                for &chunk in sizes {
                    settings.chunk = Some(chunk);
                    let other = native.run(args, &settings)?;
                    if !same_bits(&result, &other) {
                        let message = format!("in chunks of {chunk} it gives {other:?}, else {result:?}");
                        return Err(Box::new(Diagnostic::nowhere(Code::Internal, message)));
                    }
                }
            }
            Ok(result)
        }))
    }
}

/// The schedule for GPUs, on the simulator: with a warp for each point fused, otherwise not, and in two orders of blocks. An access out of range, a race, a load of uninitialised memory, a divergent barrier and bits that depend on
/// the order of blocks are errors.
struct OnGrid {
    name: &'static str,
    parts: Option<i64>,
    wide: bool,
}

impl Backend for OnGrid {
    fn name(&self) -> &'static str {
        self.name
    }

    fn compile(&self, program: &Program, func: Func) -> Run<Compiled> {
        let given = deckle_engine::Options::ALL;
        let cuts = deckle_engine::Cuts::simulated();
        let options = deckle_engine::Options { fuse: self.wide, given, cuts, ..deckle_engine::Options::default() };
        let layout = deckle_engine::Layout { threads: 64, parts: self.parts, wide: Some(self.wide) };
        let wide = self.wide;
        let simulated = deckle_engine::Simulated::compile(program, func, options, layout)?;
        Ok(Box::new(move |args| {
            let settings = deckle_engine::Settings::new(1, Some(4 << 30));
            let result = simulated.run(args, &settings)?;
            if wide {
                return Ok(result);
            }
            let other = simulated.run_in(deckle_engine::Order::Shuffled(args.len() as u64), args, &settings)?;
            if !same_bits(&result, &other) {
                let message = format!("with blocks in another order it gives {other:?}, else {result:?}");
                return Err(Box::new(Diagnostic::nowhere(Code::Internal, message)));
            }
            Ok(result)
        }))
    }
}

/// Whether two values are equal except for the rounding of floats: sums may be grouped differently.
pub fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Scalar(x), Value::Scalar(y)) => match (x.as_float(), y.as_float()) {
            (Some(p), Some(q)) if x.ty() == y.ty() => {
                let scale = if x.ty() == deckle_ir::scalar::ScalarType::F32 { 1e-4 } else { 1e-9 };
                p == q || (p.is_nan() && q.is_nan()) || (p - q).abs() <= scale * p.abs().max(q.abs()).max(1e-30)
            }
            _ => x == y,
        },
        (Value::Array(x), Value::Array(y)) | (Value::Seq(x), Value::Seq(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(p, q)| close(p, q))
        }
        (Value::Tuple(x), Value::Tuple(y)) => x.len() == y.len() && x.iter().zip(y.iter()).all(|(p, q)| close(p, q)),
        _ => false,
    }
}

/// Whether two values are equal, bit for bit.
fn same_bits(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Scalar(x), Value::Scalar(y)) => x.ty() == y.ty() && x.bits() == y.bits(),
        (Value::Array(x), Value::Array(y)) | (Value::Seq(x), Value::Seq(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(p, q)| same_bits(p, q))
        }
        (Value::Tuple(x), Value::Tuple(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(p, q)| same_bits(p, q))
        }
        _ => false,
    }
}

/// Whether a result agrees with the reference: the same value, or the same error ([`agrees`]). Native code runs the simplified program, in which another
/// statement may be the first to fail, so its error may be the one that the interpreter reports for that program.
pub fn agree(reference: &Run<Value>, other: &Run<Value>, simplified: Option<&Run<Value>>) -> bool {
    match (reference, other) {
        (Ok(a), Ok(b)) => close(a, b),
        (Err(a), Err(b)) => match simplified {
            Some(s) => agrees(a, b) || matches!(s, Err(c) if agrees(c, b)),
            None => a.code == b.code,
        },
        _ => false,
    }
}
