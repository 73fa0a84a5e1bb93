//! Making arrays, and working element by element.

use crate::generate::{Gen, Run, without_sizes};
use crate::guess::Guess;
use crate::{params, scalars};
use deckle_ir::array::{Coll, Constant, Op};
use deckle_ir::entity::Var;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use std::sync::Arc;

pub(super) fn host(g: &mut Gen<'_>) -> Option<Var> {
    let kind = if g.config.sequences && g.rng.chance(15) {
        Type::seq(params::concrete_kind(&mut g.rng, 1))
    } else {
        let nesting = g.config.nesting.min(2);
        params::concrete_kind(&mut g.rng, nesting)
    };
    let ty = kind.map_sizes(&mut |_, _| g.rng.between(0, 3).into());
    let value = params::constant(&ty, &mut g.rng);
    let guess = Guess::of(&value, None);
    g.push(Op::Use(Arc::new(Constant { ty, value })), &[], &[], guess)
}

pub(super) fn array(g: &mut Gen<'_>) -> Option<Var> {
    let x = g.pick_type(Type::is_concrete)?;
    let elem = g.ty(x).clone();
    let n = g.rng.below(4);
    g.array_of(&elem, n)
}

pub(super) fn replicate(g: &mut Gen<'_>) -> Option<Var> {
    let x = g.pick_type(Type::is_concrete)?;
    let n = g.natural(4)?;
    let guess = Guess::many(g.count(n), g.guess(x));
    g.push(Op::Replicate, &[x, n], &[], guess)
}

pub(super) fn generate(g: &mut Gen<'_>) -> Option<Var> {
    let rank = [1, 1, 1, 2, 2, 3][g.rng.below(6)];
    let args = (0..rank).map(|_| g.natural(4)).collect::<Option<Vec<_>>>()?;
    let counts: Vec<u64> = args.iter().map(|n| g.count(*n)).collect();
    let params = counts.iter().map(|n| Guess::natural(*n as i64)).collect();
    let run = Run { seal: g.seals(), ..Run::many(counts.iter().product(), params) };
    let (body, elem) = g.body(&Op::Generate, &args, 0, run, |g, _| g.anything(Type::is_concrete))?;
    let guess = counts.iter().rev().fold(elem, |elem, n| Guess::many(*n, elem));
    g.push(Op::Generate, &args, &[body], guess)
}

/// Arrays, or where there are sequences sometimes those.
fn some_coll(g: &mut Gen<'_>) -> Coll {
    if g.config.sequences && g.rng.chance(40) { Coll::Seq } else { Coll::Array }
}

pub(super) fn iota(g: &mut Gen<'_>) -> Option<Var> {
    let coll = some_coll(g);
    let n = g.natural(5)?;
    let count = g.count(n);
    g.push(Op::Iota(coll), &[n], &[], Guess::many(count, Guess::natural(count as i64)))
}

pub(super) fn range(g: &mut Gen<'_>) -> Option<Var> {
    let coll = some_coll(g);
    let ty = if g.rng.chance(60) { ScalarType::I64 } else { scalars::any_type(&mut g.rng) };
    if !ty.is_int() {
        return None;
    }
    let mut ends = Vec::new();
    for _ in 0..2 {
        let end = Scalar::wrap_int(ty, g.rng.between(-3, 8).into())?;
        let known = g.pick(|g, v| g.ty(v).as_scalar() == Some(ty) && g.guess(v).bound.is_some());
        ends.push(match known {
            Some(v) if g.rng.chance(50) => v,
            _ if g.careful() => g.literal(end)?,
            _ => g.scalar(ty)?,
        });
    }
    let step = g.rng.of(&[1, 1, 2, 3, -1, -2])?;
    ends.push(if g.careful() { g.literal(Scalar::wrap_int(ty, step)?)? } else { g.scalar(ty)? });
    let inclusive = g.rng.chance(50);
    g.push(Op::Range(coll, inclusive), &ends, &[], Guess::many(6, Guess::SCALAR))
}

/// Vectors, or sequences, that may be traversed together.
fn together(g: &mut Gen<'_>) -> Option<Vec<Var>> {
    let first = g.pick_type(|t| t.elem().is_some())?;
    let n = [1, 1, 2, 2, 3][g.rng.below(5)];
    let mut args = vec![first];
    for _ in 1..n {
        let ty = g.ty(first).clone();
        let other = match ty.as_array() {
            None if g.careful() => Some(first),
            None => g.pick_type(|t| t.is_seq()),
            Some(_) if !g.careful() => g.pick_type(|t| t.as_array().is_some()),
            Some(a) => g.pick_type(|t| t.as_array().is_some_and(|b| b.size == a.size)),
        };
        args.push(other?);
    }
    if g.rng.chance(50) {
        args.reverse();
    }
    Some(args)
}

pub(super) fn map(g: &mut Gen<'_>) -> Option<Var> {
    let args = together(g)?;
    let len = g.guess(args[0]).len;
    let streams = g.ty(args[0]).is_seq();
    let params = args.iter().map(|v| g.guess(*v).elem()).collect();
    let run = Run { seal: streams || g.seals(), ..Run::many(len, params) };
    let (body, elem) = g.body(&Op::Map, &args, 0, run, |g, _| g.anything(|t| streams || t.is_concrete()))?;
    g.push(Op::Map, &args, &[body], Guess::many(len, elem))
}

pub(super) fn zip(g: &mut Gen<'_>) -> Option<Var> {
    let args = together(g)?;
    let guess = g.together(&args);
    g.push(Op::Zip, &args, &[], guess)
}

pub(super) fn unzip(g: &mut Gen<'_>) -> Option<Var> {
    if let Some(v) = g.pick_type(|t| t.elem().is_some_and(|e| e.parts().is_some())) {
        let guess = g.guess(v);
        return g.push(Op::Unzip, &[v], &[], guess);
    }
    let v = zip(g)?;
    let guess = g.guess(v);
    g.push(Op::Unzip, &[v], &[], guess)
}

/// A vector like `xs` with a vector of one more element after it: not empty.
pub(super) fn filled(g: &mut Gen<'_>, xs: Var) -> Option<Var> {
    let elem = without_sizes(&g.ty(xs).as_array()?.elem);
    let more = g.array_of(&elem, 1)?;
    let guess = g.guess(xs).after(g.guess(more));
    g.push(Op::Concat(0), &[xs, more], &[], guess)
}
