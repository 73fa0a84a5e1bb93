//! Properties of this processor: how it loads gathered elements, whether stores should be made in whole cache lines, and whether it has fused multiply-add instructions.
//!
//! - *Gathers.* On some processors a gather takes several times as long as the loads that it replaces: on older ones, and on those whose microcode mitigates a leak (Gather Data Sampling, 2023).
//!   Sums of gathered elements, as of a sparse matrix, are then scalars, unless vectors have masks (AVX-512): with vectors of 256 bits on Zen 3, products with real matrices took 1.4 to 1.6 times as
//!   long as with four sums round-robin.
//! - *Stores.* Rows of different lengths end anywhere, so most of their vector stores cross a cache line boundary. On Emerald Rapids such stores to arrays that do not fit the caches wait for
//!   one line after the other: prefix sums of 10 million rows with 160 million `f32` took 272 ms on one core, and 128 ms when the same results were stored in whole lines (a program in C). On Cascade
//!   Lake both take equally long.
//!
//! Schedules depend on both, and the bits of float sums on gathers. So they are derived from the model of the processor, and never measured: all runs on a machine agree, and
//! find the same code in the cache. The environment overrides them: `DECKLE_GATHERS=native`, `emulated` or `scalar`, `DECKLE_STORES=lines` or `anywhere`.

use deckle_ir::loops::{Gathers, Stores};
use std::sync::OnceLock;

/// How gathered elements are loaded on this machine.
pub fn gathers_here() -> Gathers {
    static HERE: OnceLock<Gathers> = OnceLock::new();
    *HERE.get_or_init(|| match std::env::var("DECKLE_GATHERS").as_deref() {
        Ok("native") => Gathers::Native,
        Ok("emulated") => Gathers::Emulated,
        Ok("scalar") => Gathers::Scalar,
        _ => this_processor().gathers,
    })
}

/// Whether stores are made in whole cache lines on this machine.
pub fn stores_here() -> Stores {
    static HERE: OnceLock<Stores> = OnceLock::new();
    *HERE.get_or_init(|| match std::env::var("DECKLE_STORES").as_deref() {
        Ok("lines") => Stores::InLines,
        Ok("anywhere") => Stores::Anywhere,
        _ => this_processor().stores,
    })
}

/// Whether this processor has fused multiply-add instructions for floats: x86-64 from 2013 on, and all of AArch64.
pub fn fuses_here() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return cfg!(target_arch = "aarch64");
}

/// The best choices for a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Best {
    gathers: Gathers,
    stores: Stores,
}

/// For unknown processors, if their vectors have masks.
const UNKNOWN: Best = Best { gathers: Gathers::Emulated, stores: Stores::Anywhere };

#[cfg(not(target_arch = "x86_64"))]
fn this_processor() -> Best {
    Best { gathers: Gathers::Scalar, ..UNKNOWN }
}

#[cfg(target_arch = "x86_64")]
fn this_processor() -> Best {
    use std::arch::x86_64::__cpuid;
    #[allow(unused_unsafe, unsafe_code)]
    // SAFETY: every processor of this architecture has the instruction.
    let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
    let vendor: Vec<u8> = [vendor.ebx, vendor.edx, vendor.ecx].iter().flat_map(|w| w.to_le_bytes()).collect();
    let (family, model) = family_and_model(version);
    let best = best(&vendor, family, model);
    let masks = std::arch::is_x86_feature_detected!("avx512vl");
    match best.gathers {
        Gathers::Native if std::arch::is_x86_feature_detected!("avx2") => best,
        _ if masks => Best { gathers: Gathers::Emulated, ..best },
        _ => Best { gathers: Gathers::Scalar, ..best },
    }
}

/// The family and the model in the first word of leaf 1 of `cpuid`.
#[cfg(any(target_arch = "x86_64", test))]
fn family_and_model(version: u32) -> (u32, u32) {
    let (family, model) = (version >> 8 & 0xf, version >> 4 & 0xf);
    let family = if family == 0xf { family + (version >> 20 & 0xff) } else { family };
    (family, if family == 6 || family >= 0xf { model | (version >> 16 & 0xf) << 4 } else { model })
}

/// Processors of Intel, family 6, with AVX2 and slow gathers, by model.
#[cfg(any(target_arch = "x86_64", test))]
const SLOW_GATHERS: [u32; 24] = [
    0x3c, 0x3f, 0x45, 0x46, // Haswell
    0x3d, 0x47, 0x4f, 0x56, // Broadwell
    0x4e, 0x5e, 0x55, // Skylake, Cascade Lake, Cooper Lake
    0x8e, 0x9e, 0xa5, 0xa6, // Kaby Lake, Coffee Lake, Comet Lake
    0x66, // Cannon Lake
    0x6a, 0x6c, 0x7d, 0x7e, 0x9d, // Ice Lake
    0x8c, 0x8d, // Tiger Lake
    0xa7, // Rocket Lake
];

/// Processors of Intel, family 6, with slow stores across cache line boundaries, by model: Sapphire Rapids and Emerald Rapids, which have the same core.
#[cfg(any(target_arch = "x86_64", test))]
const SLOW_STORES: [u32; 2] = [0x8f, 0xcf];

/// Gathers of AMD's processors up to Zen 5 are microcoded; Intel's processors after those of the list are not known to have slow ones.
#[cfg(any(target_arch = "x86_64", test))]
fn best(vendor: &[u8], family: u32, model: u32) -> Best {
    if vendor != b"GenuineIntel" {
        return UNKNOWN;
    }
    let is_in = |list: &[u32]| family == 6 && list.contains(&model);
    Best {
        gathers: if is_in(&SLOW_GATHERS) { Gathers::Emulated } else { Gathers::Native },
        stores: if is_in(&SLOW_STORES) { Stores::InLines } else { Stores::Anywhere },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_distinguished() {
        // Skylake, Ice Lake, Sapphire Rapids, Granite Rapids; Zen 2, Zen 4.
        let known = [(0x506e3, 6, 0x5e), (0x606a6, 6, 0x6a), (0x806f8, 6, 0x8f), (0xa06d1, 6, 0xad)];
        for (version, family, model) in known.into_iter().chain([(0x870f10, 0x17, 0x71), (0xa60f12, 0x19, 0x61)]) {
            assert_eq!(family_and_model(version), (family, model), "{version:x}");
        }
        let intel = |model| best(b"GenuineIntel", 6, model);
        assert_eq!([0x55, 0x6a].map(intel), [UNKNOWN; 2]);
        assert_eq!([0x8f, 0xcf, 0xad].map(|model| intel(model).gathers), [Gathers::Native; 3]);
        let stores = [0x8f, 0xcf, 0xad].map(|model| intel(model).stores);
        assert_eq!(stores, [Stores::InLines, Stores::InLines, Stores::Anywhere]);
        assert_eq!(best(b"AuthenticAMD", 0x19, 0x61), UNKNOWN);
    }

    #[test]
    fn every_question_has_the_same_answer() {
        assert!((0..100).all(|_| (gathers_here(), stores_here()) == (gathers_here(), stores_here())));
        assert!((0..100).all(|_| this_processor() == this_processor()));
    }
}
