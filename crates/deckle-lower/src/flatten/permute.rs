//! `permute` and `scatter`: values that are stored at given places of an array.
//!
//! A sink stores scalars, and rows that all have the same size, into a copy of the target; the copy is omitted if the old target has no
//! other use. If rows of different sizes are scattered, each place first gets the number of its last source, which is a scatter of numbers, and
//! the result is then assembled from old and new rows. All of this is linear in the number of elements written. Only rows that a function *combines* are processed
//! one after another.

use super::lift::is_equal;
use super::names::StateNames;
use super::value::{Arr, Val, Walk};
use super::{Cx, Flattener, Frame, Res, Run, Stuck, as_array, bug};
use deckle_ir::array::{Function, Op};
use deckle_ir::entity::Var;
use deckle_ir::kernel::{self, Buf, Combine, Fault, Node, ROOT, Region, Rep, Rows, Sink, Space};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use std::rc::Rc;

/// The place of an element of a target: the representation of elements, the index of this one, and their number.
struct Place {
    elem: Rep,
    at: Node,
    len: Node,
}

impl<'p> Flattener<'p> {
    pub(super) fn permute(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let into = self.get(fx, cx.inst.args[0])?;
        let arrays: Vec<Rc<Arr>> = cx.inst.args[1..].iter().map(|a| self.array(fx, *a)).collect::<Res<_>>()?;
        let mut walk = self.walk_all(&arrays, Some(1), cx.span, cx.ctx)?;
        if self.could_be_in_place(fx, cx, &into) && self.reads(&walk, cx.ctx, &into)? {
            let all = as_array(&self.walked(cx.ctx, walk))?;
            let all = self.keep(&all, cx.ctx)?;
            walk = self.walk(&all, cx.ctx)?;
        }
        let parts = Rc::clone(walk.elem.parts()?);
        let targets = parts[0].scalars()?;
        let elem_ty = (0..targets.len()).try_fold(cx.ty, |t, _| t.elem());
        let flat = elem_ty.is_some_and(super::fold::is_scalars) && !parts[1].has_array();
        let scatter = matches!(cx.inst.op, Op::Scatter);
        let key = (fx.func, cx.v);
        if !(flat || scatter) || !self.on_host(cx.ctx) || self.lifted.contains(&key) {
            return self.permute_in_steps(fx, cx, &into, &parts, walk.inner);
        }
        let mark = self.mark();
        let done = match elem_ty {
            Some(ty) if !flat => self.scatter_rows(cx, &into, ty, &walk),
            _ => self.permute_scalars(fx, cx, &into, &parts, &walk),
        };
        match done {
            Err(Stuck::InLoop) => {
                self.back_to(mark);
                self.lifted.insert(key);
                self.permute_in_steps(fx, cx, &into, &parts, walk.inner)
            }
            other => other,
        }
    }

    /// Whether a target has no other use after this, and memory of its own that the elements can be stored to. If they are computed from other elements of the target, they
    /// are stored first: as many as there are points, where a copy of the target would cost as much as all of its elements. So a search whose frontier is small
    /// costs what its frontier does.
    fn could_be_in_place(&self, fx: &Frame<'p>, cx: &Cx<'p>, into: &Val) -> bool {
        let Val::Array(arr) = into else { return false };
        let Arr::Kept { rep, .. } = &**arr else { return false };
        let own = leaf_bufs(rep);
        let is_argument = self.k.params.iter().any(|p| leaf_bufs(p).iter().any(|b| own.contains(b)));
        cx.ctx == ROOT && self.options.fuse && !is_argument && is_last_use(fx.function, cx.v, cx.inst.args[0])
    }

    /// Whether a traversal loads elements of an array in memory.
    fn reads(&self, walk: &Walk, ctx: Space, into: &Val) -> Res<bool> {
        let Some(mut roots) = walk.elem.leaves() else { return Ok(false) };
        for space in self.k.between(ctx, walk.inner) {
            match self.k.space(space).region {
                Region::Guard(n, _) | Region::Dim(n) => roots.push(n),
                _ => {}
            }
        }
        let into = as_array(into)?;
        let Arr::Kept { rep, .. } = &*into else { return Ok(false) };
        let own = leaf_bufs(rep);
        let loads = |n: &Node| {
            matches!(self.k.node(*n).op, kernel::Op::Load(b, _) if own.contains(&b)) && self.k.space_of(*n) != ROOT
        };
        Ok(self.k.needs_to_run(&roots).iter().any(loads))
    }

    /// The points of a traversal that have a target.
    fn with_target(&mut self, parts: &[Val], inner: Space) -> Space {
        match parts.get(2) {
            Some(Val::Scalar(mask)) => self.k.guard(inner, *mask, true),
            _ => inner,
        }
    }

    /// The place of the element of an array, stored over the numbers of a context, that targets name at the points of a space.
    fn place_of(&mut self, cx: &Cx<'p>, rep: &Rep, targets: &[Node], inner: Space) -> Res<Place> {
        let number = self.number(cx.ctx)?;
        let mut dim = inner;
        while let Region::Guard(..) = self.k.space(dim).region {
            dim = self.k.space(dim).parent;
        }
        let position = self.position(cx.ctx, dim);
        let mut place = self.kept_at(rep, number, cx.ctx);
        let (mut elem, mut at, mut len) = (rep.clone(), number, self.count(cx.ctx)?);
        for t in targets {
            let arr = as_array(&place)?;
            let Arr::Kept { size, base, .. } = &*arr else { return Err(bug("a target is not in memory")) };
            self.turn(Run::Element(position), Some(cx.inst.op.info().name));
            let t = self.in_range(*t, *size, "target", cx.span, inner);
            self.turns.pop();
            at = self.add(*base, t);
            let Rep::Array(rows, below) = elem else { return Err(bug("a target has no elements")) };
            len = match rows {
                Rows::Equal(m) => self.mul(len, m),
                Rows::Offsets(b) => self.k.load(b, len, ROOT),
            };
            elem = *below;
            place = self.kept_at(&elem, at, inner);
        }
        Ok(Place { elem, at: self.k.index_even_so(at), len })
    }

    fn permute_scalars(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, into: &Val, parts: &[Val], walk: &Walk) -> Res<Val> {
        let space = self.with_target(parts, walk.inner);
        let targets = parts[0].scalars()?;
        // The target, copied to memory of its own.
        let name = self.name.clone();
        let rep = self.store(into, cx.ctx, &name)?;
        let Place { elem, at, len } = self.place_of(cx, &rep, &targets, space)?;
        let values = parts[1].scalars()?;
        let combine = match cx.inst.op {
            Op::Scatter => None,
            _ => {
                let old = self.kept_at(&elem, at, space);
                Some(self.combining_into(fx, cx, &parts[1], &old)?)
            }
        };
        let bufs = leaf_bufs(&elem);
        self.run(&name, vec![Sink::Scatter { space, bufs, at, len, within: cx.ctx, values, combine }]);
        let number = self.number(cx.ctx)?;
        Ok(self.kept_at(&rep, number, cx.ctx))
    }

    /// `scatter` of elements that hold arrays.
    fn scatter_rows(&mut self, cx: &Cx<'p>, into: &Val, elem_ty: &Type, walk: &Walk) -> Res<Val> {
        let parts = walk.elem.parts()?;
        let targets = parts[0].scalars()?;
        let name = self.name.clone();
        let rep = self.store(into, cx.ctx, &name)?;
        let number = self.number(cx.ctx)?;
        if has_equal_rows(elem_ty, targets.len() as u32) && is_regular(&rep) {
            let space = self.with_target(parts, walk.inner);
            let place = self.place_of(cx, &rep, &targets, space)?;
            let mut sinks = Vec::new();
            self.scatter_elements(cx, &parts[1], place, space, &mut sinks)?;
            self.run(&name, sinks);
            return Ok(self.kept_at(&rep, number, cx.ctx));
        }
        // Sources are numbered: those without positions are stored first.
        let all = as_array(&self.walked(cx.ctx, walk.clone()))?;
        let all = if self.position(cx.ctx, walk.inner).is_some() { all } else { self.keep(&all, cx.ctx)? };
        let all = self.random(&all)?;
        let sources = self.walk(&all, cx.ctx)?;
        let parts = sources.elem.parts()?;
        let pos = self.k.pos(sources.inner);
        let old = self.kept_at(&rep, number, cx.ctx);
        let none = self.k.int(-1);
        let winners = self.over(&old, targets.len(), cx.ctx, &mut |_, _, _, _| Ok(Val::Scalar(none)))?;
        let winners = self.store(&winners, cx.ctx, &name)?;
        let space = self.with_target(parts, sources.inner);
        let targets = parts[0].scalars()?;
        let Place { elem, at, len } = self.place_of(cx, &winners, &targets, space)?;
        let (bufs, values) = (leaf_bufs(&elem), vec![pos]);
        self.run(&name, vec![Sink::Scatter { space, bufs, at, len, within: cx.ctx, values, combine: None }]);
        let winners = self.kept_at(&winners, number, cx.ctx);
        self.over(&old, targets.len(), cx.ctx, &mut |f, old, path, ctx| {
            let mut winner = winners.clone();
            for t in path {
                winner = f.at(&as_array(&winner)?, *t, ctx)?;
            }
            let winner = winner.scalar()?;
            let zero = f.k.int(0);
            let is_new = f.ge(winner, zero);
            f.either(is_new, ctx, &mut |f, ctx| Ok(f.at(&all, winner, ctx)?.parts()?[1].clone()), &mut |_, _| {
                Ok(old.clone())
            })
        })
    }

    /// An array of the outer dimensions of another, with the result of `f` on the elements there and their positions.
    #[allow(clippy::type_complexity)]
    fn over(
        &mut self,
        val: &Val,
        dims: usize,
        ctx: Space,
        f: &mut dyn FnMut(&mut Self, &Val, &[Node], Space) -> Res<Val>,
    ) -> Res<Val> {
        self.over_path(val, dims, ctx, &mut Vec::new(), f)
    }

    #[allow(clippy::type_complexity)]
    fn over_path(
        &mut self,
        val: &Val,
        dims: usize,
        ctx: Space,
        path: &mut Vec<Node>,
        f: &mut dyn FnMut(&mut Self, &Val, &[Node], Space) -> Res<Val>,
    ) -> Res<Val> {
        if dims == 0 {
            return f(self, val, path, ctx);
        }
        let arr = as_array(val)?;
        let n = self.size(&arr, ctx)?;
        self.body_array(n, ctx, &mut |this, pos, dim| {
            let elem = this.at(&arr, pos, dim)?;
            path.push(pos);
            let made = this.over_path(&elem, dims - 1, dim, path, f);
            path.pop();
            made
        })
    }

    /// An array of the root, whose rows all have the same size, with one row replaced.
    pub(super) fn with_row(&mut self, cx: &Cx<'p>, val: &Val, at: Node, row: &Val) -> Res<Val> {
        let name = self.name.clone();
        let rep = self.store(val, ROOT, &name)?;
        let place = self.place_of(cx, &rep, &[at], ROOT)?;
        let mut sinks = Vec::new();
        self.scatter_elements(cx, row, place, ROOT, &mut sinks)?;
        self.run(&name, sinks);
        let zero = self.k.int(0);
        Ok(self.kept_at(&rep, zero, ROOT))
    }

    /// Sinks that store a value, with all elements of its rows, at its place.
    fn scatter_elements(
        &mut self,
        cx: &Cx<'p>,
        val: &Val,
        place: Place,
        space: Space,
        sinks: &mut Vec<Sink>,
    ) -> Res<()> {
        let Place { elem, at, len } = place;
        match (val, elem) {
            (Val::Scalar(n), Rep::Scalar(buf)) => {
                let (bufs, values) = (vec![buf], vec![*n]);
                sinks.push(Sink::Scatter { space, bufs, at, len, within: cx.ctx, values, combine: None });
                Ok(())
            }
            (Val::Tuple(vals), Rep::Tuple(reps)) => vals
                .iter()
                .zip(reps)
                .try_for_each(|(v, elem)| self.scatter_elements(cx, v, Place { elem, at, len }, space, sinks)),
            (Val::Array(arr), Rep::Array(Rows::Equal(m), below)) => {
                let arr = self.indexed(arr)?;
                let n = self.size(&arr, space)?;
                // True by the type; memory safety relies on it.
                let fits = self.eq(n, m);
                let n = self.check(fits, n, Fault::Lengths(1), cx.span, &[m, n], space);
                let dim = self.k.dim(space, n);
                let pos = self.k.pos(dim);
                let row = self.at(&arr, pos, dim)?;
                let start = self.mul(at, m);
                let place = Place { elem: *below, at: self.add(start, pos), len: self.mul(len, m) };
                self.scatter_elements(cx, &row, place, dim, sinks)
            }
            _ => Err(bug("a value and its place lie in different ways")),
        }
    }

    /// The function of a `permute`: its operands are the new and the old value.
    fn combining_into(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, new: &Val, old: &Val) -> Res<Combine> {
        let lambda = self.k.new_lambda(cx.ctx);
        let (news, olds) = (new.scalars()?, old.scalars()?);
        let vars: Vec<Node> =
            news.iter().chain(&olds).enumerate().map(|(k, n)| self.k.var(lambda, k as u32, self.k.ty(*n))).collect();
        let (first, second) = vars.split_at(news.len());
        let args = [new.with_leaves(&mut first.iter().copied())?, old.with_leaves(&mut second.iter().copied())?];
        let result = self.inside(fx, cx.inst.bodies[0], &args, lambda, Run::Element(None))?;
        let results = result.scalars()?;
        Ok(self.combine(lambda, (first, second), results))
    }

    /// `permute` of a non-scalar type, or inside a loop: one element after another.
    pub(super) fn permute_in_steps(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        into: &Val,
        parts: &Rc<[Val]>,
        inner: Space,
    ) -> Res<Val> {
        let zipped = Val::Tuple(Rc::clone(parts));
        let walk = Walk { inner, elem: zipped, linear: true };
        let all = as_array(&self.walked(cx.ctx, walk))?;
        let all = self.keep(&all, cx.ctx)?;
        let n = self.size(&all, cx.ctx)?;
        let scatter = matches!(cx.inst.op, Op::Scatter);
        let body = cx.inst.bodies.first().copied();
        let span = cx.span;
        self.rounds(
            cx.ctx,
            into,
            (cx.ty, &StateNames::NONE),
            None,
            &mut |f, _, i, _| Ok(f.lt(i, n)),
            &mut |f, state, i, ctx| {
                let source = f.at(&all, i, ctx)?;
                let parts = source.parts()?;
                let targets = parts[0].scalars()?;
                let mask = match parts.get(2) {
                    Some(Val::Scalar(m)) => *m,
                    _ => f.k.constant(Scalar::Bool(true)),
                };
                let mut at = Vec::new();
                let guarded = match f.k.as_const(mask) {
                    Some(_) => ctx,
                    None => f.k.guard(ctx, mask, true),
                };
                let mut place = state.clone();
                for t in &targets {
                    let arr = as_array(&place)?;
                    let size = f.size(&arr, ctx)?;
                    f.turn(Run::Element(Some(i)), Some(cx.inst.op.info().name));
                    let t = f.in_range(*t, size, "target", span, guarded);
                    f.turns.pop();
                    at.push(t);
                    place = f.at(&arr, t, guarded)?;
                }
                f.flush()?;
                let new = parts[1].clone();
                f.either(
                    mask,
                    ctx,
                    &mut |f, g| {
                        let at: Vec<Node> = at.clone();
                        let combined = match (scatter, body) {
                            (false, Some(body)) => {
                                let mut old = state.clone();
                                for t in &at {
                                    old = f.at(&as_array(&old)?, *t, g)?;
                                }
                                f.inside(fx, body, &[new.clone(), old], g, Run::Element(Some(i)))?
                            }
                            _ => new.clone(),
                        };
                        f.replaced(state, &at, &combined, g)
                    },
                    &mut |_, _| Ok(state.clone()),
                )
            },
        )
    }

    /// An array with one element replaced.
    fn replaced(&mut self, val: &Val, at: &[Node], new: &Val, ctx: Space) -> Res<Val> {
        let Some((t, rest)) = at.split_first() else { return Ok(new.clone()) };
        let arr = as_array(val)?;
        let n = self.size(&arr, ctx)?;
        self.body_array(n, ctx, &mut |f, pos, dim| {
            let here = f.eq(pos, *t);
            f.either(
                here,
                dim,
                &mut |f, g| {
                    let row = f.at(&arr, pos, g)?;
                    f.replaced(&row, rest, new, g)
                },
                &mut |f, g| f.at(&arr, pos, g),
            )
        })
    }
}

/// The buffers of elements.
fn leaf_bufs(rep: &Rep) -> Vec<Buf> {
    match rep {
        Rep::Scalar(b) => vec![*b],
        Rep::Tuple(parts) => parts.iter().flat_map(leaf_bufs).collect(),
        Rep::Array(_, elem) => leaf_bufs(elem),
    }
}

/// Whether all rows inside the elements of a type have the same size at each depth; `nested` dimensions are around them.
pub(super) fn has_equal_rows(ty: &Type, nested: u32) -> bool {
    match ty {
        Type::Scalar(_) => true,
        Type::Array(_) | Type::Seq(_) => {
            is_equal(ty, nested) && ty.elem().is_some_and(|t| has_equal_rows(t, nested + 1))
        }
        _ => ty.parts().unwrap_or_default().into_iter().all(|t| has_equal_rows(t, nested)),
    }
}

/// Whether no rows of a representation have offsets.
fn is_regular(rep: &Rep) -> bool {
    match rep {
        Rep::Scalar(_) => true,
        Rep::Tuple(parts) => parts.iter().all(is_regular),
        Rep::Array(rows, elem) => matches!(rows, Rows::Equal(_)) && is_regular(elem),
    }
}

/// Whether no statement after one of the same body uses a variable.
fn is_last_use(function: &Function, at: Var, v: Var) -> bool {
    let uses = |s: &Var| {
        let mut todo = vec![*s];
        while let Some(s) = todo.pop() {
            let Some(inst) = function.inst(s) else { continue };
            if inst.args.contains(&v) {
                return true;
            }
            for b in &inst.bodies {
                let body = function.body(*b);
                if body.result == v {
                    return true;
                }
                todo.extend(&body.stmts);
            }
        }
        false
    };
    function.bodies.iter().any(|b| {
        let Some(k) = b.stmts.iter().position(|s| *s == at) else { return false };
        b.result != v && !b.stmts[k + 1..].iter().any(uses)
    })
}
