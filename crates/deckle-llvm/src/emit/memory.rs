//! Loads and stores.
//!
//! Contiguous lanes are one access of a vector; lanes with an index each are gathered and scattered. Elements are aligned, vectors as their
//! elements are, except that streaming stores of several lanes are to aligned places.

use super::function::Writer;
use super::module::Target;
use super::types;
use deckle_ir::loops::Gathers;
use deckle_ir::loops::{Buf, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};

/// How many bytes the smallest elements have that processors gather.
const WORD: usize = 4;

/// A place, and how it is accessed.
pub(super) struct Place {
    pub elem: ScalarType,
    /// One pointer, or a vector of them.
    pub pointer: String,
    pub pointer_ty: String,
    /// How the pointer is called in the name of an intrinsic.
    pub suffix: String,
    gathered: bool,
    passed: bool,
}

impl Writer<'_> {
    pub(super) fn place(&mut self, buf: Buf, at: Val, lanes: u16) -> Option<Place> {
        let b = self.buffer(buf)?;
        let (elem, pointer_ty, base, passed) = (b.elem, b.pointer, b.name.clone(), b.passed);
        let gathered = lanes > 1 && self.ty(at).lanes > 1;
        let (stored, index) = (types::stored(elem), self.typed(at));
        let pointer = self.op(format!("getelementptr inbounds {stored}, {pointer_ty} {base}, {index}"));
        let space = match pointer_ty {
            "ptr" => "p0",
            "ptr addrspace(1)" => "p1",
            _ => "p3",
        };
        Some(if gathered {
            let suffix = format!("v{lanes}{space}");
            Place { elem, pointer, pointer_ty: types::many(pointer_ty, lanes), suffix, gathered, passed }
        } else {
            let pointer_ty = pointer_ty.to_string();
            Place { elem, pointer, pointer_ty, suffix: space.to_string(), gathered, passed }
        })
    }

    /// How many elements a buffer begins behind a multiple of 64 bytes.
    pub(super) fn unaligned(&mut self, buf: Buf) -> String {
        let Some(b) = self.buffer(buf) else { return "0".into() };
        let (pointer, name, shift) = (b.pointer, b.name.clone(), b.elem.bytes().ilog2());
        let address = self.op(format!("ptrtoint {pointer} {name} to i64"));
        let behind = self.op(format!("and i64 {address}, 63"));
        self.op(format!("lshr i64 {behind}, {shift}"))
    }

    /// That an access is in independent loops, if it is. What is in local buffers belongs to no round.
    fn access(&mut self, place: &Place) -> String {
        match self.groups.as_slice() {
            _ if !place.passed => String::new(),
            [] => String::new(),
            [one] => format!(", !llvm.access.group !{one}"),
            several => {
                let list: Vec<String> = several.iter().map(|g| format!("!{g}")).collect();
                let node = self.module.node(|_| format!("!{{{}}}", list.join(", ")));
                format!(", !llvm.access.group !{node}")
            }
        }
    }

    /// A mask as a vector, also of one lane; all lanes, if there is none.
    fn mask(&mut self, mask: Option<Val>, lanes: u16) -> String {
        format!("<{lanes} x i1> {}", self.mask_name(mask, lanes))
    }

    /// The same without its type.
    pub(super) fn mask_name(&mut self, mask: Option<Val>, lanes: u16) -> String {
        match mask {
            None => vector(&types::repeated("i1", "true", lanes), "i1", lanes),
            Some(m) if lanes == 1 => self.op(format!("insertelement <1 x i1> poison, i1 {}, i64 0", self.name(m))),
            Some(m) => self.name(m),
        }
    }

    pub(super) fn load(&mut self, buf: Buf, at: Val, mask: Option<Val>, lanes: u16) -> String {
        let mask = mask.filter(|m| self.constant(*m) != Some(Scalar::Bool(true)));
        self.checked_load((buf, at, mask, lanes), |w| w.plain_load(buf, at, mask, lanes))
    }

    fn plain_load(&mut self, buf: Buf, at: Val, mask: Option<Val>, lanes: u16) -> String {
        let Some(place) = self.place(buf, at, lanes) else { return "poison".to_string() };
        let (stored, align) = (types::stored(place.elem), place.elem.bytes());
        let ty = types::many(stored, lanes);
        let access = self.access(&place);
        let pointer = format!("{} {}", place.pointer_ty, place.pointer);
        let gathers = self.module.gathers;
        let raw = if place.gathered && self.module.target == Target::Host && gathers != Gathers::Native {
            self.gather_one_by_one(&place, buf, at, mask, lanes)
        } else if place.gathered && place.passed && self.module.target == Target::Host && align < WORD {
            self.gather_words(&place, mask, lanes)
        } else if mask.is_none() && !place.gathered {
            self.op(format!("load {ty}, {pointer}, align {align}{access}"))
        } else {
            let vector = format!("<{lanes} x {stored}>");
            let kind = if place.gathered { "gather" } else { "load" };
            let name = format!("llvm.masked.{kind}.v{lanes}{}.{}", types::suffix(stored, 1), place.suffix);
            let mask_ty = format!("<{lanes} x i1>");
            self.module.declare(format!("{vector} @{name}({}, i32, {mask_ty}, {vector})", place.pointer_ty));
            let mask = self.mask(mask, lanes);
            let call =
                format!("call {vector} @{name}({pointer}, i32 {align}, {mask}, {vector} zeroinitializer){access}");
            let all = self.op(call);
            if lanes == 1 { self.op(format!("extractelement {vector} {all}, i64 0")) } else { all }
        };
        if place.elem == ScalarType::Bool {
            return self.op(format!("trunc {ty} {raw} to {}", types::many("i1", lanes)));
        }
        raw
    }

    /// A gather of elements that are smaller than what processors gather, which LLVM would do with a jump for each lane: a word is loaded from
    /// where each element begins, and the rest of it is cut off. Past the last element lies padding, which can be read.
    fn gather_words(&mut self, place: &Place, mask: Option<Val>, lanes: u16) -> String {
        let (pointer_ty, pointer, align) = (&place.pointer_ty, &place.pointer, place.elem.bytes());
        let (words, masks) = (types::many("i32", lanes), types::many("i1", lanes));
        let access = self.access(place);
        let name = format!("llvm.masked.gather.v{lanes}i32.{}", place.suffix);
        self.module.declare(format!("{words} @{name}({pointer_ty}, i32, {masks}, {words})"));
        let operands =
            format!("{pointer_ty} {pointer}, i32 {align}, {}, {words} zeroinitializer", self.mask(mask, lanes));
        let all = self.op(format!("call {words} @{name}({operands}){access}"));
        self.op(format!("trunc {words} {all} to {}", types::many(types::stored(place.elem), lanes)))
    }

    /// A gather as so many loads. Lanes that the mask leaves out load the first element, which every buffer has; where it leaves out the
    /// second half of the lanes, as at the end of a short row, that is jumped over.
    fn gather_one_by_one(&mut self, place: &Place, buf: Buf, at: Val, mask: Option<Val>, lanes: u16) -> String {
        let Some(b) = self.buffer(buf) else { return "poison".to_string() };
        let (stored, align) = (types::stored(place.elem), place.elem.bytes());
        let (pointer_ty, base) = (b.pointer, b.name.clone());
        let (vector, indices, masks) =
            (types::many(stored, lanes), types::many("i64", lanes), types::many("i1", lanes));
        let access = self.access(place);
        let mut index = self.name(at);
        let load = |w: &mut Self, index: &str, mut all: String, from: std::ops::Range<u16>| {
            for k in from {
                let i = w.op(format!("extractelement {indices} {index}, i64 {k}"));
                let p = w.op(format!("getelementptr inbounds {stored}, {pointer_ty} {base}, i64 {i}"));
                let x = w.op(format!("load {stored}, {pointer_ty} {p}, align {align}{access}"));
                all = w.op(format!("insertelement {vector} {all}, {stored} {x}, i64 {k}"));
            }
            all
        };
        let Some(m) = mask else { return load(self, &index, "poison".to_string(), 0..lanes) };
        let m = self.name(m);
        index = self.op(format!("select {masks} {m}, {indices} {index}, {indices} zeroinitializer"));
        let half = if (8..=16).contains(&lanes) { lanes / 2 } else { lanes };
        let mut all = load(self, &index, "zeroinitializer".to_string(), 0..half);
        if half < lanes {
            let picked: Vec<String> = (half..lanes).map(|l| format!("i32 {l}")).collect();
            let picked = format!("<{half} x i32> <{}>", picked.join(", "));
            let upper = self.op(format!("shufflevector {masks} {m}, {masks} poison, {picked}"));
            let any = self.any(&upper, half);
            let (k, before) = (self.unique(), self.label.clone());
            self.line(format!("br i1 {any}, label %upper{k}, label %upper{k}.end"));
            self.begin(format!("upper{k}"));
            let more = load(self, &index, all.clone(), half..lanes);
            self.line(format!("br label %upper{k}.end"));
            self.begin(format!("upper{k}.end"));
            all = self.op(format!("phi {vector} [ {all}, %{before} ], [ {more}, %upper{k} ]"));
        }
        self.op(format!("select {masks} {m}, {vector} {all}, {vector} zeroinitializer"))
    }

    pub(super) fn store(&mut self, buf: Buf, at: Val, value: Val, mask: Option<Val>, hint: StoreHint) {
        let mask = mask.filter(|m| self.constant(*m) != Some(Scalar::Bool(true)));
        let lanes = self.ty(value).lanes;
        self.checked_store((buf, at, mask, lanes), hint, |w| w.plain_store(buf, at, value, mask, hint));
    }

    fn plain_store(&mut self, buf: Buf, at: Val, value: Val, mask: Option<Val>, hint: StoreHint) {
        let lanes = self.ty(value).lanes;
        let Some(place) = self.place(buf, at, lanes) else { return };
        let (stored, align) = (types::stored(place.elem), place.elem.bytes());
        let ty = types::many(stored, lanes);
        let mut name = self.name(value);
        if place.elem == ScalarType::Bool {
            name = self.op(format!("zext {} {name} to {ty}", types::many("i1", lanes)));
        }
        let access = self.access(&place);
        let pointer = format!("{} {}", place.pointer_ty, place.pointer);
        if hint == StoreHint::Shared && self.module.target == Target::Host {
            self.store_each(&place, &name, mask, lanes);
            return;
        }
        if mask.is_none() && !place.gathered && hint != StoreHint::Packed {
            // A loop with a streaming store of one lane would not be vectorised.
            let streaming = hint == StoreHint::Streaming && lanes > 1 && self.module.target == Target::Host;
            let (align, how) = if streaming {
                let one = self.module.node(|_| "!{i32 1}".to_string());
                ((align * usize::from(lanes)).min(64), format!(", !nontemporal !{one}"))
            } else {
                (align, String::new())
            };
            self.line(format!("store {ty} {name}, {pointer}, align {align}{how}{access}"));
            return;
        }
        let vector_ty = format!("<{lanes} x {stored}>");
        if lanes == 1 {
            name = self.op(format!("insertelement {vector_ty} poison, {stored} {name}, i64 0"));
        }
        if hint == StoreHint::Packed {
            let callee = format!("llvm.masked.compressstore.v{lanes}{}", types::suffix(stored, 1));
            self.module.declare(format!("void @{callee}({vector_ty}, {}, <{lanes} x i1>)", place.pointer_ty));
            let mask = self.mask(mask, lanes);
            self.line(format!("call void @{callee}({vector_ty} {name}, {pointer}, {mask}){access}"));
            return;
        }
        let kind = if place.gathered { "scatter" } else { "store" };
        let callee = format!("llvm.masked.{kind}.v{lanes}{}.{}", types::suffix(stored, 1), place.suffix);
        self.module.declare(format!("void @{callee}({vector_ty}, {}, i32, <{lanes} x i1>)", place.pointer_ty));
        let mask = self.mask(mask, lanes);
        self.line(format!("call void @{callee}({vector_ty} {name}, {pointer}, i32 {align}, {mask}){access}"));
    }

    /// Stores each lane by itself and indivisibly, since other threads may store there meanwhile.
    fn store_each(&mut self, place: &Place, value: &str, mask: Option<Val>, lanes: u16) {
        let (stored, align) = (types::stored(place.elem), place.elem.bytes());
        let access = self.access(place);
        let (values, masks) = (types::many(stored, lanes), types::many("i1", lanes));
        let mask = mask.map(|m| self.name(m));
        for k in 0..lanes {
            let lane = |w: &mut Self, vector: &str, name: &str| match lanes {
                1 => name.to_string(),
                _ => w.op(format!("extractelement {vector} {name}, i64 {k}")),
            };
            let skip = mask.as_ref().map(|m| {
                let (stores, n) = (lane(self, &masks, m), self.unique());
                self.line(format!("br i1 {stores}, label %lane{n}, label %lane{n}.end"));
                self.begin(format!("lane{n}"));
                n
            });
            let x = lane(self, &values, value);
            let pointer = if place.gathered {
                self.op(format!("extractelement {} {}, i64 {k}", place.pointer_ty, place.pointer))
            } else {
                self.op(format!("getelementptr inbounds {stored}, ptr {}, i64 {k}", place.pointer))
            };
            self.line(format!("store atomic {stored} {x}, ptr {pointer} monotonic, align {align}{access}"));
            if let Some(n) = skip {
                self.line(format!("br label %lane{n}.end"));
                self.begin(format!("lane{n}.end"));
            }
        }
    }
}

/// A constant of several lanes, or of one in a vector.
fn vector(repeated: &str, element: &str, lanes: u16) -> String {
    if lanes == 1 { format!("<{element} {repeated}>") } else { repeated.to_string() }
}
