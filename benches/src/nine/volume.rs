//! A picture of a cloud: light gathered along rays through a volume, until they leave it or nothing behind can be seen.

use super::hand::{ByHand, Plain, step};
use super::{Nine, program};
use crate::case::{Size, equal, scalar, scalars};
use crate::data::generate;
use deckle::prelude::*;
use deckle_engine::Data;
use deckle_runtime::Pool;

/// From where the volume is seen: the direction of the rays, right and down.
const AHEAD: [f32; 3] = [0.48, 0.36, 0.8];
const RIGHT: [f32; 3] = [0.8, -0.6, 0.0];
const DOWN: [f32; 3] = [0.36, 0.711_36, -0.536_08];

/// Where a ray enters or leaves a slab between 0 and `width`.
#[kernel]
fn crossed(start: f32, ahead: f32, width: f32) -> (f32, f32) {
    let (a, b) = ((0.0 - start) / ahead, (width - start) / ahead);
    (a.min(b), a.max(b))
}

/// The light that a pixel gathers from a volume of `width` points in each direction, in a square picture of `pixels` in each.
#[kernel]
fn gathered(volume: &[u8], width: usize, pixels: usize, py: usize, px: usize) -> f32 {
    let edge = width as f32;
    let scale = 1.75 * edge / pixels as f32;
    let (u, v) = ((px as f32 - 0.5 * pixels as f32) * scale, (py as f32 - 0.5 * pixels as f32) * scale);
    let x = 0.5 * edge + u * RIGHT[0] + v * DOWN[0];
    let y = 0.5 * edge + u * RIGHT[1] + v * DOWN[1];
    let z = 0.5 * edge + u * RIGHT[2] + v * DOWN[2];
    let (ix, ox) = crossed(x, AHEAD[0], edge);
    let (iy, oy) = crossed(y, AHEAD[1], edge);
    let (iz, oz) = crossed(z, AHEAD[2], edge);
    let (into, out) = (ix.max(iy).max(iz), ox.min(oy).min(oz));
    let mut along = into + 0.5;
    let mut light = 0.0;
    let mut clear = 1.0;
    loop {
        if along >= out {
            break;
        }
        let k = ((z + along * AHEAD[2]) as usize * width + (y + along * AHEAD[1]) as usize) * width
            + (x + along * AHEAD[0]) as usize;
        if k < volume.len() {
            let dense = volume[k] as f32 * (1.0 / 255.0);
            let stopped = clear * (0.25 * dense * dense);
            light += stopped * (0.4 + 0.6 * dense);
            clear -= stopped;
        }
        if clear < 0.02 {
            break;
        }
        along += 1.0;
    }
    light
}

struct Cloud {
    width: usize,
    pixels: usize,
    points: Vec<u8>,
}

impl ByHand for Cloud {
    fn row<const VECTORS: bool>(&self, py: usize, out: &mut [f32]) {
        let (edge, middle) = (self.width as f32, 0.5 * self.pixels as f32);
        let scale = 2.0 * 0.875 * edge / self.pixels as f32;
        for (px, out) in out.iter_mut().enumerate() {
            let (u, v) = ((px as f32 - middle) * scale, (py as f32 - middle) * scale);
            let start: [f32; 3] = std::array::from_fn(|i| 0.5 * edge + u * RIGHT[i] + v * DOWN[i]);
            let (mut into, mut end) = (f32::NEG_INFINITY, f32::INFINITY);
            for (start, ahead) in start.iter().zip(AHEAD) {
                let (a, b) = (-start / ahead, (edge - start) / ahead);
                (into, end) = (into.max(a.min(b)), end.min(a.max(b)));
            }
            let (mut along, mut light, mut clear) = (into + 0.5, 0.0, 1.0);
            while along < end && clear >= 0.02 {
                let at = |i: usize| (start[i] + along * AHEAD[i]) as usize;
                if let Some(point) = self.points.get((at(2) * self.width + at(1)) * self.width + at(0)) {
                    let dense = f32::from(*point) * (1.0 / 255.0);
                    let stopped = clear * (0.25 * dense * dense);
                    light += stopped * (0.4 + 0.6 * dense);
                    clear -= stopped;
                }
                along += 1.0;
            }
            *out = light;
            step::<VECTORS>();
        }
    }
}

/// A surface that winds through space (a gyroid), thick near the middle.
fn density(x: f64, y: f64, z: f64) -> u8 {
    let (a, b, c) = (9.0 * x, 9.0 * y, 9.0 * z);
    let near = (a.sin() * b.cos() + b.sin() * c.cos() + c.sin() * a.cos()).abs();
    let far = (x * x + y * y + z * z).sqrt();
    let shell = (1.0 - near / 0.35).max(0.0) * ((0.95 - far) * 8.0).clamp(0.0, 1.0);
    (255.0 * shell) as u8
}

pub fn nine(pool: &Pool, size: Size) -> Nine {
    let (width, pixels) = size.of((256, 1024), (128, 512), (8, 12));
    let unit = |i: usize| (i as f64 + 0.5) * 2.0 / width as f64 - 1.0;
    let points =
        generate(width * width * width, |i| density(unit(i % width), unit(i / width % width), unit(i / width / width)));
    let cloud = Cloud { width, pixels, points };
    let volume = Data::array(equal(width, equal(width, scalars(pool, &cloud.points))));
    Nine {
        size: format!("{} rays, {width} x {width} x {width} points", pixels * pixels),
        paper: "1M rays",
        script: "volume.dk",
        kernel: program(compile(|volume: Arr<u8, D3>, width: Exp<i64>, pixels: Exp<i64>| {
            generate2(pixels, pixels, |y, x| gathered::kernel(volume.elements(), width, pixels, y, x))
        })),
        args: vec![volume, scalar(pool, width as i64), scalar(pool, pixels as i64)],
        branches: true,
        picture: Some([0, pixels]),
        planes: 1,
        rows: pixels,
        width: pixels,
        share: 1,
        work: crate::case::Bound::none((pixels * pixels) as f64, "ray"),
        plain: Plain::new(cloud),
    }
}
