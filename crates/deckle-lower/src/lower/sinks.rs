//! What is stored: from one lane, or from all lanes of a vector.

use super::emit::{Emitter, Res, Width};
use crate::facts::is_one_value;
use deckle_ir::kernel::{Node, Sink};
use deckle_ir::loops::{Buf, Expr, Stmt, StoreHint, Val};

impl Emitter<'_> {
    /// A sink takes its value, at the point or the points that are open.
    pub(super) fn sink(&mut self, sink: &Sink, w: Width) -> Res<()> {
        if w == Width::One && self.grid_sink(sink)? {
            return Ok(());
        }
        match sink {
            Sink::Check(n) => {
                self.value(*n, w)?;
            }
            Sink::Write { buf, at, value, .. } => {
                let buf = self.buf(*buf)?;
                let (at, mask, hint) = self.written_at(*at, w)?;
                let value = self.value(*value, w)?;
                self.b.stmt(Stmt::Store { buf, at, value, mask, hint });
            }
            Sink::Scatter { bufs, at, values, combine, .. } => {
                let (at, mask) = self.place(*at, w)?;
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
                for (buf, value) in bufs.into_iter().zip(new) {
                    self.b.stmt(Stmt::Store { buf, at, value, mask, hint });
                }
            }
        }
        Ok(())
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
