//! The reference interpreter behind the surface of the engine.

use crate::{Input, Ran, RanOn, Report, Settings};
use deckle_diag::{Code, Diagnostic};
use deckle_interp::Options;
use deckle_io::tree;
use deckle_ir::array::Program;
use deckle_ir::entity::{Func, Var};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::pool::Bytes;
use deckle_runtime::stream::{self, Sink, Source};
use deckle_runtime::{Data, OverBudget, cpu};
use std::sync::atomic::Ordering;
use std::time::Instant;

/// How the interpreter runs a program.
#[derive(Clone, Debug, Default)]
pub struct Interp {
    /// After how many steps it gives up.
    pub max_steps: Option<u64>,
    /// Statements of which the bytes of their results are to be known.
    pub watch: Vec<(Func, Var)>,
    /// Whether every value is compared with the sizes of its type, which finds bugs of Deckle.
    pub check_sizes: bool,
}

fn limit(e: impl ToString) -> Box<Diagnostic> {
    Box::new(Diagnostic::nowhere(Code::LimitExceeded, e.to_string()))
}

/// Calls a function.
pub(crate) fn call(
    program: &Program,
    func: Func,
    how: &Interp,
    args: Vec<Input>,
    sink: Option<Box<dyn Sink>>,
    settings: &Settings,
) -> Result<Ran, Box<Diagnostic>> {
    let function = &program.funcs[func.index()];
    let params = function.params().iter().map(|p| function.ty(*p));
    let mut values = Vec::new();
    for (k, (arg, ty)) in args.into_iter().zip(params).enumerate() {
        let whole = match arg {
            Input::Data(data) | Input::Lent(data) => data,
            Input::Stream(source) => {
                values.push(collected(source, ty, settings)?);
                continue;
            }
        };
        if whole.len() != 1 || !tree::fits(ty, &whole) {
            return Err(Box::new(crate::native::unfit(&function.param_names[k])));
        }
        check_room(tree::bytes(&whole), tree::bytes(&whole))?;
        values.push(tree::value(ty, &whole, 0));
    }
    if let Some(name) = function.param_names.get(values.len()) {
        return Err(Box::new(crate::native::unfit(name)));
    }
    let options = Options {
        interrupt: Some(settings.team.interrupt().clone()),
        watch: how.watch.clone(),
        max_steps: how.max_steps,
        check_sizes: how.check_sizes,
        max_elements: most_elements(),
        check_associative: false,
    };
    let begun = Instant::now();
    let outcome = deckle_interp::run(program, func, &values, &options)?;
    let seconds = begun.elapsed().as_secs_f64();
    let result = handed_over(function.result_type(), &outcome.value, sink, settings)?;
    let on = RanOn::Interp { cost: Some(outcome.cost), watched: outcome.bytes };
    Ok(Ran { result, report: Report { seconds, compile_seconds: 0.0, on } })
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

/// An argument that comes bit by bit, as a tree.
fn collected(mut source: Box<dyn Source>, ty: &Type, settings: &Settings) -> Result<Value, Box<Diagnostic>> {
    let (elem, mut all, mut bytes) = (ty.elem().unwrap_or(ty), Vec::new(), 0);
    loop {
        if settings.team.interrupt().load(Ordering::Relaxed) {
            return Err(limit("interrupted"));
        }
        let Some(block) = source.next(AT_ONCE, &settings.pool).map_err(failed)? else { break };
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
        "run it as native code, without `--on interp`: that has arguments in flat memory, and goes through sequences in chunks",
    )))
}

/// The most elements of a value that the interpreter makes: what memory there is for, and less than any machine has.
fn most_elements() -> u64 {
    let most = Options::default().max_elements;
    cpu::free_memory().map_or(most, |free| most.min(free / 2 / tree::NUMBER))
}
