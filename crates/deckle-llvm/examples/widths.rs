//! Vectors of 256 or of 512 bits: which are faster here?
//!
//! ```text
//! cargo run --release -p deckle-llvm --example widths
//! ```
//!
//! LLVM prefers 256 bits on processors that are known to clock lower with 512. The attribute `"prefer-vector-width"="512"` of a function overrides that. This runs two f32 kernels with either, on
//! arrays that fit the first, second and third level of cache and on arrays that fit none, and prints gigabytes read and written a second.

#![allow(unsafe_code)]

use deckle_llvm::{Compiler, Pipeline};
use std::time::Instant;

const KERNELS: &str = "
define void @saxpy(i64 %n, ptr noalias %x, ptr noalias %y) #0 {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr inbounds float, ptr %x, i64 %i
  %py = getelementptr inbounds float, ptr %y, i64 %i
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %ax = fmul contract float 0.5, %vx
  %sum = fadd contract float %ax, %vy
  store float %sum, ptr %py
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
define float @dot(i64 %n, ptr noalias %x, ptr noalias %y) #0 {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %acc = phi float [ 0.0, %entry ], [ %new, %loop ]
  %px = getelementptr inbounds float, ptr %x, i64 %i
  %py = getelementptr inbounds float, ptr %y, i64 %i
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %xy = fmul reassoc contract float %vx, %vy
  %new = fadd reassoc contract float %acc, %xy
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret float %new
}
attributes #0 = { nounwind ATTRIBUTES }
";

type Kernel = unsafe extern "C" fn(i64, *const f32, *mut f32) -> f32;

/// The best of several rates, in gigabytes a second; `streams` is how many times 4 bytes move per element.
fn rate(kernel: Kernel, n: usize, streams: usize) -> f64 {
    let (x, mut y) = (vec![1.0f32; n], vec![1e-3f32; n]);
    let rounds = ((1 << 26) / n).max(1);
    let mut run = || {
        let start = Instant::now();
        for _ in 0..rounds {
            // SAFETY: both arrays have `n` elements, and this is the type of both kernels (one leaves its result undefined).
            unsafe { kernel(n as i64, x.as_ptr(), y.as_mut_ptr()) };
        }
        (4 * streams * n * rounds) as f64 / start.elapsed().as_secs_f64() / 1e9
    };
    (0..7).map(|_| run()).fold(0.0, f64::max)
}

fn main() {
    let compiler = match Compiler::with_cache(None) {
        Ok(compiler) => compiler,
        Err(e) => return println!("{e}"),
    };
    println!("{:<8}{:>10}{:>12}{:>12}{:>12}{:>12}", "width", "kernel", "16 KB", "512 KB", "8 MB", "256 MB");
    for width in ["default", "256", "512"] {
        let attribute = if width == "default" { String::new() } else { format!("\"prefer-vector-width\"=\"{width}\"") };
        let code = compiler.load(&KERNELS.replace("ATTRIBUTES", &attribute), Pipeline::O3).expect("valid IR");
        for (name, streams) in [("saxpy", 3), ("dot", 2)] {
            let address = code.symbol(name).expect("defined above");
            // SAFETY: the type of the function in the IR, but for a result that is not looked at.
            let kernel: Kernel = unsafe { std::mem::transmute(address) };
            print!("{width:<8}{name:>10}");
            for bytes in [16 << 10, 512 << 10, 8 << 20, 256 << 20] {
                print!("{:>12.1}", rate(kernel, bytes / 8, streams));
            }
            println!();
        }
    }
}
