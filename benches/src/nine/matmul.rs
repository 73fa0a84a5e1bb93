//! The product of two matrices.

use super::hand::{ByHand, Plain, accumulate};
use super::{Nine, floats, flops, program};
use crate::case::{Size, matrix};
use deckle::prelude::*;
use deckle_runtime::Pool;

/// What a pair of elements adds to an element of the product.
#[kernel]
fn times(a: f32, b: f32) -> f32 {
    a * b
}

struct Matrices {
    n: usize,
    a: Vec<f32>,
    b: Vec<f32>,
}

/// The rows of a part of the result, and the columns for which the other matrix is copied at a time; of the rows, four have their sums in registers.
const ROWS: usize = 64;
const COLUMNS: usize = 32;

impl ByHand for Matrices {
    fn row<const VECTORS: bool>(&self, row: usize, out: &mut [f32]) {
        let (n, mut panel) = (self.n, Vec::with_capacity(self.n * COLUMNS));
        for from in (0..n).step_by(COLUMNS) {
            panel.clear();
            self.b.chunks_exact(n).for_each(|b| panel.extend_from_slice(&b[from..from + COLUMNS]));
            for (quad, out) in out.chunks_mut(4 * n).enumerate() {
                let [r0, r1, r2, r3] = std::array::from_fn(|i| &self.a[(row * ROWS + quad * 4 + i) * n..][..n]);
                let [mut s0, mut s1, mut s2, mut s3] = [[0.0; COLUMNS]; 4];
                for (k, b) in panel.chunks_exact(COLUMNS).enumerate() {
                    accumulate::<VECTORS, COLUMNS>(&mut s0, r0[k], b);
                    accumulate::<VECTORS, COLUMNS>(&mut s1, r1[k], b);
                    accumulate::<VECTORS, COLUMNS>(&mut s2, r2[k], b);
                    accumulate::<VECTORS, COLUMNS>(&mut s3, r3[k], b);
                }
                for (sums, out) in [s0, s1, s2, s3].iter().zip(out.chunks_mut(n)) {
                    out[from..from + COLUMNS].copy_from_slice(sums);
                }
            }
        }
    }
}

pub fn nine(pool: &Pool, size: Size) -> Nine {
    let n = size.of(2048, 512, 64);
    let matrices = Matrices { n, a: floats(n * n, 77, -1.0, 1.0), b: floats(n * n, 78, -1.0, 1.0) };
    Nine {
        size: format!("{n} x {n} elements"),
        paper: "2K x 2K elements",
        script: "matmul.dk",
        kernel: program(compile(|a: Arr<f32, D2>, b: Arr<f32, D2>| {
            let columns = b.transpose().rows();
            a.rows().map(|row| columns.map(|column| row.zip_with(column, times::kernel).sum())).regular()
        })),
        args: vec![matrix(pool, &matrices.a, n), matrix(pool, &matrices.b, n)],
        branches: false,
        picture: None,
        planes: 1,
        rows: n / ROWS,
        width: n * ROWS,
        share: 8,
        work: flops(2.0 * (n * n * n) as f64),
        plain: Plain::new(matrices),
    }
}
