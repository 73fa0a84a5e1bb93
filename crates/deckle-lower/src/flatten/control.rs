//! Branches, loops that run inside kernels, and calls.

use super::extents::INTS;
use super::subst::Guard;
use super::value::Val;
use super::{Cx, Flattener, Frame, Res, Run, Scope, Stuck, as_array, bug};
use deckle_diag::{Code, Diagnostic};
use deckle_ir::array::{BinOp, Function, Op};
use deckle_ir::entity::{Body, Func, Var};
use deckle_ir::kernel::{self, Buf, Combine, FoldSpec, Node, ROOT, Space};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::collections::BTreeSet;

/// A computation in a context.
pub(super) type Compute<'a, 'p> = dyn FnMut(&mut Flattener<'p>, Space) -> Res<Val> + 'a;

/// The maximal depth of nested calls.
const MAX_CALLS: usize = 256;

/// The maximal number of nodes that unrolling a loop may create.
const MOST_NODES: usize = 4000;

/// A state of flattening, to return to.
#[derive(Clone)]
pub(super) struct Mark {
    steps: usize,
    scope: Scope,
    pending: BTreeSet<Node>,
}

/// The counter of a loop: its upper bound, and the limit that it is below in each round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Counter {
    pub most: i128,
    pub limit: Node,
}

/// A loop that is being built: its space and variables, the condition and where it holds, the counter, and the state after a round.
struct Rounds {
    rounds: Space,
    vars: Vec<Node>,
    cond: Node,
    inside: Space,
    counter: Node,
    next: Vec<Node>,
}

impl<'p> Flattener<'p> {
    pub(super) fn mark(&self) -> Mark {
        Mark { steps: self.here.steps.len(), scope: self.here.scope.clone(), pending: self.pending.clone() }
    }

    /// Discards the steps made since, and all that is known only through them.
    pub(super) fn back_to(&mut self, mark: Mark) {
        self.here.steps.truncate(mark.steps);
        self.here.scope = mark.scope;
        self.pending = mark.pending;
    }

    /// One of two values, of which only the selected one is computed.
    pub(super) fn either(
        &mut self,
        cond: Node,
        ctx: Space,
        yes: &mut Compute<'_, 'p>,
        no: &mut Compute<'_, 'p>,
    ) -> Res<Val> {
        match self.k.as_const(cond) {
            Some(Scalar::Bool(true)) => return yes(self, ctx),
            Some(Scalar::Bool(false)) => return no(self, ctx),
            _ => {}
        }
        let (y, n) = (self.k.guard(ctx, cond, true), self.k.guard(ctx, cond, false));
        let (x, z) = (yes(self, y)?, no(self, n)?);
        self.merge(cond, &x, &z, ctx)
    }

    /// The value of one of the two guards of a condition.
    pub(super) fn merge(&mut self, cond: Node, yes: &Val, no: &Val, ctx: Space) -> Res<Val> {
        match (yes, no) {
            (Val::Array(a), Val::Array(b)) => {
                let (y, n) = (self.k.guard(ctx, cond, true), self.k.guard(ctx, cond, false));
                let (a, b) = (self.indexed(a)?, self.indexed(b)?);
                let (p, q) = (self.size(&a, y)?, self.size(&b, n)?);
                let size = self.merge_scalars(cond, &[p], &[q], ctx)?[0];
                let (a, b) = (Val::Array(a), Val::Array(b));
                self.body_array(size, ctx, &mut |f, pos, dim| {
                    f.either(
                        cond,
                        dim,
                        &mut |f, g| {
                            let a = f.move_below(&a, Guard { ctx, cond, when: true }, g);
                            f.at(&as_array(&a)?, pos, g)
                        },
                        &mut |f, g| {
                            let b = f.move_below(&b, Guard { ctx, cond, when: false }, g);
                            f.at(&as_array(&b)?, pos, g)
                        },
                    )
                })
            }
            (Val::Tuple(a), Val::Tuple(b)) if yes.has_array() => {
                Ok(Val::tuple(a.iter().zip(b.iter()).map(|(x, y)| self.merge(cond, x, y, ctx)).collect::<Res<_>>()?))
            }
            _ => {
                let (a, b) = (yes.scalars()?, no.scalars()?);
                let merged = self.merge_scalars(cond, &a, &b, ctx)?;
                yes.with_leaves(&mut merged.into_iter())
            }
        }
    }

    /// What need not be computed inside a guard is selected; the rest is a conditional. At the root, a conditional with a loop inside is computed once, by a kernel: the
    /// host, which may need the value for a size or a condition, runs no loops.
    fn merge_scalars(&mut self, cond: Node, yes: &[Node], no: &[Node], ctx: Space) -> Res<Vec<Node>> {
        let outside = |f: &Self, n: Node| f.k.encloses(f.k.space_of(n), ctx);
        let inner: Vec<usize> = (0..yes.len()).filter(|i| !outside(self, yes[*i]) || !outside(self, no[*i])).collect();
        let (then, other): (Vec<Node>, Vec<Node>) = inner.iter().map(|i| (yes[*i], no[*i])).unzip();
        let mut branched = if inner.is_empty() { Vec::new() } else { self.branch(ctx, cond, true, &then, &other) };
        if ctx == ROOT {
            let values = Val::tuple(branched.into_iter().map(Val::Scalar).collect());
            branched = self.on_hand(values)?.scalars()?;
        }
        Ok((0..yes.len())
            .map(|i| match inner.iter().position(|k| *k == i) {
                Some(k) => branched[k],
                None => self.k.select(cond, yes[i], no[i]),
            })
            .collect())
    }

    pub(super) fn if_(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let cond = self.scalar(fx, cx.inst.args[0])?;
        let [yes, no] = cx.inst.bodies[..] else { return Err(bug("an `if` without two bodies")) };
        match self.k.as_const(cond) {
            Some(Scalar::Bool(true)) => return self.body(fx, yes, cx.ctx),
            Some(Scalar::Bool(false)) => return self.body(fx, no, cx.ctx),
            _ => {}
        }
        if cx.ctx == ROOT && [yes, no].iter().any(|b| has_arrays(fx.function, *b)) {
            return self.if_on_host(fx, cx, cond, yes, no);
        }
        let (y, n) = (self.k.guard(cx.ctx, cond, true), self.k.guard(cx.ctx, cond, false));
        let (a, b) = (self.body(fx, yes, y)?, self.body(fx, no, n)?);
        self.merge(cond, &a, &b, cx.ctx)
    }

    pub(super) fn looped(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let (counted, is_stream) = (cx.inst.op == Op::For, cx.inst.op == Op::Stream);
        let (limit, init) = match cx.inst.args[..] {
            [n, s] if counted => (Some(self.scalar(fx, n)?), self.get(fx, s)?),
            [_, s] if is_stream => (None, self.get(fx, s)?),
            _ => (None, self.get(fx, cx.inst.args[0])?),
        };
        let key = (fx.func, cx.v);
        let flat = cx.ty.is_flat() && !init.scalars()?.is_empty();
        let on_host = is_stream || cx.ctx == ROOT && cx.inst.bodies.iter().any(|b| has_arrays(fx.function, *b));
        if flat && !on_host && !self.lifted.contains(&key) {
            let mark = self.mark();
            if let Some(rounds) = limit.and_then(|n| self.k.as_int(n)).filter(|_| counted && cx.ctx != ROOT) {
                match self.round_by_round(fx, cx, rounds, &init)? {
                    Some(state) => return Ok(state),
                    None => self.back_to(mark),
                }
            }
            let mark = self.mark();
            match self.loop_inside(fx, cx, limit, &init) {
                Err(Stuck::InLoop) => {
                    self.back_to(mark);
                    self.lifted.insert(key);
                }
                other => return other,
            }
        }
        let bodies = &cx.inst.bodies;
        let state = fx.function.body(bodies[bodies.len() - 1]).params.last().copied();
        let ty = state.map_or(cx.ty, |v| fx.function.ty(v)).clone();
        let names = self.state_names(fx.function, state);
        let step = |i: Node| if is_stream { Run::Chunk } else { Run::Step(i) };
        let chunk = if is_stream { self.chunk(fx, cx)? } else { None };
        // The frame is needed by both bodies, one after the other.
        let cell = std::cell::RefCell::new(fx);
        self.rounds(
            cx.ctx,
            &init,
            (&ty, &names),
            chunk,
            &mut |f, state, i, ctx| match limit {
                Some(n) => Ok(f.lt(i, n)),
                None => {
                    f.inside(&mut cell.borrow_mut(), bodies[0], std::slice::from_ref(state), ctx, step(i))?.scalar()
                }
            },
            &mut |f, state, i, ctx| {
                let fx = &mut cell.borrow_mut();
                match counted {
                    true => f.inside(fx, bodies[0], &[Val::Scalar(i), state.clone()], ctx, step(i)),
                    false => f.inside(fx, bodies[1], std::slice::from_ref(state), ctx, step(i)),
                }
            },
        )
    }

    /// The parameter that is the chunk size of a stream. Inside another stream there is none: to the host that is an ordinary loop.
    fn chunk(&self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Option<Buf>> {
        if self.stream.is_some() {
            return Ok(None);
        }
        match self.k.node(self.scalar(fx, cx.inst.args[0])?).op {
            kernel::Op::Load(chunk, _) if cx.ctx == ROOT => Ok(Some(chunk)),
            _ => Err(bug("a stream is not run by the host, or the size of its chunks is no parameter")),
        }
    }

    /// Unrolls a loop of few rounds that depend on their number, so that much of each round is known. `None` if that gets too long.
    fn round_by_round(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, rounds: i64, init: &Val) -> Res<Option<Val>> {
        let body = cx.inst.bodies[0];
        let counter = fx.function.body(body).params.first().copied();
        let depends = counter.is_some_and(|v| fx.uses.get(v).total > 0);
        if !depends || !(1..=self.options.cuts.unrolled_rounds).contains(&rounds) {
            return Ok(None);
        }
        let before = self.k.nodes.len();
        let mut state = init.clone();
        for i in 0..rounds {
            let i = self.k.int(i);
            state = self.inside(fx, body, &[Val::Scalar(i), state], cx.ctx, Run::Step(i))?;
            if self.k.nodes.len() - before > MOST_NODES {
                return Ok(None);
            }
        }
        Ok(Some(state))
    }

    /// A loop whose state is scalars, as part of a kernel's program. Integers that do not begin below zero, and that the condition bounds, are assumed to stay so; if that does not follow
    /// for the next round, the loop is built again without.
    fn loop_inside(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, limit: Option<Node>, init: &Val) -> Res<Val> {
        let leaves = init.scalars()?;
        let mark = self.mark();
        let mut natural = match limit {
            Some(_) => Vec::new(),
            None => self.bounded_variables(fx, cx, init)?,
        };
        self.back_to(mark.clone());
        let built = loop {
            let built = self.rounds_inside(fx, cx, limit, init, &natural)?;
            let vars: Vec<Node> = natural.iter().map(|k| built.vars[*k]).collect();
            for v in &vars {
                let most = self.most_said(*v, built.inside);
                self.natural.insert(*v, most);
            }
            let stay = |k: &usize| self.range_of(built.next[*k]).0 >= 0;
            let kept: Vec<usize> = natural.iter().copied().filter(stay).collect();
            self.natural.extend(vars.iter().map(|v| (*v, INTS.1)));
            if kept.len() == natural.len() {
                break built;
            }
            self.natural.retain(|v, _| !vars.contains(v));
            natural = kept;
            self.back_to(mark.clone());
        };
        let Rounds { rounds, cond, inside, counter, mut next, .. } = built;
        let mut first = leaves.clone();
        let fails = self.pending.iter().any(|n| self.k.encloses(rounds, self.k.space_of(*n)));
        // Nodes that the next state computes anyway need no loop of their own.
        let mut made = BTreeSet::new();
        let each_round = |n: &Node| [rounds, inside].contains(&self.k.space_of(*n));
        next.iter().chain([&cond]).copied().filter(each_round).for_each(|n| self.k.note_computed(n, &mut made));
        self.pending.retain(|n| !made.contains(n));
        let checks = self.checks_within(rounds, inside);
        // Rounds without a limit are counted only for error reports.
        if limit.is_some() || fails {
            let (zero, one) = (self.k.int(0), self.k.int(1));
            first.push(zero);
            next.push(self.add(counter, one));
        }
        let ty = self.k.ty(first[0]);
        let op = kernel::Op::Loop { space: rounds, init: first, cond, inside, next, checks };
        let group = self.k.intern(op, ty, cx.ctx);
        let parts: Vec<Node> = (0..leaves.len()).map(|k| self.k.part(group, k as u32)).collect();
        let result = init.with_leaves(&mut parts.into_iter())?;
        if cx.ctx != ROOT {
            if fails {
                // Whether it is used or not.
                self.pending.insert(self.k.part(group, 0));
            }
            return Ok(result);
        }
        // Computed once, not at each use.
        let name = self.name.clone();
        let rep = self.store(&result, ROOT, &name)?;
        let zero = self.k.int(0);
        Ok(self.kept_at(&rep, zero, ROOT))
    }

    /// The integers in the state of a loop that do not begin below zero, and for which the condition has an upper bound.
    fn bounded_variables(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, init: &Val) -> Res<Vec<usize>> {
        let leaves = init.scalars()?;
        let is_natural = |k: &usize| self.k.ty(leaves[*k]) == ScalarType::I64 && self.range_of(leaves[*k]).0 >= 0;
        let natural: Vec<usize> = (0..leaves.len()).filter(is_natural).collect();
        if natural.is_empty() {
            return Ok(natural);
        }
        let (rounds, vars, state) = self.loop_state(cx.ctx, init)?;
        let counter = self.k.var(rounds, leaves.len() as u32, ScalarType::I64);
        let cond = self.inside(fx, cx.inst.bodies[0], &[state], rounds, Run::Step(counter))?.scalar()?;
        let inside = self.k.guard(rounds, cond, true);
        Ok(natural.into_iter().filter(|k| self.most_said(vars[*k], inside) < INTS.1).collect())
    }

    /// The space and the variables of a loop.
    fn loop_state(&mut self, ctx: Space, init: &Val) -> Res<(Space, Vec<Node>, Val)> {
        let rounds = self.k.new_loop(ctx);
        let leaves = init.scalars()?;
        let vars: Vec<Node> =
            leaves.iter().enumerate().map(|(k, n)| self.k.var(rounds, k as u32, self.k.ty(*n))).collect();
        let state = init.with_leaves(&mut vars.iter().copied())?;
        Ok((rounds, vars, state))
    }

    /// The condition and a round of such a loop, with some of its variables known not to be below zero.
    fn rounds_inside(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        limit: Option<Node>,
        init: &Val,
        natural: &[usize],
    ) -> Res<Rounds> {
        let (rounds, vars, state) = self.loop_state(cx.ctx, init)?;
        self.natural.extend(natural.iter().map(|k| (vars[*k], INTS.1)));
        let counter = self.k.var(rounds, vars.len() as u32, ScalarType::I64);
        let run = Run::Step(counter);
        if let Some(limit) = limit {
            self.counters.insert(counter, Counter { most: self.range_of(limit).1.max(0), limit });
        }
        let cond = match limit {
            Some(n) => self.lt(counter, n),
            None => self.inside(fx, cx.inst.bodies[0], std::slice::from_ref(&state), rounds, run)?.scalar()?,
        };
        // A condition that does not depend on the state is of an outer space; the guard is not.
        let inside = self.k.guard(rounds, cond, true);
        let next = match limit {
            Some(_) => self.inside(fx, cx.inst.bodies[0], &[Val::Scalar(counter), state], inside, run)?,
            None => self.inside(fx, cx.inst.bodies[1], &[state], inside, run)?,
        };
        Ok(Rounds { rounds, vars, cond, inside, counter, next: next.scalars()? })
    }

    /// The checks made in the rounds of a loop, or in a function, as nodes of it: those in spaces further in as a fold.
    pub(super) fn checks_within(&mut self, rounds: Space, inside: Space) -> Vec<Node> {
        let mine: Vec<Node> =
            self.pending.iter().copied().filter(|n| self.k.encloses(rounds, self.k.space_of(*n))).collect();
        let mut checks = Vec::new();
        for n in mine {
            self.pending.remove(&n);
            let space = self.k.space_of(n);
            if space == rounds || space == inside {
                checks.push(n);
            } else if self.k.encloses(inside, space) {
                let off = self.k.constant(Scalar::Bool(false));
                let flag = self.k.cast(ScalarType::Bool, n);
                let spec =
                    FoldSpec { init: Some(vec![off]), elems: vec![flag], combine: Combine::Ops(vec![BinOp::Or]) };
                let all = self.k.fold(space, spec, inside);
                checks.push(self.k.part(all, 0));
            }
        }
        checks
    }

    pub(super) fn call(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, func: Func) -> Res<Val> {
        let callee: &'p Function = &self.program.funcs[func.index()];
        if self.depth >= MAX_CALLS {
            let message = format!("calls are nested more than {MAX_CALLS} deep here");
            let d = Diagnostic::new(Code::Unsupported, message, cx.span, "this call");
            return Err(Stuck::Limit(Box::new(d)));
        }
        let args: Vec<Val> = cx.inst.args.iter().map(|a| self.get(fx, *a)).collect::<Res<_>>()?;
        let mut inner = self.frame(func, callee);
        inner.typed = Some(self.typed_sizes(fx, cx, callee)?);
        for (p, arg) in callee.params().iter().zip(args) {
            inner.env[p.index()] = Some(self.decide_argument(&inner, *p, arg, cx.ctx)?);
        }
        self.depth += 1;
        let checked = self.check_arguments(&mut inner, cx);
        let result = checked.and_then(|()| self.body(&mut inner, Function::ROOT, cx.ctx));
        self.depth -= 1;
        result
    }
}

/// Whether a body operates on arrays, and so may be worth separate kernels.
fn has_arrays(function: &Function, body: Body) -> bool {
    let data = function.body(body);
    data.stmts.iter().any(|v: &Var| {
        !function.ty(*v).is_flat()
            || function.inst(*v).is_some_and(|i| {
                matches!(i.op, Op::Call(_))
                    || i.args.iter().any(|a| !function.ty(*a).is_flat() && !matches!(i.op, Op::Index | Op::Length))
                    || i.bodies.iter().any(|b| has_arrays(function, *b))
            })
    }) || !function.ty(data.result).is_flat()
}
