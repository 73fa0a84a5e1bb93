//! Matrices, entry after entry or row after row.

use super::input::Window;
use super::whole::Whole;
use super::{Outcome, Reader};
use crate::build::Build;
use crate::mtx::parse::{Head, Lines, Words, head};
use crate::mtx::value::{Form, check_rows, fill, number, scalars};
use crate::mtx::{Layout, Symmetry, parse};
use crate::text::type_name;
use crate::{Error, Result};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_runtime::{Data, OverBudget, Pool};

/// The longest beginning of a file that is searched for the line with the sizes.
const LONGEST_HEAD: usize = 16 << 20;

/// Whether the elements of a sequence are entries, or rows of entries.
pub(super) fn is_streamed(ty: &Type) -> bool {
    matches!(Form::of(ty), Some(Form::Triples | Form::Rows))
}

pub(super) fn open(mut window: Window, ty: &Type) -> Result<Box<dyn Reader>> {
    let (head, taken, line) = loop {
        let is_all = window.has_ended() || window.bytes().len() > LONGEST_HEAD;
        let text = if is_all { window.bytes() } else { window.lines() };
        let mut lines = Lines { rest: text, number: 0 };
        if !text.is_empty() || is_all {
            match head(&mut lines)? {
                Some(head) => break (head, text.len() - lines.rest.len(), lines.number),
                None if is_all => {
                    return Err(Error::at_line(lines.number, "the file ends before the line with the sizes"));
                }
                None => {}
            }
        }
        window.begin()?;
    };
    let elem = ty.elem().unwrap_or(ty);
    if head.layout == Layout::Array {
        let mut build = Build::new(ty);
        parse(&window.rest()?).and_then(|matrix| fill(matrix, ty, None, &mut build))?;
        return Ok(Box::new(Whole::new(build)));
    }
    if head.symmetry != Symmetry::General {
        let message = "a symmetric matrix lists one half of its entries, and cannot be streamed row by row";
        return Err(Error::misfit(message).help(remedy(elem)));
    }
    let is_rows = matches!(Form::of(ty), Some(Form::Rows));
    if is_rows {
        check_rows(head.rows, head.entries)?;
    }
    window.take(taken);
    let types = scalars(if is_rows { elem.elem().unwrap_or(elem) } else { elem });
    let list = List {
        row: types.first().copied().filter(|_| !is_rows),
        col: types[types.len() - 2],
        val: types[types.len() - 1],
        head,
        help: remedy(elem),
        line,
        seen: 0,
        last: (0, 0),
        ended: 0,
        open: 0,
        build: Build::new(elem),
    };
    Ok(Box::new(Entries { window, list }))
}

fn remedy(elem: &Type) -> String {
    format!("take the parameter as a vector `[{}]`, which is read as a whole", type_name(elem))
}

struct Entries {
    window: Window,
    list: List,
}

/// The entries read so far.
struct List {
    head: Head,
    /// The type of the row of an entry; `None` if the elements are rows.
    row: Option<ScalarType>,
    col: ScalarType,
    val: ScalarType,
    help: String,
    /// The number of the line before the window.
    line: u64,
    /// The number of entries that have been read.
    seen: usize,
    /// The position of the last one.
    last: (usize, usize),
    /// The number of complete rows, and of entries in the open one.
    ended: usize,
    open: usize,
    build: Build,
}

impl Reader for Entries {
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Data>) -> Outcome<()> {
        let list = &mut self.list;
        loop {
            self.window.fill(bytes, pool)?;
            let mut lines = Lines { rest: self.window.lines(), number: list.line };
            let (len, mut count) = (lines.rest.len(), 0);
            let outcome = list.entries(&mut lines, bytes, &mut count, self.window.has_ended());
            list.line = lines.number;
            let taken = len - lines.rest.len();
            self.window.take(taken);
            if count > 0 {
                *found = Some(list.build.take(count, pool)?);
            }
            outcome?;
            if count > 0 || self.window.has_ended() {
                return Ok(());
            }
            list.check_room(pool)?;
            self.window.more(bytes, pool)?;
        }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.window.progress()
    }
}

impl List {
    /// Reads entries until the elements take `bytes` bytes, and counts the complete ones.
    fn entries(&mut self, lines: &mut Lines, bytes: usize, count: &mut usize, is_last: bool) -> Result<()> {
        let is_full = |list: &List, count: usize| count > 0 && list.build.bytes() >= bytes;
        while !is_full(self, *count) {
            let before = lines.clone();
            let Some(line) = lines.next_entry() else {
                if is_last {
                    self.head.check_all(lines, self.seen)?;
                    self.end_rows(self.head.rows, bytes, count);
                }
                return Ok(());
            };
            let mut words = Words::new(lines.number, line);
            self.head.check_more(&words, self.seen)?;
            let place = words.place(&self.head)?;
            self.check_order(&words, place)?;
            self.end_rows(place.0, bytes, count);
            if self.row.is_none() && self.ended < place.0 {
                *lines = before;
                return Ok(());
            }
            let entry = words.entry(self.head.kind)?;
            words.end()?;
            self.push(place, entry.scalar(place, self.val)?)?;
            self.seen += 1;
            self.last = place;
            *count += usize::from(self.row.is_some());
        }
        Ok(())
    }

    /// Ends the rows before this one, until the elements take `bytes` bytes.
    fn end_rows(&mut self, row: usize, bytes: usize, count: &mut usize) {
        while self.row.is_none() && self.ended < row && (*count == 0 || self.build.bytes() < bytes) {
            self.build.end_row(self.open);
            (self.ended, self.open) = (self.ended + 1, 0);
            *count += 1;
        }
    }

    fn push(&mut self, (i, j): (usize, usize), value: Scalar) -> Result<()> {
        let index = |name: &str, v: usize, ty: ScalarType| match ty {
            ScalarType::I64 => Ok(Scalar::I64(v as i64)),
            _ => number(name, v as i128, ty),
        };
        let entry = if self.row.is_some() { &mut self.build } else { self.build.inner() };
        if let ([row, ..], Some(ty)) = (&mut *entry.parts(), self.row) {
            row.push(index("row", i, ty)?);
        }
        if let [.., col, val] = entry.parts() {
            col.push(index("col", j, self.col)?);
            val.push(value);
        }
        self.open += 1;
        Ok(())
    }

    fn check_order(&self, words: &Words, place: (usize, usize)) -> Result<()> {
        if self.last <= place {
            return Ok(());
        }
        let ((i, j), (k, l)) = (place, self.last);
        let message = format!(
            "the entries are not sorted: row {}, column {} comes after row {}, column {}",
            i + 1,
            j + 1,
            k + 1,
            l + 1
        );
        let error = Error { kind: crate::Kind::Misfit, ..words.error(message) };
        Err(error.help(format!("sort the file by row and column, or {}", self.help)))
    }

    /// An incomplete row is not memory of the pool yet, but will be.
    fn check_room(&self, pool: &Pool) -> std::result::Result<(), OverBudget> {
        let (stats, asked) = (pool.stats(), self.build.bytes() as u64);
        match stats.budget {
            Some(budget) if stats.current.saturating_add(asked) > budget => {
                let what = format!("row {} of a matrix", self.last.0 + 1);
                Err(OverBudget { what, asked, in_use: stats.current, budget: stats.budget })
            }
            _ => Ok(()),
        }
    }
}
