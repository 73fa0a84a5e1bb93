//! Folds and scans.

use super::value::{Arr, Val, Walk};
use super::{Cx, Flattener, Frame, Res, Run, Stuck, bug};
use deckle_ir::array::{BinOp, Direction, Monoid, ScanKind};
use deckle_ir::entity::Body;
use deckle_ir::kernel::{self, Combine, Fault, FoldSpec, Node, ROOT, Sink, Space};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::rc::Rc;

/// The maximal number of scans in a kernel on which the elements of one may depend.
const MOST_SCANS: usize = 3;

/// The operators that can be applied component by component.
fn is_plain(op: BinOp) -> bool {
    use BinOp::*;
    matches!(op, Add | Mul | Min | Max | And | Or | Xor)
}

impl<'p> Flattener<'p> {
    pub(super) fn reduce(&mut self, fx: &Frame<'p>, cx: &Cx<'p>, monoid: Monoid) -> Res<Val> {
        let arr = self.array(fx, cx.inst.args[0])?;
        let walk = self.walk(&arr, cx.ctx)?;
        let x = walk.elem.scalar()?;
        let ty = self.k.ty(x);
        let (op, init) = match monoid {
            Monoid::Sum => (BinOp::Add, Some(Scalar::zero(ty))),
            Monoid::Product => (BinOp::Mul, Some(Scalar::one(ty))),
            Monoid::Any => (BinOp::Or, Some(Scalar::Bool(false))),
            Monoid::All => (BinOp::And, Some(Scalar::Bool(true))),
            Monoid::Min => (BinOp::Min, None),
            Monoid::Max => (BinOp::Max, None),
            Monoid::ArgMin | Monoid::ArgMax => return self.arg_best(&arr, monoid, cx),
        };
        let init = init.map(|c| vec![self.k.constant(c)]);
        let named = if monoid == Monoid::Min { "min" } else { "max" };
        let (op, elems) = (Combine::Ops(vec![op]), vec![x]);
        let spec = FoldSpec { init, elems, combine: op };
        Ok(Val::Scalar(self.fold_or_empty(walk.inner, spec, named, cx)?[0]))
    }

    /// A fold, which must have elements if it has no start.
    fn fold_or_empty(&mut self, over: Space, spec: FoldSpec, name: &'static str, cx: &Cx<'p>) -> Res<Vec<Node>> {
        let n = spec.elems.len() as u32;
        if spec.init.is_some() {
            return self.fold(over, spec, cx.ctx, &(0..n).collect::<Vec<_>>());
        }
        let parts = self.fold(over, spec, cx.ctx, &(0..=n).collect::<Vec<_>>())?;
        let (any, values) = (parts[n as usize], &parts[..n as usize]);
        let checked = values.iter().map(|x| self.check(any, *x, Fault::Empty(name.into()), cx.span, &[], cx.ctx));
        Ok(checked.collect())
    }

    /// The first position of the minimum or maximum, or of the first NaN.
    fn arg_best(&mut self, arr: &Rc<Arr>, monoid: Monoid, cx: &Cx<'p>) -> Res<Val> {
        let mut arr = Rc::clone(arr);
        if matches!(&*arr, Arr::Chain { .. }) {
            arr = self.indexed(&arr)?;
        }
        let walk = self.walk(&arr, cx.ctx)?;
        let x = walk.elem.scalar()?;
        let pos = self.k.pos(walk.inner);
        let ty = self.k.ty(x);
        let lambda = self.k.new_lambda(cx.ctx);
        let var = |f: &mut Self, k: u32, ty: ScalarType| f.k.var(lambda, k, ty);
        let (a, i) = (var(self, 0, ty), var(self, 1, ScalarType::I64));
        let (b, j) = (var(self, 2, ty), var(self, 3, ScalarType::I64));
        // The second wins if it is better, and the first is no NaN.
        let wins = match (monoid, ty.is_float()) {
            (Monoid::ArgMin, false) => self.before(b, a),
            (_, false) => self.before(a, b),
            (monoid, true) => {
                let (nan_a, nan_b) =
                    (self.k.unary(deckle_ir::array::UnOp::IsNan, a), self.k.unary(deckle_ir::array::UnOp::IsNan, b));
                let better = if monoid == Monoid::ArgMin { self.before(b, a) } else { self.before(a, b) };
                let better = self.or(better, nan_b);
                let number = self.not(nan_a);
                self.and(better, number)
            }
        };
        let (value, place) = (self.k.select(wins, b, a), self.k.select(wins, j, i));
        let combine = Combine::Lambda(lambda, vec![value, place]);
        let spec = FoldSpec { init: None, elems: vec![x, pos], combine };
        let name = if monoid == Monoid::ArgMin { "argmin" } else { "argmax" };
        Ok(Val::Scalar(self.fold_or_empty(walk.inner, spec, name, cx)?[1]))
    }

    /// A combining function of a body, in a space of its own.
    pub(super) fn combining(
        &mut self,
        fx: &mut Frame<'p>,
        body: Body,
        like: &Val,
        swap: bool,
        ctx: Space,
    ) -> Res<Combine> {
        let leaves = like.scalars()?;
        let n = leaves.len();
        let lambda = self.k.new_lambda(ctx);
        let vars: Vec<Node> = (0..2 * n).map(|k| self.k.var(lambda, k as u32, self.k.ty(leaves[k % n]))).collect();
        let (mut first, mut second) = vars.split_at(n);
        if swap {
            (first, second) = (second, first);
        }
        let args = [like.with_leaves(&mut first.iter().copied())?, like.with_leaves(&mut second.iter().copied())?];
        let result = self.inside(fx, body, &args, lambda, Run::Element(None))?;
        let results = result.scalars()?;
        Ok(self.combine(lambda, (first, second), results))
    }

    /// A function of operands that are variables of its space: operators, if it applies one to each component.
    pub(super) fn combine(
        &mut self,
        lambda: Space,
        (first, second): (&[Node], &[Node]),
        results: Vec<Node>,
    ) -> Combine {
        let results = self.checked_results(lambda, results);
        let op = |((a, b), result): ((&Node, &Node), &Node)| match self.k.node(*result).op {
            kernel::Op::Binary(op, x, y) if is_plain(op) && (x, y) == (*a, *b) => Some(op),
            // Which zero is the least, and which NaN is returned, may depend on the order.
            kernel::Op::Binary(op, x, y)
                if is_plain(op) && (x, y) == (*b, *a) && !matches!(op, BinOp::Min | BinOp::Max) =>
            {
                Some(op)
            }
            _ => None,
        };
        let is_whole = results.len() == first.len() && !results.is_empty();
        let ops = first.iter().zip(second).zip(&results).map(op).collect::<Option<Vec<BinOp>>>();
        match ops.filter(|_| is_whole) {
            Some(ops) => Combine::Ops(ops),
            None => Combine::Lambda(lambda, results),
        }
    }

    /// The checks of a function whose values it does not use are tied to its first result.
    pub(super) fn checked_results(&mut self, lambda: Space, mut results: Vec<Node>) -> Vec<Node> {
        for n in self.k.needs_to_run(&results) {
            if self.k.encloses(lambda, self.k.space_of(n)) {
                self.pending.remove(&n);
            }
        }
        for n in self.checks_within(lambda, lambda) {
            results[0] = self.tied(results[0], n, lambda);
        }
        results
    }

    /// The first value, which requires the second to be computed.
    fn tied(&mut self, value: Node, to: Node, ctx: Space) -> Node {
        use deckle_ir::kernel::Op as K;
        let ty = self.k.ty(value);
        // A NaN is not equal to itself.
        let flag = self.k.cast(ScalarType::Bool, to);
        let same = self.k.intern(K::Binary(BinOp::Eq, flag, flag), ScalarType::Bool, ctx);
        let zero = self.k.constant(Scalar::zero(ty));
        self.k.intern(K::Select(same, value, zero), ty, ctx)
    }

    pub(super) fn fold_by(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let (init, xs) = match cx.inst.args[..] {
            [z, xs] => (Some(self.get(fx, z)?), xs),
            _ => (None, cx.inst.args[0]),
        };
        let arr = self.array(fx, xs)?;
        let key = (fx.func, cx.v);
        let flat = is_scalars(cx.ty);
        if flat && !self.lifted.contains(&key) {
            let walk = self.walk(&arr, cx.ctx)?;
            let mark = self.mark();
            match self.combining(fx, cx.inst.bodies[0], &walk.elem, false, cx.ctx) {
                Ok(combine) => {
                    let init = init.map(|z| z.scalars()).transpose()?;
                    let elems = walk.elem.scalars()?;
                    let fails = self.k.can_fail(&combine);
                    let spec = FoldSpec { init, elems, combine };
                    let parts = self.fold_or_empty(walk.inner, spec, "fold1", cx)?;
                    if fails && cx.ctx != ROOT {
                        self.pending.insert(parts[0]);
                    }
                    return walk.elem.with_leaves(&mut parts.into_iter());
                }
                Err(Stuck::InLoop) => {
                    self.back_to(mark);
                    self.lifted.insert(key);
                }
                Err(other) => return Err(other),
            }
        }
        self.fold_in_steps(fx, cx, init, &arr)
    }

    pub(super) fn scan_by(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        direction: Direction,
        kind: ScanKind,
    ) -> Res<Val> {
        let (init, xs) = match cx.inst.args[..] {
            [z, xs] => (Some(self.get(fx, z)?), xs),
            _ => (None, cx.inst.args[0]),
        };
        let arr = self.array(fx, xs)?;
        let flat = cx.ty.elem().is_some_and(is_scalars);
        if !flat || self.lifted.contains(&(fx.func, cx.v)) {
            return self.scan_in_steps(fx, cx, init, &arr, direction, kind);
        }
        let arr = self.with_few_scans(arr, cx.ctx)?;
        let right = direction == Direction::Right;
        let walk = match right {
            false => self.walk(&arr, cx.ctx)?,
            true => self.walk_back(&arr, cx.ctx)?,
        };
        let mark = self.mark();
        let combine = match self.combining(fx, cx.inst.bodies[0], &walk.elem, right, cx.ctx) {
            Ok(combine) => combine,
            Err(Stuck::InLoop) => {
                self.back_to(mark);
                self.lifted.insert((fx.func, cx.v));
                return self.scan_in_steps(fx, cx, init, &arr, direction, kind);
            }
            Err(other) => return Err(other),
        };
        let (fails, mut exclusive) = (self.k.can_fail(&combine), kind == ScanKind::Exclusive);
        let (walk, init) = match init {
            Some(z) if fails && exclusive => {
                exclusive = false;
                let from = if right { self.reversed_elements(&arr, cx.ctx)? } else { arr };
                (self.walk_shifted(&z, &from, cx.ctx)?, None)
            }
            init => (walk, init.map(|z| z.scalars()).transpose()?),
        };
        let elems = walk.elem.scalars()?;
        let n = elems.len() as u32;
        let spec = FoldSpec { init: init.clone(), elems, combine };
        let group = self.k.scan(walk.inner, cx.ctx, spec, exclusive);
        let parts: Vec<Node> = (0..n).map(|i| self.k.part(group, i)).collect();
        if fails {
            self.pending.insert(parts[0]);
        }
        let elem = walk.elem.with_leaves(&mut parts.into_iter())?;
        let scanned = Walk { inner: walk.inner, elem, linear: true };
        if kind == ScanKind::Full {
            let init = init.ok_or_else(|| bug("a full scan without a start"))?;
            return self.full(scanned, init, right, cx);
        }
        let scanned = self.walked(cx.ctx, scanned);
        if !right {
            return Ok(scanned);
        }
        let back = self.indexed(&super::as_array(&scanned)?)?;
        self.reversed(&back, cx.ctx)
    }

    /// `fold_ordered`.
    pub(super) fn fold_in_order(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let (start, arr) = (self.get(fx, cx.inst.args[0])?, self.array(fx, cx.inst.args[1])?);
        let Some((walk, spec)) = self.in_order(fx, cx, &start, &arr)? else {
            return self.fold_in_steps(fx, cx, Some(start), &arr);
        };
        let fails = self.k.can_fail(&spec.combine);
        let n = start.scalars()?.len() as u32;
        let parts = self.fold(walk.inner, spec, cx.ctx, &(0..n).collect::<Vec<_>>())?;
        if fails && cx.ctx != ROOT {
            self.pending.insert(parts[0]);
        }
        start.with_leaves(&mut parts.into_iter())
    }

    /// `scan_ordered`.
    pub(super) fn scan_in_order(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let (start, arr) = (self.get(fx, cx.inst.args[0])?, self.array(fx, cx.inst.args[1])?);
        let arr = self.with_few_scans(arr, cx.ctx)?;
        let Some((walk, spec)) = self.in_order(fx, cx, &start, &arr)? else {
            return self.scan_in_steps(fx, cx, Some(start), &arr, Direction::Left, ScanKind::Inclusive);
        };
        let fails = self.k.can_fail(&spec.combine);
        let n = start.scalars()?.len() as u32;
        let group = self.k.scan(walk.inner, cx.ctx, spec, false);
        let parts: Vec<Node> = (0..n).map(|i| self.k.part(group, i)).collect();
        if fails {
            self.pending.insert(parts[0]);
        }
        let elem = start.with_leaves(&mut parts.into_iter())?;
        Ok(self.walked(cx.ctx, Walk { inner: walk.inner, elem, linear: true }))
    }

    /// The nodes that a fold or scan combines if its state consists of scalars; none if it has to be done in steps of the host.
    ///
    /// Both operands of the function have the components of the state, followed by those of an element, or its position if it has arrays. Of the left operand
    /// only the state matters, of the right one only the element.
    fn in_order(
        &mut self,
        fx: &mut Frame<'p>,
        cx: &Cx<'p>,
        start: &Val,
        arr: &Rc<Arr>,
    ) -> Res<Option<(Walk, FoldSpec)>> {
        let key = (fx.func, cx.v);
        let state = start.leaves().filter(|leaves| !leaves.is_empty());
        let Some(state) = state.filter(|_| !self.lifted.contains(&key)) else { return Ok(None) };
        let (mut arr, mut walk) = (Rc::clone(arr), self.walk(arr, cx.ctx)?);
        if walk.elem.has_array() {
            arr = self.indexed(&arr)?;
            walk = self.walk(&arr, cx.ctx)?;
        }
        let mut given = if walk.elem.has_array() { Vec::new() } else { walk.elem.scalars()? };
        let position = self.position(cx.ctx, walk.inner);
        given.extend(position);
        let types: Vec<ScalarType> = state.iter().chain(&given).map(|n| self.k.ty(*n)).collect();
        let (n, all) = (state.len(), types.len());
        let mark = self.mark();
        let lambda = self.k.new_lambda(cx.ctx);
        let vars: Vec<Node> = (0..2 * all).map(|k| self.k.var(lambda, k as u32, types[k % all])).collect();
        let before = start.with_leaves(&mut vars[..n].iter().copied())?;
        let mut right = vars[all + n..].iter().copied();
        let at = position.and_then(|_| vars.last().copied());
        let elem = match (walk.elem.has_array(), at) {
            (false, _) => walk.elem.with_leaves(&mut right)?,
            (true, Some(at)) => self.at(&arr, at, lambda)?,
            (true, None) => return Ok(None),
        };
        let result = match self.inside(fx, cx.inst.bodies[0], &[before, elem], lambda, Run::Element(at)) {
            Err(Stuck::InLoop) => {
                self.back_to(mark);
                self.lifted.insert(key);
                return Ok(None);
            }
            other => other?,
        };
        let results = result.scalars()?;
        let mut results = self.checked_results(lambda, results);
        results.extend(&vars[all + n..]);
        let none: Vec<Node> = types.iter().map(|ty| self.k.constant(Scalar::zero(*ty))).collect();
        let init = [&state, &none[n..]].concat();
        let elems = [&none[..n], &given].concat();
        Ok(Some((walk, FoldSpec { init: Some(init), elems, combine: Combine::InOrder(lambda, results) })))
    }

    /// An array whose elements depend on a few scans, and not on each of a long chain: every scan of a kernel is computed again for those that depend on it, so
    /// that the code of a chain grows with its square.
    fn with_few_scans(&mut self, arr: Rc<Arr>, ctx: Space) -> Res<Rc<Arr>> {
        let (Arr::Body { elem, linear: true, .. } | Arr::Chain { elem, .. }) = &*arr else { return Ok(arr) };
        let is_scan = |n: &Node| matches!(self.k.node(*n).op, kernel::Op::Scan { .. });
        // Elements that hold arrays are looked up by their position.
        let Some(leaves) = elem.leaves() else { return Ok(arr) };
        let scans = self.k.needs(&leaves).iter().filter(|n| is_scan(n)).count();
        if scans < MOST_SCANS || !self.on_host(ctx) { Ok(arr) } else { self.indexed(&arr) }
    }

    /// The elements from last to first.
    fn reversed_elements(&mut self, arr: &Rc<Arr>, ctx: Space) -> Res<Rc<Arr>> {
        let arr = self.indexed(arr)?;
        let back = self.reversed(&arr, ctx)?;
        super::as_array(&back)
    }

    fn walk_back(&mut self, arr: &Rc<Arr>, ctx: Space) -> Res<Walk> {
        let back = self.reversed_elements(arr, ctx)?;
        self.walk(&back, ctx)
    }

    /// A first element, and all elements but the last: the partial results of these are those of an exclusive scan, which does not apply a function that can fail
    /// to the last element.
    fn walk_shifted(&mut self, first: &Val, arr: &Rc<Arr>, ctx: Space) -> Res<Walk> {
        let arr = self.indexed(arr)?;
        let size = self.size(&arr, ctx)?;
        let (zero, one) = (self.k.int(0), self.k.int(1));
        let shifted = self.body_array(size, ctx, &mut |f, pos, dim| {
            let (later, before) = (f.lt(zero, pos), f.sub(pos, one));
            f.either(later, dim, &mut |f, ctx| f.at(&arr, before, ctx), &mut |_, _| Ok(first.clone()))
        })?;
        self.walk(&super::as_array(&shifted)?, ctx)
    }

    /// A scan preceded by its start, or followed by it from the right: stored, with one more element.
    fn full(&mut self, scanned: Walk, init: Vec<Node>, right: bool, cx: &Cx<'p>) -> Res<Val> {
        let n = self.count_points(scanned.inner, cx.ctx)?;
        let n = if cx.ctx == ROOT || self.is_light(n) {
            n
        } else {
            self.load_of(n, cx.ctx, &format!("the list of sizes of {}", self.name))?
        };
        let one = self.k.int(1);
        let size = self.size_add(n, one, cx.ctx);
        if !self.on_host(cx.ctx) {
            return Err(Stuck::InLoop);
        }
        let dim = self.k.dim(cx.ctx, size);
        let base = self.start(dim)?;
        let place = match self.position(cx.ctx, scanned.inner) {
            Some(pos) => pos,
            None => {
                let zero = self.k.int(0);
                let spec =
                    FoldSpec { init: Some(vec![zero]), elems: vec![one], combine: Combine::Ops(vec![BinOp::Add]) };
                let before = self.k.scan(scanned.inner, cx.ctx, spec, true);
                self.k.part(before, 0)
            }
        };
        let len = self.count(dim)?;
        let (first, others) = if right {
            let last = self.add(base, n);
            let back = self.sub(n, one);
            let back = self.sub(back, place);
            (last, self.add(base, back))
        } else {
            let after = self.add(place, one);
            (base, self.add(base, after))
        };
        let name = self.name.clone();
        let mut sinks = Vec::new();
        let mut bufs = Vec::new();
        for (z, x) in init.iter().zip(scanned.elem.scalars()?) {
            let buf = self.alloc(self.k.ty(x), &name, len);
            sinks.push(Sink::Write { space: cx.ctx, buf, at: first, value: *z });
            sinks.push(Sink::Write { space: scanned.inner, buf, at: others, value: x });
            bufs.push(buf);
        }
        self.run(&name, sinks);
        let rep = super::arrays::rep_like(&scanned.elem, &mut bufs.into_iter())?;
        Ok(Val::array(Arr::Kept { size, base, rep: Rc::new(rep) }))
    }

    /// Whether the cost of a node is negligible: it needs no loop.
    pub(super) fn is_light(&self, n: Node) -> bool {
        let light = |n: &Node| {
            use deckle_ir::kernel::Op as K;
            !matches!(self.k.node(*n).op, K::Fold { .. } | K::Scan { .. } | K::Loop { .. })
        };
        self.k.needs_to_run(&[n]).iter().all(light)
    }
}

/// Whether a type consists of scalars, at least one. A type without any is traversed in steps, for its checks.
pub(super) fn is_scalars(ty: &deckle_ir::types::Type) -> bool {
    ty.is_flat() && ty.width() > 0
}
