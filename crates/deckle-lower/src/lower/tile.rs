//! Tiles of two dimensions: matrix products, and what is like them.
//!
//! Where each point of two dimensions folds over a third, and what is read there depends on one of the two only, points share what they read. So
//! several rows of a few vectors each are computed together, in registers: what varies along the columns is loaded once for
//! all rows, and what varies along the rows is spread over all columns. Columns go outermost. What is read for them is copied first, so that it lies
//! side by side and stays in the cache while all rows pass.
//!
//! Each point still adds up in the order of the fold: tiling changes no bit.

use super::emit::{Emitter, Res};
use super::lanes::Lane;
use super::points::Over;
use crate::facts::tiles::Tiled;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Space};
use deckle_ir::loops::{Access, Buf, Expr, LoopHint, StoreHint, Val};
use deckle_ir::schedule::{Item, Lanes};
use std::collections::HashMap;

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

impl Emitter<'_> {
    /// What is known of two dimensions that a schedule tiles.
    pub(super) fn tiled(&mut self, rows: Space, items: &[Item]) -> Res<Tiled> {
        self.facts.tiled(rows, items).ok_or_else(|| format!("{rows} cannot be tiled"))
    }

    /// Whether to tile the rows from `lo` below `hi`: there must be enough of them, not too much to copy, and a full round of columns.
    pub(super) fn worth_tiling(
        &mut self,
        t: &Tiled,
        (lo, hi): (Val, Val),
        (least, deepest, round): (i64, i64, u16),
    ) -> Res<Val> {
        let (depth, width) = (self.val(t.depth)?, self.val(t.width)?);
        let rows = self.b.sub(hi, lo);
        let (many, deepest) = (self.b.i64(least), self.b.i64(deepest));
        let wide = self.b.i64(i64::from(round));
        let (a, b, c) = (self.b.binary(BinOp::Ge, rows, many), self.b.binary(BinOp::Le, depth, deepest), {
            self.b.binary(BinOp::Ge, width, wide)
        });
        let both = self.b.and(a, b);
        Ok(self.b.and(both, c))
    }

    /// Traverses the rows from `lo` below `hi` and all columns.
    pub(super) fn in_tiles(
        &mut self,
        over: Over<'_>,
        (lo, hi): (Val, Val),
        (together, lanes): (u16, Lanes),
    ) -> Res<()> {
        let t = self.tiled(over.space, over.items)?;
        let width = self.val(t.width)?;
        let wide = i64::from(lanes.round());
        let (zero, below) = (self.b.i64(0), self.b.i64(wide - 1));
        let rest = self.b.binary(BinOp::And, width, below);
        let whole = self.b.sub(width, rest);
        let count = self.b.sub(hi, lo);
        let by = self.b.i64(i64::from(together));
        let left = self.b.binary(BinOp::Rem, count, by);
        let middle = self.b.sub(hi, left);
        let mut panels = HashMap::new();
        for n in &t.loads {
            let len = (self.facts.cuts.deepest_tile * wide) as usize;
            self.private.push((self.p.ty(*n), len));
            panels.insert(*n, (self.b.buffer(self.p.ty(*n), Access::Write), t.inner));
        }
        let (start, _) = self.b.begin_for(zero, whole, wide, &[], LoopHint::Plain);
        let (inside, hint) = (over.inside.clone(), StoreHint::Cached);
        let lane = Lane { space: t.columns, inside, count: lanes.round(), hint, start, mask: None };
        self.copy_panels(over.space, &lane, &t, &panels)?;
        for (from, to, rows) in [(lo, middle, usize::from(together)), (middle, hi, 1)] {
            let (pos, _) = self.b.begin_for(from, to, rows as i64, &[], LoopHint::Plain);
            self.open_point(over.space, Some(pos), over.inside);
            self.tile = Some(Tile { space: over.space, rows, row: 0, panels: panels.clone() });
            self.round(lane.clone(), over.items, (&[], &[]))?;
            self.tile = None;
            self.close();
            self.b.end(&[]);
        }
        self.b.end(&[]);
        // The last columns, row by row.
        let (pos, _) = self.b.begin_for(lo, hi, 1, &[], LoopHint::Plain);
        self.open_point(over.space, Some(pos), over.inside);
        let columns = Over { space: t.columns, ..over };
        self.in_lanes(columns, (whole, width), Lanes::of_width(lanes.width))?;
        self.close();
        self.b.end(&[]);
        Ok(())
    }

    /// Copies what the columns of a round read.
    fn copy_panels(&mut self, rows: Space, lane: &Lane, t: &Tiled, panels: &HashMap<Node, (Buf, Space)>) -> Res<()> {
        let depth = self.val(t.depth)?;
        let zero = self.b.i64(0);
        let (k, _) = self.b.begin_for(zero, depth, 1, &[], LoopHint::Plain);
        self.open(rows, None, Vec::new());
        let before = self.set_vectors(Some(lane.clone()));
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
        self.set_vectors(before);
        self.b.end(&[]);
        Ok(())
    }

    /// A load of what was copied.
    pub(super) fn panel_load(&mut self, n: Node) -> Res<Option<Expr>> {
        let Some((buf, inner)) = self.tile.as_ref().and_then(|t| t.panels.get(&n)).copied() else { return Ok(None) };
        let (k, count) = (self.position(inner)?, self.vector()?.count);
        let at = self.b.mul_const(k, i64::from(count));
        Ok(Some(Expr::Load { buf, at, mask: None }))
    }

    /// For how many rows a node has to be computed.
    pub(super) fn rows_of(&mut self, n: Node) -> usize {
        match &self.tile {
            Some(t) if t.rows > 1 => {
                let (space, rows) = (t.space, t.rows);
                if self.facts.mentions(n, space) { rows } else { 1 }
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
