//! Which buffers steps need, and which they make.

use super::*;
use std::collections::BTreeSet;

/// What steps do with buffers, seen from before them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Those whose memory from before may be read or written.
    pub needs: BTreeSet<Buf>,
    /// Those that name other memory afterwards, whatever happens.
    pub makes: BTreeSet<Buf>,
}

impl Uses {
    /// The buffers that are needed before the steps, if these are needed after them.
    pub fn before(&self, after: &BTreeSet<Buf>) -> BTreeSet<Buf> {
        let kept = after - &self.makes;
        &kept | &self.needs
    }
}

impl Program {
    /// The buffers that nodes load from, with everything they need.
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
            match sink {
                Sink::Write { buf, .. } => drop(all.insert(*buf)),
                Sink::Scatter { bufs, .. } => all.extend(bufs),
                Sink::Check(_) => {}
            }
        }
        for n in nodes {
            if let Op::Load(b, _) = self.node(n).op {
                all.insert(b);
            }
        }
        all
    }

    /// What a step does with buffers.
    pub fn step_uses(&self, step: &Step) -> Uses {
        let made = |bufs: &[Buf]| bufs.iter().copied().collect::<BTreeSet<Buf>>();
        match step {
            Step::Alloc(b, n) => Uses { needs: self.node_bufs(&[*n]), makes: made(&[*b]) },
            Step::Check(n) => Uses { needs: self.node_bufs(&[*n]), ..Uses::default() },
            Step::Run(kernel) => Uses { needs: self.kernel_bufs(kernel), ..Uses::default() },
            Step::Sort { order, keys, len, offsets, rows } => {
                let mut needs = self.node_bufs(&[*len, *rows]);
                needs.extend(keys.iter().chain(offsets));
                Uses { needs, makes: made(&[*order]) }
            }
            Step::Bind(pairs) => {
                let (to, from) = pairs.iter().copied().unzip();
                Uses { needs: from, makes: to }
            }
            Step::Take(to, from, n) => {
                let mut needs = self.node_bufs(&[*n]);
                needs.insert(*from);
                Uses { needs, makes: made(&[*to, *from]) }
            }
            Step::Free(bufs) => Uses { makes: made(bufs), ..Uses::default() },
            Step::If(cond, yes, no) => {
                let (yes, no) = (self.block_uses(yes), self.block_uses(no));
                let mut needs = self.node_bufs(&[*cond]);
                needs.extend(yes.needs.iter().chain(&no.needs));
                Uses { needs, makes: &yes.makes & &no.makes }
            }
            Step::While { test, cond, body } => {
                // The test is made at least once. What the body needs, and does not get from the test, comes from before the loop at first.
                let (test, body) = (self.block_uses(test), self.block_uses(body));
                let inside = &self.node_bufs(&[*cond]) | &body.needs;
                Uses { needs: test.before(&inside), makes: test.makes }
            }
        }
    }

    /// What steps, one after another, do with buffers.
    pub fn block_uses(&self, steps: &[Step]) -> Uses {
        let mut all = Uses::default();
        for step in steps.iter().rev() {
            let uses = self.step_uses(step);
            all.needs = uses.before(&all.needs);
            all.makes.extend(uses.makes);
        }
        all
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
        assert_eq!(p.block_uses(&steps), Uses { needs: bufs(&[0]), makes: bufs(&[0, 1]) });
    }

    #[test]
    fn a_loop_needs_what_its_first_round_needs() {
        let (p, load) = program(4);
        let test = vec![Step::Alloc(Buf(2), load[3])];
        let body = vec![Step::Check(load[2]), Step::Check(load[1]), Step::Alloc(Buf(1), load[3])];
        let uses = p.step_uses(&Step::While { test, cond: load[0], body });
        assert_eq!(uses, Uses { needs: bufs(&[0, 1, 3]), makes: bufs(&[2]) });
    }

    #[test]
    fn only_what_both_branches_make_is_made() {
        let (p, load) = program(4);
        let bind = |to: u32| Step::Bind(vec![(Buf(to), Buf(3))]);
        let uses = p.step_uses(&Step::If(load[0], vec![bind(1), bind(2)], vec![bind(1)]));
        assert_eq!(uses, Uses { needs: bufs(&[0, 3]), makes: bufs(&[1]) });
    }
}
