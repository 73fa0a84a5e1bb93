//! Memory of kernel programs: which kernels work in place, and when memory is freed.
//!
//! If a kernel is the last user of a buffer, and reads it at each point only where that point writes a new one, the new buffer takes over the memory of
//! the old ([`Step::Take`]): the kernel then loads from the buffer it writes to. A kernel that only copies is removed. After this, buffers are freed at
//! their last use ([`Step::Free`]), in branches and loops too.
//!
//! ```text
//! alloc b5: f32 [t2]                       take b5: f32 [t2] = b4
//! kernel {                                 kernel {
//!   t8 @s1 = load b4[t6]                     t11 @s1 = load b5[t6]
//!   ...                              ─►      ...
//!   write @s1 b5[t6] = t10                   write @s1 b5[t6] = t13
//! }                                        }
//! ```
//!
//! The host checks again before it takes over memory: if there is another owner, such as the caller for an argument, it makes a copy. So the pass
//! decides only where to try. It tries if the old memory is the program's own; arguments are if the caller says so. A copy
//! that a loop makes in every round is always worth trying: the first round may have to make it, the others do not.
//!
//! Time is proportional to the program, for each level of nested loops.

mod live;
mod owned;
mod place;
#[cfg(test)]
mod tests;

use deckle_ir::array::BinOp;
use deckle_ir::kernel::{Buf, Kernel, Node, Op, Program, Sink, Step, StepUses};
use live::Live;
use owned::Owned;
use std::collections::{BTreeSet, HashMap};

/// Decides where memory is taken over and where it is freed. `given` has a bit for each parameter whose argument may be overwritten.
pub fn reuse(program: &mut Program, given: u64) {
    let same = Same::new(program);
    let result = program.rep_bufs(&program.result);
    let mut uses = program.uses(&program.steps);
    let owned = Owned::new(program, &uses, &result, given);
    let steps = std::mem::take(&mut program.steps);
    let mut pass = Pass { program, owned, same, loops: 0 };
    let steps = pass.block(steps, &mut uses, &result, None);
    program.steps = live::with_frees(steps, &uses, &result);
}

struct Pass<'p> {
    program: &'p mut Program,
    owned: Owned,
    same: Same,
    /// The number of loops so far, in the order of the text.
    loops: u32,
}

/// The steps of a block so far, and their uses of buffers.
#[derive(Default)]
struct Done {
    steps: Vec<Step>,
    uses: Vec<StepUses>,
}

impl Done {
    /// The step that created a buffer that is unused since, and its size.
    fn made(&self, buf: Buf) -> Option<(usize, Node)> {
        for (i, step) in self.steps.iter().enumerate().rev() {
            match step {
                Step::Alloc(b, n) if *b == buf => return Some((i, *n)),
                Step::Alloc(..) | Step::Take(..) | Step::Check(_) | Step::Run(_) | Step::Sort { .. } => {}
                _ => return None,
            }
            if self.uses[i].all.mentions(buf) {
                return None;
            }
        }
        None
    }
}

/// A kernel, and the buffers that it needs if they have changed.
struct Changed {
    kernel: Kernel,
    uses: Option<BTreeSet<Buf>>,
}

impl Pass<'_> {
    /// A list of steps, in the round of a loop or not. `uses` is kept up to date.
    fn block(&mut self, steps: Vec<Step>, uses: &mut Vec<StepUses>, out: &Live, round: Option<u32>) -> Vec<Step> {
        let after = live::after(uses, out);
        let mut done = Done::default();
        for ((step, mut uses), after) in steps.into_iter().zip(std::mem::take(uses)).zip(&after) {
            let step = match step {
                Step::Run(kernel) => {
                    let new = self.kernel(kernel, after, &mut done, round);
                    if let Some(changed) = new.uses {
                        uses.all.needs = changed;
                    }
                    if new.kernel.sinks.is_empty() {
                        continue;
                    }
                    Step::Run(new.kernel)
                }
                Step::If(cond, yes, no) => {
                    let [first, second] = &mut uses.inside;
                    let (yes, no) = (self.block(yes, first, after, round), self.block(no, second, after, round));
                    uses = StepUses::branch(uses.cond, uses.inside);
                    Step::If(cond, yes, no)
                }
                Step::While { test, cond, body, stream } => {
                    let around = live::around(&uses, after);
                    let round = Some(self.loops);
                    self.loops += 1;
                    let [first, second] = &mut uses.inside;
                    let test = self.block(test, first, &around.after_test, round);
                    let body = self.block(body, second, &around.after_body, round);
                    uses = StepUses::repeated(uses.cond, uses.inside);
                    Step::While { test, cond, body, stream }
                }
                other => other,
            };
            done.steps.push(step);
            done.uses.push(uses);
        }
        *uses = done.uses;
        done.steps
    }

    /// A kernel, in place as far as possible, after the steps `done`, in which buffers may then be created differently.
    fn kernel(&mut self, kernel: Kernel, after: &Live, done: &mut Done, round: Option<u32>) -> Changed {
        let mut renamed = HashMap::new();
        let touched = place::touched(self.program, &kernel);
        for (k, sink) in kernel.sinks.iter().enumerate() {
            let Sink::Write { buf, .. } = sink else { continue };
            let Some((at, len)) = done.made(*buf) else { continue };
            for old in place::candidates(self.program, &kernel, k, &touched) {
                let untouched = !done.uses[at + 1..].iter().any(|u| u.all.mentions(old));
                if untouched && !after.contains(&old) && self.is_worth_it(sink, old, len, round) {
                    done.steps[at] = Step::Take(*buf, old, len);
                    done.uses[at] = self.program.step_uses(&done.steps[at]);
                    renamed.insert(old, *buf);
                    break;
                }
            }
        }
        if renamed.is_empty() {
            return Changed { kernel, uses: None };
        }
        let kernel = self.program.with_loads_from(&kernel, &renamed);
        let kernel = self.without_copies(kernel, &done.steps);
        let uses = Some(self.program.kernel_bufs(&kernel));
        Changed { kernel, uses }
    }

    /// Whether to try to take over the memory of a buffer for `len` elements that a sink writes.
    fn is_worth_it(&self, sink: &Sink, old: Buf, len: Node, round: Option<u32>) -> bool {
        let copies = place::is_copy(self.program, sink, old);
        let later = || round.is_some_and(|r| self.owned.is_owned_after_first(old, r));
        let size = self.program.bufs[old.index()].len.map(|n| self.same.name(n));
        size == Some(self.same.name(len)) && (self.owned.is_owned(old) || copies && later())
    }

    /// A kernel without sinks that write values that are already there. Checks that only those make stay.
    fn without_copies(&self, kernel: Kernel, done: &[Step]) -> Kernel {
        let made: BTreeSet<Node> =
            done.iter().filter_map(|s| if let Step::Check(n) = s { Some(*n) } else { None }).collect();
        let mut sinks = Vec::new();
        for sink in kernel.sinks {
            let Sink::Write { buf, .. } = sink else {
                sinks.push(sink);
                continue;
            };
            if !place::is_copy(self.program, &sink, buf) {
                sinks.push(sink);
                continue;
            }
            let is_check = |n: &Node| matches!(self.program.node(*n).op, Op::Check { .. }) && !made.contains(n);
            sinks.extend(self.program.sink_needs_to_run(&sink).into_iter().filter(is_check).map(Sink::Check));
        }
        Kernel { sinks, name: kernel.name }
    }
}

/// Numbers that the host checks to be equal, each with its representative.
#[derive(Default)]
struct Same(HashMap<Node, Node>);

impl Same {
    /// The representative of all numbers equal to this one.
    fn name(&self, mut n: Node) -> Node {
        while let Some(m) = self.0.get(&n) {
            n = *m;
        }
        n
    }

    fn new(program: &Program) -> Same {
        let mut same = Same::default();
        for step in &program.steps {
            let Step::Check(n) = step else { continue };
            let Op::Check { cond, value, .. } = program.node(*n).op else { continue };
            let mut equal = vec![(*n, value)];
            if let Op::Binary(BinOp::Eq, a, b) = program.node(cond).op {
                equal.push((a, b));
            }
            for (a, b) in equal {
                let (a, b) = (same.name(a), same.name(b));
                if a != b {
                    same.0.insert(a.max(b), a.min(b));
                }
            }
        }
        same
    }
}
