//! Which buffers are still needed, and where memory is let go of.

use deckle_ir::kernel::{Buf, Node, Program, Step};
use std::collections::BTreeSet;

/// Buffers whose memory is needed later.
pub(super) type Live = BTreeSet<Buf>;

/// What is needed after each of some steps, if `out` is needed after all of them.
pub(super) fn after(program: &Program, steps: &[Step], out: &Live) -> Vec<Live> {
    let mut all = Vec::new();
    let mut live = out.clone();
    for step in steps.iter().rev() {
        let before = program.step_uses(step).before(&live);
        all.push(std::mem::replace(&mut live, before));
    }
    all.reverse();
    all
}

/// What is needed around the parts of a loop.
pub(super) struct Around {
    /// Whether it goes on or not.
    pub after_test: Live,
    /// Before the test of the next round.
    pub after_body: Live,
}

/// What is needed around the parts of a loop, if `out` is needed after it.
pub(super) fn around(program: &Program, test: &[Step], cond: Node, body: &[Step], out: &Live) -> Around {
    let (test, body) = (program.block_uses(test), program.block_uses(body));
    let cond = program.node_bufs(&[cond]);
    // What the next round needs: what this one does not make for it is needed by this one too.
    let after_body = test.before(&(&(&cond | out) | &body.needs));
    let after_test = &(&cond | out) | &body.before(&after_body);
    Around { after_test, after_body }
}

/// The steps with a [`Step::Free`] wherever buffers are needed no longer.
pub(super) fn with_frees(program: &Program, steps: Vec<Step>, out: &Live) -> Vec<Step> {
    let before = program.block_uses(&steps).before(out);
    block(program, steps, &before, out)
}

fn free(bufs: &Live, steps: &mut Vec<Step>) {
    if !bufs.is_empty() {
        steps.push(Step::Free(bufs.iter().copied().collect()));
    }
}

/// `there` is what has memory before.
fn block(program: &Program, steps: Vec<Step>, there: &Live, out: &Live) -> Vec<Step> {
    let mut done = Vec::new();
    free(&(there - &program.block_uses(&steps).before(out)), &mut done);
    let after = after(program, &steps, out);
    for (step, after) in steps.into_iter().zip(&after) {
        let uses = program.step_uses(&step);
        match step {
            Step::If(cond, yes, no) => {
                let before = uses.before(after);
                let inside = |steps| block(program, steps, &before, after);
                let (yes, no) = (inside(yes), inside(no));
                done.push(Step::If(cond, yes, no));
            }
            Step::While { test, cond, body } => {
                let around = around(program, &test, cond, &body, after);
                let test = block(program, test, &uses.before(after), &around.after_test);
                let body = block(program, body, &around.after_test, &around.after_body);
                done.push(Step::While { test, cond, body });
                free(&(&around.after_test - after), &mut done);
            }
            step => {
                let mut gone = &(&uses.needs | &uses.makes) - after;
                if let Step::Take(_, from, _) = &step {
                    gone.remove(from);
                }
                done.push(step);
                free(&gone, &mut done);
            }
        }
    }
    done
}
