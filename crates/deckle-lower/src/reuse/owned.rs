//! Which buffers are the only owners of their memory, according to the steps that assign it to them.

use super::live::{self, Live};
use deckle_ir::kernel::{Buf, Program, Rep, Rows, Step, StepUses};

/// A buffer that refers to the memory of another from then on.
struct Named {
    to: Buf,
    from: Buf,
    /// Whether the other one is no longer needed.
    moved: bool,
    /// The loop, by its number in the order of the text.
    round: Option<u32>,
}

/// Facts about the owners of memory.
pub(super) struct Owned {
    owned: Vec<bool>,
    named: Vec<Named>,
    loops: u32,
}

impl Owned {
    pub(super) fn new(program: &Program, uses: &[StepUses], result: &Live, given: u64) -> Owned {
        let mut all = Owned { owned: vec![true; program.bufs.len()], named: Vec::new(), loops: 0 };
        for (k, rep) in program.params.iter().enumerate() {
            if given.checked_shr(k as u32).unwrap_or(0) & 1 == 0 {
                arrays(rep, &mut |b| all.owned[b.index()] = false);
            }
        }
        all.shared(&program.steps);
        all.collect(&program.steps, uses, result, None);
        for n in all.named.iter().filter(|n| !n.moved) {
            all.owned[n.from.index()] = false;
        }
        // A buffer that refers to memory that is not owned does not own it.
        loop {
            let owns = |n: &Named| n.moved && all.owned[n.from.index()];
            let Some(n) = all.named.iter().find(|n| all.owned[n.to.index()] && !owns(n)) else { break };
            let to = n.to;
            all.owned[to.index()] = false;
        }
        all
    }

    /// Elements from outside may share memory with elements that come later.
    fn shared(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Pull { rep, .. } => arrays(rep, &mut |b| self.owned[b.index()] = false),
                Step::If(_, a, b) | Step::While { test: a, body: b, .. } => {
                    self.shared(a);
                    self.shared(b);
                }
                _ => {}
            }
        }
    }

    fn collect(&mut self, steps: &[Step], uses: &[StepUses], out: &Live, round: Option<u32>) {
        for ((step, uses), after) in steps.iter().zip(uses).zip(live::after(uses, out)) {
            let [first, second] = &uses.inside;
            match step {
                Step::Bind(pairs) => {
                    for (to, from) in pairs {
                        let once = pairs.iter().filter(|(_, f)| f == from).count() == 1;
                        // As a target it refers to other memory afterwards.
                        let needed = after.contains(from) && pairs.iter().all(|(t, _)| t != from);
                        self.named.push(Named { to: *to, from: *from, moved: once && !needed, round });
                    }
                }
                Step::If(_, yes, no) => {
                    self.collect(yes, first, &after, round);
                    self.collect(no, second, &after, round);
                }
                Step::While { test, body, .. } => {
                    let around = live::around(uses, &after);
                    let round = Some(self.loops);
                    self.loops += 1;
                    self.collect(test, first, &around.after_test, round);
                    self.collect(body, second, &around.after_body, round);
                }
                _ => {}
            }
        }
    }

    /// Whether a buffer is the only owner of its memory, whatever its origin.
    pub(super) fn is_owned(&self, b: Buf) -> bool {
        self.owned[b.index()]
    }

    /// Whether this holds for the memory that the rounds of a loop assign to it.
    pub(super) fn is_owned_after_first(&self, b: Buf, round: u32) -> bool {
        let mut inside = self.named.iter().filter(|n| n.to == b && n.round == Some(round)).peekable();
        inside.peek().is_some() && inside.all(|n| n.moved && self.owned[n.from.index()])
    }
}

/// The buffers of a parameter that the caller may also own.
fn arrays(rep: &Rep, see: &mut dyn FnMut(Buf)) {
    match rep {
        Rep::Scalar(b) => see(*b),
        Rep::Tuple(parts) => parts.iter().for_each(|p| arrays(p, see)),
        Rep::Array(rows, elem) => {
            if let Rows::Offsets(b) = rows {
                see(*b);
            }
            arrays(elem, see);
        }
    }
}
