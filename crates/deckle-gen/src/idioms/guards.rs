//! Vectors that are built at some points only, inside other vectors, and rows that move.

use super::{both, each, generated, ints, modulo};
use crate::generate::{Gen, Run};
use crate::guess::Guess;
use deckle_ir::array::{BinOp, Boundary, Coll, Direction, Monoid, Op, ScanKind, SplitBy};
use deckle_ir::entity::Var;
use deckle_ir::types::Type;

fn iota(g: &mut Gen<'_>, n: Var) -> Option<Var> {
    let count = g.count(n);
    g.push(Op::Iota(Coll::Array), &[n], &[], Guess::many(count, Guess::natural(count as i64)))
}

fn sum(g: &mut Gen<'_>, xs: Var) -> Option<Var> {
    g.push(Op::Reduce(Monoid::Sum), &[xs], &[], Guess::SCALAR)
}

fn plus(g: &mut Gen<'_>, x: Var, k: i64) -> Option<Var> {
    let k = g.int(k)?;
    g.binary(BinOp::Add, x, k)
}

/// A vector of integers that depends on one.
fn vector(g: &mut Gen<'_>, x: Var) -> Option<Var> {
    match g.rng.below(8) {
        0 => g.array(&[x]),
        1 => {
            let y = plus(g, x, 1)?;
            g.array(&[x, y])
        }
        2 => {
            let n = modulo(g, x, 4)?;
            iota(g, n)
        }
        3 => {
            let n = modulo(g, x, 3)?;
            let guess = Guess::many(2, g.guess(x));
            g.push(Op::Replicate, &[x, n], &[], guess)
        }
        4 => {
            let xs = vector_without_loop(g, x)?;
            each(g, xs, |g, y| g.binary(BinOp::Add, x, y))
        }
        5 => {
            let n = modulo(g, x, 5)?;
            let all = iota(g, n)?;
            let guess = g.guess(all);
            let run = Run::many(guess.len, vec![guess.elem()]).plain();
            let (body, _) = g.body(&Op::Filter, &[all], 0, run, |g, p| {
                let two = g.int(2)?;
                g.binary(BinOp::Ne, p[0], two)
            })?;
            g.push(Op::Filter, &[all], &[body], guess)
        }
        6 => branched(g, x),
        _ => looped(g, x),
    }
}

/// A vector of one element or two.
fn vector_without_loop(g: &mut Gen<'_>, x: Var) -> Option<Var> {
    let y = plus(g, x, 2)?;
    if g.rng.chance(50) { g.array(&[y]) } else { g.array(&[x, y]) }
}

/// `if x > k then vector else vector`.
fn branched(g: &mut Gen<'_>, x: Var) -> Option<Var> {
    let k = g.rng.between(0, 2);
    let k = g.int(k)?;
    let c = g.binary(BinOp::Gt, x, k)?;
    let yes = g.body(&Op::If, &[c], 0, Run::once().plain(), |g, _| vector_without_loop(g, x))?;
    let no = g.body(&Op::If, &[c], 1, Run::once().plain(), |g, _| {
        let n = modulo(g, x, 3)?;
        iota(g, n)
    })?;
    g.push(Op::If, &[c], &[yes.0, no.0], yes.1.with(no.1))
}

/// A loop whose state is a vector.
fn looped(g: &mut Gen<'_>, x: Var) -> Option<Var> {
    let rounds = if g.rng.chance(50) { g.int(2)? } else { modulo(g, x, 3)? };
    let start = vector_without_loop(g, x)?;
    let guess = g.guess(start).unbound();
    let run = Run::many(3, vec![Guess::natural(3), guess]).plain();
    let kind = g.rng.below(3);
    let (body, _) = g.body(&Op::For, &[rounds, start], 0, run, |g, p| match kind {
        0 => {
            let zero = g.int(0)?;
            let first = g.push(Op::Index, &[p[1], zero], &[], Guess::SCALAR)?;
            let next = g.binary(BinOp::Add, first, x)?;
            g.array(&[next])
        }
        1 => each(g, p[1], |g, y| g.binary(BinOp::Add, y, p[0])),
        _ => {
            let one = g.array(&[p[0]])?;
            let guess = g.guess(p[1]).after(g.guess(one));
            g.push(Op::Concat(0), &[p[1], one], &[], guess)
        }
    })?;
    g.push(Op::For, &[rounds, start], &[body], Guess::many(5, Guess::SCALAR))
}

/// A vector of vectors that depends on an integer.
fn rows_of(g: &mut Gen<'_>, x: Var) -> Option<Var> {
    let (a, b) = (vector(g, x)?, vector(g, x)?);
    match g.rng.below(3) {
        0 => g.array(&[a]),
        1 => g.array(&[a, b]),
        _ => {
            let n = modulo(g, x, 3)?;
            let guess = Guess::many(2, g.guess(a));
            g.push(Op::Replicate, &[a, n], &[], guess)
        }
    }
}

/// Elements of a vector that differ from a certain number.
fn kept(g: &mut Gen<'_>, xs: Var) -> Option<Var> {
    let k = g.rng.between(0, 3);
    let guess = g.guess(xs);
    let run = Run::many(guess.len, vec![guess.elem()]).plain();
    let op = g.rng.of(&[BinOp::Ne, BinOp::Ne, BinOp::Gt, BinOp::Lt])?;
    let (body, _) = g.body(&Op::Filter, &[xs], 0, run, |g, p| {
        let k = g.int(k)?;
        g.binary(op, p[0], k)
    })?;
    g.push(Op::Filter, &[xs], &[body], guess)
}

/// Vectors inside a map, at the points that pass a filter or a condition, or in a varying number of rounds.
pub(super) fn guarded(g: &mut Gen<'_>) -> Option<Var> {
    let xs = ints(g)?;
    match g.rng.below(6) {
        0 => {
            let xs = kept(g, xs)?;
            each(g, xs, vector)
        }
        1 => {
            let xs = kept(g, xs)?;
            each(g, xs, rows_of)
        }
        2 => each(g, xs, branched),
        3 => each(g, xs, |g, x| {
            let one = g.int(1)?;
            let c = g.binary(BinOp::Gt, x, one)?;
            let yes = g.body(&Op::If, &[c], 0, Run::once().plain(), |g, _| {
                let v = vector(g, x)?;
                sum(g, v)
            })?;
            let no = g.body(&Op::If, &[c], 1, Run::once().plain(), |g, _| g.int(0))?;
            g.push(Op::If, &[c], &[yes.0, no.0], Guess::SCALAR)
        }),
        4 => each(g, xs, |g, x| {
            let (n, zero) = (modulo(g, x, 4)?, g.int(0)?);
            let run = Run::many(4, vec![Guess::natural(4), Guess::SCALAR]).plain();
            let (body, _) = g.body(&Op::For, &[n, zero], 0, run, |g, p| {
                let v = vector(g, p[0])?;
                let s = sum(g, v)?;
                g.binary(BinOp::Add, p[1], s)
            })?;
            g.push(Op::For, &[n, zero], &[body], Guess::SCALAR)
        }),
        _ => {
            let rows = each(g, xs, vector)?;
            let guess = g.guess(rows);
            let run = Run::many(guess.len, vec![guess.elem()]).plain();
            let op = if g.rng.chance(60) { Op::Filter } else { Op::Partition };
            let (body, _) = g.body(&op, &[rows], 0, run, |g, p| {
                let (n, one) = (g.length(p[0])?, g.int(1)?);
                g.binary(BinOp::Ne, n, one)
            })?;
            let left = g.push(op.clone(), &[rows], &[body], guess)?;
            let left = if op == Op::Filter { left } else { g.proj(left, 0)? };
            each(g, left, |g, r| g.array(&[r, r]))
        }
    }
}

/// Folds, scans and histograms whose operator adds vectors element by element.
pub(super) fn from_vector(g: &mut Gen<'_>) -> Option<Var> {
    let mut xs = ints(g)?;
    if g.rng.chance(30) {
        xs = kept(g, xs)?;
    }
    let k = g.natural(4)?;
    let rows = each(g, xs, |g, x| generated(g, &[k], |g, j| g.binary(BinOp::Add, x, j[0])))?;
    let zero = g.int(0)?;
    let guess = Guess::many(g.count(k), Guess::SCALAR);
    let start = g.push(Op::Replicate, &[zero, k], &[], guess)?;
    let all = g.guess(rows);
    let added = |g: &mut Gen<'_>, p: &[Var]| both(g, (p[0], p[1]), |g, x, y| g.binary(BinOp::Add, x, y));
    let run = || Run::many(all.len, vec![guess, guess]).plain();
    match g.rng.below(4) {
        0 => {
            let (body, _) = g.body(&Op::Fold, &[start, rows], 0, run(), added)?;
            g.push(Op::Fold, &[start, rows], &[body], guess)
        }
        1 => {
            let op = Op::Scan(Direction::Left, ScanKind::Inclusive);
            let (body, _) = g.body(&op, &[start, rows], 0, run(), added)?;
            g.push(op, &[start, rows], &[body], all.unbound())
        }
        2 => {
            // Each point folds from a vector, some do not.
            each(g, xs, |g, x| {
                let one = g.int(1)?;
                let c = g.binary(BinOp::Ne, x, one)?;
                let yes = g.body(&Op::If, &[c], 0, Run::once().plain(), |g, _| {
                    let n = modulo(g, x, 4)?;
                    let few = g.push(Op::Take, &[rows, n], &[], all)?;
                    let (body, _) = g.body(&Op::Fold, &[start, few], 0, run(), added)?;
                    let v = g.push(Op::Fold, &[start, few], &[body], guess)?;
                    sum(g, v)
                })?;
                let no = g.body(&Op::If, &[c], 1, Run::once().plain(), |_, _| Some(x))?;
                g.push(Op::If, &[c], &[yes.0, no.0], Guess::SCALAR)
            })
        }
        _ => {
            let bins = g.rng.between(1, 4);
            let n = g.int(bins)?;
            let into = g.push(Op::Replicate, &[start, n], &[], Guess::many(bins as u64, guess))?;
            let targets = each(g, xs, |g, x| modulo(g, x, bins))?;
            let args = [into, targets, rows];
            let (body, _) = g.body(&Op::Permute, &args, 0, run(), added)?;
            g.push(Op::Permute, &args, &[body], Guess::many(bins as u64, guess))
        }
    }
}

/// Nested maps and splits in the bodies of a stencil.
pub(super) fn in_stencil(g: &mut Gen<'_>) -> Option<Var> {
    let a = ints(g)?;
    let radius = g.rng.below(3) as u32;
    let boundary = Boundary::ALL[g.rng.below(Boundary::ALL.len())].0;
    let op = Op::Stencil(vec![radius], boundary);
    let guess = g.guess(a);
    let mut args = vec![a];
    if boundary == Boundary::Constant {
        args.push(g.int(7)?);
    }
    let window = Guess::many(2 * u64::from(radius) + 1, guess.elem());
    let (k, cut) = (g.rng.between(0, 3), g.rng.between(0, 3));
    let run = Run::many(guess.total, vec![window]).plain();
    let (body, _) = g.body(&op, &args, 0, run, |g, p| {
        if g.rng.chance(40) {
            let zero = g.int(0)?;
            return g.push(Op::Index, &[p[0], zero], &[], Guess::SCALAR);
        }
        sums_of_shifted(g, p[0], k, None)
    })?;
    let mut bodies = vec![body];
    if boundary == Boundary::Function {
        let run = Run::many(guess.total, vec![Guess::SCALAR]).plain();
        bodies.push(g.body(&op, &args, 1, run, |g, _| sums_of_shifted(g, a, k, Some(cut)))?.0);
    }
    g.push(op, &args, &bodies, guess.unbound())
}

/// `sum([ sum([ y + j : y in xs ]) : j in iota(k) ])`, or of the first part of a `split` of it.
fn sums_of_shifted(g: &mut Gen<'_>, xs: Var, k: i64, cut: Option<i64>) -> Option<Var> {
    let k = g.int(k)?;
    let sums = generated(g, &[k], |g, j| {
        let mut shifted = each(g, xs, |g, y| g.binary(BinOp::Add, y, j[0]))?;
        if let Some(cut) = cut {
            let n = g.length(xs)?;
            let cut = g.int(cut)?;
            let first = g.binary(BinOp::Min, cut, n)?;
            let rest = g.binary(BinOp::Sub, n, first)?;
            let lengths = g.array(&[first, rest])?;
            let guess = g.guess(shifted);
            let split = g.push(Op::Split(SplitBy::Lengths), &[shifted, lengths], &[], guess)?;
            let zero = g.int(0)?;
            shifted = g.push(Op::Index, &[split, zero], &[], guess)?;
        }
        sum(g, shifted)
    })?;
    sum(g, sums)
}

/// Rows that are scattered, permuted, gathered, sorted and grouped.
pub(super) fn moved_rows(g: &mut Gen<'_>) -> Option<Var> {
    let xs = ints(g)?;
    let jagged = g.rng.chance(60);
    let two = g.int(2)?;
    let rows = each(g, xs, |g, x| {
        let n = if jagged { modulo(g, x, 4)? } else { two };
        generated(g, &[n], |g, j| {
            let three = g.int(3)?;
            let y = g.binary(BinOp::Mul, x, three)?;
            let y = g.binary(BinOp::Add, y, j[0])?;
            modulo(g, y, 5)
        })
    })?;
    let guess = g.guess(rows);
    let run = || Run::many(guess.len, vec![guess.elem()]).plain();
    match g.rng.below(7) {
        n @ (0 | 1) => {
            let (len, k) = (g.length(rows)?, g.rng.between(1, 3));
            let targets = each(g, xs, |g, x| {
                let k = g.int(k)?;
                let y = g.binary(BinOp::Mul, x, k)?;
                let y = g.binary(BinOp::Add, y, k)?;
                g.binary(BinOp::Rem, y, len)
            })?;
            if n == 0 {
                return g.push(Op::Scatter, &[rows, targets, rows], &[], guess);
            }
            let run = Run::many(guess.len, vec![guess.elem(), guess.elem()]).plain();
            let longer = |g: &mut Gen<'_>, p: &[Var]| {
                let (a, b) = (g.length(p[0])?, g.length(p[1])?);
                let c = g.binary(BinOp::Ge, a, b)?;
                let yes = g.body(&Op::If, &[c], 0, Run::once().plain(), |_, _| Some(p[0]))?;
                let no = g.body(&Op::If, &[c], 1, Run::once().plain(), |_, _| Some(p[1]))?;
                g.push(Op::If, &[c], &[yes.0, no.0], yes.1)
            };
            let (body, _) = g.body(&Op::Permute, &[rows, targets, rows], 0, run, longer)?;
            g.push(Op::Permute, &[rows, targets, rows], &[body], guess)
        }
        2 => each(g, rows, |g, r| {
            let guess = g.guess(r);
            g.push(Op::Sort, &[r], &[], guess)
        }),
        3 => {
            let (body, _) =
                g.body(
                    &Op::SortBy,
                    &[rows],
                    0,
                    run(),
                    |g, p| {
                        if g.rng.chance(50) { sum(g, p[0]) } else { g.length(p[0]) }
                    },
                )?;
            g.push(Op::SortBy, &[rows], &[body], guess)
        }
        4 => {
            let (body, _) = g.body(&Op::GroupBy, &[rows], 0, run(), |g, p| {
                let n = if g.rng.chance(50) { sum(g, p[0])? } else { g.length(p[0])? };
                modulo(g, n, 3)
            })?;
            g.push(Op::GroupBy, &[rows], &[body], Guess { total: 2 * guess.total, bound: None, ..guess })
        }
        5 => {
            let (len, zero) = (g.length(rows)?, g.int(0)?);
            let some = g.binary(BinOp::Gt, len, zero)?;
            let picked = g.body(&Op::If, &[some], 0, Run::once().plain(), |g, _| {
                each(g, xs, |g, x| {
                    let i = g.binary(BinOp::Rem, x, len)?;
                    g.push(Op::Index, &[rows, i], &[], guess.elem())
                })
            })?;
            let none = g.body(&Op::If, &[some], 1, Run::once().plain(), |_, _| Some(rows))?;
            g.push(Op::If, &[some], &[picked.0, none.0], guess)
        }
        _ => {
            let all = g.push(Op::Concat(0), &[rows, rows], &[], guess.after(guess))?;
            let axis = u32::from(g.rng.chance(50));
            debug_assert!(matches!(g.ty(all), Type::Array(_)));
            g.push(Op::Reverse(axis), &[all], &[], guess.after(guess))
        }
    }
}
