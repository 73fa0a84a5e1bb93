//! The fields of a text, line after line.

use crate::{Error, Result};
use std::borrow::Cow;

/// A field as it was written.
#[derive(Debug, PartialEq)]
pub(crate) struct Field<'a> {
    pub text: Cow<'a, [u8]>,
    pub quoted: bool,
}

/// The byte order mark, with which a UTF-8 text may begin.
pub(crate) const MARK: &[u8] = b"\xEF\xBB\xBF";

/// The lines of a table.
pub(crate) struct Lines<'a> {
    pub rest: &'a [u8],
    separator: u8,
    /// The line of the next byte, from 1.
    pub line: u64,
    /// Whether the text has ended within quotes.
    pub is_open: bool,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a [u8], separator: u8) -> Self {
        Lines::from(1, text.strip_prefix(MARK).unwrap_or(text), separator)
    }

    /// The lines of a part of a text, which begins with this line number.
    pub(crate) fn from(line: u64, text: &'a [u8], separator: u8) -> Self {
        Lines { rest: text, separator, line, is_open: false }
    }

    /// Reads the next line that is not empty into `fields`, and returns its number.
    pub(crate) fn next(&mut self, fields: &mut Vec<Field<'a>>) -> Result<Option<u64>> {
        fields.clear();
        while self.end_of_line() {}
        if self.rest.is_empty() {
            return Ok(None);
        }
        let line = self.line;
        loop {
            let column = fields.len() + 1;
            let field = if self.rest.first() == Some(&b'"') { self.quoted(column)? } else { self.plain() };
            fields.push(field);
            match self.rest {
                [c, rest @ ..] if *c == self.separator => self.rest = rest,
                _ => {
                    self.end_of_line();
                    return Ok(Some(line));
                }
            }
        }
    }

    fn end_of_line(&mut self) -> bool {
        let rest = self.rest.strip_prefix(b"\r\n").or_else(|| self.rest.strip_prefix(b"\n"));
        if let Some(rest) = rest {
            (self.rest, self.line) = (rest, self.line + 1);
        }
        rest.is_some()
    }

    fn plain(&mut self) -> Field<'a> {
        let is_end = |b: &u8| *b == self.separator || *b == b'\n';
        let len = self.rest.iter().position(is_end).unwrap_or(self.rest.len());
        let (mut text, mut rest) = self.rest.split_at(len);
        if rest.first() == Some(&b'\n') && text.last() == Some(&b'\r') {
            (text, rest) = self.rest.split_at(len - 1);
        }
        self.rest = rest;
        Field { text: Cow::Borrowed(text), quoted: false }
    }

    /// A field that begins with a quote.
    fn quoted(&mut self, column: usize) -> Result<Field<'a>> {
        let (line, mut text) = (self.line, Cow::Borrowed(&[][..]));
        self.rest = &self.rest[1..];
        loop {
            let Some(len) = memchr::memchr(b'"', self.rest) else {
                self.is_open = true;
                return Err(Error::at_column(line, column, "a quote is opened here and never closed"));
            };
            let (part, rest) = self.rest.split_at(len);
            self.line += part.iter().filter(|b| **b == b'\n').count() as u64;
            if text.is_empty() {
                text = Cow::Borrowed(part);
            } else {
                text.to_mut().extend_from_slice(part);
            }
            self.rest = &rest[1..];
            match self.rest {
                [b'"', rest @ ..] => {
                    text.to_mut().push(b'"');
                    self.rest = rest;
                }
                [] | [b'\n', ..] | [b'\r', b'\n', ..] => break,
                [c, ..] if *c == self.separator => break,
                _ => {
                    let help = "write a quote inside quotes twice: \"\"";
                    return Err(
                        Error::at_column(self.line, column, "the field goes on after its closing quote").help(help)
                    );
                }
            }
        }
        Ok(Field { text, quoted: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Result<Vec<(u64, Vec<String>)>> {
        let (mut lines, mut fields, mut all) = (Lines::new(text.as_bytes(), b','), Vec::new(), Vec::new());
        while let Some(line) = lines.next(&mut fields)? {
            all.push((line, fields.iter().map(|f| String::from_utf8_lossy(&f.text).into_owned()).collect()));
        }
        Ok(all)
    }

    #[track_caller]
    fn reads(text: &str, expected: &[(u64, &[&str])]) {
        let expected: Vec<(u64, Vec<String>)> =
            expected.iter().map(|(n, f)| (*n, f.iter().map(|s| s.to_string()).collect())).collect();
        assert_eq!(lines(text).unwrap(), expected);
    }

    #[test]
    fn lines_end_in_every_way() {
        reads("a,b\r\nc,\n\n,d", &[(1, &["a", "b"]), (2, &["c", ""]), (4, &["", "d"])]);
        reads("\u{FEFF}a\n", &[(1, &["a"])]);
        reads("\n\n", &[]);
        reads("", &[]);
        reads(",\n", &[(1, &["", ""])]);
    }

    #[test]
    fn quotes_hold_anything() {
        reads(
            "\"a,b\",\"say \"\"hi\"\"\"\n\"two\nlines\",x\ny,\"\"\n",
            &[(1, &["a,b", "say \"hi\""]), (2, &["two\nlines", "x"]), (4, &["y", ""])],
        );
        reads("\"\"\"\"\"\"\r\n", &[(1, &["\"\""])]);
        reads("a\"b,c\n", &[(1, &["a\"b", "c"])]);
    }

    #[test]
    fn bad_quotes_are_named() {
        let open = lines("a,b\nc,\"d\n").unwrap_err();
        assert_eq!((open.line, open.column), (Some(2), Some(2)));
        let more = lines("\"a\"b\n").unwrap_err();
        assert_eq!((more.line, more.column), (Some(1), Some(1)));
    }
}
