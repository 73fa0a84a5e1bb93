//! Tiles of two dimensions: matrix products, and what is like them.
//!
//! Where each point of two dimensions folds over a third, and what is read there depends on one of the two only, points share what they read. So
//! several rows of a few vectors each are computed together, in registers: what varies along the columns is loaded once for
//! all rows, and what varies along the rows is spread over all columns. Columns go outermost. What is read for them is copied first, so that it lies
//! side by side and stays in the cache while all rows pass.
//!
//! Each point still adds up in the order of the fold: tiling changes no bit.

use super::emit::{Emitter, Item, Res};
use super::lanes::{Lane, Plan};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Op, Region, Sink, Space};
use deckle_ir::loops::{Access, Buf, Expr, LoopHint, StoreHint, Val};
use std::collections::{BTreeSet, HashMap};

/// The rows that are being computed together.
pub(super) struct Tile {
    /// The dimension of the rows.
    pub space: Space,
    pub rows: usize,
    /// The one for which code is being made.
    pub row: usize,
    /// What was copied, and the dimension that is folded.
    panels: HashMap<Node, (Buf, Space)>,
}

/// How two dimensions are tiled.
pub(super) struct Tiling {
    columns: Space,
    width: Node,
    lanes: Plan,
    rows: usize,
    /// The dimension that is folded, its size, and what is read along it and the columns.
    inner: Space,
    depth: Node,
    loads: Vec<Node>,
}

impl Emitter<'_> {
    /// How to tile the points of `rows` and of the one dimension below it, if that is possible and worth it.
    pub(super) fn plan_tile(&mut self, rows: Space, items: &[Item]) -> Option<Tiling> {
        let columns = self.space_of(*items.first()?);
        let Region::Dim(width) = self.p.space(columns).region else { return None };
        let outside = |e: &Self, n: Node| e.p.encloses(e.p.space_of(n), e.p.space(rows).parent);
        if self.tile.is_some() || self.p.space(columns).parent != rows || !outside(self, width) {
            return None;
        }
        let mut needs = BTreeSet::new();
        for item in items {
            match item {
                Item::Sink(i) if matches!(self.sinks[*i], Sink::Write { .. }) => needs.extend(self.needs_of(*item)),
                _ => return None,
            }
        }
        let lanes = self.plan_lanes(columns, items).filter(Plan::is_deep)?;
        let (mut inner, mut sums) = (None, 0);
        let inside: Vec<Node> = needs.into_iter().filter(|n| self.p.encloses(columns, self.p.space_of(*n))).collect();
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
        let rows = self.cuts.tile_rows[usize::from(sums > 1)];
        (!loads.is_empty()).then_some(Tiling { columns, width, lanes, rows, inner, depth, loads })
    }

    /// Whether to tile the rows from `lo` below `hi`: there must be enough of them, and not too much to copy.
    pub(super) fn worth_tiling(&mut self, t: &Tiling, (lo, hi): (Val, Val)) -> Res<Val> {
        let (depth, width) = (self.val(t.depth)?, self.val(t.width)?);
        let rows = self.b.sub(hi, lo);
        let (many, deepest) = (self.b.i64(self.cuts.least_tiled), self.b.i64(self.cuts.deepest_tile));
        let wide = self.b.i64(i64::from(t.lanes.wide));
        let (a, b, c) = (self.b.binary(BinOp::Ge, rows, many), self.b.binary(BinOp::Le, depth, deepest), {
            self.b.binary(BinOp::Ge, width, wide)
        });
        let both = self.b.and(a, b);
        Ok(self.b.and(both, c))
    }

    /// Goes through the rows from `lo` below `hi` and all columns.
    pub(super) fn in_tiles(&mut self, rows: Space, items: &[Item], (lo, hi): (Val, Val), t: &Tiling) -> Res<()> {
        let width = self.val(t.width)?;
        let wide = i64::from(t.lanes.wide);
        let (zero, below) = (self.b.i64(0), self.b.i64(wide - 1));
        let rest = self.b.binary(BinOp::And, width, below);
        let whole = self.b.sub(width, rest);
        let count = self.b.sub(hi, lo);
        let by = self.b.i64(t.rows as i64);
        let over = self.b.binary(BinOp::Rem, count, by);
        let middle = self.b.sub(hi, over);
        let mut panels = HashMap::new();
        for n in &t.loads {
            let len = (self.cuts.deepest_tile * wide) as usize;
            self.private.push((self.p.ty(*n), len));
            panels.insert(*n, (self.b.buffer(self.p.ty(*n), Access::Write), t.inner));
        }
        let (start, _) = self.b.begin_for(zero, whole, wide, &[], LoopHint::Plain);
        let lane = Lane { space: t.columns, count: t.lanes.wide, hint: StoreHint::Cached, start, mask: None };
        self.copy_panels(rows, &lane, t, &panels)?;
        for (from, to, together) in [(lo, middle, t.rows), (middle, hi, 1)] {
            let (pos, _) = self.b.begin_for(from, to, together as i64, &[], LoopHint::Plain);
            self.open(rows, Some(pos), Vec::new());
            self.tile = Some(Tile { space: rows, rows: together, row: 0, panels: panels.clone() });
            self.round(lane.clone(), items, (&[], &[]))?;
            self.tile = None;
            self.close();
            self.b.end(&[]);
        }
        self.b.end(&[]);
        // The last columns, row by row.
        let (pos, _) = self.b.begin_for(lo, hi, 1, &[], LoopHint::Plain);
        self.open(rows, Some(pos), Vec::new());
        self.in_lanes(t.columns, items, (whole, width), &t.lanes.narrow())?;
        self.close();
        self.b.end(&[]);
        Ok(())
    }

    /// Copies what the columns of a round read.
    fn copy_panels(&mut self, rows: Space, lane: &Lane, t: &Tiling, panels: &HashMap<Node, (Buf, Space)>) -> Res<()> {
        let depth = self.val(t.depth)?;
        let zero = self.b.i64(0);
        let (k, _) = self.b.begin_for(zero, depth, 1, &[], LoopHint::Plain);
        self.open(rows, None, Vec::new());
        self.varying.clear();
        self.vectors = Some(lane.clone());
        self.open(t.columns, None, Vec::new());
        self.open(t.inner, Some(k), Vec::new());
        let at = self.b.mul_const(k, i64::from(lane.count));
        for n in &t.loads {
            let value = self.lane_val(*n)?;
            self.b.store(panels[n].0, at, value);
        }
        self.close();
        self.close();
        self.close();
        self.vectors = None;
        self.varying.clear();
        self.b.end(&[]);
        Ok(())
    }

    /// A load of what was copied.
    pub(super) fn panel_load(&mut self, n: Node, count: u16) -> Res<Option<Expr>> {
        let Some((buf, inner)) = self.tile.as_ref().and_then(|t| t.panels.get(&n)).copied() else { return Ok(None) };
        let k = self.position(inner)?;
        let at = self.b.mul_const(k, i64::from(count));
        Ok(Some(Expr::Load { buf, at, mask: None }))
    }

    /// For how many rows a node has to be computed.
    pub(super) fn rows_of(&mut self, n: Node) -> usize {
        match &self.tile {
            Some(t) if t.rows > 1 => {
                let (space, rows) = (t.space, t.rows);
                if self.mentions(n, space) { rows } else { 1 }
            }
            _ => 1,
        }
    }

    /// The row for which code is made, of a node that differs from row to row; 0 for others.
    pub(super) fn row_of(&mut self, n: Node) -> usize {
        if self.rows_of(n) > 1 { self.tile.as_ref().map_or(0, |t| t.row) } else { 0 }
    }

    /// Makes code for another row from now on; gives the one before.
    pub(super) fn set_row(&mut self, row: usize) -> usize {
        self.tile.as_mut().map_or(0, |t| std::mem::replace(&mut t.row, row))
    }
}
