//! Files: reading and writing host values, in the format given by the file extension.
//!
//! ```
//! # use deckle::prelude::*;
//! # let dir = std::env::temp_dir().join(format!("deckle-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&dir)?;
//! #[derive(Clone, Copy, Debug, PartialEq, Elt)]
//! struct Trade {
//!     price: f64,
//!     volume: i64,
//! }
//!
//! // A table: a struct for each line, its fields by the names of the columns.
//! std::fs::write(dir.join("trades.csv"), "volume,price\n2,1.5\n3,10\n")?;
//! let trades: Vec<Trade> = deckle::io::read(dir.join("trades.csv"))?;
//! let turnover = compile(|ts: Arr<Trade>| ts.map(|t| t.price() * t.volume().cast::<f64>()))?;
//! let out = turnover.call(trades)?;
//!
//! // What a program gives, for NumPy.
//! deckle::io::write(dir.join("turnover.npy"), &out)?;
//! let back: Array<f64> = deckle::io::read(dir.join("turnover.npy"))?;
//! assert_eq!(back.to_vec(), [3.0, 30.0]);
//! # std::fs::remove_dir_all(&dir)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | extension | what is read and written |
//! |---|---|
//! | `.npy`, `.npz` | NumPy's arrays; `a.npz:x` is the array `x` |
//! | `.mtx` | Matrix Market: dense as `Array<f64, D2>`, sparse as `Array<(i64, i64, f64)>` or by parts, `a.mtx:off` |
//! | `.csv`, `.tsv` | tables: a struct or tuple for each line; `t.csv:price` is a column |
//! | `.png`, `.pgm`, `.ppm` | pictures: `Array<u8, D2>` is grey, `Array<(u8, u8, u8), D2>` coloured |
//! | `.wav` | sound |
//! | `.txt` | bytes (`Vec<u8>`), lines (`Vec<Vec<u8>>`), words (`book.txt:words`), or any value as a literal |
//!
//! `.gz` after any of these means that the file is compressed. Files are never trusted: a malformed file is an [`Error`] that
//! names the byte or the line, and no more memory is allocated than the file justifies. Output appears complete or not at all.

use crate::arr::Rank;
use crate::elt::Elt;
use crate::flat::{Elements, Flat, Grids, Rows};
use crate::host::Array;
pub use deckle_io::{Error, Kind};
use deckle_ir::entity::SizeVar;
use deckle_ir::size::Size;
use deckle_ir::types::Type;
use deckle_runtime::Pool;
use std::path::Path;

/// The possible contents of a file: elements, and any nesting of `Vec` and [`Array`] around them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can neither be read from a file nor written to one",
    label = "expected an element, a `Vec` or an `Array` of such"
)]
pub trait Stored: Sized {
    /// Values in flat memory.
    #[doc(hidden)]
    type Flat: Flat<Self>;
    #[doc(hidden)]
    fn stored_type() -> Type;
}

impl<T: Elt> Stored for T {
    type Flat = Elements<T>;
    fn stored_type() -> Type {
        T::ty()
    }
}

impl<T: Stored> Stored for Vec<T> {
    type Flat = Rows<T::Flat>;
    fn stored_type() -> Type {
        vector(T::stored_type())
    }
}

impl<T: Stored, D: Rank> Stored for Array<T, D> {
    type Flat = Grids<T::Flat, D>;
    fn stored_type() -> Type {
        (0..D::N).fold(T::stored_type(), |t, _| vector(t))
    }
}

/// A vector of any length.
fn vector(elem: Type) -> Type {
    Type::array(Size::var(SizeVar(0)), elem)
}

/// Reads a value from a file, or from a part of it (`FILE:PART`), in the format given by its extension.
///
/// # Errors
/// If the file cannot be read, is damaged, or holds no value of this type: rows of different lengths for a matrix, for example.
pub fn read<T: Stored>(path: impl AsRef<Path>) -> Result<T, Error> {
    let path = path.as_ref();
    let data = deckle_io::read_data(path, &T::stored_type(), &Pool::new(None))?;
    let value = T::Flat::into_vec(data).and_then(|mut all| all.pop());
    value.ok_or_else(|| Error::misfit("its rows are not all of one length").in_file(path))
}

/// Writes a value to a file in the format given by its extension: complete or not at all.
///
/// # Errors
/// If the format cannot hold the value, or the file cannot be written.
pub fn write<T: Stored>(path: impl AsRef<Path>, value: &T) -> Result<(), Error> {
    let mut flat = T::Flat::default();
    flat.push(value);
    let data = flat.into_data(None).map_err(|e| Error::new(e.to_string()))?;
    deckle_io::write_data(path, &T::stored_type(), &data)
}
