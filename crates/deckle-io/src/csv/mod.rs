//! Tables as text: `.csv`, with commas between the fields, and `.tsv`, with tabs.
//!
//! | type | read from |
//! |---|---|
//! | a record of vectors, `{ x: [real], n: [int] }` | the columns that have the names of its fields |
//! | a vector of records, `[{ x: real, n: int }]` | a record for each line, its fields by name |
//! | a tuple of vectors, a vector of tuples | the same by position; all columns are taken |
//! | `[t]` | the only column, or the selected one (`FILE.csv:NAME`) |
//! | `[[t]]` | a row for each line, all of the same length |
//!
//! A field is a scalar, or a text (`[u8]`); `[[u8]]` is a vector of texts and not a matrix. Sequences are read like vectors.
//!
//! The first line is a *header* if it has all the names of a record, or if it cannot be data: every field that should be a number
//! or a boolean is a word instead. Columns that a record does not name are ignored. A record is read from a file without a header by
//! position.
//!
//! The text is that of RFC 4180: a field may be in double quotes, and then contains any character, with quotes doubled. Numbers may be surrounded by
//! blanks. Empty lines are skipped. Lines end with a line feed, with or without a carriage return; a byte order mark is skipped.
//!
//! # What is rejected
//! A line with fewer or more fields than the first one, a field that is not a value of its type or is empty, a quote that is not closed or is
//! followed by more text: with the line and the column.

pub(crate) mod cells;
pub(crate) mod read;
pub(crate) mod write;

pub use read::read_bytes;
pub use write::{check_type, write_bytes};

use crate::text::is_text;
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;

/// The type of the fields of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Scalar(ScalarType),
    /// A `[u8]` or `{u8}`.
    Text(&'a Type),
}

impl<'a> Cell<'a> {
    fn of(ty: &'a Type) -> Option<Cell<'a>> {
        match ty {
            Type::Scalar(s) => Some(Cell::Scalar(*s)),
            _ if is_text(ty) => Some(Cell::Text(ty)),
            _ => None,
        }
    }
}

/// A column: its name, if the type has one, and its fields.
pub(crate) type Column<'a> = (Option<&'a str>, Cell<'a>);

/// How a type is read from a table.
#[derive(Debug)]
pub(crate) enum Shape<'a> {
    /// A record or tuple of vectors.
    Columns(Vec<Column<'a>>),
    /// A vector of records or tuples.
    Rows(Vec<Column<'a>>),
    /// A vector.
    Column(Cell<'a>),
    /// A vector of vectors of scalars.
    Matrix(Cell<'a>),
}

impl<'a> Shape<'a> {
    pub(crate) fn of(ty: &'a Type) -> Option<Shape<'a>> {
        if let Some(parts) = named_parts(ty) {
            let column = |(name, ty): (Option<&'a str>, &'a Type)| Some((name, Cell::of(ty.elem()?)?));
            return parts.into_iter().map(column).collect::<Option<_>>().map(Shape::Columns);
        }
        let elem = ty.elem()?;
        if let Some(cell) = Cell::of(elem) {
            return Some(Shape::Column(cell));
        }
        if let Some(parts) = named_parts(elem) {
            let column = |(name, ty): (Option<&'a str>, &'a Type)| Some((name, Cell::of(ty)?));
            return parts.into_iter().map(column).collect::<Option<_>>().map(Shape::Rows);
        }
        Cell::of(elem.elem()?).map(Shape::Matrix)
    }
}

/// The components of a record or of a tuple that has some.
fn named_parts(ty: &Type) -> Option<Vec<(Option<&str>, &Type)>> {
    match ty {
        Type::Record(r) if !r.fields.is_empty() => Some(r.fields.iter().map(|(n, t)| (Some(n.as_str()), t)).collect()),
        Type::Tuple(parts) if !parts.is_empty() => Some(parts.iter().map(|t| (None, t)).collect()),
        _ => None,
    }
}

const SHAPES: &str =
    "a table is a record of vectors, a vector of records or tuples, a vector or a matrix, of scalars or texts";

#[cfg(test)]
mod tests;
