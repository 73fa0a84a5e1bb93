//! Streams: sequences that come from an iterator while the program runs, and results that are one.
//!
//! ```
//! use deckle::prelude::*;
//!
//! // Sums of runs of readings, however many there are: neither they nor the sums are ever all in memory.
//! let smooth = compile(|xs: Seq<Arr<f64>>| xs.map(|run| run.sum()))?.on(Cpu);
//! let readings = (0..1000).map(|i| vec![0.5; i % 7]);
//! let mut sums = smooth.stream(feed(readings));
//! assert_eq!(sums.nth(13).unwrap()?, 3.0);
//! // Whoever has enough stops: the program ends, and the iterator that it takes from is dropped.
//! drop(sums);
//! # Ok::<(), deckle::Error>(())
//! ```

use crate::elt::Item;
use crate::error::Error;
use crate::host::{HostItem, Hosted};
use crate::seq::Seq;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::marker::PhantomData;
use std::sync::mpsc::{Receiver, SyncSender};

/// Why the elements of a sequence do not come any more.
pub(crate) type Ended = Box<dyn std::error::Error + Send + Sync>;

/// An argument on its way.
#[doc(hidden)]
pub enum Arg {
    /// All there.
    Value(Value),
    /// The elements of a sequence, of this type.
    Feed(Type, Box<dyn Iterator<Item = Result<Value, Ended>> + Send>),
}

/// What a parameter takes: what is its type on the host, or anything that becomes that; and where it is a sequence, also a [`Feed`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument for a parameter `{A}`",
    label = "this argument",
    note = "a `Vec`, slice or array is one for a vector, and `feed(iterator)` for a sequence"
)]
pub trait Argument<A> {
    #[doc(hidden)]
    fn into_arg(self) -> Arg;
}

impl<A: Hosted, T: Into<A::Host>> Argument<A> for T {
    fn into_arg(self) -> Arg {
        Arg::Value(A::to_value(self.into()))
    }
}

/// Elements of a sequence that come one by one: [`feed`], [`feed_results`].
#[derive(Debug)]
pub struct Feed<I> {
    items: I,
}

/// A sequence whose elements come from an iterator while the program runs. It is read ahead of the program, on a thread of its own, and dropped when the program has ended.
///
/// ```
/// # use deckle::prelude::*;
/// let total = compile(|xs: Seq<i64>| xs.map(|x| x * x).sum())?.on(Cpu);
/// assert_eq!(total.call(feed(0..1000))?, 332_833_500);
/// # Ok::<(), deckle::Error>(())
/// ```
pub fn feed<T, I: IntoIterator<Item = T>>(items: I) -> Feed<impl Iterator<Item = Result<T, Ended>> + use<T, I>> {
    Feed { items: items.into_iter().map(Ok) }
}

/// As [`feed`], from an iterator that may fail: what comes before the error is gone through, and then the call fails with it.
///
/// ```
/// # use deckle::prelude::*;
/// let numbers = |text: &'static str| text.split(' ').map(|word| word.parse::<i64>());
/// let total = compile(|xs: Seq<i64>| xs.sum())?.on(Cpu);
/// assert_eq!(total.call(feed_results(numbers("1 2 3")))?, 6);
/// assert!(total.call(feed_results(numbers("1 two 3"))).is_err());
/// # Ok::<(), deckle::Error>(())
/// ```
pub fn feed_results<T, E, I>(items: I) -> Feed<impl Iterator<Item = Result<T, Ended>> + use<T, E, I>>
where
    E: Into<Ended>,
    I: IntoIterator<Item = Result<T, E>>,
{
    Feed { items: items.into_iter().map(|item| item.map_err(Into::into)) }
}

impl<A, I> Argument<Seq<A>> for Feed<I>
where
    A: HostItem,
    I: Iterator<Item = Result<A::Plain, Ended>> + Send + 'static,
{
    fn into_arg(self) -> Arg {
        Arg::Feed(<A as Item>::kind(), Box::new(self.items.map(|item| item.map(A::plain_to_value))))
    }
}

/// Hands elements of a result over; `false` if nobody wants them any more.
#[doc(hidden)]
pub type Take = Box<dyn FnMut(Vec<Value>) -> bool + Send>;

/// The elements of a result, as the program makes them: an iterator. Dropping it ends the program.
#[derive(Debug)]
pub struct Results<A: HostItem> {
    blocks: Option<Receiver<Result<Vec<Value>, Error>>>,
    block: std::vec::IntoIter<Value>,
    of: PhantomData<fn() -> A>,
}

impl<A: HostItem> Results<A> {
    /// What a program hands over that is run on a thread of its own.
    pub(crate) fn of(run: impl FnOnce(Take) -> Result<(), Error> + Send + 'static) -> Results<A> {
        // One block waits while another is made and a third is used.
        let (to, blocks) = std::sync::mpsc::sync_channel(1);
        let spawned = std::thread::Builder::new().name("deckle-stream".into()).spawn({
            let to = to.clone();
            move || finish(run, &to)
        });
        if let Err(e) = spawned {
            let _ = to.try_send(Err(crate::error::argument(format!("there is no thread for the program: {e}"))));
        }
        Results { blocks: Some(blocks), block: Vec::new().into_iter(), of: PhantomData }
    }
}

fn finish(run: impl FnOnce(Take) -> Result<(), Error>, to: &SyncSender<Result<Vec<Value>, Error>>) {
    let blocks = to.clone();
    if let Err(e) = run(Box::new(move |block| blocks.send(Ok(block)).is_ok())) {
        // If nobody listens, nobody wants to know.
        let _ = to.send(Err(e));
    }
}

impl<A: HostItem> Iterator for Results<A> {
    type Item = Result<A::Plain, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(value) = self.block.next() {
                return Some(A::plain_from_value(&value).ok_or_else(crate::error::misfit));
            }
            match self.blocks.as_ref()?.recv() {
                Ok(Ok(block)) => self.block = block.into_iter(),
                Ok(Err(e)) => {
                    self.blocks = None;
                    return Some(Err(e));
                }
                Err(_) => self.blocks = None,
            }
        }
    }
}

impl<A: HostItem> std::iter::FusedIterator for Results<A> {}
