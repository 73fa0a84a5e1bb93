//! Files to values and back.
//!
//! - [`read_value`], [`write_value`]: by the extension of a file's name, and by the requested type; [`write_data`]: from flat memory.
//! - [`stream`]: the same for sequences, element by element.
//! - [`npy`], [`npz`]: NumPy's arrays, one in a file or several by name.
//! - [`mtx`]: Matrix Market, for sparse and dense matrices.
//! - [`csv`]: tables with typed columns.
//! - [`plain`]: bytes, lines and words of a text.
//! - [`image`], [`wav`]: pictures and sound.
//! - [`text`]: values as users write and read them.
//! - [`json`]: values for other programs.
//! - [`atomic_write`]: writes every output, complete or not at all; [`abandon`] discards all unfinished output.
//!
//! Files are never trusted: the sizes in a header are compared with the contents before memory is allocated, decompression
//! is limited ([`gz`]), and an [`Error`] names the byte or the line of the mismatch.

mod atomic;
mod build;
mod contents;
pub mod csv;
mod error;
mod fit;
mod format;
pub mod gz;
pub mod image;
mod item;
pub mod json;
pub mod mtx;
pub mod npy;
pub mod npz;
pub mod plain;
mod room;
mod rows;
pub mod stream;
mod temporary;
#[cfg(test)]
mod testing;
pub mod text;
pub mod tree;
pub mod wav;

pub use atomic::{Output, atomic_write, is_standard};
pub use error::{Error, Kind, Result};
pub use format::{
    Format, WRITTEN, check_writable, read_data, read_value, read_value_bytes, split_part, write_data, write_value,
};
pub use temporary::abandon;
