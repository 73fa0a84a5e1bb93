//! Traverses a program once, with the event at which each value is available in place of the value.

use super::clocks::{Class, Clocks, Region, Span};
use super::flow::{Flow, Stream};
use super::graph::{Choice, Event, Given, Graph, Why};
use super::join::{Join, Truths};
use super::number::{Id, Numbers};
use super::{Place, Traversal};
use deckle_ir::array::{Function, Inst, Op, Program};
use deckle_ir::entity::{Body, Func, Var};
use deckle_ir::types::Type;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Inlined calls multiply the size of the graph; this is the limit.
const MAX_GRAPH: usize = 2_000_000;

/// The remaining stack below which more is allocated before a body is analysed, and how much.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// Facts about traversals besides their events.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Elements that are those of one of two traversals.
    pub joins: HashMap<Id, Join>,
    /// Conditions on such elements: their traversals in each of the two.
    pub seams: HashMap<(Class, Class), [(Class, Class); 2]>,
    /// The numbers of elements of traversals, if the program determines them.
    pub lengths: HashMap<Class, u32>,
    /// Likewise those of their booleans, for each element that is one.
    pub truths: HashMap<(Class, Id), Truths>,
    /// For the elements of inner sequences as one traversal: the enclosing one, and their own.
    pub flattened: HashMap<(Class, Id), (Class, Class)>,
    /// The subsequences that flags (first) cut, by the condition that ends one (second).
    pub segments: HashMap<(Class, Class), Class>,
    /// For a traversal of at most one element: the one shared by all with the same condition in the same region.
    pub rates: HashMap<Class, Class>,
    /// Traversals that have an element exactly for one value of a choice.
    pub filled_if: HashMap<Class, (Choice, bool)>,
    /// Traversals that always have an element.
    pub some: HashSet<Class>,
    /// Traversals that are empty exactly if another one is.
    pub empty_as: HashMap<Class, Class>,
    /// Traversals that never have an element.
    pub never: HashSet<Class>,
}

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
    pub depth: u32,
    /// For each body of each function, whether it has sequences; computed on demand.
    streams: HashMap<(Func, Body), bool>,
    /// Other facts about traversals.
    pub facts: Facts,
    /// Whether the limit was exceeded.
    pub too_large: bool,
}

/// The variables of a function under analysis.
pub(super) type Env = Vec<Option<Flow>>;

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
            facts: Facts::default(),
            too_large: false,
        }
    }

    pub(super) fn function(&self, func: Func) -> &'p Function {
        &self.program.funcs[func.index()]
    }

    /// Analyses a function as an entry: its sequences come from outside.
    pub(super) fn entry(&mut self, func: Func) {
        let function = self.function(func);
        let args: Vec<Flow> =
            function.params().iter().map(|&p| self.given_value(function.ty(p), Event::ORIGIN)).collect();
        for (&p, flow) in function.params().iter().zip(&args) {
            self.note(func, p, flow);
        }
        self.call(func, args);
    }

    pub(super) fn call(&mut self, func: Func, args: Vec<Flow>) -> Flow {
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

    pub(super) fn note(&mut self, func: Func, var: Var, flow: &Flow) {
        if self.depth <= 1
            && let Flow::Seq(s) = flow
        {
            self.traversals.push(Traversal { place: Place { func, var }, class: s.class.0 });
        }
    }

    pub(super) fn once(&mut self) -> Region {
        self.regions += 1;
        Region::Once(self.regions)
    }

    pub(super) fn body(&mut self, func: Func, env: &mut Env, body: Body, region: Region) -> Flow {
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

    /// A variable's flow. A verified program always has it.
    pub(super) fn get(&mut self, env: &Env, function: &Function, v: Var) -> Flow {
        match &env[v.index()] {
            Some(flow) => flow.clone(),
            None => self.given_value(function.ty(v), Event::ORIGIN),
        }
    }

    /// A value of a type that is available from an event on; its sequences are traversals of their own.
    pub(super) fn given_value(&mut self, ty: &Type, at: Event) -> Flow {
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

    /// An event after all of these.
    pub(super) fn after(&mut self, all: &[Event], why: Why) -> Event {
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

    /// Unifies the traversals of two sequences.
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

    /// Runs `f` under an assumed choice.
    pub(super) fn assuming<T>(&mut self, choice: Choice, way: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let outside = Rc::clone(&self.given);
        self.given = outside.iter().copied().chain([(choice, way)]).collect();
        let result = f(self);
        self.given = outside;
        result
    }

    /// Whether a choice is never made in this way here.
    pub(super) fn excluded(&self, choice: Choice, way: bool) -> bool {
        Numbers::made(choice).is_some_and(|m| m != way) || self.given.contains(&(choice, !way))
    }

    /// Runs `f` without assumed choices: for values that are created once and used everywhere.
    pub(super) fn always<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let outside = std::mem::replace(&mut self.given, Rc::from([]));
        let result = f(self);
        self.given = outside;
        result
    }

    pub(super) fn given(&self) -> Given {
        Rc::clone(&self.given)
    }

    /// Whether there are sequences in a body, or in its callees.
    pub(super) fn has_streams(&mut self, func: Func, body: Body) -> bool {
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
    pub(super) fn outside(&mut self, func: Func, env: &Env, body: Body) -> Vec<Flow> {
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
                let id = match (self.facts.never.contains(&class), self.facts.some.contains(&class)) {
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
            op if !streams.is_empty() => match op.scan_kind() {
                Some(kind) => self.scan(&mut at, &args, &streams[0], kind),
                None => self.fold(&mut at, &args, &streams[0]),
            },
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
}

/// A statement and its place.
pub(super) struct At<'a> {
    pub func: Func,
    pub env: &'a mut Env,
    pub inst: &'a Inst,
    pub place: Place,
    pub region: Region,
}
