//! Plain Rust by hand, for the nine programs: the rival of their kernels, and the baseline that all times are divided by.

#![allow(unsafe_code)] // An empty piece of assembly.

use rayon::prelude::*;
use std::sync::Arc;

/// A program by hand.
pub trait ByHand: Send + Sync + 'static {
    /// Writes a row of the result: the planes of the row, one after the other. Loops may be vectorised if `VECTORS`.
    fn row<const VECTORS: bool>(&self, row: usize, out: &mut [f32]);
}

/// Computes a row.
type Row = Box<dyn Fn(usize, &mut [f32]) + Sync>;

/// The two forms of a program by hand.
pub struct Plain {
    scalar: Row,
    vectors: Row,
}

impl Plain {
    /// Of a program.
    pub fn new(by_hand: impl ByHand) -> Plain {
        let shared = Arc::new(by_hand);
        let other = shared.clone();
        Plain {
            scalar: Box::new(move |row, out| shared.row::<false>(row, out)),
            vectors: Box::new(move |row, out| other.row::<true>(row, out)),
        }
    }

    /// Every `share`-th of the rows of so many numbers, without vectors.
    pub fn baseline(&self, width: usize, share: usize, out: &mut [f32]) {
        out.chunks_mut(width).enumerate().step_by(share).for_each(|(row, out)| (self.scalar)(row, out));
    }

    /// All rows on one thread.
    pub fn sequential(&self, width: usize, out: &mut [f32]) {
        out.chunks_mut(width).enumerate().for_each(|(row, out)| (self.vectors)(row, out));
    }

    /// All rows on the threads of a pool.
    pub fn parallel(&self, width: usize, out: &mut [f32], pool: &rayon::ThreadPool) {
        pool.install(|| out.par_chunks_mut(width).enumerate().for_each(|(row, out)| (self.vectors)(row, out)));
    }
}

/// In a loop, keeps the compiler from vectorising it, unless `VECTORS`. It is no instruction.
#[inline(always)]
pub fn step<const VECTORS: bool>() {
    if !VECTORS {
        // SAFETY: nothing is executed.
        unsafe { std::arch::asm!("", options(nomem, nostack, preserves_flags)) };
    }
}

/// `a * b + c`: rounded once where the processor does that in one instruction.
#[inline(always)]
pub fn fused(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(target_feature = "fma") { a.mul_add(b, c) } else { a * b + c }
}

/// Adds `weight * xs` to sums that stay in registers.
#[inline(always)]
pub fn accumulate<const VECTORS: bool, const N: usize>(sums: &mut [f32; N], weight: f32, xs: &[f32]) {
    for (sum, x) in sums.iter_mut().zip(&xs[..N]) {
        *sum = fused(weight, *x, *sum);
        step::<VECTORS>();
    }
}
