//! A signal under a long filter.

use super::hand::{ByHand, Plain, accumulate};
use super::{Nine, floats, flops, program};
use crate::case::{Size, vector};
use deckle::prelude::*;
use deckle_runtime::Pool;

/// An element of the result.
#[kernel]
fn filtered(taps: &[f32], xs: &[f32], i: usize) -> f32 {
    let mut sum = 0.0;
    for k in 0..taps.len() {
        sum = taps[k].mul_add(xs[i + k], sum);
    }
    sum
}

struct Data {
    taps: Vec<f32>,
    xs: Vec<f32>,
}

/// The elements of a row, and of those the sums in registers.
const ROW: usize = 4096;
const SUMS: usize = 64;

impl ByHand for Data {
    fn row<const VECTORS: bool>(&self, row: usize, out: &mut [f32]) {
        for (part, out) in out.chunks_mut(SUMS).enumerate() {
            let from = row * ROW + part * SUMS;
            let mut sums = [0.0; SUMS];
            for (tap, xs) in self.taps.iter().zip(self.xs[from..].windows(SUMS)) {
                accumulate::<VECTORS, SUMS>(&mut sums, *tap, xs);
            }
            out.copy_from_slice(&sums[..out.len()]);
        }
    }
}

pub fn nine(pool: &Pool, size: Size) -> Nine {
    let (rows, m) = size.of((732, 8192), (24, 1024), (1, 32));
    let n = rows * ROW;
    let data = Data { taps: floats(m, 70, -1.0, 1.0), xs: floats(n + m, 71, 0.0, 1.0) };
    Nine {
        size: format!("{n} pixels, {m} taps"),
        paper: "3M pixels, 8192 taps",
        script: "conv1d.dk",
        kernel: program(compile(|_n: Exp<i64>, taps: Arr<f32>, xs: Arr<f32>| {
            iota(xs.len() - taps.len()).map(|i| filtered::kernel(taps, xs, i))
        })),
        args: vec![crate::case::scalar(pool, n as i64), vector(pool, &data.taps), vector(pool, &data.xs)],
        branches: false,
        picture: None,
        planes: 1,
        rows,
        width: ROW,
        share: 64,
        work: flops(2.0 * (n * m) as f64),
        plain: Plain::new(data),
    }
}
