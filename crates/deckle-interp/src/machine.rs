//! Running functions, bodies and statements.

use crate::cost::{self, Cost, Runs};
use crate::error::{self, Result};
use crate::sizes::{Frame, Info, Mismatch, Open, fits};
use crate::stream::{self, Stuck};
use crate::{Options, Outcome, ops};
use deckle_diag::{Diagnostic, Span};
use deckle_ir::array::{BinOp, Function, Inst, Op, Program};
use deckle_ir::entity::{Body, Func, SizeVar, Var};
use deckle_ir::fault::{self, Fault, elements};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_ir::value::{Space, Value};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// The remaining stack below which more is allocated before a body is run, and how much.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

/// The state shared by one run.
pub(crate) struct Machine<'p> {
    program: &'p Program,
    options: &'p Options,
    steps: u64,
    max_steps: Option<u64>,
    /// Whether operators are tested for associativity.
    check_associative: bool,
    infos: Vec<Option<Rc<Info>>>,
    /// For each watched statement the bytes of its largest result.
    bytes: Vec<u64>,
    /// For each result that is delivered in parts the elements so far.
    pushed: Vec<Vec<Value>>,
    /// Whether bodies with sequences run under the streaming discipline.
    streams: bool,
    /// Sizes to be compared when they are known.
    pub open: Vec<(Open, Blame<'p>)>,
    /// Set if the streaming run got stuck; its error is then ignored.
    pub stuck: Option<Stuck>,
}

pub(crate) fn run(program: &Program, func: Func, args: &[Value], options: &Options) -> Result<Outcome> {
    let mut machine = Machine::new(program, options);
    let (value, cost) = machine.start(func, args)?;
    Ok(Outcome { value, cost, bytes: machine.bytes, pushed: machine.pushed })
}

/// The owner of a size that differs from its type: a parameter, of a function that is called at `span`, or the result of `ensure` there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blame<'p> {
    pub function: &'p Function,
    pub v: Var,
    pub span: Span,
}

impl Blame<'_> {
    pub(crate) fn report(&self, m: Mismatch) -> Box<Diagnostic> {
        let Blame { function, v, span } = *self;
        let Some(i) = function.params().iter().position(|p| *p == v) else { return m.report(fault::VALUE, span) };
        let what = format!("argument {} of `{}`", param_name(function, i), function.name);
        let param = function.span(v);
        // An argument from outside has no place in the source except its parameter; one of a call has both.
        if span == function.span {
            return m.report(&what, param);
        }
        let d = *m.report(&what, span);
        Box::new(if param.is_none() { d } else { d.label(param, "this parameter") })
    }
}

/// Checks the number of arguments.
pub(crate) fn check_count(function: &Function, have: usize) -> Result<()> {
    match function.params().len() {
        want if want == have => Ok(()),
        want => Err(error::argument(format!("`{}` takes {want} arguments, but {have} are given", function.name))),
    }
}

/// Whether an argument, or an element of one, is of its type and not too large.
pub(crate) fn check_argument(what: &str, ty: &Type, value: &Value, max_elements: u64, span: Span) -> Result<()> {
    fits(ty, value).map_err(|why| error::argument(format!("{what} has {why}")))?;
    limit(what, value, max_elements, span)
}

fn limit(what: &str, value: &Value, max_elements: u64, span: Span) -> Result<()> {
    match value.space().par {
        n if n > max_elements => Err(too_large(what, n.into(), max_elements, span)),
        _ => Ok(()),
    }
}

/// The name of a parameter in messages.
pub(crate) fn param_name(function: &Function, i: usize) -> String {
    function.param_names.get(i).map_or_else(|| format!("number {i}"), |n| format!("`{n}`"))
}

impl<'p> Machine<'p> {
    fn new(program: &'p Program, options: &'p Options) -> Self {
        let (infos, bytes) = (vec![None; program.funcs.len()], vec![0; options.watch.len()]);
        Machine {
            program,
            options,
            steps: 0,
            max_steps: options.max_steps,
            check_associative: options.check_associative,
            infos,
            bytes,
            pushed: Vec::new(),
            streams: false,
            open: Vec::new(),
            stuck: None,
        }
    }

    /// One in which bodies with sequences run under the streaming discipline.
    pub(crate) fn streaming(program: &'p Program, options: &'p Options) -> Self {
        Machine { streams: true, ..Machine::new(program, options) }
    }

    /// A function of the program.
    pub(crate) fn function(&self, func: Func) -> Result<&'p Function> {
        let function = self.program.funcs.get(func.index());
        function.ok_or_else(|| error::bug(format!("there is no function {func}"), Span::NONE))
    }

    /// Moves the machine out, leaving a placeholder.
    pub(crate) fn take(&mut self) -> Machine<'p> {
        let new = Machine::new(self.program, self.options);
        std::mem::replace(self, new)
    }

    /// The program that it runs.
    pub(crate) fn program(&self) -> &'p Program {
        self.program
    }

    /// The maximal size of a value.
    pub(crate) fn max_elements(&self) -> u64 {
        self.options.max_elements
    }

    /// Runs a function with arguments from outside.
    fn start(&mut self, func: Func, args: &[Value]) -> Result<(Value, Cost)> {
        let function = self.function(func)?;
        check_count(function, args.len())?;
        for (i, (&p, arg)) in function.params().iter().zip(args).enumerate() {
            let what = format!("argument {}", param_name(function, i));
            check_argument(&what, function.ty(p), arg, self.max_elements(), function.span)?;
        }
        self.call(func, args, Vec::new(), function.span)
    }

    pub(crate) fn info(&mut self, func: Func) -> Rc<Info> {
        let function = &self.program.funcs[func.index()];
        let all = self.options.check_sizes;
        Rc::clone(self.infos[func.index()].get_or_insert_with(|| Rc::new(Info::new(function, all))))
    }

    /// Runs a function. `known` are sizes given by the caller, `span` is the place of the call.
    fn call(&mut self, func: Func, args: &[Value], known: Vec<(SizeVar, i128)>, span: Span) -> Result<(Value, Cost)> {
        let Some(function) = self.program.funcs.get(func.index()) else {
            return Err(error::bug(format!("there is no function {func}"), span));
        };
        let mut frame = Frame::new(function, self.info(func));
        let params: Vec<(Var, Value)> = function.params().iter().copied().zip(args.iter().cloned()).collect();
        frame.define_params(&params, known);
        self.check_params(&frame, function, span)?;
        self.body(&mut frame, Function::ROOT)
    }

    /// Compares arguments with the sizes of their parameters.
    fn check_params(&self, frame: &Frame<'p>, function: &'p Function, span: Span) -> Result<()> {
        for &p in function.params() {
            frame.check(p).map_err(|m| Blame { function, v: p, span }.report(m))?;
        }
        Ok(())
    }

    /// Runs a body whose parameters have their values.
    fn body(&mut self, frame: &mut Frame<'p>, body: Body) -> Result<(Value, Cost)> {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || {
            if self.streams && stream::has_sequences(frame.function, body) {
                return stream::body(self, frame, body);
            }
            let data = frame.function.body(body);
            let mut costs: Vec<(Cost, Space)> = Vec::with_capacity(data.stmts.len());
            for &v in &data.stmts {
                costs.push(self.statement(frame, v)?);
            }
            let Some(result) = frame.get(data.result).cloned() else {
                return Err(error::bug(format!("{} has no value", data.result), frame.function.span(data.result)));
            };
            let tail = data.stmts.last() == Some(&data.result);
            let cost = cost::body(&costs, result.space(), tail);
            Ok((result, cost))
        })
    }

    /// Whether the result of a statement is not too large.
    pub(crate) fn check_result(&self, frame: &Frame<'p>, v: Var, value: &Value) -> Result<()> {
        let name = frame.function.inst(v).map_or("a statement", |inst| inst.op.info().name);
        limit(&format!("the result of `{name}`"), value, self.options.max_elements, frame.function.span(v))
    }

    /// Runs a part of the work of a statement.
    pub(crate) fn part<T>(
        &mut self,
        frame: &mut Frame<'p>,
        v: Var,
        work: impl FnOnce(&mut Cx<'_, 'p>) -> Result<T>,
    ) -> Result<T> {
        let Some(inst) = frame.function.inst(v) else {
            return Err(error::bug(format!("{v} is not a statement"), frame.function.span(v)));
        };
        work(&mut Cx { machine: self, frame, inst, var: v, runs: [Runs::default(); 2] })
    }

    /// Runs a statement whose operands have their values.
    pub(crate) fn statement(&mut self, frame: &mut Frame<'p>, v: Var) -> Result<(Cost, Space)> {
        let function = frame.function;
        let span = function.span(v);
        self.tick(span)?;
        let Some(inst) = function.inst(v) else {
            return Err(error::bug(format!("{v} is not a statement"), span));
        };
        let mut args = Vec::with_capacity(inst.args.len());
        for &a in &inst.args {
            args.push(frame.get(a).cloned().ok_or_else(|| error::bug(format!("{a} has no value"), span))?);
        }
        let mut cx = Cx { machine: self, frame, inst, var: v, runs: [Runs::default(); 2] };
        let value = ops::apply(&mut cx, &args)?;
        let runs = cx.runs;
        let name = inst.op.info().name;
        self.check_result(frame, v, &value)?;
        let aux = |k: usize| inst.bodies.get(k).map_or(0, |b| frame.info.aux[b.index()]);
        let basic = inst.bodies.first().is_some_and(|b| frame.info.basic[b.index()]);
        let known = cost::Bodies { aux: [aux(0), aux(1)], basic };
        let cost = cost::statement(&inst.op, known, &args, &value, &runs);
        let held = value.space();
        for (most, (func, watched)) in self.bytes.iter_mut().zip(&self.options.watch) {
            let here = self.program.funcs.get(func.index()).is_some_and(|f| std::ptr::eq(f, frame.function));
            if *watched == v && here {
                *most = value.bytes().max(*most);
            }
        }
        frame.define(v, value);
        if let Op::Ensure(_) = inst.op {
            let blame = Blame { function, v, span };
            let open = frame.check(v).map_err(|m| blame.report(m))?;
            self.open.extend(open.into_iter().map(|open| (open, blame)));
        } else {
            self.verify(frame, v, name, span)?;
        }
        Ok((cost, held))
    }

    /// With `check_sizes`: a size that differs from the one in the type is a bug in Deckle.
    fn verify(&self, frame: &Frame<'p>, v: Var, op: &str, span: Span) -> Result<()> {
        if !self.options.check_sizes {
            return Ok(());
        }
        if let Err(why) = fits_var(frame, v) {
            return Err(error::bug(format!("`{op}` gave {v} {why}"), span));
        }
        let Err(m) = frame.check(v) else { return Ok(()) };
        // Sizes in types are unbounded, and integers wrap. A size that no row determines may be negative: then no row exists.
        let is_size = |n: i128| (0..=i128::from(i64::MAX)).contains(&n);
        if m.expected.is_some_and(|n| !is_size(n) && (n > 0 || m.actual == 0)) {
            return Ok(());
        }
        let expected = m.expected.map_or("not known".into(), |n| n.to_string());
        let place = m.at.iter().map(i128::to_string).collect::<Vec<_>>().join(", ");
        let (ty, actual) = (frame.function.ty(v), elements(m.actual as i128));
        let message = format!("`{op}` gave {v}: {ty} {actual} at [{place}], but the type promised {expected}");
        Err(error::bug(message, span))
    }

    /// Counts a step.
    pub(crate) fn tick(&mut self, span: Span) -> Result<()> {
        self.steps += 1;
        if let Some(limit) = self.max_steps
            && self.steps > limit
        {
            return Err(error::fault(&Fault::Steps, &[limit.into()], span));
        }
        match &self.options.interrupt {
            Some(flag) if flag.load(Ordering::Relaxed) => Err(error::fault(&Fault::Interrupted, &[], span)),
            _ => Ok(()),
        }
    }
}

fn too_large(what: &str, n: i128, limit: u64, span: Span) -> Box<Diagnostic> {
    error::fault(&Fault::TooLarge(what.to_string().into()), &[n, limit.into()], span)
}

fn fits_var(frame: &Frame<'_>, v: Var) -> std::result::Result<(), String> {
    frame.get(v).map_or(Ok(()), |value| fits(frame.function.ty(v), value))
}

/// The point in the work of an operator at which a body runs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Place<'a> {
    /// A branch.
    Once,
    /// At an element: the position that sizes mention.
    Element(usize),
    /// At the element of these indices.
    Indices(&'a [i64]),
    /// In a step of a loop.
    Step(i64),
}

/// The context of an operator: its statement, and access to its bodies.
pub(crate) struct Cx<'m, 'p> {
    machine: &'m mut Machine<'p>,
    frame: &'m mut Frame<'p>,
    /// The statement.
    pub inst: &'p Inst,
    var: Var,
    runs: [Runs; 2],
}

impl<'p> Cx<'_, 'p> {
    /// Delivers elements; `before` is the number of earlier ones.
    pub(crate) fn push(&mut self, to: usize, before: i64, elems: &[Value]) -> Result<()> {
        let all = &mut self.machine.pushed;
        all.resize_with(all.len().max(to + 1), Vec::new);
        if usize::try_from(before) != Ok(all[to].len()) {
            return Err(self.bug("elements are handed over in another order"));
        }
        all[to].extend_from_slice(elems);
        Ok(())
    }

    /// The place of the statement.
    pub(crate) fn span(&self) -> Span {
        self.frame.function.span(self.var)
    }

    /// The name of the operator.
    pub(crate) fn name(&self) -> &'static str {
        self.inst.op.info().name
    }

    /// The type of the result.
    pub(crate) fn ty(&self) -> &'p Type {
        self.frame.function.ty(self.var)
    }

    /// The sizes of the type of an operand, if known.
    pub(crate) fn dims_of_type(&self, operand: usize, depth: usize) -> Vec<Option<i128>> {
        self.inst.args.get(operand).map_or(vec![None; depth], |v| self.frame.dims_of_type(*v, depth))
    }

    /// A fault of this statement.
    pub(crate) fn fault(&self, fault: &Fault, operands: &[i128]) -> Box<Diagnostic> {
        error::fault(fault, operands, self.span())
    }

    /// An error that a well-typed program cannot cause.
    pub(crate) fn bug(&self, what: &str) -> Box<Diagnostic> {
        error::bug(format!("`{}` met {what}", self.name()), self.span())
    }

    /// Checks a number of elements against the limit.
    pub(crate) fn room(&self, n: i128) -> Result<usize> {
        let limit = self.machine.options.max_elements;
        match usize::try_from(n) {
            Ok(size) if size as u64 <= limit => Ok(size),
            _ => Err(too_large(&format!("the result of `{}`", self.name()), n, limit, self.span())),
        }
    }

    /// Allocates capacity for `n` elements.
    pub(crate) fn alloc(&self, n: usize) -> Result<Vec<Value>> {
        self.room(n as i128)?;
        let mut elems = Vec::new();
        match elems.try_reserve_exact(n) {
            Ok(()) => Ok(elems),
            Err(_) => Err(self.fault(&Fault::NoMemory, &[n as i128])),
        }
    }

    /// Counts a step.
    pub(crate) fn tick(&mut self) -> Result<()> {
        let span = self.span();
        self.machine.tick(span)
    }

    /// Runs body number `which` with these arguments.
    pub(crate) fn body(&mut self, which: usize, place: Place<'_>, args: &[Value]) -> Result<Value> {
        self.run(which, place, args).map_err(|e| self.locate(e, place))
    }

    /// As [`Cx::body`], for a result that is stored with those of all other runs: their total must not exceed the limit.
    pub(crate) fn collect(&mut self, which: usize, place: Place<'_>, args: &[Value]) -> Result<Value> {
        let value = self.body(which, place, args)?;
        self.room(self.runs[which].results.par as i128)?;
        Ok(value)
    }

    fn run(&mut self, which: usize, place: Place<'_>, args: &[Value]) -> Result<Value> {
        let span = self.span();
        self.machine.tick(span)?;
        let Some(&body) = self.inst.bodies.get(which) else { return Err(self.bug("too few bodies")) };
        let params = &self.frame.function.body(body).params;
        if params.len() != args.len() {
            return Err(self.bug("a body with other parameters"));
        }
        let at = match place {
            Place::Element(i) => Some(i as i128),
            _ => None,
        };
        self.frame.place(body, at);
        for (&p, arg) in params.iter().zip(args) {
            self.frame.define(p, arg.clone());
        }
        for &p in params {
            self.machine.verify(self.frame, p, self.name(), span)?;
        }
        let (value, cost) = self.machine.body(self.frame, body)?;
        self.runs[which].add(args, &value, cost);
        Ok(value)
    }

    /// Whether the operators of folds and scans are tested for associativity, and the body of this one is not an operator
    /// known to be associative.
    pub(crate) fn tries_associativity(&self) -> bool {
        let known = |body: &Body| {
            let result = self.frame.function.body(*body).result;
            self.frame.info.basic[body.index()]
                && matches!(
                    self.frame.function.inst(result).map(|inst| &inst.op),
                    Some(Op::Binary(
                        BinOp::Add | BinOp::Mul | BinOp::Min | BinOp::Max | BinOp::And | BinOp::Or | BinOp::Xor
                    ))
                )
        };
        self.machine.check_associative && !self.inst.bodies.first().is_some_and(known)
    }

    /// A seed for the rounding error of a float, if the run perturbs rounding.
    pub(crate) fn rounding(&self, x: Scalar) -> Option<usize> {
        let mut hasher = DefaultHasher::new();
        (self.machine.options.rounding?, self.machine.steps, x.bits()).hash(&mut hasher);
        Some(hasher.finish() as usize)
    }

    /// Where the body of this statement computes its result.
    pub(crate) fn body_span(&self) -> Span {
        let function = self.frame.function;
        self.inst.bodies.first().map_or(Span::NONE, |b| function.span(function.body(*b).result))
    }

    /// Runs bodies of this statement as a trial, in a copy of the frame: nothing is metered, counted or watched, and it may
    /// take at most `max_steps` steps.
    pub(crate) fn trial<T>(&mut self, max_steps: u64, work: impl FnOnce(&mut Cx<'_, 'p>) -> T) -> T {
        let machine = &mut *self.machine;
        let steps = std::mem::replace(&mut machine.steps, 0);
        let limit = machine.max_steps.replace(max_steps);
        let checks = std::mem::replace(&mut machine.check_associative, false);
        let bytes = machine.bytes.clone();
        let pushed = std::mem::take(&mut machine.pushed);
        let mut frame = self.frame.clone();
        let (inst, var) = (self.inst, self.var);
        let result = work(&mut Cx { machine, frame: &mut frame, inst, var, runs: [Runs::default(); 2] });
        (machine.steps, machine.max_steps, machine.check_associative) = (steps, limit, checks);
        (machine.bytes, machine.pushed) = (bytes, pushed);
        result
    }

    /// Calls a function.
    pub(crate) fn call(&mut self, func: Func, args: &[Value]) -> Result<Value> {
        let callee = self.machine.program.funcs.get(func.index());
        let known = callee.map_or(Vec::new(), |callee| self.frame.sizes_for(callee, &self.inst.args));
        let (value, cost) = self.machine.call(func, args, known, self.span())?;
        self.runs[0].add(args, &value, cost);
        Ok(value)
    }

    /// Adds to an error the point in the work of this operator at which it arose.
    pub(crate) fn locate(&self, e: Box<Diagnostic>, place: Place<'_>) -> Box<Diagnostic> {
        let (element, step) =
            (|n: usize| fault::Place::element(self.name(), n as u32), fault::Place::step(self.name()));
        match place {
            Place::Once => e,
            Place::Element(i) => error::within(e, &element(1), &[i as i128]),
            Place::Step(i) => error::within(e, &step, &[i.into()]),
            Place::Indices(list) => {
                let at: Vec<i128> = list.iter().map(|i| (*i).into()).collect();
                error::within(e, &element(list.len()), &at)
            }
        }
    }
}

#[cfg(test)]
mod tests;
