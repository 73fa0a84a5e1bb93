//! Groups that are too large to be stored.
//!
//! `flagpart` stores the elements of a group until its end. A group of more than `Cuts::large` elements is *open* instead: the computation on it is, like a traversal of its own, begun, fed with
//! elements as they arrive, and ended, so that only its state is carried on. This holds for every group of that size, even if one chunk has all of it: then the chunk is left for a step that
//! does nothing else. So bits do not depend on where chunks end.

use super::group::{Group, Pace};
use super::plan::{self, Text, Unit};
use super::state::nothing;
use super::traversal::Traversal;
use super::{OrBug, Sizes, bug, chosen, folded, int, map, part, push};
use deckle_analysis::stream;
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Coll, Copied, Copier, Monoid, Op, Rewrite, UnOp};
use deckle_ir::entity::{Body, Var};
use deckle_ir::scalar::Scalar;

/// A `flagpart` whose groups may be open, and all computations on them.
#[derive(Clone, Debug)]
pub(super) struct Open {
    pub stmt: Var,
    pub makes: Vec<Making>,
    pub large: i64,
}

/// A `map` over groups.
#[derive(Clone, Debug)]
pub(super) struct Making {
    pub stmt: Var,
    /// The computation on a group.
    units: Vec<Unit>,
    body: Body,
    /// The parameter that is the group.
    param: Var,
}

impl Open {
    /// The open groups of a statement, if all computations on them can be incremental.
    pub(super) fn of(text: &Text<'_>, group: &Group, s: Var) -> Option<Open> {
        let function = text.function;
        function.inst(s).filter(|inst| inst.op == Op::FlagPart)?;
        if group.results.contains(&s) || !function.ty(s).as_seq()?.as_seq()?.is_concrete() {
            return None;
        }
        let users = group.stmts.iter().filter(|t| text.uses(**t).contains(&s));
        let makes = users.map(|t| Making::of(text, s, *t)).collect::<Option<Vec<_>>>()?;
        (!makes.is_empty()).then_some(Open { stmt: s, makes, large: text.cuts.large })
    }
}

impl Making {
    fn of(text: &Text<'_>, groups: Var, s: Var) -> Option<Making> {
        let function = text.function;
        let inst = function.inst(s).filter(|inst| inst.op == Op::Map && inst.args == [groups])?;
        let body = *inst.bodies.first()?;
        let param = *function.body(body).params.first()?;
        if !function.ty(s).as_seq()?.is_concrete() || function.body(body).result == param {
            return None;
        }
        let units = plan::inside(text, body, false).ok()?;
        let making = Making { stmt: s, units, body, param };
        let group = making.only_loop()?;
        let fine = group.sources == [(param, Pace::Clock(0))] && group.meetings.is_empty();
        fine.then_some(making)
    }

    /// The only loop, which traverses the group.
    fn only_loop(&self) -> Option<&Group> {
        let mut found = None;
        for unit in &self.units {
            match unit {
                Unit::Statement(_) => {}
                Unit::Loop(group) if found.is_none() => found = Some(group),
                _ => return None,
            }
        }
        found
    }

    /// The statements before the loop, and the initial loop.
    fn begin(&self, copy: &mut Copier<'_>, changes: &mut dyn Rewrite) -> Copied<Traversal> {
        for unit in &self.units {
            match unit {
                Unit::Statement(s) => copy.statement(changes, *s)?,
                Unit::Loop(group) => return Traversal::begin(copy, changes, group, true),
                _ => break,
            }
        }
        Err(bug("an open group without exactly one loop"))
    }

    /// The state before the first element.
    pub(super) fn init(&self, copy: &mut Copier<'_>, changes: &mut dyn Rewrite) -> Copied<Var> {
        let start = self.begin(copy, changes)?.start;
        push(copy, Op::Tuple, &start, copy.old.span(self.stmt))
    }

    /// The state after more elements.
    fn feed(
        &self,
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        (state, inside): (Var, Var),
        more: Var,
    ) -> Copied<Var> {
        let span = copy.old.span(self.stmt);
        let traversal = self.begin(copy, changes)?;
        let ty = copy.old.ty(self.param).clone();
        let more = stream::streamed(&mut copy.b, more, &ty, span)?;
        copy.stand(self.param, more);
        // The part gives the number of elements.
        let none = int(copy, 0, span)?;
        let next = traversal.step(copy, changes, Sizes { chunk: none, inside }, state)?;
        push(copy, Op::Tuple, &next, span)
    }

    /// The results for a complete group.
    fn end(&self, copy: &mut Copier<'_>, changes: &mut dyn Rewrite, state: Var) -> Copied<Var> {
        self.begin(copy, changes)?.end(copy, changes, state)?;
        let mut after = self.units.iter().skip_while(|u| !matches!(u, Unit::Loop(_))).skip(1);
        after.try_for_each(|unit| match unit {
            Unit::Statement(s) => copy.statement(changes, *s),
            _ => Err(bug("an open group without exactly one loop")),
        })?;
        copy.var(copy.old.body(self.body).result)
    }
}

/// A group that is open.
pub(super) struct Now {
    /// Whether one is.
    pub open: Var,
    /// Whether it has just begun: its present elements have to be processed before others arrive.
    pub begun: Var,
    pub states: Vec<Var>,
}

/// The elements and flags that remain after the open group has taken its own.
pub(super) struct Left {
    pub now: Now,
    pub xs: Var,
    pub flags: Var,
    /// 1 if the group is complete.
    pub closes: Var,
    /// Its results, a vector of one element or none for each `map`.
    pub made: Vec<(Var, Var)>,
}

/// The place of the open group in the state of a `flagpart`.
const OPEN: u32 = 6;

/// The number of flags before the first end.
fn before_end(copy: &mut Copier<'_>, flags: Var, span: Span) -> Copied<Var> {
    let length = push(copy, Op::Length, &[flags], span)?;
    let numbers = push(copy, Op::Iota(Coll::Array), &[length], span)?;
    let places = map(copy, &[numbers, flags], span, |copy, p| push(copy, Op::Select, &[p[1], p[0], length], span))?;
    folded(copy, BinOp::Min, length, places, span)
}

impl Open {
    /// No group is open.
    pub(super) fn init(&self, copy: &mut Copier<'_>, changes: &mut dyn Rewrite) -> Copied<Vec<Var>> {
        let span = copy.old.span(self.stmt);
        let no = push(copy, Op::Const(Scalar::Bool(false)), &[], span)?;
        let mut parts = vec![no, no];
        for make in &self.makes {
            parts.push(make.init(copy, changes)?);
        }
        Ok(parts)
    }

    /// Feeds the open group, if there is one.
    pub(super) fn feed(
        &self,
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        (now, inside): (&Now, Var),
        (xs, flags): (Var, Var),
    ) -> Copied<Left> {
        let span = copy.old.span(self.stmt);
        let (zero, one) = (int(copy, 0, span)?, int(copy, 1, span)?);
        let (have, length) = (push(copy, Op::Length, &[xs], span)?, push(copy, Op::Length, &[flags], span)?);
        let end = chosen(copy, now.open, span, |copy| before_end(copy, flags, span), |_| Ok(zero))?;
        let count = push(copy, Op::Binary(BinOp::Min), &[end, have], span)?;
        let has_end = push(copy, Op::Binary(BinOp::Lt), &[end, length], span)?;
        let is_there = push(copy, Op::Binary(BinOp::Le), &[end, have], span)?;
        let closes = push(copy, Op::Binary(BinOp::And), &[has_end, is_there], span)?;
        let closes = push(copy, Op::Binary(BinOp::And), &[closes, now.open], span)?;
        let (mut states, mut made) = (Vec::new(), Vec::new());
        for (make, state) in self.makes.iter().zip(&now.states) {
            let fed = |copy: &mut Copier<'_>| {
                let part = push(copy, Op::Take, &[xs, count], span)?;
                make.feed(copy, changes, (*state, inside), part)
            };
            let state = chosen(copy, now.open, span, fed, |_| Ok(*state))?;
            let s = make.stmt;
            let elem = copy.old.ty(s).as_seq().or_bug("a sequence")?.clone();
            let ended = |copy: &mut Copier<'_>| {
                let result = make.end(copy, changes, state)?;
                let ty = copy.b.ty(result).clone();
                push(copy, Op::Array(ty), &[result], span)
            };
            let all = chosen(copy, closes, span, ended, |copy| nothing(copy, &elem, span))?;
            made.push((s, all));
            states.push(state);
        }
        let closes = push(copy, Op::Select, &[closes, one, zero], span)?;
        let gone = push(copy, Op::Binary(BinOp::Add), &[count, closes], span)?;
        let stays = push(copy, Op::Binary(BinOp::Eq), &[closes, zero], span)?;
        let open = push(copy, Op::Binary(BinOp::And), &[now.open, stays], span)?;
        let (xs, flags) = (push(copy, Op::Drop, &[xs, count], span)?, push(copy, Op::Drop, &[flags, gone], span)?);
        Ok(Left { now: Now { open, begun: now.begun, states }, xs, flags, closes, made })
    }

    /// The numbers of flags and elements of the complete groups before the first large one; the flags up to the last end are given.
    pub(super) fn before_large(
        &self,
        copy: &mut Copier<'_>,
        (xs, flags): (Var, Var),
        (last, count): (Var, Var),
    ) -> Copied<[Var; 2]> {
        let span = copy.old.span(self.stmt);
        let most = int(copy, self.large, span)?;
        let is_much = push(copy, Op::Binary(BinOp::Gt), &[count, most], span)?;
        let found = |copy: &mut Copier<'_>| {
            let ty = copy.old.ty(copy.inst(self.stmt)?.args[0]).clone();
            let xs = push(copy, Op::Take, &[xs, count], span)?;
            let xs = stream::streamed(&mut copy.b, xs, &ty, span)?;
            let flags = push(copy, Op::Take, &[flags, last], span)?;
            let flags = push(copy, Op::Seq, &[flags], span)?;
            let groups = push(copy, Op::FlagPart, &[xs, flags], span)?;
            let lengths = map(copy, &[groups], span, |copy, p| push(copy, Op::Length, p, span))?;
            let lengths = push(copy, Op::Tab, &[lengths], span)?;
            let number = push(copy, Op::Length, &[lengths], span)?;
            let numbers = push(copy, Op::Iota(Coll::Array), &[number], span)?;
            let large = map(copy, &[numbers, lengths], span, |copy, p| {
                let is_large = push(copy, Op::Binary(BinOp::Gt), &[p[1], most], span)?;
                push(copy, Op::Select, &[is_large, p[0], number], span)
            })?;
            let first = folded(copy, BinOp::Min, number, large, span)?;
            let before = push(copy, Op::Take, &[lengths, first], span)?;
            let count = push(copy, Op::Reduce(Monoid::Sum), &[before], span)?;
            let last = push(copy, Op::Binary(BinOp::Add), &[count, first], span)?;
            push(copy, Op::Tuple, &[last, count], span)
        };
        let both = chosen(copy, is_much, span, found, |copy| push(copy, Op::Tuple, &[last, count], span))?;
        Ok([part(copy, both, 0, span)?, part(copy, both, 1, span)?])
    }

    /// If the remaining elements begin with a large group, that is open from now on.
    pub(super) fn begin(
        &self,
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        now: &Now,
        (xs, flags): (Var, Var),
    ) -> Copied<Now> {
        let span = copy.old.span(self.stmt);
        let (zero, most) = (int(copy, 0, span)?, int(copy, self.large, span)?);
        let have = push(copy, Op::Length, &[xs], span)?;
        let is_much = push(copy, Op::Binary(BinOp::Gt), &[have, most], span)?;
        let is_closed = push(copy, Op::Unary(UnOp::Not), &[now.open], span)?;
        let is_much = push(copy, Op::Binary(BinOp::And), &[is_much, is_closed], span)?;
        let count = chosen(copy, is_much, span, |copy| before_end(copy, flags, span), |_| Ok(zero))?;
        let count = push(copy, Op::Binary(BinOp::Min), &[count, have], span)?;
        let begun = push(copy, Op::Binary(BinOp::Gt), &[count, most], span)?;
        let mut states = Vec::new();
        for (make, state) in self.makes.iter().zip(&now.states) {
            states.push(chosen(copy, begun, span, |copy| make.init(copy, changes), |_| Ok(*state))?);
        }
        let open = push(copy, Op::Binary(BinOp::Or), &[now.open, begun], span)?;
        Ok(Now { open, begun, states })
    }

    /// The results for the groups of a chunk, after those for an open group.
    pub(super) fn make(copy: &mut Copier<'_>, changes: &mut dyn Rewrite, s: Var, before: Var) -> Copied<()> {
        let span = copy.old.span(s);
        copy.statement(changes, s)?;
        let all = copy.var(s)?;
        let all = push(copy, Op::Tab, &[all], span)?;
        let zero = int(copy, 0, span)?;
        let closed = push(copy, Op::Length, &[before], span)?;
        let has_closed = push(copy, Op::Binary(BinOp::Gt), &[closed, zero], span)?;
        let both = |copy: &mut Copier<'_>| push(copy, Op::Concat(0), &[before, all], span);
        let all = chosen(copy, has_closed, span, both, |_| Ok(all))?;
        let all = push(copy, Op::Seq, &[all], span)?;
        copy.stand(s, all);
        Ok(())
    }
}

impl Now {
    /// The same as parts of the state of a `flagpart`, after others.
    pub(super) fn of(copy: &mut Copier<'_>, state: Var, makes: usize, span: Span) -> Copied<Now> {
        let [open, begun] = [OPEN, OPEN + 1].map(|k| part(copy, state, k, span));
        let states = (0..makes as u32).map(|k| part(copy, state, OPEN + 2 + k, span)).collect::<Copied<_>>()?;
        Ok(Now { open: open?, begun: begun?, states })
    }

    pub(super) fn parts(self) -> impl Iterator<Item = Var> {
        [self.open, self.begun].into_iter().chain(self.states)
    }
}
