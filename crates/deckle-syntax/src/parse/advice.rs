//! What to say to someone who writes another language, or is learning this one.

use deckle_diag::{Code, Diagnostic, Span};

use super::bracket::line_of;
use super::{Fail, Parsed, Parser};
use crate::lex::Tok;

const LAMBDA: &str = "a function is written `\\x -> e`";
const NO_STEP: &str = "an index has no step: choose elements with a comprehension";
const NO_BLOCKS: &str = "braces hold the elements of a sequence; there are no blocks: \
                         a value is named with `let x = .. in ..`";

impl Parser<'_> {
    /// The token here, in words.
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

    /// Reports that something else was expected here.
    pub(super) fn unexpected(&mut self, expected: &str) -> Fail {
        if self.at(Tok::Bad) {
            return Fail::Here;
        }
        let message = format!("expected {expected}, found {}", self.describe());
        let mut diagnostic = if self.at_item() {
            Diagnostic::new(Code::Unexpected, message, self.span_of(self.before()), "something is missing after this")
        } else {
            Diagnostic::new(Code::Unexpected, message, self.span(), "")
        };
        if self.dashes_before() {
            diagnostic = diagnostic.help("if `--` was to start a comment: comments start with `//`");
        } else if let Some(help) = self.advice(expected) {
            diagnostic = diagnostic.help(help);
        }
        self.report(diagnostic)
    }

    fn advice(&self, expected: &str) -> Option<String> {
        let wants_name = expected.contains("name");
        let wants_expr = expected == "an expression";
        let before = self.before().tok;
        Some(match self.tok() {
            Tok::FatArrow | Tok::Arrow => LAMBDA.into(),
            Tok::Bar | Tok::BarBar if wants_expr => LAMBDA.into(),
            Tok::Dot if before == Tok::Ident && expected.contains("->") => LAMBDA.into(),
            Tok::Comma if expected.contains("->") => "parameters stand side by side: `\\x y -> e`".into(),
            Tok::Colon if expected.contains("->") => "the types of these parameters are found by themselves".into(),
            Tok::Colon if expected == "`then`" => "an `if` is written `if c then a else b`".into(),
            Tok::Bar if self.bar_is_guard => "inside `{ }` and `[ ]` write the operator as `(a | b)`".into(),
            Tok::BraceL => NO_BLOCKS.into(),
            Tok::Colon if self.in_square() => NO_STEP.into(),
            Tok::Colon if !wants_expr => {
                "a type can be written for a parameter, a result, or in `let x: t = .. in ..`".into()
            }
            Tok::ColonColon if self.in_square() => NO_STEP.into(),
            Tok::ColonColon => "a name of a module is reached with a dot: `m.f`".into(),
            Tok::Semi if self.in_square() => "sizes follow a `;` only in a type; elements are separated by `,`".into(),
            Tok::Semi => "there are no statements: `let x = .. in ..` names a value".into(),
            Tok::DotDot | Tok::DotDotLt | Tok::DotDotEq if wants_expr => "a range needs a start: `0..n`".into(),
            Tok::For if wants_expr => {
                "for every element write `{ e : x in xs }`; to repeat, `loop acc = 0 for i < n do ..`".into()
            }
            Tok::While if wants_expr => "a loop starts with its state: `loop x = 1 while x < n do x * 2`".into(),
            Tok::Def if !self.token().first => "a function inside another is written `let f = \\x -> e in ..`".into(),
            Tok::LessEq if expected.contains("bound") => "up to and with `n`, write `for i in 0..n`".into(),
            Tok::In if !wants_name => "`in` belongs to a `let` or to a generator in `{ }` or `[ ]`".into(),
            Tok::Then | Tok::Else => "a choice is written `if c then a else b`".into(),
            Tok::Underscore => "`_` stands only where a name would be bound".into(),
            tok if tok.is_keyword() && wants_name => format!("`{}` is a keyword; choose another name", self.word()),
            _ if wants_expr && matches!(before, Tok::DotDot | Tok::DotDotLt) => "a range needs an end: `0..n`".into(),
            tok if wants_expr && tok.bin_op().is_some() => self.operator_advice(),
            Tok::Ident => return self.name_advice(before, wants_name),
            tok if self.is_argument(before, tok) => self.call_advice(),
            _ => return None,
        })
    }

    fn operator_advice(&self) -> String {
        let op = self.word();
        if self.before().tok == Tok::ParenL {
            return format!("a function that applies `{op}` is written `\\x -> x {op} 1`, or `({op})`");
        }
        format!("`{op}` stands between two values")
    }

    fn name_advice(&self, before: Tok, wants_name: bool) -> Option<String> {
        let word = self.word();
        if word == "elif" || word == "elsif" || word == "elseif" {
            return Some("write `else if`".into());
        }
        if self.token().first && matches!(self.ahead(1).tok, Tok::Eq | Tok::ParenL) && self.open.is_empty() {
            return Some("definitions start with `def`".into());
        }
        if word == "where" {
            return Some("a name is given before it is used: `let x = .. in ..`".into());
        }
        (!wants_name && self.is_argument(before, Tok::Ident)).then(|| self.call_advice())
    }

    /// Whether this looks like `f x`.
    fn is_argument(&self, before: Tok, tok: Tok) -> bool {
        before == Tok::Ident && tok.starts_expr() && !self.token().first
    }

    fn call_advice(&self) -> String {
        let func = self.text_of(self.span_of(self.before()));
        format!("a function is called with parentheses: `{func}({})`", self.word())
    }

    fn in_square(&self) -> bool {
        self.open.last().is_some_and(|o| o.is_square())
    }

    /// Whether `--` stands before this token on its line.
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

    /// Reports an operator that is spelt as in another language.
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

    /// Reports words that start an expression elsewhere; true where it is best to go on after the word.
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

    /// After the value of a `let`, where `in` is missing; `Ok` where an expression follows all the same.
    pub(super) fn report_missing_in(&mut self) -> Parsed<()> {
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
        let mut diagnostic = Diagnostic::new(Code::Unexpected, message, self.span(), "")
            .note("after the last `let` comes `in` and the expression that uses the names");
        if let Some(split) = self.split_postfix.filter(|_| !goes_on) {
            let bracket = self.text_of(split);
            let line = line_of(self.text, split);
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
            Diagnostic::new(Code::Unexpected, message, self.span(), "")
                .label(Span { hi: lo.hi, ..lo }, "this `if`")
                .note("every `if` has a value, so it needs an `else`")
                .help("write `if c then a else b`"),
        )
    }

    pub(super) fn report_let_function(&mut self) -> Fail {
        let name = self.text_of(self.span_of(self.before()));
        self.report(
            Diagnostic::new(Code::Unexpected, "a `let` has no parameters", self.span(), "")
                .help(format!("write `let {name} = \\x -> ..`"))
                .help(format!("or define `def {name}(x) = ..` outside of this function")),
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

    /// Reports a `|` that can only have been meant as an operator.
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
    use super::super::tests::{complaint, complaints, expr_error, first_error};

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
    fn lambdas_of_other_languages_lead_to_ours() {
        for text in
            ["x => x", "f(x => x)", "f(|x| x)", "f(lambda x: x)", "f((x, y) => x)", "x -> x", "\\x. x", "\\x => x"]
        {
            assert_eq!(helps(text), super::LAMBDA, "{text}");
        }
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
    fn records_in_braces_lead_to_calls() {
        assert!(helps("{ x = 1, y = 2 }").starts_with("a record is made by the name of its type: `point(x = ..)`"));
        assert!(helps("{ x: 1, y: 2 }").contains("point(x = 1.0)"));
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
        assert_eq!(first_error("def f(by) = 1").helps, ["`by` is a keyword; choose another name"]);
    }
}
