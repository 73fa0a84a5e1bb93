//! Idioms: combinations of statements in which compilers had bugs.
//!
//! Statements drawn one by one seldom combine in the right way: a filter by a scan of a scan, a vector built under a guard, a
//! loop with a vector as its state inside a map. Each idiom builds such a combination, with random parts. Their frequency is
//! [`Config::idioms`](crate::Config::idioms); `Config::avoid` excludes single ones.

mod edges;
mod guards;
mod helpers;
mod scans;

pub(crate) use helpers::written;

use crate::generate::{Gen, Run};
use crate::guess::Guess;
use deckle_ir::array::{BinOp, Coll, Op};
use deckle_ir::entity::Var;
use deckle_ir::types::Type;

/// An idiom.
pub(crate) struct Idiom {
    pub name: &'static str,
    /// Its weight against others.
    pub weight: u32,
    /// The minimal nesting depth of its bodies.
    pub depth: usize,
    /// Whether it uses sequences.
    pub stream: bool,
    pub make: fn(&mut Gen<'_>) -> Option<Var>,
}

const fn idiom(name: &'static str, weight: u32, depth: usize, make: fn(&mut Gen<'_>) -> Option<Var>) -> Idiom {
    Idiom { name, weight, depth, stream: false, make }
}

const fn stream(name: &'static str, weight: u32, depth: usize, make: fn(&mut Gen<'_>) -> Option<Var>) -> Idiom {
    Idiom { name, weight, depth, stream: true, make }
}

pub(crate) const IDIOMS: &[Idiom] = &[
    idiom("scan of scan", 8, 1, scans::scan_of_scan),
    idiom("filter by scan", 8, 1, scans::filter_by_scan),
    idiom("rows by scan", 6, 2, scans::rows_by_scan),
    idiom("composed functions", 4, 1, scans::composed),
    idiom("states in order", 6, 2, scans::in_order),
    stream("sequence of states", 5, 1, scans::sequence_in_order),
    stream("sequence by scan", 6, 1, scans::sequence_by_scan),
    stream("groups by scan", 5, 1, scans::groups_by_scan),
    idiom("vectors under a guard", 10, 2, guards::guarded),
    idiom("fold from a vector", 6, 2, guards::from_vector),
    idiom("rows in a stencil", 4, 2, guards::in_stencil),
    idiom("moved rows", 6, 2, guards::moved_rows),
    idiom("huge sizes", 6, 1, edges::huge),
    idiom("empty dimensions", 5, 1, edges::empty),
    idiom("special floats", 4, 1, edges::floats),
    stream("written sizes", 6, 2, helpers::call),
];

/// A vector of integers from 0 to a few: one in scope, or a new one. Preferably one that is long enough to be cut.
pub(crate) fn ints(g: &mut Gen<'_>) -> Option<Var> {
    if g.rng.chance(50)
        && let Some(v) = g.pick_type(|t| t.as_array().is_some_and(|a| a.elem == Type::INT))
    {
        return Some(v);
    }
    let most = if g.rng.chance(60) && g.depth() == 0 { g.config.long } else { 7 };
    let n = g.natural(most)?;
    let count = g.count(n);
    let numbers = g.push(Op::Iota(Coll::Array), &[n], &[], Guess::many(count, Guess::natural(count as i64)))?;
    // Not in order, and with repetitions.
    let (times, more, by) = (g.rng.between(1, 7), g.rng.between(0, 5), g.rng.between(2, 6));
    let made = each(g, numbers, |g, i| {
        let (times, more, by) = (g.int(times)?, g.int(more)?, g.int(by)?);
        let x = g.binary(BinOp::Mul, i, times)?;
        let x = g.binary(BinOp::Add, x, more)?;
        g.binary(BinOp::Rem, x, by)
    })?;
    let guess = g.guess(made);
    g.set_guess(made, Guess { bound: Some(by - 1), ..guess });
    Some(made)
}

/// A vector, or sequence, of the results of a body for each element of another.
pub(crate) fn each(g: &mut Gen<'_>, xs: Var, make: impl FnOnce(&mut Gen<'_>, Var) -> Option<Var>) -> Option<Var> {
    let guess = g.guess(xs);
    let run = Run::many(guess.len, vec![guess.elem()]).plain();
    let (body, elem) = g.body(&Op::Map, &[xs], 0, run, |g, p| make(g, p[0]))?;
    g.push(Op::Map, &[xs], &[body], Guess::many(guess.len, elem))
}

/// The results of a body for each pair of elements of two collections of one length.
pub(crate) fn both(
    g: &mut Gen<'_>,
    (xs, ys): (Var, Var),
    make: impl FnOnce(&mut Gen<'_>, Var, Var) -> Option<Var>,
) -> Option<Var> {
    let params = vec![g.guess(xs).elem(), g.guess(ys).elem()];
    let len = g.guess(xs).len.max(g.guess(ys).len);
    let run = Run::many(len, params).plain();
    let (body, elem) = g.body(&Op::Map, &[xs, ys], 0, run, |g, p| make(g, p[0], p[1]))?;
    g.push(Op::Map, &[xs, ys], &[body], Guess::many(len, elem))
}

/// `generate(n) { i -> make(i) }`, or of more dimensions.
pub(crate) fn generated(
    g: &mut Gen<'_>,
    sizes: &[Var],
    make: impl FnOnce(&mut Gen<'_>, &[Var]) -> Option<Var>,
) -> Option<Var> {
    let counts: Vec<u64> = sizes.iter().map(|n| g.count(*n)).collect();
    let params = counts.iter().map(|n| Guess::natural(*n as i64)).collect();
    let run = Run::many(counts.iter().product(), params).plain();
    let (body, elem) = g.body(&Op::Generate, sizes, 0, run, make)?;
    let guess = counts.iter().rev().fold(elem, |elem, n| Guess::many(*n, elem));
    g.push(Op::Generate, sizes, &[body], guess)
}

/// Sometimes one more operation on each element, so that two others are not always adjacent.
pub(crate) fn perhaps_mapped(g: &mut Gen<'_>, xs: Var) -> Option<Var> {
    if g.rng.chance(60) {
        return Some(xs);
    }
    let (op, k) = (g.rng.of(&[BinOp::Add, BinOp::Mul, BinOp::Xor, BinOp::Max])?, g.rng.between(1, 5));
    each(g, xs, |g, x| {
        let k = g.int(k)?;
        g.binary(op, x, k)
    })
}

/// A non-negative remainder.
pub(crate) fn modulo(g: &mut Gen<'_>, x: Var, by: i64) -> Option<Var> {
    let mask = g.int(i64::MAX)?;
    let x = g.binary(BinOp::And, x, mask)?;
    let k = g.int(by)?;
    let r = g.binary(BinOp::Rem, x, k)?;
    g.set_guess(r, Guess::natural(by - 1));
    Some(r)
}
