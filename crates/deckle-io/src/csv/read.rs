//! From the fields of a table to a value.

use super::cells::{Field, Lines};
use super::{Cell, Column, SHAPES, Shape};
use crate::fit::{count, exact, show};
use crate::text::{self, bytes_value, collection, scalar_name, type_name};
use crate::{Error, Result};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;

/// The longest word that a message repeats.
const LONGEST_WORD: usize = 64;

/// A value of a type from the text of a file; `part` names a column.
///
/// # Errors
/// If the text is no table, or its columns do not fit.
pub fn read_bytes(bytes: &[u8], separator: u8, ty: &Type, part: Option<&str>) -> Result<Value> {
    let shape = Shape::of(ty).ok_or_else(|| no_table(ty))?;
    let mut reader = Table::new(Lines::new(bytes, separator), 0);
    reader.advance()?;
    reader.width = reader.fields.len();
    match (part, shape) {
        (Some(name), Shape::Column(cell)) => reader.one(&[(Some(name), cell)], true, ty),
        (Some(_), _) => Err(no_column(ty)),
        (None, Shape::Column(cell)) => reader.one(&[(None, cell)], false, ty),
        (None, Shape::Rows(columns)) => reader.rows(&columns, ty),
        (None, Shape::Columns(columns)) => reader.columns(&columns, ty),
        (None, Shape::Matrix(cell)) => reader.matrix(&cell, ty),
    }
}

pub(crate) fn no_table(ty: &Type) -> Error {
    Error::misfit(format!("a table is no `{}`", type_name(ty))).help(SHAPES)
}

pub(crate) fn no_column(ty: &Type) -> Error {
    Error::misfit(format!("a column of a table is no `{}`", type_name(ty)))
}

/// A table that is being read: its current line.
pub(crate) struct Table<'a> {
    pub lines: Lines<'a>,
    pub fields: Vec<Field<'a>>,
    line: u64,
    /// The number of fields that every line must have; 0 if unknown.
    pub width: usize,
    /// Whether there is a line.
    pub more: bool,
}

impl<'a> Table<'a> {
    pub(crate) fn new(lines: Lines<'a>, width: usize) -> Table<'a> {
        Table { lines, fields: Vec::new(), line: 0, width, more: false }
    }

    pub(crate) fn advance(&mut self) -> Result<()> {
        let line = self.lines.next(&mut self.fields)?;
        (self.more, self.line) = (line.is_some(), line.unwrap_or(self.line));
        if self.more && self.width > 0 && self.fields.len() != self.width {
            let (has, needs) = (count(self.fields.len(), "field"), self.width);
            let column = self.fields.len().min(needs);
            return Err(Error::at_column(
                self.line,
                column,
                format!("this line has {has}, and the first one has {needs}"),
            ));
        }
        Ok(())
    }

    /// The field of a line for each column; skips the header.
    fn header(&mut self, columns: &[Column], named: bool) -> Result<Vec<usize>> {
        let (places, is_header) = self.places(columns, named)?;
        if is_header {
            self.advance()?;
        }
        Ok(places)
    }

    /// The field of a line for each column, and whether this line is a header.
    pub(crate) fn places(&self, columns: &[Column], named: bool) -> Result<(Vec<usize>, bool)> {
        let all = (0..columns.len()).collect();
        if !self.more {
            return Ok((all, false));
        }
        if columns.iter().all(|c| c.0.is_some()) {
            let names: Vec<&[u8]> = self.fields.iter().map(|f| f.text.trim_ascii()).collect();
            let found = |name: &str| names.iter().position(|n| *n == name.as_bytes());
            let places: Vec<Option<usize>> = columns.iter().filter_map(|c| c.0.map(found)).collect();
            if let Some(places) = places.iter().copied().collect::<Option<Vec<usize>>>() {
                for (place, (name, _)) in places.iter().zip(columns) {
                    if names.iter().filter(|n| **n == names[*place]).count() > 1 {
                        let message = format!("the header has two columns `{}`", name.unwrap_or_default());
                        return Err(Error::at_column(self.line, *place + 1, message));
                    }
                }
                return Ok((places, true));
            }
            if named || self.is_header(columns) {
                return Err(missing_column(&names, columns, &places, self.line));
            }
        }
        if columns.len() != self.width {
            let message = format!("the table has {}, and the type has {}", count(self.width, "column"), columns.len());
            let error = Error::misfit(message);
            return Err(if columns.len() == 1 { error.help("pick one: @FILE.csv:NAME") } else { error });
        }
        Ok((all, self.is_header(columns)))
    }

    /// Whether the line must be a header: every field of a scalar column is a word, and not a value.
    pub(crate) fn is_header(&self, columns: &[Column]) -> bool {
        let is_name = |b: Option<&u8>| b.is_none_or(|b| b.is_ascii_alphabetic() || *b == b'_' || !b.is_ascii());
        let mut words = 0;
        for (i, field) in self.fields.iter().enumerate() {
            match columns.get(i).or(columns.last()) {
                Some((_, Cell::Scalar(s))) => {
                    if !is_name(field.text.trim_ascii().first()) || scalar(&field.text, *s).is_ok() {
                        return false;
                    }
                    words += usize::from(!field.text.trim_ascii().is_empty());
                }
                _ => continue,
            }
        }
        words > 0
    }

    /// The value of a field of this line.
    fn cell(&self, at: usize, column: &Column) -> Result<Value> {
        match column.1 {
            Cell::Text(ty) => Ok(bytes_value(&self.fields[at].text, ty)),
            Cell::Scalar(s) => self.scalar(at, column.0, s).map(Value::Scalar),
        }
    }

    /// A field of this line as a scalar of the column of a name.
    pub(crate) fn scalar(&self, at: usize, name: Option<&str>, ty: ScalarType) -> Result<Scalar> {
        scalar(&self.fields[at].text, ty).map_err(|e| {
            let message = name.map_or(e.message.clone(), |name| format!("`{name}`: {}", e.message));
            Error { help: e.help, ..Error::at_column(self.line, at + 1, message) }
        })
    }

    fn one(mut self, columns: &[Column], named: bool, ty: &Type) -> Result<Value> {
        let places = self.header(columns, named)?;
        let mut items = Vec::new();
        while self.more {
            items.push(self.cell(places[0], &columns[0])?);
            self.advance()?;
        }
        Ok(collection(items, ty))
    }

    fn rows(mut self, columns: &[Column], ty: &Type) -> Result<Value> {
        let places = self.header(columns, false)?;
        let mut items = Vec::new();
        while self.more {
            let row: Result<Vec<Value>> = places.iter().zip(columns).map(|(at, c)| self.cell(*at, c)).collect();
            items.push(Value::tuple(row?));
            self.advance()?;
        }
        Ok(collection(items, ty))
    }

    fn columns(mut self, columns: &[Column], ty: &Type) -> Result<Value> {
        let places = self.header(columns, false)?;
        let mut items: Vec<Vec<Value>> = vec![Vec::new(); columns.len()];
        while self.more {
            for ((items, at), column) in items.iter_mut().zip(&places).zip(columns) {
                items.push(self.cell(*at, column)?);
            }
            self.advance()?;
        }
        let parts = ty.parts().unwrap_or_default();
        Ok(Value::tuple(items.into_iter().zip(parts).map(|(items, ty)| collection(items, ty)).collect()))
    }

    fn matrix(mut self, cell: &Cell, ty: &Type) -> Result<Value> {
        let column = (None, cell.clone());
        if self.more && self.is_header(std::slice::from_ref(&column)) {
            self.advance()?;
        }
        let row_ty = ty.elem().unwrap_or(ty);
        let mut rows = Vec::new();
        while self.more {
            let row: Result<Vec<Value>> = (0..self.width).map(|at| self.cell(at, &column)).collect();
            rows.push(collection(row?, row_ty));
            self.advance()?;
        }
        Ok(collection(rows, ty))
    }
}

fn missing_column(names: &[&[u8]], columns: &[Column], places: &[Option<usize>], line: u64) -> Error {
    const MOST: usize = 12;
    let missing: Vec<String> = columns
        .iter()
        .zip(places)
        .filter(|(_, p)| p.is_none())
        .filter_map(|(c, _)| c.0)
        .map(|n| format!("`{n}`"))
        .collect();
    let mut there: Vec<String> = names.iter().take(MOST).map(|n| format!("`{}`", show(n))).collect();
    if names.len() > MOST {
        there.push("...".to_string());
    }
    let message = format!("the table has no column {}; it has {}", missing.join(", "), there.join(", "));
    Error { line: Some(line), ..Error::misfit(message) }
}

/// A field as a scalar, or an error without its place.
fn scalar(field: &[u8], ty: ScalarType) -> Result<Scalar> {
    let field = field.trim_ascii();
    let wrong = || Error::new(format!("`{}` is not of type `{}`", show(field), scalar_name(ty)));
    if field.is_empty() {
        return Err(Error::new(format!("the field is empty, and should be of type `{}`", scalar_name(ty))));
    }
    let word = std::str::from_utf8(field).map_err(|_| wrong())?;
    // The forms that nearly all fields have; the text parser handles the others, and errors.
    let quick = match ty {
        ScalarType::I64 => word.parse().ok().map(Scalar::I64),
        ScalarType::F64 => word.parse().ok().filter(|v: &f64| v.is_finite()).map(Scalar::F64),
        ScalarType::F32 => word.parse().ok().filter(|v: &f32| v.is_finite()).map(Scalar::F32),
        ScalarType::Bool => None,
        _ => word.parse::<i64>().ok().and_then(|v| exact(v.into(), ty)),
    };
    if let Some(s) = quick {
        return Ok(s);
    }
    match text::parse(word, &Type::Scalar(ty)) {
        Ok(Value::Scalar(s)) => Ok(s),
        // The text parser repeats the word, which may be as long as the file or disturb a terminal.
        Err(e) if field.len() <= LONGEST_WORD && !word.contains(char::is_control) => {
            Err(Error { help: e.help, ..Error::new(e.message) })
        }
        _ => Err(wrong()),
    }
}
