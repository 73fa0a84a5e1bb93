//! Checks of rows, merged into the traversal of the rows.
//!
//! A separate kernel checks the offsets of rows before anything relies on them: it reads all of them for no other purpose. If the next
//! kernel traverses these rows and relies only on each row being valid, the check becomes a part of the size of the row instead: an invalid
//! row has no elements.

use deckle_ir::kernel::{Buf, Kernel, Node, Op, Program, ROOT, Region, Sink, Space, Step};
use std::collections::BTreeSet;

/// Moves checks of rows into the kernels that traverse them.
pub(super) fn into_rows(program: &mut Program) {
    let mut steps = std::mem::take(&mut program.steps);
    let whole = steps.clone();
    block(program, &mut steps, &whole);
    program.steps = steps;
}

fn block(p: &mut Program, steps: &mut Vec<Step>, whole: &[Step]) {
    let mut i = 0;
    while i < steps.len() {
        match &mut steps[i] {
            Step::If(_, yes, no) => {
                block(p, yes, whole);
                block(p, no, whole);
            }
            Step::While { test, body, .. } => {
                block(p, test, whole);
                block(p, body, whole);
            }
            _ => {}
        }
        match move_check(p, &mut steps[i..], whole) {
            Some(()) => drop(steps.remove(i)),
            None => i += 1,
        }
    }
}

/// Moves the check in the first step into the next kernel, if possible.
fn move_check(p: &mut Program, steps: &mut [Step], whole: &[Step]) -> Option<()> {
    let (Step::Run(kernel), later) = steps.split_first_mut()? else { return None };
    let [Sink::Check(check)] = kernel.sinks.as_slice() else { return None };
    let Op::Check { cond, site, ref operands, .. } = p.node(*check).op else { return None };
    let (rows, operands) = (p.space_of(*check), operands.clone());
    if rows == ROOT || p.space(rows).parent != ROOT || !matches!(p.space(rows).region, Region::Dim(_)) {
        return None;
    }
    let loads: BTreeSet<Node> = loads(p, &p.needs_to_run(&[*check])).filter(|n| p.space_of(*n) == rows).collect();
    let bufs: BTreeSet<Buf> =
        loads.iter().filter_map(|n| if let Op::Load(b, _) = p.node(*n).op { Some(b) } else { None }).collect();
    let next = later.iter_mut().find(|s| !matches!(s, Step::Alloc(_, n) if p.node_bufs(&[*n]).is_disjoint(&bufs)))?;
    let Step::Run(next) = next else { return None };
    let (dim, size) = relying(p, next, rows, &loads, &bufs)?;
    if users(p, whole, dim) != 1 {
        return None;
    }
    let checked = p.check(cond, size, site, operands, rows);
    p.resize(dim, checked);
    next.sinks.insert(0, Sink::Check(checked));
    Some(())
}

fn loads<'a>(p: &'a Program, nodes: &'a BTreeSet<Node>) -> impl Iterator<Item = Node> + 'a {
    nodes.iter().copied().filter(|n| matches!(p.node(*n).op, Op::Load(..)))
}

/// The dimension of the rows in a kernel, and its size, if the kernel relies on the check only at points inside that dimension.
fn relying(
    p: &Program,
    kernel: &Kernel,
    rows: Space,
    checked: &BTreeSet<Node>,
    bufs: &BTreeSet<Buf>,
) -> Option<(Space, Node)> {
    let mut needs = BTreeSet::new();
    kernel.sinks.iter().for_each(|s| needs.extend(p.sink_needs_to_run(s)));
    let spaces = (0..p.spaces.len() as u32).map(Space).filter(|s| mentions(p, kernel, &needs, *s));
    let mut dims = spaces.filter_map(|s| match p.space(s).region {
        Region::Dim(size) if !p.needs_to_run(&[size]).is_disjoint(checked) => Some((s, size)),
        _ => None,
    });
    let (dim, size) = dims.next().filter(|(s, _)| p.space(*s).parent == rows)?;
    if dims.any(|(s, _)| !p.encloses(dim, s)) {
        return None;
    }
    for n in loads(p, &needs) {
        let Op::Load(buf, at) = p.node(n).op else { continue };
        // The loads of the check, or other nodes that do not depend on it outside the rows.
        let other =
            !bufs.contains(&buf) && (p.encloses(dim, p.space_of(n)) || p.needs_to_run(&[at]).is_disjoint(checked));
        if !checked.contains(&n) && !other {
            return None;
        }
    }
    for sink in &kernel.sinks {
        let (space, nodes) = p.sink_parts(sink);
        let at = match sink {
            Sink::Write { at, .. } => vec![*at],
            Sink::Scatter { .. } => nodes,
            Sink::Check(_) => Vec::new(),
        };
        if !p.encloses(dim, space) && !p.needs_to_run(&at).is_disjoint(checked) {
            return None;
        }
    }
    Some((dim, size))
}

/// Whether a kernel traverses a space.
fn mentions(p: &Program, kernel: &Kernel, needs: &BTreeSet<Node>, space: Space) -> bool {
    let inside = |s: Space| p.encloses(space, s);
    let over = |n: &Node| matches!(p.node(*n).op, Op::Fold { over, .. } if inside(over));
    needs.iter().any(|n| inside(p.space_of(*n)) || over(n)) || kernel.sinks.iter().any(|s| inside(p.sink_parts(s).0))
}

/// The number of kernels that traverse a space.
fn users(p: &Program, steps: &[Step], space: Space) -> usize {
    let one = |step: &Step| match step {
        Step::Run(kernel) => {
            let needs = kernel.sinks.iter().flat_map(|s| p.sink_needs_to_run(s)).collect();
            usize::from(mentions(p, kernel, &needs, space))
        }
        Step::If(_, yes, no) => users(p, yes, space) + users(p, no, space),
        Step::While { test, body, .. } => users(p, test, space) + users(p, body, space),
        _ => 0,
    };
    steps.iter().map(one).sum()
}
