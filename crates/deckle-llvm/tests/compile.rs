//! Text to code, from outside: what can be compiled and called, what is refused and how.

#![allow(unsafe_code)]

mod needed;

use deckle_llvm::{Code, Compiler, Error, Gpu, Pipeline, Stage};
use std::sync::Arc;

/// A compiler without a disk.
fn compiler() -> Compiler {
    needed::compiler(None)
}

fn load(ir: &str) -> Arc<Code> {
    compiler().load(ir, Pipeline::O3).unwrap_or_else(|e| panic!("{e}"))
}

/// A function of the code as a function pointer.
macro_rules! function {
    ($code:expr, $name:literal, $ty:ty) => {{
        let address = $code.symbol($name).expect($name);
        // SAFETY: the type is that of the function in the IR, and the code outlives the use.
        unsafe { std::mem::transmute::<std::ptr::NonNull<std::ffi::c_void>, $ty>(address) }
    }};
}

const SAXPY: &str = "
define void @saxpy(i64 %n, float %a, ptr noalias %x, ptr noalias %y) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr inbounds float, ptr %x, i64 %i
  %py = getelementptr inbounds float, ptr %y, i64 %i
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %ax = fmul contract float %a, %vx
  %sum = fadd contract float %ax, %vy
  store float %sum, ptr %py
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
";

#[test]
fn adds() {
    let code = load("define i64 @add(i64 %a, i64 %b) {\n  %c = add i64 %a, %b\n  ret i64 %c\n}");
    assert_eq!(function!(code, "add", extern "C" fn(i64, i64) -> i64)(2, 40), 42);
    assert_eq!(code.symbol("sub"), None);
    assert_eq!(code.symbols().collect::<Vec<_>>(), ["add"]);
}

#[test]
fn loops_become_vectors() {
    let code = load(SAXPY);
    let saxpy = function!(code, "saxpy", unsafe extern "C" fn(i64, f32, *const f32, *mut f32));
    let x: Vec<f32> = (0..1003).map(|i| i as f32).collect();
    let mut y = vec![1.0f32; 1003];
    // SAFETY: both arrays have the length that is passed.
    unsafe { saxpy(1003, 2.0, x.as_ptr(), y.as_mut_ptr()) };
    assert!(y.iter().enumerate().all(|(i, &v)| v == 2.0 * i as f32 + 1.0));
    let ir = compiler().optimised_ir(SAXPY, Pipeline::O3).unwrap();
    assert!(ir.contains(" x float>"), "{ir}");
    if cfg!(target_arch = "x86_64") && std::env::var_os("DECKLE_LLVM").is_none() {
        let assembly = compiler().assembly(SAXPY, Pipeline::O3).unwrap();
        assert!(assembly.contains("saxpy:") && assembly.contains("vfmadd") || !is_avx2(), "{assembly}");
    }
}

#[cfg(target_arch = "x86_64")]
fn is_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
fn is_avx2() -> bool {
    false
}

#[test]
fn vectors_masks_and_intrinsics() {
    let code = load(
        "
define void @norm(ptr %out, ptr %x, i32 %n) {
  %count = insertelement <8 x i32> poison, i32 %n, i64 0
  %all = shufflevector <8 x i32> %count, <8 x i32> poison, <8 x i32> zeroinitializer
  %mask = icmp slt <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %all
  %v = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %x, i32 4, <8 x i1> %mask, <8 x float> zeroinitializer)
  %sq = call <8 x float> @llvm.fma.v8f32(<8 x float> %v, <8 x float> %v, <8 x float> zeroinitializer)
  %root = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %sq)
  %sum = call reassoc float @llvm.vector.reduce.fadd.v8f32(float 0.0, <8 x float> %root)
  store float %sum, ptr %out
  ret void
}
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, i32, <8 x i1>, <8 x float>)
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>)
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)
",
    );
    let norm = function!(code, "norm", unsafe extern "C" fn(*mut f32, *const f32, i32));
    // Only the first three are read.
    let (mut sum, x) = (0.0, [1.0f32, -2.0, 3.0]);
    // SAFETY: the mask keeps the load within the array.
    unsafe { norm(&mut sum, x.as_ptr(), 3) };
    assert_eq!(sum, 6.0);
}

#[test]
fn the_c_library_is_found() {
    let code = load(
        "
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define void @fill(ptr %p, i8 %b, i64 %n) {
  call void @llvm.memset.p0.i64(ptr %p, i8 %b, i64 %n, i1 false)
  ret void
}
define void @copy(ptr %p, ptr %q, i64 %n) {
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)
  ret void
}
define double @rem(double %a, double %b) {
  %r = frem double %a, %b
  ret double %r
}
define i64 @wide(i64 %a, i64 %b, i64 %c) {
  %x = zext i64 %a to i128
  %y = zext i64 %b to i128
  %p = mul i128 %x, %y
  %z = zext i64 %c to i128
  %q = udiv i128 %p, %z
  %r = trunc i128 %q to i64
  ret i64 %r
}
",
    );
    let mut bytes = [0u8; 100];
    let copy = function!(code, "copy", unsafe extern "C" fn(*mut u8, *const u8, i64));
    let fill = function!(code, "fill", unsafe extern "C" fn(*mut u8, u8, i64));
    // SAFETY: both arrays hold at least as many bytes as are written and read.
    unsafe {
        fill(bytes.as_mut_ptr(), 7, 90);
        copy(bytes.as_mut_ptr().add(90), [9u8; 10].as_ptr(), 10);
    }
    assert_eq!((bytes[89], bytes[90], bytes[99]), (7, 9, 9));
    assert_eq!(function!(code, "rem", extern "C" fn(f64, f64) -> f64)(7.5, 2.0), 1.5);
    assert_eq!(function!(code, "wide", extern "C" fn(u64, u64, u64) -> u64)(1 << 40, 1 << 40, 1 << 60), 1 << 20);
}

#[test]
fn constants_tables_and_variables() {
    let code = load(
        "
@counter = internal global i64 10
@zeroes = internal global [100 x i64] zeroinitializer
@names = internal constant [3 x ptr] [ptr @one, ptr @two, ptr @three]
define i64 @one() noinline { ret i64 1 }
define i64 @two() noinline { ret i64 2 }
define i64 @three() noinline { ret i64 3 }
define i64 @pick(i64 %i) {
  %p = getelementptr ptr, ptr @names, i64 %i
  %f = load ptr, ptr %p
  %v = call i64 %f()
  %old = load volatile i64, ptr @counter
  %new = add i64 %old, %v
  store volatile i64 %new, ptr @counter
  %q = getelementptr i64, ptr @zeroes, i64 %i
  store volatile i64 %new, ptr %q
  ret i64 %new
}
define i64 @switch(i64 %i) {
  switch i64 %i, label %other [ i64 0, label %a i64 1, label %b i64 2, label %c i64 3, label %d i64 4, label %e ]
a: %v = call i64 @one() ret i64 %v
b: %w = call i64 @two() ret i64 %w
c: ret i64 77
d: %x = call i64 @three() ret i64 %x
e: ret i64 -5
other: ret i64 0
}
",
    );
    let pick = function!(code, "pick", extern "C" fn(i64) -> i64);
    assert_eq!((pick(0), pick(2), pick(1)), (11, 14, 16));
    let switch = function!(code, "switch", extern "C" fn(i64) -> i64);
    assert_eq!([0, 1, 2, 3, 4, 5].map(|i| switch(i)), [1, 2, 77, 3, -5, 0]);
}

fn refusal(ir: &str, pipeline: Pipeline) -> deckle_llvm::Refusal {
    match compiler().load(ir, pipeline) {
        Err(Error::Refused(refusal)) => *refusal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_parse_error_has_llvms_message_the_line_and_the_text() {
    let ir = "define i64 @f() {\n  ret i64 %nothing\n}\n";
    let e = refusal(ir, Pipeline::O3);
    assert_eq!((e.stage, &*e.ir), (Stage::Parse, ir));
    assert!(e.message.contains("2:11") && e.message.contains("use of undefined value '%nothing'"), "{}", e.message);
}

#[test]
fn a_broken_rule_is_refused_by_the_verifier() {
    let ir = "define void @f() {\n  br label %a\na:\n  br label %b\nb:\n  %y = add i64 %x, 1\n  br label %a2\na2:\n  %x = add i64 %y, 1\n  ret void\n}";
    let e = refusal(ir, Pipeline::O3);
    assert!(e.message.contains("does not dominate"), "{:?} {}", e.stage, e.message);
}

#[test]
fn an_unknown_pass_is_refused() {
    let e = refusal("define void @f() { ret void }", Pipeline::new("no-such-pass"));
    assert_eq!(e.stage, Stage::Optimise);
    assert!(e.message.contains("no-such-pass"), "{}", e.message);
}

#[test]
fn an_unknown_function_is_refused_by_the_linker() {
    let ir = "declare void @deckle_has_no_such_function()\ndefine void @f() {\n  call void @deckle_has_no_such_function()\n  ret void\n}";
    let e = refusal(ir, Pipeline::O3);
    assert_eq!(e.stage, Stage::Link);
    assert!(e.message.contains("deckle_has_no_such_function"), "{}", e.message);
}

#[test]
fn what_llvm_would_end_the_process_for_is_an_error() {
    let compiler = compiler();
    let ir = "
declare i32 @llvm.x86.sse42.crc32.32.32(i32, i32)
define ptx_kernel void @f(ptr addrspace(1) %p) {
  %v = call i32 @llvm.x86.sse42.crc32.32.32(i32 1, i32 2)
  store i32 %v, ptr addrspace(1) %p
  ret void
}";
    let gpu = Gpu::new(8, 0);
    match compiler.ptx(ir, &gpu, Pipeline::O3) {
        Err(Error::Refused(e)) if e.stage == Stage::Target => eprintln!("skipped: {e}"),
        Err(Error::Refused(e)) => assert!(e.message.to_lowercase().contains("cannot select"), "{e}"),
        other => panic!("{other:?}"),
    }
    // And the compiler still works.
    assert!(compiler.load("define void @g() { ret void }", Pipeline::O3).is_ok());
}

#[test]
fn a_kernel_becomes_ptx() {
    let compiler = compiler();
    let ir = "
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define ptx_kernel void @double(ptr addrspace(1) %xs) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %xs, i32 %i
  %x = load float, ptr addrspace(1) %p
  %y = fadd float %x, %x
  store float %y, ptr addrspace(1) %p
  ret void
}";
    for gpu in [Gpu::new(8, 0), Gpu { cpu: "sm_90".into(), features: "+ptx80".into() }] {
        match compiler.ptx(ir, &gpu, Pipeline::O3) {
            Err(Error::Refused(e)) if e.stage == Stage::Target => return eprintln!("skipped: {e}"),
            Err(e) => panic!("{e}"),
            Ok(ptx) => {
                for part in [".entry double", ".target sm_", "ld.global", "st.global"] {
                    assert!(ptx.contains(part), "{part:?} is missing in\n{ptx}");
                }
            }
        }
    }
}

#[test]
fn eight_threads_compile_at_once() {
    let compiler = compiler();
    std::thread::scope(|scope| {
        for t in 0..8i64 {
            let compiler = &compiler;
            scope.spawn(move || {
                for k in 0..4 {
                    let ir = format!("{SAXPY}\ndefine i64 @number() {{ ret i64 {} }}", t * 100 + k);
                    let code = compiler.load(&ir, Pipeline::O3).unwrap();
                    assert_eq!(function!(code, "number", extern "C" fn() -> i64)(), t * 100 + k);
                }
            });
        }
    });
}

#[test]
fn threads_that_want_the_same_code_compile_it_once() {
    let compiler = compiler();
    let load = || compiler.load_timed(SAXPY, Pipeline::O2).unwrap();
    let loaded: Vec<_> = std::thread::scope(|s| {
        (0..8).map(|_| s.spawn(load)).collect::<Vec<_>>().into_iter().map(|t| t.join().unwrap()).collect()
    });
    assert_eq!(loaded.iter().filter(|l| l.from == deckle_llvm::Origin::Compiled).count(), 1);
    assert!(loaded.iter().all(|l| Arc::ptr_eq(&l.code, &loaded[0].code)));
}

/// How many executable mappings without a file the process has.
#[cfg(target_os = "linux")]
fn executable_mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines().filter(|l| l.contains(" r-xp ") && !l.contains('/') && !l.contains('[')).count()
}

#[cfg(target_os = "linux")]
#[test]
fn dropping_code_frees_its_memory() {
    let compiler = compiler();
    let make = |i: i32| compiler.load(&format!("define i32 @f() {{ ret i32 {i} }}"), Pipeline::O0).unwrap();
    let held: Vec<_> = (0..50).map(make).collect();
    let many = executable_mappings();
    compiler.forget();
    assert_eq!(function!(held[7], "f", extern "C" fn() -> i32)(), 7);
    drop(held);
    let few = executable_mappings();
    // Other tests map and unmap meanwhile, but not nearly as much. ORC keeps pages for later, so it is not held to this.
    assert!(many >= few + 25 || cfg!(not(target_arch = "x86_64")), "{many} then {few}");
}

#[test]
fn a_description_names_the_library() {
    let compiler = compiler();
    let description = compiler.describe().unwrap();
    assert!(description.version.0 >= 16 && description.path.exists(), "{description}");
    assert!(!description.cpu.is_empty() && !description.features.is_empty() && !description.triple.is_empty());
}
