//! Rounds of a traversal that fail, gone through again.
//!
//! The elements of a chunk are computed together: where one of them fails, nothing has come of those before it. But what is handed over before an error must not depend on the size of chunks. So a round
//! that fails is repeated in chunks of half the size, and so on: what passes is handed over, and a chunk of one element that fails is where the run ends, with the error that is found there.
//!
//! ```text
//! elements   0 1 2 3 4 5 6 7      5 fails
//! chunks     [───────────────]    fails
//!            [───────]            passes: what comes of 0 to 3 is handed over
//!                    [───────]    fails
//!                    [───]        passes
//!                        [───]    fails
//!                        [─]      fails: the error
//! ```
//!
//! A *checkpoint* is what a round begins with: handles of the state that the stream names, and from then on the blocks that are pulled from outside, to be given back. Nothing is copied for it, unless a
//! round works in place: it then finds memory that somebody else has, and makes a copy (`Step::Take`). Where the state is large, that must not happen in every round. So a checkpoint may be some rounds
//! old: until these have asked for as many bytes as the state has. From there rounds are repeated that have handed results over; a result does not depend on the size of chunks, so as many elements
//! are left out.
//!
//! Where a budget has little room beside a large state, there is no checkpoint: what has run within a budget must run.
//!
//! On a device that reports failures late ([`Device::defers`]), the rounds of all streams can be repeated, so that the host looks for failures once in each round.
//!
//! # Invariants
//! - What a round gives is handed over when it is done, and not before.
//! - Chunks of one element need no checkpoint: if they fail, that is the end. So whatever a program needs of a budget, it has there.

use crate::native::device::{Device, Handle};
use crate::native::fault::Failure;
use crate::native::run::Machine;
use deckle_ir::kernel::{Buf, Step, Stream};
use deckle_runtime::chunk::MOST;
use std::collections::BTreeSet;
use std::time::Duration;

/// A state of so many bytes is copied in every round, if it has to be.
const SMALL: u64 = 64 << 10;

/// A stream whose rounds can be repeated.
pub(super) struct Rounds<'s, M> {
    stream: &'s Stream,
    /// The buffers that a round gives other memory: the state, and what it makes for itself.
    made: BTreeSet<Buf>,
    /// At the checkpoint, if there is one: the state, as far as it had memory.
    saved: Option<Vec<(Buf, M)>>,
    /// How many rounds were done since, and how many bytes these asked for.
    done: usize,
    bytes: u64,
    smaller: Option<Smaller>,
    /// Whether there is too little memory for a checkpoint.
    is_tight: bool,
}

/// Rounds are repeated in smaller chunks.
struct Smaller {
    /// So many rounds are known to pass: after them each is worth a checkpoint.
    pass: usize,
    /// If none of so many fails, what has failed was the size of the chunk.
    left: usize,
}

impl<D: Device> Machine<'_, D> {
    /// What is needed to repeat the rounds of a stream: if a sink takes its results, or if the device reports failures late.
    pub(super) fn repeatable<'s>(&mut self, step: &Step, stream: &'s Stream) -> Option<Rounds<'s, D::Mem>> {
        let hands_over = !stream.sinks.is_empty() && self.outside.has_sink();
        if !hands_over && !self.memory.device.defers() {
            return None;
        }
        self.outside.hold_back();
        Some(Rounds {
            stream,
            made: self.memory.program.step_uses(step).made_inside(),
            saved: None,
            done: 0,
            bytes: 0,
            smaller: None,
            is_tight: false,
        })
    }

    /// Before a round.
    pub(super) fn begin_round(&mut self, rounds: &mut Rounds<'_, D::Mem>) {
        let can_repeat = self.chunks.size > 1 && !rounds.is_tight;
        if can_repeat && rounds.saved.is_none() {
            let state = |b: &Buf| self.memory.bufs[b.index()].clone().map(|mem| (*b, mem));
            rounds.saved = Some(rounds.stream.state.iter().filter_map(state).collect());
            (rounds.done, rounds.bytes) = (0, 0);
            self.outside.mark(true);
        }
        self.repeats = can_repeat;
        if !can_repeat {
            // The round must run within a budget that has room for it alone.
            self.outside.give_back_early();
        }
    }

    /// After a round that took so long: hands over what it gave.
    pub(super) fn end_round(&mut self, rounds: &mut Rounds<'_, D::Mem>, took: Duration) -> Result<(), Failure> {
        self.repeats = false;
        self.outside.commit(self.memory.settings)?;
        rounds.done += 1;
        rounds.bytes += self.chunks.bytes + self.chunks.came;
        let smaller = rounds.smaller.as_mut().map(|s| {
            (s.pass, s.left) = (s.pass.saturating_sub(1), s.left.saturating_sub(1));
            (s.pass == 0, s.left == 0)
        });
        let state = rounds.stream.state.iter().filter_map(|b| self.memory.bufs[b.index()].as_ref());
        let state = state.map(|mem| mem.bytes() as u64).sum::<u64>();
        let room = self.memory.device.room();
        // A copy of the state, one that has grown, and what is pulled meanwhile.
        rounds.is_tight = state > SMALL && room.is_some_and(|room| room / 4 < state);
        let is_cheap = state <= rounds.bytes + SMALL;
        if is_cheap || rounds.is_tight || smaller.is_some_and(|(is_near, _)| is_near) {
            rounds.saved = None;
            self.outside.mark(false);
        }
        self.end_chunk(rounds.stream, took, smaller.is_some())?;
        if let Some((_, true)) = smaller {
            rounds.smaller = None;
            let size = self.chunks.scheduler.begin();
            self.set_chunk(rounds.stream, size)?;
        }
        Ok(())
    }

    /// After a round that failed: goes back to the checkpoint, to go on in smaller chunks.
    pub(super) fn again(&mut self, rounds: &mut Rounds<'_, D::Mem>) -> Result<(), Failure> {
        self.repeats = false;
        match self.memory.device.settle() {
            Ok(()) | Err(Failure::Unlocated) => {}
            Err(failure) => return Err(failure),
        }
        let saved = rounds.saved.take().ok_or_else(|| Failure::bug("a round that cannot be repeated"))?;
        let chunks = &mut self.chunks;
        let came = chunks.pulled.take().filter(|n| *n > 1).map_or(MOST, |n| n as i64);
        let size = (chunks.size.min(came).min(MOST) / 2).max(1);
        (chunks.bytes, chunks.came) = (0, 0);
        for b in &rounds.made {
            self.memory.bufs[b.index()] = None;
        }
        if size > 1 {
            rounds.saved = Some(saved.clone());
        }
        for (b, mem) in saved {
            self.memory.bufs[b.index()] = Some(mem);
        }
        self.memory.known.forget();
        self.outside.rewind(self.memory.settings);
        self.outside.mark(size > 1);
        let done = std::mem::take(&mut rounds.done);
        (rounds.bytes, rounds.smaller) = (0, Some(Smaller { pass: 2 * done, left: 3 * done + 4 }));
        self.set_chunk(rounds.stream, size)
    }
}
