//! Suggestions that quote the program.

use super::Infer;
use super::show::scalar_name;
use super::types::{Node, Ty};
use crate::ast::{BinOp, ExprId, ExprKind};
use deckle_ir::scalar::ScalarType;

/// Whether an operator binds tighter than a comparison.
fn scalar_level(op: BinOp) -> bool {
    use BinOp::*;
    matches!(op, Add | Sub | Mul | Div | Rem | Pow)
}

impl Infer {
    /// How to convert `e` to the required type.
    pub(super) fn mismatch_help(&self, e: ExprId, have: Ty, want: Ty) -> Option<String> {
        let types = &self.facts.types;
        let text = self.text(e, "...");
        Some(match (types.node(have), types.node(want)) {
            (Node::Scalar(h), Node::Scalar(ScalarType::Bool)) if h.is_num() => {
                format!("compare it: `{} != 0`", self.operand_text(e))
            }
            (Node::Scalar(h), Node::Scalar(w)) if h.is_num() && w.is_num() => {
                format!("convert it: `{}({text})`", scalar_name(*w))
            }
            (Node::Var(Some(h)), Node::Scalar(w)) if !h.has(ScalarType::Bool) && w.is_num() => {
                format!("convert it: `{}({text})`", scalar_name(*w))
            }
            (Node::Scalar(h), Node::Var(Some(set))) if h.is_int() && set.has(ScalarType::F64) => {
                format!("convert it: `real({text})`")
            }
            (Node::Coll(h, _), Node::Coll(w, _)) => match (types.node(*h), types.node(*w)) {
                (Node::ArrayKind, Node::SeqKind) => format!("stream the vector: `seq({text})`"),
                (Node::SeqKind, Node::ArrayKind) => format!("materialise the sequence: `tab({text})`"),
                _ => return None,
            },
            (Node::Scalar(_) | Node::Var(Some(_)), Node::Coll(k, _)) if *types.node(*k) == Node::SeqKind => {
                format!("a sequence of one element is written `{{{text}}}`")
            }
            (Node::Scalar(_) | Node::Var(Some(_)), Node::Coll(..)) => {
                format!("a vector of one element is written `[{text}]`")
            }
            _ => return None,
        })
    }

    /// An expression as written, if that is short, else `other`.
    pub(super) fn text(&self, e: ExprId, other: &str) -> String {
        let span = self.span(e);
        let text = self.facts.texts[self.module].get(span.lo as usize..span.hi as usize).unwrap_or("");
        let short = !text.is_empty() && text.chars().count() <= 32 && !text.contains(['\n', '`']);
        if short { text.to_string() } else { other.to_string() }
    }

    /// The same, in parentheses if it could be misread next to an operator.
    pub(super) fn operand_text(&self, e: ExprId) -> String {
        let text = self.text(e, "x");
        let tight = match &self.ast()[e].kind {
            ExprKind::Binary(op, ..) => !op.is_comparison() && scalar_level(*op),
            ExprKind::Let { .. } | ExprKind::If { .. } | ExprKind::Loop { .. } | ExprKind::Lambda { .. } => false,
            ExprKind::Range { .. } => false,
            _ => true,
        };
        if tight || text == "x" { text } else { format!("({text})") }
    }

    /// How to apply a scalar operator to the elements of collections.
    pub(super) fn elementwise(&self, op: BinOp, (a, x): (ExprId, Ty), (b, y): (ExprId, Ty)) -> Option<String> {
        let types = &self.facts.types;
        let kind = |t: Ty| match types.node(t) {
            Node::Coll(k, _) => Some(*types.node(*k) == Node::SeqKind),
            _ => None,
        };
        // `fold(+, ...)` has no operands to quote.
        if a == b && matches!(self.ast()[a].kind, ExprKind::Operator(_)) {
            let each = format!("\\xs ys -> [ x {} y : x in xs; y in ys ]", op.text());
            return (kind(x).is_some() && !op.is_comparison()).then(|| format!("apply it to each element: `{each}`"));
        }
        let (seq, body, gens) = match (kind(x), kind(y)) {
            (Some(s), Some(t)) => {
                let gens = format!("x in {}; y in {}", self.text(a, "xs"), self.text(b, "ys"));
                (s || t, format!("x {} y", op.text()), gens)
            }
            (Some(s), None) => {
                (s, format!("x {} {}", op.text(), self.operand_text(b)), format!("x in {}", self.text(a, "xs")))
            }
            (None, Some(s)) => {
                (s, format!("{} {} x", self.operand_text(a), op.text()), format!("x in {}", self.text(b, "xs")))
            }
            _ => return None,
        };
        Some(match op {
            BinOp::Eq => format!("whether all elements are equal is `all({{ {body} : {gens} }})`"),
            BinOp::Ne => format!("whether any elements differ is `any({{ {body} : {gens} }})`"),
            _ if seq => format!("apply it to each element: `{{ {body} : {gens} }}`"),
            _ => format!("apply it to each element: `[ {body} : {gens} ]`"),
        })
    }

    /// Which of two values to convert so that both have one type: integers become floats, narrow types wide ones.
    pub(super) fn conversion(
        &self,
        (a, x, one): (ExprId, Ty, &str),
        (b, y, other): (ExprId, Ty, &str),
    ) -> Option<String> {
        if a == b && matches!(self.ast()[a].kind, ExprKind::Operator(_)) {
            return None;
        }
        let types = &self.facts.types;
        let rank = |t: Ty| match types.node(t) {
            Node::Scalar(s) if *s == ScalarType::Bool => None,
            Node::Scalar(s) => Some((s.is_float(), s.bytes(), Some(*s))),
            Node::Var(Some(set)) if !set.has(ScalarType::I64) => Some((true, 8, Some(ScalarType::F64))),
            _ => None,
        };
        let ((fx, wx, sx), (fy, wy, sy)) = (rank(x)?, rank(y)?);
        let first = (fx, wx) < (fy, wy) || (fx, wx) == (fy, wy) && sx > sy;
        let (which, e, to) = if first { (one, a, sy) } else { (other, b, sx) };
        Some(format!("convert the {which}: `{}({})`", scalar_name(to?), self.text(e, "...")))
    }
}
