//! The header of a `.npy` file: a Python dictionary, parsed only in the form that NumPy writes.

use super::MAX_DIMS;
use crate::{Error, Result};
use deckle_ir::scalar::ScalarType;

/// The first bytes of every file.
pub(crate) const MAGIC: &[u8] = b"\x93NUMPY";

/// The contents of a header.
#[derive(Debug)]
pub(crate) struct Header {
    pub elem: ScalarType,
    pub big_endian: bool,
    pub fortran: bool,
    pub dims: Vec<usize>,
    /// The position of the shape.
    pub shape_at: usize,
    /// The first byte of the elements.
    pub data: usize,
}

pub(crate) fn parse(bytes: &[u8]) -> Result<Header> {
    let same = bytes.iter().zip(MAGIC).take_while(|(a, b)| a == b).count();
    if same < MAGIC.len().min(bytes.len()) || bytes.is_empty() {
        return Err(Error::at(same, "this is no .npy file: it does not begin with `\\x93NUMPY`"));
    }
    let take = |at: usize, len: usize, what: &str| {
        let end = at.checked_add(len).filter(|end| *end <= bytes.len());
        end.map(|end| &bytes[at..end]).ok_or_else(|| {
            let have = bytes.len() - at.min(bytes.len());
            Error::at(bytes.len(), format!("the file ends within its {what}, of which {have} of {len} bytes are there"))
        })
    };
    take(0, MAGIC.len(), "magic")?;
    let version = take(6, 2, "version")?;
    let (len, start) = match version {
        [1, 0] => (take(8, 2, "header length")?.iter().rev().fold(0, |n, b| n << 8 | *b as usize), 10),
        [2 | 3, 0] => (take(8, 4, "header length")?.iter().rev().fold(0, |n, b| n << 8 | *b as usize), 12),
        [major, minor] => {
            return Err(Error::at(6, format!("version {major}.{minor} of the format is not known")));
        }
        _ => return Err(Error::at(6, "no version")),
    };
    let text = take(start, len, "header")?;
    let mut scan = Scan { text, at: 0, base: start };
    let mut header = scan.dictionary()?;
    header.data = start + len;
    Ok(header)
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// The position of the text in the file.
    base: usize,
}

impl<'a> Scan<'a> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Error::at(self.base + self.at, message))
    }

    fn skip_blanks(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.skip_blanks();
        let found = self.text.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<()> {
        if self.eat(byte) {
            Ok(())
        } else {
            self.error(format!("the header is damaged: `{}` is missing", byte as char))
        }
    }

    fn dictionary(&mut self) -> Result<Header> {
        let (mut elem, mut fortran, mut dims) = (None, None, None);
        let mut shape_at = 0;
        self.expect(b'{')?;
        while !self.eat(b'}') {
            self.skip_blanks();
            let at = self.at;
            let key = self.string()?;
            self.expect(b':')?;
            self.skip_blanks();
            let again = match key {
                "descr" => elem.replace(self.descr()?).is_some(),
                "fortran_order" => fortran.replace(self.boolean()?).is_some(),
                "shape" => {
                    shape_at = self.base + self.at;
                    dims.replace(self.shape()?).is_some()
                }
                _ => {
                    self.at = at;
                    return self.error(format!("the header has the key `{}`, which has no meaning", show(key)));
                }
            };
            if again {
                self.at = at;
                return self.error(format!("the header has the key `{key}` twice"));
            }
            if !self.eat(b',') {
                self.expect(b'}')?;
                break;
            }
        }
        self.skip_blanks();
        if self.at < self.text.len() {
            return self.error("the header goes on after its closing brace");
        }
        let missing = |key: &str| Error::at(self.base, format!("the header has no `{key}`"));
        let (elem, big_endian) = elem.ok_or_else(|| missing("descr"))?;
        let fortran = fortran.ok_or_else(|| missing("fortran_order"))?;
        let dims = dims.ok_or_else(|| missing("shape"))?;
        Ok(Header { elem, big_endian, fortran, dims, shape_at, data: 0 })
    }

    fn string(&mut self) -> Result<&'a str> {
        let quote = match self.text.get(self.at) {
            Some(q @ (b'\'' | b'"')) => *q,
            _ => return self.error("the header is damaged: a quoted word is missing"),
        };
        let rest = &self.text[self.at + 1..];
        let Some(len) = rest.iter().position(|b| *b == quote) else {
            return self.error("the header is damaged: a quote is not closed");
        };
        match std::str::from_utf8(&rest[..len]) {
            Ok(word) => {
                self.at += len + 2;
                Ok(word)
            }
            Err(_) => self.error("the header is damaged: a word is not UTF-8"),
        }
    }

    fn boolean(&mut self) -> Result<bool> {
        for (word, value) in [("True", true), ("False", false)] {
            if self.text[self.at..].starts_with(word.as_bytes()) {
                self.at += word.len();
                return Ok(value);
            }
        }
        self.error("the header is damaged: `True` or `False` is missing")
    }

    fn shape(&mut self) -> Result<Vec<usize>> {
        let mut dims = Vec::new();
        self.expect(b'(')?;
        while !self.eat(b')') {
            if dims.len() == MAX_DIMS {
                return self.error(format!("the shape has more than {MAX_DIMS} dimensions"));
            }
            dims.push(self.number()?);
            // Python 2 wrote long integers as `3L`.
            if self.text.get(self.at) == Some(&b'L') {
                self.at += 1;
            }
            if !self.eat(b',') {
                self.expect(b')')?;
                break;
            }
        }
        Ok(dims)
    }

    fn number(&mut self) -> Result<usize> {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        if rest.first() == Some(&b'-') {
            return self.error("the shape has a negative size");
        }
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        if digits == 0 {
            return self.error("the header is damaged: a size of the shape is missing");
        }
        let number = std::str::from_utf8(&rest[..digits]).ok().and_then(|d| d.parse::<u64>().ok());
        // Sizes are `i64` in the language.
        match number.and_then(|n| i64::try_from(n).ok()).and_then(|n| usize::try_from(n).ok()) {
            Some(n) => {
                self.at += digits;
                Ok(n)
            }
            None => self.error("the shape has a size that is too large to exist"),
        }
    }

    /// The type of the elements, and whether they are big endian.
    fn descr(&mut self) -> Result<(ScalarType, bool)> {
        let at = self.at;
        if self.text.get(at) == Some(&b'[') {
            let help = "save each field in a file of its own: np.save('x.npy', a['x'])";
            return self.error("the elements are records (a structured dtype)").map_err(|e: Error| e.help(help));
        }
        let descr = self.string()?;
        let (order, code) = match descr.split_at_checked(1) {
            Some((order @ ("<" | ">" | "=" | "|"), code)) => (order, code),
            _ => ("=", descr),
        };
        let big_endian = order == ">" || (order == "=" && cfg!(target_endian = "big"));
        let elem = ScalarType::ALL.into_iter().find(|t| dtype_code(*t) == code);
        match elem {
            Some(elem) => Ok((elem, big_endian)),
            None => {
                self.at = at;
                let (what, help) = refusal(code);
                let error = Error::at(self.base + at, format!("the elements are {what} (dtype `{}`)", show(descr)));
                Err(if help.is_empty() { error } else { error.help(help) })
            }
        }
    }
}

/// The dtype of a scalar type, without its byte order.
pub(super) fn dtype_code(ty: ScalarType) -> &'static str {
    use ScalarType as T;
    match ty {
        T::Bool => "b1",
        T::I8 => "i1",
        T::I16 => "i2",
        T::I32 => "i4",
        T::I64 => "i8",
        T::U8 => "u1",
        T::U16 => "u2",
        T::U32 => "u4",
        T::U64 => "u8",
        T::F32 => "f4",
        T::F64 => "f8",
    }
}

/// A description of an unknown dtype, and a remedy.
fn refusal(code: &str) -> (&'static str, &'static str) {
    match code.as_bytes() {
        b"f2" => ("half-precision floats, which Deckle does not have", "save them as np.save(f, a.astype('float32'))"),
        [b'f', ..] => {
            ("extended-precision floats, which Deckle does not have", "save them as np.save(f, a.astype('float64'))")
        }
        [b'c', ..] => ("complex numbers, which Deckle does not have", "save a.real and a.imag in two files"),
        [b'O', ..] => ("Python objects, which are never unpickled", "save numbers: np.save(f, a.astype('float64'))"),
        [b'S' | b'U' | b'a', ..] => ("text", "save the bytes: np.save(f, np.frombuffer(s, 'uint8'))"),
        [b'M' | b'm', ..] => ("times", "save them as np.save(f, a.astype('int64'))"),
        [b'V', ..] => ("raw records", "save each field in a file of its own: np.save('x.npy', a['x'])"),
        _ => ("of no known type", ""),
    }
}

/// A prefix of a word of the header, without characters that disturb a terminal.
fn show(word: &str) -> String {
    word.chars().take(24).map(|c| if c.is_control() { '?' } else { c }).collect()
}
