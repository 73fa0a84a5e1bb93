//! Frames, and the processes that run in them.

use super::channel::{Datum, Flow};
use super::collect::{Feed, Gather, HandOver, Supply, Take};
use super::statement;
use super::watch::Watch;
use super::{Stuck, Waiting};
use deckle_diag::{Diagnostic, Span};
use deckle_ir::array::{Function, Program};
use deckle_ir::entity::{Body, Func, Var};
use deckle_ir::types::Type;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Why a run ends before its processes do.
pub(super) enum Halt {
    /// An error of the data.
    Error(Box<Diagnostic>),
    /// A run inside this one got stuck.
    Stuck(Stuck),
    /// Random data that show nothing.
    Abandoned,
    /// The consumer of the result wants no more elements.
    Enough,
}

pub(super) type Run<T> = Result<T, Halt>;

impl From<Box<Diagnostic>> for Halt {
    fn from(e: Box<Diagnostic>) -> Halt {
        Halt::Error(e)
    }
}

/// The data of processes. `'p` is the program's lifetime.
pub(super) trait Data<'p>: Sized + 'p {
    /// Concrete values.
    type V: Datum + 'p;
    /// The data that a frame needs for computing.
    type Local: Default + 'p;
    /// A `fold`, `fold1` or `reduce` between two elements.
    type Fold: 'p;

    /// Counts a step of a process.
    fn tick(&mut self, span: Span) -> Run<()>;
    /// The result of a statement whose operands are all known, with materialised sequences.
    fn apply(&mut self, env: &Rc<Env<'p, Self>>, v: Var, args: Vec<Self::V>) -> Run<Self::V>;
    /// The body of a scan applied to the combination so far and the element at `i`.
    fn combine(&mut self, env: &Rc<Env<'p, Self>>, v: Var, i: usize, args: [Self::V; 2]) -> Run<Self::V>;
    /// A `fold`, `fold1` or `reduce` before its first element.
    fn begin(&mut self, env: &Rc<Env<'p, Self>>, v: Var) -> Run<Self::Fold>;
    /// Combines its next element with those before.
    fn add(&mut self, env: &Rc<Env<'p, Self>>, v: Var, fold: &mut Self::Fold, x: Self::V) -> Run<()>;
    /// Its result, after the last element.
    fn finish(&mut self, env: &Rc<Env<'p, Self>>, v: Var, fold: Self::Fold) -> Run<Self::V>;
    /// The number of elements of `produce(n)`.
    fn times(&mut self, n: &Self::V, span: Span) -> Run<usize>;
    /// An integer.
    fn int(&mut self, n: usize) -> Self::V;
    /// The elements of a materialised sequence, of type `elem`.
    fn items(&mut self, elem: &Type, seq: &Self::V) -> Vec<Self::V>;
    /// Whether the sizes of a variable that has sequences, or of a parameter, are to be observed.
    fn observes(&mut self, env: &Env<'p, Self>, v: Var) -> bool;
    /// Learns sizes from a part of such a variable, of this type at these positions, and compares them.
    fn observe(&mut self, env: &Rc<Env<'p, Self>>, part: Part<'p, '_>, value: &Self::V) -> Run<()>;
    /// Such a variable is complete.
    fn observed(&mut self, env: &Rc<Env<'p, Self>>, v: Var) -> Run<()>;
    /// Compares sizes that were not known before. At the end of a run nothing else becomes known.
    fn settle(&mut self, end: bool) -> Run<()>;
    /// The initial data of the callee of a call.
    fn callee(&mut self, caller: &Rc<Env<'p, Self>>, call: Var, callee: Func) -> Self::Local;
    /// The data are invalid for an operator.
    fn fail(&self, error: impl FnOnce() -> Box<Diagnostic>) -> Halt;
}

/// A concrete part of a variable, and its position.
#[derive(Clone, Copy)]
pub(super) struct Part<'p, 'a> {
    pub v: Var,
    pub ty: &'p Type,
    pub at: &'a [i128],
    /// The place to report wrong sizes.
    pub span: Span,
}

/// A frame: the variables of one running body, and its position.
pub(super) struct Env<'p, D: Data<'p>> {
    /// The function's handle.
    pub func: Func,
    /// The function itself.
    pub function: &'p Function,
    /// The body.
    pub body: Body,
    /// The element.
    pub at: Option<usize>,
    /// The frame around it in the same function.
    pub parent: Option<Rc<Env<'p, D>>>,
    /// Its variables, and replacements for those from outside.
    pub flows: RefCell<HashMap<Var, Flow<D::V>>>,
    /// Data for computing.
    pub local: D::Local,
}

impl<'p, D: Data<'p>> Env<'p, D> {
    /// The frame of a function.
    pub(super) fn root(program: &'p Program, func: Func, body: Body, local: D::Local) -> Rc<Self> {
        let function = &program.funcs[func.index()];
        Rc::new(Env { func, function, body, at: None, parent: None, flows: RefCell::default(), local })
    }

    /// The frame of a body inside, whose parameters are these.
    pub(super) fn inside(self: &Rc<Self>, body: Body, at: Option<usize>, params: Vec<Flow<D::V>>) -> Rc<Self> {
        let names = self.function.body(body).params.iter().copied();
        let flows = RefCell::new(names.zip(params).collect());
        let parent = Some(Rc::clone(self));
        Rc::new(Env { func: self.func, function: self.function, body, at, parent, flows, local: D::Local::default() })
    }

    /// The value of a variable in scope.
    pub(super) fn flow(&self, v: Var) -> Option<Flow<D::V>> {
        let mut env = self;
        loop {
            if let Some(flow) = env.flows.borrow().get(&v) {
                return Some(flow.clone());
            }
            env = env.parent.as_deref()?;
        }
    }

    /// The concrete value of a variable, once it is known.
    pub(super) fn value(&self, v: Var) -> Option<D::V> {
        self.flow(v)?.value()
    }

    pub(super) fn define(&self, v: Var, flow: Flow<D::V>) {
        self.flows.borrow_mut().insert(v, flow);
    }

    /// The first of these without a value, if any.
    pub(super) fn missing(&self, wants: &[Var]) -> Option<Var> {
        wants.iter().copied().find(|v| self.flow(*v).is_some_and(|f| f.value().is_none()))
    }
}

/// The number of processes of a group that are not done.
pub(super) type Group = Rc<Cell<usize>>;

/// The outcome of a step of a process.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// It cannot proceed now.
    Waits,
    /// It made progress.
    Moved,
    /// It is finished.
    Done,
}

/// `Moved` if there was progress.
pub(super) fn moved(yes: bool) -> Step {
    if yes { Step::Moved } else { Step::Waits }
}

/// A process: one statement of a frame, or a part of its work.
pub(super) trait Process<'p, D: Data<'p>> {
    /// Makes one step, if possible.
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step>;
    /// What it waits for.
    fn why(&self) -> String;
}

/// A process, its group and its label.
struct Task<'p, D: Data<'p>> {
    process: Box<dyn Process<'p, D> + 'p>,
    group: Group,
    of: Label,
}

/// The statement of a process.
#[derive(Clone, Copy)]
pub(super) struct Label {
    pub func: Func,
    pub var: Var,
    pub span: Span,
}

/// All processes of a run.
pub(super) struct Net<'p, 'd, D: Data<'p>> {
    pub program: &'p Program,
    pub data: &'d mut D,
    /// Those created since the round began.
    made: Vec<Task<'p, D>>,
    /// Whether sources may be asked for an element: only when nothing else can proceed.
    pub pulling: bool,
    /// The error of a source, to be reported when nothing else can proceed.
    pub failed: Option<Halt>,
}

impl<'p, D: Data<'p>> Net<'p, '_, D> {
    /// Adds a process.
    pub(super) fn spawn(&mut self, group: &Group, of: Label, process: impl Process<'p, D> + 'p) {
        group.set(group.get() + 1);
        self.made.push(Task { process: Box::new(process), group: Rc::clone(group), of });
    }

    /// Starts a process for each statement of a frame. Returns the result of its body.
    pub(super) fn start(&mut self, env: &Rc<Env<'p, D>>, group: &Group) -> Flow<D::V> {
        let data = env.function.body(env.body);
        for &v in &data.stmts {
            let flow = statement::start(self, env, v, group);
            if !env.function.ty(v).is_concrete() {
                self.watch(env, v, &flow, group, env.function.span(v));
            }
            env.define(v, flow);
        }
        env.flow(data.result).unwrap_or_else(|| Flow::of_type(env.function.ty(data.result)))
    }

    /// Observes the sizes of a variable, if requested. `span` is the place to report wrong sizes.
    fn watch(&mut self, env: &Rc<Env<'p, D>>, v: Var, flow: &Flow<D::V>, group: &Group, span: Span) {
        if self.data.observes(env, v) {
            let of = Label { func: env.func, var: v, span: env.function.span(v) };
            self.spawn(group, of, Watch::new(env, v, flow, span));
        }
    }

    /// Observes the sizes of all parameters of a function, which have their flows and which is called at `span`.
    pub(super) fn watch_params(&mut self, env: &Rc<Env<'p, D>>, group: &Group, span: Span) {
        for &p in env.function.params() {
            if let Some(flow) = env.flow(p) {
                self.watch(env, p, &flow, group, span);
            }
        }
    }

    /// Feeds a materialised value into `flow`.
    pub(super) fn feed(&mut self, ty: &Type, value: D::V, flow: &Flow<D::V>, group: &Group, of: Label) {
        match (flow, ty.parts()) {
            (Flow::Stream(channel), _) => {
                let Some(elem) = ty.elem() else { return };
                let items = Supply::Whole(self.data.items(elem, &value).into_iter());
                self.spawn(group, of, Feed::new(elem.clone(), items, channel, of));
            }
            (Flow::Tuple(parts), Some(types)) => {
                for ((part, ty), value) in parts.iter().zip(types).zip(value.parts()) {
                    self.feed(ty, value, part, group, of);
                }
            }
            _ => flow.set(value),
        }
    }

    /// Runs processes round-robin until none can proceed. Sources are asked when no other process can, each once: all results of
    /// the elements so far come before the next ones, which a source may have to wait for.
    fn run(&mut self) -> Run<Vec<Task<'p, D>>> {
        let mut tasks = std::mem::take(&mut self.made);
        loop {
            if self.round(&mut tasks)? {
                continue;
            }
            self.data.settle(false)?;
            self.pulling = true;
            let pulled = self.round(&mut tasks);
            self.pulling = false;
            if !pulled? {
                return self.failed.take().map_or(Ok(tasks), Err);
            }
        }
    }

    /// Each process runs as far as it can; one step, if sources are asked. Returns whether there was progress.
    fn round(&mut self, tasks: &mut Vec<Task<'p, D>>) -> Run<bool> {
        let mut any = false;
        let mut halt = None;
        tasks.retain_mut(|task| {
            while halt.is_none() {
                let step = task.process.step(self);
                if matches!(step, Ok(Step::Waits)) {
                    break;
                }
                any = true;
                match step.and_then(|step| self.data.tick(task.of.span).map(|()| step)) {
                    Ok(Step::Done) => {
                        task.group.set(task.group.get() - 1);
                        return false;
                    }
                    Ok(_) if self.pulling => break,
                    Ok(_) => {}
                    Err(h) => halt = Some(h),
                }
            }
            true
        });
        tasks.append(&mut self.made);
        halt.map_or(Ok(any), Err)
    }
}

/// The initial binding of a variable of a body.
pub(super) enum Given<'p, V> {
    /// A value.
    Value(V),
    /// The elements of a sequence.
    Elements(Pull<'p, V>),
}

/// Asks a source for its next element.
pub(super) type Pull<'p, V> = Box<dyn FnMut() -> Run<Option<V>> + 'p>;

/// A body to be run.
pub(super) struct Job<'p, D: Data<'p>> {
    pub func: Func,
    pub body: Body,
    /// Its parameters and the variables that it uses from outside.
    pub bound: Vec<(Var, Given<'p, D::V>)>,
    pub local: D::Local,
    /// Whether the sizes of its parameters are compared with their types.
    pub check: bool,
    /// Takes the elements of a result that is a sequence.
    pub consumer: Option<Take<'p, D::V>>,
}

/// Runs a body under the discipline. A result that was delivered to the consumer is not returned.
pub(super) fn run<'p, D: Data<'p>>(program: &'p Program, data: &mut D, job: Job<'p, D>) -> Run<Option<D::V>> {
    let Job { func, body, bound, local, check, consumer } = job;
    let mut net = Net { program, data, made: Vec::new(), pulling: false, failed: None };
    let env = Env::root(program, func, body, local);
    let function = env.function;
    let group = Group::default();
    let label = |var: Var| Label { func, var, span: function.span(var) };
    for (v, given) in bound {
        let ty = function.ty(v);
        let flow = Flow::of_type(ty);
        match (given, &flow, ty.elem()) {
            (Given::Value(value), _, _) => net.feed(ty, value, &flow, &group, label(v)),
            (Given::Elements(pull), Flow::Stream(channel), Some(elem)) => {
                net.spawn(&group, label(v), Feed::new(elem.clone(), Supply::Pulled(pull), channel, label(v)))
            }
            (Given::Elements(_), _, _) => {}
        }
        env.define(v, flow);
    }
    if check {
        net.watch_params(&env, &group, function.span);
    }
    let result = net.start(&env, &group);
    let cell = Rc::default();
    let of = label(function.body(body).result);
    let consumed = match (consumer, &result) {
        (Some(take), Flow::Stream(channel)) => {
            net.spawn(&group, of, HandOver::new(channel, take));
            true
        }
        _ => {
            net.spawn(&group, of, Gather::new(&result, &cell));
            false
        }
    };
    let left = net.run()?;
    match cell.get().cloned() {
        value if left.is_empty() && value.is_some() != consumed => {
            net.data.settle(true)?;
            Ok(value)
        }
        _ => Err(Halt::Stuck(stuck(&left))),
    }
}

/// Each waiting statement, once.
fn stuck<'p, D: Data<'p>>(left: &[Task<'p, D>]) -> Stuck {
    let mut waiting: Vec<Waiting> = Vec::new();
    for Task { process, of: Label { func, var, span }, .. } in left {
        if !waiting.iter().any(|w| (w.func, w.var) == (*func, *var)) {
            waiting.push(Waiting { func: *func, var: *var, span: *span, why: process.why() });
        }
    }
    Stuck { waiting }
}
