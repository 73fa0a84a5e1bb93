//! The limits of this machine, measured next to the benchmarks: the bandwidth of reading and writing memory, and the throughput of multiplying
//! and adding floats.
#![allow(unsafe_code)] // Vector instructions take pointers.

use crate::case::{Bound, Stream};
use crate::measure::{measure, seconds};
use deckle_runtime::{Buffer, Pool, Team};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

/// The maximal number of bytes streamed: larger arrays are not slower.
const MOST: usize = 1 << 30;
/// The part of an array for a task: a multiple of the vector length.
const GRAIN: usize = 512;
const ROUNDS: usize = 2_000_000;

/// Limits, measured at first use.
#[derive(Default)]
pub struct Limits {
    streams: HashMap<(Stream, usize), f64>,
    fma: HashMap<usize, f64>,
}

impl Limits {
    /// The minimal seconds of a program on a team, and the reason.
    pub fn least(&mut self, bound: &Bound, team: &Team) -> Option<(f64, String)> {
        let mut least = None;
        if let Some(stream) = bound.stream {
            let speed = self.bandwidth(stream, bound.bytes, team);
            let name = format!("{stream:?}").to_lowercase();
            least = Some((bound.bytes / speed, format!("{name} {:.1} GB/s", speed / 1e9)));
        }
        if bound.fma > 0 {
            let peak = self.fma(bound.fma, team);
            let time = bound.ops / peak;
            if least.as_ref().is_none_or(|(t, _)| time > *t) {
                least = Some((time, format!("fma {:.1} Gflop/s", peak / 1e9)));
            }
        }
        least
    }

    /// Bytes per second, with arrays of this total size.
    pub fn bandwidth(&mut self, stream: Stream, bytes: f64, team: &Team) -> f64 {
        let bytes = (bytes as usize).clamp(1 << 20, MOST).next_power_of_two();
        *self.streams.entry((stream, bytes)).or_insert_with(|| stream_speed(stream, bytes, team))
    }

    /// Operations per second on floats of this size in bytes; a multiplication and an addition are two.
    pub fn fma(&mut self, float: usize, team: &Team) -> f64 {
        *self.fma.entry(float).or_insert_with(|| fma_speed(float, team))
    }
}

fn stream_speed(stream: Stream, bytes: usize, team: &Team) -> f64 {
    let arrays = match stream {
        Stream::Read => 1,
        Stream::Update => 2,
        Stream::Triad => 3,
    };
    let n = bytes / 8 / arrays / GRAIN * GRAIN;
    let pool = Pool::new(None);
    let make = || -> Buffer {
        let mut b = pool.alloc(8 * n, "a stream").unwrap_or_else(|e| panic!("{e:?}"));
        b.get_mut::<f64>().unwrap_or_default().fill(1.0);
        b
    };
    let arrays: Vec<Buffer> = (0..arrays).map(|_| make()).collect();
    let start: Vec<usize> = arrays.iter().map(|b| b.as_ptr() as usize).collect();
    // The relevant traffic: an update in place reads two arrays and writes one.
    let traffic = 8.0 * n as f64 * if stream == Stream::Read { 1.0 } else { 3.0 };
    let best = |(streaming, parts): (bool, bool)| {
        let run = || {
            seconds(|| {
                divided(team, n / GRAIN, |lo, hi| {
                    let at = |k: usize| (start[k] as *mut f64).wrapping_add(lo * GRAIN);
                    let n = (hi - lo) * GRAIN;
                    // SAFETY: all arrays hold these elements, tasks have different ones, and the buffers outlive the run.
                    unsafe {
                        match stream {
                            Stream::Read => kernels::read(at(0), n, parts),
                            Stream::Update => kernels::update(at(0), at(1), n, parts),
                            Stream::Triad => kernels::triad(at(0), at(1), at(2), n, (streaming, parts)),
                        };
                    }
                })
            })
        };
        run();
        let repeat = ((64 << 20) / bytes).max(1);
        measure(|| Ok::<f64, ()>((0..repeat).map(|_| run()).sum::<f64>() / repeat as f64))
            .map_or(f64::NAN, |t| t.median())
    };
    // As one stream, and as several.
    let ways: &[(bool, bool)] = match stream {
        Stream::Triad => &[(false, false), (true, false), (true, true)],
        _ => &[(false, false), (false, true)],
    };
    traffic / ways.iter().map(|way| best(*way)).fold(f64::INFINITY, f64::min)
}

fn fma_speed(float: usize, team: &Team) -> f64 {
    let lanes = AtomicU64::new(0);
    let run = || {
        seconds(|| {
            divided(team, team.threads(), |_, _| {
                lanes.store(kernels::fma(float, ROUNDS) as u64, Ordering::Relaxed);
            })
        })
    };
    run();
    let time = measure(|| Ok::<f64, ()>(run())).map_or(f64::NAN, |t| t.median());
    let lanes = lanes.load(Ordering::Relaxed) as f64;
    2.0 * ROUNDS as f64 * lanes * team.threads() as f64 / time
}

/// Divides `n` items evenly: each thread has a contiguous part.
fn divided(team: &Team, n: usize, f: impl Fn(usize, usize) + Sync) {
    let threads = team.threads();
    let run = team.run(threads, &|task, _| f(n * task / threads, n * (task + 1) / threads));
    assert!(run.is_ok(), "interrupted");
}

#[cfg(target_arch = "x86_64")]
mod kernels {
    //! With the widest available vectors.
    use std::arch::x86_64::*;

    fn wide() -> bool {
        is_x86_feature_detected!("avx512f")
    }

    fn middle() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }

    /// The sum of elements, as several interleaved streams if `parts`, otherwise from one end to the other.
    pub unsafe fn read(a: *const f64, n: usize, parts: bool) {
        // SAFETY: the processor has the instructions, the caller has the elements.
        unsafe {
            match (wide(), parts) {
                (true, true) => read512::<4>(a, n),
                (true, false) => read512::<1>(a, n),
                _ => super::plain::read(a, n),
            }
        }
    }

    /// `a += q b`.
    pub unsafe fn update(a: *mut f64, b: *const f64, n: usize, parts: bool) {
        // SAFETY: as above.
        unsafe {
            match (wide(), parts) {
                (true, true) => update512::<4>(a, b, n),
                (true, false) => update512::<1>(a, b, n),
                _ => super::plain::update(a, b, n),
            }
        }
    }

    /// `a = b + q c`, with non-temporal stores if `streaming`.
    pub unsafe fn triad(a: *mut f64, b: *const f64, c: *const f64, n: usize, (streaming, parts): (bool, bool)) {
        // SAFETY: as above.
        unsafe {
            match (wide(), streaming, parts) {
                (true, true, true) => triad512::<true, 4>(a, b, c, n),
                (true, true, false) => triad512::<true, 1>(a, b, c, n),
                (true, false, _) => triad512::<false, 1>(a, b, c, n),
                _ => super::plain::triad(a, b, c, n),
            }
        }
    }

    /// Multiplies and adds; returns the number of lanes at once.
    pub fn fma(float: usize, rounds: usize) -> usize {
        // SAFETY: the processor has the instructions.
        unsafe {
            match (wide(), middle(), float) {
                (true, _, 4) => fma512_32(rounds),
                (true, ..) => fma512_64(rounds),
                (_, true, 4) => fma256_32(rounds),
                (_, true, _) => fma256_64(rounds),
                _ => super::plain::fma(rounds),
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn read512<const PARTS: usize>(a: *const f64, n: usize) {
        let mut sums = [_mm512_setzero_pd(); 8];
        let (part, vectors) = (n / PARTS, 8 / PARTS);
        for i in (0..part).step_by(8 * vectors) {
            for (k, s) in sums.iter_mut().enumerate() {
                let at = k / vectors * part + i + 8 * (k % vectors);
                // SAFETY: the caller has `n` elements, a multiple of 512.
                *s = _mm512_add_pd(*s, unsafe { _mm512_load_pd(a.add(at)) });
            }
        }
        std::hint::black_box(sums);
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn update512<const PARTS: usize>(a: *mut f64, b: *const f64, n: usize) {
        let (q, part) = (_mm512_set1_pd(1e-9), n / PARTS);
        for i in (0..part).step_by(8) {
            for i in (0..PARTS).map(|p| p * part + i) {
                // SAFETY: as above.
                unsafe {
                    _mm512_store_pd(a.add(i), _mm512_fmadd_pd(q, _mm512_load_pd(b.add(i)), _mm512_load_pd(a.add(i))))
                };
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn triad512<const STREAMING: bool, const PARTS: usize>(a: *mut f64, b: *const f64, c: *const f64, n: usize) {
        let (q, part) = (_mm512_set1_pd(3.0), n / PARTS);
        for i in (0..part).step_by(8) {
            for i in (0..PARTS).map(|p| p * part + i) {
                // SAFETY: as above.
                unsafe {
                    let x = _mm512_fmadd_pd(q, _mm512_load_pd(c.add(i)), _mm512_load_pd(b.add(i)));
                    if STREAMING { _mm512_stream_pd(a.add(i), x) } else { _mm512_store_pd(a.add(i), x) }
                }
            }
        }
        _mm_sfence();
    }

    macro_rules! fma {
        ($name:ident, $features:literal, $set:ident, $fmadd:ident, $lanes:literal) => {
            #[target_feature(enable = $features)]
            fn $name(rounds: usize) -> usize {
                let (m, p) = ($set(0.999), $set(0.5));
                let mut r = [$set(1.0); 16];
                for _ in 0..rounds {
                    r.iter_mut().for_each(|x| *x = $fmadd(*x, m, p));
                }
                std::hint::black_box(r);
                16 * $lanes
            }
        };
    }
    fma!(fma512_32, "avx512f", _mm512_set1_ps, _mm512_fmadd_ps, 16);
    fma!(fma512_64, "avx512f", _mm512_set1_pd, _mm512_fmadd_pd, 8);
    fma!(fma256_32, "avx2,fma", _mm256_set1_ps, _mm256_fmadd_ps, 8);
    fma!(fma256_64, "avx2,fma", _mm256_set1_pd, _mm256_fmadd_pd, 4);
}

#[cfg(not(target_arch = "x86_64"))]
mod kernels {
    //! Plain loops, as the compiler translates them.

    /// The sum of elements.
    pub unsafe fn read(a: *const f64, n: usize, _parts: bool) {
        // SAFETY: the caller has the elements.
        unsafe { super::plain::read(a, n) }
    }

    /// `a += q b`.
    pub unsafe fn update(a: *mut f64, b: *const f64, n: usize, _parts: bool) {
        // SAFETY: as above.
        unsafe { super::plain::update(a, b, n) }
    }

    /// `a = b + q c`.
    pub unsafe fn triad(a: *mut f64, b: *const f64, c: *const f64, n: usize, _how: (bool, bool)) {
        // SAFETY: as above.
        unsafe { super::plain::triad(a, b, c, n) }
    }

    /// Multiplies and adds; returns the number of lanes at once.
    pub fn fma(_float: usize, rounds: usize) -> usize {
        super::plain::fma(rounds)
    }
}

mod plain {
    //! Loops that the compiler vectorises as well as it can.
    use std::slice::{from_raw_parts, from_raw_parts_mut};

    /// The sum of elements.
    pub unsafe fn read(a: *const f64, n: usize) {
        let mut sums = [0.0f64; 32];
        // SAFETY: the caller has the elements.
        for chunk in unsafe { from_raw_parts(a, n) }.chunks_exact(32) {
            sums.iter_mut().zip(chunk).for_each(|(s, x)| *s += x);
        }
        std::hint::black_box(sums);
    }

    /// `a += q b`.
    pub unsafe fn update(a: *mut f64, b: *const f64, n: usize) {
        // SAFETY: the caller has the elements, of two arrays.
        let (a, b) = unsafe { (from_raw_parts_mut(a, n), from_raw_parts(b, n)) };
        a.iter_mut().zip(b).for_each(|(a, b)| *a += 1e-9 * b);
    }

    /// `a = b + q c`.
    pub unsafe fn triad(a: *mut f64, b: *const f64, c: *const f64, n: usize) {
        // SAFETY: the caller has the elements, of three arrays.
        let (a, b, c) = unsafe { (from_raw_parts_mut(a, n), from_raw_parts(b, n), from_raw_parts(c, n)) };
        a.iter_mut().zip(b.iter().zip(c)).for_each(|(a, (b, c))| *a = b + 3.0 * c);
    }

    /// Multiplies and adds; returns the number of lanes at once.
    pub fn fma(rounds: usize) -> usize {
        let mut r = [1.0f64; 32];
        for _ in 0..rounds {
            r.iter_mut().for_each(|x| *x = *x * 0.999 + 0.5);
        }
        std::hint::black_box(r);
        32
    }
}
