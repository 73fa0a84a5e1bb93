//! Sorting and grouping: the host computes the order of the keys, and everything else is read through it.

use super::arrays::rep_like;
use super::value::{Arr, Val, Walk};
use super::{Cx, Flattener, Frame, Res, Run, Stuck, as_array, bug};
use deckle_ir::array::{BinOp, Op};
use deckle_ir::kernel::{Buf, Node, ROOT, Rep, Rows, Space, Step};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::rc::Rc;

/// The order of the elements of an array: the source of each, and the keys.
struct Order {
    arr: Rc<Arr>,
    keys: Rc<Arr>,
    /// The start of the keys of the context.
    base: Node,
    order: Buf,
    size: Node,
}

impl<'p> Flattener<'p> {
    fn order(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Order> {
        if !self.on_host(cx.ctx) {
            return Err(Stuck::InLoop);
        }
        // Elements that cost more than a load are stored first: then keys that are parts of them are in memory.
        let arr = self.array(fx, cx.inst.args[0])?;
        let arr = self.random(&arr)?;
        let walk = self.walk(&arr, cx.ctx)?;
        let key = self.key(fx, cx, &walk)?;
        let keys = Rc::new(Arr::Body { dim: walk.inner, elem: key, linear: walk.linear });
        let name = format!("the list of keys of {}", self.name);
        let rep = match self.keys_in_memory(&keys)? {
            Some(rep) => rep,
            None => self.store_everywhere(&Val::Array(Rc::clone(&keys)), cx.ctx, &name)?,
        };
        let number = self.number(cx.ctx)?;
        let kept = as_array(&self.kept_at(&rep, number, cx.ctx))?;
        let Rep::Array(rows, elem) = &rep else { return Err(bug("keys are no array")) };
        let count = self.count(cx.ctx)?;
        let (offsets, len) = match rows {
            Rows::Equal(m) => (None, self.points(count, *m)),
            Rows::Offsets(b) => (Some(*b), self.k.load(*b, count, ROOT)),
        };
        let mut columns = Vec::new();
        key_columns(elem, &mut columns);
        let name = format!("the order of {}", self.name);
        let order = self.alloc(ScalarType::I64, &name, len);
        self.step(Step::Sort { order, keys: columns, len, offsets, rows: count });
        let Arr::Kept { base, size, .. } = &*kept else { return Err(bug("keys are not in memory")) };
        let (base, size) = (*base, *size);
        Ok(Order { arr, keys: kept, base, order, size })
    }

    /// Keys that are in memory as they are.
    fn keys_in_memory(&mut self, keys: &Arr) -> Res<Option<Rep>> {
        let Arr::Body { dim, elem, .. } = keys else { return Ok(None) };
        let Some(leaves) = elem.leaves().filter(|all| !all.is_empty()) else { return Ok(None) };
        let bufs: Option<Vec<Buf>> = leaves.into_iter().map(|n| self.stored_already(n, *dim)).collect();
        let Some(bufs) = bufs else { return Ok(None) };
        let elem = rep_like(elem, &mut bufs.into_iter())?;
        Ok(Some(Rep::Array(self.rows(*dim)?, Box::new(elem))))
    }

    /// The sort key of an element.
    fn key(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>, walk: &Walk) -> Res<Val> {
        if cx.inst.op == Op::Sort {
            return Ok(walk.elem.clone());
        }
        let at = self.position(cx.ctx, walk.inner);
        let key = self.inside(fx, cx.inst.bodies[0], std::slice::from_ref(&walk.elem), walk.inner, Run::Element(at))?;
        if cx.inst.op == Op::GroupBy { self.with_one_zero(&key) } else { Ok(key) }
    }

    /// A key with -0.0 replaced by 0.0, which is equal to it and so belongs to the same group.
    fn with_one_zero(&mut self, key: &Val) -> Res<Val> {
        let leaves = key.scalars()?;
        let one_zero = |n: Node| match self.k.ty(n) {
            ty if ty.is_float() => {
                let zero = self.k.constant(Scalar::zero(ty));
                self.k.binary(BinOp::Add, n, zero)
            }
            _ => n,
        };
        let leaves: Vec<Node> = leaves.into_iter().map(one_zero).collect();
        key.with_leaves(&mut leaves.into_iter())
    }

    /// The position, in its own array, of the element that comes at a place.
    fn source(&mut self, o: &Order, place: Node, ctx: Space) -> Node {
        let at = self.add(o.base, place);
        let global = self.k.load(o.order, at, ctx);
        self.sub(global, o.base)
    }

    pub(super) fn sort(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        if cx.ty.elem().is_some_and(|t| t.is_flat() && t.width() == 0) {
            // All elements are equal; only the checks of their keys remain.
            let arr = self.array(fx, cx.inst.args[0])?;
            let walk = self.walk(&arr, cx.ctx)?;
            self.key(fx, cx, &walk)?;
            return self.get(fx, cx.inst.args[0]);
        }
        let o = self.order(fx, cx)?;
        self.body_array(o.size, cx.ctx, &mut |f, pos, dim| {
            let i = f.source(&o, pos, dim);
            f.at(&o.arr, i, dim)
        })
    }

    pub(super) fn group_by(&mut self, fx: &mut Frame<'p>, cx: &Cx<'p>) -> Res<Val> {
        let o = self.order(fx, cx)?;
        let (zero, one) = (self.k.int(0), self.k.int(1));
        // A group begins where the key differs from the previous one.
        let dim = self.k.dim(cx.ctx, o.size);
        let pos = self.k.pos(dim);
        let first = self.eq(pos, zero);
        let begins = self.either(
            first,
            dim,
            &mut |f, _| Ok(Val::Scalar(f.k.constant(deckle_ir::scalar::Scalar::Bool(true)))),
            &mut |f, ctx| {
                let before = f.sub(pos, one);
                let (i, j) = (f.source(&o, before, ctx), f.source(&o, pos, ctx));
                let (a, b) = (f.at(&o.keys, i, ctx)?, f.at(&o.keys, j, ctx)?);
                let mut same = f.k.constant(deckle_ir::scalar::Scalar::Bool(true));
                for (a, b) in a.scalars()?.into_iter().zip(b.scalars()?) {
                    let alike = f.alike(a, b);
                    same = f.and(same, alike);
                }
                Ok(Val::Scalar(f.not(same)))
            },
        )?;
        let inner = self.k.guard(dim, begins.scalar()?, true);
        let starts = Rc::new(Arr::Chain { home: cx.ctx, inner, elem: Val::Scalar(pos), size: None, linear: false });
        let starts = self.keep(&starts, cx.ctx)?;
        let n = self.size(&starts, cx.ctx)?;
        self.body_array(n, cx.ctx, &mut |f, g, dim| {
            let start = f.at(&starts, g, dim)?.scalar()?;
            let next = f.add(g, one);
            let more = f.lt(next, n);
            let end =
                f.either(more, dim, &mut |f, ctx| f.at(&starts, next, ctx), &mut |_, _| Ok(Val::Scalar(o.size)))?;
            let size = f.sub(end.scalar()?, start);
            let i = f.source(&o, start, dim);
            let key = f.at(&o.keys, i, dim)?;
            let members = f.body_array(size, dim, &mut |f, pos, dim| {
                let at = f.add(start, pos);
                let i = f.source(&o, at, dim);
                f.at(&o.arr, i, dim)
            })?;
            Ok(Val::tuple(vec![key, members]))
        })
    }
}

fn key_columns(rep: &Rep, columns: &mut Vec<Buf>) {
    match rep {
        Rep::Scalar(b) => columns.push(*b),
        Rep::Tuple(parts) => parts.iter().for_each(|p| key_columns(p, columns)),
        Rep::Array(_, elem) => key_columns(elem, columns),
    }
}
