//! Kernels of every construct agree with their functions, on every backend: `kernels/agree.rs` says how.

// Kernels are compared as people write them, and for some constructs clippy knows better ones.
#![allow(
    clippy::needless_return,
    clippy::needless_range_loop,
    clippy::neg_cmp_op_on_partial_ord,
    clippy::manual_is_multiple_of
)]

#[macro_use]
#[path = "kernels/agree.rs"]
mod agree;
#[path = "kernels/borders.rs"]
mod borders;
#[path = "kernels/control.rs"]
mod control;
#[path = "kernels/data.rs"]
mod data;
#[path = "kernels/errors.rs"]
mod errors;
#[path = "kernels/functions.rs"]
mod functions;
#[path = "kernels/mathematics.rs"]
mod mathematics;
#[path = "kernels/plans.rs"]
mod plans;
#[path = "kernels/scalars.rs"]
mod scalars;
