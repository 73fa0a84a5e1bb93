//! The data of the benchmarks: computed from indices, with the same bits as in the rival programs, so that figures can be compared.

use std::thread;

/// A random number as a function of a number.
pub fn mix(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

/// A number from 0 below 1.
fn unit(h: u64) -> f64 {
    (h >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// The vector of `f(i)` for `i` below `n`, computed on all cores.
pub fn generate<T: Copy + Default + Send>(n: usize, f: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut all = vec![T::default(); n];
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let part = n.div_ceil(cores).max(1);
    thread::scope(|scope| {
        for (k, chunk) in all.chunks_mut(part).enumerate() {
            let f = &f;
            scope.spawn(move || chunk.iter_mut().enumerate().for_each(|(i, x)| *x = f(k * part + i)));
        }
    });
    all
}

/// The operations on `f32` and `f64` that the benchmarks need.
pub trait Float: deckle_runtime::Number + Default {
    /// The name of the type.
    const NAME: &str;
    /// The entry of a program for this type.
    const ENTRY: &str;
    /// The relative error of one operation.
    const EPSILON: f64;
    /// Rounded.
    fn from_f64(x: f64) -> Self;
    /// Exactly.
    fn to_f64(self) -> f64;
}

impl Float for f32 {
    const NAME: &str = "f32";
    const ENTRY: &str = "single";
    const EPSILON: f64 = f32::EPSILON as f64;
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Float for f64 {
    const NAME: &str = "f64";
    const ENTRY: &str = "double";
    const EPSILON: f64 = f64::EPSILON;
    fn from_f64(x: f64) -> f64 {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
}

/// Floats between two bounds.
pub fn floats<T: Float>(n: usize, seed: u64, lo: f64, hi: f64) -> Vec<T> {
    generate(n, |i| T::from_f64(lo + (hi - lo) * unit(mix(seed * 1_000_003 + i as u64))))
}

/// Integers below a bound.
pub fn keys(n: usize, seed: u64, bound: u64) -> Vec<u32> {
    generate(n, |i| (((mix(seed * 1_000_003 + i as u64) >> 32) * bound) >> 32) as u32)
}

/// Bytes.
pub fn bytes(n: usize, seed: u64) -> Vec<u8> {
    generate(n, |i| (mix(seed * 1_000_003 + i as u64) >> 56) as u8)
}

/// Shuffled.
pub fn shuffle<T>(items: &mut [T], seed: u64) {
    for i in (1..items.len()).rev() {
        items.swap(i, (mix(seed + i as u64) % (i as u64 + 1)) as usize);
    }
}

/// The offsets of segments of these lengths, with the end.
pub fn offsets(lengths: &[i32]) -> Vec<i64> {
    let mut offsets = Vec::with_capacity(lengths.len() + 1);
    let mut total = 0i64;
    offsets.push(0);
    for l in lengths {
        total += i64::from(*l);
        offsets.push(total);
    }
    offsets
}

/// Offsets of rows whose lengths follow Zipf's law, about `total` elements, with many empty rows.
pub fn zipf_offsets(rows: usize, total: usize) -> Vec<i64> {
    let harmonic: f64 = (1..=rows).fold(0.0, |h, i| h + 1.0 / i as f64);
    let scale = total as f64 / (harmonic - 0.5772);
    let mut lengths: Vec<i32> = (0..rows).map(|i| (scale / (i + 1) as f64) as i32).collect();
    shuffle(&mut lengths, 99);
    offsets(&lengths)
}

/// The shape of a sparse matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Sixteen entries in each row, at random columns.
    Uniform,
    /// The 27 neighbours in a cube with periodic boundaries.
    Banded,
    /// A few rows hold most of the entries.
    PowerLaw,
    /// Fifteen of sixteen rows are empty.
    Empty,
}

/// A sparse matrix in compressed rows.
#[derive(Debug)]
pub struct Sparse {
    /// The offsets of the rows.
    pub off: Vec<i64>,
    /// The column of each entry.
    pub cols: Vec<i32>,
    /// The value of each entry.
    pub vals: Vec<f64>,
    /// The number of columns.
    pub width: usize,
}

/// A sparse matrix; `scale` divides its sides.
pub fn sparse(shape: Shape, scale: usize) -> Sparse {
    let rows = scaled(shape, scale);
    let width = if shape == Shape::Empty { 2_000_000 / scale } else { rows };
    let length = |i: usize| match shape {
        Shape::Uniform => 16,
        Shape::Banded => 27,
        Shape::PowerLaw => ((200_000 / scale) as f64 * ((i + 1) as f64).powf(-0.8)) as i32,
        Shape::Empty => 32 * i32::from(mix(77 + i as u64) & 15 == 0),
    };
    let mut lengths: Vec<i32> = (0..rows).map(length).collect();
    if shape == Shape::PowerLaw {
        shuffle(&mut lengths, 42);
    }
    let off = offsets(&lengths);
    let total = off[rows] as usize;
    let mut cols = vec![0i32; total];
    let mut rest = cols.as_mut_slice();
    for (i, &n) in lengths.iter().enumerate() {
        let (row, others) = rest.split_at_mut(n as usize);
        columns(shape, i, width, row);
        rest = others;
    }
    let vals = generate(total, |k| 2.0 * unit(mix(1_234_567 + k as u64)) - 1.0);
    Sparse { off, cols, vals, width }
}

fn scaled(shape: Shape, scale: usize) -> usize {
    let rows = match shape {
        Shape::Uniform => 2_000_000,
        Shape::Empty => 8_000_000,
        Shape::Banded | Shape::PowerLaw => 1_000_000,
    };
    rows / scale
}

/// The columns of the entries of row `i`, in order.
fn columns(shape: Shape, i: usize, width: usize, row: &mut [i32]) {
    let n = row.len();
    let random = |k: usize| mix(((i as u64) << 24) + k as u64);
    if shape == Shape::Banded {
        for (k, c) in row.iter_mut().enumerate() {
            let (a, b, e) = (k as i64 / 9 - 1, k as i64 / 3 % 3 - 1, k as i64 % 3 - 1);
            *c = (i as i64 + a * 10_000 + b * 100 + e).rem_euclid(width as i64) as i32;
        }
    } else if n <= 64 {
        row.iter_mut().enumerate().for_each(|(k, c)| *c = (((random(k) >> 32) * width as u64) >> 32) as i32);
    } else {
        let at = |k: usize| ((k as f64 + unit(random(k))) * width as f64 / n as f64) as i32;
        row.iter_mut().enumerate().for_each(|(k, c)| *c = at(k));
    }
    if n <= 64 {
        row.sort_unstable();
    }
}

/// Words of 4 to 15 letters and digits, each in a slot of 16 bytes filled up with zeros, and their lengths.
pub fn words(n: usize) -> (Vec<[u8; 16]>, Vec<u8>) {
    let letters = b"abcdefghijklmnopqrstuvwxyz0123456789";
    let seeds = |i: usize| (mix(5_000_000_000 + 2 * i as u64), mix(5_000_000_001 + 2 * i as u64));
    let slot = |i: usize| {
        let (a, mut b) = seeds(i);
        let (length, mut a) = (4 + (a % 12) as usize, a / 12);
        let mut slot = [0u8; 16];
        for (k, c) in slot.iter_mut().enumerate().take(length) {
            let r = if k < 8 { &mut a } else { &mut b };
            *c = letters[(*r % 36) as usize];
            *r /= 36;
        }
        slot
    };
    (generate(n, slot), generate(n, |i| 4 + (seeds(i).0 % 12) as u8))
}
