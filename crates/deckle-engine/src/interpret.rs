//! The reference interpreter behind the surface of the engine.

use crate::native::Failure;
use crate::native::unfit;
use crate::{Input, Ran, RanOn, Report, Settings};
use deckle_diag::{Code, Diagnostic, Span};
use deckle_interp::{Argument, Consumer, Elements, Options, Streamed};
use deckle_io::tree;
use deckle_ir::array::Program;
use deckle_ir::entity::{Func, Var};
use deckle_ir::fault::Fault;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::pool::Bytes;
use deckle_runtime::stream::{self, Sink, Source};
use deckle_runtime::{Data, OverBudget, Pool, cpu};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// How the interpreter runs a program.
#[derive(Clone, Debug, Default)]
pub struct Interp {
    /// After how many steps it gives up.
    pub max_steps: Option<u64>,
    /// Statements of which the bytes of their results are to be known.
    pub watch: Vec<(Func, Var)>,
    /// Whether every value is compared with the sizes of its type, which finds bugs of Deckle.
    pub check_sizes: bool,
    /// Whether the cost is to be metered even if sequences come bit by bit: they are held as a whole for that.
    pub metered: bool,
    /// Whether functions of folds and scans are tried on some elements: they must be associative.
    pub check_associative: bool,
}

fn limit(e: impl ToString) -> Box<Diagnostic> {
    Box::new(Diagnostic::nowhere(Code::LimitExceeded, e.to_string()))
}

/// Calls a function. Sequences that come bit by bit are gone through one element at a time.
pub(crate) fn call(
    program: &Program,
    func: Func,
    how: &Interp,
    args: Vec<Input>,
    sink: Option<Box<dyn Sink>>,
    settings: &Settings,
) -> Result<Ran, Box<Diagnostic>> {
    let function = &program.funcs[func.index()];
    let params = function.params().iter().map(|p| function.ty(*p)).zip(&function.param_names);
    if let Some(name) = function.param_names.get(args.len()) {
        return Err(Box::new(unfit(name)));
    }
    let options = Options {
        interrupt: Some(settings.team.interrupt().clone()),
        watch: how.watch.clone(),
        max_steps: how.max_steps,
        check_sizes: how.check_sizes,
        check_associative: how.check_associative,
        rounding: None,
        max_elements: most_elements(),
    };
    let mut taken = Vec::new();
    for (arg, (ty, name)) in args.into_iter().zip(params) {
        taken.push(match arg.fetched(settings).map_err(Failure::report_alone)? {
            Input::Data(data) | Input::Lent(data) if data.len() == 1 && tree::fits(ty, &data) => {
                check_room(tree::bytes(&data), tree::bytes(&data))?;
                Argument::Value(tree::value(ty, &data, 0))
            }
            Input::Stream(source) if ty.is_seq() && !how.metered => Argument::Elements(elements(source, ty, settings)),
            Input::Stream(source) => Argument::Value(collected(source, ty, settings)?),
            _ => return Err(Box::new(unfit(name))),
        });
    }
    let report = |on| Report { compile_seconds: 0.0, on };
    if taken.iter().any(|arg| matches!(arg, Argument::Elements(_))) {
        let result = streamed(program, func, taken, sink, settings, &options)?;
        return Ok(Ran { result, report: report(RanOn::Interp { cost: None, watched: Vec::new() }) });
    }
    let value = |arg| if let Argument::Value(value) = arg { Some(value) } else { None };
    let values: Vec<Value> = taken.into_iter().filter_map(value).collect();
    let outcome = deckle_interp::run(program, func, &values, &options)?;
    let report = report(RanOn::Interp { cost: Some(outcome.cost), watched: outcome.bytes });
    Ok(Ran { result: handed_over(function.result_type(), &outcome.value, sink, settings)?, report })
}

/// Runs a function one element at a time.
fn streamed(
    program: &Program,
    func: Func,
    args: Vec<Argument<'_>>,
    sink: Option<Box<dyn Sink>>,
    settings: &Settings,
    options: &Options,
) -> Result<Option<Data>, Box<Diagnostic>> {
    let ty = program.funcs[func.index()].result_type();
    let (elem, state) = (ty.elem().unwrap_or(ty), Mutex::new((sink, None)));
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let take = |value: Value| {
        let (sink, failed) = &mut *lock();
        let Some(sink) = sink else { return ControlFlow::Break(()) };
        let taken = tree::flat(elem, [&value], &settings.pool, "an element of the result").map_err(stream::Error::from);
        settings.progress.pushed.fetch_add(1, Ordering::Relaxed);
        match taken.and_then(|block| sink.take(block)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                *failed = Some(e);
                ControlFlow::Break(())
            }
        }
    };
    let consumer = lock().0.is_some().then(|| Box::new(take) as Consumer<'_>);
    let ran = deckle_interp::run_streaming(program, func, args, consumer, options);
    let (sink, why) = std::mem::take(&mut *lock());
    match (ran?, why) {
        (Streamed::Done(value), _) => {
            Ok(Some(tree::flat(ty, [&value], &settings.pool, "the result").map_err(|e| limit(&e))?))
        }
        (Streamed::Consumed, None) => sink.map_or(Ok(()), Sink::finish).map(|()| None).map_err(failed),
        (Streamed::Consumed, Some(stream::Error::Closed)) => Ok(None),
        (Streamed::Consumed, Some(e)) => Err(failed(e)),
        (Streamed::Stuck(at), _) => {
            let message = format!("the interpreter got stuck in a program that was said to stream: {at:?}");
            Err(Box::new(Diagnostic::nowhere(Code::Internal, message)))
        }
    }
}

/// The elements of a source, one after another.
fn elements<'a>(mut source: Box<dyn Source>, ty: &Type, settings: &Settings) -> Elements<'a> {
    let (elem, pool) = (ty.elem().unwrap_or(ty).clone(), settings.pool.clone());
    let (interrupt, progress) = (settings.team.interrupt().clone(), settings.progress.clone());
    let (mut block, mut at) = (None::<Data>, 0);
    Box::new(move || {
        loop {
            if let Some(held) = block.as_ref().filter(|held| at < held.len()) {
                at += 1;
                progress.pulled.fetch_add(1, Ordering::Relaxed);
                return Ok(Some(tree::value(&elem, held, at - 1)));
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(Box::new(Fault::Interrupted.report(Span::NONE, &[])));
            }
            (block, at) = (next(&mut *source, FEW, &elem, &pool)?, 0);
            if block.is_none() {
                return Ok(None);
            }
        }
    })
}

/// The result in flat memory, or handed over.
fn handed_over(
    ty: &Type,
    value: &Value,
    sink: Option<Box<dyn Sink>>,
    settings: &Settings,
) -> Result<Option<Data>, Box<Diagnostic>> {
    let over = |e: OverBudget| limit(e);
    let (Some(mut sink), Some(items), Some(elem)) = (sink, value.items(), ty.elem()) else {
        return Ok(Some(tree::flat(ty, [value], &settings.pool, "the result").map_err(over)?));
    };
    let block = tree::flat(elem, items, &settings.pool, "the result").map_err(over)?;
    let taken = if block.is_empty() { Ok(()) } else { sink.take(block) };
    match taken.and_then(|()| sink.finish()) {
        Ok(()) | Err(stream::Error::Closed) => Ok(None),
        Err(e) => Err(failed(e)),
    }
}

/// The next elements of a source, which are held against their type.
fn next(source: &mut dyn Source, bytes: usize, elem: &Type, pool: &Pool) -> Result<Option<Data>, Box<Diagnostic>> {
    let block = source.next(bytes, pool).map_err(failed)?;
    if block.as_ref().is_none_or(|block| tree::fits(elem, block)) {
        return Ok(block);
    }
    Err(Box::new(Diagnostic::nowhere(Code::Stream, "what comes is no block of elements of its type")))
}

/// What a source or sink says.
fn failed(e: stream::Error) -> Box<Diagnostic> {
    match e {
        stream::Error::Failed(e) => match e.downcast::<Diagnostic>() {
            Ok(d) => d,
            Err(e) => Box::new(Diagnostic::nowhere(Code::Stream, e.to_string())),
        },
        e => limit(e),
    }
}

/// So many bytes are taken from a source at once.
const AT_ONCE: usize = 1 << 20;
/// And so many, where elements are gone through one by one.
const FEW: usize = 16 << 10;

/// An argument that comes bit by bit, as a tree.
fn collected(mut source: Box<dyn Source>, ty: &Type, settings: &Settings) -> Result<Value, Box<Diagnostic>> {
    let (elem, mut all, mut bytes) = (ty.elem().unwrap_or(ty), Vec::new(), 0);
    loop {
        if settings.team.interrupt().load(Ordering::Relaxed) {
            return Err(Box::new(Fault::Interrupted.report(Span::NONE, &[])));
        }
        let Some(block) = next(&mut *source, AT_ONCE, elem, &settings.pool)? else { break };
        let tree = tree::bytes(&block);
        bytes += tree;
        check_room(bytes, tree)?;
        all.extend(tree::values(elem, &block));
    }
    match ty {
        Type::Seq(_) => Ok(Value::seq(all)),
        Type::Array(_) => Ok(Value::array(all)),
        _ => all.pop().ok_or_else(|| Box::new(Diagnostic::nowhere(Code::Internal, "an argument that does not come"))),
    }
}

/// What is small is not worth asking for.
const SMALL: u64 = 32 << 20;

/// Whether there is memory for the next `tree` bytes of an argument that the interpreter has as a whole: `bytes` of it with these.
fn check_room(bytes: u64, tree: u64) -> Result<(), Box<Diagnostic>> {
    // What is there already is no longer free; half of all is left for what is computed of it.
    let free = || cpu::free_memory().filter(|free| bytes + tree > *free);
    let Some(free) = (if bytes > SMALL { free() } else { None }) else { return Ok(()) };
    let (bytes, free) = (Bytes(bytes), Bytes(free));
    let message = format!(
        "the interpreter has arguments as a whole: this one takes more than {bytes}, and {free} of memory are free"
    );
    Err(Box::new(Diagnostic::nowhere(Code::LimitExceeded, message).help(
        "run it as native code, without `--on interp`: that has arguments in flat memory, and traverses sequences in chunks",
    )))
}

/// The most elements of a value that the interpreter makes: what memory there is for, and less than any machine has.
fn most_elements() -> u64 {
    let most = Options::default().max_elements;
    cpu::free_memory().map_or(most, |free| most.min(free / 2 / tree::NUMBER))
}
