//! Written types.

use super::{Parsed, Parser};
use crate::ast::{TypeId, TypeKind};
use crate::lex::Tok;

impl Parser<'_> {
    /// `int`, `csr[real]`, `(t, u)`, `{t}`, `{ x: t }`, `[t]`, `[t; n]` or `[i -> t; n]`.
    pub(super) fn ty(&mut self) -> Parsed<TypeId> {
        self.nested(|p| match p.tok() {
            Tok::Ident => p.named_type(),
            Tok::ParenL => {
                let lo = p.span();
                let parts = p.list(Self::ty)?;
                let span = p.since(lo);
                match parts[..] {
                    [one] => Ok(one),
                    _ => p.type_node(TypeKind::Tuple(parts), span),
                }
            }
            Tok::BraceL => p.brace_type(),
            Tok::BracketL => p.array_type(),
            _ => Err(p.unexpected("a type")),
        })
    }

    fn named_type(&mut self) -> Parsed<TypeId> {
        let lo = self.span();
        let mut module = None;
        let mut name = self.name("a type")?;
        if self.eat(Tok::Dot) {
            let inner = self.name("the name of a type after the `.`")?;
            module = Some(std::mem::replace(&mut name, inner));
        }
        let mut args = Vec::new();
        if self.at(Tok::BracketL) && !self.token().first {
            args = self.list(|p| p.ty())?;
        }
        let span = self.since(lo);
        self.type_node(TypeKind::Name { module, name, args }, span)
    }

    fn brace_type(&mut self) -> Parsed<TypeId> {
        let lo = self.span();
        let is_record = self.ahead(1).tok == Tok::Ident && self.ahead(2).tok == Tok::Colon;
        let kind = self.bracketed(false, |p| {
            if !is_record {
                return Ok(TypeKind::Seq(p.ty()?));
            }
            let fields = p.commas(|p| {
                let name = p.name("the name of a field")?;
                p.expect(Tok::Colon)?;
                Ok((name, p.ty()?))
            })?;
            Ok(TypeKind::Record(fields))
        })?;
        let span = self.since(lo);
        self.type_node(kind.unwrap_or(TypeKind::Error), span)
    }

    fn array_type(&mut self) -> Parsed<TypeId> {
        let lo = self.span();
        let kind = self.bracketed(false, |p| {
            let mut binder = None;
            if p.at(Tok::Ident) && p.ahead(1).tok == Tok::Arrow {
                binder = Some(p.name("a name")?);
                p.bump();
            }
            let elem = p.ty()?;
            let mut sizes = Vec::new();
            if p.eat(Tok::Semi) {
                if p.at_end() {
                    return Err(p.unexpected("a size after the `;`"));
                }
                sizes = p.commas(Self::expr)?;
            } else if binder.is_some() {
                return Err(p.unexpected("`;` and the number of elements"));
            }
            Ok(TypeKind::Array { binder, elem, sizes })
        })?;
        let span = self.since(lo);
        self.type_node(kind.unwrap_or(TypeKind::Error), span)
    }
}
