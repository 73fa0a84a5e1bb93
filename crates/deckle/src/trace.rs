//! Building a program by running a closure.
//!
//! A closure given to [`crate::compile`] runs once. Every operator that it applies to a handle adds a statement to the IR function
//! under construction, in the body of the closure that is running; a handle is nothing but the number of a
//! variable. The same operator applied to the same operands in the same or an enclosing closure gives the same variable, so
//! sharing is never lost and never has to be asked for.
//!
//! What goes wrong while building is kept and reported by `compile`: operators cannot return a `Result` and read well.
//! After a fault every operator gives a handle to nowhere and does nothing else.

use crate::error::{Error, Fault, Place};
use deckle_ir::array::{Builder, Function, Op, UnOp};
use deckle_ir::entity::{Body, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use std::cell::RefCell;
use std::collections::HashMap;
use std::panic::Location;

/// How many statements a program may have, and how deeply closures may nest: a closure that goes on for ever ends here.
const MAX_STATEMENTS: usize = 4_000_000;
const MAX_DEPTH: usize = 200;

/// A variable of a program under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw {
    program: u32,
    scope: u32,
    var: Var,
}

impl Raw {
    /// A handle to nowhere, after a fault.
    const NOWHERE: Raw = Raw { program: 0, scope: 0, var: Var(u32::MAX) };
}

/// What makes two statements the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Const(Scalar),
    Unary(UnOp, Var),
    Other(String, Vec<Var>),
}

struct Scope {
    serial: u32,
    known: HashMap<Key, Var>,
}

struct Tracer {
    id: u32,
    b: Builder<'static>,
    scopes: Vec<Scope>,
    places: Vec<Place>,
    fault: Option<Error>,
}

thread_local! {
    static TRACERS: RefCell<Vec<Tracer>> = const { RefCell::new(Vec::new()) };
    static COUNT: RefCell<u32> = const { RefCell::new(0) };
}

/// The panic that ends a closure which never would.
struct GivenUp;

/// A finished function, and where in the Rust source each of its variables was made.
pub(crate) struct Traced {
    pub function: Function,
    pub places: Vec<Place>,
}

fn serial() -> u32 {
    COUNT.with(|c| {
        *c.borrow_mut() += 1;
        *c.borrow()
    })
}

/// Builds a function: `params` adds the parameters, `body` runs the closure.
pub(crate) fn trace(name: &str, params: &[Type], body: impl FnOnce(&[Raw]) -> Raw) -> Result<Traced, Error> {
    let id = serial();
    let b = Builder::new(&[], name, deckle_diag::Span::NONE);
    let scope = Scope { serial: serial(), known: HashMap::new() };
    let mut tracer = Tracer { id, b, scopes: vec![scope], places: Vec::new(), fault: None };
    let raws: Vec<Raw> = params.iter().enumerate().map(|(k, ty)| tracer.param(format!("arg{k}"), ty)).collect();
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
    let here = Location::caller();
    let result = tracer.visible(result, here);
    match (tracer.fault, result) {
        (Some(e), _) => Err(e),
        (None, None) => Err(Error::new(Fault::Escaped, None)),
        (None, Some(v)) => Ok(Traced { function: tracer.b.finish(v), places: tracer.places }),
    }
}

impl Tracer {
    fn param(&mut self, name: String, ty: &Type) -> Raw {
        let ty = self.b.opened(ty);
        let var = self.b.param(name, ty, deckle_diag::Span::NONE);
        self.places.push(Place::unknown());
        self.raw(var)
    }

    fn raw(&self, var: Var) -> Raw {
        Raw { program: self.id, scope: self.scopes.last().map_or(0, |s| s.serial), var }
    }

    fn fail(&mut self, fault: Fault, at: &'static Location<'static>) {
        if self.fault.is_none() {
            self.fault = Some(Error::new(fault, Some(Place::of(at))));
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

    fn push(&mut self, op: Op, args: &[Var], bodies: &[Body], at: &'static Location<'static>) -> Raw {
        if self.b.func().vars.len() > MAX_STATEMENTS {
            self.fail(Fault::Endless, at);
            std::panic::resume_unwind(Box::new(GivenUp));
        }
        let key = match (&op, bodies.is_empty()) {
            (_, false) => None,
            (Op::Const(c), _) => Some(Key::Const(*c)),
            (Op::Unary(u), _) => Some(Key::Unary(*u, args[0])),
            (Op::Binary(b), _) => Some(Key::Other(b.name().into(), args.to_vec())),
            _ => Some(Key::Other(format!("{op:?}"), args.to_vec())),
        };
        if let Some(key) = &key {
            for s in self.scopes.iter().rev() {
                if let Some(var) = s.known.get(key) {
                    return Raw { program: self.id, scope: s.serial, var: *var };
                }
            }
        }
        match self.b.push(op, args, bodies, span_of(self.b.next_var())) {
            Ok(var) => {
                self.note(var, at);
                if let (Some(key), Some(scope)) = (key, self.scopes.last_mut()) {
                    scope.known.insert(key, var);
                }
                self.raw(var)
            }
            Err(e) => {
                self.fail(Fault::Type(e.message), at);
                Raw::NOWHERE
            }
        }
    }

    fn note(&mut self, var: Var, at: &'static Location<'static>) {
        self.places.resize(var.index(), Place::unknown());
        self.places.push(Place::of(at));
    }
}

/// The span of a statement is its own number, from which [`Traced::places`] gives the Rust source.
fn span_of(var: Var) -> deckle_diag::Span {
    deckle_diag::Span::new(deckle_diag::FileId(0), var.0, var.0)
}

/// Runs `f` on the program under construction; without one, gives a handle to nowhere.
fn current(f: impl FnOnce(&mut Tracer) -> Raw) -> Raw {
    TRACERS.with(|t| match t.borrow_mut().last_mut() {
        Some(tracer) => f(tracer),
        None => Raw::NOWHERE,
    })
}

/// Applies an operator without bodies.
#[track_caller]
pub(crate) fn apply(op: Op, args: &[Raw]) -> Raw {
    let at = Location::caller();
    current(|t| match args.iter().map(|a| t.visible(*a, at)).collect::<Option<Vec<Var>>>() {
        Some(args) => t.push(op, &args, &[], at),
        None => Raw::NOWHERE,
    })
}

/// Applies an operator with one body, made by running a closure.
#[track_caller]
pub(crate) fn apply_body(op: Op, args: &[Raw], build: impl FnOnce(&[Raw]) -> Raw) -> Raw {
    let at = Location::caller();
    let Some(body) = body(&op, args, 0, at, build) else { return Raw::NOWHERE };
    finish(op, args, &[body], at)
}

/// Applies an operator with two bodies.
#[track_caller]
pub(crate) fn apply_bodies(op: Op, args: &[Raw], a: impl FnOnce(&[Raw]) -> Raw, b: impl FnOnce(&[Raw]) -> Raw) -> Raw {
    let at = Location::caller();
    let Some(first) = body(&op, args, 0, at, a) else { return Raw::NOWHERE };
    let Some(second) = body(&op, args, 1, at, b) else { return Raw::NOWHERE };
    finish(op, args, &[first, second], at)
}

fn finish(op: Op, args: &[Raw], bodies: &[Body], at: &'static Location<'static>) -> Raw {
    current(|t| match args.iter().map(|a| t.visible(*a, at)).collect::<Option<Vec<Var>>>() {
        Some(args) => t.push(op, &args, bodies, at),
        None => Raw::NOWHERE,
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
        let Some(args) = args.iter().map(|a| t.visible(*a, at)).collect::<Option<Vec<Var>>>() else {
            return Raw::NOWHERE;
        };
        if t.scopes.len() > MAX_DEPTH {
            t.fail(Fault::Endless, at);
            std::panic::resume_unwind(Box::new(GivenUp));
        }
        match t.b.begin_body_of(op, &args, which, deckle_diag::Span::NONE) {
            Ok((body, params)) => {
                t.scopes.push(Scope { serial: serial(), known: HashMap::new() });
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

/// An array known to be regular, checked when run where that is not certain.
#[track_caller]
pub(crate) fn regular(raw: Raw, depth: usize) -> Raw {
    let at = Location::caller();
    current(|t| {
        let Some(v) = t.visible(raw, at) else { return Raw::NOWHERE };
        let span = span_of(t.b.next_var());
        match t.b.regular(v, depth, span) {
            Ok(new) if new == v => raw,
            Ok(new) => {
                t.note(new, at);
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
    let at = Location::caller();
    match count {
        None => {
            let args = [init];
            let test = body(&Op::While, &args, 0, at, |s| test(s[0]).unwrap_or(Raw::NOWHERE));
            let Some(test) = test else { return Raw::NOWHERE };
            let Some(step) = body(&Op::While, &args, 1, at, |s| step(None, s[0])) else { return Raw::NOWHERE };
            finish(Op::While, &args, &[test, step], at)
        }
        Some(n) => {
            let args = [n, init];
            let Some(only) = body(&Op::For, &args, 0, at, |s| step(Some(s[0]), s[1])) else { return Raw::NOWHERE };
            finish(Op::For, &args, &[only], at)
        }
    }
}

/// `if` with two closures.
#[track_caller]
pub(crate) fn apply_if(cond: Raw, yes: impl FnOnce() -> Raw, no: impl FnOnce() -> Raw) -> Raw {
    apply_bodies(Op::If, &[cond], |_| yes(), |_| no())
}
