//! Finds work of a simulated device that overlaps although it must not: the order of lanes and of the host, by vector clocks.
//!
//! The simulator does all work when it is enqueued, so that results do not show a missing wait. Instead, each operation of a lane has a number, and a *clock* says which operations of every lane precede it:
//!
//! | | precedes |
//! |---|---|
//! | the operations before it in its lane | an operation |
//! | what the host knows to be done, when it enqueues an operation | the operation |
//! | what an event follows | an operation enqueued after its lane waits for the event |
//! | what an event follows | everything that the host does after it has seen that the event is past |
//!
//! Two accesses of the same memory, of which one writes, are an error if neither precedes the other.

use crate::native::gpu::port::{Lane, PortError, Ported};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

const LANES: usize = 2;

/// How many operations of each lane precede something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock([u64; LANES]);

impl Clock {
    fn join(&mut self, other: &Clock) {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own = (*own).max(other));
    }
}

/// The clocks of a device.
#[derive(Debug, Default)]
pub(super) struct Clocks(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    host: Clock,
    lanes: [Clock; LANES],
}

/// An operation of a lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    lane: Lane,
    /// What precedes it, and itself.
    clock: Clock,
}

impl Operation {
    fn number(&self) -> u64 {
        self.clock.0[self.lane as usize]
    }

    /// Whether it precedes what has this clock.
    fn precedes(&self, clock: &Clock) -> bool {
        self.number() <= clock.0[self.lane as usize]
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What is behind these locks is whole at all times.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Clocks {
    /// The next operation of a lane.
    pub(super) fn next(&self, lane: Lane) -> Operation {
        let State { host, lanes } = &mut *lock(&self.0);
        let own = &mut lanes[lane as usize];
        own.join(host);
        own.0[lane as usize] += 1;
        Operation { lane, clock: *own }
    }

    /// What an event follows that is recorded now.
    pub(super) fn event(&self, lane: Lane) -> Clock {
        lock(&self.0).lanes[lane as usize]
    }

    /// A lane waits for an event.
    pub(super) fn wait(&self, lane: Lane, event: &Clock) {
        lock(&self.0).lanes[lane as usize].join(event);
    }

    /// The host has seen that an event is past.
    pub(super) fn past(&self, event: &Clock) {
        lock(&self.0).host.join(event);
    }

    fn host(&self) -> Clock {
        lock(&self.0).host
    }
}

/// The accesses of some memory: of all of it, or of ranges of bytes.
#[derive(Debug, Default)]
pub(super) struct Accesses(Mutex<Vec<Access>>);

#[derive(Debug)]
struct Access {
    by: Operation,
    writes: bool,
    range: Range<usize>,
}

impl Accesses {
    /// An operation reads or writes some bytes.
    pub(super) fn add(&self, by: Operation, writes: bool, range: Range<usize>) -> Ported<()> {
        let mut all = lock(&self.0);
        check(&all, &by.clock, writes, &range, || format!("an operation of the lane {:?}", by.lane))?;
        // What precedes this one and is within it need not be compared with later ones.
        let within = |a: &Access| range.start <= a.range.start && a.range.end <= range.end;
        all.retain(|a| !(a.by.precedes(&by.clock) && within(a) && (writes || (!a.writes && a.by.lane == by.lane))));
        all.push(Access { by, writes, range });
        Ok(())
    }

    /// The host accesses some bytes.
    pub(super) fn by_host(&self, clocks: &Clocks, range: Range<usize>) -> Ported<()> {
        let (mut all, host) = (lock(&self.0), clocks.host());
        check(&all, &host, true, &range, || "the host".to_string())?;
        all.retain(|a| !a.by.precedes(&host));
        Ok(())
    }
}

fn check(
    all: &[Access],
    clock: &Clock,
    writes: bool,
    range: &Range<usize>,
    who: impl FnOnce() -> String,
) -> Ported<()> {
    let meets = |a: &Access| a.range.start < range.end && range.start < a.range.end;
    match all.iter().find(|a| meets(a) && (writes || a.writes) && !a.by.precedes(clock)) {
        None => Ok(()),
        Some(a) => {
            let does = |writes| if writes { "writes" } else { "reads" };
            let message = format!(
                "the simulator: {} {} memory while an operation of the lane {:?} {} it",
                who(),
                does(writes),
                a.by.lane,
                does(a.writes)
            );
            Err(PortError::Refused(message))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Range<usize> = 0..8;

    #[test]
    fn operations_of_a_lane_are_in_order() {
        let (clocks, memory) = (Clocks::default(), Accesses::default());
        for writes in [true, false, true, true] {
            memory.add(clocks.next(Lane::Compute), writes, ALL).unwrap();
        }
        // Reads of both lanes may overlap.
        let memory = Accesses::default();
        memory.add(clocks.next(Lane::Compute), false, ALL).unwrap();
        memory.add(clocks.next(Lane::Ahead), false, ALL).unwrap();
    }

    #[test]
    fn lanes_that_do_not_wait_overlap() {
        for (first, second) in [(true, true), (true, false), (false, true)] {
            let (clocks, memory) = (Clocks::default(), Accesses::default());
            memory.add(clocks.next(Lane::Ahead), first, ALL).unwrap();
            let event = clocks.event(Lane::Ahead);
            let e = memory.add(clocks.next(Lane::Compute), second, ALL).unwrap_err();
            assert!(e.to_string().contains("lane Compute") && e.to_string().contains("lane Ahead"), "{e}");
            // Other bytes may be used, and the same ones after the event.
            memory.add(clocks.next(Lane::Compute), second, 8..9).unwrap();
            clocks.wait(Lane::Compute, &event);
            memory.add(clocks.next(Lane::Compute), second, ALL).unwrap();
        }
    }

    #[test]
    fn an_event_precedes_what_the_host_does_after_it() {
        let (clocks, memory) = (Clocks::default(), Accesses::default());
        memory.add(clocks.next(Lane::Ahead), false, 0..4).unwrap();
        let event = clocks.event(Lane::Ahead);
        memory.add(clocks.next(Lane::Ahead), false, 4..8).unwrap();
        assert!(memory.by_host(&clocks, ALL).is_err());
        clocks.past(&event);
        memory.by_host(&clocks, 0..4).unwrap();
        assert!(memory.by_host(&clocks, ALL).is_err());
        // Also what the host then enqueues in another lane.
        memory.add(clocks.next(Lane::Compute), true, 0..4).unwrap();
        assert!(memory.add(clocks.next(Lane::Compute), true, 4..8).is_err());
    }

    #[test]
    fn a_read_of_one_lane_does_not_hide_that_of_another() {
        let (clocks, memory) = (Clocks::default(), Accesses::default());
        memory.add(clocks.next(Lane::Ahead), false, ALL).unwrap();
        memory.add(clocks.next(Lane::Compute), false, ALL).unwrap();
        assert!(memory.add(clocks.next(Lane::Compute), true, ALL).is_err());
    }
}
