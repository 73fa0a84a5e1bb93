//! The generator: scopes, bodies, and the choice of statements.
//!
//! To add a statement, an operator is drawn from [`CHOICES`](crate::ops::CHOICES) and its maker tried: it looks for operands among the
//! variables in scope, creates missing ones, and pushes statements. A maker that fails
//! leaves nothing behind, and another one is tried.

use crate::guess::Guess;
use crate::idioms::{self, IDIOMS, Idiom};
use crate::ops::CHOICES;
use crate::params::{self, Params, Role};
use crate::{Case, Config, Rng, scalars};
use deckle_diag::{FileId, Span};
use deckle_ir::array::{BinOp, Builder, Function, Monoid, Op, Program, RecordShape};
use deckle_ir::entity::{Body, Func, Var};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::sync::Arc;

/// The case of a seed.
pub(crate) fn case(seed: u64, config: &Config) -> Case {
    let mut rng = Rng::new(seed);
    let mut funcs: Vec<Function> = Vec::new();
    let helpers = if rng.chance(40) { 0 } else { rng.below(config.helpers + 1) };
    for k in 0..helpers {
        let (func, _) = function(&funcs, &format!("helper{k}"), &mut rng, config);
        funcs.push(func);
    }
    if config.idioms > 0 && config.sequences && rng.chance(30) {
        let made = idioms::written(&funcs, funcs.len(), &mut rng, config);
        funcs.extend(made);
    }
    let (func, args) = function(&funcs, "main", &mut rng, config);
    funcs.push(func);
    let entry = Func(funcs.len() as u32 - 1);
    Case { program: Program { funcs }, entry, args, seed }
}

fn function(funcs: &[Function], name: &str, rng: &mut Rng, config: &Config) -> (Function, Vec<Value>) {
    let mut b = Builder::new(funcs, name, Span::NONE);
    let mut params = Params::default();
    for _ in 0..1 + rng.below(4) {
        params.add(&mut b, rng, config);
    }
    let args = params::arguments(&params, rng, config);
    let mut g = Gen::new(Rng::new(rng.bits()), config, b);
    for (k, arg) in args.iter().enumerate() {
        let bound = match params.list[k].1 {
            Role::Plain => None,
            Role::Natural => Some(4),
            Role::Offsets => Some(16),
        };
        g.enter(Var(k as u32), Guess::of(arg, bound));
    }
    for _ in 0..1 + g.rng.below(config.max_stmts) {
        g.statement();
    }
    let result = g.conclude();
    (g.b.finish(result), args)
}

/// A function under construction.
pub(crate) struct Gen<'a> {
    pub rng: Rng,
    pub config: &'a Config,
    pub b: Builder<'a>,
    /// Variables in scope, oldest first.
    scope: Vec<Var>,
    /// The guess of each variable.
    guesses: Vec<Guess>,
    /// Variables before this index of `scope` may be used only if they hold no sequence.
    sealed: usize,
    /// The index of `scope` at which the variables of the innermost body begin.
    own: usize,
    /// The number of open bodies besides the function's own.
    depth: usize,
    /// The approximate number of runs of the innermost body.
    times: u64,
    /// The number of random statements that may still be added.
    fuel: usize,
}

/// How a body is run.
pub(crate) struct Run {
    /// The number of runs for each run of its statement.
    pub times: u64,
    /// Guesses of its parameters.
    pub params: Vec<Guess>,
    /// Whether sequences from outside are hidden.
    pub seal: bool,
    /// Whether to begin with a few random statements.
    pub random: bool,
}

impl Run {
    /// At most once.
    pub fn once() -> Run {
        Run { times: 1, params: Vec::new(), seal: false, random: true }
    }

    /// For each of about `times` elements.
    pub fn many(times: u64, params: Vec<Guess>) -> Run {
        Run { times, params, seal: true, random: true }
    }

    /// Without random statements.
    pub fn plain(self) -> Run {
        Run { random: false, ..self }
    }
}

impl<'a> Gen<'a> {
    /// A function with nothing in scope yet.
    pub fn new(rng: Rng, config: &'a Config, b: Builder<'a>) -> Gen<'a> {
        Gen {
            rng,
            config,
            b,
            scope: Vec::new(),
            guesses: Vec::new(),
            sealed: 0,
            own: 0,
            depth: 0,
            times: 1,
            fuel: config.fuel,
        }
    }

    /// The function with its result.
    pub fn finish(self, result: Var) -> Function {
        self.b.finish(result)
    }

    /// The place of the next statement: there is no text, but errors of different statements must be distinguishable.
    fn place(&self) -> Span {
        let at = self.b.next_var().0;
        Span::new(FileId(self.b.funcs().len() as u32), at, at + 1)
    }

    /// The number of open bodies besides the function's own.
    pub fn depth(&self) -> usize {
        self.depth
    }
}

impl Gen<'_> {
    pub fn ty(&self, v: Var) -> &Type {
        self.b.ty(v)
    }

    pub fn guess(&self, v: Var) -> Guess {
        self.guesses[v.index()]
    }

    pub fn set_guess(&mut self, v: Var, guess: Guess) {
        self.guesses[v.index()] = guess;
    }

    pub fn enter(&mut self, v: Var, guess: Guess) {
        // Any bound holds if there is no `i64`: so a tuple of lengths and floats keeps the bound of the lengths.
        let bound = if holds_int(self.ty(v)) { guess.bound } else { Some(0) };
        self.scope.push(v);
        self.guesses.resize(v.index(), Guess::SCALAR);
        self.guesses.push(Guess { bound, ..guess });
    }

    /// Adds a statement, if it has a type and is not too large.
    pub fn push(&mut self, op: Op, args: &[Var], bodies: &[Body], guess: Guess) -> Option<Var> {
        if guess.total.saturating_mul(self.times) > self.config.max_elements {
            return None;
        }
        if !self.config.avoid.is_empty() && self.config.avoid.contains(&op.info().name) {
            return None;
        }
        let v = self.b.push(op, args, bodies, self.place()).ok()?;
        self.enter(v, guess);
        Some(v)
    }

    /// Whether to avoid, this time, everything that can fail.
    pub fn careful(&mut self) -> bool {
        !self.rng.chance(self.config.risk)
    }

    /// Runs `make` completely or undoes it.
    pub fn attempt(&mut self, make: impl FnOnce(&mut Self) -> Option<Var>) -> Option<Var> {
        let mark = self.b.mark();
        let (scope, sealed, own, depth, times) = (self.scope.len(), self.sealed, self.own, self.depth, self.times);
        let made = make(self);
        if made.is_none() {
            self.b.rollback(&mark);
            self.scope.truncate(scope);
            self.guesses.truncate(self.b.next_var().index());
            (self.sealed, self.own, self.depth, self.times) = (sealed, own, depth, times);
        }
        made
    }

    /// Adds a random statement and its operands, if one is found.
    pub fn statement(&mut self) {
        for _ in 0..8 {
            if self.fuel == 0 {
                return;
            }
            if self.config.idioms > 0 && self.rng.chance(self.config.idioms) {
                if self.idiom().is_some() {
                    self.fuel = self.fuel.saturating_sub(2);
                    return;
                }
                continue;
            }
            let deep = self.depth >= self.config.max_depth;
            let (streams, avoid) = (self.config.sequences, &self.config.avoid);
            let weight = |c: &crate::ops::Choice| match c {
                c if deep && c.bodies => 0,
                c if !streams && c.stream => 0,
                c if avoid.contains(&c.name) => 0,
                c => c.weight,
            };
            let choice = &CHOICES[self.rng.weighted(CHOICES, weight)];
            if self.attempt(choice.make).is_some() {
                self.fuel = self.fuel.saturating_sub(1);
                return;
            }
        }
    }

    fn idiom(&mut self) -> Option<Var> {
        let room = self.config.max_depth.saturating_sub(self.depth);
        let (streams, avoid) = (self.config.sequences, &self.config.avoid);
        let weight = |i: &Idiom| match i {
            i if i.depth > room || i.stream && !streams || avoid.contains(&i.name) => 0,
            i => i.weight,
        };
        if IDIOMS.iter().all(|i| weight(i) == 0) {
            return None;
        }
        let idiom = &IDIOMS[self.rng.weighted(IDIOMS, weight)];
        self.attempt(idiom.make)
    }

    /// Builds body number `which` of an operator; `make` returns its result.
    pub fn body(
        &mut self,
        op: &Op,
        args: &[Var],
        which: usize,
        run: Run,
        make: impl FnOnce(&mut Self, &[Var]) -> Option<Var>,
    ) -> Option<(Body, Guess)> {
        let outside = (self.scope.len(), self.sealed, self.own, self.depth, self.times);
        self.times = self.times.saturating_mul(run.times.max(1));
        if self.times > self.config.max_elements {
            return None;
        }
        let (body, params) = self.b.begin_body_of(op, args, which, self.place()).ok()?;
        self.own = self.scope.len();
        self.depth += 1;
        if run.seal {
            self.sealed = self.own;
        }
        for (k, &p) in params.iter().enumerate() {
            self.enter(p, run.params.get(k).copied().unwrap_or(Guess::SCALAR));
        }
        if run.random {
            for _ in 0..self.rng.below(self.config.body_stmts + 1) {
                self.statement();
            }
        }
        let result = make(self, &params)?;
        let guess = self.guess(result);
        self.b.end_body(result);
        self.scope.truncate(outside.0);
        (_, self.sealed, self.own, self.depth, self.times) = outside;
        Some((body, guess))
    }

    /// Whether loops and bodies over arrays hide sequences, this time.
    pub fn seals(&mut self) -> bool {
        !(self.config.retraverse && self.rng.chance(30))
    }

    // Operands.

    fn usable(&self, place: usize) -> bool {
        place >= self.sealed || self.ty(self.scope[place]).is_concrete()
    }

    /// A variable that fits, preferably a recent one.
    pub fn pick(&mut self, fits: impl Fn(&Self, Var) -> bool) -> Option<Var> {
        let all: Vec<Var> = (0..self.scope.len())
            .filter(|&p| self.usable(p))
            .map(|p| self.scope[p])
            .filter(|&v| fits(self, v))
            .collect();
        if all.len() > 4 && self.rng.chance(50) {
            let late = &all[all.len() - 3..];
            return self.rng.of(late);
        }
        self.rng.of(&all)
    }

    /// A variable whose type fits.
    pub fn pick_type(&mut self, fits: impl Fn(&Type) -> bool) -> Option<Var> {
        self.pick(|g, v| fits(g.ty(v)))
    }

    /// The result of a body with any result: preferably a value computed in it.
    pub fn anything(&mut self, fits: impl Fn(&Type) -> bool) -> Option<Var> {
        if self.depth > 0
            && self.rng.chance(12)
            && let Some(row) = self.attempt(Self::row)
            && fits(self.ty(row))
        {
            return Some(row);
        }
        let own: Vec<Var> = self.scope[self.own..].iter().copied().filter(|&v| fits(self.ty(v))).collect();
        if let Some(&last) = own.last()
            && self.rng.chance(80)
        {
            return if self.rng.chance(70) { Some(last) } else { self.rng.of(&own) };
        }
        self.pick_type(&fits).or_else(|| self.any_const())
    }

    /// A vector whose length preferably differs between runs of the body.
    fn row(&mut self) -> Option<Var> {
        let n = self.natural(5)?;
        let guess = Guess::many(self.count(n), Guess::natural(5));
        if self.rng.chance(50) {
            return self.push(Op::Iota(deckle_ir::array::Coll::Array), &[n], &[], guess);
        }
        let x = self.pick_type(Type::is_concrete)?;
        let guess = Guess::many(self.count(n), self.guess(x));
        self.push(Op::Replicate, &[x, n], &[], guess)
    }

    /// A flat value that depends on `v`: a component, a length, an element of it.
    pub fn digest(&mut self, v: Var) -> Option<Var> {
        let ty = self.ty(v).clone();
        match &ty {
            Type::Scalar(_) => Some(v),
            Type::Tuple(_) | Type::Record(_) => {
                let n = ty.parts()?.len();
                if n == 0 || (ty.is_flat() && self.rng.chance(30)) {
                    return Some(v);
                }
                let k = self.rng.below(n);
                let part = self.proj(v, k)?;
                self.digest(part)
            }
            Type::Array(a) if a.elem.as_scalar().is_some_and(|s| s.is_int()) && self.rng.chance(40) => {
                self.push(Op::Reduce(Monoid::Sum), &[v], &[], Guess::SCALAR)
            }
            Type::Array(_) | Type::Seq(_) => self.length(v),
        }
    }

    /// The result of a function: the last statement mostly, sometimes a tuple of several variables.
    fn conclude(&mut self) -> Var {
        if self.rng.chance(40)
            && let Some(s) = self.pick_type(|t| t.is_seq() && t.elem().is_some_and(Type::is_concrete))
        {
            let guess = self.guess(s);
            self.push(Op::Tab, &[s], &[], guess);
        }
        if self.rng.chance(30) {
            let several = self.attempt(|g| {
                let parts: Vec<Var> = (0..2 + g.rng.below(2)).filter_map(|_| g.pick(|_, _| true)).collect();
                g.push(Op::Tuple, &parts, &[], Guess::SCALAR)
            });
            if let Some(v) = several {
                return v;
            }
        }
        self.scope.last().copied().unwrap_or(Var(0))
    }

    pub fn any_const(&mut self) -> Option<Var> {
        let ty = scalars::any_type(&mut self.rng);
        self.constant(ty)
    }

    pub fn literal(&mut self, c: Scalar) -> Option<Var> {
        let bound = match c {
            Scalar::I64(n) if (0..64).contains(&n) => Some(n),
            _ => None,
        };
        self.push(Op::Const(c), &[], &[], Guess { bound, ..Guess::SCALAR })
    }

    pub fn int(&mut self, n: i64) -> Option<Var> {
        self.literal(Scalar::I64(n))
    }

    /// A random constant of a type.
    pub fn constant(&mut self, ty: ScalarType) -> Option<Var> {
        let c = scalars::any(&mut self.rng, ty);
        self.literal(c)
    }

    pub fn binary(&mut self, op: BinOp, x: Var, y: Var) -> Option<Var> {
        let (a, b) = (self.guess(x).bound, self.guess(y).bound);
        let bound = match (op, a, b) {
            (BinOp::Add, Some(a), Some(b)) if a + b < 64 => Some(a + b),
            (BinOp::And | BinOp::Min | BinOp::Rem, Some(a), Some(b)) => Some(a.min(b)),
            (BinOp::Max, Some(a), Some(b)) => Some(a.max(b)),
            (BinOp::And, None, Some(b)) | (BinOp::And, Some(b), None) => Some(b),
            _ => None,
        };
        self.push(Op::Binary(op), &[x, y], &[], Guess { bound, ..Guess::SCALAR })
    }

    /// A scalar of a type.
    pub fn scalar(&mut self, ty: ScalarType) -> Option<Var> {
        if self.rng.chance(75)
            && let Some(v) = self.pick_type(|t| t.as_scalar() == Some(ty))
        {
            return Some(v);
        }
        if self.rng.chance(30)
            && let Some(v) = self.pick_type(|t| t.as_scalar().is_some())
        {
            return self.push(Op::Cast(ty), &[v], &[], Guess::SCALAR);
        }
        self.constant(ty)
    }

    /// A boolean, preferably one that is not known statically.
    pub fn truth(&mut self) -> Option<Var> {
        if self.rng.chance(50)
            && let Some(v) = self.pick_type(|t| *t == Type::BOOL)
        {
            return Some(v);
        }
        let Some(x) = self.pick_type(|t| t.as_scalar().is_some()) else { return self.constant(ScalarType::Bool) };
        let ty = self.ty(x).as_scalar()?;
        let y = self.scalar(ty)?;
        let op = self.rng.of(&[BinOp::Eq, BinOp::Ne, BinOp::Lt, BinOp::Le, BinOp::Gt, BinOp::Ge])?;
        self.binary(op, x, y)
    }

    /// An `i64` from 0 to `max` (or, rarely, any), to be used as a count.
    pub fn natural(&mut self, max: i64) -> Option<Var> {
        let small = self.rng.between(0, max);
        if !self.careful() {
            return self.scalar(ScalarType::I64);
        }
        match self.rng.below(10) {
            0..=2 => {}
            3..=6 => {
                let fits = |g: &Self, v: Var| *g.ty(v) == Type::INT && g.guess(v).bound.is_some_and(|b| b <= max);
                // One that differs from run to run of the body makes a jagged array.
                let own: Vec<Var> = self.scope[self.own..].iter().copied().filter(|v| fits(self, *v)).collect();
                let own = if self.rng.chance(60) { self.rng.of(&own) } else { None };
                if let Some(v) = own.or_else(|| self.pick(fits)) {
                    return Some(v);
                }
            }
            7 => {
                if let Some(a) = self.pick(|g, v| g.ty(v).as_array().is_some() && g.guess(v).len as i64 <= max) {
                    let guess = Guess::natural(self.guess(a).len as i64);
                    return self.push(Op::Length, &[a], &[], guess);
                }
            }
            8 => {
                let v = self.scalar(ScalarType::I64)?;
                let mask = self.int(if max >= 3 { 3 } else { max.min(1) })?;
                return self.binary(BinOp::And, v, mask);
            }
            _ => {
                let (v, zero, top) = (self.scalar(ScalarType::I64)?, self.int(0)?, self.int(small)?);
                let v = self.binary(BinOp::Max, v, zero)?;
                let v = self.binary(BinOp::Min, v, top)?;
                self.guesses[v.index()].bound = Some(small);
                return Some(v);
            }
        }
        self.int(small)
    }

    /// The upper bound of an `i64` that is used as a count.
    pub fn count(&self, v: Var) -> u64 {
        self.guess(v).bound.map_or(6, |b| b as u64)
    }

    /// A value of the same kind as a type: an existing one, or a new one.
    pub fn value(&mut self, kind: &Type) -> Option<Var> {
        if self.rng.chance(70)
            && let Some(v) = self.pick_type(|t| t.same_kind(kind))
        {
            return Some(v);
        }
        match kind {
            Type::Scalar(s) => self.scalar(*s),
            Type::Tuple(parts) => {
                let parts = parts.iter().map(|t| self.value(t)).collect::<Option<Vec<_>>>()?;
                self.tuple(&parts)
            }
            Type::Record(r) => {
                let parts = r.fields.iter().map(|(_, t)| self.value(t)).collect::<Option<Vec<_>>>()?;
                let shape =
                    RecordShape { name: r.name.clone(), fields: r.fields.iter().map(|(n, _)| n.clone()).collect() };
                let guess = self.together(&parts);
                self.push(Op::Record(Arc::new(shape)), &parts, &[], guess)
            }
            Type::Array(a) if self.rng.chance(30) => {
                let x = self.value(&a.elem)?;
                let n = self.natural(3)?;
                let guess = Guess::many(self.count(n), self.guess(x));
                self.push(Op::Replicate, &[x, n], &[], guess)
            }
            Type::Array(a) => {
                let n = self.rng.below(4);
                self.array_of(&a.elem, n)
            }
            Type::Seq(elem) if elem.is_concrete() && self.rng.chance(60) => {
                let a = self.value(&Type::array(0.into(), (**elem).clone()))?;
                let guess = self.guess(a);
                self.push(Op::Seq, &[a], &[], guess)
            }
            Type::Seq(elem) => {
                let n = self.rng.below(3);
                let elems = (0..n).map(|_| self.value(elem)).collect::<Option<Vec<_>>>()?;
                let guess = self.listed(&elems);
                self.push(Op::MkSeq(without_sizes(elem)), &elems, &[], guess)
            }
        }
    }

    /// A vector of `n` elements of a kind.
    pub fn array_of(&mut self, elem: &Type, n: usize) -> Option<Var> {
        let elems = (0..n).map(|_| self.value(elem)).collect::<Option<Vec<_>>>()?;
        let guess = self.listed(&elems);
        self.push(Op::Array(without_sizes(elem)), &elems, &[], guess)
    }

    /// A vector of these elements.
    pub fn array(&mut self, elems: &[Var]) -> Option<Var> {
        let guess = self.listed(elems);
        let elem = without_sizes(self.ty(*elems.first()?));
        self.push(Op::Array(elem), elems, &[], guess)
    }

    pub fn tuple(&mut self, parts: &[Var]) -> Option<Var> {
        let guess = self.together(parts);
        self.push(Op::Tuple, parts, &[], guess)
    }

    pub fn proj(&mut self, v: Var, k: usize) -> Option<Var> {
        let guess = self.guess(v);
        self.push(Op::Proj(k as u32), &[v], &[], guess)
    }

    pub fn length(&mut self, v: Var) -> Option<Var> {
        let guess = Guess::natural(self.guess(v).len as i64);
        self.push(Op::Length, &[v], &[], guess)
    }

    /// A vector: an existing one, or `iota`.
    pub fn some_array(&mut self, fits: impl Fn(&Type) -> bool) -> Option<Var> {
        if let Some(v) = self.pick_type(|t| t.as_array().is_some() && fits(t)) {
            return Some(v);
        }
        let n = self.natural(5)?;
        let guess = Guess::many(self.count(n), Guess::natural(5));
        let v = self.push(Op::Iota(deckle_ir::array::Coll::Array), &[n], &[], guess)?;
        fits(self.ty(v)).then_some(v)
    }

    /// The guess of a tuple of these.
    pub fn together(&self, parts: &[Var]) -> Guess {
        parts.iter().map(|v| self.guess(*v)).reduce(Guess::with).unwrap_or(Guess::SCALAR)
    }

    /// The guess of a collection of these.
    pub fn listed(&self, elems: &[Var]) -> Guess {
        let guess = Guess { len: elems.len() as u64, ..self.together(elems) };
        if elems.is_empty() { Guess { bound: None, ..guess } } else { guess }
    }
}

fn holds_int(ty: &Type) -> bool {
    match ty {
        Type::Scalar(s) => *s == ScalarType::I64,
        Type::Array(a) => holds_int(&a.elem),
        Type::Seq(elem) => holds_int(elem),
        Type::Tuple(_) | Type::Record(_) => ty.parts().is_some_and(|p| p.into_iter().any(holds_int)),
    }
}

/// A type with the size 0 everywhere: it represents its kind.
pub(crate) fn without_sizes(ty: &Type) -> Type {
    ty.map_sizes(&mut |_, _| 0.into())
}
