//! Control flow of the host: branches that contain kernels, and loops around them.
//!
//! The host runs a loop whose state holds arrays, or whose rounds need kernels. At the root nothing else is needed. In a nested context the loop runs at all points at
//! once: while any point continues, the rounds of the active points are computed together, and the others keep their state.

use super::names::StateNames;
use super::permute::has_equal_rows;
use super::value::{Arr, Val};
use super::{Cx, Flattener, Frame, Res, Run, Stuck, as_array, bug, elem_of, parts_of};
use deckle_ir::array::{BinOp, Direction, ScanKind};
use deckle_ir::entity::Body;
use deckle_ir::kernel::{Buf, Combine, Fault, FoldSpec, Node, ROOT, Rep, Rows, Sink, Space, Step, Stream};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use std::rc::Rc;

/// Which rows are treated as equal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// Those that are equal.
    Natural,
    /// Those that are equal by the type.
    Typed,
    /// None.
    Ragged,
}

/// Whether there is another round, from the state, the number of the round, and the context.
type Test<'a, 'p> = dyn FnMut(&mut Flattener<'p>, &Val, Node, Space) -> Res<Node> + 'a;
/// The next state.
type Round<'a, 'p> = dyn FnMut(&mut Flattener<'p>, &Val, Node, Space) -> Res<Val> + 'a;

impl<'p> Flattener<'p> {
    pub(super) fn if_on_host(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, cond: Node, yes: Body, no: Body) -> Res<Val> {
        self.flush()?;
        let variable = self.variable(cx.ty, 0, false)?;
        let one = self.k.int(1);
        self.in_memory(&variable, one);
        let mut branch = |f: &mut Self, body: Body| {
            let made = f.in_block(|f| {
                let val = f.body(fx, body, ROOT)?;
                f.assign(&variable, &val, cx.ty, ROOT)?;
                f.flush()
            });
            made.map(|((), steps)| steps)
        };
        let (yes, no) = (branch(self, yes)?, branch(self, no)?);
        self.step(Step::If(cond, yes, no));
        let zero = self.k.int(0);
        Ok(self.kept_at(&variable, zero, ROOT))
    }

    /// A loop of the host: at the root, or at all points of a context at once. A stream has chunks of the size in `chunk`.
    pub(super) fn rounds(
        &mut self,
        ctx: Space,
        init: &Val,
        (ty, names): (&Type, &StateNames),
        chunk: Option<Buf>,
        test: &mut Test<'_, 'p>,
        round: &mut Round<'_, 'p>,
    ) -> Res<Val> {
        if !self.on_host(ctx) {
            return Err(Stuck::InLoop);
        }
        self.flush()?;
        let lifted = ctx != ROOT;
        let variable = self.variable(ty, 0, lifted)?;
        self.name_state(&variable, names);
        self.assign(&variable, init, ty, ctx)?;
        let (zero, one) = (self.k.int(0), self.k.int(1));
        if lifted {
            self.note_memory(&variable, None);
        } else {
            self.in_memory(&variable, one);
        }
        let counter = self.k.buf(ScalarType::I64, "the number of rounds");
        self.set(counter, zero)?;
        let number = self.number(ctx)?;
        let active = self.k.buf(ScalarType::Bool, "the list of points that go on");
        if lifted {
            let yes = self.k.constant(Scalar::Bool(true));
            self.write_all(active, yes, ctx)?;
        }
        let going = self.k.load(active, number, ctx);
        let around = if lifted { self.k.guard(ctx, going, true) } else { ctx };

        if let Some(chunk) = chunk {
            let mut stream = Stream::new(chunk);
            stream.state = self.k.rep_bufs(&variable);
            stream.state.insert(counter);
            self.stream = Some(stream);
        }
        let i = self.k.load(counter, zero, ROOT);
        let state = self.kept_at(&variable, number, around);
        let (cond, test) = self.in_block(|f| {
            let cond = test(f, &state, i, around)?;
            f.flush()?;
            if !lifted {
                return Ok(cond);
            }
            let off = f.k.constant(Scalar::Bool(false));
            let still = f.branch(ctx, going, true, &[cond], &[off])[0];
            let next = f.k.buf(ScalarType::Bool, "the list of points that go on");
            f.write_all(next, still, ctx)?;
            f.step(Step::Bind(vec![(active, next)]));
            // Any of them: without the guard at the end of the context, whose other points are never active.
            let spec = FoldSpec { init: Some(vec![off]), elems: vec![going], combine: Combine::Ops(vec![BinOp::Or]) };
            Ok(f.fold(ctx, spec, ROOT, &[0])?[0])
        })?;
        let ((), body) = self.in_block(|f| {
            let state = f.kept_at(&variable, number, around);
            let mut next = round(f, &state, i, around)?;
            if lifted {
                let old = f.kept_at(&variable, number, ctx);
                next = f.merge(going, &next, &old, ctx)?;
            }
            f.assign(&variable, &next, ty, ctx)?;
            let after = f.add(i, one);
            f.set(counter, after)
        })?;
        let stream = if chunk.is_some() { self.stream.take() } else { None };
        self.step(Step::While { test, cond, body, stream });
        Ok(self.kept_at(&variable, number, ctx))
    }

    /// Sets a buffer of one number.
    fn set(&mut self, buf: Buf, value: Node) -> Res<()> {
        let new = self.store(&Val::Scalar(value), ROOT, "the number of rounds")?;
        self.step(Step::Bind(vec![(buf, scalar_buf(&new)?)]));
        Ok(())
    }

    /// Fills a buffer with a value for each point of a context. Points that the guards at its end exclude get zero.
    fn write_all(&mut self, buf: Buf, value: Node, ctx: Space) -> Res<()> {
        let (points, value) = self.unguarded(ctx, value)?;
        let new = self.store(&Val::Scalar(value), points, "the list of points that go on")?;
        self.step(Step::Bind(vec![(buf, scalar_buf(&new)?)]));
        Ok(())
    }

    /// New buffers for values of a type. Sizes of outermost arrays are numbers; inner ones are equal if they are by the type. In a nested context all
    /// arrays have offsets.
    fn variable(&mut self, ty: &Type, nested: u32, ragged: bool) -> Res<Rep> {
        Ok(match ty {
            Type::Scalar(s) => Rep::Scalar(self.k.buf(*s, self.name.clone())),
            Type::Array(_) | Type::Seq(_) => {
                let rows = if !ragged && is_equal(ty, nested) {
                    let size = self.k.buf(ScalarType::I64, format!("the size of {}", self.name));
                    let zero = self.k.int(0);
                    Rows::Equal(self.k.load(size, zero, ROOT))
                } else {
                    Rows::Offsets(self.k.buf(ScalarType::I64, format!("the list of offsets of {}", self.name)))
                };
                let elem = self.variable(elem_of(ty)?, nested + 1, ragged)?;
                Rep::Array(rows, Box::new(elem))
            }
            _ => {
                let parts = parts_of(ty)?.into_iter().map(|t| self.variable(t, nested, ragged));
                Rep::Tuple(parts.collect::<Res<_>>()?)
            }
        })
    }

    /// Assigns a value to the buffers of a variable.
    fn assign(&mut self, variable: &Rep, val: &Val, ty: &Type, ctx: Space) -> Res<()> {
        let mut sinks = Vec::new();
        let shape = if ctx == ROOT { Shape::Typed } else { Shape::Ragged };
        let rep = self.store_shaped(val, (ty, Some(variable)), ctx, 0, shape, &mut sinks)?;
        let mut pairs = Vec::new();
        self.pair(variable, &rep, &mut pairs, &mut sinks)?;
        if !sinks.is_empty() {
            let name = self.name.clone();
            self.run(&name, sinks);
        }
        // Pending checks are about the old values.
        self.flush()?;
        self.step(Step::Bind(pairs));
        Ok(())
    }

    fn pair(&mut self, to: &Rep, from: &Rep, pairs: &mut Vec<(Buf, Buf)>, sinks: &mut Vec<Sink>) -> Res<()> {
        match (to, from) {
            (Rep::Scalar(a), Rep::Scalar(b)) => pairs.push((*a, *b)),
            (Rep::Tuple(a), Rep::Tuple(b)) => {
                for (x, y) in a.iter().zip(b) {
                    self.pair(x, y, pairs, sinks)?;
                }
            }
            (Rep::Array(p, a), Rep::Array(q, b)) => {
                match (p, q) {
                    (Rows::Equal(n), Rows::Equal(m)) => {
                        let deckle_ir::kernel::Op::Load(size, _) = self.k.node(*n).op else {
                            return Err(bug("the size of a variable is no buffer"));
                        };
                        let (zero, one) = (self.k.int(0), self.k.int(1));
                        let name = self.k.bufs[size.index()].name.clone();
                        let new = self.alloc(ScalarType::I64, &name, one);
                        sinks.push(Sink::Write { space: ROOT, buf: new, at: zero, value: *m });
                        pairs.push((size, new));
                    }
                    (Rows::Offsets(x), Rows::Offsets(y)) => pairs.push((*x, *y)),
                    _ => return Err(bug("rows of a variable are equal, and those of its value are not")),
                }
                self.pair(a, b, pairs, sinks)?;
            }
            _ => return Err(bug("a variable and its value lie in different ways")),
        }
        Ok(())
    }

    /// The result of a program: a value in buffers, with equal rows wherever they are, whatever its type knows.
    pub(super) fn store_result(&mut self, val: &Val, ty: &Type) -> Res<Rep> {
        let mut sinks = Vec::new();
        let rep = self.store_shaped(val, (ty, None), ROOT, 0, Shape::Natural, &mut sinks)?;
        if !sinks.is_empty() {
            self.run("the result", sinks);
        }
        Ok(rep)
    }

    /// A value in buffers, which have the names of the variable's.
    fn store_shaped(
        &mut self,
        val: &Val,
        (ty, like): (&Type, Option<&Rep>),
        ctx: Space,
        nested: u32,
        shape: Shape,
        sinks: &mut Vec<Sink>,
    ) -> Res<Rep> {
        match val {
            Val::Scalar(n) => {
                // A scalar in memory need not be copied.
                if let (ROOT, deckle_ir::kernel::Op::Load(buf, at)) = (ctx, &self.k.node(*n).op)
                    && self.k.as_int(*at) == Some(0)
                    && nested == 0
                {
                    return Ok(Rep::Scalar(*buf));
                }
                if let Some(buf) = self.stored_already(*n, ctx).filter(|_| nested > 0) {
                    return Ok(Rep::Scalar(buf));
                }
                let at = self.number(ctx)?;
                let len = self.count(ctx)?;
                let name = match like {
                    Some(Rep::Scalar(b)) => self.k.bufs[b.index()].name.clone(),
                    _ => self.name.clone(),
                };
                let buf = self.alloc(self.k.ty(*n), &name, len);
                sinks.push(Sink::Write { space: ctx, buf, at, value: *n });
                Ok(Rep::Scalar(buf))
            }
            Val::Tuple(parts) => {
                let tys = parts_of(ty)?;
                let mut reps = Vec::new();
                for (k, (part, ty)) in parts.iter().zip(tys).enumerate() {
                    let like = if let Some(Rep::Tuple(all)) = like { all.get(k) } else { None };
                    reps.push(self.store_shaped(part, (ty, like), ctx, nested, shape, sinks)?);
                }
                Ok(Rep::Tuple(reps))
            }
            Val::Array(arr) => {
                let arr = self.indexed(arr)?;
                if let Some(rep) = self.as_it_lies(&arr, ty, ctx, nested, shape) {
                    return Ok(rep);
                }
                let walk = self.walk(&arr, ctx)?;
                let size = self.dim_size(walk.inner)?;
                let elem_ty = elem_of(ty)?;
                let equal = match shape {
                    Shape::Natural => self.k.space_of(size) == ROOT,
                    Shape::Typed => is_equal(ty, nested),
                    Shape::Ragged => false,
                };
                let (dim, elem, rows) = match (self.k.space_of(size) == ROOT, equal) {
                    (true, true) => (walk.inner, walk.elem, Rows::Equal(size)),
                    (_, false) => (walk.inner, walk.elem, Rows::Offsets(self.offsets_of_any(walk.inner)?)),
                    (false, true) => {
                        // Equal by the type: the maximum is that of all.
                        let zero = self.k.int(0);
                        let combine = Combine::Ops(vec![BinOp::Max]);
                        let spec = FoldSpec { init: Some(vec![zero]), elems: vec![size], combine };
                        let all = self.fold(ctx, spec, ROOT, &[0])?[0];
                        let dim = self.k.dim(ctx, all);
                        let elem = self.move_to(&walk.elem, &[(walk.inner, dim)]);
                        (dim, elem, Rows::Equal(all))
                    }
                };
                let like = if let Some(Rep::Array(_, elem)) = like { Some(&**elem) } else { None };
                let elem = self.store_shaped(&elem, (elem_ty, like), dim, nested + 1, shape, sinks)?;
                Ok(Rep::Array(rows, Box::new(elem)))
            }
        }
    }

    /// An array that is in memory in the required form: it need not be copied.
    fn as_it_lies(&self, arr: &Rc<Arr>, ty: &Type, ctx: Space, nested: u32, shape: Shape) -> Option<Rep> {
        let Arr::Kept { size, base, rep } = &**arr else { return None };
        let fits = ctx == ROOT && nested == 0 && self.k.as_int(*base) == Some(0);
        let elem = ty.elem()?;
        let shaped = match shape {
            Shape::Natural => true,
            Shape::Typed => shaped_like(rep, elem, 1),
            Shape::Ragged => false,
        };
        (fits && shaped && self.k.space_of(*size) == ROOT)
            .then(|| Rep::Array(Rows::Equal(*size), Box::new((**rep).clone())))
    }

    /// A fold of a non-scalar type: one element after another.
    pub(super) fn fold_in_steps(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        init: Option<Val>,
        arr: &Rc<Arr>,
    ) -> Res<Val> {
        let arr = self.random(arr)?;
        let n = self.size(&arr, cx.ctx)?;
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let (init, first) = match init {
            Some(z) => (z, zero),
            None => {
                let some = self.lt(zero, n);
                let at = self.check(some, zero, Fault::Empty("fold1".into()), cx.span, &[], cx.ctx);
                self.flush()?;
                (self.at(&arr, at, cx.ctx)?, one)
            }
        };
        let body = cx.inst.bodies[0];
        self.rounds(
            cx.ctx,
            &init,
            (cx.ty, &StateNames::NONE),
            None,
            &mut |f, _, i, _| {
                let at = f.add(i, first);
                Ok(f.lt(at, n))
            },
            &mut |f, state, i, ctx| {
                let at = f.add(i, first);
                let x = f.at(&arr, at, ctx)?;
                f.inside(fx, body, &[state.clone(), x], ctx, Run::Element(Some(at)))
            },
        )
    }

    /// A scan of a non-scalar type.
    pub(super) fn scan_in_steps(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        init: Option<Val>,
        arr: &Rc<Arr>,
        direction: Direction,
        kind: ScanKind,
    ) -> Res<Val> {
        let arr = self.random(arr)?;
        let n = self.size(&arr, cx.ctx)?;
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let right = direction == Direction::Right;
        let elem_ty = elem_of(cx.ty)?.clone();
        if cx.ctx == ROOT && has_equal_rows(&elem_ty, 1) {
            return self.scan_into_place(fx, cx, init, &arr, right, kind);
        }
        // The state: the combination so far, and all partial results, the latest last.
        let none = Val::array(Arr::Kept { size: zero, base: zero, rep: Rc::new(self.none_of(&elem_ty)?) });
        let single = |f: &mut Self, v: &Val, ctx: Space| f.body_array(one, ctx, &mut |f, _, d| f.lower_into(v, d));
        let at_of = move |f: &mut Self, i: Node| {
            if right {
                let last = f.sub(n, one);
                f.sub(last, i)
            } else {
                i
            }
        };
        let (start, done, first) = match (&init, kind) {
            (Some(z), ScanKind::Inclusive) => (z.clone(), none, zero),
            (Some(z), _) => (z.clone(), single(self, z, cx.ctx)?, zero),
            (None, _) => {
                // Without a start the first element is the start; an empty array has no result.
                let some = self.lt(zero, n);
                let at = at_of(self, zero);
                let arr2 = Rc::clone(&arr);
                let some_val = self.either(
                    some,
                    cx.ctx,
                    &mut |f, ctx| {
                        let x = f.at(&arr2, at, ctx)?;
                        let all = single(f, &x, ctx)?;
                        Ok(Val::tuple(vec![all]))
                    },
                    &mut |_, _| Ok(Val::tuple(vec![none.clone()])),
                )?;
                let done = some_val.parts()?[0].clone();
                // The state must exist even if nothing is combined: an empty element stands in.
                let empty = self.empty_of(&elem_ty)?;
                let first_val =
                    self.either(some, cx.ctx, &mut |f, ctx| f.at(&arr2, at, ctx), &mut |_, _| Ok(empty.clone()))?;
                (first_val, done, one)
            }
        };
        let stop = if kind == ScanKind::Exclusive { self.sub(n, one) } else { n };
        let ty = Type::tuple(vec![elem_ty.clone(), Type::seq(elem_ty)]);
        let body = cx.inst.bodies[0];
        let init = Val::tuple(vec![start, done]);
        let result = self.rounds(
            cx.ctx,
            &init,
            (&ty, &StateNames::NONE),
            None,
            &mut |f, _, i, _| {
                let at = f.add(i, first);
                Ok(f.lt(at, stop))
            },
            &mut |f, state, i, ctx| {
                let parts = state.parts()?;
                let i = f.add(i, first);
                let at = at_of(f, i);
                let x = f.at(&arr, at, ctx)?;
                let args = if right { [x, parts[0].clone()] } else { [parts[0].clone(), x] };
                let next = f.inside(fx, body, &args, ctx, Run::Element(Some(at)))?;
                let next = f.keep_val(&next, ctx)?;
                let (old, new) = (as_array(&parts[1])?, as_array(&single(f, &next, ctx)?)?);
                let all = f.two(&old, &new, ctx)?;
                Ok(Val::tuple(vec![next, all]))
            },
        )?;
        let parts = result.parts()?;
        let mut all = as_array(&parts[1])?;
        if kind == ScanKind::Exclusive {
            // For an empty array, not even the start.
            let size = self.size(&all, cx.ctx)?;
            let size = self.min(size, n);
            all = as_array(&self.part_of(&all, zero, size, cx.ctx)?)?;
        }
        if right { self.reversed(&all, cx.ctx) } else { Ok(Val::Array(all)) }
    }

    /// A scan of values whose rows all have the same size: the places of partial results are known in advance.
    fn scan_into_place(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        init: Option<Val>,
        arr: &Rc<Arr>,
        right: bool,
        kind: ScanKind,
    ) -> Res<Val> {
        let n = self.size(arr, ROOT)?;
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let elem_ty = elem_of(cx.ty)?.clone();
        let at_of = move |f: &mut Self, i: Node| {
            let last = f.sub(n, one);
            if right { f.sub(last, i) } else { i }
        };
        let start = match &init {
            Some(z) => z.clone(),
            None => {
                let (some, at, empty) = (self.lt(zero, n), at_of(self, zero), self.empty_of(&elem_ty)?);
                self.either(some, ROOT, &mut |f, ctx| f.at(arr, at, ctx), &mut |_, _| Ok(empty.clone()))?
            }
        };
        let start = self.keep_val(&start, ROOT)?;
        let (first, skip, count) = match (&init, kind) {
            (Some(_), ScanKind::Inclusive) => (zero, zero, n),
            (Some(_), ScanKind::Exclusive) => (zero, one, n),
            (Some(_), _) => (zero, one, self.add(n, one)),
            (None, _) => (one, zero, n),
        };
        let stop = if kind == ScanKind::Exclusive { self.sub(n, one) } else { n };
        let done = self.body_array(count, ROOT, &mut |f, _, dim| f.lower_into(&start, dim))?;
        let ty = Type::tuple(vec![elem_ty.clone(), cx.ty.clone()]);
        let body = cx.inst.bodies[0];
        let result = self.rounds(
            ROOT,
            &Val::tuple(vec![start, done]),
            (&ty, &StateNames::NONE),
            None,
            &mut |f, _, i, _| {
                let at = f.add(i, first);
                Ok(f.lt(at, stop))
            },
            &mut |f, state, i, ctx| {
                let parts = state.parts()?;
                let i = f.add(i, first);
                let at = at_of(f, i);
                let x = f.at(arr, at, ctx)?;
                let args = if right { [x, parts[0].clone()] } else { [parts[0].clone(), x] };
                let next = f.inside(fx, body, &args, ctx, Run::Element(Some(at)))?;
                let next = f.keep_val(&next, ctx)?;
                let place = f.add(i, skip);
                let all = f.with_row(cx, &parts[1], place, &next)?;
                Ok(Val::tuple(vec![next, all]))
            },
        )?;
        let parts = result.parts()?;
        let all = as_array(&parts[1])?;
        if right { self.reversed(&all, ROOT) } else { Ok(Val::Array(all)) }
    }

    /// A value without elements of a type.
    fn empty_of(&mut self, ty: &Type) -> Res<Val> {
        Ok(match ty {
            Type::Scalar(s) => Val::Scalar(self.k.constant(Scalar::zero(*s))),
            Type::Array(_) | Type::Seq(_) => {
                let zero = self.k.int(0);
                let rep = self.none_of(elem_of(ty)?)?;
                Val::array(Arr::Kept { size: zero, base: zero, rep: Rc::new(rep) })
            }
            _ => Val::tuple(parts_of(ty)?.into_iter().map(|t| self.empty_of(t)).collect::<Res<_>>()?),
        })
    }
}

/// The buffer of scalars.
fn scalar_buf(rep: &Rep) -> Res<Buf> {
    match rep {
        Rep::Scalar(b) => Ok(*b),
        _ => Err(bug("a scalar that does not lie in one buffer")),
    }
}

/// Whether all arrays of a type at this depth have the same size.
pub(super) fn is_equal(ty: &Type, nested: u32) -> bool {
    match ty {
        Type::Array(a) => !a.size.varies(nested),
        _ => nested == 0,
    }
}

/// Whether a representation has equal rows where a type has.
fn shaped_like(rep: &Rep, ty: &Type, nested: u32) -> bool {
    match rep {
        Rep::Scalar(_) => true,
        Rep::Tuple(parts) => {
            let tys = ty.parts().unwrap_or_default();
            parts.len() == tys.len() && parts.iter().zip(tys).all(|(r, t)| shaped_like(r, t, nested))
        }
        Rep::Array(rows, elem) => {
            matches!(rows, Rows::Equal(_)) == is_equal(ty, nested)
                && ty.elem().is_some_and(|t| shaped_like(elem, t, nested + 1))
        }
    }
}
