//! What nodes, sinks and kernels need.

use super::*;
use std::collections::BTreeSet;

impl Program {
    /// All nodes that these need, themselves included, in the order of the arena.
    pub fn needs(&self, roots: &[Node]) -> BTreeSet<Node> {
        let mut seen = BTreeSet::new();
        let mut todo = roots.to_vec();
        while let Some(n) = todo.pop() {
            if seen.insert(n) {
                todo.extend(self.operands(n));
                todo.extend(self.sizes_of(n));
            }
        }
        seen
    }

    /// Whether a function makes checks: then what it combines is computed even if nobody uses it.
    pub fn can_fail(&self, combine: &Combine) -> bool {
        let Combine::Lambda(lambda, results) = combine else { return false };
        let is_check = |n: Node| matches!(self.node(n).op, Op::Check { .. });
        self.needs(results).into_iter().any(|n| is_check(n) && self.encloses(*lambda, self.space_of(n)))
    }

    /// The sizes and conditions of the spaces that a node is in or runs over.
    pub fn sizes_of(&self, n: Node) -> Vec<Node> {
        let mut all = Vec::new();
        let data = self.node(n);
        let mut around = |s: Space| {
            let mut s = s;
            while s != ROOT {
                match self.space(s).region {
                    Region::Dim(size) => all.push(size),
                    Region::Guard(cond, _) => all.push(cond),
                    _ => {}
                }
                s = self.space(s).parent;
            }
        };
        around(data.space);
        match &data.op {
            Op::Fold { over, .. } => around(*over),
            Op::If { yes, no, .. } => {
                around(*yes);
                around(*no);
            }
            Op::Loop { inside, .. } => around(*inside),
            _ => {}
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
                if let Some(Combine::Lambda(_, results)) = combine {
                    nodes.extend(results);
                }
                (*space, nodes)
            }
            Sink::Check(n) => (self.space_of(*n), vec![*n]),
        }
    }

    /// All nodes that a sink needs.
    pub fn sink_needs(&self, sink: &Sink) -> BTreeSet<Node> {
        let (space, mut nodes) = self.sink_parts(sink);
        let mut s = space;
        while s != ROOT {
            match self.space(s).region {
                Region::Dim(n) | Region::Guard(n, _) => nodes.push(n),
                _ => {}
            }
            s = self.space(s).parent;
        }
        self.needs(&nodes)
    }
}
