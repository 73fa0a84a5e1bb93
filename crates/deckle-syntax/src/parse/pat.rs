//! Patterns.

use super::{Parsed, Parser};
use crate::ast::{PatId, PatKind};
use crate::lex::Tok;

impl Parser<'_> {
    /// `x`, `_` or `(p, q)`.
    pub(super) fn pat(&mut self) -> Parsed<PatId> {
        self.nested(|p| {
            let lo = p.span();
            match p.tok() {
                Tok::Ident => {
                    let name = p.name("a name")?;
                    Ok(p.pat_node(PatKind::Name(name), lo))
                }
                Tok::Underscore => {
                    p.bump();
                    Ok(p.pat_node(PatKind::Wild, lo))
                }
                Tok::ParenL => {
                    let parts = p.list(Self::pat)?;
                    let span = p.since(lo);
                    match parts[..] {
                        [one] => Ok(one),
                        _ => Ok(p.pat_node(PatKind::Tuple(parts), span)),
                    }
                }
                _ => Err(p.unexpected("a name, `_` or a tuple of these in parentheses")),
            }
        })
    }

    /// Whether `pat in` seems to be `n` tokens ahead.
    pub(super) fn generator_ahead(&self, n: usize) -> bool {
        let mut depth = 0;
        for i in n..n + 64 {
            match self.ahead(i).tok {
                Tok::ParenL => depth += 1,
                Tok::ParenR if depth > 0 => depth -= 1,
                Tok::Ident | Tok::Underscore => {}
                Tok::Comma if depth > 0 => continue,
                _ => return false,
            }
            if depth == 0 {
                return self.ahead(i + 1).tok == Tok::In;
            }
        }
        false
    }
}
