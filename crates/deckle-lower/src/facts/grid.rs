//! What the threads of a GPU may do concurrently.

use super::parts_of;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Combine, Node, Op, Program, ROOT, Region, Sink, Space};
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

/// A scatter that atomic instructions can perform: their order does not matter.
pub(crate) fn is_atomic(p: &Program, sink: &Sink) -> bool {
    use BinOp::*;
    let Sink::Scatter { values, combine: Some(Combine::Ops(ops)), .. } = sink else { return false };
    let wide = |v: &Node| p.ty(*v).is_int() && p.ty(*v).bytes() >= 4;
    ops.iter().all(|op| matches!(op, Add | Min | Max | And | Or | Xor)) && values.iter().all(wide)
}

/// A scatter into elements that points may share, with an operator that has no atomic instruction.
pub(crate) fn needs_order(p: &Program, sink: &Sink) -> bool {
    matches!(sink, Sink::Scatter { within: ROOT, .. }) && !is_atomic(p, sink)
}

/// Whether a warp can take a point of the first dimension and share the work inside: there are inner dimensions, nothing in them is ordered, and nothing is folded along the first one.
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
    let stores = |s: &Sink| p.sink_parts(s).0 != ROOT && (!matches!(s, Sink::Scatter { .. }) || is_atomic(p, s));
    let spaces = sinks.iter().map(|s| p.sink_parts(s).0).chain(needed.iter().map(|n| p.space_of(*n)));
    folds.is_empty() && sinks.iter().all(stores) && needed.iter().all(free) && spaces.into_iter().any(deeper)
}
