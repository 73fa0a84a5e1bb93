//! Reading ahead.

use super::{Error, QUEUE, Source};
use crate::data::Data;
use crate::pool::Pool;
use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::time::Duration;

/// The bytes of blocks that are read ahead. Results do not depend on them: tests set them to a few elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// A first block is small, so that computation starts early; each one after it is twice as large.
    pub first: usize,
    /// The maximal number of bytes requested at once.
    pub largest: usize,
    /// This many bytes are worth a chunk of their own: joining them with others would take longer.
    pub piece: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes { first: 16 << 10, largest: 4 << 20, piece: 1 << 20 }
    }
}

/// Blocks are no larger than this part of the budget: several of them are in flight.
const PART: u64 = 32;
/// How often a waiting thread checks for an interrupt.
const LOOK: Duration = Duration::from_millis(20);

/// The progress of a source, readable by other threads.
#[derive(Debug, Default)]
pub struct Seen {
    done: AtomicU64,
    all: AtomicU64,
}

impl Seen {
    /// The bytes read so far, and the total, if known.
    pub fn progress(&self) -> Option<(u64, u64)> {
        let all = self.all.load(Relaxed);
        (all > 0).then(|| (self.done.load(Relaxed), all))
    }
}

/// A block of which a part was pulled.
#[derive(Debug)]
struct Rest {
    block: Data,
    /// The number of elements that were pulled.
    taken: usize,
}

impl Rest {
    fn of(block: Data) -> Rest {
        Rest { block, taken: 0 }
    }

    fn len(&self) -> usize {
        self.block.len() - self.taken
    }
}

/// A source that is read ahead of the program.
#[derive(Debug)]
pub struct Ahead {
    queue: Receiver<Result<Data, Error>>,
    ready: VecDeque<Rest>,
    /// Why no blocks follow.
    end: Option<Result<(), Error>>,
    seen: Arc<Seen>,
    piece: usize,
}

impl Ahead {
    /// Starts reading.
    pub fn new(source: Box<dyn Source>, sizes: Sizes, pool: &Pool) -> Ahead {
        let (to, queue) = sync_channel(QUEUE);
        let seen = Arc::new(Seen::default());
        let (theirs, pool) = (Arc::clone(&seen), pool.clone());
        let reader = std::thread::Builder::new().name("deckle-ahead".into());
        let failed = to.clone();
        if let Err(e) = reader.spawn(move || read(source, sizes, &pool, &to, &theirs)) {
            let _ = failed.try_send(Err(Error::Failed(Box::new(e))));
        }
        Ahead { queue, ready: VecDeque::new(), end: None, seen, piece: sizes.piece }
    }

    /// Elements that are all in memory.
    pub fn given(block: Data) -> Ahead {
        let (_, queue) = sync_channel(0);
        let seen = Arc::new(Seen::default());
        let piece = Sizes::default().piece;
        Ahead { queue, ready: VecDeque::from([Rest::of(block)]), end: Some(Ok(())), seen, piece }
    }

    /// The progress of the source.
    pub fn seen(&self) -> Arc<Seen> {
        Arc::clone(&self.seen)
    }

    /// The next `count` elements; fewer only at the end of the sequence, or before an error; `None` instead of none.
    ///
    /// # Errors
    /// There is not enough memory, the run was interrupted, or an error of the source is next.
    pub fn pull(&mut self, count: usize, pool: &Pool, interrupt: &AtomicBool) -> Result<Option<Data>, Error> {
        let mut parts = Vec::new();
        let taken = self.take_parts(count, pool, interrupt, &mut parts);
        if parts.is_empty() {
            taken?;
            // An error is reported when its position is reached.
            return match if count > 0 { self.failure() } else { None } {
                Some(e) => Err(e),
                None => Ok(None),
            };
        }
        let joined = taken.and_then(|()| Ok(Data::join(&parts, pool)?));
        if joined.is_err() {
            // The caller may retry with a smaller count.
            parts.into_iter().rev().for_each(|part| self.give_back(part));
        }
        joined.map(Some)
    }

    /// Takes the next `count` elements, or as many as there are.
    fn take_parts(
        &mut self,
        count: usize,
        pool: &Pool,
        interrupt: &AtomicBool,
        parts: &mut Vec<Data>,
    ) -> Result<(), Error> {
        let mut left = count;
        while left > 0 {
            let Some(first) = self.first(interrupt)? else { break };
            let n = left.min(first.len());
            parts.push(first.block.slice(first.taken, first.taken + n, pool)?);
            left -= n;
            first.taken += n;
            if first.len() == 0 {
                self.ready.pop_front();
            }
        }
        Ok(())
    }

    /// The next elements, at most `count`: those available without waiting, or the first that arrive. `None` at the end.
    ///
    /// # Errors
    /// As [`Ahead::pull`].
    pub fn pull_some(&mut self, count: usize, pool: &Pool, interrupt: &AtomicBool) -> Result<Option<Data>, Error> {
        if count == 0 {
            return Ok(None);
        }
        self.first(interrupt)?;
        let (mut there, mut bytes) = (0, 0);
        for k in 0.. {
            if k == self.ready.len() && !self.try_next() {
                break;
            }
            let Rest { block, .. } = &self.ready[k];
            let n = self.ready[k].len();
            let size = block.bytes() / block.len().max(1) * n;
            // One large block is better than a larger joined one.
            if there > 0 && size >= self.piece {
                break;
            }
            (there, bytes) = (there + n, bytes + size);
            if there >= count / 2 || bytes >= self.piece {
                break;
            }
        }
        self.pull(there.clamp(1, count), pool, interrupt)
    }

    /// The elements that [`Ahead::pull`], if `all` are wanted, or [`Ahead::pull_some`] would return without waiting; `None` if it would wait, at the end, and before an error.
    ///
    /// # Errors
    /// As [`Ahead::pull`].
    pub fn pull_ready(
        &mut self,
        count: usize,
        all: bool,
        pool: &Pool,
        interrupt: &AtomicBool,
    ) -> Result<Option<Data>, Error> {
        let wanted = if all { count } else { count.min(1) };
        let mut there: usize = self.ready.iter().map(Rest::len).sum();
        while there < wanted && self.try_next() {
            there += self.ready.back().map_or(0, Rest::len);
        }
        if there == 0 || count == 0 || (there < wanted && self.end.is_none()) {
            return Ok(None);
        }
        if all { self.pull(count, pool, interrupt) } else { self.pull_some(count, pool, interrupt) }
    }

    /// Takes back the last pulled elements: they are the next to be pulled.
    pub fn give_back(&mut self, block: Data) {
        self.ready.push_front(Rest::of(block));
    }

    /// Takes the next block from the queue, if there is one; returns whether there was.
    fn try_next(&mut self) -> bool {
        if self.end.is_some() {
            return false;
        }
        match self.queue.try_recv() {
            Ok(Ok(block)) => {
                self.ready.push_back(Rest::of(block));
                return true;
            }
            Ok(Err(e)) => self.end = Some(Err(e)),
            Err(TryRecvError::Disconnected) => self.end = Some(Ok(())),
            Err(TryRecvError::Empty) => {}
        }
        false
    }

    /// The error after the pulled elements, if any: it is not reported again.
    pub fn failure(&mut self) -> Option<Error> {
        match &self.end {
            Some(Err(_)) if self.ready.is_empty() => self.end.replace(Ok(())).and_then(Result::err),
            _ => None,
        }
    }

    /// The first block with elements left.
    fn first(&mut self, interrupt: &AtomicBool) -> Result<Option<&mut Rest>, Error> {
        while self.ready.is_empty() && self.end.is_none() {
            if interrupt.load(Relaxed) {
                return Err(Error::Interrupted);
            }
            match self.queue.recv_timeout(LOOK) {
                Ok(Ok(block)) if !block.is_empty() => self.ready.push_back(Rest::of(block)),
                Ok(Ok(_)) | Err(RecvTimeoutError::Timeout) => {}
                Ok(Err(e)) => self.end = Some(Err(e)),
                Err(RecvTimeoutError::Disconnected) => self.end = Some(Ok(())),
            }
        }
        Ok(self.ready.front_mut())
    }
}

fn read(mut source: Box<dyn Source>, sizes: Sizes, pool: &Pool, to: &SyncSender<Result<Data, Error>>, seen: &Seen) {
    let Sizes { first, largest, .. } = sizes;
    let part = pool.stats().budget.map_or(largest, |all| (all / PART) as usize);
    let largest = part.clamp(first, largest.max(first));
    let mut bytes = first;
    loop {
        // A panic of a source is not its end.
        let next =
            catch_unwind(AssertUnwindSafe(|| source.next(bytes, pool))).unwrap_or_else(|why| Err(panicked(&*why)));
        let next = next.transpose();
        if let Some((done, all)) = source.progress() {
            seen.done.store(done, Relaxed);
            seen.all.store(all, Relaxed);
        }
        let Some(next) = next else { return };
        let failed = next.is_err();
        if to.send(next).is_err() || failed {
            return;
        }
        bytes = (bytes * 2).min(largest);
    }
}

/// The panic message of a source.
fn panicked(why: &(dyn Any + Send)) -> Error {
    let text = why.downcast_ref::<String>().map(String::as_str).or(why.downcast_ref::<&str>().copied());
    Error::Failed(format!("what its elements come from panicked: {}", text.unwrap_or("it does not say why")).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn a_source_that_panics_has_not_ended() {
        struct Panics(bool);
        impl Source for Panics {
            fn next(&mut self, _: usize, pool: &Pool) -> Result<Option<Data>, Error> {
                assert!(std::mem::replace(&mut self.0, true), "on purpose");
                Ok(Some(Data::copied(&[1i64], pool, "xs")?))
            }
        }
        let (pool, go_on) = (Pool::new(None), AtomicBool::new(false));
        let mut ahead = Ahead::new(Box::new(Panics(true)), Sizes::default(), &pool);
        assert_eq!(ahead.pull(1, &pool, &go_on).unwrap().unwrap().len(), 1);
        assert!(ahead.pull(1, &pool, &go_on).is_ok_and(|b| b.is_some()));
        let mut ahead = Ahead::new(Box::new(Panics(false)), Sizes::default(), &pool);
        let e = ahead.pull(1, &pool, &go_on).unwrap_err().to_string();
        assert_eq!(e, "what its elements come from panicked: on purpose");
    }

    #[test]
    fn what_is_ready_is_pulled_without_waiting() {
        struct Gate(mpsc::Receiver<i64>);
        impl Source for Gate {
            fn next(&mut self, _: usize, pool: &Pool) -> Result<Option<Data>, Error> {
                self.0.recv().ok().map(|n| Data::copied(&[n], pool, "xs")).transpose().map_err(Error::from)
            }
        }
        let (pool, go_on) = (Pool::new(None), AtomicBool::new(false));
        let (gate, source) = mpsc::channel();
        let mut ahead = Ahead::new(Box::new(Gate(source)), Sizes::default(), &pool);
        let ready = |ahead: &mut Ahead, count, all| ahead.pull_ready(count, all, &pool, &go_on).unwrap();
        let arrived = |ahead: &mut Ahead, count, all| loop {
            if let Some(block) = ready(ahead, count, all) {
                break block;
            }
            thread::yield_now();
        };
        assert!(ready(&mut ahead, 1, true).is_none() && ready(&mut ahead, 1, false).is_none());
        gate.send(7).unwrap();
        let one = arrived(&mut ahead, 5, false);
        assert_eq!(one.len(), 1);
        // Of two that are wanted, one is there.
        ahead.give_back(one);
        assert!(ready(&mut ahead, 2, true).is_none() && ready(&mut ahead, 0, true).is_none());
        gate.send(8).unwrap();
        assert_eq!(arrived(&mut ahead, 2, true).len(), 2);
        // After the end there is no more to wait for.
        gate.send(9).unwrap();
        drop(gate);
        assert_eq!(arrived(&mut ahead, 5, true).len(), 1);
        assert!(ready(&mut ahead, 1, true).is_none() && ahead.pull(1, &pool, &go_on).unwrap().is_none());
    }

    /// Numbers from 0 on, in blocks of different sizes; then an error, if requested.
    struct Numbers {
        next: i64,
        end: i64,
        fails: bool,
        /// Held while the source lives.
        _alive: Arc<()>,
    }

    impl Source for Numbers {
        fn next(&mut self, _: usize, pool: &Pool) -> Result<Option<Data>, Error> {
            if self.next == self.end {
                return if self.fails { Err(Error::Failed("no more".into())) } else { Ok(None) };
            }
            let n = (self.next % 5 + 1).min(self.end - self.next);
            let all: Vec<i64> = (self.next..self.next + n).collect();
            self.next += n;
            Ok(Some(Data::copied(&all, pool, "numbers")?))
        }
    }

    fn numbers(end: i64, fails: bool) -> (Ahead, Arc<()>, Pool) {
        let (pool, alive) = (Pool::new(None), Arc::new(()));
        let source = Numbers { next: 0, end, fails, _alive: Arc::clone(&alive) };
        (Ahead::new(Box::new(source), Sizes::default(), &pool), alive, pool)
    }

    fn pulled(ahead: &mut Ahead, count: usize, pool: &Pool) -> Vec<i64> {
        match ahead.pull(count, pool, &AtomicBool::new(false)).unwrap() {
            Some(data) => {
                let numbers = data.as_scalars().unwrap().as_slice::<i64>().to_vec();
                assert_eq!(numbers.len(), data.len());
                numbers
            }
            _ => Vec::new(),
        }
    }

    #[test]
    fn as_many_come_as_are_asked_for_until_the_end() {
        for count in [1, 2, 7, 100, usize::MAX] {
            let (mut ahead, _, pool) = numbers(23, false);
            let mut all = Vec::new();
            loop {
                let some = pulled(&mut ahead, count, &pool);
                let is_full = some.len() == count;
                all.extend(some);
                if !is_full {
                    break;
                }
            }
            assert_eq!(all, (0..23).collect::<Vec<i64>>());
            assert!(pulled(&mut ahead, count, &pool).is_empty() && ahead.failure().is_none());
        }
    }

    #[test]
    fn what_is_given_back_comes_again() {
        let (mut ahead, _, pool) = numbers(23, true);
        let go_on = AtomicBool::new(false);
        let first = ahead.pull(7, &pool, &go_on).unwrap().unwrap();
        let second = ahead.pull_some(3, &pool, &go_on).unwrap().unwrap();
        let n = 7 + second.len() as i64;
        ahead.give_back(second);
        ahead.give_back(first);
        assert_eq!(pulled(&mut ahead, 4, &pool), [0, 1, 2, 3]);
        assert_eq!(pulled(&mut ahead, 100, &pool), (4..23).collect::<Vec<i64>>());
        assert!(n > 7 && ahead.failure().is_some());
        // An error also comes after elements that are given back.
        let (mut ahead, _, pool) = numbers(2, true);
        let all = ahead.pull(9, &pool, &go_on).unwrap().unwrap();
        ahead.give_back(all);
        assert!(ahead.failure().is_none());
        assert_eq!(pulled(&mut ahead, 9, &pool), [0, 1]);
        assert!(ahead.failure().is_some());
    }

    #[test]
    fn some_come_without_waiting_for_more() {
        let (wakes, sleeps) = std::sync::mpsc::channel::<i64>();
        struct Asked(Receiver<i64>);
        impl Source for Asked {
            fn next(&mut self, _: usize, pool: &Pool) -> Result<Option<Data>, Error> {
                let Ok(x) = self.0.recv() else { return Ok(None) };
                Ok(Some(Data::copied(&[x, x], pool, "pair")?))
            }
        }
        let (pool, go_on) = (Pool::new(None), AtomicBool::new(false));
        let mut ahead = Ahead::new(Box::new(Asked(sleeps)), Sizes::default(), &pool);
        wakes.send(7).unwrap();
        assert_eq!(ahead.pull_some(1000, &pool, &go_on).unwrap().unwrap().len(), 2);
        assert!(ahead.pull_some(0, &pool, &go_on).unwrap().is_none());
        wakes.send(8).unwrap();
        assert_eq!(ahead.pull_some(1, &pool, &go_on).unwrap().unwrap().len(), 1);
        assert_eq!(ahead.pull_some(1000, &pool, &go_on).unwrap().unwrap().len(), 1);
        drop(wakes);
        assert!(ahead.pull_some(1000, &pool, &go_on).unwrap().is_none());
    }

    #[test]
    fn small_blocks_are_joined_and_large_ones_are_not() {
        let pool = Pool::new(None);
        let (to, queue) = sync_channel(10);
        let bytes = |n: usize| Data::numbers(vec![0u8; n]);
        let piece = Sizes::default().piece;
        for n in [10, 20, piece, 30, 2 * piece, 40] {
            to.send(Ok(bytes(n))).unwrap();
        }
        drop(to);
        let mut ahead = Ahead { queue, ready: VecDeque::new(), end: None, seen: Arc::default(), piece };
        let mut some = |count| ahead.pull_some(count, &pool, &AtomicBool::new(false)).unwrap().map(|b| b.len());
        assert_eq!([some(1000), some(usize::MAX), some(usize::MAX)], [Some(30), Some(piece), Some(30)]);
        assert_eq!([some(piece), some(usize::MAX), some(1000), some(1)], [Some(piece), Some(piece), Some(40), None]);
    }

    #[test]
    fn an_error_comes_behind_what_was_read_before_it() {
        let (mut ahead, _, pool) = numbers(4, true);
        assert_eq!(pulled(&mut ahead, 10, &pool), [0, 1, 2, 3]);
        assert_eq!(ahead.failure().unwrap().to_string(), "no more");
        let (mut ahead, _, pool) = numbers(4, true);
        assert_eq!(pulled(&mut ahead, 4, &pool), [0, 1, 2, 3]);
        let e = ahead.pull(1, &pool, &AtomicBool::new(false)).unwrap_err();
        assert_eq!(e.to_string(), "no more");
    }

    #[test]
    fn a_source_that_nobody_pulls_from_is_let_go_of_and_its_memory_with_it() {
        let (mut ahead, alive, pool) = numbers(i64::MAX, false);
        assert_eq!(pulled(&mut ahead, 3, &pool).len(), 3);
        drop(ahead);
        let gone = || Arc::strong_count(&alive) == 1 && pool.stats().current == 0;
        assert!((0..500).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            gone()
        }));
    }

    #[test]
    fn whoever_waits_can_be_interrupted() {
        struct Never(Receiver<()>);
        impl Source for Never {
            fn next(&mut self, _: usize, _: &Pool) -> Result<Option<Data>, Error> {
                let _ = self.0.recv();
                Ok(None)
            }
        }
        let (wakes, sleeps) = std::sync::mpsc::channel();
        let pool = Pool::new(None);
        let mut ahead = Ahead::new(Box::new(Never(sleeps)), Sizes::default(), &pool);
        let e = ahead.pull(1, &pool, &AtomicBool::new(true)).unwrap_err();
        assert!(matches!(e, Error::Interrupted));
        drop(wakes);
    }
}
