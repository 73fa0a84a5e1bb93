//! What the threads of a GPU have folded, combined: within a warp by shuffles, within a block through shared memory, and from part to part by a function of one block.
//!
//! Each step combines results only with those that come next, so that the order of elements is kept and the operator need not commute.

use super::emit::{Emitter, Res, Width};
use super::folds::Acc;
use super::gpu::{Gpu, Who, begin_first};
use crate::facts::parts_of;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node};
use deckle_ir::loops::{Buf, Expr, Function, LoopHint, Place, Shuffle, Val};
use deckle_ir::scalar::Scalar;
use deckle_ir::schedule::Item;

impl<'k> Gpu<'k> {
    /// What the warps of a block have folded, in shared memory for each fold: the values, and whether there is one.
    pub(super) fn meet(&self, e: &mut Emitter<'k>, who: &Who, nodes: &[Node]) -> Res<Vec<Vec<Buf>>> {
        let warps = self.threads / 32;
        let width = e.b.i64(32);
        let warp = e.b.binary(BinOp::Div, who.thread, width);
        let lane = e.b.binary(BinOp::Rem, who.thread, width);
        let mut shared = Vec::new();
        for n in nodes {
            let mut acc = e.accs.remove(n).ok_or("a fold was lost")?;
            let (_, _, how) = parts_of(self.s.p, *n)?;
            for apart in [1, 2, 4, 8, 16] {
                let by = e.b.i64(apart);
                let next = |e: &mut Emitter<'k>, v: Val| e.b.let_(Expr::Shuffle(Shuffle::Down, v, by));
                let vals: Vec<Val> = acc.vals.iter().map(|v| next(e, *v)).collect();
                let has = acc.has.map(|v| next(e, v));
                // The last lanes have no such neighbour.
                let limit = e.b.i64(32 - apart);
                let inside = e.b.lt(lane, limit);
                let has = has.map(|has| e.b.and(has, inside));
                acc = join(e, how, &acc, &vals, has)?;
            }
            let yes = e.constant(Scalar::Bool(true));
            let all: Vec<Val> = acc.vals.iter().copied().chain([acc.has.unwrap_or(yes)]).collect();
            let bufs: Vec<Buf> = all.iter().map(|v| e.b.local(e.b.ty(*v).scalar, warps, Place::Shared)).collect();
            let zero = e.b.i64(0);
            let first = e.b.binary(BinOp::Eq, lane, zero);
            e.b.begin_if(first);
            bufs.iter().zip(&all).for_each(|(buf, v)| e.b.store(*buf, warp, *v));
            e.b.end(&[]);
            shared.push(bufs);
        }
        e.b.barrier();
        Ok(shared)
    }

    /// What the block has folded, of what its warps have.
    pub(super) fn total(&self, e: &mut Emitter<'k>, n: Node, shared: &[Buf]) -> Res<Acc> {
        let (_, _, how) = parts_of(self.s.p, n)?;
        let read = |e: &mut Emitter<'k>, at: Val| -> Vec<Val> { shared.iter().map(|b| e.b.load(*b, at)).collect() };
        let (zero, one) = (e.b.i64(0), e.b.i64(1));
        let init = read(e, zero);
        let warps = e.b.i64(i64::from(self.threads / 32));
        let (warp, params) = e.b.begin_for(one, warps, 1, &init, LoopHint::Plain);
        let before = accumulated(params);
        let more = accumulated(read(e, warp));
        let next = join(e, how, &before, &more.vals, more.has)?;
        let next: Vec<Val> = next.vals.into_iter().chain(next.has).collect();
        Ok(accumulated(e.b.end(&next)))
    }

    /// The parts of which a thread of the only block combines the results: successive ones.
    pub(super) fn own_parts(&self, e: &mut Emitter<'k>, who: &Who) -> (Val, Val) {
        let threads = e.b.i64(i64::from(self.threads));
        let lo = e.b.mul(who.parts, who.thread);
        let lo = e.b.binary(BinOp::Div, lo, threads);
        let next = e.b.add_const(who.thread, 1);
        let hi = e.b.mul(who.parts, next);
        (lo, e.b.binary(BinOp::Div, hi, threads))
    }

    /// The folds of all parts combined, and what the root makes of them.
    pub(super) fn finish(&self) -> Res<Function> {
        if self.s.folds.is_empty() {
            return self.one("_finish", &[], |e, _, _| self.root_sinks(e));
        }
        let folds: Vec<Item> = self.s.folds.iter().map(|n| Item::Fold(*n)).collect();
        let (mut e, scratch, who) = self.open_with("_finish", self.s.walks("_finish", |c| c.root_walks(&folds))?);
        let (lo, hi) = self.own_parts(&mut e, &who);
        for n in &self.s.folds {
            let (_, _, how) = parts_of(self.s.p, *n)?;
            let none = self.s.nothing(&mut e, *n)?;
            let init: Vec<Val> = none.vals.iter().chain(&none.has).copied().collect();
            let (part, params) = e.b.begin_for(lo, hi, 1, &init, LoopHint::Plain);
            let more = self.s.load(&mut e, &scratch, *n, self.s.place(*n).0, part);
            let next = join(&mut e, how, &accumulated(params), &more.vals, more.has)?;
            let next: Vec<Val> = next.vals.into_iter().chain(next.has).collect();
            let after = e.b.end(&next);
            e.accs.insert(*n, accumulated(after));
        }
        let shared = self.meet(&mut e, &who, &self.s.folds)?;
        begin_first(&mut e, who.thread);
        for (n, shared) in self.s.folds.iter().zip(&shared) {
            let (_, _, how) = parts_of(self.s.p, *n)?;
            let total = self.total(&mut e, *n, shared)?;
            let start = e.start(*n)?;
            let acc = e.step(how, &start, &total.vals, total.has)?;
            e.accs.insert(*n, acc);
            let parts = e.folded(*n)?;
            e.set(*n, parts);
        }
        self.root_sinks(&mut e)?;
        e.b.end(&[]);
        Gpu::close(e, self.threads)
    }
}

/// Values, of which the last is whether there are any.
pub(super) fn accumulated(mut vals: Vec<Val>) -> Acc {
    let has = vals.pop();
    Acc { vals, has, before: None }
}

/// What comes next added to what has been folded; either may be missing.
pub(super) fn join(e: &mut Emitter<'_>, how: &Combine, acc: &Acc, vals: &[Val], has: Option<Val>) -> Res<Acc> {
    match (how, acc.has, has) {
        // What is missing is the identity element.
        (Combine::Ops(_), Some(before), Some(there)) => {
            let vals = e.combine(how, &acc.vals, vals, Width::One)?;
            Ok(Acc { vals, has: Some(e.b.or(before, there)), before: None })
        }
        _ => e.step(how, acc, vals, has),
    }
}
