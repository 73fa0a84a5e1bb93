//! What nodes, sinks and kernels need.

use super::*;
use std::collections::BTreeSet;

impl Program {
    /// All nodes that these need, themselves included, in the order of the arena.
    pub fn needs(&self, roots: &[Node]) -> BTreeSet<Node> {
        self.reached(roots, |n, todo| self.each_operand(n, &mut |m| todo.push(m)))
    }

    /// The nodes that are reached from others through the operands of a node, which are added to a list, and through the sizes of its spaces.
    fn reached(&self, roots: &[Node], operands: impl Fn(Node, &mut Vec<Node>)) -> BTreeSet<Node> {
        let mut seen = vec![false; self.nodes.len()];
        // Of these the sizes, and those of all spaces around them, have been added.
        let mut opened = vec![false; self.spaces.len()];
        let (mut all, mut todo) = (Vec::new(), roots.to_vec());
        while let Some(n) = todo.pop() {
            if std::mem::replace(&mut seen[n.index()], true) {
                continue;
            }
            all.push(n);
            operands(n, &mut todo);
            self.each_space_of(n, &mut |space| {
                let mut s = space;
                while s != ROOT && !std::mem::replace(&mut opened[s.index()], true) {
                    todo.extend(self.size_of(s));
                    s = self.space(s).parent;
                }
            });
        }
        all.sort_unstable();
        all.into_iter().collect()
    }

    /// A scan that nodes need and that goes from point to point of a space, from outside of it. To open the space at one of the points is not enough then.
    pub fn scan_across(&self, space: Space, nodes: &[Node]) -> Option<Node> {
        let is_across = |n: &Node| match self.node(*n).op {
            Op::Scan { from, .. } => self.encloses(space, self.space_of(*n)) && !self.encloses(space, from),
            _ => false,
        };
        self.needs(nodes).into_iter().find(is_across)
    }

    /// Whether a function makes checks: then what it combines is computed even if nobody uses it.
    pub fn can_fail(&self, combine: &Combine) -> bool {
        let Some((lambda, results)) = combine.function() else { return false };
        let is_check = |n: Node| matches!(self.node(n).op, Op::Check { .. });
        self.needs_to_run(results).into_iter().any(|n| is_check(n) && self.encloses(lambda, self.space_of(n)))
    }

    /// As [`Program::needs`], but for what is only told where a check fails.
    pub fn needs_to_run(&self, roots: &[Node]) -> BTreeSet<Node> {
        self.reached(roots, |n, todo| match self.node(n).op {
            Op::Check { cond, value, .. } => todo.extend([cond, value]),
            _ => self.each_operand(n, &mut |m| todo.push(m)),
        })
    }

    /// Notes a node that is computed at all points of its space, and the others of which the same is then true: not what is computed in one branch, in the rounds of a loop or where two values are
    /// combined only.
    pub fn note_computed(&self, n: Node, computed: &mut BTreeSet<Node>) {
        let mut todo = vec![n];
        while let Some(n) = todo.pop() {
            if !computed.insert(n) {
                continue;
            }
            let space = self.space_of(n);
            let mut at = |nodes: &[Node], s| todo.extend(nodes.iter().copied().filter(|m| self.space_of(*m) == s));
            match &self.node(n).op {
                Op::Fold { over, init, elems, .. } => {
                    at(elems, *over);
                    init.iter().for_each(|init| at(init, space));
                }
                Op::Scan { init: None, elems, .. } => at(elems, space),
                Op::If { yes, then, no, other } => {
                    at(then, *yes);
                    at(other, *no);
                }
                Op::Loop { init, .. } => at(init, space),
                // The operands are for the message.
                Op::Check { cond, value, .. } => at(&[*cond, *value], space),
                _ => at(&self.operands(n), space),
            }
        }
    }

    /// The program without what is only told where a check fails, and with its settled checks: so it is scheduled, unless a failure is looked for.
    pub fn silent(&self) -> Program {
        Program { settled: self.settled_checks(), ..self.without_operands(|_| true) }
    }

    /// The program in which a failure is looked for: without what checks of the host tell, which have been made before a kernel runs.
    pub fn diagnosing(&self) -> Program {
        let mut made = BTreeSet::new();
        host_checks(&self.steps, &mut made);
        self.without_operands(|n| made.contains(&n))
    }

    /// A kernel as it is run to look for a failure, after it has failed once: what it computes in place is gone by then, so of sinks that do, only the checks are left.
    pub fn diagnosing_kernel(&self, kernel: &Kernel) -> Kernel {
        let mut sinks = Vec::new();
        for sink in &kernel.sinks {
            let needs = self.sink_needs_to_run(sink);
            let written = if let Sink::Write { buf, .. } = sink { Some(*buf) } else { None };
            let is_in_place = |n: &Node| matches!(self.node(*n).op, Op::Load(b, _) if Some(b) == written);
            if needs.iter().any(is_in_place) {
                let checks = needs.into_iter().filter(|n| matches!(self.node(*n).op, Op::Check { .. }));
                sinks.extend(checks.map(Sink::Check));
            } else {
                sinks.push(sink.clone());
            }
        }
        Kernel { sinks, name: kernel.name.clone() }
    }

    fn without_operands(&self, which: impl Fn(Node) -> bool) -> Program {
        let mut silent = Program { made_nodes: HashMap::new(), ..self.clone() };
        for (k, data) in silent.nodes.iter_mut().enumerate() {
            if let Op::Check { operands, .. } = &mut data.op
                && which(Node(k as u32))
            {
                operands.clear();
            }
        }
        silent
    }

    /// The sizes and conditions of the spaces that a node is in or runs over.
    pub fn sizes_of(&self, n: Node) -> Vec<Node> {
        let mut all = Vec::new();
        self.each_space_of(n, &mut |space| all.extend(self.sizes_around(space)));
        all
    }

    /// The space that a node is in, and those that it runs over.
    fn each_space_of(&self, n: Node, f: &mut impl FnMut(Space)) {
        let data = self.node(n);
        f(data.space);
        match &data.op {
            Op::Fold { over, .. } => f(*over),
            Op::If { yes, no, .. } => [*yes, *no].into_iter().for_each(f),
            Op::Loop { inside, .. } => f(*inside),
            _ => {}
        }
    }

    /// The size or condition of a space, if it has one.
    fn size_of(&self, s: Space) -> Option<Node> {
        match self.space(s).region {
            Region::Dim(n) | Region::Guard(n, _) => Some(n),
            _ => None,
        }
    }

    /// Those of a space and of all around it.
    fn sizes_around(&self, space: Space) -> Vec<Node> {
        let mut all = Vec::new();
        let mut s = space;
        while s != ROOT {
            all.extend(self.size_of(s));
            s = self.space(s).parent;
        }
        all
    }

    /// The nodes and the space of a sink.
    pub fn sink_parts(&self, sink: &Sink) -> (Space, Vec<Node>) {
        match sink {
            Sink::Write { space, at, value, .. } => (*space, vec![*at, *value]),
            Sink::Scatter { space, at, len, values, combine, .. } => {
                let mut nodes = vec![*at, *len];
                nodes.extend(values);
                if let Some((_, results)) = combine.as_ref().and_then(Combine::function) {
                    nodes.extend(results);
                }
                (*space, nodes)
            }
            Sink::Check(n) => (self.space_of(*n), vec![*n]),
        }
    }

    /// All nodes that a sink needs.
    pub fn sink_needs(&self, sink: &Sink) -> BTreeSet<Node> {
        self.needs(&self.sink_roots(sink))
    }

    /// As [`Program::sink_needs`], but for what is only told where a check fails.
    pub fn sink_needs_to_run(&self, sink: &Sink) -> BTreeSet<Node> {
        self.needs_to_run(&self.sink_roots(sink))
    }

    fn sink_roots(&self, sink: &Sink) -> Vec<Node> {
        let (space, mut nodes) = self.sink_parts(sink);
        nodes.extend(self.sizes_around(space));
        nodes
    }
}

/// The checks that are steps.
fn host_checks(steps: &[Step], found: &mut BTreeSet<Node>) {
    for step in steps {
        match step {
            Step::Check(n) => drop(found.insert(*n)),
            Step::If(_, yes, no) => [yes, no].into_iter().for_each(|block| host_checks(block, found)),
            Step::While { test, body, .. } => [test, body].into_iter().for_each(|block| host_checks(block, found)),
            _ => {}
        }
    }
}
