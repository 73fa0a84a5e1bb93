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

use super::emit::{Emitter, Res};
use super::gpu::{Gpu, Who};
use crate::facts::grid::{bin_bytes, binned};
use crate::facts::unit;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{self, Combine, Node, ROOT, Sink};
use deckle_ir::loops::{Buf, LoopHint, Place, Val};

/// A part uses bins if it has at least this many points for each element.
const POINTS_FOR_BIN: i64 = 2;

/// The bins of an array.
struct Bins {
    target: kernel::Buf,
    op: BinOp,
    shared: Buf,
    len: Node,
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
        self.for_each_bin(e, who, &bins, |e, bin, at| {
            let unit = unit(bin.op, e.p.bufs[bin.target.index()].elem).ok_or("bins without an identity element")?;
            let unit = e.constant(unit);
            e.b.store(bin.shared, at, unit);
            Ok(())
        })?;
        e.b.barrier();
        e.bins = bins.iter().map(|bin| (bin.target, bin.shared)).collect();
        e.traverse(ROOT, &self.s.items(), Some(range))?;
        e.bins.clear();
        e.b.barrier();
        self.for_each_bin(e, who, &bins, |e, bin, at| {
            let (held, target) = (e.b.load(bin.shared, at), e.buf(bin.target)?);
            e.b.atomic(bin.op, target, at, held);
            Ok(())
        })?;
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

    /// The threads of a block take the elements of all bins round-robin.
    fn for_each_bin(
        &self,
        e: &mut Emitter<'k>,
        who: &Who,
        bins: &[Bins],
        mut body: impl FnMut(&mut Emitter<'k>, &Bins, Val) -> Res<()>,
    ) -> Res<()> {
        for bin in bins {
            let len = e.val(bin.len)?;
            let (at, _) = e.b.begin_for(who.thread, len, i64::from(self.threads), &[], LoopHint::Plain);
            body(e, bin, at)?;
            e.b.end(&[]);
        }
        Ok(())
    }
}
