//! Runs of rows: what the threads of a block can load together of the rows of several points.
//!
//! The elements of rows that are written one after another in memory, as offsets say, have a *place* among the elements of all rows. What depends on the place only, and not on the row, a thread can load that does not
//! have the row: neighbours load what lies side by side.

use super::ragged::Ragged;
use super::{Facts, parts_of, product_of};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, Region, Sink, Space};
use deckle_ir::schedule::Item;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of which several are traversed together.
#[derive(Clone, Debug)]
pub(crate) struct Runs {
    /// The dimension of a row.
    pub dim: Space,
    /// The place of the first element of a row.
    pub start: Node,
    /// Values of an element that depend on its place only.
    pub loaded: Vec<Node>,
    /// What is folded, scanned and checked along a row.
    pub along: Vec<Item>,
    /// What is stored for each element, at a place.
    pub stored: Vec<StoredElement>,
    /// What is stored for each row.
    pub outside: Vec<Item>,
}

/// The sink of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StoredElement {
    pub sink: usize,
    /// Its value, if that does not depend on the place only.
    pub value: Option<Node>,
}

impl Runs {
    /// The values that pass through shared memory.
    pub(crate) fn shared(&self) -> impl Iterator<Item = Node> {
        self.loaded.iter().copied().chain(self.stored.iter().filter_map(|s| s.value))
    }

    /// The folds and scans along a row.
    pub(crate) fn carried(&self) -> Vec<Node> {
        super::carried_by(&self.along)
    }
}

/// What is known of nodes while the rows of a launch are looked at.
struct Look {
    first: Space,
    dim: Space,
    /// The place of the first element of a row.
    start: Node,
    by_place: BTreeMap<Node, bool>,
}

impl Facts<'_> {
    /// The rows below the outermost dimension, if a block can traverse several of them together.
    pub(crate) fn runs(&mut self, first: Space, rows: Ragged, contract: bool) -> Option<Runs> {
        let (p, dim) = (self.p, rows.dim);
        let offsets = rows.offsets?;
        let all: Vec<Item> = (0..self.sinks.len()).map(Item::Sink).collect();
        let needed: BTreeSet<Node> = all.iter().flat_map(|i| self.needs_of(*i)).collect();
        let begins = |n: &&Node| match p.node(**n).op {
            Op::Load(b, at) => b == offsets && matches!(p.node(at).op, Op::Pos) && p.space_of(at) == first,
            _ => false,
        };
        let start = *needed.iter().find(begins)?;
        let (mut along, mut stored, mut outside) = (Vec::new(), Vec::new(), Vec::new());
        for n in needed.iter().copied() {
            let (inside, at) = (p.encloses(dim, p.space_of(n)), p.space_of(n));
            match p.node(n).op {
                Op::Fold { over, .. } if p.encloses(dim, over) => {
                    if at != first || !self.is_flat(dim, over) {
                        return None;
                    }
                    along.push(Item::Fold(n));
                }
                Op::Scan { from, .. } if inside => {
                    if from != first || at != dim {
                        return None;
                    }
                    along.push(Item::Scan(n));
                }
                Op::Fold { .. } | Op::Loop { .. } if inside => return None,
                _ if inside && !self.is_flat(dim, at) => return None,
                _ => {}
            }
        }
        let mut look = Look { first, dim, start, by_place: BTreeMap::new() };
        for item in all {
            let Item::Sink(k) = item else { continue };
            let (at, _) = p.sink_parts(&self.sinks[k]);
            if !p.encloses(dim, at) {
                outside.push(item);
                continue;
            }
            match self.sinks[k] {
                _ if at != dim => return None,
                Sink::Check(_) => along.push(item),
                Sink::Write { at: place, value, .. } => {
                    if !self.is_by_place(&mut look, place) {
                        return None;
                    }
                    let value = (!self.is_by_place(&mut look, value)).then_some(value);
                    stored.push(StoredElement { sink: k, value });
                }
                Sink::Scatter { .. } => return None,
            }
        }
        // What a row comes to is not known before its last element.
        let carried = super::carried_by(&along);
        let needs_other = |n: Node| p.needs(&[n]).iter().any(|m| *m != n && carried.contains(m));
        let is_fold = |m: &Node| carried.contains(m) && matches!(p.node(*m).op, Op::Fold { .. });
        let needs_fold = |s: &StoredElement| s.value.is_some_and(|v| p.needs(&[v]).iter().any(is_fold));
        if carried.iter().any(|n| needs_other(*n)) || stored.iter().any(needs_fold) {
            return None;
        }
        let mut roots: Vec<Node> = stored.iter().filter_map(|s| s.value).collect();
        for n in &carried {
            let (_, elems, how) = parts_of(p, *n).ok()?;
            let folds = matches!(p.node(*n).op, Op::Fold { .. });
            for (k, elem) in elems.iter().enumerate() {
                let op = if let Combine::Ops(ops) = how { ops.get(k) } else { None };
                // A product that is added by one operation has two values.
                match op.and_then(|op| product_of(p, *op, *elem)).filter(|_| folds && contract) {
                    Some((x, y)) => roots.extend([x, y]),
                    None => roots.push(*elem),
                }
            }
        }
        for item in &along {
            if let Item::Sink(k) = item {
                roots.extend(p.sink_parts(&self.sinks[*k]).1);
            }
        }
        let (mut loaded, mut seen) = (BTreeSet::new(), BTreeSet::new());
        roots.into_iter().for_each(|n| self.loads_by_place(&mut look, n, &mut seen, &mut loaded));
        let loaded: Vec<Node> = loaded.into_iter().collect();
        (!loaded.is_empty() || !stored.is_empty()).then_some(Runs { dim, start, loaded, along, stored, outside })
    }

    /// Whether a space is a dimension, or below it under conditions only.
    fn is_flat(&self, dim: Space, space: Space) -> bool {
        self.p.between(dim, space).iter().all(|s| matches!(self.p.space(*s).region, Region::Guard(..)))
    }

    /// Whether a value depends on the place of an element only.
    fn is_by_place(&mut self, look: &mut Look, n: Node) -> bool {
        if !self.mentions(n, look.first) && !self.mentions(n, look.dim) {
            return true;
        }
        if let Some(known) = look.by_place.get(&n) {
            return *known;
        }
        let p = self.p;
        let is_pos = |n: Node| matches!(p.node(n).op, Op::Pos) && p.space_of(n) == look.dim;
        let found = match p.node(n).op {
            Op::Binary(BinOp::Add, a, b) if is_pos(a) && b == look.start || is_pos(b) && a == look.start => true,
            Op::Pos | Op::Fold { .. } | Op::Scan { .. } | Op::If { .. } | Op::Loop { .. } | Op::Part(..) => false,
            _ if p.space_of(n) != look.dim => false,
            _ => self.on_of(n).into_iter().all(|m| super::with_stack(|| self.is_by_place(look, m))),
        };
        look.by_place.insert(n, found);
        found
    }

    /// Collects the largest parts of a value that depend on the place of an element only, and load something.
    fn loads_by_place(&mut self, look: &mut Look, n: Node, seen: &mut BTreeSet<Node>, loaded: &mut BTreeSet<Node>) {
        let varies = self.mentions(n, look.first) || self.mentions(n, look.dim);
        if !varies || self.p.space_of(n) != look.dim || !seen.insert(n) {
            return;
        }
        if self.is_by_place(look, n) {
            let loads = |m: &Node| matches!(self.p.node(*m).op, Op::Load(..)) && self.p.space_of(*m) == look.dim;
            if self.p.needs(&[n]).iter().any(loads) {
                loaded.insert(n);
            }
            return;
        }
        for m in self.on_of(n) {
            super::with_stack(|| self.loads_by_place(look, m, seen, loaded));
        }
    }
}
