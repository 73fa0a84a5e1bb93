//! The state that is carried from chunk to chunk.

use super::{OrBug, bug, chosen, folded, int, map, part, push};
use crate::cuts::Cuts;
use deckle_analysis::stream;
use deckle_diag::Span;
use deckle_ir::array::{
    BinOp, Coll, Copied, Copier, Function, Inst, Monoid, Op, RecordShape, Refused, Rewrite, ScanKind, Slicer,
};
use deckle_ir::entity::{Body, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::size::Size;
use deckle_ir::types::Type;
use std::sync::Arc;

/// How the value of a statement is computed chunk by chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The number of elements.
    Count,
    /// The combination so far by a built-in operator whose result is independent of grouping.
    Combined(Monoid),
    /// The same for a function, with a start.
    Folded,
    /// The same without a start: a vector of one element or none.
    Best,
    /// The minimum or maximum so far, or the identity element, and the number of elements.
    Extreme(BinOp),
    /// Block by block: the results of complete blocks, and the elements of the incomplete one.
    Blocks,
    /// One element after another, since each is large.
    InOrder,
    /// All elements so far: a vector with spare capacity, and their number.
    Kept,
    /// All elements so far, which have parts: vectors of many, of fewer and of the last.
    KeptParts,
    /// The number of delivered elements of a result.
    Pushed(u32),
    /// All elements so far of a sequence that is a result inside a larger one, stored like `Kept`.
    Gathered,
    /// `zip` or `map` of sequences that do not advance together: the waiting elements, and the numbers on either side.
    Aligned,
    /// A scan continues from the combination so far.
    Scanned,
    /// A scan block by block: the results of complete blocks, and the elements of the incomplete one.
    ScannedBlocks,
    /// Block by block, without a start: for complete blocks a vector of one element or none.
    Blocks1,
    /// The first position of the best element: that element, if there is one, its position, and the number of elements.
    Place,
    /// The only element: the first, if there is one, and the number of elements.
    Only,
    /// `flagpart`: elements and flags of the incomplete subsequence, and their numbers.
    Cut,
}

/// Whether values of a type hold no float, so that the result is independent of grouping.
fn is_exact(ty: &Type) -> bool {
    match ty {
        Type::Scalar(s) => !s.is_float(),
        Type::Array(a) => is_exact(&a.elem),
        Type::Seq(e) => is_exact(e),
        _ => ty.parts().unwrap_or_default().into_iter().all(is_exact),
    }
}

/// The operator that a body applies to its parameters, if it does nothing else.
pub(super) fn only_operator(function: &Function, body: Body) -> Option<BinOp> {
    let data = function.body(body);
    let [s] = data.stmts[..] else { return None };
    let Some(Inst { op: Op::Binary(op), args, .. }) = function.inst(s) else { return None };
    (data.result == s && *args == data.params).then_some(*op)
}

/// The same, if it is their minimum or maximum.
fn extreme(function: &Function, body: Body) -> Option<BinOp> {
    only_operator(function, body).filter(|op| matches!(op, BinOp::Min | BinOp::Max))
}

/// The identity element, which preserves even the sign of a zero.
pub(super) fn neutral(op: BinOp, ty: &Type) -> Option<Scalar> {
    let Type::Scalar(ty) = *ty else { return None };
    match op {
        BinOp::Add => Scalar::float(ty, -0.0).or_else(|| Scalar::wrap_int(ty, 0)),
        BinOp::Mul => Some(Scalar::one(ty)),
        BinOp::Min | BinOp::Max => match ty.int_range() {
            Some((least, greatest)) => Scalar::wrap_int(ty, if op == BinOp::Max { least } else { greatest }),
            None => Scalar::float(ty, if op == BinOp::Max { f64::NEG_INFINITY } else { f64::INFINITY }),
        },
        _ => None,
    }
}

impl State {
    /// Whether elements are processed in blocks.
    pub(super) fn has_blocks(self) -> bool {
        matches!(self, State::Blocks | State::Blocks1 | State::ScannedBlocks)
    }

    /// How a statement that traverses a sequence is computed.
    pub(super) fn of(function: &Function, s: Var) -> Option<State> {
        let inst = function.inst(s)?;
        let elem = |k: usize| inst.args.get(k).and_then(|v| function.ty(*v).as_seq());
        match inst.op {
            Op::Length | Op::Empty => elem(0).map(|_| State::Count),
            Op::Tab => elem(0).map(|t| if t.is_flat() { State::Kept } else { State::KeptParts }),
            Op::Reduce(m) => {
                let exact = is_exact(elem(0)?);
                match m {
                    Monoid::Min => Some(State::Extreme(BinOp::Min)),
                    Monoid::Max => Some(State::Extreme(BinOp::Max)),
                    Monoid::Sum | Monoid::Product if !exact => Some(State::Blocks),
                    Monoid::Sum | Monoid::Product | Monoid::Any | Monoid::All => Some(State::Combined(m)),
                    Monoid::ArgMin | Monoid::ArgMax => Some(State::Place),
                }
            }
            Op::Fold1 => match (elem(0)?, extreme(function, inst.bodies[0])) {
                (Type::Scalar(_), Some(op)) => Some(State::Extreme(op)),
                (t, _) if t.is_flat() && is_exact(t) => Some(State::Best),
                (t, _) if t.is_flat() => Some(State::Blocks1),
                _ => None,
            },
            Op::The if function.ty(s).is_concrete() => elem(0).map(|_| State::Only),
            Op::Tabulate(_) => elem(0).map(|_| State::KeptParts),
            Op::Fold => match elem(1)? {
                t if is_exact(t) || extreme(function, inst.bodies[0]).is_some() => Some(State::Folded),
                t if t.is_flat() => Some(State::Blocks),
                _ => Some(State::InOrder),
            },
            Op::FoldOrdered => elem(1).map(|_| State::Folded),
            Op::ScanOrdered => elem(1).map(|_| State::Scanned),
            Op::FlagPart => Some(State::Cut),
            Op::Scan(..) if inst.args.len() == 2 => match elem(1)? {
                t if is_exact(t) => Some(State::Scanned),
                t if t.is_flat() => Some(State::ScannedBlocks),
                _ => None,
            },
            _ => None,
        }
    }

    /// Before the first chunk.
    pub(super) fn init(self, copy: &mut Copier<'_>, s: Var) -> Copied<Var> {
        let span = copy.old.span(s);
        // These may be a parameter.
        match self {
            State::Pushed(_) => return int(copy, 0, span),
            State::Gathered => {
                let elem = copy.old.ty(s).as_seq().or_bug("a sequence")?.clone();
                return room(copy, &elem, span);
            }
            _ => {}
        }
        let inst = copy.inst(s)?;
        match self {
            State::Pushed(_) | State::Gathered => Err(bug("the first state of a result that is handed over")),
            State::Count => int(copy, 0, span),
            State::Combined(m) => unit(copy, m, &copy.old.ty(s).clone(), span),
            State::Folded | State::InOrder | State::Scanned => copy.var(inst.args[0]),
            State::Best => nothing(copy, copy.old.ty(s), span),
            State::Extreme(op) => {
                let far = neutral(op, copy.old.ty(s)).or_bug("the identity element of an operator")?;
                let (far, none) = (push(copy, Op::Const(far), &[], span)?, int(copy, 0, span)?);
                push(copy, Op::Tuple, &[far, none], span)
            }
            State::Blocks | State::ScannedBlocks => {
                let first = match inst.op {
                    Op::Reduce(m) => unit(copy, m, &copy.old.ty(s).clone(), span)?,
                    _ => copy.var(inst.args[0])?,
                };
                let elem = copy.old.ty(*inst.args.last().or_bug("an operand")?).elem().or_bug("elements")?.clone();
                let rest = nothing(copy, &elem, span)?;
                push(copy, Op::Tuple, &[first, rest], span)
            }
            State::Cut | State::Aligned => Err(bug("the first state of a meeting")),
            State::Blocks1 => {
                let none = nothing(copy, copy.old.ty(s), span)?;
                push(copy, Op::Tuple, &[none, none], span)
            }
            State::Place | State::Only => {
                let elem = copy.old.ty(inst.args[0]).elem().or_bug("elements")?.clone();
                let (none, zero) = (nothing(copy, &elem, span)?, int(copy, 0, span)?);
                push(copy, Op::Tuple, &[none, zero, zero], span)
            }
            State::KeptParts => {
                let elem = copy.old.ty(inst.args[0]).elem().or_bug("elements")?.clone();
                let none = nothing(copy, &elem, span)?;
                push(copy, Op::Tuple, &[none, none, none], span)
            }
            State::Kept => {
                let elem = copy.old.ty(inst.args[0]).elem().or_bug("elements")?.clone();
                room(copy, &elem, span)
            }
        }
    }

    /// After a chunk, which represents the whole sequences.
    pub(super) fn step(
        self,
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        (s, cuts): (Var, &Cuts),
        before: Var,
    ) -> Copied<Var> {
        let old = copy.old;
        let span = old.span(s);
        if let State::Pushed(k) = self {
            let xs = copy.var(s)?;
            let xs = stream::whole(&mut copy.b, xs, span)?;
            return push(copy, Op::Push(k), &[before, xs], span);
        }
        if let State::Gathered = self {
            return kept(copy, copy.var(s)?, before, span);
        }
        let inst = copy.inst(s)?;
        match self {
            State::Count => {
                let xs = copy.var(inst.args[0])?;
                let more = push(copy, Op::Length, &[xs], span)?;
                push(copy, Op::Binary(BinOp::Add), &[before, more], span)
            }
            State::Combined(m) => {
                let xs = copy.var(inst.args[0])?;
                let more = push(copy, Op::Reduce(m), &[xs], span)?;
                push(copy, Op::Binary(operator(m).or_bug("an operator")?), &[before, more], span)
            }
            State::Folded => {
                let xs = copy.var(inst.args[1])?;
                copy.statement_with(changes, s, &[before, xs])?;
                copy.var(s)
            }
            State::Scanned => {
                let xs = copy.var(inst.args[1])?;
                let fold = if inst.op == Op::ScanOrdered { Op::FoldOrdered } else { Op::Fold };
                let after = applied(copy, changes, s, &fold, &[before, xs])?;
                copy.statement_with(changes, s, &[before, xs])?;
                Ok(after)
            }
            State::Best => {
                let xs = copy.var(inst.args[0])?;
                let xs = push(copy, Op::Tab, &[xs], span)?;
                let mut best = |copy: &mut Copier<'_>, xs| {
                    let length = push(copy, Op::Length, &[xs], span)?;
                    at_most_one(copy, (length, old.ty(s)), span, |copy| {
                        copy.statement_with(changes, s, &[xs])?;
                        copy.var(s)
                    })
                };
                let new = best(copy, xs)?;
                let both = push(copy, Op::Concat(0), &[before, new], span)?;
                best(copy, both)
            }
            State::Extreme(op) => {
                let (far, count) = (part(copy, before, 0, span)?, part(copy, before, 1, span)?);
                let xs = copy.var(inst.args[0])?;
                let far = folded(copy, op, far, xs, span)?;
                let more = push(copy, Op::Length, &[xs], span)?;
                let count = push(copy, Op::Binary(BinOp::Add), &[count, more], span)?;
                push(copy, Op::Tuple, &[far, count], span)
            }
            State::InOrder => {
                let xs = copy.var(inst.args[1])?;
                let xs = push(copy, Op::Tab, &[xs], span)?;
                let count = push(copy, Op::Length, &[xs], span)?;
                one_by_one(copy, changes, s, (count, before), |copy, _, i| push(copy, Op::Index, &[xs, i], span))
            }
            State::Only => {
                let [first, _, count] = [0, 1, 2].map(|k| part(copy, before, k, span));
                let xs = copy.var(inst.args[0])?;
                let xs = push(copy, Op::Tab, &[xs], span)?;
                let more = push(copy, Op::Length, &[xs], span)?;
                let all = push(copy, Op::Concat(0), &[first?, xs], span)?;
                let one = int(copy, 1, span)?;
                let first = push(copy, Op::Take, &[all, one], span)?;
                let count = push(copy, Op::Binary(BinOp::Add), &[count?, more], span)?;
                push(copy, Op::Tuple, &[first, one, count], span)
            }
            State::Place => {
                let [best, place, count] = [0, 1, 2].map(|k| part(copy, before, k, span));
                let (best, place, count) = (best?, place?, count?);
                let xs = copy.var(inst.args[0])?;
                let xs = push(copy, Op::Tab, &[xs], span)?;
                let (more, had) = (push(copy, Op::Length, &[xs], span)?, push(copy, Op::Length, &[best], span)?);
                let all = push(copy, Op::Concat(0), &[best, xs], span)?;
                let length = push(copy, Op::Length, &[all], span)?;
                let places =
                    at_most_one(copy, (length, &Type::INT), span, |copy| push(copy, inst.op.clone(), &[all], span))?;
                let (body, params) = copy.b.begin_body_of(&Op::Map, &[places], 0, span)?;
                let elem = push(copy, Op::Index, &[all, params[0]], span)?;
                copy.b.end_body(elem);
                let best = copy.b.push(Op::Map, &[places], &[body], span)?;
                // The best one so far comes before the others: if it still is the best, its place stays.
                let (body, params) = copy.b.begin_body_of(&Op::Fold, &[place, places], 0, span)?;
                let stays = push(copy, Op::Binary(BinOp::Lt), &[params[1], had], span)?;
                let before = push(copy, Op::Binary(BinOp::Sub), &[count, had], span)?;
                let new = push(copy, Op::Binary(BinOp::Add), &[before, params[1]], span)?;
                let place_now = push(copy, Op::Select, &[stays, params[0], new], span)?;
                copy.b.end_body(place_now);
                let place = copy.b.push(Op::Fold, &[place, places], &[body], span)?;
                let count = push(copy, Op::Binary(BinOp::Add), &[count, more], span)?;
                push(copy, Op::Tuple, &[best, place, count], span)
            }
            State::Blocks | State::Blocks1 => {
                let (sum, rest) = (part(copy, before, 0, span)?, part(copy, before, 1, span)?);
                let xs = copy.var(*inst.args.last().or_bug("an operand")?)?;
                let xs = push(copy, Op::Tab, &[xs], span)?;
                let (totals, rest) = blocks(copy, changes, (s, cuts), rest, xs)?;
                let sum = if self == State::Blocks1 {
                    let all = push(copy, Op::Concat(0), &[sum, totals], span)?;
                    in_order(copy, changes, s, all)?
                } else {
                    let count = push(copy, Op::Length, &[totals], span)?;
                    one_by_one(copy, changes, s, (count, sum), |copy, _, i| push(copy, Op::Index, &[totals, i], span))?
                };
                push(copy, Op::Tuple, &[sum, rest], span)
            }
            State::ScannedBlocks => {
                let (sum, rest) = (part(copy, before, 0, span)?, part(copy, before, 1, span)?);
                let xs = copy.var(*inst.args.last().or_bug("an operand")?)?;
                let xs = push(copy, Op::Tab, &[xs], span)?;
                let had = push(copy, Op::Length, &[rest], span)?;
                let all = push(copy, Op::Concat(0), &[rest, xs], span)?;
                let length = push(copy, Op::Length, &[all], span)?;
                let block = int(copy, cuts.float_block, span)?;
                let count = push(copy, Op::Binary(BinOp::Div), &[length, block], span)?;
                let totals =
                    rows(copy, (all, length), (count, cuts), span, |copy, row, _| total(copy, changes, s, row))?;
                let scanned = scanned(copy, changes, (s, cuts), (all, length), (sum, totals))?;
                let now = push(copy, Op::Drop, &[scanned, had], span)?;
                let now = push(copy, Op::Seq, &[now], span)?;
                copy.stand(s, now);
                let sum =
                    one_by_one(copy, changes, s, (count, sum), |copy, _, i| push(copy, Op::Index, &[totals, i], span))?;
                let whole = push(copy, Op::Binary(BinOp::Mul), &[count, block], span)?;
                let rest = push(copy, Op::Drop, &[all, whole], span)?;
                push(copy, Op::Tuple, &[sum, rest], span)
            }
            // These need more context.
            State::Cut | State::Aligned | State::Pushed(_) | State::Gathered => {
                Err(bug("the next state of a meeting or of a result that is handed over"))
            }
            State::KeptParts => {
                let xs = copy.var(inst.args[0])?;
                let xs = push(copy, Op::Tab, &[xs], span)?;
                let elem = old.ty(inst.args[0]).elem().or_bug("elements")?.clone();
                let more = push(copy, Op::Length, &[xs], span)?;
                let [many, fewer, last] = [0, 1, 2].map(|k| part(copy, before, k, span));
                let last = push(copy, Op::Concat(0), &[last?, xs], span)?;
                let (fewer, last) = moved_on(copy, fewer?, last, (more, cuts.collected), &elem, span)?;
                let (many, fewer) = moved_on(copy, many?, fewer, (more, cuts.collected * cuts.collected), &elem, span)?;
                push(copy, Op::Tuple, &[many, fewer, last], span)
            }
            State::Kept => kept(copy, copy.var(inst.args[0])?, before, span),
        }
    }

    /// After the last chunk.
    pub(super) fn finish(self, copy: &mut Copier<'_>, changes: &mut dyn Rewrite, s: Var, last: Var) -> Copied<Var> {
        let old = copy.old;
        let span = old.span(s);
        match self {
            State::Count if matches!(copy.inst(s)?.op, Op::Empty) => {
                let none = int(copy, 0, span)?;
                push(copy, Op::Binary(BinOp::Eq), &[last, none], span)
            }
            State::Best => {
                copy.statement_with(changes, s, &[last])?;
                copy.var(s)
            }
            State::Extreme(_) => {
                let (far, count) = (part(copy, last, 0, span)?, part(copy, last, 1, span)?);
                let all = push(copy, Op::Array(old.ty(s).clone()), &[far], span)?;
                let all = push(copy, Op::Take, &[all, count], span)?;
                copy.statement_with(changes, s, &[all])?;
                copy.var(s)
            }
            State::Blocks => {
                let (sum, rest) = (part(copy, last, 0, span)?, part(copy, last, 1, span)?);
                let length = push(copy, Op::Length, &[rest], span)?;
                let one = int(copy, 1, span)?;
                let some = push(copy, Op::Binary(BinOp::Min), &[length, one], span)?;
                one_by_one(copy, changes, s, (some, sum), |copy, changes, _| total(copy, changes, s, rest))
            }
            State::Cut | State::Aligned => Err(bug("the last state of a meeting")),
            State::Blocks1 => {
                let (sum, rest) = (part(copy, last, 0, span)?, part(copy, last, 1, span)?);
                let length = push(copy, Op::Length, &[rest], span)?;
                let rest = at_most_one(copy, (length, old.ty(s)), span, |copy| total(copy, changes, s, rest))?;
                let all = push(copy, Op::Concat(0), &[sum, rest], span)?;
                let only = in_order(copy, changes, s, all)?;
                applied(copy, changes, s, &Op::Fold1, &[only])
            }
            State::Place => {
                let (best, place) = (part(copy, last, 0, span)?, part(copy, last, 1, span)?);
                let none = push(copy, copy.inst(s)?.op.clone(), &[best], span)?;
                push(copy, Op::Binary(BinOp::Add), &[none, place], span)
            }
            State::Only => {
                let (first, count) = (part(copy, last, 0, span)?, part(copy, last, 2, span)?);
                let (body, _) = copy.b.begin_body_of(&Op::Produce, &[count], 0, span)?;
                let zero = int(copy, 0, span)?;
                let elem = push(copy, Op::Index, &[first, zero], span)?;
                copy.b.end_body(elem);
                let all = copy.b.push(Op::Produce, &[count], &[body], span)?;
                push(copy, Op::The, &[all], span)
            }
            State::KeptParts => {
                let [many, fewer, rest] = [0, 1, 2].map(|k| part(copy, last, k, span));
                let all = push(copy, Op::Concat(0), &[fewer?, rest?], span)?;
                let all = push(copy, Op::Concat(0), &[many?, all], span)?;
                match copy.inst(s)?.op {
                    Op::Tab => alike(copy, old.ty(s), all, span),
                    ref op => {
                        let all = push(copy, Op::Seq, &[all], span)?;
                        push(copy, op.clone(), &[all], span)
                    }
                }
            }
            State::Kept | State::Gathered => {
                let (room, count) = (part(copy, last, 0, span)?, part(copy, last, 1, span)?);
                push(copy, Op::Take, &[room, count], span)
            }
            _ => Ok(last),
        }
    }
}

/// Capacity for elements, and their number.
fn room(copy: &mut Copier<'_>, elem: &Type, span: Span) -> Copied<Var> {
    let (room, none) = (nothing(copy, elem, span)?, int(copy, 0, span)?);
    push(copy, Op::Tuple, &[room, none], span)
}

/// Appends the elements of a sequence, which have no parts.
fn kept(copy: &mut Copier<'_>, xs: Var, before: Var, span: Span) -> Copied<Var> {
    let xs = push(copy, Op::Tab, &[xs], span)?;
    let elem = copy.b.ty(xs).elem().or_bug("elements")?.clone();
    let (room, count) = (part(copy, before, 0, span)?, part(copy, before, 1, span)?);
    let (more, have) = (push(copy, Op::Length, &[xs], span)?, push(copy, Op::Length, &[room], span)?);
    let all = push(copy, Op::Binary(BinOp::Add), &[count, more], span)?;
    let is_full = push(copy, Op::Binary(BinOp::Gt), &[all, have], span)?;
    let larger = |copy: &mut Copier<'_>| {
        // At least doubles, so that copying takes amortised constant time per element.
        let by = push(copy, Op::Binary(BinOp::Max), &[have, more], span)?;
        let zero = zero(copy, &elem, span)?;
        let new = push(copy, Op::Replicate, &[zero, by], span)?;
        push(copy, Op::Concat(0), &[room, new], span)
    };
    let room = chosen(copy, is_full, span, larger, |_| Ok(room))?;
    let numbers = push(copy, Op::Iota(Coll::Array), &[more], span)?;
    let at = map(copy, &[numbers], span, |copy, p| push(copy, Op::Binary(BinOp::Add), &[count, p[0]], span))?;
    let room = push(copy, Op::Scatter, &[room, at, xs], span)?;
    push(copy, Op::Tuple, &[room, all], span)
}

/// Appends the second vector to the first if its length exceeds a multiple of the new elements, so that each element is copied only a few
/// times.
fn moved_on(
    copy: &mut Copier<'_>,
    first: Var,
    second: Var,
    (more, times): (Var, i64),
    elem: &Type,
    span: Span,
) -> Copied<(Var, Var)> {
    let times = int(copy, times, span)?;
    let most = push(copy, Op::Binary(BinOp::Mul), &[more, times], span)?;
    let length = push(copy, Op::Length, &[second], span)?;
    let is_long = push(copy, Op::Binary(BinOp::Ge), &[length, most], span)?;
    let moved = |copy: &mut Copier<'_>| {
        let (all, none) = (push(copy, Op::Concat(0), &[first, second], span)?, nothing(copy, elem, span)?);
        push(copy, Op::Tuple, &[all, none], span)
    };
    let both = chosen(copy, is_long, span, moved, |copy| push(copy, Op::Tuple, &[first, second], span))?;
    Ok((part(copy, both, 0, span)?, part(copy, both, 1, span)?))
}

/// Elements gathered from several vectors, with the sizes of a type: sizes that are equal in all its elements are made equal again. The sizes in the type decide what is valid.
fn alike(copy: &mut Copier<'_>, ty: &Type, all: Var, span: Span) -> Copied<Var> {
    let mut told = Vec::new();
    ty.for_each_size(&mut |size, depth| told.push((!size.varies(depth)).then(|| size.clone())));
    let mut told = told.into_iter();
    let mut known: Vec<(Size, Size)> = Vec::new();
    let now = copy.b.ty(all).clone();
    let ensured = now.map_sizes(&mut |size, depth| match told.next().flatten() {
        Some(was) if size.varies(depth) => {
            if was.as_constant().is_some() {
                return was;
            }
            if let Some((_, new)) = known.iter().find(|(old, _)| *old == was) {
                return new.clone();
            }
            let new = Size::var(copy.b.new_size(0));
            known.push((was, new.clone()));
            new
        }
        _ => size.clone(),
    });
    if ensured == now { Ok(all) } else { push(copy, Op::Ensure(ensured), &[all], span) }
}

/// A vector without elements. The sizes of these do not matter.
pub(super) fn nothing(copy: &mut Copier<'_>, elem: &Type, span: Span) -> Copied<Var> {
    let elem = elem.map_sizes(&mut |_, _| Size::constant(0));
    push(copy, Op::Array(elem), &[], span)
}

/// The result of a body if it has elements to work on: a vector of one or none.
fn at_most_one(
    copy: &mut Copier<'_>,
    (length, ty): (Var, &Type),
    span: Span,
    element: impl FnOnce(&mut Copier<'_>) -> Copied<Var>,
) -> Copied<Var> {
    let zero = int(copy, 0, span)?;
    let is_some = push(copy, Op::Binary(BinOp::Gt), &[length, zero], span)?;
    chosen(
        copy,
        is_some,
        span,
        |copy| {
            let element = element(copy)?;
            push(copy, Op::Array(ty.clone()), &[element], span)
        },
        |copy| nothing(copy, ty, span),
    )
}

/// The scalar operator that combines two values like a built-in monoid.
fn operator(m: Monoid) -> Option<BinOp> {
    Some(match m {
        Monoid::Sum => BinOp::Add,
        Monoid::Product => BinOp::Mul,
        Monoid::Any => BinOp::Or,
        Monoid::All => BinOp::And,
        _ => return None,
    })
}

/// The identity element.
fn unit(copy: &mut Copier<'_>, m: Monoid, ty: &Type, span: Span) -> Copied<Var> {
    let Type::Scalar(ty) = *ty else { return Err(bug("a reduction of what is no scalar")) };
    let c = match m {
        Monoid::Product => Scalar::one(ty),
        Monoid::All => Scalar::Bool(true),
        _ => Scalar::zero(ty),
    };
    push(copy, Op::Const(c), &[], span)
}

/// Some value of a type without arrays.
pub(super) fn zero(copy: &mut Copier<'_>, ty: &Type, span: Span) -> Copied<Var> {
    if let Type::Scalar(ty) = *ty {
        return push(copy, Op::Const(Scalar::zero(ty)), &[], span);
    }
    let parts =
        ty.parts().or_bug("components")?.into_iter().map(|t| zero(copy, t, span)).collect::<Copied<Vec<_>>>()?;
    let op = match ty {
        Type::Record(r) => {
            let fields = r.fields.iter().map(|(n, _)| n.clone()).collect();
            Op::Record(Arc::new(RecordShape { name: r.name.clone(), fields }))
        }
        _ => Op::Tuple,
    };
    push(copy, op, &parts, span)
}

/// The body of a fold or scan used as that of another operator.
fn applied(copy: &mut Copier<'_>, changes: &mut dyn Rewrite, s: Var, op: &Op, args: &[Var]) -> Copied<Var> {
    let (old, span) = (copy.old, copy.old.span(s));
    let theirs = *copy.inst(s)?.bodies.first().or_bug("a body or operand")?;
    let (body, params) = copy.b.begin_body_of(op, args, 0, span)?;
    old.body(theirs).params.iter().zip(params).for_each(|(p, q)| copy.stand(*p, q));
    let result = copy.statements(changes, theirs)?;
    copy.b.end_body(result);
    copy.b.push(op.clone(), args, &[body], span).map_err(Refused::from)
}

/// The fold of a vector with at least one element.
fn total(copy: &mut Copier<'_>, changes: &mut dyn Rewrite, s: Var, xs: Var) -> Copied<Var> {
    match copy.inst(s)?.op {
        Op::Reduce(m) => push(copy, Op::Reduce(m), &[xs], copy.old.span(s)),
        _ => applied(copy, changes, s, &Op::Fold1, &[xs]),
    }
}

/// A vector of results, one per block of another vector; the last block may be shorter.
fn rows(
    copy: &mut Copier<'_>,
    (all, length): (Var, Var),
    (count, cuts): (Var, &Cuts),
    span: Span,
    each: impl FnOnce(&mut Copier<'_>, Var, Var) -> Copied<Var>,
) -> Copied<Var> {
    let block = int(copy, cuts.float_block, span)?;
    let (body, params) = copy.b.begin_body_of(&Op::Generate, &[count], 0, span)?;
    let number = *params.first().or_bug("a body or operand")?;
    let lo = push(copy, Op::Binary(BinOp::Mul), &[number, block], span)?;
    let hi = push(copy, Op::Binary(BinOp::Add), &[lo, block], span)?;
    let hi = push(copy, Op::Binary(BinOp::Min), &[hi, length], span)?;
    let row = push(copy, Op::Slice(vec![Slicer::Range]), &[all, lo, hi], span)?;
    let result = each(copy, row, number)?;
    copy.b.end_body(result);
    copy.b.push(Op::Generate, &[count], &[body], span).map_err(Refused::from)
}

/// The results of the complete blocks, starting with the one left incomplete before, and the elements that remain now. Only the first and the last block are
/// copied together: new elements between them are combined where they are computed.
fn blocks(
    copy: &mut Copier<'_>,
    changes: &mut dyn Rewrite,
    (s, cuts): (Var, &Cuts),
    rest: Var,
    xs: Var,
) -> Copied<(Var, Var)> {
    let span = copy.old.span(s);
    let binary = |copy: &mut Copier<'_>, op, a, b| push(copy, Op::Binary(op), &[a, b], span);
    let (block, none, one) = (int(copy, cuts.float_block, span)?, int(copy, 0, span)?, int(copy, 1, span)?);
    let (had, more) = (push(copy, Op::Length, &[rest], span)?, push(copy, Op::Length, &[xs], span)?);
    // How many elements complete the block that was begun.
    let is_begun = binary(copy, BinOp::Gt, had, none)?;
    let lack = binary(copy, BinOp::Sub, block, had)?;
    let need = binary(copy, BinOp::Min, lack, more)?;
    let need = push(copy, Op::Select, &[is_begun, need, none], span)?;
    let begun = push(copy, Op::Take, &[xs, need], span)?;
    let begun = push(copy, Op::Concat(0), &[rest, begun], span)?;
    let length = binary(copy, BinOp::Add, had, need)?;
    let is_full = binary(copy, BinOp::Eq, length, block)?;
    let full = push(copy, Op::Select, &[is_full, one, none], span)?;
    let left = binary(copy, BinOp::Sub, more, need)?;
    let count = binary(copy, BinOp::Div, left, block)?;
    let all = binary(copy, BinOp::Add, full, count)?;
    // All blocks use the same code, since the code decides how floats are grouped.
    let (body, params) = copy.b.begin_body_of(&Op::Generate, &[all], 0, span)?;
    let is_first = binary(copy, BinOp::Lt, params[0], full)?;
    let (yes, _) = copy.b.begin_body_of(&Op::If, &[is_first], 0, span)?;
    let row = push(copy, Op::Slice(vec![Slicer::Range]), &[begun, none, block], span)?;
    copy.b.end_body(row);
    let (no, _) = copy.b.begin_body_of(&Op::If, &[is_first], 1, span)?;
    let number = binary(copy, BinOp::Sub, params[0], full)?;
    let lo = binary(copy, BinOp::Mul, number, block)?;
    let lo = binary(copy, BinOp::Add, lo, need)?;
    let hi = binary(copy, BinOp::Add, lo, block)?;
    let row = push(copy, Op::Slice(vec![Slicer::Range]), &[xs, lo, hi], span)?;
    copy.b.end_body(row);
    let row = copy.b.push(Op::If, &[is_first], &[yes, no], span)?;
    let result = total(copy, changes, s, row)?;
    copy.b.end_body(result);
    let totals = copy.b.push(Op::Generate, &[all], &[body], span)?;
    let stays = push(copy, Op::Select, &[is_full, none, length], span)?;
    let stays = push(copy, Op::Take, &[begun, stays], span)?;
    let gone = binary(copy, BinOp::Mul, count, block)?;
    let gone = binary(copy, BinOp::Add, gone, need)?;
    let last = push(copy, Op::Drop, &[xs, gone], span)?;
    let rest = push(copy, Op::Concat(0), &[stays, last], span)?;
    Ok((totals, rest))
}

/// A scan of a vector, block by block: each starts from the previous state and all blocks before it, in order.
fn scanned(
    copy: &mut Copier<'_>,
    changes: &mut dyn Rewrite,
    (s, cuts): (Var, &Cuts),
    (all, length): (Var, Var),
    (sum, totals): (Var, Var),
) -> Copied<Var> {
    let span = copy.old.span(s);
    let inst = copy.inst(s)?;
    let Op::Scan(direction, kind) = inst.op else { return Err(bug("a scan of blocks by another operator")) };
    let theirs = *inst.bodies.first().or_bug("a body or operand")?;
    let more = int(copy, cuts.float_block - 1, span)?;
    let block = int(copy, cuts.float_block, span)?;
    let count = push(copy, Op::Binary(BinOp::Add), &[length, more], span)?;
    let count = push(copy, Op::Binary(BinOp::Div), &[count, block], span)?;
    let blocks = rows(copy, (all, length), (count, cuts), span, |copy, row, number| {
        let before =
            one_by_one(copy, changes, s, (number, sum), |copy, _, i| push(copy, Op::Index, &[totals, i], span))?;
        let within = Op::Scan(direction, ScanKind::Inclusive);
        let within = applied(copy, changes, s, &within, &[row])?;
        let size = push(copy, Op::Length, &[row], span)?;
        let (body, params) = copy.b.begin_body_of(&Op::Generate, &[size], 0, span)?;
        let at = *params.first().or_bug("a body or operand")?;
        let element = if kind == ScanKind::Inclusive {
            let x = push(copy, Op::Index, &[within, at], span)?;
            pair(copy, changes, theirs, before, x)?
        } else {
            let zero = int(copy, 0, span)?;
            let is_first = push(copy, Op::Binary(BinOp::Eq), &[at, zero], span)?;
            let (yes, _) = copy.b.begin_body_of(&Op::If, &[is_first], 0, span)?;
            copy.b.end_body(before);
            let (no, _) = copy.b.begin_body_of(&Op::If, &[is_first], 1, span)?;
            let one = int(copy, 1, span)?;
            let at = push(copy, Op::Binary(BinOp::Sub), &[at, one], span)?;
            let x = push(copy, Op::Index, &[within, at], span)?;
            let both = pair(copy, changes, theirs, before, x)?;
            copy.b.end_body(both);
            copy.b.push(Op::If, &[is_first], &[yes, no], span)?
        };
        copy.b.end_body(element);
        copy.b.push(Op::Generate, &[size], &[body], span).map_err(Refused::from)
    })?;
    push(copy, Op::Flatten, &[blocks], span)
}

/// Two values combined by a body.
fn pair(copy: &mut Copier<'_>, changes: &mut dyn Rewrite, body: Body, a: Var, b: Var) -> Copied<Var> {
    let [p, q] = copy.old.body(body).params[..] else { return Err(bug("a combining function without two parameters")) };
    copy.stand(p, a);
    copy.stand(q, b);
    copy.statements(changes, body)
}

/// The ordered fold of a vector: a vector of one element, or none.
fn in_order(copy: &mut Copier<'_>, changes: &mut dyn Rewrite, s: Var, xs: Var) -> Copied<Var> {
    let span = copy.old.span(s);
    let length = push(copy, Op::Length, &[xs], span)?;
    let ty = copy.b.ty(xs).elem().or_bug("elements")?.clone();
    at_most_one(copy, (length, &ty), span, |copy| {
        let (zero, one) = (int(copy, 0, span)?, int(copy, 1, span)?);
        let first = push(copy, Op::Index, &[xs, zero], span)?;
        let others = push(copy, Op::Binary(BinOp::Sub), &[length, one], span)?;
        one_by_one(copy, changes, s, (others, first), |copy, _, i| {
            let i = push(copy, Op::Binary(BinOp::Add), &[i, one], span)?;
            push(copy, Op::Index, &[xs, i], span)
        })
    })
}

/// Starts from a value and combines it with a number of others, in order.
fn one_by_one(
    copy: &mut Copier<'_>,
    changes: &mut dyn Rewrite,
    s: Var,
    (count, start): (Var, Var),
    element: impl FnOnce(&mut Copier<'_>, &mut dyn Rewrite, Var) -> Copied<Var>,
) -> Copied<Var> {
    let span = copy.old.span(s);
    let inst = copy.inst(s)?;
    let (body, params) = copy.b.begin_body_of(&Op::For, &[count, start], 0, span)?;
    let [i, sum] = params[..] else { return Err(bug("a step without a number and a state")) };
    let x = element(copy, changes, i)?;
    let next = match inst.op {
        Op::Reduce(m) => push(copy, Op::Binary(operator(m).or_bug("an operator")?), &[sum, x], span)?,
        _ => pair(copy, changes, *inst.bodies.first().or_bug("a body or operand")?, sum, x)?,
    };
    copy.b.end_body(next);
    copy.b.push(Op::For, &[count, start], &[body], span).map_err(Refused::from)
}
