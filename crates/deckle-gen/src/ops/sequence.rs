//! Sequences.

use super::shape::regular;
use crate::generate::{Gen, Run, without_sizes};
use crate::guess::Guess;
use deckle_ir::array::Op;
use deckle_ir::entity::Var;
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;

pub(super) fn mkseq(g: &mut Gen<'_>) -> Option<Var> {
    let x = g.pick(|_, _| true)?;
    let elem = without_sizes(g.ty(x));
    let n = g.rng.below(4);
    let elems = (0..n).map(|_| g.value(&elem)).collect::<Option<Vec<_>>>()?;
    let guess = g.listed(&elems);
    g.push(Op::MkSeq(elem), &elems, &[], guess)
}

pub(super) fn empty(g: &mut Gen<'_>) -> Option<Var> {
    let s = g.pick_type(Type::is_seq)?;
    g.push(Op::Empty, &[s], &[], Guess::SCALAR)
}

pub(super) fn the(g: &mut Gen<'_>) -> Option<Var> {
    if !g.careful() {
        let s = g.pick_type(Type::is_seq)?;
        let guess = g.guess(s);
        return g.push(Op::The, &[s], &[], guess);
    }
    let x = g.pick(|_, _| true)?;
    let (elem, guess) = (without_sizes(g.ty(x)), g.guess(x));
    let s = g.push(Op::MkSeq(elem), &[x], &[], Guess::many(1, guess))?;
    g.push(Op::The, &[s], &[], guess)
}

pub(super) fn append(g: &mut Gen<'_>) -> Option<Var> {
    let s = g.pick_type(Type::is_seq)?;
    let kind = g.ty(s).clone();
    let t = g.value(&kind)?;
    let guess = g.guess(s).after(g.guess(t));
    g.push(Op::Append, &[s, t], &[], guess)
}

/// A sequence of booleans.
fn flags(g: &mut Gen<'_>, list: &[bool]) -> Option<Var> {
    let elems = list.iter().map(|b| g.literal(Scalar::Bool(*b))).collect::<Option<Vec<_>>>()?;
    g.push(Op::MkSeq(Type::BOOL), &elems, &[], Guess::many(list.len() as u64, Guess::SCALAR))
}

pub(super) fn flagpart(g: &mut Gen<'_>) -> Option<Var> {
    let s = g.pick_type(Type::is_seq)?;
    let guess = g.guess(s);
    if !g.careful() {
        let cuts = g.pick_type(|t| *t == Type::seq(Type::BOOL))?;
        return g.push(Op::FlagPart, &[s, cuts], &[], guess);
    }
    // One `false` for each element, and after some of them the end of a part.
    let run = Run::many(guess.len, vec![guess.elem()]);
    let (body, _) = g.body(&Op::Map, &[s], 0, run, |g, _| {
        let c = g.truth()?;
        let takes = flags(g, &[false])?;
        let ends = g.body(&Op::Guard, &[c], 0, Run::once().plain(), |g, _| g.literal(Scalar::Bool(true)))?;
        let ends = g.push(Op::Guard, &[c], &[ends.0], Guess::SCALAR)?;
        g.push(Op::Append, &[takes, ends], &[], Guess::many(2, Guess::SCALAR))
    })?;
    let each = g.push(Op::Map, &[s], &[body], Guess::many(guess.len, Guess::many(2, Guess::SCALAR)))?;
    let cuts = g.push(Op::Flatten, &[each], &[], Guess::many(2 * guess.len, Guess::SCALAR))?;
    let end = flags(g, &[true])?;
    let cuts = g.push(Op::Append, &[cuts, end], &[], Guess::many(2 * guess.len + 1, Guess::SCALAR))?;
    g.push(Op::FlagPart, &[s, cuts], &[], guess)
}

fn is_tabular(t: &Type) -> bool {
    t.is_seq() && t.elem().is_some_and(Type::is_concrete)
}

pub(super) fn tab(g: &mut Gen<'_>) -> Option<Var> {
    let s = g.pick_type(is_tabular)?;
    let guess = g.guess(s);
    g.push(Op::Tab, &[s], &[], guess)
}

pub(super) fn seq(g: &mut Gen<'_>) -> Option<Var> {
    let a = g.some_array(|_| true)?;
    let guess = g.guess(a);
    g.push(Op::Seq, &[a], &[], guess)
}

pub(super) fn guard(g: &mut Gen<'_>) -> Option<Var> {
    let c = g.truth()?;
    let (body, elem) = g.body(&Op::Guard, &[c], 0, Run::once(), |g, _| g.anything(|_| true))?;
    g.push(Op::Guard, &[c], &[body], Guess::many(1, elem))
}

pub(super) fn produce(g: &mut Gen<'_>) -> Option<Var> {
    let n = g.natural(5)?;
    let count = g.count(n);
    let run = Run::many(count, vec![Guess::natural(count as i64)]);
    let (body, elem) = g.body(&Op::Produce, &[n], 0, run, |g, _| g.anything(|_| true))?;
    g.push(Op::Produce, &[n], &[body], Guess::many(count, elem))
}

pub(super) fn tiles(g: &mut Gen<'_>) -> Option<Var> {
    let (a, depth) = regular(g, 3)?;
    let mut args = vec![a];
    for _ in 0..depth {
        let size = g.rng.between(1, 3);
        args.push(if g.careful() { g.int(size)? } else { g.natural(3)? });
    }
    let guess = g.guess(a);
    g.push(Op::Tiles(depth as u32), &args, &[], guess)
}

pub(super) fn tabulate(g: &mut Gen<'_>) -> Option<Var> {
    let s = g.pick_type(|t| is_tabular(t) && t.elem().is_some_and(|e| e.depth() > 0))?;
    let depth = g.ty(s).elem()?.depth();
    let depth = 1 + g.rng.below(depth);
    let guess = g.guess(s);
    g.push(Op::Tabulate(depth as u32), &[s], &[], guess)
}
