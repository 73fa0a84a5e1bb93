//! Statements: loops, branches, failures. The current block is kept in [`Writer::label`] for the phis that come after it.

use super::function::Writer;
use super::module::Target;
use super::types;
use deckle_ir::loops::{Block, Carry, LoopHint, Stmt, Val};
use deckle_ir::scalar::ScalarType;
use std::fmt::Write;

/// A counted loop, as operands.
struct Counted {
    k: u32,
    lo: String,
    hi: String,
    step: i64,
    inits: Vec<String>,
}

impl Writer<'_> {
    /// Writes the statements of a block.
    pub(super) fn block(&mut self, block: &Block) {
        for stmt in &block.stmts {
            self.stmt(stmt);
        }
    }

    fn stmt(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(v, expr) => self.define(*v, expr),
            Stmt::Store { buf, at, value, mask, hint } => self.store(*buf, *at, *value, *mask, *hint),
            Stmt::Atomic { op, buf, at, value, before } => self.atomic(*op, (*buf, *at), *value, *before),
            Stmt::For { var, lo, hi, step, carries, body, hint } => {
                self.counted((*var, *lo, *hi, *step), carries, body, *hint);
            }
            Stmt::While { carries, test, body } => self.while_(carries, test, body),
            Stmt::If { cond, yes, no, results } => self.if_(*cond, yes, no, results),
            Stmt::Flag(v) => self.flag(*v),
            Stmt::Fail { site, operands } => self.fail(*site, operands),
            Stmt::Barrier => {
                self.module.declare("void @llvm.nvvm.barrier0()".to_string());
                self.line("call void @llvm.nvvm.barrier0()");
            }
            Stmt::WarpBarrier => {
                self.module.declare("void @llvm.nvvm.bar.warp.sync(i32)".to_string());
                self.line("call void @llvm.nvvm.bar.warp.sync(i32 -1)");
            }
        }
    }

    /// The phis of carried values, given the blocks before and at the end of the loop.
    fn phis(&self, carries: &[Carry], inits: &[String], results: &[Val], before: &str, latch: &str) -> String {
        let mut text = String::new();
        for ((c, init), r) in carries.iter().zip(inits).zip(results) {
            let (param, next) = (self.name(c.param), self.name(*r));
            let ty = types::value(self.ty(c.param));
            let _ = writeln!(text, "  {param} = phi {ty} [ {init}, %{before} ], [ {next}, %{latch} ]");
        }
        text
    }

    /// Names what a loop carries. What it is after the loop is what the last round would have begun with.
    fn name_carries(&mut self, carries: &[Carry]) {
        for c in carries {
            let name = format!("%{}", c.param);
            self.set(c.param, name.clone());
            self.set(c.result, name);
        }
    }

    fn counted(&mut self, range: (Val, Val, Val, i64), carries: &[Carry], body: &Block, hint: LoopHint) {
        let (var, lo, hi, step) = range;
        let k = self.unique();
        self.set(var, format!("%{var}"));
        self.name_carries(carries);
        let inits: Vec<String> = carries.iter().map(|c| self.name(c.init)).collect();
        let whole = Counted { k, lo: self.name(lo), hi: self.name(hi), step, inits };
        let one_strip = self.constant(lo).is_some() && self.constant(hi).is_some();
        let strips = self.can_fail && !matches!(hint, LoopHint::Short | LoopHint::Unroll) && !one_strip;
        let strip = strips.then(|| self.begin_strip(&whole, carries));
        let Counted { lo, hi, inits, .. } = strip.as_ref().unwrap_or(&whole);
        let (before, head, exit) = (self.label.clone(), format!("for{k}"), format!("for{k}.end"));
        self.line(format!("br label %{head}"));
        self.begin(head.clone());
        let phis_at = self.text.len();
        let more = self.op(format!("icmp slt i64 %{var}, {hi}"));
        self.line(format!("br i1 {more}, label %for{k}.body, label %{exit}"));
        self.begin(format!("for{k}.body"));
        self.count_round();
        let floats = carries.iter().any(|c| self.ty(c.param).scalar.is_float());
        let metadata = self.loop_metadata(hint, (ends(body), floats), is_straight(body));
        let group = metadata.group;
        self.groups.extend(group);
        self.block(body);
        if group.is_some() {
            self.groups.pop();
        }
        let next = self.op(format!("add nsw i64 %{var}, {step}"));
        self.line(format!("br label %{head}{}", metadata.text));
        let latch = self.label.clone();
        let mut phis = format!("  %{var} = phi i64 [ {lo}, %{before} ], [ {next}, %{latch} ]\n");
        phis.push_str(&self.phis(carries, inits, &body.results, &before, &latch));
        self.text.insert_str(phis_at, &phis);
        self.begin(exit);
        if let Some(strip) = strip {
            self.end_strip(&strip, &whole);
        }
    }

    /// Begins a part of a loop of code that can fail, of at most [`super::Options::strip`] rounds: between them it is seen whether something has failed, here or in another
    /// thread, and then nobody waits for the rest.
    fn begin_strip(&mut self, whole: &Counted, carries: &[Carry]) -> Counted {
        let Counted { k, lo, hi, step, inits } = whole;
        let (before, strip) = (self.label.clone(), format!("strip{k}"));
        self.line(format!("br label %{strip}"));
        self.begin(strip.clone());
        self.line(format!("%{strip}.lo = phi i64 [ {lo}, %{before} ], [ %{strip}.hi, %{strip}.next ]"));
        let mut names = Vec::new();
        for (c, init) in carries.iter().zip(inits) {
            let (ty, name) = (types::value(self.ty(c.param)), format!("%{strip}.{}", c.param));
            self.line(format!("{name} = phi {ty} [ {init}, %{before} ], [ %{}, %{strip}.next ]", c.param));
            names.push(name);
        }
        let left = self.op(format!("sub i64 {hi}, %{strip}.lo"));
        let many = self.op(format!("icmp sgt i64 {left}, {}", self.module.strip * step));
        let end = self.op(format!("add i64 %{strip}.lo, {}", self.module.strip * step));
        self.line(format!("%{strip}.hi = select i1 {many}, i64 {end}, i64 {hi}"));
        Counted { k: *k, lo: format!("%{strip}.lo"), hi: format!("%{strip}.hi"), step: *step, inits: names }
    }

    /// Ends it: there may be another one.
    fn end_strip(&mut self, strip: &Counted, whole: &Counted) {
        let k = strip.k;
        let more = self.op(format!("icmp slt i64 {}, {}", strip.hi, whole.hi));
        let hardly = self.weighed("i32 1, i32 1000");
        self.line(format!("br i1 {more}, label %strip{k}.next, label %strip{k}.end{hardly}"));
        self.begin(format!("strip{k}.next"));
        let failed = self.failed();
        self.line(format!("br i1 {failed}, label %strip{k}.end, label %strip{k}"));
        self.begin(format!("strip{k}.end"));
    }

    /// That a loop ends is promised only where no loop of the program is inside, which may never end: LLVM lets a promise of one loop count for another that it
    /// merges it with. A loop that carries floats is not told to be vectorised: LLVM takes that for leave to add them in another order.
    fn loop_metadata(&mut self, hint: LoopHint, (ends, floats): (bool, bool), straight: bool) -> LoopMetadata {
        let mut group = None;
        let mut properties = Vec::new();
        if ends {
            properties.push(self.module.node(|_| "!{!\"llvm.loop.mustprogress\"}".to_string()));
        }
        match hint {
            LoopHint::Plain | LoopHint::Short => {}
            LoopHint::Independent if self.module.target == Target::Host => {
                let accesses = self.module.node(|_| "distinct !{}".to_string());
                group = Some(accesses);
                if !floats {
                    properties.push(self.module.node(|_| "!{!\"llvm.loop.vectorize.enable\", i1 true}".to_string()));
                }
                properties.push(self.module.node(|_| format!("!{{!\"llvm.loop.parallel_accesses\", !{accesses}}}")));
            }
            // The loads of several rounds are on their way at the same time.
            LoopHint::Independent if straight => {
                properties.push(self.module.node(|_| format!("!{{!\"llvm.loop.unroll.count\", i32 {ROUNDS}}}")));
            }
            LoopHint::Independent => {}
            LoopHint::Unroll => {
                properties.push(self.module.node(|_| "!{!\"llvm.loop.unroll.full\"}".to_string()));
            }
        }
        let properties: String = properties.iter().map(|p| format!(", !{p}")).collect();
        let own = self.module.node(|n| format!("distinct !{{!{n}{properties}}}"));
        LoopMetadata { group, text: format!(", !llvm.loop !{own}") }
    }

    fn while_(&mut self, carries: &[Carry], test: &Block, body: &Block) {
        let k = self.unique();
        let (before, head, exit) = (self.label.clone(), format!("while{k}"), format!("while{k}.end"));
        self.name_carries(carries);
        let inits: Vec<String> = carries.iter().map(|c| self.name(c.init)).collect();
        self.line(format!("br label %{head}"));
        self.begin(head.clone());
        let phis_at = self.text.len();
        self.block(test);
        let go_on = test.results.first().map_or("false".to_string(), |&v| self.name(v));
        self.line(format!("br i1 {go_on}, label %while{k}.body, label %{exit}"));
        self.begin(format!("while{k}.body"));
        self.count_round();
        self.block(body);
        self.line(format!("br label %{head}"));
        let phis = self.phis(carries, &inits, &body.results, &before, &self.label);
        self.text.insert_str(phis_at, &phis);
        self.begin(exit);
    }

    fn if_(&mut self, cond: Val, yes: &Block, no: &Block, results: &[Val]) {
        let k = self.unique();
        // Hardly anything fails.
        let fails = no.stmts.iter().any(|s| matches!(s, Stmt::Flag(_)));
        let likely = if fails { self.weighed("i32 1000, i32 1") } else { String::new() };
        self.line(format!("br i1 {}, label %if{k}.yes, label %if{k}.no{likely}", self.name(cond)));
        self.begin(format!("if{k}.yes"));
        self.block(yes);
        let after_yes = self.label.clone();
        self.line(format!("br label %if{k}.end"));
        self.begin(format!("if{k}.no"));
        self.block(no);
        let after_no = self.label.clone();
        self.line(format!("br label %if{k}.end"));
        self.begin(format!("if{k}.end"));
        for (&r, (a, b)) in results.iter().zip(yes.results.iter().zip(&no.results)) {
            let ty = types::value(self.ty(r));
            let (a, b) = (self.name(*a), self.name(*b));
            let name = self.op(format!("phi {ty} [ {a}, %{after_yes} ], [ {b}, %{after_no} ]"));
            self.set(r, name);
        }
    }

    /// How often each side of a branch is taken, to be written after it.
    pub(super) fn weighed(&mut self, weights: &str) -> String {
        let weights = self.module.node(|_| format!("!{{!\"branch_weights\", {weights}}}"));
        format!(", !prof !{weights}")
    }

    /// Whether a mask holds in any lane.
    pub(super) fn any(&mut self, mask: &str, lanes: u16) -> String {
        if lanes == 1 {
            return mask.to_string();
        }
        let ty = types::many("i1", lanes);
        let callee = format!("i1 @llvm.vector.reduce.or.v{lanes}i1");
        self.module.declare(format!("{callee}({ty})"));
        self.op(format!("call {callee}({ty} {mask})"))
    }

    fn flag(&mut self, v: Val) {
        let any = self.any(&self.name(v), self.ty(v).lanes);
        let before = self.op("load i1, ptr %failed");
        let after = self.op(format!("or i1 {before}, {any}"));
        self.line(format!("store i1 {after}, ptr %failed"));
    }

    /// The first failure is recorded: on the host, where one thread runs, by looking; on a GPU by who gets there first.
    fn fail(&mut self, site: u32, operands: &[Val]) {
        let k = self.unique();
        let host = self.module.target == Target::Host;
        let pointer = if host { "ptr" } else { "ptr addrspace(1)" };
        self.line("store i1 true, ptr %failed");
        let before = if host {
            self.op(format!("load i64, {pointer} %error, align 8"))
        } else {
            let both = self.op(format!("cmpxchg {pointer} %error, i64 0, i64 1 monotonic monotonic"));
            self.op(format!("extractvalue {{ i64, i1 }} {both}, 0"))
        };
        let first = self.op(format!("icmp eq i64 {before}, 0"));
        self.line(format!("br i1 {first}, label %fail{k}, label %fail{k}.end"));
        self.begin(format!("fail{k}"));
        if host {
            self.line(format!("store i64 1, {pointer} %error, align 8"));
        }
        let first = [site.to_string(), operands.len().to_string()];
        let words: Vec<String> = first.into_iter().chain(operands.iter().map(|&v| self.name(v))).collect();
        for (n, word) in words.into_iter().enumerate() {
            let word = match n.checked_sub(2).and_then(|i| operands.get(i)) {
                Some(&v) => self.packed(&word, self.ty(v).scalar),
                None => word,
            };
            let place = self.op(format!("getelementptr inbounds i64, {pointer} %error, i64 {}", n + 1));
            self.line(format!("store i64 {word}, {pointer} {place}, align 8"));
        }
        self.line(format!("br label %fail{k}.end"));
        self.begin(format!("fail{k}.end"));
    }

    /// A scalar as a word: signed integers extended by their sign, floats as their bits.
    fn packed(&mut self, name: &str, ty: ScalarType) -> String {
        match ty {
            ScalarType::I64 | ScalarType::U64 => name.to_string(),
            ScalarType::F64 => self.op(format!("bitcast double {name} to i64")),
            ScalarType::F32 => {
                let bits = self.op(format!("bitcast float {name} to i32"));
                self.op(format!("zext i32 {bits} to i64"))
            }
            ty if ty.is_signed() => self.op(format!("sext {} {name} to i64", types::scalar(ty))),
            ty => self.op(format!("zext {} {name} to i64", types::scalar(ty))),
        }
    }
}

/// Whether a block is known to come to its end: there is no loop in it but counted ones.
fn ends(block: &Block) -> bool {
    block.stmts.iter().all(|stmt| match stmt {
        Stmt::While { .. } => false,
        Stmt::For { body, .. } => ends(body),
        Stmt::If { yes, no, .. } => ends(yes) && ends(no),
        _ => true,
    })
}

struct LoopMetadata {
    /// The access group of the loop.
    group: Option<usize>,
    /// What stands behind the branch back.
    text: String,
}

/// Whether statements can fail.
pub(super) fn can_fail(block: &Block) -> bool {
    block.stmts.iter().any(|stmt| match stmt {
        Stmt::Flag(_) | Stmt::Fail { .. } => true,
        Stmt::For { body, .. } => can_fail(body),
        Stmt::While { test, body, .. } => can_fail(test) || can_fail(body),
        Stmt::If { yes, no, .. } => can_fail(yes) || can_fail(no),
        _ => false,
    })
}

/// The rounds of a small loop on a GPU that are written out.
const ROUNDS: usize = 4;
/// The most statements of such a loop.
const SMALL: usize = 64;

/// Whether a body is small and has no branches.
fn is_straight(body: &Block) -> bool {
    body.stmts.len() <= SMALL && body.stmts.iter().all(|s| matches!(s, Stmt::Let(..) | Stmt::Store { .. }))
}
