//! Checks that need no loop of their own: what other sinks compute makes them anyway.

use deckle_ir::kernel::{Program, Sink};
use std::collections::BTreeSet;

/// The sinks without those checks that others make at all the same points.
pub(super) fn without_redundant_checks(p: &Program, sinks: &[Sink]) -> Vec<Sink> {
    let mut made = BTreeSet::new();
    for sink in sinks.iter().filter(|s| !matches!(s, Sink::Check(_))) {
        let (space, nodes) = p.sink_parts(sink);
        nodes.into_iter().filter(|n| p.space_of(*n) == space).for_each(|n| p.note_computed(n, &mut made));
    }
    let mut kept = Vec::new();
    for sink in sinks {
        match sink {
            Sink::Check(n) if made.contains(n) => {}
            Sink::Check(n) => {
                p.note_computed(*n, &mut made);
                kept.push(sink.clone());
            }
            _ => kept.push(sink.clone()),
        }
    }
    kept
}
