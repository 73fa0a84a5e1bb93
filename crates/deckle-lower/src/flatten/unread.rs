//! Removes kernels whose results are not read: for example a length that was requested and turned out to be known. Also removes checks that a later kernel makes anyway.
//!
//! The checks of such a kernel must still be made. So it is removed only if a later one makes the same checks, and nothing between them can fail first except by a limit, which is not
//! part of the meaning. Likewise, a kernel leaves its checks to a later one that computes the same values, and does not compute what only they need: the digests of words while their lengths are counted, for example.

use deckle_ir::fault::Fault;
use deckle_ir::kernel::{Buf, Node, Op, Program, ROOT, Sink, Step};
use std::collections::BTreeSet;

/// Removes kernels whose results are not read.
pub(super) fn take_out(program: &mut Program) {
    loop {
        let mut read = program.rep_bufs(&program.result);
        program.params.iter().for_each(|p| read.extend(program.rep_bufs(p)));
        reads(program, &program.steps, &mut read);
        let mut steps = std::mem::take(&mut program.steps);
        let before = count(&steps);
        block(program, &mut steps, &read);
        program.steps = steps;
        if count(&program.steps) == before {
            return;
        }
    }
}

fn count(steps: &[Step]) -> usize {
    let inside = |s: &Step| match s {
        Step::If(_, yes, no) => count(yes) + count(no),
        Step::While { test, body, .. } => count(test) + count(body),
        _ => 0,
    };
    steps.len() + steps.iter().map(inside).sum::<usize>()
}

/// The buffers that steps use other than to create and fill them.
fn reads(p: &Program, steps: &[Step], read: &mut BTreeSet<Buf>) {
    for step in steps {
        match step {
            Step::Alloc(_, n) | Step::Check(n) => read.extend(p.node_bufs(&[*n])),
            Step::Run(kernel) => {
                for sink in &kernel.sinks {
                    let needs: Vec<Node> = p.sink_needs(sink).into_iter().collect();
                    read.extend(p.node_bufs(&needs));
                    if let Sink::Scatter { bufs, .. } = sink {
                        read.extend(bufs);
                    }
                }
            }
            Step::If(cond, yes, no) => {
                read.extend(p.node_bufs(&[*cond]));
                reads(p, yes, read);
                reads(p, no, read);
            }
            Step::While { test, cond, body, .. } => {
                read.extend(p.node_bufs(&[*cond]));
                reads(p, test, read);
                reads(p, body, read);
            }
            other => {
                let uses = p.step_uses(other).all;
                read.extend(uses.needs.into_iter().chain(uses.makes));
            }
        }
    }
}

fn block(p: &Program, steps: &mut Vec<Step>, read: &BTreeSet<Buf>) {
    for i in (0..steps.len()).rev() {
        leave_checks(p, &mut steps[i..]);
        let (step, later) = steps[i..].split_first_mut().map_or((None, &[][..]), |(s, l)| (Some(s), &*l));
        let unread = match step {
            Some(Step::Run(kernel)) => {
                let unread = |s: &Sink| matches!(s, Sink::Write { buf, .. } if !read.contains(buf));
                kernel.sinks.iter().all(unread) && checked_later(p, checks(p, &kernel.sinks), later)
            }
            Some(Step::Alloc(buf, _)) => !read.contains(buf) && !later.iter().any(|s| fills(s, *buf)),
            Some(Step::If(_, yes, no)) => {
                block(p, yes, read);
                block(p, no, read);
                false
            }
            Some(Step::While { test, body, .. }) => {
                block(p, test, read);
                block(p, body, read);
                false
            }
            _ => false,
        };
        if unread {
            steps.remove(i);
        }
    }
}

/// Whether a step writes to a buffer.
fn fills(step: &Step, buf: Buf) -> bool {
    match step {
        Step::Run(kernel) => kernel.sinks.iter().any(|s| matches!(s, Sink::Write { buf: b, .. } if *b == buf)),
        Step::If(_, yes, no) => yes.iter().chain(no).any(|s| fills(s, buf)),
        Step::While { test, body, .. } => test.iter().chain(body).any(|s| fills(s, buf)),
        _ => false,
    }
}

/// Leaves checks that nothing else of the first kernel needs to a later one that computes the same, unless something else of the first can fail.
fn leave_checks(p: &Program, steps: &mut [Step]) {
    let Some((Step::Run(kernel), later)) = steps.split_first_mut() else { return };
    let (only_checks, others): (Vec<Sink>, Vec<Sink>) =
        kernel.sinks.iter().cloned().partition(|s| matches!(s, Sink::Check(_)));
    let own = checks(p, &others);
    let left = &checks(p, &only_checks) - &own;
    let goes = |s: &Sink| matches!(s, Sink::Check(_)) && !checks(p, std::slice::from_ref(s)).is_disjoint(&left);
    if left.is_empty() || others.is_empty() || own.iter().any(|n| is_failing(p, *n)) {
        return;
    }
    let Some(at) = later.iter().position(|step| can_fail(p, step)) else { return };
    if let Step::Run(next) = &mut later[at]
        && left.is_subset(&checks(p, &next.sinks))
    {
        let (gone, kept): (Vec<Sink>, Vec<Sink>) = kernel.sinks.drain(..).partition(goes);
        next.sinks.splice(0..0, gone);
        kernel.sinks = kept;
    }
}

/// Whether a step can fail, except by a limit.
fn can_fail(p: &Program, step: &Step) -> bool {
    match step {
        Step::Alloc(..) | Step::Free(_) => false,
        Step::Check(n) => p.needs_to_run(&[*n]).into_iter().any(|n| is_failing(p, n)),
        Step::Run(kernel) => checks(p, &kernel.sinks).into_iter().any(|n| is_failing(p, n)),
        _ => true,
    }
}

/// The checks of sinks, without those of the root, which the host makes before.
fn checks(p: &Program, sinks: &[Sink]) -> BTreeSet<Node> {
    let needs = sinks.iter().flat_map(|s| p.sink_needs_to_run(s));
    needs.filter(|n| matches!(p.node(*n).op, Op::Check { .. }) && p.space_of(*n) != ROOT).collect()
}

/// Whether a node is a check of something other than a limit.
fn is_failing(p: &Program, n: Node) -> bool {
    match p.node(n).op {
        Op::Check { site, .. } => !matches!(p.sites[site.index()].kind, Fault::TooMany(_)),
        _ => false,
    }
}

fn checked_later(p: &Program, mut left: BTreeSet<Node>, later: &[Step]) -> bool {
    for step in later {
        match step {
            _ if left.is_empty() => return true,
            Step::Run(kernel) => {
                let theirs = checks(p, &kernel.sinks);
                if theirs.iter().any(|n| is_failing(p, *n) && !left.contains(n)) {
                    return left.is_subset(&theirs);
                }
                left = &left - &theirs;
            }
            other if !can_fail(p, other) => {}
            _ => return false,
        }
    }
    left.is_empty()
}
