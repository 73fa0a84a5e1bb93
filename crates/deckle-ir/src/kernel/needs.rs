//! Dependencies of nodes, sinks and kernels.

use super::*;
use std::collections::BTreeSet;

impl Program {
    /// All nodes that these depend on, including themselves, in the order of the arena.
    pub fn needs(&self, roots: &[Node]) -> BTreeSet<Node> {
        self.reached(roots, |n, todo| self.each_operand(n, &mut |m| todo.push(m)))
    }

    /// The nodes that are reached from others through the operands of a node, as `operands` appends them to a list, and through the sizes of its spaces.
    fn reached(&self, roots: &[Node], operands: impl Fn(Node, &mut Vec<Node>)) -> BTreeSet<Node> {
        let mut seen = vec![false; self.nodes.len()];
        // The spaces whose sizes have been added, with those of all enclosing spaces.
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

    /// A scan that nodes depend on and that carries values between points of a space. Then it is not sufficient to open the space at one of the points.
    pub fn scan_across(&self, space: Space, nodes: &[Node]) -> Option<Node> {
        let is_across = |n: &Node| match self.node(*n).op {
            Op::Scan { from, .. } => self.encloses(space, self.space_of(*n)) && !self.encloses(space, from),
            _ => false,
        };
        self.needs(nodes).into_iter().find(is_across)
    }

    /// Whether a function makes checks: then its combinations are computed even if their result is unused.
    pub fn can_fail(&self, combine: &Combine) -> bool {
        let Some((lambda, results)) = combine.function() else { return false };
        let is_check = |n: Node| matches!(self.node(n).op, Op::Check { .. });
        self.needs_to_run(results).into_iter().any(|n| is_check(n) && self.encloses(lambda, self.space_of(n)))
    }

    /// As [`Program::needs`], without the operands of messages.
    pub fn needs_to_run(&self, roots: &[Node]) -> BTreeSet<Node> {
        self.reached(roots, |n, todo| match self.node(n).op {
            Op::Check { cond, value, .. } => todo.extend([cond, value]),
            _ => self.each_operand(n, &mut |m| todo.push(m)),
        })
    }

    /// Records a node that is computed at all points of its space, and the others for which this follows: not those computed in one branch, in the rounds of a loop or only where two values are
    /// combined.
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

    /// The program without the operands of messages, and with its settled checks: the form that is scheduled, unless a failure is located.
    pub fn silent(&self) -> Program {
        Program { settled: self.settled_checks(), ..self.without_operands(|_| true) }
    }

    /// The program in which a failure is located: without the operands of checks of the host, which have been made before a kernel runs.
    pub fn diagnosing(&self) -> Program {
        let mut made = BTreeSet::new();
        host_checks(&self.steps, &mut made);
        self.without_operands(|n| made.contains(&n))
    }

    /// A kernel in the form that locates a failure, after it has failed once: the inputs of in-place sinks have been overwritten by then, so only their checks are kept.
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
        let mut silent = Program { made_nodes: FxHashMap::default(), ..self.clone() };
        for (k, data) in silent.nodes.iter_mut().enumerate() {
            if let Op::Check { operands, .. } = &mut data.op
                && which(Node(k as u32))
            {
                operands.clear();
            }
        }
        silent
    }

    /// The sizes and conditions of the spaces of a node, including those it folds or scans over.
    pub fn sizes_of(&self, n: Node) -> Vec<Node> {
        let mut all = Vec::new();
        self.each_space_of(n, &mut |space| all.extend(self.sizes_around(space)));
        all
    }

    /// The space of a node, and those that it folds or scans over.
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

    /// Those of a space and of all enclosing ones.
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

    /// All nodes that a sink depends on.
    pub fn sink_needs(&self, sink: &Sink) -> BTreeSet<Node> {
        self.needs(&self.sink_roots(sink))
    }

    /// As [`Program::sink_needs`], without the operands of messages.
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
