//! Functions over sequences whose parameters have written sizes: `{[int; n]}`, the same name twice, `n + 1`.

use super::{each, generated, modulo};
use crate::generate::{Gen, Run};
use crate::guess::Guess;
use crate::{Config, Rng};
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Builder, Coll, Function, Monoid, Op};
use deckle_ir::entity::{Body, Func, Path, SizeVar, Var};
use deckle_ir::size::Size;
use deckle_ir::size_eval::SizeEnv;
use deckle_ir::types::Type;

/// The prefix of the names of such functions.
const NAME: &str = "written";

/// A function of two or three parameters whose rows have sizes in terms of one variable.
pub(crate) fn written(funcs: &[Function], number: usize, rng: &mut Rng, config: &Config) -> Option<Function> {
    let mut b = Builder::new(funcs, format!("{NAME}{number}"), Span::NONE);
    let n = Size::var(b.new_size(0));
    let mut params = Vec::new();
    for k in 0..2 + rng.below(2) {
        // The first parameter determines the size.
        let size = match rng.below(if k == 0 { 2 } else { 6 }) {
            1 => n.add(&1.into()),
            2 => n.add(&n),
            3 => n.add(&2.into()),
            _ => n.clone(),
        };
        let row = Type::array(size, Type::INT);
        let ty = match rng.below(8) {
            0 if k > 0 => row,
            1 => Type::seq(Type::tuple(vec![row.clone(), row])),
            _ => Type::seq(row),
        };
        params.push(b.param(["a", "b", "c"][k], ty, Span::NONE));
    }
    let mut g = Gen::new(Rng::new(rng.bits()), config, b);
    for p in &params {
        g.enter(*p, Guess::many(4, Guess::many(4, Guess::SCALAR)));
    }
    let made = g.attempt(|g| body(g, &params))?;
    Some(g.finish(made))
}

/// A row of an element: itself, or a part of a pair.
fn row(g: &mut Gen<'_>, v: Var) -> Option<Var> {
    if g.ty(v).parts().is_some() {
        let k = g.rng.below(2);
        return g.proj(v, k);
    }
    Some(v)
}

fn body(g: &mut Gen<'_>, params: &[Var]) -> Option<Var> {
    let seqs: Vec<Var> = params.iter().copied().filter(|p| g.ty(*p).is_seq()).collect();
    let few = Guess::many(4, Guess::SCALAR);
    if let [a, b, ..] = seqs[..]
        && g.rng.chance(75)
    {
        let run = Run::many(4, vec![few, few]).plain();
        let (body, elem) = g.body(&Op::Map, &[a, b], 0, run, |g, p| {
            let (r, s) = (row(g, p[0])?, row(g, p[1])?);
            let n = g.length(r)?;
            // In range only because the sizes were checked.
            let numbers = g.push(Op::Iota(Coll::Array), &[n], &[], few)?;
            let made = each(g, numbers, |g, i| g.push(Op::Index, &[s, i], &[], Guess::SCALAR))?;
            if g.rng.chance(50) { Some(made) } else { super::both(g, (r, made), |g, x, y| g.binary(BinOp::Add, x, y)) }
        })?;
        return g.push(Op::Map, &[a, b], &[body], Guess::many(4, elem));
    }
    let a = *seqs.first()?;
    let vector = params.iter().copied().find(|p| g.ty(*p).as_array().is_some());
    let run = Run::many(4, vec![few]).plain();
    let (body, elem) = g.body(&Op::Map, &[a], 0, run, |g, p| {
        let r = row(g, p[0])?;
        match vector {
            Some(v) => {
                let n = g.length(v)?;
                let numbers = g.push(Op::Iota(Coll::Array), &[n], &[], few)?;
                each(g, numbers, |g, i| g.push(Op::Index, &[r, i], &[], Guess::SCALAR))
            }
            None => g.push(Op::Reduce(Monoid::Sum), &[r], &[], Guess::SCALAR),
        }
    })?;
    g.push(Op::Map, &[a], &[body], Guess::many(4, elem))
}

/// Sets every size variable to one number.
struct Fixed(i128);

impl SizeEnv for Fixed {
    fn var(&self, _: SizeVar, _: &[i128]) -> Option<i128> {
        Some(self.0)
    }

    fn value(&self, _: &Path) -> Option<i128> {
        None
    }

    fn truth(&self, _: &Path) -> Option<bool> {
        None
    }

    fn read(&self, _: &Path, _: &[i128]) -> Option<i128> {
        None
    }

    fn at(&self, _: Body) -> Option<i128> {
        None
    }
}

/// A call of such a function, mostly with rows of the required sizes.
pub(super) fn call(g: &mut Gen<'_>) -> Option<Var> {
    let all: Vec<usize> = (0..g.b.funcs().len()).filter(|k| g.b.funcs()[*k].name.starts_with(NAME)).collect();
    let k = g.rng.of(&all)?;
    let callee = &g.b.funcs()[k];
    let types: Vec<Type> = callee.params().iter().map(|p| callee.ty(*p).clone()).collect();
    let (n, m) = (g.natural(4)?, g.natural(5)?);
    let mut args = Vec::new();
    for ty in &types {
        let rows = if ty.is_seq() { Some(m) } else { None };
        args.push(argument(g, ty.elem().filter(|_| ty.is_seq()).unwrap_or(ty), n, rows)?);
    }
    let guess = args.iter().map(|v| g.guess(*v)).reduce(Guess::with)?;
    g.push(Op::Call(Func(k as u32)), &args, &[], guess)
}

/// One row, or a sequence of `rows` of them, with sizes in terms of `n`.
fn argument(g: &mut Gen<'_>, elem: &Type, n: Var, rows: Option<Var>) -> Option<Var> {
    let wrong = g.rng.chance(g.config.risk / 2);
    let Some(rows) = rows else { return sized(g, elem, n, None) };
    let count = g.count(rows);
    let coll = if g.rng.chance(50) { Coll::Seq } else { Coll::Array };
    let numbers = g.push(Op::Iota(coll), &[rows], &[], Guess::many(count, Guess::natural(count as i64)))?;
    let made = each(g, numbers, |g, i| sized(g, elem, n, Some((i, wrong))))?;
    let guess = g.guess(made);
    if coll == Coll::Seq { Some(made) } else { g.push(Op::Seq, &[made], &[], guess) }
}

/// A row or a pair of rows; in an invalid sequence, not all of one length.
fn sized(g: &mut Gen<'_>, ty: &Type, n: Var, at: Option<(Var, bool)>) -> Option<Var> {
    if let Some(parts) = ty.parts() {
        let parts = parts.into_iter().map(|t| sized(g, t, n, at)).collect::<Option<Vec<_>>>()?;
        return g.tuple(&parts);
    }
    let size = &ty.as_array()?.size;
    let at_size = |n: i128| size.eval(&Fixed(n), &mut Vec::new());
    let (zero, one) = (at_size(0)?, at_size(1)?);
    let (times, more) = (g.int((one - zero) as i64)?, g.int(zero as i64)?);
    let len = g.binary(BinOp::Mul, n, times)?;
    let mut len = g.binary(BinOp::Add, len, more)?;
    if let Some((i, true)) = at {
        let i = modulo(g, i, 2)?;
        len = g.binary(BinOp::Add, len, i)?;
    }
    g.set_guess(len, Guess::natural(10));
    generated(g, &[len], |g, j| match at {
        Some((i, _)) => g.binary(BinOp::Add, i, j[0]),
        None => Some(j[0]),
    })
}
