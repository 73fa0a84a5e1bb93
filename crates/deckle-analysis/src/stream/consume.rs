//! Operators that traverse sequences.

use super::Place;
use super::clocks::{Class, Kind, Region};
use super::flow::{Flow, Stream};
use super::graph::{Choice, Event, Why};
use super::walk::{At, Walk};
use deckle_ir::array::ScanKind;
use deckle_ir::entity::Body;
use std::rc::Rc;

impl Walk<'_> {
    /// The values that a consumer uses from outside must be known before it takes an element.
    pub(super) fn needs(&mut self, s: &Stream, flows: &[Flow], place: Place) -> Vec<Event> {
        let events: Vec<Event> = flows.iter().flat_map(Flow::known).collect();
        for &e in &events {
            self.before(e, s.ready, Why::Uses(place));
        }
        events
    }

    pub(super) fn map(&mut self, at: &mut At<'_>, streams: &[Stream]) -> Flow {
        let class = streams[0].class;
        let firsts: Vec<Event> = streams.iter().map(|s| s.first).collect();
        streams.iter().for_each(|s| self.together(class, s.class, at.place));
        let mut needed = Vec::new();
        // Inner sequences are held back until an element of each is taken.
        for s in streams.iter().filter(|s| streams.len() > 1 && s.has_inner()) {
            firsts.iter().for_each(|f| self.before(*f, s.ready, Why::Together(at.place)));
        }
        let elem = match at.inst.bodies.first() {
            None => Rc::new(Flow::Tuple(streams.iter().map(|s| (*s.elem).clone()).collect())),
            Some(&b) => {
                let outside = self.outside(at.func, at.env, b);
                for s in streams {
                    needed = self.needs(s, &outside, at.place);
                }
                let elems = streams.iter().map(|s| (*s.elem).clone()).collect();
                Rc::new(self.step(at, b, class, elems))
            }
        };
        let why = if streams.len() > 1 { Why::Together(at.place) } else { Why::Nature };
        let first = self.first_of(&firsts, why, &needed, at.place);
        let result = self.stream(class, first, elem);
        self.passes_on(&result, streams);
        Flow::Seq(result)
    }

    /// When the first element is available of a sequence derived from others and from values from outside.
    pub(super) fn first_of(&mut self, firsts: &[Event], why: Why, needed: &[Event], place: Place) -> Event {
        let seen = self.after(firsts, why);
        if needed.iter().all(|e| *e == Event::ORIGIN) {
            return seen;
        }
        let first = self.graph.event();
        self.before(seen, first, Why::Nature);
        needed.iter().for_each(|e| self.before(*e, first, Why::Uses(place)));
        first
    }

    /// Inner sequences that a sequence may share with others are held back until its consumers take them.
    pub(super) fn passes_on(&mut self, result: &Stream, from: &[Stream]) {
        for s in from.iter().filter(|s| result.has_inner() && s.has_inner()) {
            self.before(result.ready, s.ready, Why::Nature);
        }
    }

    /// A body in a step of a traversal.
    pub(super) fn step(&mut self, at: &mut At<'_>, body: Body, class: Class, params: Vec<Flow>) -> Flow {
        if self.facts.never.contains(&class) {
            let function = self.function(at.func);
            let nothing = self.given_value(function.ty(function.body(body).result), Event::ORIGIN);
            self.never_within(&nothing);
            return nothing;
        }
        for (&p, flow) in self.function(at.func).body(body).params.iter().zip(params) {
            at.env[p.index()] = Some(flow);
        }
        self.depth += 1;
        let result = self.assuming(Choice::Empty(class), false, |w| w.body(at.func, at.env, body, Region::Step(class)));
        self.depth -= 1;
        result
    }

    pub(super) fn produce(&mut self, at: &mut At<'_>, args: &[Flow]) -> Flow {
        let class = self.class();
        let body = at.inst.bodies[0];
        let outside = self.outside(at.func, at.env, body);
        let needed: Vec<Event> = outside.iter().chain(args).flat_map(Flow::known).collect();
        let first = self.after(&needed, Why::Starts(at.place));
        let index = Flow::Known(Event::ORIGIN, self.numbers.fresh());
        let elem = Rc::new(self.step(at, body, class, vec![index]));
        Flow::Seq(self.stream(class, first, elem))
    }

    pub(super) fn unzip(&mut self, s: &Stream) -> Flow {
        match &*s.elem {
            Flow::Tuple(parts) => parts
                .iter()
                .map(|p| Flow::Seq(Stream { elem: Rc::new(p.clone()), ..s.clone() }))
                .collect::<Vec<_>>()
                .into(),
            // The unit value has no parts.
            _ => Flow::Tuple(Rc::from([])),
        }
    }

    pub(super) fn scan(&mut self, at: &mut At<'_>, args: &[Flow], s: &Stream, kind: ScanKind) -> Flow {
        let mut needed: Vec<Flow> = args.iter().filter(|a| a.as_seq().is_none()).cloned().collect();
        for &b in &at.inst.bodies {
            needed.extend(self.outside(at.func, at.env, b));
        }
        let start = self.needs(s, &needed, at.place);
        let ty = self.function(at.func).ty(at.place.var);
        let within = self.combines(at, s);
        let elem = Rc::new(ty.elem().map_or(Flow::Tuple(Rc::from([])), |t| self.given_value(t, within)));
        match kind {
            ScanKind::Full => {
                let class = self.class();
                let (whole, rest) = (self.clocks.span(class), self.clocks.span(s.class));
                self.same(whole.go, rest.go, Why::Nature);
                self.same(whole.end, rest.end, Why::Nature);
                let given = self.given();
                self.clocks.tie(Kind::Shifted, class, s.class, &given);
                let first = self.after(&start, Why::Starts(at.place));
                Flow::Seq(self.stream(class, first, elem))
            }
            ScanKind::Inclusive | ScanKind::Exclusive => {
                let first = self.first_of(&[s.first], Why::Nature, &start, at.place);
                Flow::Seq(self.stream(s.class, first, elem))
            }
        }
    }

    /// The bodies that combine the elements of a sequence, in each step of its traversal; and when an element is known there. Their operands are
    /// concrete, but they may have sequences of their own.
    fn combines(&mut self, at: &mut At<'_>, s: &Stream) -> Event {
        let within = self.after(&s.elem.known().collect::<Vec<_>>(), Why::Nature);
        for &b in &at.inst.bodies {
            if self.has_streams(at.func, b) {
                let function = self.function(at.func);
                let params = function.body(b).params.iter().map(|p| self.given_value(function.ty(*p), within));
                let params = params.collect();
                self.step(at, b, s.class, params);
            }
        }
        within
    }

    /// Any operator from a sequence to a concrete value.
    pub(super) fn fold(&mut self, at: &mut At<'_>, args: &[Flow], s: &Stream) -> Flow {
        let mut needed: Vec<Flow> = args.iter().filter(|a| a.as_seq().is_none()).cloned().collect();
        for &b in &at.inst.bodies {
            needed.extend(self.outside(at.func, at.env, b));
        }
        self.needs(s, &needed, at.place);
        self.combines(at, s);
        let known = self.ends(s.class, at.place);
        self.given_value(self.function(at.func).ty(at.place.var), known)
    }

    /// An event when a traversal has ended.
    pub(super) fn ends(&mut self, class: Class, place: Place) -> Event {
        let known = self.graph.event();
        let end = self.clocks.span(class).end;
        self.before(end, known, Why::Ends(place));
        known
    }
}
