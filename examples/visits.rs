//! Visits in an event log, grouped on the fly: a visit is a run of events of one user with no pause of more than half an hour between them. The twin of `visits.dk`.
//!
//! Events come from an iterator while the program runs, and visits are one: neither is ever all in memory.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// A line of the log.
#[derive(Clone, Copy, Debug, Elt)]
pub struct Event {
    /// Whose it is.
    pub user: i64,
    /// When, in seconds.
    pub time: i64,
    /// How much was sent.
    pub bytes: i64,
}

/// The longest pause, in seconds.
const PAUSE: i64 = 1800;

fn visits(log: Seq<Event>) -> Seq<Seq<Event>> {
    // For each event what was before it, and its number.
    let before = log.scan(Event::exp(-1, 0, 0), |_, e| e);
    let numbers = log.map(|_| 1i64).scan(0, |a, b| a + b);
    let new = log.zip_with(before, |e, p| e.user().differs(p.user()) | (e.time() - p.time()).gt(PAUSE));
    // A visit ends before the first event of the next one; the first event of all begins the first.
    let ends = new.zip_with(numbers, |new, i| only_if(new & i.gt(0), || true).chain(only_if(constant(true), || false)));
    log.flagpart(ends.flatten().chain(only_if(constant(true), || true)))
}

/// Builds the program: user, begin, seconds, events and bytes of each visit.
pub fn program() -> Result<Compiled<(Seq<Event>,), Seq<(i64, i64, i64, i64, i64)>>, Error> {
    compile(|log: Seq<Event>| {
        visits(log).map(|v| {
            let (first, last) = (v.map(|e| e.time()).min(), v.map(|e| e.time()).max());
            (v.map(|e| e.user()).max(), first, last - first, v.count(), v.map(|e| e.bytes()).sum())
        })
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let events = (0..40).map(|i| Event { user: i / 15, time: i * 300 + i / 7 * 2000, bytes: i * 1000 });
    for visit in program()?.on(Cpu).stream(feed(events)) {
        println!("{:?}", visit?);
    }
    Ok(())
}
