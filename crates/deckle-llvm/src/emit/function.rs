//! One function: its parameters, its error record, and how it is entered.
//!
//! On the host the code is in `@f.body`, which has one `noalias` parameter for each buffer, so that LLVM knows that they do not overlap; `@f` unpacks the
//! arguments and calls it.

use super::checked::{Checks, Picked, RECORD};
use super::module::{Module, Target, symbol};
use super::{stmt, types};
use deckle_ir::loops::{Access, Buf, Function, Local, Place, Ty, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use std::collections::HashMap;
use std::fmt::Write;

/// A buffer as the text knows it.
pub(super) struct Buffer {
    pub(super) elem: ScalarType,
    /// `ptr`, or `ptr addrspace(1)`.
    pub(super) pointer: &'static str,
    pub(super) name: String,
    /// Passed, and not local.
    pub(super) passed: bool,
    /// In checked mode.
    pub(super) checks: Option<Checks>,
}

/// A function being written.
pub(super) struct Writer<'a> {
    pub(super) function: &'a Function,
    pub(super) module: &'a mut Module,
    /// The statements so far.
    pub(super) text: String,
    /// How each value is written as an operand.
    names: Vec<String>,
    /// What is constant in every lane.
    constants: Vec<Option<Scalar>>,
    /// Values that are square roots, and of what.
    roots: HashMap<Val, Val>,
    pub(super) buffers: Vec<Buffer>,
    /// The label of the block that is being written.
    pub(super) label: String,
    /// The access groups of the independent loops around.
    pub(super) groups: Vec<usize>,
    /// Whether it can fail, on the host.
    pub(super) can_fail: bool,
    /// The value that is being computed.
    pub(super) defines: Val,
    /// In checked mode, what is used of vectors.
    pub(super) picked: Picked,
    next: u32,
}

impl<'a> Writer<'a> {
    pub(super) fn new(module: &'a mut Module, function: &'a Function) -> Writer<'a> {
        let picked = if module.checked { Picked::of(function) } else { Picked::default() };
        let can_fail = module.target == Target::Host && stmt::can_fail(&function.body);
        Writer {
            function,
            module,
            can_fail,
            defines: Val(0),
            picked,
            text: String::new(),
            names: vec![String::new(); function.vals.len()],
            constants: vec![None; function.vals.len()],
            roots: HashMap::new(),
            buffers: Vec::new(),
            label: "entry".to_string(),
            groups: Vec::new(),
            next: 0,
        }
    }

    pub(super) fn ty(&self, v: Val) -> Ty {
        self.function.vals.get(v.index()).copied().unwrap_or(ScalarType::I64.into())
    }

    /// A value as an operand, without its type.
    pub(super) fn name(&self, v: Val) -> String {
        self.names.get(v.index()).filter(|n| !n.is_empty()).cloned().unwrap_or_else(|| "poison".to_string())
    }

    /// A value as an operand with its type.
    pub(super) fn typed(&self, v: Val) -> String {
        format!("{} {}", types::value(self.ty(v)), self.name(v))
    }

    pub(super) fn set(&mut self, v: Val, name: String) {
        if let Some(slot) = self.names.get_mut(v.index()) {
            *slot = name;
        }
    }

    pub(super) fn set_constant(&mut self, v: Val, s: Scalar) {
        if let Some(slot) = self.constants.get_mut(v.index()) {
            *slot = Some(s);
        }
    }

    pub(super) fn set_root(&mut self, v: Val, of: Val) {
        self.roots.insert(v, of);
    }

    /// Of what a value is the square root, if it is one.
    pub(super) fn root_of(&self, v: Val) -> Option<Val> {
        self.roots.get(&v).copied()
    }

    pub(super) fn constant(&self, v: Val) -> Option<Scalar> {
        self.constants.get(v.index()).copied().flatten()
    }

    pub(super) fn buffer(&self, buf: Buf) -> Option<&Buffer> {
        self.buffers.get(buf.index())
    }

    /// A number that was not used before in this function.
    pub(super) fn unique(&mut self) -> u32 {
        self.next += 1;
        self.next
    }

    /// Writes an instruction without a result.
    pub(super) fn line(&mut self, text: impl AsRef<str>) {
        self.text.push_str("  ");
        self.text.push_str(text.as_ref());
        self.text.push('\n');
    }

    /// Writes an instruction; gives the name of its result.
    pub(super) fn op(&mut self, text: impl AsRef<str>) -> String {
        let name = format!("%t{}", self.unique());
        let _ = writeln!(self.text, "  {name} = {}", text.as_ref());
        name
    }

    /// Begins a block.
    pub(super) fn begin(&mut self, label: String) {
        let _ = writeln!(self.text, "{label}:");
        self.label = label;
    }

    /// Calls an intrinsic all of whose parameters and whose result have a type that stands in its name.
    pub(super) fn intrinsic(&mut self, name: &str, element: &str, lanes: u16, operands: &[&str]) -> String {
        let ty = types::many(element, lanes);
        let full = format!("@llvm.{name}.{}", types::suffix(element, lanes));
        let params = vec![ty.as_str(); operands.len()].join(", ");
        self.module.declare(format!("{ty} {full}({params})"));
        let operands: Vec<String> = operands.iter().map(|o| format!("{ty} {o}")).collect();
        self.op(format!("call {ty} {full}({})", operands.join(", ")))
    }

    /// The scalar in the low bits of a word.
    fn unpack(&mut self, word: &str, ty: ScalarType) -> String {
        let plain = types::int(ty.bytes());
        match ty {
            ScalarType::Bool => self.op(format!("trunc i64 {word} to i1")),
            ScalarType::F64 => self.op(format!("bitcast i64 {word} to double")),
            ScalarType::F32 => {
                let bits = self.op(format!("trunc i64 {word} to i32"));
                self.op(format!("bitcast i32 {bits} to float"))
            }
            _ if plain == "i64" => word.to_string(),
            _ => self.op(format!("trunc i64 {word} to {plain}")),
        }
    }
}

/// Writes a function into the module.
pub(super) fn emit(module: &mut Module, function: &Function) {
    let (target, checked) = (module.target, module.checked);
    let global = if target == Target::Host { "ptr" } else { "ptr addrspace(1)" };
    let mut w = Writer::new(module, function);
    let mut params: Vec<String> = Vec::new();
    for (k, b) in function.buffers.iter().enumerate() {
        let rights = if b.access == Access::Read { "readonly " } else { "" };
        let attributes = format!("noalias nocapture noundef nonnull {rights}dereferenceable({})", b.elem.bytes());
        params.push(format!("{global} {attributes} %b{k}"));
        let checks = checked.then(|| Checks { len: format!("%b{k}.len"), shadow: format!("%b{k}.shadow") });
        params.extend(checks.iter().map(|c| format!("i64 noundef {}, ptr noundef {}", c.len, c.shadow)));
        w.buffers.push(Buffer { elem: b.elem, pointer: global, name: format!("%b{k}"), passed: true, checks });
    }
    for (k, &v) in function.scalars.iter().enumerate() {
        let ty = w.ty(v);
        if target == Target::Host {
            params.push(format!("{} noundef %s{k}", types::scalar(ty.scalar)));
            w.set(v, format!("%s{k}"));
        } else {
            params.push(format!("i64 noundef %s{k}"));
            let name = w.unpack(&format!("%s{k}"), ty.scalar);
            w.set(v, name);
        }
    }
    let record = 8 * if checked { RECORD } else { deckle_ir::loops::RECORD };
    params.push(format!("{global} noalias nocapture noundef nonnull dereferenceable({record}) %error"));
    w.locals();
    w.line("%failed = alloca i1");
    w.line("store i1 false, ptr %failed");
    if target == Target::Nvptx {
        w.follow(global);
    }
    w.block(&function.body);
    w.report(global);
    let (symbol, text) = (symbol(function), std::mem::take(&mut w.text));
    let head = match target {
        Target::Host => format!("define internal void @{symbol}.body({}) noinline #0", params.join(", ")),
        Target::Nvptx => format!("define ptx_kernel void @{symbol}({}) #0", params.join(", ")),
    };
    w.module.function(&format!("{head} {{\nentry:\n{text}}}\n"));
    if target == Target::Nvptx {
        // Otherwise registers are allotted as if blocks had 1024 threads, or as if each multiprocessor ran one block.
        w.module.annotate(&symbol, "maxntidx", function.block);
        if function.resident > 0 {
            w.module.annotate(&symbol, "minctasm", (function.resident / function.block.max(1)).max(1));
        }
    }
    if target == Target::Host {
        w.entry(&symbol);
    }
}

impl Writer<'_> {
    /// Makes the local buffers.
    fn locals(&mut self) {
        let symbol = symbol(self.function);
        for (k, local) in self.function.locals.iter().enumerate() {
            let ty = format!("[{} x {}]", local.len, types::stored(local.elem));
            let shared = local.place == Place::Shared && self.module.target == Target::Nvptx;
            let (name, pointer) = if shared {
                let name = format!("@{symbol}.local{k}");
                self.module.global(&format!("{name} = internal addrspace(3) global {ty} undef, align 16"));
                (name, "ptr addrspace(3)")
            } else {
                let name = format!("%local{k}");
                self.line(format!("{name} = alloca {ty}, align 64"));
                (name, "ptr")
            };
            let checks = self.module.checked.then(|| self.local_checks(k, local));
            self.buffers.push(Buffer { elem: local.elem, pointer, name, passed: false, checks });
        }
    }

    /// The shadow of a local buffer, of which nothing has been written.
    fn local_checks(&mut self, k: usize, local: &Local) -> Checks {
        let bytes = local.len as usize * local.elem.bytes();
        let shadow = format!("%local{k}.shadow");
        self.line(format!("{shadow} = alloca [{bytes} x i8], align 64"));
        self.module.declare("void @llvm.memset.p0.i64(ptr, i8, i64, i1)".to_string());
        self.line(format!("call void @llvm.memset.p0.i64(ptr {shadow}, i8 -1, i64 {bytes}, i1 false)"));
        Checks { len: local.len.to_string(), shadow }
    }

    /// Whether this thread has noted a failure, or on the host another one has reported it. That is looked at each time: hence volatile. On a GPU the failures of other threads, which arrive at any
    /// time, would let the threads of a block disagree about barriers; the simulator does not show them either.
    pub(super) fn failed(&mut self) -> String {
        let own = self.op("load i1, ptr %failed");
        if self.module.target != Target::Host {
            return own;
        }
        let reported = self.op("load atomic volatile i64, ptr %error unordered, align 8");
        let others = self.op(format!("icmp ne i64 {reported}, 0"));
        self.op(format!("or i1 {own}, {others}"))
    }

    /// Begins a kernel of a GPU: if one that was launched before it has failed, so has this one, without doing anything. All threads agree on that: the word before the record
    /// does not change while they run.
    fn follow(&mut self, global: &str) {
        let word = self.op(format!("getelementptr i64, {global} %error, i64 -1"));
        let before = self.op(format!("load i64, {global} {word}, align 8"));
        let failed = self.op(format!("icmp ne i64 {before}, 0"));
        self.line(format!("br i1 {failed}, label %skip, label %begin"));
        self.begin("skip".to_string());
        self.line(format!("store atomic i64 1, {global} %error monotonic, align 8"));
        self.line("ret void");
        self.begin("begin".to_string());
    }

    /// Ends the function: what was noted becomes known.
    fn report(&mut self, global: &str) {
        let failed = self.op("load i1, ptr %failed");
        self.line(format!("br i1 {failed}, label %report, label %done"));
        self.begin("report".to_string());
        self.line(format!("store atomic i64 1, {global} %error monotonic, align 8"));
        self.line("br label %done");
        self.begin("done".to_string());
        self.line("ret void");
    }

    /// A word of what the exported function is passed.
    fn argument(&mut self, ty: &str, k: usize) -> String {
        let place = self.op(format!("getelementptr inbounds ptr, ptr %bufs, i64 {k}"));
        self.op(format!("load {ty}, ptr {place}, align 8"))
    }

    /// The exported function, which unpacks the arguments.
    fn entry(&mut self, symbol: &str) {
        let mut arguments: Vec<String> = Vec::new();
        let count = self.function.buffers.len();
        for (k, b) in self.function.buffers.iter().enumerate() {
            let pointer = self.argument("ptr", k);
            arguments.push(format!("ptr {pointer}"));
            if self.module.checked {
                let bytes = self.argument("i64", count + k);
                let len = self.op(format!("udiv i64 {bytes}, {}", b.elem.bytes()));
                let shadow = self.argument("ptr", 2 * count + k);
                arguments.push(format!("i64 {len}, ptr {shadow}"));
            }
        }
        for (k, &v) in self.function.scalars.iter().enumerate() {
            let place = self.op(format!("getelementptr inbounds i64, ptr %scalars, i64 {k}"));
            let word = self.op(format!("load i64, ptr {place}, align 8"));
            let ty = self.ty(v).scalar;
            let name = self.unpack(&word, ty);
            arguments.push(format!("{} {name}", types::scalar(ty)));
        }
        arguments.push("ptr %error".to_string());
        self.line(format!("call void @{symbol}.body({})", arguments.join(", ")));
        self.line("ret void");
        let text = std::mem::take(&mut self.text);
        self.module.function(&format!("define void @{symbol}(ptr %bufs, ptr %scalars, ptr %error) #0 {{\n{text}}}\n"));
    }
}
