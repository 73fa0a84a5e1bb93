//! Operators that reindex arrays: the same elements under other indices.

use super::value::{Arr, Val};
use super::{Cx, Flattener, Frame, Res, as_array, bug};
use deckle_diag::Span;
use deckle_ir::array::{BinOp, Slicer, SplitBy};
use deckle_ir::kernel::{Combine, Fault, FoldSpec, Node, ROOT, Rep, Space};
use deckle_ir::scalar::Scalar;
use std::rc::Rc;

impl<'p> Flattener<'p> {
    /// The sizes of the outer dimensions of the first operand, as [`Flattener::regular`] returns them. Those that an empty dimension hides are taken from its type,
    /// and are 0 if that does not determine them.
    pub(super) fn regular_operand(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, depth: usize, op: &str) -> Res<Vec<Node>> {
        let operand = cx.inst.args[0];
        let val = self.get(fx, operand)?;
        let mut sizes = self.regular(&val, depth, op, cx.span, cx.ctx)?;
        let dims = fx.function.ty(operand).regular_dims(depth);
        let (zero, most) = (self.k.int(0), self.k.int(super::extents::MOST));
        let mut some = self.k.constant(Scalar::Bool(true));
        for k in 1..sizes.len() {
            let outer = self.lt(zero, sizes[k - 1]);
            some = self.and(some, outer);
            let typed = match dims.as_ref().and_then(|d| d.get(k)) {
                Some(dim) => self.told_size(fx, dim, cx.ctx)?,
                None => None,
            };
            let typed = typed.unwrap_or(zero);
            let sum = |f: &Self, n: Node| f.k.linear(n, &|n| n);
            if sum(self, typed) != sum(self, sizes[k]) {
                let typed = self.max(typed, zero);
                let typed = self.min(typed, most);
                sizes[k] = self.k.select(some, sizes[k], typed);
            }
        }
        Ok(sizes)
    }

    /// The sizes of the outer dimensions of an array whose rows must have equal length, which is checked unless it is known.
    fn regular(&mut self, val: &Val, depth: usize, op: &str, span: Span, ctx: Space) -> Res<Vec<Node>> {
        let arr = self.indexed(&as_array(val)?)?;
        let n = self.size(&arr, ctx)?;
        let mut sizes = vec![n];
        if depth == 1 {
            return Ok(sizes);
        }
        let walk = self.walk(&arr, ctx)?;
        let inner = self.regular(&walk.elem, depth - 1, op, span, walk.inner)?;
        for m in inner {
            if self.k.encloses(self.k.space_of(m), ctx) {
                sizes.push(m);
                continue;
            }
            // The first row gives the size; the others must agree.
            let row = self.k.pos(walk.inner);
            sizes.push(self.equal_in_all(m, &[row], walk.inner, &format!("`{op}`"), span, ctx)?);
        }
        Ok(sizes)
    }

    /// A size that must be the same at all points of a space; `at` is the place of a row.
    pub(super) fn equal_in_all(
        &mut self,
        size: Node,
        at: &[Node],
        over: Space,
        what: &str,
        span: Span,
        ctx: Space,
    ) -> Res<Node> {
        let extremes = [BinOp::Min, BinOp::Max].map(|op| {
            let spec = FoldSpec { init: None, elems: vec![size], combine: Combine::Ops(vec![op]) };
            self.fold(over, spec, ctx, &[0]).map(|parts| parts[0])
        });
        let [low, high] = extremes;
        let (low, high) = (low?, high?);
        let ok = self.eq(low, high);
        let operands = self.first_unequal(size, at, over, ctx);
        Ok(self.check(ok, low, Fault::UnequalRows(what.to_string().into()), span, &operands, ctx))
    }

    /// For the report that sizes differ: the first one that differs from that of the first row, the latter, and the place of the row.
    fn first_unequal(&mut self, size: Node, at: &[Node], over: Space, ctx: Space) -> Vec<Node> {
        // For some rows: the size and place of the first, whether another one differs, and the size and place of the first such row.
        let no = self.k.constant(deckle_ir::scalar::Scalar::Bool(false));
        let row: Vec<Node> = [size].into_iter().chain(at.iter().copied()).collect();
        let elems: Vec<Node> = row.iter().chain([&no]).chain(&row).copied().collect();
        let lambda = self.k.new_lambda(ctx);
        let n = elems.len();
        let vars: Vec<Node> = (0..2 * n).map(|k| self.k.var(lambda, k as u32, self.k.ty(elems[k % n]))).collect();
        let (left, right) = vars.split_at(n);
        let k = row.len();
        let same = self.eq(left[0], right[0]);
        let other = self.not(same);
        let found = self.or(left[k], other);
        let found = self.or(found, right[k]);
        let mut results = left[..k].to_vec();
        results.push(found);
        for i in 0..k {
            let later = self.k.select(other, right[i], right[k + 1 + i]);
            results.push(self.k.select(left[k], left[k + 1 + i], later));
        }
        let spec = FoldSpec { init: None, elems, combine: Combine::Lambda(lambda, results) };
        let fold = self.k.fold(over, spec, ctx);
        let part = |f: &mut Self, i: usize| f.k.part(fold, i as u32);
        let mut operands = vec![part(self, k + 1), part(self, 0)];
        operands.extend((1..k).map(|i| part(self, k + 1 + i)));
        operands
    }

    pub(super) fn shape(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, depth: usize) -> Res<Val> {
        let sizes = self.regular_operand(fx, cx, depth, "shape")?;
        Ok(Val::tuple(sizes.into_iter().map(Val::Scalar).collect()))
    }

    pub(super) fn total_size(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, depth: usize) -> Res<Val> {
        let val = self.get(fx, cx.inst.args[0])?;
        Ok(Val::Scalar(self.size_within(&val, depth, cx.ctx)?))
    }

    fn size_within(&mut self, val: &Val, depth: usize, ctx: Space) -> Res<Node> {
        let arr = as_array(val)?;
        if depth <= 1 {
            return self.size(&arr, ctx);
        }
        let arr = self.indexed(&arr)?;
        let walk = self.walk(&arr, ctx)?;
        let inner = self.size_within(&walk.elem, depth - 1, walk.inner)?;
        if self.k.encloses(self.k.space_of(inner), ctx) {
            let n = self.size(&arr, ctx)?;
            return Ok(self.size_mul(n, inner, ctx));
        }
        self.size_sum(walk.inner, inner, ctx)
    }

    /// The elements of the outer dimensions in order, with positions.
    fn flat(&mut self, val: &Val, depth: usize, ctx: Space) -> Res<Rc<Arr>> {
        let mut arr = as_array(val)?;
        for _ in 1..depth {
            // Rows in memory are contiguous; others are stored first.
            let kept = match &*arr {
                Arr::Kept { .. } => arr,
                _ => self.keep(&arr, ctx)?,
            };
            let Arr::Kept { size, base, rep } = &*kept else { return Err(bug("what is kept is not in memory")) };
            let Rep::Array(rows, elem) = &**rep else { return Err(bug("what is flattened has no rows")) };
            let (size, base) = self.elements_of(rows, (*size, *base), ctx);
            arr = Rc::new(Arr::Kept { size, base, rep: Rc::new((**elem).clone()) });
        }
        self.indexed(&arr)
    }

    pub(super) fn reshape(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, depth: usize) -> Res<Val> {
        let val = self.get(fx, cx.inst.args[0])?;
        if depth > 1 {
            self.regular_operand(fx, cx, depth, "reshape")?;
        }
        let flat = self.flat(&val, depth, cx.ctx)?;
        let sizes: Vec<Node> = cx.inst.args[1..].iter().map(|a| self.scalar(fx, *a)).collect::<Res<_>>()?;
        let what = "a size of the new shape";
        let sizes: Vec<Node> = sizes.iter().map(|n| self.not_negative(*n, what, cx.span, cx.ctx)).collect();
        let have = self.size(&flat, cx.ctx)?;
        let one = self.k.int(1);
        // A product that is too large saturates, and no size has that value.
        let want = sizes.iter().fold(one, |n, m| self.k.binary(BinOp::MulSat, n, *m));
        let ok = self.eq(have, want);
        let operands: Vec<Node> = [have].iter().chain(&sizes).copied().collect();
        // The host stops if it does not hold. A kernel continues: then no dimension may have points, whichever of them is traversed.
        let checked = if cx.ctx == ROOT { 1 } else { sizes.len() };
        let mut sizes = sizes;
        for n in &mut sizes[..checked] {
            *n = self.check(ok, *n, Fault::Reshape, cx.span, &operands, cx.ctx);
        }
        // If one size is 0, the others are arbitrary.
        let sizes: Vec<Node> = sizes.iter().map(|n| self.natural(*n, what, cx.span, cx.ctx)).collect();
        let flat = if sizes.len() > 1 { self.random(&flat)? } else { flat };
        let zero = self.k.int(0);
        self.shaped(&flat, &sizes, zero, cx.ctx)
    }

    fn shaped(&mut self, flat: &Rc<Arr>, sizes: &[Node], start: Node, ctx: Space) -> Res<Val> {
        let Some((n, rest)) = sizes.split_first() else { return self.at(flat, start, ctx) };
        self.body_array(*n, ctx, &mut |f, pos, dim| {
            let row = f.mul(start, *n);
            let at = f.add(row, pos);
            f.shaped(flat, rest, at, dim)
        })
    }

    pub(super) fn split(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, by: SplitBy) -> Res<Val> {
        let arr = self.array(fx, cx.inst.args[0])?;
        let arr = self.indexed(&arr)?;
        let cuts = self.array(fx, cx.inst.args[1])?;
        let have = self.size(&arr, cx.ctx)?;
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let offsets = match by {
            SplitBy::Offsets => self.random(&cuts)?,
            SplitBy::Lengths => {
                let cuts = self.indexed(&cuts)?;
                let walk = self.walk(&cuts, cx.ctx)?;
                let len = walk.elem.scalar()?;
                let row = self.k.pos(walk.inner);
                let ok = self.ge(len, zero);
                let len = self.check(ok, len, Fault::RowLength, cx.span, &[row, len], walk.inner);
                return self.split_by_lengths(&arr, walk.inner, len, have, cx);
            }
        };
        let n = self.size(&offsets, cx.ctx)?;
        let n = self.sub(n, one);
        let row = |f: &mut Self, i: Node, ctx: Space| -> Res<(Node, Node)> {
            let next = f.add(i, one);
            Ok((f.at(&offsets, i, ctx)?.scalar()?, f.at(&offsets, next, ctx)?.scalar()?))
        };
        let rule = |f: &mut Self, lo: Node, hi: Node| {
            let (a, b, c) = (f.ge(lo, zero), f.ge(hi, lo), f.ge(have, hi));
            let both = f.and(a, b);
            f.and(both, c)
        };
        // There must be offsets at all.
        let some = self.ge(n, zero);
        let n = self.check(some, n, Fault::NoOffsets, cx.span, &[], cx.ctx);
        self.check_only(&offsets, some, n, have, cx)?;
        if cx.ctx == ROOT {
            // Checked once, before anything else: from here on they are the offsets of a space.
            let dim = self.k.dim(ROOT, n);
            let pos = self.k.pos(dim);
            let (lo, hi) = row(self, pos, dim)?;
            let ok = rule(self, lo, hi);
            let precise = self.why_no_row((pos, lo, hi, have), cx.span, dim);
            let checked = self.check(ok, lo, Fault::FirstOffset, cx.span, &precise, dim);
            if checked != lo {
                self.pending.remove(&checked);
                self.run("checks", vec![deckle_ir::kernel::Sink::Check(checked)]);
            }
            return self.body_array(n, ROOT, &mut |f, pos, dim| {
                let (lo, hi) = row(f, pos, dim)?;
                let size = f.sub(hi, lo);
                f.part_of(&arr, lo, size, dim)
            });
        }
        self.body_array(n, cx.ctx, &mut |f, pos, dim| {
            let (lo, hi) = row(f, pos, dim)?;
            let ok = rule(f, lo, hi);
            let size = f.sub(hi, lo);
            let precise = f.why_no_row((pos, lo, hi, have), cx.span, dim);
            let size = f.check(ok, size, Fault::FirstOffset, cx.span, &precise, dim);
            f.part_of(&arr, lo, size, dim)
        })
    }

    /// For the report that offsets do not cut rows: checks of the offsets of one row, of which the first failure is reported.
    fn why_no_row(&mut self, (i, lo, hi, have): (Node, Node, Node, Node), span: Span, ctx: Space) -> Vec<Node> {
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let next = self.add(i, one);
        let (first, begins) = (self.ge(lo, zero), self.ge(have, lo));
        let (rises, within) = (self.ge(hi, lo), self.ge(have, hi));
        let before = self.pending.clone();
        let precise = vec![
            self.check(first, lo, Fault::FirstOffset, span, &[lo], ctx),
            self.check(begins, lo, Fault::OffsetBeyond, span, &[i, lo, have], ctx),
            self.check(rises, hi, Fault::Descending, span, &[next, hi, lo], ctx),
            self.check(within, hi, Fault::OffsetBeyond, span, &[next, hi, have], ctx),
        ];
        self.pending = before;
        precise
    }

    /// A single offset must lie within the data: no row checks it.
    fn check_only(&mut self, offsets: &Rc<Arr>, some: Node, n: Node, have: Node, cx: &Cx<'p>) -> Res<()> {
        // The host has made the check before; a kernel continues after it.
        let there = if cx.ctx == ROOT { ROOT } else { self.k.guard(cx.ctx, some, true) };
        let last = self.at(offsets, n, there)?.scalar()?;
        let zero = self.k.int(0);
        let rows = self.lt(zero, n);
        let (low, high) = (self.ge(last, zero), self.ge(have, last));
        let (low, high) = (self.or(rows, low), self.or(rows, high));
        self.check(low, last, Fault::FirstOffset, cx.span, &[last], there);
        self.check(high, last, Fault::OffsetBeyond, cx.span, &[zero, last, have], there);
        Ok(())
    }

    fn split_by_lengths(&mut self, arr: &Rc<Arr>, inner: Space, len: Node, have: Node, cx: &Cx<'p>) -> Res<Val> {
        // The start of each row: the sum of the lengths before it.
        let spec = self.summing(len);
        let scan = self.k.scan(inner, cx.ctx, spec, true);
        let start = self.k.part(scan, 0);
        let pair = Val::tuple(vec![Val::Scalar(start), Val::Scalar(len)]);
        let walk = super::value::Walk { inner, elem: pair, linear: true };
        let rows = as_array(&self.walked(cx.ctx, walk))?;
        let rows = self.keep(&rows, cx.ctx)?;
        // A saturated total exceeds the available elements, so if it fits, the row starts are exact.
        let total = self.saturating_sum(inner, len, cx.ctx)?;
        let n = self.size(&rows, cx.ctx)?;
        let ok = self.eq(total, have);
        let n = self.check(ok, n, Fault::RowTotal, cx.span, &[total, have], cx.ctx);
        self.body_array(n, cx.ctx, &mut |f, pos, dim| {
            let [lo, size] = f.at(&rows, pos, dim)?.scalars()?[..] else {
                return Err(bug("a row that is not a start and a size"));
            };
            f.part_of(arr, lo, size, dim)
        })
    }

    /// `size` elements from a position on, which must exist.
    pub(super) fn part_of(&mut self, arr: &Rc<Arr>, from: Node, size: Node, ctx: Space) -> Res<Val> {
        if let Arr::Kept { base, rep, .. } = &**arr {
            let base = self.add(*base, from);
            return Ok(Val::array(Arr::Kept { size, base, rep: Rc::clone(rep) }));
        }
        self.body_array(size, ctx, &mut |f, pos, dim| {
            let at = f.add(from, pos);
            f.at(arr, at, dim)
        })
    }

    pub(super) fn slice(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, spec: &[Slicer]) -> Res<Val> {
        let operands: Vec<Node> = cx.inst.args[1..].iter().map(|a| self.scalar(fx, *a)).collect::<Res<_>>()?;
        let val = self.get(fx, cx.inst.args[0])?;
        self.sliced(&val, spec, &operands, cx.span, cx.ctx)
    }

    fn sliced(&mut self, val: &Val, spec: &[Slicer], operands: &[Node], span: Span, ctx: Space) -> Res<Val> {
        let Some((axis, rest)) = spec.split_first() else { return Ok(val.clone()) };
        let arr = self.indexed(&as_array(val)?)?;
        let n = self.size(&arr, ctx)?;
        let (mine, others) = operands.split_at(axis.operands());
        match axis {
            Slicer::All if rest.is_empty() => Ok(val.clone()),
            Slicer::All => {
                let walk = self.walk(&arr, ctx)?;
                let elem = self.sliced(&walk.elem, rest, others, span, walk.inner)?;
                Ok(self.walked(ctx, super::value::Walk { elem, ..walk }))
            }
            Slicer::At => {
                let i = self.in_range(mine[0], n, "index", span, ctx);
                let elem = self.at(&arr, i, ctx)?;
                self.sliced(&elem, rest, others, span, ctx)
            }
            Slicer::Range => {
                let (lo, hi, zero) = (mine[0], mine[1], self.k.int(0));
                let (a, b, c) = (self.ge(lo, zero), self.ge(hi, lo), self.ge(n, hi));
                let ok = self.and(a, b);
                let ok = self.and(ok, c);
                let size = self.sub(hi, lo);
                let size = self.check(ok, size, Fault::Range, span, &[lo, hi, n], ctx);
                if rest.is_empty() {
                    return self.part_of(&arr, lo, size, ctx);
                }
                self.body_array(size, ctx, &mut |f, pos, dim| {
                    let at = f.add(lo, pos);
                    let row = f.at(&arr, at, dim)?;
                    f.sliced(&row, rest, others, span, dim)
                })
            }
        }
    }

    pub(super) fn transpose(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, axes: &[u32]) -> Res<Val> {
        let val = self.get(fx, cx.inst.args[0])?;
        let sizes = self.regular_operand(fx, cx, axes.len(), "transpose")?;
        let arr = self.random(&as_array(&val)?)?;
        let mut at = vec![self.k.int(0); axes.len()];
        self.turned(&arr, &sizes, axes, &mut at, 0, cx.ctx)
    }

    fn turned(
        &mut self,
        arr: &Rc<Arr>,
        sizes: &[Node],
        axes: &[u32],
        at: &mut Vec<Node>,
        k: usize,
        ctx: Space,
    ) -> Res<Val> {
        let Some(axis) = axes.get(k) else {
            let mut val = Val::Array(Rc::clone(arr));
            for i in at.clone() {
                val = self.at(&as_array(&val)?, i, ctx)?;
            }
            return Ok(val);
        };
        self.body_array(sizes[*axis as usize], ctx, &mut |f, pos, dim| {
            at[*axis as usize] = pos;
            f.turned(arr, sizes, axes, at, k + 1, dim)
        })
    }

    pub(super) fn reverse(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, axis: usize) -> Res<Val> {
        let val = self.get(fx, cx.inst.args[0])?;
        self.under(&val, axis, cx.ctx, &mut |f, arr, ctx| {
            let arr = f.indexed(arr)?;
            f.reversed(&arr, ctx)
        })
    }

    pub(super) fn reversed(&mut self, arr: &Rc<Arr>, ctx: Space) -> Res<Val> {
        let (n, one) = (self.size(arr, ctx)?, self.k.int(1));
        self.body_array(n, ctx, &mut |f, pos, dim| {
            let last = f.sub(n, one);
            let at = f.sub(last, pos);
            f.at(arr, at, dim)
        })
    }

    pub(super) fn take(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arr = self.indexed(&self.array(fx, cx.inst.args[0])?)?;
        let k = self.scalar(fx, cx.inst.args[1])?;
        let k = self.not_negative(k, "the number of elements to take", cx.span, cx.ctx);
        let (n, zero) = (self.size(&arr, cx.ctx)?, self.k.int(0));
        let size = self.min(n, k);
        self.part_of(&arr, zero, size, cx.ctx)
    }

    pub(super) fn drop_first(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arr = self.indexed(&self.array(fx, cx.inst.args[0])?)?;
        let k = self.scalar(fx, cx.inst.args[1])?;
        let k = self.not_negative(k, "the number of elements to drop", cx.span, cx.ctx);
        let n = self.size(&arr, cx.ctx)?;
        let from = self.min(n, k);
        let size = self.sub(n, from);
        self.part_of(&arr, from, size, cx.ctx)
    }

    pub(super) fn concat(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, axis: usize) -> Res<Val> {
        let vals: Vec<Val> = cx.inst.args.iter().map(|a| self.get(fx, *a)).collect::<Res<_>>()?;
        self.joined(&vals, axis, cx.span, cx.ctx)
    }

    fn joined(&mut self, vals: &[Val], axis: usize, span: Span, ctx: Space) -> Res<Val> {
        let arrays: Vec<Rc<Arr>> = vals.iter().map(|v| self.indexed(&as_array(v)?)).collect::<Res<_>>()?;
        if axis > 0 {
            let walk = self.walk_all(&arrays, Some(0), span, ctx)?;
            let elem = self.joined(walk.elem.parts()?, axis - 1, span, walk.inner)?;
            return Ok(self.walked(ctx, super::value::Walk { elem, ..walk }));
        }
        let mut joined = Rc::clone(&arrays[0]);
        for next in &arrays[1..] {
            joined = as_array(&self.two(&joined, next, ctx)?)?;
        }
        Ok(Val::Array(joined))
    }

    /// The concatenation of two arrays.
    pub(super) fn two(&mut self, a: &Rc<Arr>, b: &Rc<Arr>, ctx: Space) -> Res<Val> {
        let (n, m) = (self.size(a, ctx)?, self.size(b, ctx)?);
        if self.k.as_int(m) == Some(0) {
            return Ok(Val::Array(Rc::clone(a)));
        }
        if self.k.as_int(n) == Some(0) {
            return Ok(Val::Array(Rc::clone(b)));
        }
        let total = self.size_add(n, m, ctx);
        self.body_array(total, ctx, &mut |f, pos, dim| {
            let first = f.lt(pos, n);
            f.either(first, dim, &mut |f, ctx| f.at(a, pos, ctx), &mut |f, ctx| {
                let at = f.sub(pos, n);
                f.at(b, at, ctx)
            })
        })
    }

    pub(super) fn pad(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, axis: usize) -> Res<Val> {
        let val = self.get(fx, cx.inst.args[0])?;
        let (lo, hi) = (self.scalar(fx, cx.inst.args[1])?, self.scalar(fx, cx.inst.args[2])?);
        let fill = self.get(fx, cx.inst.args[3])?;
        let lo = self.natural(lo, "the number of elements to put before", cx.span, cx.ctx);
        let hi = self.natural(hi, "the number of elements to put after", cx.span, cx.ctx);
        self.under(&val, axis, cx.ctx, &mut |f, arr, ctx| {
            let arr = f.indexed(arr)?;
            let n = f.size(&arr, ctx)?;
            let front = f.size_add(lo, n, ctx);
            let total = f.size_add(front, hi, ctx);
            f.body_array(total, ctx, &mut |f, pos, dim| {
                let (after, before) = (f.ge(pos, lo), f.lt(pos, front));
                let within = f.and(after, before);
                f.either(
                    within,
                    dim,
                    &mut |f, ctx| {
                        let at = f.sub(pos, lo);
                        f.at(&arr, at, ctx)
                    },
                    &mut |f, ctx| f.lower_into(&fill, ctx),
                )
            })
        })
    }
}
