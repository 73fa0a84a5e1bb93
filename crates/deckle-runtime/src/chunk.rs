//! The number of elements of a sequence in the next chunk.
//!
//! A traversal begins with one element. While a chunk takes so little time that the processors are not busy, the next is four times as large. After that time decides: while the time per
//! element decreases, chunks grow by a factor of two; when it increases, they shrink by the square root of two, and grow again when shrinking no longer helps. If it makes no
//! difference, they grow until the fixed cost per chunk is negligible: larger ones would only exceed the caches. Times
//! are averaged with earlier ones, so that a single disturbed measurement does not decide. On a device with its own memory they never shrink, and grow until doubling twice
//! made elements no faster. A chunk never exceeds the caches and the memory budget, as estimated from the bytes per element so far.
//!
//! # State
//! The logarithm of the chunk size, which is the power of two below; whether it grows, or how often it did without a gain; and the averages of time and bytes per element.
//!
//! # Invariants
//! - A chunk has at least one element and at most [`ChunkScheduler::at_most`].
//! - Results do not depend on anything here.

use std::time::Duration;

/// The maximal number of elements of a chunk, unless a scheduler has another limit.
pub const MOST: i64 = 1 << 24;
/// The bytes per thread that stay in the caches from one kernel to the next.
const CACHED: u64 = 4 << 20;
/// A chunk that takes less does not keep the processors busy.
const BUSY: Duration = Duration::from_micros(200);
/// In a chunk that takes this long, the fixed cost is nearly negligible: with memory per element, larger chunks would cost more; without, they cost nothing, so the second limit applies.
const ENOUGH: Duration = Duration::from_millis(1);
const PLENTY: Duration = Duration::from_millis(4);
/// In a chunk of this many elements, the fixed bytes per chunk are negligible.
const ENOUGH_ELEMENTS: f64 = 4096.0;
/// The weight of a new time against the average.
const WEIGHT: f64 = 0.5;
/// What is left, after a chunk of the same few elements, of an estimate that only chunks of other sizes can correct.
const FADING: f64 = 0.9;
const FEW: f64 = 8.0;
/// Slower by less than this does not count as slower.
const SLOWER: f64 = 1.04;
/// On a device with its own memory, chunks grow while that makes the time per element smaller by this factor, and twice more: a chunk of one or two elements may need fewer kernels.
const FASTER: f64 = 0.8;
const MORE: u32 = 2;

/// Chooses chunk sizes.
#[derive(Clone, Debug)]
pub struct ChunkScheduler {
    fixed: Option<i64>,
    most: i64,
    threads: u64,
    /// The logarithm of the size.
    log: f64,
    grows: bool,
    /// Whether memory or caches keep chunks from growing.
    is_cut: bool,
    /// How many times chunks have grown, on a device, since that made elements faster.
    grown: u32,
    /// Seconds per element: the average, or without caches the least in smaller chunks.
    time: Option<f64>,
    /// Bytes per element, and those from outside.
    bytes: f64,
    came: f64,
    /// The number of elements of the last chunk, and the bytes it requested.
    last: Option<(f64, f64)>,
    /// Bytes per additional element, without the fixed bytes of every chunk.
    more: f64,
    /// Whether chunks should fit the caches.
    is_cached: bool,
}

/// Measurements of a chunk.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// The time.
    pub took: Duration,
    /// The number of elements.
    pub elements: i64,
    /// The bytes that it requested.
    pub bytes: u64,
    /// The bytes from outside: these are read once, and need no cache.
    pub came: u64,
}

impl ChunkScheduler {
    /// Chunks of an adaptive size, or of a fixed one, for a number of threads.
    pub fn new(fixed: Option<i64>, threads: usize) -> ChunkScheduler {
        let (log, grows, is_cut, grown, time) = (0.0, true, false, 0, None);
        let (bytes, came, last, more) = (0.0, 0.0, None, 0.0);
        let (most, threads, is_cached) = (MOST, threads as u64, true);
        ChunkScheduler { fixed, most, threads, log, grows, is_cut, grown, time, bytes, came, last, more, is_cached }
    }

    /// The same for a device with its own memory: chunks need not fit caches, and grow until the fixed cost is negligible or memory is short.
    pub fn without_caches(self) -> ChunkScheduler {
        ChunkScheduler { is_cached: false, ..self }
    }

    /// The same, with a maximum for adaptive chunk sizes.
    pub fn at_most(self, most: i64) -> ChunkScheduler {
        ChunkScheduler { most: most.max(1), ..self }
    }

    /// Begins another traversal, without measurements. Returns the size of its first chunk.
    pub fn begin(&mut self) -> i64 {
        let (most, is_cached) = (self.most, self.is_cached);
        *self = ChunkScheduler { most, is_cached, ..ChunkScheduler::new(self.fixed, self.threads as usize) };
        self.size()
    }

    /// The size of the next chunk.
    pub fn size(&self) -> i64 {
        // Powers of two, so that the sizes of buffers are those of earlier chunks, whose pages are mapped.
        self.fixed.unwrap_or(1 << self.log as u32).clamp(1, if self.fixed.is_some() { i64::MAX } else { self.most })
    }

    /// Records a chunk; `room` is the available memory. Returns the size of the next one.
    pub fn done(&mut self, done: Done, room: Option<u64>) -> i64 {
        let Done { took, elements, bytes, came } = done;
        if self.fixed.is_some() || elements <= 0 {
            return self.size();
        }
        // If elements arrive more slowly than requested, larger requests would not help.
        let is_short = elements < self.size() / 2;
        let elements = elements as f64;
        let all = bytes as f64;
        self.bytes = (all / elements).max(self.bytes * WEIGHT);
        if let Some((n, before)) = self.last.replace((elements, all)).filter(|(n, _)| *n != elements) {
            self.more = ((all - before) / (elements - n)).max(self.more * WEIGHT);
        } else if self.is_cut && elements <= FEW {
            // What was estimated from chunks of other sizes must not keep chunks at this one.
            self.more *= FADING;
        }
        self.came = (came as f64 / elements).max(self.came * WEIGHT);
        if is_short {
            // This says nothing about chunks of the current size.
        } else if took < BUSY {
            self.log += 2.0;
        } else if !self.is_cached {
            // What is copied early for a chunk of this size would be of no use for a smaller one: chunks only grow, also while it is mostly the fixed cost that takes long.
            let time = took.as_secs_f64() / elements;
            let least = self.time.unwrap_or(f64::INFINITY);
            let is_faster = time < least * FASTER;
            if is_faster {
                (self.time, self.grown) = (Some(time), 0);
            }
            if is_faster || took < PLENTY || self.grown < MORE {
                self.log += 1.0;
                self.grown += 1;
            }
        } else {
            let time = took.as_secs_f64() / elements;
            let before = self.time.unwrap_or(time);
            let differs = time > before * SLOWER || time * SLOWER < before;
            if time > before * SLOWER {
                self.grows = !self.grows;
            }
            self.time = Some(before + WEIGHT * (time - before));
            let enough = if self.more < 1.0 { PLENTY } else { ENOUGH };
            // One element does not show what another one would take.
            if differs || took < enough || self.is_cut || elements == 1.0 {
                self.log += if self.grows { 1.0 } else { -0.5 };
            }
        }
        self.log = self.log.clamp(0.0, (self.most as f64).log2());
        // Fixed bytes exceed the caches with smaller chunks, too: they must not make chunks small.
        let caches = if self.is_cached { (CACHED * self.threads) as f64 } else { f64::INFINITY };
        let cached = (caches / self.bytes).max((caches / self.more).min(ENOUGH_ELEMENTS));
        let most = room.map_or(cached, |room| cached.min(self.most_in(room as f64, elements, all)));
        self.is_cut = self.log >= most.max(1.0).log2();
        if most.is_finite() {
            self.log = self.log.min(most.max(1.0).log2());
        }
        // Chunks of one element can only grow, and those at a limit grow as soon as it allows.
        self.grows |= self.is_cut || self.log <= 0.0;
        self.size()
    }

    /// How many elements a chunk may have with so much room, after one that requested these bytes. A quarter of the room: elements differ, and joining the state carried to the next chunk needs memory
    /// on top. Smaller chunks do not save fixed bytes, such as those of the state.
    fn most_in(&self, room: f64, elements: f64, bytes: f64) -> f64 {
        let most = room / 4.0 / (self.bytes + self.came);
        if self.more > 0.0 {
            let fixed = (bytes - self.more * elements).max(0.0);
            return most.max((room - fixed).max(0.0) / 4.0 / (self.more + self.came));
        }
        // Only a chunk of another size shows which bytes are fixed.
        let fits = elements == 1.0 && 2.0 * (bytes + self.came) <= room;
        if fits { most.max(2.0) } else { most }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A traversal whose chunks take `time` of their size.
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
    fn a_state_that_takes_most_of_the_memory_does_not_keep_chunks_small() {
        let after = |small_at_first: usize| {
            let mut s = ChunkScheduler::new(None, 2);
            s.begin();
            for round in 0..100 {
                let n = s.size();
                let (state, room) = if round < small_at_first { (0, 100 << 20) } else { (12 << 20, 26 << 20) };
                let took = Duration::from_secs_f64(1e-9 * state as f64 + 1e-7 * n as f64);
                s.done(Done { took, elements: n, bytes: state + 20 * n as u64, came: 4 * n as u64 }, Some(room));
                assert!(state + 24 * s.size() as u64 <= room.max(100 << 20));
            }
            s.size()
        };
        assert!(after(0) >= 1 << 10, "{}", after(0));
        assert!(after(20) >= 1 << 10, "{}", after(20));
        // A jump of the state while chunks have one or two elements looks like large elements.
        let mut s = ChunkScheduler::new(None, 2);
        s.begin();
        for round in 0..400 {
            let n = s.size();
            let state = if round < 3 { 0 } else { 12 << 20 };
            s.done(Done { took: ENOUGH / 4, elements: n, bytes: state + 20 * n as u64, came: 0 }, Some(26 << 20));
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
    fn does_not_shrink_on_a_device_with_its_own_memory() {
        let mut s = ChunkScheduler::new(None, 1).without_caches();
        let mut before = s.begin();
        for k in 0..40 {
            let n = s.size();
            let took = Duration::from_secs_f64(1e-4 + 1e-9 * n as f64 * if k % 3 == 0 { 2.0 } else { 1.0 });
            let size = s.done(Done { took, elements: n, bytes: 8 * n as u64, came: 8 * n as u64 }, Some(1 << 30));
            assert!(size >= before, "{before}, then {size}");
            before = size;
        }
        assert!(before == 1 << 22 || before == 1 << 23, "{before}");
        // Memory is short.
        let done = Done { took: PLENTY, elements: before, bytes: 8 * before as u64, came: 8 * before as u64 };
        assert!(s.done(done, Some(1 << 24)) <= 1 << 18);
        assert!(s.begin() == 1 && !s.is_cached);
    }

    #[test]
    fn grows_on_a_device_where_the_fixed_cost_of_a_chunk_is_high() {
        let largest = |took: fn(usize, f64) -> f64| {
            let mut s = ChunkScheduler::new(None, 1).without_caches();
            s.begin();
            for round in 0..40 {
                let n = s.size();
                let took = Duration::from_secs_f64(took(round, n as f64));
                s.done(Done { took, elements: n, bytes: 8 * n as u64, came: 8 * n as u64 }, None);
            }
            s.size()
        };
        // Many kernels, or fewer for one element; only at first, as functions are loaded; and elements that are large.
        let is_enough = |n: i64| (1 << 15..=1 << 21).contains(&n);
        assert!(is_enough(largest(|_, n| 10e-3 + 1e-6 * n)));
        assert!(is_enough(largest(|_, n| if n < 2.0 { 12e-3 } else { 23e-3 + 1e-6 * n })));
        assert!(largest(|round, n| if round == 0 { 1.0 } else { 1e-5 + 1e-9 * n }) >= 1 << 22);
        assert!(largest(|round, n| 10e-3 * if round == 1 { 2.0 } else { 1.0 } + 1e-6 * n) >= 1 << 14);
        assert!(largest(|_, n| 10e-3 * n) <= 1 << 3);
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
