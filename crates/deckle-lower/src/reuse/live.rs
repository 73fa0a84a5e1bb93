//! Which buffers are still needed, and where memory is freed.

use deckle_ir::kernel::{Buf, Step, StepUses, Uses};
use std::collections::BTreeSet;

/// Buffers whose memory is needed later.
pub(super) type Live = BTreeSet<Buf>;

/// The buffers needed after each of some steps, if `out` is needed after all of them.
pub(super) fn after(uses: &[StepUses], out: &Live) -> Vec<Live> {
    let mut all = Vec::new();
    let mut live = out.clone();
    for step in uses.iter().rev() {
        all.push(live.clone());
        live = step.all.before(live);
    }
    all.reverse();
    all
}

/// The buffers needed around the parts of a loop.
pub(super) struct Around {
    /// Whether it continues or not.
    pub after_test: Live,
    /// Before the test of the next round.
    pub after_body: Live,
}

/// The buffers needed around the parts of a loop, if `out` is needed after it.
pub(super) fn around(uses: &StepUses, out: &Live) -> Around {
    let (test, body) = (Uses::of(&uses.inside[0]), Uses::of(&uses.inside[1]));
    // Buffers that the next round needs and that this one does not produce are needed by this one too.
    let after_body = test.before(&(&uses.cond | out) | &body.needs);
    let after_test = &(&uses.cond | out) | &body.before(after_body.clone());
    Around { after_test, after_body }
}

/// The steps with a [`Step::Free`] where buffers are last needed.
pub(super) fn with_frees(steps: Vec<Step>, uses: &[StepUses], out: &Live) -> Vec<Step> {
    let before = Uses::of(uses).before(out.clone());
    block(steps, uses, &before, out)
}

fn free(bufs: &Live, steps: &mut Vec<Step>) {
    if !bufs.is_empty() {
        steps.push(Step::Free(bufs.iter().copied().collect()));
    }
}

/// `there` are the buffers that have memory before.
fn block(steps: Vec<Step>, uses: &[StepUses], there: &Live, out: &Live) -> Vec<Step> {
    let mut done = Vec::new();
    free(&(there - &Uses::of(uses).before(out.clone())), &mut done);
    let after = after(uses, out);
    for ((step, uses), after) in steps.into_iter().zip(uses).zip(&after) {
        let [first, second] = &uses.inside;
        match step {
            Step::If(cond, yes, no) => {
                let before = uses.all.before(after.clone());
                let (yes, no) = (block(yes, first, &before, after), block(no, second, &before, after));
                done.push(Step::If(cond, yes, no));
            }
            Step::While { test, cond, body, stream } => {
                let around = around(uses, after);
                let test = block(test, first, &uses.all.before(after.clone()), &around.after_test);
                let body = block(body, second, &around.after_test, &around.after_body);
                done.push(Step::While { test, cond, body, stream });
                free(&(&around.after_test - after), &mut done);
            }
            step => {
                let mut gone = &(&uses.all.needs | &uses.all.makes) - after;
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
