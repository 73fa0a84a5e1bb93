//! Streams: sequences that come from an iterator while the program runs, and results that are an iterator.
//!
//! ```
//! use deckle::prelude::*;
//!
//! // Sums of runs of readings, however many there are: neither they nor the sums are ever all in memory.
//! let smooth = compile(|xs: Seq<Arr<f64>>| xs.map(|run| run.sum()))?;
//! let readings = (0..1000).map(|i| vec![0.5; i % 7]);
//! let mut sums = smooth.stream(feed(readings));
//! assert_eq!(sums.nth(13).unwrap()?, 3.0);
//! // Whoever has enough stops: the program ends, and the iterator that it takes from is dropped.
//! drop(sums);
//! # Ok::<(), deckle::Error>(())
//! ```

use crate::error::Error;
use crate::flat::Flat;
use crate::host::HostItem;
use crate::seq::Seq;
use deckle_engine::Input;
use deckle_runtime::stream::{Error as StreamError, Sink, Source};
use deckle_runtime::{Data, Lender, OverBudget, Pool};
use std::any::Any;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The error that ends the elements of a sequence.
pub(crate) type Ended = Box<dyn std::error::Error + Send + Sync>;

/// An argument in conversion.
#[doc(hidden)]
#[allow(private_interfaces, missing_debug_implementations)]
pub enum Arg {
    /// Complete.
    Input(Input),
    /// A streamed sequence, and the fate of its iterator.
    Feed(Input, Fate),
    /// The elements of a sequence in a file.
    File(PathBuf),
    /// No value, with the reason.
    Wrong(String),
}

/// The arguments of a parameter: its type on the host, owned or borrowed; and for a sequence also a [`Feed`].
///
/// Owned data is moved into the program, which may compute its result in that memory. Borrowed data is lent to it until the call returns. Neither is copied, if its elements
/// are scalars.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument for a parameter `{A}`",
    label = "this argument",
    note = "a `Vec`, slice or array is one for a vector, and `feed(iterator)` for a sequence"
)]
pub trait Argument<'a, A> {
    #[doc(hidden)]
    fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget>;
}

/// A sequence whose elements come from an iterator: [`feed`], [`feed_results`].
#[derive(Debug)]
pub struct Feed<I> {
    items: I,
}

/// A sequence whose elements come from an iterator while the program runs. It is read ahead of the program, on a thread of its own, and has been dropped when the call returns: a call
/// waits for the element that the iterator is currently producing. It may borrow; if it panics, so does the call.
///
/// ```
/// # use deckle::prelude::*;
/// let total = compile(|xs: Seq<i64>| xs.map(|x| x * x).sum())?;
/// assert_eq!(total.call(feed(0..1000))?, 332_833_500);
/// let numbers = vec![1, 2, 3];
/// assert_eq!(total.call(feed(numbers.iter().copied()))?, 14);
/// # Ok::<(), deckle::Error>(())
/// ```
pub fn feed<T, I: IntoIterator<Item = T>>(items: I) -> Feed<impl Iterator<Item = Result<T, Ended>> + use<T, I>> {
    Feed { items: items.into_iter().map(Ok) }
}

/// As [`feed`], from an iterator that may fail: the elements before the error are processed, and then the call fails with it. The error is the
/// [`source`](std::error::Error::source) of the one that the call returns.
///
/// ```
/// # use deckle::prelude::*;
/// let numbers = |text: &'static str| text.split(' ').map(|word| word.parse::<i64>());
/// let total = compile(|xs: Seq<i64>| xs.sum())?;
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

impl<'a, A, I> Argument<'a, Seq<A>> for Feed<I>
where
    A: HostItem,
    I: Iterator<Item = Result<A::Plain, Ended>> + Send + 'a,
{
    fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
        let fate = Fate::default();
        let items: Items<I, A::Flat> =
            Items { items: self.items, most: 1, over: None, fate: fate.clone(), of: PhantomData };
        Ok(Arg::Feed(Input::Stream(lender.lend_source(Box::new(items))), fate))
    }
}

/// Blocks of elements of a sequence: [`feed_blocks`].
#[derive(Debug)]
pub struct Blocks<I> {
    blocks: I,
}

/// As [`feed`], from an iterator of blocks of elements: a `Vec` of scalars is moved into the program, so the cost per element is negligible.
///
/// ```
/// # use deckle::prelude::*;
/// let total = compile(|xs: Seq<i64>| xs.sum())?;
/// let blocks = (0..10).map(|k| vec![k; 1000]);
/// assert_eq!(total.call(feed_blocks(blocks))?, 45_000);
/// # Ok::<(), deckle::Error>(())
/// ```
pub fn feed_blocks<T, I: IntoIterator<Item = Vec<T>>>(blocks: I) -> Blocks<I::IntoIter> {
    Blocks { blocks: blocks.into_iter() }
}

impl<'a, A, I> Argument<'a, Seq<A>> for Blocks<I>
where
    A: HostItem,
    I: Iterator<Item = Vec<A::Plain>> + Send + 'a,
{
    fn into_arg(self, lender: &Lender<'a>) -> Result<Arg, OverBudget> {
        let fate = Fate::default();
        let parts: Parts<I, A::Flat> = Parts { blocks: self.blocks, fate: fate.clone(), of: PhantomData };
        Ok(Arg::Feed(Input::Stream(lender.lend_source(Box::new(parts))), fate))
    }
}

/// Blocks as a source.
struct Parts<I, F> {
    blocks: I,
    fate: Fate,
    of: PhantomData<fn() -> F>,
}

impl<P, I: Iterator<Item = Vec<P>> + Send, F: Flat<P>> Source for Parts<I, F> {
    fn next(&mut self, _: usize, pool: &Pool) -> Result<Option<Data>, StreamError> {
        let next = catch_unwind(AssertUnwindSafe(|| self.blocks.find(|block| !block.is_empty())));
        match next {
            Ok(block) => Ok(block.map(|block| F::from_vec(block, 1).into_data(Some(pool))).transpose()?),
            Err(why) => Err(self.fate.panicked(why)),
        }
    }
}

/// The elements of a sequence from a file, in the format given by its extension: [`from_file`].
#[derive(Debug)]
pub struct FromFile {
    path: PathBuf,
}

/// A sequence of any length whose elements are read from a file while the program runs, block by block, ahead of it. See [`io`](crate::io) for the file formats.
///
/// ```
/// # use deckle::prelude::*;
/// # let path = std::env::temp_dir().join(format!("deckle-doc-stream-{}.csv", std::process::id()));
/// std::fs::write(&path, "price,volume\n1.5,2\n10,3\n")?;
/// #[derive(Clone, Copy, Debug, PartialEq, Elt)]
/// struct Trade {
///     price: f64,
///     volume: i64,
/// }
/// let turnover = compile(|ts: Seq<Trade>| ts.map(|t| t.price() * t.volume().cast::<f64>()).sum())?;
/// assert_eq!(turnover.call(from_file(&path))?, 33.0);
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn from_file(path: impl Into<PathBuf>) -> FromFile {
    FromFile { path: path.into() }
}

impl<'a, A: HostItem> Argument<'a, Seq<A>> for FromFile {
    fn into_arg(self, _: &Lender<'a>) -> Result<Arg, OverBudget> {
        Ok(Arg::File(self.path))
    }
}

/// The outcome of an iterator, for the thread that waits for the call: its own error, or a panic.
#[derive(Clone, Default)]
pub(crate) struct Fate(Arc<Mutex<Option<Cause>>>);

enum Cause {
    Failed(Ended),
    Panicked(Box<dyn Any + Send>),
}

impl Fate {
    fn set(&self, cause: Cause) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cause);
    }

    /// The iterator panicked: the error that ends the stream, until the call panics too.
    fn panicked(&self, why: Box<dyn Any + Send>) -> StreamError {
        self.set(Cause::Panicked(why));
        StreamError::Failed("the iterator that its elements come from panicked".into())
    }

    /// The error of the iterator, if it had one. If it panicked, this panics too.
    pub(crate) fn take(&self) -> Option<Ended> {
        // The guard is dropped before anything unwinds.
        let cause = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        match cause {
            Some(Cause::Failed(e)) => Some(e),
            Some(Cause::Panicked(why)) => std::panic::resume_unwind(why),
            None => None,
        }
    }
}

/// The longest wait for an iterator while there are elements to continue with.
const PATIENCE: Duration = Duration::from_millis(1);
/// The clock is read after 1, 2, 4, … elements, and then after every further block of this size: reading it takes longer than producing most elements.
const LOOK: usize = 256;

/// An iterator as a source.
struct Items<I, F> {
    items: I,
    /// The number of elements requested at once: it grows, as long as a request is fast.
    most: usize,
    /// The error that ends the sequence, if it is to be returned by the next request.
    over: Option<Ended>,
    fate: Fate,
    of: PhantomData<fn() -> F>,
}

impl<I, F> Items<I, F> {
    /// The message of the error of the iterator; the error is passed to the waiting thread.
    fn failed(&self, e: Ended) -> StreamError {
        let text = e.to_string();
        self.fate.set(Cause::Failed(e));
        StreamError::Failed(text.into())
    }
}

impl<P, I, F> Source for Items<I, F>
where
    I: Iterator<Item = Result<P, Ended>> + Send,
    F: Flat<P>,
{
    fn next(&mut self, bytes: usize, pool: &Pool) -> Result<Option<Data>, StreamError> {
        if let Some(e) = self.over.take() {
            return Err(self.failed(e));
        }
        let (begun, mut flat, mut n, mut have) = (Instant::now(), F::default(), 0, 0);
        let pulled = catch_unwind(AssertUnwindSafe(|| {
            let mut some = Vec::with_capacity(LOOK.min(self.most));
            while n < self.most && have < bytes {
                let next_look = if n < LOOK { (n + 1).next_power_of_two() } else { n + LOOK };
                let wanted = next_look.min(self.most) - n;
                let mut ended = None;
                while some.len() < wanted && have < bytes {
                    match self.items.next() {
                        Some(Ok(item)) => {
                            have += F::bytes(&item).max(1);
                            some.push(item);
                        }
                        Some(Err(e)) => {
                            ended = Some(Some(e));
                            break;
                        }
                        None => {
                            ended = Some(None);
                            break;
                        }
                    }
                }
                // A block at a time: one column after the other.
                flat.extend(&some);
                n += some.len();
                some.clear();
                if let Some(why) = ended {
                    return why;
                }
                if begun.elapsed() >= PATIENCE {
                    break;
                }
            }
            None
        }));
        match pulled {
            Ok(None) => {}
            Ok(Some(e)) if n == 0 => return Err(self.failed(e)),
            Ok(Some(e)) => self.over = Some(e),
            Err(why) => {
                return Err(self.fate.panicked(why));
            }
        }
        self.most = if begun.elapsed() < PATIENCE { self.most.saturating_mul(2) } else { 1 };
        if n == 0 { Ok(None) } else { Ok(Some(flat.into_data(Some(pool))?)) }
    }
}

/// Passes on elements of a result; `false` if the consumer has gone.
pub(crate) type Take = Box<dyn FnMut(Data) -> bool + Send>;

/// The consumer of a result.
pub(crate) struct Taker(pub Take);

impl Sink for Taker {
    fn take(&mut self, block: Data) -> Result<(), StreamError> {
        if (self.0)(block) { Ok(()) } else { Err(StreamError::Closed) }
    }
}

/// The elements of a result, as the program computes them: an iterator. Dropping it ends the program.
#[derive(Debug)]
pub struct Results<A: HostItem> {
    blocks: Option<Receiver<Handed>>,
    block: std::vec::IntoIter<A::Plain>,
}

/// The messages of the thread of a program: elements, its error, or that an iterator panicked.
type Handed = Result<Data, Result<Error, Box<dyn Any + Send>>>;

impl<A: HostItem> Results<A> {
    /// The results of a program that runs on a thread of its own.
    pub(crate) fn of(run: impl FnOnce(Take) -> Result<(), Error> + Send + 'static) -> Results<A> {
        // One block waits while another is produced and a third is consumed.
        let (to, blocks) = std::sync::mpsc::sync_channel(1);
        let spawned = std::thread::Builder::new().name("deckle-stream".into()).spawn({
            let to = to.clone();
            move || finish(run, &to)
        });
        if let Err(e) = spawned {
            let _ = to.try_send(Err(Ok(crate::error::argument(format!("there is no thread for the program: {e}")))));
        }
        Results { blocks: Some(blocks), block: Vec::new().into_iter() }
    }

    /// The next elements, as many as the program passes on at once: less work per element than one at a time.
    ///
    /// ```
    /// # use deckle::prelude::*;
    /// let squares = compile(|xs: Seq<i64>| xs.map(|x| x * x))?;
    /// let (mut results, mut sum) = (squares.stream(feed(0..1000)), 0);
    /// while let Some(block) = results.next_block() {
    ///     sum += block?.iter().sum::<i64>();
    /// }
    /// assert_eq!(sum, 332_833_500);
    /// # Ok::<(), deckle::Error>(())
    /// ```
    pub fn next_block(&mut self) -> Option<Result<Vec<A::Plain>, Error>> {
        if self.block.len() > 0 {
            return Some(Ok(std::mem::take(&mut self.block).collect()));
        }
        match self.blocks.as_ref()?.recv() {
            Ok(Ok(block)) => Some(A::Flat::into_vec(block).ok_or_else(crate::error::misfit)),
            Ok(Err(why)) => {
                self.blocks = None;
                Some(Err(why.unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
            }
            Err(_) => {
                self.blocks = None;
                None
            }
        }
    }
}

fn finish(run: impl FnOnce(Take) -> Result<(), Error>, to: &SyncSender<Handed>) {
    let blocks = to.clone();
    let take: Take = Box::new(move |block| blocks.send(Ok(block)).is_ok());
    let why = match catch_unwind(AssertUnwindSafe(|| run(take))) {
        Ok(Ok(())) => return,
        Ok(Err(e)) => Ok(e),
        Err(panic) => Err(panic),
    };
    // If the receiver has gone, the message is not needed.
    let _ = to.send(Err(why));
}

impl<A: HostItem> Iterator for Results<A> {
    type Item = Result<A::Plain, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(item) = self.block.next() {
                return Some(Ok(item));
            }
            match self.next_block()? {
                Ok(block) => self.block = block.into_iter(),
                Err(e) => return Some(Err(e)),
            }
        }
    }
}

impl<A: HostItem> std::iter::FusedIterator for Results<A> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arr::Arr;

    #[test]
    fn blocks_have_about_as_many_bytes_as_are_asked_for() {
        let row = vec![1u8; 4096];
        let items = std::iter::repeat_with(|| Ok(row.clone())).take(2000);
        let mut items: Items<_, <Arr<u8> as HostItem>::Flat> =
            Items { items, most: 1, over: None, fate: Fate::default(), of: PhantomData };
        let (pool, mut rows) = (Pool::new(None), 0);
        while let Some(block) = items.next(1 << 16, &pool).unwrap() {
            assert!(block.bytes() <= (1 << 16) + 2 * 4096, "{} bytes", block.bytes());
            rows += block.len();
        }
        assert_eq!(rows, 2000);
    }
}
