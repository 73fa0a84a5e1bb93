//! The same kernel over other buffers.

use super::*;

/// Nodes and spaces, and their replacements.
struct Renamer<'p> {
    program: &'p mut Program,
    bufs: &'p HashMap<Buf, Buf>,
    nodes: HashMap<Node, Node>,
    spaces: HashMap<Space, Space>,
}

impl Program {
    /// The same kernel with loads from other buffers. Its outputs are not renamed. Nodes that do not depend on a renamed buffer are shared, others are
    /// created again, with the spaces whose sizes they are.
    pub fn with_loads_from(&mut self, kernel: &Kernel, bufs: &HashMap<Buf, Buf>) -> Kernel {
        let mut needed = std::collections::BTreeSet::new();
        kernel.sinks.iter().for_each(|s| needed.extend(self.sink_needs(s)));
        let mut r = Renamer { program: self, bufs, nodes: HashMap::new(), spaces: HashMap::new() };
        // Nodes only refer backwards.
        needed.into_iter().for_each(|n| r.add(n));
        Kernel { sinks: kernel.sinks.iter().map(|s| r.sink(s)).collect(), name: kernel.name.clone() }
    }
}

impl Renamer<'_> {
    fn node(&self, n: Node) -> Node {
        self.nodes.get(&n).copied().unwrap_or(n)
    }

    fn all(&self, nodes: &[Node]) -> Vec<Node> {
        nodes.iter().map(|n| self.node(*n)).collect()
    }

    fn space(&mut self, s: Space) -> Space {
        if let Some(known) = self.spaces.get(&s) {
            return *known;
        }
        let data = *self.program.space(s);
        if s == ROOT {
            return ROOT;
        }
        let parent = self.space(data.parent);
        let region = match data.region {
            Region::Dim(n) => Region::Dim(self.node(n)),
            Region::Guard(c, when) => Region::Guard(self.node(c), when),
            other => other,
        };
        let new = match region {
            _ if parent == data.parent && region == data.region => s,
            Region::Root => s,
            Region::Dim(n) => self.program.dim(parent, n),
            Region::Guard(c, when) => self.program.guard(parent, c, when),
            Region::Loop => self.program.new_loop(parent),
            Region::Lambda => self.program.new_lambda(parent),
        };
        self.spaces.insert(s, new);
        new
    }

    fn combine(&mut self, how: &Combine) -> Combine {
        match how {
            Combine::Ops(_) => how.clone(),
            Combine::Lambda(s, results) => Combine::Lambda(self.space(*s), self.all(results)),
            Combine::InOrder(s, results) => Combine::InOrder(self.space(*s), self.all(results)),
        }
    }

    fn add(&mut self, n: Node) {
        let data = self.program.node(n).clone();
        let op = match &data.op {
            Op::Const(_) | Op::Pos | Op::Var(_) => data.op.clone(),
            Op::Unary(op, x) => Op::Unary(*op, self.node(*x)),
            Op::Binary(op, a, b) => Op::Binary(*op, self.node(*a), self.node(*b)),
            Op::Cast(ty, x) => Op::Cast(*ty, self.node(*x)),
            Op::Select(c, x, y) => Op::Select(self.node(*c), self.node(*x), self.node(*y)),
            Op::Fma(x, y, z) => Op::Fma(self.node(*x), self.node(*y), self.node(*z)),
            Op::Load(b, at) => Op::Load(self.bufs.get(b).copied().unwrap_or(*b), self.node(*at)),
            Op::Check { cond, value, site, operands } => {
                let (cond, value) = (self.node(*cond), self.node(*value));
                Op::Check { cond, value, site: *site, operands: self.all(operands) }
            }
            Op::Fold { over, init, elems, combine } => Op::Fold {
                over: self.space(*over),
                init: init.as_ref().map(|i| self.all(i)),
                elems: self.all(elems),
                combine: self.combine(combine),
            },
            Op::Scan { from, init, elems, combine, exclusive } => Op::Scan {
                from: self.space(*from),
                init: init.as_ref().map(|i| self.all(i)),
                elems: self.all(elems),
                combine: self.combine(combine),
                exclusive: *exclusive,
            },
            Op::If { yes, then, no, other } => {
                let (yes, no) = (self.space(*yes), self.space(*no));
                Op::If { yes, then: self.all(then), no, other: self.all(other) }
            }
            Op::Loop { space, init, cond, inside, next, checks } => Op::Loop {
                space: self.space(*space),
                init: self.all(init),
                cond: self.node(*cond),
                inside: self.space(*inside),
                next: self.all(next),
                checks: self.all(checks),
            },
            Op::Part(x, k) => Op::Part(self.node(*x), *k),
        };
        let space = self.space(data.space);
        if op != data.op || space != data.space {
            let new = self.program.intern(op, data.ty, space);
            self.nodes.insert(n, new);
        }
    }

    fn sink(&mut self, sink: &Sink) -> Sink {
        match sink {
            Sink::Write { space, buf, at, value } => {
                Sink::Write { space: self.space(*space), buf: *buf, at: self.node(*at), value: self.node(*value) }
            }
            Sink::Scatter { space, bufs, at, len, within, values, combine } => Sink::Scatter {
                space: self.space(*space),
                bufs: bufs.clone(),
                at: self.node(*at),
                len: self.node(*len),
                within: self.space(*within),
                values: self.all(values),
                combine: combine.as_ref().map(|c| self.combine(c)),
            },
            Sink::Check(n) => Sink::Check(self.node(*n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_and_what_depends_on_them_are_made_anew() {
        let mut p = Program::default();
        let (xs, ys, zs) = (p.buf(ScalarType::I64, "xs"), p.buf(ScalarType::I64, "ys"), p.buf(ScalarType::I64, "zs"));
        let n = p.int(10);
        let dim = p.dim(ROOT, n);
        let pos = p.pos(dim);
        let (x, y) = (p.load(xs, pos, dim), p.load(ys, pos, dim));
        let large = p.binary(BinOp::Lt, x, y);
        let guard = p.guard(dim, large, true);
        let value = p.load(xs, pos, guard);
        let kernel =
            Kernel { sinks: vec![Sink::Write { space: guard, buf: zs, at: pos, value }], name: "large".into() };
        let renamed = p.with_loads_from(&kernel, &HashMap::from([(xs, zs)]));
        verify(&p).unwrap();
        let Sink::Write { space, at, value: new, .. } = renamed.sinks[0] else { panic!("{renamed:?}") };
        assert_eq!(at, pos);
        assert_eq!(p.node(new).op, Op::Load(zs, pos));
        assert_ne!(space, guard);
        assert_eq!(p.kernel_bufs(&renamed), [ys, zs].into());
        assert_eq!(p.kernel_bufs(&kernel), [xs, ys, zs].into());
        let same = p.with_loads_from(&kernel, &HashMap::new());
        assert_eq!(same, kernel);
    }
}
