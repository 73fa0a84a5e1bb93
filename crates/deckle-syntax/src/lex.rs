//! From text to tokens.
//!
//! The lexer never stops: malformed text is reported and becomes [`Tok::Bad`] (or the most likely intended
//! literal), so that the parser can continue and all errors of a file are shown at once.

mod literal;
mod token;

use deckle_diag::{Code, Diagnostic, FileId, Span};

pub(crate) use literal::float_digits;
pub(crate) use token::{StrId, Tok, Token};

use token::SIGNS;

/// The maximal number of errors of one file that are shown.
pub(crate) const MAX_REPORTS: usize = 100;

/// The errors found in a file, up to a limit.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    list: Vec<Diagnostic>,
    left_out: bool,
}

impl Reports {
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        if self.list.len() < MAX_REPORTS {
            self.list.push(diagnostic);
        } else {
            self.left_out = true;
        }
    }

    /// In the order of the text.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        self.list.sort_by_key(|d| d.labels.first().map_or(0, |l| l.span.lo));
        if self.left_out
            && let Some(last) = self.list.last_mut()
        {
            last.notes.push(format!("there are more errors; only {MAX_REPORTS} are shown"));
        }
        self.list
    }
}

/// A file's tokens, the last of which is [`Tok::Eof`].
#[derive(Debug, Default)]
pub(crate) struct Lexed {
    pub(crate) tokens: Vec<Token>,
    pub(crate) strings: Vec<Vec<u8>>,
    /// `///` comments with the index of the token they precede, in order.
    docs: Vec<(usize, String)>,
    pub(crate) reports: Reports,
}

impl Lexed {
    /// The `///` lines before the token with this index.
    pub(crate) fn doc(&self, token: usize) -> String {
        match self.docs.binary_search_by_key(&token, |d| d.0) {
            Ok(i) => self.docs[i].1.clone(),
            Err(_) => String::new(),
        }
    }
}

/// Bytes that are not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotUtf8 {
    /// The text with `U+FFFD` in place of invalid bytes, to show the place in.
    pub lossy: String,
    /// The number of bytes, of the file and of `lossy` alike, before the first invalid place.
    pub offset: usize,
}

/// The text of a file.
pub fn decode(bytes: Vec<u8>) -> Result<String, NotUtf8> {
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        NotUtf8 { lossy: String::from_utf8_lossy(error.as_bytes()).into_owned(), offset }
    })
}

/// Splits a text, shorter than 4 GiB, into tokens.
pub(crate) fn lex(file: FileId, text: &str) -> Lexed {
    let mut lexer = Lexer { file, text, pos: 0, first: true, hash_reported: false, doc: None, out: Lexed::default() };
    lexer.run();
    lexer.out
}

struct Lexer<'a> {
    file: FileId,
    text: &'a str,
    pos: usize,
    /// Whether no token has been seen on this line.
    first: bool,
    /// Whether the user has been told that comments start with `//`.
    hash_reported: bool,
    doc: Option<String>,
    out: Lexed,
}

impl Lexer<'_> {
    fn run(&mut self) {
        if self.rest().starts_with('\u{feff}') {
            self.pos = '\u{feff}'.len_utf8();
        }
        while let Some(c) = self.peek() {
            match c {
                '\n' => {
                    self.pos += 1;
                    self.first = true;
                }
                ' ' | '\t' | '\r' | '\x0c' => self.pos += 1,
                _ if self.rest().starts_with("//") => self.line_comment(),
                _ if self.rest().starts_with("/*") => self.block_comment(),
                '#' => self.foreign_comment("#"),
                '-' if self.at_dashes() => self.foreign_comment("--"),
                'a'..='z' | 'A'..='Z' | '_' => self.word(),
                '0'..='9' => self.number(),
                '.' if self.at_bare_fraction() => self.bare_fraction(),
                '"' => self.string(),
                '\'' => self.char(),
                _ => self.sign(),
            }
        }
        self.push(Tok::Eof, self.pos);
    }

    fn rest(&self) -> &str {
        &self.text[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.pos + ahead).copied().unwrap_or(0)
    }

    fn span(&self, lo: usize, hi: usize) -> Span {
        Span::new(self.file, lo as u32, hi as u32)
    }

    /// Adds the token from `lo` to here.
    fn push(&mut self, tok: Tok, lo: usize) {
        if let Some(doc) = self.doc.take() {
            self.out.docs.push((self.out.tokens.len(), doc));
        }
        self.out.tokens.push(Token { tok, lo: lo as u32, hi: self.pos as u32, first: self.first });
        self.first = false;
    }

    fn report(&mut self, diagnostic: Diagnostic) {
        self.out.reports.push(diagnostic);
    }

    fn last(&self) -> Option<Tok> {
        self.out.tokens.last().map(|t| t.tok)
    }

    fn skip_line(&mut self) {
        self.pos += self.rest().find('\n').unwrap_or(self.rest().len());
    }

    fn line_comment(&mut self) {
        let lo = self.pos;
        self.skip_line();
        let line = &self.text[lo..self.pos];
        if let Some(text) = line.strip_prefix("///")
            && !text.starts_with('/')
        {
            let text = text.strip_prefix(' ').unwrap_or(text).trim_end();
            match &mut self.doc {
                Some(doc) => {
                    doc.push('\n');
                    doc.push_str(text);
                }
                None => self.doc = Some(text.to_owned()),
            }
        }
    }

    fn block_comment(&mut self) {
        let lo = self.pos;
        let mut depth = 0;
        while self.pos < self.text.len() {
            match (self.byte(0), self.byte(1)) {
                (b'/', b'*') => {
                    depth += 1;
                    self.pos += 2;
                }
                (b'*', b'/') => {
                    depth -= 1;
                    self.pos += 2;
                    if depth == 0 {
                        return;
                    }
                }
                (byte, _) => {
                    self.first |= byte == b'\n';
                    // Stepping by bytes is safe: only ASCII is looked for, and the loop ends on a boundary.
                    self.pos += 1;
                }
            }
        }
        let opener = self.span(lo, lo + 2);
        self.report(
            Diagnostic::new(Code::Unclosed, "this comment is never closed", opener, "it starts here")
                .note("comments nest: each `/*` needs a `*/` of its own"),
        );
    }

    /// Whether dashes here look like the start of a comment: with a space, or the line's end, on both sides.
    fn at_dashes(&self) -> bool {
        let before = self.text[..self.pos].bytes().next_back().unwrap_or(b'\n');
        if self.byte(1) != b'-' || !before.is_ascii_whitespace() {
            return false;
        }
        let after = self.rest().trim_start_matches('-');
        after.chars().next().is_none_or(|c| c.is_ascii_whitespace())
    }

    fn foreign_comment(&mut self, mark: &str) {
        if !self.hash_reported {
            let span = self.span(self.pos, self.pos + mark.len());
            self.report(
                Diagnostic::new(Code::BadCharacter, format!("`{mark}` does not start a comment"), span, "")
                    .help("comments start with `//`, or stand between `/*` and `*/`"),
            );
        }
        self.hash_reported = true;
        self.skip_line();
    }

    fn word(&mut self) {
        let lo = self.pos;
        self.skip_word();
        let tok = Tok::keyword(&self.text[lo..self.pos]).unwrap_or(Tok::Ident);
        self.push(tok, lo);
    }

    fn skip_word(&mut self) {
        while matches!(self.byte(0), b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'\'') {
            self.pos += 1;
        }
    }

    fn sign(&mut self) {
        let lo = self.pos;
        match SIGNS.iter().find(|(text, _)| self.rest().starts_with(text)) {
            Some((text, tok)) => {
                self.pos += text.len();
                self.push(*tok, lo);
            }
            None => self.bad_characters(),
        }
    }

    /// Reports a run of characters that no token starts with, once.
    fn bad_characters(&mut self) {
        let lo = self.pos;
        let first = self.peek().unwrap_or(' ');
        let advice = advice_on(first);
        while let Some(c) = self.peek()
            && (self.pos == lo || (c == first && !advice.alone) || (advice.text.is_empty() && !is_known(c)))
        {
            self.pos += c.len_utf8();
        }
        let message = match first {
            c if c.is_control() || c.is_whitespace() => format!("the character U+{:04X} means nothing here", c as u32),
            c => format!("the character `{c}` means nothing here"),
        };
        let mut diagnostic = Diagnostic::new(Code::BadCharacter, message, self.span(lo, self.pos), "");
        if advice.text.is_empty() && first.is_alphabetic() {
            diagnostic = diagnostic.note("names are made of the letters a-z and A-Z, digits, `_` and `'`");
        } else if !advice.text.is_empty() {
            diagnostic = diagnostic.help(advice.text);
        }
        self.report(diagnostic);
        match advice.token {
            Some(tok) => self.push(tok, lo),
            None if first.is_whitespace() || first == '\u{200b}' => {}
            None => self.push(Tok::Bad, lo),
        }
    }
}

struct Advice {
    text: &'static str,
    /// The intended token, to continue with.
    token: Option<Tok>,
    /// Whether each such character is a separate mistake.
    alone: bool,
}

/// Advice on a character copied from papers, word processors or other languages.
fn advice_on(c: char) -> Advice {
    let meant = |text, tok| Advice { text, token: Some(tok), alone: true };
    let hint = |text| Advice { text, token: None, alone: false };
    match c {
        '−' | '–' | '—' => meant("the minus sign is `-`", Tok::Minus),
        '×' | '·' | '⋅' => meant("multiplication is `*`", Tok::Star),
        '÷' => meant("division is `/`", Tok::Slash),
        '≤' | '⩽' => meant("write `<=`", Tok::LessEq),
        '≥' | '⩾' => meant("write `>=`", Tok::GreaterEq),
        '≠' => meant("write `!=`", Tok::NotEq),
        '∧' => meant("write `&&`", Tok::AmpAmp),
        '∨' => meant("write `||`", Tok::BarBar),
        '¬' => meant("write `!` or `not`", Tok::Not),
        '→' => meant("write `->`", Tok::Arrow),
        '∈' => meant("write `in`", Tok::In),
        'λ' => meant("a function is written `\\x -> e`", Tok::Backslash),
        '“' | '”' | '„' | '«' | '»' => hint("strings stand between straight quotes: `\"`"),
        '‘' | '’' | '`' => {
            hint("a character stands between straight single quotes, as in `'a'`; names need no quotes")
        }
        '…' => hint("a range is written `lo..hi`"),
        '?' => hint("a choice is written `if c then a else b`"),
        '@' => hint("to read a file, name it when the program is run: `NAME=@FILE`"),
        '$' => hint("names stand alone, without `$`"),
        '\u{a0}' | '\u{2003}' | '\u{2009}' | '\u{202f}' | '\u{3000}' | '\u{200b}' => {
            hint("this is an invisible character that looks like a space; replace it by a space")
        }
        _ => hint(""),
    }
}

/// Whether a run of invalid characters ends before `c`.
fn is_known(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || c.is_ascii_whitespace()
        || matches!(c, '_' | '"' | '\'' | '#')
        || SIGNS.iter().any(|(text, _)| text.starts_with(c))
        || !advice_on(c).text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn toks(text: &str) -> Vec<Tok> {
        let lexed = lex(FileId(0), text);
        assert!(lexed.reports.list.is_empty(), "{:?}", lexed.reports.list);
        lexed.tokens.iter().map(|t| t.tok).filter(|t| *t != Tok::Eof).collect()
    }

    fn complaints(text: &str) -> Vec<String> {
        lex(FileId(0), text).reports.finish().into_iter().map(|d| d.message).collect()
    }

    #[test]
    fn longest_sign_wins() {
        assert_eq!(toks("a..<b"), [Tok::Ident, Tok::DotDotLt, Tok::Ident]);
        assert_eq!(toks("a<-b"), [Tok::Ident, Tok::Less, Tok::Minus, Tok::Ident]);
        assert_eq!(toks("x**-y"), [Tok::Ident, Tok::StarStar, Tok::Minus, Tok::Ident]);
    }

    #[test]
    fn names_may_hold_primes_and_keywords() {
        assert_eq!(toks("x' x'' index _ _a"), [Tok::Ident, Tok::Ident, Tok::Ident, Tok::Underscore, Tok::Ident]);
    }

    #[test]
    fn comments_nest_and_docs_belong_to_the_next_token() {
        let lexed = lex(FileId(0), "/* a /* b */ c */ ///  One\n/// two\n// no\n//// no\ndef");
        assert_eq!(lexed.tokens.len(), 2);
        assert_eq!(lexed.doc(0), " One\ntwo");
        assert!(lexed.tokens[0].first);
    }

    #[test]
    fn an_open_comment_is_reported_at_its_start() {
        let lexed = lex(FileId(0), "x /* a /* b */ é");
        assert_eq!(lexed.reports.list[0].labels[0].span, Span::new(FileId(0), 2, 4));
    }

    #[test]
    fn comments_of_other_languages_are_reported_once() {
        assert_eq!(complaints("# a\nx # b ? @\n"), ["`#` does not start a comment"]);
        assert_eq!(complaints("x -- b ? @\n---- c"), ["`--` does not start a comment"]);
    }

    #[test]
    fn dashes_in_an_expression_are_minuses() {
        assert_eq!(toks("1 --x"), [Tok::Int { value: 1, suffix: None }, Tok::Minus, Tok::Minus, Tok::Ident]);
    }

    #[test]
    fn a_copied_sign_is_reported_and_understood() {
        let lexed = lex(FileId(0), "a ≤ b");
        assert_eq!(lexed.tokens[1].tok, Tok::LessEq);
        assert_eq!(lexed.reports.list[0].helps, ["write `<=`"]);
    }

    #[test]
    fn a_run_of_nonsense_is_one_error() {
        assert_eq!(complaints("a \u{1}\u{2}ΩΩ b"), ["the character U+0001 means nothing here"]);
    }

    #[test]
    fn reports_stop_at_the_limit_and_say_so() {
        let all = lex(FileId(0), &"Ω ".repeat(500)).reports.finish();
        assert_eq!(all.len(), MAX_REPORTS);
        assert!(all[MAX_REPORTS - 1].notes.iter().any(|n| n.contains("more errors")));
    }

    #[test]
    fn bytes_that_are_no_text_are_placed() {
        assert_eq!(decode(b"abc".to_vec()), Ok("abc".to_owned()));
        let error = decode(b"ab\xffc".to_vec()).unwrap_err();
        assert_eq!((error.offset, error.lossy.as_str()), (2, "ab\u{fffd}c"));
    }
}
