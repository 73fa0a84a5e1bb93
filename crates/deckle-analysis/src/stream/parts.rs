//! Sequences that are combined from others, and split.

use super::Place;
use super::clocks::{Class, Kind, Region};
use super::flow::{Flow, Stream};
use super::graph::{Choice, Event, Why};
use super::walk::Walk;
use std::rc::Rc;

impl Walk<'_> {
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
        self.facts.lengths.insert(class, args.len() as u32);
        match args.is_empty() {
            true => {
                self.facts.never.insert(class);
                self.never_within(&empty);
            }
            false => drop(self.facts.some.insert(class)),
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
            self.facts.truths.insert((class, *id), [false, true].map(|way| Some(count(way))));
        }
        let result = self.stream(class, first, Rc::new(elem));
        self.inner_as_it_is(&result);
        Flow::Seq(result)
    }

    /// The inside of the elements of an empty traversal.
    pub(super) fn never_within(&mut self, elem: &Flow) {
        for s in elem.streams() {
            self.facts.never.insert(s.class);
            self.never_within(&s.elem);
        }
    }

    /// A value as an element: its concrete parts are available at once.
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
        let inner = self.facts.rates.get(&inner).copied().unwrap_or(inner);
        self.always(|w| w.flat_of(outer, inner))
    }

    fn flat_of(&mut self, outer: Class, inner: Class) -> Class {
        if let Some(class) = self.clocks.flat(outer, inner) {
            return class;
        }
        let seam = self.facts.seams.get(&(outer, inner)).copied();
        let part = seam.and_then(|[a, b]| match (self.facts.never.contains(&a.1), self.facts.never.contains(&b.1)) {
            (_, true) => Some(a),
            (true, _) => Some(b),
            _ => None,
        });
        let class = match part {
            // All elements that pass are in one part.
            Some((c, within)) => self.flat(c, within),
            // One element for each step.
            None if self.facts.lengths.get(&inner) == Some(&1) => outer,
            None => {
                let class = self.class();
                let (all, steps) = (self.clocks.span(class), self.clocks.span(outer));
                self.assuming(Choice::Empty(class), false, |w| w.same(all.go, steps.go, Why::Nature));
                self.same(all.end, steps.end, Why::Nature);
                if self.facts.never.contains(&inner) || self.facts.never.contains(&outer) {
                    self.facts.never.insert(class);
                } else if self.facts.some.contains(&inner) {
                    self.facts.empty_as.insert(class, outer);
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
            self.facts.flattened.insert((class, id.base()), (s.class, inner.class));
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

    /// The flags are traversed; at a `false` an element is taken, at a `true` a subsequence ends.
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
        if let Some(class) = self.facts.segments.get(&(flags, cut)) {
            return *class;
        }
        let class = self.class();
        let (parts, all) = (self.clocks.span(class), self.clocks.span(flags));
        self.always(|w| {
            w.same(parts.go, all.go, Why::Nature);
            w.same(parts.end, all.end, Why::Nature);
            w.clocks.tie(Kind::Flat(cut), flags, class, &Rc::from([]));
        });
        self.facts.segments.insert((flags, cut), class);
        class
    }
}
