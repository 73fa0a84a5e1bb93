//! Sequences that are put together from others, and taken apart.

use super::Place;
use super::clocks::{Class, Kind, Region};
use super::graph::{Choice, Event, Why};
use super::number::Id;
use super::walk::{Flow, Stream, Walk};
use std::rc::Rc;

/// An element that is one of two traversals: what it is of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Join {
    whole: Class,
    parts: [(Class, Id); 2],
    choice: (Choice, bool),
}

impl Walk<'_> {
    /// `s ++ t`.
    pub(super) fn append(&mut self, place: Place, s: &Stream, t: &Stream) -> Flow {
        let class = self.class();
        let first = self.graph.event();
        let choice = self.append_classes(place, class, s.class, t.class);
        let end = self.clocks.span(s.class).end;
        self.assuming(choice, true, |w| w.before(s.first, first, Why::Starts(place)));
        self.assuming(choice, false, |w| {
            w.before(end, first, Why::Follows(place));
            w.before(t.first, first, Why::Starts(place));
        });
        let elem = self.joined(place, class, [(s.class, &s.elem), (t.class, &t.elem)], (choice, true));
        Flow::Seq(self.stream(class, first, Rc::new(elem)))
    }

    /// Makes `whole` the traversal of `a` and then of `b`. The choice is whether there is anything in `a`.
    fn append_classes(&mut self, place: Place, whole: Class, a: Class, b: Class) -> Choice {
        let (w, x, y) = (self.clocks.span(whole), self.clocks.span(a), self.clocks.span(b));
        self.before(x.end, y.ready, Why::Follows(place));
        self.same(w.end, y.end, Why::Together(place));
        let choice = self.choice();
        for (way, part) in [(true, x), (false, y)] {
            self.assuming(choice, way, |walk| {
                walk.same(w.go, part.go, Why::Together(place));
                walk.before(w.ready, part.ready, Why::Nature);
            });
        }
        let given = self.given();
        self.clocks.tie(Kind::Part(false), whole, a, &given);
        self.clocks.tie(Kind::Part(true), whole, b, &given);
        choice
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
                let elem = self.joined(place, class, [(s.class, &s.elem), (t.class, &t.elem)], choice);
                Flow::Seq(self.stream(class, first, Rc::new(elem)))
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
    fn either_classes(&mut self, place: Place, choice: (Choice, bool), whole: Class, a: Class, b: Class) {
        if a == b && whole == a {
            return;
        }
        let w = self.clocks.span(whole);
        for (way, part) in [(choice.1, a), (!choice.1, b)] {
            let span = self.clocks.span(part);
            self.assuming(choice.0, way, |walk| {
                walk.same(w.go, span.go, Why::Together(place));
                walk.same(w.end, span.end, Why::Together(place));
                walk.before(w.ready, span.ready, Why::Nature);
                let given = walk.given();
                walk.clocks.tie(Kind::Branch(choice.0, way), whole, part, &given);
            });
        }
    }

    /// An element that is one of the first traversal where the choice is made so, else one of the second.
    fn joined(&mut self, place: Place, whole: Class, parts: [(Class, &Flow); 2], choice: (Choice, bool)) -> Flow {
        let [(ca, a), (cb, b)] = parts;
        match (a, b) {
            (Flow::Tuple(x), Flow::Tuple(y)) => Flow::Tuple(
                x.iter().zip(y.iter()).map(|(x, y)| self.joined(place, whole, [(ca, x), (cb, y)], choice)).collect(),
            ),
            (Flow::Seq(s), Flow::Seq(t)) => {
                let class = self.within_either(place, whole, [s.class, t.class], choice);
                let first = self.graph.event();
                self.before(s.first, first, Why::Nature);
                self.before(t.first, first, Why::Nature);
                let elem = self.joined(place, class, [(s.class, &s.elem), (t.class, &t.elem)], choice);
                Flow::Seq(self.stream(class, first, Rc::new(elem)))
            }
            _ => {
                let event = self.graph.event();
                self.before(a.as_known().0, event, Why::Nature);
                self.before(b.as_known().0, event, Why::Nature);
                let id = self.numbers.fresh();
                let parts = [(ca, a.as_known().1), (cb, b.as_known().1)];
                self.joins.insert(id, Join { whole, parts, choice });
                Flow::Known(event, id)
            }
        }
    }

    /// What is inside a step of a traversal that is made of two.
    fn within_either(&mut self, place: Place, whole: Class, parts: [Class; 2], choice: (Choice, bool)) -> Class {
        let class = self.class();
        let span = self.clocks.span(class);
        for (second, part) in [(false, parts[0]), (true, parts[1])] {
            let other = self.clocks.span(part);
            self.assuming(choice.0, choice.1 != second, |w| {
                w.same(span.go, other.go, Why::Together(place));
                w.same(span.end, other.end, Why::Together(place));
                w.before(span.ready, other.ready, Why::Nature);
                let given = w.given();
                w.clocks.tie(Kind::Within(whole, second), class, part, &given);
            });
        }
        class
    }

    /// The traversal of at most one element that a condition decides. Equal conditions decide one traversal.
    pub(super) fn guard_class(&mut self, region: Region, id: Id, place: Place) -> Class {
        if let Some(class) = self.clocks.guard(region, id.0) {
            return class;
        }
        let join = self.joins.get(&id.base()).copied().filter(|j| region == Region::Step(j.whole));
        let class = match join {
            // An element of `s ++ t` passes where that of `s`, or that of `t`, passes.
            Some(Join { whole, parts, choice }) => {
                let inner = parts.map(|(c, part)| {
                    let id = if id.is_not() { part.not() } else { part };
                    (c, self.guard_class(Region::Step(c), id, place))
                });
                let class = self.within_either(place, whole, inner.map(|(_, c)| c), choice);
                self.seams.insert((whole, class), inner);
                class
            }
            None => self.class(),
        };
        match (self.numbers.truth(id), region) {
            (Some(false), _) => drop(self.never.insert(class)),
            (Some(true), Region::Step(c)) => self.clocks.set_flat(c, class, c),
            _ => {}
        }
        self.clocks.set_guard(region, id.0, class);
        class
    }

    /// `{x, y, ...}`.
    pub(super) fn literal(&mut self, place: Place, args: Vec<Flow>, empty: Flow) -> Flow {
        if args.len() > 1 && args.iter().any(|a| a.streams().next().is_some()) {
            let mut rest = args.into_iter().map(|a| self.literal(place, vec![a], Flow::Tuple(Rc::from([]))));
            let parts: Vec<Flow> = rest.by_ref().collect();
            drop(rest);
            let mut parts = parts.into_iter();
            let mut whole = parts.next().unwrap_or(empty);
            for part in parts {
                if let (Flow::Seq(s), Flow::Seq(t)) = (&whole, &part) {
                    whole = self.append(place, s, t);
                }
            }
            return whole;
        }
        let needed: Vec<Event> = args.iter().flat_map(Flow::known).collect();
        let class = self.class();
        let first = self.graph.event();
        needed.into_iter().for_each(|e| self.before(e, first, Why::Starts(place)));
        let elem = match args.len() {
            0 => empty,
            1 => self.within(&args[0], true),
            _ => self.within(&args[0], false),
        };
        let result = self.stream(class, first, Rc::new(elem));
        self.inner_as_it_is(&result);
        Flow::Seq(result)
    }

    /// A value as an element: what of it is concrete is there at once.
    fn within(&mut self, flow: &Flow, same: bool) -> Flow {
        match flow {
            Flow::Known(_, id) => Flow::Known(Event::ORIGIN, if same { *id } else { self.numbers.fresh() }),
            Flow::Tuple(parts) => Flow::Tuple(parts.iter().map(|p| self.within(p, same)).collect()),
            Flow::Seq(s) => Flow::Seq(s.clone()),
        }
    }

    /// The elements of a sequence of at most one element, where they are sequences, are traversed in its only step.
    pub(super) fn inner_as_it_is(&mut self, outer: &Stream) {
        let inner: Vec<Class> = outer.elem.streams().map(|s| s.class).collect();
        let span = self.clocks.span(outer.class);
        let given = self.given();
        for class in inner {
            let within = self.clocks.span(class);
            self.same(span.go, within.go, Why::Nature);
            self.before(within.end, span.end, Why::Nature);
            self.before(span.ready, within.ready, Why::Nature);
            self.clocks.tie(Kind::Flat(class), outer.class, class, &given);
            self.clocks.set_flat(outer.class, class, class);
        }
    }

    /// The traversal of all elements of the inner sequences of another.
    fn flat(&mut self, outer: Class, inner: Class) -> Class {
        if let Some(class) = self.clocks.flat(outer, inner) {
            return class;
        }
        let seam = self.seams.get(&(outer, inner)).copied();
        let part = seam.and_then(|[a, b]| match (self.never.contains(&a.1), self.never.contains(&b.1)) {
            (_, true) => Some(a),
            (true, _) => Some(b),
            _ => None,
        });
        let class = match part {
            // All that passes is in one part.
            Some((c, within)) => self.flat(c, within),
            None => {
                let class = self.class();
                let (all, steps, within) = (self.clocks.span(class), self.clocks.span(outer), self.clocks.span(inner));
                self.same(all.go, steps.go, Why::Nature);
                self.same(all.end, steps.end, Why::Nature);
                self.before(all.ready, within.go, Why::Nature);
                let given = self.given();
                self.clocks.tie(Kind::Flat(inner), outer, class, &given);
                class
            }
        };
        self.clocks.set_flat(outer, inner, class);
        class
    }

    pub(super) fn flatten(&mut self, s: &Stream, inner: &Stream) -> Stream {
        let class = self.flat(s.class, inner.class);
        let first = self.graph.event();
        let ready = self.clocks.span(s.class).ready;
        self.strictly(ready, first, Why::Nature);
        self.before(s.first, first, Why::Nature);
        self.before(inner.first, first, Why::Nature);
        self.stream(class, first, Rc::clone(&inner.elem))
    }

    /// The only element.
    pub(super) fn the(&mut self, s: &Stream, elem: &Flow, place: Place) -> Flow {
        match elem {
            Flow::Known(..) => {
                let known = self.ends(s.class, place);
                Flow::Known(known, self.numbers.fresh())
            }
            Flow::Tuple(parts) => Flow::Tuple(parts.iter().map(|p| self.the(s, p, place)).collect()),
            Flow::Seq(inner) => Flow::Seq(self.flatten(s, inner)),
        }
    }

    /// The flags are traversed; where one is `false` an element is taken, where one is `true` a subsequence ends.
    pub(super) fn flagpart(&mut self, place: Place, s: &Stream, flags: &Stream) -> Flow {
        let (_, flag) = flags.elem.as_known();
        let step = Region::Step(flags.class);
        let (kept, cut) = (self.guard_class(step, flag.not(), place), self.guard_class(step, flag, place));
        let elements = self.flat(flags.class, kept);
        self.together(s.class, elements, place);
        let outer = self.flat(flags.class, cut);
        let inner = self.class();
        self.clocks.set_flat(outer, inner, s.class);
        let (parts, within, all) = (self.clocks.span(outer), self.clocks.span(inner), self.clocks.span(s.class));
        self.before(parts.ready, all.ready, Why::Nature);
        self.before(all.ready, within.go, Why::Nature);
        let elem = self.stream(inner, Event::ORIGIN, Rc::clone(&s.elem));
        Flow::Seq(self.stream(outer, flags.first, Rc::new(Flow::Seq(elem))))
    }
}
