//! Filters, expansions, and what is put elsewhere.

use super::value::{Arr, Val, Walk};
use super::{Cx, Flattener, Frame, Res, Stuck, as_array};
use deckle_ir::array::Op;
use deckle_ir::kernel::{Combine, Fault, Node, Rep, Rows, Sink, Space};
use std::rc::Rc;

impl<'p> Flattener<'p> {
    /// The elements for which the body gives `when`.
    pub(super) fn filter(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, when: bool) -> Res<Val> {
        let arr = self.array(fx, cx.inst.args[0]);
        let walk = self.walk(&arr, cx.ctx)?;
        let at = self.position(cx.ctx, walk.inner);
        let cond = self.inside(fx, cx.inst.bodies[0], std::slice::from_ref(&walk.elem), walk.inner, at)?;
        Ok(self.kept_where(walk, &cond, when, cx.ctx))
    }

    fn kept_where(&mut self, walk: Walk, cond: &Val, when: bool, ctx: Space) -> Val {
        let Val::Scalar(c) = cond else { return cond.clone() };
        let inner = self.k.guard(walk.inner, *c, when);
        Val::array(Arr::Chain { home: ctx, inner, elem: walk.elem, size: None, linear: walk.linear })
    }

    pub(super) fn partition(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        Ok(Val::tuple(vec![self.filter(fx, cx, true)?, self.filter(fx, cx, false)?]))
    }

    pub(super) fn compact(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arrays = [self.array(fx, cx.inst.args[0]), self.array(fx, cx.inst.args[1])];
        let walk = self.walk_all(&arrays, 0, cx.span, cx.ctx)?;
        let Val::Tuple(parts) = &walk.elem else { return Ok(walk.elem) };
        let (elem, flag) = (parts[0].clone(), parts[1].clone());
        Ok(self.kept_where(Walk { elem, ..walk }, &flag, true, cx.ctx))
    }

    pub(super) fn expand(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let mut arr = self.array(fx, cx.inst.args[0]);
        // Its elements are needed again wherever what they expand to is counted or divided.
        if !cx.ty.is_seq() && self.on_host(cx.ctx) {
            arr = self.random(&arr)?;
        }
        let walk = self.walk(&arr, cx.ctx)?;
        let at = self.position(cx.ctx, walk.inner);
        let n = self.inside(fx, cx.inst.bodies[0], std::slice::from_ref(&walk.elem), walk.inner, at)?;
        let Val::Scalar(n) = n else { return Ok(n) };
        let what = "the number of elements that an element expands to";
        let n = self.natural(n, what, cx.span, walk.inner);
        let dim = self.k.dim(walk.inner, n);
        let pos = self.k.pos(dim);
        let elem = self.inside(fx, cx.inst.bodies[1], &[walk.elem, Val::Scalar(pos)], dim, at)?;
        Ok(Val::array(Arr::Chain { home: cx.ctx, inner: dim, elem, size: None, linear: walk.linear }))
    }

    /// All rows one after another.
    pub(super) fn flatten_rows(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arr = self.array(fx, cx.inst.args[0]);
        if let Some(flat) = self.flat_in_memory(&arr, cx.ctx) {
            return Ok(flat);
        }
        let walk = self.walk(&arr, cx.ctx)?;
        let row = as_array(&walk.elem);
        let rows = self.walk(&row, walk.inner)?;
        let linear = walk.linear || rows.linear;
        let size = self.flat_size(&arr, &row, cx.ctx);
        Ok(Val::array(Arr::Chain { home: cx.ctx, inner: rows.inner, elem: rows.elem, size, linear }))
    }

    /// The number of elements of regular rows.
    fn flat_size(&mut self, arr: &Rc<Arr>, row: &Rc<Arr>, ctx: Space) -> Option<Node> {
        let known = |f: &Self, a: &Rc<Arr>| match &**a {
            Arr::Kept { size, .. } => Some(*size),
            Arr::Body { dim, .. } => Some(f.dim_size(*dim)),
            Arr::Chain { size, .. } => *size,
        };
        let (n, m) = (known(self, arr)?, known(self, row)?);
        self.k.encloses(self.k.space_of(m), ctx).then(|| self.mul(n, m))
    }

    /// Rows that lie one after another in memory are flat already.
    fn flat_in_memory(&mut self, arr: &Rc<Arr>, ctx: Space) -> Option<Val> {
        let Arr::Kept { size, base, rep } = &**arr else { return None };
        let Rep::Array(rows, elem) = &**rep else { return None };
        let (size, base) = match rows {
            Rows::Equal(m) => (self.mul(*size, *m), self.mul(*base, *m)),
            Rows::Offsets(b) => {
                let end = self.add(*base, *size);
                let (lo, hi) = (self.k.load(*b, *base, ctx), self.k.load(*b, end, ctx));
                (self.sub(hi, lo), lo)
            }
        };
        Some(Val::array(Arr::Kept { size, base, rep: Rc::new((**elem).clone()) }))
    }

    /// `permute` and `scatter`: a sink that combines into a copy of the target.
    pub(super) fn permute(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let into = self.get(fx, cx.inst.args[0]);
        let arrays: Vec<Rc<Arr>> = cx.inst.args[1..].iter().map(|a| self.array(fx, *a)).collect();
        let walk = self.walk_all(&arrays, 1, cx.span, cx.ctx)?;
        let Val::Tuple(parts) = walk.elem.clone() else { return Ok(into) };
        let targets = parts[0].leaves().unwrap_or_default();
        let mut inner = walk.inner;
        if let Some(Val::Scalar(mask)) = parts.get(2) {
            inner = self.k.guard(inner, *mask, true);
        }
        let elem_ty = (0..targets.len()).try_fold(cx.ty, |t, _| t.elem());
        let flat = elem_ty.is_some_and(super::fold::is_scalars) && !parts[1].has_array();
        let key = (fx.func, cx.v);
        if !flat || !self.on_host(cx.ctx) || self.lifted.contains(&key) {
            return self.permute_in_steps(fx, cx, &into, &parts, walk.inner);
        }
        let mark = self.mark();
        match self.permute_by_sink(fx, cx, &into, &parts, &targets, inner) {
            Err(Stuck::InLoop) => {
                self.back_to(mark);
                self.lifted.insert(key);
                self.permute_in_steps(fx, cx, &into, &parts, walk.inner)
            }
            other => other,
        }
    }

    fn permute_by_sink(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        into: &Val,
        parts: &Rc<[Val]>,
        targets: &[Node],
        inner: Space,
    ) -> Res<Val> {
        // The target, as memory of its own.
        let name = self.name.clone();
        let rep = self.store(into, cx.ctx, &name)?;
        let whole = rep.clone();
        let number = self.number(cx.ctx)?;
        let mut place = self.kept_at(&rep, number, cx.ctx);
        let mut at = number;
        let mut length = self.count(cx.ctx)?;
        let mut leaf = rep;
        for t in targets {
            let arr = as_array(&place);
            let Arr::Kept { size, base, .. } = &*arr else { return Ok(into.clone()) };
            let t = self.in_range(*t, *size, "target", cx.span, inner);
            at = self.add(*base, t);
            length = match &leaf {
                Rep::Array(Rows::Equal(m), _) => self.mul(length, *m),
                Rep::Array(Rows::Offsets(b), _) => self.k.load(*b, length, deckle_ir::kernel::ROOT),
                _ => length,
            };
            leaf = match leaf {
                Rep::Array(_, elem) => *elem,
                other => other,
            };
            place = self.kept_at(&leaf, at, inner);
        }
        let mut bufs = Vec::new();
        leaf_bufs(&leaf, &mut bufs);
        let values = parts[1].leaves().unwrap_or_default();
        let combine = match cx.inst.op {
            Op::Scatter => None,
            _ => Some(self.combining_into(fx, cx, &parts[1], &place)?),
        };
        let sink = Sink::Scatter { space: inner, bufs, at, len: length, within: cx.ctx, values, combine };
        self.run(&name, vec![sink]);
        Ok(self.kept_at(&whole, number, cx.ctx))
    }

    /// The function of a `permute`: its operands are the new and the old value.
    fn combining_into(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, new: &Val, old: &Val) -> Res<Combine> {
        if let Some(ops) = super::fold::plain_ops(fx.function, cx.inst.bodies[0]) {
            return Ok(Combine::Ops(ops));
        }
        let lambda = self.k.new_lambda(cx.ctx);
        let (news, olds) = (new.leaves().unwrap_or_default(), old.leaves().unwrap_or_default());
        let vars: Vec<Node> =
            news.iter().chain(&olds).enumerate().map(|(k, n)| self.k.var(lambda, k as u32, self.k.ty(*n))).collect();
        let new = new.with_leaves(&mut vars[..news.len()].iter().copied());
        let old = old.with_leaves(&mut vars[news.len()..].iter().copied());
        let result = self.inside(fx, cx.inst.bodies[0], &[new, old], lambda, None)?;
        let results = result.leaves().unwrap_or_default();
        Ok(Combine::Lambda(lambda, self.checked_results(lambda, results)))
    }

    /// `the(s)`: the only element.
    pub(super) fn the(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arr = self.array(fx, cx.inst.args[0]);
        let arr = self.indexed(&arr)?;
        let (n, one, zero) = (self.size(&arr, cx.ctx)?, self.k.int(1), self.k.int(0));
        let ok = self.eq(n, one);
        // The index depends on the check, so that nothing is read of no elements.
        let index = self.check(ok, zero, Fault::NotSingleton, cx.span, &[n], cx.ctx);
        self.at(&arr, index, cx.ctx)
    }
}

fn leaf_bufs(rep: &Rep, bufs: &mut Vec<deckle_ir::kernel::Buf>) {
    match rep {
        Rep::Scalar(b) => bufs.push(*b),
        Rep::Tuple(parts) => parts.iter().for_each(|p| leaf_bufs(p, bufs)),
        Rep::Array(_, elem) => leaf_bufs(elem, bufs),
    }
}
