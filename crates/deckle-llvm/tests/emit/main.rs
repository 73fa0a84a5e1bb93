//! Loop IR as machine code, against the simulator and against the reference for scalar operators.

#![allow(unsafe_code)]

mod checked;
mod gpu;
#[path = "../needed/mod.rs"]
mod needed;
mod operators;
mod programs;

use deckle_interp::simt::BufferMem;
use deckle_ir::loops::{Function, RECORD};
use deckle_ir::scalar::Scalar;
use deckle_llvm::{Code, Compiler, Pipeline, emit};
use std::sync::Arc;

/// A compiler without a disk.
fn compiler() -> Compiler {
    needed::compiler(None)
}

/// Compiles functions for this machine.
fn compile(functions: &[Function]) -> Arc<Code> {
    for f in functions {
        assert_eq!(deckle_ir::loops::verify(f), Ok(()), "{f}");
    }
    let text = emit::host(functions, deckle_llvm::gathers_here());
    compiler().load(&text, Pipeline::O3).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Calls a function, as the calling convention says; gives its error record.
fn call(code: &Code, name: &str, buffers: &mut [BufferMem], scalars: &[Scalar]) -> [u64; RECORD] {
    // Aligned for streaming stores, and readable at index 0 even if empty.
    let mut memory: Vec<Vec<[u64; 8]>> = buffers.iter().map(|b| vec![[0; 8]; b.bytes().len() / 64 + 2]).collect();
    let pointers: Vec<*mut u8> = memory
        .iter_mut()
        .map(|m| {
            let start = m.as_mut_ptr().cast::<u8>();
            start.wrapping_add(start.align_offset(64))
        })
        .collect();
    let words: Vec<u64> = scalars.iter().map(|s| s.bits()).collect();
    let mut error = [0u64; RECORD];
    let entry = code.symbol(name).unwrap_or_else(|| panic!("no {name}"));
    // SAFETY: the memory behind each pointer is as large as its buffer, and the type is that of every emitted function.
    unsafe {
        for (p, b) in pointers.iter().zip(&*buffers) {
            p.copy_from_nonoverlapping(b.bytes().as_ptr(), b.bytes().len());
        }
        let entry: extern "C" fn(*const *mut u8, *const u64, *mut u64) = std::mem::transmute(entry);
        entry(pointers.as_ptr(), words.as_ptr(), error.as_mut_ptr());
        for (p, b) in pointers.iter().zip(buffers) {
            let len = b.bytes().len();
            b.bytes_mut().as_mut_ptr().copy_from_nonoverlapping(*p, len);
        }
    }
    error
}

/// Equal bits, or both NaN.
fn same(a: Scalar, b: Scalar) -> bool {
    let nan = |s: Scalar| s.as_float().is_some_and(f64::is_nan);
    a == b || (a.ty() == b.ty() && nan(a) && nan(b))
}

/// A generator of pseudo-random numbers.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}
