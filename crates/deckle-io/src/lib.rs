//! Files to values and back.
//!
//! - [`npy`]: NumPy's array format, one array in a file.
//! - [`text`]: values as people write and read them.
//! - [`json`]: values for other programs.
//! - [`atomic_write`]: how every output is written: complete or not at all.
//!
//! A file is never trusted: what its header claims is compared with what is there before anything is allocated, and
//! an [`Error`] names the byte at which the two part.

mod atomic;
mod error;
pub mod json;
pub mod npy;
pub mod text;

pub use atomic::atomic_write;
pub use error::{Error, Result};
