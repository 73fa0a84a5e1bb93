//! Element by element: `map`, `produce`, `zip` and `unzip`.

use super::channel::{Datum, Flow, Now, Out, Port};
use super::net::{Data, Env, Group, Label, Net, Process, Run, Step};
use crate::error;
use deckle_diag::Span;
use deckle_ir::entity::{Body, Var};
use deckle_ir::fault::Fault;
use std::rc::Rc;

/// The state shown by several sequences that are read in lockstep.
enum Row<V> {
    Element(Vec<Flow<V>>),
    End,
}

/// Several sequences that are read in lockstep.
struct Rows<V> {
    ports: Vec<Port<V>>,
    /// The number of elements taken of each.
    n: usize,
    span: Span,
}

impl<V: Datum> Rows<V> {
    /// The row they show, once all do.
    fn peek<'p, D: Data<'p, V = V>>(&self, data: &D) -> Run<Option<Row<V>>> {
        let shown: Vec<Option<Now<V>>> = self.ports.iter().map(Port::peek).collect();
        let ended = shown.iter().flatten().filter(|now| matches!(now, Now::End)).count();
        let elems: Vec<Flow<V>> = shown
            .into_iter()
            .flatten()
            .filter_map(|now| match now {
                Now::Element(flow) => Some(flow),
                Now::End => None,
            })
            .collect();
        if ended > 0 && !elems.is_empty() {
            return Err(data.fail(|| error::fault(&Fault::Uneven, &[], self.span)));
        }
        Ok(match self.ports.len() {
            all if elems.len() == all => Some(Row::Element(elems)),
            all if ended == all => Some(Row::End),
            _ => None,
        })
    }

    fn take(&mut self) {
        self.ports.iter().for_each(Port::take);
        self.n += 1;
    }

    fn done(&self) {
        self.ports.iter().for_each(Port::done);
    }
}

/// The progress of an elementwise operator.
#[derive(PartialEq)]
pub(super) enum At {
    /// Values that it needs to begin are unknown.
    Start,
    /// Between elements.
    Between,
    /// At an element.
    Inside,
    /// After the last.
    End,
}

/// `map` over sequences, and `produce`: a frame for each element.
pub(super) struct Map<'p, D: Data<'p>> {
    env: Rc<Env<'p, D>>,
    body: Body,
    wants: Vec<Var>,
    rows: Rows<D::V>,
    /// The operand of `produce`, and the number of elements that it gives.
    times: Option<(Var, usize)>,
    out: Out<D::V>,
    frame: Group,
    at: At,
}

impl<'p, D: Data<'p>> Map<'p, D> {
    pub(super) fn new(
        env: &Rc<Env<'p, D>>,
        of: Label,
        body: Body,
        wants: Vec<Var>,
        ports: Vec<Port<D::V>>,
        result: &Flow<D::V>,
    ) -> Self {
        let rows = Rows { ports, n: 0, span: of.span };
        let (out, frame) = (Out::of(result), Group::default());
        Map { env: Rc::clone(env), body, wants, rows, times: None, out, frame, at: At::Start }
    }

    /// The same for the numbers below the value of a variable.
    pub(super) fn produce(mut self, n: Var) -> Self {
        self.times = Some((n, 0));
        self
    }

    fn next(&mut self, net: &mut Net<'p, '_, D>) -> Run<Option<Row<D::V>>> {
        match self.times {
            Some((_, n)) if self.rows.n < n => Ok(Some(Row::Element(vec![Flow::known(net.data.int(self.rows.n))]))),
            Some(_) => Ok(Some(Row::End)),
            None => self.rows.peek(net.data),
        }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Map<'p, D> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.out.poll() {
            return Ok(Step::Moved);
        }
        match self.at {
            At::Start => {
                if self.env.missing(&self.wants).is_some() {
                    return Ok(Step::Waits);
                }
                if let Some((v, n)) = &mut self.times
                    && let Some(value) = self.env.value(*v)
                {
                    *n = net.data.times(&value, self.rows.span)?;
                }
                self.at = At::Between;
                Ok(Step::Moved)
            }
            At::Between => match self.next(net)? {
                None => Ok(Step::Waits),
                Some(Row::End) => {
                    self.out.put(Now::End);
                    self.at = At::End;
                    Ok(Step::Moved)
                }
                Some(Row::Element(params)) => {
                    let env = self.env.inside(self.body, Some(self.rows.n), params);
                    let result = net.start(&env, &self.frame);
                    self.out.put(Now::Element(result));
                    self.rows.take();
                    self.at = At::Inside;
                    Ok(Step::Moved)
                }
            },
            At::Inside if self.out.idle() && self.frame.get() == 0 => {
                self.rows.done();
                self.at = At::Between;
                Ok(Step::Moved)
            }
            At::End if self.out.idle() => Ok(Step::Done),
            _ => Ok(Step::Waits),
        }
    }

    fn why(&self) -> String {
        match (&self.at, self.env.missing(&self.wants)) {
            (At::Start, Some(v)) => format!("needs the value of {v}"),
            (At::Inside, _) if self.out.idle() => "has not done all the work at an element".into(),
            (At::Between, _) => "waits for an element of each operand".into(),
            _ => self.out.why().into(),
        }
    }
}

/// `zip` of sequences.
pub(super) struct Zip<V> {
    rows: Rows<V>,
    out: Out<V>,
    at: At,
}

impl<V: Datum> Zip<V> {
    pub(super) fn new(ports: Vec<Port<V>>, result: &Flow<V>, of: Label) -> Self {
        Zip { rows: Rows { ports, n: 0, span: of.span }, out: Out::of(result), at: At::Between }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Zip<D::V> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.out.poll() {
            return Ok(Step::Moved);
        }
        if !self.out.idle() {
            return Ok(Step::Waits);
        }
        match self.at {
            At::Inside => {
                self.rows.done();
                self.at = At::Between;
            }
            At::End => return Ok(Step::Done),
            _ => match self.rows.peek(net.data)? {
                None => return Ok(Step::Waits),
                Some(Row::End) => {
                    self.out.put(Now::End);
                    self.at = At::End;
                }
                Some(Row::Element(parts)) => {
                    self.out.put(Now::Element(Flow::Tuple(parts.into())));
                    self.rows.take();
                    self.at = At::Inside;
                }
            },
        }
        Ok(Step::Moved)
    }

    fn why(&self) -> String {
        if self.at == At::Between { "waits for an element of each operand".into() } else { self.out.why().into() }
    }
}

/// `unzip` of a sequence.
pub(super) struct Unzip<V> {
    port: Port<V>,
    outs: Vec<Out<V>>,
    /// An element that is not known yet, and its future components.
    open: Option<(Flow<V>, Flow<V>)>,
    at: At,
}

impl<V: Datum> Unzip<V> {
    pub(super) fn new(port: Port<V>, result: &Flow<V>) -> Self {
        let outs = match result {
            Flow::Tuple(parts) => parts.iter().map(Out::of).collect(),
            _ => Vec::new(),
        };
        Unzip { port, outs, open: None, at: At::Between }
    }

    fn put(&mut self, flow: Flow<V>) {
        let parts = match &flow {
            Flow::Tuple(parts) => Rc::clone(parts),
            _ => {
                let parts: Rc<[Flow<V>]> = self.outs.iter().map(|_| Flow::Cell(Rc::default())).collect();
                self.open = Some((flow, Flow::Tuple(Rc::clone(&parts))));
                parts
            }
        };
        for (out, part) in self.outs.iter_mut().zip(parts.iter()) {
            out.put(Now::Element(part.clone()));
        }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Unzip<D::V> {
    fn step(&mut self, _: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.outs.iter_mut().fold(false, |any, out| out.poll() | any) {
            return Ok(Step::Moved);
        }
        if let Some((whole, parts)) = &self.open
            && let Some(value) = whole.value()
        {
            parts.set(value);
            self.open = None;
            return Ok(Step::Moved);
        }
        if self.open.is_some() || !self.outs.iter().all(Out::idle) {
            return Ok(Step::Waits);
        }
        match self.at {
            At::Inside => {
                self.port.done();
                self.at = At::Between;
            }
            At::End => return Ok(Step::Done),
            _ => match self.port.peek() {
                None => return Ok(Step::Waits),
                Some(Now::End) => {
                    self.outs.iter_mut().for_each(|out| out.put(Now::End));
                    self.at = At::End;
                }
                Some(Now::Element(flow)) => {
                    self.put(flow);
                    self.port.take();
                    self.at = At::Inside;
                }
            },
        }
        Ok(Step::Moved)
    }

    fn why(&self) -> String {
        self.outs.iter().find(|out| !out.idle()).map_or("waits for an element of its operand", Out::why).into()
    }
}
