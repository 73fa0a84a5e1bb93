//! Where programs run.
//!
//! A backend is a word: [`Interp`], [`Seq`], [`Cpu`]. A program is compiled for the last two when it is first called, once, however many handles to it there are and
//! whatever the number of threads; the threads and the memory of all programs are the same.

use crate::stream::{Arg, Take};
use deckle_diag::{Code, Diagnostic};
use deckle_interp::Options;
use deckle_io::tree;
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::stream::{Error as StreamError, Source};
use deckle_runtime::{Data, OverBudget, Pool};

mod native;
pub use native::{Cpu, OneCore, Seq, SomeCores};

type Run = Result<Data, Box<Diagnostic>>;

/// A program as backends see it: the array IR, and what has been made of it.
#[doc(hidden)]
pub struct Target {
    pub program: Program,
    native: native::Made,
}

impl Target {
    pub(crate) fn new(program: Program) -> Target {
        Target { program, native: native::Made::default() }
    }
}

/// Where a program runs.
pub trait Backend: Copy + Send + 'static {
    /// Runs a program. If somebody takes its result, which is a sequence, they are given its elements instead.
    #[doc(hidden)]
    fn run(self, target: &Target, args: Vec<Arg>, take: Option<Take>) -> Run;

    /// On how many threads it runs.
    #[doc(hidden)]
    fn threads(self) -> usize {
        1
    }
}

/// The reference interpreter: slow, checked, and by definition right.
#[derive(Clone, Copy, Debug, Default)]
pub struct Interp;

/// The interpreter has values of its own, and sequences as a whole: elements are collected before the run, and handed over after it.
pub fn interpret(target: &Target, args: Vec<Arg>, take: Option<Take>, options: &Options) -> Run {
    let function = &target.program.funcs[0];
    let types = function.params().iter().map(|p| function.ty(*p));
    let args = args.into_iter().zip(types).map(|(arg, ty)| match arg {
        Arg::Data { data, .. } => Ok(tree::value(ty, &data, 0)),
        Arg::Feed(source, _) => collected(source, ty),
    });
    let args = args.collect::<Result<Vec<Value>, _>>()?;
    let value = deckle_interp::run(&target.program, Func(0), &args, options)?.value;
    let (pool, ty) = (Pool::new(None), function.result_type());
    if let (Some(mut take), Some(items), Some(elem)) = (take, value.items(), ty.elem()) {
        take(tree::flat(elem, items, &pool, "the result").map_err(over)?);
        return Ok(Data::numbers(vec![items.len() as i64]));
    }
    tree::flat(ty, [&value], &pool, "the result").map_err(over)
}

fn over(e: OverBudget) -> Box<Diagnostic> {
    Box::new(Diagnostic::nowhere(Code::LimitExceeded, e.to_string()))
}

/// All elements of a source.
fn collected(mut source: Box<dyn Source>, ty: &Type) -> Result<Value, Box<Diagnostic>> {
    let (pool, elem, mut all) = (Pool::new(None), ty.elem().unwrap_or(ty), Vec::new());
    loop {
        match source.next(AT_ONCE, &pool) {
            Ok(Some(block)) => all.extend(tree::values(elem, &block)),
            Ok(None) => return Ok(Value::seq(all)),
            Err(StreamError::Failed(e)) => return Err(Box::new(Diagnostic::nowhere(Code::Stream, e.to_string()))),
            Err(e) => return Err(Box::new(Diagnostic::nowhere(Code::LimitExceeded, e.to_string()))),
        }
    }
}

/// So many bytes are taken from a source at once.
const AT_ONCE: usize = 1 << 20;

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
