//! Values that are computed over time, and the channels that carry sequences.
//!
//! # When a channel may show an element
//! A reader must be registered before the first element is shown. If a channel is itself an element of another
//! one, its readers are created when that element is taken, so it is *held* until all readers of the outer channel have taken it or are done with it:
//! - a writer that is about to show a value holds the channels in it once;
//! - showing it to `n` readers holds them `n` times, and releases them once;
//! - a reader that takes the value, having registered with everything it will read of it, releases them once; so does one that is done
//!   with it without having taken it.
//!
//! # When an element is over
//! When all readers are done with it, and the sequences in it have ended, including those without readers.

use deckle_ir::types::Type;
use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

/// A concrete value: a value of the interpreter, or a token in its place.
pub(super) trait Datum: Clone {
    /// A tuple.
    fn tuple(parts: Vec<Self>) -> Self;
    /// A sequence, all of it.
    fn sequence(elems: Vec<Self>) -> Self;
    /// The components of a tuple, as many as it has.
    fn parts(&self) -> Vec<Self>;
    /// A boolean.
    fn boolean(b: bool) -> Self;
    /// The value of a boolean.
    fn truth(&self) -> bool;
}

/// The value of a variable while it is computed. A variable of concrete type is a cell, or a tuple of cells.
#[derive(Clone)]
pub(super) enum Flow<V> {
    /// A concrete value, once it is known.
    Cell(Rc<OnceCell<V>>),
    /// Component by component.
    Tuple(Rc<[Flow<V>]>),
    /// A sequence.
    Stream(Rc<Channel<V>>),
}

impl<V: Datum> Flow<V> {
    /// An unknown value of that type.
    pub(super) fn of_type(ty: &Type) -> Flow<V> {
        if ty.is_concrete() {
            return Flow::Cell(Rc::default());
        }
        match ty.parts() {
            Some(parts) => Flow::Tuple(parts.into_iter().map(Flow::of_type).collect()),
            None => Flow::Stream(Channel::new()),
        }
    }

    /// A known concrete value.
    pub(super) fn known(value: V) -> Flow<V> {
        Flow::Cell(Rc::new(OnceCell::from(value)))
    }

    /// The value, if it is concrete and all of it is known.
    pub(super) fn value(&self) -> Option<V> {
        match self {
            Flow::Cell(cell) => cell.get().cloned(),
            Flow::Tuple(parts) => parts.iter().map(Flow::value).collect::<Option<_>>().map(V::tuple),
            Flow::Stream(_) => None,
        }
    }

    /// Whether all of its concrete parts are known.
    pub(super) fn cells_known(&self) -> bool {
        match self {
            Flow::Cell(cell) => cell.get().is_some(),
            Flow::Tuple(parts) => parts.iter().all(Flow::cells_known),
            Flow::Stream(_) => true,
        }
    }

    /// Makes a concrete value known.
    pub(super) fn set(&self, value: V) {
        match self {
            Flow::Cell(cell) => _ = cell.set(value),
            Flow::Tuple(parts) => parts.iter().zip(value.parts()).for_each(|(p, v)| p.set(v)),
            Flow::Stream(_) => {}
        }
    }

    /// The channels in it.
    pub(super) fn channels(&self, f: &mut impl FnMut(&Rc<Channel<V>>)) {
        match self {
            Flow::Cell(_) => {}
            Flow::Tuple(parts) => parts.iter().for_each(|p| p.channels(f)),
            Flow::Stream(channel) => f(channel),
        }
    }

    /// Whether its channels have ended.
    fn ended(&self) -> bool {
        let mut all = true;
        self.channels(&mut |c| all &= matches!(c.state.borrow().now, Some(Now::End)));
        all
    }

    /// Holds its channels this many more times: they show nothing until released.
    pub(super) fn hold(&self, times: usize) {
        self.channels(&mut |c| c.state.borrow_mut().holds += times);
    }

    /// Releases them once.
    pub(super) fn let_go(&self) {
        self.channels(&mut |c| c.state.borrow_mut().holds -= 1);
    }
}

/// The state shown by a channel.
#[derive(Clone)]
pub(super) enum Now<V> {
    /// An element.
    Element(Flow<V>),
    /// The end.
    End,
}

/// The progress of a reader with the shown element.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    No,
    Taken,
    Done,
}

/// Carries a sequence, one element at a time: the next is shown only when all readers are done with the one before.
pub(super) struct Channel<V> {
    state: RefCell<State<V>>,
}

struct State<V> {
    now: Option<Now<V>>,
    readers: Vec<Seen>,
    /// The number of readers that are not done with the shown element.
    busy: usize,
    holds: usize,
}

impl<V: Datum> Channel<V> {
    /// A channel without readers.
    pub(super) fn new() -> Rc<Channel<V>> {
        Rc::new(Channel { state: RefCell::new(State { now: None, readers: Vec::new(), busy: 0, holds: 0 }) })
    }
}

/// A reader's end of a channel.
pub(super) struct Port<V> {
    channel: Rc<Channel<V>>,
    id: usize,
}

impl<V: Datum> Port<V> {
    /// Registers a reader. Nothing has been shown yet.
    pub(super) fn new(channel: &Rc<Channel<V>>) -> Port<V> {
        let mut state = channel.state.borrow_mut();
        debug_assert!(state.now.is_none(), "a reader that comes too late");
        state.readers.push(Seen::No);
        Port { channel: Rc::clone(channel), id: state.readers.len() - 1 }
    }

    /// The shown element or end, if this reader has neither taken it nor is done with it.
    pub(super) fn peek(&self) -> Option<Now<V>> {
        let state = self.channel.state.borrow();
        state.now.clone().filter(|_| state.readers[self.id] == Seen::No)
    }

    /// Takes the shown element: everything that reads channels in it on behalf of this reader is registered.
    pub(super) fn take(&self) {
        let shown = self.mark(Seen::Taken);
        if let Some(Now::Element(flow)) = shown {
            flow.let_go();
        }
    }

    /// Marks this reader as done with the shown element.
    pub(super) fn done(&self) {
        let before = self.channel.state.borrow().readers[self.id];
        if before == Seen::No {
            self.take();
        }
        self.mark(Seen::Done);
        self.channel.state.borrow_mut().busy -= 1;
    }

    fn mark(&self, seen: Seen) -> Option<Now<V>> {
        let mut state = self.channel.state.borrow_mut();
        state.readers[self.id] = seen;
        state.now.clone()
    }
}

/// The writer's end of a channel.
pub(super) struct Out<V> {
    channel: Rc<Channel<V>>,
    phase: Phase<V>,
}

enum Phase<V> {
    /// The last element, if there was one, is read by all.
    Idle,
    /// To be shown as soon as the channel is not held.
    Waiting(Now<V>),
    /// Shown, and not yet read by all, or with sequences in it that have not ended.
    Shown(Flow<V>),
}

impl<V: Datum> Out<V> {
    /// The only writer of a channel.
    pub(super) fn new(channel: &Rc<Channel<V>>) -> Out<V> {
        Out { channel: Rc::clone(channel), phase: Phase::Idle }
    }

    /// The writer of the channel that a variable is.
    pub(super) fn of(flow: &Flow<V>) -> Out<V> {
        match flow {
            Flow::Stream(channel) => Out::new(channel),
            _ => Out::new(&Channel::new()),
        }
    }

    /// Sets what to show next. Only when idle.
    pub(super) fn put(&mut self, now: Now<V>) {
        if let Now::Element(flow) = &now {
            flow.hold(1);
        }
        self.phase = Phase::Waiting(now);
    }

    /// Shows a waiting element, or detects that all readers are done. Returns whether anything happened.
    pub(super) fn poll(&mut self) -> bool {
        let mut state = self.channel.state.borrow_mut();
        match &self.phase {
            Phase::Waiting(now) if state.holds == 0 => {
                let now = now.clone();
                let n = state.readers.len();
                state.readers.fill(Seen::No);
                state.now = Some(now.clone());
                state.busy = n;
                drop(state);
                self.phase = match now {
                    Now::Element(flow) => {
                        flow.hold(n);
                        flow.let_go();
                        Phase::Shown(flow)
                    }
                    Now::End => Phase::Idle,
                };
                true
            }
            Phase::Shown(flow) if state.busy == 0 && flow.ended() => {
                state.now = None;
                drop(state);
                self.phase = Phase::Idle;
                true
            }
            _ => false,
        }
    }

    /// Whether everything put is read by all and has ended; for the end, whether it is shown.
    pub(super) fn idle(&self) -> bool {
        matches!(self.phase, Phase::Idle)
    }

    /// Why it is not idle.
    pub(super) fn why(&self) -> &'static str {
        match self.phase {
            Phase::Idle => "waits for its operands",
            Phase::Waiting(_) => "has an element that not all readers are ready for",
            Phase::Shown(_) => "has an element that not all readers are done with",
        }
    }
}
