//! Written types.

use deckle_diag::{Code, Diagnostic};

use super::{Fail, Parsed, Parser};
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
            let tokens = [self.ahead(1).tok, self.ahead(2).tok];
            let misread = match tokens {
                [Tok::BracketR, _] => {
                    self.report_type("`[ ]` does not stand after a type", "an array of `t` is written `[t]`");
                    2
                }
                [Tok::Int { value, .. }, Tok::BracketR] => {
                    let help = format!("{value} elements are written `[{}; {value}]`", name.text);
                    self.report_type("the size of an array does not stand after its type", &help);
                    3
                }
                _ => 0,
            };
            if misread > 0 {
                for _ in 0..misread {
                    self.bump();
                }
                let span = self.since(lo);
                return self.type_node(TypeKind::Error, span);
            }
            args = self.list(|p| p.ty())?;
        } else if self.at(Tok::Less) {
            let help = "write `csr[real]`, not `csr<real>`";
            return Err(self.report_type("the arguments of a type stand in square brackets", help));
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
            } else if p.at(Tok::Comma) {
                return Err(p.report_type("the sizes of an array follow a `;`", "write `[real; n, m]`"));
            } else if binder.is_some() {
                return Err(p.unexpected("`;` and the number of elements"));
            }
            Ok(TypeKind::Array { binder, elem, sizes })
        })?;
        let span = self.since(lo);
        self.type_node(kind.unwrap_or(TypeKind::Error), span)
    }

    fn report_type(&mut self, message: &str, help: &str) -> Fail {
        self.report(Diagnostic::new(Code::Unexpected, message, self.span(), "").help(help))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dump, first_error};

    #[test]
    fn types_nest() {
        assert_eq!(dump("type t = ({[int]}, (), (real))"), "(type t ({[int]} () real))\n");
        assert_eq!(dump("type t = { x: { y: int } }"), "(type t {x:{y:int}})\n");
        assert_eq!(dump("type t = [i -> [real; i + 1]; n]"), "(type t [i -> [real; (+ i 1)]; n])\n");
        assert_eq!(dump("type t = m.csr[real, [int]]"), "(type t m.csr[real [int]])\n");
    }

    #[test]
    fn types_of_other_languages_are_recognised() {
        assert_eq!(first_error("type t = int[]").helps, ["an array of `t` is written `[t]`"]);
        assert_eq!(first_error("type t = Vec<int>").helps, ["write `csr[real]`, not `csr<real>`"]);
        assert_eq!(first_error("type t = [real, n]").helps, ["write `[real; n, m]`"]);
        assert_eq!(first_error("type t = real -> real").helps, ["functions are not values, and have no types"]);
        assert_eq!(first_error("type t = { x: real, y real }").helps, ["a type follows a colon: `x: int`"]);
        assert_eq!(first_error("type t = [i -> real]").message, "expected `;` and the number of elements, found `]`");
    }
}
