//! Sequences in chunks.
//!
//! A program over sequences becomes one with loops: each traversal is a `while` whose state is what goes on from chunk to chunk, and whose body
//! has the same statements, over the next elements only. A statement that makes a sequence of nothing but numbers or a vector makes a part of it instead; one that makes a
//! concrete value of a sequence becomes a part of the state; everything between them stays as it is. So chunks need no executor of their own: they are an array program, which the
//! interpreter runs too.
//!
//! ```text
//! v2 = iota<seq>(n)                        v9 = while((0, 0)) { s -> lt(s.0, n) } { s ->
//! v3 = map(v2) { i -> .. }            ⇒      v2 = the integers from s.0 below min(s.0 + chunk, n), as a sequence
//! v4 = flatten(v3)                           v3 = map(v2) { i -> .. }
//! v5 = reduce<sum>(v4)                       v4 = flatten(v3)
//!                                            (s.0 + chunk, s.1 + reduce<sum>(v4)) }
//! ```
//!
//! # Which sequences go together
//! All that statements connect are traversed by one loop, so several consumers of a sequence share its traversal. How far each advances in a step is worked out in `group.rs`.
//!
//! # Bits
//! The size of a chunk is not known before the program runs, so the code is the same for all of them. What does not depend on how elements are grouped is combined chunk by
//! chunk. Sums of floats are taken of blocks counted from the beginning of the sequence; what is left of a chunk waits for the next (`state.rs`).
//!
//! # What is left whole
//! Where a sequence cannot be gone through in this way (two filters that advance together, say), the function stays as it is: [`chunk`] says why. A chunk has whole elements: what is inside one is
//! in memory as far as it has to be.

mod choose;
mod cut;
mod group;
mod inline;
mod source;
mod state;

pub use choose::{Chunks, Lowered, lower};

use deckle_diag::Span;
use deckle_ir::array::{BinOp, Coll, Copier, Function, Op, Program, Rewrite, rewrite};
use deckle_ir::entity::{Func, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use group::{Group, Pace};
use state::State;

/// Why a function is left as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    /// What stands in the way.
    pub why: String,
    /// Where.
    pub span: Span,
}

impl Whole {
    fn new(why: impl Into<String>, span: Span) -> Whole {
        Whole { why: why.into(), span }
    }
}

/// The function with its traversals in chunks: all functions before it, and in its place one with a parameter more, the number of elements of a chunk. `None` if it has no sequences.
///
/// # Errors
/// What stands in the way.
pub fn chunk(program: &Program, func: Func) -> Result<Option<Program>, Whole> {
    let before = &program.funcs[..func.index()];
    let flat = inline::inline(before, &program.funcs[func.index()]);
    let groups = group::groups(&flat)?;
    if groups.is_empty() {
        return Ok(None);
    }
    let unlike = Whole::new("its sizes depend on sequences", flat.span);
    let mut chunks = Chunker { groups, size: None };
    let new = rewrite(before, &flat, &mut chunks).ok_or(unlike)?;
    let mut funcs = before.to_vec();
    funcs.push(new);
    Ok(Some(Program { funcs }))
}

/// The rewriting under way.
struct Chunker {
    groups: Vec<Group>,
    /// The number of elements of a chunk, in the copy.
    size: Option<Var>,
}

impl Rewrite for Chunker {
    fn statement(&mut self, copy: &mut Copier<'_>, s: Var) -> Option<()> {
        let root = &copy.old.body(Function::ROOT).stmts;
        if root.binary_search(&s).is_err() {
            return copy.statement(self, s);
        }
        // All at once, when the first is asked for: a loop may stand further down than the first of its statements.
        if self.size.is_none() {
            self.size = Some(copy.b.param("chunk", Type::INT, copy.old.span));
            self.all(copy)?;
        }
        Some(())
    }
}

/// What is copied at once.
#[derive(Clone, Copy)]
enum Unit {
    Statement(Var),
    Loop(usize),
}

impl Chunker {
    /// Copies the statements of the function, each when what it needs is there.
    fn all(&mut self, copy: &mut Copier<'_>) -> Option<()> {
        let old = copy.old;
        let mut units = Vec::new();
        for &s in &old.body(Function::ROOT).stmts {
            match self.groups.iter().position(|g| g.stmts.contains(&s)) {
                Some(k) if self.groups[k].stmts.first() == Some(&s) => units.push(Unit::Loop(k)),
                Some(_) => {}
                None => units.push(Unit::Statement(s)),
            }
        }
        while !units.is_empty() {
            let ready = units.iter().position(|unit| {
                let needs = match unit {
                    Unit::Statement(s) => uses(old, *s),
                    Unit::Loop(k) => self.groups[*k].outside(old),
                };
                needs.into_iter().all(|v| copy.var(v).is_some())
            })?;
            match units.remove(ready) {
                Unit::Statement(s) => copy.statement(self, s)?,
                Unit::Loop(k) => self.traversal(copy, k)?,
            }
        }
        Some(())
    }

    /// A loop over the chunks of a group.
    fn traversal(&mut self, copy: &mut Copier<'_>, k: usize) -> Option<()> {
        let group = self.groups[k].clone();
        let span = copy.old.span(*group.stmts.first()?);
        let params_before: Vec<(Var, Var)> = {
            let params = group.sources.iter().filter(|(s, _)| copy.old.inst(*s).is_none());
            params.filter_map(|(p, _)| Some((*p, copy.var(*p)?))).collect()
        };
        let mut lengths: Vec<Option<Var>> = vec![None; group.clocks.len()];
        let mut sources = Vec::new();
        for &(s, pace) in &group.sources {
            let source = source::begin(copy, self, s)?;
            if let Pace::Clock(c) = pace {
                match lengths[c] {
                    None => lengths[c] = Some(source.length),
                    Some(n) => equal(copy, n, source.length, span)?,
                }
            }
            sources.push((source, pace));
        }
        let lengths = lengths.into_iter().collect::<Option<Vec<Var>>>()?;
        // The positions of the clocks, those of what follows, and the states.
        let mut places = vec![int(copy, 0, span)?; lengths.len()];
        for (source, pace) in &mut sources {
            if let Pace::Follows(_) = pace {
                source.place = places.len() as u32;
                places.push(places[0]);
            }
        }
        let mut states = Vec::new();
        for &s in &group.stmts {
            for state in State::all(copy.old, s, group.kept.contains(&s)) {
                states.push((s, state, places.len() as u32));
                places.push(state.init(copy, s)?);
            }
        }
        let start = push(copy, Op::Tuple, &places, span)?;
        let (test, params) = copy.b.begin_body_of(&Op::While, &[start], 0, span).ok()?;
        let mut more = None;
        for (c, n) in lengths.iter().enumerate() {
            let pos = part(copy, params[0], c as u32, span)?;
            let goes_on = push(copy, Op::Binary(BinOp::Lt), &[pos, *n], span)?;
            more = Some(match more {
                None => goes_on,
                Some(more) => push(copy, Op::Binary(BinOp::Or), &[more, goes_on], span)?,
            });
        }
        copy.b.end_body(more?);
        let (step, params) = copy.b.begin_body_of(&Op::While, &[start], 1, span).ok()?;
        let now = params[0];
        let mut next = self.advance(copy, &group, &lengths, now, span)?;
        for (source, pace) in &sources {
            if let Pace::Clock(c) = *pace {
                source::part(copy, self, source, next[c])?;
            }
        }
        let mut ends: Vec<Var> = next.drain(..).map(|(_, end, _)| end).collect();
        ends.resize(places.len(), ends[0]);
        for &s in &group.stmts {
            let begins = group.sources.iter().any(|(v, _)| *v == s);
            if !begins && State::of(copy.old, s).is_none() {
                copy.statement(self, s)?;
            }
            for (_, state, place) in states.iter().filter(|(t, ..)| *t == s) {
                let before = part(copy, now, *place, span)?;
                ends[*place as usize] = state.step(copy, self, s, before)?;
            }
            for (source, _) in sources.iter().filter(|(_, pace)| *pace == Pace::Follows(s)) {
                let pos = part(copy, now, source.place, span)?;
                let made = copy.var(s)?;
                let count = push(copy, Op::Length, &[made], span)?;
                let left = push(copy, Op::Binary(BinOp::Sub), &[source.length, pos], span)?;
                let count = push(copy, Op::Binary(BinOp::Min), &[left, count], span)?;
                let end = push(copy, Op::Binary(BinOp::Add), &[pos, count], span)?;
                source::part(copy, self, source, (pos, end, count))?;
                ends[source.place as usize] = end;
            }
        }
        let after = push(copy, Op::Tuple, &ends, span)?;
        copy.b.end_body(after);
        let end = copy.b.push(Op::While, &[start], &[test, step], span).ok()?;
        for (source, _) in sources.iter().filter(|(_, pace)| matches!(pace, Pace::Follows(_))) {
            let pos = part(copy, end, source.place, span)?;
            equal(copy, pos, source.length, span)?;
        }
        for (p, whole) in params_before {
            copy.stand(p, whole);
        }
        for (s, state, place) in states {
            let last = part(copy, end, place, span)?;
            let result = state.finish(copy, self, s, last)?;
            copy.stand(s, result);
        }
        Some(())
    }

    /// From where to where each clock goes in a step, and how far that is.
    fn advance(
        &self,
        copy: &mut Copier<'_>,
        group: &Group,
        lengths: &[Var],
        now: Var,
        span: Span,
    ) -> Option<Vec<(Var, Var, Var)>> {
        let places = (0..lengths.len()).map(|c| part(copy, now, c as u32, span)).collect::<Option<Vec<Var>>>()?;
        let none = int(copy, 0, span)?;
        let mut all = Vec::new();
        for (c, waits) in group.clocks.iter().enumerate() {
            // Without overflow: a chunk may be as large as a number can be.
            let left = push(copy, Op::Binary(BinOp::Sub), &[lengths[c], places[c]], span)?;
            let mut count = push(copy, Op::Binary(BinOp::Min), &[left, self.size?], span)?;
            for &other in waits {
                let is_over = push(copy, Op::Binary(BinOp::Ge), &[places[other], lengths[other]], span)?;
                count = push(copy, Op::Select, &[is_over, count, none], span)?;
            }
            let end = push(copy, Op::Binary(BinOp::Add), &[places[c], count], span)?;
            all.push((places[c], end, count));
        }
        Some(all)
    }
}

/// Fails, as where sequences are traversed together, if these are not as long.
fn equal(copy: &mut Copier<'_>, n: Var, m: Var, span: Span) -> Option<()> {
    let a = push(copy, Op::Iota(Coll::Array), &[n], span)?;
    let b = push(copy, Op::Iota(Coll::Array), &[m], span)?;
    push(copy, Op::Zip, &[a, b], span).map(|_| ())
}

/// The variables that a statement uses.
fn uses(function: &Function, s: Var) -> Vec<Var> {
    let Some(inst) = function.inst(s) else { return Vec::new() };
    let mut all = inst.args.clone();
    all.extend(inst.bodies.iter().flat_map(|b| function.free_vars(*b)));
    all
}

fn int(copy: &mut Copier<'_>, n: i64, span: Span) -> Option<Var> {
    copy.b.push(Op::Const(Scalar::I64(n)), &[], &[], span).ok()
}

fn part(copy: &mut Copier<'_>, tuple: Var, k: u32, span: Span) -> Option<Var> {
    copy.b.push(Op::Proj(k), &[tuple], &[], span).ok()
}

/// An operator without bodies.
fn push(copy: &mut Copier<'_>, op: Op, args: &[Var], span: Span) -> Option<Var> {
    copy.b.push(op, args, &[], span).ok()
}
