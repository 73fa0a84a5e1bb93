//! How many elements of a sequence go into the next chunk.
//!
//! A traversal begins with one element. As long as a chunk takes so little time that the processors have hardly begun, the next is four times as large. Then time decides: while an
//! element takes less and less of it, chunks grow, by a factor of two; when it takes more, they shrink, by the root of that, and grow again when shrinking no longer helps. Where it makes no
//! difference, they grow until what is done once for each chunk does not count any more: larger ones would only leave the caches. Times
//! are averaged with those before, so that one that was disturbed does not decide alone. And never more is begun than there is room for, in the caches and in the
//! memory to stay within, as far as the bytes that an element took so far tell.
//!
//! # State
//! The logarithm of the size of the chunk, of which the size is the power of two below; whether it grows; and the averages of time and bytes for an element.
//!
//! # Invariants
//! - A chunk has at least one element and at most as many as [`ChunkScheduler::at_most`] says.
//! - What a program gives does not depend on anything here.

use std::time::Duration;

/// The most elements of a chunk, unless a scheduler is told otherwise.
pub const MOST: i64 = 1 << 24;
/// More bytes than this for each thread do not stay in the caches from one kernel to the next.
const CACHED: u64 = 4 << 20;
/// A chunk that takes less keeps the processors waiting.
const BUSY: Duration = Duration::from_micros(200);
/// In a chunk that takes more, what is done once for each does not count, or hardly: if it needs memory, more of that would cost more; if not, nothing is lost by larger chunks.
const ENOUGH: Duration = Duration::from_millis(1);
const PLENTY: Duration = Duration::from_millis(4);
/// In a chunk of so many elements, bytes that every chunk takes do not count any more.
const ENOUGH_ELEMENTS: f64 = 4096.0;
/// How much a new time counts beside those before it.
const WEIGHT: f64 = 0.5;
/// What is slower by less is not slower.
const SLOWER: f64 = 1.04;

/// Decides how large chunks are.
#[derive(Clone, Debug)]
pub struct ChunkScheduler {
    fixed: Option<i64>,
    most: i64,
    threads: u64,
    /// The logarithm of the size.
    log: f64,
    grows: bool,
    /// Seconds for an element.
    time: Option<f64>,
    /// Bytes for an element, and those that come from outside.
    bytes: f64,
    came: f64,
    /// How many elements the last chunk had, and how many bytes it asked for.
    last: Option<(f64, f64)>,
    /// Bytes that one more element takes: without those that every chunk takes, however small it is.
    more: f64,
}

/// What a chunk took.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// How long.
    pub took: Duration,
    /// How many elements there were.
    pub elements: i64,
    /// How many bytes it asked for.
    pub bytes: u64,
    /// How many bytes came from outside: these are read once, and need no place in the caches.
    pub came: u64,
}

impl ChunkScheduler {
    /// Chunks of a size that is found out, or of this one, for so many threads.
    pub fn new(fixed: Option<i64>, threads: usize) -> ChunkScheduler {
        let (log, grows, time) = (0.0, true, None);
        let (bytes, came, last, more) = (0.0, 0.0, None, 0.0);
        ChunkScheduler { fixed, most: MOST, threads: threads as u64, log, grows, time, bytes, came, last, more }
    }

    /// The same, and chunks whose size is found out have at most as many elements.
    pub fn at_most(self, most: i64) -> ChunkScheduler {
        ChunkScheduler { most: most.max(1), ..self }
    }

    /// Begins another traversal, of which nothing is known. Gives the size of its first chunk.
    pub fn begin(&mut self) -> i64 {
        *self = ChunkScheduler::new(self.fixed, self.threads as usize).at_most(self.most);
        self.size()
    }

    /// The size of the chunk that is next.
    pub fn size(&self) -> i64 {
        // Powers of two: so the sizes of buffers are those of earlier chunks, whose pages are there.
        self.fixed.unwrap_or(1 << self.log as u32).clamp(1, if self.fixed.is_some() { i64::MAX } else { self.most })
    }

    /// A chunk is done; how many bytes there is room for. Gives the size of the next one.
    pub fn done(&mut self, done: Done, room: Option<u64>) -> i64 {
        let Done { took, elements, bytes, came } = done;
        if self.fixed.is_some() || elements <= 0 {
            return self.size();
        }
        // Where elements do not come as fast as they are asked for, more of them would not.
        let is_short = elements < self.size() / 2;
        let elements = elements as f64;
        let all = bytes as f64;
        self.bytes = (all / elements).max(self.bytes * WEIGHT);
        if let Some((n, before)) = self.last.replace((elements, all)).filter(|(n, _)| *n != elements) {
            self.more = ((all - before) / (elements - n)).max(self.more * WEIGHT);
        }
        self.came = (came as f64 / elements).max(self.came * WEIGHT);
        if is_short {
            // Nothing is learned of chunks of this size.
        } else if took < BUSY {
            self.log += 2.0;
        } else {
            let time = took.as_secs_f64() / elements;
            let before = self.time.unwrap_or(time);
            let differs = time > before * SLOWER || time * SLOWER < before;
            if time > before * SLOWER {
                self.grows = !self.grows;
            }
            self.time = Some(before + WEIGHT * (time - before));
            let enough = if self.more < 1.0 { PLENTY } else { ENOUGH };
            if differs || took < enough {
                self.log += if self.grows { 1.0 } else { -0.5 };
            }
        }
        self.log = self.log.clamp(0.0, (self.most as f64).log2());
        // What does not grow with a chunk leaves the caches with smaller ones, too: it must not make chunks small. A quarter of the room: elements are not all alike, and what is kept for the next chunk, while that is joined with it, comes on top.
        let caches = (CACHED * self.threads) as f64;
        let cached = (caches / self.bytes).max((caches / self.more).min(ENOUGH_ELEMENTS));
        let most = room.map_or(cached, |room| cached.min((room / 4) as f64 / (self.bytes + self.came)));
        if most.is_finite() {
            self.log = self.log.min(most.max(1.0).log2());
        }
        self.size()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A traversal whose chunks take what `time` says of their size.
    fn sizes(rounds: usize, room: Option<u64>, bytes: u64, time: impl Fn(f64) -> f64) -> Vec<i64> {
        let mut s = ChunkScheduler::new(None, 1);
        let mut all = vec![s.begin()];
        for _ in 0..rounds {
            let n = s.size();
            let took = Duration::from_secs_f64(time(n as f64));
            all.push(s.done(Done { took, elements: n, bytes: bytes * n as u64, came: 0 }, room));
        }
        all
    }

    #[test]
    fn bytes_that_every_chunk_takes_do_not_keep_chunks_small() {
        let mut s = ChunkScheduler::new(None, 1);
        s.begin();
        for _ in 0..40 {
            let n = s.size();
            let took = Duration::from_secs_f64(1e-3 + 1e-8 * n as f64);
            s.done(Done { took, elements: n, bytes: (64 << 20) + 8 * n as u64, came: 0 }, None);
        }
        assert!(s.size() >= 1 << 10, "{}", s.size());
    }

    #[test]
    fn begins_with_one_and_grows_while_nothing_is_lost() {
        let all = sizes(40, None, 1, |n| 20e-6 + 1e-9 * n);
        assert_eq!(all[..4], [1, 4, 16, 64]);
        assert!(all.iter().any(|n| *n >= 1 << 20));
        assert!(all.iter().all(|n| (1..=MOST).contains(n)));
    }

    #[test]
    fn shrinks_where_large_chunks_are_slow() {
        // Beyond a cache of 100 000 elements each takes three times as long.
        let all = sizes(200, None, 8, |n| 20e-6 + 1e-8 * n.min(1e5) + 3e-8 * (n - 1e5).max(0.0));
        let late = &all[100..];
        let most = late.iter().filter(|n| **n <= 400_000).count();
        assert!(most > 70, "{late:?}");
    }

    #[test]
    fn stays_within_the_room_that_there_is() {
        let all = sizes(60, Some(1 << 20), 64, |n| 1e-9 * n);
        assert!(all.iter().all(|n| *n * 64 <= 1 << 20), "{all:?}");
        assert!(all.iter().any(|n| *n > 4000));
    }

    #[test]
    fn what_comes_from_outside_counts_against_the_room_alone() {
        let largest = |room| {
            let mut s = ChunkScheduler::new(None, 1);
            (0..60)
                .map(|_| {
                    let n = s.size();
                    let took = Duration::from_secs_f64(1e-9 * n as f64);
                    s.done(Done { took, elements: n, bytes: 0, came: 64 * n as u64 }, room)
                })
                .max()
        };
        assert!(largest(None) > Some(1 << 17));
        assert!(largest(Some(1 << 20)) <= Some(1 << 13));
    }

    #[test]
    fn chunks_have_at_most_as_many_elements_as_was_said() {
        let mut s = ChunkScheduler::new(None, 1).at_most(6);
        let mut sizes = vec![s.size()];
        for _ in 0..4 {
            let done = Done { took: Duration::ZERO, elements: s.size(), bytes: 0, came: 0 };
            sizes.push(s.done(done, None));
        }
        assert_eq!(sizes, [1, 4, 4, 4, 4]);
        assert_eq!((s.begin(), s.at_most(1).size()), (1, 1));
    }

    #[test]
    fn a_size_that_is_given_stays() {
        let mut s = ChunkScheduler::new(Some(7), 2);
        assert_eq!(s.begin(), 7);
        assert_eq!(s.done(Done { took: Duration::from_secs(1), elements: 7, bytes: 1 << 30, came: 0 }, Some(1)), 7);
    }
}
