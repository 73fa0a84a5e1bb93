//! From tokens to the tree: recursive descent with recovery.
//!
//! A function of the parser returns `Err` once it has reported an error. The innermost bracket that
//! is being parsed catches a [`Fail::Here`], skips to its next element or its end, and continues; outside of
//! all brackets the rest of the item is skipped. So one run reports the errors of a whole file, and no
//! token is examined twice by different recoveries.
//!
//! Two limits bound every later recursion over the tree. [`MAX_NESTING`] bounds the recursion of the
//! parser, and [`crate::ast::MAX_TREE_DEPTH`] the depth of trees that loops build: chains of operators, `let`s and `else if`s.

mod advice;
mod bracket;
mod build;
mod dump;
mod expr;
mod item;
mod pat;
mod recover;
mod report;
mod types;

use std::collections::HashMap;
use std::rc::Rc;

use deckle_diag::{Code, Diagnostic, FileId, Span};

use crate::ast::{Module, Name};
use crate::lex::{Lexed, Reports, Tok, Token, lex};
use build::Builder;
use recover::Open;

/// The maximal number of brackets, types, patterns and nested expressions that are open at a time.
pub(crate) const MAX_NESTING: u32 = 300;

/// Parses a file. The tree is complete even if the text has errors: unreadable parts are `Error` nodes.
pub fn parse(file: FileId, text: &str) -> (Module, Vec<Diagnostic>) {
    if u32::try_from(text.len()).is_err() {
        let message = "a program of 4 GiB or more cannot be read";
        return (Module { file, ..Module::default() }, vec![Diagnostic::nowhere(Code::Unsupported, message)]);
    }
    let mut lexed = lex(file, text);
    let reports = std::mem::take(&mut lexed.reports);
    let mut parser = Parser {
        file,
        text,
        lexed,
        pos: 0,
        depth: 0,
        open: Vec::new(),
        bar_is_guard: false,
        split_postfix: None,
        names: HashMap::new(),
        build: Builder::new(file),
        reports,
        reported_at: None,
    };
    parser.items();
    (parser.build.module, parser.reports.finish())
}

/// An error that has been reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fail {
    /// The enclosing bracket may continue with its next element.
    Here,
    /// The rest of the item is to be skipped.
    Item,
}

type Parsed<T> = Result<T, Fail>;

struct Parser<'a> {
    file: FileId,
    text: &'a str,
    lexed: Lexed,
    pos: usize,
    depth: u32,
    /// The enclosing brackets, outermost first.
    open: Vec<Open>,
    /// Whether `|` here starts the guard of a comprehension rather than being an operator.
    bar_is_guard: bool,
    /// The last bracket that was read as a call or an index although it starts a line.
    split_postfix: Option<Span>,
    names: HashMap<&'a str, Rc<str>>,
    build: Builder,
    reports: Reports,
    /// The token of the last error: at most one error is reported per token.
    reported_at: Option<usize>,
}

impl<'a> Parser<'a> {
    fn token(&self) -> Token {
        self.lexed.tokens[self.pos]
    }

    fn tok(&self) -> Tok {
        self.token().tok
    }

    /// The token `n` places ahead, or the last one.
    fn ahead(&self, n: usize) -> Token {
        self.lexed.tokens[(self.pos + n).min(self.lexed.tokens.len() - 1)]
    }

    fn span(&self) -> Span {
        self.span_of(self.token())
    }

    fn span_of(&self, token: Token) -> Span {
        Span::new(self.file, token.lo, token.hi)
    }

    /// The token before this one, or this one at the very start.
    fn before(&self) -> Token {
        self.lexed.tokens[self.pos.saturating_sub(1)]
    }

    /// From `lo` to the end of the last token that was taken.
    fn since(&self, lo: Span) -> Span {
        Span { hi: self.before().hi.max(lo.lo), ..lo }
    }

    fn text_of(&self, span: Span) -> &'a str {
        &self.text[span.lo as usize..span.hi as usize]
    }

    /// The text of this token.
    fn word(&self) -> &'a str {
        self.text_of(self.span())
    }

    /// Takes a token; the end of the file stays.
    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.tok != Tok::Eof {
            self.pos += 1;
        }
        token
    }

    fn at(&self, tok: Tok) -> bool {
        self.tok() == tok
    }

    fn eat(&mut self, tok: Tok) -> bool {
        let found = self.at(tok);
        if found {
            self.bump();
        }
        found
    }

    /// Takes a contextual keyword, which remains a valid name elsewhere.
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at(Tok::Ident) && self.word() == word;
        if found {
            self.bump();
        }
        found
    }

    /// Takes `tok`, or reports that it was expected.
    fn expect(&mut self, tok: Tok) -> Parsed<Span> {
        let span = self.span();
        if self.eat(tok) {
            return Ok(span);
        }
        let text = tok.text().unwrap_or("something else");
        Err(self.unexpected(&format!("`{text}`")))
    }

    /// Takes an identifier; `what` describes the named thing.
    fn name(&mut self, what: &str) -> Parsed<Name> {
        if !self.at(Tok::Ident) {
            return Err(self.unexpected(what));
        }
        let name = self.name_at(self.span());
        self.bump();
        Ok(name)
    }

    fn name_at(&mut self, span: Span) -> Name {
        let text = self.text_of(span);
        Name { text: self.names.entry(text).or_insert_with(|| text.into()).clone(), span }
    }

    /// Whether a new item, or the end of the file, begins here.
    fn at_item(&self) -> bool {
        let token = self.token();
        token.tok == Tok::Eof || (token.first && matches!(token.tok, Tok::Def | Tok::Type | Tok::Import))
    }

    /// Reports an error at this token, unless there was one here already.
    fn report(&mut self, diagnostic: Diagnostic) -> Fail {
        if self.reported_at != Some(self.pos) {
            self.reported_at = Some(self.pos);
            self.reports.push(diagnostic);
        }
        Fail::Here
    }

    /// Runs `f` one level deeper, on a new stack segment if the old one runs out.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth == MAX_NESTING {
            let message = format!("this is nested more than {MAX_NESTING} levels deep");
            self.report(
                Diagnostic::new(Code::TooDeep, message, self.span(), "the limit is reached here")
                    .help("name the inner parts with `let`, or make them functions of their own"),
            );
            return Err(Fail::Item);
        }
        self.depth += 1;
        let result = stacker::maybe_grow(64 * 1024, 1024 * 1024, || f(self));
        self.depth -= 1;
        result
    }
}

#[cfg(test)]
mod tests;
