//! Register tiling: two dimensions whose points share their loads, as in matrix products.

use super::Facts;
use deckle_ir::kernel::{Node, Op, Region, Sink, Space};
use deckle_ir::schedule::Item;

/// Two dimensions that can be tiled.
#[derive(Clone, Debug)]
pub(crate) struct Tiled {
    pub columns: Space,
    /// The size of the columns.
    pub width: Node,
    /// The dimension that is folded, its size, and the loads along it and the columns.
    pub inner: Space,
    pub depth: Node,
    pub loads: Vec<Node>,
    /// The number of sums at a point.
    pub sums: usize,
}

impl Facts<'_> {
    /// Whether the points of `rows` and of the one dimension below it can be tiled: each folds over a third dimension, and some of the loads there are the same for all rows.
    pub(crate) fn tiled(&mut self, rows: Space, items: &[Item]) -> Option<Tiled> {
        let columns = self.space_of(*items.first()?);
        let Region::Dim(width) = self.p.space(columns).region else { return None };
        let outside = |e: &Self, n: Node| e.p.encloses(e.p.space_of(n), e.p.space(rows).parent);
        if self.p.space(columns).parent != rows || !outside(self, width) {
            return None;
        }
        let is_write = |i: &Item| matches!(i, Item::Sink(i) if matches!(self.sinks[*i], Sink::Write { .. }));
        if !items.iter().all(is_write) {
            return None;
        }
        let (mut inner, mut sums) = (None, 0);
        let inside = self.needed_inside(columns, items);
        for n in &inside {
            match &self.p.node(*n).op {
                Op::If { .. } | Op::Loop { .. } | Op::Scan { .. } => return None,
                Op::Fold { over, elems, .. } => {
                    for s in self.p.between(self.p.space_of(*n), *over) {
                        match self.p.space(s).region {
                            Region::Dim(size) if outside(self, size) => {}
                            _ => return None,
                        }
                    }
                    sums += elems.len();
                    if self.p.space(*over).parent == columns && !self.written_out(*over) {
                        inner = Some(*over);
                    }
                }
                _ => {}
            }
        }
        let inner = inner?;
        let Region::Dim(depth) = self.p.space(inner).region else { return None };
        let mut loads = Vec::new();
        for n in inside {
            if let Op::Load(_, at) = self.p.node(n).op
                && self.p.space_of(n) == inner
                && self.follows(at, columns)
                && self.mentions(at, inner)
                && !self.mentions(at, rows)
            {
                loads.push(n);
            }
        }
        (!loads.is_empty()).then_some(Tiled { columns, width, inner, depth, loads, sums })
    }
}
