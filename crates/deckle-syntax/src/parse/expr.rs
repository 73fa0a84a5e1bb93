//! Expressions.
//!
//! `let`, `if`, `loop` and `\` end in an expression that extends as far right as possible. Those are read in a loop
//! and built from the inside out, so that a thousand `let`s do not nest the parser a thousand levels deep.

use deckle_diag::{Code, Diagnostic, Span};

use super::{Fail, Parsed, Parser};
use crate::ast::{BinOp, ExprId, ExprKind, IndexItem, LoopKind, PatId, TypeId, UnOp};
use crate::lex::{Tok, float_digits};

/// The start of an expression whose last part is still to come.
struct Frame {
    lo: Span,
    kind: FrameKind,
}

enum FrameKind {
    Let { pat: PatId, ty: Option<TypeId>, value: ExprId },
    If { cond: ExprId, then: ExprId },
    Loop { pat: PatId, init: ExprId, kind: LoopKind },
    Lambda { params: Vec<PatId> },
}

impl FrameKind {
    fn complete(self, body: ExprId) -> ExprKind {
        match self {
            FrameKind::Let { pat, ty, value } => ExprKind::Let { pat, ty, value, body },
            FrameKind::If { cond, then } => ExprKind::If { cond, then, els: body },
            FrameKind::Loop { pat, init, kind } => ExprKind::Loop { pat, init, kind, body },
            FrameKind::Lambda { params } => ExprKind::Lambda { params, body },
        }
    }
}

/// An infix operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Infix {
    Op(BinOp),
    Range { inclusive: bool },
}

const COMPARISON: u8 = 2;
const RANGE: u8 = 8;

impl Infix {
    /// Its precedence.
    fn level(self) -> u8 {
        use BinOp::*;
        match self {
            Infix::Op(Or) => 0,
            Infix::Op(And) => 1,
            Infix::Op(Eq | Ne | Lt | Le | Gt | Ge) => COMPARISON,
            Infix::Op(BitOr) => 3,
            Infix::Op(BitXor) => 4,
            Infix::Op(BitAnd) => 5,
            Infix::Op(Shl | Shr) => 6,
            Infix::Op(Append) => 7,
            Infix::Range { .. } => RANGE,
            Infix::Op(Add | Sub) => 9,
            Infix::Op(Mul | Div | Rem) => 10,
            Infix::Op(Pow) => 11,
        }
    }
}

impl Parser<'_> {
    pub(super) fn expr(&mut self) -> Parsed<ExprId> {
        self.nested(|p| {
            let mut frames = Vec::new();
            loop {
                match p.tok() {
                    Tok::Let => p.lets(&mut frames)?,
                    Tok::If => frames.push(p.if_frame()?),
                    Tok::Loop => frames.push(p.loop_frame()?),
                    Tok::Backslash => frames.push(p.lambda_frame()?),
                    _ => break,
                }
            }
            let mut body = p.binary(0)?;
            while let Some(frame) = frames.pop() {
                let span = p.since(frame.lo);
                body = p.expr_node(frame.kind.complete(body), span)?;
            }
            Ok(body)
        })
    }

    /// `let`s, one after the other, up to the last `in`.
    fn lets(&mut self, frames: &mut Vec<Frame>) -> Parsed<()> {
        loop {
            let lo = self.span();
            self.eat(Tok::Let);
            let pat = self.pat()?;
            if self.at(Tok::ParenL) {
                return Err(self.report_let_function());
            }
            let ty = if self.eat(Tok::Colon) { Some(self.ty()?) } else { None };
            self.expect(Tok::Eq)?;
            let value = self.expr()?;
            frames.push(Frame { lo, kind: FrameKind::Let { pat, ty, value } });
            if self.eat(Tok::In) {
                return Ok(());
            }
            if !self.at(Tok::Let) {
                self.report_missing_in(lo)?;
                if !self.at_assignment() {
                    return Ok(());
                }
            }
        }
    }

    fn if_frame(&mut self) -> Parsed<Frame> {
        let lo = self.span();
        self.bump();
        let cond = self.expr()?;
        self.expect(Tok::Then)?;
        let then = self.expr()?;
        if !self.eat(Tok::Else) {
            return Err(self.report_missing_else(lo));
        }
        Ok(Frame { lo, kind: FrameKind::If { cond, then } })
    }

    fn loop_frame(&mut self) -> Parsed<Frame> {
        let lo = self.span();
        self.bump();
        let pat = self.pat()?;
        if !self.eat(Tok::Eq) {
            return Err(self.unexpected("`=` and the value with which the loop starts"));
        }
        let init = self.expr()?;
        let kind = match self.tok() {
            Tok::While => {
                self.bump();
                LoopKind::While(self.expr()?)
            }
            Tok::For => {
                self.bump();
                self.counter()?
            }
            _ => return Err(self.unexpected("`while` and a condition, or `for i < n`")),
        };
        self.expect(Tok::Do)?;
        Ok(Frame { lo, kind: FrameKind::Loop { pat, init, kind } })
    }

    /// `i < n`, `i in lo..hi` or `i in lo..<hi`.
    fn counter(&mut self) -> Parsed<LoopKind> {
        let var = self.name("the name of the loop's counter")?;
        if self.eat(Tok::Less) {
            let hi = self.expr()?;
            return Ok(LoopKind::For { var, lo: None, hi, inclusive: false });
        }
        if !self.eat(Tok::In) {
            return Err(self.unexpected("`<` and a bound, or `in` and a range"));
        }
        let start = self.span();
        let range = self.binary(RANGE)?;
        match self.build.module[range].kind {
            ExprKind::Range { lo, hi, inclusive, step: None } => Ok(LoopKind::For { var, lo: Some(lo), hi, inclusive }),
            ExprKind::Error => Err(Fail::Here),
            _ => Err(self.report_loop_over_values(start)),
        }
    }

    fn lambda_frame(&mut self) -> Parsed<Frame> {
        let lo = self.span();
        self.bump();
        let mut params = vec![self.pat()?];
        while matches!(self.tok(), Tok::Ident | Tok::Underscore | Tok::ParenL) {
            params.push(self.pat()?);
        }
        if !self.eat(Tok::Arrow) {
            return Err(self.unexpected("`->` and the result of this function"));
        }
        Ok(Frame { lo, kind: FrameKind::Lambda { params } })
    }

    /// Operators that bind at least as tightly as `min`.
    fn binary(&mut self, min: u8) -> Parsed<ExprId> {
        let lo = self.span();
        let mut left = self.unary()?;
        while let Some(infix) = self.infix().filter(|i| i.level() >= min) {
            self.report_misspelt_infix();
            let op_at = self.pos;
            self.bump();
            let right_lo = self.span();
            let right = self.binary(infix.level() + 1)?;
            let kind = match infix {
                Infix::Op(op) => ExprKind::Binary(op, left, right),
                Infix::Range { inclusive } => {
                    let step = if self.eat_word("by") { Some(self.binary(RANGE + 1)?) } else { None };
                    ExprKind::Range { lo: left, hi: right, inclusive, step }
                }
            };
            let span = self.since(lo);
            left = self.expr_node(kind, span)?;
            if self.infix().is_some_and(|next| next.level() == infix.level())
                && matches!(infix.level(), COMPARISON | RANGE)
            {
                let middle = self.since(right_lo);
                left = self.chain(infix, op_at, lo, middle)?;
            }
        }
        Ok(left)
    }

    /// Reports `a < b < c` and `a..b..c`, and reads the rest of the chain.
    fn chain(&mut self, first: Infix, op_at: usize, lo: Span, middle: Span) -> Parsed<ExprId> {
        self.report_chain(first.level() == COMPARISON, op_at, middle);
        while let Some(next) = self.infix().filter(|next| next.level() == first.level()) {
            self.bump();
            self.binary(next.level() + 1)?;
        }
        let span = self.since(lo);
        Ok(self.error_expr(span))
    }

    /// The operator here, including spellings of other languages.
    fn infix(&self) -> Option<Infix> {
        let op = match self.tok() {
            Tok::Bar if self.bar_is_guard => return None,
            Tok::DotDot | Tok::DotDotEq => return Some(Infix::Range { inclusive: true }),
            Tok::DotDotLt => return Some(Infix::Range { inclusive: false }),
            Tok::Eq => BinOp::Eq,
            Tok::LessGreater => BinOp::Ne,
            Tok::Ident => match self.word() {
                "and" => BinOp::And,
                "or" => BinOp::Or,
                "mod" => BinOp::Rem,
                "div" => BinOp::Div,
                "xor" => BinOp::BitXor,
                _ => return None,
            },
            // Handled by `power`, whose right operand may have a sign.
            Tok::StarStar => return None,
            tok => tok.bin_op()?,
        };
        Some(Infix::Op(op))
    }

    fn unary(&mut self) -> Parsed<ExprId> {
        let mut ops = Vec::new();
        loop {
            let op = match self.tok() {
                Tok::Minus => UnOp::Neg,
                Tok::Bang | Tok::Not => UnOp::Not,
                Tok::Tilde => UnOp::BitNot,
                _ => break,
            };
            ops.push((op, self.span()));
            self.bump();
        }
        let mut operand = self.power()?;
        while let Some((op, lo)) = ops.pop() {
            let span = self.since(lo);
            operand = self.expr_node(ExprKind::Unary(op, operand), span)?;
        }
        Ok(operand)
    }

    fn power(&mut self) -> Parsed<ExprId> {
        let lo = self.span();
        let base = self.bang()?;
        if !self.eat(Tok::StarStar) {
            return Ok(base);
        }
        let exponent = self.nested(Self::unary)?;
        let span = self.since(lo);
        self.expr_node(ExprKind::Binary(BinOp::Pow, base, exponent), span)
    }

    /// `v ! i`.
    fn bang(&mut self) -> Parsed<ExprId> {
        let lo = self.span();
        let mut base = self.postfix()?;
        while self.eat(Tok::Bang) {
            let signed = matches!(self.tok(), Tok::Minus | Tok::Tilde);
            let index = if signed { self.nested(Self::unary)? } else { self.postfix()? };
            let span = self.since(lo);
            base = self.expr_node(ExprKind::Index { base, items: vec![IndexItem::At(index)] }, span)?;
        }
        Ok(base)
    }

    /// Calls, indices, fields and `with`.
    fn postfix(&mut self) -> Parsed<ExprId> {
        let lo = self.span();
        let mut base = self.primary()?;
        loop {
            let kind = match self.tok() {
                Tok::ParenL => self.call(base)?,
                Tok::BracketL => self.index(base)?,
                Tok::Dot => self.field(base)?,
                Tok::With => self.with(base)?,
                _ => return Ok(base),
            };
            let span = self.since(lo);
            base = self.expr_node(kind, span)?;
        }
    }

    fn field(&mut self, base: ExprId) -> Parsed<ExprKind> {
        self.bump();
        let span = self.span();
        match self.tok() {
            Tok::Ident => Ok(ExprKind::Field(base, self.name("a field")?)),
            Tok::Int { value, suffix: None } => {
                self.bump();
                Ok(ExprKind::Component(base, u32::try_from(value).unwrap_or(u32::MAX), span))
            }
            _ => Err(self.unexpected("the name of a field, or the number of a component, after the `.`")),
        }
    }

    fn primary(&mut self) -> Parsed<ExprId> {
        let span = self.span();
        let kind = match self.tok() {
            Tok::Int { value, suffix } => ExprKind::Int { value, suffix },
            Tok::Float { suffix } => {
                let text = float_digits(self.word());
                ExprKind::Float { value: text.parse().unwrap_or(0.0), text: text.into(), suffix }
            }
            Tok::Char(byte) => ExprKind::Char(byte),
            Tok::Str(id) => ExprKind::Str(std::mem::take(&mut self.lexed.strings[id.0 as usize])),
            Tok::True => ExprKind::Bool(true),
            Tok::False => ExprKind::Bool(false),
            Tok::Ident => {
                if self.report_foreign_word()? {
                    return self.expr();
                }
                ExprKind::Name(self.name_at(span))
            }
            Tok::ParenL => return self.paren(),
            Tok::BraceL | Tok::BracketL => return self.collection(),
            Tok::Let | Tok::If | Tok::Loop | Tok::Backslash => return self.expr(),
            _ => return Err(self.unexpected("an expression")),
        };
        self.bump();
        self.expr_node(kind, span)
    }

    fn report_chain(&mut self, comparison: bool, op_at: usize, middle: Span) {
        let first = self.span_of(self.lexed.tokens[op_at]);
        let middle = self.text_of(middle);
        let diagnostic = if comparison {
            let short = if middle.len() <= 30 && !middle.contains('\n') { middle } else { "b" };
            Diagnostic::new(Code::Unexpected, "comparisons cannot be chained", self.span(), "a second comparison")
                .label(first, "the first one")
                .note("the first comparison gives a truth value, which the second one would compare with a number")
                .help(format!("write `a {} {short} && {short} {} c`", self.text_of(first), self.word()))
        } else {
            Diagnostic::new(Code::Unexpected, "a range has one `..`", self.span(), "a second one")
                .label(first, "the first one")
                .help("a step is written with `by`: `0..10 by 2`")
        };
        self.report(diagnostic);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{complaint, shape};

    #[test]
    fn operators_bind_as_documented() {
        assert_eq!(shape("a || b && c == d | e ^ f & g << h ++ 1..i + j * k"), {
            "(|| a (&& b (== c (| d (^ e (& f (<< g (++ h (.. 1 (+ i (* j k)))))))))))"
        });
        assert_eq!(shape("a * b + c .. d ++ e >> f & g ^ h | i < j && k || l"), {
            "(|| (&& (< (| (^ (& (>> (++ (.. (+ (* a b) c) d) e) f) g) h) i) j) k) l)"
        });
    }

    #[test]
    fn operators_of_one_level_associate_to_the_left() {
        assert_eq!(shape("a - b + c - d"), "(- (+ (- a b) c) d)");
        assert_eq!(shape("a / b * c % d"), "(% (* (/ a b) c) d)");
        assert_eq!(shape("a ++ b ++ c"), "(++ (++ a b) c)");
    }

    #[test]
    fn power_is_right_associative_and_tighter_than_a_minus_on_its_left() {
        assert_eq!(shape("a ** b ** c"), "(** a (** b c))");
        assert_eq!(shape("-a ** b"), "(neg (** a b))");
        assert_eq!(shape("a ** -b ** c"), "(** a (neg (** b c)))");
        assert_eq!(shape("a * b ** c"), "(* a (** b c))");
    }

    #[test]
    fn prefixes_stack_and_bind_tighter_than_operators() {
        assert_eq!(shape("not !a && ~-b == c"), "(&& (not (not a)) (== (bitnot (neg b)) c))");
        assert_eq!(shape("- -1 - -2"), "(- (neg (neg 1)) (neg 2))");
    }

    #[test]
    fn infix_bang_is_an_index() {
        assert_eq!(shape("v ! i + 1"), "(+ (index v i) 1)");
        assert_eq!(shape("-v ! f(i) ! j"), "(neg (index (index v (call f i)) j))");
        assert_eq!(shape("v ! i ** 2"), "(** (index v i) 2)");
        assert_eq!(shape("a != b"), "(!= a b)");
    }

    #[test]
    fn ranges_have_steps() {
        assert_eq!(shape("0..<n - 1"), "(..< 0 (- n 1))");
        assert_eq!(shape("0..n by 2 * k"), "(.. 0 n by (* 2 k))");
        assert_eq!(complaint("0..2..10"), "a range has one `..`");
    }

    #[test]
    fn postfixes_chain() {
        assert_eq!(shape("m.f(x)[1].y.0.1"), "(. (. (. (index (call (. m f) x) 1) y) 0) 1)");
        assert_eq!(shape("p with (x = 1.0, y = 2).x"), "(. (with p x=1.0 y=2) x)");
    }

    #[test]
    fn lets_need_in_only_before_the_last_expression() {
        assert_eq!(shape("let a = 1 let (b, _) = t in a + b"), "(let a 1 (let (tuple b _) t (+ a b)))");
        assert_eq!(shape("let a: int = 1 in let b = 2 in b"), "(let a:int 1 (let b 2 b))");
    }

    #[test]
    fn prefix_forms_reach_as_far_as_they_can() {
        assert_eq!(shape("if a then b else c + 1"), "(if a b (+ c 1))");
        assert_eq!(shape("if a then b else if c then d else e"), "(if a b (if c d e))");
        assert_eq!(shape("1 + if a then b else c + 1"), "(+ 1 (if a b (+ c 1)))");
        assert_eq!(shape("\\x (a, _) -> x + a"), "(lambda (x (tuple a _)) (+ x a))");
        assert_eq!(shape("\\x -> \\y -> x"), "(lambda (x) (lambda (y) x))");
    }

    #[test]
    fn loops_count_or_test() {
        assert_eq!(shape("loop x = 1 while x < n do x * 2"), "(loop x 1 (while (< x n)) (* x 2))");
        assert_eq!(shape("loop (a, b) = p for i < n do (b, a)"), "(loop (tuple a b) p (for i < n) (tuple b a))");
        assert_eq!(shape("loop x = 1 for i in 0..<n do x"), "(loop x 1 (for i in 0 ..< n) x)");
        assert_eq!(shape("loop x = 1 for i in 1..n do x"), "(loop x 1 (for i in 1 .. n) x)");
    }

    #[test]
    fn literals_keep_their_suffix_and_digits() {
        assert_eq!(shape("(1u8, 1.50, 2f32, 1_0e3, 'a', \"b\\n\", true, ())"), {
            "(tuple 1u8 1.50 2f32 10e3 'a' \"b\\n\" true (tuple))"
        });
    }
}
