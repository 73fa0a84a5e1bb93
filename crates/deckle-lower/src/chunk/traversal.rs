//! A loop over the chunks of a group.
//!
//! Its state is a tuple: the position of each clock; for each clock at which sequences come from outside, whether there may be more elements; the positions of the sequences that follow; and the states
//! of statements (`state.rs`).

use super::group::{Group, Meet, Meeting, Pace};
use super::open::Open;
use super::source::{Part, Source};
use super::state::State;
use super::{OrBug, Sizes, align, cut, equal, equal_operands, int, part, push};
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Copied, Copier, Op, Rewrite, UnOp};
use deckle_ir::entity::Var;
use deckle_ir::scalar::Scalar;

/// A clock, at which sequences begin.
struct Clock {
    /// The number of elements of each of its sequences, if known before the traversal.
    length: Option<Var>,
    /// The place in the state of the flag for more elements, if some come from outside.
    more: Option<u32>,
}

/// A side of a meeting.
struct Held {
    /// The number of elements by which it is behind the sides after it.
    behind: Var,
    /// Whether it waits for others.
    waits: Var,
}

/// Fails if a source with `n` elements differs in length from an earlier one with `m`.
fn as_long(copy: &mut Copier<'_>, meets: Option<Meet>, (n, m): (Var, Var), span: Span) -> Copied<()> {
    match meets {
        Some(Meet { span, operand, is_first: true }) => equal_operands(copy, n, (operand, m), span),
        Some(Meet { span, operand, .. }) => equal_operands(copy, m, (operand, n), span),
        None => equal(copy, m, n, span),
    }
}

/// A loop under construction.
pub(super) struct Traversal {
    group: Group,
    span: Span,
    clocks: Vec<Clock>,
    sources: Vec<(Source, Pace)>,
    /// Sources whose length is compared with that of another one after their common elements.
    lengths: Vec<(Var, Var, Var)>,
    /// The states of statements, and their places in the state of the loop.
    states: Vec<(Var, State, u32)>,
    /// The initial state.
    pub start: Vec<Var>,
}

impl Traversal {
    /// Builds the loop over a group, which has no place in the source; its results stand for the statements from then on.
    pub(super) fn make(copy: &mut Copier<'_>, changes: &mut dyn Rewrite, group: &Group, sizes: Sizes) -> Copied<()> {
        let t = Traversal::begin(copy, changes, group, false)?;
        let span = t.span;
        let start = push(copy, Op::Tuple, &t.start, span)?;
        let args = [sizes.chunk, start];
        let (test, params) = copy.b.begin_body_of(&Op::Stream, &args, 0, span)?;
        let goes_on = t.goes_on(copy, params[0])?;
        copy.b.end_body(goes_on);
        let (step, params) = copy.b.begin_body_of(&Op::Stream, &args, 1, span)?;
        let next = t.step(copy, changes, sizes, params[0])?;
        let next = push(copy, Op::Tuple, &next, span)?;
        copy.b.end_body(next);
        let end = copy.b.push(Op::Stream, &args, &[test, step], Span::NONE)?;
        t.end(copy, changes, end)
    }

    /// Computes what has to be known before the traversal. Errors in that are raised here. A sequence that *is fed* is represented by its next part.
    pub(super) fn begin(
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        group: &Group,
        is_fed: bool,
    ) -> Copied<Traversal> {
        let span = copy.old.span(*group.stmts.first().or_bug("a body or operand")?);
        let zero = int(copy, 0, span)?;
        let mut start = vec![zero; group.clocks.len()];
        let mut clocks: Vec<Clock> = group.clocks.iter().map(|_| Clock { length: None, more: None }).collect();
        let hands_over = group.stmts.iter().any(|s| matches!(group.given(*s), Some(State::Pushed(_))));
        let (mut first, mut lengths) = (vec![None; clocks.len()], Vec::new());
        let mut sources = Vec::new();
        for &(s, pace) in &group.sources {
            let mut source = if is_fed { Source::fed(s) } else { Source::begin(copy, changes, s)? };
            match (pace, source.length) {
                (Pace::Clock(c), Some(n)) => match clocks[c].length {
                    None => clocks[c].length = Some(n),
                    // The results of the elements that both have are delivered first.
                    Some(m) if hands_over => {
                        clocks[c].length = Some(push(copy, Op::Binary(BinOp::Min), &[m, n], span)?);
                        lengths.push((s, n, *first[c].get_or_insert(m)));
                    }
                    Some(m) => as_long(copy, group.meets(s), (n, m), span)?,
                },
                (Pace::Clock(c), None) if clocks[c].more.is_none() => {
                    clocks[c].more = Some(start.len() as u32);
                    let yes = copy.b.push(Op::Const(Scalar::Bool(true)), &[], &[], span)?;
                    start.push(yes);
                }
                (Pace::Clock(_), None) => {}
                (Pace::Follows(_), _) => {
                    source.place = start.len() as u32;
                    start.push(zero);
                }
            }
            sources.push((source, pace));
        }
        let mut states = Vec::new();
        for &s in &group.stmts {
            let is_aligned = State::of(copy.old, s).is_none() && group.meetings.iter().any(|m| m.stmt == s);
            let aligned = is_aligned.then_some(State::Aligned);
            for state in aligned.into_iter().chain(State::of(copy.old, s)).chain(group.given(s)) {
                states.push((s, state, start.len() as u32));
                start.push(match state {
                    State::Cut => cut::init(copy, changes, s, group.opens(s))?,
                    State::Aligned => align::init(copy, s, group.meeting(s).or_bug("a meeting")?.clocks.len())?,
                    _ => state.init(copy, s)?,
                });
            }
        }
        Ok(Traversal { group: group.clone(), span, clocks, sources, lengths, states, start })
    }

    /// Where a source is traversed in lockstep with another.
    fn meets(&self, source: &Source) -> Span {
        self.group.meets(source.stmt).map_or(self.span, |meet| meet.span)
    }

    /// Whether a clock may have more elements.
    fn clock_goes_on(&self, copy: &mut Copier<'_>, c: usize, now: Var) -> Copied<Var> {
        match (self.clocks[c].more, self.clocks[c].length) {
            (Some(place), _) => part(copy, now, place, self.span),
            (None, length) => {
                let pos = part(copy, now, c as u32, self.span)?;
                push(copy, Op::Binary(BinOp::Lt), &[pos, length.or_bug("the length of a clock")?], self.span)
            }
        }
    }

    /// For each statement that may have to process its present elements before more arrive, whether it has to.
    fn busy(&self, copy: &mut Copier<'_>, now: Var) -> Copied<Vec<Var>> {
        let mut all = Vec::new();
        for (s, state, place) in &self.states {
            if let (State::Cut, Some(open)) = (state, self.group.opens(*s)) {
                let state = part(copy, now, *place, self.span)?;
                all.push(cut::is_busy(copy, state, open, self.span)?);
            }
        }
        Ok(all)
    }

    fn goes_on(&self, copy: &mut Copier<'_>, now: Var) -> Copied<Var> {
        let mut all = None;
        let clocks = (0..self.clocks.len()).map(|c| self.clock_goes_on(copy, c, now)).collect::<Copied<Vec<_>>>()?;
        for one in clocks.into_iter().chain(self.busy(copy, now)?) {
            all = Some(match all {
                None => one,
                Some(all) => push(copy, Op::Binary(BinOp::Or), &[all, one], self.span)?,
            });
        }
        all.or_bug("a clock")
    }

    /// The body of the loop, for one chunk: returns the state after it.
    pub(super) fn step(
        &self,
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        sizes: Sizes,
        now: Var,
    ) -> Copied<Vec<Var>> {
        let (span, size) = (self.span, sizes.chunk);
        let mut next = self.start.clone();
        let held = self.held(copy, now, size)?;
        for c in 0..self.clocks.len() {
            let count = self.count(copy, (c, size), now, &held)?;
            self.tick(copy, changes, (c, count), now, &mut next)?;
        }
        let mut cuts = Vec::new();
        for &s in &self.group.stmts {
            let begins = self.sources.iter().any(|(source, _)| source.stmt == s);
            let stands =
                self.states.iter().any(|(t, state, _)| *t == s && !matches!(state, State::Pushed(_) | State::Gathered));
            if let Some((_, v)) = self.group.decided.iter().find(|(t, _)| *t == s) {
                let v = copy.var(*v)?;
                copy.stand(s, v);
            } else if let Some(runs) = self.group.runs.iter().find(|runs| runs.gives() == s) {
                runs.make(copy, changes, sizes.inside)?;
            } else if self.group.runs.iter().any(|runs| runs.stmt == s) {
                // Together with the statement that concatenates it.
            } else if let Some((_, before)) = cuts.iter().find(|(t, _)| *t == s) {
                Open::make(copy, changes, s, *before)?;
            } else if !begins && !stands {
                copy.statement(changes, s)?;
            }
            for (_, state, place) in self.states.iter().filter(|(t, ..)| *t == s) {
                let before = part(copy, now, *place, span)?;
                next[*place as usize] = match (state, self.group.meeting(s)) {
                    (State::Aligned, Some(m)) => align::step(copy, changes, s, before, &m.sides)?,
                    (State::Cut, _) => {
                        let cut = cut::step(copy, changes, s, (before, sizes.inside), self.group.opens(s))?;
                        cuts.extend(cut.made);
                        cut.state
                    }
                    _ => state.step(copy, changes, (s, &self.group.cuts), before)?,
                };
            }
            for (source, _) in self.sources.iter().filter(|(_, pace)| *pace == Pace::Follows(s)) {
                let made = copy.var(s)?;
                let made = push(copy, Op::Length, &[made], span)?;
                next[source.place as usize] = self.follow(copy, changes, source, now, made)?;
            }
        }
        Ok(next)
    }

    /// Where sequences meet: for each side, how far it is behind those after it, and whether it waits for another one, being ahead of that by more than a chunk.
    ///
    /// In chunks of one element a side that is ahead at all waits, and elements to be cut are requested when a flag needs them: a failing element does not hold back results of the elements before it.
    fn held(&self, copy: &mut Copier<'_>, now: Var, size: Var) -> Copied<Vec<Vec<Held>>> {
        let span = self.span;
        let mut all = Vec::new();
        if self.group.meetings.is_empty() {
            return Ok(all);
        }
        let one = int(copy, 1, span)?;
        let is_one = push(copy, Op::Binary(BinOp::Eq), &[size, one], span)?;
        for Meeting { stmt, clocks, .. } in &self.group.meetings {
            let meets = |state: &State| matches!(state, State::Cut | State::Aligned);
            let (.., how, place) =
                *self.states.iter().find(|(s, state, _)| s == stmt && meets(state)).or_bug("the state of a meeting")?;
            let state = part(copy, now, place, span)?;
            let totals = match how {
                State::Cut => cut::totals(copy, state, span)?,
                _ => align::totals(copy, *stmt, state, clocks.len(), span)?,
            };
            let mut sides = Vec::new();
            for (k, mine) in totals.iter().enumerate() {
                let least = int(copy, if how == State::Cut && k == 0 { -1 } else { 0 }, span)?;
                let most = push(copy, Op::Select, &[is_one, least, size], span)?;
                let mut behind = int(copy, 0, span)?;
                let mut waits = copy.b.push(Op::Const(Scalar::Bool(false)), &[], &[], span)?;
                for (j, theirs) in totals.iter().enumerate().filter(|(j, _)| *j != k) {
                    if j > k {
                        let by = push(copy, Op::Binary(BinOp::Sub), &[*theirs, *mine], span)?;
                        behind = push(copy, Op::Binary(BinOp::Max), &[behind, by], span)?;
                        behind = push(copy, Op::Select, &[is_one, one, behind], span)?;
                    }
                    let ahead = push(copy, Op::Binary(BinOp::Sub), &[*mine, *theirs], span)?;
                    let is_ahead = push(copy, Op::Binary(BinOp::Gt), &[ahead, most], span)?;
                    // No side waits for one that has ended.
                    for c in &clocks[j] {
                        let goes_on = self.clock_goes_on(copy, *c, now)?;
                        let waits_for = push(copy, Op::Binary(BinOp::And), &[goes_on, is_ahead], span)?;
                        waits = push(copy, Op::Binary(BinOp::Or), &[waits, waits_for], span)?;
                    }
                }
                sides.push(Held { behind, waits });
            }
            all.push(sides);
        }
        // If all wait for each other, all proceed.
        let mut moves = copy.b.push(Op::Const(Scalar::Bool(false)), &[], &[], span)?;
        for c in 0..self.clocks.len() {
            let mut free = self.clock_goes_on(copy, c, now)?;
            let before = self.group.clocks[c].iter().map(|other| self.clock_goes_on(copy, *other, now));
            let mut stops = before.collect::<Copied<Vec<Var>>>()?;
            stops.extend(self.of_clock(c, &all).map(|held| held.waits));
            for stop in stops {
                let not = push(copy, Op::Unary(UnOp::Not), &[stop], span)?;
                free = push(copy, Op::Binary(BinOp::And), &[free, not], span)?;
            }
            moves = push(copy, Op::Binary(BinOp::Or), &[moves, free], span)?;
        }
        for held in all.iter_mut().flatten() {
            held.waits = push(copy, Op::Binary(BinOp::And), &[held.waits, moves], span)?;
        }
        Ok(all)
    }

    /// The sides of meetings that only this clock advances.
    fn of_clock<'h>(&self, c: usize, held: &'h [Vec<Held>]) -> impl Iterator<Item = &'h Held> {
        let sides = self.group.meetings.iter().zip(held).flat_map(move |(meeting, sides)| {
            meeting.clocks.iter().zip(sides).filter(move |(clocks, _)| clocks.contains(&c)).map(|(_, held)| held)
        });
        sides.collect::<Vec<_>>().into_iter()
    }

    /// How far a clock advances in a step.
    fn count(&self, copy: &mut Copier<'_>, (c, size): (usize, Var), now: Var, held: &[Vec<Held>]) -> Copied<Var> {
        let span = self.span;
        let none = int(copy, 0, span)?;
        let mut count = size;
        for side in self.of_clock(c, held) {
            // The number that others wait for, which comes first.
            count = push(copy, Op::Binary(BinOp::Max), &[side.behind, count], span)?;
        }
        if let Some(n) = self.clocks[c].length {
            // Without overflow: a chunk may have up to the largest integer of elements.
            let pos = part(copy, now, c as u32, span)?;
            let left = push(copy, Op::Binary(BinOp::Sub), &[n, pos], span)?;
            count = push(copy, Op::Binary(BinOp::Min), &[left, count], span)?;
        }
        if held.is_empty() && self.states.iter().any(|(_, state, _)| state.has_blocks()) {
            count = self.whole_blocks(copy, c, now, count)?;
        }
        let mut stops = self.busy(copy, now)?;
        stops.extend(self.of_clock(c, held).map(|side| side.waits));
        for &other in &self.group.clocks[c] {
            stops.push(self.clock_goes_on(copy, other, now)?);
        }
        for stop in stops {
            count = push(copy, Op::Select, &[stop, none, count], span)?;
        }
        Ok(count)
    }

    /// Up to the end of a block, if that is not too far: then no element has to wait, if blocks count traversed elements.
    fn whole_blocks(&self, copy: &mut Copier<'_>, c: usize, now: Var, count: Var) -> Copied<Var> {
        let span = self.span;
        let (block, none) = (int(copy, self.group.cuts.float_block, span)?, int(copy, 0, span)?);
        let pos = part(copy, now, c as u32, span)?;
        // Without overflow, too.
        let mut over = none;
        for n in [pos, count] {
            let n = push(copy, Op::Binary(BinOp::Rem), &[n, block], span)?;
            over = push(copy, Op::Binary(BinOp::Add), &[over, n], span)?;
        }
        let over = push(copy, Op::Binary(BinOp::Rem), &[over, block], span)?;
        let least = push(copy, Op::Binary(BinOp::Sub), &[count, over], span)?;
        let is_some = push(copy, Op::Binary(BinOp::Gt), &[least, none], span)?;
        push(copy, Op::Select, &[is_some, least, count], span)
    }

    /// Advances the sequences of a clock by a step.
    fn tick(
        &self,
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        (c, count): (usize, Var),
        now: Var,
        next: &mut [Var],
    ) -> Copied<()> {
        let span = self.span;
        let pos = part(copy, now, c as u32, span)?;
        let mine = |(source, pace): &(Source, Pace)| (*pace == Pace::Clock(c)).then_some(source.length.is_none());
        // For sequences from outside, the pull returns the number of elements.
        let mut here: Option<(Var, Var)> = None;
        for (source, _) in self.sources.iter().filter(|s| mine(s) == Some(true)) {
            match here {
                None => {
                    let got = source.pull(copy, pos, count, false)?;
                    here = Some((got, push(copy, Op::Binary(BinOp::Add), &[pos, got], span)?));
                }
                Some((got, end)) => source.pull_all(copy, Part { pos, end, count: got }, self.meets(source))?,
            }
        }
        let (got, end) = match here {
            Some(all) => all,
            None => (count, push(copy, Op::Binary(BinOp::Add), &[pos, count], span)?),
        };
        for (source, _) in self.sources.iter().filter(|s| mine(s) == Some(false)) {
            source.part(copy, changes, Part { pos, end, count: got })?;
        }
        next[c] = end;
        if let Some(place) = self.clocks[c].more {
            // If elements were requested, none means the end; otherwise it means to wait.
            let none = int(copy, 0, span)?;
            let (is_some, waits) = (
                push(copy, Op::Binary(BinOp::Gt), &[got, none], span)?,
                push(copy, Op::Binary(BinOp::Eq), &[count, none], span)?,
            );
            let mut more = push(copy, Op::Binary(BinOp::Or), &[is_some, waits], span)?;
            if let Some(n) = self.clocks[c].length {
                let is_left = push(copy, Op::Binary(BinOp::Lt), &[end, n], span)?;
                more = push(copy, Op::Binary(BinOp::And), &[more, is_left], span)?;
            }
            next[place as usize] = more;
        }
        Ok(())
    }

    /// Advances a following sequence by the number of computed elements; returns its new position.
    fn follow(
        &self,
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        source: &Source,
        now: Var,
        made: Var,
    ) -> Copied<Var> {
        let span = self.span;
        let pos = part(copy, now, source.place, span)?;
        let mut count = made;
        if let Some(n) = source.length {
            let left = push(copy, Op::Binary(BinOp::Sub), &[n, pos], span)?;
            count = push(copy, Op::Binary(BinOp::Min), &[left, count], span)?;
        }
        let end = push(copy, Op::Binary(BinOp::Add), &[pos, count], span)?;
        match source.length {
            Some(_) => source.part(copy, changes, Part { pos, end, count })?,
            None => source.pull_all(copy, Part { pos, end, count }, self.meets(source))?,
        }
        Ok(end)
    }

    /// After the loop: all sequences have ended, and the statements have their values.
    pub(super) fn end(&self, copy: &mut Copier<'_>, changes: &mut dyn Rewrite, end: Var) -> Copied<()> {
        let span = self.span;
        for (source, pace) in &self.sources {
            let place = match *pace {
                Pace::Clock(c) => c as u32,
                Pace::Follows(_) => source.place,
            };
            let pos = part(copy, end, place, span)?;
            let meets = self.meets(source);
            let alone = self.sources.iter().filter(|(_, p)| p == pace).count() == 1;
            match (pace, source.length) {
                (Pace::Clock(c), Some(n)) if self.clocks[*c].more.is_some() => equal(copy, pos, n, meets)?,
                (Pace::Clock(_), Some(_)) => {}
                (Pace::Clock(_), None) if alone => {}
                (Pace::Follows(_), Some(n)) => equal(copy, pos, n, meets)?,
                (_, None) => {
                    let one = int(copy, 1, span)?;
                    let more = source.pull(copy, pos, one, true)?;
                    let longer = push(copy, Op::Binary(BinOp::Add), &[pos, more], span)?;
                    equal(copy, longer, pos, meets)?;
                }
            }
        }
        for &(s, n, m) in &self.lengths {
            as_long(copy, self.group.meets(s), (n, m), span)?;
        }
        for (source, _) in &self.sources {
            source.end(copy);
        }
        for (s, state, place) in &self.states {
            let last = part(copy, end, *place, span)?;
            let result = match state {
                State::Cut => cut::finish(copy, *s, last, self.group.opens(*s))?,
                State::Aligned => align::finish(copy, *s, last, &self.group.meeting(*s).or_bug("a meeting")?.sides)?,
                _ => state.finish(copy, changes, *s, last)?,
            };
            copy.stand(*s, result);
        }
        Ok(())
    }
}
