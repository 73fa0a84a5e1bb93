//! What bodies that attract each other do to each of them: all pairs, softened.

use super::hand::{ByHand, Plain, fused, step};
use super::{Nine, floats, flops, program};
use crate::case::{Size, vector};
use deckle::prelude::*;
use deckle_runtime::Pool;

/// The pull of a body on another.
#[kernel]
fn pull(dx: f32, dy: f32, dz: f32, mass: f32) -> (f32, f32, f32) {
    let inverse = 1.0 / (dx * dx + dy * dy + dz * dz + 1.0e-4).sqrt();
    let w = mass * inverse * inverse * inverse;
    (w * dx, w * dy, w * dz)
}

#[kernel]
fn add(a: (f32, f32, f32), b: (f32, f32, f32)) -> (f32, f32, f32) {
    (a.0 + b.0, a.1 + b.1, a.2 + b.2)
}

struct Bodies {
    xs: Vec<f32>,
    ys: Vec<f32>,
    zs: Vec<f32>,
    masses: Vec<f32>,
}

const ROW: usize = 32;

impl ByHand for Bodies {
    fn row<const VECTORS: bool>(&self, row: usize, out: &mut [f32]) {
        let of = |all: &[f32]| -> [f32; ROW] { std::array::from_fn(|i| all[row * ROW + i]) };
        let (xs, ys, zs) = (of(&self.xs), of(&self.ys), of(&self.zs));
        let (mut ax, mut ay, mut az) = ([0.0; ROW], [0.0; ROW], [0.0; ROW]);
        let others = self.xs.iter().zip(&self.ys).zip(&self.zs).zip(&self.masses);
        for (((x, y), z), mass) in others {
            for i in 0..ROW {
                let (dx, dy, dz) = (x - xs[i], y - ys[i], z - zs[i]);
                let far = fused(dx, dx, fused(dy, dy, fused(dz, dz, 1.0e-4)));
                let weight = mass / (far * far.sqrt());
                ax[i] = fused(weight, dx, ax[i]);
                ay[i] = fused(weight, dy, ay[i]);
                az[i] = fused(weight, dz, az[i]);
                step::<VECTORS>();
            }
        }
        out.chunks_mut(ROW).zip([ax, ay, az]).for_each(|(out, a)| out.copy_from_slice(&a));
    }
}

pub fn nine(pool: &Pool, size: Size) -> Nine {
    let rows = size.of(1600, 64, 2);
    let n = rows * ROW;
    let bodies = Bodies {
        xs: floats(n, 79, -1.0, 1.0),
        ys: floats(n, 80, -1.0, 1.0),
        zs: floats(n, 81, -1.0, 1.0),
        masses: floats(n, 82, 0.1, 1.0),
    };
    Nine {
        size: format!("{n} bodies"),
        paper: "200K bodies",
        script: "nbody.dk",
        kernel: program(compile(|xs: Arr<f32>, ys: Arr<f32>, zs: Arr<f32>, masses: Arr<f32>| {
            let pulled = |x: Exp<f32>, y: Exp<f32>, z: Exp<f32>| {
                let pulls = xs.zip_with4(ys, zs, masses, |xj, yj, zj, mass| pull::kernel(xj - x, yj - y, zj - z, mass));
                pulls.fold((0.0, 0.0, 0.0), add::kernel)
            };
            xs.zip_with3(ys, zs, pulled)
        })),
        args: [&bodies.xs, &bodies.ys, &bodies.zs, &bodies.masses].map(|all| vector(pool, all)).to_vec(),
        branches: false,
        picture: None,
        planes: 3,
        rows,
        width: ROW,
        share: 16,
        work: flops(20.0 * (n * n) as f64),
        plain: Plain::new(bodies),
    }
}
