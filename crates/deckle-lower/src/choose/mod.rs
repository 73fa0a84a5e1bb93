//! Choosing a schedule: which walks there are, and for each a nest.
//!
//! The walks of a function follow from the kernel ([`Chooser::walks`], [`Chooser::inside`]). How each of them runs is decided by rules: [`cpu`] for vectors on cores, [`threads`] for which core takes
//! which points of the outermost dimension, [`gpu`] for the threads of a GPU; elsewhere, loops are serial.
//! A choice depends on the kernel, the cuts and the target, on nothing else.

mod cost;
mod cpu;
pub(crate) mod gpu;
mod lanes;
mod legal;
mod threads;

pub(crate) use threads::Outermost;

use crate::facts::Facts;
use deckle_ir::kernel::{Node, Op, ROOT, Region, Space};
use deckle_ir::loops::{Gathers, Stores};
use deckle_ir::schedule::{Item, Level, Nest, Walk, Walks};
use std::collections::BTreeSet;

/// Chooses the schedules of the functions of a kernel.
pub(crate) struct Chooser<'k> {
    pub facts: Facts<'k>,
    /// How gathered elements are loaded.
    pub gathers: Gathers,
    /// Whether stores should keep to cache lines.
    pub stores: Stores,
    /// Whether several points may be computed at once: not to find the first failure, and not on a GPU, where threads are the lanes.
    pub vectors: bool,
    /// The dimension of rows that are cut into blocks, if there is one.
    pub rows: Option<Space>,
    /// The dimension of rows whose gathered elements have been loaded ahead.
    pub staged: Option<Space>,
    /// The dimensions whose points the threads of a grid share together: all but the last are joined to the next one.
    pub joined: Vec<Space>,
    /// Whether points at the edges of these are apart from others, and code for them is chosen.
    pub at_edges: bool,
    /// The dimension of which a group of threads takes each point, if one does.
    pub grouped: Option<Space>,
}

impl Chooser<'_> {
    /// What a function traverses from the root on, for items and for the folds of the root. `outermost` says that it runs on ranges of the first dimension.
    pub(crate) fn walks(&mut self, items: &[Item], outermost: bool) -> Walks {
        let mut walks = Vec::new();
        self.traverse(ROOT, items, outermost, &mut walks);
        self.root_folds(items, &mut walks);
        walks.into()
    }

    /// What a function traverses that opens points of a dimension on its own, for some items: a walk without items says what is inside.
    pub(crate) fn walks_at_points(&mut self, dim: Space, items: &[Item], outermost: bool) -> Walks {
        let nest = Nest::level(Level::Serial, self.inside_of(dim, items, outermost), "points on their own");
        let mut walks = vec![Walk { dim, items: Vec::new(), nest }];
        self.root_folds(items, &mut walks);
        walks.into()
    }

    /// What a function traverses at the root, where some items have been computed before.
    pub(crate) fn root_walks(&mut self, before: &[Item]) -> Walks {
        let mut walks = Vec::new();
        self.root_folds(before, &mut walks);
        walks.into()
    }

    /// The folds of the root that the sinks need beside some items.
    fn root_folds(&mut self, items: &[Item], walks: &mut Vec<Walk>) {
        let all: Vec<Item> = (0..self.facts.sinks.len()).map(Item::Sink).chain(items.iter().copied()).collect();
        self.folds_at(ROOT, &all, walks);
    }

    /// What is traversed at a point of a dimension: what is further in, and the folds that are computed there.
    fn inside(&mut self, dim: Space, items: &[Item]) -> Walks {
        self.inside_of(dim, items, false)
    }

    fn inside_of(&mut self, dim: Space, items: &[Item], outermost: bool) -> Walks {
        let mut walks = Vec::new();
        let deeper: Vec<Item> = items.iter().copied().filter(|i| self.facts.space_of(*i) != dim).collect();
        self.traverse(dim, &deeper, outermost, &mut walks);
        self.folds_at(dim, items, &mut walks);
        walks.into()
    }

    /// The same where the points of the dimension are lanes: they share all loops, which are serial.
    fn inside_lanes(&mut self, dim: Space, items: &[Item]) -> Walks {
        let vectors = std::mem::replace(&mut self.vectors, false);
        let inside = self.inside(dim, items);
        self.vectors = vectors;
        inside
    }

    /// The folds that are computed at the points of a space, in no dimension further in. Those of a combining function are computed wherever it is applied.
    fn folds_at(&mut self, space: Space, items: &[Item], walks: &mut Vec<Walk>) {
        let p = self.facts.p;
        let region = |s: Space| p.space(s).region;
        let needs: BTreeSet<Node> = items.iter().flat_map(|i| self.facts.needs_of(*i)).collect();
        for n in needs {
            if !matches!(p.node(n).op, Op::Fold { .. }) || items.contains(&Item::Fold(n)) {
                continue;
            }
            let at = p.space_of(n);
            let function = p.between(ROOT, at).into_iter().rfind(|s| region(*s) == Region::Lambda);
            let from = if p.encloses(space, at) { Some(space) } else { function };
            let is_here = |from: Space| !p.between(from, at).into_iter().any(|s| matches!(region(s), Region::Dim(_)));
            if from.is_some_and(is_here) {
                self.traverse(at, &[Item::Fold(n)], false, walks);
            }
        }
    }

    /// The walks that iterate over all points of some items, from a space on.
    fn traverse(&mut self, from: Space, items: &[Item], outermost: bool, walks: &mut Vec<Walk>) {
        let mut items = self.facts.with_scans(from, items);
        while let Some(first) = items.first().copied() {
            let Ok(next) = self.facts.below(from, self.facts.space_of(first)) else { return };
            let (mine, rest): (Vec<Item>, Vec<Item>) =
                items.into_iter().partition(|i| self.facts.below(from, self.facts.space_of(*i)) == Ok(next));
            items = rest;
            match self.facts.p.space(next).region {
                Region::Dim(_) => {
                    let nest = self.nest(next, &mine, outermost);
                    walks.push(Walk { dim: next, items: mine, nest });
                }
                _ => {
                    let deeper: Vec<Item> = mine.into_iter().filter(|i| self.facts.space_of(*i) != next).collect();
                    self.traverse(next, &deeper, false, walks);
                }
            }
        }
    }
}
