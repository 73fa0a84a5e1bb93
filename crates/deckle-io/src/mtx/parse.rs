//! From the text of a file to a matrix. Every error names the line.

use super::{Layout, Matrix, Symmetry, Values};
use crate::fit::{count, show};
use crate::{Error, Result};

/// The shortest line of an entry: a row, a column and a line end.
const SHORTEST_ENTRY: usize = 4;

/// Reads the text of a file.
///
/// # Errors
/// If it is damaged, or of an unsupported kind.
pub fn parse(text: &[u8]) -> Result<Matrix> {
    let mut lines = Lines { rest: text, number: 0 };
    let Some(head) = head(&mut lines)? else {
        return Err(Error::at_line(lines.number, "the file ends before the line with the sizes"));
    };
    let Head { rows, cols, entries: announced, layout, kind, symmetry } = head;
    let room = announced.min(lines.rest.len() / if layout == Layout::Array { 2 } else { SHORTEST_ENTRY } + 1);
    let values = match kind {
        Kind::Pattern => Values::Pattern,
        Kind::Integer => Values::Integer(Vec::with_capacity(room)),
        Kind::Real => Values::Real(Vec::with_capacity(room)),
    };
    let (row, col) = (Vec::with_capacity(room), Vec::with_capacity(room));
    let mut matrix = Matrix { rows, cols, layout, symmetry, row, col, values };
    entries(&mut lines, &head, &mut matrix)?;
    Ok(matrix)
}

/// The header of a file, before its entries.
pub(crate) struct Head {
    pub rows: usize,
    pub cols: usize,
    /// The number of listed entries.
    pub entries: usize,
    pub layout: Layout,
    pub kind: Kind,
    pub symmetry: Symmetry,
}

/// Reads the first line and that with the sizes; `None` if there is none.
pub(crate) fn head(lines: &mut Lines) -> Result<Option<Head>> {
    let (layout, kind, symmetry) = banner(lines.next().unwrap_or_default())?;
    let Some(sizes) = lines.next_entry() else { return Ok(None) };
    let mut words = Words::new(lines.number, sizes);
    let rows = words.size("the number of rows")?;
    let cols = words.size("the number of columns")?;
    let entries = match layout {
        Layout::Coordinate => words.size("the number of entries")?,
        Layout::Array => stored(rows, cols, symmetry).ok_or_else(|| words.error("the matrix is too large to exist"))?,
    };
    words.end()?;
    if symmetry != Symmetry::General && rows != cols {
        return Err(words.error(format!("a symmetric matrix is square, and this one is {rows} by {cols}")));
    }
    Ok(Some(Head { rows, cols, entries, layout, kind, symmetry }))
}

fn entries(lines: &mut Lines, head: &Head, matrix: &mut Matrix) -> Result<()> {
    let mut place = first_place(matrix);
    while let Some(line) = lines.next_entry() {
        let mut words = Words::new(lines.number, line);
        head.check_more(&words, matrix.len())?;
        let (i, j) = match matrix.layout {
            Layout::Coordinate => words.place(head)?,
            Layout::Array => place,
        };
        check_triangle(&words, matrix.symmetry, i, j)?;
        match (&mut matrix.values, words.entry(head.kind)?) {
            (Values::Integer(all), Entry::Integer(v)) => all.push(v),
            (Values::Real(all), Entry::Real(v)) => all.push(v),
            _ => {}
        }
        words.end()?;
        matrix.row.push(i);
        matrix.col.push(j);
        place = next_place(matrix, place);
    }
    head.check_all(lines, matrix.len())
}

impl Head {
    /// Whether there may be an entry after `seen` ones.
    pub(crate) fn check_more(&self, words: &Words, seen: usize) -> Result<()> {
        if seen < self.entries {
            return Ok(());
        }
        Err(words.error(format!("this is one entry more than the {} that there should be", self.entries)))
    }

    /// Whether all entries have been read.
    pub(crate) fn check_all(&self, lines: &Lines, seen: usize) -> Result<()> {
        if seen == self.entries {
            return Ok(());
        }
        Err(Error::at_line(lines.number, format!("the file ends after {seen} of {} entries", self.entries)))
    }
}

fn check_triangle(words: &Words, symmetry: Symmetry, i: usize, j: usize) -> Result<()> {
    let what = match symmetry {
        Symmetry::Symmetric if i < j => "a symmetric matrix lists the entries below the diagonal and on it only",
        Symmetry::Skew if i <= j => "a skew-symmetric matrix lists the entries below the diagonal only",
        _ => return Ok(()),
    };
    Err(words.error(format!("{what}, and this is row {}, column {}", i + 1, j + 1)))
}

/// The number of values that an array file lists.
fn stored(rows: usize, cols: usize, symmetry: Symmetry) -> Option<usize> {
    let all = rows.checked_mul(cols)?;
    Some(match symmetry {
        Symmetry::General => all,
        // For a matrix that is not square, which is rejected later.
        _ if rows != cols => all,
        Symmetry::Symmetric => (all - rows) / 2 + rows,
        Symmetry::Skew => (all - rows) / 2,
    })
}

fn first_place(matrix: &Matrix) -> (usize, usize) {
    if matrix.symmetry == Symmetry::Skew { (1, 0) } else { (0, 0) }
}

/// The position after this one, column after column.
fn next_place(matrix: &Matrix, (i, j): (usize, usize)) -> (usize, usize) {
    if i + 1 < matrix.rows {
        return (i + 1, j);
    }
    match matrix.symmetry {
        Symmetry::General => (0, j + 1),
        Symmetry::Symmetric => (j + 1, j + 1),
        Symmetry::Skew => (j + 2, j + 1),
    }
}

/// The kind of the values.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Pattern,
    Integer,
    Real,
}

/// The value of an entry.
#[derive(Clone, Copy)]
pub(crate) enum Entry {
    Pattern,
    Integer(i64),
    Real(f64),
}

/// The first line: `%%MatrixMarket matrix coordinate real general`, in any case.
fn banner(line: &[u8]) -> Result<(Layout, Kind, Symmetry)> {
    let line = String::from_utf8_lossy(line).to_ascii_lowercase();
    let words: Vec<&str> = line.split_ascii_whitespace().collect();
    let wrong = |message: &str| Error::at_line(1, message);
    if words.first() != Some(&"%%matrixmarket") {
        return Err(wrong("this is no Matrix Market file: it does not begin with `%%MatrixMarket`"));
    }
    let [_, object, layout, kind, symmetry] = words[..] else {
        let message = format!("`%%MatrixMarket` is followed by {}, not 4", count(words.len() - 1, "word"));
        return Err(Error::at_line(1, message).help("write, say: %%MatrixMarket matrix coordinate real general"));
    };
    let unknown = |what: &str, word: &str, known: &str| {
        wrong(&format!("the {what} `{}` is not known: it is {known}", show(word.as_bytes())))
    };
    if object != "matrix" {
        return Err(unknown("object", object, "`matrix`"));
    }
    let layout = match layout {
        "coordinate" => Layout::Coordinate,
        "array" => Layout::Array,
        _ => return Err(unknown("format", layout, "`coordinate` or `array`")),
    };
    let kind = match kind {
        "real" => Kind::Real,
        "integer" => Kind::Integer,
        "pattern" => Kind::Pattern,
        "complex" => {
            return Err(wrong("the entries are complex numbers, which Deckle does not have"));
        }
        _ => return Err(unknown("field", kind, "`real`, `integer` or `pattern`")),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::Skew,
        "hermitian" => {
            return Err(wrong("a hermitian matrix is complex, and Deckle has no complex numbers"));
        }
        _ => return Err(unknown("symmetry", symmetry, "`general`, `symmetric` or `skew-symmetric`")),
    };
    match (layout, &kind) {
        (Layout::Array, Kind::Pattern) => Err(wrong("an array has values, and this one is a pattern")),
        (_, Kind::Pattern) if symmetry == Symmetry::Skew => {
            Err(wrong("a pattern has no signs, so that it cannot be skew-symmetric"))
        }
        _ => Ok((layout, kind, symmetry)),
    }
}

/// The lines of a text, counted.
#[derive(Clone)]
pub(crate) struct Lines<'a> {
    pub rest: &'a [u8],
    /// The number of the last returned line, from 1.
    pub number: u64,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        self.number += 1;
        let (line, rest) = match memchr::memchr(b'\n', self.rest) {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        Some(line)
    }

    /// The next line that is neither blank nor a comment.
    pub(crate) fn next_entry(&mut self) -> Option<&'a [u8]> {
        loop {
            let line = self.next()?.trim_ascii();
            if !line.is_empty() && line[0] != b'%' {
                return Some(line);
            }
        }
    }
}

/// The words of a line.
pub(crate) struct Words<'a> {
    line: u64,
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(crate) fn new(line: u64, rest: &'a [u8]) -> Self {
        Words { line, rest }
    }

    pub(crate) fn error(&self, message: impl Into<String>) -> Error {
        Error::at_line(self.line, message)
    }

    fn word(&mut self, what: &str) -> Result<&'a [u8]> {
        self.rest = self.rest.trim_ascii_start();
        let len = self.rest.iter().position(u8::is_ascii_whitespace).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(len);
        self.rest = rest;
        if word.is_empty() { Err(self.error(format!("{what} is missing"))) } else { Ok(word) }
    }

    /// The row and the column of an entry.
    pub(crate) fn place(&mut self, head: &Head) -> Result<(usize, usize)> {
        Ok((self.index("the row", head.rows)?, self.index("the column", head.cols)?))
    }

    /// The value of an entry.
    pub(crate) fn entry(&mut self, kind: Kind) -> Result<Entry> {
        Ok(match kind {
            Kind::Pattern => Entry::Pattern,
            Kind::Integer => Entry::Integer(self.integer()?),
            Kind::Real => Entry::Real(self.real()?),
        })
    }

    pub(crate) fn end(&self) -> Result<()> {
        match self.rest.trim_ascii() {
            [] => Ok(()),
            more => Err(self.error(format!("`{}` is too much on this line", show(more)))),
        }
    }

    fn size(&mut self, what: &str) -> Result<usize> {
        let word = self.word(what)?;
        // Sizes are `i64` in the language.
        digits(word).filter(|n| i64::try_from(*n).is_ok()).and_then(|n| usize::try_from(n).ok()).ok_or_else(|| {
            let why = match word {
                [b'-', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => "negative",
                _ if word.iter().all(u8::is_ascii_digit) => "too large to exist",
                _ => "no whole number",
            };
            self.error(format!("{what} is {why}: `{}`", show(word)))
        })
    }

    /// An index, which counts from 1 in the file and from 0 here.
    fn index(&mut self, what: &str, size: usize) -> Result<usize> {
        let word = self.word(what)?;
        match digits(word).and_then(|n| usize::try_from(n).ok()) {
            Some(n) if (1..=size).contains(&n) => Ok(n - 1),
            Some(0) => Err(self.error(format!("{what} is 0: indices start at 1"))),
            Some(n) => Err(self.error(format!("{what} is {n}, and there are {size}"))),
            None => Err(self.error(format!("{what} is no index: `{}`", show(word)))),
        }
    }

    fn integer(&mut self) -> Result<i64> {
        let word = self.word("the value")?;
        let value = std::str::from_utf8(word).ok().and_then(|w| w.parse().ok());
        value.ok_or_else(|| self.error(format!("the value is no integer of 64 bits: `{}`", show(word))))
    }

    fn real(&mut self) -> Result<f64> {
        let word = self.word("the value")?;
        let value: Option<f64> = std::str::from_utf8(word).ok().and_then(|w| w.parse().ok());
        match value {
            Some(v) if v.is_infinite() && word.iter().any(u8::is_ascii_digit) => {
                Err(self.error(format!("the value is outside the range of a double: `{}`", show(word))))
            }
            Some(v) => Ok(v),
            None => Err(self.error(format!("the value is no number: `{}`", show(word)))),
        }
    }
}

/// A number of digits only.
fn digits(word: &[u8]) -> Option<u64> {
    word.iter().try_fold(0u64, |n, b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}
