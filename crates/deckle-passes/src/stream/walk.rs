//! Going through a program once, with what is known of *when* each value is there in the place of the value.

use super::clocks::{Class, Clocks, Kind, Region, Span};
use super::graph::{Choice, Event, Given, Graph, Why};
use super::number::{Id, Numbers};
use super::parts::{Join, Truths};
use super::{Place, Traversal};
use deckle_ir::array::{Function, Inst, Op, Program, ScanKind};
use deckle_ir::entity::{Body, Func, Var};
use deckle_ir::types::Type;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// When a value is there.
#[derive(Clone, Debug)]
pub(super) enum Flow {
    /// A concrete value: known from an event on. Values with one number are equal.
    Known(Event, Id),
    /// A tuple or record.
    Tuple(Rc<[Flow]>),
    /// A sequence.
    Seq(Stream),
}

/// A sequence.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub class: Class,
    /// Its first element, or its end, can be seen.
    pub first: Event,
    /// All that its consumers need to take an element is known.
    pub ready: Event,
    /// When the parts of an element are there, within a step.
    pub elem: Rc<Flow>,
}

/// Inlined calls multiply what there is to look at; beyond this it is too much.
const MAX_GRAPH: usize = 2_000_000;

/// Stack that must be left before a body is looked at, and how much more is made.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

pub(super) struct Walk<'p> {
    program: &'p Program,
    pub graph: Graph,
    pub clocks: Clocks,
    pub numbers: Numbers,
    /// The sequences of the function itself, not of those that it calls.
    pub traversals: Vec<Traversal>,
    choices: u32,
    regions: u32,
    given: Given,
    depth: u32,
    /// For each body of each function, whether there are sequences in it; made when first asked.
    streams: HashMap<(Func, Body), bool>,
    /// Elements that are those of one of two traversals.
    pub joins: HashMap<Id, Join>,
    /// Conditions on such elements: what they decide in each of the two.
    pub seams: HashMap<(Class, Class), [(Class, Class); 2]>,
    /// How many elements traversals have, where the program itself says so.
    pub lengths: HashMap<Class, u32>,
    /// Likewise of their truth values, for each element that is one.
    pub truths: HashMap<(Class, Id), Truths>,
    /// For the elements of inner sequences as one traversal: that around them, and their own.
    pub flattened: HashMap<(Class, Id), (Class, Class)>,
    /// The subsequences that flags (first) cut, by the condition that ends one (second).
    pub segments: HashMap<(Class, Class), Class>,
    /// For a traversal of at most one element: that which all have with the same condition in the same region.
    pub rates: HashMap<Class, Class>,
    /// Traversals that have an element exactly if a choice is made in a way.
    pub filled_if: HashMap<Class, (Choice, bool)>,
    /// Traversals that have an element in any case.
    pub some: HashSet<Class>,
    /// Traversals that are empty exactly if another one is.
    pub empty_as: HashMap<Class, Class>,
    /// Traversals that never have an element.
    pub never: HashSet<Class>,
    /// Whether it was too much.
    pub too_large: bool,
}

type Env = Vec<Option<Flow>>;

impl<'p> Walk<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Walk {
            program,
            graph: Graph::new(),
            clocks: Clocks::default(),
            numbers: Numbers::default(),
            traversals: Vec::new(),
            choices: 0,
            regions: 0,
            given: Rc::from([]),
            depth: 0,
            streams: HashMap::new(),
            joins: HashMap::new(),
            seams: HashMap::new(),
            lengths: HashMap::new(),
            truths: HashMap::new(),
            flattened: HashMap::new(),
            segments: HashMap::new(),
            rates: HashMap::new(),
            filled_if: HashMap::new(),
            some: HashSet::new(),
            empty_as: HashMap::new(),
            never: HashSet::new(),
            too_large: false,
        }
    }

    fn function(&self, func: Func) -> &'p Function {
        &self.program.funcs[func.index()]
    }

    /// Goes through a function as an entry: its sequences come from outside.
    pub(super) fn entry(&mut self, func: Func) {
        let function = self.function(func);
        let args: Vec<Flow> =
            function.params().iter().map(|&p| self.given_value(function.ty(p), Event::ORIGIN)).collect();
        for (&p, flow) in function.params().iter().zip(&args) {
            self.note(func, p, flow);
        }
        self.call(func, args);
    }

    fn call(&mut self, func: Func, args: Vec<Flow>) -> Flow {
        let function = self.function(func);
        let mut env: Env = vec![None; function.vars.len()];
        for (&p, arg) in function.params().iter().zip(args) {
            env[p.index()] = Some(arg);
        }
        self.depth += 1;
        let region = self.once();
        let result = self.body(func, &mut env, Function::ROOT, region);
        self.depth -= 1;
        result
    }

    fn note(&mut self, func: Func, var: Var, flow: &Flow) {
        if self.depth <= 1
            && let Flow::Seq(s) = flow
        {
            self.traversals.push(Traversal { place: Place { func, var }, class: s.class.0 });
        }
    }

    fn once(&mut self) -> Region {
        self.regions += 1;
        Region::Once(self.regions)
    }

    fn body(&mut self, func: Func, env: &mut Env, body: Body, region: Region) -> Flow {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            let function = self.function(func);
            for &v in &function.body(body).stmts {
                let flow = self.statement(func, env, v, region);
                self.note(func, v, &flow);
                env[v.index()] = Some(flow);
            }
            let result = function.body(body).result;
            self.get(env, function, result)
        })
    }

    /// A variable's flow. In a program that verifies it is always there.
    fn get(&mut self, env: &Env, function: &Function, v: Var) -> Flow {
        match &env[v.index()] {
            Some(flow) => flow.clone(),
            None => self.given_value(function.ty(v), Event::ORIGIN),
        }
    }

    /// A value of a type that is there from an event on; its sequences are traversals of their own.
    fn given_value(&mut self, ty: &Type, at: Event) -> Flow {
        match ty {
            Type::Seq(elem) => {
                let class = self.class();
                let elem = Rc::new(self.given_value(elem, Event::ORIGIN));
                Flow::Seq(self.stream(class, at, elem))
            }
            // The unit value too is known from some event on.
            Type::Tuple(_) | Type::Record(_) if ty.parts().is_some_and(|p| !p.is_empty()) => {
                Flow::Tuple(ty.parts().unwrap_or_default().iter().map(|t| self.given_value(t, at)).collect())
            }
            _ => Flow::Known(at, self.numbers.fresh()),
        }
    }

    pub(super) fn class(&mut self) -> Class {
        let span = Span { go: self.graph.event(), end: self.graph.event() };
        let class = self.clocks.class(span);
        let some: Given = Rc::from([(Choice::Empty(class), false)]);
        self.graph.add(span.go, span.end, true, Why::Nature, &some);
        class
    }

    pub(super) fn stream(&mut self, class: Class, first: Event, elem: Rc<Flow>) -> Stream {
        let Span { go, end } = self.clocks.span(class);
        let ready = self.graph.event();
        self.before(first, go, Why::Nature);
        self.before(first, end, Why::Nature);
        self.strictly(ready, go, Why::Nature);
        Stream { class, first, ready, elem }
    }

    pub(super) fn before(&mut self, from: Event, to: Event, why: Why) {
        self.graph.add(from, to, false, why, &self.given);
    }

    pub(super) fn strictly(&mut self, from: Event, to: Event, why: Why) {
        self.graph.add(from, to, true, why, &self.given);
    }

    pub(super) fn same(&mut self, a: Event, b: Event, why: Why) {
        self.before(a, b, why);
        self.before(b, a, why);
    }

    /// An event that comes when all of these have come.
    fn after(&mut self, all: &[Event], why: Why) -> Event {
        let mut distinct: Vec<Event> = all.iter().copied().filter(|e| *e != Event::ORIGIN).collect();
        distinct.sort();
        distinct.dedup();
        match distinct.as_slice() {
            [] => Event::ORIGIN,
            [one] if matches!(why, Why::Computed(_) | Why::Nature) => *one,
            _ => {
                let event = self.graph.event();
                distinct.iter().for_each(|e| self.before(*e, event, why));
                event
            }
        }
    }

    /// Makes the traversals of two sequences one.
    pub(super) fn together(&mut self, a: Class, b: Class, place: Place) {
        if a != b {
            let (x, y) = (self.clocks.span(a), self.clocks.span(b));
            self.same(x.go, y.go, Why::Together(place));
            self.same(x.end, y.end, Why::Together(place));
            self.clocks.union(a, b, place);
        }
    }

    pub(super) fn choice(&mut self) -> Choice {
        self.choices += 1;
        Choice::Long(self.choices)
    }

    /// Runs `f` where a choice has been made.
    pub(super) fn assuming<T>(&mut self, choice: Choice, way: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let outside = Rc::clone(&self.given);
        self.given = outside.iter().copied().chain([(choice, way)]).collect();
        let result = f(self);
        self.given = outside;
        result
    }

    /// Whether a choice is never made in this way here.
    fn excluded(&self, choice: Choice, way: bool) -> bool {
        Numbers::made(choice).is_some_and(|m| m != way) || self.given.contains(&(choice, !way))
    }

    /// Runs `f` where no choice has been made: for what is made once and used everywhere.
    pub(super) fn always<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let outside = std::mem::replace(&mut self.given, Rc::from([]));
        let result = f(self);
        self.given = outside;
        result
    }

    pub(super) fn given(&self) -> Given {
        Rc::clone(&self.given)
    }

    /// Whether there are sequences in a body, or in what it calls.
    fn has_streams(&mut self, func: Func, body: Body) -> bool {
        if let Some(known) = self.streams.get(&(func, body)) {
            return *known;
        }
        let function = self.function(func);
        let has = function.body(body).stmts.iter().any(|&v| {
            !function.ty(v).is_concrete()
                || function.inst(v).is_some_and(|inst| inst.bodies.iter().any(|b| self.has_streams(func, *b)))
        });
        self.streams.insert((func, body), has);
        has
    }

    /// The variables that a body uses from outside.
    fn outside(&mut self, func: Func, env: &Env, body: Body) -> Vec<Flow> {
        let function = self.function(func);
        function.free_vars(body).into_iter().map(|v| self.get(env, function, v)).collect()
    }

    fn statement(&mut self, func: Func, env: &mut Env, var: Var, region: Region) -> Flow {
        let function = self.function(func);
        let place = Place { func, var };
        let Some(inst) = function.inst(var) else { return self.given_value(function.ty(var), Event::ORIGIN) };
        if self.graph.len() > MAX_GRAPH {
            self.too_large = true;
            return self.given_value(function.ty(var), Event::ORIGIN);
        }
        let args: Vec<Flow> = inst.args.iter().map(|&a| self.get(env, function, a)).collect();
        let streams: Vec<Stream> = args.iter().filter_map(Flow::as_seq).cloned().collect();
        let mut at = At { func, env, inst, place, region };
        match &inst.op {
            Op::Tuple | Op::Record(_) => Flow::Tuple(args.into()),
            Op::Proj(k) => match &args[0] {
                Flow::Tuple(parts) if (*k as usize) < parts.len() => parts[*k as usize].clone(),
                _ => self.given_value(function.ty(var), Event::ORIGIN),
            },
            Op::Ensure(_) => args.into_iter().next().unwrap_or(Flow::Tuple(Rc::from([]))),
            Op::Call(f) if !self.function(*f).is_concrete() => self.call(*f, args),
            Op::If => self.conditional(&mut at, &args[0]),
            Op::Guard => self.guard(&mut at, &args[0]),
            Op::MkSeq(ty) => {
                let empty = self.given_value(ty, Event::ORIGIN);
                self.literal(place, args, empty)
            }
            Op::Produce => self.produce(&mut at, &args),
            Op::Empty if !streams.is_empty() => {
                let class = streams[0].class;
                let id = match (self.never.contains(&class), self.some.contains(&class)) {
                    (true, _) => Id::TRUE,
                    (_, true) => Id::TRUE.not(),
                    _ => self.numbers.fresh(),
                };
                Flow::Known(streams[0].first, id)
            }
            Op::Append => self.append(place, &streams[0], &streams[1]),
            Op::Flatten if !streams.is_empty() => match streams[0].elem.as_seq() {
                Some(inner) => Flow::Seq(self.flatten(&streams[0], inner)),
                None => self.given_value(function.ty(var), Event::ORIGIN),
            },
            Op::FlagPart => self.flagpart(place, &streams[0], &streams[1]),
            Op::The => self.the(&streams[0], &streams[0].elem, place),
            Op::Unzip if !streams.is_empty() => self.unzip(&streams[0]),
            Op::Map | Op::Zip if !streams.is_empty() => self.map(&mut at, &streams),
            Op::Scan(_, kind) if !streams.is_empty() => self.scan(&mut at, &args, &streams[0], *kind),
            _ if !streams.is_empty() => self.fold(&mut at, &args, &streams[0]),
            _ => self.concrete(&mut at, &args),
        }
    }

    /// An operator that uses no sequence. Its result may be one that starts here.
    fn concrete(&mut self, at: &mut At<'_>, args: &[Flow]) -> Flow {
        let ty = self.function(at.func).ty(at.place.var);
        let mut needed: Vec<Event> = args.iter().flat_map(Flow::known).collect();
        for &b in &at.inst.bodies {
            needed.extend(self.outside(at.func, at.env, b).iter().flat_map(Flow::known));
        }
        if let Type::Seq(elem) = ty {
            let first = self.after(&needed, Why::Starts(at.place));
            let class = self.class();
            let elem = Rc::new(self.given_value(elem, Event::ORIGIN));
            return Flow::Seq(self.stream(class, first, elem));
        }
        let known = self.after(&needed, Why::Computed(at.place));
        for &b in &at.inst.bodies {
            if self.has_streams(at.func, b) {
                let function = self.function(at.func);
                for &p in &function.body(b).params {
                    let flow = self.given_value(function.ty(p), known);
                    at.env[p.index()] = Some(flow);
                }
                let region = self.once();
                self.depth += 1;
                self.body(at.func, at.env, b, region);
                self.depth -= 1;
            }
        }
        let operand = at.inst.args.first().and_then(|&a| self.function(at.func).ty(a).as_scalar());
        match self.numbers.of(at.inst, args, operand.is_some_and(|t| !t.is_float())) {
            Some(id) if matches!(ty, Type::Scalar(_)) => Flow::Known(known, id),
            _ => self.given_value(ty, known),
        }
    }

    /// What a consumer needs from outside must be known before it takes an element.
    fn needs(&mut self, s: &Stream, flows: &[Flow], place: Place) -> Vec<Event> {
        let events: Vec<Event> = flows.iter().flat_map(Flow::known).collect();
        for &e in &events {
            self.before(e, s.ready, Why::Uses(place));
        }
        events
    }

    fn map(&mut self, at: &mut At<'_>, streams: &[Stream]) -> Flow {
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

    /// When the first element of a sequence can be seen that is made from others with what is needed from outside.
    fn first_of(&mut self, firsts: &[Event], why: Why, needed: &[Event], place: Place) -> Event {
        let seen = self.after(firsts, why);
        if needed.iter().all(|e| *e == Event::ORIGIN) {
            return seen;
        }
        let first = self.graph.event();
        self.before(seen, first, Why::Nature);
        needed.iter().for_each(|e| self.before(*e, first, Why::Uses(place)));
        first
    }

    /// Inner sequences that a sequence may have from others are held back until its consumers take them.
    pub(super) fn passes_on(&mut self, result: &Stream, from: &[Stream]) {
        for s in from.iter().filter(|s| result.has_inner() && s.has_inner()) {
            self.before(result.ready, s.ready, Why::Nature);
        }
    }

    /// A body in a step of a traversal.
    fn step(&mut self, at: &mut At<'_>, body: Body, class: Class, params: Vec<Flow>) -> Flow {
        if self.never.contains(&class) {
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

    fn produce(&mut self, at: &mut At<'_>, args: &[Flow]) -> Flow {
        let class = self.class();
        let body = at.inst.bodies[0];
        let outside = self.outside(at.func, at.env, body);
        let needed: Vec<Event> = outside.iter().chain(args).flat_map(Flow::known).collect();
        let first = self.after(&needed, Why::Starts(at.place));
        let index = Flow::Known(Event::ORIGIN, self.numbers.fresh());
        let elem = Rc::new(self.step(at, body, class, vec![index]));
        Flow::Seq(self.stream(class, first, elem))
    }

    fn unzip(&mut self, s: &Stream) -> Flow {
        match &*s.elem {
            Flow::Tuple(parts) => parts
                .iter()
                .map(|p| Flow::Seq(Stream { elem: Rc::new(p.clone()), ..s.clone() }))
                .collect::<Vec<_>>()
                .into(),
            // There is nothing in the unit value.
            _ => Flow::Tuple(Rc::from([])),
        }
    }

    fn scan(&mut self, at: &mut At<'_>, args: &[Flow], s: &Stream, kind: ScanKind) -> Flow {
        let mut needed: Vec<Flow> = args.iter().filter(|a| a.as_seq().is_none()).cloned().collect();
        for &b in &at.inst.bodies {
            needed.extend(self.outside(at.func, at.env, b));
        }
        let start = self.needs(s, &needed, at.place);
        let ty = self.function(at.func).ty(at.place.var);
        let within = self.after(&s.elem.known().collect::<Vec<_>>(), Why::Nature);
        let elem = Rc::new(ty.elem().map_or(Flow::Tuple(Rc::from([])), |t| self.given_value(t, within)));
        match kind {
            ScanKind::Full => {
                let class = self.class();
                let (whole, rest) = (self.clocks.span(class), self.clocks.span(s.class));
                self.same(whole.go, rest.go, Why::Nature);
                self.same(whole.end, rest.end, Why::Nature);
                self.clocks.tie(Kind::Shifted, class, s.class, &self.given.clone());
                let first = self.after(&start, Why::Starts(at.place));
                Flow::Seq(self.stream(class, first, elem))
            }
            ScanKind::Inclusive | ScanKind::Exclusive => {
                let first = self.first_of(&[s.first], Why::Nature, &start, at.place);
                Flow::Seq(self.stream(s.class, first, elem))
            }
        }
    }

    /// Whatever goes through a sequence and gives a concrete value.
    fn fold(&mut self, at: &mut At<'_>, args: &[Flow], s: &Stream) -> Flow {
        let mut needed: Vec<Flow> = args.iter().filter(|a| a.as_seq().is_none()).cloned().collect();
        for &b in &at.inst.bodies {
            needed.extend(self.outside(at.func, at.env, b));
        }
        self.needs(s, &needed, at.place);
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

    fn guard(&mut self, at: &mut At<'_>, condition: &Flow) -> Flow {
        let (known, id) = condition.as_known();
        let (choice, way) = self.numbers.choice(id);
        let body = at.inst.bodies[0];
        self.captured(at, body, known);
        let rate = self.guard_class(at.region, id, at.place);
        let class = self.class();
        self.rates.insert(class, rate);
        self.filled_if.insert(class, (choice, way));
        if self.never.contains(&rate) {
            self.never.insert(class);
        }
        let region = at.region;
        let elem = match self.excluded(choice, way) {
            true => {
                self.never.insert(class);
                let ty = self.function(at.func).ty(at.place.var);
                ty.elem().map_or(Flow::Tuple(Rc::from([])), |t| self.given_value(t, Event::ORIGIN))
            }
            false => self.assuming(choice, way, |w| w.body(at.func, at.env, body, region)),
        };
        // At most one element, of a value that may be written down.
        if let Flow::Known(_, value) = elem
            && let Some(truth) = self.numbers.truth(value)
        {
            let passing = self.numbers.truth(id).map(u32::from);
            self.truths.insert((class, value), if truth { [Some(0), passing] } else { [passing, Some(0)] });
        }
        let first = self.after(&[known], Why::Starts(at.place));
        let result = self.stream(class, first, Rc::new(elem));
        self.inner_as_it_is(&result);
        Flow::Seq(result)
    }

    /// Sequences that a branch uses wait until the condition is known.
    fn captured(&mut self, at: &mut At<'_>, body: Body, condition: Event) {
        for flow in self.outside(at.func, at.env, body) {
            for s in flow.streams() {
                self.before(condition, s.ready, Why::Uses(at.place));
            }
        }
    }

    fn conditional(&mut self, at: &mut At<'_>, condition: &Flow) -> Flow {
        let (known, id) = condition.as_known();
        let (choice, way) = self.numbers.choice(id);
        for &body in &at.inst.bodies {
            self.captured(at, body, known);
        }
        let region = at.region;
        let mut branch = |w: &mut Self, k: usize| {
            let body = at.inst.bodies[k];
            w.assuming(choice, way == (k == 0), |w| w.body(at.func, at.env, body, region))
        };
        // A branch that is never taken says nothing.
        if self.excluded(choice, !way) {
            return branch(self, 0);
        }
        if self.excluded(choice, way) {
            return branch(self, 1);
        }
        let yes = branch(self, 0);
        let no = branch(self, 1);
        self.either(at.place, (known, id), &yes, &no)
    }
}

/// A statement and where it stands.
struct At<'a> {
    func: Func,
    env: &'a mut Env,
    inst: &'a Inst,
    place: Place,
    region: Region,
}

impl Stream {
    /// Whether its elements have sequences in them.
    pub(super) fn has_inner(&self) -> bool {
        self.elem.streams().next().is_some()
    }
}

impl From<Vec<Flow>> for Flow {
    fn from(parts: Vec<Flow>) -> Flow {
        Flow::Tuple(parts.into())
    }
}

impl Flow {
    pub(super) fn as_seq(&self) -> Option<&Stream> {
        match self {
            Flow::Seq(s) => Some(s),
            _ => None,
        }
    }

    pub(super) fn as_known(&self) -> (Event, Id) {
        match self {
            Flow::Known(event, id) => (*event, *id),
            _ => (Event::ORIGIN, Id(u32::MAX)),
        }
    }

    /// When its concrete parts are known.
    pub(super) fn known(&self) -> Box<dyn Iterator<Item = Event> + '_> {
        match self {
            Flow::Known(event, _) => Box::new(std::iter::once(*event)),
            Flow::Tuple(parts) => Box::new(parts.iter().flat_map(Flow::known)),
            Flow::Seq(_) => Box::new(std::iter::empty()),
        }
    }

    /// The sequences in it.
    pub(super) fn streams(&self) -> Box<dyn Iterator<Item = &Stream> + '_> {
        match self {
            Flow::Known(..) => Box::new(std::iter::empty()),
            Flow::Tuple(parts) => Box::new(parts.iter().flat_map(Flow::streams)),
            Flow::Seq(s) => Box::new(std::iter::once(s)),
        }
    }
}
