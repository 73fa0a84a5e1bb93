//! The text form of kernel IR.
//!
//! ```text
//! b0: i64 [t1] "the size of `xs`"
//! b1: f64 [t2] "`xs`"
//! t0: i64 @s0 = const 0i64
//! t1: i64 @s0 = const 1i64
//! t2: i64 @s0 = load b0[t0]
//! params ([b1; t2])
//! alloc b2: f64 [t2] "the result"
//! kernel "the result" {
//!   s1 = dim s0, t2
//!   t0: i64 @s0 = const 0i64
//!   t2: i64 @s0 = load b0[t0]
//!   t3: i64 @s1 = pos
//!   t4: f64 @s1 = load b1[t3]
//!   t5: f64 @s1 = add(t4, t4)
//!   write @s1 b2[t3] = t5
//! }
//! result [b2; t2]
//! ```
//! First come the buffers that no step allocates, those that are data of the program (`data b3 [1i64, 2i64]`), and the sites of checks (`c0 = range in element 1 map`). Spaces and nodes come before the step of
//! the host that needs them first; a kernel shows all that it needs. Unused spaces and nodes are omitted, so numbers can be missing. Spans are not part of the text.

use super::*;
use crate::text::Name;
use std::collections::BTreeSet;

fn list<'a, T: fmt::Display + 'a>(items: impl IntoIterator<Item = &'a T>) -> String {
    items.into_iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for Combine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Combine::Ops(ops) => f.write_str(&ops.iter().map(|o| o.name()).collect::<Vec<_>>().join(", ")),
            Combine::Lambda(s, results) => write!(f, "{s} {{ {} }}", list(results)),
            Combine::InOrder(s, results) => write!(f, "in_order {s} {{ {} }}", list(results)),
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

/// Spaces and nodes.
#[derive(Default)]
struct Defined {
    spaces: BTreeSet<Space>,
    nodes: BTreeSet<Node>,
}

impl Program {
    fn show_space(&self, s: Space) -> String {
        let data = self.space(s);
        let parent = data.parent;
        match data.region {
            Region::Root => "root".into(),
            Region::Dim(n) => match data.offsets {
                Some(b) => format!("{s} = rows {parent}, {b}, {n}"),
                None => format!("{s} = dim {parent}, {n}"),
            },
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
            Op::Fma(x, y, z) => format!("fma({x}, {y}, {z})"),
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

    fn show_buf(&self, b: Buf, len: Option<Node>) -> String {
        let data = &self.bufs[b.index()];
        let len = len.map_or(String::new(), |n| format!(" [{n}]"));
        format!("{b}: {}{len} {}", data.elem, Name(&data.name))
    }

    /// All definitions on which nodes and spaces depend.
    fn definitions(&self, nodes: &[Node], spaces: &[Space]) -> Defined {
        let mut all = Defined::default();
        let (mut nodes, mut spaces) = (nodes.to_vec(), spaces.to_vec());
        while !nodes.is_empty() || !spaces.is_empty() {
            while let Some(n) = nodes.pop() {
                if all.nodes.insert(n) {
                    nodes.extend(self.operands(n));
                    spaces.push(self.space_of(n));
                    spaces.extend(self.spaces_in(n));
                }
            }
            while let Some(s) = spaces.pop() {
                if s != ROOT && all.spaces.insert(s) {
                    let data = self.space(s);
                    spaces.push(data.parent);
                    if let Region::Dim(n) | Region::Guard(n, _) = data.region {
                        nodes.push(n);
                    }
                }
            }
        }
        all
    }

    /// The spaces that a node names.
    fn spaces_in(&self, n: Node) -> Vec<Space> {
        let of = |combine: &Combine| combine.function().map(|(s, _)| s);
        match &self.node(n).op {
            Op::Fold { over: s, combine, .. } | Op::Scan { from: s, combine, .. } => {
                [*s].into_iter().chain(of(combine)).collect()
            }
            Op::If { yes, no, .. } => vec![*yes, *no],
            Op::Loop { space, inside, .. } => vec![*space, *inside],
            _ => Vec::new(),
        }
    }

    fn show_defined(&self, defined: &Defined, pad: &str, out: &mut String) {
        defined.spaces.iter().for_each(|s| *out += &format!("{pad}{}\n", self.show_space(*s)));
        defined.nodes.iter().for_each(|n| *out += &format!("{pad}{}\n", self.show_node(*n)));
    }

    /// All definitions on which a kernel depends.
    fn kernel_definitions(&self, kernel: &Kernel) -> Defined {
        let (mut nodes, mut spaces) = (Vec::new(), Vec::new());
        for sink in &kernel.sinks {
            let (space, needed) = self.sink_parts(sink);
            nodes.extend(needed);
            spaces.push(space);
            if let Sink::Scatter { within, combine, .. } = sink {
                spaces.push(*within);
                spaces.extend(combine.as_ref().and_then(Combine::function).map(|(s, _)| s));
            }
        }
        self.definitions(&nodes, &spaces)
    }

    /// The text of one kernel.
    pub fn show_kernel(&self, kernel: &Kernel) -> String {
        let mut out = format!("kernel {} {{\n", Name(&kernel.name));
        self.show_defined(&self.kernel_definitions(kernel), "  ", &mut out);
        kernel.sinks.iter().for_each(|s| out += &format!("  {}\n", self.show_sink(s)));
        out + "}"
    }
}

/// The buffers that steps allocate, and all that they mention.
fn buffers_in(steps: &[Step], uses: &[StepUses], made: &mut BTreeSet<Buf>, all: &mut BTreeSet<Buf>) {
    for (step, uses) in steps.iter().zip(uses) {
        all.extend(uses.all.needs.iter().chain(&uses.all.makes));
        if let Step::While { stream: Some(stream), .. } = step {
            all.extend(&stream.state);
        }
        match step {
            Step::Alloc(b, _) | Step::Take(b, ..) => drop(made.insert(*b)),
            Step::If(_, a, b) | Step::While { test: a, body: b, .. } => {
                buffers_in(a, &uses.inside[0], made, all);
                buffers_in(b, &uses.inside[1], made, all);
            }
            _ => {}
        }
    }
}

/// A program being printed: the definitions printed so far.
struct Printer<'p> {
    p: &'p Program,
    shown: Defined,
    /// The sites of all checks that are shown.
    sites: BTreeSet<Site>,
    out: String,
}

impl Printer<'_> {
    /// The nodes that the host needs to compute others, unless they are printed already.
    fn define(&mut self, nodes: &[Node], pad: &str) {
        let all = self.p.definitions(nodes, &[]);
        let new = Defined { spaces: &all.spaces - &self.shown.spaces, nodes: &all.nodes - &self.shown.nodes };
        self.p.show_defined(&new, pad, &mut self.out);
        self.note_sites(&new.nodes);
        self.shown.spaces.extend(new.spaces);
        self.shown.nodes.extend(new.nodes);
    }

    fn note_sites(&mut self, nodes: &BTreeSet<Node>) {
        let site = |n: &Node| if let Op::Check { site, .. } = self.p.node(*n).op { Some(site) } else { None };
        self.sites.extend(nodes.iter().filter_map(site));
    }

    /// The buffers that no step allocates, and the data of the program.
    fn header(&self) -> String {
        let p = self.p;
        let mut out = String::new();
        self.bufs().into_iter().for_each(|b| out += &format!("{}\n", p.show_buf(b, p.bufs[b.index()].len)));
        p.data.iter().for_each(|(b, data)| out += &format!("data {b} [{}]\n", list(data)));
        for c in &self.sites {
            let SiteData { kind, places, .. } = &p.sites[c.index()];
            let places: String = places.iter().map(|p| format!(" in {p}")).collect();
            out += &format!("{c} = {kind}{places}\n");
        }
        out
    }

    /// The buffers that no step allocates.
    fn bufs(&self) -> BTreeSet<Buf> {
        let p = self.p;
        let (mut made, mut all) = (BTreeSet::new(), BTreeSet::new());
        buffers_in(&p.steps, &p.uses(&p.steps), &mut made, &mut all);
        p.params.iter().chain([&p.result]).for_each(|r| all.extend(p.rep_bufs(r)));
        all.extend(p.data.iter().map(|(b, _)| *b));
        &all - &made
    }

    fn program(&mut self) {
        let p = self.p;
        let lens: Vec<Node> = self.bufs().iter().filter_map(|b| p.bufs[b.index()].len).collect();
        self.define(&lens, "");
        p.params.iter().for_each(|r| self.define(&r.sizes(), ""));
        self.out += &format!("params ({})\n", list(&p.params));
        self.steps(&p.steps, 0);
        self.define(&p.result.sizes(), "");
        self.out += &format!("result {}", p.result);
        p.notes.iter().for_each(|n| self.out += &format!("\nnote {}", Name(n)));
    }

    fn steps(&mut self, steps: &[Step], indent: usize) {
        let pad = "  ".repeat(indent);
        for step in steps {
            match step {
                Step::Alloc(_, n) | Step::Take(_, _, n) | Step::Check(n) | Step::If(n, ..) => self.define(&[*n], &pad),
                Step::Sort { len, rows, .. } => self.define(&[*len, *rows], &pad),
                Step::Pull { count, rep, .. } => {
                    self.define(&[*count], &pad);
                    self.define(&rep.sizes(), &pad);
                }
                Step::Push { rep, .. } => self.define(&rep.sizes(), &pad),
                _ => {}
            }
            let text = match step {
                Step::Alloc(b, n) => format!("alloc {}", self.p.show_buf(*b, Some(*n))),
                Step::Take(b, from, n) => format!("take {} = {from}", self.p.show_buf(*b, Some(*n))),
                Step::Free(bufs) => format!("free {}", list(bufs)),
                Step::Check(n) => format!("check {n}"),
                Step::Run(k) => {
                    self.note_sites(&self.p.kernel_definitions(k).nodes);
                    self.p.show_kernel(k).replace('\n', &format!("\n{pad}"))
                }
                Step::Sort { order, keys, len, offsets, rows } => {
                    let offsets = offsets.map_or(String::new(), |b| format!(" offsets {b}"));
                    format!("sort {order} ({}) of {len}{offsets} rows {rows}", list(keys))
                }
                Step::Pull { param, count, all, rep } => {
                    let how = if *all { "all" } else { "some" };
                    format!("pull {rep} = {param} {how} of {count}")
                }
                Step::Push { to, rep } => format!("push {to} = {rep}"),
                Step::Bind(pairs) => {
                    let pairs: Vec<String> = pairs.iter().map(|(a, b)| format!("{a} = {b}")).collect();
                    format!("bind ({})", pairs.join(", "))
                }
                Step::If(c, yes, no) => {
                    self.out += &format!("{pad}if {c} {{\n");
                    self.steps(yes, indent + 1);
                    self.out += &format!("{pad}}} else {{\n");
                    self.steps(no, indent + 1);
                    "}".to_string()
                }
                Step::While { test, cond, body, stream } => {
                    let head = stream.as_ref().map_or("while".to_string(), |s| s.to_string());
                    self.out += &format!("{pad}{head} {{\n");
                    self.steps(test, indent + 1);
                    self.define(&[*cond], &format!("{pad}  "));
                    self.out += &format!("{pad}}} {cond} {{\n");
                    self.steps(body, indent + 1);
                    "}".to_string()
                }
            };
            self.out += &format!("{pad}{text}\n");
        }
    }
}

/// The nodes that a representation mentions.
impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Stream { chunk, sources, sinks, state } = self;
        let (sources, sinks, state) = (list(sources), list(sinks), list(state));
        write!(f, "stream {chunk} pulls ({sources}) pushes ({sinks}) state ({state})")
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shown, sites) = (Defined::default(), BTreeSet::new());
        let mut printer = Printer { p: self, shown, sites, out: String::new() };
        printer.program();
        write!(f, "{}{}", printer.header(), printer.out)
    }
}
