//! Checked mode: what is out of range does not happen and is recorded, and so are loads of what has not been written.

use super::compiler;
use deckle_ir::array::BinOp;
use deckle_ir::loops::{Access, Buf, Builder, Expr, Gathers, Place, StoreHint, Val};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_llvm::emit::{self, OUT_OF_RANGE, RECORD, UNWRITTEN};
use deckle_llvm::{Code, Pipeline};
use std::sync::Arc;

const LEN: i64 = 10;
/// What every element holds at first, and the memory around them.
const HELD: i32 = 7;

/// One way to access memory: how many elements from an index on, and whether that reads them, writes them or both.
struct Shape {
    name: &'static str,
    width: i64,
    reads: bool,
    writes: bool,
    build: fn(&mut Builder, Buf, Buf, Val),
}

fn vector(b: &mut Builder) -> Val {
    b.constant_lanes(Scalar::I32(5), 4)
}

/// The first two lanes of four.
fn two(b: &mut Builder) -> Val {
    let (lanes, two) = (b.lanes(4), b.constant_lanes(Scalar::I64(2), 4));
    b.lt(lanes, two)
}

/// The second and the fourth lane of four.
fn odd(b: &mut Builder) -> Val {
    let (lanes, one) = (b.lanes(4), b.constant_lanes(Scalar::I64(1), 4));
    let bits = b.and(lanes, one);
    b.let_lanes(Expr::Binary(BinOp::Eq, bits, one), 4)
}

/// Four indices from one on, backwards.
fn backwards(b: &mut Builder, at: Val) -> Val {
    let (lanes, three, first) = (b.lanes(4), b.constant_lanes(Scalar::I64(3), 4), b.splat(at, 4));
    let back = b.sub(three, lanes);
    b.add(first, back)
}

fn keep(b: &mut Builder, out: Buf, value: Val) {
    let zero = b.i64(0);
    b.store(out, zero, value);
}

const SHAPES: &[Shape] = &[
    Shape {
        name: "load",
        width: 1,
        reads: true,
        writes: false,
        build: |b, xs, out, at| {
            let x = b.load(xs, at);
            keep(b, out, x);
        },
    },
    Shape {
        name: "store",
        width: 1,
        reads: false,
        writes: true,
        build: |b, xs, _, at| {
            let x = b.constant(Scalar::I32(5));
            b.store(xs, at, x);
        },
    },
    Shape {
        name: "shared",
        width: 1,
        reads: false,
        writes: true,
        build: |b, xs, _, at| {
            let x = b.constant(Scalar::I32(5));
            b.store_with(xs, at, x, None, StoreHint::Shared);
        },
    },
    Shape {
        name: "atomic",
        width: 1,
        reads: true,
        writes: true,
        build: |b, xs, _, at| {
            let x = b.constant(Scalar::I32(5));
            b.atomic(BinOp::Add, xs, at, x);
        },
    },
    Shape {
        name: "vector_load",
        width: 4,
        reads: true,
        writes: false,
        build: |b, xs, out, at| {
            let x = b.load_lanes(xs, at, 4, None);
            keep(b, out, x);
        },
    },
    Shape {
        name: "vector_store",
        width: 4,
        reads: false,
        writes: true,
        build: |b, xs, _, at| {
            let x = vector(b);
            b.store(xs, at, x);
        },
    },
    Shape {
        name: "masked_load",
        width: 2,
        reads: true,
        writes: false,
        build: |b, xs, out, at| {
            let mask = two(b);
            let x = b.load_lanes(xs, at, 4, Some(mask));
            keep(b, out, x);
        },
    },
    Shape {
        name: "masked_store",
        width: 2,
        reads: false,
        writes: true,
        build: |b, xs, _, at| {
            let (mask, x) = (two(b), vector(b));
            b.store_with(xs, at, x, Some(mask), StoreHint::Cached);
        },
    },
    Shape {
        name: "packed",
        width: 2,
        reads: false,
        writes: true,
        build: |b, xs, _, at| {
            let (mask, x) = (odd(b), vector(b));
            b.store_with(xs, at, x, Some(mask), StoreHint::Packed);
        },
    },
    Shape {
        name: "gather",
        width: 4,
        reads: true,
        writes: false,
        build: |b, xs, out, at| {
            let at = backwards(b, at);
            let x = b.load_lanes(xs, at, 4, None);
            keep(b, out, x);
        },
    },
    Shape {
        name: "scatter",
        width: 4,
        reads: false,
        writes: true,
        build: |b, xs, _, at| {
            let (at, x) = (backwards(b, at), vector(b));
            b.store(xs, at, x);
        },
    },
    Shape {
        name: "shared_scatter",
        width: 4,
        reads: false,
        writes: true,
        build: |b, xs, _, at| {
            let (at, x) = (backwards(b, at), vector(b));
            b.store_with(xs, at, x, None, StoreHint::Shared);
        },
    },
];

fn code(shape: &Shape, gathers: Gathers) -> Arc<Code> {
    let mut b = Builder::new(shape.name);
    let (xs, out) = (b.buffer(ScalarType::I32, Access::Write), b.buffer(ScalarType::I32, Access::Write));
    let at = b.scalar(ScalarType::I64);
    (shape.build)(&mut b, xs, out, at);
    let text = emit::checked(&[b.finish().unwrap()], gathers);
    compiler().load(&text, Pipeline::O1).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Runs a function on ten elements, of which all or none have been written. Gives the elements, their shadows and the record.
fn run(code: &Code, name: &str, at: i64, written: bool) -> (Vec<i32>, Vec<u8>, [u64; RECORD]) {
    let mut memory = [HELD; 30];
    let mut shadow = [if written { 0 } else { 0xff_u8 }; 40];
    let (mut out, mut out_shadow) = ([0i32; 4], [0u8; 16]);
    let mut record = [0u64; RECORD];
    let xs = memory.as_mut_ptr().wrapping_add(10).cast::<u8>();
    let length = |bytes: usize| std::ptr::without_provenance_mut::<u8>(bytes);
    let words = [xs, out.as_mut_ptr().cast(), length(40), length(16), shadow.as_mut_ptr(), out_shadow.as_mut_ptr()];
    let entry = code.symbol(name).unwrap();
    // SAFETY: the type is that of every emitted function; there are two buffers, with their lengths and shadows.
    unsafe {
        let entry: extern "C" fn(*const *mut u8, *const u64, *mut u64) = std::mem::transmute(entry);
        entry(words.as_ptr(), [at as u64].as_ptr(), record.as_mut_ptr());
    }
    assert!(memory[..10].iter().chain(&memory[20..]).all(|x| *x == HELD), "{name} at {at}: {memory:?}");
    (memory[10..20].to_vec(), shadow.to_vec(), record)
}

fn name_of(words: &[u64]) -> String {
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).filter(|b| *b != 0).collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn an_access_out_of_range_is_recorded_and_does_not_happen() {
    for shape in SHAPES {
        for gathers in [Gathers::Native, Gathers::Emulated] {
            let code = code(shape, gathers);
            let last = LEN - shape.width;
            for at in [-1, 0, 1, last, last + 1, LEN, LEN + 1, i64::MIN, i64::MAX, -shape.width, i64::from(u32::MAX)] {
                let (elements, _, record) = run(&code, shape.name, at, true);
                let fits = (0..=last).contains(&at);
                let what = format!("{} at {at}, {gathers:?}: {record:?}", shape.name);
                assert_eq!(record[OUT_OF_RANGE] == 0, fits, "{what}");
                assert_eq!((record[0], record[UNWRITTEN]), (0, 0), "{what}");
                let changed = elements.iter().filter(|x| **x != HELD).count() as i64;
                assert_eq!(changed, if fits && shape.writes { shape.width } else { 0 }, "{what}");
                if !fits {
                    let index = if (0..LEN).contains(&at) { LEN } else { at };
                    assert_eq!(record[OUT_OF_RANGE + 1..][..3], [0, index as u64, LEN as u64], "{what}");
                    assert_eq!(name_of(&record[OUT_OF_RANGE + 4..UNWRITTEN]), shape.name);
                }
            }
        }
    }
}

#[test]
fn a_load_of_what_has_not_been_written_is_recorded_and_a_store_writes() {
    for shape in SHAPES {
        let code = code(shape, Gathers::Native);
        let at = 3;
        let (_, shadow, record) = run(&code, shape.name, at, false);
        assert_eq!(record[UNWRITTEN] != 0, shape.reads, "{}", shape.name);
        assert_eq!(record[OUT_OF_RANGE], 0, "{}", shape.name);
        if shape.reads {
            assert_eq!(record[UNWRITTEN + 1..][..3], [0, at as u64, LEN as u64], "{}", shape.name);
        }
        let marked: Vec<usize> = (0..shadow.len()).filter(|k| shadow[*k] == 0).collect();
        let stored = if shape.writes && !shape.reads { 4 * shape.width } else { 0 };
        let want: Vec<usize> = (12..12 + stored as usize).collect();
        assert_eq!(marked, want, "{}", shape.name);
    }
}

/// Stores to an element of a local buffer of six and loads another, at two indices.
#[test]
fn local_buffers_are_checked_too() {
    let mut b = Builder::new("local");
    let (_, out) = (b.buffer(ScalarType::I32, Access::Write), b.buffer(ScalarType::I32, Access::Write));
    let at = b.scalar(ScalarType::I64);
    let local = b.local(ScalarType::F64, 6, Place::Private);
    let (one, value) = (b.i64(1), b.f64(2.5));
    b.store(local, one, value);
    let x = b.load(local, at);
    let x = b.cast(ScalarType::I32, x);
    keep(&mut b, out, x);
    let text = emit::checked(&[b.finish().unwrap()], Gathers::Native);
    let compiler = compiler();
    let code = compiler.load(&text, Pipeline::O1).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let found = |at: i64| {
        let (_, _, record) = run(&code, "local", at, true);
        (record[OUT_OF_RANGE], record[UNWRITTEN], record[OUT_OF_RANGE + 1], record[UNWRITTEN + 1])
    };
    assert_eq!(found(1), (0, 0, 0, 0));
    assert_eq!(found(2), (0, 1, 0, 2));
    assert_eq!(found(6), (1, 0, 2, 0));
    assert_eq!(found(-1), (1, 0, 2, 0));
}

#[test]
fn without_checked_mode_nothing_is_checked() {
    let mut b = Builder::new("plain");
    let (xs, out) = (b.buffer(ScalarType::I32, Access::Write), b.buffer(ScalarType::I32, Access::Write));
    let at = b.scalar(ScalarType::I64);
    (SHAPES[0].build)(&mut b, xs, out, at);
    let text = emit::host(&[b.finish().unwrap()], Gathers::Native);
    assert!(!text.contains("deckle.report"), "{text}");
    assert!(!text.contains("shadow") && !text.contains(".len"), "{text}");
}
