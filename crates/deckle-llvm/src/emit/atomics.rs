//! Atomic operations: by the instruction for it, or by a loop that exchanges the element until no other thread has stored in between.
//!
//! There are instructions for integers of 32 and 64 bits. Products, minima and maxima of floats, and narrower elements are exchanged, the latter in the word of 32 bits that they lie in. A loop that would store
//! what is there already ends without a store, so that extremes and truth values that have settled cost a load.

use super::function::Writer;
use super::memory::Place;
use super::module::Target;
use super::types;
use deckle_ir::array::BinOp;
use deckle_ir::loops::{Buf, Val};
use deckle_ir::scalar::{Scalar, ScalarType};

impl Writer<'_> {
    pub(super) fn atomic(&mut self, op: BinOp, (buf, at): (Buf, Val), value: Val, before: Option<Val>) {
        self.checked_update(buf, at, |w| {
            let Some(place) = w.place(buf, at, 1) else { return };
            match w.instruction(op, place.elem) {
                Some(name) => {
                    let held = w.by_instruction(name, &place, value);
                    // Only for GPUs, whose code is not checked: so this block dominates all uses.
                    if let Some(v) = before {
                        w.set(v, held);
                    }
                }
                None => w.by_exchange(op, &place, value),
            }
        });
    }

    /// What LLVM calls the instruction, if there is one.
    fn instruction(&self, op: BinOp, ty: ScalarType) -> Option<&'static str> {
        let signed = ty.is_signed();
        if !ty.is_int() || ty.bytes() < 4 {
            return None;
        }
        Some(match op {
            BinOp::Add => "add",
            BinOp::And => "and",
            BinOp::Or => "or",
            BinOp::Xor => "xor",
            BinOp::Min if signed => "min",
            BinOp::Max if signed => "max",
            BinOp::Min => "umin",
            BinOp::Max => "umax",
            _ => return None,
        })
    }

    /// With which other threads an element is shared.
    fn scope(&self, place: &Place) -> &'static str {
        match (self.module.target, place.suffix.as_str()) {
            (Target::Host, _) => "",
            (Target::Nvptx, "p3") => " syncscope(\"block\")",
            (Target::Nvptx, _) => " syncscope(\"device\")",
        }
    }

    /// The element before.
    fn by_instruction(&mut self, name: &str, place: &Place, value: Val) -> String {
        let (ty, value, align) = (types::stored(place.elem), self.name(value), place.elem.bytes());
        let (pointer, scope) = (format!("{} {}", place.pointer_ty, place.pointer), self.scope(place));
        self.op(format!("atomicrmw {name} {pointer}, {ty} {value}{scope} monotonic, align {align}"))
    }

    fn by_exchange(&mut self, op: BinOp, place: &Place, value: Val) {
        let (bytes, scope, pointer_ty) = (place.elem.bytes(), self.scope(place), place.pointer_ty.clone());
        let (word_bytes, element) = (bytes.max(4), types::int(bytes));
        let word = types::int(word_bytes);
        let mut pointer = place.pointer.clone();
        let mut shift = None;
        if bytes < word_bytes {
            let address = self.op(format!("ptrtoint {pointer_ty} {pointer} to i64"));
            let behind = self.op(format!("and i64 {address}, 3"));
            let back = self.op(format!("sub i64 0, {behind}"));
            pointer = self.op(format!("getelementptr i8, {pointer_ty} {pointer}, i64 {back}"));
            let bits = self.op(format!("shl i64 {behind}, 3"));
            shift = Some(self.op(format!("trunc i64 {bits} to {word}")));
        }
        let k = self.unique();
        let first = self.op(format!("load volatile {word}, {pointer_ty} {pointer}, align {word_bytes}"));
        let before = self.label.clone();
        self.line(format!("br label %exchange{k}"));
        self.begin(format!("exchange{k}"));
        // What another thread has stored is the result of the exchange, in the next block.
        let (old, seen) = (format!("%exchange{k}.old"), format!("%exchange{k}.seen"));
        self.line(format!("{old} = phi {word} [ {first}, %{before} ], [ {seen}, %exchange{k}.try ]"));
        let held = match &shift {
            Some(by) => {
                let low = self.op(format!("lshr {word} {old}, {by}"));
                self.op(format!("trunc {word} {low} to {element}"))
            }
            None => old.clone(),
        };
        let new = self.combined(op, place.elem, value, &held);
        let same = self.op(format!("icmp eq {element} {new}, {held}"));
        self.line(format!("br i1 {same}, label %exchange{k}.end, label %exchange{k}.try"));
        self.begin(format!("exchange{k}.try"));
        let stored = match &shift {
            Some(by) => {
                let ones = (1u64 << (8 * bytes)) - 1;
                let hole = self.op(format!("shl {word} {ones}, {by}"));
                let hole = self.op(format!("xor {word} {hole}, -1"));
                let others = self.op(format!("and {word} {old}, {hole}"));
                let new = self.op(format!("zext {element} {new} to {word}"));
                let new = self.op(format!("shl {word} {new}, {by}"));
                self.op(format!("or {word} {others}, {new}"))
            }
            None => new,
        };
        let both = self.op(format!(
            "cmpxchg {pointer_ty} {pointer}, {word} {old}, {word} {stored}{scope} monotonic monotonic, align {word_bytes}"
        ));
        self.line(format!("{seen} = extractvalue {{ {word}, i1 }} {both}, 0"));
        let done = self.op(format!("extractvalue {{ {word}, i1 }} {both}, 1"));
        self.line(format!("br i1 {done}, label %exchange{k}.end, label %exchange{k}"));
        self.begin(format!("exchange{k}.end"));
    }

    /// The bits of a value combined with bits that an element holds. All results that are NaN have the same bits.
    fn combined(&mut self, op: BinOp, ty: ScalarType, value: Val, held: &str) -> String {
        let (scalar, bits, x) = (types::scalar(ty), types::int(ty.bytes()), self.name(value));
        match ty {
            ScalarType::Bool => {
                let y = self.op(format!("trunc i8 {held} to i1"));
                let new = self.int_binary(op, ty.into(), &x, &y);
                self.op(format!("zext i1 {new} to i8"))
            }
            _ if ty.is_float() => {
                let y = self.op(format!("bitcast {bits} {held} to {scalar}"));
                let new = self.float_binary(op, ty.into(), &x, &y);
                let is_nan = self.op(format!("fcmp uno {scalar} {new}, {new}"));
                let nan = Scalar::float(ty, f64::NAN).map_or(x, types::constant);
                let new = self.op(format!("select i1 {is_nan}, {scalar} {nan}, {scalar} {new}"));
                self.op(format!("bitcast {scalar} {new} to {bits}"))
            }
            _ => self.int_binary(op, ty.into(), &x, held),
        }
    }
}
