//! Kernels of every construct agree with their functions, on every backend: `kernels/agree.rs` says how.

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
#[path = "kernels/scalars.rs"]
mod scalars;
