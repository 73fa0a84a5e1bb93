//! `deckle run`: compile, bind the arguments, run, and show or write the result.

use crate::args::{Backend, ChunkSize, RunArgs};
use crate::bind::Bound;
use crate::interrupt::Interrupt;
use crate::native::{self, How};
use crate::output::Target;
use crate::report::{Outcome, fail, print};
use crate::stats::{Run, Stats};
use crate::{bind, entry, output, source};
use deckle_diag::{Code, Diagnostic, SourceMap, Span};
use deckle_engine::CLOSED;
use deckle_interp::Options;
use deckle_io::text::{Ends, show};
use deckle_io::{json, tree};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_passes::stream::{self as streams, Kept};
use deckle_runtime::Pool;
use deckle_runtime::cpu;
use deckle_runtime::pool::Bytes;
use deckle_runtime::stream::{self, Sink};
use std::borrow::Cow;
use std::io::Write;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Runs a program and gives the exit code.
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
    let inputs = bind::inputs(&entry.name, function, &args.arguments, sources)?;
    let ty = function.result_type();
    if let Some(target) = &args.out {
        target.check(ty).map_err(one)?;
    }

    let (program, kept) = streamable(args, &compiled.program, entry.func, sources)?;
    let job = Job { program: &program, func: entry.func, kept: &kept };
    let ran = job.run(args, inputs, ty, interrupt).map_err(|d| one(*d));
    let (value, mut stats) = match ran {
        // Whoever read the result has seen enough.
        Err(d) if d[0].code == Code::Stream && d[0].message == CLOSED => return Ok(()),
        ran => ran?,
    };
    stats.compile_seconds += front_seconds;

    tell_kept(&kept, &stats.kept, sources);
    if let Some(value) = value {
        deliver(args, ty, &value)?;
    }
    if args.stats {
        let _ = writeln!(std::io::stderr(), "{}", stats.to_json());
    }
    Ok(())
}

/// A function.
struct Job<'a> {
    program: &'a Program,
    func: Func,
    kept: &'a [Kept],
}

type Ran = Result<(Option<Value>, Stats), Box<Diagnostic>>;

impl Job<'_> {
    /// Runs it where it should, or, if nothing was asked for and there is no LLVM, in the interpreter. What was not handed over while it ran is given.
    fn run(&self, args: &RunArgs, inputs: Vec<Bound>, ty: &Type, interrupt: &Interrupt) -> Ran {
        let threads = match args.on {
            Some(Backend::Interp) => return self.interpret(inputs, interrupt),
            Some(Backend::Seq) => 1,
            _ => args.threads.unwrap_or_else(deckle_runtime::cpu::usable_cores),
        };
        let chunk = match args.chunk {
            Some(ChunkSize::Elements(n)) => Some(n),
            _ => None,
        };
        let is_seen = args.out.as_ref().map_or(args.json, Target::is_standard_output) && ty.is_seq();
        let how = How { threads, memory: args.memory, chunk, progress: args.progress, is_seen };
        let started = Instant::now();
        match native::compile(self.program, self.func, args.contract) {
            Ok(native) => {
                let compile_seconds = started.elapsed().as_secs_f64();
                let ends = Arc::new(Mutex::new(Ends::new(ty)));
                let sink = taker(args, ty, &ends)?;
                let ran = native::run(&native, inputs, sink, how, interrupt)?;
                if let Some(ends) = ends.lock().ok().filter(|_| ran.value.is_none() && is_shown(args)) {
                    print(|out| writeln!(out, "{}", ends.show())).map_err(|mut d| Box::new(d.remove(0)))?;
                }
                let native::Ran { value, seconds, array_bytes, chunks, kernels, threads, rounds } = ran;
                let run = Run::Native { array_bytes, chunks, kernels, threads, rounds };
                Ok((value, Stats { seconds, compile_seconds, kept: Vec::new(), run }))
            }
            Err(d) if d.code == Code::NoLlvm && args.on.is_none() && args.memory.is_none() => {
                native::tell_without_llvm(&d);
                self.interpret(inputs, interrupt)
            }
            Err(d) => Err(d),
        }
    }

    fn interpret(&self, inputs: Vec<Bound>, interrupt: &Interrupt) -> Ran {
        let watch = self.kept.iter().map(|k| (k.place.func, k.place.var)).collect();
        let function = &self.program.funcs[self.func.index()];
        let params = function.params().iter().map(|p| function.ty(*p));
        let values = inputs.into_iter().zip(params).map(|(bound, ty)| whole(bound, ty, interrupt));
        let values = values.collect::<Result<Vec<Value>, _>>()?;
        let options =
            Options { interrupt: Some(interrupt.flag()), watch, max_elements: most_elements(), ..Options::default() };
        let started = Instant::now();
        let outcome = deckle_interp::run(self.program, self.func, &values, &options)?;
        let seconds = started.elapsed().as_secs_f64();
        let stats = Stats { seconds, compile_seconds: 0.0, kept: outcome.bytes, run: Run::Interp(outcome.cost) };
        Ok((Some(outcome.value), stats))
    }
}

/// An argument as a tree, for the interpreter, which has everything as a whole.
fn whole(bound: Bound, ty: &Type, interrupt: &Interrupt) -> Result<Value, Box<Diagnostic>> {
    let mut source = match bound {
        Bound::Value(value) => return Ok(value),
        Bound::Stream(source) => source,
    };
    let (pool, mut all, mut bytes) = (Pool::new(None), Vec::new(), 0);
    let elem = ty.elem().unwrap_or(ty);
    loop {
        if interrupt.flag().load(Ordering::Relaxed) {
            return Err(Box::new(Diagnostic::nowhere(Code::LimitExceeded, "interrupted")));
        }
        match source.next(1 << 20, &pool) {
            Ok(Some(block)) => {
                let tree = tree::bytes(&block);
                bytes += tree;
                check_room(bytes, tree)?;
                all.extend(tree::values(elem, &block));
            }
            Ok(None) if ty.elem().is_none() => {
                let missing = || Diagnostic::nowhere(Code::Internal, "an argument that does not come");
                return all.pop().ok_or_else(|| Box::new(missing()));
            }
            Ok(None) => return Ok(if ty.is_seq() { Value::seq(all) } else { Value::array(all) }),
            Err(stream::Error::Failed(e)) => {
                let said =
                    |e: Box<dyn std::error::Error + Send + Sync>| Diagnostic::nowhere(Code::BadFile, e.to_string());
                return Err(e.downcast::<Diagnostic>().unwrap_or_else(|e| Box::new(said(e))));
            }
            Err(e) => return Err(Box::new(Diagnostic::nowhere(Code::LimitExceeded, e.to_string()))),
        }
    }
}

/// What is small is not worth asking for.
const SMALL: u64 = 32 << 20;
/// Whether there is memory for the next `tree` bytes of an argument that the interpreter has as a whole: `bytes` of it with these.
fn check_room(bytes: u64, tree: u64) -> Result<(), Box<Diagnostic>> {
    // What is there already is no longer free; half of all is left for what is computed of it.
    let free = || cpu::free_memory().filter(|free| bytes + tree > *free);
    match if bytes > SMALL { free() } else { None } {
        None => Ok(()),
        Some(free) => {
            let (bytes, free) = (Bytes(bytes), Bytes(free));
            let message = format!(
                "the interpreter has arguments as a whole: this one takes more than {bytes}, and {free} of memory are free"
            );
            let d = Diagnostic::nowhere(Code::LimitExceeded, message);
            Err(Box::new(d.help("leave `--on interp` out: native code reads files into flat memory, and goes through sequences in chunks")))
        }
    }
}

/// The most elements of a value that the interpreter makes: what memory there is for, and less than any machine has.
fn most_elements() -> u64 {
    let most = Options::default().max_elements;
    cpu::free_memory().map_or(most, |free| most.min(free / 2 / tree::NUMBER))
}

/// Whether the beginning and the end of a long result are shown, and not all of it.
fn is_shown(args: &RunArgs) -> bool {
    args.out.is_none() && !args.json && !args.full
}

/// Who takes the result while the program runs: a file or standard output, if it is a sequence that can be written in parts; or what shows its ends.
fn taker(args: &RunArgs, ty: &Type, ends: &Arc<Mutex<Ends>>) -> Result<Option<Box<dyn Sink>>, Box<Diagnostic>> {
    match &args.out {
        _ if !ty.is_seq() => Ok(None),
        None if is_shown(args) => Ok(Some(output::ends(ty, ends))),
        Some(target) if !args.json => target.create(ty).map_err(Box::new),
        None if args.json => Target::json().create(ty).map_err(Box::new),
        _ => Ok(None),
    }
}

/// The program as it can be streamed. With `--materialize` some sequences are kept for that.
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
