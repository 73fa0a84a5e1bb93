//! The linker on valid objects, on damaged ones, and compared with LLVM's own.

#![allow(unsafe_code)]

use crate::code::{Code, Linker};
use crate::compile::{self, Pipeline};
use crate::library;
use crate::object::Object;

/// Constants, a table of pointers, variables, internal and external calls: every relocation that LLVM writes for such code.
const ALL_SORTS: &str = "
@counter = global i64 10
@zeroes = internal global [100 x i64] zeroinitializer
@table = constant [3 x ptr] [ptr @one, ptr @two, ptr @memcpy]
@environ = external global ptr
declare ptr @memcpy(ptr, ptr, i64)
declare double @fmod(double, double)
declare double @llvm.sqrt.f64(double)
define i64 @one() noinline { ret i64 1 }
define i64 @two() noinline { ret i64 2 }
define i64 @pick(i64 %i) {
  %p = getelementptr ptr, ptr @table, i64 %i
  %f = load ptr, ptr %p
  %v = call i64 %f()
  %old = load volatile i64, ptr @counter
  %new = add i64 %old, %v
  store volatile i64 %new, ptr @counter
  %q = getelementptr i64, ptr @zeroes, i64 %i
  store volatile i64 %new, ptr %q
  ret i64 %new
}
define double @rest(double %a) {
  %r = call double @fmod(double %a, double 2.5)
  %s = fadd double %r, 1.25
  %t = fmul double %s, 3.5
  ret double %t
}
define ptr @variables() {
  %e = load ptr, ptr @environ
  ret ptr %e
}
define i64 @switch(i64 %i) {
  switch i64 %i, label %other [ i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e ]
a: %v = call i64 @one() ret i64 %v
b: %w = call i64 @two() ret i64 %w
c: ret i64 77
d: %x = call i64 @pick(i64 1) ret i64 %x
e: ret i64 -5
other: ret i64 0
}
";

fn object(ir: &str) -> Option<Object> {
    library::expected().map_err(|e| eprintln!("skipped: {e}")).ok()?;
    Some(compile::object(ir, &Pipeline::O2).unwrap_or_else(|e| panic!("{e}")))
}

/// Calls everything in [`ALL_SORTS`].
fn exercise(code: &Code) {
    let symbol = |name: &str| code.symbol(name).unwrap_or_else(|| panic!("{name}")).as_ptr();
    // SAFETY: these are the types in the IR.
    unsafe {
        let pick: extern "C" fn(i64) -> i64 = std::mem::transmute(symbol("pick"));
        assert_eq!((pick(0), pick(1)), (11, 13));
        let rest: extern "C" fn(f64) -> f64 = std::mem::transmute(symbol("rest"));
        assert_eq!(rest(6.0), 2.25 * 3.5);
        let variables: extern "C" fn() -> *const u8 = std::mem::transmute(symbol("variables"));
        assert!(!variables().is_null());
        let switch: extern "C" fn(i64) -> i64 = std::mem::transmute(symbol("switch"));
        assert_eq!([0, 1, 2, 3, 4, 5].map(|i| switch(i)), [1, 2, 77, 15, -5, 0]);
    }
}

#[test]
fn both_linkers_make_code_that_does_the_same() {
    let Some(object) = object(ALL_SORTS) else { return };
    let own = Code::link_own(&object).unwrap();
    exercise(&own);
    let orc = Code::link_orc(&object).unwrap();
    exercise(&orc);
    assert_eq!((own.linker(), orc.linker()), (Linker::Own, Linker::Orc));
}

#[test]
fn each_link_has_data_of_its_own() {
    let Some(object) = object(ALL_SORTS) else { return };
    exercise(&Code::link_own(&object).unwrap());
    exercise(&Code::link_own(&object).unwrap());
}

#[test]
fn orc_uses_a_dylib_again() {
    let Some(object) = object("define i64 @f() { ret i64 7 }") else { return };
    for _ in 0..20 {
        let code = Code::link_orc(&object).unwrap();
        // SAFETY: this is the type in the IR.
        let f: extern "C" fn() -> i64 = unsafe { std::mem::transmute(code.symbol("f").unwrap()) };
        assert_eq!(f(), 7);
    }
}

#[test]
fn pages_are_never_writable_and_executable() {
    let Some(object) = object(ALL_SORTS) else { return };
    let code = Code::link_own(&object).unwrap();
    let address = code.symbol("pick").unwrap().as_ptr() as usize;
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let holds = |line: &&str| {
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let number = |hex| usize::from_str_radix(hex, 16).unwrap();
        (number(start)..number(end)).contains(&address)
    };
    let line = maps.lines().find(holds).unwrap();
    assert!(line.contains(" r-xp "), "{line}");
}

#[test]
fn what_it_does_not_know_is_left_to_orc() {
    let thread_local = "@x = thread_local global i64 3\ndefine i64 @f() { %v = load i64, ptr @x ret i64 %v }";
    let constructor = "
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @f, ptr null }]
@ran = global i64 0
define void @f() { store volatile i64 1, ptr @ran ret void }";
    for ir in [thread_local, constructor] {
        let Some(object) = object(ir) else { return };
        assert!(Code::link_own(&object).is_err(), "{ir}");
    }
}

/// Damaged objects are rejected or linked, without any access out of bounds: every byte of the tables is changed once. The code is not called.
#[test]
fn damaged_objects_do_no_harm() {
    let Some(object) = object(ALL_SORTS) else { return };
    let mut refused = 0;
    for at in 0..object.bytes.len() {
        for flip in [0x01, 0x80, 0xff] {
            let mut bytes = object.bytes.clone();
            bytes[at] ^= flip;
            refused += usize::from(super::link(&bytes).is_err());
        }
    }
    assert!(refused > 100, "{refused}");
    for end in 0..object.bytes.len() {
        assert!(super::link(&object.bytes[..end]).is_err(), "cut at {end}");
    }
}

#[test]
fn other_files_are_refused() {
    for bytes in [&b""[..], b"\x7fELF", &[0; 64], &std::fs::read("/proc/self/exe").unwrap()] {
        assert!(super::link(bytes).is_err());
    }
}
