//! `deckle run`: compile, bind the arguments, run, and show or write the result.

use crate::args::{Backend, RunArgs};
use crate::report::{Outcome, fail, print};
use crate::stats::Stats;
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
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The conventional exit code of a process that a Ctrl-C ends.
const INTERRUPTED: i32 = 130;

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
    check_backend(args.on).map_err(one)?;
    let started = Instant::now();
    let compiled = source::compile(&args.file, sources)?;
    let compile_seconds = started.elapsed().as_secs_f64();
    let entry = entry::choose(&compiled, args.entry.as_deref()).map_err(one)?;
    let function = entry::function(&compiled, entry);
    let values = bind::arguments(&entry.name, function, &args.arguments, sources)?;
    let ty = function.result_type();
    if let Some(target) = &args.out {
        target.check(ty).map_err(one)?;
    }

    let (program, kept) = streamable(args, &compiled.program, entry.func, sources)?;
    let interrupt = watch_for_interrupt();
    let watch = kept.iter().map(|k| (k.place.func, k.place.var)).collect();
    let options = Options { interrupt: Some(interrupt.clone()), watch, ..Options::default() };
    let started = Instant::now();
    let outcome = deckle_interp::run(&program, entry.func, &values, &options);
    let seconds = started.elapsed().as_secs_f64();
    let stopped = interrupt.load(Ordering::Relaxed);
    let outcome = outcome.map_err(|d| one(if stopped { interrupted(*d, seconds) } else { *d }))?;

    tell_kept(&kept, &outcome.bytes, sources);
    deliver(args, ty, &outcome.value)?;
    if args.stats {
        let stats = Stats { seconds, compile_seconds, cost: outcome.cost };
        let _ = writeln!(std::io::stderr(), "{}", stats.to_json());
    }
    Ok(())
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

fn tell_kept(kept: &[Kept], bytes: &[u64], sources: &SourceMap) {
    for (kept, bytes) in kept.iter().zip(bytes) {
        let at = |span: Span| {
            let file = sources.get(span.file).filter(|_| !span.is_none());
            file.map_or("the program".into(), |f| {
                let (line, column) = f.line_col(span.lo);
                format!("{}:{line}:{column}", f.name)
            })
        };
        let message = format!("kept {bytes} bytes: the sequence at {}, for {}", at(kept.span), at(kept.at));
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

fn check_backend(on: Backend) -> Result<(), Diagnostic> {
    let place = match on {
        Backend::Interp => return Ok(()),
        Backend::Seq => "`--on seq` needs the compiler",
        Backend::Cpu => "`--on cpu` needs the compiler",
        Backend::Gpu => "`--on gpu` needs the compiler and a GPU",
    };
    let message = format!("{place}, and this version of Deckle has the interpreter only");
    Err(Diagnostic::nowhere(Code::Unsupported, message)
        .help("leave `--on` out, or write `--on interp`: the result is the same, and comes more slowly"))
}

/// A flag that the first Ctrl-C sets; the second one ends the process at once.
fn watch_for_interrupt() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let set = flag.clone();
    // Without a handler a Ctrl-C ends the process, which loses nothing: output is written whole.
    let _ = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
    });
    flag
}

/// The diagnostic of a run that a Ctrl-C stopped, from the one that says where it was.
fn interrupted(mut d: Diagnostic, seconds: f64) -> Diagnostic {
    if d.code == Code::LimitExceeded {
        d.message = format!("the run was interrupted after {seconds:.1} seconds");
        d = d.note("nothing has been written");
    }
    d
}
