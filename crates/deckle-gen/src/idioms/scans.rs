//! Scans that depend on scans, and values selected or sized by them.

use super::{both, each, generated, ints, modulo, perhaps_mapped};
use crate::generate::{Gen, Run};
use crate::guess::Guess;
use deckle_ir::array::{BinOp, Coll, Direction, Op, ScanKind};
use deckle_ir::entity::Var;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;

/// A scan of integers, of any kind, of the same length as its operand unless `any` allows one more.
fn scanned(g: &mut Gen<'_>, xs: Var, any: bool) -> Option<Var> {
    let streams = g.ty(xs).is_seq();
    let direction = if streams || g.rng.chance(65) { Direction::Left } else { Direction::Right };
    let kinds = [ScanKind::Inclusive, ScanKind::Exclusive, ScanKind::Full];
    let kind = g.rng.of(if any { &kinds } else { &kinds[..2] })?;
    let op = g.rng.of(&[BinOp::Add, BinOp::Add, BinOp::Add, BinOp::Max, BinOp::Min, BinOp::Mul, BinOp::Xor])?;
    scan_with(g, xs, (direction, kind), op)
}

fn scan_with(g: &mut Gen<'_>, xs: Var, (direction, kind): (Direction, ScanKind), op: BinOp) -> Option<Var> {
    let scan = Op::Scan(direction, kind);
    let mut args = vec![xs];
    if kind != ScanKind::Inclusive || g.rng.chance(30) {
        let start = g.rng.between(0, 3);
        args.insert(0, g.int(start)?);
    }
    let guess = g.guess(xs);
    let run = Run::many(guess.len, vec![Guess::SCALAR, guess.elem()]).plain();
    let (body, _) = g.body(&scan, &args, 0, run, |g, p| g.binary(op, p[0], p[1]))?;
    g.push(scan, &args, &[body], Guess { len: guess.len + 1, total: guess.total + 2, bound: None })
}

/// Scans of scans, perhaps with operations between them, and uses of the last.
pub(super) fn scan_of_scan(g: &mut Gen<'_>) -> Option<Var> {
    let mut xs = ints(g)?;
    for _ in 0..2 + g.rng.below(2) {
        xs = scanned(g, xs, true)?;
        xs = perhaps_mapped(g, xs)?;
    }
    chosen(g, xs, xs)
}

/// An ordered scan, and uses of its states: others are selected by them or scanned, at once or in rows.
pub(super) fn in_order(g: &mut Gen<'_>) -> Option<Var> {
    let xs = ints(g)?;
    let states = automaton(g, Op::ScanOrdered, xs)?;
    match g.rng.below(4) {
        0 => chosen(g, xs, states),
        1 => scanned(g, states, true),
        2 => automaton(g, Op::FoldOrdered, states),
        _ => {
            let rows = g.rng.between(0, 4);
            let rows = g.int(rows)?;
            let op = if g.rng.chance(50) { Op::ScanOrdered } else { Op::FoldOrdered };
            generated(g, &[rows], |g, i| {
                let shifted = each(g, states, |g, s| g.binary(BinOp::Add, s, i[0]))?;
                automaton(g, op, shifted)
            })
        }
    }
}

/// The same for a sequence.
pub(super) fn sequence_in_order(g: &mut Gen<'_>) -> Option<Var> {
    let s = numbers(g)?;
    let states = automaton(g, Op::ScanOrdered, s)?;
    match g.rng.below(3) {
        0 => scanned(g, states, true),
        1 => automaton(g, Op::FoldOrdered, states),
        _ => each(g, states, |g, x| modulo(g, x, 5)),
    }
}

/// An ordered scan or fold of integers, from a small number on.
fn automaton(g: &mut Gen<'_>, op: Op, xs: Var) -> Option<Var> {
    let guess = g.guess(xs);
    let start = g.rng.between(-2, 3);
    let start = g.int(start)?;
    let times = g.rng.between(-3, 4);
    let run = Run::many(guess.len, vec![Guess::SCALAR, guess.elem()]).plain();
    let (how, careful) = (g.rng.below(4), g.careful());
    let (body, _) = g.body(&op, &[start, xs], 0, run, |g, p| {
        let times = g.int(times)?;
        let scaled = g.binary(BinOp::Mul, p[0], times)?;
        let less = g.binary(BinOp::Sub, scaled, p[1])?;
        match how {
            0 => Some(less),
            1 => modulo(g, less, 7),
            2 if !careful => g.binary(BinOp::Div, less, p[1]),
            _ => {
                let above = g.binary(BinOp::Gt, p[1], p[0])?;
                g.push(Op::Select, &[above, p[1], less], &[], Guess::SCALAR)
            }
        }
    })?;
    let guess = if op == Op::FoldOrdered { Guess::SCALAR } else { Guess { bound: None, ..guess } };
    g.push(op, &[start, xs], &[body], guess)
}

/// Elements of a vector selected by another of the same length.
fn chosen(g: &mut Gen<'_>, xs: Var, by: Var) -> Option<Var> {
    let (k, r) = (g.rng.between(2, 5), g.rng.between(0, 2));
    let holds = |g: &mut Gen<'_>, y: Var| {
        let (y, r) = (modulo(g, y, k)?, g.int(r)?);
        g.binary(BinOp::Eq, y, r)
    };
    let guess = g.guess(xs);
    match g.rng.below(5) {
        0 => Some(xs),
        1 => {
            let flags = each(g, by, holds)?;
            g.push(Op::Compact, &[xs, flags], &[], guess)
        }
        n if n < 4 => {
            let run = Run::many(guess.len, vec![guess.elem()]).plain();
            let op = if n == 2 { Op::Filter } else { Op::Partition };
            let (body, _) = g.body(&op, &[by], 0, run, |g, p| holds(g, p[0]))?;
            g.push(op, &[by], &[body], guess)
        }
        _ => {
            let run = Run::many(guess.len, vec![guess.elem()]).plain();
            let (count, _) = g.body(&Op::Expand, &[by], 0, run, |g, p| modulo(g, p[0], 3))?;
            let run = Run::many(2 * guess.len, vec![guess.elem(), Guess::natural(2)]).plain();
            let (get, elem) = g.body(&Op::Expand, &[by], 1, run, |g, p| g.binary(BinOp::Add, p[0], p[1]))?;
            g.push(Op::Expand, &[by], &[count, get], Guess::many(2 * guess.len, elem))
        }
    }
}

/// Elements that compare with a scan of them.
pub(super) fn filter_by_scan(g: &mut Gen<'_>) -> Option<Var> {
    let xs = ints(g)?;
    let mut ys = scanned(g, xs, false)?;
    if g.rng.chance(40) {
        ys = scanned(g, ys, false)?;
    }
    if g.rng.chance(40) {
        return chosen(g, xs, ys);
    }
    let op = g.rng.of(&[BinOp::Ge, BinOp::Lt, BinOp::Eq, BinOp::Ne])?;
    let pairs = both(g, (xs, ys), |g, x, y| g.tuple(&[x, y]))?;
    let guess = g.guess(pairs);
    let run = Run::many(guess.len, vec![guess.elem()]).plain();
    let (body, _) = g.body(&Op::Filter, &[pairs], 0, run, |g, p| {
        let (x, y) = (g.proj(p[0], 0)?, g.proj(p[0], 1)?);
        g.binary(op, x, y)
    })?;
    g.push(Op::Filter, &[pairs], &[body], guess)
}

/// Rows whose sizes come from a scan, concatenated or split again.
pub(super) fn rows_by_scan(g: &mut Gen<'_>) -> Option<Var> {
    let xs = ints(g)?;
    let sums = scanned(g, xs, true)?;
    let sizes = each(g, sums, |g, x| modulo(g, x, 4))?;
    let rows = each(g, sizes, |g, n| {
        if g.rng.chance(50) {
            return g.push(Op::Iota(Coll::Array), &[n], &[], Guess::many(3, Guess::natural(3)));
        }
        generated(g, &[n], |g, i| g.binary(BinOp::Mul, n, i[0]))
    })?;
    let guess = g.guess(rows);
    let flat = g.push(Op::Flatten, &[rows], &[], Guess { len: guess.total, ..guess })?;
    match g.rng.below(4) {
        0 => Some(rows),
        1 => Some(flat),
        2 => {
            let more = scanned(g, flat, true)?;
            chosen(g, more, more)
        }
        _ => {
            let sizes_guess = g.guess(sizes);
            let by = deckle_ir::array::SplitBy::Lengths;
            g.push(Op::Split(by), &[flat, sizes], &[], Guess { len: sizes_guess.len, ..guess })
        }
    }
}

/// Folds and scans with an operator that does not commute: the composition of `x -> a * x + b`.
pub(super) fn composed(g: &mut Gen<'_>) -> Option<Var> {
    let xs = ints(g)?;
    let pairs = each(g, xs, |g, x| {
        let (one, three) = (g.int(1)?, g.int(3)?);
        let b = g.binary(BinOp::Sub, x, three)?;
        let a = g.binary(BinOp::Add, x, one)?;
        g.tuple(&[a, b])
    })?;
    let (one, zero) = (g.int(1)?, g.int(0)?);
    let start = g.tuple(&[one, zero])?;
    let op = match g.rng.below(4) {
        0 => Op::Fold,
        1 => Op::Scan(Direction::Right, ScanKind::Exclusive),
        2 => Op::Scan(Direction::Left, ScanKind::Full),
        _ => Op::Scan(Direction::Left, ScanKind::Inclusive),
    };
    let guess = g.guess(pairs);
    let run = Run::many(guess.len, vec![guess.elem().unbound(), guess.elem()]).plain();
    let (body, _) = g.body(&op, &[start, pairs], 0, run, |g, p| {
        let parts = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(v, k)| g.proj(p[v], k));
        let [a, b, c, d] = parts;
        let (a, b, c, d) = (a?, b?, c?, d?);
        let (first, moved) = (g.binary(BinOp::Mul, a, c)?, g.binary(BinOp::Mul, b, c)?);
        let second = g.binary(BinOp::Add, moved, d)?;
        g.tuple(&[first, second])
    })?;
    g.push(op, &[start, pairs], &[body], Guess { len: guess.len + 1, ..guess.unbound() })
}

/// A sequence of integers.
fn numbers(g: &mut Gen<'_>) -> Option<Var> {
    if g.rng.chance(40)
        && let Some(v) = g.pick_type(|t| *t == Type::seq(Type::INT))
    {
        return Some(v);
    }
    let xs = ints(g)?;
    let guess = g.guess(xs);
    g.push(Op::Seq, &[xs], &[], guess)
}

/// A sequence of some of the elements of a scan: each gives one or none, concatenated.
pub(super) fn sequence_by_scan(g: &mut Gen<'_>) -> Option<Var> {
    let s = numbers(g)?;
    let mut s = scanned(g, s, true)?;
    if g.rng.chance(40) {
        s = scanned(g, s, true)?;
    }
    let (k, r) = (g.rng.between(2, 4), g.rng.between(0, 1));
    let parts = each(g, s, |g, x| {
        let (y, r) = (modulo(g, x, k)?, g.int(r)?);
        let c = g.binary(BinOp::Eq, y, r)?;
        let (body, elem) = g.body(&Op::Guard, &[c], 0, Run::once().plain(), |_, _| Some(x))?;
        g.push(Op::Guard, &[c], &[body], Guess::many(1, elem))
    })?;
    let guess = g.guess(parts);
    let some = g.push(Op::Flatten, &[parts], &[], guess)?;
    match g.rng.below(3) {
        0 => scanned(g, some, true),
        1 => g.push(Op::Tab, &[some], &[], guess),
        _ => Some(some),
    }
}

/// Groups of a sequence that end at flags computed by a scan.
pub(super) fn groups_by_scan(g: &mut Gen<'_>) -> Option<Var> {
    let s = numbers(g)?;
    let sums = scan_with(g, s, (Direction::Left, ScanKind::Inclusive), BinOp::Add)?;
    let k = g.rng.between(2, 4);
    let flags = each(g, sums, |g, x| {
        let takes = flag(g, false)?;
        let (y, zero) = (modulo(g, x, k)?, g.int(0)?);
        let c = g.binary(BinOp::Eq, y, zero)?;
        let ends = g.body(&Op::Guard, &[c], 0, Run::once().plain(), |g, _| g.literal(Scalar::Bool(true)))?;
        let ends = g.push(Op::Guard, &[c], &[ends.0], Guess::SCALAR)?;
        g.push(Op::Append, &[takes, ends], &[], Guess::many(2, Guess::SCALAR))
    })?;
    let guess = g.guess(flags);
    let flags = g.push(Op::Flatten, &[flags], &[], guess)?;
    let last = flag(g, true)?;
    let flags = g.push(Op::Append, &[flags, last], &[], guess)?;
    let of = if g.rng.chance(50) { sums } else { s };
    let guess = g.guess(of);
    let groups = g.push(Op::FlagPart, &[of, flags], &[], guess)?;
    let run = Run::many(guess.len, vec![guess]).plain();
    let (body, elem) = g.body(&Op::Map, &[groups], 0, run, |g, p| match g.rng.below(3) {
        0 => g.push(Op::Reduce(deckle_ir::array::Monoid::Sum), &[p[0]], &[], Guess::SCALAR),
        1 => g.length(p[0]),
        _ => scan_with(g, p[0], (Direction::Left, ScanKind::Inclusive), BinOp::Add),
    })?;
    g.push(Op::Map, &[groups], &[body], Guess::many(guess.len, elem))
}

/// A sequence of one boolean.
fn flag(g: &mut Gen<'_>, value: bool) -> Option<Var> {
    let b = g.literal(Scalar::Bool(value))?;
    g.push(Op::MkSeq(ScalarType::Bool.into()), &[b], &[], Guess::many(1, Guess::SCALAR))
}
