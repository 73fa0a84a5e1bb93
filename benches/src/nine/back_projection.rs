//! Back-projection: a volume from views around it, each of which shows sums along parallel rays.

use super::hand::{ByHand, Plain, step};
use super::{Nine, flops, program};
use crate::case::{Size, equal, scalar, scalars, vector};
use crate::data::generate;
use deckle::prelude::*;
use deckle_engine::Data;
use deckle_runtime::Pool;
use std::f64::consts::PI;

/// What a line of a view shows at a place, between two pixels.
#[kernel]
fn seen(line: &[f32], at: f32) -> f32 {
    let left = at.floor();
    let pixel = left as i32;
    if pixel >= 0 && pixel + 1 < line.len() as i32 {
        let (near, next) = (line[pixel as usize], line[pixel as usize + 1]);
        (next - near).mul_add(at - left, near)
    } else {
        0.0
    }
}

/// Where a view sees a point.
#[kernel]
fn place(right: f32, down: f32, cos: f32, sin: f32, middle: f32) -> f32 {
    right.mul_add(cos, down.mul_add(sin, middle))
}

struct Views {
    width: usize,
    cosines: Vec<f32>,
    sines: Vec<f32>,
    pixels: Vec<f32>,
}

impl ByHand for Views {
    fn row<const VECTORS: bool>(&self, z: usize, out: &mut [f32]) {
        let width = self.width;
        let middle = (width - 1) as f32 * 0.5;
        out.fill(0.0);
        for (k, (cos, sin)) in self.cosines.iter().zip(&self.sines).enumerate() {
            let view = &self.pixels[(k * width + z) * width..][..width];
            for (y, out) in out.chunks_mut(width).enumerate() {
                let first = (y as f32 - middle) * sin + middle;
                for (x, out) in out.iter_mut().enumerate() {
                    let at = (x as f32 - middle) * cos + first;
                    let left = at.floor();
                    let pixel = left as i32;
                    if pixel >= 0 && pixel + 1 < width as i32 {
                        let (near, next) = (view[pixel as usize], view[pixel as usize + 1]);
                        *out += near + (next - near) * (at - left);
                    }
                    step::<VECTORS>();
                }
            }
        }
    }
}

/// Ellipsoids in a ball of radius 1: the centre, half of the axes, the angle by which they are turned in a plane, and the density. After Shepp and Logan.
const HEAD: [([f64; 3], [f64; 3], f64, f64); 9] = [
    ([0.0, 0.0, 0.0], [0.69, 0.92, 0.90], 0.0, 1.0),
    ([0.0, -0.0184, 0.0], [0.6624, 0.874, 0.88], 0.0, -0.8),
    ([0.22, 0.0, -0.1], [0.11, 0.31, 0.22], -18.0, -0.2),
    ([-0.22, 0.0, -0.1], [0.16, 0.41, 0.28], 18.0, -0.2),
    ([0.0, 0.35, 0.0], [0.21, 0.25, 0.41], 0.0, 0.25),
    ([0.0, 0.1, 0.1], [0.046, 0.046, 0.05], 0.0, 0.25),
    ([0.0, -0.1, 0.0], [0.046, 0.046, 0.05], 0.0, 0.25),
    ([-0.08, -0.605, 0.0], [0.046, 0.023, 0.05], 0.0, 0.25),
    ([0.06, -0.605, 0.0], [0.046, 0.023, 0.05], 90.0, 0.25),
];

/// What is between a pixel and the light: the chords of the ellipsoids.
fn shadow(angle: f64, height: f64, at: f64) -> f64 {
    let chord = |&(centre, half, turned, density): &([f64; 3], [f64; 3], f64, f64)| {
        let up = (height - centre[2]) / half[2];
        let shrink = 1.0 - up * up;
        if shrink <= 0.0 {
            return 0.0;
        }
        let turned = angle - turned * PI / 180.0;
        let wide = half[0].powi(2) * turned.cos().powi(2) + half[1].powi(2) * turned.sin().powi(2);
        let off = at - centre[0] * angle.cos() - centre[1] * angle.sin();
        let inside = wide * shrink - off * off;
        if inside <= 0.0 { 0.0 } else { 2.0 * density * half[0] * half[1] * inside.sqrt() / wide }
    };
    HEAD.iter().map(chord).sum()
}

/// Views of the head, filtered as back-projection needs it (Ram and Lak).
fn views(width: usize, count: usize) -> Views {
    let angles: Vec<f64> = (0..count).map(|k| PI * k as f64 / count as f64).collect();
    let scale = 2.0 / width as f64;
    let unit = |i: usize| (i as f64 + 0.5) * scale - 1.0;
    let weight = |far: i64| match far {
        0 => 0.25,
        odd if odd % 2 != 0 => -1.0 / (PI * odd as f64).powi(2),
        _ => 0.0,
    };
    let plain = generate(count * width * width, |i| {
        shadow(angles[i / (width * width)], unit(i / width % width), unit(i % width))
    });
    let pixels = generate(plain.len(), |i| {
        let (row, at) = (i - i % width, (i % width) as i64);
        let sum: f64 = (0..width).map(|j| weight(at - j as i64) * plain[row + j]).sum();
        (sum / scale * PI / count as f64) as f32
    });
    let of = |f: fn(f64) -> f64| angles.iter().map(|a| f(*a) as f32).collect();
    Views { width, cosines: of(f64::cos), sines: of(f64::sin), pixels }
}

pub fn nine(pool: &Pool, size: Size) -> Nine {
    let (width, count) = size.of((256, 64), (64, 16), (8, 3));
    let views = views(width, count);
    let pixels = Data::array(equal(width, equal(width, scalars(pool, &views.pixels))));
    let args = vec![pixels, vector(pool, &views.cosines), vector(pool, &views.sines), scalar(pool, width as i64)];
    Nine {
        size: format!("{width} x {width} x {width} points, {count} views"),
        paper: "256 x 256 x 256 points",
        script: "back_projection.dk",
        kernel: program(compile(|views: Arr<f32, D3>, cosines: Arr<f32>, sines: Arr<f32>, width: Exp<i64>| {
            generate3(width, width, width, |z, y, x| {
                let middle = (width - 1).cast::<f32>() * 0.5;
                let (right, down) = (x.cast::<f32>() - middle, y.cast::<f32>() - middle);
                let at = cosines.zip_with(sines, |cos, sin| place::kernel(right, down, cos, sin, middle));
                views.rows().zip_with(at, |view, at| seen::kernel(view.row(z), at)).sum()
            })
        })),
        args,
        branches: false,
        picture: Some([width / 2 * width * width, width]),
        planes: 1,
        rows: width,
        width: width * width,
        share: 16,
        work: flops(8.0 * (width * width * width * count) as f64),
        plain: Plain::new(views),
    }
}
