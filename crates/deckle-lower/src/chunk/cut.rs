//! `flagpart` in chunks: elements and flags wait until their subsequence is complete. The two need not advance together.
//!
//! The state holds the waiting elements and flags, the number of each so far, the numbers of ends consumed and received, and the open group, if groups may be open (`open.rs`).

use super::open::{Now, Open};
use super::state::nothing;
use super::{OrBug, chosen, folded, int, map, part, push, sums};
use deckle_analysis::stream;
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Coll, Copied, Copier, Monoid, Op, Rewrite, UnOp};
use deckle_ir::entity::Var;
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;

pub(super) fn init(copy: &mut Copier<'_>, changes: &mut dyn Rewrite, s: Var, open: Option<&Open>) -> Copied<Var> {
    let span = copy.old.span(s);
    let elem = copy.old.ty(copy.inst(s)?.args[0]).as_seq().or_bug("a sequence")?.with_vectors();
    let (elems, flags, none) = (nothing(copy, &elem, span)?, nothing(copy, &Type::BOOL, span)?, int(copy, 0, span)?);
    let mut parts = vec![elems, flags, none, none, none, none];
    if let Some(open) = open {
        parts.extend(open.init(copy, changes)?);
    }
    push(copy, Op::Tuple, &parts, span)
}

fn binary(copy: &mut Copier<'_>, op: BinOp, a: Var, b: Var, span: Span) -> Copied<Var> {
    push(copy, Op::Binary(op), &[a, b], span)
}

/// The result of a step.
pub(super) struct Cut {
    pub state: Var,
    /// For each `map` over groups the result for one that was open, a vector of one element or none.
    pub made: Vec<(Var, Var)>,
}

pub(super) fn step(
    copy: &mut Copier<'_>,
    changes: &mut dyn Rewrite,
    s: Var,
    (before, inside): (Var, Var),
    open: Option<&Open>,
) -> Copied<Cut> {
    let (old, span) = (copy.old, copy.old.span(s));
    let inst = copy.inst(s)?;
    let (xs, fs) = (copy.var(inst.args[0])?, copy.var(inst.args[1])?);
    let xs = stream::whole(&mut copy.b, xs, span)?;
    let fs = push(copy, Op::Tab, &[fs], span)?;
    let [pending, marks, elems, flags, closed, _] = [0, 1, 2, 3, 4, 5].map(|k| part(copy, before, k, span));
    let (more, more_flags) = (push(copy, Op::Length, &[xs], span)?, push(copy, Op::Length, &[fs], span)?);
    let mut xs = push(copy, Op::Concat(0), &[pending?, xs], span)?;
    let mut all = push(copy, Op::Concat(0), &[marks?, fs], span)?;
    let mut closed = closed?;
    let (mut now, mut made) = (None, Vec::new());
    // Flags of an open group are not considered for others.
    let mut looked_at = all;
    if let Some(open) = open {
        let before = Now::of(copy, before, open.makes.len(), span)?;
        let left = open.feed(copy, changes, (&before, inside), (xs, all))?;
        closed = binary(copy, BinOp::Add, closed, left.closes, span)?;
        (xs, all, made) = (left.xs, left.flags, left.made);
        let (length, none) = (push(copy, Op::Length, &[all], span)?, int(copy, 0, span)?);
        let length = push(copy, Op::Select, &[left.now.open, none, length], span)?;
        looked_at = push(copy, Op::Take, &[all, length], span)?;
        now = Some(left.now);
    }
    let have = push(copy, Op::Length, &[xs], span)?;
    // The position behind the last end, and the number of elements that the flags before it take.
    let length = push(copy, Op::Length, &[looked_at], span)?;
    let numbers = push(copy, Op::Iota(Coll::Array), &[length], span)?;
    let behind = map(copy, &[numbers, looked_at], span, |copy, p| behind_end(copy, p[0], p[1], span))?;
    let zero = int(copy, 0, span)?;
    let last = folded(copy, BinOp::Max, zero, behind, span)?;
    let are_ends = map(copy, &[all], span, |copy, p| push(copy, Op::Cast(ScalarType::I64), &[p[0]], span))?;
    let ends = push(copy, Op::Reduce(Monoid::Sum), &[are_ends], span)?;
    // None, if no flags are considered.
    let count = binary(copy, BinOp::Sub, last, ends, span)?;
    let count = binary(copy, BinOp::Max, count, zero, span)?;
    let are_there = binary(copy, BinOp::Le, count, have, span)?;
    let all_of_them = |copy: &mut Copier<'_>| push(copy, Op::Tuple, &[last, count], span);
    let both = chosen(copy, are_there, span, all_of_them, |copy| as_far_as(copy, looked_at, have, span))?;
    let (mut last, mut count) = (part(copy, both, 0, span)?, part(copy, both, 1, span)?);
    if let Some(open) = open {
        [last, count] = open.before_large(copy, (xs, looked_at), (last, count))?;
    }
    let ready = push(copy, Op::Take, &[xs, count], span)?;
    let ty = old.ty(inst.args[0]).clone();
    let ready = stream::streamed(&mut copy.b, ready, &ty, span)?;
    let cuts = push(copy, Op::Take, &[all, last], span)?;
    let cuts = push(copy, Op::Seq, &[cuts], span)?;
    let parts = push(copy, Op::FlagPart, &[ready, cuts], span)?;
    copy.stand(s, parts);
    let (rest, marks) = (push(copy, Op::Drop, &[xs, count], span)?, push(copy, Op::Drop, &[all, last], span)?);
    if let (Some(open), Some(before)) = (open, &now) {
        now = Some(open.begin(copy, changes, before, (rest, marks))?);
    }
    let elems = binary(copy, BinOp::Add, elems?, more, span)?;
    let flags = binary(copy, BinOp::Add, flags?, more_flags, span)?;
    let ends = binary(copy, BinOp::Add, closed, ends, span)?;
    let closes = binary(copy, BinOp::Sub, last, count, span)?;
    let closed = binary(copy, BinOp::Add, closed, closes, span)?;
    let mut parts = vec![rest, marks, elems, flags, closed, ends];
    parts.extend(now.into_iter().flat_map(Now::parts));
    Ok(Cut { state: push(copy, Op::Tuple, &parts, span)?, made })
}

/// The position behind a flag that is an end; 0 for others.
fn behind_end(copy: &mut Copier<'_>, at: Var, flag: Var, span: Span) -> Copied<Var> {
    let (zero, one) = (int(copy, 0, span)?, int(copy, 1, span)?);
    let after = binary(copy, BinOp::Add, at, one, span)?;
    push(copy, Op::Select, &[flag, after, zero], span)
}

/// The position behind the last end whose elements are among the first `have`, and the number of ends before it.
fn as_far_as(copy: &mut Copier<'_>, all: Var, have: Var, span: Span) -> Copied<Var> {
    let zero = int(copy, 0, span)?;
    let takes = map(copy, &[all], span, |copy, p| {
        let takes = push(copy, Op::Unary(UnOp::Not), &[p[0]], span)?;
        push(copy, Op::Cast(ScalarType::I64), &[takes], span)
    })?;
    let taken = sums(copy, takes, span)?;
    let length = push(copy, Op::Length, &[all], span)?;
    let numbers = push(copy, Op::Iota(Coll::Array), &[length], span)?;
    let closed = map(copy, &[numbers, all, taken], span, |copy, p| {
        let there = binary(copy, BinOp::Le, p[2], have, span)?;
        let closed = binary(copy, BinOp::And, p[1], there, span)?;
        behind_end(copy, p[0], closed, span)
    })?;
    let last = folded(copy, BinOp::Max, zero, closed, span)?;
    let inside = map(copy, &[numbers, takes], span, |copy, p| {
        let inside = binary(copy, BinOp::Lt, p[0], last, span)?;
        push(copy, Op::Select, &[inside, p[1], zero], span)
    })?;
    let count = push(copy, Op::Reduce(Monoid::Sum), &[inside], span)?;
    push(copy, Op::Tuple, &[last, count], span)
}

/// Whether there are elements that have to be processed before others arrive.
pub(super) fn is_busy(copy: &mut Copier<'_>, state: Var, open: &Open, span: Span) -> Copied<Var> {
    Ok(Now::of(copy, state, open.makes.len(), span)?.begun)
}

/// The number of elements so far, and how many the flags so far take.
pub(super) fn totals(copy: &mut Copier<'_>, state: Var, span: Span) -> Copied<Vec<Var>> {
    let [elems, flags, ends] = [2, 3, 5].map(|k| part(copy, state, k, span));
    let takes = binary(copy, BinOp::Sub, flags?, ends?, span)?;
    Ok(vec![elems?, takes])
}

/// Leftover elements or flags are an error: the one that materialised operands of the same lengths give.
pub(super) fn finish(copy: &mut Copier<'_>, s: Var, last: Var, open: Option<&Open>) -> Copied<Var> {
    let span = copy.old.span(s);
    let [rest, marks, elems, flags, ends] = [0, 1, 2, 3, 5].map(|k| part(copy, last, k, span));
    let (rest, marks) = (push(copy, Op::Length, &[rest?], span)?, push(copy, Op::Length, &[marks?], span)?);
    let mut left = binary(copy, BinOp::Add, rest, marks, span)?;
    if let Some(open) = open {
        let now = Now::of(copy, last, open.makes.len(), span)?;
        let is_open = push(copy, Op::Cast(ScalarType::I64), &[now.open], span)?;
        left = binary(copy, BinOp::Add, left, is_open, span)?;
    }
    let one = int(copy, 1, span)?;
    let wrong = binary(copy, BinOp::Min, left, one, span)?;
    let (flags, ends) = (flags?, ends?);
    let (body, _) = copy.b.begin_body_of(&Op::Generate, &[wrong], 0, span)?;
    let xs = push(copy, Op::Iota(Coll::Seq), &[elems?], span)?;
    let all = push(copy, Op::Iota(Coll::Seq), &[flags], span)?;
    // All ends first: so the last flag is none.
    let all = map(copy, &[all], span, |copy, p| binary(copy, BinOp::Lt, p[0], ends, span))?;
    let parts = push(copy, Op::FlagPart, &[xs, all], span)?;
    let count = push(copy, Op::Length, &[parts], span)?;
    copy.b.end_body(count);
    copy.b.push(Op::Generate, &[wrong], &[body], Span::NONE)?;
    Ok(last)
}
