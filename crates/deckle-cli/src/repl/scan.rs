//! An approximate lexer: words, numbers, literals and signs, without comments.
//!
//! The parser decides whether a text is correct. This returns what is needed before the text is complete: where a line may end, and
//! which names occur.

/// The kind of a token, as far as needed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name or keyword.
    Word,
    /// A number, string or character.
    Literal,
    /// An operator, bracket or other sign.
    Sign,
}

/// A token of a text.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
    /// The offset of its first byte.
    pub at: usize,
}

/// The tokens of a text, and its state at the end.
pub struct Scan<'a> {
    pub tokens: Vec<Token<'a>>,
    /// Whether it ends inside a `/* */`.
    pub in_comment: bool,
    /// Whether there are `///` lines after the last token.
    pub trailing_doc: bool,
}

/// Signs of more than one character; a prefix of another comes after it.
const LONG: [&str; 16] =
    ["..=", "..<", "..", "==", "=>", "!=", "<=", "<<", ">=", ">>", "||", "&&", "++", "->", "**", "::"];

pub fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

pub fn is_word_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '\''
}

/// Splits a text into tokens. Never fails: any other character is a sign.
pub fn scan(text: &str) -> Scan<'_> {
    let mut out = Scan { tokens: Vec::new(), in_comment: false, trailing_doc: false };
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        if c.is_whitespace() {
            at += c.len_utf8();
        } else if rest.starts_with("//") {
            out.trailing_doc |= rest.starts_with("///") && !rest.starts_with("////");
            at += rest.find('\n').unwrap_or(rest.len());
        } else if rest.starts_with("/*") {
            match comment(rest) {
                Some(len) => at += len,
                None => {
                    out.in_comment = true;
                    break;
                }
            }
        } else {
            let (kind, len) = token(rest, c);
            out.tokens.push(Token { kind, text: &rest[..len], at });
            out.trailing_doc = false;
            at += len;
        }
    }
    out
}

/// The names and keywords of a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    scan(text).tokens.into_iter().filter(|t| t.kind == Kind::Word).map(|t| t.text)
}

/// The length of a comment that may be nested, if it ends.
fn comment(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (0, 0);
    let bytes = text.as_bytes();
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

fn token(rest: &str, c: char) -> (Kind, usize) {
    let while_part = |part: fn(char) -> bool| rest.find(|c| !part(c)).unwrap_or(rest.len());
    if is_word_start(c) {
        return (Kind::Word, while_part(is_word_part));
    }
    if c.is_ascii_digit() {
        return (Kind::Literal, number(rest));
    }
    if (c == '"' || c == '\'')
        && let Some(len) = quoted(rest, c)
    {
        return (Kind::Literal, len);
    }
    let long = LONG.iter().find(|s| rest.starts_with(**s));
    (Kind::Sign, long.map_or(c.len_utf8(), |s| s.len()))
}

/// `1`, `0xff`, `1.5e-3f32`; of `1..2` only the `1`.
fn number(text: &str) -> usize {
    let digits = |from: usize| {
        text[from..].find(|c: char| !c.is_ascii_alphanumeric() && c != '_').map_or(text.len(), |n| from + n)
    };
    let signed = |end: usize| {
        let exponent = text[..end].ends_with(['e', 'E']) && !text.starts_with("0x");
        if exponent && text[end..].starts_with(['+', '-']) { digits(end + 1) } else { end }
    };
    let end = signed(digits(0));
    let mut after = text[end..].chars();
    if after.next() == Some('.') && after.next().is_some_and(|c| c.is_ascii_digit()) {
        return signed(digits(end + 1));
    }
    end
}

/// A string or character, which ends on its line; an unterminated one is the rest of the line.
fn quoted(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return (quote == '"').then_some(at),
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    (quote == '"').then_some(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<&str> {
        scan(text).tokens.into_iter().map(|t| t.text).collect()
    }

    #[test]
    fn tokens_are_told_apart() {
        assert_eq!(texts("x' + f(1.5e-3, 0xff)..<3"), ["x'", "+", "f", "(", "1.5e-3", ",", "0xff", ")", "..<", "3"]);
        assert_eq!(texts("0..9 t.0"), ["0", "..", "9", "t", ".", "0"]);
        assert_eq!(texts(r#"["a [ \" b", '[']"#), ["[", r#""a [ \" b""#, ",", "'['", "]"]);
    }

    #[test]
    fn comments_are_left_out() {
        assert_eq!(texts("1 // ( \n+ /* ( /* */ */ 2"), ["1", "+", "2"]);
        assert!(scan("1 /* /* */").in_comment);
        assert!(scan("/// about f").trailing_doc);
        assert!(!scan("/// about f\ndef").trailing_doc);
    }

    #[test]
    fn broken_literals_end_with_their_line() {
        assert_eq!(texts("\"abc\n+ 1"), ["\"abc", "+", "1"]);
        assert_eq!(texts("é + '"), ["é", "+", "'"]);
    }
}
