//! Building a program by running a closure.
//!
//! A closure given to [`crate::compile`] runs once. Every operator that it applies to a handle adds a statement to the IR function
//! under construction, in the body of the closure that is running; a handle is just the number of a
//! variable. The same operator applied to the same operands in the same or an enclosing closure gives the same variable, so
//! sharing is never lost and needs no request. That holds for operators with closures too: one that has built nothing new is
//! removed.
//!
//! Errors while building are recorded and reported by `compile`: operators that return a `Result` would not read well.
//! After a fault every operator returns an invalid handle and has no effect.

mod look;
mod same;

pub(crate) use look::{constant_of, is_length, may_be_huge, part_of};

use crate::error::{Error, Fault, Place};
use deckle_ir::array::{Builder, Function, Mark, Op, Program};
use deckle_ir::entity::{Body, Var};
use deckle_ir::types::Type;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

/// Limits on the statements of a program, the applications of operators, the nesting of closures, and the
/// remaining stack: a closure that does not terminate is stopped by one of these.
const MAX_STATEMENTS: usize = 2_000_000;
const MAX_APPLICATIONS: usize = 8_000_000;
const MAX_DEPTH: usize = 200;
const LEAST_STACK: usize = 96 * 1024;

/// A variable of a program under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    program: u32,
    scope: u32,
    var: Var,
}

impl Raw {
    /// An invalid handle, after a fault.
    const NOWHERE: Raw = Raw { program: 0, scope: 0, var: Var(u32::MAX) };
}

/// The body of a closure that is running.
struct Scope {
    serial: u32,
    /// The statements by their hash; on a collision, at the next free number.
    known: HashMap<u64, Var>,
    /// The arrays known to be regular, by their origin and depth.
    regular: HashMap<(Var, usize), Var>,
    /// The operator that runs the closure.
    at: Option<Place>,
}

struct Tracer {
    id: u32,
    b: Builder<'static>,
    scopes: Vec<Scope>,
    /// The number of scopes and applications so far.
    opened: u32,
    applied: usize,
    places: Vec<Place>,
    fault: Option<Error>,
}

thread_local! {
    static TRACERS: RefCell<Vec<Tracer>> = const { RefCell::new(Vec::new()) };
}

/// Programs are numbered from 1, across all threads: a handle may be sent to another one.
static PROGRAMS: AtomicU32 = AtomicU32::new(1);

/// The panic that ends a closure that does not terminate.
struct GivenUp;

/// The bodies of a statement under construction, and the state of the builder before them.
struct Bodies {
    since: Mark,
    bodies: Vec<Body>,
}

/// A finished function, and the place in the Rust source of each of its variables.
pub(crate) struct Traced {
    pub function: Function,
    pub places: Vec<Place>,
}

/// A parameter of a program: its kind, and the number of its outer regular dimensions.
pub(crate) struct Parameter {
    pub kind: Type,
    pub rank: usize,
}

/// Builds a function with these parameters; `body` runs the closure.
#[track_caller]
pub(crate) fn trace(name: &str, params: &[Parameter], body: impl FnOnce(&[Raw]) -> Raw) -> Result<Traced, Error> {
    let here = Location::caller();
    let id = PROGRAMS.fetch_add(1, Ordering::Relaxed);
    let b = Builder::new(&[], name, deckle_diag::Span::NONE);
    let mut tracer = Tracer { id, b, scopes: Vec::new(), opened: 0, applied: 0, places: Vec::new(), fault: None };
    tracer.open(Place::of(here));
    let raws: Vec<Raw> = params.iter().enumerate().map(|(k, p)| tracer.param(format!("arg{k}"), p)).collect();
    TRACERS.with(|t| t.borrow_mut().push(tracer));
    let ran = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&raws)));
    let Some(mut tracer) = TRACERS.with(|t| t.borrow_mut().pop()) else {
        return Err(Error::new(Fault::NoProgram, None));
    };
    let result = match ran {
        Ok(result) => result,
        Err(payload) if payload.is::<GivenUp>() => Raw::NOWHERE,
        Err(payload) => std::panic::resume_unwind(payload),
    };
    let result = tracer.visible(result, here);
    match (tracer.fault, result) {
        (Some(e), _) => Err(e),
        (None, None) => Err(Error::new(Fault::Escaped, None)),
        (None, Some(v)) => streamable(tracer.b.finish(v), tracer.places),
    }
}

/// Rejects a program that needs a value before the sequence from which it is computed has been traversed.
fn streamable(function: Function, places: Vec<Place>) -> Result<Traced, Error> {
    if function.vars.iter().all(|v| v.ty.is_concrete()) {
        return Ok(Traced { function, places });
    }
    let mut program = Program { funcs: vec![function] };
    let mut faults = deckle_analysis::stream::check(&program, &deckle_diag::SourceMap::new(), None);
    if let Some(mut d) = faults.pop() {
        let at = |span: deckle_diag::Span| places.get(span.lo as usize).copied();
        let place = d.labels.first().and_then(|l| at(l.span));
        for label in d.labels.drain(..).skip(1) {
            d.notes.extend(at(label.span).map(|p| format!("{}: {p}", label.text)));
        }
        d.helps = vec![
            "materialise: `let kept = s.tab()`, and `kept.stream()` for each traversal after the first".into(),
            "recompute: build the sequence a second time, so that there are two traversals of it".into(),
            "restructure: leave the value out of the closure, and apply it to what the traversal gives".into(),
        ];
        return Err(Error::new(Fault::Stream(Box::new(d)), place));
    }
    match program.funcs.pop() {
        Some(function) => Ok(Traced { function, places }),
        None => Err(Error::new(Fault::NoProgram, None)),
    }
}

impl Tracer {
    fn open(&mut self, at: Place) {
        self.opened += 1;
        self.scopes.push(Scope { serial: self.opened, known: HashMap::new(), regular: HashMap::new(), at: Some(at) });
    }

    fn param(&mut self, name: String, param: &Parameter) -> Raw {
        let ty = match param.rank {
            0 | 1 => self.b.opened(&param.kind),
            rank => self.regular_param(&param.kind, rank),
        };
        let var = self.b.param(name, ty, deckle_diag::Span::NONE);
        self.places.push(Place::unknown());
        self.raw(var)
    }

    /// The type with a size variable for each of the `rank` outer dimensions, and families below.
    fn regular_param(&mut self, kind: &Type, rank: usize) -> Type {
        let mut seen = 0;
        let mut arities = Vec::new();
        kind.for_each_size(&mut |_, depth| {
            seen += 1;
            arities.push(if seen <= rank { 0 } else { depth });
        });
        let vars: Vec<_> = arities.iter().map(|k| (self.b.new_size(*k), *k)).collect();
        let mut vars = vars.into_iter();
        kind.map_sizes(&mut |s, _| match vars.next() {
            Some((v, arity)) => {
                let at = (0..arity).rev().map(deckle_ir::size::Size::pos).collect();
                deckle_ir::size::Atom::Var(v, at).into()
            }
            None => s.clone(),
        })
    }

    fn raw(&self, var: Var) -> Raw {
        Raw { program: self.id, scope: self.scopes.last().map_or(0, |s| s.serial), var }
    }

    /// The place where the user's source applies an operator: for a derived operator, its own application.
    fn place(&self, at: &'static Location<'static>) -> Place {
        let home = file!().strip_suffix("trace.rs").unwrap_or(file!());
        let own = || self.scopes.last().and_then(|s| s.at);
        if at.file().starts_with(home) { own().unwrap_or_else(|| Place::of(at)) } else { Place::of(at) }
    }

    fn fail(&mut self, fault: Fault, at: &'static Location<'static>) {
        if self.fault.is_none() {
            self.fault = Some(Error::new(fault, Some(self.place(at))));
        }
    }

    /// Ends a closure that does not terminate.
    fn give_up(&mut self, at: &'static Location<'static>) -> ! {
        self.fail(Fault::Endless, at);
        std::panic::resume_unwind(Box::new(GivenUp))
    }

    /// To be called at each application of an operator.
    fn tick(&mut self, at: &'static Location<'static>) {
        self.applied += 1;
        let too_long = self.applied > MAX_APPLICATIONS || self.b.func().vars.len() > MAX_STATEMENTS;
        let too_deep = self.scopes.len() > MAX_DEPTH || stacker::remaining_stack().is_some_and(|n| n < LEAST_STACK);
        if too_long || too_deep {
            self.give_up(at);
        }
    }

    /// The variable behind a handle, if it may be used here.
    fn visible(&mut self, raw: Raw, at: &'static Location<'static>) -> Option<Var> {
        if self.fault.is_some() {
            return None;
        }
        if raw.program == 0 {
            self.fail(Fault::NoProgram, at);
        } else if raw.program != self.id {
            self.fail(Fault::Mixed, at);
        } else if !self.scopes.iter().any(|s| s.serial == raw.scope) {
            self.fail(Fault::Escaped, at);
        }
        self.fault.is_none().then_some(raw.var)
    }

    /// Creates a statement, or finds an equal one. Its bodies have been built since the mark.
    fn push(&mut self, op: Op, args: &[Var], built: Option<Bodies>, at: &'static Location<'static>) -> Raw {
        let bodies = built.as_ref().map_or(&[][..], |b| &b.bodies);
        let mut hash = same::hash_of(self.b.func(), &op, args, bodies);
        if let Some(found) = self.find(hash, &op, args, bodies) {
            if let Some(built) = built {
                self.b.rollback(&built.since);
            }
            return found;
        }
        match self.b.push(op, args, bodies, span_of(self.b.next_var())) {
            Ok(var) => {
                self.note(var, at);
                // A sequence that is written twice is traversed twice: that is how a second traversal is requested.
                if self.b.ty(var).is_concrete()
                    && let Some(scope) = self.scopes.last_mut()
                {
                    while scope.known.contains_key(&hash) {
                        hash = hash.wrapping_add(1);
                    }
                    scope.known.insert(hash, var);
                }
                self.raw(var)
            }
            Err(e) => {
                self.fail(Fault::Type(e.message), at);
                Raw::NOWHERE
            }
        }
    }

    /// A statement in scope with this operator, these operands and bodies.
    fn find(&self, hash: u64, op: &Op, args: &[Var], bodies: &[Body]) -> Option<Raw> {
        self.scopes.iter().rev().find_map(|scope| {
            let mut hash = hash;
            while let Some(&var) = scope.known.get(&hash) {
                if same::is_same(self.b.func(), var, op, args, bodies) {
                    return Some(Raw { program: self.id, scope: scope.serial, var });
                }
                hash = hash.wrapping_add(1);
            }
            None
        })
    }

    fn note(&mut self, var: Var, at: &'static Location<'static>) {
        self.places.resize(var.index(), Place::unknown());
        self.places.push(self.place(at));
    }
}

/// The span of a statement is its own number, from which [`Traced::places`] gives the Rust source.
fn span_of(var: Var) -> deckle_diag::Span {
    deckle_diag::Span::new(deckle_diag::FileId(0), var.0, var.0)
}

/// Runs `f` on the program under construction; without one, returns an invalid handle.
fn current(f: impl FnOnce(&mut Tracer) -> Raw) -> Raw {
    TRACERS.with(|t| match t.borrow_mut().last_mut() {
        Some(tracer) => f(tracer),
        None => Raw::NOWHERE,
    })
}

/// Applies an operator without bodies.
#[track_caller]
pub(crate) fn apply(op: Op, args: &[Raw]) -> Raw {
    finish(op, args, None, Location::caller())
}

/// Applies an operator with one body, made by running a closure.
#[track_caller]
pub(crate) fn apply_body(op: Op, args: &[Raw], build: impl FnOnce(&[Raw]) -> Raw) -> Raw {
    let at = Location::caller();
    with_bodies(op, args, at, |op| Some(vec![body(op, args, 0, at, build)?]))
}

/// Applies an operator with two bodies.
#[track_caller]
pub(crate) fn apply_bodies(op: Op, args: &[Raw], a: impl FnOnce(&[Raw]) -> Raw, b: impl FnOnce(&[Raw]) -> Raw) -> Raw {
    let at = Location::caller();
    with_bodies(op, args, at, |op| Some(vec![body(op, args, 0, at, a)?, body(op, args, 1, at, b)?]))
}

fn with_bodies(
    op: Op,
    args: &[Raw],
    at: &'static Location<'static>,
    build: impl FnOnce(&Op) -> Option<Vec<Body>>,
) -> Raw {
    let since = TRACERS.with(|t| t.borrow().last().map(|t| t.b.mark()));
    match (since, build(&op)) {
        (Some(since), Some(bodies)) => finish(op, args, Some(Bodies { since, bodies }), at),
        _ => Raw::NOWHERE,
    }
}

fn finish(op: Op, args: &[Raw], bodies: Option<Bodies>, at: &'static Location<'static>) -> Raw {
    current(|t| {
        t.tick(at);
        match args.iter().map(|a| t.visible(*a, at)).collect::<Option<Vec<Var>>>() {
            Some(args) => t.push(op, &args, bodies, at),
            None => Raw::NOWHERE,
        }
    })
}

fn body(
    op: &Op,
    args: &[Raw],
    which: usize,
    at: &'static Location<'static>,
    build: impl FnOnce(&[Raw]) -> Raw,
) -> Option<Body> {
    let mut opened = None;
    current(|t| {
        t.tick(at);
        let Some(args) = args.iter().map(|a| t.visible(*a, at)).collect::<Option<Vec<Var>>>() else {
            return Raw::NOWHERE;
        };
        match t.b.begin_body_of(op, &args, which, deckle_diag::Span::NONE) {
            Ok((body, params)) => {
                t.open(t.place(at));
                let raws: Vec<Raw> = params.iter().map(|p| t.raw(*p)).collect();
                params.iter().for_each(|p| t.note(*p, at));
                opened = Some((body, raws));
            }
            Err(e) => t.fail(Fault::Type(e.message), at),
        }
        Raw::NOWHERE
    });
    let (body, raws) = opened?;
    let result = build(&raws);
    let mut closed = None;
    current(|t| {
        if let Some(v) = t.visible(result, at) {
            t.b.end_body(v);
            t.scopes.pop();
            closed = Some(body);
        }
        Raw::NOWHERE
    });
    closed
}

/// A body whose parameters are added later, at any depth.
type Inner<'a> = Box<dyn FnOnce(&[Raw]) -> Raw + 'a>;

/// Applies `f` at each position of the outer `depth` dimensions of arrays of one shape.
#[track_caller]
pub(crate) fn each(depth: usize, args: &[Raw], f: Inner<'_>) -> Raw {
    match depth {
        0 => f(args),
        _ => apply_body(Op::Map, args, |x| each(depth - 1, x, f)),
    }
}

/// An array known to be regular, checked at run time if that is not certain.
#[track_caller]
pub(crate) fn regular(raw: Raw, depth: usize) -> Raw {
    let at = Location::caller();
    current(|t| {
        let Some(v) = t.visible(raw, at) else { return Raw::NOWHERE };
        let known = |s: &Scope| Some(Raw { program: raw.program, scope: s.serial, var: *s.regular.get(&(v, depth))? });
        if let Some(known) = t.scopes.iter().rev().find_map(known) {
            return known;
        }
        let span = span_of(t.b.next_var());
        match t.b.regular(v, depth, span) {
            Ok(new) if new == v => raw,
            Ok(new) => {
                t.note(new, at);
                if let Some(scope) = t.scopes.last_mut() {
                    scope.regular.insert((v, depth), new);
                }
                t.raw(new)
            }
            Err(e) => {
                t.fail(Fault::Type(e.message), at);
                Raw::NOWHERE
            }
        }
    })
}

/// A loop whose state starts as `init`: `while` with a test, or `for` with a count.
#[track_caller]
pub(crate) fn apply_loop(
    count: Option<Raw>,
    init: Raw,
    test: impl FnOnce(Raw) -> Option<Raw>,
    step: impl FnOnce(Option<Raw>, Raw) -> Raw,
) -> Raw {
    match count {
        None => apply_bodies(Op::While, &[init], |s| test(s[0]).unwrap_or(Raw::NOWHERE), |s| step(None, s[0])),
        Some(n) => apply_body(Op::For, &[n, init], |s| step(Some(s[0]), s[1])),
    }
}

/// `if` with two closures.
#[track_caller]
pub(crate) fn apply_if(cond: Raw, yes: impl FnOnce() -> Raw, no: impl FnOnce() -> Raw) -> Raw {
    apply_bodies(Op::If, &[cond], |_| yes(), |_| no())
}
