//! `scan` of a sequence, whose partial results keep pace with the elements, and `fold`, `fold1` and `reduce`, which store only
//! the combination so far.

use super::channel::{Flow, Now, Out, Port};
use super::elements::At;
use super::net::{Data, Env, Label, Net, Process, Run, Step};
use deckle_ir::array::ScanKind;
use deckle_ir::entity::Var;
use std::rc::Rc;

/// `scan` of a sequence.
pub(super) struct Scan<'p, D: Data<'p>> {
    env: Rc<Env<'p, D>>,
    v: Var,
    kind: ScanKind,
    wants: Vec<Var>,
    start: Option<Var>,
    port: Port<D::V>,
    out: Out<D::V>,
    total: Option<D::V>,
    /// The element to be combined with the total: before the next one, in an exclusive scan.
    elem: Option<Flow<D::V>>,
    /// The partial result that is shown and not yet known.
    open: Option<Flow<D::V>>,
    n: usize,
    at: At,
}

impl<'p, D: Data<'p>> Scan<'p, D> {
    pub(super) fn new(
        env: &Rc<Env<'p, D>>,
        of: Label,
        (kind, start): (ScanKind, Option<Var>),
        wants: Vec<Var>,
        port: Port<D::V>,
        result: &Flow<D::V>,
    ) -> Self {
        let (env, v, out) = (Rc::clone(env), of.var, Out::of(result));
        Scan { env, v, kind, wants, start, port, out, total: None, elem: None, open: None, n: 0, at: At::Start }
    }

    /// Combines the element with the total, if both are known. Returns whether it did.
    fn combine(&mut self, net: &mut Net<'p, '_, D>) -> Run<bool> {
        let Some(x) = self.elem.as_ref().and_then(Flow::value) else { return Ok(false) };
        let total = match self.total.take() {
            None => x,
            Some(total) => net.data.combine(&self.env, self.v, self.n - 1, [total, x])?,
        };
        if let Some(open) = self.open.take() {
            open.set(total.clone());
        }
        self.total = Some(total);
        self.elem = None;
        Ok(true)
    }

    fn take(&mut self, net: &mut Net<'p, '_, D>, flow: Flow<D::V>) -> Run<()> {
        // An exclusive scan combines an element when there is another one: the last is never combined.
        self.combine(net)?;
        let shown = match (&self.kind, &self.total) {
            (ScanKind::Exclusive, Some(total)) => Flow::known(total.clone()),
            _ => Flow::Cell(Rc::default()),
        };
        if self.kind != ScanKind::Exclusive {
            self.open = Some(shown.clone());
        }
        self.out.put(Now::Element(shown));
        self.elem = Some(flow);
        self.n += 1;
        self.port.take();
        self.at = At::Inside;
        Ok(())
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Scan<'p, D> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        if self.out.poll() || self.open.is_some() && self.combine(net)? {
            return Ok(Step::Moved);
        }
        if !self.out.idle() || self.open.is_some() {
            return Ok(Step::Waits);
        }
        match self.at {
            At::Start => {
                if self.env.missing(&self.wants).is_some() {
                    return Ok(Step::Waits);
                }
                self.total = self.start.and_then(|z| self.env.value(z));
                if let (ScanKind::Full, Some(z)) = (self.kind, &self.total) {
                    self.out.put(Now::Element(Flow::known(z.clone())));
                }
                self.at = At::Between;
            }
            At::Inside => {
                if self.elem.as_ref().is_some_and(|e| e.value().is_none()) {
                    return Ok(Step::Waits);
                }
                self.port.done();
                self.at = At::Between;
            }
            At::End => return Ok(Step::Done),
            At::Between => match self.port.peek() {
                None => return Ok(Step::Waits),
                Some(Now::End) => {
                    self.out.put(Now::End);
                    self.at = At::End;
                }
                Some(Now::Element(flow)) => self.take(net, flow)?,
            },
        }
        Ok(Step::Moved)
    }

    fn why(&self) -> String {
        match (&self.at, self.env.missing(&self.wants)) {
            (At::Start, Some(v)) => format!("needs the value of {v}"),
            (At::Between, _) => "waits for an element of its operand".into(),
            (_, _) => self.out.why().into(),
        }
    }
}

/// `fold`, `fold1` or `reduce` of a sequence.
pub(super) struct Fold<'p, D: Data<'p>> {
    env: Rc<Env<'p, D>>,
    v: Var,
    wants: Vec<Var>,
    port: Port<D::V>,
    /// The combination so far, from the beginning to the end.
    total: Option<D::Fold>,
    /// The element that is taken and not yet combined.
    elem: Option<Flow<D::V>>,
    result: Flow<D::V>,
}

impl<'p, D: Data<'p>> Fold<'p, D> {
    pub(super) fn new(env: &Rc<Env<'p, D>>, of: Label, wants: Vec<Var>, port: Port<D::V>, result: &Flow<D::V>) -> Self {
        Fold { env: Rc::clone(env), v: of.var, wants, port, total: None, elem: None, result: result.clone() }
    }
}

impl<'p, D: Data<'p>> Process<'p, D> for Fold<'p, D> {
    fn step(&mut self, net: &mut Net<'p, '_, D>) -> Run<Step> {
        let Some(total) = &mut self.total else {
            if self.env.missing(&self.wants).is_some() {
                return Ok(Step::Waits);
            }
            self.total = Some(net.data.begin(&self.env, self.v)?);
            return Ok(Step::Moved);
        };
        if let Some(elem) = &self.elem {
            let Some(x) = elem.value() else { return Ok(Step::Waits) };
            net.data.add(&self.env, self.v, total, x)?;
            self.elem = None;
            self.port.done();
            return Ok(Step::Moved);
        }
        match self.port.peek() {
            None => Ok(Step::Waits),
            Some(Now::Element(flow)) => {
                self.port.take();
                self.elem = Some(flow);
                Ok(Step::Moved)
            }
            Some(Now::End) => {
                if let Some(total) = self.total.take() {
                    self.result.set(net.data.finish(&self.env, self.v, total)?);
                }
                Ok(Step::Done)
            }
        }
    }

    fn why(&self) -> String {
        match self.env.missing(&self.wants) {
            Some(v) if self.total.is_none() => format!("needs the value of {v}"),
            _ => "reads its operand to the end".into(),
        }
    }
}
