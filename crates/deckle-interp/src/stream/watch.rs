//! Observing sizes: the sizes of types that elements of sequences, and parameters, determine, and whether they agree.
//!
//! A watch is one more reader of every sequence in a variable that has vectors in its elements. It waits only for the
//! values of the elements, which their producer must compute before the next ones, so that it does not cause a program to get
//! stuck.

use super::channel::{Datum, Flow, Now, Port};
use super::net::{Data, Env, Net, Part, Process, Run, Step, moved};
use crate::sizes::has_sizes;
use deckle_diag::Span;
use deckle_ir::entity::Var;
use deckle_ir::types::Type;
use std::rc::Rc;

/// Observes one variable.
pub(super) struct Watch<'p, D: Data<'p>> {
    env: Rc<Env<'p, D>>,
    v: Var,
    /// The place to report wrong sizes.
    span: Span,
    seen: Seen<'p, D::V>,
}

/// How far a variable, or a part of it, has been observed.
enum Seen<'p, V> {
    /// All of it, or there are no sizes in it.
    Done,
    /// A concrete value, once it is known.
    Value(&'p Type, Flow<V>),
    Tuple(Vec<Seen<'p, V>>),
    Stream {
        elem: &'p Type,
        port: Port<V>,
        /// The number of elements that have been taken.
        n: usize,
        /// The last of them, while it is observed.
        now: Option<Box<Seen<'p, V>>>,
    },
}

impl<'p, V: Datum> Seen<'p, V> {
    /// Registers with every sequence that determines sizes.
    fn new(ty: &'p Type, flow: &Flow<V>) -> Self {
        match (flow, ty.parts()) {
            _ if !has_sizes(ty) => Seen::Done,
            (Flow::Stream(channel), _) => match ty.elem() {
                Some(elem) => Seen::Stream { elem, port: Port::new(channel), n: 0, now: None },
                None => Seen::Done,
            },
            (Flow::Tuple(flows), Some(types)) if !ty.is_concrete() => {
                Seen::Tuple(types.into_iter().zip(flows.iter()).map(|(ty, flow)| Seen::new(ty, flow)).collect())
            }
            _ => Seen::Value(ty, flow.clone()),
        }
    }

    fn is_done(&self) -> bool {
        match self {
            Seen::Done => true,
            Seen::Tuple(parts) => parts.iter().all(Seen::is_done),
            _ => false,
        }
    }

    /// Observes the available parts, at these positions. Returns whether there were any.
    fn poll(&mut self, at: &mut Vec<i128>, found: &mut Found<'_, 'p, V>) -> Run<bool> {
        match self {
            Seen::Done => Ok(false),
            Seen::Value(ty, flow) => {
                let Some(value) = flow.value() else { return Ok(false) };
                found(ty, at, &value)?;
                *self = Seen::Done;
                Ok(true)
            }
            Seen::Tuple(parts) => parts.iter_mut().try_fold(false, |any, part| Ok(part.poll(at, found)? | any)),
            Seen::Stream { port, n, now: now @ Some(_), .. } => {
                let Some(inner) = now else { return Ok(false) };
                at.push(*n as i128 - 1);
                let any = inner.poll(at, found);
                at.pop();
                if !inner.is_done() {
                    return any;
                }
                *now = None;
                port.done();
                any.map(|_| true)
            }
            Seen::Stream { elem, port, n, now } => match port.peek() {
                None => Ok(false),
                Some(Now::Element(flow)) => {
                    *now = Some(Box::new(Seen::new(elem, &flow)));
                    *n += 1;
                    port.take();
                    Ok(true)
                }
                Some(Now::End) => {
                    *self = Seen::Done;
                    Ok(true)
                }
            },
        }
    }
}

/// The callback for a concrete part: its type, its positions, its value.
type Found<'f, 'p, V> = dyn FnMut(&'p Type, &[i128], &V) -> Run<()> + 'f;

impl<'p, D: Data<'p>> Watch<'p, D> {
    pub(super) fn new(env: &Rc<Env<'p, D>>, v: Var, flow: &Flow<D::V>, span: Span) -> Self {
        Watch { env: Rc::clone(env), v, span, seen: Seen::new(env.function.ty(v), flow) }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Watch<'p, D> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        let Watch { env, v, span, seen } = self;
        let any = seen.poll(&mut Vec::new(), &mut |ty, at, value| {
            net.data.observe(env, Part { v: *v, ty, at, span: *span }, value)
        })?;
        if !seen.is_done() {
            return Ok(moved(any));
        }
        net.data.observed(env, *v)?;
        Ok(Step::Done)
    }

    fn why(&self) -> String {
        "waits for sizes".into()
    }
}
