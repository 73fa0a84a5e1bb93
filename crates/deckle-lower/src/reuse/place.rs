//! When a kernel can be computed in place.
//!
//! Each point writes one element of the new buffer. It may read the old one only at that element, and before it writes: points run in any order, and concurrently. So
//! - all loads of the old buffer have the index that is written to, and belong to the written value: no other sink reads the buffer;
//! - no fold or scan carries values of the old buffer from one point to another;
//! - no check depends on it: a kernel that fails is run again to find the failure, and by then the old values are overwritten.

use deckle_ir::kernel::{Buf, Kernel, Node, Op, Program, ROOT, Region, Sink};
use std::collections::BTreeSet;

/// The buffers whose memory sink `k`, a write, could take over for its target. `touched` are the buffers of each sink.
pub(super) fn candidates(program: &Program, kernel: &Kernel, k: usize, touched: &[BTreeSet<Buf>]) -> BTreeSet<Buf> {
    let Sink::Write { buf: new, at, .. } = kernel.sinks[k] else { return BTreeSet::new() };
    // A single number is not worth it.
    if program.space_of(at) == ROOT {
        return BTreeSet::new();
    }
    let needs = program.sink_needs(&kernel.sinks[k]);
    let elem = program.bufs[new.index()].elem;
    let mut found = BTreeSet::new();
    for n in &needs {
        if let Op::Load(b, there) = program.node(*n).op
            && there == at
            && program.bufs[b.index()].elem == elem
        {
            found.insert(b);
        }
    }
    if found.is_empty() {
        return found;
    }
    let others = || touched.iter().enumerate().filter(|(i, _)| *i != k).map(|(_, bufs)| bufs);
    if others().any(|bufs| bufs.contains(&new)) {
        return BTreeSet::new();
    }
    found.retain(|b| !others().any(|bufs| bufs.contains(b)));
    found.retain(|old| *old != new && reads_in_place(program, &needs, *old, at));
    found
}

/// The buffers that each sink reads or writes.
pub(super) fn touched(program: &Program, kernel: &Kernel) -> Vec<BTreeSet<Buf>> {
    let alone = |sink: &Sink| Kernel { sinks: vec![sink.clone()], name: String::new() };
    kernel.sinks.iter().map(|s| program.kernel_bufs(&alone(s))).collect()
}

/// Whether a node is part of a loop or function, and so depends on more than its operands.
fn is_repeated(program: &Program, n: Node) -> bool {
    let spaces = program.between(ROOT, program.space_of(n));
    spaces.iter().any(|s| matches!(program.space(*s).region, Region::Loop | Region::Lambda))
}

/// Whether the nodes of a point read a buffer only at the index of that point.
fn reads_in_place(program: &Program, needs: &BTreeSet<Node>, old: Buf, at: Node) -> bool {
    let home = program.space_of(at);
    // The nodes that depend on the buffer. Operands come before their users, sizes before the dimensions that use them.
    let mut depends: BTreeSet<Node> = BTreeSet::new();
    for n in needs {
        if matches!(program.node(*n).op, Op::Check { .. }) && is_repeated(program, *n) {
            return false;
        }
        let loads = matches!(program.node(*n).op, Op::Load(b, _) if b == old);
        let used = [program.operands(*n), program.sizes_of(*n)].concat();
        if !loads && !used.iter().any(|m| depends.contains(m)) {
            continue;
        }
        depends.insert(*n);
        let fine = match &program.node(*n).op {
            Op::Load(b, there) => *b != old || *there == at,
            Op::Check { .. } => false,
            Op::Fold { .. } => program.encloses(home, program.space_of(*n)),
            Op::Scan { from, .. } => program.encloses(home, *from),
            _ => true,
        };
        if !fine {
            return false;
        }
    }
    true
}

/// Whether a sink writes exactly the value it reads at the same index of a buffer.
pub(super) fn is_copy(program: &Program, sink: &Sink, old: Buf) -> bool {
    match sink {
        Sink::Write { at, value, .. } => program.node(*value).op == Op::Load(old, *at),
        _ => false,
    }
}
