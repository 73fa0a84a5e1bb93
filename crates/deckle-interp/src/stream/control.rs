//! `if`, `guard` and `the`: values that alias those of something created later.

use super::channel::{Channel, Datum, Flow, Now, Out, Port};
use super::net::{Data, Env, Group, Label, Net, Process, Run, Step};
use super::pass::{Drain, Forward};
use crate::error;
use deckle_ir::array::Function;
use deckle_ir::entity::{Body, Var};
use deckle_ir::fault::Fault;
use std::rc::Rc;

/// Connects the sequences and concrete parts of `to` to those of `from`. All readers of `from` are registered at
/// once.
fn connect<'p, D: Data<'p>>(
    net: &mut Net<'p, '_, D>,
    from: &Flow<D::V>,
    to: &Flow<D::V>,
    streams: bool,
    group: &Group,
    of: Label,
) {
    match (from, to) {
        (Flow::Stream(from), Flow::Stream(to)) if streams => {
            net.spawn(group, of, Forward::new(vec![Port::new(from)], Out::new(to)))
        }
        (Flow::Tuple(from), Flow::Tuple(to)) => {
            from.iter().zip(to.iter()).for_each(|(from, to)| connect(net, from, to, streams, group, of))
        }
        (_, Flow::Cell(_)) if !streams => net.spawn(group, of, Copy { from: from.clone(), to: to.clone() }),
        _ => {}
    }
}

/// Makes a concrete value known when another is.
struct Copy<V> {
    from: Flow<V>,
    to: Flow<V>,
}

impl<'p, D: Data<'p>> Process<'p, D> for Copy<D::V> {
    fn step(&mut self, _: &mut Net<'p, '_, D>) -> Run<Step> {
        let Some(value) = self.from.value() else { return Ok(Step::Waits) };
        self.to.set(value);
        Ok(Step::Done)
    }

    fn why(&self) -> String {
        "waits for its value".into()
    }
}

/// A channel that a body uses from outside, read on behalf of the body that is selected.
struct Capture<V> {
    channel: Rc<Channel<V>>,
    port: Port<V>,
}

/// The variables from outside with sequences in them that bodies use.
pub(super) fn captured(function: &Function, bodies: &[Body]) -> Vec<Var> {
    let free = bodies.iter().flat_map(|b| function.free_vars(*b));
    let mut vars: Vec<Var> = free.filter(|v| !function.ty(*v).is_concrete()).collect();
    vars.sort();
    vars.dedup();
    vars
}

/// A conditional whose bodies may use sequences from outside: `if`, and `guard`, which shows an element or none.
pub(super) struct Branch<'p, D: Data<'p>> {
    env: Rc<Env<'p, D>>,
    cond: Var,
    bodies: Vec<Body>,
    captures: Vec<Capture<D::V>>,
    result: Flow<D::V>,
    /// Of `guard`.
    out: Option<Out<D::V>>,
    frame: Group,
    of: Label,
    at: Phase,
}

#[derive(PartialEq)]
enum Phase {
    Waits,
    Runs,
    Ends,
}

impl<'p, D: Data<'p>> Branch<'p, D> {
    pub(super) fn new(env: &Rc<Env<'p, D>>, of: Label, cond: Var, bodies: &[Body], result: &Flow<D::V>) -> Self {
        let mut captures: Vec<Capture<D::V>> = Vec::new();
        for v in captured(env.function, bodies) {
            let Some(flow) = env.flow(v) else { continue };
            flow.channels(&mut |c| {
                if !captures.iter().any(|k| Rc::ptr_eq(&k.channel, c)) {
                    captures.push(Capture { channel: Rc::clone(c), port: Port::new(c) });
                }
            });
        }
        let out = (bodies.len() == 1).then(|| Out::of(result));
        let (env, bodies, result) = (Rc::clone(env), bodies.to_vec(), result.clone());
        Branch { env, cond, bodies, captures, result, out, frame: Group::default(), of, at: Phase::Waits }
    }

    /// Creates the frame of the selected body, to which captured channels are forwarded; those that only the other body uses are
    /// drained.
    fn choose(&mut self, net: &mut Net<'p, '_, D>, truth: bool) {
        let chosen = self.bodies.get(usize::from(!truth)).copied();
        let env = chosen.map(|body| self.env.inside(body, None, Vec::new()));
        let mut forwarded = Vec::new();
        if let Some(env) = &env {
            for v in captured(env.function, &[env.body]) {
                if let Some(flow) = self.env.flow(v) {
                    env.define(v, replace(&flow, &mut forwarded));
                }
            }
        }
        for Capture { channel, port } in self.captures.drain(..) {
            match forwarded.iter().find(|(from, _)| Rc::ptr_eq(from, &channel)) {
                Some((_, to)) => net.spawn(&self.frame, self.of, Forward::new(vec![port], Out::new(to))),
                None => net.spawn(&self.frame, self.of, Drain(port)),
            }
        }
        let Some(env) = env else { return };
        let result = net.start(&env, &self.frame);
        match &mut self.out {
            Some(out) => out.put(Now::Element(result)),
            None => {
                connect(net, &result, &self.result, true, &self.frame, self.of);
                connect(net, &result, &self.result, false, &self.frame, self.of);
            }
        }
    }
}

/// A channel, and its replacement.
type Replaced<V> = (Rc<Channel<V>>, Rc<Channel<V>>);

/// The same value with new channels.
fn replace<V: Datum>(flow: &Flow<V>, made: &mut Vec<Replaced<V>>) -> Flow<V> {
    match flow {
        Flow::Cell(_) => flow.clone(),
        Flow::Tuple(parts) => Flow::Tuple(parts.iter().map(|p| replace(p, made)).collect()),
        Flow::Stream(channel) => {
            let known = made.iter().find(|(from, _)| Rc::ptr_eq(from, channel)).map(|(_, to)| Rc::clone(to));
            Flow::Stream(known.unwrap_or_else(|| {
                let new = Channel::new();
                made.push((Rc::clone(channel), Rc::clone(&new)));
                new
            }))
        }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Branch<'p, D> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.out.as_mut().is_some_and(Out::poll) {
            return Ok(Step::Moved);
        }
        let idle = self.out.as_ref().is_none_or(Out::idle);
        match self.at {
            Phase::Waits => {
                let Some(c) = self.env.value(self.cond) else { return Ok(Step::Waits) };
                self.choose(net, c.truth());
                self.at = Phase::Runs;
                Ok(Step::Moved)
            }
            Phase::Runs if idle && self.frame.get() == 0 => {
                if let Some(out) = &mut self.out {
                    out.put(Now::End);
                }
                self.at = Phase::Ends;
                Ok(Step::Moved)
            }
            Phase::Ends if idle => Ok(Step::Done),
            _ => Ok(Step::Waits),
        }
    }

    fn why(&self) -> String {
        match (&self.at, &self.out) {
            (Phase::Waits, _) => format!("needs the value of {}", self.cond),
            (_, Some(out)) if !out.idle() => out.why().into(),
            _ => "has not done all the work of its body".into(),
        }
    }
}

/// `the` of a sequence whose elements have sequences in them. The concrete parts of its element are known at the end, as for any sequence.
pub(super) struct The<V> {
    port: Port<V>,
    elem: Option<Flow<V>>,
    result: Flow<V>,
    frame: Group,
    of: Label,
    inside: bool,
}

impl<V: Datum> The<V> {
    pub(super) fn new(port: Port<V>, result: &Flow<V>, of: Label) -> Self {
        The { port, elem: None, result: result.clone(), frame: Group::default(), of, inside: false }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for The<D::V> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.inside {
            if self.frame.get() > 0 {
                return Ok(Step::Waits);
            }
            self.inside = false;
            self.port.done();
            return Ok(Step::Moved);
        }
        match (self.port.peek(), &self.elem) {
            (None, _) => Ok(Step::Waits),
            (Some(Now::Element(flow)), None) => {
                connect(net, &flow, &self.result, true, &self.frame, self.of);
                self.port.take();
                self.elem = Some(flow);
                self.inside = true;
                Ok(Step::Moved)
            }
            (Some(Now::End), Some(flow)) => {
                connect(net, flow, &self.result, false, &self.frame, self.of);
                Ok(Step::Done)
            }
            (Some(Now::Element(_)), Some(_)) => {
                Err(net.data.fail(|| error::fault(&Fault::NotSingleton, &[2], self.of.span)))
            }
            (Some(Now::End), None) => Err(net.data.fail(|| error::fault(&Fault::NotSingleton, &[0], self.of.span))),
        }
    }

    fn why(&self) -> String {
        if self.inside { "has not passed on all of its element".into() } else { "waits for its element".into() }
    }
}
