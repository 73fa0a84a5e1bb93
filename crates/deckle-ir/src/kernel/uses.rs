//! The buffers that steps need, and those that they bind.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The effect of steps on buffers, seen from before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Those whose earlier memory may be read or written.
    pub needs: BTreeSet<Buf>,
    /// Those that are bound to other memory afterwards, in every case.
    pub makes: BTreeSet<Buf>,
}

/// The effect of a step on buffers, and that of the steps in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepUses {
    /// The whole step.
    pub all: Uses,
    /// The buffers of its condition, if it has one, and of the size of its chunks.
    pub cond: BTreeSet<Buf>,
    /// Its two lists of steps, if it has those.
    pub inside: [Vec<StepUses>; 2],
}

impl StepUses {
    /// One of two lists.
    pub fn branch(cond: BTreeSet<Buf>, inside: [Vec<StepUses>; 2]) -> StepUses {
        let (yes, no) = (Uses::of(&inside[0]), Uses::of(&inside[1]));
        let needs = &(&cond | &yes.needs) | &no.needs;
        StepUses { all: Uses { needs, makes: &yes.makes & &no.makes }, cond, inside }
    }

    /// The first list, and while the condition holds the second and the first again. The buffers that the second needs, and the first does not bind, come from
    /// before the loop in the first round.
    pub fn repeated(cond: BTreeSet<Buf>, inside: [Vec<StepUses>; 2]) -> StepUses {
        let (test, body) = (Uses::of(&inside[0]), Uses::of(&inside[1]));
        let needs = test.before(&cond | &body.needs);
        StepUses { all: Uses { needs, makes: test.makes }, cond, inside }
    }

    /// The buffers that some step binds to other memory, in branches and loops too.
    pub fn made_inside(&self) -> BTreeSet<Buf> {
        let mut all = self.all.makes.clone();
        self.inside.iter().flatten().for_each(|step| all.extend(step.made_inside()));
        all
    }
}

impl Uses {
    /// The effect of a list of steps.
    pub fn of(steps: &[StepUses]) -> Uses {
        let mut all = Uses::default();
        for step in steps.iter().rev() {
            all.needs = step.all.before(all.needs);
            all.makes.extend(&step.all.makes);
        }
        all
    }

    /// Whether a buffer is needed or bound.
    pub fn mentions(&self, buf: Buf) -> bool {
        self.needs.contains(&buf) || self.makes.contains(&buf)
    }

    /// The buffers that are needed before the steps, if these are needed after them.
    pub fn before(&self, mut after: BTreeSet<Buf>) -> BTreeSet<Buf> {
        for made in &self.makes {
            after.remove(made);
        }
        after.extend(&self.needs);
        after
    }
}

impl Program {
    /// The buffers that nodes, with all their dependencies, load from.
    pub fn node_bufs(&self, nodes: &[Node]) -> BTreeSet<Buf> {
        let load = |n: &Node| match self.node(*n).op {
            Op::Load(b, _) => Some(b),
            _ => None,
        };
        self.needs(nodes).iter().filter_map(load).collect()
    }

    /// The buffers of a representation.
    pub fn rep_bufs(&self, rep: &Rep) -> BTreeSet<Buf> {
        match rep {
            Rep::Scalar(b) => BTreeSet::from([*b]),
            Rep::Tuple(parts) => parts.iter().flat_map(|p| self.rep_bufs(p)).collect(),
            Rep::Array(rows, elem) => {
                let mut all = self.rep_bufs(elem);
                match rows {
                    Rows::Equal(n) => all.extend(self.node_bufs(&[*n])),
                    Rows::Offsets(b) => drop(all.insert(*b)),
                }
                all
            }
        }
    }

    /// The buffers that a kernel reads or writes.
    pub fn kernel_bufs(&self, kernel: &Kernel) -> BTreeSet<Buf> {
        let mut nodes = BTreeSet::new();
        let mut all = BTreeSet::new();
        for sink in &kernel.sinks {
            nodes.extend(self.sink_needs(sink));
            all.extend(sink.bufs());
        }
        for n in nodes {
            if let Op::Load(b, _) = self.node(n).op {
                all.insert(b);
            }
        }
        all
    }

    /// The effects of steps on buffers, one by one.
    pub fn uses(&self, steps: &[Step]) -> Vec<StepUses> {
        steps.iter().map(|s| self.step_uses(s)).collect()
    }

    /// The effect of a step on buffers.
    pub fn step_uses(&self, step: &Step) -> StepUses {
        let made = |bufs: &[Buf]| bufs.iter().copied().collect::<BTreeSet<Buf>>();
        let flat =
            |needs: BTreeSet<Buf>, makes: BTreeSet<Buf>| StepUses { all: Uses { needs, makes }, ..StepUses::default() };
        let none = BTreeSet::new();
        match step {
            Step::Alloc(b, n) => flat(self.node_bufs(&[*n]), made(&[*b])),
            Step::Check(n) => flat(self.node_bufs(&[*n]), none),
            Step::Run(kernel) => flat(self.kernel_bufs(kernel), none),
            Step::Sort { order, keys, len, offsets, rows } => {
                let mut needs = self.node_bufs(&[*len, *rows]);
                needs.extend(keys.iter().chain(offsets));
                flat(needs, made(&[*order]))
            }
            Step::Pull { count, rep, .. } => flat(self.node_bufs(&[*count]), self.rep_bufs(rep)),
            Step::Push { rep, .. } => flat(self.rep_bufs(rep), none),
            Step::Bind(pairs) => {
                let (to, from) = pairs.iter().copied().unzip();
                flat(from, to)
            }
            Step::Take(to, from, n) => {
                let mut needs = self.node_bufs(&[*n]);
                needs.insert(*from);
                flat(needs, made(&[*to, *from]))
            }
            Step::Free(bufs) => flat(none, made(bufs)),
            Step::If(cond, yes, no) => StepUses::branch(self.node_bufs(&[*cond]), [self.uses(yes), self.uses(no)]),
            Step::While { test, cond, body, stream } => {
                let mut cond = self.node_bufs(&[*cond]);
                // The host writes the size of the next chunk.
                cond.extend(stream.iter().map(|s| s.chunk));
                StepUses::repeated(cond, [self.uses(test), self.uses(body)])
            }
        }
    }

    /// The checks of the root that a step makes before each kernel that needs them.
    pub(super) fn settled_checks(&self) -> BTreeSet<Node> {
        let mut all = Settling { program: self, needed: BTreeSet::new(), unsettled: BTreeSet::new() };
        all.walk(&self.steps, &mut Made::new());
        &all.needed - &all.unsettled
    }
}

/// Checks that have been made, each with the buffers that it loads from.
type Made = BTreeMap<Node, Rc<BTreeSet<Buf>>>;

/// A walk through steps that collects checks of the root.
struct Settling<'p> {
    program: &'p Program,
    /// Those that kernels depend on, and those of them that no step makes before one of these kernels.
    needed: BTreeSet<Node>,
    unsettled: BTreeSet<Node>,
}

impl Settling<'_> {
    /// Walks steps before which some checks have been made. Returns the buffers that have other contents afterwards.
    fn walk(&mut self, steps: &[Step], made: &mut Made) -> BTreeSet<Buf> {
        let p = self.program;
        let is_check = |n: &Node| p.space_of(*n) == ROOT && matches!(p.node(*n).op, Op::Check { .. });
        let mut all = BTreeSet::new();
        for step in steps {
            let mut changed = match step {
                Step::Run(kernel) => {
                    let needs = kernel.sinks.iter().flat_map(|s| p.sink_needs_to_run(s)).filter(is_check);
                    for n in needs {
                        self.needed.insert(n);
                        if !made.contains_key(&n) {
                            self.unsettled.insert(n);
                        }
                    }
                    changed_by(p, step)
                }
                Step::If(_, yes, no) => {
                    let mut changed = self.walk(yes, &mut made.clone());
                    changed.append(&mut self.walk(no, &mut made.clone()));
                    changed
                }
                Step::While { test, body, .. } => {
                    // In the next round, a check made before the loop has other operands.
                    let (changed, mut inside) = (changed_by(p, step), made.clone());
                    forget(&mut inside, &changed);
                    self.walk(test, &mut inside);
                    self.walk(body, &mut inside);
                    changed
                }
                _ => changed_by(p, step),
            };
            forget(made, &changed);
            all.append(&mut changed);
            if let Step::Check(n) = step
                && is_check(n)
            {
                made.insert(*n, Rc::new(p.node_bufs(&[*n])));
            }
        }
        all
    }
}

/// Removes checks that load from changed buffers.
fn forget(made: &mut Made, changed: &BTreeSet<Buf>) {
    if !changed.is_empty() {
        made.retain(|_, bufs| bufs.is_disjoint(changed));
    }
}

/// The buffers that have other contents after a step, or after a step in it.
fn changed_by(p: &Program, step: &Step) -> BTreeSet<Buf> {
    match step {
        Step::Run(kernel) => kernel.sinks.iter().flat_map(Sink::bufs).copied().collect(),
        Step::If(_, yes, no) => yes.iter().chain(no).flat_map(|s| changed_by(p, s)).collect(),
        Step::While { test, body, stream, .. } => {
            let inside = test.iter().chain(body).flat_map(|s| changed_by(p, s));
            inside.chain(stream.iter().map(|s| s.chunk)).collect()
        }
        other => p.step_uses(other).all.makes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bufs(list: &[u32]) -> BTreeSet<Buf> {
        list.iter().map(|b| Buf(*b)).collect()
    }

    /// A program with buffers, and the node that loads the first element of each.
    fn program(n: usize) -> (Program, Vec<Node>) {
        let mut p = Program::default();
        let zero = p.int(0);
        let loads = (0..n)
            .map(|k| {
                let b = p.buf(ScalarType::I64, format!("b{k}"));
                p.load(b, zero, ROOT)
            })
            .collect();
        (p, loads)
    }

    #[test]
    fn what_is_made_first_is_not_needed_from_before() {
        let (p, load) = program(3);
        let steps = [Step::Alloc(Buf(1), load[0]), Step::Check(load[1]), Step::Bind(vec![(Buf(0), Buf(1))])];
        assert_eq!(Uses::of(&p.uses(&steps)), Uses { needs: bufs(&[0]), makes: bufs(&[0, 1]) });
    }

    #[test]
    fn a_loop_needs_what_its_first_round_needs() {
        let (p, load) = program(4);
        let test = vec![Step::Alloc(Buf(2), load[3])];
        let body = vec![Step::Check(load[2]), Step::Check(load[1]), Step::Alloc(Buf(1), load[3])];
        let uses = p.step_uses(&Step::While { test, cond: load[0], body, stream: None });
        assert_eq!(uses.all, Uses { needs: bufs(&[0, 1, 3]), makes: bufs(&[2]) });
    }

    #[test]
    fn only_what_both_branches_make_is_made() {
        let (p, load) = program(4);
        let bind = |to: u32| Step::Bind(vec![(Buf(to), Buf(3))]);
        let uses = p.step_uses(&Step::If(load[0], vec![bind(1), bind(2)], vec![bind(1)]));
        assert_eq!(uses.all, Uses { needs: bufs(&[0, 3]), makes: bufs(&[1]) });
    }

    /// A check that an element of a buffer is positive, and a kernel that needs it.
    fn checked(p: &mut Program, load: Node) -> (Node, Step) {
        let zero = p.int(0);
        let cond = p.binary(BinOp::Lt, zero, load);
        let site = p.site(SiteData { kind: Fault::TileSize, span: Span::NONE, places: Vec::new(), param: Span::NONE });
        let check = p.check(cond, load, site, Vec::new(), ROOT);
        (check, Step::Run(Kernel { sinks: vec![Sink::Check(check)], name: String::new() }))
    }

    #[test]
    fn a_check_is_settled_by_a_step_before_every_kernel() {
        let (mut p, load) = program(3);
        let (check, kernel) = checked(&mut p, load[0]);
        let mut settled = |steps: Vec<Step>| {
            p.steps = steps;
            p.settled_checks() == BTreeSet::from([check])
        };
        let step = || Step::Check(check);
        let run = || kernel.clone();
        let bind = |to: u32| Step::Bind(vec![(Buf(to), Buf(2))]);
        let branch = |yes, no| Step::If(load[1], yes, no);
        let rounds = |test, body| Step::While { test, cond: load[1], body, stream: None };
        assert!(settled(vec![step(), run()]));
        assert!(settled(vec![step(), bind(1), run()]));
        assert!(settled(vec![step(), branch(vec![run()], vec![]), rounds(vec![run()], vec![run()])]));
        assert!(settled(vec![rounds(vec![step()], vec![run()])]));
        assert!(settled(vec![rounds(vec![], vec![bind(0), step(), run()])]));
        // One kernel runs after the check, and one without it.
        assert!(!settled(vec![run(), step(), run()]));
        assert!(!settled(vec![branch(vec![step()], vec![]), run()]));
        assert!(!settled(vec![rounds(vec![], vec![step()]), run()]));
        // The operands of the check have changed by then, in the next round at the latest.
        assert!(!settled(vec![step(), bind(0), run()]));
        assert!(!settled(vec![step(), branch(vec![bind(0)], vec![]), run()]));
        assert!(!settled(vec![step(), rounds(vec![], vec![run(), bind(0)])]));
        assert!(!settled(vec![step(), rounds(vec![run()], vec![bind(0)])]));
    }
}
