//! Functions that can be called, natively or in the interpreter.

use crate::interpret::{self, Interp};
use crate::native::{Failure, OnGpu, Taken};
use crate::{Gpu, Hold, Input, Kept, Native, Options, Settings, Traffic};
use deckle_diag::{Code as ErrorCode, Diagnostic};
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
    /// PTX that was compiled elsewhere.
    ptx: Option<String>,
    made: OnceLock<Box<Made>>,
}

/// Code for a set of arguments that are given away and a device, and for others: a list, since there are few, which grows and is read without a lock.
#[derive(Debug)]
struct Made {
    of: Key,
    /// Why there is none is kept as well.
    code: OnceLock<Result<Code, Box<Diagnostic>>>,
    next: OnceLock<Box<Made>>,
}

/// What code was compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Key {
    /// As [`Options::given`] has it.
    given: u64,
    /// The GPU, if it was compiled for one.
    device: Option<u64>,
}

#[derive(Debug)]
enum Code {
    Native(Box<Native>),
    Gpu(Box<OnGpu>),
}

/// Where a call runs.
#[derive(Clone, Debug, Default)]
pub enum On {
    /// As native code; where no LLVM can be used in the interpreter, and one line on standard error says what to install.
    #[default]
    Best,
    /// As native code.
    Native,
    /// On a GPU.
    Gpu(Gpu),
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
    /// A GPU.
    Gpu {
        /// The peak of the bytes of arrays on this machine.
        array_bytes: u64,
        /// How many chunks of sequences were gone through.
        chunks: u64,
        /// How many kernels the program has.
        kernels: usize,
        /// Launches and copies.
        traffic: Traffic,
    },
}

impl Callable {
    /// A function of a program.
    pub fn new(program: Program, func: Func) -> Callable {
        Callable::with(program, func, Options::default())
    }

    /// The same, compiled in another way. Which arguments it may keep is known from them, not from [`Options::given`].
    pub fn with(program: Program, func: Func, options: Options) -> Callable {
        Callable { program, func, options, schedule: None, ptx: None, made: OnceLock::new() }
    }

    /// Lets native code follow a schedule, where that has functions of its kernels.
    pub fn following(self, schedule: Schedule) -> Callable {
        Callable { schedule: Some(schedule), made: OnceLock::new(), ..self }
    }

    /// Runs PTX that [`crate::pipeline::ptx`] compiled from the same function and options. Then LLVM is only needed to locate a failed check.
    pub fn with_ptx(self, ptx: String) -> Callable {
        Callable { ptx: Some(ptx), made: OnceLock::new(), ..self }
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
        let (made, compile_seconds) = self.code(on, &args);
        match (made, on) {
            (Ok(Code::Native(native)), _) => {
                let is_taken = sink.is_some();
                let args = fetched(args, settings)?;
                let ran = native.stream_into(args, sink, room, settings);
                let on = of_native(native, settings);
                Ok(Ran { result: ended(ran, is_taken)?, report: Report { compile_seconds, on } })
            }
            (Ok(Code::Gpu(gpu)), _) => {
                let is_taken = sink.is_some();
                let (ran, traffic) = gpu.run(args, sink, false, settings);
                let ran = ran.and_then(|taken| match taken {
                    Taken::Data(data) => Ok(data),
                    Taken::Kept(kept) => kept.fetch(settings),
                });
                let on = of_gpu(gpu, traffic, settings);
                Ok(Ran { result: ended(ran, is_taken)?, report: Report { compile_seconds, on } })
            }
            (Err(d), On::Best) if d.code == ErrorCode::NoLlvm => {
                tell(d);
                interpret::call(&self.program, self.func, &Interp::default(), args, sink, settings)
            }
            (Err(d), _) => Err(d.clone()),
        }
    }

    /// Calls the function and leaves its result where it was computed. On a GPU it does not wait for kernels that cannot fail. As an argument of another call on that
    /// device ([`Input::Kept`]) the result is not copied.
    ///
    /// # Errors
    /// As [`Callable::call`].
    pub fn keep(&self, on: &On, args: Vec<Input>, settings: &Settings) -> Result<(Kept, Report), Box<Diagnostic>> {
        if let On::Gpu(_) = on {
            let (made, compile_seconds) = self.code(on, &args);
            if let Code::Gpu(gpu) = made.as_ref().map_err(Clone::clone)? {
                let (ran, traffic) = gpu.run(args, None, true, settings);
                let kept = match ran? {
                    Taken::Data(data) => data.into(),
                    Taken::Kept(kept) => kept,
                };
                return Ok((kept, Report { compile_seconds, on: of_gpu(gpu, traffic, settings) }));
            }
        }
        let Ran { result, report } = self.call(on, args, None, settings)?;
        let none = || Box::new(Diagnostic::nowhere(ErrorCode::Internal, "a result that nobody has taken is gone"));
        Ok((result.ok_or_else(none)?.into(), report))
    }

    /// The code for these arguments, and the time to compile it.
    fn code(&self, on: &On, args: &[Input]) -> (&Result<Code, Box<Diagnostic>>, f64) {
        let (given, device) = match on {
            // Arrays of this machine are copied to the device, and the program owns the copy.
            On::Gpu(gpu) => (given(args, |arg| matches!(arg, Input::Kept(_, Hold::Lent))), Some(gpu.id())),
            _ => (given(args, |arg| matches!(arg, Input::Lent(_) | Input::Kept(_, Hold::Lent))), None),
        };
        let (made, mut compile_seconds) = (self.made(Key { given, device }), 0.0);
        let code = made.code.get_or_init(|| {
            let begun = Instant::now();
            let options = Options { given, ..self.options };
            let (what, schedule) = ((&self.program, self.func), self.schedule.as_ref());
            let code = match on {
                On::Gpu(gpu) => {
                    gpu.compile(what, options, schedule, self.ptx.as_deref()).map(|c| Code::Gpu(Box::new(c)))
                }
                _ => Native::compile_as(what.0, what.1, options, schedule).map(|c| Code::Native(Box::new(c))),
            };
            compile_seconds = begun.elapsed().as_secs_f64();
            code
        });
        (code, compile_seconds)
    }

    /// The entry for a key.
    fn made(&self, of: Key) -> &Made {
        let new = || Box::new(Made { of, code: OnceLock::new(), next: OnceLock::new() });
        let mut made = self.made.get_or_init(new);
        while made.of != of {
            made = made.next.get_or_init(new);
        }
        made
    }
}

/// Which arguments are given away, as [`Options::given`] has it.
fn given(args: &[Input], is_kept: impl Fn(&Input) -> bool) -> u64 {
    let bits = |all: u64, k: usize| all & !1u64.checked_shl(k as u32).unwrap_or(0);
    (0..args.len()).filter(|k| is_kept(&args[*k])).fold(Options::ALL, bits)
}

/// Arguments on this machine.
fn fetched(args: Vec<Input>, settings: &Settings) -> Result<Vec<Input>, Box<Diagnostic>> {
    args.into_iter().map(|arg| arg.fetched(settings).map_err(Failure::report_alone)).collect()
}

/// What came of a run, if nobody has taken it.
fn ended(ran: Result<Data, Box<Diagnostic>>, is_taken: bool) -> Result<Option<Data>, Box<Diagnostic>> {
    match ran {
        Err(d) if is_taken && d.code == ErrorCode::Stream && d.message == crate::native::CLOSED => Ok(None),
        ran => Ok(Some(ran?).filter(|_| !is_taken)),
    }
}

fn of_native(native: &Native, settings: &Settings) -> RanOn {
    RanOn::Native {
        array_bytes: settings.pool.stats().peak,
        chunks: settings.progress.chunks.load(Relaxed),
        kernels: native.kernels(),
        threads: settings.team.threads(),
        rounds: settings.progress.rounds.load(Relaxed),
    }
}

fn of_gpu(gpu: &OnGpu, traffic: Traffic, settings: &Settings) -> RanOn {
    RanOn::Gpu {
        array_bytes: settings.pool.stats().peak,
        chunks: settings.progress.chunks.load(Relaxed),
        kernels: gpu.kernels(),
        traffic,
    }
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
