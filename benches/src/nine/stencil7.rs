//! A round of relaxation in space: each point and its six neighbours, with zeros beyond the edge.

use super::hand::{ByHand, Plain, step};
use super::{Nine, floats, flops, program};
use crate::case::{Size, equal, scalar, scalars};
use deckle::prelude::*;
use deckle_engine::Data;
use deckle_runtime::Pool;

const HERE: f32 = 0.5;
const AROUND: f32 = 0.1;

/// A point of the result, from the 27 around it.
#[kernel]
fn relaxed(window: &[f32], here: f32, around: f32) -> f32 {
    around * (window[12] + window[14] + window[10] + window[16] + window[4] + window[22]) - here * window[13]
}

struct Volume {
    width: usize,
    height: usize,
    points: Vec<f32>,
}

impl Volume {
    /// A line of points, or zeros if there is none.
    fn line<'a>(&'a self, z: usize, y: usize, zeros: &'a [f32]) -> &'a [f32] {
        let plane = self.width * self.height;
        let inside = y < self.height && z < self.points.len() / plane;
        if inside { &self.points[z * plane + y * self.width..][..self.width] } else { zeros }
    }
}

impl ByHand for Volume {
    fn row<const VECTORS: bool>(&self, z: usize, out: &mut [f32]) {
        let (zeros, w) = (vec![0.0; self.width], self.width);
        for (y, out) in out.chunks_mut(w).enumerate() {
            let line = |dz: usize, dy: usize| self.line((z + dz).wrapping_sub(1), (y + dy).wrapping_sub(1), &zeros);
            let (here, up, down, front, back) = (line(1, 1), line(1, 0), line(1, 2), line(0, 1), line(2, 1));
            let at = |x: usize, left: f32, right: f32| {
                AROUND * (left + right + up[x] + down[x] + front[x] + back[x]) - HERE * here[x]
            };
            out[0] = at(0, 0.0, here[1]);
            out[w - 1] = at(w - 1, here[w - 2], 0.0);
            let n = w - 2;
            let (left, right, middle) = (&here[..n], &here[2..][..n], &here[1..][..n]);
            let (up, down, front, back) = (&up[1..][..n], &down[1..][..n], &front[1..][..n], &back[1..][..n]);
            let out = &mut out[1..][..n];
            for x in 0..n {
                out[x] = AROUND * (left[x] + right[x] + up[x] + down[x] + front[x] + back[x]) - HERE * middle[x];
                step::<VECTORS>();
            }
        }
    }
}

pub fn nine(pool: &Pool, size: Size) -> Nine {
    let (width, height, depth) = size.of((256, 256, 160), (64, 64, 40), (16, 5, 4));
    let volume = Volume { width, height, points: floats(width * height * depth, 73, 0.0, 1.0) };
    let points = Data::array(equal(height, equal(width, scalars(pool, &volume.points))));
    Nine {
        size: format!("{depth} x {height} x {width} points"),
        paper: "256 x 256 x 160 points",
        script: "stencil7.dk",
        kernel: program(compile(|here: Exp<f32>, around: Exp<f32>, points: Arr<f32, D3>| {
            let edge = Edge::Constant(constant(0.0));
            points.stencil((1, 1, 1), edge, |window| relaxed::kernel(window.elements(), here, around))
        })),
        args: vec![scalar(pool, HERE), scalar(pool, AROUND), points],
        branches: false,
        picture: None,
        planes: 1,
        rows: depth,
        width: width * height,
        share: 1,
        work: flops(8.0 * (width * height * depth) as f64),
        plain: Plain::new(volume),
    }
}
