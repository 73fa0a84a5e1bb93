//! Histograms and the sieve.

use super::case;
use crate::case::{Bound, Case, Job, Size, elements, scalar, vector};
use crate::check::same;
use crate::data::{bytes, keys};
use deckle_engine::Data;
use deckle_runtime::{Number, Pool};

const GROUP: &str = "11-expand";

pub(super) fn cases() -> Vec<Case> {
    let length = |size: Size| size.of(100_000_000, 2_000_000, 2000);
    let histogram = |name, what, entry, make: fn(&Pool, usize) -> Job| {
        case(name, (GROUP, "histogram", what), ("histogram.dk", entry), move |pool, size| make(pool, length(size)))
    };
    vec![
        histogram("histogram-256", "100M u8 256 bins", "bytes", |p, n| count(p, &bytes(n, 52), 256, usize::from)),
        histogram("histogram-1k", "100M u32 1k bins", "words", |p, n| {
            count(p, &keys(n, 50, 1000), 1000, |k| k as usize)
        }),
        histogram("histogram-1m", "100M u32 1M bins", "words", |p, n| {
            count(p, &keys(n, 51, 1_000_000), 1_000_000, |k| k as usize)
        }),
        case("sieve", (GROUP, "sieve", "1e8"), ("sieve.dk", "main"), sieve),
    ]
}

fn count<K: Number>(pool: &Pool, keys: &[K], bins: usize, bin: fn(K) -> usize) -> Job {
    let mut wanted = vec![0u32; bins];
    keys.iter().for_each(|k| wanted[bin(*k)] += 1);
    let args = vec![vector(pool, keys), scalar(pool, bins as i64)];
    let check = Box::new(move |d: &Data| same(elements::<u32>(d, bins)?, &wanted));
    Job { args, again: None, check, bound: Bound::read(size_of_val(keys) as f64, keys.len() as f64, "key") }
}

fn sieve(pool: &Pool, size: Size) -> Job {
    let n: usize = size.of(100_000_000, 2_000_000, 2000);
    // Odd numbers only: a different sieve from the measured one.
    let mut composite = vec![false; n / 2 + 1];
    let mut primes = 1i64;
    for i in 1..n.div_ceil(2) {
        if composite[i] {
            continue;
        }
        primes += 1;
        let p = 2 * i + 1;
        (p * p / 2..n.div_ceil(2)).step_by(p).for_each(|m| composite[m] = true);
    }
    let root = n.isqrt();
    let is_prime = |p: usize| p == 2 || p % 2 == 1 && !composite[p / 2];
    let marks: usize = (2..=root).filter(|p| is_prime(*p)).map(|p| n / p - 1).sum();
    let check = Box::new(move |d: &Data| same(elements::<i64>(d, 1)?, &[primes]));
    Job { args: vec![scalar(pool, n as i64)], again: None, check, bound: Bound::none(marks as f64, "mark") }
}
