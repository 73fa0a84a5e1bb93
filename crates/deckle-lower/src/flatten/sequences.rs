//! Operators on sequences that have no counterpart on arrays.

use super::value::{Arr, Val, Walk};
use super::{Cx, Flattener, Frame, Res, Run, as_array};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Fault, FoldSpec, Node, Space};
use std::rc::Rc;

impl<'p> Flattener<'p> {
    /// `{x | c}`: a guard is a sequence of one element or none.
    pub(super) fn guarded(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let c = self.scalar(fx, cx.inst.args[0])?;
        let inner = self.k.guard(cx.ctx, c, true);
        let elem = self.inside(fx, cx.inst.bodies[0], &[], inner, Run::Once)?;
        let (one, zero) = (self.k.int(1), self.k.int(0));
        let size = Some(self.k.select(c, one, zero));
        Ok(Val::array(Arr::Chain { home: cx.ctx, inner, elem, size, linear: false }))
    }

    /// Cuts a sequence at flags: subsequence `k` ends where the `k`th `true` is.
    pub(super) fn flagpart(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let elems = self.indexed(&self.array(fx, cx.inst.args[0])?)?;
        let flags = self.indexed(&self.array(fx, cx.inst.args[1])?)?;
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let have = self.size(&elems, cx.ctx)?;
        let total = self.size(&flags, cx.ctx)?;
        let walk = self.walk(&flags, cx.ctx)?;
        let flag = walk.elem.scalar()?;
        let pos = self.k.pos(walk.inner);
        // The positions of the ends.
        let inner = self.k.guard(walk.inner, flag, true);
        let ends = Rc::new(Arr::Chain { home: cx.ctx, inner, elem: Val::Scalar(pos), size: None, linear: false });
        let ends = self.keep(&ends, cx.ctx)?;
        let n = self.size(&ends, cx.ctx)?;
        let falses = self.sub(total, n);
        let fits = self.eq(falses, have);
        let n = self.check(fits, n, Fault::Flags, cx.span, &[falses, have], cx.ctx);
        // The last flag must be an end.
        let last = {
            let spec = FoldSpec {
                init: Some(vec![self.k.int(-1)]),
                elems: vec![self.walk(&ends, cx.ctx)?.elem.scalar()?],
                combine: Combine::Ops(vec![BinOp::Max]),
            };
            let over = self.walk(&ends, cx.ctx)?.inner;
            self.fold(over, spec, cx.ctx, &[0])?[0]
        };
        let end = self.sub(total, one);
        // Unequal numbers of flags and elements are reported first.
        let (closed, wrong) = (self.eq(last, end), self.not(fits));
        let closed = self.or(closed, wrong);
        let n = self.check(closed, n, Fault::OpenGroup, cx.span, &[], cx.ctx);
        let elems = self.random(&elems)?;
        self.body_array(n, cx.ctx, &mut |f, k, dim| {
            let end = f.at(&ends, k, dim)?.scalar()?;
            let first = f.lt(zero, k);
            let before = f.either(
                first,
                dim,
                &mut |f, ctx| {
                    let before = f.sub(k, one);
                    f.at(&ends, before, ctx)
                },
                &mut |f, _| Ok(Val::Scalar(f.k.int(-1))),
            )?;
            let before = before.scalar()?;
            // The number of elements before it is the number of flags before it that are no ends.
            let start = f.add(before, one);
            let from = f.sub(start, k);
            let size = f.sub(end, start);
            f.part_of(&elems, from, size, dim)
        })
    }

    /// The sub-arrays of at most the given extents, row by row.
    pub(super) fn tiles(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, depth: usize) -> Res<Val> {
        let val = self.get(fx, cx.inst.args[0])?;
        let one = self.k.int(1);
        let mut extents = Vec::new();
        for a in &cx.inst.args[1..] {
            let e = self.scalar(fx, *a)?;
            let ok = self.ge(e, one);
            let e = self.check(ok, e, Fault::TileSize, cx.span, &[e], cx.ctx);
            // A failed check gives 0, which must not be a divisor.
            extents.push(self.max(e, one));
        }
        let sizes = self.regular_operand(fx, cx, depth, "tiles")?;
        let arr = self.random(&as_array(&val)?)?;
        let mut counts = Vec::new();
        for (n, e) in sizes.iter().zip(&extents) {
            // Rounded up, without overflow.
            let zero = self.k.int(0);
            let less = self.sub(*n, one);
            let whole = self.k.binary(BinOp::Div, less, *e);
            let some = self.add(whole, one);
            let none = self.eq(*n, zero);
            counts.push(self.k.select(none, zero, some));
        }
        let total = counts.iter().fold(one, |n, c| self.size_mul(n, *c, cx.ctx));
        self.body_array(total, cx.ctx, &mut |f, pos, dim| {
            // The tile's place along each axis, the last one fastest.
            let mut rest = pos;
            let mut starts = vec![pos; depth];
            for k in (0..depth).rev() {
                let nonzero = f.max(counts[k], one);
                let place = if k == 0 { rest } else { f.k.binary(BinOp::Rem, rest, nonzero) };
                rest = f.k.binary(BinOp::Div, rest, nonzero);
                starts[k] = f.mul(place, extents[k]);
            }
            f.tile(&arr, &sizes, &extents, &starts, dim)
        })
    }

    fn tile(&mut self, arr: &Rc<Arr>, sizes: &[Node], extents: &[Node], starts: &[Node], ctx: Space) -> Res<Val> {
        let left = self.sub(sizes[0], starts[0]);
        let size = self.min(extents[0], left);
        if sizes.len() == 1 {
            return self.part_of(arr, starts[0], size, ctx);
        }
        self.body_array(size, ctx, &mut |f, pos, dim| {
            let at = f.add(starts[0], pos);
            let row = f.at(arr, at, dim)?;
            f.tile(&as_array(&row)?, &sizes[1..], &extents[1..], &starts[1..], dim)
        })
    }

    /// A sequence of arrays as one array, all cut to the smallest extents.
    pub(super) fn tabulate(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, depth: usize) -> Res<Val> {
        let arr = self.indexed(&self.array(fx, cx.inst.args[0])?)?;
        let walk = self.walk(&arr, cx.ctx)?;
        let mut extents = Vec::new();
        let mut level = (walk.inner, walk.elem.clone());
        for _ in 0..depth {
            let row = self.indexed(&as_array(&level.1)?)?;
            let size = self.size(&row, level.0)?;
            let least = match self.k.encloses(self.k.space_of(size), cx.ctx) {
                // For an empty sequence the minimum is 0.
                true => {
                    let (n, zero) = (self.size(&arr, cx.ctx)?, self.k.int(0));
                    let none = self.eq(n, zero);
                    self.k.select(none, zero, size)
                }
                false => {
                    let spec = FoldSpec { init: None, elems: vec![size], combine: Combine::Ops(vec![BinOp::Min]) };
                    self.fold(level.0, spec, cx.ctx, &[0])?[0]
                }
            };
            extents.push(least);
            // Only rows within the extents count further in.
            let zero = self.k.int(0);
            let cut = self.part_of(&row, zero, least, level.0)?;
            let next = self.walk(&as_array(&cut)?, level.0)?;
            level = (next.inner, next.elem);
        }
        let elem = self.cut(&walk.elem, &extents, walk.inner)?;
        Ok(self.walked(cx.ctx, Walk { elem, ..walk }))
    }

    fn cut(&mut self, val: &Val, extents: &[Node], ctx: Space) -> Res<Val> {
        let Some((e, rest)) = extents.split_first() else { return Ok(val.clone()) };
        let arr = self.indexed(&as_array(val)?)?;
        if rest.is_empty() {
            let zero = self.k.int(0);
            return self.part_of(&arr, zero, *e, ctx);
        }
        self.body_array(*e, ctx, &mut |f, pos, dim| {
            let row = f.at(&arr, pos, dim)?;
            f.cut(&row, rest, dim)
        })
    }
}
