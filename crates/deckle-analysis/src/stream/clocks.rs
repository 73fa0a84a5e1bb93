//! Traversals, and which of them advance together.
//!
//! Two sequences that are zipped advance together: their traversals are one. A traversal that is derived from another one (the
//! elements that pass a filter, the elements of inner sequences, the second operand of `++`) is *tied* to it: it advances when, and
//! only when, the other does. Without buffers this works as long as the ties are a forest. Two ties between the same
//! traversals, or a cycle of ties, would have one of them wait for itself, as in `zip(s, filter(s))`.

use super::Place;
use super::graph::{Choice, Event, Given, conflict};
use std::collections::{BTreeMap, HashMap, HashSet};

/// A traversal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Class(pub u32);

/// The events of a traversal.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// It continues after its first elements.
    pub go: Event,
    /// All elements have been seen.
    pub end: Event,
}

/// Where bodies run: in a step of a traversal, or once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Region {
    Step(Class),
    Once(u32),
}

/// How a traversal is derived from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// All elements of the inner sequences that the other traverses in this one.
    Flat(Class),
    /// An operand of `++`.
    Part(bool),
    /// All its elements except the first are the other's.
    Shifted,
    /// One of the branches of a conditional.
    Branch(Choice, bool),
    /// The inside of a step, seen from a traversal of which the other is a part.
    Within(Class, bool),
}

/// A traversal and one derived from it.
#[derive(Clone, Debug)]
pub(super) struct Tie {
    pub kind: Kind,
    pub outer: Class,
    pub inner: Class,
    pub given: Given,
}

/// All traversals.
#[derive(Debug, Default)]
pub(super) struct Clocks {
    spans: Vec<Span>,
    /// The unified traversals, in order, each with its statement.
    unions: Vec<(Class, Class, Place)>,
    ties: Vec<Tie>,
    /// The elements of the inner sequences (second) of a traversal (first), as one sequence.
    flats: BTreeMap<(Class, Class), Class>,
    /// The traversal of at most one element that a condition decides, in a region.
    guards: BTreeMap<(Region, u32), Class>,
}

impl Clocks {
    pub(super) fn class(&mut self, span: Span) -> Class {
        self.spans.push(span);
        Class(self.spans.len() as u32 - 1)
    }

    pub(super) fn span(&self, class: Class) -> Span {
        self.spans[class.0 as usize]
    }

    pub(super) fn union(&mut self, a: Class, b: Class, place: Place) {
        if a != b {
            self.unions.push((a, b, place));
        }
    }

    pub(super) fn tie(&mut self, kind: Kind, outer: Class, inner: Class, given: &Given) {
        self.ties.push(Tie { kind, outer, inner, given: given.clone() });
    }

    /// Keeps the ties for which `holds`.
    pub(super) fn retain(&mut self, holds: impl FnMut(&Tie) -> bool) {
        self.ties.retain(holds);
    }

    pub(super) fn flat(&self, outer: Class, inner: Class) -> Option<Class> {
        self.flats.get(&(outer, inner)).copied()
    }

    pub(super) fn set_flat(&mut self, outer: Class, inner: Class, flat: Class) {
        self.flats.insert((outer, inner), flat);
    }

    pub(super) fn guard(&self, region: Region, condition: u32) -> Option<Class> {
        self.guards.get(&(region, condition)).copied()
    }

    pub(super) fn set_guard(&mut self, region: Region, condition: u32, class: Class) {
        self.guards.insert((region, condition), class);
    }

    /// For each traversal the representative of its set.
    pub(super) fn merged_all(&self) -> Merged {
        self.merged(self.unions.len())
    }

    /// For each traversal its representative after the first `unions`.
    fn merged(&self, unions: usize) -> Merged {
        let mut merged = Merged::new(self.spans.len());
        for (a, b, _) in &self.unions[..unions] {
            merged.union(*a, *b);
        }
        while self.congruence(&mut merged) {}
        merged
    }

    /// Traversals derived in the same way from one traversal are one. Returns whether there were any new ones.
    fn congruence(&self, merged: &mut Merged) -> bool {
        let mut changed = false;
        let mut flats: HashMap<(Class, Class), Class> = HashMap::new();
        for ((outer, inner), flat) in &self.flats {
            let key = (merged.find(*outer), merged.rate(*inner));
            let other = *flats.entry(key).or_insert(*flat);
            changed |= merged.union(*flat, other);
        }
        let mut guards: HashMap<(Region, u32), Class> = HashMap::new();
        for ((region, condition), class) in &self.guards {
            let region = match region {
                Region::Step(c) => Region::Step(merged.find(*c)),
                once => *once,
            };
            let other = *guards.entry((region, *condition)).or_insert(*class);
            changed |= merged.rates.union(*class, other);
        }
        changed | self.alike_branches(merged)
    }

    /// A conditional whose branches are both one traversal is that traversal.
    fn alike_branches(&self, merged: &mut Merged) -> bool {
        let mut first: HashMap<(Class, Choice), (bool, Class)> = HashMap::new();
        let mut changed = false;
        for tie in &self.ties {
            let Kind::Branch(choice, way) = tie.kind else { continue };
            let (outer, inner) = (merged.find(tie.outer), merged.find(tie.inner));
            match first.get(&(outer, choice)) {
                Some((other, class)) if *other != way && *class == inner => changed |= merged.union(outer, inner),
                Some(_) => {}
                None => {
                    first.insert((outer, choice), (way, inner));
                }
            }
        }
        changed
    }

    /// The statement that unifies traversals that cannot advance together, if there is one.
    pub(super) fn fault(&self) -> Option<Place> {
        if !self.tangled(self.unions.len()) {
            return None;
        }
        // The first union after which it fails.
        let (mut good, mut bad) = (0, self.unions.len());
        while bad - good > 1 {
            let middle = (good + bad) / 2;
            if self.tangled(middle) { bad = middle } else { good = middle }
        }
        self.unions.get(bad.saturating_sub(1)).map(|u| u.2)
    }

    /// Whether the ties are no forest, after this many unions.
    fn tangled(&self, unions: usize) -> bool {
        let mut merged = self.merged(unions);
        let mut seen = HashSet::new();
        let mut ties = Vec::new();
        for tie in &self.ties {
            let kind = match tie.kind {
                Kind::Flat(inner) => Kind::Flat(merged.rate(inner)),
                Kind::Within(part, way) => Kind::Within(merged.find(part), way),
                other => other,
            };
            let (outer, inner) = (merged.find(tie.outer), merged.find(tie.inner));
            if matches!(kind, Kind::Branch(..)) && outer == inner {
                continue;
            }
            if seen.insert((kind, outer, inner)) {
                ties.push(Tie { kind, outer, inner, given: tie.given.clone() });
            }
        }
        circle(&ties, &mut 0)
    }
}

/// Whether there is a cycle of ties that all hold together.
fn circle(ties: &[Tie], cases: &mut u32) -> bool {
    const MAX_CASES: u32 = 1024;
    *cases += 1;
    let Some(found) = find_circle(ties) else { return false };
    match conflict(found.iter().map(|&k| &ties[k].given)) {
        Some(choice) if *cases < MAX_CASES => [true, false].into_iter().any(|way| {
            let kept: Vec<Tie> = ties.iter().filter(|t| !t.given.contains(&(choice, !way))).cloned().collect();
            circle(&kept, cases)
        }),
        _ => true,
    }
}

/// Ties that form a cycle, if there are some.
fn find_circle(ties: &[Tie]) -> Option<Vec<usize>> {
    let mut near: HashMap<Class, Vec<(Class, usize)>> = HashMap::new();
    let last = ties.iter().map(|t| t.outer.0.max(t.inner.0)).max().unwrap_or(0);
    let mut trees = Sets::new(last as usize + 1);
    for (k, tie) in ties.iter().enumerate() {
        if !trees.union(tie.outer, tie.inner) {
            let mut circle = path(&near, tie.outer, tie.inner).unwrap_or_default();
            circle.push(k);
            return Some(circle);
        }
        near.entry(tie.outer).or_default().push((tie.inner, k));
        near.entry(tie.inner).or_default().push((tie.outer, k));
    }
    None
}

/// The ties between two traversals of a forest, if they are connected.
fn path(near: &HashMap<Class, Vec<(Class, usize)>>, from: Class, to: Class) -> Option<Vec<usize>> {
    let mut via: HashMap<Class, (Class, usize)> = HashMap::new();
    let mut pending = vec![from];
    while let Some(c) = pending.pop() {
        if c == to {
            let mut list = Vec::new();
            let mut c = to;
            while c != from {
                let (before, k) = via[&c];
                list.push(k);
                c = before;
            }
            return Some(list);
        }
        for &(next, k) in near.get(&c).map_or(&[][..], Vec::as_slice) {
            if next != from && !via.contains_key(&next) {
                via.insert(next, (c, k));
                pending.push(next);
            }
        }
    }
    None
}

/// Which traversals are one, and which have one rate: equal numbers of elements in each step of another.
#[derive(Debug)]
pub(super) struct Merged {
    classes: Sets,
    rates: Sets,
}

impl Merged {
    fn new(n: usize) -> Merged {
        Merged { classes: Sets::new(n), rates: Sets::new(n) }
    }

    pub(super) fn find(&mut self, c: Class) -> Class {
        self.classes.find(c)
    }

    fn rate(&mut self, c: Class) -> Class {
        self.rates.find(c)
    }

    fn union(&mut self, a: Class, b: Class) -> bool {
        self.rates.union(a, b);
        self.classes.union(a, b)
    }
}

/// Disjoint sets.
#[derive(Debug)]
struct Sets(Vec<u32>);

impl Sets {
    fn new(n: usize) -> Sets {
        Sets((0..n as u32).collect())
    }

    fn find(&mut self, c: Class) -> Class {
        let mut root = c.0;
        while self.0[root as usize] != root {
            self.0[root as usize] = self.0[self.0[root as usize] as usize];
            root = self.0[root as usize];
        }
        Class(root)
    }

    fn union(&mut self, a: Class, b: Class) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.0[a.0.max(b.0) as usize] = a.0.min(b.0);
        a != b
    }
}
