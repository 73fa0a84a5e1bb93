//! Types, sizes and the intermediate representations of Deckle.
//!
//! - [`scalar`], [`size`], [`types`]: the form and size of values. A size is an expression.
//! - [`array`](mod@array): the array IR, with its builder, typing rules, printer, parser and verifier.
//! - [`cost`]: the cost of every operator in the model, for the meter and for the prediction.
//! - [`fault`]: the table of all run-time errors, with their messages.
//! - [`kernel`]: the kernel IR.
//! - [`schedule`](mod@schedule): how the loops of a kernel run.
//! - [`loops`]: the loop IR.
//! - [`math`]: the mathematical functions as branch-free programs over an abstract arithmetic.
//! - [`text`]: sizes and types as text.
//! - [`scalar_eval`]: the semantics of scalar operators, for the interpreter and for constant folding.
//! - [`value`]: values at run time, for constants, arguments and the interpreter.
//!
//! The crate depends on no front end and no backend.

pub mod array;
pub mod cost;
pub mod entity;
pub mod fault;
pub mod kernel;
pub mod loops;
pub mod math;
pub mod scalar;
pub mod scalar_eval;
pub mod schedule;
pub mod size;
pub mod size_eval;
pub mod text;
pub mod types;
pub mod value;
