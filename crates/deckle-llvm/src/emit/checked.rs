//! Checked mode: every access of memory is held against the length of its buffer, and every load against what has been written.
//!
//! Each buffer comes with its length and with a *shadow*, which has a byte for each byte of the buffer, 0 where that has been written. An access is emitted
//! as without checks, inside a branch that is taken only where all its lanes are in range. Whether they are is told by a function of the module, one for each
//! kind of access ([`Check`]), which also tests the shadow of loads and atomics and clears that of stores. What is wrong it records behind the error record,
//! the first of its kind only, and the function goes on: a load that does not happen gives 0. Checks are calls because nearly all of the time of checked code
//! goes into compiling it.
//!
//! Without checked mode nothing of this is emitted.

use super::function::Writer;
use super::module::{Module, symbol};
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
    let mut text = "
define internal void @deckle.report(ptr %error, i64 %at, i64 %buffer, i64 %index, i64 %len, ptr %name) noinline cold nounwind {
  %flag = getelementptr inbounds i64, ptr %error, i64 %at
  %both = cmpxchg ptr %flag, i64 0, i64 1 monotonic monotonic
  %first = extractvalue { i64, i1 } %both, 1
  br i1 %first, label %record, label %done
record:
"
    .to_string();
    let mut words = ["%buffer", "%index", "%len"].map(str::to_string).to_vec();
    for k in 0..NAME_WORDS {
        text.push_str(&format!("  %n{k} = getelementptr inbounds i64, ptr %name, i64 {k}\n"));
        text.push_str(&format!("  %w{k} = load i64, ptr %n{k}, align 8\n"));
        words.push(format!("%w{k}"));
    }
    for (k, word) in words.iter().enumerate() {
        text.push_str(&format!("  %p{k} = getelementptr inbounds i64, ptr %flag, i64 {}\n", k + 1));
        text.push_str(&format!("  store i64 {word}, ptr %p{k}, align 8\n"));
    }
    text.push_str("  br label %done\ndone:\n  ret void\n}\n");
    text
}

/// Counts a round.
fn count_function() -> String {
    format!(
        "
define internal void @deckle.count(ptr %error) noinline nounwind {{
  %rounds = getelementptr inbounds i64, ptr %error, i64 {ROUNDS}
  %before = atomicrmw add ptr %rounds, i64 1 monotonic, align 8
  ret void
}}
"
    )
}

/// What an access does to its elements.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    /// Both: an atomic.
    Update,
}

/// A kind of access, which has a function of the module to check it.
struct Check {
    kind: Kind,
    /// The integer of the size of an element.
    word: &'static str,
    lanes: u16,
    /// Whether each lane has an index of its own; otherwise they follow each other.
    gathered: bool,
    /// Whether some lanes may be left out.
    masked: bool,
}

impl Check {
    fn name(&self) -> String {
        let kind = match self.kind {
            Kind::Load => "load",
            Kind::Store => "store",
            Kind::Update => "update",
        };
        let gathered = if self.gathered { ".gathered" } else { "" };
        let masked = if self.masked { ".masked" } else { "" };
        format!("@deckle.check.{kind}.v{}{}{gathered}{masked}", self.lanes, self.word)
    }

    /// The type of what it gets as index: one, or one for each lane.
    fn index_type(&self) -> String {
        if self.gathered { format!("<{} x i64>", self.lanes) } else { "i64".to_string() }
    }

    /// The type of what it gets as mask: the bits of an integer, since LLVM does not pass vectors of truth values without optimisation.
    fn mask_type(&self) -> String {
        format!("i{}", self.lanes.max(8))
    }

    /// Makes sure that its function is in the module.
    fn need(&self, module: &mut Module) {
        if module.is_new("@deckle.report") {
            module.function(&report_function());
        }
        if module.is_new(&self.name()) {
            let text = self.function(module);
            module.function(&text);
        }
    }

    /// Its function, which gives whether all lanes are in range.
    fn function(&self, module: &mut Module) -> String {
        let masked = self.masked;
        let index = self.index_type();
        let mask_param = if masked { format!(", {} %mask.bits", self.mask_type()) } else { String::new() };
        let params = format!("ptr %error, i64 %buffer, ptr %name, i64 %len, ptr %shadow, {index} %at{mask_param}");
        format!(
            "define internal i1 {}({params}) noinline #0 {{\nentry:\n{}{}  br i1 %any, label %out, label %in\nout:\n  ret i1 false\nin:\n{}  ret i1 true\n}}\n",
            self.name(),
            self.range(),
            self.report(module, "told", OUT_OF_RANGE),
            self.shadow(module),
        )
    }

    /// The lanes that are accessed.
    fn mask(&self) -> String {
        if self.masked { "%mask".to_string() } else { vector("i1", self.lanes, |_| "true") }
    }

    /// `%indices` of all lanes, `%any` of them out of range, and in which lanes that is `%told`.
    ///
    /// What is the same at all points is loaded before the loop over them, of which there may be none: so the first element of an empty buffer may be read, and is 0.
    fn range(&self) -> String {
        let Check { lanes, .. } = *self;
        let (longs, bits, mask) = (format!("<{lanes} x i64>"), format!("<{lanes} x i1>"), self.mask());
        let splat = |name: &str, of: &str| {
            format!(
                "  %{name}.one = insertelement {longs} poison, i64 {of}, i64 0
  %{name} = shufflevector {longs} %{name}.one, {longs} poison, <{lanes} x i32> zeroinitializer\n"
            )
        };
        let indices = match self.gathered {
            true => format!("  %indices = add {longs} %at, zeroinitializer\n"),
            false => {
                splat("first", "%at") + &format!("  %indices = add {longs} %first, {}\n", vector("i64", lanes, |k| k))
            }
        };
        let told = match self.kind {
            Kind::Load => format!(
                "  %either = or {longs} %indices, %end
  %wrong = icmp ne {longs} %either, zeroinitializer
  %told = and {bits} %bad, %wrong\n"
            ),
            Kind::Store | Kind::Update => format!("  %told = or {bits} %bad, zeroinitializer\n"),
        };
        let unpacked = match self.masked {
            true if lanes < 8 => format!(
                "  %mask.low = trunc i8 %mask.bits to i{lanes}\n  %mask = bitcast i{lanes} %mask.low to {bits}\n"
            ),
            true => format!("  %mask = bitcast i{lanes} %mask.bits to {bits}\n"),
            false => String::new(),
        };
        unpacked
            + &indices
            + &splat("end", "%len")
            + &format!(
                "  %outside = icmp uge {longs} %indices, %end
  %bad = and {bits} %outside, {mask}
  %any = call i1 @llvm.vector.reduce.or.v{lanes}i1({bits} %bad)
{told}"
            )
    }

    /// Records an access where some lanes are bad.
    fn report(&self, module: &mut Module, bad: &str, place: usize) -> String {
        let Check { lanes, .. } = *self;
        let (longs, bits) = (format!("<{lanes} x i64>"), format!("<{lanes} x i1>"));
        module.declare(format!("i1 @llvm.vector.reduce.or.v{lanes}i1({bits})"));
        module.declare(format!("i64 @llvm.vector.reduce.umin.v{lanes}i64({longs})"));
        format!(
            "  %{bad}.any = call i1 @llvm.vector.reduce.or.v{lanes}i1({bits} %{bad})
  br i1 %{bad}.any, label %{bad}.report, label %{bad}.end
{bad}.report:
  %{bad}.which = select {bits} %{bad}, {longs} %indices, {longs} {}
  %{bad}.index = call i64 @llvm.vector.reduce.umin.v{lanes}i64({longs} %{bad}.which)
  call void @deckle.report(ptr %error, i64 {place}, i64 %buffer, i64 %{bad}.index, i64 %len, ptr %name)
  br label %{bad}.end
{bad}.end:\n",
            vector("i64", lanes, |_| -1)
        )
    }

    /// Clears the shadow of what is stored; records loads of what has not been written.
    fn shadow(&self, module: &mut Module) -> String {
        let Check { lanes, word, .. } = *self;
        let (words, bits, mask) = (format!("<{lanes} x {word}>"), format!("<{lanes} x i1>"), self.mask());
        let (ty, suffix, load, store) = match self.gathered {
            true => (format!("<{lanes} x ptr>"), format!("v{lanes}p0"), "gather", "scatter"),
            false => ("ptr".to_string(), "p0".to_string(), "load", "store"),
        };
        let place = format!("  %there = getelementptr inbounds {word}, ptr %shadow, {} %at\n", self.index_type());
        if self.kind == Kind::Store {
            let callee = format!("@llvm.masked.{store}.v{lanes}{word}.{suffix}");
            module.declare(format!("void {callee}({words}, {ty}, i32, {bits})"));
            return place
                + &format!("  call void {callee}({words} zeroinitializer, {ty} %there, i32 1, {bits} {mask})\n");
        }
        let callee = format!("@llvm.masked.{load}.v{lanes}{word}.{suffix}");
        module.declare(format!("{words} {callee}({ty}, i32, {bits}, {words})"));
        let test = format!(
            "  %seen = call {words} {callee}({ty} %there, i32 1, {bits} {mask}, {words} zeroinitializer)
  %unwritten = icmp ne {words} %seen, zeroinitializer\n"
        );
        place + &test + &self.report(module, "unwritten", UNWRITTEN)
    }
}

/// A constant vector, also of one.
fn vector<T: std::fmt::Display>(ty: &str, lanes: u16, of: impl Fn(u16) -> T) -> String {
    let each: Vec<String> = (0..lanes).map(|k| format!("{ty} {}", of(k))).collect();
    format!("<{}>", each.join(", "))
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
                Stmt::Barrier | Stmt::WarpBarrier => {}
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
            if self.module.is_new("@deckle.count") {
                self.module.function(&count_function());
            }
            self.line("call void @deckle.count(ptr %error)");
        }
    }

    /// Emits a load, which `plain` does, if all is well with it.
    pub(super) fn checked_load(
        &mut self,
        (buf, at, mask, lanes): (Buf, Val, Option<Val>, u16),
        plain: impl FnOnce(&mut Self) -> String,
    ) -> String {
        let Some((checks, elem)) = self.checks_of(buf) else { return plain(self) };
        let picked = self.picked.lanes_of(self.defines).filter(|_| mask.is_none());
        let picked = picked.map(|lanes_of| vector("i1", lanes, |k| lanes_of.contains(&k)));
        let mask = picked.or_else(|| mask.map(|m| self.mask_name(Some(m), lanes)));
        let branch = self.if_in_range(Kind::Load, (buf, checks, elem), at, mask, lanes);
        let value = plain(self);
        let ty = types::many(types::scalar(elem), lanes);
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
        let Some((checks, elem)) = self.checks_of(buf) else { return plain(self) };
        let mut mask = mask.map(|m| self.mask_name(Some(m), lanes));
        if hint == StoreHint::Packed {
            mask = mask.map(|mask| self.packed_lanes(&mask, lanes));
        }
        let branch = self.if_in_range(Kind::Store, (buf, checks, elem), at, mask, lanes);
        plain(self);
        self.join(&branch);
    }

    /// Emits a store that depends on what was there, which `plain` does, if all is well with it.
    pub(super) fn checked_update(&mut self, buf: Buf, at: Val, plain: impl FnOnce(&mut Self)) {
        let Some((checks, elem)) = self.checks_of(buf) else { return plain(self) };
        let branch = self.if_in_range(Kind::Update, (buf, checks, elem), at, None, 1);
        plain(self);
        self.join(&branch);
    }

    fn checks_of(&self, buf: Buf) -> Option<(Checks, ScalarType)> {
        let buffer = self.buffer(buf)?;
        Some((buffer.checks.clone()?, buffer.elem))
    }

    /// The lanes that a packed store fills: as many as its mask holds in, from the first on.
    fn packed_lanes(&mut self, mask: &str, lanes: u16) -> String {
        let longs = format!("<{lanes} x i64>");
        let ones = self.op(format!("zext <{lanes} x i1> {mask} to {longs}"));
        let callee = format!("i64 @llvm.vector.reduce.add.v{lanes}i64");
        self.module.declare(format!("{callee}({longs})"));
        let count = self.op(format!("call {callee}({longs} {ones})"));
        let one = self.op(format!("insertelement {longs} poison, i64 {count}, i64 0"));
        let count = self.op(format!("shufflevector {longs} {one}, {longs} poison, <{lanes} x i32> zeroinitializer"));
        self.op(format!("icmp ugt {longs} {count}, {}", vector("i64", lanes, |k| k)))
    }

    /// The name of this function as reports have it: its first bytes, in the module.
    fn reported_name(&mut self) -> String {
        let symbol = symbol(self.function);
        let name = format!("@{symbol}.name");
        if self.module.is_new(&name) {
            let mut bytes = symbol.into_bytes();
            bytes.resize(8 * NAME_WORDS, 0);
            let words = bytes.chunks(8).map(|w| u64::from_le_bytes(w.try_into().unwrap_or_default()) as i64);
            let words: Vec<String> = words.map(|w| format!("i64 {w}")).collect();
            self.module
                .global(&format!("{name} = internal constant [{NAME_WORDS} x i64] [{}], align 8", words.join(", ")));
        }
        name
    }

    /// Begins a block that is run only where all lanes are in range.
    fn if_in_range(
        &mut self,
        kind: Kind,
        (buf, checks, elem): (Buf, Checks, ScalarType),
        at: Val,
        mask: Option<String>,
        lanes: u16,
    ) -> Branch {
        let gathered = lanes > 1 && self.ty(at).lanes > 1;
        let check = Check { kind, word: types::int(elem.bytes()), lanes, gathered, masked: mask.is_some() };
        check.need(self.module);
        let (buffer, name, at) = (buf.index(), self.reported_name(), self.name(at));
        let mask = mask.map_or(String::new(), |mask| {
            let mut bits = self.op(format!("bitcast <{lanes} x i1> {mask} to i{lanes}"));
            if lanes < 8 {
                bits = self.op(format!("zext i{lanes} {bits} to i8"));
            }
            format!(", {} {bits}", check.mask_type())
        });
        let index = format!("{} {at}{mask}", check.index_type());
        let place = format!("ptr %error, i64 {buffer}, ptr {name}, i64 {}, ptr {}", checks.len, checks.shadow);
        let inside = self.op(format!("call i1 {}({place}, {index})", check.name()));
        let k = self.unique();
        let before = self.label.clone();
        self.line(format!("br i1 {inside}, label %access{k}, label %access{k}.end"));
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
}

/// Where an access that is checked is left out.
struct Branch {
    before: String,
    end: String,
}
