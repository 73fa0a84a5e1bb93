//! Rows of different lengths: sums, maxima, running sums, and sparse matrices times vectors.

use super::case;
use crate::case::{Bound, Case, Job, Stream, elements, vector};
use crate::check::{Sum, each};
use crate::data::{Float, Shape, floats, sparse, zipf_offsets};
use deckle_runtime::Pool;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    rows::<f32>(&mut cases);
    rows::<f64>(&mut cases);
    let shapes = [
        ("uniform", "uniform 2Mx16", Shape::Uniform),
        ("banded", "banded 1Mx27", Shape::Banded),
        ("powerlaw", "powerlaw 1M", Shape::PowerLaw),
        ("empty", "empty 8M", Shape::Empty),
    ];
    for (name, size, shape) in shapes {
        product::<f64>(&mut cases, name, size, shape);
        product::<f32>(&mut cases, name, size, shape);
    }
    cases
}

fn rows<T: Float>(cases: &mut Vec<Case>) {
    for (name, rival) in [("sum", "ragged sum"), ("max", "ragged max"), ("scan", "ragged scan")] {
        let what = ("12-ragged", rival, format!("10M seg 160M {}", T::NAME));
        let entry = format!("{name}_{}", T::ENTRY);
        cases.push(case(format!("ragged-{name}-{}", T::NAME), what, ("ragged.dk", entry), move |pool, size| {
            let segments = size.of(10_000_000, 200_000, 200);
            row_job::<T>(pool, name, zipf_offsets(segments, 16 * segments))
        }));
    }
    // None longer than a vector, and some empty.
    for (name, rival) in [("sum", "short rows sum"), ("max", "short rows max")] {
        let what = ("12-ragged", rival, format!("10M rows of 0 to 7 {}", T::NAME));
        let entry = format!("{name}_{}", T::ENTRY);
        cases.push(case(format!("short-rows-{name}-{}", T::NAME), what, ("ragged.dk", entry), move |pool, size| {
            let rows = size.of(10_000_000, 200_000, 500);
            let lengths = (0..rows).map(|i: u64| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 61) as i64);
            let ends = lengths.scan(0, |end, n| {
                *end += n;
                Some(*end)
            });
            row_job::<T>(pool, name, std::iter::once(0).chain(ends).collect())
        }));
    }
    // One row with all elements, between empty ones.
    for (name, rival) in [("sum", "one row sum"), ("scan", "one row scan")] {
        let what = ("12-ragged", rival, format!("1M rows, one of 100M {}", T::NAME));
        let entry = format!("{name}_{}", T::ENTRY);
        cases.push(case(format!("one-row-{name}-{}", T::NAME), what, ("ragged.dk", entry), move |pool, size| {
            let (rows, n) = size.of((1_000_000, 100_000_000), (20_000, 6_000_000), (200, 3000));
            row_job::<T>(pool, name, (0..=rows).map(|i| if i <= rows / 2 { 0 } else { n }).collect())
        }));
    }
}

fn row_job<T: Float>(pool: &Pool, name: &'static str, off: Vec<i64>) -> Job {
    let segments = off.len() - 1;
    let n = off[segments] as usize;
    let xs = floats::<T>(n, 60, 0.0, 1.0);
    let args = vec![vector(pool, &xs), vector(pool, &off)];
    let (size, count) = (size_of::<T>() as f64, n as f64);
    let bound = match name {
        "scan" => Bound::stream(Stream::Triad, 2.0 * size * count + 8.0 * segments as f64, count),
        _ => Bound::read(size * count + (8.0 + size) * segments as f64, count, "flop"),
    };
    let row = move |i: usize| off[i] as usize..off[i + 1] as usize;
    let check: crate::case::Check = match name {
        "max" => Box::new(move |d| {
            let top = |i: usize| xs[row(i)].iter().fold(f64::NEG_INFINITY, |m, x| m.max(x.to_f64()));
            each(elements::<T>(d, segments)?, 0..segments, 0.0, |i| (top(i), 1.0))
        }),
        "sum" => Box::new(move |d| {
            let total = |i: usize| crate::check::sum(xs[row(i)].iter().map(|x| x.to_f64()));
            each(elements::<T>(d, segments)?, 0..segments, 100.0 * T::EPSILON, |i| (total(i), total(i)))
        }),
        _ => Box::new(move |d| {
            let got = elements::<T>(d, n)?;
            let mut worst = 0.0f64;
            for i in 0..segments {
                let mut total = Sum::default();
                for k in row(i) {
                    total.add(xs[k].to_f64());
                    let wanted = total.total();
                    worst = worst.max(each(got, k..k + 1, 2000.0 * T::EPSILON, |_| (wanted, wanted))?);
                }
            }
            Ok(worst)
        }),
    };
    Job { args, again: None, check, bound }
}

fn product<T: Float>(cases: &mut Vec<Case>, name: &str, size: &str, shape: Shape) {
    let what = ("02-spmv", "spmv", format!("{size} {}", T::NAME));
    cases.push(case(format!("spmv-{name}-{}", T::NAME), what, ("spmv.dk", T::ENTRY), move |pool, size| {
        let a = sparse(shape, size.of(1, 16, 4096));
        let vals: Vec<T> = a.vals.iter().map(|v| T::from_f64(*v)).collect();
        let x = floats::<T>(a.width, 3, -1.0, 1.0);
        let args = vec![vector(pool, &a.off), vector(pool, &a.cols), vector(pool, &vals), vector(pool, &x)];
        let (rows, width, entries, size) = (a.off.len() - 1, a.width, vals.len() as f64, size_of::<T>() as f64);
        let check = Box::new(move |d: &_| {
            each(elements::<T>(d, rows)?, 0..rows, 20.0 * T::EPSILON, |i| {
                let (mut total, mut scale) = (Sum::default(), 0.0);
                for k in a.off[i] as usize..a.off[i + 1] as usize {
                    let (v, x) = (vals[k].to_f64(), x[a.cols[k] as usize].to_f64());
                    total.add_product(v, x);
                    scale += (v * x).abs();
                }
                (total.total(), scale)
            })
        });
        // The offsets are counted with 4 bytes, as in the rivals.
        let bytes = entries * (4.0 + size) + 4.0 * (rows + 1) as f64 + size * (width + rows) as f64;
        Job { args, again: None, check, bound: Bound::read(bytes, 2.0 * entries, "flop") }
    }));
}
