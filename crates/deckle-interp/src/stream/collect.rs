//! Between sequences over time and materialised values: feeding, collecting, and statements that need this.

use super::channel::{Channel, Datum, Flow, Now, Out, Port};
use super::net::{Data, Env, Group, Halt, Label, Net, Process, Pull, Run, Step, moved};
use deckle_ir::entity::Var;
use deckle_ir::types::Type;
use std::cell::OnceCell;
use std::ops::ControlFlow;
use std::rc::Rc;

/// The supply of elements of a sequence from outside.
pub(super) enum Supply<'p, V> {
    /// All are in memory.
    Whole(std::vec::IntoIter<V>),
    /// A source returns them one by one.
    Pulled(Pull<'p, V>),
    /// The source has failed: there is neither another element nor an end.
    Failed,
}

/// Shows the elements of a sequence from outside.
pub(super) struct Feed<'p, V> {
    elem: Type,
    items: Supply<'p, V>,
    out: Out<V>,
    /// The processes that feed sequences inside the element.
    inner: Group,
    of: Label,
    ended: bool,
}

impl<'p, V: Datum> Feed<'p, V> {
    pub(super) fn new(elem: Type, items: Supply<'p, V>, channel: &Rc<Channel<V>>, of: Label) -> Self {
        Feed { elem, items, out: Out::new(channel), inner: Group::default(), of, ended: false }
    }

    /// The next element, or the end, if known.
    fn next<D: Data<'p, V = V>>(&mut self, net: &mut Net<'p, '_, D>) -> Option<Option<V>> {
        match &mut self.items {
            Supply::Whole(items) => Some(items.next()),
            Supply::Pulled(pull) if net.pulling => match pull() {
                Ok(next) => Some(next),
                Err(halt) => {
                    net.failed.get_or_insert(halt);
                    self.items = Supply::Failed;
                    None
                }
            },
            Supply::Pulled(_) | Supply::Failed => None,
        }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Feed<'p, D::V> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.out.poll() {
            return Ok(Step::Moved);
        }
        if !self.out.idle() || self.inner.get() > 0 {
            return Ok(Step::Waits);
        }
        if self.ended {
            return Ok(Step::Done);
        }
        let Some(next) = self.next(net) else { return Ok(Step::Waits) };
        self.out.put(match next {
            None => {
                self.ended = true;
                Now::End
            }
            Some(value) => {
                let flow = Flow::of_type(&self.elem);
                net.feed(&self.elem, value, &flow, &self.inner, self.of);
                Now::Element(flow)
            }
        });
        Ok(Step::Moved)
    }

    fn why(&self) -> String {
        self.out.why().into()
    }
}

/// Shows values of the frame: `mkseq`. Concrete ones are all known before the first is shown. Those with sequences in them are
/// shown one after another as with `append`, each when its concrete parts are known.
pub(super) struct Literal<V> {
    elems: Vec<Flow<V>>,
    streams: bool,
    /// The number of elements that have been put.
    at: usize,
    out: Out<V>,
    ended: bool,
}

impl<V: Datum> Literal<V> {
    /// Its elements are held until each is shown.
    pub(super) fn new(elems: Vec<Flow<V>>, result: &Flow<V>) -> Literal<V> {
        elems.iter().for_each(|e| e.hold(1));
        let mut streams = false;
        elems.iter().for_each(|e| e.channels(&mut |_| streams = true));
        Literal { elems, streams, at: 0, out: Out::of(result), ended: false }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Literal<D::V> {
    fn step(&mut self, _: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.out.poll() {
            return Ok(Step::Moved);
        }
        let next = if self.streams { self.at..self.elems.len().min(self.at + 1) } else { 0..self.elems.len() };
        if !self.out.idle() || !self.elems[next].iter().all(Flow::cells_known) {
            return Ok(Step::Waits);
        }
        if self.ended {
            return Ok(Step::Done);
        }
        match self.elems.get(self.at) {
            Some(flow) => {
                self.out.put(Now::Element(flow.clone()));
                flow.let_go();
            }
            None => {
                self.ended = true;
                self.out.put(Now::End);
                return Ok(Step::Moved);
            }
        }
        self.at += 1;
        Ok(Step::Moved)
    }

    fn why(&self) -> String {
        if self.out.idle() { "waits for the values of its elements".into() } else { self.out.why().into() }
    }
}

/// Reads a value to its end.
pub(super) enum Collect<V> {
    /// Concrete.
    Known(Flow<V>),
    /// Component by component.
    Tuple(Vec<Collect<V>>),
    /// Element by element.
    Stream {
        port: Port<V>,
        elems: Vec<V>,
        /// The element that is being read.
        now: Option<Box<Collect<V>>>,
        ended: bool,
    },
}

impl<V: Datum> Collect<V> {
    /// Registers with everything in the value.
    pub(super) fn new(flow: &Flow<V>) -> Collect<V> {
        match flow {
            Flow::Cell(_) => Collect::Known(flow.clone()),
            Flow::Tuple(parts) => Collect::Tuple(parts.iter().map(Collect::new).collect()),
            Flow::Stream(c) => Collect::Stream { port: Port::new(c), elems: Vec::new(), now: None, ended: false },
        }
    }

    /// Reads on, if possible. Returns whether it did.
    pub(super) fn poll(&mut self) -> bool {
        match self {
            Collect::Known(_) => false,
            Collect::Tuple(parts) => parts.iter_mut().fold(false, |any, p| p.poll() | any),
            Collect::Stream { port, elems, now: now @ Some(_), .. } => {
                let Some(inner) = now else { return false };
                let any = inner.poll();
                let Some(value) = inner.value() else { return any };
                elems.push(value);
                *now = None;
                port.done();
                true
            }
            Collect::Stream { ended: true, .. } => false,
            Collect::Stream { port, now, ended, .. } => match port.peek() {
                Some(Now::Element(flow)) => {
                    *now = Some(Box::new(Collect::new(&flow)));
                    port.take();
                    true
                }
                Some(Now::End) => {
                    *ended = true;
                    true
                }
                None => false,
            },
        }
    }

    /// The value, when it is read to its end.
    pub(super) fn value(&self) -> Option<V> {
        match self {
            Collect::Known(flow) => flow.value(),
            Collect::Tuple(parts) => parts.iter().map(Collect::value).collect::<Option<_>>().map(V::tuple),
            Collect::Stream { ended: false, .. } => None,
            Collect::Stream { elems, .. } => Some(V::sequence(elems.clone())),
        }
    }
}

/// Collects the result of a run.
pub(super) struct Gather<V> {
    result: Collect<V>,
    cell: Rc<OnceCell<V>>,
}

impl<V: Datum> Gather<V> {
    pub(super) fn new(result: &Flow<V>, cell: &Rc<OnceCell<V>>) -> Gather<V> {
        Gather { result: Collect::new(result), cell: Rc::clone(cell) }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Gather<D::V> {
    fn step(&mut self, _: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.result.poll() {
            return Ok(Step::Moved);
        }
        match self.result.value() {
            Some(value) => {
                _ = self.cell.set(value);
                Ok(Step::Done)
            }
            None => Ok(Step::Waits),
        }
    }

    fn why(&self) -> String {
        "the result is not complete".into()
    }
}

/// Takes an element of the result, and returns whether to continue.
pub(super) type Take<'p, V> = Box<dyn FnMut(V) -> ControlFlow<()> + 'p>;

/// Delivers the elements of a result to the consumer, each when it is complete.
pub(super) struct HandOver<'p, V> {
    port: Port<V>,
    take: Take<'p, V>,
    /// The element that is being read.
    now: Option<Collect<V>>,
}

impl<'p, V: Datum> HandOver<'p, V> {
    pub(super) fn new(result: &Rc<Channel<V>>, take: Take<'p, V>) -> Self {
        HandOver { port: Port::new(result), take, now: None }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for HandOver<'p, D::V> {
    fn step(&mut self, _: &mut Net<'p, '_, D>) -> Run<Step> {
        let Some(now) = &mut self.now else {
            return Ok(match self.port.peek() {
                None => Step::Waits,
                Some(Now::End) => Step::Done,
                Some(Now::Element(flow)) => {
                    self.now = Some(Collect::new(&flow));
                    self.port.take();
                    Step::Moved
                }
            });
        };
        let any = now.poll();
        let Some(value) = now.value() else { return Ok(moved(any)) };
        self.now = None;
        self.port.done();
        match (self.take)(value) {
            ControlFlow::Continue(()) => Ok(Step::Moved),
            ControlFlow::Break(()) => Err(Halt::Enough),
        }
    }

    fn why(&self) -> String {
        "the result is not complete".into()
    }
}

/// A statement that waits for its concrete operands and for the variables that its bodies use, then reads its sequences to the end, and is
/// then evaluated at once: sources, materialisations, loops, and everything without sequences.
pub(super) struct Whole<'p, D: Data<'p>> {
    env: Rc<Env<'p, D>>,
    v: Var,
    wants: Vec<Var>,
    ready: bool,
    operands: Vec<Collect<D::V>>,
    result: Flow<D::V>,
    group: Group,
    of: Label,
}

impl<'p, D: Data<'p>> Whole<'p, D> {
    pub(super) fn new(
        env: &Rc<Env<'p, D>>,
        of: Label,
        wants: Vec<Var>,
        operands: &[Flow<D::V>],
        result: &Flow<D::V>,
        group: &Group,
    ) -> Self {
        let operands = operands.iter().map(Collect::new).collect();
        let (env, group) = (Rc::clone(env), Rc::clone(group));
        Whole { env, v: of.var, wants, ready: false, operands, result: result.clone(), group, of }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Whole<'p, D> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        if !self.ready {
            self.ready = self.env.missing(&self.wants).is_none();
            return Ok(moved(self.ready));
        }
        if self.operands.iter_mut().fold(false, |any, o| o.poll() | any) {
            return Ok(Step::Moved);
        }
        let Some(args) = self.operands.iter().map(Collect::value).collect() else { return Ok(Step::Waits) };
        let value = net.data.apply(&self.env, self.v, args)?;
        net.feed(self.env.function.ty(self.v), value, &self.result, &self.group, self.of);
        Ok(Step::Done)
    }

    fn why(&self) -> String {
        match self.env.missing(&self.wants) {
            Some(v) if !self.ready => format!("needs the value of {v}"),
            _ => "reads its operand to the end".into(),
        }
    }
}

/// Counts a sequence, or tests whether it is empty, without reading its elements.
pub(super) struct Count<V> {
    port: Port<V>,
    result: Flow<V>,
    /// Only whether there are any.
    any: bool,
    n: usize,
}

impl<V: Datum> Count<V> {
    pub(super) fn new(port: Port<V>, result: &Flow<V>, any: bool) -> Count<V> {
        Count { port, result: result.clone(), any, n: 0 }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Count<D::V> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        match self.port.peek() {
            None => Ok(Step::Waits),
            Some(Now::Element(_)) => {
                self.port.done();
                self.n += 1;
                if self.any {
                    self.result.set(D::V::boolean(false));
                }
                Ok(Step::Moved)
            }
            Some(Now::End) => {
                self.result.set(if self.any { D::V::boolean(self.n == 0) } else { net.data.int(self.n) });
                Ok(Step::Done)
            }
        }
    }

    fn why(&self) -> String {
        "reads its operand to the end".into()
    }
}
