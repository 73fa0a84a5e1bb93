//! Scatters through bins: the threads of a block combine into a copy of the array in shared memory, and what the bins hold goes to the array at the end.
//!
//! ```text
//! if the arrays fit the bins, and the part has a few points for each element {
//!     bins = the identity element; barrier
//!     the points of the part, with atomics on the bins; barrier
//!     atomics on the arrays: what the bins hold
//! } else {
//!     the points of the part, with atomics on the arrays
//! }
//! ```
//!
//! Threads that add to one element at the same time wait for each other. Small arrays have several copies of their bins, which successive threads use round-robin. The distance of copies is odd, so that
//! those of an element are in different banks of the memory.

use super::emit::{Emitter, Res};
use super::gpu::{Gpu, Who};
use crate::facts::grid::{bin_bytes, binned};
use crate::facts::unit;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{self, Combine, Node, ROOT, Sink};
use deckle_ir::loops::{Buf, Expr, LoopHint, Place, Val};

/// A part uses bins if it has at least this many points for each element.
const POINTS_FOR_BIN: i64 = 2;
/// The numbers of copies, and the points of a part for each element of a copy that are worth it.
const COPIES: [i64; 4] = [2, 4, 8, 16];
const POINTS_FOR_COPY: i64 = 8;

/// The bins of an array.
struct Bins {
    target: kernel::Buf,
    op: BinOp,
    shared: Buf,
    len: Node,
}

/// The copies of the bins of an array: how many, how far apart, and the elements of all of them together.
struct Copies {
    count: Val,
    apart: Val,
    all: Val,
}

impl<'k> Gpu<'k> {
    /// The points of a part that has been cut, with bins of so many bytes.
    pub(super) fn in_bins(&self, e: &mut Emitter<'k>, who: &Who, range: (Val, Val), bytes: u32) -> Res<()> {
        let bins = self.bins(e, bytes)?;
        let carried = self.s.folds.clone();
        let mut fits = e.b.bool(true);
        for bin in &bins {
            let len = e.val(bin.len)?;
            let most = e.b.i64(i64::from(self.capacity(bytes)));
            let many = e.b.mul_const(len, POINTS_FOR_BIN);
            let (small, worth) = (e.b.binary(BinOp::Le, len, most), e.b.binary(BinOp::Le, many, who.points));
            let both = e.b.and(small, worth);
            fits = e.b.and(fits, both);
        }
        let before = e.carried(&carried);
        e.b.begin_if(fits);
        let copies = bins.iter().map(|bin| self.copies(e, who, bin, bytes)).collect::<Res<Vec<_>>>()?;
        for (bin, copies) in bins.iter().zip(&copies) {
            let unit = unit(bin.op, e.p.bufs[bin.target.index()].elem).ok_or("bins without an identity element")?;
            let unit = e.constant(unit);
            self.round_robin(e, who, copies.all, |e, at| {
                e.b.store(bin.shared, at, unit);
                Ok(())
            })?;
            let own = e.b.binary(BinOp::Rem, who.thread, copies.count);
            let first = e.b.mul(own, copies.apart);
            e.bins.insert(bin.target, (bin.shared, first));
        }
        e.b.barrier();
        e.traverse(ROOT, &self.s.items(), Some(range))?;
        e.bins.clear();
        e.b.barrier();
        for (bin, copies) in bins.iter().zip(&copies) {
            let (len, target) = (e.val(bin.len)?, e.buf(bin.target)?);
            self.round_robin(e, who, len, |e, at| {
                let (one, held) = (e.b.i64(1), e.b.load(bin.shared, at));
                let (copy, held) = e.b.begin_for(one, copies.count, 1, &[held], LoopHint::Plain);
                let skip = e.b.mul(copy, copies.apart);
                let there = e.b.add(skip, at);
                let more = e.b.load(bin.shared, there);
                let both = e.b.binary(bin.op, held[0], more);
                let held = e.b.end(&[both]);
                e.b.atomic(bin.op, target, at, held[0]);
                Ok(())
            })?;
        }
        let after = e.carried(&carried);
        e.b.begin_else(&after);
        e.carry(&carried, &before);
        e.traverse(ROOT, &self.s.items(), Some(range))?;
        let after = e.carried(&carried);
        let after = e.b.end(&after);
        e.carry(&carried, &after);
        Ok(())
    }

    /// How many elements of each array there are bins for.
    fn capacity(&self, bytes: u32) -> u32 {
        (bytes / bin_bytes(self.s.p, &binned(self.s.p, self.s.sinks)).max(1)).max(1)
    }

    fn bins(&self, e: &mut Emitter<'k>, bytes: u32) -> Res<Vec<Bins>> {
        let mut bins = Vec::new();
        for sink in binned(self.s.p, self.s.sinks) {
            let Sink::Scatter { bufs, len, combine: Some(Combine::Ops(ops)), .. } = sink else {
                return Err("a scatter without an operator has bins".into());
            };
            for (target, op) in bufs.iter().zip(ops) {
                let elem = self.s.p.bufs[target.index()].elem;
                let shared = e.b.local(elem, self.capacity(bytes), Place::Shared);
                bins.push(Bins { target: *target, op: *op, shared, len: *len });
            }
        }
        Ok(bins)
    }

    /// As many copies as there is room for, and as are worth it.
    fn copies(&self, e: &mut Emitter<'k>, who: &Who, bin: &Bins, bytes: u32) -> Res<Copies> {
        let (len, one, room) = (e.val(bin.len)?, e.b.i64(1), e.b.i64(i64::from(self.capacity(bytes))));
        let apart = e.b.let_(Expr::Binary(BinOp::Or, len, one));
        let mut count = one;
        for copies in COPIES {
            let all = e.b.mul_const(apart, copies);
            let needed = e.b.mul_const(len, copies * POINTS_FOR_COPY);
            let (fits, worth) = (e.b.binary(BinOp::Le, all, room), e.b.binary(BinOp::Le, needed, who.points));
            let (both, copies) = (e.b.and(fits, worth), e.b.i64(copies));
            count = e.b.select(both, copies, count);
        }
        let less = e.b.sub(count, one);
        let before = e.b.mul(less, apart);
        Ok(Copies { count, apart, all: e.b.add(before, len) })
    }

    /// The threads of a block take so many elements round-robin.
    fn round_robin(
        &self,
        e: &mut Emitter<'k>,
        who: &Who,
        count: Val,
        body: impl FnOnce(&mut Emitter<'k>, Val) -> Res<()>,
    ) -> Res<()> {
        let (at, _) = e.b.begin_for(who.thread, count, i64::from(self.threads), &[], LoopHint::Plain);
        body(e, at)?;
        e.b.end(&[]);
        Ok(())
    }
}
