//! Numbers, characters and strings.

use deckle_diag::{Code, Diagnostic};

use super::{Lexer, StrId, Tok};
use crate::ast::ScalarSuffix;

impl Lexer<'_> {
    fn bad_literal(&mut self, lo: usize, hi: usize, message: impl Into<String>, help: &str) {
        let diagnostic = Diagnostic::new(Code::BadLiteral, message, self.span(lo, hi), "");
        self.report(if help.is_empty() { diagnostic } else { diagnostic.help(help) });
    }

    pub(super) fn number(&mut self) {
        let lo = self.pos;
        if self.last() == Some(Tok::Dot) {
            // In `t.0.1` the second component is no fraction.
            self.skip_digits();
            return self.integer(lo, lo, 10, None);
        }
        let radix = match (self.byte(0), self.byte(1)) {
            (b'0', b'x' | b'X') => 16,
            (b'0', b'o' | b'O') => 8,
            (b'0', b'b' | b'B') => 2,
            _ => return self.decimal(),
        };
        self.pos += 2;
        let digits = self.pos;
        while self.byte(0) == b'_' || (self.byte(0) as char).is_digit(radix) {
            self.pos += 1;
        }
        let end = self.pos;
        let suffix = self.suffix(lo);
        if self.text[digits..end].bytes().all(|b| b == b'_') {
            self.bad_literal(lo, self.pos, format!("`{}` has no digits", &self.text[lo..end]), "");
            return self.push(Tok::Int { value: 0, suffix: None }, lo);
        }
        if suffix.is_some_and(ScalarSuffix::is_float) {
            self.bad_literal(lo, self.pos, "a floating-point number is written in decimal", "");
        }
        self.integer_digits(lo, digits, end, radix, suffix.filter(|s| !s.is_float()));
    }

    fn decimal(&mut self) {
        let lo = self.pos;
        self.skip_digits();
        let mut float = false;
        if self.byte(0) == b'.' && self.byte(1).is_ascii_digit() {
            self.pos += 1;
            self.skip_digits();
            float = true;
        } else if self.byte(0) == b'.' && !matches!(self.byte(1), b'.' | b'_' | b'a'..=b'z' | b'A'..=b'Z') {
            self.pos += 1;
            let help = format!("write `{}0`", &self.text[lo..self.pos]);
            self.bad_literal(lo, self.pos, "a number with a point needs a digit after it", &help);
            float = true;
        }
        float |= self.exponent(lo);
        let end = self.pos;
        let suffix = self.suffix(lo);
        match suffix {
            Some(suffix) if float && !suffix.is_float() => {
                let message = format!("a number with a fraction or exponent cannot be an `{}`", suffix.text());
                self.bad_literal(lo, self.pos, message, "leave out the fraction, or write `f32` or `f64` after it");
                self.push(Tok::Float { suffix: None }, lo);
            }
            _ if float || suffix.is_some_and(ScalarSuffix::is_float) => self.float(lo, end, suffix),
            _ => self.integer(lo, lo, 10, suffix),
        }
    }

    fn skip_digits(&mut self) {
        while matches!(self.byte(0), b'0'..=b'9' | b'_') {
            self.pos += 1;
        }
    }

    /// Reads `e-3`, if present.
    fn exponent(&mut self, lo: usize) -> bool {
        if !matches!(self.byte(0), b'e' | b'E') {
            return false;
        }
        let sign = usize::from(matches!(self.byte(1), b'+' | b'-'));
        if self.byte(1 + sign).is_ascii_digit() {
            self.pos += 1 + sign;
            self.skip_digits();
            return true;
        }
        // `1else` and `2em` are a number with a bad suffix; `1e`, `1e+` are a number without its exponent.
        if sign == 0 && self.byte(1).is_ascii_alphabetic() {
            return false;
        }
        self.pos += 1 + sign;
        self.bad_literal(lo, self.pos, "the exponent of this number has no digits", "");
        true
    }

    /// Reads the type after a number.
    fn suffix(&mut self, lo: usize) -> Option<ScalarSuffix> {
        let start = self.pos;
        self.skip_word();
        let text = &self.text[start..self.pos];
        if text.is_empty() {
            return None;
        }
        let found = ScalarSuffix::ALL.into_iter().find(|s| s.text() == text);
        if found.is_none() {
            let message = format!("`{}` is neither a number nor a name", &self.text[lo..self.pos]);
            let help = "only a type may follow a number: i8, i16, i32, i64, u8, u16, u32, u64, f32 or f64";
            self.bad_literal(lo, self.pos, message, help);
        }
        found
    }

    fn integer(&mut self, lo: usize, digits: usize, radix: u32, suffix: Option<ScalarSuffix>) {
        let len = self.text[digits..self.pos].bytes().take_while(|b| b.is_ascii_digit() || *b == b'_').count();
        self.integer_digits(lo, digits, digits + len, radix, suffix);
    }

    fn integer_digits(&mut self, lo: usize, digits: usize, end: usize, radix: u32, suffix: Option<ScalarSuffix>) {
        let limit = largest_magnitude(suffix);
        let value = self.text[digits..end]
            .chars()
            .filter_map(|c| c.to_digit(radix))
            .try_fold(0u64, |v, d| v.checked_mul(radix.into())?.checked_add(d.into()))
            .filter(|v| *v <= limit);
        if value.is_none() {
            let message = match suffix {
                Some(suffix) => format!("this number is too large for `{}`", suffix.text()),
                None => "this number is too large for any integer type".to_owned(),
            };
            self.bad_literal(lo, self.pos, message, "");
        }
        self.push(Tok::Int { value: value.unwrap_or(0), suffix }, lo);
    }

    fn float(&mut self, lo: usize, end: usize, suffix: Option<ScalarSuffix>) {
        let digits = float_digits(&self.text[lo..end]);
        let too_large = match suffix {
            Some(ScalarSuffix::F32) => digits.parse().is_ok_and(f32::is_infinite),
            _ => digits.parse().is_ok_and(f64::is_infinite),
        };
        if too_large {
            let name = suffix.unwrap_or(ScalarSuffix::F64).text();
            self.bad_literal(lo, self.pos, format!("this number is too large for `{name}`"), "");
        }
        self.push(Tok::Float { suffix }, lo);
    }

    /// Whether `.5` follows here, where no `.` of a field or component can.
    pub(super) fn at_bare_fraction(&self) -> bool {
        self.byte(1).is_ascii_digit() && !self.last().is_some_and(Tok::ends_expr)
    }

    pub(super) fn bare_fraction(&mut self) {
        let lo = self.pos;
        self.pos += 1;
        self.skip_digits();
        self.exponent(lo);
        let help = format!("write `0{}`", &self.text[lo..self.pos]);
        self.bad_literal(lo, self.pos, "a number needs a digit before its point", &help);
        let suffix = self.suffix(lo).filter(|s| s.is_float());
        self.push(Tok::Float { suffix }, lo);
    }

    pub(super) fn string(&mut self) {
        let lo = self.pos;
        self.pos += 1;
        let mut bytes = Vec::new();
        loop {
            match self.peek() {
                Some('"') => {
                    self.pos += 1;
                    break;
                }
                None | Some('\n' | '\r') => {
                    let span = self.span(lo, lo + 1);
                    self.report(
                        Diagnostic::new(Code::Unclosed, "this string is never closed", span, "it starts here")
                            .note("a string ends on the line on which it starts; `\\n` stands for a new line"),
                    );
                    break;
                }
                Some('\\') => self.escape(&mut bytes),
                Some(c) => {
                    self.pos += c.len_utf8();
                    bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        let id = StrId(self.out.strings.len() as u32);
        self.out.strings.push(bytes);
        self.push(Tok::Str(id), lo);
    }

    pub(super) fn char(&mut self) {
        let lo = self.pos;
        self.pos += 1;
        let mut bytes = Vec::new();
        if !self.char_is_closed() {
            let help = "a character is written `'a'`, a string `\"abc\"`";
            self.bad_literal(lo, self.pos, "this quote starts no character", help);
            return self.push(Tok::Bad, lo);
        }
        while let Some(c) = self.peek().filter(|c| *c != '\'' && *c != '\n') {
            if c == '\\' {
                self.escape(&mut bytes);
            } else {
                self.pos += c.len_utf8();
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
        self.pos += usize::from(self.byte(0) == b'\'');
        match bytes[..] {
            [byte] => return self.push(Tok::Char(byte), lo),
            [] => self.bad_literal(lo, self.pos, "there is no character between these quotes", "a quote is `'\\''`"),
            _ if self.text[lo..self.pos].chars().count() == 3 => {
                let message = "this character is more than one byte long";
                self.bad_literal(lo, self.pos, message, "a character is a `u8`; a string holds any text");
            }
            _ => {
                let help = "a string stands between double quotes: `\"`";
                self.bad_literal(lo, self.pos, "single quotes hold one character", help);
            }
        }
        self.push(Tok::Char(bytes.first().copied().unwrap_or(b'?')), lo);
    }

    /// Whether a closing quote follows on this line, not too far away.
    fn char_is_closed(&self) -> bool {
        let mut escaped = false;
        for byte in self.rest().bytes().take(200) {
            match byte {
                b'\n' => return false,
                b'\'' if !escaped => return true,
                _ => escaped = byte == b'\\' && !escaped,
            }
        }
        false
    }

    /// Reads an escape sequence.
    fn escape(&mut self, bytes: &mut Vec<u8>) {
        let lo = self.pos;
        self.pos += 1;
        let Some(c) = self.peek().filter(|c| *c != '\n') else { return };
        self.pos += c.len_utf8();
        match c {
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            '0' => bytes.push(0),
            '\\' | '\'' | '"' => bytes.push(c as u8),
            'x' => match self.rest().get(..2).and_then(hex) {
                Some(value) => {
                    self.pos += 2;
                    bytes.push(value as u8);
                }
                None => self.bad_literal(lo, self.pos, "`\\x` needs two hexadecimal digits", "as in `\\x41`"),
            },
            'u' => match self.unicode() {
                Some(c) => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
                None => {
                    self.bad_literal(lo, self.pos, "`\\u` needs the number of a character", "as in `\\u{e9}`");
                }
            },
            _ => {
                let help = "write `\\\\` for a backslash; the others are \\n \\r \\t \\0 \\' \\\" \\x41 \\u{e9}";
                self.bad_literal(lo, self.pos, format!("`\\{c}` stands for nothing"), help);
            }
        }
    }

    fn unicode(&mut self) -> Option<char> {
        let inner = self.rest().strip_prefix('{')?;
        let len = inner.bytes().take(8).position(|b| b == b'}')?;
        let c = hex(&inner[..len]).and_then(char::from_u32)?;
        self.pos += len + 2;
        Some(c)
    }
}

fn hex(digits: &str) -> Option<u32> {
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u32::from_str_radix(digits, 16).ok()
}

/// The digits, point and exponent at the start of a floating-point literal, without `_` and suffix.
pub(crate) fn float_digits(literal: &str) -> String {
    let end = literal.find(['f', 'i', 'u']).unwrap_or(literal.len());
    literal[..end].chars().filter(|c| *c != '_').collect()
}

/// The largest number that may be written with a suffix. For `i8` it is 128, to allow `-128i8`.
fn largest_magnitude(suffix: Option<ScalarSuffix>) -> u64 {
    match suffix {
        Some(ScalarSuffix::I8) => 1 << 7,
        Some(ScalarSuffix::I16) => 1 << 15,
        Some(ScalarSuffix::I32) => 1 << 31,
        Some(ScalarSuffix::I64) => 1 << 63,
        Some(ScalarSuffix::U8) => u8::MAX.into(),
        Some(ScalarSuffix::U16) => u16::MAX.into(),
        Some(ScalarSuffix::U32) => u32::MAX.into(),
        _ => u64::MAX,
    }
}

#[cfg(test)]
mod tests {
    use deckle_diag::FileId;

    use super::super::lex;
    use super::*;

    fn one(text: &str) -> Tok {
        let lexed = lex(FileId(0), text);
        let reports = lexed.reports.finish();
        assert!(reports.is_empty(), "{reports:?}");
        assert_eq!(lexed.tokens.len(), 2, "{:?}", lexed.tokens);
        lexed.tokens[0].tok
    }

    fn complaint(text: &str) -> String {
        let reports = lex(FileId(0), text).reports.finish();
        assert_eq!(reports.len(), 1, "{reports:?}");
        reports[0].message.clone()
    }

    fn int(value: u64) -> Tok {
        Tok::Int { value, suffix: None }
    }

    #[test]
    fn integers_have_bases_separators_and_suffixes() {
        assert_eq!(one("1_000"), int(1000));
        assert_eq!(one("0xFF_ff"), int(0xffff));
        assert_eq!(one("0b1010"), int(10));
        assert_eq!(one("0o17"), int(15));
        assert_eq!(one("18446744073709551615"), int(u64::MAX));
        assert_eq!(one("0xffu8"), Tok::Int { value: 255, suffix: Some(ScalarSuffix::U8) });
        assert_eq!(one("128i8"), Tok::Int { value: 128, suffix: Some(ScalarSuffix::I8) });
    }

    #[test]
    fn floats_have_fraction_exponent_or_suffix() {
        assert_eq!(one("1.5"), Tok::Float { suffix: None });
        assert_eq!(one("1e-3"), Tok::Float { suffix: None });
        assert_eq!(one("1f32"), Tok::Float { suffix: Some(ScalarSuffix::F32) });
        assert_eq!(one("1.5e3f64"), Tok::Float { suffix: Some(ScalarSuffix::F64) });
        assert_eq!(float_digits("1_0.5e-3f32"), "10.5e-3");
    }

    #[test]
    fn dots_after_a_number_may_be_a_range_or_components() {
        let toks = |text| lex(FileId(0), text).tokens.iter().map(|t| t.tok).collect::<Vec<_>>();
        assert_eq!(toks("1..n"), [int(1), Tok::DotDot, Tok::Ident, Tok::Eof]);
        assert_eq!(toks("1.5..2"), [Tok::Float { suffix: None }, Tok::DotDot, int(2), Tok::Eof]);
        assert_eq!(toks("t.0.1"), [Tok::Ident, Tok::Dot, int(0), Tok::Dot, int(1), Tok::Eof]);
    }

    #[test]
    fn malformed_numbers_are_explained() {
        assert_eq!(complaint("300u8"), "this number is too large for `u8`");
        assert_eq!(complaint("18446744073709551616"), "this number is too large for any integer type");
        assert_eq!(complaint("1e999"), "this number is too large for `f64`");
        assert_eq!(complaint("1e39f32"), "this number is too large for `f32`");
        assert_eq!(complaint("0x"), "`0x` has no digits");
        assert_eq!(complaint("0b12"), "`0b12` is neither a number nor a name");
        assert_eq!(complaint("2x"), "`2x` is neither a number nor a name");
        assert_eq!(complaint("1e+"), "the exponent of this number has no digits");
        assert_eq!(complaint("1.5i32"), "a number with a fraction or exponent cannot be an `i32`");
        assert_eq!(complaint("1. "), "a number with a point needs a digit after it");
        assert_eq!(complaint("x + .5"), "a number needs a digit before its point");
    }

    #[test]
    fn strings_are_bytes() {
        let lexed = lex(FileId(0), r#""aé\n\x41\u{e9}\"\\""#);
        assert_eq!(lexed.strings[0], "aé\nAé\"\\".as_bytes());
        assert!(lexed.reports.finish().is_empty());
    }

    #[test]
    fn characters_are_bytes() {
        assert_eq!(one("'a'"), Tok::Char(b'a'));
        assert_eq!(one(r"'\n'"), Tok::Char(b'\n'));
        assert_eq!(one(r"'\x41'"), Tok::Char(b'A'));
        assert_eq!(one(r"'\''"), Tok::Char(b'\''));
    }

    #[test]
    fn malformed_text_is_explained() {
        assert_eq!(complaint("\"abc\nx"), "this string is never closed");
        assert_eq!(complaint(r#""a\qb""#), r"`\q` stands for nothing");
        assert_eq!(complaint(r#""\x4""#), "`\\x` needs two hexadecimal digits");
        assert_eq!(complaint(r#""\u{110000}""#), "`\\u` needs the number of a character");
        assert_eq!(complaint("'ab'"), "single quotes hold one character");
        assert_eq!(complaint("'é'"), "this character is more than one byte long");
        assert_eq!(complaint("''"), "there is no character between these quotes");
        assert_eq!(complaint("'"), "this quote starts no character");
    }
}
