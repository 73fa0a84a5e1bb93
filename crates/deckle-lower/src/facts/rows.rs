//! Rows of different lengths at the points of a dimension, which can be folded together.

use super::{Facts, is_plain, parts_of};
use deckle_ir::kernel::{Combine, Node, Op, Region, Space};
use deckle_ir::schedule::Item;
use std::collections::BTreeSet;

/// The folds of rows that can be folded together.
#[derive(Clone, Debug)]
pub(crate) struct ShortRows {
    /// The dimension of a row.
    pub dim: Space,
    pub folds: Vec<Node>,
    /// What is computed for rows in lanes and needed inside them.
    pub wanted: Vec<Node>,
    /// How many nodes there are inside a row.
    pub nodes: usize,
    /// Whether the elements of a row can be loaded as a vector under a mask, also where there are none.
    pub side_by_side: bool,
    /// Whether some of them are gathered; otherwise they lie side by side.
    pub gathered: bool,
}

impl ShortRows {
    pub(crate) fn items(&self) -> Vec<Item> {
        self.folds.iter().map(|n| Item::Fold(*n)).collect()
    }
}

impl Facts<'_> {
    /// The rows of different lengths at the points of a dimension, if there are such and they can be folded together.
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
            // Of rows where no element counts, something has to be known.
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
                // What is the same for all elements would be tested for empty rows too.
                Op::Check { .. } => side_by_side &= self.mentions(*n, dim),
                _ => {}
            }
        }
        let mut used: BTreeSet<Node> = deeper.iter().flat_map(|n| self.on_of(*n)).collect();
        for n in &folds {
            used.extend(parts_of(self.p, *n).ok()?.1);
        }
        used.insert(size);
        used.retain(|n| self.p.space_of(*n) == space);
        // What one fold needs of another is not there yet.
        let needs = self.p.needs(&used.iter().copied().collect::<Vec<_>>());
        if folds.iter().any(|n| needs.contains(n)) {
            return None;
        }
        used.retain(|n| match self.p.node(*n).op {
            Op::Pos | Op::Const(_) => false,
            Op::Load(_, at) => !self.follows(at, space),
            _ => true,
        });
        Some(ShortRows { dim, folds, wanted: used.into_iter().collect(), nodes: deeper.len(), side_by_side, gathered })
    }
}
