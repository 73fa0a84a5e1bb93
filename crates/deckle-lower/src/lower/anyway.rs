//! Checks that need no loop of their own: what other sinks compute makes them anyway.

use deckle_ir::kernel::{Node, Op, Program, Sink};
use std::collections::BTreeSet;

/// The sinks without those checks that others make at all the same points.
pub(super) fn without_redundant_checks(p: &Program, sinks: &[Sink]) -> Vec<Sink> {
    let mut made = BTreeSet::new();
    for sink in sinks.iter().filter(|s| !matches!(s, Sink::Check(_))) {
        let (space, nodes) = p.sink_parts(sink);
        nodes.into_iter().filter(|n| p.space_of(*n) == space).for_each(|n| note(p, n, &mut made));
    }
    let mut kept = Vec::new();
    for sink in sinks {
        match sink {
            Sink::Check(n) if made.contains(n) => {}
            Sink::Check(n) => {
                note(p, *n, &mut made);
                kept.push(sink.clone());
            }
            _ => kept.push(sink.clone()),
        }
    }
    kept
}

/// A node that is computed at all points of its space, and the others of which the same is then true.
fn note(p: &Program, n: Node, made: &mut BTreeSet<Node>) {
    let mut todo = vec![n];
    while let Some(n) = todo.pop() {
        if !made.insert(n) {
            continue;
        }
        let space = p.space_of(n);
        let mut at = |nodes: &[Node], s| todo.extend(nodes.iter().copied().filter(|m| p.space_of(*m) == s));
        match &p.node(n).op {
            // The function of a fold is applied only where there are two values.
            Op::Fold { over, init, elems, .. } => {
                at(elems, *over);
                init.iter().for_each(|init| at(init, space));
            }
            Op::Scan { init: None, elems, .. } => at(elems, space),
            Op::If { yes, then, no, other } => {
                at(then, *yes);
                at(other, *no);
            }
            Op::Loop { init, .. } => at(init, space),
            // The operands are for the message.
            Op::Check { cond, value, .. } => at(&[*cond, *value], space),
            _ => at(&p.operands(n), space),
        }
    }
}
