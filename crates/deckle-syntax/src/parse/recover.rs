//! Brackets: opening, closing, and recovery after an error inside them.

use deckle_diag::{Code, Diagnostic, Span};

use super::{Fail, Parsed, Parser};
use crate::ast::{Arg, ExprId, IndexItem, Name, Param, PatId, PatKind, TypeId};
use crate::lex::Tok;

/// A bracket that is open.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    span: Span,
    opener: Tok,
    closer: Tok,
}

impl Open {
    pub(super) fn is_square(self) -> bool {
        self.opener == Tok::BracketL
    }
}

/// The placeholder for an element of a list that could not be read; none, if a missing one is harmless.
pub(super) trait Element: Sized {
    fn error(parser: &mut Parser<'_>, span: Span) -> Option<Self>;
}

impl Element for ExprId {
    fn error(parser: &mut Parser<'_>, span: Span) -> Option<Self> {
        Some(parser.error_expr(span))
    }
}

impl Element for TypeId {
    fn error(parser: &mut Parser<'_>, span: Span) -> Option<Self> {
        Some(parser.error_type(span))
    }
}

impl Element for PatId {
    fn error(parser: &mut Parser<'_>, span: Span) -> Option<Self> {
        Some(parser.pat_node(PatKind::Error, span))
    }
}

impl Element for Param {
    fn error(parser: &mut Parser<'_>, span: Span) -> Option<Self> {
        PatId::error(parser, span).map(|pat| Param { pat, ty: None })
    }
}

impl Element for Arg {
    fn error(parser: &mut Parser<'_>, span: Span) -> Option<Self> {
        ExprId::error(parser, span).map(|value| Arg { name: None, value })
    }
}

impl Element for IndexItem {
    fn error(parser: &mut Parser<'_>, span: Span) -> Option<Self> {
        ExprId::error(parser, span).map(IndexItem::At)
    }
}

impl Element for Name {
    fn error(_: &mut Parser<'_>, _: Span) -> Option<Self> {
        None
    }
}

impl<T> Element for (Name, T) {
    fn error(_: &mut Parser<'_>, _: Span) -> Option<Self> {
        None
    }
}

impl Parser<'_> {
    /// Takes the opening bracket here, the contents read by `inside`, and the closing bracket.
    /// `None` if the contents were wrong but their end was found.
    pub(super) fn bracketed<T>(
        &mut self,
        bar_is_guard: bool,
        inside: impl FnOnce(&mut Self) -> Parsed<T>,
    ) -> Parsed<Option<T>> {
        let opener = self.bump();
        let closer = match opener.tok {
            Tok::ParenL => Tok::ParenR,
            Tok::BracketL => Tok::BracketR,
            _ => Tok::BraceR,
        };
        let open = Open { span: self.span_of(opener), opener: opener.tok, closer };
        let outer_bar = std::mem::replace(&mut self.bar_is_guard, bar_is_guard);
        self.open.push(open);
        let result = inside(self);
        let result = self.close(open, result);
        self.open.pop();
        self.bar_is_guard = outer_bar;
        result
    }

    fn close<T>(&mut self, open: Open, inside: Parsed<T>) -> Parsed<Option<T>> {
        let value = match inside {
            Ok(value) if self.eat(open.closer) => return Ok(Some(value)),
            Ok(value) if self.at_item() || self.tok().is_closer() => {
                self.report_unclosed(open);
                if self.at_item() {
                    return Err(Fail::Here);
                }
                if !self.closes_outer(self.tok()) {
                    self.bump();
                }
                return Ok(Some(value));
            }
            Ok(value) => {
                let expected = format!("`{}`", open.closer.text().unwrap_or(""));
                self.unexpected(&expected);
                Some(value)
            }
            Err(Fail::Item) => return Err(Fail::Item),
            Err(Fail::Here) => None,
        };
        self.skip_to(&[]);
        if self.eat(open.closer) {
            return Ok(value);
        }
        Err(Fail::Here)
    }

    /// Elements with `,` between them and perhaps after the last, up to a closing bracket.
    pub(super) fn commas<T: Element>(&mut self, mut element: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut elements = Vec::new();
        while !self.at_end() {
            let start = self.span();
            match element(self) {
                Ok(one) => elements.push(one),
                Err(Fail::Here) => {
                    self.skip_to(&[Tok::Comma]);
                    if self.at_item() {
                        return Err(Fail::Here);
                    }
                    let span = self.since(start);
                    elements.extend(T::error(self, span));
                }
                Err(Fail::Item) => return Err(Fail::Item),
            }
            if !self.at_end() && !self.at(Tok::Comma) {
                let closer = self.open.last().and_then(|o| o.closer.text()).unwrap_or(")");
                self.unexpected(&format!("`,` or `{closer}`"));
                self.skip_to(&[Tok::Comma]);
            }
            if !self.eat(Tok::Comma) {
                break;
            }
        }
        Ok(elements)
    }

    /// A bracketed list.
    pub(super) fn list<T: Element>(&mut self, element: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        Ok(self.bracketed(false, |p| p.commas(element))?.unwrap_or_default())
    }

    /// Whether this bracket can have no more contents.
    pub(super) fn at_end(&self) -> bool {
        self.tok().is_closer() || self.at_item()
    }

    fn closes_outer(&self, closer: Tok) -> bool {
        self.open.iter().rev().skip(1).any(|o| o.closer == closer)
    }

    fn report_unclosed(&mut self, open: Open) {
        let [opener, closer] = [open.opener, open.closer].map(|t| t.text().unwrap_or(""));
        let found = self.describe();
        let message = format!("this `{opener}` is never closed");
        let label = format!("expected `{closer}` before {found}");
        self.report(Diagnostic::new(Code::Unclosed, message, open.span, "opened here").label(self.span(), label));
    }

    /// Skips to one of `stops`, or to the end of the innermost open bracket, or of the item.
    fn skip_to(&mut self, stops: &[Tok]) {
        // The closing brackets expected by the brackets that were opened on the way.
        let mut waiting: Vec<Tok> = Vec::new();
        let mut counts = [0usize; 3];
        let slot = |tok| match tok {
            Tok::ParenR => 0,
            Tok::BracketR => 1,
            _ => 2,
        };
        while !self.at_item() {
            let tok = self.tok();
            match tok {
                Tok::ParenL => waiting.push(Tok::ParenR),
                Tok::BracketL => waiting.push(Tok::BracketR),
                Tok::BraceL => waiting.push(Tok::BraceR),
                _ if tok.is_closer() && counts[slot(tok)] > 0 => {
                    while let Some(inner) = waiting.pop() {
                        counts[slot(inner)] -= 1;
                        if inner == tok {
                            break;
                        }
                    }
                }
                _ if tok.is_closer() && self.open.iter().any(|o| o.closer == tok) => return,
                _ if waiting.is_empty() && stops.contains(&tok) => return,
                _ => {}
            }
            if matches!(tok, Tok::ParenL | Tok::BracketL | Tok::BraceL) {
                counts[slot(waiting[waiting.len() - 1])] += 1;
            }
            self.bump();
        }
    }
}
