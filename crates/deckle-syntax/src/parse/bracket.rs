//! Expressions in brackets: tuples, arguments, indices, sequences, arrays and comprehensions.

use deckle_diag::{Code, Diagnostic};

use super::{Parsed, Parser};
use crate::ast::{Arg, ExprId, ExprKind, Gen, IndexItem, Name};
use crate::lex::Tok;

impl Parser<'_> {
    /// `(a)`, `(a, b)`, `()` or `(+)`.
    pub(super) fn paren(&mut self) -> Parsed<ExprId> {
        let lo = self.span();
        if let Some(op) = self.ahead(1).tok.bin_op()
            && self.ahead(2).tok == Tok::ParenR
        {
            let span = self.span_of(self.ahead(1));
            self.pos += 3;
            return self.expr_node(ExprKind::Operator(op), span);
        }
        let parts = self.bracketed(false, |p| p.commas(Self::expr))?;
        let span = self.since(lo);
        match parts {
            None => Ok(self.error_expr(span)),
            Some(parts) => match parts[..] {
                [one] => Ok(one),
                _ => self.expr_node(ExprKind::Tuple(parts), span),
            },
        }
    }

    /// The arguments after `func`.
    pub(super) fn call(&mut self, func: ExprId) -> Parsed<ExprKind> {
        self.note_split_postfix();
        let args = self.list(Self::arg)?;
        let named = args.iter().filter(|a| a.name.is_some()).count();
        if named != 0
            && let Some(bare) = args.iter().find(|a| a.name.is_none())
        {
            let span = self.build.module[bare.value].span;
            self.report(
                Diagnostic::new(Code::Unexpected, "this argument has no name, but others have", span, "")
                    .note("arguments with names are the fields of a record, as in `point(x = 1.0, y = 2.0)`")
                    .help("name all arguments or none; a comparison is written `==`"),
            );
            return Ok(ExprKind::Error);
        }
        Ok(ExprKind::Call { func, args })
    }

    fn arg(&mut self) -> Parsed<Arg> {
        let name = self.field_name()?;
        if let Some(op) = self.tok().bin_op()
            && matches!(self.ahead(1).tok, Tok::Comma | Tok::ParenR)
        {
            let span = self.span();
            self.bump();
            return Ok(Arg { name, value: self.expr_node(ExprKind::Operator(op), span)? });
        }
        Ok(Arg { name, value: self.expr()? })
    }

    /// `x =`, if present.
    fn field_name(&mut self) -> Parsed<Option<Name>> {
        if !self.at_assignment() {
            return Ok(None);
        }
        let name = self.name("a field")?;
        self.bump();
        Ok(Some(name))
    }

    /// Whether `x =` is here.
    pub(super) fn at_assignment(&self) -> bool {
        self.at(Tok::Ident) && self.ahead(1).tok == Tok::Eq
    }

    pub(super) fn with(&mut self, base: ExprId) -> Parsed<ExprKind> {
        self.bump();
        if !self.at(Tok::ParenL) {
            return Err(self.unexpected("the fields that change, in parentheses, as in `p with (x = 1.0)`"));
        }
        let fields = self.list(|p| match p.field_name()? {
            Some(name) => Ok((name, p.expr()?)),
            None => Err(p.unexpected("a field and its value, as in `x = 1.0`")),
        })?;
        Ok(ExprKind::With { base, fields })
    }

    /// The index after `base`.
    pub(super) fn index(&mut self, base: ExprId) -> Parsed<ExprKind> {
        self.note_split_postfix();
        let items = self.bracketed(false, |p| {
            if p.at_end() {
                return Err(p.unexpected("an index"));
            }
            p.commas(Self::index_item)
        })?;
        Ok(items.map_or(ExprKind::Error, |items| ExprKind::Index { base, items }))
    }

    fn index_item(&mut self) -> Parsed<IndexItem> {
        let span = self.span();
        let ends = |p: &Self| p.at(Tok::Comma) || p.at_end();
        let lo = if self.at(Tok::Colon) { None } else { Some(self.expr()?) };
        if !self.eat(Tok::Colon) {
            return lo.map(IndexItem::At).ok_or_else(|| self.unexpected("an index"));
        }
        let hi = if ends(self) { None } else { Some(self.expr()?) };
        if self.at(Tok::Colon) {
            return Err(self.unexpected("`,` or `]`"));
        }
        Ok(if lo.is_none() && hi.is_none() { IndexItem::All(span) } else { IndexItem::Range(lo, hi) })
    }

    /// Everything between `{ }` or `[ ]`.
    pub(super) fn collection(&mut self) -> Parsed<ExprId> {
        let lo = self.span();
        let square = self.at(Tok::BracketL);
        let kind = self.bracketed(true, |p| p.collection_inside(square))?;
        let span = self.since(lo);
        self.expr_node(kind.unwrap_or(ExprKind::Error), span)
    }

    fn collection_inside(&mut self, square: bool) -> Parsed<ExprKind> {
        let of = if square { ExprKind::Array } else { ExprKind::Seq };
        if self.at_end() {
            return Ok(of(Vec::new()));
        }
        if self.at_assignment() {
            return Err(self.report_record_in_braces());
        }
        let body = self.expr()?;
        match self.tok() {
            Tok::Colon => {
                self.bump();
                self.comprehension(square, body)
            }
            Tok::For => {
                self.report_swap("for", ":", "the generators of a comprehension follow a colon");
                self.bump();
                self.comprehension(square, body)
            }
            Tok::Bar if !square => {
                self.report_arrow_generator()?;
                self.bump();
                let cond = self.expr()?;
                self.refuse_second_bar()?;
                Ok(ExprKind::Guarded { body, cond })
            }
            Tok::Bar => {
                self.report_arrow_generator()?;
                Err(self.refuse_bar())
            }
            Tok::Comma => {
                self.bump();
                let mut parts = vec![body];
                parts.extend(self.commas(Self::expr)?);
                Ok(of(parts))
            }
            _ if self.at_end() => Ok(of(vec![body])),
            _ => {
                let closer = if square { "]" } else { "}" };
                Err(self.unexpected(&format!("`,`, `{closer}`, or `:` and a generator such as `x in xs`")))
            }
        }
    }

    fn comprehension(&mut self, square: bool, body: ExprId) -> Parsed<ExprKind> {
        let mut gens = Vec::new();
        let mut guard = None;
        loop {
            gens.push(self.generator()?);
            match self.tok() {
                Tok::Semi => {
                    self.bump();
                    if !self.at_end() && !self.at(Tok::Bar) {
                        continue;
                    }
                }
                Tok::Comma if self.generator_ahead(1) => {
                    self.report_swap(",", ";", "generators are separated by `;`");
                    self.bump();
                    continue;
                }
                Tok::Comma | Tok::If => {
                    let found = self.tok().text().unwrap_or(",");
                    self.report_swap(found, "|", "the condition of a comprehension follows `|`");
                    self.bump();
                    guard = Some(self.expr()?);
                }
                _ => {}
            }
            break;
        }
        if guard.is_none() && self.eat(Tok::Bar) {
            guard = Some(self.expr()?);
            self.refuse_second_bar()?;
        }
        Ok(if square { ExprKind::ArrayComp { body, gens, guard } } else { ExprKind::SeqComp { body, gens, guard } })
    }

    fn generator(&mut self) -> Parsed<Gen> {
        let lo = self.span();
        let plausible = match self.tok() {
            Tok::Ident | Tok::Underscore => self.ahead(1).tok == Tok::In,
            tok => tok == Tok::ParenL,
        };
        if !plausible {
            return Err(self.report_no_generator());
        }
        let pat = self.pat()?;
        self.expect(Tok::In)?;
        let source = self.expr()?;
        Ok(Gen { pat, source, span: self.since(lo) })
    }

    fn refuse_second_bar(&mut self) -> Parsed<()> {
        if self.at(Tok::Bar) { Err(self.refuse_bar()) } else { Ok(()) }
    }

    /// Records a bracket that starts a line and yet continues the expression of the line before.
    fn note_split_postfix(&mut self) {
        if self.token().first {
            self.split_postfix = Some(self.span());
        }
    }

    fn report_swap(&mut self, found: &str, meant: &str, why: &str) {
        let message = format!("`{found}` where `{meant}` is meant");
        self.report(
            Diagnostic::new(Code::Unexpected, message, self.span(), "")
                .note(why)
                .help(format!("write `{meant}` instead of `{found}`")),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{complaint, complaints, shape};

    #[test]
    fn parentheses_group_and_make_tuples() {
        assert_eq!(shape("(a)"), "a");
        assert_eq!(shape("(a, b,)"), "(tuple a b)");
        assert_eq!(shape("((a, b), ())"), "(tuple (tuple a b) (tuple))");
    }

    #[test]
    fn operators_can_be_arguments() {
        assert_eq!(shape("fold(+, 0, xs)"), "(call fold (op +) 0 xs)");
        assert_eq!(shape("fold((*), 1, xs)"), "(call fold (op *) 1 xs)");
        assert_eq!(shape("f(xs, ++)"), "(call f xs (op ++))");
        assert_eq!(shape("f(-, -1)"), "(call f (op -) (neg 1))");
    }

    #[test]
    fn named_arguments_make_records() {
        assert_eq!(shape("vec3(x = 1.0, y = a == b,)"), "(call vec3 x=1.0 y=(== a b))");
        assert_eq!(complaint("vec3(x = 1.0, 2.0)"), "this argument has no name, but others have");
    }

    #[test]
    fn indices_have_ranges() {
        assert_eq!(shape("a[i, :, lo:hi, 1:, :n]"), "(index a i : lo:hi 1: :n)");
        assert_eq!(shape("a[i | 1]"), "(index a (| i 1))");
    }

    #[test]
    fn collections_are_literals_or_comprehensions() {
        assert_eq!(shape("{}"), "(seq)");
        assert_eq!(shape("[a, b,]"), "(array a b)");
        assert_eq!(shape("{ x * y : x in xs; (y, _) in ys | x < y }"), {
            "(seq-comp (* x y) (x xs) ((tuple y _) ys) | (< x y))"
        });
        assert_eq!(shape("[ x : x in xs ]"), "(array-comp x (x xs))");
        assert_eq!(shape("{ x | x > 0 }"), "(guarded x (> x 0))");
        assert_eq!(shape("{ let y = x in y : x in xs }"), "(seq-comp (let y x y) (x xs))");
    }

    #[test]
    fn a_bar_is_an_operator_again_in_inner_brackets() {
        assert_eq!(shape("{ (a | b) : a in f(b | 1) | c }"), "(seq-comp (| a b) (a (call f (| b 1))) | c)");
        assert_eq!(shape("[a || b]"), "(array (|| a b))");
        assert_eq!(complaint("{ x : x in xs | a | b }"), "`|` starts the condition of a comprehension here");
        assert_eq!(complaint("[a, b | c]"), "expected `,` or `]`, found `|`");
    }

    #[test]
    fn comprehensions_of_other_languages_are_understood() {
        assert_eq!(complaint("{ x : x in xs, y in ys }"), "`,` where `;` is meant");
        assert_eq!(complaint("{ x : x in xs, x > 0 }"), "`,` where `|` is meant");
        assert_eq!(complaint("[x for x in xs]"), "`for` where `:` is meant");
        assert_eq!(complaints("[x for x in xs if x > 0]"), ["`for` where `:` is meant", "`if` where `|` is meant"]);
        assert_eq!(complaint("{ x | x <- xs }"), "a generator is written `x in xs`");
    }
}
