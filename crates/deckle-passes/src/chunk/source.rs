//! Where sequences begin: statements that make one of numbers or of a vector, and a part of it.

use super::push;
use crate::stream;
use deckle_ir::array::{BinOp, Coll, Copier, Inst, Op, Rewrite, Slicer};
use deckle_ir::entity::Var;
use deckle_ir::types::Type;

/// A sequence that begins in a traversal.
pub(super) struct Source {
    /// The statement or parameter.
    pub stmt: Var,
    /// How many elements it has, in the copy.
    pub length: Var,
    /// Where its position is in the state of the traversal, if it has one of its own.
    pub place: u32,
    /// The vector of which it is made, if it is.
    vector: Option<Var>,
}

/// What has to be known before the traversal. What fails, fails here.
pub(super) fn begin(copy: &mut Copier<'_>, changes: &mut dyn Rewrite, s: Var) -> Option<Source> {
    let span = copy.old.span(s);
    let (whole, vector) = match copy.old.inst(s) {
        Some(Inst { op: Op::Iota(_) | Op::Produce, args, .. }) => {
            let n = copy.var(args[0])?;
            (push(copy, Op::Iota(Coll::Array), &[n], span)?, None)
        }
        Some(Inst { op: Op::Range(_, inclusive), args, .. }) => {
            let args = args.iter().map(|v| copy.var(*v)).collect::<Option<Vec<_>>>()?;
            (push(copy, Op::Range(Coll::Array, *inclusive), &args, span)?, None)
        }
        Some(Inst { op: Op::Seq, args, .. }) => {
            let xs = copy.var(args[0])?;
            (xs, Some(xs))
        }
        other => {
            // What is in memory already: a few elements, or an argument.
            if other.is_some() {
                copy.statement(changes, s)?;
            }
            let all = copy.var(s)?;
            let xs = stream::whole(&mut copy.b, all, span).ok()?;
            (xs, Some(xs))
        }
    };
    let length = push(copy, Op::Length, &[whole], span)?;
    Some(Source { stmt: s, length, place: 0, vector })
}

/// The elements from the first position below the second, so many, stand for the sequence.
pub(super) fn part(
    copy: &mut Copier<'_>,
    changes: &mut dyn Rewrite,
    source: &Source,
    (pos, end, count): (Var, Var, Var),
) -> Option<()> {
    let s = source.stmt;
    let span = copy.old.span(s);
    let chunk = match (source.vector, copy.old.inst(s)) {
        (Some(xs), _) => {
            let slice = push(copy, Op::Slice(vec![Slicer::Range]), &[xs, pos, end], span)?;
            let ty = copy.old.ty(s).clone();
            stream::streamed(&mut copy.b, slice, &ty, span).ok()?
        }
        (None, None) => return None,
        (None, Some(inst)) => {
            let args = inst.args.iter().map(|v| copy.var(*v)).collect::<Option<Vec<_>>>()?;
            let (body, params) = copy.b.begin_body_of(&Op::Produce, &[count], 0, span).ok()?;
            let i = push(copy, Op::Binary(BinOp::Add), &[pos, *params.first()?], span)?;
            let element = match inst.op {
                Op::Iota(_) => i,
                Op::Range(..) => {
                    let Type::Scalar(ty) = *copy.b.ty(args[0]) else { return None };
                    let i = push(copy, Op::Cast(ty), &[i], span)?;
                    let far = push(copy, Op::Binary(BinOp::Mul), &[i, args[2]], span)?;
                    push(copy, Op::Binary(BinOp::Add), &[args[0], far], span)?
                }
                _ => {
                    let theirs = *inst.bodies.first()?;
                    copy.stand(*copy.old.body(theirs).params.first()?, i);
                    copy.statements(changes, theirs)?
                }
            };
            copy.b.end_body(element);
            copy.b.push(Op::Produce, &[count], &[body], span).ok()?
        }
    };
    copy.stand(s, chunk);
    Some(())
}
