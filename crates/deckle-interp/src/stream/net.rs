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
    /// Random data of which nothing can be learnt.
    Abandoned,
    /// The consumer of the result wants no more of it.
    Enough,
}

pub(super) type Run<T> = Result<T, Halt>;

impl From<Box<Diagnostic>> for Halt {
    fn from(e: Box<Diagnostic>) -> Halt {
        Halt::Error(e)
    }
}

/// What the processes compute with. `'p` is the program's.
pub(super) trait Data<'p>: Sized + 'p {
    /// Concrete values.
    type V: Datum + 'p;
    /// What a frame remembers for computing.
    type Local: Default + 'p;
    /// A `fold`, `fold1` or `reduce` between two elements.
    type Fold: 'p;

    /// Counts a step of a process.
    fn tick(&mut self, span: Span) -> Run<()>;
    /// The result of a statement all of whose operands are known, sequences as a whole.
    fn apply(&mut self, env: &Rc<Env<'p, Self>>, v: Var, args: Vec<Self::V>) -> Run<Self::V>;
    /// The body of a scan applied to what is combined so far and the element at `i`.
    fn combine(&mut self, env: &Rc<Env<'p, Self>>, v: Var, i: usize, args: [Self::V; 2]) -> Run<Self::V>;
    /// A `fold`, `fold1` or `reduce` before its first element.
    fn begin(&mut self, env: &Rc<Env<'p, Self>>, v: Var) -> Run<Self::Fold>;
    /// Combines its next element with those before.
    fn add(&mut self, env: &Rc<Env<'p, Self>>, v: Var, fold: &mut Self::Fold, x: Self::V) -> Run<()>;
    /// Its result, after the last element.
    fn finish(&mut self, env: &Rc<Env<'p, Self>>, v: Var, fold: Self::Fold) -> Run<Self::V>;
    /// How many elements `produce(n)` has.
    fn times(&mut self, n: &Self::V, span: Span) -> Run<usize>;
    /// An integer.
    fn int(&mut self, n: usize) -> Self::V;
    /// The elements of a sequence, of type `elem`, that is there as a whole.
    fn items(&mut self, elem: &Type, seq: &Self::V) -> Vec<Self::V>;
    /// Whether the sizes of a variable that has sequences, or of a parameter, are to be observed.
    fn observes(&mut self, env: &Env<'p, Self>, v: Var) -> bool;
    /// Learns sizes from a part of such a variable, of this type at these positions, and compares them.
    fn observe(&mut self, env: &Rc<Env<'p, Self>>, part: Part<'p, '_>, value: &Self::V) -> Run<()>;
    /// Such a variable is complete.
    fn observed(&mut self, env: &Rc<Env<'p, Self>>, v: Var) -> Run<()>;
    /// Compares sizes that were not known before. At the end of a run nothing else becomes known.
    fn settle(&mut self, end: bool) -> Run<()>;
    /// What the callee of a call begins with.
    fn callee(&mut self, caller: &Rc<Env<'p, Self>>, call: Var, callee: Func) -> Self::Local;
    /// The data are not as an operator needs them.
    fn fail(&self, error: impl FnOnce() -> Box<Diagnostic>) -> Halt;
}

/// A part of a variable that is concrete, and where it is.
#[derive(Clone, Copy)]
pub(super) struct Part<'p, 'a> {
    pub v: Var,
    pub ty: &'p Type,
    pub at: &'a [i128],
    /// Where its sizes are wrong, if they are.
    pub span: Span,
}

/// A frame: the variables of one running body, and where it runs.
pub(super) struct Env<'p, D: Data<'p>> {
    /// Which function.
    pub func: Func,
    /// The function itself.
    pub function: &'p Function,
    /// Which body.
    pub body: Body,
    /// At which element.
    pub at: Option<usize>,
    /// The frame around it in the same function.
    pub parent: Option<Rc<Env<'p, D>>>,
    /// Its variables, and what it sees in place of those from outside.
    pub flows: RefCell<HashMap<Var, Flow<D::V>>>,
    /// For computing.
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

    /// Whether all of these have their values, or which one has not.
    pub(super) fn missing(&self, wants: &[Var]) -> Option<Var> {
        wants.iter().copied().find(|v| self.flow(*v).is_some_and(|f| f.value().is_none()))
    }
}

/// How many processes that belong together are not done.
pub(super) type Group = Rc<Cell<usize>>;

/// What a step of a process came to.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// Nothing can be done now.
    Waits,
    /// Something was done.
    Moved,
    /// The last thing was done.
    Done,
}

/// `Moved` if something was done.
pub(super) fn moved(yes: bool) -> Step {
    if yes { Step::Moved } else { Step::Waits }
}

/// A process: one statement of a frame, or a part of its work.
pub(super) trait Process<'p, D: Data<'p>> {
    /// Does one thing, if it can.
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step>;
    /// What it waits for.
    fn why(&self) -> String;
}

/// A process, where it belongs and what it is of.
struct Task<'p, D: Data<'p>> {
    process: Box<dyn Process<'p, D> + 'p>,
    group: Group,
    of: Label,
}

/// The statement that a process works for.
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
    /// Those made since the round began.
    made: Vec<Task<'p, D>>,
    /// Whether sources may be asked for an element: only when nothing else can be done.
    pub pulling: bool,
    /// The error of a source, to be reported when nothing else can be done.
    pub failed: Option<Halt>,
}

impl<'p, D: Data<'p>> Net<'p, '_, D> {
    /// Adds a process.
    pub(super) fn spawn(&mut self, group: &Group, of: Label, process: impl Process<'p, D> + 'p) {
        group.set(group.get() + 1);
        self.made.push(Task { process: Box::new(process), group: Rc::clone(group), of });
    }

    /// Makes all statements of a frame into processes. Gives the result of its body.
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

    /// Observes the sizes of a variable, if that is wanted. `span` is where they are wrong, if they are.
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

    /// Lets a value that is there as a whole come about as `flow`.
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

    /// Runs processes in turn until none can do anything. Sources are asked when no other process can, each once: whatever follows
    /// from the elements so far comes before the next ones, which a source may have to wait for.
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

    /// Each process does what it can; one step, if sources are asked. Whether there was anything to do.
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

/// What a variable of a body is bound to before the body runs.
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
    /// Its parameters and what it uses from outside.
    pub bound: Vec<(Var, Given<'p, D::V>)>,
    pub local: D::Local,
    /// Whether the sizes of its parameters are to be compared with their types.
    pub check: bool,
    /// Takes the elements of a result that is a sequence.
    pub consumer: Option<Take<'p, D::V>>,
}

/// Runs a body under the discipline. A result that was handed to the consumer is not returned.
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

/// Each statement that waits, once.
fn stuck<'p, D: Data<'p>>(left: &[Task<'p, D>]) -> Stuck {
    let mut waiting: Vec<Waiting> = Vec::new();
    for Task { process, of: Label { func, var, span }, .. } in left {
        if !waiting.iter().any(|w| (w.func, w.var) == (*func, *var)) {
            waiting.push(Waiting { func: *func, var: *var, span: *span, why: process.why() });
        }
    }
    Stuck { waiting }
}
