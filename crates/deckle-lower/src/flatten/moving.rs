//! Filters, expansions, and concatenation of rows.

use super::value::{Arr, Val, Walk};
use super::{Cx, Flattener, Frame, Res, Run, as_array};
use deckle_ir::kernel::{Fault, Node, Op, ROOT, Rep, Rows, Space};
use std::rc::Rc;

impl<'p> Flattener<'p> {
    /// The elements for which the body returns `when`.
    pub(super) fn filter(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, when: bool) -> Res<Val> {
        let arr = self.array(fx, cx.inst.args[0])?;
        let walk = self.walk(&arr, cx.ctx)?;
        let at = self.position(cx.ctx, walk.inner);
        let cond =
            self.inside(fx, cx.inst.bodies[0], std::slice::from_ref(&walk.elem), walk.inner, Run::Element(at))?;
        self.kept_where(walk, &cond, when, cx.ctx)
    }

    fn kept_where(&mut self, walk: Walk, cond: &Val, when: bool, ctx: Space) -> Res<Val> {
        let inner = self.k.guard(walk.inner, cond.scalar()?, when);
        Ok(Val::array(Arr::Chain { home: ctx, inner, elem: walk.elem, size: None, linear: walk.linear }))
    }

    pub(super) fn partition(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        Ok(Val::tuple(vec![self.filter(fx, cx, true)?, self.filter(fx, cx, false)?]))
    }

    pub(super) fn compact(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arrays = [self.array(fx, cx.inst.args[0])?, self.array(fx, cx.inst.args[1])?];
        let walk = self.walk_all(&arrays, Some(0), cx.span, cx.ctx)?;
        let parts = walk.elem.parts()?;
        let (elem, flag) = (parts[0].clone(), parts[1].clone());
        self.kept_where(Walk { elem, ..walk }, &flag, true, cx.ctx)
    }

    pub(super) fn expand(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let mut arr = self.array(fx, cx.inst.args[0])?;
        // Its elements are needed again when the expansion is counted or divided.
        if !cx.ty.is_seq() && self.on_host(cx.ctx) {
            arr = self.random(&arr)?;
        }
        let walk = self.walk(&arr, cx.ctx)?;
        let at = self.position(cx.ctx, walk.inner);
        let n = self.inside(fx, cx.inst.bodies[0], std::slice::from_ref(&walk.elem), walk.inner, Run::Element(at))?;
        let n = n.scalar()?;
        let what = "the number of elements that an element expands to";
        self.turn(Run::Element(at), Some(cx.inst.op.info().name));
        let n = self.natural(n, what, cx.span, walk.inner);
        self.turns.pop();
        let dim = self.k.dim(walk.inner, n);
        let pos = self.k.pos(dim);
        let elem = self.inside(fx, cx.inst.bodies[1], &[walk.elem, Val::Scalar(pos)], dim, Run::Element(at))?;
        Ok(Val::array(Arr::Chain { home: cx.ctx, inner: dim, elem, size: None, linear: walk.linear }))
    }

    /// The concatenation of all rows.
    pub(super) fn flatten_rows(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arr = self.array(fx, cx.inst.args[0])?;
        if let Some(flat) = self.flat_in_memory(&arr, cx.ctx) {
            return Ok(flat);
        }
        let walk = self.walk(&arr, cx.ctx)?;
        let row = as_array(&walk.elem)?;
        let rows = self.walk(&row, walk.inner)?;
        let linear = walk.linear || rows.linear;
        if !linear && let Some(flat) = self.flat_view(rows.inner, &rows.elem, cx.ctx)? {
            return Ok(flat);
        }
        let size = self.flat_size(&arr, &row, cx.ctx)?;
        Ok(Val::array(Arr::Chain { home: cx.ctx, inner: rows.inner, elem: rows.elem, size, linear }))
    }

    /// The elements of rows that lie side by side in memory, computed without regard to the row that they are in: an array with positions.
    fn flat_view(&mut self, inner: Space, elem: &Val, ctx: Space) -> Res<Option<Val>> {
        let dim = self.k.space(inner).parent;
        let Some(leaves) = elem.leaves().filter(|_| ctx == ROOT && self.k.space(dim).parent == ROOT) else {
            return Ok(None);
        };
        let Some(offsets) = self.closed_form(inner) else { return Ok(None) };
        let number = self.number(inner)?;
        if !leaves.iter().all(|n| self.depends_only(*n, number, dim)) {
            return Ok(None);
        }
        let Some((_, count)) = self.numbered(inner, ctx)? else { return Ok(None) };
        let zero = self.k.int(0);
        let first = self.k.load(offsets, zero, ROOT);
        let flat = self.k.dim(ROOT, count);
        let pos = self.k.pos(flat);
        let at = self.add(first, pos);
        let elem = self.renumbered(elem, (number, at), &[(dim, flat), (inner, flat)]);
        Ok(Some(Val::array(Arr::Body { dim: flat, elem, linear: false })))
    }

    /// Whether all that a scalar takes of the points of a space is a number of them.
    fn depends_only(&self, n: Node, number: Node, space: Space) -> bool {
        if n == number || !self.k.encloses(space, self.k.space_of(n)) {
            return true;
        }
        match self.k.node(n).op {
            Op::Load(..) | Op::Unary(..) | Op::Binary(..) | Op::Cast(..) | Op::Select(..) | Op::Fma(..) => {
                self.k.operands(n).into_iter().all(|n| self.depends_only(n, number, space))
            }
            _ => false,
        }
    }

    /// The number of elements of regular rows.
    fn flat_size(&mut self, arr: &Rc<Arr>, row: &Rc<Arr>, ctx: Space) -> Res<Option<Node>> {
        let known = |f: &Self, a: &Rc<Arr>| match &**a {
            Arr::Kept { size, .. } => Ok(Some(*size)),
            Arr::Body { dim, .. } => f.dim_size(*dim).map(Some),
            Arr::Chain { size, .. } => Ok(*size),
        };
        let (Some(n), Some(m)) = (known(self, arr)?, known(self, row)?) else { return Ok(None) };
        Ok(self.k.encloses(self.k.space_of(m), ctx).then(|| self.size_mul(n, m, ctx)))
    }

    /// Contiguous rows in memory are flat already.
    fn flat_in_memory(&mut self, arr: &Rc<Arr>, ctx: Space) -> Option<Val> {
        let Arr::Kept { size, base, rep } = &**arr else { return None };
        let Rep::Array(rows, elem) = &**rep else { return None };
        let (size, base) = self.elements_of(rows, (*size, *base), ctx);
        Some(Val::array(Arr::Kept { size, base, rep: Rc::new((**elem).clone()) }))
    }

    /// The total number of elements of `size` rows from a row on, and the index of the first.
    pub(super) fn elements_of(&mut self, rows: &Rows, (size, base): (Node, Node), ctx: Space) -> (Node, Node) {
        // For no rows nothing is loaded: the start of the first need not be in range.
        if self.k.as_int(size) == Some(0) {
            return (size, base);
        }
        match rows {
            Rows::Equal(m) => (self.mul(size, *m), self.mul(base, *m)),
            Rows::Offsets(b) => {
                let end = self.add(base, size);
                let (lo, hi) = (self.k.load(*b, base, ctx), self.k.load(*b, end, ctx));
                (self.sub(hi, lo), lo)
            }
        }
    }

    /// `the(s)`: the only element.
    pub(super) fn the(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arr = self.array(fx, cx.inst.args[0])?;
        let arr = self.indexed(&arr)?;
        let (n, one, zero) = (self.size(&arr, cx.ctx)?, self.k.int(1), self.k.int(0));
        let ok = self.eq(n, one);
        // The index depends on the check, so that no element of an empty array is read.
        let index = self.check(ok, zero, Fault::NotSingleton, cx.span, &[n], cx.ctx);
        self.at(&arr, index, cx.ctx)
    }
}
