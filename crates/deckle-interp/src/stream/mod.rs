//! The streaming discipline: a program run one element at a time.
//!
//! [`run`](crate::run) holds every sequence as a whole. Here no sequence is ever in memory as a whole, and none is stored: each
//! element is shown to all readers of the sequence, and the next one comes only when all of them are done with it. A
//! program that needs a sequence's value too early, or a second time, then waits forever: it is *stuck*. A run
//! that does not get stuck gives the interpreter's result. This defines which programs are streamable,
//! and tests the static analysis of streamability.
//!
//! # The parts
//! - A *frame* is one running body. Each of its variables is a *flow*: a cell (a concrete value, empty until known), a tuple of
//!   flows, or a channel.
//! - A *channel* carries a sequence without buffer (`channel.rs`). Its elements are flows.
//! - Every statement of a frame is a *process* from the creation of the frame, so that all readers of a channel are
//!   registered before anything moves. `statement.rs` chooses the process. Processes run round-robin until none can proceed
//!   (`net.rs`). If all are done, there is a result. If not, the run is stuck.
//!
//! # The rules
//! - A statement without sequences waits for its operands and for all variables that its bodies use from outside, and is then evaluated by the
//!   interpreter; if a body or a callee has sequences inside, that is run under the discipline itself.
//! - A body that runs for each element of a sequence is a frame for each element. Its result is shown as soon as the frame is created; its
//!   cells are filled later. The element is done when all readers of the result and all processes of the frame are.
//! - A sequence inside an element shows nothing until all readers of the outer sequence have taken the element.
//! - `if` and `guard` wait for their condition alone, and each statement of the selected body waits separately. They read the sequences that their bodies use from the beginning, and
//!   forward them to the selected body, or drain them.
//! - `tuple`, `record` and `proj` wait for nothing: a component is known when it is.
//! - The operator `empty` knows its value at the first element, every other operator from a sequence to a concrete value at its
//!   end.
//! - A source is asked for an element when nothing else can proceed, so that all results of the elements before have been
//!   delivered to the consumer. An error of a source is reported when nothing else can proceed.
//! - A sequence without readers runs on its own. The whole program must finish, not only the result.
//! - The sizes of parameters and of operands of `ensure` are compared with their types element by element (`watch.rs`). A size that only
//!   later elements determine is compared when they have come.

mod channel;
mod collect;
mod control;
mod elements;
mod net;
mod opaque;
mod pass;
mod real;
mod scan;
mod statement;
#[cfg(test)]
mod tests;
mod watch;

use crate::error::{self, Result};
use crate::machine::Machine;
use crate::sizes::Frame;
use crate::{Cost, Options};
use deckle_diag::Span;
use deckle_ir::array::{Function, Op, Program};
use deckle_ir::entity::{Body, Func, Var};
use deckle_ir::value::Value;
use net::Halt;
use std::ops::ControlFlow;

/// An argument of [`run_streaming`].
pub enum Argument<'a> {
    /// A value. A sequence in it is shown to the program one element at a time.
    Value(Value),
    /// The elements of a sequence, returned one after another by a source.
    Elements(Elements<'a>),
}

/// A source: returns the next element, or `None` after the last. It is asked for an element only when the run cannot proceed
/// without it, and the run drops elements that the program is done with, so that a source need not have an end.
pub type Elements<'a> = Box<dyn FnMut() -> Result<Option<Value>> + Send + 'a>;

/// A consumer: takes the elements of a result that is a sequence, each as soon as it is complete. `Break` ends the run.
pub type Consumer<'a> = Box<dyn FnMut(Value) -> ControlFlow<()> + Send + 'a>;

impl From<Value> for Argument<'_> {
    fn from(value: Value) -> Self {
        Argument::Value(value)
    }
}

/// The outcome of a run under the streaming discipline.
#[derive(Clone, Debug, PartialEq)]
pub enum Streamed {
    /// The result, which equals the interpreter's.
    Done(Value),
    /// The consumer got the elements of the result: all of them, or as many as it wanted.
    Consumed,
    /// Some statements wait for one another.
    Stuck(Stuck),
}

/// The outcome of a trial with opaque data.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// The program finished.
    Finished,
    /// Some statements wait for one another.
    Stuck(Stuck),
    /// The random data were invalid for an operator (sequences of different length, for example), or it took too long.
    Abandoned,
}

/// Why a run is stuck: which statements wait.
#[derive(Clone, Debug, PartialEq)]
pub struct Stuck {
    /// Each statement once, in the order in which they were reached.
    pub waiting: Vec<Waiting>,
}

/// A statement that waits forever.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    /// The function.
    pub func: Func,
    /// The statement, or the parameter or result that waits to be read.
    pub var: Var,
    /// Its place.
    pub span: Span,
    /// What it waits for.
    pub why: String,
}

/// Runs a function under the streaming discipline.
///
/// A result that is a sequence goes to the consumer, if there is one, and is then not collected. Of the options,
/// `check_sizes` and `check_associative` are ignored. If there are several errors, another one may be reported than by [`run`](crate::run).
///
/// # Errors
/// Those of [`run`](crate::run), and that of a source. Everything that does not need the element that the source failed to
/// return is done first.
pub fn run_streaming<'a>(
    program: &'a Program,
    func: Func,
    args: Vec<Argument<'a>>,
    consumer: Option<Consumer<'a>>,
    options: &Options,
) -> Result<Streamed> {
    let options = Options { check_sizes: false, check_associative: false, ..options.clone() };
    match real::entry(Machine::streaming(program, &options), func, args, consumer) {
        Ok(Some(value)) => Ok(Streamed::Done(value)),
        Ok(None) | Err(Halt::Enough) => Ok(Streamed::Consumed),
        Err(Halt::Stuck(stuck)) => Ok(Streamed::Stuck(stuck)),
        Err(Halt::Error(e)) => Err(e),
        Err(Halt::Abandoned) => Err(error::bug("a run was abandoned".into(), Span::NONE)),
    }
}

/// Runs a function under the streaming discipline with opaque data: lengths and booleans are drawn from the seed.
///
/// Equal expressions have equal truth values, and opposite ones opposite. Nothing fails except lengths that must be equal and
/// differ, and flags that do not fit.
pub fn try_streaming(program: &Program, func: Func, seed: u64, max_steps: u64) -> Trial {
    if func.index() >= program.funcs.len() {
        return Trial::Abandoned;
    }
    match opaque::Opaque::new(program, seed, max_steps).run(func) {
        Ok(_) => Trial::Finished,
        Err(Halt::Stuck(stuck)) => Trial::Stuck(stuck),
        Err(Halt::Error(_) | Halt::Abandoned | Halt::Enough) => Trial::Abandoned,
    }
}

/// Runs a body that has sequences on behalf of the interpreter. If it gets stuck, that is recorded in the machine, and the error is
/// ignored.
pub(crate) fn body<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, body: Body) -> Result<(Value, Cost)> {
    match real::nested(machine, frame, body) {
        Ok(value) => Ok((value, Cost::default())),
        Err(Halt::Error(e)) => Err(e),
        Err(Halt::Stuck(stuck)) => {
            machine.stuck = Some(stuck);
            Err(error::bug("a body is stuck".into(), Span::NONE))
        }
        Err(Halt::Abandoned | Halt::Enough) => Err(error::bug("a body was abandoned".into(), Span::NONE)),
    }
}

/// Whether a body itself has sequences: its parameters or statements.
pub(crate) fn has_sequences(function: &Function, body: Body) -> bool {
    let data = function.body(body);
    let sequence = |v: &Var| !function.ty(*v).is_concrete();
    let operand = |v: &Var| function.inst(*v).is_some_and(|inst| inst.args.iter().any(sequence));
    data.params.iter().any(sequence) || data.stmts.iter().any(|v| sequence(v) || operand(v))
}

/// Whether a body, a body inside it or a function that it calls has sequences.
fn uses_sequences(program: &Program, function: &Function, body: Body) -> bool {
    let mut seen: Vec<Func> = Vec::new();
    let mut pending = vec![(function, body)];
    while let Some((function, body)) = pending.pop() {
        if has_sequences(function, body) {
            return true;
        }
        for inst in function.body(body).stmts.iter().filter_map(|v| function.inst(*v)) {
            pending.extend(inst.bodies.iter().map(|b| (function, *b)));
            if let Op::Call(f) = inst.op
                && !seen.contains(&f)
            {
                seen.push(f);
                pending.extend(program.funcs.get(f.index()).map(|f| (f, Function::ROOT)));
            }
        }
    }
    false
}
