//! Gathered elements of several rows, loaded ahead.
//!
//! A gather takes as long for a row of three elements as for one of sixteen, and each row ends with one that is not full. Where an element that is gathered depends only on its place among the
//! elements of all rows, as the column of an entry of a sparse matrix does, all rows of a window are one range: it is traversed in full vectors, and what is gathered goes into a buffer that stays in
//! the nearest cache. Rows then load from there what lies side by side.
//! Rows that fill their vectors gather their own elements: that is decided for each window.
//!
//! ```text
//! for e in first of the window .. end of the window { buffer[e - first] = x[column[e]] }
//! for row in the window { sum of value[e] * buffer[e - first] for e in the row }
//! ```
//!
//! The values are the same, so this changes no bit.

use super::emit::{Emitter, Res, Width};
use super::lanes::Lane;
use crate::facts::rows::Ahead;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Space};
use deckle_ir::loops::{Buf, Expr, LoopHint, Place, StoreHint, Val};
use deckle_ir::schedule::Walks;
use std::collections::HashMap;

/// What has been loaded ahead.
#[derive(Clone, Debug)]
pub(super) struct Staged {
    /// The dimension of a row.
    dim: Space,
    /// The buffer of each load.
    bufs: HashMap<Node, Buf>,
    /// Where a row begins, among all elements.
    start: Node,
    /// Where the first row of the window begins.
    first: Val,
}

/// Rows gather their own elements unless that takes more than 7 lanes for 5 elements: below, the way through a buffer takes longer than what it saves (measured on an Emerald Rapids: rows of 27 in
/// vectors of 8 take 1.1 times as long by the buffer, rows of which half have at most five elements 0.7 times).
const EMPTY: (i64, i64) = (5, 7);

impl Emitter<'_> {
    /// How many lanes rows of these lengths take.
    pub(super) fn whole_vectors(&mut self, sizes: Val, count: u16) -> Val {
        let [below, full] = [i64::from(count) - 1, -i64::from(count)].map(|n| self.int(n));
        let [below, full] = [below, full].map(|v| self.b.splat(v, count));
        let up = self.b.let_lanes(Expr::Binary(BinOp::Add, sizes, below), count);
        self.b.let_lanes(Expr::Binary(BinOp::And, up, full), count)
    }

    /// Whether so many elements should be loaded ahead, which take so many lanes where each row gathers its own.
    pub(super) fn worth_staging(&mut self, elements: Val, lanes: Val) -> Val {
        let (taken, least) = (self.b.mul_const(lanes, EMPTY.0), self.b.mul_const(elements, EMPTY.1));
        self.b.lt(least, taken)
    }

    /// Loads what the points of `dim` gather, as many elements as there are from the row on that is open. Their buffers have `room` elements.
    pub(super) fn stage(&mut self, dim: Space, ahead: &Ahead, elements: Val, (room, count): (u16, u16)) -> Res<Staged> {
        let mut bufs = HashMap::new();
        for n in &ahead.loads {
            bufs.insert(*n, self.b.local(self.p.ty(*n), u32::from(room), Place::Private));
        }
        let first = self.val(ahead.start)?;
        let (zero, full) = (self.int(0), self.int(-i64::from(count)));
        let whole = self.b.let_(Expr::Binary(BinOp::And, elements, full));
        for (lo, hi, masked) in [(zero, whole, false), (whole, elements, true)] {
            let (start, _) = self.b.begin_for(lo, hi, i64::from(count), &[], LoopHint::Short);
            let mut lane =
                Lane { space: dim, inside: Walks::from([]), count, hint: StoreHint::Cached, start, mask: None };
            if masked {
                let left = self.b.sub(hi, start);
                let left = self.b.let_(Expr::Cast(deckle_ir::scalar::ScalarType::I32, left));
                lane.mask = Some(self.first_lanes(left, count));
            }
            let mask = lane.mask;
            let outer = self.set_vectors(Some(lane));
            self.open_point(dim, None, &Walks::from([]));
            for n in &ahead.loads {
                let value = self.lane_val(*n)?;
                self.b.store_with(bufs[n], start, value, mask, StoreHint::Cached);
            }
            self.close();
            self.set_vectors(outer);
            self.b.end(&[]);
        }
        Ok(Staged { dim, bufs, start: ahead.start, first })
    }

    /// A load of what has been loaded ahead, at a point or in the lanes of a row.
    pub(super) fn staged_load(&mut self, n: Node, w: Width) -> Res<Option<Expr>> {
        let Some(staged) = self.staged.as_ref().filter(|s| s.bufs.contains_key(&n)) else { return Ok(None) };
        let (dim, buf, start, first) = (staged.dim, staged.bufs[&n], staged.start, staged.first);
        let (at, mask) = match w {
            Width::One => (self.position(dim)?, None),
            Width::Lanes => {
                let lane = self.vector()?;
                if lane.space != dim {
                    return Err(format!("{n} is loaded ahead, and needed in other lanes than those of {dim}"));
                }
                (lane.start, lane.mask)
            }
        };
        let row = self.val(start)?;
        let row = self.b.sub(row, first);
        let at = self.b.add(row, at);
        Ok(Some(Expr::Load { buf, at, mask }))
    }
}
