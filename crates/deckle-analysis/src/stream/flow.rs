//! When values are available.

use super::clocks::Class;
use super::graph::Event;
use super::number::Id;
use std::rc::Rc;

/// When a value is available.
#[derive(Clone, Debug)]
pub(super) enum Flow {
    /// A concrete value: known from an event on. Values with the same number are equal.
    Known(Event, Id),
    /// A tuple or record.
    Tuple(Rc<[Flow]>),
    /// A sequence.
    Seq(Stream),
}

/// A sequence.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub class: Class,
    /// Its first element, or its end, is available.
    pub first: Event,
    /// Everything that its consumers need to take an element is known.
    pub ready: Event,
    /// When the parts of an element are available, within a step.
    pub elem: Rc<Flow>,
}

impl Stream {
    /// Whether its elements have sequences in them.
    pub(super) fn has_inner(&self) -> bool {
        self.elem.streams().next().is_some()
    }
}

impl From<Vec<Flow>> for Flow {
    fn from(parts: Vec<Flow>) -> Flow {
        Flow::Tuple(parts.into())
    }
}

impl Flow {
    pub(super) fn as_seq(&self) -> Option<&Stream> {
        match self {
            Flow::Seq(s) => Some(s),
            _ => None,
        }
    }

    pub(super) fn as_known(&self) -> (Event, Id) {
        match self {
            Flow::Known(event, id) => (*event, *id),
            _ => (Event::ORIGIN, Id(u32::MAX)),
        }
    }

    /// When its concrete parts are known.
    pub(super) fn known(&self) -> Box<dyn Iterator<Item = Event> + '_> {
        match self {
            Flow::Known(event, _) => Box::new(std::iter::once(*event)),
            Flow::Tuple(parts) => Box::new(parts.iter().flat_map(Flow::known)),
            Flow::Seq(_) => Box::new(std::iter::empty()),
        }
    }

    /// The sequences in it.
    pub(super) fn streams(&self) -> Box<dyn Iterator<Item = &Stream> + '_> {
        match self {
            Flow::Known(..) => Box::new(std::iter::empty()),
            Flow::Tuple(parts) => Box::new(parts.iter().flat_map(Flow::streams)),
            Flow::Seq(s) => Box::new(std::iter::once(s)),
        }
    }
}
