//! From a value to the text of a table. Records get a header; nothing else does.

use super::{Column, SHAPES, Shape};
use crate::text::type_name;
use crate::{Error, Result, fit};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_ir::value::Value;

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
    let mut out = Text { out: Vec::new(), separator };
    match Shape::of(ty) {
        None => check_type(ty)?,
        Some(Shape::Column(_)) => fit::items(value)?.iter().try_for_each(|v| out.line(&[v]))?,
        Some(Shape::Rows(columns)) => {
            out.header(&columns);
            for row in fit::items(value)? {
                out.line(&fit::parts(row)?.iter().collect::<Vec<_>>())?;
            }
        }
        Some(Shape::Matrix(_)) => {
            let rows = fit::items(value)?;
            let width = rows.first().map_or(Ok(0), |r| fit::items(r).map(<[Value]>::len))?;
            for (i, row) in rows.iter().enumerate() {
                let row = fit::items(row)?;
                if row.len() != width || width == 0 {
                    let message =
                        format!("a table is regular, and row {i} has {} elements, row 0 has {width}", row.len());
                    return Err(Error::new(message).help("write it as .json, which keeps the rows as they are"));
                }
                out.line(&row.iter().collect::<Vec<_>>())?;
            }
        }
        Some(Shape::Columns(columns)) => {
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
                out.line(&vectors.iter().map(|v| &v[i]).collect::<Vec<_>>())?;
            }
        }
    }
    Ok(out.out)
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

    fn line(&mut self, fields: &[&Value]) -> Result<()> {
        for (i, field) in fields.iter().enumerate() {
            if i > 0 {
                self.out.push(self.separator);
            }
            match field {
                Value::Scalar(s) => self.out.extend(number(*s).bytes()),
                text => {
                    let text = fit::bytes(text)?;
                    self.text(&text, fields.len() == 1);
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
}

fn number(s: Scalar) -> String {
    match s {
        Scalar::Bool(b) => b.to_string(),
        Scalar::F32(v) if v.is_nan() => "nan".to_string(),
        Scalar::F64(v) if v.is_nan() => "nan".to_string(),
        Scalar::F32(v) => format!("{v:?}"),
        Scalar::F64(v) => format!("{v:?}"),
        other => other.as_int().unwrap_or(0).to_string(),
    }
}
