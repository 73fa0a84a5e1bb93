//! Whether the gather instructions of this processor are worth using.
//!
//! On some machines (older processors, and newer ones whose microcode closes a leak) a gather takes ten times as long as the loads it
//! stands for. Nothing says so but a clock, so one is used, once in a process and for some microseconds.
#![allow(unsafe_code)] // Instructions that not every processor has, behind a test for them.

use deckle_ir::loops::Gathers;
use std::sync::OnceLock;

/// What is faster on this machine.
pub fn measured_gathers() -> Gathers {
    static MEASURED: OnceLock<Gathers> = OnceLock::new();
    *MEASURED.get_or_init(measure)
}

#[cfg(not(target_arch = "x86_64"))]
fn measure() -> Gathers {
    Gathers::Emulated
}

#[cfg(target_arch = "x86_64")]
fn measure() -> Gathers {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return Gathers::Emulated;
    }
    let (mut gathered, mut loaded) = (u64::MAX, u64::MAX);
    for _ in 0..4 {
        // SAFETY: the processor has AVX2.
        let (g, l) = unsafe { (x86::gathers(), x86::loads()) };
        (gathered, loaded) = (gathered.min(g), loaded.min(l));
    }
    if gathered > loaded { Gathers::Emulated } else { Gathers::Native }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{_mm_set_epi32, _mm256_i32gather_epi64, _mm256_or_si256, _mm256_setzero_si256, _rdtsc};
    use std::hint::black_box;

    const ROUNDS: usize = 64;
    static NUMBERS: [i64; 64] = [0; 64];

    /// How long some gathers of four take.
    #[target_feature(enable = "avx2")]
    pub(super) fn gathers() -> u64 {
        let numbers = black_box(NUMBERS.as_ptr());
        let at = black_box(_mm_set_epi32(7, 21, 35, 49));
        // SAFETY: it only reads a clock.
        let start = unsafe { _rdtsc() };
        let mut all = _mm256_setzero_si256();
        for _ in 0..ROUNDS {
            // SAFETY: the indices are below 64.
            let some = unsafe { _mm256_i32gather_epi64::<8>(numbers, black_box(at)) };
            all = _mm256_or_si256(all, some);
        }
        black_box(all);
        // SAFETY: it only reads a clock.
        unsafe { _rdtsc() - start }
    }

    /// How long as many loads take, through an index in memory each: about twice as long as a good gather, and half as long as a bad one.
    #[target_feature(enable = "avx2")]
    pub(super) fn loads() -> u64 {
        let numbers = black_box(&NUMBERS);
        // SAFETY: it only reads a clock.
        let start = unsafe { _rdtsc() };
        let mut all = 0;
        for _ in 0..ROUNDS {
            for at in [7, 21, 35, 49] {
                all |= numbers[black_box(at)];
            }
        }
        black_box(all);
        // SAFETY: it only reads a clock.
        unsafe { _rdtsc() - start }
    }

    #[cfg(test)]
    #[test]
    fn clocks_run() {
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            let (gathered, loaded) = unsafe { (gathers(), loads()) };
            assert!(gathered > 0 && loaded > 0);
        }
    }
}
