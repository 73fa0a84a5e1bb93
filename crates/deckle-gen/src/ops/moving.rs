//! Moving elements, and reading neighbours.

use super::shape::regular;
use crate::generate::{Gen, Run};
use crate::guess::Guess;
use deckle_ir::array::{BinOp, Boundary, Op};
use deckle_ir::entity::Var;
use deckle_ir::types::Type;

fn is_array(t: &Type) -> bool {
    t.as_array().is_some()
}

fn is_array_of(t: &Type, elem: &Type) -> bool {
    t.as_array().is_some_and(|a| a.elem == *elem)
}

/// A vector as long as `xs` of the results of a simple body for each element.
fn each(g: &mut Gen<'_>, xs: Var, make: impl FnOnce(&mut Gen<'_>, Var) -> Option<Var>) -> Option<Var> {
    let guess = g.guess(xs);
    let run = Run::many(guess.len, vec![guess.elem()]).plain();
    let (body, elem) = g.body(&Op::Map, &[xs], 0, run, |g, p| make(g, p[0]))?;
    g.push(Op::Map, &[xs], &[body], Guess::many(guess.len, elem))
}

/// A target vector and a vector of values, with target indices, and a mask that excludes those outside.
struct Writes {
    into: Var,
    targets: Var,
    xs: Var,
    mask: Option<Var>,
}

fn writes(g: &mut Gen<'_>) -> Option<Writes> {
    let into = g.some_array(is_array)?;
    let xs = g.some_array(is_array)?;
    let size = g.ty(xs).as_array()?.size.clone();
    let ready = g.pick_type(|t| t.as_array().is_some_and(|a| a.elem == Type::INT && a.size == size));
    let deep = g.ty(into).depth() > 1 && g.rng.chance(30);
    let targets = match ready {
        Some(v) if !deep && g.rng.chance(70) => v,
        _ => each(g, xs, |g, _| {
            let i = g.natural(4)?;
            if !deep {
                return Some(i);
            }
            let j = g.natural(2)?;
            g.tuple(&[i, j])
        })?,
    };
    if !g.careful() {
        return Some(Writes { into, targets, xs, mask: None });
    }
    let mask = each(g, targets, |g, t| {
        let i = if deep { g.proj(t, 0)? } else { t };
        let (n, zero) = (g.length(into)?, g.int(0)?);
        let (low, high) = (g.binary(BinOp::Ge, i, zero)?, g.binary(BinOp::Lt, i, n)?);
        g.binary(BinOp::And, low, high)
    })?;
    Some(Writes { into, targets, xs, mask: Some(mask) })
}

fn stored(g: &Gen<'_>, into: Var, targets: Var) -> Option<Type> {
    let depth = g.ty(targets).elem()?.parts().map_or(1, |p| p.len());
    (0..depth).try_fold(g.ty(into).clone(), |t, _| t.elem().cloned())
}

pub(super) fn permute(g: &mut Gen<'_>) -> Option<Var> {
    let w = writes(g)?;
    let old = stored(g, w.into, w.targets)?;
    let args: Vec<Var> = [w.into, w.targets, w.xs].into_iter().chain(w.mask).collect();
    let (to, from) = (g.guess(w.into), g.guess(w.xs));
    let run = Run::many(from.len, vec![from.elem(), to.elem()]);
    let (body, _) = g.body(&Op::Permute, &args, 0, run, |g, p| {
        let alike = g.ty(p[0]).same_kind(&old);
        if alike && g.rng.chance(60) { super::fold::combine(g, &old, p[0], p[1]) } else { g.value(&old) }
    })?;
    g.push(Op::Permute, &args, &[body], to.with(from).unbound())
}

pub(super) fn scatter(g: &mut Gen<'_>) -> Option<Var> {
    let w = writes(g)?;
    let old = stored(g, w.into, w.targets)?;
    let xs = if g.ty(w.xs).elem()?.same_kind(&old) { w.xs } else { each(g, w.xs, |g, _| g.value(&old))? };
    let args: Vec<Var> = [w.into, w.targets, xs].into_iter().chain(w.mask).collect();
    let guess = g.guess(w.into).with(g.guess(xs));
    g.push(Op::Scatter, &args, &[], guess)
}

/// An operator with one body that is run at each element of one vector.
fn by_element(g: &mut Gen<'_>, op: Op, make: impl FnOnce(&mut Gen<'_>, Var) -> Option<Var>) -> Option<Var> {
    let xs = g.some_array(is_array)?;
    let guess = g.guess(xs);
    let run = Run { seal: g.seals(), ..Run::many(guess.len, vec![guess.elem()]) };
    let (body, _) = g.body(&op, &[xs], 0, run, |g, p| make(g, p[0]))?;
    g.push(op, &[xs], &[body], guess)
}

/// A key to sort or group by.
fn key(g: &mut Gen<'_>, x: Var) -> Option<Var> {
    if g.rng.chance(60) { g.digest(x) } else { g.anything(Type::is_flat) }
}

/// Whether to keep an element.
fn choice(g: &mut Gen<'_>, x: Var) -> Option<Var> {
    if g.rng.chance(40) {
        return g.truth();
    }
    let digest = g.digest(x)?;
    let Some(ty) = g.ty(digest).as_scalar() else { return g.truth() };
    let (other, op) = (g.scalar(ty)?, g.rng.of(&[BinOp::Eq, BinOp::Lt, BinOp::Gt])?);
    g.binary(op, digest, other)
}

pub(super) fn filter(g: &mut Gen<'_>) -> Option<Var> {
    by_element(g, Op::Filter, choice)
}

pub(super) fn partition(g: &mut Gen<'_>) -> Option<Var> {
    by_element(g, Op::Partition, choice)
}

pub(super) fn sort_by(g: &mut Gen<'_>) -> Option<Var> {
    by_element(g, Op::SortBy, key)
}

pub(super) fn group_by(g: &mut Gen<'_>) -> Option<Var> {
    let made = by_element(g, Op::GroupBy, key)?;
    // The keys are now among the elements, and are any numbers.
    let guess = g.guess(made);
    g.set_guess(made, Guess { total: guess.total.saturating_mul(2), bound: None, ..guess });
    Some(made)
}

pub(super) fn compact(g: &mut Gen<'_>) -> Option<Var> {
    let xs = g.some_array(is_array)?;
    let size = g.ty(xs).as_array()?.size.clone();
    let ready = if g.careful() {
        g.pick_type(|t| is_array_of(t, &Type::BOOL) && t.as_array().is_some_and(|a| a.size == size))
    } else {
        g.pick_type(|t| is_array_of(t, &Type::BOOL))
    };
    let flags = match ready {
        Some(v) => v,
        None => each(g, xs, choice)?,
    };
    let guess = g.guess(xs);
    g.push(Op::Compact, &[xs, flags], &[], guess)
}

pub(super) fn expand(g: &mut Gen<'_>) -> Option<Var> {
    let xs = g.some_array(is_array)?;
    let guess = g.guess(xs);
    let run = Run { seal: g.seals(), ..Run::many(guess.len, vec![guess.elem()]) };
    let (count, n) = g.body(&Op::Expand, &[xs], 0, run, |g, p| {
        let known = *g.ty(p[0]) == Type::INT && g.guess(p[0]).bound.is_some_and(|b| b < 8);
        if known && g.rng.chance(60) { Some(p[0]) } else { g.natural(3) }
    })?;
    let each = n.bound.map_or(3, |b| b as u64);
    let all = guess.len.saturating_mul(each);
    let run = Run { seal: g.seals(), ..Run::many(all, vec![guess.elem(), Guess::natural(each as i64)]) };
    let (get, elem) = g.body(&Op::Expand, &[xs], 1, run, |g, _| g.anything(Type::is_concrete))?;
    g.push(Op::Expand, &[xs], &[count, get], Guess::many(all, elem))
}

pub(super) fn sort(g: &mut Gen<'_>) -> Option<Var> {
    let xs = g.some_array(|t| t.as_array().is_some_and(|a| a.elem.is_flat()))?;
    let guess = g.guess(xs);
    g.push(Op::Sort, &[xs], &[], guess)
}

pub(super) fn stencil(g: &mut Gen<'_>) -> Option<Var> {
    let (a, depth) = regular(g, 3)?;
    let radii: Vec<u32> = (0..depth).map(|_| g.rng.below(3 - depth / 2) as u32).collect();
    let boundary = Boundary::ALL[g.rng.below(Boundary::ALL.len())].0;
    let inner = (0..depth).try_fold(g.ty(a).clone(), |t, _| t.elem().cloned())?;
    if !inner.is_flat() {
        return None;
    }
    let guess = g.guess(a);
    let mut args = vec![a];
    if boundary == Boundary::Constant {
        args.push(g.value(&inner)?);
    }
    let op = Op::Stencil(radii.clone(), boundary);
    let extents: Vec<u64> = radii.iter().map(|r| 2 * u64::from(*r) + 1).collect();
    let window = extents.iter().rev().fold(guess.elem().elem(), |e, n| Guess::many(*n, e));
    let run = Run { seal: g.seals(), ..Run::many(guess.total, vec![window]) };
    let (body, elem) = g.body(&op, &args, 0, run, |g, p| {
        if g.rng.chance(50) {
            return g.anything(Type::is_flat);
        }
        let mut at = vec![p[0]];
        for r in &radii {
            let i = g.rng.between(0, 2 * i64::from(*r));
            at.push(g.int(i)?);
        }
        g.push(Op::Index, &at, &[], Guess::SCALAR)
    })?;
    let mut bodies = vec![body];
    if boundary == Boundary::Function {
        let run = Run { seal: g.seals(), ..Run::many(guess.total, Vec::new()) };
        bodies.push(g.body(&op, &args, 1, run, |g, _| g.value(&inner))?.0);
    }
    g.push(op, &args, &bodies, Guess { total: guess.total.saturating_mul(elem.total), bound: elem.bound, ..guess })
}
