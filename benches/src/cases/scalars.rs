//! Much arithmetic on little data: logarithms, options, bodies.

use super::case;
use crate::case::{Bound, Case, Job, Stream, leaves, scalar, vector};
use crate::check::{Sum, each, log_factorial, one, sum};
use crate::data::{Float, floats};
use deckle_engine::Data;
use deckle_runtime::Pool;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    logs::<f64>(&mut cases);
    logs::<f32>(&mut cases);
    bodies::<f32>(&mut cases);
    bodies::<f64>(&mut cases);
    options::<f32>(&mut cases);
    options::<f64>(&mut cases);
    cases
}

fn logs<T: Float>(cases: &mut Vec<Case>) {
    // The rivals have only `f64`.
    let size = |s: &str| if T::NAME == "f64" { s.to_string() } else { format!("{s} {}", T::NAME) };
    let group = "04-logsum";
    let tolerance = 1000.0 * T::EPSILON;
    let job = move |pool: &Pool, n: u64, wanted: f64, logs: f64| Job {
        args: vec![scalar(pool, n as i64)],
        again: None,
        check: Box::new(move |d| one::<T>(d, wanted, tolerance)),
        bound: Bound::none(logs, "log"),
    };
    let what = (group, "logsum", size("2^28"));
    cases.push(case(format!("logsum-{}", T::NAME), what, ("logsum.dk", T::ENTRY), move |pool, size| {
        let n = 1u64 << size.of(28, 22, 10);
        job(pool, n, log_factorial(n as f64), n as f64)
    }));
    for log in [9, 10] {
        let what = (group, "sum of logsums", size(&format!("N=2^{log}")));
        let entry = format!("sums_{}", T::ENTRY);
        let name = format!("logsums{log}-{}", T::NAME);
        cases.push(case(name, what, ("logsum.dk", entry), move |pool, size| {
            let n = 1u64 << size.of(log, log - 2, 4);
            let wanted = sum((1..=n).map(|i| log_factorial((i * i) as f64)));
            job(pool, n, wanted, (n * (n + 1) * (2 * n + 1) / 6) as f64)
        }));
    }
}

/// The arrays of a result that is an array of `k`-tuples.
fn columns<T: Float>(data: &Data, k: usize, n: usize) -> Result<Vec<&[T]>, String> {
    let columns: Vec<&[T]> = leaves(data).into_iter().map(|b| b.as_slice()).collect();
    match columns.len() == k && columns.iter().all(|c| c.len() == n) {
        true => Ok(columns),
        false => Err(format!("{} arrays in the place of {k} of {n} elements", columns.len())),
    }
}

fn bodies<T: Float>(cases: &mut Vec<Case>) {
    let what = ("05-nbody", "nbody", format!("16384 {}", T::NAME));
    cases.push(case(format!("nbody-{}", T::NAME), what, ("nbody.dk", T::ENTRY), |pool, size| {
        let n = size.of(16384, 2048, 256);
        let mut p: Vec<Vec<T>> = (0..3).map(|k| floats(n, 10 + k, -1.0, 1.0)).collect();
        p.push(floats(n, 13, 0.0, 1.0));
        let args = p.iter().map(|x| vector(pool, x)).collect();
        let check = Box::new(move |d: &Data| {
            let at = |k: usize, i: usize| p[k][i].to_f64();
            let mut worst = 0.0f64;
            for (axis, got) in columns::<T>(d, 3, n)?.into_iter().enumerate() {
                // A softened neighbour can be close, so an error is relative to the terms of the sum, not to the sum.
                let wanted = |i: usize| {
                    let (mut total, mut scale) = (Sum::default(), 0.0);
                    for j in 0..n {
                        let d = [0, 1, 2].map(|k| at(k, j) - at(k, i));
                        let inverse = 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + 1e-4).sqrt();
                        let pull = at(3, j) * inverse * inverse * inverse * d[axis];
                        total.add(pull);
                        scale += pull.abs();
                    }
                    (total.total(), scale)
                };
                worst = worst.max(each(got, (0..n).step_by(n / 256), 100.0 * T::EPSILON, wanted)?);
            }
            Ok(worst)
        });
        Job { args, again: None, check, bound: Bound::flops::<T>(20.0 * (n * n) as f64) }
    }));
}

/// The value of an option to buy and of one to sell, and the scale of their errors.
fn option(s: f64, x: f64, t: f64) -> (f64, f64, f64) {
    let cnd = |d: f64| {
        let k = 1.0 / (1.0 + 0.2316419 * d.abs());
        let poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
        let w = 0.398_942_280_401_432_7 * (-0.5 * d * d).exp() * poly;
        if d > 0.0 { 1.0 - w } else { w }
    };
    let (r, v) = (0.02, 0.30);
    let q = v * t.sqrt();
    let d1 = ((s / x).ln() + (r + 0.5 * v * v) * t) / q;
    let (a, b, e) = (cnd(d1), cnd(d1 - q), x * (-r * t).exp());
    (s * a - e * b, e * (1.0 - b) - s * (1.0 - a), s + e)
}

fn options<T: Float>(cases: &mut Vec<Case>) {
    let what = ("06-blackscholes", "blackscholes", format!("10M {}", T::NAME));
    cases.push(case(format!("blackscholes-{}", T::NAME), what, ("black_scholes.dk", T::ENTRY), |pool, size| {
        let n = size.of(10_000_000, 500_000, 1000);
        let ranges = [(5.0, 30.0), (1.0, 100.0), (0.25, 10.0)];
        let p: Vec<Vec<T>> = (0..3).map(|k| floats(n, 20 + k, ranges[k as usize].0, ranges[k as usize].1)).collect();
        let args = p.iter().map(|x| vector(pool, x)).collect();
        let check = Box::new(move |d: &Data| {
            let mut worst = 0.0f64;
            for (k, got) in columns::<T>(d, 2, n)?.into_iter().enumerate() {
                let wanted = |i: usize| {
                    let (call, put, scale) = option(p[0][i].to_f64(), p[1][i].to_f64(), p[2][i].to_f64());
                    (if k == 0 { call } else { put }, scale)
                };
                worst = worst.max(each(got, (0..n).step_by(7), 20.0 * T::EPSILON, wanted)?);
            }
            Ok(worst)
        });
        let bound = Bound::stream(Stream::Triad, (5 * n * size_of::<T>()) as f64, n as f64);
        Job { args, again: None, check, bound: Bound { unit: "option", ..bound } }
    }));
}
