//! Scatters whose points have an order, on a grid of threads: points are sorted by where they store.
//!
//! ```text
//! keys    a thread takes a point, and stores the number of the element into which it scatters, plus 1
//!         (the points are sorted by key; those of equal keys keep their order)
//! main    a thread takes the first point of each element, and all others of the element after it
//! ```
//!
//! A point that scatters nothing keeps the key 0.

use super::emit::{Emitter, Res};
use super::gpu::{Gpu, Who};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, ROOT, Region, Sink};
use deckle_ir::loops::{Access, Function, LoopHint, SortedPoints, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::schedule::Walks;

impl<'k> Gpu<'k> {
    /// The number of elements of the array that the points of the first dimension scatter into, if that is all that they do, and each scatters at most once.
    pub(super) fn scattered(&self) -> Option<Node> {
        let (p, s) = (self.s.p, &self.s);
        let [Sink::Scatter { space, len, within: ROOT, .. }] = s.sinks else { return None };
        let once = p.encloses(s.first, *space)
            && p.between(s.first, *space).iter().all(|s| matches!(p.space(*s).region, Region::Guard(..)));
        let free = s.scans.is_empty() && s.folds.is_empty() && !s.alone;
        (once && free && p.space_of(*len) == ROOT).then_some(*len)
    }

    /// The function that computes the keys of points, for arrays of this many elements.
    pub(super) fn keys(&self, len: Node) -> Res<SortedPoints> {
        let (mut e, inside, who) = self.open_at_points("_keys")?;
        let keys = e.b.buffer(ScalarType::U64, Access::Write);
        let (lo, hi) = self.bounds(&mut e, &who, who.block)?;
        let lo = e.b.add(lo, who.thread);
        let (point, _) = e.b.begin_for(lo, hi, i64::from(self.threads), &[], LoopHint::Plain);
        e.grid.keys = Some((keys, point));
        self.at_point(&mut e, point, &inside)?;
        e.b.end(&[]);
        Ok(SortedPoints { keys: Gpu::close(e, self.threads)?, len })
    }

    /// The function that scatters, in which a thread takes all points of an element.
    pub(super) fn by_elements(&self) -> Res<Function> {
        let (mut e, inside, who) = self.open_at_points("")?;
        let [keys, order] = [ScalarType::U64, ScalarType::I64].map(|elem| e.b.buffer(elem, Access::Read));
        let Region::Dim(count) = self.s.p.space(self.s.first).region else {
            return Err(format!("lower_gpu: {} has no size", self.s.first));
        };
        let count = e.val(count)?;
        let last = e.b.add_const(count, -1);
        let (none, zero) = (e.b.constant(Scalar::U64(0)), e.b.i64(0));
        let (lo, hi) = self.bounds(&mut e, &who, who.block)?;
        let lo = e.b.add(lo, who.thread);
        let (at, _) = e.b.begin_for(lo, hi, i64::from(self.threads), &[], LoopHint::Plain);
        let key_at = |e: &mut Emitter<'k>, at: Val| {
            let point = e.b.load(order, at);
            (point, e.b.load(keys, point))
        };
        let (_, key) = key_at(&mut e, at);
        let before = e.b.add_const(at, -1);
        let before = e.b.max(before, zero);
        let (_, other) = key_at(&mut e, before);
        let is_first = e.b.binary(BinOp::Eq, at, zero);
        let differs = e.b.binary(BinOp::Ne, other, key);
        let begins = e.b.binary(BinOp::Or, is_first, differs);
        let scatters = e.b.binary(BinOp::Ne, key, none);
        let begins = e.b.and(begins, scatters);
        e.b.begin_if(begins);
        let next = e.b.begin_while(&[at])[0];
        let there = e.b.min(next, last);
        let (point, other) = key_at(&mut e, there);
        let more = e.b.lt(next, count);
        let same = e.b.binary(BinOp::Eq, other, key);
        let more = e.b.and(more, same);
        e.b.begin_body(more);
        self.at_point(&mut e, point, &inside)?;
        let next = e.b.add_const(next, 1);
        e.b.end(&[next]);
        e.b.end(&[]);
        e.b.end(&[]);
        Gpu::close(e, self.threads)
    }

    /// A function that opens points of the first dimension on its own, in another order.
    fn open_at_points(&self, part: &str) -> Res<(Emitter<'k>, Walks, Who)> {
        let items = self.s.items();
        let (e, _, who) = self.open(part, &items)?;
        let inside = e.inside_of_point(self.s.first, &items)?;
        Ok((e, inside, who))
    }

    /// What is scattered at a point.
    fn at_point(&self, e: &mut Emitter<'k>, point: Val, inside: &Walks) -> Res<()> {
        e.open_point(self.s.first, Some(point), inside);
        e.inside(self.s.first, &self.s.items())?;
        e.close();
        Ok(())
    }
}

impl Emitter<'_> {
    /// Stores the key of a point that scatters into an element, in a function that computes keys.
    pub(super) fn store_key(&mut self, element: Val) -> bool {
        let Some((keys, point)) = self.grid.keys else { return false };
        let key = self.b.add_const(element, 1);
        let key = self.b.cast(ScalarType::U64, key);
        self.b.store(keys, point, key);
        true
    }
}
