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
    seam: Seam,
}

/// How two traversals make one.
#[derive(Clone, Copy, Debug)]
struct Seam {
    place: Place,
    /// The first of the two counts where this is made in this way.
    choice: (Choice, bool),
    /// Whether one follows the other; else there is one of them.
    follows: bool,
}

/// How many of the truth values of a traversal are `false` and `true`, where the program itself says so.
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
    fn truths(&self, class: Class, id: Id) -> Truths {
        match self.never.contains(&class) {
            true => [Some(0); 2],
            false => self.truths.get(&(class, id)).copied().unwrap_or_default(),
        }
    }

    /// Notes how many elements the traversal of two others has.
    fn count(&mut self, seam: Seam, whole: Class, a: Class, b: Class) {
        let of = |c: Class| if self.never.contains(&c) { Some(0) } else { self.lengths.get(&c).copied() };
        if let Some(n) = seam.count(of(a), of(b)) {
            self.lengths.insert(whole, n);
        }
        if self.never.contains(&a) && self.never.contains(&b) {
            self.never.insert(whole);
        }
        let some = |c: Class| self.some.contains(&c);
        if if seam.follows { some(a) || some(b) } else { some(a) && some(b) } {
            self.some.insert(whole);
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
    fn append_classes(&mut self, place: Place, whole: Class, a: Class, b: Class) -> Choice {
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
                let given = walk.given();
                walk.clocks.tie(Kind::Branch(choice.0, way), whole, part, &given);
            });
        }
    }

    /// An element that is one of the first traversal where the choice is made so, else one of the second.
    fn joined(&mut self, seam: Seam, whole: Class, parts: [(Class, &Flow); 2]) -> Flow {
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
                self.joins.insert(id, Join { whole, parts, seam });
                let (x, y) = (self.truths(ca, parts[0].1), self.truths(cb, parts[1].1));
                self.truths.insert((whole, id), [0, 1].map(|k| seam.count(x[k], y[k])));
                Flow::Known(event, id)
            }
        }
    }

    /// What is inside a step of a traversal that is made of two.
    fn within_either(&mut self, seam: Seam, whole: Class, parts: [Class; 2]) -> Class {
        let Seam { place, choice, .. } = seam;
        let class = self.class();
        if parts.iter().all(|p| self.never.contains(p)) {
            self.never.insert(class);
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

    /// The traversal of at most one element that a condition decides. Equal conditions decide one traversal.
    pub(super) fn guard_class(&mut self, region: Region, id: Id, place: Place) -> Class {
        self.always(|w| w.guard_class_of(region, id, place))
    }

    fn guard_class_of(&mut self, region: Region, id: Id, place: Place) -> Class {
        if let Some(class) = self.clocks.guard(region, id.0) {
            return class;
        }
        let join = self.joins.get(&id.base()).copied().filter(|j| region == Region::Step(j.whole));
        let class = match join {
            // An element of `s ++ t` passes where that of `s`, or that of `t`, passes.
            Some(Join { whole, parts, seam }) => {
                let inner = parts.map(|(c, part)| {
                    let id = if id.is_not() { part.not() } else { part };
                    (c, self.guard_class(Region::Step(c), id, place))
                });
                let class = self.within_either(seam, whole, inner.map(|(_, c)| c));
                self.seams.insert((whole, class), inner);
                class
            }
            None => self.class(),
        };
        match (self.numbers.truth(id), region) {
            (Some(false), _) => drop(self.never.insert(class)),
            (Some(true), Region::Step(c)) => self.clocks.set_flat(c, class, c),
            (None, Region::Step(c)) if join.is_none() => self.guard_of_literals(c, class, id),
            _ => {}
        }
        self.clocks.set_guard(region, id.0, class);
        class
    }

    /// Where each step of a traversal gives the flags of a literal, it is known how many of them pass.
    fn guard_of_literals(&mut self, flat: Class, guard: Class, id: Id) {
        let Some(&(outer, inner)) = self.flattened.get(&(flat, id.base())) else { return };
        let passing = self.truths(inner, id)[1].or(self.truths(inner, id.not())[0]);
        match passing {
            Some(0) => drop(self.never.insert(guard)),
            Some(1) => self.clocks.set_flat(flat, guard, outer),
            _ => {}
        }
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
        self.lengths.insert(class, args.len() as u32);
        match args.is_empty() {
            true => {
                self.never.insert(class);
                self.never_within(&empty);
            }
            false => drop(self.some.insert(class)),
        }
        let truths = args.iter().map(|a| self.numbers.truth(a.as_known().1)).collect::<Option<Vec<bool>>>();
        let first = self.graph.event();
        needed.into_iter().for_each(|e| self.before(e, first, Why::Starts(place)));
        let elem = match args.len() {
            0 => empty,
            1 => self.within(&args[0], true),
            _ => self.within(&args[0], false),
        };
        if let (Flow::Known(_, id), Some(list)) = (&elem, truths) {
            let count = |way: bool| list.iter().filter(|t| **t == way).count() as u32;
            self.truths.insert((class, *id), [false, true].map(|way| Some(count(way))));
        }
        let result = self.stream(class, first, Rc::new(elem));
        self.inner_as_it_is(&result);
        Flow::Seq(result)
    }

    /// What is inside the elements of a traversal that has none.
    pub(super) fn never_within(&mut self, elem: &Flow) {
        for s in elem.streams() {
            self.never.insert(s.class);
            self.never_within(&s.elem);
        }
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
        let span = self.clocks.span(outer.class);
        let given = self.given();
        for inner in outer.elem.streams() {
            let within = self.clocks.span(inner.class);
            self.same(span.go, within.go, Why::Nature);
            self.before(within.end, span.end, Why::Nature);
            self.before(outer.ready, inner.ready, Why::Nature);
            self.clocks.tie(Kind::Flat(inner.class), outer.class, inner.class, &given);
            self.clocks.set_flat(outer.class, inner.class, inner.class);
        }
    }

    /// The traversal of all elements of the inner sequences of another.
    fn flat(&mut self, outer: Class, inner: Class) -> Class {
        let inner = self.rates.get(&inner).copied().unwrap_or(inner);
        self.always(|w| w.flat_of(outer, inner))
    }

    fn flat_of(&mut self, outer: Class, inner: Class) -> Class {
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
            // One element for each step.
            None if self.lengths.get(&inner) == Some(&1) => outer,
            None => {
                let class = self.class();
                let (all, steps) = (self.clocks.span(class), self.clocks.span(outer));
                self.assuming(Choice::Empty(class), false, |w| w.same(all.go, steps.go, Why::Nature));
                self.same(all.end, steps.end, Why::Nature);
                if self.never.contains(&inner) || self.never.contains(&outer) {
                    self.never.insert(class);
                } else if self.some.contains(&inner) {
                    self.empty_as.insert(class, outer);
                }
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
        if let Flow::Known(_, id) = &*inner.elem {
            self.flattened.insert((class, id.base()), (s.class, inner.class));
        }
        let first = self.graph.event();
        self.strictly(s.ready, first, Why::Nature);
        self.before(s.first, first, Why::Nature);
        self.before(inner.first, first, Why::Nature);
        let result = self.stream(class, first, Rc::clone(&inner.elem));
        let within = self.clocks.span(inner.class);
        if inner.class != class {
            self.before(result.ready, within.go, Why::Nature);
        }
        self.passes_on(&result, std::slice::from_ref(inner));
        result
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
        let outer = self.segments(flags.class, cut);
        let inner = self.class();
        self.clocks.set_flat(outer, inner, s.class);
        let elem = self.stream(inner, Event::ORIGIN, Rc::clone(&s.elem));
        let result = self.stream(outer, flags.first, Rc::new(Flow::Seq(elem.clone())));
        // An element is passed on in a step of the subsequence that it belongs to.
        self.before(result.ready, s.ready, Why::Nature);
        self.passes_on(&elem, std::slice::from_ref(s));
        Flow::Seq(result)
    }

    /// The traversal of the subsequences that flags cut. Its steps are longer than those of the flags that end them.
    fn segments(&mut self, flags: Class, cut: Class) -> Class {
        if let Some(class) = self.segments.get(&(flags, cut)) {
            return *class;
        }
        let class = self.class();
        let (parts, all) = (self.clocks.span(class), self.clocks.span(flags));
        self.always(|w| {
            w.same(parts.go, all.go, Why::Nature);
            w.same(parts.end, all.end, Why::Nature);
            w.clocks.tie(Kind::Flat(cut), flags, class, &Rc::from([]));
        });
        self.segments.insert((flags, cut), class);
        class
    }
}
