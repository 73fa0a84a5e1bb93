//! Rows of different lengths that are written contiguously: where one ends in an array, the next begins.

use super::{Facts, is_plain, makes_check, with_stack};
use deckle_ir::kernel::{Buf, Node, Op, ROOT, Region, Sink, Space};
use deckle_ir::schedule::Item;
use std::collections::BTreeSet;

/// Rows at the points of a dimension that are written contiguously.
#[derive(Clone, Debug)]
pub(crate) struct SuccessiveRows {
    /// The dimension of a row.
    pub row: Space,
    /// The offsets of the rows.
    pub offsets: Buf,
    /// The sinks that write them.
    pub sinks: Vec<usize>,
    /// The bytes that these write per element.
    pub bytes: i64,
}

impl Facts<'_> {
    /// The rows at the points of the outermost dimension that items write contiguously, from the first element to the last.
    pub(crate) fn rows_side_by_side(&self, dim: Space, items: &[Item]) -> Option<SuccessiveRows> {
        let p = self.p;
        if p.space(dim).parent != ROOT || !items.iter().all(|i| matches!(i, Item::Sink(_))) {
            return None;
        }
        let mut found: Option<SuccessiveRows> = None;
        for item in items {
            let Item::Sink(k) = *item else { continue };
            let Sink::Write { space: row, at, value, .. } = self.sinks[k] else { continue };
            let Some(offsets) = p.space(row).offsets.filter(|_| p.space(row).parent == dim) else { continue };
            if !matches!(p.space(row).region, Region::Dim(_)) || !self.begins_at_offset(at, (dim, row), offsets) {
                continue;
            }
            let rows = found.get_or_insert(SuccessiveRows { row, offsets, sinks: Vec::new(), bytes: 0 });
            if rows.row == row {
                rows.sinks.push(k);
                rows.bytes += p.ty(value).bytes() as i64;
            }
        }
        found
    }

    /// Such rows of 32 bits or more in arrays that the kernel does not read. No check in it fails, so that every element is written.
    pub(crate) fn successive_rows(&mut self, dim: Space, items: &[Item]) -> Option<SuccessiveRows> {
        let p = self.p;
        let rows = self.rows_side_by_side(dim, items)?;
        let mut written = BTreeSet::new();
        for k in &rows.sinks {
            let Sink::Write { buf, value, .. } = self.sinks[*k] else { return None };
            if p.ty(value).bytes() < 4 || !written.insert(buf) {
                return None;
            }
        }
        let needs: BTreeSet<Node> = (0..self.sinks.len()).flat_map(|k| p.sink_needs(&self.sinks[k])).collect();
        let fits = |n: &Node| match p.node(*n).op {
            Op::Load(buf, _) => !written.contains(&buf),
            _ => !makes_check(p, *n),
        };
        needs.iter().all(fits).then_some(rows)
    }

    /// Such rows whose elements do not depend on their row, so that all rows are one.
    pub(crate) fn joined_rows(&self, dim: Space, items: &[Item]) -> Option<SuccessiveRows> {
        let rows = self.rows_side_by_side(dim, items).filter(|rows| rows.sinks.len() == items.len())?;
        let around = (dim, rows.row);
        let mut seen = BTreeSet::new();
        let all = rows.sinks.iter().all(|k| match &self.sinks[*k] {
            Sink::Write { value, .. } => self.is_in_any_row(*value, around, rows.offsets, &mut seen),
            _ => false,
        });
        all.then_some(rows)
    }

    /// Whether a node depends on a row only through the place of an element among those of all rows. `seen` are nodes that do.
    fn is_in_any_row(&self, n: Node, around: (Space, Space), offsets: Buf, seen: &mut BTreeSet<Node>) -> bool {
        let p = self.p;
        if !p.encloses(around.0, p.space_of(n)) || seen.contains(&n) || self.begins_at_offset(n, around, offsets) {
            return true;
        }
        let op = &p.node(n).op;
        let alike = p.space_of(n) == around.1
            && is_plain(op)
            && !matches!(op, Op::Pos)
            && with_stack(|| p.operands(n).into_iter().all(|m| self.is_in_any_row(m, around, offsets, seen)));
        if alike {
            seen.insert(n);
        }
        alike
    }

    /// Whether an index is the offset of a row, plus the position in it, plus a value that is the same for all rows.
    fn begins_at_offset(&self, at: Node, (dim, row): (Space, Space), offsets: Buf) -> bool {
        let p = self.p;
        let Some(sum) = p.linear(at, &|n| self.resolved(n)) else { return false };
        let is_pos = |n: Node, of: Space| matches!(p.node(n).op, Op::Pos) && p.space_of(n) == of;
        let is_offset = |n: Node| matches!(p.node(n).op, Op::Load(buf, k) if buf == offsets && is_pos(k, dim));
        let once = |is: &dyn Fn(Node) -> bool| sum.terms.iter().any(|(n, times)| *times == 1 && is(*n));
        let others = sum.terms.keys().filter(|n| !is_pos(**n, row) && !is_offset(**n));
        once(&|n| is_pos(n, row)) && once(&is_offset) && others.into_iter().all(|n| p.space_of(*n) == ROOT)
    }
}
