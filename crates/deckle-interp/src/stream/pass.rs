//! Passing elements on unchanged: forwarding, `append`, `flatten`, `flagpart`, and draining.

use super::channel::{Channel, Datum, Flow, Now, Out, Port};
use super::net::{Data, Net, Process, Run, Step};
use crate::error;
use deckle_diag::Span;
use deckle_ir::fault::Fault;

/// Reads sequences one after another and shows their elements: `append`, and forwarding where there is only one.
pub(super) struct Forward<V> {
    ports: std::vec::IntoIter<Port<V>>,
    port: Option<Port<V>>,
    out: Out<V>,
    inside: bool,
}

impl<V: Datum> Forward<V> {
    pub(super) fn new(ports: Vec<Port<V>>, out: Out<V>) -> Self {
        let mut ports = ports.into_iter();
        let port = ports.next();
        Forward { ports, port, out, inside: false }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Forward<D::V> {
    fn step(&mut self, _: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.out.poll() {
            return Ok(Step::Moved);
        }
        if !self.out.idle() {
            return Ok(Step::Waits);
        }
        let Some(port) = &self.port else { return Ok(Step::Done) };
        if self.inside {
            port.done();
            self.inside = false;
            return Ok(Step::Moved);
        }
        match port.peek() {
            None => return Ok(Step::Waits),
            Some(Now::Element(flow)) => {
                self.out.put(Now::Element(flow));
                port.take();
                self.inside = true;
            }
            Some(Now::End) => {
                self.port = self.ports.next();
                if self.port.is_none() {
                    self.out.put(Now::End);
                }
            }
        }
        Ok(Step::Moved)
    }

    fn why(&self) -> String {
        if self.out.idle() { "waits for an element of its operand".into() } else { self.out.why().into() }
    }
}

/// `flatten` of a sequence of sequences.
pub(super) struct Flatten<V> {
    outer: Port<V>,
    inner: Option<Port<V>>,
    out: Out<V>,
    inside: bool,
    ended: bool,
}

impl<V: Datum> Flatten<V> {
    pub(super) fn new(outer: Port<V>, result: &Flow<V>) -> Self {
        Flatten { outer, inner: None, out: Out::of(result), inside: false, ended: false }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Flatten<D::V> {
    fn step(&mut self, _: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.out.poll() {
            return Ok(Step::Moved);
        }
        if !self.out.idle() {
            return Ok(Step::Waits);
        }
        if self.ended {
            return Ok(Step::Done);
        }
        match &self.inner {
            Some(inner) if self.inside => {
                inner.done();
                self.inside = false;
            }
            Some(inner) => match inner.peek() {
                None => return Ok(Step::Waits),
                Some(Now::Element(flow)) => {
                    self.out.put(Now::Element(flow));
                    inner.take();
                    self.inside = true;
                }
                Some(Now::End) => {
                    self.inner = None;
                    self.outer.done();
                }
            },
            None => match self.outer.peek() {
                None => return Ok(Step::Waits),
                Some(Now::Element(flow)) => {
                    flow.channels(&mut |c| self.inner = Some(Port::new(c)));
                    self.outer.take();
                }
                Some(Now::End) => {
                    self.ended = true;
                    self.out.put(Now::End);
                }
            },
        }
        Ok(Step::Moved)
    }

    fn why(&self) -> String {
        match (self.out.idle(), &self.inner) {
            (false, _) => self.out.why().into(),
            (true, Some(_)) => "waits for an element of an inner sequence".into(),
            (true, None) => "waits for an inner sequence".into(),
        }
    }
}

/// The state of `flagpart`.
#[derive(PartialEq)]
enum Cut {
    /// Waits for a flag.
    Flag,
    /// Passes an element on.
    Element,
    /// Ends a part.
    Part,
    /// Ends everything.
    End,
}

/// `flagpart`.
pub(super) struct FlagPart<V> {
    elems: Port<V>,
    flags: Port<V>,
    out: Out<V>,
    /// The open part.
    part: Option<Out<V>>,
    at: Cut,
    span: Span,
}

impl<V: Datum> FlagPart<V> {
    pub(super) fn new(elems: Port<V>, flags: Port<V>, result: &Flow<V>, span: Span) -> Self {
        FlagPart { elems, flags, out: Out::of(result), part: None, at: Cut::Flag, span }
    }

    fn fail<'p, D: Data<'p, V = V>>(&self, data: &D, fault: &Fault) -> Run<Step> {
        Err(data.fail(|| error::fault(fault, &[], self.span)))
    }

    fn flag<'p, D: Data<'p, V = V>>(&mut self, data: &D, flag: &Flow<V>) -> Run<Step> {
        let Some(part) = &mut self.part else {
            let channel = Channel::new();
            self.part = Some(Out::new(&channel));
            self.out.put(Now::Element(Flow::Stream(channel)));
            return Ok(Step::Moved);
        };
        match (flag.value().map(|f| f.truth()), self.elems.peek()) {
            (Some(true), _) => {
                part.put(Now::End);
                self.at = Cut::Part;
                Ok(Step::Moved)
            }
            (Some(false), Some(Now::Element(flow))) => {
                part.put(Now::Element(flow));
                self.elems.take();
                self.at = Cut::Element;
                Ok(Step::Moved)
            }
            (Some(false), Some(Now::End)) => self.fail(data, &Fault::ManyFlags),
            _ => Ok(Step::Waits),
        }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for FlagPart<D::V> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.out.poll() || self.part.as_mut().is_some_and(Out::poll) {
            return Ok(Step::Moved);
        }
        let part_idle = self.part.as_ref().is_none_or(Out::idle);
        match self.at {
            Cut::Flag => match (self.flags.peek(), self.elems.peek()) {
                (Some(Now::Element(flag)), _) => self.flag(net.data, &flag),
                (Some(Now::End), _) if self.part.is_some() => self.fail(net.data, &Fault::OpenGroup),
                (Some(Now::End), Some(Now::Element(_))) => self.fail(net.data, &Fault::FewFlags),
                (Some(Now::End), Some(Now::End)) => {
                    self.out.put(Now::End);
                    self.at = Cut::End;
                    Ok(Step::Moved)
                }
                _ => Ok(Step::Waits),
            },
            Cut::Element if part_idle => {
                self.elems.done();
                self.flags.done();
                self.at = Cut::Flag;
                Ok(Step::Moved)
            }
            Cut::Part if part_idle && self.out.idle() => {
                self.part = None;
                self.flags.done();
                self.at = Cut::Flag;
                Ok(Step::Moved)
            }
            Cut::End if self.out.idle() => Ok(Step::Done),
            _ => Ok(Step::Waits),
        }
    }

    fn why(&self) -> String {
        match (&self.at, &self.part) {
            (Cut::Flag, _) => "waits for a flag and an element".into(),
            (Cut::Element, Some(part)) => part.why().into(),
            _ => self.out.why().into(),
        }
    }
}

/// Reads and discards a sequence.
pub(super) struct Drain<V>(pub Port<V>);

impl<'p, D: Data<'p>> Process<'p, D> for Drain<D::V> {
    fn step(&mut self, _: &mut Net<'p, '_, D>) -> Run<Step> {
        Ok(match self.0.peek() {
            None => Step::Waits,
            Some(Now::Element(_)) => {
                self.0.done();
                Step::Moved
            }
            Some(Now::End) => Step::Done,
        })
    }

    fn why(&self) -> String {
        "reads a sequence that it does not use".into()
    }
}
