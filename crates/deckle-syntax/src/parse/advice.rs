//! Messages: what was expected, what was found instead, and the likely intention.

use deckle_diag::{Code, Diagnostic};

use super::{Fail, Parser};
use crate::lex::Tok;

pub(super) const LAMBDA: &str = "a function is written `\\x -> e`";
const NO_STEP: &str = "an index has no step: choose elements with a comprehension";
const NO_BLOCKS: &str = "braces hold the elements of a sequence; there are no blocks: \
                         a value is named with `let x = .. in ..`";

impl Parser<'_> {
    /// A description of the token here.
    pub(super) fn describe(&self) -> String {
        match self.tok() {
            Tok::Eof => "the end of the file".into(),
            _ if self.at_item() => format!("the next `{}`", self.word()),
            Tok::Int { .. } | Tok::Float { .. } => format!("the number `{}`", self.word()),
            Tok::Char(_) => format!("the character {}", self.word()),
            Tok::Str(_) => "a string".into(),
            Tok::Ident => format!("the name `{}`", self.word()),
            tok if tok.is_keyword() => format!("the keyword `{}`", self.word()),
            _ => format!("`{}`", self.word()),
        }
    }

    /// The place to report a missing token: here, or after the last token of an item that ends too early.
    pub(super) fn complain(&self, message: String) -> Diagnostic {
        if self.at_item() {
            let last = self.span_of(self.before());
            return Diagnostic::new(Code::Unexpected, message, last, "something is missing after this");
        }
        Diagnostic::new(Code::Unexpected, message, self.span(), "")
    }

    /// Reports that something else was expected here.
    pub(super) fn unexpected(&mut self, expected: &str) -> Fail {
        if self.at(Tok::Bad) {
            return Fail::Here;
        }
        let mut diagnostic = self.complain(format!("expected {expected}, found {}", self.describe()));
        if self.dashes_before() {
            diagnostic = diagnostic.help("if `--` was to start a comment: comments start with `//`");
        } else if let Some(help) = self.advice(expected) {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic)
    }

    fn advice(&self, expected: &str) -> Option<String> {
        if expected == "an expression" {
            return self.advice_on_missing_value();
        }
        if expected.contains("->") {
            return self.advice_on_parameters();
        }
        let wants_name = expected.contains("name");
        Some(match self.tok() {
            _ if self.at_item() => return None,
            Tok::Arrow if expected.starts_with("the next") => "functions are not values, and have no types".into(),
            Tok::FatArrow | Tok::Arrow => LAMBDA.into(),
            Tok::Colon if expected == "`then`" => "an `if` is written `if c then a else b`".into(),
            Tok::Bar if self.bar_is_guard => "inside `{ }` and `[ ]` write the operator as `(a | b)`".into(),
            Tok::BraceL => NO_BLOCKS.into(),
            Tok::Colon | Tok::ColonColon if self.in_square() => NO_STEP.into(),
            Tok::ColonColon => "a name of a module is reached with a dot: `m.f`".into(),
            Tok::Colon => "a type can be written for a parameter, a result, or in `let x: t = .. in ..`".into(),
            Tok::Semi if self.in_square() => "sizes follow a `;` only in a type; elements are separated by `,`".into(),
            Tok::Semi => "there are no statements: `let x = .. in ..` names a value".into(),
            Tok::Eq if expected == "`,` or `)`" => "parameters have no default values".into(),
            Tok::LessEq if expected.contains("bound") => "up to and with `n`, write `for i in 0..n`".into(),
            Tok::In if !wants_name => "`in` belongs to a `let` or to a generator in `{ }` or `[ ]`".into(),
            Tok::Then | Tok::Else => "a choice is written `if c then a else b`".into(),
            tok if tok.is_keyword() && wants_name => format!("`{}` is a keyword; choose another name", self.word()),
            tok if tok.is_closer() && self.open.is_empty() => "there is no opening bracket for it".into(),
            Tok::Ident => return self.advice_on_name(expected),
            tok if tok.starts_expr() && self.follows_expr(expected) => return self.advice_on_call(),
            _ => return None,
        })
    }

    /// Advice on a missing value.
    fn advice_on_missing_value(&self) -> Option<String> {
        let before = self.before();
        let adjacent = before.hi == self.token().lo;
        let operator = self.text_of(self.span_of(before));
        Some(match self.tok() {
            Tok::Eq if before.tok.bin_op().is_some() && adjacent => {
                "a value does not change; give the new one a name: `let y = x + 1 in ..`".into()
            }
            Tok::Greater if before.tok == Tok::Bar && adjacent => {
                "a function is called with parentheses: `f(x)`".into()
            }
            Tok::FatArrow | Tok::Arrow | Tok::Bar | Tok::BarBar => LAMBDA.into(),
            Tok::DotDot | Tok::DotDotLt | Tok::DotDotEq => "a range needs a start: `0..n`".into(),
            Tok::For => "for every element write `{ e : x in xs }`; to repeat, `loop acc = 0 for i < n do ..`".into(),
            Tok::While => "a loop starts with its state: `loop x = 1 while x < n do x * 2`".into(),
            Tok::Def if !self.token().first => "functions cannot be nested".into(),
            Tok::Underscore => "`_` stands only where a name would be bound".into(),
            Tok::ColonColon if self.in_square() => NO_STEP.into(),
            _ if matches!(before.tok, Tok::DotDot | Tok::DotDotLt) => "a range needs an end: `0..n`".into(),
            tok if tok.bin_op().is_some() && before.tok == Tok::ParenL => {
                let operator = self.word();
                format!("a function that applies `{operator}` is written `\\x -> x {operator} 1`, or `({operator})`")
            }
            tok if tok.bin_op().is_some() => format!("`{}` stands between two values", self.word()),
            _ if before.tok.bin_op().is_some() => format!("`{operator}` needs a value after it"),
            Tok::In => "`in` belongs to a `let` or to a generator in `{ }` or `[ ]`".into(),
            Tok::Then | Tok::Else => "a choice is written `if c then a else b`".into(),
            _ => return None,
        })
    }

    /// Advice on the end of the parameters of a lambda.
    fn advice_on_parameters(&self) -> Option<String> {
        Some(match self.tok() {
            Tok::Comma => "parameters are separated by spaces: `\\x y -> e`".into(),
            Tok::Colon => "the types of these parameters are found by themselves".into(),
            _ => LAMBDA.into(),
        })
    }

    fn advice_on_name(&self, expected: &str) -> Option<String> {
        match self.word() {
            "elif" | "elsif" | "elseif" => return Some("write `else if`".into()),
            "where" => return Some("a name is given before it is used: `let x = .. in ..`".into()),
            _ if matches!(expected, "`:`" | "`=`") => return Some("a type follows a colon: `x: int`".into()),
            _ => {}
        }
        if self.token().first && matches!(self.ahead(1).tok, Tok::Eq | Tok::ParenL) && self.open.is_empty() {
            return Some("definitions start with `def`".into());
        }
        if self.follows_expr(expected) { self.advice_on_call() } else { None }
    }

    /// Whether the expected token is one that may follow a complete expression.
    fn follows_expr(&self, expected: &str) -> bool {
        ["an operator", "`,`", "`then`", "`do`"].iter().any(|start| expected.starts_with(start))
    }

    /// Advice on `f x`.
    fn advice_on_call(&self) -> Option<String> {
        if self.before().tok == Tok::ParenR && !self.token().first && self.before().hi < self.token().lo {
            return Some("all arguments stand in one pair of parentheses: `f(x, y)`".into());
        }
        if self.before().tok != Tok::Ident || self.token().first {
            return None;
        }
        Some(match self.text_of(self.span_of(self.before())) {
            "match" | "case" | "switch" => "a choice is written `if c then a else b`".into(),
            func => format!("a function is called with parentheses: `{func}({})`", self.word()),
        })
    }

    fn in_square(&self) -> bool {
        self.open.last().is_some_and(|o| o.is_square())
    }

    /// Whether `--` comes before this token on its line.
    fn dashes_before(&self) -> bool {
        let tokens = &self.lexed.tokens[..self.pos];
        for pair in tokens.windows(2).rev().take(40) {
            if pair[1].tok == Tok::Minus && pair[0].tok == Tok::Minus && pair[0].hi == pair[1].lo {
                return !self.token().first;
            }
            if pair[1].first {
                return false;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{complaint, complaints, expr_error, first_error};

    fn helps(text: &str) -> String {
        expr_error(text).helps.join("; ")
    }

    #[test]
    fn lambdas_of_other_languages_lead_to_ours() {
        for text in
            ["x => x", "f(x => x)", "f(|x| x)", "f(lambda x: x)", "f((x, y) => x)", "x -> x", "\\x. x", "\\x => x"]
        {
            assert_eq!(helps(text), super::LAMBDA, "{text}");
        }
    }

    #[test]
    fn an_if_needs_an_else() {
        let error = expr_error("(if a then b)");
        assert_eq!(error.message, "expected `else`, found `)`");
        assert_eq!(error.notes, ["every `if` has a value, so it needs an `else`"]);
        assert_eq!(helps("if a then b elif c then d else e"), "write `else if`");
        assert_eq!(helps("if a { b } else { c }"), super::NO_BLOCKS);
    }

    #[test]
    fn statements_lead_to_expressions() {
        assert_eq!(complaint("return x + 1"), "there is no `return`");
        assert!(helps("for x in xs { x }").starts_with("for every element write"));
        assert!(helps("while x < 1 do x").starts_with("a loop starts with its state"));
        assert_eq!(helps("f x"), "a function is called with parentheses: `f(x)`");
        assert_eq!(helps("m::f(x)"), "a name of a module is reached with a dot: `m.f`");
        assert_eq!(helps("1 --one more thing"), "if `--` was to start a comment: comments start with `//`");
    }

    #[test]
    fn ranges_have_two_ends() {
        assert_eq!(helps("f(..n)"), "a range needs a start: `0..n`");
        assert_eq!(helps("f(0..)"), "a range needs an end: `0..n`");
    }

    #[test]
    fn open_brackets_are_shown_where_they_open() {
        let error = first_error("def f() = g(1, [2, 3)\ndef h() = 1");
        assert_eq!(error.message, "this `[` is never closed");
        assert_eq!((error.labels[0].span.lo, error.labels[1].span.lo), (15, 20));
        assert_eq!(first_error("def f() = (1 + (2\n").message, "this `(` is never closed");
    }

    #[test]
    fn errors_in_one_list_are_reported_together() {
        assert_eq!(complaints("f(1 +, 2 *, [3 3], 4)").len(), 3);
    }

    #[test]
    fn keywords_are_no_names() {
        assert_eq!(first_error("def in(x) = x").helps, ["`in` is a keyword; choose another name"]);
        assert_eq!(first_error("def f(do) = 1").helps, ["`do` is a keyword; choose another name"]);
    }
}
