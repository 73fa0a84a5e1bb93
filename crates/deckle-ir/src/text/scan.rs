//! A cursor over the text of an IR: blanks and comments, names, numbers, and places in messages.

use std::fmt;

/// Why a text could not be read, and where; line and column (in characters) count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
    /// The error there.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// The result of reading.
pub(crate) type Read<T> = Result<T, ParseError>;

/// The maximal nesting depth of types, sizes, values and bodies together: bounds the stack that reading needs.
const DEEPEST: u32 = 200;

/// A place in a text. Every method that reads skips blanks and `//` comments first.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: u32,
    /// For each binder around the place, whether the text names its position.
    pub(crate) binders: Vec<bool>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Cursor { text, at: 0, depth: 0, binders: Vec::new() }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// The place of the next token.
    pub(crate) fn here(&mut self) -> usize {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            if !self.rest().starts_with("//") {
                return self.at;
            }
            self.at += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    /// Goes back to a place.
    pub(crate) fn rewind(&mut self, place: usize) {
        self.at = place;
    }

    /// An error at a place.
    pub(crate) fn error_at<T>(&self, place: usize, message: impl Into<String>) -> Read<T> {
        let before = &self.text[..place.min(self.text.len())];
        let line_start = before.rfind('\n').map_or(0, |i| i + 1);
        let line = before.matches('\n').count() + 1;
        Err(ParseError { line, column: before[line_start..].chars().count() + 1, message: message.into() })
    }

    /// An error at the next token, which is not the expected one.
    pub(crate) fn expected<T>(&mut self, what: &str) -> Read<T> {
        let place = self.here();
        let found = match self.rest().chars().next() {
            None => "the end of the text".to_string(),
            Some(c) if is_word(c) => format!("`{}`", self.rest().split(|c| !is_word(c)).next().unwrap_or("")),
            Some(c) => format!("`{}`", c.escape_debug()),
        };
        self.error_at(place, format!("expected {what}, found {found}"))
    }

    pub(crate) fn at_end(&mut self) -> bool {
        self.here() == self.text.len()
    }

    /// Whether this token comes next.
    pub(crate) fn sees(&mut self, token: &str) -> bool {
        self.here();
        self.rest().starts_with(token)
    }

    /// Skips this token if it comes next.
    pub(crate) fn eat(&mut self, token: &str) -> bool {
        let found = self.sees(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub(crate) fn expect(&mut self, token: &str) -> Read<()> {
        if self.eat(token) { Ok(()) } else { self.expected(&format!("`{token}`")) }
    }

    /// The word that comes next: letters, digits and underscores.
    pub(crate) fn peek_word(&mut self) -> &'a str {
        self.here();
        let rest = self.rest();
        &rest[..rest.find(|c| !is_word(c)).unwrap_or(rest.len())]
    }

    pub(crate) fn word(&mut self, what: &str) -> Read<&'a str> {
        let word = self.peek_word();
        if word.is_empty() {
            return self.expected(what);
        }
        self.at += word.len();
        Ok(word)
    }

    pub(crate) fn keyword(&mut self, word: &str) -> Read<()> {
        if self.peek_word() != word {
            return self.expected(&format!("`{word}`"));
        }
        self.at += word.len();
        Ok(())
    }

    /// A name, plain or in quotes.
    pub(crate) fn name(&mut self, what: &str) -> Read<String> {
        if !self.sees("\"") {
            if self.peek_word().starts_with(|c: char| c.is_numeric()) {
                return self.expected(what);
            }
            return self.word(what).map(str::to_string);
        }
        let start = self.at;
        self.at += 1;
        let mut name = String::new();
        loop {
            let Some(c) = self.next_char() else { return self.error_at(start, "this name has no closing quote") };
            match c {
                '"' => return Ok(name),
                '\\' => name.push(self.escape(start)?),
                c => name.push(c),
            }
        }
    }

    fn next_char(&mut self) -> Option<char> {
        let c = self.rest().chars().next()?;
        self.at += c.len_utf8();
        Some(c)
    }

    /// The character after a backslash.
    fn escape(&mut self, start: usize) -> Read<char> {
        let known = match self.next_char() {
            Some(c @ ('"' | '\\')) => Some(c),
            Some('u') if self.rest().starts_with('{') => {
                let end = self.rest().find('}').unwrap_or(1);
                let code = u32::from_str_radix(&self.rest()[1..end], 16).ok();
                self.at += end;
                self.next_char();
                code.and_then(char::from_u32)
            }
            _ => None,
        };
        known.map_or_else(|| self.error_at(start, "unknown escape in this name"), Ok)
    }

    /// A number without sign, as far as it is valid.
    pub(crate) fn number<N: std::str::FromStr>(&mut self, what: &str) -> Read<N> {
        let place = self.here();
        let word = self.peek_word();
        if !is_digits(word) {
            return self.expected(what);
        }
        self.at += word.len();
        word.parse().or_else(|_| self.error_at(place, format!("the number {word} is too large")))
    }

    /// A handle in its printed form: its letter and its number, `v3`.
    pub(crate) fn handle(&mut self, letter: char, what: &str) -> Read<u32> {
        let place = self.here();
        match self.peek_word().strip_prefix(letter) {
            Some(digits) if is_digits(digits) => {
                self.at += letter.len_utf8() + digits.len();
                digits.parse().or_else(|_| self.error_at(place, format!("the number {digits} is too large")))
            }
            _ => self.expected(what),
        }
    }

    /// All characters up to the next one that cannot be part of a scalar.
    pub(crate) fn scalar_text(&mut self) -> &'a str {
        self.here();
        let rest = self.rest();
        let end = rest.find(|c: char| !(is_word(c) || "+-.:".contains(c))).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// Items with commas between them, up to the closing token.
    pub(crate) fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        let mut items = Vec::new();
        if self.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(item(self)?);
            if self.eat(close) {
                return Ok(items);
            }
            if !self.eat(",") {
                return self.expected(&format!("`,` or `{close}`"));
            }
        }
    }

    /// A tuple after its `(`: items with commas, and one after a single item. `(x)` is not a tuple.
    pub(crate) fn tuple<T>(&mut self, mut item: impl FnMut(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        if self.eat(")") {
            return Ok(Vec::new());
        }
        let mut items = vec![item(self)?];
        self.expect(",")?;
        if !self.eat(")") {
            items.extend(self.list(")", item)?);
        }
        Ok(items)
    }

    /// One nesting level deeper.
    pub(crate) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        self.enter()?;
        let result = read(self);
        self.leave();
        result
    }

    /// The half of [`Cursor::nested`] for readers that hold a cursor.
    pub(crate) fn enter(&mut self) -> Read<()> {
        if self.depth == DEEPEST {
            let place = self.here();
            return self.error_at(place, format!("nested more than {DEEPEST} deep"));
        }
        self.depth += 1;
        Ok(())
    }

    pub(crate) fn leave(&mut self) {
        self.depth -= 1;
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Digits in the form in which a number prints: no leading zeros.
fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_digit()) && (word == "0" || !word.starts_with('0'))
}
