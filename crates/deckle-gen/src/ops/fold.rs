//! Folds and scans.

use super::construct::filled;
use crate::generate::{Gen, Run, without_sizes};
use crate::guess::Guess;
use deckle_ir::array::{BinOp, Direction, Monoid, Op, RecordShape, ScanKind};
use deckle_ir::entity::Var;
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;
use std::sync::Arc;

/// The maximal number of elements that may each take a separate step, with any operations in it.
const MOST_STEPS: u64 = 500;

/// An associative operator of that kind, applied.
pub(super) fn combine(g: &mut Gen<'_>, kind: &Type, a: Var, b: Var) -> Option<Var> {
    if g.rng.chance(8) {
        return g.rng.of(&[a, b]);
    }
    match kind {
        Type::Scalar(s) => {
            use BinOp::*;
            let op = match s {
                ScalarType::Bool => g.rng.of(&[And, Or, Xor]),
                // A product of floats may overflow in one grouping, become zero in another, and no number at all in a third.
                ScalarType::F32 | ScalarType::F64 if g.config.float_sums => g.rng.of(&[Add, Min, Max]),
                ScalarType::F32 | ScalarType::F64 => g.rng.of(&[Min, Max]),
                _ => g.rng.of(&[Add, Add, Mul, Min, Max, And, Or, Xor]),
            };
            g.binary(op?, a, b)
        }
        Type::Tuple(_) | Type::Record(_) => {
            let mut parts = Vec::new();
            for (k, part) in kind.parts()?.into_iter().enumerate() {
                let (x, y) = (g.proj(a, k)?, g.proj(b, k)?);
                parts.push(combine(g, part, x, y)?);
            }
            let Type::Record(r) = kind else { return g.tuple(&parts) };
            let shape = RecordShape { name: r.name.clone(), fields: r.fields.iter().map(|(n, _)| n.clone()).collect() };
            let guess = g.together(&parts);
            g.push(Op::Record(Arc::new(shape)), &parts, &[], guess)
        }
        Type::Array(_) => {
            let guess = g.guess(a).after(g.guess(b));
            g.push(Op::Concat(0), &[a, b], &[], guess)
        }
        Type::Seq(_) => None,
    }
}

/// The body of a fold.
fn operator(g: &mut Gen<'_>, op: &Op, args: &[Var], kind: &Type) -> Option<deckle_ir::entity::Body> {
    let xs = g.guess(*args.last()?);
    let total = Guess { bound: None, ..xs };
    let any = !g.config.associative && g.rng.chance(40);
    let run = Run { random: any, ..Run::many(xs.len, vec![total.elem(), xs.elem()]) };
    let made = g.body(op, args, 0, run, |g, p| if any { g.value(kind) } else { combine(g, kind, p[0], p[1]) })?;
    Some(made.0)
}

fn is_foldable(t: &Type) -> bool {
    t.elem().is_some_and(Type::is_concrete)
}

pub(super) fn fold(g: &mut Gen<'_>) -> Option<Var> {
    let xs = g.pick_type(is_foldable)?;
    let kind = without_sizes(g.ty(xs).elem()?);
    let z = g.value(&kind)?;
    let body = operator(g, &Op::Fold, &[z, xs], &kind)?;
    let guess = g.guess(xs).with(g.guess(z)).unbound();
    g.push(Op::Fold, &[z, xs], &[body], guess)
}

/// An ordered fold or scan, with a state of any type.
fn in_order(g: &mut Gen<'_>, op: Op) -> Option<Var> {
    let xs = g.pick_type(is_foldable)?;
    // A non-scalar state takes a kernel for each element, or more: minutes for many elements.
    let few = g.guess(xs).len <= MOST_STEPS;
    let start = g.pick_type(|t| if few { t.is_concrete() } else { t.is_flat() })?;
    let kind = without_sizes(g.ty(start));
    let (all, state) = (g.guess(xs), Guess { bound: None, ..g.guess(start) });
    let number = matches!(kind, Type::Scalar(s) if s.is_num());
    let run = Run { random: few, ..Run::many(all.len, vec![state, all.elem()]) };
    let made = g.body(&op, &[start, xs], 0, run, |g, p| {
        let next = g.value(&kind)?;
        // Earlier elements should matter, and so should the order.
        if number && g.rng.chance(70) { g.binary(BinOp::Sub, next, p[0]) } else { Some(next) }
    })?;
    let guess = match op {
        Op::FoldOrdered => state.unbound(),
        _ => Guess { len: all.len, total: state.total.saturating_mul(all.len + 1), bound: None },
    };
    g.push(op, &[start, xs], &[made.0], guess)
}

pub(super) fn fold_ordered(g: &mut Gen<'_>) -> Option<Var> {
    in_order(g, Op::FoldOrdered)
}

pub(super) fn scan_ordered(g: &mut Gen<'_>) -> Option<Var> {
    in_order(g, Op::ScanOrdered)
}

pub(super) fn fold1(g: &mut Gen<'_>) -> Option<Var> {
    let mut xs = g.pick_type(is_foldable)?;
    let kind = without_sizes(g.ty(xs).elem()?);
    if g.careful() {
        xs = if g.ty(xs).is_seq() { longer(g, xs)? } else { filled(g, xs)? };
    }
    let body = operator(g, &Op::Fold1, &[xs], &kind)?;
    let guess = g.guess(xs).unbound();
    g.push(Op::Fold1, &[xs], &[body], guess)
}

/// A sequence with one more element: not empty.
fn longer(g: &mut Gen<'_>, s: Var) -> Option<Var> {
    let elem = without_sizes(g.ty(s).elem()?);
    let x = g.value(&elem)?;
    let guess = g.guess(x);
    let one = g.push(Op::MkSeq(elem), &[x], &[], Guess::many(1, guess))?;
    let guess = g.guess(s).after(g.guess(one));
    g.push(Op::Append, &[s, one], &[], guess)
}

pub(super) fn reduce(g: &mut Gen<'_>) -> Option<Var> {
    let mut xs = g.pick_type(|t| t.elem().is_some_and(|e| e.as_scalar().is_some()))?;
    let s = g.ty(xs).elem()?.as_scalar()?;
    let fits = |m: Monoid| match m {
        Monoid::Any | Monoid::All => s == ScalarType::Bool,
        Monoid::Sum => s.is_int() || (s.is_float() && g.config.float_sums),
        Monoid::Product => s.is_int(),
        _ => s.is_num(),
    };
    let all: Vec<Monoid> = Monoid::ALL.into_iter().map(|(m, _)| m).filter(|m| fits(*m)).collect();
    let m = g.rng.of(&all)?;
    if matches!(m, Monoid::Min | Monoid::Max | Monoid::ArgMin | Monoid::ArgMax) && g.careful() {
        xs = if g.ty(xs).is_seq() { longer(g, xs)? } else { filled(g, xs)? };
    }
    let bound = if matches!(m, Monoid::Min | Monoid::Max) { g.guess(xs).bound } else { None };
    g.push(Op::Reduce(m), &[xs], &[], Guess { bound, ..Guess::SCALAR })
}

pub(super) fn scan(g: &mut Gen<'_>) -> Option<Var> {
    let xs = g.pick_type(is_foldable)?;
    let kind = without_sizes(g.ty(xs).elem()?);
    let direction = if g.ty(xs).is_seq() || g.rng.chance(60) { Direction::Left } else { Direction::Right };
    let scan = g.rng.of(&[ScanKind::Inclusive, ScanKind::Exclusive, ScanKind::Full])?;
    let mut args = vec![xs];
    if scan != ScanKind::Inclusive || g.rng.chance(40) {
        args.insert(0, g.value(&kind)?);
    }
    let op = Op::Scan(direction, scan);
    let body = operator(g, &op, &args, &kind)?;
    let guess = g.guess(xs);
    // At each step an array is as long as all elements before it.
    let total = if kind.is_flat() { guess.total + 2 } else { guess.total.saturating_mul(guess.len + 1) };
    g.push(op, &args, &[body], Guess { len: guess.len + 1, total, bound: None })
}
