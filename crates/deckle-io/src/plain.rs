//! Plain text: `.txt`, and files with an unknown extension.
//!
//! | type | contents |
//! |---|---|
//! | `[u8]` | the bytes of the file |
//! | `[[u8]]` | its lines, without line ends; with the part `words` (`FILE.txt:words`) its words, separated by blanks |
//! | any other | the value as written on the command line (`.txt` only) |
//!
//! A line ends with a line feed, with or without a carriage return before it; the last one need not. Sequences are read like vectors.

use crate::format::Format;
use crate::text::{self, bytes_value, collection, is_text, type_name};
use crate::{Error, Kind, Result, contents};
use deckle_ir::types::Type;
use deckle_ir::value::Value;

/// Whether it is a vector or sequence of texts.
pub fn is_lines(ty: &Type) -> bool {
    ty.elem().is_some_and(is_text)
}

/// Whether a type is read from the text itself, and not from a value written in it.
pub fn is_plain(ty: &Type) -> bool {
    is_text(ty) || is_lines(ty)
}

/// A value of a type from the contents of a file; `part` is `lines` or `words`.
///
/// # Errors
/// If there is no such part, or the text is no value of the type.
pub fn read_bytes(bytes: &[u8], ty: &Type, part: Option<&str>) -> Result<Value> {
    let texts = |texts: &mut dyn Iterator<Item = &[u8]>| {
        let elem = ty.elem().unwrap_or(ty);
        Ok(collection(texts.map(|t| bytes_value(t, elem)).collect(), ty))
    };
    match part {
        Some("words") if is_lines(ty) => {
            texts(&mut bytes.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()))
        }
        Some("lines") | None if is_lines(ty) => texts(&mut lines(bytes)),
        None if is_text(ty) => Ok(bytes_value(bytes, ty)),
        None => written(bytes, ty),
        Some(part @ ("words" | "lines")) => {
            Err(Error::misfit(format!("the {part} of a text are no `{}`", type_name(ty))).help("they are `[[u8]]`"))
        }
        Some(part) => Err(Error::misfit(format!("a text has no `{part}`")).help("it has `lines` and `words`")),
    }
}

fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let none = bytes.is_empty();
    whole.split(|b| *b == b'\n').filter(move |_| !none).map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn written(bytes: &[u8], ty: &Type) -> Result<Value> {
    let text = std::str::from_utf8(bytes).map_err(|e| Error::at(e.valid_up_to(), "it is not UTF-8 text"))?;
    text::parse(text, ty).map_err(|wrong| {
        let before = text.get(..wrong.range.0).unwrap_or(text);
        let line = before.matches('\n').count() as u64 + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        let message = format!("this is no value of type `{}`: {}", type_name(ty), wrong.message);
        Error { kind: Kind::Misfit, help: wrong.help, ..Error::at_column(line, column, message) }
    })
}

/// The contents of a file: the bytes of a text, the lines of texts, any other value as printed.
///
/// # Errors
/// If a text among several contains a line end.
pub fn write_bytes(ty: &Type, value: &Value) -> Result<Vec<u8>> {
    contents::bytes(Format::Txt, ty, value)
}

/// Whether a text can be written as a line.
pub(crate) fn check_line(line: &[u8], i: usize) -> Result<()> {
    if memchr::memchr(b'\n', line).is_none() && !line.ends_with(b"\r") {
        return Ok(());
    }
    let message = format!("the texts are written as lines, and text {i} holds a line end");
    Err(Error::new(message).help("write .csv or .json, which keep them apart"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::Item;
    use crate::testing::{byte, int, text, vector};
    use crate::tree;

    fn texts() -> Type {
        vector(vector(byte()))
    }

    fn split(bytes: &[u8], part: Option<&str>) -> Vec<String> {
        let value = read_bytes(bytes, &texts(), part).unwrap();
        let data = tree::single(&texts(), &value).unwrap();
        let items = Item { data: &data, at: 0 }.iter();
        items.map(|text| String::from_utf8(text.bytes().unwrap().to_vec()).unwrap()).collect()
    }

    #[test]
    fn lines_end_in_every_way() {
        assert_eq!(split(b"a b\r\n\nc", None), ["a b", "", "c"]);
        assert_eq!(split(b"a\n", None), ["a"]);
        assert_eq!(split(b"\n", None), [""]);
        assert_eq!(split(b"", None), [""; 0]);
        assert_eq!(split(b" a  b\r\n\tc\n", Some("words")), ["a", "b", "c"]);
        let words = Type::seq(vector(byte()));
        assert_eq!(read_bytes(b"a b", &words, Some("words")).unwrap(), Value::seq(vec![text("a"), text("b")]));
    }

    #[test]
    fn values_are_read_as_they_are_written() {
        let rows = vector(vector(int()));
        let e = read_bytes(b"[[1, 2],\n [x]]", &rows, None).unwrap_err();
        assert_eq!(e.to_string(), "line 2, column 3: this is no value of type `[[int]]`: `x` is not of type `int`");
        let value = read_bytes(b"[[1, 2],\n [3]]\n", &rows, None).unwrap();
        assert_eq!(read_bytes(&write_bytes(&rows, &value).unwrap(), &rows, None).unwrap(), value);
        assert_eq!(read_bytes(b"[\xFF]", &rows, None).unwrap_err().offset, Some(1));
    }

    #[test]
    fn lines_are_written_unless_they_hold_line_ends() {
        let value = Value::array(vec![text("a b"), text(""), text("c")]);
        let bytes = write_bytes(&texts(), &value).unwrap();
        assert_eq!(bytes, b"a b\n\nc\n");
        assert_eq!(read_bytes(&bytes, &texts(), None).unwrap(), value);
        assert!(write_bytes(&texts(), &Value::array(vec![text("a\nb")])).is_err());
        assert_eq!(write_bytes(&vector(byte()), &text("a\nb")).unwrap(), b"a\nb");
    }

    #[test]
    fn parts_that_are_not_there_are_refused() {
        assert!(read_bytes(b"1", &int(), Some("words")).is_err());
        assert!(read_bytes(b"1", &texts(), Some("verses")).is_err());
    }
}
