//! Where sequences begin: statements that create one from numbers or from a vector, parameters that come from outside, and parts of them.

use super::{OrBug, bug, equal, push};
use deckle_analysis::stream;
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Coll, Copied, Copier, Function, Inst, Op, Rewrite, Slicer};
use deckle_ir::entity::Var;
use deckle_ir::types::Type;

/// A sequence that begins in a traversal.
pub(super) struct Source {
    /// The statement or parameter.
    pub stmt: Var,
    /// Its number of elements, in the copy; known only at the end if they come from outside.
    pub length: Option<Var>,
    /// Where its position is in the state of the traversal, if it has one of its own.
    pub place: u32,
    /// The vector from which it is created, if any.
    vector: Option<Var>,
    /// What represented it before the traversal: a parameter itself.
    before: Option<Var>,
    /// Whether its next part represents it in each step.
    is_fed: bool,
}

/// A number of elements from a position, below another.
#[derive(Clone, Copy)]
pub(super) struct Part {
    pub pos: Var,
    pub end: Var,
    pub count: Var,
}

/// Whether a sequence is a parameter whose elements come from outside: all sizes in its type can be checked when they arrive.
pub(super) fn is_outside(function: &Function, s: Var) -> bool {
    let Some(elem) = function.ty(s).as_seq().filter(|_| function.params().contains(&s)) else { return false };
    let (mut fine, mut constant) = (true, false);
    elem.for_each_size(&mut |size, _| {
        let known = size.as_constant().is_some();
        constant |= known;
        fine &= known
            || matches!(size.determines(), Some((v, at, 0)) if !at.is_empty() && function.size_binder(v) == Some(s));
    });
    fine && (elem.is_concrete() || !constant)
}

impl Source {
    /// A sequence that its next part represents in each step.
    pub(super) fn fed(s: Var) -> Source {
        Source { stmt: s, length: None, place: 0, vector: None, before: None, is_fed: true }
    }

    /// Computes what has to be known before the traversal. Errors in that are raised here.
    pub(super) fn begin(copy: &mut Copier<'_>, changes: &mut dyn Rewrite, s: Var) -> Copied<Source> {
        let span = copy.old.span(s);
        let mut source = Source { stmt: s, length: None, place: 0, vector: None, before: None, is_fed: false };
        if copy.old.inst(s).is_none() {
            source.before = Some(copy.var(s)?);
        }
        if is_outside(copy.old, s) {
            return Ok(source);
        }
        let whole = match copy.old.inst(s) {
            Some(Inst { op: Op::Iota(_) | Op::Produce, args, .. }) => {
                let n = copy.var(args[0])?;
                push(copy, Op::Iota(Coll::Array), &[n], span)?
            }
            Some(Inst { op: Op::Range(_, inclusive), args, .. }) => {
                let args = args.iter().map(|v| copy.var(*v)).collect::<Copied<Vec<_>>>()?;
                push(copy, Op::Range(Coll::Array, *inclusive), &args, span)?
            }
            Some(Inst { op: Op::Seq, args, .. }) => *source.vector.insert(copy.var(args[0])?),
            other => {
                // Already in memory: a few elements, or an argument.
                if other.is_some() {
                    copy.statement(changes, s)?;
                }
                let all = copy.var(s)?;
                *source.vector.insert(stream::whole(&mut copy.b, all, span)?)
            }
        };
        source.length = Some(push(copy, Op::Length, &[whole], span)?);
        Ok(source)
    }

    /// Lets a part represent the sequence.
    pub(super) fn part(&self, copy: &mut Copier<'_>, changes: &mut dyn Rewrite, at: Part) -> Copied<()> {
        let Part { pos, end, count } = at;
        let s = self.stmt;
        let span = copy.old.span(s);
        let chunk = match (self.vector, copy.old.inst(s)) {
            (Some(xs), _) => {
                let slice = push(copy, Op::Slice(vec![Slicer::Range]), &[xs, pos, end], span)?;
                let ty = copy.old.ty(s).clone();
                stream::streamed(&mut copy.b, slice, &ty, span)?
            }
            (None, None) => return Err(bug("a parameter in memory without a vector")),
            (None, Some(inst)) => {
                let args = inst.args.iter().map(|v| copy.var(*v)).collect::<Copied<Vec<_>>>()?;
                let (body, params) = copy.b.begin_body_of(&Op::Produce, &[count], 0, span)?;
                let i = push(copy, Op::Binary(BinOp::Add), &[pos, *params.first().or_bug("a body or operand")?], span)?;
                let element = match inst.op {
                    Op::Iota(_) => i,
                    Op::Range(..) => {
                        let Type::Scalar(ty) = *copy.b.ty(args[0]) else {
                            return Err(bug("a range of what is no scalar"));
                        };
                        let i = push(copy, Op::Cast(ty), &[i], span)?;
                        let far = push(copy, Op::Binary(BinOp::Mul), &[i, args[2]], span)?;
                        push(copy, Op::Binary(BinOp::Add), &[args[0], far], span)?
                    }
                    _ => {
                        let theirs = *inst.bodies.first().or_bug("a body or operand")?;
                        copy.stand(*copy.old.body(theirs).params.first().or_bug("a body or operand")?, i);
                        copy.statements(changes, theirs)?
                    }
                };
                copy.b.end_body(element);
                copy.b.push(Op::Produce, &[count], &[body], span)?
            }
        };
        copy.stand(s, chunk);
        Ok(())
    }

    /// Pulls the next elements from outside, `count` or as many as there are, or some of them, to represent the sequence; returns their number.
    pub(super) fn pull(&self, copy: &mut Copier<'_>, pos: Var, count: Var, all: bool) -> Copied<Var> {
        let span = copy.old.span(self.stmt);
        if self.is_fed {
            let part = copy.var(self.stmt)?;
            return push(copy, Op::Length, &[part], span);
        }
        let mut xs = push(copy, Op::Pull(all), &[self.before.or_bug("a parameter")?, pos, count], span)?;
        let ty = copy.old.ty(self.stmt).clone();
        let mut told = Vec::new();
        ty.elem().or_bug("elements")?.for_each_size(&mut |size, _| told.push(size.as_constant().map(|_| size.clone())));
        if told.iter().any(Option::is_some) {
            // The outermost size is that of the part.
            let mut told = std::iter::once(None).chain(told);
            let ensured = copy.b.ty(xs).map_sizes(&mut |size, _| told.next().flatten().unwrap_or_else(|| size.clone()));
            xs = push(copy, Op::Ensure(ensured), &[xs], span)?;
        }
        let got = push(copy, Op::Length, &[xs], span)?;
        let chunk = stream::streamed(&mut copy.b, xs, &ty, span)?;
        copy.stand(self.stmt, chunk);
        Ok(got)
    }

    /// Pulls a part from outside that must be complete: it is traversed in lockstep with other sequences.
    pub(super) fn pull_all(&self, copy: &mut Copier<'_>, at: Part, span: Span) -> Copied<()> {
        let got = self.pull(copy, at.pos, at.count, true)?;
        let end = push(copy, Op::Binary(BinOp::Add), &[at.pos, got], span)?;
        equal(copy, at.end, end, span)
    }

    /// After the traversal.
    pub(super) fn end(&self, copy: &mut Copier<'_>) {
        if let Some(before) = self.before {
            copy.stand(self.stmt, before);
        }
    }
}
