//! Rows of different lengths at the points of a dimension, which can be folded together.

use super::{Facts, is_plain, parts_of};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, Program, Region, Space};
use deckle_ir::schedule::Item;
use std::collections::BTreeSet;

/// The folds of rows that can be folded together.
#[derive(Clone, Debug)]
pub(crate) struct ShortRows {
    /// The dimension of a row.
    pub dim: Space,
    pub folds: Vec<Node>,
    /// Values that are computed for rows in lanes and needed inside them.
    pub wanted: Vec<Node>,
    /// The number of nodes inside a row.
    pub nodes: usize,
    /// Whether the elements of a row can be loaded as a vector under a mask, even if there are none.
    pub side_by_side: bool,
    /// Whether some of them are gathered; otherwise they are contiguous.
    pub gathered: bool,
    /// The gathered elements that can be loaded ahead for several rows, if any.
    pub ahead: Option<Ahead>,
}

/// Gathered elements that depend only on their place among the elements of all rows, and not on their row: they can be loaded for many rows in one loop.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    /// The loads.
    pub loads: Vec<Node>,
    /// The start of a row.
    pub start: Node,
}

impl ShortRows {
    pub(crate) fn items(&self) -> Vec<Item> {
        self.folds.iter().map(|n| Item::Fold(*n)).collect()
    }
}

impl Facts<'_> {
    /// The rows of different lengths at the points of a dimension, if they exist and can be folded together.
    pub(crate) fn short_rows(&mut self, space: Space, items: &[Item]) -> Option<ShortRows> {
        let inside = self.needed_inside(space, items);
        self.in_lanes_of(space, |facts| facts.short_rows_of(space, &inside))
    }

    fn short_rows_of(&mut self, space: Space, inside: &[Node]) -> Option<ShortRows> {
        let mut dims = BTreeSet::new();
        let mut folds = Vec::new();
        for n in inside {
            let Op::Fold { over, ref init, ref combine, .. } = self.p.node(*n).op else { continue };
            let path = self.p.between(self.p.space_of(*n), over);
            let dim = *path.first()?;
            let Region::Dim(size) = self.p.space(dim).region else { continue };
            if self.p.space_of(*n) != space || !self.varies(size) {
                continue;
            }
            // For rows without counted elements, a start must be known.
            if !matches!(combine, Combine::Ops(_)) || path.len() > 1 && init.is_none() {
                return None;
            }
            dims.insert(dim);
            folds.push(*n);
        }
        let dim = *dims.first()?;
        let Region::Dim(size) = self.p.space(dim).region else { return None };
        let deeper: Vec<Node> = inside.iter().copied().filter(|n| self.p.encloses(dim, self.p.space_of(*n))).collect();
        if dims.len() > 1 || !deeper.iter().all(|n| is_plain(&self.p.node(*n).op)) {
            return None;
        }
        let (mut side_by_side, mut gathered) = (true, false);
        for n in &deeper {
            match self.p.node(*n).op {
                Op::Load(_, at) if !self.goes_along(at, dim) => {
                    gathered = true;
                    side_by_side &= self.mentions(at, dim);
                }
                // Checks that are the same for all elements would be made for empty rows too.
                Op::Check { .. } => side_by_side &= self.mentions(*n, dim),
                _ => {}
            }
        }
        let ahead = self.ahead(space, dim, &deeper);
        let mut used: BTreeSet<Node> = deeper.iter().flat_map(|n| self.on_of(*n)).collect();
        for n in &folds {
            used.extend(parts_of(self.p, *n).ok()?.1);
        }
        used.insert(size);
        used.retain(|n| self.p.space_of(*n) == space);
        // The result of one fold that another needs, for its elements or its start, is not available yet.
        let mut asked: Vec<Node> = used.iter().copied().collect();
        for n in &folds {
            asked.extend(parts_of(self.p, *n).ok()?.0.into_iter().flatten());
        }
        let needs = self.p.needs(&asked);
        if folds.iter().any(|n| needs.contains(n)) {
            return None;
        }
        used.retain(|n| match self.p.node(*n).op {
            Op::Pos | Op::Const(_) => false,
            Op::Load(_, at) => !self.follows(at, space),
            _ => true,
        });
        let wanted = used.into_iter().collect();
        Some(ShortRows { dim, folds, wanted, nodes: deeper.len(), side_by_side, gathered, ahead })
    }

    /// The gathered elements computed in rows, if all can be loaded ahead: at every point of the rows, and indexed by the place among all elements.
    fn ahead(&mut self, space: Space, dim: Space, deeper: &[Node]) -> Option<Ahead> {
        let offsets = self.p.space(dim).offsets?;
        let is_pos = |p: &Program, n: Node, s: Space| matches!(p.node(n).op, Op::Pos) && p.space_of(n) == s;
        let begins =
            |p: &Program, n: Node| matches!(p.node(n).op, Op::Load(b, at) if b == offsets && is_pos(p, at, space));
        let (mut loads, mut start) = (Vec::new(), None);
        for n in deeper {
            let Op::Load(_, at) = self.p.node(*n).op else { continue };
            if self.goes_along(at, dim) {
                continue;
            }
            let (mut seen, mut todo) = (BTreeSet::new(), vec![*n]);
            while let Some(n) = todo.pop() {
                if !seen.insert(n) || !self.mentions(n, space) && !self.mentions(n, dim) {
                    continue;
                }
                let place = match self.p.node(n).op {
                    Op::Binary(BinOp::Add, a, b) if is_pos(self.p, a, dim) && begins(self.p, b) => Some(b),
                    Op::Binary(BinOp::Add, a, b) if is_pos(self.p, b, dim) && begins(self.p, a) => Some(a),
                    _ => None,
                };
                match place {
                    Some(row) => start = Some(row),
                    // Other values of a row, and values that only some points compute, have no place among all elements.
                    None if self.p.space_of(n) != dim || is_pos(self.p, n, dim) => return None,
                    None => todo.extend(self.on_of(n)),
                }
            }
            loads.push(*n);
        }
        Some(Ahead { start: start.filter(|_| !loads.is_empty())?, loads })
    }
}
