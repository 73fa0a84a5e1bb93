//! An image under a mask of 5 by 5, with the nearest pixels beyond the edge.

use super::hand::{ByHand, Plain, accumulate, step};
use super::{Nine, floats, flops, program};
use crate::case::{Size, matrix};
use deckle::prelude::*;
use deckle_runtime::Pool;

/// A bell, the same in both directions.
const MASK: [f32; 25] = [
    0.0030, 0.0133, 0.0219, 0.0133, 0.0030, 0.0133, 0.0596, 0.0983, 0.0596, 0.0133, 0.0219, 0.0983, 0.1621, 0.0983,
    0.0219, 0.0133, 0.0596, 0.0983, 0.0596, 0.0133, 0.0030, 0.0133, 0.0219, 0.0133, 0.0030,
];

/// A pixel of the result, from the 25 around it.
#[kernel]
fn blurred(window: &[f32]) -> f32 {
    let mut sum = 0.0;
    for k in 0..25 {
        sum = MASK[k].mul_add(window[k], sum);
    }
    sum
}

struct Image {
    width: usize,
    pixels: Vec<f32>,
}

const SUMS: usize = 64;

impl Image {
    /// A row of the image that may be outside.
    fn row(&self, y: usize) -> &[f32] {
        let height = self.pixels.len() / self.width;
        &self.pixels[y.clamp(2, height + 1).saturating_sub(2) * self.width..][..self.width]
    }

    fn pixel(&self, y: usize, x: usize) -> f32 {
        let near = |i: usize| (x + i).clamp(2, self.width + 1) - 2;
        (0..25).map(|k| MASK[k] * self.row(y + k / 5)[near(k % 5)]).sum()
    }
}

impl ByHand for Image {
    fn row<const VECTORS: bool>(&self, y: usize, out: &mut [f32]) {
        let rows: [&[f32]; 5] = std::array::from_fn(|j| self.row(y + j));
        let mut x = 2.min(self.width);
        (0..x).for_each(|x| out[x] = self.pixel(y, x));
        while x + SUMS + 2 <= self.width {
            let mut sums = [0.0; SUMS];
            for (row, weights) in rows.iter().zip(MASK.chunks(5)) {
                for (i, weight) in weights.iter().enumerate() {
                    accumulate::<VECTORS, SUMS>(&mut sums, *weight, &row[x + i - 2..]);
                }
            }
            out[x..x + SUMS].copy_from_slice(&sums);
            x += SUMS;
        }
        for (x, out) in out.iter_mut().enumerate().skip(x) {
            *out = self.pixel(y, x);
            step::<VECTORS>();
        }
    }
}

pub fn nine(pool: &Pool, size: Size) -> Nine {
    let (width, height) = size.of((4000, 3200), (1000, 800), (70, 12));
    let image = Image { width, pixels: floats(width * height, 72, 0.0, 1.0) };
    Nine {
        size: format!("{height} x {width} pixels"),
        paper: "3200 x 4000 pixels",
        script: "blur.dk",
        kernel: program(compile(|image: Arr<f32, D2>| {
            image.stencil((2, 2), Edge::Clamp, |window| blurred::kernel(window.elements()))
        })),
        args: vec![matrix(pool, &image.pixels, width)],
        branches: false,
        picture: None,
        planes: 1,
        rows: height,
        width,
        share: 1,
        work: flops(50.0 * (width * height) as f64),
        plain: Plain::new(image),
    }
}
