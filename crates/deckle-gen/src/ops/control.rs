//! Branches, loops, calls and checks.

use crate::generate::{Gen, Run};
use crate::guess::Guess;
use crate::params;
use deckle_ir::array::{BinOp, Op};
use deckle_ir::entity::{Func, Var};
use deckle_ir::size::Size;
use deckle_ir::types::Type;

/// The kind of some variable, or another one.
fn some_kind(g: &mut Gen<'_>) -> Option<Type> {
    if g.rng.chance(80) {
        return g.pick(|_, _| true).map(|v| g.ty(v).clone());
    }
    let config = g.config;
    Some(params::kind(&mut g.rng, config))
}

pub(super) fn branch(g: &mut Gen<'_>) -> Option<Var> {
    let kind = some_kind(g)?;
    let c = g.truth()?;
    let yes = g.body(&Op::If, &[c], 0, Run::once(), |g, _| g.value(&kind))?;
    let no = g.body(&Op::If, &[c], 1, Run::once(), |g, _| g.value(&kind))?;
    let guess = Guess { len: yes.1.len.max(no.1.len), ..yes.1.with(no.1) };
    g.push(Op::If, &[c], &[yes.0, no.0], guess)
}

/// A run of a loop: a few times; its state is like `state`, but larger.
fn looped(g: &mut Gen<'_>, times: u64, params: Vec<Guess>) -> Run {
    Run { seal: g.seals(), ..Run::many(times, params) }
}

fn grown(state: Guess) -> Guess {
    Guess { len: state.len.saturating_mul(3), total: state.total.saturating_mul(3), bound: None }
}

/// A `while` with a counter, so that it ends.
pub(super) fn repeat(g: &mut Gen<'_>) -> Option<Var> {
    let x = g.pick_type(Type::is_concrete)?;
    let kind = g.ty(x).clone();
    let zero = g.int(0)?;
    let s = g.tuple(&[zero, x])?;
    let top = g.rng.between(0, 3);
    let guess = grown(g.guess(s));
    let run = looped(g, 4, vec![guess]).plain();
    let cond = g.body(&Op::While, &[s], 0, run, |g, p| {
        let i = g.proj(p[0], 0)?;
        let top = g.int(top)?;
        let on = g.binary(BinOp::Lt, i, top)?;
        if g.rng.chance(70) {
            return Some(on);
        }
        let too = g.truth()?;
        g.binary(BinOp::And, on, too)
    })?;
    let run = looped(g, 3, vec![guess]);
    let step = g.body(&Op::While, &[s], 1, run, |g, p| {
        let (i, one) = (g.proj(p[0], 0)?, g.int(1)?);
        let next = g.binary(BinOp::Add, i, one)?;
        let x = if g.rng.chance(50) { g.proj(p[0], 1)? } else { g.value(&kind)? };
        g.tuple(&[next, x])
    })?;
    g.push(Op::While, &[s], &[cond.0, step.0], step.1.with(guess).unbound())
}

pub(super) fn count(g: &mut Gen<'_>) -> Option<Var> {
    let x = g.pick_type(Type::is_concrete)?;
    let kind = g.ty(x).clone();
    let n = g.natural(3)?;
    let guess = grown(g.guess(x));
    let times = g.count(n);
    let run = looped(g, times, vec![Guess::natural(3), guess]);
    let step = g.body(&Op::For, &[n, x], 0, run, |g, p| if g.rng.chance(20) { Some(p[1]) } else { g.value(&kind) })?;
    g.push(Op::For, &[n, x], &[step.0], step.1.with(guess).unbound())
}

pub(super) fn call(g: &mut Gen<'_>) -> Option<Var> {
    let funcs = g.b.funcs();
    let k = g.rng.below(funcs.len());
    let callee = funcs.get(k)?;
    let args = callee.params().iter().map(|p| g.value(callee.ty(*p))).collect::<Option<Vec<_>>>()?;
    let guess = args.iter().map(|v| g.guess(*v)).reduce(Guess::with).unwrap_or(Guess::SCALAR);
    g.push(Op::Call(Func(k as u32)), &args, &[], grown(guess))
}

pub(super) fn ensure(g: &mut Gen<'_>) -> Option<Var> {
    let x = g.pick_type(|t| !t.is_flat())?;
    let ty = g.ty(x).clone();
    let guess = g.guess(x);
    let ty = match g.rng.below(10) {
        0..=5 => g.b.opened(&ty),
        6..=7 => ty,
        _ if g.careful() => g.b.opened(&ty),
        8 => ty.map_sizes(&mut |_, _| g.rng.between(0, 4).into()),
        _ => return regularised(g, x),
    };
    g.push(Op::Ensure(ty), &[x], &[], guess)
}

/// An array, checked to be regular.
pub(super) fn regularised(g: &mut Gen<'_>, x: Var) -> Option<Var> {
    let (ty, guess) = (g.ty(x).clone(), g.guess(x));
    let ty = ty.map_sizes(&mut |s, depth| {
        let depends = s.varies(depth);
        if depends { Size::var(g.b.new_size(0)) } else { s.clone() }
    });
    g.push(Op::Ensure(ty), &[x], &[], guess)
}
