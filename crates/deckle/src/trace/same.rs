//! Equality of statements: one operator, the same operands, and bodies that differ only in the numbers of their variables.
//!
//! The variables of a statement's bodies are contiguous right before the statement, and so are its bodies in their arena. Two
//! statements are therefore equal if one range is the other shifted by a fixed distance, which one pass checks.

use deckle_ir::array::{Def, Function, Op};
use deckle_ir::entity::{Body, Var};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The hash of the statement under construction; its bodies, if any, are the last things that were built. An omitted part costs
/// a comparison, not correctness.
pub(super) fn hash_of(func: &Function, op: &Op, args: &[Var], bodies: &[Body]) -> u64 {
    let mut h = DefaultHasher::new();
    let Some(first) = bodies.first().map(|b| func.body(*b).first) else {
        statement(op, args, Var(u32::MAX), &mut h);
        return h.finish();
    };
    statement(op, args, first, &mut h);
    for var in &func.vars[first.index()..] {
        match &var.def {
            Def::Param(_, k) => k.hash(&mut h),
            Def::Inst(inst) => statement(&inst.op, &inst.args, first, &mut h),
        }
    }
    bodies.iter().for_each(|b| variable(func.body(*b).result, first, &mut h));
    h.finish()
}

fn statement(op: &Op, args: &[Var], first: Var, h: &mut DefaultHasher) {
    std::mem::discriminant(op).hash(h);
    args.iter().for_each(|a| variable(*a, first, h));
    match op {
        Op::Const(c) => c.hash(h),
        Op::Unary(op) => op.hash(h),
        Op::Binary(op) => op.hash(h),
        Op::Cast(t) => t.hash(h),
        Op::Proj(k) => k.hash(h),
        Op::Slice(spec) => spec.hash(h),
        Op::Reduce(m) => m.hash(h),
        Op::Use(c) => c.ty.hash(h),
        _ => {}
    }
}

/// A variable of the bodies is counted from their beginning.
fn variable(v: Var, first: Var, h: &mut DefaultHasher) {
    let inside = v >= first;
    (inside, if inside { v.0 - first.0 } else { v.0 }).hash(h);
}

/// Whether the statement `old` equals the one under construction; as in [`hash_of`].
pub(super) fn is_same(func: &Function, old: Var, op: &Op, args: &[Var], bodies: &[Body]) -> bool {
    let Some(inst) = func.inst(old).filter(|i| i.op == *op && i.args == args && i.bodies.len() == bodies.len()) else {
        return false;
    };
    let (Some(&was), Some(&new)) = (inst.bodies.first(), bodies.first()) else { return true };
    let first = func.body(new).first;
    let moved = Moved { first, by: first.0 - func.body(was).first.0, bodies: new.0 - was.0 };
    let (old_vars, new_vars) = (&func.vars[func.body(was).first.index()..old.index()], &func.vars[first.index()..]);
    old_vars.len() == new_vars.len()
        && moved.all_bodies(&inst.bodies, bodies)
        && old_vars.iter().zip(new_vars).all(|(a, b)| moved.def(&a.def, &b.def))
        && func.bodies[was.index()..].iter().zip(&func.bodies[new.index()..]).all(|(a, b)| {
            moved.var(a.first, b.first) && moved.var(a.result, b.result) && moved.all_vars(&a.stmts, &b.stmts)
        })
}

/// The distance of the new range from the old one, and its start.
struct Moved {
    first: Var,
    by: u32,
    bodies: u32,
}

impl Moved {
    fn var(&self, old: Var, new: Var) -> bool {
        if new >= self.first { old.0 + self.by == new.0 } else { old == new }
    }

    fn all_vars(&self, old: &[Var], new: &[Var]) -> bool {
        old.len() == new.len() && old.iter().zip(new).all(|(a, b)| self.var(*a, *b))
    }

    fn all_bodies(&self, old: &[Body], new: &[Body]) -> bool {
        old.len() == new.len() && old.iter().zip(new).all(|(a, b)| a.0 + self.bodies == b.0)
    }

    fn def(&self, old: &Def, new: &Def) -> bool {
        match (old, new) {
            (Def::Param(a, i), Def::Param(b, j)) => a.0 + self.bodies == b.0 && i == j,
            (Def::Inst(a), Def::Inst(b)) => {
                a.op == b.op && self.all_vars(&a.args, &b.args) && self.all_bodies(&a.bodies, &b.bodies)
            }
            _ => false,
        }
    }
}
