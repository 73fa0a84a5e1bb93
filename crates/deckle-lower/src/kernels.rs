//! The kernels of a program, in words: what is computed together, over what, and where it goes.
//!
//! ```text
//!   kernels: 1
//!       1  the result: over n (dense)
//!            folds with add over row[i] (ragged)
//!            writes the result, f64
//!       2  the result: over n (dense)
//!            writes the result, f64
//!            apart from 1: it reads `squares`, all of which it needs
//!   `squares` is materialised: it is used more than once, and computing it again costs more than a load
//! ```

use crate::facts::product_of;
use crate::pipeline::{self, Kernels, Options, Passes};
use deckle_diag::SourceMap;
use deckle_ir::array::{BinOp, Program};
use deckle_ir::entity::Func;
use deckle_ir::kernel::{self, Buf, Combine, Kernel, Node, Op, ROOT, Region, Sink, Space, Step};
use deckle_ir::schedule::{Item, Walk, all_walks};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How deep an expression is told.
const DEEP: u32 = 3;

/// The kernels of each of some functions of a simplified program, if their arguments are given away. Lines are indented by two.
pub fn describe(simple: &Program, funcs: &[Func], sources: &SourceMap) -> Vec<String> {
    funcs.iter().map(|f| one(simple, *f, sources)).collect()
}

fn one(simple: &Program, func: Func, sources: &SourceMap) -> String {
    let options = Options { simplify: false, given: u64::MAX, ..Options::default() };
    match pipeline::kernels(simple, func, options, &mut Passes::default()) {
        Ok(Kernels { program, chunked, .. }) => {
            let mut text = of_program(&program);
            match chunked {
                Ok(Some(_)) => text += "  in chunks: sequences are never in memory as a whole\n",
                Ok(None) => {}
                Err(whole) => {
                    let file = sources.get(whole.span.file).filter(|_| !whole.span.is_none());
                    let place = file.map(|f| f.line_col(whole.span.lo));
                    let place = place.map_or(String::new(), |(line, column)| format!(", at {line}:{column}"));
                    let _ = writeln!(text, "  not in chunks: {}{place}", whole.why);
                }
            }
            text
        }
        Err(d) => format!("  kernels: none, only the interpreter runs this: {}\n", d.message),
    }
}

/// The kernels of a program, and why some of its arrays are kept.
pub fn of_program(program: &kernel::Program) -> String {
    let mut teller = Teller { program, out: String::new(), kernels: 0 };
    teller.steps(&program.steps, "");
    let n = teller.kernels;
    let mut out = match n {
        0 => "  kernels: none, the host does all there is to do\n".to_string(),
        _ => format!("  kernels: {n}\n{}", teller.out),
    };
    for note in &program.notes {
        let _ = writeln!(out, "  {note}");
    }
    out
}

struct Teller<'p> {
    program: &'p kernel::Program,
    out: String,
    kernels: usize,
}

impl Teller<'_> {
    fn steps(&mut self, steps: &[Step], around: &str) {
        let mut earlier: Vec<(usize, &Kernel)> = Vec::new();
        for step in steps {
            match step {
                Step::Run(kernel) => {
                    self.kernel(kernel, around);
                    self.apart(&earlier, kernel);
                    earlier.push((self.kernels, kernel));
                }
                Step::Sort { keys, .. } => {
                    let keys: Vec<String> = keys.iter().map(|b| self.named(*b)).collect();
                    let _ = writeln!(self.out, "       the host sorts by {}{around}", keys.join(", "));
                }
                Step::If(_, yes, no) => {
                    self.steps(yes, ", if a condition holds");
                    self.steps(no, ", if it does not");
                }
                Step::While { test, body, .. } => {
                    self.steps(test, ", in every round");
                    self.steps(body, ", in every round");
                }
                Step::Pull { .. } => self.out += &format!("       the next elements come from outside{around}\n"),
                Step::Push { .. } => self.out += &format!("       elements of the result go outside{around}\n"),
                Step::Take(new, old, _) => {
                    let (new, old) = (self.named(*new), self.named(*old));
                    let how = if new == old {
                        "is changed in place".into()
                    } else {
                        format!("takes over the memory of {old}")
                    };
                    let _ = writeln!(self.out, "       {new} {how}{around}");
                }
                Step::Alloc(..) | Step::Check(_) | Step::Bind(_) | Step::Free(_) => {}
            }
        }
    }

    fn kernel(&mut self, kernel: &Kernel, around: &str) {
        self.kernels += 1;
        let mut spaces: Vec<String> = Vec::new();
        for sink in &kernel.sinks {
            let words = self.space(self.program.sink_parts(sink).0, ROOT);
            if !spaces.contains(&words) {
                spaces.push(words);
            }
        }
        let _ = writeln!(self.out, "{:>7}  {}: over {}{around}", self.kernels, kernel.name, spaces.join(", and "));
        let sinks = counted(kernel.sinks.iter().map(|s| self.sink(s)));
        for line in self.inside(kernel).into_iter().chain(sinks) {
            let _ = writeln!(self.out, "           {line}");
        }
    }

    /// Why a kernel is not one with those before it.
    fn apart(&mut self, earlier: &[(usize, &Kernel)], kernel: &Kernel) {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for (number, other) in earlier {
            let why = self.reason(other, kernel);
            match reasons.iter_mut().find(|(w, _)| *w == why) {
                Some((_, numbers)) => numbers.push(number.to_string()),
                None => reasons.push((why, vec![number.to_string()])),
            }
        }
        for (why, numbers) in reasons {
            let _ = writeln!(self.out, "           apart from {}: {why}", numbers.join(", "));
        }
    }

    /// Why the second of two kernels is not one with the first.
    fn reason(&self, first: &Kernel, second: &Kernel) -> String {
        let p = self.program;
        let written: BTreeSet<Buf> = first.sinks.iter().flat_map(targets).collect();
        let (mut needed, mut sizes, mut spaces) = (BTreeSet::new(), Vec::new(), BTreeSet::new());
        for sink in &second.sinks {
            needed.extend(p.sink_needs(sink));
            spaces.insert(p.sink_parts(sink).0);
        }
        spaces.extend(needed.iter().map(|n| p.space_of(*n)));
        for s in spaces {
            sizes.extend(p.between(ROOT, s).into_iter().filter_map(|d| match p.space(d).region {
                Region::Dim(n) => Some(n),
                _ => None,
            }));
        }
        let needed: Vec<Node> = needed.into_iter().collect();
        if let Some(b) = p.node_bufs(&sizes).intersection(&written).next() {
            return format!("how far it goes depends on {}", self.named(*b));
        }
        if let Some(b) = p.node_bufs(&needed).intersection(&written).next() {
            let at = |n: &Node| match p.node(*n).op {
                Op::Load(from, at) if from == *b => Some(at),
                _ => None,
            };
            // What is read only where it was written could have been passed on; the notes say why it is materialised.
            let there = |at: Node| {
                let here = |s: &Sink| matches!(s, Sink::Write { buf, at: to, .. } if buf == b && *to == at);
                p.space_of(at) != ROOT && first.sinks.iter().any(here)
            };
            let how =
                if needed.iter().filter_map(at).all(there) { "which is materialised" } else { "all of which it needs" };
            return format!("it reads {}, {how}", self.named(*b));
        }
        if let Some(b) = second.sinks.iter().flat_map(targets).find(|b| written.contains(b)) {
            return format!("it changes {}, which must be there", self.named(b));
        }
        for made in second.sinks.iter().flat_map(targets) {
            let len = p.bufs[made.index()].len.map(|n| p.node_bufs(&[n])).unwrap_or_default();
            if let Some(b) = len.intersection(&written).next() {
                return format!("how large {} is depends on {}", self.named(made), self.named(*b));
            }
        }
        if self.outermost(first).is_disjoint(&self.outermost(second)) {
            return "it goes over other points".to_string();
        }
        "nothing but that they are made at different places of the program".to_string()
    }

    /// The outermost dimensions that a kernel goes over.
    fn outermost(&self, kernel: &Kernel) -> BTreeSet<Space> {
        let p = self.program;
        let mut all = BTreeSet::new();
        for sink in &kernel.sinks {
            let spaces = p.sink_needs(sink).into_iter().map(|n| p.space_of(n)).chain([p.sink_parts(sink).0]);
            all.extend(spaces.filter_map(|s| p.between(ROOT, s).first().copied()));
        }
        all
    }

    /// The folds, scans and loops of a kernel.
    fn inside(&self, kernel: &Kernel) -> Vec<String> {
        let mut needed = BTreeSet::new();
        kernel.sinks.iter().for_each(|s| needed.extend(self.program.sink_needs(s)));
        let told = needed.into_iter().filter_map(|n| {
            let data = self.program.node(n);
            Some(match &data.op {
                Op::Fold { over, combine, .. } => {
                    format!("folds with {} over {}", combining(combine), self.space(*over, data.space))
                }
                Op::Scan { from, combine, .. } => {
                    format!("scans with {} over {}", combining(combine), self.space(data.space, *from))
                }
                Op::Loop { .. } => "loops at each point".to_string(),
                _ => return None,
            })
        });
        counted(told)
    }

    fn sink(&self, sink: &Sink) -> String {
        match sink {
            Sink::Write { buf, .. } => format!("writes {}", self.typed(*buf)),
            Sink::Scatter { bufs, combine, .. } => {
                let bufs: Vec<String> = bufs.iter().map(|b| self.typed(*b)).collect();
                let how = combine.as_ref().map_or("the last value stays".to_string(), combining);
                format!("scatters into {} ({how})", bufs.join(" and "))
            }
            Sink::Check(_) => "checks, and writes nothing".to_string(),
        }
    }

    /// A space as seen from one around it: its dimensions, from the outside in.
    fn space(&self, space: Space, around: Space) -> String {
        let mut parts = Vec::new();
        let mut s = space;
        while s != ROOT && s != around {
            let data = self.program.space(s);
            parts.push(match data.region {
                Region::Root => break,
                Region::Dim(n) => {
                    let kind = if self.program.space_of(n) == ROOT { "dense" } else { "ragged" };
                    format!("{} ({kind})", self.expression(n, DEEP))
                }
                Region::Guard(..) => "where a condition holds".to_string(),
                Region::Loop => "the rounds of a loop".to_string(),
                Region::Lambda => "a combining function".to_string(),
            });
            s = data.parent;
        }
        parts.reverse();
        if parts.is_empty() { "one point".to_string() } else { parts.join(" × ") }
    }

    /// A number as far as it can be told in a few words.
    fn expression(&self, n: Node, deep: u32) -> String {
        let inner = |n: Node| self.expression(n, deep.saturating_sub(1));
        match &self.program.node(n).op {
            Op::Const(c) => c.as_int().map_or_else(|| c.to_string(), |n| n.to_string()),
            Op::Load(b, at) => match self.program.as_int(*at) {
                Some(0) => self.program.bufs[b.index()].name.clone(),
                _ => format!("{}[…]", self.program.bufs[b.index()].name),
            },
            _ if deep == 0 => "…".to_string(),
            Op::Binary(BinOp::Add, a, b) => format!("{} + {}", inner(*a), inner(*b)),
            Op::Binary(BinOp::Sub, a, b) => format!("{} - {}", inner(*a), inner(*b)),
            Op::Binary(BinOp::Mul, a, b) => format!("{} · {}", inner(*a), inner(*b)),
            Op::Binary(op, a, b) => format!("{}({}, {})", op.name(), inner(*a), inner(*b)),
            Op::Check { value, .. } => inner(*value),
            _ => "…".to_string(),
        }
    }

    fn named(&self, b: Buf) -> String {
        self.program.bufs[b.index()].name.clone()
    }

    fn typed(&self, b: Buf) -> String {
        format!("{}, {}", self.named(b), self.program.bufs[b.index()].elem)
    }
}

/// What the dimensions and items of some walks are, a line for each.
pub(crate) fn legend(program: &kernel::Program, sinks: &[Sink], walks: &[Walk], contract: bool) -> Vec<String> {
    let teller = Teller { program, out: String::new(), kernels: 0 };
    let mut lines: Vec<String> = Vec::new();
    for walk in all_walks(walks) {
        let around = program.space(walk.dim).parent;
        lines.push(format!("{}: {}", walk.dim, teller.space(walk.dim, around)));
        for item in &walk.items {
            lines.push(match item {
                Item::Sink(k) => format!("{item}: {}", teller.sink(&sinks[*k])),
                Item::Fold(n) | Item::Scan(n) => match &program.node(*n).op {
                    Op::Fold { combine, elems, .. } => {
                        let fused = contract && adds_products(program, combine, elems);
                        format!(
                            "{item}: {}{}",
                            combining(combine),
                            if fused { " of products, rounded once" } else { "" }
                        )
                    }
                    Op::Scan { combine, .. } => format!("{item}: {}", combining(combine)),
                    _ => item.to_string(),
                },
            });
        }
    }
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    lines
}

/// Whether a fold adds products of floats.
fn adds_products(program: &kernel::Program, combine: &Combine, elems: &[Node]) -> bool {
    let Combine::Ops(ops) = combine else { return false };
    ops.iter().zip(elems).any(|(op, elem)| product_of(program, *op, *elem).is_some())
}

/// What a sink fills.
fn targets(sink: &Sink) -> Vec<Buf> {
    match sink {
        Sink::Write { buf, .. } => vec![*buf],
        Sink::Scatter { bufs, .. } => bufs.clone(),
        Sink::Check(_) => Vec::new(),
    }
}

/// Each line once, with how often it is there.
fn counted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut told: Vec<(String, usize)> = Vec::new();
    for line in lines {
        match told.iter_mut().find(|(t, _)| *t == line) {
            Some((_, times)) => *times += 1,
            None => told.push((line, 1)),
        }
    }
    let times = |(line, n): (String, usize)| if n == 1 { line } else { format!("{line} ({n} times)") };
    told.into_iter().map(times).collect()
}

fn combining(combine: &Combine) -> String {
    match combine {
        Combine::Ops(ops) => ops.iter().map(|o| o.name()).collect::<Vec<_>>().join(", "),
        Combine::Lambda(..) => "a function".to_string(),
        Combine::InOrder(..) => "a function, in order".to_string(),
    }
}
