//! `deckle run`: compile, bind the arguments, run, and show or write the result.

use crate::args::{Backend, ChunkSize, RunArgs};
use crate::interrupt::Interrupt;
use crate::output::{self, Target};
use crate::progress::Shown;
use crate::report::{fail, print};
use crate::stats;
use deckle_analysis::stream::{self as streams, Kept};
use deckle_diag::{Code, Diagnostic, SourceMap, Span};
use deckle_engine::{
    Callable, Gpu, Interp, On, Options, Outcome, Ran, RanOn, Settings, Simulator, bind, entry, source,
};
use deckle_io::text::{Ends, show};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::schedule::Schedule;
use deckle_ir::types::Type;
use deckle_runtime::stream::Sink;
use deckle_runtime::{Data, Team, cpu};
use std::borrow::Cow;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Runs a program and returns the exit code.
pub fn run(args: &RunArgs) -> u8 {
    let mut sources = SourceMap::new();
    let interrupt = Interrupt::watch();
    let outcome = execute(args, &mut sources, &interrupt);
    interrupt.settle();
    match outcome {
        Ok(()) => 0,
        Err(diagnostics) => {
            let code = fail(&interrupt.explain(diagnostics), &sources);
            interrupt.code().unwrap_or(code)
        }
    }
}

fn execute(args: &RunArgs, sources: &mut SourceMap, interrupt: &Interrupt) -> Outcome<()> {
    let one = |d: Diagnostic| vec![d];
    check_backend(args).map_err(one)?;
    let started = Instant::now();
    let compiled = source::compile(&args.file, sources)?;
    let front_seconds = started.elapsed().as_secs_f64();
    let entry = entry::choose(&compiled, args.entry.as_deref()).map_err(one)?;
    let function = entry::function(&compiled, entry);
    let settings = settings(args, interrupt);
    // Before files are read: an unavailable backend is reported at once.
    let gpu = gpu(args).map_err(|d| one(*d))?;
    let inputs = bind::inputs(&entry.name, function, &args.arguments, &settings.pool, sources)?;
    let ty = function.result_type();
    if let Some(target) = &args.out {
        target.check(ty).map_err(one)?;
    }

    let (program, kept) = streamable(args, &compiled.program, entry.func, sources)?;
    let options = Options { contract: !args.no_contract, ..Options::default() };
    let mut callable = Callable::with(program.into_owned(), entry.func, options);
    if let Some(file) = &args.schedule {
        callable = callable.following(schedule(file).map_err(one)?);
    }
    let ends = Arc::new(Mutex::new(Ends::new(ty)));
    let sink = taker(args, ty, &ends).map_err(one)?;
    let is_seen = args.out.as_ref().map_or(args.json, Target::is_standard_output) && ty.is_seq();
    interrupt.follow(&settings.progress, is_seen);
    let shown = args.progress.then(|| Shown::new(&settings.progress, &settings.pool));
    let begun = Instant::now();
    let ran = callable.call(&on(args, gpu, &kept), inputs, sink, &settings);
    let seconds = begun.elapsed().as_secs_f64();
    drop(shown);
    let Ran { result, mut report } = ran.map_err(|d| one(*d))?;
    let seconds = seconds - report.compile_seconds;
    report.compile_seconds += front_seconds;

    let bytes = if let RanOn::Interp { watched, .. } = &report.on { &watched[..] } else { &[] };
    tell_kept(&kept, bytes, sources);
    match (result, ends.lock()) {
        (Some(result), _) => deliver(args, ty, &result)?,
        (None, Ok(ends)) if is_shown(args) => print(|out| writeln!(out, "{}", ends.show()))?,
        _ => {}
    }
    if args.stats {
        let _ = writeln!(std::io::stderr(), "{}", stats::to_json(&report, seconds));
    }
    Ok(())
}

/// Reads a schedule.
fn schedule(file: &Path) -> Result<Schedule, Diagnostic> {
    let unfit = |why: String| Diagnostic::nowhere(Code::BadFile, format!("`{}` cannot be used: {why}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|e| unfit(e.to_string()))?;
    deckle_ir::schedule::parse(&text).map_err(|e| unfit(e.to_string()))
}

/// The resources of the run.
fn settings(args: &RunArgs, interrupt: &Interrupt) -> Settings {
    let threads = match args.on {
        Some(Backend::Seq | Backend::Interp) => 1,
        _ => args.threads.unwrap_or_else(cpu::usable_cores),
    };
    let team = Team::with_interrupt(threads, interrupt.flag());
    let chunk = match args.chunk {
        Some(ChunkSize::Elements(n)) => Some(n),
        _ => None,
    };
    Settings { chunk, measured: args.stats, ..Settings::with(team, deckle_engine::pool(args.memory)) }
}

/// The GPU, if it runs on one.
fn gpu(args: &RunArgs) -> Result<Option<Gpu>, Box<Diagnostic>> {
    match args.on {
        Some(Backend::Gpu) => Gpu::open(args.device.unwrap_or(0), args.device_memory).map(Some),
        Some(Backend::Simulated) => Ok(Some(Gpu::simulated(Simulator::default(), args.device_memory))),
        _ => Ok(None),
    }
}

/// The backend. Without LLVM it is the interpreter, unless an option requires native code.
fn on(args: &RunArgs, gpu: Option<Gpu>, kept: &[Kept]) -> On {
    if let Some(gpu) = gpu {
        return On::Gpu(gpu);
    }
    match args.on {
        Some(Backend::Interp) => On::Interp(Interp {
            watch: kept.iter().map(|k| (k.place.func, k.place.var)).collect(),
            metered: args.stats || !kept.is_empty(),
            ..Interp::default()
        }),
        None if args.memory.is_none() => On::Best,
        _ => On::Native,
    }
}

/// Whether only the beginning and the end of a long result are shown.
fn is_shown(args: &RunArgs) -> bool {
    args.out.is_none() && !args.json && !args.full
}

/// The consumer of the result while the program runs: a file or standard output, if it is a sequence that can be written in parts; or the display of its ends.
fn taker(args: &RunArgs, ty: &Type, ends: &Arc<Mutex<Ends>>) -> Result<Option<Box<dyn Sink>>, Diagnostic> {
    match &args.out {
        _ if !ty.is_seq() => Ok(None),
        None if is_shown(args) => Ok(Some(output::ends(ends))),
        Some(target) if !args.json => target.create(ty),
        None if args.json => Target::json().create(ty),
        _ => Ok(None),
    }
}

/// The program in a form that can be streamed. With `--materialize` some sequences are materialised for that.
fn streamable<'p>(
    args: &RunArgs,
    program: &'p Program,
    func: Func,
    sources: &SourceMap,
) -> Outcome<(Cow<'p, Program>, Vec<Kept>)> {
    let faults = streams::check(program, sources, Some(func));
    if faults.is_empty() {
        return Ok((Cow::Borrowed(program), Vec::new()));
    }
    match args.materialize.then(|| streams::materialize(program)).flatten() {
        Some((program, kept)) => Ok((Cow::Owned(program), kept)),
        None => Err(faults),
    }
}

/// The materialised sequences; only the interpreter knows their sizes.
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

fn deliver(args: &RunArgs, ty: &Type, result: &Data) -> Outcome<()> {
    if let Some(target) = &args.out {
        target.write(ty, result).map_err(|d| vec![d])?;
    }
    match args.out {
        _ if args.json => Target::json().write(ty, result).map_err(|d| vec![d]),
        None => print(|out| writeln!(out, "{}", show(ty, result, args.full))),
        Some(_) => Ok(()),
    }
}

/// Rejects options that the selected backend does not support.
fn check_backend(args: &RunArgs) -> Result<(), Diagnostic> {
    let unsupported = |message: &str| Err(Diagnostic::nowhere(Code::Unsupported, message));
    match args.on {
        Some(Backend::Interp) if args.schedule.is_some() => {
            unsupported("`--schedule` is for compiled programs: the interpreter has no loops to schedule")
                .map_err(|d| d.help("leave `--on interp` out, or `--schedule`"))
        }
        Some(Backend::Interp) if args.memory.is_some() => {
            unsupported("`--memory` is for compiled programs: the interpreter does not count what it holds")
                .map_err(|d| d.help("leave `--on interp` out, or `--memory`"))
        }
        _ => Ok(()),
    }
}
