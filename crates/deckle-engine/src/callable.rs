//! Functions that can be called, natively or in the interpreter.

use crate::interpret::{self, Interp};
use crate::{Input, Native, Options, Settings};
use deckle_diag::{Code, Diagnostic};
use deckle_interp::Cost;
use deckle_ir::array::{Function, Program};
use deckle_ir::entity::Func;
use deckle_ir::schedule::Schedule;
use deckle_runtime::stream::Sink;
use deckle_runtime::{Buffer, Data};
use std::io::Write;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Once, OnceLock};
use std::time::Instant;

/// A function of a program, to be called any number of times, from any thread. It is compiled when that is first needed, once for each set of arguments that it may keep, and
/// not again for another number of threads.
#[derive(Debug)]
pub struct Callable {
    program: Program,
    func: Func,
    options: Options,
    /// What native code follows, where it has functions of that name.
    schedule: Option<Schedule>,
    made: OnceLock<Box<Made>>,
}

/// Native code for a set of arguments that are given away, and for others: a list, since there are few, which grows and is read without a lock.
#[derive(Debug)]
struct Made {
    /// As [`Options::given`] has it.
    given: u64,
    /// Why there is none is kept as well.
    native: OnceLock<Result<Native, Box<Diagnostic>>>,
    next: OnceLock<Box<Made>>,
}

/// Where a call runs.
#[derive(Clone, Debug, Default)]
pub enum On {
    /// As native code; where no LLVM can be used in the interpreter, and one line on standard error says what to install.
    #[default]
    Best,
    /// As native code.
    Native,
    /// In the reference interpreter: slow, checked, and by definition right.
    Interp(Interp),
}

/// What a call gives.
#[derive(Debug)]
pub struct Ran {
    /// The result; `None` if it was handed over as it came about.
    pub result: Option<Data>,
    /// What it took.
    pub report: Report,
}

/// What a call took.
#[derive(Clone, Debug)]
pub struct Report {
    /// How long the code was made; nothing, if there was some.
    pub compile_seconds: f64,
    /// What only one way of running tells.
    pub on: RanOn,
}

/// What only one way of running tells.
#[derive(Clone, Debug)]
pub enum RanOn {
    /// The interpreter neither cuts a sequence into chunks nor makes kernels. It meters the cost, unless elements came and went one by one, and knows how large the statements are
    /// that were to be watched.
    Interp {
        /// By the cost model.
        cost: Option<Cost>,
        /// The bytes of each.
        watched: Vec<u64>,
    },
    /// Native code.
    Native {
        /// The most bytes that arrays took at once: what a budget is about.
        array_bytes: u64,
        /// How many chunks of sequences were gone through.
        chunks: u64,
        /// How many kernels the program has.
        kernels: usize,
        /// On how many threads it ran.
        threads: usize,
        /// In checked mode, how many rounds its loops had.
        rounds: u64,
    },
}

impl Callable {
    /// A function of a program.
    pub fn new(program: Program, func: Func) -> Callable {
        Callable::with(program, func, Options::default())
    }

    /// The same, compiled in another way. Which arguments it may keep is known from them, not from [`Options::given`].
    pub fn with(program: Program, func: Func, options: Options) -> Callable {
        Callable { program, func, options, schedule: None, made: OnceLock::new() }
    }

    /// Lets native code follow a schedule, where that has functions of its kernels.
    pub fn following(self, schedule: Schedule) -> Callable {
        Callable { schedule: Some(schedule), made: OnceLock::new(), ..self }
    }

    /// The program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The function.
    pub fn function(&self) -> &Function {
        &self.program.funcs[self.func.index()]
    }

    /// Calls the function. If its result is a sequence, and there is someone to take it, it is handed over as it comes about; whoever has enough ends the run, which is no error.
    ///
    /// # Errors
    /// What the data does wrong, a limit that is passed, or what those say that elements come from and go to; and as [`Native::compile`].
    pub fn call(
        &self,
        on: &On,
        args: Vec<Input>,
        sink: Option<Box<dyn Sink>>,
        settings: &Settings,
    ) -> Result<Ran, Box<Diagnostic>> {
        self.call_into(on, args, sink, None, settings)
    }

    /// The same; if an array of the result fits into memory that the caller gives, and nobody else has, native code computes it there.
    ///
    /// # Errors
    /// As [`Callable::call`].
    pub fn call_into(
        &self,
        on: &On,
        args: Vec<Input>,
        sink: Option<Box<dyn Sink>>,
        room: Option<Buffer>,
        settings: &Settings,
    ) -> Result<Ran, Box<Diagnostic>> {
        let sink = sink.filter(|_| self.function().result_type().is_seq());
        if let On::Interp(how) = on {
            return interpret::call(&self.program, self.func, how, args, sink, settings);
        }
        let (made, mut compile_seconds) = (self.made(given(&args)), 0.0);
        let native = made.native.get_or_init(|| {
            let begun = Instant::now();
            let options = Options { given: made.given, ..self.options };
            let native = Native::compile_as(&self.program, self.func, options, self.schedule.as_ref());
            compile_seconds = begun.elapsed().as_secs_f64();
            native
        });
        match (native, on) {
            (Ok(native), _) => {
                let is_taken = sink.is_some();
                let ran = native.stream_into(args, sink, room, settings);
                ended(native, ran, is_taken, settings, compile_seconds)
            }
            (Err(d), On::Best) if d.code == Code::NoLlvm => {
                tell(d);
                interpret::call(&self.program, self.func, &Interp::default(), args, sink, settings)
            }
            (Err(d), _) => Err(d.clone()),
        }
    }

    /// The code for such arguments.
    fn made(&self, given: u64) -> &Made {
        let new = || Box::new(Made { given, native: OnceLock::new(), next: OnceLock::new() });
        let mut made = self.made.get_or_init(new);
        while made.given != given {
            made = made.next.get_or_init(new);
        }
        made
    }
}

/// Which arguments are given away, as [`Options::given`] has it.
fn given(args: &[Input]) -> u64 {
    let is_kept = |arg: &Input| matches!(arg, Input::Lent(_));
    let bits = |all: u64, k: usize| all & !1u64.checked_shl(k as u32).unwrap_or(0);
    (0..args.len()).filter(|k| is_kept(&args[*k])).fold(Options::ALL, bits)
}

/// What came of a run; it took so many seconds to compile its code.
fn ended(
    native: &Native,
    ran: Result<Data, Box<Diagnostic>>,
    is_taken: bool,
    settings: &Settings,
    compile_seconds: f64,
) -> Result<Ran, Box<Diagnostic>> {
    let result = match ran {
        Err(d) if is_taken && d.code == Code::Stream && d.message == crate::native::CLOSED => None,
        ran => Some(ran?).filter(|_| !is_taken),
    };
    let on = RanOn::Native {
        array_bytes: settings.pool.stats().peak,
        chunks: settings.progress.chunks.load(Relaxed),
        kernels: native.kernels(),
        threads: settings.team.threads(),
        rounds: settings.progress.rounds.load(Relaxed),
    };
    Ok(Ran { result, report: Report { compile_seconds, on } })
}

/// Says once that the interpreter stands in, and what to install.
fn tell(missing: &Diagnostic) {
    static TOLD: Once = Once::new();
    let remedy = missing.helps.first().map_or(String::new(), |h| format!("; {h}"));
    let line = format!("deckle: {}, so the reference interpreter runs programs, slowly{remedy}", missing.message);
    TOLD.call_once(|| {
        // Nobody is left to tell if standard error is closed.
        let _ = writeln!(std::io::stderr(), "{line}");
    });
}
