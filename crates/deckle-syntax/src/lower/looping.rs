//! Loops: which sizes of the state are loop-invariant, and which change from round to round.

use super::func::{FnLower, Lowered};
use crate::ast::{ExprId, LoopKind, PatId};
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Op};
use deckle_ir::entity::{Body, Var};
use deckle_ir::size::{Atom, Size};
use deckle_ir::types::Type;

/// With more nested loops than this, every size of the state is assumed to change: trying would take too long.
const MAX_TRIES: usize = 4;

impl FnLower<'_> {
    /// First assumes all sizes of the state to be loop-invariant; those that a round changes become variables, and the body is
    /// built again.
    pub fn looping(&mut self, pat: PatId, init: ExprId, kind: &LoopKind, body: ExprId, span: Span) -> Lowered<Var> {
        let start = self.expr(init)?;
        let ty = self.ty(start).clone();
        self.need_concrete(&ty, self.span(init), "the state of a loop")?;
        let count = match kind {
            LoopKind::While(_) => None,
            LoopKind::For { lo, hi, inclusive, .. } => Some(self.bounds(*lo, *hi, *inclusive, span)?),
        };
        let mut sizes = 0;
        ty.for_each_size(&mut |_, _| sizes += 1);
        let mut open = vec![self.loops >= MAX_TRIES; sizes];
        self.loops += 1;
        let result = loop {
            let mark = self.b.mark();
            let scope = self.scope.clone();
            let (bodies, changed) = self.round(pat, kind, body, &ty, &open, count.map(|c| c.0), span)?;
            self.scope = scope;
            if changed.is_empty() {
                let (op, args) = match count {
                    None => (Op::While, vec![start]),
                    Some((_, n)) => (Op::For, vec![n, start]),
                };
                break self.push(op, &args, &bodies, span);
            }
            self.b.rollback(&mark);
            changed.into_iter().for_each(|k| open[k] = true);
        };
        self.loops -= 1;
        result
    }

    /// The first value of the counter, if it is not zero, and the number of rounds.
    fn bounds(&mut self, lo: Option<ExprId>, hi: ExprId, inclusive: bool, span: Span) -> Lowered<(Option<Var>, Var)> {
        let lo = lo.map(|e| self.expr(e)).transpose()?;
        let mut n = self.expr(hi)?;
        if let Some(lo) = lo {
            n = self.binary(BinOp::Sub, n, lo, span)?;
        }
        if inclusive {
            let one = self.int(1, span)?;
            n = self.binary(BinOp::Add, n, one, span)?;
        }
        Ok((lo, n))
    }

    /// Builds the bodies once, and returns the sizes that a round changes contrary to the assumption.
    #[allow(clippy::too_many_arguments)]
    fn round(
        &mut self,
        pat: PatId,
        kind: &LoopKind,
        body: ExprId,
        ty: &Type,
        open: &[bool],
        lo: Option<Option<Var>>,
        span: Span,
    ) -> Lowered<(Vec<Body>, Vec<usize>)> {
        let mut bodies = Vec::new();
        if let LoopKind::While(cond) = kind {
            let test = self.b.begin_body();
            let state = self.state_param(ty, open, span);
            let depth = self.scope.len();
            self.bind_pattern(pat, state)?;
            let go = self.expr(*cond)?;
            self.scope.truncate(depth);
            self.b.end_body(go);
            bodies.push(test);
        }
        let step = self.b.begin_body();
        let depth = self.scope.len();
        if let LoopKind::For { var, .. } = kind {
            let mut i = self.b.body_param(Type::INT, span);
            let state = self.state_param(ty, open, span);
            if let Some(Some(lo)) = lo {
                i = self.binary(BinOp::Add, i, lo, span)?;
            }
            self.scope.push((var.text.clone(), super::func::Binding::Var(i)));
            self.bind_pattern(pat, state)?;
        } else {
            let state = self.state_param(ty, open, span);
            self.bind_pattern(pat, state)?;
        }
        let next = self.expr(body)?;
        self.scope.truncate(depth);
        self.b.end_body(next);
        bodies.push(step);
        let mut after = Vec::new();
        self.ty(next).for_each_size(&mut |s, _| after.push(s.clone()));
        let mut changed = Vec::new();
        let mut k = 0;
        ty.for_each_size(&mut |s, _| {
            if !open[k] && after.get(k) != Some(s) {
                changed.push(k);
            }
            k += 1;
        });
        Ok((bodies, changed))
    }

    fn state_param(&mut self, ty: &Type, open: &[bool], span: Span) -> Var {
        let mut k = 0;
        let ty = ty.map_sizes(&mut |s, depth| {
            k += 1;
            if !open[k - 1] {
                return s.clone();
            }
            let f = self.b.new_size(depth);
            Atom::Var(f, (0..depth).rev().map(Size::pos).collect()).into()
        });
        self.b.body_param(ty, span)
    }
}
