//! Events and the order that they must have.
//!
//! An edge requires that one event does not come after another, or that it comes strictly before it. Some edges hold only in some cases (a
//! branch that is taken, a first operand that is empty); a case is a set of [`Choice`]s. An order exists if in no case a cycle
//! of edges contains a strict one.

use super::Place;
use super::clocks::Class;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

/// An event that happens once in a run, or once in each step of the enclosing traversal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Event(pub u32);

impl Event {
    /// Before everything else.
    pub(super) const ORIGIN: Event = Event(0);
}

/// A binary choice in a run that the order may depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Choice {
    /// A condition of the program holds.
    Condition(u32),
    /// The first operand of a `++` is long, compared with the sequence that it is zipped with.
    Long(u32),
    /// A traversal has no elements.
    Empty(Class),
}

/// The choices required for an edge to hold.
pub(super) type Given = Rc<[(Choice, bool)]>;

/// Why one event comes before another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// By the definition of a traversal; not reported.
    Nature,
    /// A value is computed from another.
    Computed(Place),
    /// The result of a traversal is known at its end.
    Ends(Place),
    /// A sequence cannot start before its operands are known.
    Starts(Place),
    /// A body that runs at each element uses a value from outside.
    Uses(Place),
    /// The second operand of `++` waits for the first.
    Follows(Place),
    /// Traversals that advance together.
    Together(Place),
}

/// `from` before `to`.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub from: Event,
    pub to: Event,
    pub strict: bool,
    pub why: Why,
    pub given: Given,
}

/// All events and edges.
#[derive(Debug, Default)]
pub(super) struct Graph {
    events: u32,
    pub edges: Vec<Edge>,
}

/// The cases are tried one after another; this many are enough for any realistic program.
const MAX_CASES: u32 = 4096;

impl Graph {
    pub(super) fn new() -> Graph {
        Graph { events: 1, edges: Vec::new() }
    }

    pub(super) fn event(&mut self) -> Event {
        self.events += 1;
        Event(self.events - 1)
    }

    pub(super) fn len(&self) -> usize {
        self.events as usize + self.edges.len()
    }

    pub(super) fn add(&mut self, from: Event, to: Event, strict: bool, why: Why, given: &Given) {
        if from != Event::ORIGIN && (strict || from != to) {
            self.edges.push(Edge { from, to, strict, why, given: Rc::clone(given) });
        }
    }

    /// Merges equal choices, by `root`; edges that hold only for excluded choices are removed.
    pub(super) fn settle(
        &mut self,
        mut root: impl FnMut(Choice, bool) -> (Choice, bool),
        made: impl Fn(Choice) -> Option<bool>,
    ) {
        self.edges.retain_mut(|edge| {
            if edge.given.is_empty() {
                return true;
            }
            let given: Given = edge.given.iter().map(|&(c, way)| root(c, way)).collect();
            let holds = given.iter().all(|&(c, way)| made(c).is_none_or(|m| m == way))
                && conflict(std::iter::once(&given)).is_none();
            edge.given = given;
            holds
        });
    }

    /// Edges that contradict each other, as a cycle in order, if there are some.
    pub(super) fn cycle(&self) -> Option<Vec<&Edge>> {
        let live: Vec<usize> = (0..self.edges.len()).collect();
        self.cycle_among(&live, &mut 0)
    }

    fn cycle_among(&self, live: &[usize], cases: &mut u32) -> Option<Vec<&Edge>> {
        *cases += 1;
        let group = self.components(live);
        let inside: Vec<usize> = live
            .iter()
            .copied()
            .filter(|&e| group[self.edges[e].from.0 as usize] == group[self.edges[e].to.0 as usize])
            .collect();
        let &strict = inside.iter().find(|&&e| self.edges[e].strict)?;
        let cycle = self.close(strict, &inside);
        match conflict(cycle.iter().map(|e| &e.given)) {
            Some(choice) if *cases < MAX_CASES => [true, false].into_iter().find_map(|way| {
                let excluded = (choice, !way);
                let kept: Vec<usize> =
                    inside.iter().copied().filter(|&e| !self.edges[e].given.contains(&excluded)).collect();
                self.cycle_among(&kept, cases)
            }),
            _ => Some(cycle),
        }
    }

    /// For each event the strongly connected component that it is in.
    fn components(&self, live: &[usize]) -> Vec<u32> {
        let n = self.events as usize;
        let mut forward = vec![Vec::new(); n];
        let mut backward = vec![Vec::new(); n];
        for &e in live {
            let (from, to) = (self.edges[e].from.0 as usize, self.edges[e].to.0 as usize);
            forward[from].push(to);
            backward[to].push(from);
        }
        let mut order = Vec::with_capacity(n);
        let mut seen = vec![false; n];
        for root in 0..n {
            if std::mem::replace(&mut seen[root], true) {
                continue;
            }
            let mut stack = vec![(root, 0)];
            while let Some((v, next)) = stack.pop() {
                match forward[v].get(next) {
                    Some(&w) => {
                        stack.push((v, next + 1));
                        if !std::mem::replace(&mut seen[w], true) {
                            stack.push((w, 0));
                        }
                    }
                    None => order.push(v),
                }
            }
        }
        let mut group = vec![u32::MAX; n];
        for (k, &root) in order.iter().rev().enumerate() {
            let mut stack = vec![root];
            while let Some(v) = stack.pop() {
                if group[v] == u32::MAX {
                    group[v] = k as u32;
                    stack.extend(backward[v].iter().copied().filter(|&w| group[w] == u32::MAX));
                }
            }
        }
        group
    }

    /// The shortest path back from the target of an edge to its source, with the edge itself in front.
    fn close(&self, first: usize, live: &[usize]) -> Vec<&Edge> {
        let (start, goal) = (self.edges[first].to, self.edges[first].from);
        let mut leaving: HashMap<Event, Vec<usize>> = HashMap::new();
        for &e in live {
            leaving.entry(self.edges[e].from).or_default().push(e);
        }
        let mut via: HashMap<Event, usize> = HashMap::new();
        let mut queue = VecDeque::from([start]);
        while let Some(v) = queue.pop_front() {
            if v == goal {
                break;
            }
            for &e in leaving.get(&v).map_or(&[][..], Vec::as_slice) {
                let to = self.edges[e].to;
                if to != start && !via.contains_key(&to) {
                    via.insert(to, e);
                    queue.push_back(to);
                }
            }
        }
        let mut path = Vec::new();
        let mut v = goal;
        while v != start {
            let Some(&e) = via.get(&v) else { break };
            path.push(&self.edges[e]);
            v = self.edges[e].from;
        }
        path.push(&self.edges[first]);
        path.reverse();
        path
    }
}

/// A choice required both ways.
pub(super) fn conflict<'a>(all: impl Iterator<Item = &'a Given>) -> Option<Choice> {
    let mut made: HashMap<Choice, bool> = HashMap::new();
    for given in all {
        for &(choice, way) in given.iter() {
            if *made.entry(choice).or_insert(way) != way {
                return Some(choice);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    type Row<'a> = (u32, u32, bool, &'a [(u32, bool)]);

    fn graph(edges: &[Row<'_>]) -> Graph {
        let mut g = Graph { events: 10, edges: Vec::new() };
        for &(from, to, strict, given) in edges {
            let given: Given = given.iter().map(|&(c, way)| (Choice::Long(c), way)).collect();
            g.add(Event(from), Event(to), strict, Why::Nature, &given);
        }
        g
    }

    #[test]
    fn equal_events_are_no_contradiction() {
        assert!(graph(&[(1, 2, false, &[]), (2, 1, false, &[])]).cycle().is_none());
        assert!(graph(&[(1, 2, true, &[]), (2, 3, true, &[])]).cycle().is_none());
    }

    #[test]
    fn a_cycle_with_a_strict_edge_is_found_whole() {
        let g = graph(&[(1, 2, false, &[]), (2, 3, true, &[]), (3, 1, false, &[]), (4, 5, true, &[])]);
        let cycle = g.cycle().unwrap();
        assert_eq!(cycle.len(), 3);
        assert!(cycle.windows(2).all(|w| w[0].to == w[1].from) && cycle[2].to == cycle[0].from);
    }

    #[test]
    fn what_never_holds_together_is_no_contradiction() {
        let apart = [(1, 2, true, &[(7, true)][..]), (2, 1, false, &[(7, false)])];
        assert!(graph(&apart).cycle().is_none());
        let mut both = apart.to_vec();
        both.push((2, 1, false, &[(7, true)]));
        assert!(graph(&both).cycle().is_some());
    }

    #[test]
    fn nothing_comes_before_the_origin() {
        assert!(graph(&[(0, 1, true, &[]), (1, 0, true, &[])]).cycle().is_none());
    }
}
