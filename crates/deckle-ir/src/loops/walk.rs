//! Visiting the operands of expressions and statements.

use super::*;

/// Calls `see` with every value that an expression uses.
pub fn operands(expr: &Expr, mut see: impl FnMut(Val)) {
    match *expr {
        Expr::Const(_) | Expr::Lanes | Expr::Failed | Expr::Unaligned(_) | Expr::Id(_) => {}
        Expr::Splat(a)
        | Expr::Unary(_, a)
        | Expr::Rint(a)
        | Expr::Cast(_, a)
        | Expr::Bitcast(_, a)
        | Expr::Total(_, a)
        | Expr::Ballot(a)
        | Expr::Lane(a, _) => see(a),
        Expr::Binary(_, a, b)
        | Expr::Assoc(_, a, b)
        | Expr::CopySign(a, b)
        | Expr::Swizzle(a, b, _)
        | Expr::Shuffle(_, a, b) => {
            see(a);
            see(b);
        }
        Expr::Fma(a, b, c) | Expr::Select(a, b, c) => {
            see(a);
            see(b);
            see(c);
        }
        Expr::Load { at, mask, .. } => {
            see(at);
            mask.into_iter().for_each(see);
        }
    }
}

/// The expression with other operands.
pub(super) fn renamed(expr: &Expr, of: impl Fn(Val) -> Val) -> Expr {
    match *expr {
        Expr::Const(_) | Expr::Lanes | Expr::Failed | Expr::Unaligned(_) | Expr::Id(_) => expr.clone(),
        Expr::Splat(a) => Expr::Splat(of(a)),
        Expr::Unary(op, a) => Expr::Unary(op, of(a)),
        Expr::Rint(a) => Expr::Rint(of(a)),
        Expr::Cast(ty, a) => Expr::Cast(ty, of(a)),
        Expr::Bitcast(ty, a) => Expr::Bitcast(ty, of(a)),
        Expr::Total(op, a) => Expr::Total(op, of(a)),
        Expr::Ballot(a) => Expr::Ballot(of(a)),
        Expr::Lane(a, k) => Expr::Lane(of(a), k),
        Expr::Binary(op, a, b) => Expr::Binary(op, of(a), of(b)),
        Expr::Assoc(op, a, b) => Expr::Assoc(op, of(a), of(b)),
        Expr::CopySign(a, b) => Expr::CopySign(of(a), of(b)),
        Expr::Swizzle(a, b, ref from) => Expr::Swizzle(of(a), of(b), from.clone()),
        Expr::Shuffle(how, a, b) => Expr::Shuffle(how, of(a), of(b)),
        Expr::Fma(a, b, c) => Expr::Fma(of(a), of(b), of(c)),
        Expr::Select(a, b, c) => Expr::Select(of(a), of(b), of(c)),
        Expr::Load { buf, at, mask } => Expr::Load { buf, at: of(at), mask: mask.map(of) },
    }
}

/// Renames all values of a block, including those that it defines.
pub(super) fn rename(block: &mut Block, name: &impl Fn(Val) -> Val) {
    block.stmts.iter_mut().for_each(|stmt| rename_in(stmt, name));
    block.results.iter_mut().for_each(|v| *v = name(*v));
}

/// Renames all values of a statement.
pub(super) fn rename_in(stmt: &mut Stmt, name: &impl Fn(Val) -> Val) {
    let carry = |c: &mut Carry| *c = Carry { init: name(c.init), param: name(c.param), result: name(c.result) };
    match stmt {
        Stmt::Let(v, expr) => {
            *v = name(*v);
            *expr = renamed(expr, name);
        }
        Stmt::Store { at, value, mask, .. } => {
            [at, value].into_iter().chain(mask).for_each(|v| *v = name(*v));
        }
        Stmt::Atomic { at, value, before, .. } => {
            [at, value].into_iter().chain(before).for_each(|v| *v = name(*v));
        }
        Stmt::For { var, lo, hi, carries, body, .. } => {
            [var, lo, hi].into_iter().for_each(|v| *v = name(*v));
            carries.iter_mut().for_each(carry);
            rename(body, name);
        }
        Stmt::While { carries, test, body } => {
            carries.iter_mut().for_each(carry);
            rename(test, name);
            rename(body, name);
        }
        Stmt::If { cond, yes, no, results } => {
            *cond = name(*cond);
            results.iter_mut().for_each(|v| *v = name(*v));
            rename(yes, name);
            rename(no, name);
        }
        Stmt::Flag(v) => *v = name(*v),
        Stmt::Fail { operands, .. } => operands.iter_mut().for_each(|v| *v = name(*v)),
        Stmt::Barrier | Stmt::WarpBarrier => {}
    }
}
