//! Products of matrices, and what is like them: each point of two dense dimensions folds over a third, and what is computed there is combined from values that differ from row to row only, and from values that
//! differ from column to column only.
//!
//! `sum(a[i, k] * b[k, j])` has the two *panels* `a[i, k]`, beside the rows, and `b[k, j]`, above the columns. The threads of a block load a few columns of the one and rows of the other into shared
//! memory, and each of them combines what several of its points need.
//!
//! On a CPU, where the rows of a tile are in registers and only one of the two is copied, `tiles.rs` recognises products, with fewer limits.

use super::dense::dense;
use super::{Facts, makes_check, parts_of};
use deckle_ir::kernel::{Combine, Node, Op, Program, ROOT, Region, Sink, Space};
use deckle_ir::scalar::ScalarType;
use std::collections::BTreeSet;

/// The most nodes that are computed at a point beside its fold: they are compiled once for each point of a thread.
const MOST_AT_POINT: usize = 24;
/// The most nodes of a panel.
const MOST_IN_PANEL: usize = 2;

/// The elements by which rows of a panel are apart in shared memory beyond their number, so that threads that store a column do not meet in one bank.
pub(crate) const PAD: u32 = 4;

/// A product.
#[derive(Clone, Debug)]
pub(crate) struct Product {
    pub rows: Space,
    pub columns: Space,
    /// The dimension that is folded.
    pub inner: Space,
    pub fold: Node,
    /// What differs from row to row, and from column to column.
    pub panels: [Vec<Node>; 2],
}

/// The bytes of an element of each panel of a product, and of the sum.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProductBytes {
    pub panels: [u32; 2],
    pub sum: u32,
}

impl Product {
    pub(crate) fn bytes(&self, p: &Program) -> ProductBytes {
        let of = |nodes: &[Node]| nodes.iter().map(|n| p.ty(*n).bytes() as u32).sum();
        let sum = parts_of(p, self.fold).map_or(8, |(_, elems, _)| p.ty(elems[0]).bytes() as u32);
        ProductBytes { panels: self.panels.each_ref().map(|nodes| of(nodes)), sum }
    }
}

impl Facts<'_> {
    /// The product that is computed at the points of a dimension and of the one just inside.
    pub(crate) fn product(&mut self, first: Space) -> Option<Product> {
        let p = self.p;
        let [rows, columns] = dense(p, self.sinks, first)[..] else { return None };
        let mut written = BTreeSet::new();
        for sink in self.sinks {
            match sink {
                Sink::Write { space, buf, .. } if *space == columns => written.insert(*buf),
                _ => return None,
            };
        }
        let needed: BTreeSet<Node> = self.sinks.iter().flat_map(|s| p.sink_needs(s)).collect();
        let inside: Vec<Node> = needed.into_iter().filter(|n| p.encloses(columns, p.space_of(*n))).collect();
        let is_loop = |n: &&Node| matches!(p.node(**n).op, Op::Fold { .. } | Op::Scan { .. } | Op::Loop { .. });
        let mut loops = inside.iter().filter(is_loop);
        let fold = *loops.next()?;
        if loops.next().is_some() || p.space_of(fold) != columns {
            return None;
        }
        let Op::Fold { over: inner, ref elems, combine: Combine::Ops(_), .. } = p.node(fold).op else { return None };
        let (Region::Dim(depth), [elem]) = (p.space(inner).region, &elems[..]) else { return None };
        let flat = p.space(inner).parent == columns && p.space_of(depth) == ROOT && !self.written_out(inner);
        if !flat || inside.iter().filter(|n| !p.encloses(inner, p.space_of(**n))).count() > MOST_AT_POINT {
            return None;
        }
        let mut panels = [BTreeSet::new(), BTreeSet::new()];
        self.find_panels((rows, columns, inner), *elem, &mut panels)?;
        let panels = panels.map(|nodes| nodes.into_iter().collect::<Vec<Node>>());
        for nodes in &panels {
            let loads = |n: &Node| matches!(p.node(*n).op, Op::Load(..));
            let overwritten = |n: &Node| matches!(p.node(*n).op, Op::Load(b, _) if written.contains(&b));
            let needs = p.needs(nodes);
            if nodes.len() > MOST_IN_PANEL || !needs.iter().any(loads) || needs.iter().any(overwritten) {
                return None;
            }
        }
        Some(Product { rows, columns, inner, fold, panels })
    }

    /// Collects what an element is combined from, by panel.
    fn find_panels(&mut self, dims: (Space, Space, Space), n: Node, panels: &mut [BTreeSet<Node>; 2]) -> Option<()> {
        let (rows, columns, inner) = dims;
        let (below, beside, along) = (self.mentions(n, rows), self.mentions(n, columns), self.mentions(n, inner));
        let both = below && beside;
        let no_element = self.p.ty(n) == ScalarType::Bool || self.p.space_of(n) != inner;
        match self.p.node(n).op {
            // What is the same at all points is computed where it belongs.
            _ if !below && !beside && !along => return if makes_check(self.p, n) { None } else { Some(()) },
            _ if !both && !no_element => {
                panels[usize::from(beside)].insert(n);
            }
            Op::Unary(..) | Op::Binary(..) | Op::Cast(..) | Op::Select(..) | Op::Fma(..) if both => {
                for operand in self.p.operands(n) {
                    self.find_panels(dims, operand, panels)?;
                }
            }
            _ => return None,
        }
        Some(())
    }
}
