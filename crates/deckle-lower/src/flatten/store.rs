//! Materialisation: the place of each point of a space, and the kernels that fill buffers.
//!
//! The points of a space are numbered in order. In a dense dimension of size `m` point `j` of parent `p` has the number `p·m + j`; in a ragged one
//! `offsets[p] + j`, where the offsets are the sums of all sizes before, computed once for each dimension. A guard does not change the numbers of points:
//! excluded points have unused places. Rows of equal size below a guard are numbered as ragged ones, and excluded rows have no
//! elements, unless they are short: memory is bounded by the number of existing points.

use super::value::{Arr, Val};
use super::{Flattener, Res, Stuck, as_array, bug};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Buf, Combine, FoldSpec, Kernel, Node, Op, ROOT, Region, Rep, Rows, Sink, Space, Step};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::rc::Rc;

impl Flattener<'_> {
    /// The number of each point of a space.
    pub(super) fn number(&mut self, s: Space) -> Res<Node> {
        let data = *self.k.space(s);
        match data.region {
            Region::Root => Ok(self.k.int(0)),
            Region::Dim(_) => {
                let (start, pos) = (self.start(s)?, self.k.pos(s));
                Ok(self.k.binary(BinOp::Add, start, pos))
            }
            Region::Guard(..) => self.number(data.parent),
            Region::Loop | Region::Lambda => Err(Stuck::InLoop),
        }
    }

    /// The number of the first point of a dimension, at each point of its parent.
    pub(super) fn start(&mut self, dim: Space) -> Res<Node> {
        let (parent, size) = (self.k.space(dim).parent, self.dim_size(dim)?);
        let number = self.number(parent)?;
        if self.is_dense(dim) {
            return Ok(self.k.binary(BinOp::Mul, number, size));
        }
        let offsets = self.offsets(dim)?;
        Ok(self.k.load(offsets, number, parent))
    }

    /// The number of numbered points: a node of the root.
    pub(super) fn count(&mut self, s: Space) -> Res<Node> {
        let data = *self.k.space(s);
        match data.region {
            Region::Root => Ok(self.k.int(1)),
            Region::Dim(size) => {
                let parent = self.count(data.parent)?;
                if self.is_dense(s) {
                    return Ok(self.points(parent, size));
                }
                let offsets = self.offsets(s)?;
                Ok(self.k.load(offsets, parent, ROOT))
            }
            Region::Guard(..) => self.count(data.parent),
            Region::Loop | Region::Lambda => Err(Stuck::InLoop),
        }
    }

    /// Whether a dimension is numbered by multiples of its size: if that is the same everywhere, and only a few points excluded by a guard
    /// have numbers for it.
    pub(super) fn is_dense(&self, dim: Space) -> bool {
        let mut dense = true;
        // The number of numbers for each point that a guard excludes, if one does.
        let mut unused = None;
        for s in self.k.between(ROOT, dim) {
            match self.k.space(s).region {
                Region::Guard(..) => unused = unused.or(Some(1i64)),
                Region::Dim(size) => {
                    let few = |n: i64| {
                        Some(n.checked_mul(self.k.as_int(size)?)?).filter(|n| *n <= self.options.cuts.few_unused)
                    };
                    let all = unused.and_then(few);
                    dense = self.k.space_of(size) == ROOT && unused.is_some() == all.is_some();
                    unused = if dense { all } else { None };
                }
                _ => {}
            }
        }
        dense
    }

    /// The number of each point of a traversal from the root, counted from 0, and how many there are: if this can be computed without counting them.
    pub(super) fn numbered(&mut self, inner: Space, ctx: Space) -> Res<Option<(Node, Node)>> {
        let is_dim = |s: &Space| match self.k.space(*s).region {
            Region::Dim(_) => self.is_dense(*s) || self.closed_form(*s).is_some(),
            _ => false,
        };
        if ctx != ROOT || !self.k.between(ROOT, inner).iter().all(is_dim) {
            return Ok(None);
        }
        let first = self.first_number(inner);
        let (number, count) = (self.number(inner)?, self.count(inner)?);
        Ok(Some((self.sub(number, first), self.sub(count, first))))
    }

    /// The smallest number of a point: 0, unless the offsets of rows are given and begin later.
    fn first_number(&mut self, s: Space) -> Node {
        let zero = self.k.int(0);
        let mut first = zero;
        for s in self.k.between(ROOT, s) {
            let Region::Dim(size) = self.k.space(s).region else { continue };
            first = match self.closed_form(s) {
                _ if self.is_dense(s) => self.mul(first, size),
                Some(offsets) => self.k.load(offsets, zero, ROOT),
                None => zero,
            };
        }
        first
    }

    /// The offsets of a ragged dimension: for each point of its parent the number of its first point, and the total at the end.
    pub(super) fn offsets(&mut self, dim: Space) -> Res<Buf> {
        if let Some(buf) = self.scopes().find_map(|s| s.offsets.get(&dim)) {
            return Ok(*buf);
        }
        let (parent, size) = (self.k.space(dim).parent, self.dim_size(dim)?);
        let buf = match self.closed_form(dim) {
            Some(buf) => buf,
            None => self.sum_up(parent, size)?,
        };
        if self.k.space_of(size) == ROOT {
            self.equal_rows.insert(buf, size);
        }
        self.here.scope.offsets.insert(dim, buf);
        Ok(buf)
    }

    /// The offsets already contain the prefix sums of row sizes. This does not hold if a check fails: then a row is another one, or has no elements.
    pub(super) fn closed_form(&self, dim: Space) -> Option<Buf> {
        let data = self.k.space(dim);
        let (offsets, Region::Dim(size)) = (data.offsets?, data.region) else { return None };
        (self.k.space(data.parent).parent == ROOT && !self.has_check(size)).then_some(offsets)
    }

    /// Whether the size of a row depends on a check.
    fn has_check(&self, n: Node) -> bool {
        matches!(self.k.node(n).op, Op::Check { .. }) || self.k.operands(n).into_iter().any(|n| self.has_check(n))
    }

    /// The offsets of a dimension that may be dense.
    pub(super) fn offsets_of_any(&mut self, dim: Space) -> Res<Buf> {
        if !self.is_dense(dim) {
            return self.offsets(dim);
        }
        let (parent, size) = (self.k.space(dim).parent, self.dim_size(dim)?);
        let one = self.k.int(1);
        let count = self.count(parent)?;
        let len = self.k.binary(BinOp::Add, count, one);
        let name = format!("the list of offsets of {}", self.name);
        let buf = self.alloc(ScalarType::I64, &name, len);
        let space = self.k.dim(ROOT, len);
        let at = self.k.pos(space);
        let value = self.k.binary(BinOp::Mul, at, size);
        let total = self.count(dim)?;
        self.offsets_fit(buf, total);
        self.run(&name, vec![Sink::Write { space, buf, at, value }]);
        Ok(buf)
    }

    fn sum_up(&mut self, parent: Space, size: Node) -> Res<Buf> {
        let (points, size) = self.everywhere(parent, size)?;
        let number = self.number(points)?;
        let count = self.count(points)?;
        let one = self.k.int(1);
        let zero = self.k.int(0);
        let len = self.k.binary(BinOp::Add, count, one);
        let name = format!("the list of offsets of {}", self.name);
        let buf = self.alloc(ScalarType::I64, &name, len);
        let spec = self.summing(size);
        let total = match points {
            // One row: nothing comes before it.
            ROOT => size,
            _ => {
                let scan = self.k.scan(points, ROOT, spec, false);
                self.k.part(scan, 0)
            }
        };
        let after = self.k.binary(BinOp::Add, number, one);
        let before = match self.first_number(points) {
            first if self.k.as_int(first) == Some(0) => Sink::Write { space: ROOT, buf, at: zero, value: zero },
            first => {
                let upto = self.add(first, one);
                let space = self.k.dim(ROOT, upto);
                Sink::Write { space, buf, at: self.k.pos(space), value: zero }
            }
        };
        self.run(&name, vec![before, Sink::Write { space: points, buf, at: after, value: total }]);
        let total = self.k.load(buf, count, ROOT);
        self.offsets_fit(buf, total);
        Ok(buf)
    }

    /// A space that has a point for each number of another one, and a value there: zero where guards exclude the point.
    ///
    /// Guards at the end of a space become conditionals. One with dimensions below it would have to be moved below them, with all conditions and sizes
    /// that rely on it, so in that case the value is stored among zeros and loaded by its number.
    fn everywhere(&mut self, s: Space, value: Node) -> Res<(Space, Node)> {
        let (points, value) = self.unguarded(s, value)?;
        let is_guard = |s: &Space| matches!(self.k.space(*s).region, Region::Guard(..));
        if !self.k.between(ROOT, points).iter().any(is_guard) {
            return Ok((points, value));
        }
        let (at, len) = (self.number(points)?, self.count(points)?);
        let ty = self.k.ty(value);
        let name = format!("the list of sizes of {}", self.name);
        let buf = self.alloc(ty, &name, len);
        let numbers = self.k.dim(ROOT, len);
        let pos = self.k.pos(numbers);
        let zero = self.k.constant(Scalar::zero(ty));
        self.run(&name, vec![Sink::Write { space: numbers, buf, at: pos, value: zero }]);
        let (bufs, values) = (vec![buf], vec![value]);
        self.run(&name, vec![Sink::Scatter { space: points, bufs, at, len, within: points, values, combine: None }]);
        Ok((numbers, self.k.load(buf, pos, numbers)))
    }

    /// The space without the guards at its end, and the value with zero where they do not hold.
    ///
    /// A scan continues from one point that passes a guard to the next, so a conditional at a single point cannot hold it: its value is stored first.
    pub(super) fn unguarded(&mut self, s: Space, value: Node) -> Res<(Space, Node)> {
        let Region::Guard(cond, when) = self.k.space(s).region else { return Ok((s, value)) };
        let value = match self.k.scan_across(s, &[value]) {
            Some(_) => self.load_of(value, s, &format!("the list of values of {}", self.name))?,
            None => value,
        };
        let parent = self.k.space(s).parent;
        let zero = self.k.constant(Scalar::zero(self.k.ty(value)));
        let value = self.branch(parent, cond, when, &[value], &[zero])[0];
        self.unguarded(parent, value)
    }

    /// A conditional of values of the guards of a condition.
    pub(super) fn branch(&mut self, ctx: Space, cond: Node, when: bool, yes: &[Node], no: &[Node]) -> Vec<Node> {
        let (y, n) = (self.k.guard(ctx, cond, when), self.k.guard(ctx, cond, !when));
        let ty = self.k.ty(yes[0]);
        let op = Op::If { yes: y, then: yes.to_vec(), no: n, other: no.to_vec() };
        let group = self.k.intern(op, ty, ctx);
        (0..yes.len()).map(|i| self.k.part(group, i as u32)).collect()
    }

    /// Allocates a new buffer now.
    pub(super) fn alloc(&mut self, elem: ScalarType, name: &str, len: Node) -> Buf {
        // In program order: earlier checks are not made after that of the size.
        self.check_at_root();
        let buf = self.k.buf(elem, name);
        self.k.bufs[buf.index()].len = Some(len);
        self.k.bufs[buf.index()].span = self.span;
        self.step(Step::Alloc(buf, len));
        buf
    }

    /// Runs a kernel now.
    pub(super) fn run(&mut self, name: &str, sinks: Vec<Sink>) {
        self.check_at_root();
        let mut sinks = self.with_checks(sinks);
        let sizes = self.sizes_to_check(&sinks);
        if !sizes.is_empty() {
            // A row may be so long that the size of the next one, which is wrong, would not be noticed.
            sinks.retain(|sink| !matches!(sink, Sink::Check(n) if sizes.contains(n)));
            self.run_only("checks", sizes.into_iter().map(Sink::Check).collect());
        }
        self.run_only(name, sinks);
    }

    /// Runs a kernel of these sinks and no others.
    fn run_only(&mut self, name: &str, sinks: Vec<Sink>) {
        for sink in &sinks {
            for n in self.k.sink_needs_to_run(sink) {
                self.pending.remove(&n);
            }
        }
        self.step(Step::Run(Kernel { sinks, name: name.into() }));
    }

    /// Of the pending checks, those of sizes of rows in which others are made.
    fn sizes_to_check(&self, sinks: &[Sink]) -> Vec<Node> {
        let checks = sinks.iter().filter_map(|s| if let Sink::Check(n) = s { Some(*n) } else { None });
        let sizes = checks.flat_map(|n| self.k.sizes_of(n));
        let needs = self.k.needs_to_run(&sizes.collect::<Vec<_>>());
        needs.into_iter().filter(|n| self.pending.contains(n) && self.on_host(self.k.space_of(*n))).collect()
    }

    /// Pending checks along the same dimension join the kernel, and come first, as in the program.
    fn with_checks(&self, sinks: Vec<Sink>) -> Vec<Sink> {
        let first = |s: Space| self.k.between(ROOT, s).first().copied();
        let dims: Vec<Space> = sinks.iter().filter_map(|s| first(self.k.sink_parts(s).0)).collect();
        let mine = |n: &Node| {
            let space = self.k.space_of(*n);
            self.on_host(space) && first(space).is_some_and(|d| dims.contains(&d))
        };
        let checks = self.pending.iter().copied().filter(mine).map(Sink::Check);
        checks.chain(sinks.iter().cloned()).collect()
    }

    /// Stores a value in buffers: a representation over the numbers of the context.
    pub(super) fn store(&mut self, val: &Val, ctx: Space, name: &str) -> Res<Rep> {
        if !self.on_host(ctx) {
            return Err(Stuck::InLoop);
        }
        let mut sinks = Vec::new();
        let rep = self.store_part(val, ctx, name, &mut sinks)?;
        if !sinks.is_empty() {
            self.run(name, sinks);
        }
        Ok(rep)
    }

    /// As [`Self::store`], with zeros at the places of points that guards exclude: for buffers that the host reads as a whole.
    pub(super) fn store_everywhere(&mut self, val: &Val, ctx: Space, name: &str) -> Res<Rep> {
        let is_guard = |s: &Space| matches!(self.k.space(*s).region, Region::Guard(..));
        if !self.k.between(ROOT, ctx).iter().any(is_guard) {
            return self.store(val, ctx, name);
        }
        let mut sinks = Vec::new();
        let rep = self.store_part(val, ctx, name, &mut sinks)?;
        let (mut zeros, mut values) = (Vec::new(), Vec::new());
        for sink in sinks {
            let Sink::Write { space, buf, at, value } = sink else {
                return Err(bug("a value that is not stored by writes"));
            };
            let len = self.k.bufs[buf.index()].len.ok_or_else(|| bug(format!("the length of {buf} is not known")))?;
            let numbers = self.k.dim(ROOT, len);
            let (pos, zero) = (self.k.pos(numbers), self.k.constant(Scalar::zero(self.k.ty(value))));
            zeros.push(Sink::Write { space: numbers, buf, at: pos, value: zero });
            let (bufs, all) = (vec![buf], vec![value]);
            values.push(Sink::Scatter { space, bufs, at, len, within: space, values: all, combine: None });
        }
        self.run(name, zeros);
        self.run(name, values);
        Ok(rep)
    }

    fn store_part(&mut self, val: &Val, ctx: Space, name: &str, sinks: &mut Vec<Sink>) -> Res<Rep> {
        match val {
            Val::Scalar(n) => {
                let at = self.number(ctx)?;
                let len = self.count(ctx)?;
                let buf = self.alloc(self.k.ty(*n), name, len);
                sinks.push(Sink::Write { space: ctx, buf, at, value: *n });
                Ok(Rep::Scalar(buf))
            }
            Val::Tuple(parts) => {
                if parts.is_empty() {
                    // Nothing is stored, but the count must still be valid.
                    self.count(ctx)?;
                }
                Ok(Rep::Tuple(parts.iter().map(|p| self.store_part(p, ctx, name, sinks)).collect::<Res<_>>()?))
            }
            Val::Array(arr) => {
                let walk = self.walk(arr, ctx)?;
                let inner = self.k.space(walk.inner);
                if let (Region::Dim(_), true) = (inner.region, inner.parent == ctx) {
                    let rows = self.rows(walk.inner)?;
                    let elem = self.store_part(&walk.elem, walk.inner, name, sinks)?;
                    return Ok(Rep::Array(rows, Box::new(elem)));
                }
                self.store_chain(walk.inner, &walk.elem, ctx, name, sinks)
            }
        }
    }

    /// A buffer that holds a scalar of every point of a space at the place of that point already.
    pub(super) fn stored_already(&mut self, n: Node, space: Space) -> Option<Buf> {
        let Op::Load(buf, at) = self.k.node(n).op else { return None };
        let is_dim = |s: &Space| matches!(self.k.space(*s).region, Region::Dim(_));
        let path = self.k.between(ROOT, space);
        let plain = !path.is_empty() && path.iter().all(is_dim) && self.k.space_of(n) == space;
        (plain && self.number(space).ok() == Some(at)).then_some(buf)
    }

    pub(super) fn rows(&mut self, dim: Space) -> Res<Rows> {
        match self.is_dense(dim) {
            true => Ok(Rows::Equal(self.dim_size(dim)?)),
            false => Ok(Rows::Offsets(self.offsets(dim)?)),
        }
    }

    /// Stores the points of a traversal contiguously: the number at each point of the context is counted first, then each
    /// has its place.
    fn store_chain(&mut self, inner: Space, elem: &Val, ctx: Space, name: &str, sinks: &mut Vec<Sink>) -> Res<Rep> {
        let (inner, elem) = self.with_masks(inner, elem, ctx)?;
        let size = self.count_points(inner, ctx)?;
        let size = if ctx == ROOT { size } else { self.load_of(size, ctx, &format!("the list of sizes of {name}"))? };
        let dim = self.k.dim(ctx, size);
        let rows = self.rows(dim)?;
        // The stored array is a dimension of that size; each point of the traversal writes to its next place.
        let base = self.start(dim)?;
        let at = match self.numbered(inner, ctx)? {
            Some((number, _)) => number,
            None => {
                let (zero, one) = (self.k.int(0), self.k.int(1));
                let combine = Combine::Ops(vec![BinOp::Add]);
                let spec = FoldSpec { init: Some(vec![zero]), elems: vec![one], combine };
                let before = self.k.scan(inner, ctx, spec, true);
                let before = self.k.part(before, 0);
                self.k.binary(BinOp::Add, base, before)
            }
        };
        let len = self.count(dim)?;
        let elem = self.store_at(&elem, inner, at, len, name, sinks)?;
        Ok(Rep::Array(rows, Box::new(elem)))
    }

    /// Stores the elements of a traversal at given places. Arrays among them are stored at their own points first, and then copied to their place.
    fn store_at(
        &mut self,
        elem: &Val,
        inner: Space,
        at: Node,
        len: Node,
        name: &str,
        sinks: &mut Vec<Sink>,
    ) -> Res<Rep> {
        match elem {
            Val::Scalar(n) => {
                let buf = self.alloc(self.k.ty(*n), name, len);
                sinks.push(Sink::Write { space: inner, buf, at, value: *n });
                Ok(Rep::Scalar(buf))
            }
            Val::Tuple(parts) => {
                Ok(Rep::Tuple(parts.iter().map(|p| self.store_at(p, inner, at, len, name, sinks)).collect::<Res<_>>()?))
            }
            Val::Array(arr) => {
                // The point of the traversal for each place: its element is read there.
                let kept = self.keep(arr, inner)?;
                let number = self.number(inner)?;
                let places = format!("the list of places of {name}");
                let from = self.alloc(ScalarType::I64, &places, len);
                self.run(&places, vec![Sink::Write { space: inner, buf: from, at, value: number }]);
                let dim = self.k.dim(ROOT, len);
                let pos = self.k.pos(dim);
                let source = self.k.load(from, pos, dim);
                let rep = self.rep_of(&kept)?;
                let row = self.kept_at(&rep, source, dim);
                self.store_part(&row, dim, name, sinks)
            }
        }
    }

    /// The representation, over the numbers of its context, of an array that `keep` returned.
    fn rep_of(&self, arr: &Rc<Arr>) -> Res<Rep> {
        self.kept.get(&Rc::as_ptr(arr)).cloned().ok_or_else(|| bug("an array that is kept lies nowhere"))
    }

    /// A scalar of a context, loaded from its buffer.
    pub(super) fn load_of(&mut self, n: Node, ctx: Space, name: &str) -> Res<Node> {
        let rep = self.store(&Val::Scalar(n), ctx, name)?;
        let at = self.number(ctx)?;
        self.kept_at(&rep, at, ctx).scalar()
    }

    /// A value of the root that the host may use for a size or a condition: if it needs a loop, a kernel computes it once, since the host runs none.
    pub(super) fn on_hand(&mut self, val: Val) -> Res<Val> {
        if val.has_array() || val.scalars()?.iter().all(|n| self.is_light(*n)) {
            return Ok(val);
        }
        let name = self.name.clone();
        let rep = self.store(&val, ROOT, &name)?;
        let zero = self.k.int(0);
        Ok(self.kept_at(&rep, zero, ROOT))
    }

    /// Stores an array in memory. An array that is stored already is not stored again.
    pub(super) fn keep(&mut self, arr: &Rc<Arr>, ctx: Space) -> Res<Rc<Arr>> {
        let key = (Rc::as_ptr(arr), ctx);
        if let Some((_, kept)) = self.scopes().find_map(|s| s.kept.get(&key)) {
            return Ok(Rc::clone(kept));
        }
        let (name, span) = self.label_of(arr);
        let rep = self.within((name.clone(), span), |f| f.store(&Val::Array(Rc::clone(arr)), ctx, &name))?;
        let at = self.number(ctx)?;
        let kept = as_array(&self.kept_at(&rep, at, ctx))?;
        self.kept.insert(Rc::as_ptr(&kept), rep);
        // The key is an address, so its owner must live on.
        self.here.scope.kept.insert(key, (Rc::clone(arr), Rc::clone(&kept)));
        self.alive.push(Rc::clone(&kept));
        Ok(kept)
    }

    /// Stores all arrays of a value.
    pub(super) fn keep_val(&mut self, val: &Val, ctx: Space) -> Res<Val> {
        match val {
            Val::Scalar(_) => Ok(val.clone()),
            Val::Tuple(parts) => Ok(Val::tuple(parts.iter().map(|p| self.keep_val(p, ctx)).collect::<Res<_>>()?)),
            Val::Array(arr) => match &**arr {
                Arr::Kept { .. } => Ok(val.clone()),
                _ => Ok(Val::Array(self.keep(arr, ctx)?)),
            },
        }
    }

    /// The parts of a fold. At the root a kernel of its own computes it once.
    pub(super) fn fold(&mut self, over: Space, spec: FoldSpec, ctx: Space, parts: &[u32]) -> Res<Vec<Node>> {
        let group = self.k.fold(over, spec, ctx);
        let nodes: Vec<Node> = parts.iter().map(|i| self.k.part(group, *i)).collect();
        if ctx != ROOT {
            return Ok(nodes);
        }
        let name = self.name.clone();
        let val = Val::tuple(nodes.into_iter().map(Val::Scalar).collect());
        let rep = self.store(&val, ROOT, &name)?;
        let zero = self.k.int(0);
        self.kept_at(&rep, zero, ROOT).scalars()
    }

    /// A sum of integers.
    pub(super) fn sum(&mut self, over: Space, value: Node, ctx: Space) -> Res<Node> {
        let zero = self.k.constant(Scalar::zero(self.k.ty(value)));
        let spec = FoldSpec { init: Some(vec![zero]), elems: vec![value], combine: Combine::Ops(vec![BinOp::Add]) };
        Ok(self.fold(over, spec, ctx, &[0])?[0])
    }
}
