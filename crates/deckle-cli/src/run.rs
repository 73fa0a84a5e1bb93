//! `deckle run`: compile, bind the arguments, run, and show or write the result.

use crate::args::{Backend, ChunkSize, RunArgs};
use crate::interrupt::Interrupt;
use crate::native::{self, How};
use crate::report::{Outcome, fail, print};
use crate::stats::{Run, Stats};
use crate::{bind, entry, source};
use deckle_diag::{Code, Diagnostic, SourceMap, Span};
use deckle_interp::Options;
use deckle_io::json;
use deckle_io::text::show;
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_passes::stream::{self, Kept};
use std::borrow::Cow;
use std::io::Write;
use std::time::Instant;

/// Runs a program and gives the exit code.
pub fn run(args: &RunArgs) -> u8 {
    let mut sources = SourceMap::new();
    match execute(args, &mut sources) {
        Ok(()) => 0,
        Err(diagnostics) => fail(&diagnostics, &sources),
    }
}

fn execute(args: &RunArgs, sources: &mut SourceMap) -> Outcome<()> {
    let one = |d: Diagnostic| vec![d];
    check_backend(args).map_err(one)?;
    let started = Instant::now();
    let compiled = source::compile(&args.file, sources)?;
    let front_seconds = started.elapsed().as_secs_f64();
    let entry = entry::choose(&compiled, args.entry.as_deref()).map_err(one)?;
    let function = entry::function(&compiled, entry);
    let values = bind::arguments(&entry.name, function, &args.arguments, sources)?;
    let ty = function.result_type();
    if let Some(target) = &args.out {
        target.check(ty).map_err(one)?;
    }

    let (program, kept) = streamable(args, &compiled.program, entry.func, sources)?;
    let job = Job { program: &program, func: entry.func, values: &values, kept: &kept };
    let interrupt = Interrupt::watch();
    let (value, mut stats) = job.run(args, &interrupt).map_err(|d| one(interrupt.explain(*d)))?;
    stats.compile_seconds += front_seconds;

    tell_kept(&kept, &stats.kept, sources);
    deliver(args, ty, &value)?;
    if args.stats {
        let _ = writeln!(std::io::stderr(), "{}", stats.to_json());
    }
    Ok(())
}

/// A function and its arguments.
struct Job<'a> {
    program: &'a Program,
    func: Func,
    values: &'a [Value],
    kept: &'a [Kept],
}

impl Job<'_> {
    /// Runs it where it should, or, if nothing was asked for and there is no LLVM, in the interpreter.
    fn run(&self, args: &RunArgs, interrupt: &Interrupt) -> Result<(Value, Stats), Box<Diagnostic>> {
        let threads = match args.on {
            Some(Backend::Interp) => return self.interpret(interrupt),
            Some(Backend::Seq) => 1,
            _ => args.threads.unwrap_or_else(deckle_runtime::cpu::usable_cores),
        };
        deckle_interp::check(self.program, self.func, self.values)?;
        let chunk = match args.chunk {
            Some(ChunkSize::Elements(n)) => Some(n),
            _ => None,
        };
        let how = How { threads, memory: args.memory, chunk };
        match native::run(self.program, self.func, self.values, how, interrupt) {
            Ok(ran) => {
                let native::Ran { array_bytes, chunks, kernels, threads, .. } = ran;
                let run = Run::Native { array_bytes, chunks, kernels, threads };
                let (seconds, compile_seconds) = (ran.seconds, ran.compile_seconds);
                Ok((ran.value, Stats { seconds, compile_seconds, kept: Vec::new(), run }))
            }
            Err(d) if d.code == Code::NoLlvm && args.on.is_none() && args.memory.is_none() => {
                native::tell_without_llvm(&d);
                self.interpret(interrupt)
            }
            Err(d) => Err(d),
        }
    }

    fn interpret(&self, interrupt: &Interrupt) -> Result<(Value, Stats), Box<Diagnostic>> {
        let watch = self.kept.iter().map(|k| (k.place.func, k.place.var)).collect();
        let options = Options { interrupt: Some(interrupt.flag()), watch, ..Options::default() };
        let started = Instant::now();
        let outcome = deckle_interp::run(self.program, self.func, self.values, &options)?;
        let seconds = started.elapsed().as_secs_f64();
        let stats = Stats { seconds, compile_seconds: 0.0, kept: outcome.bytes, run: Run::Interp(outcome.cost) };
        Ok((outcome.value, stats))
    }
}

/// The program as it can be streamed. With `--materialize` some sequences are kept for that.
fn streamable<'p>(
    args: &RunArgs,
    program: &'p Program,
    func: Func,
    sources: &SourceMap,
) -> Outcome<(Cow<'p, Program>, Vec<Kept>)> {
    let faults = stream::check(program, sources, Some(func));
    if faults.is_empty() {
        return Ok((Cow::Borrowed(program), Vec::new()));
    }
    match args.materialize.then(|| stream::materialize(program)).flatten() {
        Some((program, kept)) => Ok((Cow::Owned(program), kept)),
        None => Err(faults),
    }
}

/// Which sequences were kept; how large they were, only the interpreter knows.
fn tell_kept(kept: &[Kept], bytes: &[u64], sources: &SourceMap) {
    for (k, kept) in kept.iter().enumerate() {
        let at = |span: Span| {
            let file = sources.get(span.file).filter(|_| !span.is_none());
            file.map_or("the program".into(), |f| {
                let (line, column) = f.line_col(span.lo);
                format!("{}:{line}:{column}", f.name)
            })
        };
        let bytes = bytes.get(k).map_or(String::new(), |b| format!(" {b} bytes"));
        let message = format!("kept{bytes}: the sequence at {}, for {}", at(kept.span), at(kept.at));
        let _ = writeln!(std::io::stderr(), "{message}");
    }
}

fn deliver(args: &RunArgs, ty: &Type, value: &Value) -> Outcome<()> {
    if let Some(target) = &args.out {
        target.write(ty, value).map_err(|d| vec![d])?;
    }
    if args.json {
        print(|out| {
            json::write(ty, value, out)?;
            writeln!(out)
        })
    } else if args.out.is_none() {
        print(|out| writeln!(out, "{}", show(ty, value, args.full)))
    } else {
        Ok(())
    }
}

/// What was asked for and is not there.
fn check_backend(args: &RunArgs) -> Result<(), Diagnostic> {
    let unsupported = |message: &str| Err(Diagnostic::nowhere(Code::Unsupported, message));
    match args.on {
        Some(Backend::Gpu) => unsupported("`--on gpu` is not there yet")
            .map_err(|d| d.help("leave `--on` out: the program runs on all cores, and the result is the same")),
        Some(Backend::Interp) if args.memory.is_some() => {
            unsupported("`--memory` is for compiled programs: the interpreter does not count what it holds")
                .map_err(|d| d.help("leave `--on interp` out, or `--memory`"))
        }
        _ => Ok(()),
    }
}
