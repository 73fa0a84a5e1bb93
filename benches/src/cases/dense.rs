//! Images, volumes, signals and matrices.

use super::case;
use crate::case::{Bound, Case, Job, Size, Stream, elements, equal, matrix, scalar, scalars, vector};
use crate::check::{Sum, each};
use crate::data::{Float, floats};
use deckle_engine::Data;
use deckle_runtime::Pool;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    of::<f32>(&mut cases);
    of::<f64>(&mut cases);
    cases
}

fn of<T: Float>(cases: &mut Vec<Case>) {
    let name = |n: &str| format!("{n}-{}", T::NAME);
    let size = |s: &str| format!("{s} {}", T::NAME);
    let stencils = "07-stencil";
    let what = (stencils, "conv2d 5x5", size("4000x3200"));
    cases.push(case(name("conv2d"), what.clone(), ("conv2d.dk", T::ENTRY), |p, q| conv2d::<T>(p, q, false)));
    let entry = format!("stencil_{}", T::ENTRY);
    cases.push(case(name("conv2d-stencil"), what, ("conv2d.dk", entry), |p, q| conv2d::<T>(p, q, true)));
    let what = (stencils, "stencil7", size("256x256x160"));
    cases.push(case(name("stencil7"), what, ("stencil7.dk", T::ENTRY), stencil7::<T>));
    let what = (stencils, "conv1d 8192", size("1M"));
    cases.push(case(name("conv1d"), what, ("conv1d.dk", T::ENTRY), conv1d::<T>));
    let what = ("08-matmul", "matmul", size("2048"));
    cases.push(case(name("matmul"), what, ("matmul.dk", T::ENTRY), matmul::<T>));
}

/// A sum of products, and the scale of its error.
fn products<T: Float>(pairs: impl Iterator<Item = (T, T)>) -> (f64, f64) {
    let (mut total, mut scale) = (Sum::default(), 0.0);
    for (x, y) in pairs {
        total.add_product(x.to_f64(), y.to_f64());
        scale += (x.to_f64() * y.to_f64()).abs();
    }
    (total.total(), scale)
}

fn conv2d<T: Float>(pool: &Pool, size: Size, everywhere: bool) -> Job {
    let (w, h) = size.of((4000, 3200), (1000, 800), (40, 30));
    let image = floats::<T>(w * h, 30, 0.0, 1.0);
    let mask = floats::<T>(25, 31, -1.0, 1.0);
    let args = vec![matrix(pool, &image, w), matrix(pool, &mask, 5)];
    // Beyond the edge, the border of the image is replicated.
    let (width, height, out) = if everywhere { (w, h, 2) } else { (w - 4, h - 4, 0) };
    let check = Box::new(move |d: &Data| {
        let pixel = |y: usize, x: usize| image[y.saturating_sub(out).min(h - 1) * w + x.saturating_sub(out).min(w - 1)];
        each(elements::<T>(d, width * height)?, 0..width * height, 20.0 * T::EPSILON, |at| {
            let (y, x) = (at / width, at % width);
            products((0..25).map(|k| (mask[k], pixel(y + k / 5, x + k % 5))))
        })
    });
    let bound = Bound::stream(Stream::Triad, (2 * w * h * size_of::<T>()) as f64, 0.0);
    Job { args, again: None, check, bound: bound.and_flops::<T>(50.0 * (width * height) as f64) }
}

fn stencil7<T: Float>(pool: &Pool, size: Size) -> Job {
    let (x, y, z) = size.of((256, 256, 160), (64, 64, 40), (16, 16, 8));
    let a = floats::<T>(x * y * z, 32, 0.0, 1.0);
    let (c0, c1) = (T::from_f64(0.5), T::from_f64(0.1));
    let volume = Data::array(equal(y, equal(x, scalars(pool, &a))));
    let args = vec![scalar(pool, c0), scalar(pool, c1), volume];
    let check = Box::new(move |d: &Data| {
        let at = |k: usize, j: usize, i: usize| {
            // Indices are one-based, so that those beyond the edge are 0 and n + 1.
            let inside = (1..=z).contains(&k) && (1..=y).contains(&j) && (1..=x).contains(&i);
            if inside { a[((k - 1) * y + j - 1) * x + i - 1].to_f64() } else { 0.0 }
        };
        each(elements::<T>(d, x * y * z)?, 0..x * y * z, 20.0 * T::EPSILON, |p| {
            let (k, j, i) = (p / (x * y) + 1, p / x % y + 1, p % x + 1);
            let around = at(k, j, i - 1)
                + at(k, j, i + 1)
                + at(k, j - 1, i)
                + at(k, j + 1, i)
                + at(k - 1, j, i)
                + at(k + 1, j, i);
            let (around, here) = (c1.to_f64() * around, c0.to_f64() * at(k, j, i));
            (around - here, around + here)
        })
    });
    let points = (x * y * z) as f64;
    let bound = Bound::stream(Stream::Triad, 2.0 * points * size_of::<T>() as f64, 0.0);
    Job { args, again: None, check, bound: bound.and_flops::<T>(8.0 * points) }
}

fn conv1d<T: Float>(pool: &Pool, size: Size) -> Job {
    let (n, m) = size.of((999_936, 8192), (99_840, 1024), (500, 32));
    let xs = floats::<T>(n + m, 33, 0.0, 1.0);
    let taps = floats::<T>(m, 34, -1.0, 1.0);
    let args = vec![scalar(pool, n as i64), vector(pool, &taps), vector(pool, &xs)];
    let check = Box::new(move |d: &Data| {
        each(elements::<T>(d, n)?, (0..n).step_by(997), 100.0 * T::EPSILON, |i| {
            products(taps.iter().zip(&xs[i..]).map(|(a, b)| (*a, *b)))
        })
    });
    Job { args, again: None, check, bound: Bound::flops::<T>(2.0 * (n * m) as f64) }
}

fn matmul<T: Float>(pool: &Pool, size: Size) -> Job {
    let n = size.of(2048, 512, 32);
    let (a, b) = (floats::<T>(n * n, 40, -1.0, 1.0), floats::<T>(n * n, 41, -1.0, 1.0));
    let args = vec![matrix(pool, &a, n), matrix(pool, &b, n)];
    let check = Box::new(move |d: &Data| {
        each(elements::<T>(d, n * n)?, (0..n * n).step_by(251), 100.0 * T::EPSILON, |at| {
            let (i, j) = (at / n, at % n);
            products((0..n).map(|k| (a[i * n + k], b[k * n + j])))
        })
    });
    Job { args, again: None, check, bound: Bound::flops::<T>(2.0 * (n * n * n) as f64) }
}
