//! Indexing and slicing.

use super::func::{FnLower, Lowered};
use crate::ast::{ExprId, IndexItem};
use deckle_diag::Span;
use deckle_ir::array::{Op, Slicer};
use deckle_ir::entity::Var;

/// A part of an index whose expressions are evaluated.
#[derive(Clone, Copy)]
enum Part {
    All,
    At(Var),
    Range(Option<Var>, Option<Var>),
}

impl FnLower<'_> {
    pub fn index(&mut self, base: ExprId, items: &[IndexItem], span: Span) -> Lowered<Var> {
        let array = self.expr(base)?;
        let mut parts = Vec::new();
        for item in items {
            let mut value = |e: &Option<ExprId>| e.map(|e| self.expr(e)).transpose();
            parts.push(match item {
                IndexItem::All(_) => Part::All,
                IndexItem::At(e) => Part::At(self.expr(*e)?),
                IndexItem::Range(lo, hi) => Part::Range(value(lo)?, value(hi)?),
            });
        }
        self.parts(array, &parts, span)
    }

    fn parts(&mut self, array: Var, parts: &[Part], span: Span) -> Lowered<Var> {
        let leading: Vec<Var> = parts.iter().map_while(|p| if let Part::At(i) = p { Some(*i) } else { None }).collect();
        if leading.len() == parts.len() {
            let args: Vec<Var> = std::iter::once(array).chain(leading).collect();
            return self.op(Op::Index, &args, span);
        }
        // An omitted end below the first axis is the end of each row, which may differ from row to row.
        let per_row = parts.iter().skip(1).any(|p| matches!(p, Part::Range(_, None)));
        if !per_row {
            return self.slice(array, parts, span);
        }
        match parts[0] {
            Part::At(i) => {
                let row = self.op(Op::Index, &[array, i], span)?;
                self.parts(row, &parts[1..], span)
            }
            _ => {
                let outer = self.slice(array, &parts[..1], span)?;
                self.with_body(Op::Map, &[outer], span, &mut |f, row| f.parts(row[0], &parts[1..], span))
            }
        }
    }

    fn slice(&mut self, array: Var, parts: &[Part], span: Span) -> Lowered<Var> {
        let mut args = vec![array];
        let mut spec = Vec::new();
        for p in parts {
            match p {
                Part::All => spec.push(Slicer::All),
                Part::At(i) => {
                    spec.push(Slicer::At);
                    args.push(*i);
                }
                Part::Range(lo, hi) => {
                    spec.push(Slicer::Range);
                    args.push(match lo {
                        Some(lo) => *lo,
                        None => self.int(0, span)?,
                    });
                    args.push(match hi {
                        Some(hi) => *hi,
                        None => self.op(Op::Length, &[array], span)?,
                    });
                }
            }
        }
        self.op(Op::Slice(spec), &args, span)
    }
}
