//! One sequence derived from two: their concatenation, or one of them.

use super::Place;
use super::clocks::{Class, Kind};
use super::flow::{Flow, Stream};
use super::graph::{Choice, Event, Why};
use super::number::Id;
use super::walk::Walk;
use std::rc::Rc;

/// An element of one of two traversals: its part in each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    pub whole: Class,
    pub parts: [(Class, Id); 2],
    pub seam: Seam,
}

/// How two traversals become one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seam {
    place: Place,
    /// With this choice, the first of the two is the one that counts.
    choice: (Choice, bool),
    /// Whether one follows the other; otherwise one of them is selected.
    follows: bool,
}

/// How many of the booleans of a traversal are `false` and `true`, if the program determines it.
pub(super) type Truths = [Option<u32>; 2];

impl Seam {
    fn count(self, a: Option<u32>, b: Option<u32>) -> Option<u32> {
        match self.follows {
            true => a?.checked_add(b?),
            false => a.filter(|_| a == b),
        }
    }
}

impl Walk<'_> {
    pub(super) fn truths(&self, class: Class, id: Id) -> Truths {
        match self.facts.never.contains(&class) {
            true => [Some(0); 2],
            false => self.facts.truths.get(&(class, id)).copied().unwrap_or_default(),
        }
    }

    /// Records the number of elements of the traversal of two others.
    pub(super) fn count(&mut self, seam: Seam, whole: Class, a: Class, b: Class) {
        let of = |c: Class| if self.facts.never.contains(&c) { Some(0) } else { self.facts.lengths.get(&c).copied() };
        if let Some(n) = seam.count(of(a), of(b)) {
            self.facts.lengths.insert(whole, n);
        }
        if self.facts.never.contains(&a) && self.facts.never.contains(&b) {
            self.facts.never.insert(whole);
        }
        let some = |c: Class| self.facts.some.contains(&c);
        if if seam.follows { some(a) || some(b) } else { some(a) && some(b) } {
            self.facts.some.insert(whole);
        }
    }

    /// `s ++ t`.
    pub(super) fn append(&mut self, place: Place, s: &Stream, t: &Stream) -> Flow {
        let class = self.class();
        let first = self.graph.event();
        let choice = self.append_classes(place, class, s.class, t.class);
        let end = self.clocks.span(s.class).end;
        self.before(end, t.ready, Why::Follows(place));
        let seam = Seam { place, choice: (choice, true), follows: true };
        self.count(seam, class, s.class, t.class);
        let empty = Choice::Empty(s.class);
        self.assuming(empty, false, |w| w.before(s.first, first, Why::Starts(place)));
        self.assuming(empty, true, |w| {
            w.assuming(choice, false, |w| {
                w.before(end, first, Why::Follows(place));
                w.before(t.first, first, Why::Starts(place));
            });
        });
        let elem = self.joined(seam, class, [(s.class, &s.elem), (t.class, &t.elem)]);
        let result = self.stream(class, first, Rc::new(elem));
        self.assuming(choice, true, |w| w.passes_on(&result, std::slice::from_ref(s)));
        self.assuming(choice, false, |w| w.passes_on(&result, std::slice::from_ref(t)));
        Flow::Seq(result)
    }

    /// Makes `whole` the traversal of `a` and then of `b`. The choice is which of them has the first elements that count.
    pub(super) fn append_classes(&mut self, place: Place, whole: Class, a: Class, b: Class) -> Choice {
        let (w, x, y) = (self.clocks.span(whole), self.clocks.span(a), self.clocks.span(b));
        self.same(w.end, y.end, Why::Together(place));
        let choice = self.choice();
        for (way, class, part) in [(true, a, x), (false, b, y)] {
            self.assuming(choice, way, |walk| {
                walk.assuming(Choice::Empty(class), false, |walk| walk.same(w.go, part.go, Why::Together(place)));
            });
        }
        let given = self.given();
        self.clocks.tie(Kind::Part(false), whole, a, &given);
        self.clocks.tie(Kind::Part(true), whole, b, &given);
        choice
    }

    /// An element of the first traversal for this choice, else of the second.
    pub(super) fn joined(&mut self, seam: Seam, whole: Class, parts: [(Class, &Flow); 2]) -> Flow {
        let [(ca, a), (cb, b)] = parts;
        match (a, b) {
            (Flow::Tuple(x), Flow::Tuple(y)) => {
                Flow::Tuple(x.iter().zip(y.iter()).map(|(x, y)| self.joined(seam, whole, [(ca, x), (cb, y)])).collect())
            }
            (Flow::Seq(s), Flow::Seq(t)) => {
                let class = self.within_either(seam, whole, [s.class, t.class]);
                let first = self.graph.event();
                let (choice, way) = seam.choice;
                self.assuming(choice, way, |w| w.before(s.first, first, Why::Nature));
                self.assuming(choice, !way, |w| w.before(t.first, first, Why::Nature));
                let elem = self.joined(seam, class, [(s.class, &s.elem), (t.class, &t.elem)]);
                let result = self.stream(class, first, Rc::new(elem));
                self.assuming(choice, way, |w| w.before(result.ready, s.ready, Why::Nature));
                self.assuming(choice, !way, |w| w.before(result.ready, t.ready, Why::Nature));
                Flow::Seq(result)
            }
            _ => {
                let event = self.graph.event();
                let (choice, way) = seam.choice;
                self.assuming(choice, way, |w| w.before(a.as_known().0, event, Why::Nature));
                self.assuming(choice, !way, |w| w.before(b.as_known().0, event, Why::Nature));
                let id = self.numbers.fresh();
                let parts = [(ca, a.as_known().1), (cb, b.as_known().1)];
                self.facts.joins.insert(id, Join { whole, parts, seam });
                let (x, y) = (self.truths(ca, parts[0].1), self.truths(cb, parts[1].1));
                self.facts.truths.insert((whole, id), [0, 1].map(|k| seam.count(x[k], y[k])));
                Flow::Known(event, id)
            }
        }
    }

    /// The inside of a step of a traversal derived from two.
    pub(super) fn within_either(&mut self, seam: Seam, whole: Class, parts: [Class; 2]) -> Class {
        let Seam { place, choice, .. } = seam;
        let class = self.class();
        if parts.iter().all(|p| self.facts.never.contains(p)) {
            self.facts.never.insert(class);
        }
        let span = self.clocks.span(class);
        for (second, part) in [(false, parts[0]), (true, parts[1])] {
            let other = self.clocks.span(part);
            self.assuming(choice.0, choice.1 != second, |w| {
                w.same(span.go, other.go, Why::Together(place));
                w.same(span.end, other.end, Why::Together(place));
                let given = w.given();
                w.clocks.tie(Kind::Within(whole, second), class, part, &given);
            });
        }
        class
    }

    /// One of two values.
    pub(super) fn either(&mut self, place: Place, condition: (Event, Id), yes: &Flow, no: &Flow) -> Flow {
        let (known, condition_id) = condition;
        let choice = self.numbers.choice(condition_id);
        match (yes, no) {
            (Flow::Tuple(a), Flow::Tuple(b)) => {
                Flow::Tuple(a.iter().zip(b.iter()).map(|(a, b)| self.either(place, condition, a, b)).collect())
            }
            (Flow::Seq(s), Flow::Seq(t)) => {
                let class = if s.class == t.class { s.class } else { self.class() };
                let first = self.graph.event();
                self.before(known, first, Why::Starts(place));
                for (way, part) in [(choice.1, s), (!choice.1, t)] {
                    self.assuming(choice.0, way, |w| w.before(part.first, first, Why::Starts(place)));
                }
                self.either_classes(place, choice, class, s.class, t.class);
                let seam = Seam { place, choice, follows: false };
                self.count(seam, class, s.class, t.class);
                let elem = self.joined(seam, class, [(s.class, &s.elem), (t.class, &t.elem)]);
                let result = self.stream(class, first, Rc::new(elem));
                self.assuming(choice.0, choice.1, |w| w.passes_on(&result, std::slice::from_ref(s)));
                self.assuming(choice.0, !choice.1, |w| w.passes_on(&result, std::slice::from_ref(t)));
                Flow::Seq(result)
            }
            _ => {
                let event = self.graph.event();
                self.before(known, event, Why::Computed(place));
                for (way, part) in [(choice.1, yes), (!choice.1, no)] {
                    let from = part.as_known().0;
                    self.assuming(choice.0, way, |w| w.before(from, event, Why::Computed(place)));
                }
                let id = self.numbers.select(condition_id, yes.as_known().1, no.as_known().1);
                Flow::Known(event, id)
            }
        }
    }

    /// Makes `whole` the traversal of one of two others.
    pub(super) fn either_classes(&mut self, place: Place, choice: (Choice, bool), whole: Class, a: Class, b: Class) {
        if a == b && whole == a {
            return;
        }
        let w = self.clocks.span(whole);
        for (way, part) in [(choice.1, a), (!choice.1, b)] {
            let span = self.clocks.span(part);
            self.assuming(choice.0, way, |walk| {
                walk.same(w.go, span.go, Why::Together(place));
                walk.same(w.end, span.end, Why::Together(place));
                let given = walk.given();
                walk.clocks.tie(Kind::Branch(choice.0, way), whole, part, &given);
            });
        }
    }
}
