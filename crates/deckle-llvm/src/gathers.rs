//! Whether the gather instructions of this processor are worth using.
//!
//! On some machines (older processors, and newer ones whose microcode closes a leak) a gather takes ten times as long as the loads it
//! stands for. Nothing says so but a clock, so one is used, once in a process and for some microseconds.
#![allow(unsafe_code)] // Instructions that not every processor has, behind a test for them.

use std::sync::OnceLock;

/// How lanes with an index each are loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathers {
    /// By the instruction for it.
    Native,
    /// By one load for each lane.
    Emulated,
}

impl Gathers {
    /// What is faster on this machine.
    pub fn measured() -> Gathers {
        static MEASURED: OnceLock<Gathers> = OnceLock::new();
        *MEASURED.get_or_init(measure)
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn measure() -> Gathers {
    Gathers::Emulated
}

#[cfg(target_arch = "x86_64")]
fn measure() -> Gathers {
    if !std::arch::is_x86_feature_detected!("avx512f") {
        return Gathers::Emulated;
    }
    // A gather of eight that takes more than sixteen dependent loads would is a slow one.
    let (mut gathered, mut loaded) = (u64::MAX, u64::MAX);
    for _ in 0..4 {
        // SAFETY: the processor has AVX-512.
        let (g, l) = unsafe { (x86::gathers(), x86::loads()) };
        (gathered, loaded) = (gathered.min(g), loaded.min(l));
    }
    if gathered > 4 * loaded { Gathers::Emulated } else { Gathers::Native }
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_set_epi32, _mm512_i32gather_epi64, _mm512_reduce_or_epi64, _mm512_set1_epi64, _rdtsc,
    };
    use std::hint::black_box;

    const ROUNDS: usize = 64;
    static NUMBERS: [i64; 64] = [0; 64];

    /// How long some gathers of eight take.
    #[target_feature(enable = "avx512f,avx512dq,avx2")]
    pub(super) fn gathers() -> u64 {
        let numbers = black_box(NUMBERS.as_ptr());
        let at = black_box(_mm256_set_epi32(7, 14, 21, 28, 35, 42, 49, 56));
        // SAFETY: it only reads a clock.
        let start = unsafe { _rdtsc() };
        let mut all = _mm512_set1_epi64(0);
        for _ in 0..ROUNDS {
            // SAFETY: the indices are below 64.
            let some = unsafe { _mm512_i32gather_epi64::<8>(black_box(at), numbers.cast()) };
            all = std::arch::x86_64::_mm512_or_epi64(all, some);
        }
        black_box(_mm512_reduce_or_epi64(all));
        // SAFETY: it only reads a clock.
        unsafe { _rdtsc() - start }
    }

    /// How long as many loads take, with as many additions.
    #[target_feature(enable = "avx512f,avx512dq,avx2")]
    pub(super) fn loads() -> u64 {
        let numbers = black_box(&NUMBERS);
        // SAFETY: it only reads a clock.
        let start = unsafe { _rdtsc() };
        let mut all = 0;
        for _ in 0..ROUNDS {
            for at in [7, 14, 21, 28, 35, 42, 49, 56] {
                all |= numbers[black_box(at)];
            }
        }
        black_box(all);
        // SAFETY: it only reads a clock.
        unsafe { _rdtsc() - start }
    }
}
