//! Dense dimensions whose points a grid can share together.
//!
//! A grid shares the points of the outermost dimension. Where that has a few points, or where neighbouring elements are those of the innermost dimension, it is better to share the points of several
//! dimensions as those of one: `[ [ 2.0 * x : x in r ] : r in a ]` has n·m points, and its position is that of the element in memory.

use super::grid::{is_atomic, needs_order};
use super::makes_check;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Node, Op, Program, ROOT, Region, Sink, Space};
use std::collections::BTreeSet;

/// The dimensions from the outermost one on whose points can be shared together: each has a size that the host knows, contains the next one directly, and nothing belongs to its own points that has a loop,
/// has to be stored, or can fail.
pub(crate) fn dense(p: &Program, sinks: &[Sink], first: Space) -> Vec<Space> {
    let free = |s: &Sink| match s {
        Sink::Scatter { within, .. } => is_atomic(p, s) || *within == ROOT && !needs_order(p, s),
        _ => true,
    };
    let needed: BTreeSet<Node> = sinks.iter().flat_map(|s| p.sink_needs(s)).collect();
    let mut dims = vec![first];
    let mut last = first;
    if host_size(p, first).is_none() || !sinks.iter().all(free) {
        return dims;
    }
    // Where values are taken: of sinks, and of folds that belong to the root.
    let ends = sinks.iter().map(|s| p.sink_parts(s).0).filter(|s| *s != ROOT);
    let folded = needed.iter().filter_map(|n| match p.node(*n).op {
        Op::Fold { over, .. } if p.space_of(*n) == ROOT && p.encloses(first, over) => Some(over),
        _ => None,
    });
    let ends: Vec<Space> = ends.chain(folded).collect();
    loop {
        let below: BTreeSet<Option<Space>> = ends.iter().map(|s| p.between(last, *s).first().copied()).collect();
        let [Some(next)] = below.into_iter().collect::<Vec<_>>()[..] else { return dims };
        let own = |n: &&Node| p.encloses(last, p.space_of(**n)) && !p.encloses(next, p.space_of(**n));
        let light = |n: &Node| {
            !matches!(p.node(*n).op, Op::Fold { .. } | Op::Scan { .. } | Op::Loop { .. }) && !makes_check(p, *n)
        };
        let scanned = |n: &Node| matches!(p.node(*n).op, Op::Scan { from, .. } if from == last);
        let apart = needed.iter().any(scanned) || !needed.iter().filter(own).all(light);
        if apart || host_size(p, next).is_none() {
            return dims;
        }
        dims.push(next);
        last = next;
    }
}

/// The size of a dimension, if the host can compute it.
pub(crate) fn host_size(p: &Program, dim: Space) -> Option<Node> {
    let Region::Dim(size) = p.space(dim).region else { return None };
    let light = |n: &Node| !matches!(p.node(*n).op, Op::Fold { .. } | Op::Scan { .. } | Op::Loop { .. });
    (p.space_of(size) == ROOT && p.needs(&[size]).iter().all(light)).then_some(size)
}

/// The sizes of dimensions.
pub(crate) fn sizes(p: &Program, dims: &[Space]) -> Vec<Node> {
    let size = |dim: &Space| match p.space(*dim).region {
        Region::Dim(size) => Some(size),
        _ => None,
    };
    dims.iter().filter_map(size).collect()
}

/// Whether a node is the position of a point among those of all dimensions, the last one fastest.
pub(crate) fn is_flat_position(p: &Program, dims: &[Space], n: Node) -> bool {
    let Some((last, outer)) = dims.split_last() else { return false };
    let is_pos = |n: Node| matches!(p.node(n).op, Op::Pos) && p.space_of(n) == *last;
    if outer.is_empty() {
        return is_pos(n);
    }
    let Region::Dim(size) = p.space(*last).region else { return false };
    let rows = |n: Node| match p.node(n).op {
        Op::Binary(BinOp::Mul, a, b) => {
            a == size && is_flat_position(p, outer, b) || b == size && is_flat_position(p, outer, a)
        }
        _ => false,
    };
    match p.node(n).op {
        Op::Binary(BinOp::Add, a, b) => is_pos(a) && rows(b) || is_pos(b) && rows(a),
        _ => false,
    }
}

/// Whether all that is computed at the points of dimensions depends on their positions by the number of the point only: then they are as good as one dimension.
pub(crate) fn is_one(p: &Program, sinks: &[Sink], dims: &[Space]) -> bool {
    let Some(last) = dims.last().filter(|_| dims.len() > 1) else { return false };
    let mut pending: Vec<Node> = sinks.iter().flat_map(|s| p.sink_parts(s).1).collect();
    let mut seen = BTreeSet::new();
    while let Some(n) = pending.pop() {
        if is_flat_position(p, dims, n) || !seen.insert(n) {
            continue;
        }
        match p.node(n).op {
            Op::Pos if dims.contains(&p.space_of(n)) => return false,
            _ => pending.extend(p.operands(n).into_iter().chain(p.sizes_of(n))),
        }
    }
    sinks.iter().all(|s| p.sink_parts(s).0 == *last)
}
