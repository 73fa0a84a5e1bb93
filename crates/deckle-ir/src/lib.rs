//! Types, sizes and the intermediate representations of Deckle.
//!
//! - [`scalar`], [`size`], [`types`]: what a value is and how large. A size is an expression.
//! - [`array`](mod@array): the array IR, with its builder, typing rules, printer, parser and verifier.
//! - [`cost`]: what every operator costs in the model, for the meter and for the prediction.
//! - [`fault`]: the table of everything that can go wrong in a run, with its words.
//! - [`kernel`]: the kernel IR.
//! - [`schedule`](mod@schedule): how the loops of a kernel run.
//! - [`loops`]: the loop IR.
//! - [`math`]: the mathematical functions as branch-free programs over an abstract arithmetic.
//! - [`text`]: sizes and types as text.
//! - [`scalar_eval`]: what scalar operators compute, for the interpreter and for constant folding.
//! - [`value`]: values at run time, for constants, arguments and the interpreter.
//!
//! Nothing here knows a front end or a backend.

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
