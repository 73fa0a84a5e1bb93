//! Sizes and numbers at the edges: near powers of two at which arithmetic wraps, zero sizes, and floats without an order.

use super::{each, generated, ints};
use crate::generate::{Gen, Run};
use crate::guess::Guess;
use crate::scalars;
use deckle_ir::array::{BinOp, Coll, Constant, Direction, Monoid, Op, ScanKind, Slicer, SplitBy};
use deckle_ir::entity::Var;
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::sync::Arc;

/// The limits of 32 and 64 bits and of their halves, and factors and terms that wrap to small numbers.
const HUGE: [i64; 16] = [
    (1 << 31) - 1,
    1 << 31,
    (1 << 31) + 1,
    (1 << 32) - 1,
    1 << 32,
    (1 << 32) + 1,
    5_000_000_000,
    1 << 61,
    (1 << 62) - 1,
    1 << 62,
    (1 << 62) + 1,
    6_148_914_691_236_517_206,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
    -1,
];

/// A huge number: a constant, or read from a vector, so that it is known at run time only.
fn large(g: &mut Gen<'_>) -> Option<Var> {
    let n = g.rng.of(&HUGE)?;
    if g.rng.chance(40) {
        return g.int(n);
    }
    let (ty, value) = (Type::array(1.into(), Type::INT), Value::array(vec![Value::int(n)]));
    let list = g.push(Op::Use(Arc::new(Constant { ty, value })), &[], &[], Guess::SCALAR)?;
    let zero = g.int(0)?;
    g.push(Op::Index, &[list, zero], &[], Guess::SCALAR)
}

/// A huge number or a small one.
fn any_size(g: &mut Gen<'_>) -> Option<Var> {
    if g.rng.chance(60) { large(g) } else { g.natural(4) }
}

/// A size that subtraction with wrapping makes small: `total - others`.
fn rest(g: &mut Gen<'_>, total: Var, others: &[Var]) -> Option<Var> {
    others.iter().try_fold(total, |rest, n| g.binary(BinOp::Sub, rest, *n))
}

/// A property of an array that does not need all of its elements.
fn seen(g: &mut Gen<'_>, a: Var) -> Option<Var> {
    match g.rng.below(3) {
        0 => {
            let zero = g.int(0)?;
            g.push(Op::Index, &[a, zero], &[], Guess::SCALAR)
        }
        1 => g.push(Op::Size(1), &[a], &[], Guess::SCALAR),
        _ => g.push(Op::Length, &[a], &[], Guess::SCALAR),
    }
}

/// An operator with sizes near a power of two. The interpreter fails, or reaches a limit, before it creates the array.
pub(super) fn huge(g: &mut Gen<'_>) -> Option<Var> {
    let xs = ints(g)?;
    let few = Guess::many(4, Guess::SCALAR);
    let made = match g.rng.below(12) {
        0 => {
            let (n, a, b) = (g.length(xs)?, any_size(g)?, large(g)?);
            let c = if g.rng.chance(70) { rest(g, n, &[a, b])? } else { large(g)? };
            let lengths = g.array(&[a, b, c])?;
            let split = g.push(Op::Split(SplitBy::Lengths), &[xs, lengths], &[], few)?;
            if g.rng.chance(40) {
                let run = Run::many(3, vec![few]).plain();
                let (body, _) = g.body(&Op::Map, &[split], 0, run, |g, p| {
                    g.push(Op::Reduce(Monoid::Sum), &[p[0]], &[], Guess::SCALAR)
                })?;
                return g.push(Op::Map, &[split], &[body], few);
            }
            split
        }
        1 => {
            let (zero, n, a, b) = (g.int(0)?, g.length(xs)?, any_size(g)?, large(g)?);
            let offsets = g.array(&[zero, a, b, n])?;
            g.push(Op::Split(SplitBy::Offsets), &[xs, offsets], &[], few)?
        }
        2 => {
            let (lo, hi, x) = (any_size(g)?, any_size(g)?, g.int(0)?);
            g.push(Op::Pad(0), &[xs, lo, hi, x], &[], few)?
        }
        3 => {
            let (a, b) = (any_size(g)?, any_size(g)?);
            let shaped = g.push(Op::Reshape(1), &[xs, a, b], &[], few)?;
            if g.rng.chance(50) {
                // Numbers in range of the requested sizes, and perhaps not of the actual ones.
                let (i, k) = (g.rng.between(0, 2), g.rng.between(0, 3));
                let (i, k) = (g.int(i)?, if g.rng.chance(50) { any_size(g)? } else { g.int(k)? });
                return g.push(Op::Index, &[shaped, i, k], &[], Guess::SCALAR);
            }
            shaped
        }
        4 => {
            let (from, to, step) = (any_size(g)?, any_size(g)?, g.rng.of(&[1, 1, 2, -1, -3])?);
            let step = g.int(step)?;
            let inclusive = g.rng.chance(50);
            g.push(Op::Range(Coll::Array, inclusive), &[from, to, step], &[], few)?
        }
        5 => {
            let sizes = [any_size(g)?, any_size(g)?];
            generated(g, &sizes, |g, p| g.binary(BinOp::Add, p[0], p[1]))?
        }
        6 => {
            let n = large(g)?;
            let many = g.push(Op::Replicate, &[xs, n], &[], few)?;
            g.push(Op::Flatten, &[many], &[], few)?
        }
        7 => {
            let counts = [large(g)?, any_size(g)?, any_size(g)?, large(g)?];
            let counts = g.array(&counts)?;
            let run = Run::many(4, vec![Guess::SCALAR]).plain();
            let (count, _) = g.body(&Op::Expand, &[counts], 0, run, |_, p| Some(p[0]))?;
            let run = Run::many(4, vec![Guess::SCALAR, Guess::SCALAR]).plain();
            let (get, _) = g.body(&Op::Expand, &[counts], 1, run, |g, p| {
                g.push(Op::Cast(ScalarType::U8), &[p[1]], &[], Guess::SCALAR)
            })?;
            g.push(Op::Expand, &[counts], &[count, get], few)?
        }
        8 => {
            let n = large(g)?;
            let op = g.rng.of(&[0, 1])?;
            let guess = g.guess(xs);
            return g.push(if op == 0 { Op::Take } else { Op::Drop }, &[xs, n], &[], guess);
        }
        9 => {
            let (lo, hi) = (any_size(g)?, any_size(g)?);
            let guess = g.guess(xs);
            return g.push(Op::Slice(vec![Slicer::Range]), &[xs, lo, hi], &[], guess);
        }
        10 => {
            let at = large(g)?;
            return g.push(Op::Index, &[xs, at], &[], Guess::SCALAR);
        }
        _ => {
            let targets = {
                let at = large(g)?;
                each(g, xs, |g, x| g.binary(BinOp::Add, x, at))?
            };
            let guess = g.guess(xs);
            return g.push(Op::Scatter, &[xs, targets, xs], &[], guess);
        }
    };
    seen(g, made)
}

/// Arrays some of whose dimensions are 0 or 1, with their shapes.
pub(super) fn empty(g: &mut Gen<'_>) -> Option<Var> {
    let rank = 2 + g.rng.below(2);
    let zero = g.rng.below(rank);
    let mut sizes = Vec::new();
    for k in 0..rank {
        sizes.push(if k == zero && g.rng.chance(80) { small(g, 1)? } else { small(g, 3)? });
    }
    let mut a = generated(g, &sizes, |g, p| g.binary(BinOp::Add, p[0], p[p.len() - 1]))?;
    for _ in 0..1 + g.rng.below(2) {
        a = reshaped(g, a, &sizes)?;
    }
    let depth = g.ty(a).regular_dims(2).map_or(1, |_| 2);
    let shape = g.push(Op::Shape(depth), &[a], &[], Guess::natural(3))?;
    g.tuple(&[shape, a])
}

/// A size from 0 to a few that is not a constant of the program, if there is one.
fn small(g: &mut Gen<'_>, most: i64) -> Option<Var> {
    if let Some(v) = g.pick(|g, v| *g.ty(v) == Type::INT && g.guess(v).bound.is_some_and(|b| b <= 4))
        && g.rng.chance(50)
    {
        return Some(v);
    }
    let n = g.rng.between(0, most);
    g.int(n)
}

fn reshaped(g: &mut Gen<'_>, a: Var, sizes: &[Var]) -> Option<Var> {
    let guess = g.guess(a);
    let regular = g.ty(a).regular_dims(2).is_some();
    match g.rng.below(6) {
        0 | 1 if regular => g.push(Op::Transpose(vec![1, 0]), &[a], &[], guess),
        2 => g.push(Op::Reverse(0), &[a], &[], guess),
        3 => g.push(Op::Concat(0), &[a, a], &[], guess.after(guess)),
        4 if g.ty(a).depth() == 2 => {
            // Each row zipped with numbers of the size that it should have.
            let m = *sizes.last()?;
            let run = Run::many(guess.len, vec![guess.elem()]).plain();
            let (body, elem) = g.body(&Op::Map, &[a], 0, run, |g, p| {
                let n = g.push(Op::Iota(Coll::Array), &[m], &[], Guess::many(3, Guess::natural(3)))?;
                let careful = g.length(p[0])?;
                let n = g.push(Op::Take, &[n, careful], &[], Guess::many(3, Guess::natural(3)))?;
                g.push(Op::Concat(0), &[p[0], n], &[], guess.elem())
            })?;
            g.push(Op::Map, &[a], &[body], Guess::many(guess.len, elem))
        }
        _ => {
            let none = g.natural(1)?;
            g.push(Op::Take, &[a, none], &[], guess)
        }
    }
}

/// NaN, zeros of both signs, infinities: sorted, grouped, compared, folded.
pub(super) fn floats(g: &mut Gen<'_>) -> Option<Var> {
    let ty = g.rng.of(&[ScalarType::F64, ScalarType::F64, ScalarType::F32])?;
    let most = if g.rng.chance(50) { 7 } else { 40 };
    let n = g.rng.below(most);
    let list: Vec<Value> = (0..n).map(|_| scalars::special(&mut g.rng, ty).into()).collect();
    let guess = Guess::many(n as u64, Guess::SCALAR);
    let (ty, value) = (Type::array((n as i64).into(), ty.into()), Value::array(list));
    let xs = g.push(Op::Use(Arc::new(Constant { ty, value })), &[], &[], guess)?;
    let elem = guess.elem();
    match g.rng.below(7) {
        0 => g.push(Op::Sort, &[xs], &[], guess),
        n @ (1 | 2) => {
            let op = if n == 1 { Op::GroupBy } else { Op::SortBy };
            let run = Run::many(guess.len, vec![elem]).plain();
            let (body, _) = g.body(&op, &[xs], 0, run, |_, p| Some(p[0]))?;
            g.push(op, &[xs], &[body], Guess { total: 2 * guess.total, ..guess })
        }
        3 if n > 0 => {
            let m = g.rng.of(&[Monoid::Min, Monoid::Max, Monoid::ArgMin, Monoid::ArgMax])?;
            g.push(Op::Reduce(m), &[xs], &[], Guess::SCALAR)
        }
        4 => {
            let op = Op::Scan(Direction::Left, ScanKind::Inclusive);
            let by = g.rng.of(&[BinOp::Min, BinOp::Max])?;
            let run = Run::many(guess.len, vec![elem, elem]).plain();
            let (body, _) = g.body(&op, &[xs], 0, run, |g, p| g.binary(by, p[0], p[1]))?;
            g.push(op, &[xs], &[body], guess)
        }
        n => {
            let by = g.rng.of(&[BinOp::Eq, BinOp::Ne, BinOp::Lt, BinOp::Ge])?;
            let backwards = g.push(Op::Reverse(0), &[xs], &[], guess)?;
            if n == 5 {
                return super::both(g, (xs, backwards), |g, x, y| g.binary(by, x, y));
            }
            let flags = super::both(g, (xs, backwards), |g, x, y| g.binary(by, x, y))?;
            g.push(Op::Compact, &[xs, flags], &[], guess)
        }
    }
}
