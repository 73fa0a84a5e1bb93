//! Whole vectors: dot, sum, saxpy, a map, the sum of a map.

use super::case;
use crate::case::{Bound, Case, Job, Size, Stream, elements, scalar, vector};
use crate::check::{Sum, each, one, sum};
use crate::data::{Float, floats};
use deckle_runtime::Pool;

const GROUP: &str = "03-maps";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    of::<f32>(&mut cases, 27);
    of::<f64>(&mut cases, 26);
    cases
}

/// The tolerance of a sum of many elements: blocks keep the error far below that of sequential addition.
fn tolerance<T: Float>() -> f64 {
    100.0 * T::EPSILON
}

fn of<T: Float>(cases: &mut Vec<Case>, log: u32) {
    let size = format!("2^{log} {}", T::NAME);
    let name = |n: &str| format!("{n}-{}", T::NAME);
    let length = move |size: Size| 1usize << size.of(log, log - 5, 12);
    let mut add = |n: &str, rival, program, entry: String, make: fn(&Pool, usize) -> Job| {
        cases.push(case(name(n), (GROUP, rival, size.clone()), (program, entry), move |p, s| make(p, length(s))));
    };
    add("dot", "dotp", "dot.dk", T::ENTRY.into(), dot::<T>);
    add("sum", "sum", "sum.dk", T::ENTRY.into(), total::<T>);
    add("saxpy", "saxpy in place", "saxpy.dk", T::ENTRY.into(), saxpy::<T>);
    add("map", "map sqrt(xx+yy)", "norms.dk", T::ENTRY.into(), map::<T>);
    add("mapsum", "sum of map", "norms.dk", format!("sum_{}", T::ENTRY), map_sum::<T>);
}

/// Bytes of `arrays` vectors.
fn bytes<T>(arrays: usize, n: usize) -> f64 {
    (arrays * n * size_of::<T>()) as f64
}

fn inputs<T: Float>(n: usize) -> (Vec<T>, Vec<T>) {
    (floats(n, 1, 0.0, 1.0), floats(n, 2, 0.0, 1.0))
}

fn dot<T: Float>(pool: &Pool, n: usize) -> Job {
    let (x, y) = inputs::<T>(n);
    let mut wanted = Sum::default();
    x.iter().zip(&y).for_each(|(x, y)| wanted.add_product(x.to_f64(), y.to_f64()));
    let args = vec![vector(pool, &x), vector(pool, &y)];
    let check = Box::new(move |d: &_| one::<T>(d, wanted.total(), tolerance::<T>()));
    Job { args, again: None, check, bound: Bound::read(bytes::<T>(2, n), 2.0 * n as f64, "flop") }
}

fn total<T: Float>(pool: &Pool, n: usize) -> Job {
    let (x, _) = inputs::<T>(n);
    let wanted = sum(x.iter().map(|x| x.to_f64()));
    let check = Box::new(move |d: &_| one::<T>(d, wanted, tolerance::<T>()));
    let bound = Bound::read(bytes::<T>(1, n), n as f64, "flop");
    Job { args: vec![vector(pool, &x)], again: None, check, bound }
}

fn saxpy<T: Float>(pool: &Pool, n: usize) -> Job {
    let (x, y) = inputs::<T>(n);
    let a = T::from_f64(1e-3);
    let args = vec![scalar(pool, a), vector(pool, &x), vector(pool, &y)];
    let check = Box::new(move |d: &_| {
        each(elements::<T>(d, n)?, 0..n, T::EPSILON, |i| {
            let wanted = a.to_f64() * x[i].to_f64() + y[i].to_f64();
            (wanted, wanted)
        })
    });
    Job { args, again: Some(2), check, bound: Bound::stream(Stream::Update, bytes::<T>(3, n), 2.0 * n as f64) }
}

fn norm<T: Float>(x: T, y: T) -> f64 {
    let (x, y) = (x.to_f64(), y.to_f64());
    (x * x + y * y).sqrt()
}

fn map<T: Float>(pool: &Pool, n: usize) -> Job {
    let (x, y) = inputs::<T>(n);
    let args = vec![vector(pool, &x), vector(pool, &y)];
    let check = Box::new(move |d: &_| {
        each(elements::<T>(d, n)?, 0..n, 2.0 * T::EPSILON, |i| (norm(x[i], y[i]), norm(x[i], y[i])))
    });
    Job { args, again: None, check, bound: Bound::stream(Stream::Triad, bytes::<T>(3, n), 4.0 * n as f64) }
}

fn map_sum<T: Float>(pool: &Pool, n: usize) -> Job {
    let (x, y) = inputs::<T>(n);
    let wanted = sum(x.iter().zip(&y).map(|(x, y)| norm(*x, *y)));
    let args = vec![vector(pool, &x), vector(pool, &y)];
    let check = Box::new(move |d: &_| one::<T>(d, wanted, tolerance::<T>()));
    Job { args, again: None, check, bound: Bound::read(bytes::<T>(2, n), 5.0 * n as f64, "flop") }
}
