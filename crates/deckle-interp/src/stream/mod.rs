//! The streaming discipline: a program run one element at a time.
//!
//! [`run`](crate::run) has every sequence as a whole. Here no sequence is ever there as a whole, and none is kept: each
//! element is shown to all who read the sequence, and the next one comes only when all of them are done with it. A
//! program that needs a sequence's value too early, or a second time, then waits forever: it is *stuck*. What a run
//! that does not get stuck gives is what the interpreter gives. This is what it means for a program to be streamable,
//! and what an analysis that decides so before the run is held against.
//!
//! # The parts
//! - A *frame* is one running body. Each of its variables is a *flow*: a cell (a concrete value, empty until known), a tuple of
//!   flows, or a channel.
//! - A *channel* carries a sequence without buffer (`channel.rs`). Its elements are flows.
//! - Every statement of a frame is a *process* from the moment that the frame is made, so that all readers of a channel are
//!   registered before anything moves. Which one is in `statement.rs`. Processes run in turn until none can do anything
//!   (`net.rs`). If all are done, there is a result. If not, the run is stuck.
//!
//! # The rules
//! - A statement without sequences waits for its operands and for all that its bodies use from outside, and is then evaluated by the
//!   interpreter; where a body or a callee has sequences inside, that is run under the discipline itself.
//! - A body that runs for each element of a sequence is a frame for each element. Its result is shown as soon as the frame is made; its
//!   cells are filled later. The element is done with when all readers of the result and all processes of the frame are.
//! - A sequence inside an element shows nothing until all readers of the outer sequence have taken the element.
//! - `if` and `guard` wait for their condition alone, and the statements of the body that is chosen each for themselves. They read the sequences that their bodies use from the beginning, and
//!   forward them to the body that is chosen, or read them for nothing.
//! - `tuple`, `record` and `proj` wait for nothing: a component is known when it is.
//! - The operator `empty` knows its value at the first element, everything else that makes a concrete value of a sequence at its
//!   end.
//! - A source is asked for an element when nothing else can be done, so that all that follows from the elements before has been
//!   handed to the consumer. An error of a source is reported when nothing else can be done.
//! - A sequence that nobody reads runs by itself. The whole program must come to its end, not only the result.
//! - The sizes of parameters and of what `ensure` has are compared with their types element by element (`watch.rs`). A size that only
//!   elements to come can tell is compared when they have come.

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
    /// The elements of a sequence, which come one after another from a source.
    Elements(Elements<'a>),
}

/// A source: returns the next element, or `None` behind the last. It is asked for an element only when the run can do nothing
/// without it, and the run keeps none that the program is done with, so that a source need not have an end.
pub type Elements<'a> = Box<dyn FnMut() -> Result<Option<Value>> + Send + 'a>;

/// A consumer: takes the elements of a result that is a sequence, each as soon as it is complete. `Break` ends the run.
pub type Consumer<'a> = Box<dyn FnMut(Value) -> ControlFlow<()> + Send + 'a>;

impl From<Value> for Argument<'_> {
    fn from(value: Value) -> Self {
        Argument::Value(value)
    }
}

/// What a run under the streaming discipline gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Streamed {
    /// The result, which is the interpreter's.
    Done(Value),
    /// The consumer was handed the elements of the result: all of them, or as many as it wanted.
    Consumed,
    /// Some statements wait for one another.
    Stuck(Stuck),
}

/// What a trial with opaque data gives.
#[derive(Clone, Debug, PartialEq)]
pub enum Trial {
    /// The program came to its end.
    Finished,
    /// Some statements wait for one another.
    Stuck(Stuck),
    /// The data drawn were not such as an operator needs (sequences of different length, say), or it took too long.
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
    /// In which function.
    pub func: Func,
    /// The statement, or the parameter or result that waits to be read.
    pub var: Var,
    /// Where it stands.
    pub span: Span,
    /// What for.
    pub why: String,
}

/// Runs a function under the streaming discipline.
///
/// A result that is a sequence goes to the consumer, if there is one, and is then not collected. Of the options,
/// `check_sizes` and `check_associative` are ignored. Where several things are wrong, another one may be reported than by [`run`](crate::run).
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

/// Runs a function under the streaming discipline with opaque data: lengths and truth values are drawn from the seed.
///
/// Equal expressions have equal truth values, and opposite ones opposite. Nothing fails but for lengths that differ where they
/// must not, and flags that do not fit.
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

/// Runs a body that has sequences on behalf of the interpreter. If it gets stuck, that is noted in the machine, and the error is of no
/// interest.
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

/// Whether a body itself handles sequences: its parameters or statements.
pub(crate) fn has_sequences(function: &Function, body: Body) -> bool {
    let data = function.body(body);
    let sequence = |v: &Var| !function.ty(*v).is_concrete();
    let operand = |v: &Var| function.inst(*v).is_some_and(|inst| inst.args.iter().any(sequence));
    data.params.iter().any(sequence) || data.stmts.iter().any(|v| sequence(v) || operand(v))
}

/// Whether a body, a body inside it or a function that it calls handles sequences.
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
