//! From a value to the text of a table. Records get a header; nothing else does.

use super::{Column, SHAPES, Shape};
use crate::text::type_name;
use crate::{Error, Result, fit};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
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
    let Some(Shape::Columns(columns)) = Shape::of(ty) else {
        let mut lines = Elements::new(separator, ty);
        fit::items(value)?.iter().try_for_each(|elem| lines.push(elem))?;
        return Ok(lines.text());
    };
    let mut out = Text { out: Vec::new(), separator };
    out.header(&columns);
    let vectors: Vec<&[Value]> = fit::parts(value)?.iter().map(fit::items).collect::<Result<_>>()?;
    let len = vectors.first().map_or(0, |v| v.len());
    if let Some(k) = vectors.iter().position(|v| v.len() != len) {
        let message = format!(
            "the columns of a table are of one length: column {k} has {} elements, column 0 has {len}",
            vectors[k].len()
        );
        return Err(Error::new(message).help("write it as .npz or .json"));
    }
    for i in 0..len {
        out.line(vectors.iter().map(|v| &v[i]))?;
    }
    Ok(out.out)
}

/// The lines of a vector or sequence, element after element.
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
    /// Those of a vector or sequence of this type, of which it is known that it can be written; with its header.
    pub(crate) fn new(separator: u8, ty: &Type) -> Elements {
        let mut text = Text { out: Vec::new(), separator };
        let kind = match Shape::of(ty) {
            Some(Shape::Rows(columns)) => {
                text.header(&columns);
                Kind::Records
            }
            Some(Shape::Matrix(_)) => Kind::Matrix(None),
            _ => Kind::Fields,
        };
        Elements { text, kind, count: 0 }
    }

    /// The next element.
    pub(crate) fn push(&mut self, elem: &Value) -> Result<()> {
        match &mut self.kind {
            Kind::Fields => self.text.line([elem].into_iter())?,
            Kind::Records => self.text.line(fit::parts(elem)?.iter())?,
            Kind::Matrix(width) => {
                let row = fit::items(elem)?;
                let width = *width.get_or_insert(row.len());
                if row.len() != width || width == 0 {
                    let (i, has) = (self.count, row.len());
                    let message = format!("a table is regular, and row {i} has {has} elements, row 0 has {width}");
                    return Err(Error::new(message).help("write it as .json, which keeps the rows as they are"));
                }
                self.text.line(row.iter())?;
            }
        }
        self.count += 1;
        Ok(())
    }

    /// The text of everything that came since it was last asked for.
    pub(crate) fn text(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.text.out)
    }
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

    fn line<'a>(&mut self, fields: impl ExactSizeIterator<Item = &'a Value>) -> Result<()> {
        let alone = fields.len() == 1;
        for (i, field) in fields.enumerate() {
            if i > 0 {
                self.out.push(self.separator);
            }
            match field {
                Value::Scalar(s) => self.number(*s),
                text => {
                    let text = fit::bytes(text)?;
                    self.text(&text, alone);
                }
            }
        }
        self.out.push(b'\n');
        Ok(())
    }

    /// A text, in quotes where it would be read as something else. An empty line would not be read at all.
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
        // A vector takes everything.
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
