//! Where programs run.
//!
//! A backend is a word: [`Interp`], [`Seq`], [`Cpu`]. A program is compiled for the last two when it is first called, once, however many handles to it there are and
//! whatever the number of threads; the threads and the memory of all programs are the same.

use crate::stream::{Arg, Ended, Take};
use deckle_diag::{Code, Diagnostic};
use deckle_interp::Options;
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::value::Value;

#[cfg(feature = "native")]
mod native;
#[cfg(feature = "native")]
pub use native::{Cpu, OneCore, Seq, SomeCores};

type Run = Result<Value, Box<Diagnostic>>;

/// A program as backends see it: the array IR, and what has been made of it.
#[doc(hidden)]
pub struct Target {
    pub program: Program,
    #[cfg(feature = "native")]
    native: native::Made,
}

impl Target {
    pub(crate) fn new(program: Program) -> Target {
        Target {
            program,
            #[cfg(feature = "native")]
            native: native::Made::default(),
        }
    }
}

/// Where a program runs.
pub trait Backend: Copy + Send + 'static {
    /// Runs a program. If somebody takes its result, which is a sequence, they are given its elements instead.
    #[doc(hidden)]
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run;
}

/// The reference interpreter: slow, checked, and by definition right.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interp;

/// The interpreter has sequences as a whole: elements are collected before the run, and handed over after it.
fn interpret(target: &Target, args: Vec<Arg>, take: Option<Take>, options: &Options) -> Run {
    let collected = |arg| match arg {
        Arg::Value(value) => Ok(value),
        Arg::Feed(_, items) => items.collect::<Result<_, Ended>>().map(Value::seq).map_err(ended),
    };
    let args = args.into_iter().map(collected).collect::<Result<Vec<_>, _>>()?;
    let value = deckle_interp::run(&target.program, Func(0), &args, options)?.value;
    if let (Some(mut take), Some(items)) = (take, value.items()) {
        take(items.to_vec());
    }
    Ok(value)
}

/// The error of an iterator that elements come from.
fn ended(e: Ended) -> Box<Diagnostic> {
    Box::new(Diagnostic::nowhere(Code::Stream, e.to_string()))
}

impl Backend for Interp {
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run {
        interpret(target, args, take, &Options::default())
    }
}

impl Interp {
    /// The interpreter, giving up on a run after so many steps: what never ends becomes an error.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let halve = compile(|x: Exp<i64>| loop_while(x, |x| x.differs(1), |x| x / 2))?;
    /// let halve = halve.on(Interp.at_most(10_000));
    /// assert_eq!(halve.call(40)?, 1);
    /// assert!(halve.call(0).is_err());
    /// # Ok::<(), deckle::Error>(())
    /// ```
    pub fn at_most(self, steps: u64) -> Patient {
        Patient { steps }
    }
}

/// The reference interpreter with a limit: [`Interp::at_most`].
#[derive(Clone, Copy, Debug)]
pub struct Patient {
    steps: u64,
}

impl Backend for Patient {
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run {
        interpret(target, args, take, &Options { max_steps: Some(self.steps), ..Options::default() })
    }
}
