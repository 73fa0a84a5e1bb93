//! From a value to the text of a table. Only records get a header.

use super::{Column, SHAPES, Shape};
use crate::format::Format;
use crate::item::Item;
use crate::rows::{elements, other_len, row_len};
use crate::text::type_name;
use crate::{Error, Result, contents};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::Data;
use std::io::Write;

/// Whether values of a type can be written.
///
/// # Errors
/// If no value of this type is a table.
pub fn check_type(ty: &Type) -> Result<()> {
    let error = || Error::new(format!("a table holds no `{}`", type_name(ty))).help(SHAPES);
    Shape::of(ty).map(drop).ok_or_else(error)
}

/// The text of a table.
///
/// # Errors
/// If the value is no table: its columns or rows are of different length.
pub fn write_bytes(separator: u8, ty: &Type, value: &Value) -> Result<Vec<u8>> {
    check_type(ty)?;
    contents::bytes(Format::Table(separator), ty, value)
}

/// Whether a value has lines: the elements of a vector or sequence, or those of all columns.
pub(crate) fn has_lines(ty: &Type) -> bool {
    match ty.parts() {
        Some(columns) => columns.into_iter().all(|c| c.elem().is_some()),
        None => ty.elem().is_some(),
    }
}

/// The lines of columns, each of which is one vector: the same memory, as tuples.
pub(crate) fn lines(columns: &[Data]) -> Result<Data> {
    let columns: Vec<Data> = columns.iter().map(|c| elements(c).clone()).collect();
    let len = columns.first().map_or(0, Data::len);
    if let Some(k) = columns.iter().position(|c| c.len() != len) {
        let has = columns[k].len();
        let message =
            format!("the columns of a table are of one length: column {k} has {has} elements, column 0 has {len}");
        return Err(Error::new(message).help("write it as .npz or .json"));
    }
    Data::tuples(len, columns).map_err(|e| Error::new(e.to_string()))
}

/// The lines of a table, one after another.
pub(crate) struct Elements {
    text: Text,
    kind: Kind,
    count: usize,
}

enum Kind {
    Fields,
    Records,
    /// Rows, of the width that the first one has.
    Matrix(Option<usize>),
}

impl Elements {
    /// The lines of a value of this type, which is known to be writable; with its header.
    pub(crate) fn new(separator: u8, ty: &Type) -> Elements {
        let mut text = Text { out: Vec::new(), separator };
        let kind = match Shape::of(ty) {
            Some(Shape::Rows(columns) | Shape::Columns(columns)) => {
                text.header(&columns);
                Kind::Records
            }
            Some(Shape::Matrix(_)) => Kind::Matrix(None),
            _ => Kind::Fields,
        };
        Elements { text, kind, count: 0 }
    }

    /// Whether all lines can be written.
    pub(crate) fn check(&self, lines: &Data) -> Result<()> {
        if !matches!(self.kind, Kind::Matrix(_)) || lines.is_empty() {
            return Ok(());
        }
        let width = row_len(lines, 0);
        let wrong = if width == 0 { Some((0, 0)) } else { other_len(lines, width) };
        wrong.map_or(Ok(()), |(i, has)| Err(irregular(i, has, width)))
    }

    /// The next line.
    pub(crate) fn push(&mut self, elem: Item<'_>) -> Result<()> {
        match &mut self.kind {
            Kind::Fields => self.text.line([elem].into_iter())?,
            Kind::Records => self.text.line(elem.parts())?,
            Kind::Matrix(width) => {
                let len = elem.len();
                let width = *width.get_or_insert(len);
                if len != width || width == 0 {
                    return Err(irregular(self.count, len, width));
                }
                self.text.line(elem.iter())?;
            }
        }
        self.count += 1;
        Ok(())
    }

    /// The text since the last call.
    pub(crate) fn text(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text.out)
    }
}

fn irregular(i: usize, has: usize, width: usize) -> Error {
    let message = format!("a table is regular, and row {i} has {has} elements, row 0 has {width}");
    Error::new(message).help("write it as .json, which keeps the rows as they are")
}

struct Text {
    out: Vec<u8>,
    separator: u8,
}

impl Text {
    fn header(&mut self, columns: &[Column]) {
        let names: Option<Vec<&str>> = columns.iter().map(|c| c.0).collect();
        if let Some(names) = names {
            self.out.extend(names.join(&*(self.separator as char).to_string()).bytes());
            self.out.push(b'\n');
        }
    }

    fn line<'a>(&mut self, fields: impl ExactSizeIterator<Item = Item<'a>>) -> Result<()> {
        let alone = fields.len() == 1;
        for (i, field) in fields.enumerate() {
            if i > 0 {
                self.out.push(self.separator);
            }
            match field.scalar() {
                Ok(s) => self.number(s),
                Err(_) => self.text(field.bytes()?, alone),
            }
        }
        self.out.push(b'\n');
        Ok(())
    }

    /// A text, in quotes if it would otherwise be read as something else. An empty line would not be read at all.
    fn text(&mut self, text: &[u8], alone: bool) {
        let special = |b: &u8| *b == self.separator || b"\"\r\n".contains(b);
        let marked = text.starts_with(b"\xEF\xBB\xBF");
        let vanishes = alone && text.is_empty();
        if !text.iter().any(special) && !marked && !vanishes {
            self.out.extend(text);
            return;
        }
        self.out.push(b'"');
        for byte in text {
            self.out.extend(if *byte == b'"' { &b"\"\""[..] } else { std::slice::from_ref(byte) });
        }
        self.out.push(b'"');
    }
    fn number(&mut self, s: Scalar) {
        let out = &mut self.out;
        // Writing to a vector cannot fail.
        let _ = match s {
            Scalar::Bool(b) => write!(out, "{b}"),
            Scalar::F32(v) if v.is_nan() => write!(out, "nan"),
            Scalar::F64(v) if v.is_nan() => write!(out, "nan"),
            Scalar::F32(v) => write!(out, "{v:?}"),
            Scalar::F64(v) => write!(out, "{v:?}"),
            other => write!(out, "{}", other.as_int().unwrap_or(0)),
        };
    }
}
