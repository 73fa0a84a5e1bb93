//! What is stored: from one lane, or from all lanes of a vector.

use super::emit::{Emitter, Res, Width};
use crate::facts::is_one_value;
use deckle_ir::array::UnOp;
use deckle_ir::kernel::{Node, Op, ROOT, Region, Sink, Space};
use deckle_ir::loops::{Buf, Expr, Stmt, StoreHint, Val};

impl Emitter<'_> {
    /// A sink takes its value, at the point or the points that are open.
    pub(super) fn sink(&mut self, sink: &Sink, w: Width) -> Res<()> {
        if w == Width::One && self.grid_sink(sink)? {
            return Ok(());
        }
        self.sink_of_thread(sink, w)
    }

    /// The same, of the thread alone.
    pub(super) fn sink_of_thread(&mut self, sink: &Sink, w: Width) -> Res<()> {
        match sink {
            Sink::Check(n) => {
                self.value(*n, w)?;
            }
            Sink::Write { buf, at, value, space } => {
                let cut = self.is_cut_short(*space, *at);
                if let Some(buffer) = self.buffer_of(*buf, *at) {
                    let (at, ..) = self.written_at(*at, w)?;
                    let value = self.value(*value, w)?;
                    return self.put(buffer, at, value);
                }
                let buf = self.buf(*buf)?;
                let (at, mask, hint) = self.written_at(*at, w)?;
                let value = self.value(*value, w)?;
                self.store_unless(cut, [Stmt::Store { buf, at, value, mask, hint }]);
            }
            Sink::Scatter { bufs, at, values, combine, space, .. } => {
                let cut = self.is_cut_short(*space, *at);
                let (at, mask) = self.place(*at, w)?;
                if self.store_key(at) {
                    return Ok(());
                }
                let at = self.scatter_to.map_or(at, |start| self.b.add(start, at));
                let values = self.values(values, w)?;
                let bufs: Vec<Buf> = bufs.iter().map(|b| self.buf(*b)).collect::<Res<_>>()?;
                let new = match combine {
                    Some(how) if w == Width::One => {
                        let old = bufs
                            .iter()
                            .map(|buf| self.b.let_(Expr::Load { buf: *buf, at, mask: None }))
                            .collect::<Vec<_>>();
                        self.combine(how, &values, &old, w)?
                    }
                    // Lanes scatter only what is the same for all that go to one place.
                    _ => values,
                };
                let shared = w == Width::Lanes || is_one_value(self.p, sink);
                let hint = if shared { StoreHint::Shared } else { StoreHint::Cached };
                let stores = bufs.into_iter().zip(new).map(|(buf, value)| Stmt::Store { buf, at, value, mask, hint });
                self.store_unless(cut, stores);
            }
        }
        Ok(())
    }

    /// Stores, but where something has failed, if that *matters*.
    fn store_unless(&mut self, matters: bool, stores: impl IntoIterator<Item = Stmt>) {
        if !matters {
            stores.into_iter().for_each(|s| self.b.stmt(s));
            return;
        }
        let failed = self.b.let_(Expr::Failed);
        let fine = self.b.let_(Expr::Unary(UnOp::Not, failed));
        self.b.begin_if(fine);
        stores.into_iter().for_each(|s| self.b.stmt(s));
        self.b.begin_else(&[]);
        self.b.end(&[]);
    }

    /// Whether a failure may change where something is stored, or whether it is. After one, loops have no rounds ([`Emitter::unless_failed`]): what depends on a fold is not what
    /// memory was made for.
    fn is_cut_short(&self, space: Space, at: Node) -> bool {
        let regions = self.p.between(ROOT, space).into_iter().filter_map(|s| match self.p.space(s).region {
            Region::Dim(n) | Region::Guard(n, _) => Some(n),
            _ => None,
        });
        let roots: Vec<Node> = regions.chain([at]).collect();
        let is_loop = |n: &Node| matches!(self.p.node(*n).op, Op::Fold { .. } | Op::Loop { .. });
        self.can_fail && self.p.needs_to_run(&roots).iter().any(is_loop)
    }

    /// Where something is written that has a place of its own, in which lanes, and how.
    fn written_at(&mut self, at: Node, w: Width) -> Res<(Val, Option<Val>, StoreHint)> {
        if w == Width::One {
            return Ok((self.val(at)?, None, StoreHint::Cached));
        }
        let mask = self.mask();
        if let Some(first) = self.packed_at(at) {
            return Ok((first, mask, StoreHint::Packed));
        }
        let at = self.lane_place(at)?;
        let hint = if self.b.ty(at).lanes > 1 { StoreHint::Cached } else { self.vector()?.hint };
        Ok((at, mask, hint))
    }
}
