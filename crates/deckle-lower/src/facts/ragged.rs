//! Rows of different lengths below the outermost dimension of a kernel.

use super::is_ordered;
use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Buf, Combine, Node, Op, Program, ROOT, Region, Sink, Space};
use std::collections::BTreeSet;

/// Lengths that take no more nodes than this are computed twice.
const LITTLE: usize = 64;

/// Rows of different lengths at the points of the first dimension.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ragged {
    /// The dimension of a row.
    pub dim: Space,
    /// The buffer of row offsets; without it, the lengths are computed.
    pub offsets: Option<Buf>,
    /// See [`Rows`](deckle_ir::loops::Rows).
    pub divisible: bool,
}

/// The rows of a kernel: a dimension just below the first that has offsets, or else one whose size is computed.
pub(crate) fn rows_of(p: &Program, sinks: &[Sink], first: Space, needed: &BTreeSet<Node>, few: i64) -> Option<Ragged> {
    let mut spaces: BTreeSet<Space> = sinks.iter().map(|s| p.sink_parts(s).0).collect();
    spaces.extend(needed.iter().flat_map(|n| match p.node(*n).op {
        Op::Fold { over, .. } => vec![p.space_of(*n), over],
        _ => vec![p.space_of(*n)],
    }));
    let below = spaces.iter().filter(|s| p.encloses(first, **s)).filter_map(|s| p.between(first, *s).first().copied());
    let below: BTreeSet<Space> = below.collect();
    let dims: Vec<(Space, Node)> = below
        .into_iter()
        .filter_map(|s| if let Region::Dim(size) = p.space(s).region { Some((s, size)) } else { None })
        .collect();
    let with_offsets = dims.iter().find_map(|(s, _)| Some((*s, Some(p.space(*s).offsets?))));
    let computed = || dims.iter().find(|(_, size)| is_computed(p, *size, first, few)).map(|(s, _)| (*s, None));
    let (dim, offsets) = with_offsets.or_else(computed)?;
    // A scan across rows does not belong to the rows.
    let goes_on = |n: &Node| matches!(p.node(*n).op, Op::Scan { from: ROOT, .. }) && p.encloses(dim, p.space_of(*n));
    if needed.iter().any(|n| goes_on(n) || goes_in_order(p, *n, first)) {
        return None;
    }
    let in_order = |s: &Sink| is_ordered(p, s) || matches!(s, Sink::Scatter { space, .. } if p.encloses(dim, *space));
    let divisible = !sinks.iter().any(in_order);
    // Even division of work does not justify computing lengths twice.
    (divisible || offsets.is_some()).then_some(Ragged { dim, offsets, divisible })
}

/// Whether a size differs from point to point of a dimension, may be large, and is cheap to compute.
fn is_computed(p: &Program, size: Node, first: Space, few: i64) -> bool {
    if p.space_of(size) != first || !matches!(p.space(first).region, Region::Dim(_)) {
        return false;
    }
    let needs = p.needs(&[size]);
    let little = |n: &Node| !matches!(p.node(*n).op, Op::Fold { .. } | Op::Scan { .. } | Op::Loop { .. });
    needs.len() <= LITTLE && needs.iter().all(little) && differs(p, size, first) && !is_few(p, size, few)
}

/// Whether a number depends on the position in a dimension, and not only through a check.
fn differs(p: &Program, n: Node, dim: Space) -> bool {
    let (mut seen, mut todo) = (BTreeSet::new(), vec![n]);
    while let Some(n) = todo.pop() {
        if !seen.insert(n) {
            continue;
        }
        match p.node(n).op {
            Op::Pos if p.space_of(n) == dim => return true,
            Op::Check { value, .. } => todo.push(value),
            Op::If { yes, .. } => {
                todo.extend(p.operands(n));
                todo.extend(if let Region::Guard(cond, _) = p.space(yes).region { Some(cond) } else { None });
            }
            _ => todo.extend(p.operands(n)),
        }
    }
    false
}

/// Whether a number is known to be at most `most`.
fn is_few(p: &Program, n: Node, most: i64) -> bool {
    let few = |n: &Node| is_few(p, *n, most);
    match &p.node(n).op {
        Op::Const(c) => c.as_int().is_some_and(|c| c <= i128::from(most)),
        Op::Check { value, .. } => few(value),
        Op::Binary(BinOp::Rem, _, by) => p.as_int(*by).is_some_and(|c| (-most..=most).contains(&c)),
        Op::Binary(BinOp::Min, a, b) => few(a) || few(b),
        Op::Binary(BinOp::Max, a, b) | Op::Select(_, a, b) => few(a) && few(b),
        Op::Binary(BinOp::Sub, a, b) => is_little_over(p, *a, *b, most),
        Op::Part(group, k) => match &p.node(*group).op {
            Op::If { then, other, .. } => few(&then[*k as usize]) && few(&other[*k as usize]),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a number is known to exceed another by at most `most`, as the end of a part of an array exceeds its start.
fn is_little_over(p: &Program, a: Node, b: Node, most: i64) -> bool {
    let little = |a: &Node, b: &Node| is_little_over(p, *a, *b, most);
    match (&p.node(a).op, &p.node(b).op) {
        (Op::Check { value, .. }, _) => return little(value, &b),
        (Op::Binary(BinOp::Min, x, y), _) if little(x, &b) || little(y, &b) => return true,
        (_, Op::Binary(BinOp::Max, x, y)) if little(&a, x) || little(&a, y) => return true,
        _ => {}
    }
    let (Some(mut sum), Some(less)) = (p.linear(a, &|n| n), p.linear(b, &|n| n)) else { return false };
    sum.add(&less, -1).is_some() && sum.terms.is_empty() && sum.constant <= most
}

/// Whether a node folds or scans in order, from a space on.
pub(crate) fn goes_in_order(p: &Program, n: Node, from: Space) -> bool {
    let in_order = |combine: &Combine| matches!(combine, Combine::InOrder(..));
    match &p.node(n).op {
        Op::Fold { combine, .. } => p.space_of(n) == from && in_order(combine),
        Op::Scan { from: f, combine, .. } => *f == from && in_order(combine),
        _ => false,
    }
}
