//! What the threads of a GPU may do concurrently.

use super::{is_one_value, is_ordered, parts_of, unit};
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Buf, Combine, Node, Op, Program, ROOT, Region, Sink, Space};
use deckle_ir::loops;
use std::collections::BTreeSet;

/// Whether the order of elements does not matter.
pub(crate) fn commutes(how: &Combine) -> bool {
    use BinOp::*;
    matches!(how, Combine::Ops(ops) if ops.iter().all(|op| matches!(op, Add | Mul | Min | Max | And | Or | Xor | AddSat)))
}

/// Whether the elements of all folds may come in any order.
pub(crate) fn all_commute(p: &Program, folds: &[Node]) -> bool {
    folds.iter().all(|n| parts_of(p, *n).is_ok_and(|(_, _, how)| commutes(how)))
}

/// A scatter that atomic operations can do: their order does not matter.
pub(crate) fn is_atomic(p: &Program, sink: &Sink) -> bool {
    let Sink::Scatter { values, combine: Some(Combine::Ops(ops)), .. } = sink else { return false };
    ops.iter().zip(values).all(|(op, v)| loops::is_atomic(*op, p.ty(*v)))
}

/// A scatter into elements that points may share, where it matters which of them comes last: the operator is not atomic, and values differ.
pub(crate) fn needs_order(p: &Program, sink: &Sink) -> bool {
    is_ordered(p, sink) && !is_atomic(p, sink) && !is_one_value(p, sink)
}

/// The scatters that a block can combine in shared memory first: atomic ones, into arrays of a size that is known before.
pub(crate) fn binned<'s>(p: &Program, sinks: &'s [Sink]) -> Vec<&'s Sink> {
    let has_bins = |s: &&Sink| match s {
        Sink::Scatter { within: ROOT, len, values, combine: Some(Combine::Ops(ops)), .. } => {
            let units = ops.iter().zip(values).all(|(op, v)| unit(*op, p.ty(*v)).is_some());
            is_atomic(p, s) && p.space_of(*len) == ROOT && units
        }
        _ => false,
    };
    sinks.iter().filter(has_bins).collect()
}

/// The bytes of a bin of all these scatters.
pub(crate) fn bin_bytes(p: &Program, scatters: &[&Sink]) -> u32 {
    let bytes = |s: &&Sink| match s {
        Sink::Scatter { bufs, .. } => bufs.iter().map(|b| p.bufs[b.index()].elem.bytes() as u32).sum(),
        _ => 0,
    };
    scatters.iter().map(bytes).sum()
}

/// Whether groups within a warp can take points. The threads of a warp stay together, since nothing is folded or stored under a condition of the point, and a group without a point, which
/// computes that of another one, finds there what was there before: no element is replaced in place.
pub(crate) fn stays_together(p: &Program, sinks: &[Sink], first: Space) -> bool {
    let needed: BTreeSet<Node> = sinks.iter().flat_map(|s| p.sink_needs(s)).collect();
    let folds = needed.iter().filter(|n| matches!(p.node(**n).op, Op::Fold { .. })).map(|n| p.space_of(*n));
    let guarded = |s: Space| {
        let inside = s != first && p.encloses(first, s);
        inside && p.between(first, s).first().is_some_and(|s| matches!(p.space(*s).region, Region::Guard(..)))
    };
    let loaded = |b: &Buf| needed.iter().any(|n| matches!(p.node(*n).op, Op::Load(from, _) if from == *b));
    let in_place = |s: &Sink| matches!(s, Sink::Write { buf, .. } if loaded(buf));
    !sinks.iter().any(in_place) && !sinks.iter().map(|s| p.sink_parts(s).0).chain(folds).any(guarded)
}

/// Whether a group of threads can take a point of the first dimension and share what is inside: there are dimensions inside, nothing in them has an order, and nothing is folded along the first one.
pub(crate) fn can_share_points(p: &Program, sinks: &[Sink], first: Space, folds: &[Node]) -> bool {
    let needed: BTreeSet<Node> = sinks.iter().flat_map(|s| p.sink_needs(s)).collect();
    let deeper = |s: Space| {
        let inner = p.encloses(first, s) && s != first;
        inner && p.between(first, s).iter().any(|s| matches!(p.space(*s).region, Region::Dim(_)))
    };
    let free = |n: &Node| match &p.node(*n).op {
        Op::Scan { .. } => false,
        Op::Fold { combine, .. } => deeper(p.space_of(*n)) || commutes(combine),
        _ => true,
    };
    let scatters = |s: &Sink| is_atomic(p, s) || matches!(s, Sink::Scatter { within: ROOT, .. }) && !needs_order(p, s);
    let stores = |s: &Sink| p.sink_parts(s).0 != ROOT && (!matches!(s, Sink::Scatter { .. }) || scatters(s));
    let spaces = sinks.iter().map(|s| p.sink_parts(s).0).chain(needed.iter().map(|n| p.space_of(*n)));
    folds.is_empty() && sinks.iter().all(stores) && needed.iter().all(free) && spaces.into_iter().any(deeper)
}
