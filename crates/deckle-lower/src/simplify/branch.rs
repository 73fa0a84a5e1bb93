//! Rules for conditionals.
//!
//! - A constant condition is replaced by its branch.
//! - Branches that cannot fail and are cheap are both evaluated, and their results selected.
//! - Branches that do the same work on different operands (`if c then f(x) else f(y)`) become one copy, on selected
//!   operands. Only operators of the taken branch are evaluated, so they may fail and may be expensive.

use super::Branches;
use super::pass::Pass;
use super::same::same_bodies;
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Inst, Op, RecordShape, UnOp};
use deckle_ir::entity::{Body, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::size::Atom;
use deckle_ir::types::Type;
use std::collections::HashMap;
use std::sync::Arc;

/// The maximal number of operators in a branch that is evaluated unconditionally.
const CHEAP: usize = 4;
/// The maximal number of operands in which similar branches may differ.
const DIFFERENT: usize = 3;

impl Pass<'_> {
    /// The replacement of the conditional `s` of the old function, whose condition is `args[0]`: `Some(None)` if it stays, `None`
    /// if nothing can be built.
    pub(super) fn conditional(&mut self, s: Var, args: &[Var]) -> Option<Option<Var>> {
        let old = self.old;
        let inst = old.inst(s)?;
        let (yes, no) = (inst.bodies[0], inst.bodies[1]);
        let (c, span) = (args[0], old.span(s));
        if !self.shows_its_sizes(s) {
            return Some(None);
        }
        if let Some(c) = self.scalar(c).and_then(Scalar::as_bool) {
            return self.statements(if c { yes } else { no }).map(Some);
        }
        let (a, b) = (old.body(yes).result, old.body(no).result);
        if a == b && self.steps(yes).is_empty() && self.steps(no).is_empty() {
            return Some(self.var(a));
        }
        if !old.ty(s).is_flat() || self.branches == Branches::Apart {
            return Some(None);
        }
        if self.is_cheap(yes) && self.is_cheap(no) {
            let a = self.statements(yes)?;
            let b = self.statements(no)?;
            return self.pick(c, a, b, span).map(Some);
        }
        let Some(plan) = self.alike(yes, no) else { return Some(None) };
        self.merged(&plan, c, span).map(Some)
    }

    /// Whether no inner size of a result is known only from the value.
    fn shows_its_sizes(&self, s: Var) -> bool {
        let mut shows = true;
        self.old.ty(s).for_each_size(&mut |size, depth| {
            let own = size.any_atom(&mut |a, _| matches!(a, Atom::Var(v, _) if self.old.size_binder(*v) == Some(s)));
            shows &= depth == 0 || !own;
        });
        shows
    }

    /// The statements of a body that are evaluated.
    fn steps(&self, body: Body) -> Vec<Var> {
        self.old.body(body).stmts.iter().copied().filter(|s| self.dead.lives(*s)).collect()
    }

    fn is_cheap(&self, body: Body) -> bool {
        let mut cost = 0;
        for s in self.steps(body) {
            let Some(inst) = self.old.inst(s).filter(|_| !self.dead.fails(s)) else { return false };
            cost += match &inst.op {
                Op::Const(_) | Op::Tuple | Op::Record(_) | Op::Proj(_) => 0,
                Op::Binary(BinOp::Pow | BinOp::Atan2 | BinOp::Hypot) => return false,
                Op::Unary(op) if is_slow(*op) => return false,
                Op::Unary(_) | Op::Binary(_) | Op::Cast(_) | Op::Select | Op::Fma | Op::Index => 1,
                Op::Length if self.old.ty(inst.args[0]).is_concrete() => 1,
                _ => return false,
            };
        }
        cost <= CHEAP
    }

    /// One of two flat values, component by component.
    fn pick(&mut self, c: Var, a: Var, b: Var, span: Span) -> Option<Var> {
        if a == b {
            return Some(a);
        }
        let ty = self.b.ty(a).clone();
        let op = match &ty {
            Type::Scalar(_) => return self.emit(Op::Select, &[c, a, b], span),
            Type::Record(r) => {
                let fields = r.fields.iter().map(|(n, _)| n.clone()).collect();
                Op::Record(Arc::new(RecordShape { name: r.name.clone(), fields }))
            }
            _ => Op::Tuple,
        };
        let mut parts = Vec::new();
        for k in 0..ty.parts()?.len() as u32 {
            let x = self.emit(Op::Proj(k), &[a], span)?;
            let y = self.emit(Op::Proj(k), &[b], span)?;
            parts.push(self.pick(c, x, y, span)?);
        }
        self.emit(op, &parts, span)
    }

    /// A plan to do the work of two branches once.
    fn alike(&self, yes: Body, no: Body) -> Option<Plan> {
        let old = self.old;
        let work = |body: Body| -> Vec<Var> {
            let is_const = |v: &Var| matches!(old.inst(*v), Some(Inst { op: Op::Const(_), .. }));
            self.steps(body).into_iter().filter(|v| !is_const(v)).collect()
        };
        let (first, second) = (work(yes), work(no));
        if first.is_empty() || first.len() != second.len() {
            return None;
        }
        let pairs: HashMap<Var, Var> = first.iter().copied().zip(second.iter().copied()).collect();
        let begins = (old.body(yes).first, old.body(no).first);
        let mut plan = Plan { steps: Vec::new(), result: Operand::Same(first[0]) };
        let mut different = Vec::new();
        let mut operand = |x: Var, y: Var| -> Option<Operand> {
            let both = (constant(old.inst(x)), constant(old.inst(y)));
            let inside = |v: Var, first: Var| v >= first && constant(old.inst(v)).is_none();
            if x == y || pairs.get(&x) == Some(&y) || matches!(both, (Some(a), Some(b)) if a == b) {
                return Some(Operand::Same(x));
            }
            if inside(x, begins.0) || inside(y, begins.1) || !old.ty(x).is_flat() || old.ty(x) != old.ty(y) {
                return None;
            }
            if !different.contains(&(x, y)) {
                different.push((x, y));
            }
            Some(Operand::Either(x, y))
        };
        for (&x, &y) in first.iter().zip(&second) {
            let (a, b) = (old.inst(x)?, old.inst(y)?);
            let bodies = a.bodies.len() == b.bodies.len()
                && a.bodies.iter().zip(&b.bodies).all(|(p, q)| same_bodies(old, *p, *q, &self.old_sizes));
            if a.op != b.op || a.args.len() != b.args.len() || !bodies || matches!(a.op, Op::Ensure(_) | Op::Use(_)) {
                return None;
            }
            let args = a.args.iter().zip(&b.args).map(|(p, q)| operand(*p, *q)).collect::<Option<Vec<_>>>()?;
            plan.steps.push((x, y, args));
        }
        plan.result = operand(old.body(yes).result, old.body(no).result)?;
        (different.len() <= DIFFERENT).then_some(plan)
    }

    fn merged(&mut self, plan: &Plan, c: Var, span: Span) -> Option<Var> {
        for (x, y, operands) in &plan.steps {
            let mut args = Vec::new();
            for o in operands {
                args.push(self.operand(o, c, span)?);
            }
            self.statement_with(*x, &args)?;
            let new = self.var(*x)?;
            self.stand(*y, new)?;
        }
        self.operand(&plan.result, c, span)
    }

    fn operand(&mut self, operand: &Operand, c: Var, span: Span) -> Option<Var> {
        match *operand {
            Operand::Same(x) => self.here(x, span),
            Operand::Either(x, y) => {
                let a = self.here(x, span)?;
                let b = self.here(y, span)?;
                self.pick(c, a, b, span)
            }
        }
    }

    /// A variable from outside, or a constant of a branch.
    fn here(&mut self, v: Var, span: Span) -> Option<Var> {
        match self.old.inst(v) {
            Some(Inst { op: Op::Const(k), .. }) => self.constant(*k, span),
            _ => self.var(v),
        }
    }
}

/// The statements of two branches, in pairs, with their operands.
struct Plan {
    steps: Vec<(Var, Var, Vec<Operand>)>,
    result: Operand,
}

enum Operand {
    /// In both branches this, or its replacement.
    Same(Var),
    /// The first if the condition holds, else the second.
    Either(Var, Var),
}

fn constant(inst: Option<&Inst>) -> Option<String> {
    match inst?.op {
        Op::Const(c) => Some(super::same::constant(c)),
        _ => None,
    }
}

fn is_slow(op: UnOp) -> bool {
    use UnOp::{Abs, Ceil, Clz, Ctz, Floor, IsNan, Neg, Not, Popcount, Round, Sign, Sqrt, Trunc};
    !matches!(op, Neg | Not | Abs | Sign | Sqrt | Floor | Ceil | Round | Trunc | IsNan | Popcount | Clz | Ctz)
}
