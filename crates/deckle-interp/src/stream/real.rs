//! Real data: the interpreter computes.

use super::channel::Datum;
use super::collect::Take;
use super::net::{self, Data, Env, Given, Halt, Job, Run};
use super::{Argument, Consumer};
use crate::error;
use crate::machine::{Machine, Place, check_argument, check_count, param_name};
use crate::ops::Folding;
use crate::sizes::Frame;
use deckle_diag::{Diagnostic, Span};
use deckle_ir::array::Function;
use deckle_ir::entity::{Body, Func, SizeVar, Var};
use deckle_ir::fault::Fault;
use deckle_ir::size_eval::SizeEnv;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::cell::RefCell;

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
}

/// The interpreter's frame behind one of ours.
#[derive(Default)]
pub(super) struct Local<'p> {
    /// What the frame of a function begins with.
    base: Option<Frame<'p>>,
    /// With what has become known since, if anything was computed in it.
    frame: RefCell<Option<Frame<'p>>>,
}

/// Runs a body whose parameters have their values under the discipline, in the midst of an ordinary run.
pub(super) fn nested<'p>(machine: &mut Machine<'p>, frame: &Frame<'p>, body: Body) -> Run<Value> {
    let program = machine.program();
    let func = program.funcs.iter().position(|f| std::ptr::eq(f, frame.function)).unwrap_or(0);
    let mut vars = frame.function.body(body).params.clone();
    vars.extend(frame.function.free_vars(body));
    let bound = vars.into_iter().filter_map(|v| Some((v, Given::Value(frame.get(v)?.clone())))).collect();
    let local = Local { base: Some(copy(frame)), frame: RefCell::default() };
    let job = Job { func: Func(func as u32), body, bound, local, consumer: None };
    let mut data = Real { machine: machine.take() };
    let result = net::run(program, &mut data, job);
    *machine = data.machine;
    result?.ok_or_else(|| Halt::Error(error::bug("a body has no result".into(), Span::NONE)))
}

/// Runs a function with arguments from outside. A result that was handed to the consumer is not returned.
pub(super) fn entry<'p>(
    mut machine: Machine<'p>,
    func: Func,
    args: Vec<Argument<'p>>,
    consumer: Option<Consumer<'p>>,
) -> Run<Option<Value>> {
    let function = machine.function(func)?;
    check_count(function, args.len())?;
    let mut frame = Frame::new(function, machine.info(func));
    let mut bound = Vec::new();
    let mut whole = Vec::new();
    for (i, (&p, arg)) in function.params().iter().zip(args).enumerate() {
        let given = given(function, (i, p), arg, machine.max_elements())?;
        if let Given::Value(value) = &given {
            whole.push((p, value.clone()));
        }
        bound.push((p, given));
    }
    frame.define_params(&whole, Vec::new());
    machine.check_params(&frame, function, function.span)?;
    let local = Local { base: Some(frame), frame: RefCell::default() };
    let consumer = consumer.map(|take| -> Take<'p, Value> { take });
    let job = Job { func, body: Function::ROOT, bound, local, consumer };
    net::run(machine.program(), &mut Real { machine }, job)
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

/// A frame with the same values, sizes and positions.
fn copy<'p>(frame: &Frame<'p>) -> Frame<'p> {
    let function = frame.function;
    let mut new = Frame::new(function, std::rc::Rc::clone(&frame.info));
    for b in (0..function.bodies.len()).map(|b| Body(b as u32)) {
        new.place(b, frame.at(b));
    }
    let params: Vec<(Var, Value)> =
        function.params().iter().filter_map(|p| Some((*p, frame.get(*p)?.clone()))).collect();
    let sizes = function.sizes.iter().enumerate().filter(|(_, data)| data.arity == 0);
    let sizes = sizes.map(|(i, _)| SizeVar(i as u32)).filter_map(|s| frame.var(s, &[]).map(|n| (s, n))).collect();
    new.define_params(&params, sizes);
    for v in (0..function.vars.len()).map(|v| Var(v as u32)) {
        if let (None, Some(value)) = (new.get(v), frame.get(v)) {
            new.define(v, value.clone());
        }
    }
    new
}

type Chain<'e, 'p> = Vec<&'e Env<'p, Real<'p>>>;

/// A frame of ours and those around it, outermost first.
fn chain<'e, 'p>(env: &'e Env<'p, Real<'p>>) -> Chain<'e, 'p> {
    let mut list: Chain<'e, 'p> = std::iter::successors(Some(env), |e| e.parent.as_deref()).collect();
    list.reverse();
    list
}

impl<'p> Real<'p> {
    /// Computes in the interpreter's frame of `env`, in which everything known so far has its value.
    fn within<T>(
        &mut self,
        env: &Env<'p, Self>,
        f: impl FnOnce(&mut Machine<'p>, &mut Frame<'p>) -> Result<T, Box<Diagnostic>>,
    ) -> Run<T> {
        let chain = chain(env);
        let mut slot = env.local.frame.borrow_mut();
        let frame = slot.get_or_insert_with(|| {
            let base = chain.first().and_then(|root| root.local.base.as_ref());
            let mut frame =
                base.map_or_else(|| Frame::new(env.function, self.machine.info(env.func)), |base| copy(base));
            chain.iter().for_each(|e| frame.place(e.body, e.at.map(|at| at as i128)));
            frame
        });
        for e in &chain {
            let mut known: Vec<(Var, Value)> = Vec::new();
            for (v, flow) in e.flows.borrow().iter() {
                if frame.get(*v).is_none() {
                    known.extend(flow.value().map(|value| (*v, value)));
                }
            }
            known.sort_by_key(|(v, _)| *v);
            known.into_iter().for_each(|(v, value)| frame.define(v, value));
        }
        let result = f(&mut self.machine, frame);
        match self.machine.stuck.take() {
            Some(stuck) => Err(Halt::Stuck(stuck)),
            None => result.map_err(Halt::Error),
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

    fn apply(&mut self, env: &Env<'p, Self>, v: Var, args: Vec<Value>) -> Run<Value> {
        self.within(env, |machine, frame| {
            let operands = frame.function.inst(v).map_or(&[][..], |inst| &inst.args);
            for (&operand, value) in operands.iter().zip(args) {
                if !frame.function.ty(operand).is_concrete() {
                    frame.define(operand, value);
                }
            }
            machine.statement(frame, v)?;
            let value = frame.get(v).cloned();
            // A sequence is there as a whole only for the statement that needs it so, or while it is fed to its readers.
            for &v in operands.iter().chain([&v]).filter(|v| !frame.function.ty(**v).is_concrete()) {
                frame.forget(v);
            }
            value.ok_or_else(|| error::bug(format!("{v} has no value"), frame.function.span(v)))
        })
    }

    fn combine(&mut self, env: &Env<'p, Self>, v: Var, i: usize, args: [Value; 2]) -> Run<Value> {
        self.within(env, |machine, frame| machine.part(frame, v, |cx| cx.body(0, Place::Element(i), &args)))
    }

    fn begin(&mut self, env: &Env<'p, Self>, v: Var) -> Run<Folding> {
        let start = match env.function.inst(v).map(|inst| inst.args.as_slice()) {
            Some([z, _]) => env.value(*z),
            _ => None,
        };
        self.within(env, |machine, frame| machine.part(frame, v, |cx| Folding::new(cx, start)))
    }

    fn add(&mut self, env: &Env<'p, Self>, v: Var, fold: &mut Folding, x: Value) -> Run<()> {
        self.within(env, |machine, frame| machine.part(frame, v, |cx| fold.add(cx, &x)))
    }

    fn finish(&mut self, env: &Env<'p, Self>, v: Var, fold: Folding) -> Run<Value> {
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

    fn check(&mut self, env: &Env<'p, Self>, span: Span) -> Run<()> {
        let function: &'p Function = env.function;
        self.within(env, |machine, frame| machine.check_params(frame, function, span))
    }

    fn fail(&self, error: impl FnOnce() -> Box<Diagnostic>) -> Halt {
        Halt::Error(error())
    }
}
