//! Sequences of different rates that are traversed in lockstep, such as two filters: elements of one wait for those of the other.
//!
//! The state holds the waiting elements of each operand, and the number of elements so far on each side.

use super::state::nothing;
use super::{OrBug, equal_operands, int, part, push};
use deckle_analysis::stream;
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Copied, Copier, Op, Rewrite};
use deckle_ir::entity::Var;

pub(super) fn init(copy: &mut Copier<'_>, s: Var, sides: usize) -> Copied<Var> {
    let span = copy.old.span(s);
    let mut parts = Vec::new();
    for v in copy.inst(s)?.args.clone() {
        let elem = copy.old.ty(v).as_seq().or_bug("a sequence")?.with_vectors();
        parts.push(nothing(copy, &elem, span)?);
    }
    let none = int(copy, 0, span)?;
    parts.extend(vec![none; sides]);
    push(copy, Op::Tuple, &parts, span)
}

/// `sides` gives the side of each operand.
pub(super) fn step(
    copy: &mut Copier<'_>,
    changes: &mut dyn Rewrite,
    s: Var,
    before: Var,
    sides: &[usize],
) -> Copied<Var> {
    let (old, span) = (copy.old, copy.old.span(s));
    let args = &copy.inst(s)?.args;
    let (mut all, mut least) = (Vec::new(), None);
    let mut counts = vec![None; sides.iter().max().or_bug("a side")? + 1];
    for (k, v) in args.iter().enumerate() {
        let xs = copy.var(*v)?;
        let xs = stream::whole(&mut copy.b, xs, span)?;
        let more = push(copy, Op::Length, &[xs], span)?;
        counts[sides[k]] = Some(more);
        let waiting = part(copy, before, k as u32, span)?;
        let xs = push(copy, Op::Concat(0), &[waiting, xs], span)?;
        let length = push(copy, Op::Length, &[xs], span)?;
        least = Some(match least {
            None => length,
            Some(least) => push(copy, Op::Binary(BinOp::Min), &[least, length], span)?,
        });
        all.push(xs);
    }
    let there = least.or_bug("an operand")?;
    let (mut now, mut next) = (Vec::new(), Vec::new());
    for (xs, v) in all.into_iter().zip(args) {
        let ready = push(copy, Op::Take, &[xs, there], span)?;
        let ty = old.ty(*v).clone();
        now.push(stream::streamed(&mut copy.b, ready, &ty, span)?);
        next.push(push(copy, Op::Drop, &[xs, there], span)?);
    }
    copy.statement_with(changes, s, &now)?;
    for (k, count) in counts.into_iter().enumerate() {
        let total = part(copy, before, (args.len() + k) as u32, span)?;
        next.push(push(copy, Op::Binary(BinOp::Add), &[total, count.or_bug("an operand of each side")?], span)?);
    }
    push(copy, Op::Tuple, &next, span)
}

/// The number of elements so far on each side.
pub(super) fn totals(copy: &mut Copier<'_>, s: Var, state: Var, sides: usize, span: Span) -> Copied<Vec<Var>> {
    let n = copy.inst(s)?.args.len();
    (n..n + sides).map(|k| part(copy, state, k as u32, span)).collect()
}

/// Checks that all had the same length.
pub(super) fn finish(copy: &mut Copier<'_>, s: Var, last: Var, sides: &[usize]) -> Copied<Var> {
    let span = copy.old.span(s);
    let totals = totals(copy, s, last, sides.iter().max().or_bug("a side")? + 1, span)?;
    for (k, side) in sides.iter().enumerate().filter(|(_, side)| **side != sides[0]) {
        equal_operands(copy, totals[sides[0]], (k, totals[*side]), span)?;
    }
    Ok(last)
}
