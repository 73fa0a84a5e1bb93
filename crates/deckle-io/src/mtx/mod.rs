//! Matrix Market: sparse and dense matrices as text.
//!
//! ```text
//! %%MatrixMarket matrix coordinate real general
//! % rows, columns, entries; then a row, a column (both from 1) and a value a line
//! 3 3 2
//! 1 1 7.0
//! 3 2 2.5
//! ```
//!
//! [`Matrix`] represents a file; [`to_value`] and [`from_data`] convert it to a value of a type, and back:
//!
//! | type | filled with |
//! |---|---|
//! | a record | by the names of its fields, see below |
//! | `[[(int, t)]]` | a vector for each row, of columns and values |
//! | `[(int, int, t)]` | the entries: row, column, value |
//! | `(int, int, [int], [int], [t])` | `rows`, `cols`, `row`, `col`, `val` |
//! | `[[t]]` | the dense matrix |
//!
//! | field | type | |
//! |---|---|---|
//! | `rows` | `int` | the number of rows |
//! | `rows` | `[[(int, t)]]` | the rows, each a vector of columns and values; `[[int]]`: columns alone, of a pattern |
//! | `cols`, `nnz` | `int` | the number of columns, of entries |
//! | `off` | `[int]` | the start of each row in `col` and `val`, and the end of the last one |
//! | `row`, `col` | `[int]` | the row and the column of each entry |
//! | `val` | `[t]` | its value |
//!
//! So `{ off: [int], rows: [[(int, real)]] }` is the CSR record of the library, and `{ off: [int], col: [int], val: [real] }` is the CSR of other
//! systems. Indices start at 0 in values, and at 1 in files. A value has the entries of a symmetric matrix on both sides of
//! the diagonal, and all entries are sorted by row and then by column; several entries at one position are all present, in the order
//! of the file (a dense matrix cannot represent them and is rejected). A value of a pattern is 1 (`true` for a `bool`).
//!
//! # What is rejected
//! Complex and hermitian matrices; indices outside the matrix; entries above the diagonal of a symmetric matrix and on that of a skew-symmetric
//! one; fewer or more entries than announced; numbers of rows or dense elements far beyond what the entries justify.

pub(crate) mod parse;
pub(crate) mod value;
mod write;

pub use parse::parse;
pub use value::to_value;
pub use write::{check_type, from_data};

use crate::{Error, Result, atomic_write, gz};
use std::path::Path;

/// A matrix as a file describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub cols: usize,
    /// How the entries are listed in the file.
    pub layout: Layout,
    /// Which entries the file omits because others determine them.
    pub symmetry: Symmetry,
    /// The row of each entry, from 0.
    pub row: Vec<usize>,
    /// The column of each entry, from 0.
    pub col: Vec<usize>,
    /// The value of each entry.
    pub values: Values,
}

/// How the entries are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Row, column and value of each.
    Coordinate,
    /// The values alone, column after column.
    Array,
}

/// Which entries are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// None.
    General,
    /// Those above the diagonal: they mirror those below.
    Symmetric,
    /// Those on the diagonal, which are 0, and above, which have the opposite sign.
    Skew,
}

/// The kind of the values, and the values.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// The entries have no values.
    Pattern,
    /// Integers.
    Integer(Vec<i64>),
    /// Doubles.
    Real(Vec<f64>),
}

impl Values {
    /// The name of this kind in the first line of a file.
    pub fn field(&self) -> &'static str {
        match self {
            Values::Pattern => "pattern",
            Values::Integer(_) => "integer",
            Values::Real(_) => "real",
        }
    }
}

impl Matrix {
    /// The number of entries that are listed.
    pub fn len(&self) -> usize {
        self.row.len()
    }

    /// Whether no entry is listed.
    pub fn is_empty(&self) -> bool {
        self.row.is_empty()
    }

    /// The same matrix with every entry listed: each mirrored one comes right after the one it mirrors.
    ///
    /// # Errors
    /// If an integer has no opposite.
    pub fn into_general(mut self) -> Result<Matrix> {
        let skew = match self.symmetry {
            Symmetry::General => return Ok(self),
            Symmetry::Symmetric => false,
            Symmetry::Skew => true,
        };
        let (mut row, mut col, mut from) = (Vec::new(), Vec::new(), Vec::new());
        for (k, (&i, &j)) in self.row.iter().zip(&self.col).enumerate() {
            row.push(i);
            col.push(j);
            from.push((k, false));
            if i != j {
                row.push(j);
                col.push(i);
                from.push((k, skew));
            }
        }
        self.values = match self.values {
            Values::Pattern => Values::Pattern,
            Values::Real(v) => Values::Real(from.iter().map(|&(k, minus)| if minus { -v[k] } else { v[k] }).collect()),
            Values::Integer(v) => {
                let opposite = |k: usize| {
                    v[k].checked_neg().ok_or_else(|| Error::new(format!("the entry {} has no opposite", v[k])))
                };
                let all: Result<_> =
                    from.iter().map(|&(k, minus)| if minus { opposite(k) } else { Ok(v[k]) }).collect();
                Values::Integer(all?)
            }
        };
        (self.row, self.col, self.symmetry) = (row, col, Symmetry::General);
        Ok(self)
    }
}

/// Reads a `.mtx` or `.mtx.gz` file.
///
/// # Errors
/// If it cannot be read or is damaged.
pub fn read(path: impl AsRef<Path>) -> Result<Matrix> {
    let path = path.as_ref();
    let bytes = std::fs::read(path).map_err(|e| Error::io(&e).in_file(path))?;
    let packed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let matrix = if packed { gz::unpack(&bytes).and_then(|bytes| parse(&bytes)) } else { parse(&bytes) };
    matrix.map_err(|e| e.in_file(path))
}

/// Writes a `.mtx` or `.mtx.gz` file, complete or not at all.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: impl AsRef<Path>, matrix: &Matrix) -> Result<()> {
    let path = path.as_ref();
    let packed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    let bytes = write_bytes(matrix);
    atomic_write(path, |out| if packed { gz::pack(out, &bytes) } else { out.write_all(&bytes) })
}

/// The text of a file.
pub fn write_bytes(matrix: &Matrix) -> Vec<u8> {
    write::write(matrix)
}

#[cfg(test)]
mod tests;
