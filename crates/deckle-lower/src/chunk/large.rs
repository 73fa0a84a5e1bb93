//! Elements with large contents.
//!
//! A chunk has whole elements, and their contents are processed at once, which is fast if there is little. If sequences inside an element have to wait for each other, so that they
//! would be materialised, elements are processed in *runs* whose contents fit in memory; an element with more contents than that is processed alone, by its own loops.
//! The choice depends only on the lengths of the elements themselves, so bits do not depend on how elements are grouped.

use super::plan::Unit;
use super::source::Source;
use super::state::{nothing, zero};
use super::{Chunker, OrBug, Sizes, chosen, int, map, part, push, sums};
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Coll, Copied, Copier, Function, Monoid, Op, Rewrite, Slicer};
use deckle_ir::entity::{Body, Var};
use deckle_ir::scalar::ScalarType;
use std::collections::BTreeSet;

/// A `map` whose elements are processed in runs.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    pub stmt: Var,
    /// The statement that concatenates the sequences returned for the elements, if there is one.
    pub flattened: Option<Var>,
    /// The computation for an element that is processed alone.
    pub units: Vec<Unit>,
    pub large: i64,
}

/// Whether something would be materialised: sequences that do not advance together.
pub(super) fn keep_something(units: &[Unit]) -> bool {
    units.iter().any(|unit| match unit {
        Unit::Statement(_) | Unit::Decided(..) => false,
        Unit::Loop(group) => group.has_to_wait() || !group.runs.is_empty(),
        Unit::Branch(branch) => branch.ways.iter().any(|units| keep_something(units)),
    })
}

impl Runs {
    /// The statement that the results of the elements stand for.
    pub(super) fn gives(&self) -> Var {
        self.flattened.unwrap_or(self.stmt)
    }

    /// Processes the elements of a chunk; the results stand for the statement.
    pub(super) fn make(&self, copy: &mut Copier<'_>, changes: &mut dyn Rewrite, inside: Var) -> Copied<()> {
        let (old, s) = (copy.old, self.stmt);
        let (inst, span) = (copy.inst(s)?, old.span(s));
        let body = *inst.bodies.first().or_bug("a body or operand")?;
        let seqs = inst.args.iter().map(|v| copy.var(*v)).collect::<Copied<Vec<_>>>()?;
        let work = self.work(copy, changes, body, &seqs)?;
        let vectors = seqs.iter().map(|v| push(copy, Op::Tab, &[*v], span)).collect::<Copied<Vec<_>>>()?;
        let ends = sums(copy, work, span)?;
        let count = push(copy, Op::Length, &[work], span)?;
        let elem = old.ty(self.gives()).as_seq().or_bug("a sequence")?.clone();
        let first = int(copy, 0, span)?;
        let has_places = elem.is_flat() && self.flattened.is_none();
        let room = if has_places {
            let zero = zero(copy, &elem, span)?;
            push(copy, Op::Replicate, &[zero, count], span)?
        } else {
            nothing(copy, &elem, span)?
        };
        let start = push(copy, Op::Tuple, &[first, room], span)?;
        let args = [inside, start];
        let (test, params) = copy.b.begin_body_of(&Op::Stream, &args, 0, span)?;
        let at = part(copy, params[0], 0, span)?;
        let goes_on = push(copy, Op::Binary(BinOp::Lt), &[at, count], span)?;
        copy.b.end_body(goes_on);
        let (step, params) = copy.b.begin_body_of(&Op::Stream, &args, 1, span)?;
        let (at, made) = (part(copy, params[0], 0, span)?, part(copy, params[0], 1, span)?);
        let (after, new) = self.run(copy, changes, &vectors, (work, ends, inside), at)?;
        let made = if has_places {
            let more = push(copy, Op::Binary(BinOp::Sub), &[after, at], span)?;
            let numbers = push(copy, Op::Iota(Coll::Array), &[more], span)?;
            let places = map(copy, &[numbers], span, |copy, p| push(copy, Op::Binary(BinOp::Add), &[at, p[0]], span))?;
            push(copy, Op::Scatter, &[made, places, new], span)?
        } else {
            push(copy, Op::Concat(0), &[made, new], span)?
        };
        let next = push(copy, Op::Tuple, &[after, made], span)?;
        copy.b.end_body(next);
        let end = copy.b.push(Op::Stream, &args, &[test, step], Span::NONE)?;
        let all = part(copy, end, 1, span)?;
        let all = push(copy, Op::Seq, &[all], span)?;
        copy.stand(self.gives(), all);
        Ok(())
    }

    /// For each element one plus the number of inner elements, as far as that is known in advance.
    fn work(&self, copy: &mut Copier<'_>, changes: &mut dyn Rewrite, body: Body, seqs: &[Var]) -> Copied<Var> {
        let (old, span) = (copy.old, copy.old.span(self.stmt));
        let (needed, sources) = lengths(old, body, &self.units);
        let (b, params) = copy.b.begin_body_of(&Op::Map, seqs, 0, span)?;
        old.body(body).params.iter().zip(params).for_each(|(p, q)| copy.stand(*p, q));
        for &s in old.body(body).stmts.iter().filter(|s| needed.contains(s)) {
            copy.statement(changes, s)?;
        }
        let mut work = int(copy, 1, span)?;
        for s in sources {
            let length = Source::begin(copy, changes, s)?.length.or_bug("the length of a source")?;
            work = push(copy, Op::Binary(BinOp::Add), &[work, length], span)?;
        }
        copy.b.end_body(work);
        let work = copy.b.push(Op::Map, seqs, &[b], span)?;
        push(copy, Op::Tab, &[work], span)
    }

    /// The end of the run that begins at an element, and the results up to there.
    fn run(
        &self,
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        vectors: &[Var],
        (work, ends, inside): (Var, Var, Var),
        at: Var,
    ) -> Copied<(Var, Var)> {
        let span = copy.old.span(self.stmt);
        let first = push(copy, Op::Index, &[work, at], span)?;
        let most = int(copy, self.large, span)?;
        let is_large = push(copy, Op::Binary(BinOp::Gt), &[first, most], span)?;
        let alone = |copy: &mut Copier<'_>| self.alone(copy, vectors, (at, inside));
        let several = |copy: &mut Copier<'_>| {
            let end = end(copy, (ends, first, inside), at, span)?;
            self.several(copy, changes, vectors, (at, end))
        };
        let both = chosen(copy, is_large, span, alone, several)?;
        Ok((part(copy, both, 0, span)?, part(copy, both, 1, span)?))
    }

    /// The same for an element that is alone.
    fn alone(&self, copy: &mut Copier<'_>, vectors: &[Var], (at, inside): (Var, Var)) -> Copied<Var> {
        let (old, span) = (copy.old, copy.old.span(self.stmt));
        let body = old.body(*copy.inst(self.stmt)?.bodies.first().or_bug("a body or operand")?);
        for (p, xs) in body.params.iter().zip(vectors) {
            let x = push(copy, Op::Index, &[*xs, at], span)?;
            copy.stand(*p, x);
        }
        Chunker::default().all(copy, &self.units, Sizes { chunk: inside, inside })?;
        let mut result = copy.var(body.result)?;
        if self.flattened.is_none() {
            let ty = copy.b.ty(result).clone();
            result = push(copy, Op::Array(ty), &[result], span)?;
        }
        let one = int(copy, 1, span)?;
        let after = push(copy, Op::Binary(BinOp::Add), &[at, one], span)?;
        push(copy, Op::Tuple, &[after, result], span)
    }

    /// The same for a range of elements, all at once.
    fn several(
        &self,
        copy: &mut Copier<'_>,
        changes: &mut dyn Rewrite,
        vectors: &[Var],
        (at, end): (Var, Var),
    ) -> Copied<Var> {
        let span = copy.old.span(self.stmt);
        let mut parts = Vec::new();
        for xs in vectors {
            let xs = push(copy, Op::Slice(vec![Slicer::Range]), &[*xs, at, end], span)?;
            parts.push(push(copy, Op::Seq, &[xs], span)?);
        }
        copy.statement_with(changes, self.stmt, &parts)?;
        let mut all = copy.var(self.stmt)?;
        if self.flattened.is_some() {
            all = push(copy, Op::Flatten, &[all], span)?;
        }
        let all = push(copy, Op::Tab, &[all], span)?;
        push(copy, Op::Tuple, &[end, all], span)
    }
}

/// The end of the run that begins at an element; a run has at least one element.
fn end(copy: &mut Copier<'_>, (ends, first, run): (Var, Var, Var), at: Var, span: Span) -> Copied<Var> {
    let binary = |copy: &mut Copier<'_>, op, a, b| push(copy, Op::Binary(op), &[a, b], span);
    let one = int(copy, 1, span)?;
    let before = push(copy, Op::Index, &[ends, at], span)?;
    let before = binary(copy, BinOp::Sub, before, first)?;
    let count = push(copy, Op::Length, &[ends], span)?;
    // Each counts at least one, so a run has no more elements than its contents count.
    let left = binary(copy, BinOp::Sub, count, at)?;
    let far = binary(copy, BinOp::Min, left, run)?;
    let far = binary(copy, BinOp::Add, at, far)?;
    let window = push(copy, Op::Slice(vec![Slicer::Range]), &[ends, at, far], span)?;
    let fits = map(copy, &[window], span, |copy, p| {
        let inside = binary(copy, BinOp::Sub, p[0], before)?;
        let fits = binary(copy, BinOp::Le, inside, run)?;
        push(copy, Op::Cast(ScalarType::I64), &[fits], span)
    })?;
    let fitting = push(copy, Op::Reduce(Monoid::Sum), &[fits], span)?;
    let fitting = binary(copy, BinOp::Max, fitting, one)?;
    binary(copy, BinOp::Add, at, fitting)
}

/// The sequences inside a body whose lengths are known before the traversal, and the statements that compute these.
fn lengths(function: &Function, body: Body, units: &[Unit]) -> (BTreeSet<Var>, Vec<Var>) {
    let plain: BTreeSet<Var> =
        units.iter().filter_map(|u| if let Unit::Statement(s) = u { Some(*s) } else { None }).collect();
    let own = &function.body(body).stmts;
    let (mut all, mut sources) = (BTreeSet::new(), Vec::new());
    for unit in units {
        let Unit::Loop(group) = unit else { continue };
        for (s, _) in &group.sources {
            let (mut needed, mut pending, mut known) = (BTreeSet::new(), super::uses(function, *s), true);
            while let Some(v) = pending.pop() {
                if !own.contains(&v) {
                    continue;
                }
                known &= plain.contains(&v);
                if needed.insert(v) {
                    pending.extend(super::uses(function, v));
                }
            }
            if known {
                all.extend(needed);
                sources.push(*s);
            }
        }
    }
    (all, sources)
}
