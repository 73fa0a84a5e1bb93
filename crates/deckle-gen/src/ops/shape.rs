//! Changing shape.

use super::control::regularised;
use crate::generate::{Gen, Run};
use crate::guess::Guess;
use deckle_ir::array::{BinOp, Direction, Op, ScanKind, Slicer, SplitBy};
use deckle_ir::entity::Var;
use deckle_ir::types::Type;

pub(super) fn length(g: &mut Gen<'_>) -> Option<Var> {
    let xs = g.pick_type(|t| t.elem().is_some())?;
    g.length(xs)
}

/// A regular array and the number of its outer dimensions to use.
pub(super) fn regular(g: &mut Gen<'_>, max: usize) -> Option<(Var, usize)> {
    let deep = g.rng.chance(70);
    let fits = |t: &Type| t.as_array().is_some() && (!deep || (t.depth() > 1 && t.regular_dims(2).is_some()));
    if let Some(v) = g.pick_type(fits) {
        let most = (1..=g.ty(v).depth()).take_while(|d| g.ty(v).regular_dims(*d).is_some()).last()?;
        let depth = if deep { most.min(max) } else { 1 + g.rng.below(most.min(max)) };
        return Some((v, depth));
    }
    if g.rng.chance(40) {
        return made(g).map(|v| (v, 2.min(max)));
    }
    let jagged = g.pick_type(|t| t.depth() > 1)?;
    let v = if g.careful() { levelled(g, jagged)? } else { regularised(g, jagged)? };
    Some((v, 2.min(max)))
}

/// A new matrix.
fn made(g: &mut Gen<'_>) -> Option<Var> {
    let row = g.some_array(|t| t.as_array().is_some_and(|a| a.elem.is_flat()))?;
    let n = g.natural(3)?;
    let guess = Guess::many(g.count(n), g.guess(row));
    g.push(Op::Replicate, &[row, n], &[], guess)
}

/// A jagged array with all rows cut or filled to a length of 2, and checked to be regular.
fn levelled(g: &mut Gen<'_>, jagged: Var) -> Option<Var> {
    let elem = g.ty(jagged).as_array()?.elem.as_array()?.elem.clone();
    let guess = g.guess(jagged);
    let run = Run::many(guess.len, vec![guess.elem()]).plain();
    let (body, row) = g.body(&Op::Map, &[jagged], 0, run, |g, p| {
        let fill = g.array_of(&elem, 2)?;
        let guess = g.guess(p[0]).after(g.guess(fill));
        let long = g.push(Op::Concat(0), &[p[0], fill], &[], guess)?;
        let two = g.int(2)?;
        g.push(Op::Take, &[long, two], &[], guess)
    })?;
    let level = g.push(Op::Map, &[jagged], &[body], Guess::many(guess.len, row))?;
    regularised(g, level)
}

pub(super) fn shape(g: &mut Gen<'_>) -> Option<Var> {
    let (a, depth) = regular(g, 3)?;
    let bound = g.guess(a).total.min(64) as i64;
    g.push(Op::Shape(depth as u32), &[a], &[], Guess::natural(bound))
}

pub(super) fn size(g: &mut Gen<'_>) -> Option<Var> {
    let a = g.pick_type(|t| t.as_array().is_some())?;
    let depth = 1 + g.rng.below(g.ty(a).depth());
    let bound = g.guess(a).total as i64;
    g.push(Op::Size(depth as u32), &[a], &[], Guess::natural(bound))
}

pub(super) fn reshape(g: &mut Gen<'_>) -> Option<Var> {
    let a = g.pick_type(|t| t.as_array().is_some())?;
    let depth = (1 + g.rng.below(g.ty(a).depth())) as u32;
    let guess = g.guess(a);
    if !g.careful() {
        let args = vec![a, g.natural(4)?, g.natural(4)?];
        return g.push(Op::Reshape(depth), &args, &[], guess);
    }
    let n = g.push(Op::Size(depth), &[a], &[], Guess::natural(guess.total as i64))?;
    let one = g.int(1)?;
    let args = match g.rng.below(4) {
        0 => vec![a, n],
        1 => vec![a, n, one],
        2 => vec![a, one, n],
        _ => vec![a, one, n, one],
    };
    g.push(Op::Reshape(depth), &args, &[], Guess { len: guess.total, ..guess })
}

pub(super) fn flatten(g: &mut Gen<'_>) -> Option<Var> {
    let nested = |t: &Type| match t.elem() {
        Some(e) => (t.is_seq() && e.is_seq()) || (t.as_array().is_some() && e.as_array().is_some()),
        None => false,
    };
    let xss = g.pick_type(nested)?;
    let guess = g.guess(xss);
    g.push(Op::Flatten, &[xss], &[], Guess { len: guess.total, ..guess })
}

/// A vector and the lengths of rows that it can be cut into.
fn rows(g: &mut Gen<'_>) -> Option<(Var, Var)> {
    if g.rng.chance(40)
        && let Some(xss) = g.pick_type(|t| t.depth() > 1)
    {
        let guess = g.guess(xss);
        let run = Run::many(guess.len, vec![guess.elem()]).plain();
        let (body, n) = g.body(&Op::Map, &[xss], 0, run, |g, p| g.length(p[0]))?;
        let lengths = g.push(Op::Map, &[xss], &[body], Guess::many(guess.len, n))?;
        let all = g.push(Op::Flatten, &[xss], &[], Guess { len: guess.total, ..guess })?;
        return Some((all, lengths));
    }
    let xs = g.some_array(|_| true)?;
    let (n, k) = (g.length(xs)?, g.natural(3)?);
    let first = g.binary(BinOp::Min, n, k)?;
    let rest = g.binary(BinOp::Sub, n, first)?;
    let lengths = g.array(&[first, rest])?;
    Some((xs, lengths))
}

pub(super) fn split(g: &mut Gen<'_>) -> Option<Var> {
    let by = g.rng.of(&[SplitBy::Lengths, SplitBy::Offsets])?;
    if !g.careful() {
        let xs = g.some_array(|_| true)?;
        let ns = g.some_array(|t| t.as_array().is_some_and(|a| a.elem == Type::INT))?;
        let guess = g.guess(xs).with(g.guess(ns));
        return g.push(Op::Split(by), &[xs, ns], &[], guess);
    }
    let (xs, mut cuts) = rows(g)?;
    if by == SplitBy::Offsets {
        let zero = g.int(0)?;
        let op = Op::Scan(Direction::Left, ScanKind::Full);
        let args = [zero, cuts];
        let guess = g.guess(cuts);
        let run = Run::many(guess.len, Vec::new()).plain();
        let (body, _) = g.body(&op, &args, 0, run, |g, p| g.binary(BinOp::Add, p[0], p[1]))?;
        cuts = g.push(op, &args, &[body], Guess { len: guess.len + 1, total: guess.total + 1, bound: None })?;
    }
    let guess = g.guess(xs).with(g.guess(cuts));
    g.push(Op::Split(by), &[xs, cuts], &[], Guess { len: g.guess(cuts).len, ..guess })
}

pub(super) fn slice(g: &mut Gen<'_>) -> Option<Var> {
    let a = g.pick_type(|t| t.as_array().is_some())?;
    let axes = 1 + g.rng.below(g.ty(a).depth());
    let (mut spec, mut args) = (Vec::new(), vec![a]);
    // The length of an inner axis is one number only if it is regular.
    let dims = g.ty(a).regular_dims(axes);
    for axis in 0..axes {
        let known = axis == 0 || dims.is_some();
        let kind = match g.rng.below(10) {
            0..=2 => Slicer::All,
            3 => Slicer::At,
            _ if known || !g.careful() => Slicer::Range,
            _ => Slicer::All,
        };
        spec.push(kind);
        match kind {
            Slicer::All => {}
            Slicer::At => args.push(g.natural(1)?),
            Slicer::Range => {
                let (lo, len) = (g.natural(3)?, g.natural(4)?);
                if !g.careful() {
                    args.extend([lo, len]);
                    continue;
                }
                let n = extent(g, a, axis)?;
                let lo = g.binary(BinOp::Min, lo, n)?;
                let hi = g.binary(BinOp::Add, lo, len)?;
                let hi = g.binary(BinOp::Min, hi, n)?;
                args.extend([lo, hi]);
            }
        }
    }
    let guess = g.guess(a);
    g.push(Op::Slice(spec), &args, &[], guess)
}

/// The size of an axis of an array that is regular down to it.
fn extent(g: &mut Gen<'_>, a: Var, axis: usize) -> Option<Var> {
    if axis == 0 {
        return g.length(a);
    }
    let all = g.push(Op::Shape(axis as u32 + 1), &[a], &[], Guess::natural(6))?;
    g.proj(all, axis)
}

pub(super) fn transpose(g: &mut Gen<'_>) -> Option<Var> {
    let (a, depth) = regular(g, 3)?;
    let mut axes: Vec<u32> = (0..depth as u32).collect();
    for k in (1..axes.len()).rev() {
        let j = if depth == 2 { 0 } else { g.rng.below(k + 1) };
        axes.swap(k, j);
    }
    let guess = g.guess(a);
    g.push(Op::Transpose(axes), &[a], &[], Guess { len: guess.total, ..guess })
}

pub(super) fn reverse(g: &mut Gen<'_>) -> Option<Var> {
    let a = g.pick_type(|t| t.as_array().is_some())?;
    let axis = g.rng.below(g.ty(a).depth()) as u32;
    let guess = g.guess(a);
    g.push(Op::Reverse(axis), &[a], &[], guess)
}

pub(super) fn take(g: &mut Gen<'_>) -> Option<Var> {
    let a = g.pick_type(|t| t.as_array().is_some())?;
    let k = g.natural(4)?;
    let guess = g.guess(a);
    g.push(Op::Take, &[a, k], &[], guess)
}

pub(super) fn drop(g: &mut Gen<'_>) -> Option<Var> {
    let a = g.pick_type(|t| t.as_array().is_some())?;
    let k = g.natural(4)?;
    let guess = g.guess(a);
    g.push(Op::Drop, &[a, k], &[], guess)
}

pub(super) fn concat(g: &mut Gen<'_>) -> Option<Var> {
    let first = g.pick_type(|t| t.as_array().is_some())?;
    let ty = g.ty(first).clone();
    let axis = if g.rng.chance(70) { 0 } else { g.rng.below(ty.depth()) };
    let mut args = vec![first];
    for _ in 0..g.rng.below(3) {
        let equal = |t: &Type| (0..axis).all(|k| dimension(t, k) == dimension(&ty, k));
        let careful = g.careful();
        let other = g.pick_type(|t| t.same_kind(&ty) && (!careful || equal(t)))?;
        args.push(other);
    }
    let guess = args.iter().map(|v| g.guess(*v)).reduce(Guess::after)?;
    g.push(Op::Concat(axis as u32), &args, &[], guess)
}

/// The size of an axis, under the binders of the outer ones.
fn dimension(ty: &Type, axis: usize) -> Option<&deckle_ir::size::Size> {
    let array = (0..axis).try_fold(ty, |t, _| t.elem())?.as_array()?;
    Some(&array.size)
}

pub(super) fn pad(g: &mut Gen<'_>) -> Option<Var> {
    let innermost = |t: &Type| (0..t.depth()).try_fold(t.clone(), |t, _| t.elem().cloned());
    let a = g.some_array(|t| innermost(t).is_some_and(|e| e.is_flat()))?;
    let ty = g.ty(a).clone();
    let x = g.value(&innermost(&ty)?)?;
    let (lo, hi) = (g.natural(2)?, g.natural(2)?);
    let more = Guess::many(4 * g.guess(a).len.max(1), Guess::SCALAR);
    let guess = g.guess(a).after(more);
    g.push(Op::Pad(ty.depth() as u32 - 1), &[a, lo, hi, x], &[], guess)
}
