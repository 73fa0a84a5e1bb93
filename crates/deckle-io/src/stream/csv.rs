//! Tables, line after line.

use super::input::Window;
use super::{Outcome, Reader};
use crate::build::Build;
use crate::csv::cells::{Lines, MARK};
use crate::csv::read::{Table, no_column, no_table};
use crate::csv::{Cell, Column, Shape};
use crate::{Error, Result};
use deckle_ir::types::Type;
use deckle_runtime::{Data, Pool};

pub(super) fn open(mut window: Window, separator: u8, ty: &Type, part: Option<&str>) -> Result<Box<dyn Reader>> {
    let columns = columns(ty, part)?;
    while window.bytes().len() < MARK.len() && !window.has_ended() {
        window.begin()?;
    }
    if window.bytes().starts_with(MARK) {
        window.take(MARK.len());
    }
    let (taken, line, width, places) = loop {
        let text = window.lines();
        let mut table = Table::new(Lines::from(1, text, separator), 0);
        match table.advance() {
            Err(e) if !table.lines.is_open || window.has_ended() => return Err(e),
            Ok(()) if table.more || window.has_ended() => {
                table.width = table.fields.len();
                let (places, is_header) = first(&table, &columns, part.is_some())?;
                let rest = if is_header { table.lines.rest } else { text };
                let line = if is_header { table.lines.line } else { 1 };
                break (text.len() - rest.len(), line, table.width, places);
            }
            _ => window.begin()?,
        }
    };
    window.take(taken);
    let build = Build::new(ty.elem().unwrap_or(ty));
    let (ty, part) = (ty.clone(), part.map(str::to_string));
    Ok(Box::new(Rows { window, separator, ty, part, line, width, places, build }))
}

/// The columns of the fields of a line.
enum Columns<'a> {
    /// For a record or tuple, or a single one.
    Each(Vec<Column<'a>>),
    /// A row of them.
    Row(Column<'a>),
}

fn columns<'a>(ty: &'a Type, part: Option<&'a str>) -> Result<Columns<'a>> {
    match (part, Shape::of(ty)) {
        (_, None | Some(Shape::Columns(_))) => Err(no_table(ty)),
        (name, Some(Shape::Column(cell))) => Ok(Columns::Each(vec![(name, cell)])),
        (Some(_), _) => Err(no_column(ty)),
        (None, Some(Shape::Rows(columns))) => Ok(Columns::Each(columns)),
        (None, Some(Shape::Matrix(cell))) => Ok(Columns::Row((None, cell))),
    }
}

/// The field of a line for each column, and whether the first line is a header.
fn first(table: &Table, columns: &Columns, is_named: bool) -> Result<(Vec<usize>, bool)> {
    match columns {
        Columns::Each(columns) => table.places(columns, is_named),
        Columns::Row(column) => {
            let is_header = table.more && table.is_header(std::slice::from_ref(column));
            Ok(((0..table.fields.len()).collect(), is_header))
        }
    }
}

/// The elements of a table.
struct Rows {
    window: Window,
    separator: u8,
    ty: Type,
    part: Option<String>,
    /// The line of the first byte of the window.
    line: u64,
    width: usize,
    places: Vec<usize>,
    build: Build,
}

impl Reader for Rows {
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Data>) -> Outcome<()> {
        loop {
            self.window.fill(bytes, pool)?;
            let (count, outcome) = self.rows(bytes);
            if count > 0 {
                *found = Some(self.build.take(count, pool)?);
            }
            outcome?;
            if count > 0 || self.window.has_ended() {
                return Ok(());
            }
            self.window.more(bytes, pool)?;
        }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.window.progress()
    }
}

impl Rows {
    /// Reads the complete lines, until their elements take `bytes` bytes. Returns their number, and the error after them.
    fn rows(&mut self, bytes: usize) -> (usize, Result<()>) {
        let columns = match columns(&self.ty, self.part.as_deref()) {
            Ok(columns) => columns,
            Err(e) => return (0, Err(e)),
        };
        let text = self.window.lines();
        let mut table = Table::new(Lines::from(self.line, text, self.separator), self.width);
        let mut count = 0;
        // After the last line that was read.
        let (mut rest, mut line) = (text, self.line);
        let outcome = loop {
            if count > 0 && self.build.bytes() >= bytes {
                break Ok(());
            }
            match table.advance() {
                // Its end has not been read yet.
                Err(_) if table.lines.is_open && !self.window.has_ended() => break Ok(()),
                Err(e) => break Err(e),
                Ok(()) => (rest, line) = (table.lines.rest, table.lines.line),
            }
            if !table.more {
                break Ok(());
            }
            if let Err(e) = row(&table, &columns, &self.places, &mut self.build) {
                break Err(e);
            }
            count += 1;
        };
        self.line = line;
        let taken = text.len() - rest.len();
        self.window.take(taken);
        (count, outcome)
    }
}

/// Reads the element of a line.
fn row(table: &Table, columns: &Columns, places: &[usize], build: &mut Build) -> Result<()> {
    match columns {
        Columns::Each(columns) => {
            // A text is rows of bytes, and no tuple.
            for ((column, at), part) in columns.iter().zip(places).zip(build.parts()) {
                cell(table, *at, column, part)?;
            }
        }
        Columns::Row(column) => {
            places.iter().try_for_each(|at| cell(table, *at, column, build.inner()))?;
            build.end_row(places.len());
        }
    }
    Ok(())
}

fn cell(table: &Table, at: usize, column: &Column, build: &mut Build) -> Result<()> {
    match column.1 {
        Cell::Scalar(ty) => build.push(table.scalar(at, column.0, ty)?),
        Cell::Text(_) => build.push_text(&table.fields[at].text),
    }
    Ok::<(), Error>(())
}
