//! The reference interpreter of the array IR.
//!
//! This crate defines the meaning of a Deckle program: a backend is correct if it computes what [`run`] computes
//! (integers exactly, floats within the documented tolerance). So it is simple: values are trees, every
//! operator is a function that reads like its entry in the operator reference, and nothing is fused,
//! reordered or shared. It is not designed for speed.
//!
//! # Evaluation
//! Evaluation is strict and in order. A statement is evaluated once each time its body runs; a body runs once
//! for each element, step or branch of its operator, in ascending order of position. If there are several errors,
//! the first in this order is reported; a backend may report another one of them.
//!
//! # Errors
//! A program that the verifier accepts never panics here, whatever its arguments. An error in the user's data is a
//! diagnostic with the place, the values and the position: codes D0301 to D0311. Sizes are checked before memory is
//! allocated: no value may be larger than [`Options::max_elements`]. A diagnostic D0901 means that an operator met a value that its
//! type excludes, which is a bug in the producer of the program.
//!
//! # Sizes
//! A size variable is bound by the value of the variable that binds it: a parameter or a statement. Parameters and
//! `ensure` are always checked against the sizes of their types. With [`Options::check_sizes`] every
//! variable is, and a size that differs from the one in the type is a bug in Deckle (D0901).
//!
//! If an outer dimension is empty, a tree does not have the inner sizes; then `shape` and `transpose` take them
//! from the type, and a size variable that no row determines is 0.
//!
//! # Metering
//! Every run is metered by the cost semantics of the streaming NESL paper (its figure 3): work, depth, and the space that a
//! fully sequential and a fully parallel execution need. The rules are pure functions in `cost.rs`; the interpreter
//! only supplies the number of runs of each body and their costs. The meter describes the *model*, not this implementation: it
//! counts a sequence as one element at a time although the tree has all of them.
//!
//! # Streaming
//! [`run_streaming`] is a second way of running a program, in which a sequence really is one element at a time. It gives the same
//! result or gets stuck, in which case the program cannot be streamed. Its sequences may come from sources and its
//! result may go to a consumer, element by element; neither needs an end.
//!
//! # Loops
//! [`simt`] runs the loop IR, for the tests of schedules.

mod cost;
mod error;
mod machine;
mod ops;
pub mod simt;
mod sizes;
mod stream;
#[cfg(test)]
mod testing;

pub use cost::Cost;
pub use stream::{Argument, Consumer, Elements, Streamed, Stuck, Trial, Waiting, run_streaming, try_streaming};

use deckle_diag::Diagnostic;
use deckle_ir::array::Program;
use deckle_ir::entity::{Func, Var};
use deckle_ir::value::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether to compare every value with the sizes of its type, and report a difference as a bug.
    pub check_sizes: bool,
    /// The maximal number of statements and bodies that are run, and of elements that are reduced (D0310).
    pub max_steps: Option<u64>,
    /// The maximal size of a value: elements and lengths together, `‖v‖` of the cost model (D0310). A tree takes about 24 bytes for
    /// each of them.
    pub max_elements: u64,
    /// Statements whose result sizes in bytes are recorded: [`Outcome::bytes`].
    pub watch: Vec<(Func, Var)>,
    /// Stops the run soon after it becomes `true` (D0310).
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Whether to test, on some of the elements of each `fold`, `fold1` and `scan`, whether its operator is associative
    /// (D0311). Integers and booleans must agree exactly. Floats may differ by the 10⁻⁹th part (`f32`: the 10⁻⁴th) of the
    /// largest number in the trial, and agree if one of them is infinite or NaN: that much rounding and
    /// overflow depend on the grouping. A trial is not metered, and does not count as steps.
    pub check_associative: bool,
    /// Perturbs the rounding of sums, differences, products and quotients of floats, with this seed: if that changes a value, so may another order of combining
    /// floats.
    pub rounding: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            check_sizes: false,
            max_steps: None,
            max_elements: 1 << 28,
            watch: Vec::new(),
            interrupt: None,
            check_associative: false,
            rounding: None,
        }
    }
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The result of the function.
    pub value: Value,
    /// Its cost in the model.
    pub cost: Cost,
    /// For each statement of [`Options::watch`] the bytes of its largest result.
    pub bytes: Vec<u64>,
    /// The elements delivered by `push`, for each number.
    pub pushed: Vec<Vec<Value>>,
}

/// Runs a function of a program.
///
/// # Errors
/// The first error: an argument that does not fit its parameter (D0402, D0306, D0309), an error of an
/// operator (D0301 to D0308), a limit of `options` (D0310), or a non-associative operator (D0311).
pub fn run(program: &Program, func: Func, args: &[Value], options: &Options) -> Result<Outcome, Box<Diagnostic>> {
    machine::run(program, func, args, options)
}
