//! Checked mode: every access of memory is held against the length of its buffer, and every load against what has been written.
//!
//! Each buffer comes with its length and with a *shadow*, which has a byte for each byte of the buffer, 0 where that has been written. An access is emitted
//! as without checks, inside a branch that is taken only where all its lanes are in range; stores clear the shadow, loads and atomics test it. What is wrong is
//! recorded behind the error record, the first of its kind only, and the function goes on: a load that does not happen gives 0.
//!
//! Without checked mode nothing of this is emitted.

use super::function::Writer;
use super::module::symbol;
use super::types;
use deckle_ir::loops::{Block, Buf, Expr, Function, Stmt, StoreHint, Val, operands};
use deckle_ir::scalar::ScalarType;
use std::collections::{HashMap, HashSet};

/// What checked mode knows of a buffer.
#[derive(Clone)]
pub(super) struct Checks {
    /// How many elements it has, an `i64`.
    pub(super) len: String,
    /// The shadow of its first byte.
    pub(super) shadow: String,
}

/// Where in the error record accesses out of range are recorded, and loads of what has not been written: whether there was one, the number of the buffer,
/// the index, the length, and the first bytes of the name of the function.
pub const OUT_OF_RANGE: usize = deckle_ir::loops::RECORD;
/// See [`OUT_OF_RANGE`].
pub const UNWRITTEN: usize = OUT_OF_RANGE + 4 + NAME_WORDS;
/// The words of a function's name.
pub const NAME_WORDS: usize = 3;
/// Where the rounds of all loops are counted, a vector of lanes as one.
pub const ROUNDS: usize = UNWRITTEN + 4 + NAME_WORDS;
/// All words of the error record in checked mode.
pub const RECORD: usize = ROUNDS + 1;

/// Records something, unless another was first.
fn report_function() -> String {
    let names: Vec<String> = (0..NAME_WORDS).map(|n| format!("i64 %n{n}")).collect();
    let mut text = format!(
        "\ndefine internal void @deckle.report(ptr %error, i64 %at, i64 %buffer, i64 %index, i64 %len, {}) noinline cold nounwind {{\n",
        names.join(", ")
    );
    text.push_str(
        "  %flag = getelementptr inbounds i64, ptr %error, i64 %at
  %both = cmpxchg ptr %flag, i64 0, i64 1 monotonic monotonic
  %first = extractvalue { i64, i1 } %both, 1
  br i1 %first, label %record, label %done
record:
",
    );
    let names = (0..NAME_WORDS).map(|n| format!("n{n}"));
    let words = ["buffer", "index", "len"].map(str::to_string).into_iter().chain(names);
    for (k, word) in words.enumerate() {
        text.push_str(&format!("  %p{k} = getelementptr inbounds i64, ptr %flag, i64 {}\n", k + 1));
        text.push_str(&format!("  store i64 %{word}, ptr %p{k}, align 8\n"));
    }
    text.push_str("  br label %done\ndone:\n  ret void\n}\n");
    text
}

/// An access that is checked: which elements, of which lanes.
struct Checked {
    buf: Buf,
    checks: Checks,
    elem: ScalarType,
    lanes: u16,
    /// The index of each lane, as a vector also of one.
    indices: String,
    /// The lanes that are accessed, likewise.
    mask: String,
    gathered: bool,
    at: Val,
}

/// Lanes of vectors that nothing uses but [`Expr::Swizzle`], which picks these: where every second element is wanted, the last load may reach into the
/// padding behind an array, and nobody looks at what is there.
#[derive(Default)]
pub(super) struct Picked {
    lanes: HashMap<Val, HashSet<u16>>,
    others: HashSet<Val>,
}

impl Picked {
    pub(super) fn of(function: &Function) -> Picked {
        let mut picked = Picked::default();
        picked.block(function, &function.body);
        picked
    }

    fn block(&mut self, function: &Function, block: &Block) {
        self.others.extend(&block.results);
        for stmt in &block.stmts {
            match stmt {
                Stmt::Let(_, Expr::Swizzle(a, b, from)) => {
                    let count = function.vals.get(a.index()).map_or(1, |ty| ty.lanes);
                    for k in from {
                        let (v, lane) = if *k < count { (*a, *k) } else { (*b, *k - count) };
                        self.lanes.entry(v).or_default().insert(lane);
                    }
                }
                Stmt::Let(_, expr) => operands(expr, |v| {
                    self.others.insert(v);
                }),
                Stmt::Store { at, value, mask, .. } => self.others.extend([*at, *value].iter().chain(mask)),
                Stmt::Atomic { at, value, .. } => self.others.extend([*at, *value]),
                Stmt::For { carries, body, .. } => {
                    self.others.extend(carries.iter().map(|c| c.init));
                    self.block(function, body);
                }
                Stmt::While { carries, test, body } => {
                    self.others.extend(carries.iter().map(|c| c.init));
                    self.block(function, test);
                    self.block(function, body);
                }
                Stmt::If { yes, no, .. } => {
                    self.block(function, yes);
                    self.block(function, no);
                }
                Stmt::Flag(v) => {
                    self.others.insert(*v);
                }
                Stmt::Fail { operands: of, .. } => self.others.extend(of),
                Stmt::Barrier => {}
            }
        }
    }

    /// Those lanes of a vector, if nothing else uses it.
    fn lanes_of(&self, v: Val) -> Option<&HashSet<u16>> {
        self.lanes.get(&v).filter(|_| !self.others.contains(&v))
    }
}

impl Writer<'_> {
    /// Counts a round of a loop.
    pub(super) fn count_round(&mut self) {
        if self.module.checked {
            let rounds = self.op(format!("getelementptr inbounds i64, ptr %error, i64 {ROUNDS}"));
            self.op(format!("atomicrmw add ptr {rounds}, i64 1 monotonic, align 8"));
        }
    }

    /// Emits a load, which `plain` does, if all is well with it.
    pub(super) fn checked_load(
        &mut self,
        (buf, at, mask, lanes): (Buf, Val, Option<Val>, u16),
        plain: impl FnOnce(&mut Self) -> String,
    ) -> String {
        let Some(mut access) = self.checked(buf, at, mask, lanes) else { return plain(self) };
        if mask.is_none()
            && let Some(picked) = self.picked.lanes_of(self.defines)
        {
            let bits: Vec<String> = (0..lanes).map(|k| format!("i1 {}", picked.contains(&k))).collect();
            access.mask = format!("<{}>", bits.join(", "));
        }
        let branch = self.if_in_range(&access, true);
        self.test_written(&access);
        let value = plain(self);
        let ty = types::many(types::scalar(access.elem), lanes);
        let after = self.join(&branch);
        self.op(format!("phi {ty} [ {value}, %{after} ], [ zeroinitializer, %{} ]", branch.before))
    }

    /// Emits a store, which `plain` does, if all is well with it.
    pub(super) fn checked_store(
        &mut self,
        (buf, at, mask, lanes): (Buf, Val, Option<Val>, u16),
        hint: StoreHint,
        plain: impl FnOnce(&mut Self),
    ) {
        let Some(mut access) = self.checked(buf, at, mask, lanes) else { return plain(self) };
        if hint == StoreHint::Packed {
            access.mask = self.packed_lanes(&access);
        }
        let branch = self.if_in_range(&access, false);
        plain(self);
        self.mark_written(&access);
        self.join(&branch);
    }

    /// Emits a store that depends on what was there, which `plain` does, if all is well with it.
    pub(super) fn checked_update(&mut self, buf: Buf, at: Val, plain: impl FnOnce(&mut Self)) {
        let Some(access) = self.checked(buf, at, None, 1) else { return plain(self) };
        let branch = self.if_in_range(&access, false);
        self.test_written(&access);
        plain(self);
        self.join(&branch);
    }

    fn checked(&mut self, buf: Buf, at: Val, mask: Option<Val>, lanes: u16) -> Option<Checked> {
        let buffer = self.buffer(buf)?;
        let (checks, elem) = (buffer.checks.clone()?, buffer.elem);
        let gathered = lanes > 1 && self.ty(at).lanes > 1;
        let name = self.name(at);
        let indices = if gathered {
            name
        } else {
            let first = self.vector_of("i64", &name, lanes);
            let steps: Vec<String> = (0..lanes).map(|k| format!("i64 {k}")).collect();
            self.op(format!("add <{lanes} x i64> {first}, <{}>", steps.join(", ")))
        };
        let mask = self.mask_name(mask, lanes);
        Some(Checked { buf, checks, elem, lanes, indices, mask, gathered, at })
    }

    /// A scalar in every lane of a vector, also of one.
    fn vector_of(&mut self, ty: &str, name: &str, lanes: u16) -> String {
        let one = self.op(format!("insertelement <{lanes} x {ty}> poison, {ty} {name}, i64 0"));
        let all = format!("<{lanes} x i32> zeroinitializer");
        self.op(format!("shufflevector <{lanes} x {ty}> {one}, <{lanes} x {ty}> poison, {all}"))
    }

    fn total_of(&mut self, what: &str, ty: &str, vector: &str, lanes: u16) -> String {
        let callee = format!("{ty} @llvm.vector.reduce.{what}.v{lanes}{ty}");
        self.module.declare(format!("{callee}(<{lanes} x {ty}>)"));
        self.op(format!("call {callee}(<{lanes} x {ty}> {vector})"))
    }

    /// The lanes that a packed store fills: as many as its mask holds in, from the first on.
    fn packed_lanes(&mut self, a: &Checked) -> String {
        let lanes = a.lanes;
        let ones = self.op(format!("zext <{lanes} x i1> {} to <{lanes} x i64>", a.mask));
        let count = self.total_of("add", "i64", &ones, lanes);
        let count = self.vector_of("i64", &count, lanes);
        let steps: Vec<String> = (0..lanes).map(|k| format!("i64 {k}")).collect();
        self.op(format!("icmp ugt <{lanes} x i64> {count}, <{}>", steps.join(", ")))
    }

    /// Records an access where some lanes are bad.
    fn report_if(&mut self, a: &Checked, bad: &str, place: usize) -> String {
        let lanes = a.lanes;
        let any = self.total_of("or", "i1", bad, lanes);
        let k = self.unique();
        let rarely = self.weighed("i32 1, i32 1000");
        self.line(format!("br i1 {any}, label %report{k}, label %report{k}.end{rarely}"));
        self.begin(format!("report{k}"));
        let minus_one = self.vector_of("i64", "-1", lanes);
        let picked = format!("<{lanes} x i1> {bad}, <{lanes} x i64> {}, <{lanes} x i64> {minus_one}", a.indices);
        let picked = self.op(format!("select {picked}"));
        let index = self.total_of("umin", "i64", &picked, lanes);
        let mut name = symbol(self.function).into_bytes();
        name.resize(8 * NAME_WORDS, 0);
        let words = name.chunks(8).map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default()) as i64);
        let words: Vec<String> = words.map(|w| format!("i64 {w}")).collect();
        if self.module.is_new("@deckle.report") {
            self.module.function(&report_function());
        }
        let (buffer, len) = (a.buf.index(), &a.checks.len);
        self.line(format!(
            "call void @deckle.report(ptr %error, i64 {place}, i64 {buffer}, i64 {index}, i64 {len}, {})",
            words.join(", ")
        ));
        self.line(format!("br label %report{k}.end"));
        self.begin(format!("report{k}.end"));
        any
    }

    /// Begins a block that is run only where all lanes are in range.
    ///
    /// What is the same at all points is loaded before the loop over them, of which there may be none: so the first element of an empty buffer may be read, and is 0.
    fn if_in_range(&mut self, a: &Checked, reads: bool) -> Branch {
        let lanes = a.lanes;
        let len = self.vector_of("i64", &a.checks.len, lanes);
        let outside = self.op(format!("icmp uge <{lanes} x i64> {}, {len}", a.indices));
        let bad = self.op(format!("and <{lanes} x i1> {outside}, {}", a.mask));
        let mut reported = bad.clone();
        if reads {
            let either = self.op(format!("or <{lanes} x i64> {}, {len}", a.indices));
            let wrong = self.op(format!("icmp ne <{lanes} x i64> {either}, zeroinitializer"));
            reported = self.op(format!("and <{lanes} x i1> {bad}, {wrong}"));
        }
        self.report_if(a, &reported, OUT_OF_RANGE);
        let any = self.total_of("or", "i1", &bad, lanes);
        let k = self.unique();
        let before = self.label.clone();
        self.line(format!("br i1 {any}, label %access{k}.end, label %access{k}"));
        self.begin(format!("access{k}"));
        Branch { before, end: format!("access{k}.end") }
    }

    /// Ends that block, and gives its last part.
    fn join(&mut self, branch: &Branch) -> String {
        let last = self.label.clone();
        self.line(format!("br label %{}", branch.end));
        self.begin(branch.end.clone());
        last
    }

    /// Where the shadows are: a pointer or several.
    fn shadows(&mut self, a: &Checked) -> Shadows {
        let (word, lanes) = (types::int(a.elem.bytes()), a.lanes);
        let index = if a.gathered { format!("<{lanes} x i64> {}", a.indices) } else { self.typed(a.at) };
        let pointer = self.op(format!("getelementptr inbounds {word}, ptr {}, {index}", a.checks.shadow));
        if a.gathered {
            Shadows { pointer, ty: format!("<{lanes} x ptr>"), suffix: format!("v{lanes}p0") }
        } else {
            Shadows { pointer, ty: "ptr".to_string(), suffix: "p0".to_string() }
        }
    }

    /// Records loads of what has not been written.
    fn test_written(&mut self, a: &Checked) {
        let (word, lanes) = (types::int(a.elem.bytes()), a.lanes);
        let Shadows { pointer, ty, suffix } = self.shadows(a);
        let (all, masks) = (format!("<{lanes} x {word}>"), format!("<{lanes} x i1>"));
        let callee = format!("llvm.masked.{}.v{lanes}{word}.{suffix}", if a.gathered { "gather" } else { "load" });
        self.module.declare(format!("{all} @{callee}({ty}, i32, {masks}, {all})"));
        let operands = format!("{ty} {pointer}, i32 1, {masks} {}, {all} zeroinitializer", a.mask);
        let shadow = self.op(format!("call {all} @{callee}({operands})"));
        let bad = self.op(format!("icmp ne {all} {shadow}, zeroinitializer"));
        self.report_if(a, &bad, UNWRITTEN);
    }

    fn mark_written(&mut self, a: &Checked) {
        let (word, lanes) = (types::int(a.elem.bytes()), a.lanes);
        let Shadows { pointer, ty, suffix } = self.shadows(a);
        let (all, masks) = (format!("<{lanes} x {word}>"), format!("<{lanes} x i1>"));
        let callee = format!("llvm.masked.{}.v{lanes}{word}.{suffix}", if a.gathered { "scatter" } else { "store" });
        self.module.declare(format!("void @{callee}({all}, {ty}, i32, {masks})"));
        self.line(format!("call void @{callee}({all} zeroinitializer, {ty} {pointer}, i32 1, {masks} {})", a.mask));
    }
}

/// Where an access that is checked is left out.
struct Branch {
    before: String,
    end: String,
}

/// Pointers to shadows, their type, and how that is called in the name of an intrinsic.
struct Shadows {
    pointer: String,
    ty: String,
    suffix: String,
}
