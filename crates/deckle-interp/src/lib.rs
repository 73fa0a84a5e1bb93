//! The reference interpreter of the array IR.
//!
//! This crate is the meaning of a Deckle program: what a backend computes is right if it is what [`run`] computes
//! (integers exactly, floats within the documented tolerance). So it is plain: values are trees, every
//! operator is a function that reads like its entry in the operator reference, and nothing is fused,
//! reordered or shared. It is not meant to be fast.
//!
//! # Evaluation
//! Evaluation is strict and in order. A statement is evaluated once each time the body that holds it runs; a body runs once
//! for each element, step or branch that its operator says, in ascending order of position. Where several things are wrong
//! the first in this order is reported; a backend may report another one of them.
//!
//! # Errors
//! A program that the verifier accepts never panics here, whatever its arguments. What the user's data can do wrong is a
//! diagnostic with the place, the values and the position: codes D0301 to D0311. Sizes are checked before anything is
//! allocated: no value may be larger than [`Options::max_elements`]. A diagnostic D0901 says that an operator met a value that its
//! type excludes, which is a bug in whoever made the program.
//!
//! # Sizes
//! A size variable is bound by the value of the variable that binds it: a parameter or a statement. Parameters and
//! `ensure` are checked against the sizes of their types always. With [`Options::check_sizes`] every
//! variable is, and a size that is not the one that the type promised is a bug in Deckle (D0901).
//!
//! Where an outer dimension is empty, a tree does not show the inner sizes; then `shape` and `transpose` take them
//! from the type, and a size variable that no row gives a value is 0.
//!
//! # Metering
//! Every run is metered by the cost semantics of the streaming NESL paper (its figure 3): work, depth, and the space that a
//! fully sequential and a fully parallel execution need. The rules are pure functions in `cost.rs`; the interpreter
//! only tells them how often bodies ran and at what cost. The meter describes the *model*, not this implementation: it
//! counts a sequence as one element at a time although the tree has all of them.
//!
//! # Streaming
//! [`run_streaming`] is a second way of running a program, in which a sequence really is one element at a time. It gives the same
//! result or gets stuck: the program then is not one that can be streamed. Its sequences may come from sources and its
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

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Whether to compare every value with the sizes of its type, and report a bug where they differ.
    pub check_sizes: bool,
    /// How many statements and bodies may be run (D0310).
    pub max_steps: Option<u64>,
    /// How large a value may be: elements and lengths together, `‖v‖` of the cost model (D0310). A tree takes some 24 bytes for
    /// each of them.
    pub max_elements: u64,
    /// Statements of which the run is to tell how many bytes their results take: [`Outcome::bytes`].
    pub watch: Vec<(Func, Var)>,
    /// Stops the run soon after it becomes `true` (D0310).
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Whether to try, on some of the elements that each `fold`, `fold1` and `scan` meets, whether its operator is associative
    /// (D0311). Integers and truth values must agree exactly. Floats may differ by the 10⁻⁹th part (`f32`: the 10⁻⁴th) of the
    /// largest number that the trial computed with, and agree where one of them is infinite or NaN: that much rounding and
    /// overflow depend on the grouping. A trial is not metered, and does not count as steps.
    pub check_associative: bool,
    /// Makes an error of rounding, chosen by this number, at the sums, differences, products and quotients of floats: where that changes a value, so may another order in which
    /// floats are combined.
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

/// What a run gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The result of the function.
    pub value: Value,
    /// What it cost in the model.
    pub cost: Cost,
    /// For each statement of [`Options::watch`] the bytes of its largest result.
    pub bytes: Vec<u64>,
    /// What `push` has handed over, for each number.
    pub pushed: Vec<Vec<Value>>,
}

/// Runs a function of a program.
///
/// # Errors
/// The first thing that goes wrong: an argument that does not fit its parameter (D0402, D0306, D0309), an error of an
/// operator (D0301 to D0308), a limit of `options` (D0310), or an operator that must be associative and is not (D0311).
pub fn run(program: &Program, func: Func, args: &[Value], options: &Options) -> Result<Outcome, Box<Diagnostic>> {
    machine::run(program, func, args, options)
}
