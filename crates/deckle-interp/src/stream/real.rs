//! Real data: the interpreter computes.

use super::channel::Datum;
use super::collect::Take;
use super::net::{self, Data, Env, Given, Halt, Job, Part, Run};
use super::{Argument, Consumer};
use crate::error;
use crate::machine::{Blame, Machine, Place, check_argument, check_count, param_name};
use crate::ops::Folding;
use crate::sizes::{Frame, Learnt, Open, has_sizes};
use deckle_diag::{Diagnostic, Span};
use deckle_ir::array::{Function, Op};
use deckle_ir::entity::{Body, Func, SizeVar, Var};
use deckle_ir::fault::Fault;
use deckle_ir::size::Atom;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::cell::RefCell;
use std::rc::Rc;

impl Datum for Value {
    fn tuple(parts: Vec<Value>) -> Value {
        Value::tuple(parts)
    }

    fn sequence(elems: Vec<Value>) -> Value {
        Value::seq(elems)
    }

    fn parts(&self) -> Vec<Value> {
        Value::parts(self).unwrap_or_default().to_vec()
    }

    fn boolean(b: bool) -> Value {
        Value::bool(b)
    }

    fn truth(&self) -> bool {
        self.as_scalar().and_then(|s| s.as_bool()).unwrap_or(false)
    }
}

/// Computes with the interpreter.
pub(super) struct Real<'p> {
    machine: Machine<'p>,
    /// Sizes to be compared when they are known, each in a frame that will know them.
    pending: Vec<Pending<'p>>,
    /// Whether an enclosing run may learn more.
    inside: bool,
}

/// A size to be compared when it is known.
struct Pending<'p> {
    env: Rc<Env<'p, Real<'p>>>,
    open: Open,
    blame: Blame<'p>,
}

/// The interpreter's frame for a streaming frame.
#[derive(Default)]
pub(super) struct Local<'p> {
    /// The initial frame of a function.
    base: Option<Frame<'p>>,
    /// The same with the values known since, if it was used for computing.
    frame: RefCell<Option<Frame<'p>>>,
    /// The sizes that sequences have determined.
    learnt: RefCell<Learnt>,
    /// The caller of the function: a statement of a frame.
    caller: Option<(Rc<Env<'p, Real<'p>>>, Var)>,
}

/// Runs a body whose parameters have their values under the discipline, during an ordinary run.
pub(super) fn nested<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, body: Body) -> Run<Value> {
    let program = machine.program();
    let func = program.funcs.iter().position(|f| std::ptr::eq(f, frame.function)).unwrap_or(0);
    let mut vars = frame.function.body(body).params.clone();
    vars.extend(frame.function.free_vars(body));
    let bound = vars.into_iter().filter_map(|v| Some((v, Given::Value(frame.get(v)?.clone())))).collect();
    let local = Local { base: Some(frame.clone()), ..Local::default() };
    let job = Job { func: Func(func as u32), body, bound, local, check: false, consumer: None };
    let before = std::mem::take(&mut machine.open);
    let mut data = Real { machine: machine.take(), pending: Vec::new(), inside: frame.streams };
    let result = net::run(program, &mut data, job);
    *machine = data.machine;
    machine.open.extend(before);
    result?.ok_or_else(|| Halt::Error(error::bug("a body has no result".into(), Span::NONE)))
}

/// Runs a function with arguments from outside. A result that was delivered to the consumer is not returned.
pub(super) fn entry<'p>(
    machine: Machine<'p>,
    func: Func,
    args: Vec<Argument<'p>>,
    consumer: Option<Consumer<'p>>,
) -> Run<Option<Value>> {
    let function = machine.function(func)?;
    check_count(function, args.len())?;
    let mut bound = Vec::new();
    for (i, (&p, arg)) in function.params().iter().zip(args).enumerate() {
        bound.push((p, given(function, (i, p), arg, machine.max_elements())?));
    }
    let consumer = consumer.map(|take| -> Take<'p, Value> { take });
    let job = Job { func, body: Function::ROOT, bound, local: Local::default(), check: true, consumer };
    net::run(machine.program(), &mut Real { machine, pending: Vec::new(), inside: false }, job)
}

/// An argument for parameter `p`, number `i`, whose values are checked: those of a source when they come.
fn given<'p>(
    function: &'p Function,
    (i, p): (usize, Var),
    arg: Argument<'p>,
    max_elements: u64,
) -> Run<Given<'p, Value>> {
    let what = format!("argument {}", param_name(function, i));
    let ty = function.ty(p);
    match (arg, ty) {
        (Argument::Value(value), _) => {
            check_argument(&what, ty, &value, max_elements, function.span)?;
            Ok(Given::Value(value))
        }
        (Argument::Elements(mut next), Type::Seq(elem)) => {
            let mut n = 0usize;
            Ok(Given::Elements(Box::new(move || {
                let Some(value) = next()? else { return Ok(None) };
                check_argument(&format!("element {n} of {what}"), elem, &value, max_elements, function.span)?;
                n += 1;
                Ok(Some(value))
            })))
        }
        (Argument::Elements(_), _) => {
            Err(error::argument(format!("{what} has elements that come one after another where a value is needed")))?
        }
    }
}

type Chain<'e, 'p> = Vec<&'e Env<'p, Real<'p>>>;

/// A streaming frame and the enclosing ones, outermost first.
fn chain<'e, 'p>(env: &'e Env<'p, Real<'p>>) -> Chain<'e, 'p> {
    let mut list: Chain<'e, 'p> = std::iter::successors(Some(env), |e| e.parent.as_deref()).collect();
    list.reverse();
    list
}

impl<'p> Real<'p> {
    /// Computes in the interpreter's frame of `env`, in which every known variable has its value.
    fn within<T>(
        &mut self,
        env: &Rc<Env<'p, Self>>,
        f: impl FnOnce(&mut Machine<'p>, &mut Frame<'p>) -> Result<T, Box<Diagnostic>>,
    ) -> Run<T> {
        let chain = chain(env);
        let told = self.told(chain[0]);
        let mut slot = env.local.frame.borrow_mut();
        let frame = slot.get_or_insert_with(|| {
            let base = chain.first().and_then(|root| root.local.base.as_ref());
            let mut frame = base.cloned().unwrap_or_else(|| Frame::new(env.function, self.machine.info(env.func)));
            frame.streams = true;
            chain.iter().for_each(|e| frame.place(e.body, e.at.map(|at| at as i128)));
            frame
        });
        frame.know_params(&told);
        for e in &chain {
            frame.inherit(&e.local.learnt.borrow());
            let mut known: Vec<(Var, Value)> = Vec::new();
            for (v, flow) in e.flows.borrow().iter() {
                if frame.get(*v).is_none() {
                    known.extend(flow.value().map(|value| (*v, value)));
                }
            }
            known.sort_by_key(|(v, _)| *v);
            let params = &e.function.body(e.body).params;
            for (v, value) in known {
                match params.contains(&v) {
                    true if e.body == Function::ROOT => frame.define_param(v, value),
                    true => frame.define_element(v, value),
                    false => frame.define(v, value),
                }
            }
        }
        let result = f(&mut self.machine, frame);
        drop(slot);
        for (open, blame) in std::mem::take(&mut self.machine.open) {
            self.defer(env, open, blame);
        }
        match self.machine.stuck.take() {
            Some(stuck) => Err(Halt::Stuck(stuck)),
            None => result.map_err(Halt::Error),
        }
    }

    /// The sizes of parameters that the types of the arguments determine, if the caller knows them.
    fn told(&mut self, root: &Env<'p, Self>) -> Vec<(SizeVar, i128)> {
        let Some((caller, call)) = &root.local.caller else { return Vec::new() };
        let Some(inst) = caller.function.inst(*call) else { return Vec::new() };
        let told = self.within(caller, |_, frame| Ok(frame.sizes_for(root.function, &inst.args)));
        told.unwrap_or_default()
    }

    /// Defers the comparison of a size to the innermost frame that will know something that it mentions.
    fn defer(&mut self, env: &Rc<Env<'p, Self>>, open: Open, blame: Blame<'p>) {
        let mut vars = Vec::new();
        open.size.any_atom(&mut |atom, _| {
            match atom {
                Atom::Var(s, _) => vars.extend(env.function.size_binder(*s)),
                Atom::Value(path) | Atom::Read(path, _) | Atom::If(path, ..) => vars.push(path.root),
                _ => {}
            }
            false
        });
        let mut at = env;
        while let Some(around) = &at.parent
            && !vars.iter().any(|v| at.flows.borrow().contains_key(v))
        {
            at = around;
        }
        let same = |p: &Pending<'p>| Rc::ptr_eq(&p.env, at) && p.open.says_the_same(&open) && p.blame.v == blame.v;
        if !self.pending.iter().any(same) {
            self.pending.push(Pending { env: Rc::clone(at), open, blame });
        }
    }
}

impl<'p> Data<'p> for Real<'p> {
    type V = Value;
    type Local = Local<'p>;
    type Fold = Folding;

    fn tick(&mut self, span: Span) -> Run<()> {
        self.machine.tick(span).map_err(Halt::Error)
    }

    fn apply(&mut self, env: &Rc<Env<'p, Self>>, v: Var, args: Vec<Value>) -> Run<Value> {
        self.within(env, |machine, frame| {
            let operands = frame.function.inst(v).map_or(&[][..], |inst| &inst.args);
            for (&operand, value) in operands.iter().zip(args) {
                if !frame.function.ty(operand).is_concrete() {
                    frame.define(operand, value);
                }
            }
            machine.statement(frame, v)?;
            let value = frame.get(v).cloned();
            // A sequence is materialised only for a statement that needs it, or while it is fed to its readers.
            for &v in operands.iter().chain([&v]).filter(|v| !frame.function.ty(**v).is_concrete()) {
                frame.forget(v);
            }
            value.ok_or_else(|| error::bug(format!("{v} has no value"), frame.function.span(v)))
        })
    }

    fn combine(&mut self, env: &Rc<Env<'p, Self>>, v: Var, i: usize, args: [Value; 2]) -> Run<Value> {
        self.within(env, |machine, frame| machine.part(frame, v, |cx| cx.body(0, Place::Element(i), &args)))
    }

    fn begin(&mut self, env: &Rc<Env<'p, Self>>, v: Var) -> Run<Folding> {
        let start = match env.function.inst(v).map(|inst| inst.args.as_slice()) {
            Some([z, _]) => env.value(*z),
            _ => None,
        };
        self.within(env, |machine, frame| machine.part(frame, v, |cx| Folding::new(cx, start)))
    }

    fn add(&mut self, env: &Rc<Env<'p, Self>>, v: Var, fold: &mut Folding, x: Value) -> Run<()> {
        self.within(env, |machine, frame| machine.part(frame, v, |cx| fold.add(cx, &x)))
    }

    fn finish(&mut self, env: &Rc<Env<'p, Self>>, v: Var, fold: Folding) -> Run<Value> {
        self.within(env, |machine, frame| {
            let value = machine.part(frame, v, |cx| fold.finish(cx))?;
            machine.check_result(frame, v, &value)?;
            Ok(value)
        })
    }

    fn times(&mut self, n: &Value, span: Span) -> Run<usize> {
        let n = n.as_scalar().and_then(|n| n.as_int()).unwrap_or(0);
        if n < 0 {
            return Err(Halt::Error(error::fault(&Fault::Negative("the length".into()), &[n], span)));
        }
        let limit = self.machine.max_elements();
        match usize::try_from(n) {
            Ok(size) if size as u64 <= limit => Ok(size),
            _ => Err(Halt::Error(error::fault(
                &Fault::TooLarge("the result of `produce`".into()),
                &[n, limit.into()],
                span,
            ))),
        }
    }

    fn int(&mut self, n: usize) -> Value {
        Value::int(n as i64)
    }

    fn items(&mut self, _: &Type, seq: &Value) -> Vec<Value> {
        seq.items().unwrap_or_default().to_vec()
    }

    fn observes(&mut self, env: &Env<'p, Self>, v: Var) -> bool {
        let ensured = matches!(env.function.inst(v).map(|inst| &inst.op), Some(Op::Ensure(_)));
        let wanted = ensured || env.function.params().contains(&v) || self.machine.info(env.func).binds_sizes(v);
        wanted && has_sizes(env.function.ty(v))
    }

    fn observe(&mut self, env: &Rc<Env<'p, Self>>, part: Part<'p, '_>, value: &Value) -> Run<()> {
        let Part { v, ty, at, span } = part;
        let blame = Blame { function: env.function, v, span };
        let mut learnt = env.local.learnt.take();
        let open = self.within(env, |_, frame| {
            frame.inherit(&learnt);
            frame.observe(v, (ty, at), value, &mut learnt).map_err(|m| blame.report(m))
        });
        env.local.learnt.replace(learnt);
        open?.into_iter().for_each(|open| self.defer(env, open, blame));
        self.settle(false)
    }

    fn observed(&mut self, env: &Rc<Env<'p, Self>>, v: Var) -> Run<()> {
        let mut learnt = env.local.learnt.take();
        let done = self.within(env, |_, frame| {
            frame.inherit(&learnt);
            frame.end(v, &mut learnt);
            Ok(())
        });
        env.local.learnt.replace(learnt);
        done?;
        self.settle(false)
    }

    fn settle(&mut self, end: bool) -> Run<()> {
        for Pending { env, open, blame } in std::mem::take(&mut self.pending) {
            let settled = self.within(&env, |_, frame| Ok(frame.settle(&open)))?;
            match settled {
                Some(Ok(())) => {}
                Some(Err(mismatch)) => return Err(Halt::Error(blame.report(mismatch))),
                None if !end => self.pending.push(Pending { env, open, blame }),
                None if self.inside => self.machine.open.push((open, blame)),
                None => return Err(Halt::Error(blame.report(open.unknown()))),
            }
        }
        Ok(())
    }

    fn callee(&mut self, caller: &Rc<Env<'p, Self>>, call: Var, _: Func) -> Local<'p> {
        Local { caller: Some((Rc::clone(caller), call)), ..Local::default() }
    }

    fn fail(&self, error: impl FnOnce() -> Box<Diagnostic>) -> Halt {
        Halt::Error(error())
    }
}
