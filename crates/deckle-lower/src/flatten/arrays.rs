//! Operators that create arrays, and those that traverse several in lockstep.

use super::value::{Arr, Val, Walk};
use super::{Cx, Flattener, Frame, Res, Run, as_array, bug, elem_of, parts_of};
use deckle_diag::Span;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Fault, Node, ROOT, Region, Rep, Rows, Sink, Space};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::rc::Rc;

/// A computation on an inner array.
type OfArray<'a, 'p> = dyn FnMut(&mut Flattener<'p>, &Rc<Arr>, Space) -> Res<Val> + 'a;

/// An element of a literal with at most this many elements is selected; larger literals are stored.
const CHOSEN: usize = 8;

impl<'p> Flattener<'p> {
    pub(super) fn replicate(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let elem = self.get(fx, cx.inst.args[0])?;
        let n = self.scalar(fx, cx.inst.args[1])?;
        let n = self.natural(n, "the number of copies", cx.span, cx.ctx);
        self.body_array(n, cx.ctx, &mut |f, _, dim| f.lower_into(&elem, dim))
    }

    /// A value of a context, in a space below it.
    pub(super) fn lower_into(&mut self, val: &Val, ctx: Space) -> Res<Val> {
        match val {
            Val::Scalar(_) => Ok(val.clone()),
            Val::Tuple(parts) => Ok(Val::tuple(parts.iter().map(|p| self.lower_into(p, ctx)).collect::<Res<_>>()?)),
            Val::Array(arr) => {
                let walk = self.walk(arr, ctx)?;
                Ok(self.walked(ctx, walk))
            }
        }
    }

    pub(super) fn generate(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let seq = cx.ty.is_seq();
        let what = if seq { "the length" } else { "the size" };
        let sizes: Vec<Node> = cx.inst.args.iter().map(|a| self.scalar(fx, *a)).collect::<Res<_>>()?;
        let sizes: Vec<Node> = sizes.iter().map(|n| self.natural(*n, what, cx.span, cx.ctx)).collect();
        self.generate_from(fx, cx, &sizes, &mut Vec::new(), cx.ctx)
    }

    fn generate_from(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        sizes: &[Node],
        at: &mut Vec<Val>,
        ctx: Space,
    ) -> Res<Val> {
        let Some((n, rest)) = sizes.split_first() else {
            let indices: Vec<Node> = at.iter().map(Val::scalar).collect::<Res<_>>()?;
            return self.inside(fx, cx.inst.bodies[0], &at.clone(), ctx, Run::Indices(&indices, true));
        };
        self.body_array(*n, ctx, &mut |f, pos, dim| {
            at.push(Val::Scalar(pos));
            let elem = f.generate_from(fx, cx, rest, at, dim);
            at.pop();
            elem
        })
    }

    pub(super) fn iota(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let n = self.scalar(fx, cx.inst.args[0])?;
        let n = self.natural(n, "the length", cx.span, cx.ctx);
        self.body_array(n, cx.ctx, &mut |_, pos, _| Ok(Val::Scalar(pos)))
    }

    pub(super) fn range(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, inclusive: bool) -> Res<Val> {
        let args: Vec<Node> = cx.inst.args.iter().map(|a| self.scalar(fx, *a)).collect::<Res<_>>()?;
        let [from, to, step] = args[..] else { return Err(bug("a range without three operands")) };
        let ty = self.k.ty(from);
        let wide = ScalarType::I64;
        let (a, b, s) = (self.k.cast(wide, from), self.k.cast(wide, to), self.k.cast(wide, step));
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let s = match self.k.as_int(s) {
            Some(k) if k != 0 => s,
            _ => {
                let ok = self.k.binary(BinOp::Ne, s, zero);
                self.check(ok, s, Fault::ZeroStep(ty), cx.span, &[a, b], cx.ctx)
            }
        };
        // The distance from one end to the other may exceed the greatest `i64`.
        let (zero_of, huge) = (self.k.constant(Scalar::zero(ty)), ScalarType::U64);
        let positive = self.lt(zero_of, step);
        let (up, down) = (self.sub(b, a), self.sub(a, b));
        let (wrong_up, wrong_down) = match inclusive {
            true => (self.lt(to, from), self.lt(from, to)),
            false => (self.k.binary(BinOp::Le, to, from), self.k.binary(BinOp::Le, from, to)),
        };
        let none = self.k.select(positive, wrong_up, wrong_down);
        let way = self.k.select(positive, up, down);
        let minus = self.sub(zero, s);
        let stride = self.k.select(positive, s, minus);
        // The number of elements minus one, or the number itself, as an unsigned integer.
        let (steps, some) = if self.k.as_int(stride) == Some(1) {
            (self.k.cast(huge, way), if inclusive { self.add(way, one) } else { way })
        } else {
            let way = if inclusive { way } else { self.sub(way, one) };
            let (way, stride) = (self.k.cast(huge, way), self.k.cast(huge, stride));
            let steps = self.k.binary(BinOp::Div, way, stride);
            let last = self.k.cast(wide, steps);
            (steps, self.add(last, one))
        };
        let n = self.k.select(none, zero, some);
        let n = self.counted(n, none, steps, cx.span, cx.ctx);
        self.body_array(n, cx.ctx, &mut |f, pos, _| {
            let offset = f.mul(pos, s);
            let x = f.add(a, offset);
            Ok(Val::Scalar(f.k.cast(ty, x)))
        })
    }

    /// A vector literal.
    pub(super) fn literal(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, elem: &Type) -> Res<Val> {
        let elems: Vec<Val> = cx.inst.args.iter().map(|a| self.get(fx, *a)).collect::<Res<_>>()?;
        let n = self.k.int(elems.len() as i64);
        let Some(first) = elems.first() else {
            let none = self.none_of(elem)?;
            let zero = self.k.int(0);
            return Ok(Val::array(Arr::Kept { size: n, base: zero, rep: Rc::new(none) }));
        };
        if elems.len() == 1 {
            let first = first.clone();
            return self.body_array(n, cx.ctx, &mut |f, _, dim| f.lower_into(&first, dim));
        }
        if let Some(rep) = self.table(&elems) {
            let zero = self.k.int(0);
            return Ok(Val::array(Arr::Kept { size: n, base: zero, rep: Rc::new(rep) }));
        }
        let flat = first.leaves().is_some();
        if flat && elems.len() > CHOSEN && self.on_host(cx.ctx) {
            return self.written_out(&elems, n, cx.ctx);
        }
        self.body_array(n, cx.ctx, &mut |f, pos, dim| {
            let mut chosen = f.lower_into(&elems[elems.len() - 1], dim)?;
            for (i, e) in elems.iter().enumerate().rev().skip(1) {
                let i = f.k.int(i as i64);
                let here = f.eq(pos, i);
                chosen = match flat {
                    true => f.choose(here, e, &chosen)?,
                    false => f.merge(here, &e.clone(), &chosen, dim)?,
                };
            }
            Ok(chosen)
        })
    }

    /// Constants are a table of the program.
    fn table(&mut self, elems: &[Val]) -> Option<Rep> {
        let columns: Vec<Vec<Scalar>> = elems
            .iter()
            .map(|e| e.leaves()?.iter().map(|n| self.k.as_const(*n)).collect::<Option<Vec<_>>>())
            .collect::<Option<_>>()?;
        let mut k = 0;
        Some(self.columns(&elems[0], &columns, &mut k))
    }

    fn columns(&mut self, like: &Val, rows: &[Vec<Scalar>], k: &mut usize) -> Rep {
        match like {
            Val::Tuple(parts) => Rep::Tuple(parts.iter().map(|p| self.columns(p, rows, k)).collect()),
            _ => {
                let column: Vec<Scalar> = rows.iter().map(|r| r[*k]).collect();
                *k += 1;
                Rep::Scalar(self.data(column))
            }
        }
    }

    fn data(&mut self, column: Vec<Scalar>) -> deckle_ir::kernel::Buf {
        let ty = column.first().map_or(ScalarType::Bool, |c| c.ty());
        if let Some((buf, _)) = self.k.data.iter().find(|(_, c)| *c == column) {
            return *buf;
        }
        let buf = self.k.buf(ty, "a list of constants");
        self.k.data.push((buf, column));
        buf
    }

    fn written_out(&mut self, elems: &[Val], n: Node, ctx: Space) -> Res<Val> {
        let number = self.number(ctx)?;
        let base = self.mul(number, n);
        let count = self.count(ctx)?;
        let len = self.points(count, n);
        let like = elems[0].scalars()?;
        let name = self.name.clone();
        let bufs: Vec<_> = like.iter().map(|x| self.alloc(self.k.ty(*x), &name, len)).collect();
        let mut sinks = Vec::new();
        for (i, e) in elems.iter().enumerate() {
            let i = self.k.int(i as i64);
            let at = self.add(base, i);
            for (buf, value) in bufs.iter().zip(e.scalars()?) {
                sinks.push(Sink::Write { space: ctx, buf: *buf, at, value });
            }
        }
        self.run(&name, sinks);
        let rep = rep_like(&elems[0], &mut bufs.into_iter())?;
        Ok(Val::array(Arr::Kept { size: n, base, rep: Rc::new(rep) }))
    }

    /// The representation of an empty array of a type.
    pub(super) fn none_of(&mut self, ty: &Type) -> Res<Rep> {
        Ok(match ty {
            Type::Scalar(s) => Rep::Scalar(self.data(vec![Scalar::zero(*s)])),
            Type::Array(a) => {
                let elem = self.none_of(&a.elem)?;
                Rep::Array(Rows::Equal(self.k.int(0)), Box::new(elem))
            }
            Type::Seq(e) => {
                let elem = self.none_of(e)?;
                Rep::Array(Rows::Equal(self.k.int(0)), Box::new(elem))
            }
            _ => Rep::Tuple(parts_of(ty)?.into_iter().map(|t| self.none_of(t)).collect::<Res<_>>()?),
        })
    }

    /// A constant of the program.
    pub(super) fn constant(&mut self, value: &Value, ty: &Type) -> Res<Val> {
        let rep = self.constants(&[value], ty)?;
        let zero = self.k.int(0);
        Ok(self.kept_at(&rep, zero, ROOT))
    }

    fn constants(&mut self, values: &[&Value], ty: &Type) -> Res<Rep> {
        let unlike = || bug("a constant is not of its type");
        Ok(match ty {
            Type::Scalar(_) => {
                let column = values.iter().map(|v| v.as_scalar().ok_or_else(unlike)).collect::<Res<Vec<Scalar>>>()?;
                if column.is_empty() { self.none_of(ty)? } else { Rep::Scalar(self.data(column)) }
            }
            Type::Array(_) | Type::Seq(_) => {
                let rows = values.iter().map(|v| v.items().ok_or_else(unlike)).collect::<Res<Vec<&[Value]>>>()?;
                let all: Vec<&Value> = rows.iter().flat_map(|r| r.iter()).collect();
                let inner = self.constants(&all, elem_of(ty)?)?;
                let first = rows.first().map_or(0, |r| r.len());
                if rows.iter().all(|r| r.len() == first) {
                    return Ok(Rep::Array(Rows::Equal(self.k.int(first as i64)), Box::new(inner)));
                }
                let mut offsets = vec![Scalar::I64(0)];
                let mut total = 0;
                for r in rows {
                    total += r.len() as i64;
                    offsets.push(Scalar::I64(total));
                }
                Rep::Array(Rows::Offsets(self.data(offsets)), Box::new(inner))
            }
            _ => {
                let column = |k: usize| {
                    let parts = values.iter().map(|v| v.parts().and_then(|parts| parts.get(k)).ok_or_else(unlike));
                    parts.collect::<Res<Vec<&Value>>>()
                };
                let parts = parts_of(ty)?.into_iter().enumerate().map(|(k, t)| self.constants(&column(k)?, t));
                Rep::Tuple(parts.collect::<Res<_>>()?)
            }
        })
    }

    /// The elements of several arrays together, in order.
    pub(super) fn walk_all(&mut self, arrays: &[Rc<Arr>], first: Option<usize>, span: Span, ctx: Space) -> Res<Walk> {
        if let [one] = arrays {
            let walk = self.walk(one, ctx)?;
            return Ok(Walk { elem: Val::tuple(vec![walk.elem]), ..walk });
        }
        let walks: Vec<Walk> = arrays.iter().map(|a| self.walk(a, ctx)).collect::<Res<_>>()?;
        if walks.iter().all(|w| w.inner == walks[0].inner) {
            let linear = walks.iter().any(|w| w.linear);
            let elem = Val::tuple(walks.iter().map(|w| w.elem.clone()).collect());
            return Ok(Walk { inner: walks[0].inner, elem, linear });
        }
        if let Some(walk) = self.walk_beside(arrays, &walks, first, span, ctx)? {
            return Ok(walk);
        }
        if let Some(walk) = self.walk_by_number(arrays, &walks, first, span, ctx)? {
            return Ok(walk);
        }
        let arrays: Vec<Rc<Arr>> = arrays.iter().map(|a| self.indexed(a)).collect::<Res<_>>()?;
        let mut n = self.size(&arrays[0], ctx)?;
        for (i, a) in arrays.iter().enumerate().skip(1) {
            let m = self.size(a, ctx)?;
            let ok = self.eq(n, m);
            n = self.check_lengths(ok, [n, m], first.map(|first| first + i), span, ctx);
        }
        let dim = self.k.dim(ctx, n);
        let pos = self.k.pos(dim);
        let elems = arrays.iter().map(|a| self.at(a, pos, dim)).collect::<Res<Vec<_>>>()?;
        Ok(Walk { inner: dim, elem: Val::tuple(elems), linear: false })
    }

    /// One array without positions, and others whose elements are all equal: their positions do not matter.
    fn walk_beside(
        &mut self,
        arrays: &[Rc<Arr>],
        walks: &[Walk],
        first: Option<usize>,
        span: Span,
        ctx: Space,
    ) -> Res<Option<Walk>> {
        let same = |f: &Self, a: &Arr| match a {
            Arr::Body { elem, linear: false, .. } => {
                elem.leaves().is_some_and(|l| l.iter().all(|n| f.k.encloses(f.k.space_of(*n), ctx)))
            }
            _ => false,
        };
        let others: Vec<usize> = (0..arrays.len()).filter(|i| !same(self, &arrays[*i])).collect();
        let [main] = others[..] else { return Ok(None) };
        if !matches!(&*arrays[main], Arr::Chain { .. }) {
            return Ok(None);
        }
        let sizes: Vec<Node> = arrays.iter().map(|a| self.size(a, ctx)).collect::<Res<_>>()?;
        self.check_all_lengths(&sizes, first, span, ctx);
        let elem = Val::tuple(walks.iter().map(|w| w.elem.clone()).collect());
        Ok(Some(Walk { inner: walks[main].inner, elem, linear: walks[main].linear }))
    }

    /// One array whose elements are traversed row by row and are numbered without counting them, and others with positions: these are read at the numbers.
    fn walk_by_number(
        &mut self,
        arrays: &[Rc<Arr>],
        walks: &[Walk],
        first: Option<usize>,
        span: Span,
        ctx: Space,
    ) -> Res<Option<Walk>> {
        let has_positions = |a: &Arr| matches!(a, Arr::Kept { .. } | Arr::Body { linear: false, .. });
        let others: Vec<usize> = (0..arrays.len()).filter(|i| !has_positions(&arrays[*i])).collect();
        let [main] = others[..] else { return Ok(None) };
        let inner = walks[main].inner;
        let Some((number, count)) = self.numbered(inner, ctx)? else { return Ok(None) };
        if walks[main].linear || self.k.space_of(number) != inner {
            return Ok(None);
        }
        let mut elems = Vec::new();
        let mut sizes = Vec::new();
        for (i, a) in arrays.iter().enumerate() {
            sizes.push(if i == main { count } else { self.size(a, ctx)? });
        }
        self.check_all_lengths(&sizes, first, span, ctx);
        for (i, a) in arrays.iter().enumerate() {
            elems.push(if i == main { walks[main].elem.clone() } else { self.at(a, number, inner)? });
        }
        Ok(Some(Walk { inner, elem: Val::tuple(elems), linear: false }))
    }

    /// Whether sequences here are only partly in memory: in a loop over chunks, and around it.
    fn in_parts(&self) -> bool {
        self.chunked && self.turns.last().is_none_or(|t| t.hidden)
    }

    /// Checks that all lengths equal the first; the operands have successive numbers.
    fn check_all_lengths(&mut self, sizes: &[Node], first: Option<usize>, span: Span, ctx: Space) {
        for (i, m) in sizes.iter().enumerate().skip(1) {
            let ok = self.eq(sizes[0], *m);
            self.check_lengths(ok, [sizes[0], *m], first.map(|first| first + i), span, ctx);
        }
    }

    /// The first length, checked to equal the other: that of an operand, or of a chunked sequence.
    fn check_lengths(&mut self, ok: Node, [n, m]: [Node; 2], operand: Option<usize>, span: Span, ctx: Space) -> Node {
        match operand {
            Some(k) => self.check(ok, n, Fault::Lengths(k), span, &[n, m], ctx),
            None => self.check(ok, n, Fault::Uneven, span, &[], ctx),
        }
    }

    /// The position of a traversal, if it has one.
    pub(super) fn position(&mut self, ctx: Space, inner: Space) -> Option<Node> {
        let data = self.k.space(inner);
        (data.parent == ctx && matches!(data.region, Region::Dim(_))).then(|| self.k.pos(inner))
    }

    pub(super) fn map(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arrays: Vec<Rc<Arr>> = cx.inst.args.iter().map(|a| self.array(fx, *a)).collect::<Res<_>>()?;
        let first = if cx.ty.is_seq() && self.in_parts() { None } else { Some(0) };
        let walk = self.walk_all(&arrays, first, cx.span, cx.ctx)?;
        let at = self.position(cx.ctx, walk.inner);
        let elem = self.inside(fx, cx.inst.bodies[0], walk.elem.parts()?, walk.inner, Run::Element(at))?;
        Ok(self.walked(cx.ctx, Walk { elem, ..walk }))
    }

    pub(super) fn zip(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arrays: Vec<Rc<Arr>> = cx.inst.args.iter().map(|a| self.array(fx, *a)).collect::<Res<_>>()?;
        let first = if cx.ty.is_seq() && self.in_parts() { None } else { Some(0) };
        let walk = self.walk_all(&arrays, first, cx.span, cx.ctx)?;
        Ok(match self.zipped_in_memory(&arrays, walk.inner, cx.ctx) {
            Some(pairs) => pairs,
            None => self.walked(cx.ctx, walk),
        })
    }

    /// Arrays that lie in memory from the same position on: tuples of their elements lie there too, and need not be stored where they are accessed at arbitrary places.
    fn zipped_in_memory(&self, arrays: &[Rc<Arr>], inner: Space, ctx: Space) -> Option<Val> {
        let Region::Dim(size) = self.k.space(inner).region else { return None };
        let (mut start, mut parts) = (None, Vec::new());
        for arr in arrays {
            let Arr::Kept { base, rep, .. } = &**arr else { return None };
            parts.push((**rep).clone());
            if start.replace(*base).is_some_and(|b| b != *base) {
                return None;
            }
        }
        let is_here = self.k.space(inner).parent == ctx;
        start.filter(|_| is_here).map(|base| Val::array(Arr::Kept { size, base, rep: Rc::new(Rep::Tuple(parts)) }))
    }

    pub(super) fn unzip(&mut self, fx: &Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let arr = self.array(fx, cx.inst.args[0])?;
        if let Arr::Kept { size, base, rep } = &*arr
            && let Rep::Tuple(parts) = &**rep
        {
            let part = |r: &Rep| Val::array(Arr::Kept { size: *size, base: *base, rep: Rc::new(r.clone()) });
            return Ok(Val::tuple(parts.iter().map(part).collect()));
        }
        let walk = self.walk(&arr, cx.ctx)?;
        Ok(Val::tuple(
            walk.elem.parts()?.iter().map(|p| self.walked(cx.ctx, Walk { elem: p.clone(), ..walk.clone() })).collect(),
        ))
    }

    /// Applies `f` to each element of the dimension `axis` further in.
    pub(super) fn under(&mut self, val: &Val, axis: usize, ctx: Space, f: &mut OfArray<'_, 'p>) -> Res<Val> {
        let arr = as_array(val)?;
        if axis == 0 {
            return f(self, &arr, ctx);
        }
        let walk = self.walk(&arr, ctx)?;
        let elem = self.under(&walk.elem, axis - 1, walk.inner, f)?;
        Ok(self.walked(ctx, Walk { elem, ..walk }))
    }
}

/// A representation of a flat value, with these buffers in order.
pub(super) fn rep_like(val: &Val, bufs: &mut dyn Iterator<Item = deckle_ir::kernel::Buf>) -> Res<Rep> {
    match val {
        Val::Tuple(parts) => Ok(Rep::Tuple(parts.iter().map(|p| rep_like(p, bufs)).collect::<Res<_>>()?)),
        _ => bufs.next().map(Rep::Scalar).ok_or_else(|| bug("too few buffers for a value")),
    }
}
