//! Mistakes that are recognised as a whole.

use deckle_diag::{Code, Diagnostic, Span};

use super::advice::LAMBDA;
use super::{Fail, Parsed, Parser};
use crate::lex::Tok;

impl Parser<'_> {
    /// Reports an operator in the spelling of another language.
    pub(super) fn report_misspelt_infix(&mut self) {
        let found = self.word();
        let (meant, why) = match (self.tok(), found) {
            (Tok::Eq, _) => ("==", "`=` gives a name to a value; `==` compares"),
            (Tok::LessGreater, _) => ("!=", "values that differ are compared with `!=`"),
            (Tok::DotDotEq, _) => ("..", "`..` is already inclusive; `..<` leaves out the end"),
            (Tok::Ident, "and") => ("&&", "both conditions hold: `a && b`"),
            (Tok::Ident, "or") => ("||", "one of the conditions holds: `a || b`"),
            (Tok::Ident, "mod") => ("%", "the remainder is `a % b`"),
            (Tok::Ident, "div") => ("/", "between integers `/` gives an integer"),
            (Tok::Ident, "xor") => ("^", "bits that differ are `a ^ b`"),
            _ => return,
        };
        let message = format!("`{found}` where `{meant}` is meant");
        let diagnostic = Diagnostic::new(Code::Unexpected, message, self.span(), "").note(why);
        self.report(diagnostic.help(format!("write `{meant}`")));
    }

    /// Reports words that start an expression in other languages; true if parsing should continue after the word.
    pub(super) fn report_foreign_word(&mut self) -> Parsed<bool> {
        let next = self.ahead(1);
        let same_line = !next.first;
        match self.word() {
            "return" if next.tok.starts_expr() && same_line => {
                self.report(
                    Diagnostic::new(Code::Unexpected, "there is no `return`", self.span(), "")
                        .note("a function is one expression, and its value is the result")
                        .help("leave out `return`"),
                );
                self.bump();
                Ok(true)
            }
            "lambda" | "fn" | "fun" | "function" | "func"
                if same_line && matches!(next.tok, Tok::Ident | Tok::Underscore | Tok::Colon) =>
            {
                let message = format!("`{}` does not start a function here", self.word());
                Err(self.report(Diagnostic::new(Code::Unexpected, message, self.span(), "").help(LAMBDA)))
            }
            _ => Ok(false),
        }
    }

    /// After the value of the `let` at `lo`, if `in` is missing; `Ok` if an expression follows nevertheless.
    pub(super) fn report_missing_in(&mut self, lo: Span) -> Parsed<()> {
        if self.at(Tok::Semi) {
            self.report(
                Diagnostic::new(Code::Unexpected, "`;` where `in` is meant", self.span(), "")
                    .note("a `let` is an expression: `let x = 1 in x + 1`")
                    .help("write `in`, or nothing before another `let`"),
            );
            self.bump();
            return Ok(());
        }
        if self.at_assignment() && self.token().first {
            let name = self.word();
            self.report(
                Diagnostic::new(Code::Unexpected, "a value is named with `let`", self.span(), "")
                    .help(format!("write `let {name} = ..`")),
            );
            return Ok(());
        }
        let goes_on = self.tok().starts_expr() && self.token().first;
        if !goes_on && !self.at_item() {
            return Err(self.unexpected("an operator, or `in` and the expression that uses this `let`"));
        }
        let message = format!("expected `in` before {}", self.describe());
        let mut diagnostic =
            self.complain(message).note("after the last `let` comes `in` and the expression that uses the names");
        if goes_on {
            diagnostic = diagnostic.help(format!("write `in {} ..`", self.word()));
        }
        if let Some(split) = self.split_postfix.filter(|s| s.lo > lo.lo && !goes_on) {
            let bracket = self.text_of(split);
            let line = self.text[..split.lo as usize].matches('\n').count() + 1;
            diagnostic = diagnostic
                .label(split, "read as a part of the line before")
                .help(format!("if line {line} is the result, write `in` before its `{bracket}`"));
        }
        let fail = self.report(diagnostic);
        if goes_on { Ok(()) } else { Err(fail) }
    }

    pub(super) fn report_missing_else(&mut self, lo: Span) -> Fail {
        if !self.at_end() && !self.at(Tok::Comma) && !matches!(self.tok(), Tok::In | Tok::Let | Tok::Semi) {
            return self.unexpected("an operator or `else`");
        }
        let message = format!("expected `else`, found {}", self.describe());
        self.report(
            self.complain(message)
                .label(lo, "this `if`")
                .note("every `if` has a value, so it needs an `else`")
                .help("write `if c then a else b`"),
        )
    }

    pub(super) fn report_let_function(&mut self) -> Fail {
        let name = self.text_of(self.span_of(self.before()));
        self.report(
            Diagnostic::new(Code::Unexpected, "a `let` has no parameters", self.span(), "")
                .note("functions are not values, so a `let` cannot name one")
                .help(format!("define `def {name}(x) = ..` outside of this function")),
        )
    }

    pub(super) fn report_loop_over_values(&mut self, start: Span) -> Fail {
        let span = self.since(start);
        self.report(
            Diagnostic::new(Code::Unexpected, "a loop counts over a range without a step", span, "")
                .help("write `for i in 0..<n`")
                .help("for every element of a sequence write `{ e : x in xs }`; to combine them, `fold(f, z, xs)`"),
        )
    }

    pub(super) fn report_record_in_braces(&mut self) -> Fail {
        let name = self.word();
        self.report(
            Diagnostic::new(Code::Unexpected, "braces hold the elements of a sequence, not fields", self.span(), "")
                .help(format!("a record is made by the name of its type: `point({name} = ..)`"))
                .help(format!("a comparison is written `{name} == ..`")),
        )
    }

    pub(super) fn report_no_generator(&mut self) -> Fail {
        if self.at(Tok::Bad) {
            return Fail::Here;
        }
        let message = format!("expected a generator such as `x in xs`, found {}", self.describe());
        self.report(
            Diagnostic::new(Code::Unexpected, message, self.span(), "")
                .note("a comprehension is written `{ x * x : x in xs | x > 0 }`")
                .help("if this is to be a record: it is made by the name of its type, as in `point(x = 1.0)`"),
        )
    }

    /// Reports `{ e | x <- xs }`.
    pub(super) fn report_arrow_generator(&mut self) -> Parsed<()> {
        let tokens = [1, 2, 3].map(|n| self.ahead(n));
        let arrow = tokens.map(|t| t.tok) == [Tok::Ident, Tok::Less, Tok::Minus]
            && tokens[1].hi == tokens[2].lo
            && self.ahead(4).lo > tokens[2].hi;
        if !arrow {
            return Ok(());
        }
        let span = self.span_of(tokens[1]).to(self.span_of(tokens[2]));
        let name = self.text_of(self.span_of(tokens[0]));
        Err(self.report(
            Diagnostic::new(Code::Unexpected, "a generator is written `x in xs`", span, "")
                .note("generators follow a colon, and `|` starts the condition")
                .help(format!("write `: {name} in ..`"))
                .help("if `-` is a sign, write `< -`"),
        ))
    }

    /// Reports a `|` that can only be intended as an operator.
    pub(super) fn refuse_bar(&mut self) -> Fail {
        let message = "`|` starts the condition of a comprehension here";
        self.report(
            Diagnostic::new(Code::Unexpected, message, self.span(), "")
                .note("inside `{ }` and `[ ]` the operator `|` stands in parentheses")
                .help("write `(a | b)`"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{complaint, complaints, expr_error};

    fn helps(text: &str) -> String {
        expr_error(text).helps.join("; ")
    }

    #[test]
    fn misspelt_operators_are_named_and_understood() {
        assert_eq!(complaint("if x = 1 then 2 else 3"), "`=` where `==` is meant");
        assert_eq!(complaint("a and b"), "`and` where `&&` is meant");
        assert_eq!(complaints("a or b <> c"), ["`or` where `||` is meant", "`<>` where `!=` is meant"]);
        assert_eq!(complaint("1..=n"), "`..=` where `..` is meant");
    }

    #[test]
    fn chained_comparisons_are_spelt_out() {
        assert_eq!(complaint("a < b <= c"), "comparisons cannot be chained");
        assert_eq!(helps("a < b + 1 <= c"), "write `a < b + 1 && b + 1 <= c`");
    }

    #[test]
    fn lets_without_in_are_explained() {
        assert_eq!(complaint("let x = 1;\nx + 1"), "`;` where `in` is meant");
        assert_eq!(complaint("let x = 1\nx + 1"), "expected `in` before the name `x`");
        assert_eq!(complaint("let x = 1\ny = 2\nin x + y"), "a value is named with `let`");
        assert_eq!(complaint("let x = f\n(x, 1)"), "expected `in` before the end of the file");
        assert_eq!(helps("let x = f\n(x, 1)"), "if line 2 is the result, write `in` before its `(`");
        assert_eq!(complaint("let f(x) = x in f(1)"), "a `let` has no parameters");
    }

    #[test]
    fn records_in_braces_lead_to_calls() {
        assert!(helps("{ x = 1, y = 2 }").starts_with("a record is made by the name of its type: `point(x = ..)`"));
        assert!(helps("{ x: 1, y: 2 }").contains("point(x = 1.0)"));
    }
}
