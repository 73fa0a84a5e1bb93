//! The text of kernel IR: spaces, then steps, each kernel with the nodes that its sinks need.

use super::*;
use std::collections::BTreeSet;

fn list<T: fmt::Display>(items: &[T]) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Combine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Combine::Ops(ops) => f.write_str(&ops.iter().map(|o| o.name()).collect::<Vec<_>>().join(", ")),
            Combine::Lambda(s, results) => write!(f, "{s} {{ {} }}", list(results)),
        }
    }
}

impl fmt::Display for Rep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Rep::Scalar(b) => write!(f, "{b}"),
            Rep::Tuple(parts) => write!(f, "({})", list(parts)),
            Rep::Array(Rows::Equal(n), elem) => write!(f, "[{elem}; {n}]"),
            Rep::Array(Rows::Offsets(b), elem) => write!(f, "[{elem}; offsets {b}]"),
        }
    }
}

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

    fn show_space(&self, s: Space) -> String {
        let data = self.space(s);
        let parent = data.parent;
        match data.region {
            Region::Root => "root".into(),
            Region::Dim(n) => format!("{s} = dim {parent}, {n}"),
            Region::Guard(n, true) => format!("{s} = guard {parent}, {n}"),
            Region::Guard(n, false) => format!("{s} = guard {parent}, not {n}"),
            Region::Loop => format!("{s} = loop {parent}"),
            Region::Lambda => format!("{s} = lambda {parent}"),
        }
    }

    fn show_node(&self, n: Node) -> String {
        let data = self.node(n);
        let what = match &data.op {
            Op::Const(c) => format!("const {c}"),
            Op::Pos => "pos".into(),
            Op::Var(k) => format!("var {k}"),
            Op::Unary(op, x) => format!("{}({x})", op.name()),
            Op::Binary(op, a, b) => format!("{}({a}, {b})", op.name()),
            Op::Cast(ty, x) => format!("cast {ty} ({x})"),
            Op::Select(c, x, y) => format!("select({c}, {x}, {y})"),
            Op::Load(b, at) => format!("load {b}[{at}]"),
            Op::Check { cond, value, site, operands } => format!("check {cond} {site}({}) {value}", list(operands)),
            Op::Fold { over, init, elems, combine } => {
                let init = init.as_ref().map_or(String::new(), |i| format!("({}) ", list(i)));
                format!("fold {over} {init}({}) {combine}", list(elems))
            }
            Op::Scan { from, init, elems, combine, exclusive } => {
                let init = init.as_ref().map_or(String::new(), |i| format!("({}) ", list(i)));
                let kind = if *exclusive { "exclusive " } else { "" };
                format!("scan {kind}{from} {init}({}) {combine}", list(elems))
            }
            Op::If { yes, then, no, other } => format!("if {yes} ({}) {no} ({})", list(then), list(other)),
            Op::Loop { space, init, cond, inside, next, checks } => {
                let checks = if checks.is_empty() { String::new() } else { format!(" checks ({})", list(checks)) };
                format!("loop {space} ({}) while {cond} {inside} ({}){checks}", list(init), list(next))
            }
            Op::Part(x, k) => format!("{x}.{k}"),
        };
        format!("{n}: {} @{} = {what}", data.ty, data.space)
    }

    fn show_sink(&self, sink: &Sink) -> String {
        match sink {
            Sink::Write { space, buf, at, value } => format!("write @{space} {buf}[{at}] = {value}"),
            Sink::Scatter { space, bufs, at, len, values, combine, within } => {
                let how = combine.as_ref().map_or(String::new(), |c| format!(" {c}"));
                format!("scatter @{space} within {within} ({})[{at} of {len}] = ({}){how}", list(bufs), list(values))
            }
            Sink::Check(n) => format!("check {n}"),
        }
    }

    /// The text of one kernel.
    pub fn show_kernel(&self, kernel: &Kernel) -> String {
        let mut needed = BTreeSet::new();
        kernel.sinks.iter().for_each(|s| needed.extend(self.sink_needs(s)));
        let mut spaces = BTreeSet::new();
        let mut note = |s: Space| {
            let mut s = s;
            while s != ROOT && spaces.insert(s) {
                s = self.space(s).parent;
            }
        };
        for &n in &needed {
            note(self.space_of(n));
            if let Op::Fold { over, .. } = self.node(n).op {
                note(over);
            }
        }
        kernel.sinks.iter().for_each(|s| note(self.sink_parts(s).0));
        let mut out = format!("kernel \"{}\" {{\n", kernel.name);
        spaces.iter().for_each(|s| out += &format!("  {}\n", self.show_space(*s)));
        needed.iter().for_each(|n| out += &format!("  {}\n", self.show_node(*n)));
        kernel.sinks.iter().for_each(|s| out += &format!("  {}\n", self.show_sink(s)));
        out + "}"
    }

    fn show_steps(&self, steps: &[Step], indent: usize, out: &mut String) {
        let pad = "  ".repeat(indent);
        for step in steps {
            let text = match step {
                Step::Alloc(b, n) => {
                    format!("alloc {b}: {} [{n}] \"{}\"", self.bufs[b.index()].elem, self.bufs[b.index()].name)
                }
                Step::Take(b, from, n) => {
                    let data = &self.bufs[b.index()];
                    format!("take {b}: {} [{n}] \"{}\" = {from}", data.elem, data.name)
                }
                Step::Free(bufs) => format!("free {}", list(bufs)),
                Step::Check(n) => self.show_node(*n),
                Step::Run(k) => self.show_kernel(k).replace('\n', &format!("\n{pad}")),
                Step::Sort { order, keys, len, offsets, rows } => {
                    let offsets = offsets.map_or(String::new(), |b| format!(" offsets {b}"));
                    format!("sort {order} ({}) of {len}{offsets} rows {rows}", list(keys))
                }
                Step::Bind(pairs) => {
                    format!("bind {}", pairs.iter().map(|(a, b)| format!("{a} = {b}")).collect::<Vec<_>>().join(", "))
                }
                Step::If(c, yes, no) => {
                    let mut text = format!("if {c} {{\n");
                    self.show_steps(yes, indent + 1, &mut text);
                    text += &format!("{pad}}} else {{\n");
                    self.show_steps(no, indent + 1, &mut text);
                    text + &pad + "}"
                }
                Step::While { test, cond, body } => {
                    let mut text = "while {\n".to_string();
                    self.show_steps(test, indent + 1, &mut text);
                    text += &format!("{pad}}} {cond} {{\n");
                    self.show_steps(body, indent + 1, &mut text);
                    text + &pad + "}"
                }
            };
            *out += &format!("{pad}{text}\n");
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = format!("params ({})\n", list(&self.params));
        self.show_steps(&self.steps, 0, &mut out);
        write!(f, "{out}result {}", self.result)
    }
}
