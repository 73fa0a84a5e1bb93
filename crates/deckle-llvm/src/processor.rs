//! What is known of this processor: whether its gather instructions are worth using, and whether it multiplies and adds in one instruction.
//!
//! On some processors a gather takes several times as long as the loads that it stands for: on older ones, and on those whose microcode closes a leak
//! (Gather Data Sampling, 2023). Schedules differ with that, and with them the bits of float sums. So it is looked up by what the processor says that it is, and
//! never measured: all runs on a machine agree, and find the same code in the cache.
//!
//! `DECKLE_GATHERS=native` or `DECKLE_GATHERS=emulated` in the environment decides otherwise.

use deckle_ir::loops::Gathers;
use std::sync::OnceLock;

/// What is used on this machine.
pub fn gathers_here() -> Gathers {
    static HERE: OnceLock<Gathers> = OnceLock::new();
    *HERE.get_or_init(|| match std::env::var("DECKLE_GATHERS").as_deref() {
        Ok("native") => Gathers::Native,
        Ok("emulated") => Gathers::Emulated,
        _ => of_this_processor(),
    })
}

/// Whether this processor has an instruction that multiplies and adds floats and rounds once: those of x86-64 from 2013 on, and all of AArch64.
pub fn fuses_here() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("fma");
    #[cfg(not(target_arch = "x86_64"))]
    return cfg!(target_arch = "aarch64");
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_processor() -> Gathers {
    Gathers::Emulated
}

#[cfg(target_arch = "x86_64")]
fn of_this_processor() -> Gathers {
    if !std::arch::is_x86_feature_detected!("avx2") {
        return Gathers::Emulated;
    }
    let (vendor, family, model) = processor();
    of_processor(&vendor, family, model)
}

/// The vendor, the family and the model of this processor.
#[cfg(target_arch = "x86_64")]
pub(crate) fn processor() -> (Vec<u8>, u32, u32) {
    use std::arch::x86_64::__cpuid;
    #[allow(unused_unsafe, unsafe_code)]
    // SAFETY: every processor of this architecture has the instruction.
    let (vendor, version) = unsafe { (__cpuid(0), __cpuid(1).eax) };
    let vendor = [vendor.ebx, vendor.edx, vendor.ecx].iter().flat_map(|w| w.to_le_bytes()).collect();
    let (family, model) = family_and_model(version);
    (vendor, family, model)
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
const SLOW: [u32; 24] = [
    0x3c, 0x3f, 0x45, 0x46, // Haswell
    0x3d, 0x47, 0x4f, 0x56, // Broadwell
    0x4e, 0x5e, 0x55, // Skylake, Cascade Lake, Cooper Lake
    0x8e, 0x9e, 0xa5, 0xa6, // Kaby Lake, Coffee Lake, Comet Lake
    0x66, // Cannon Lake
    0x6a, 0x6c, 0x7d, 0x7e, 0x9d, // Ice Lake
    0x8c, 0x8d, // Tiger Lake
    0xa7, // Rocket Lake
];

/// Whether gathers are worth using on a processor with AVX2. Those of AMD up to Zen 5 are microcoded; Intel's after those of the list are not known to be slow; of
/// others nothing is known.
#[cfg(any(target_arch = "x86_64", test))]
fn of_processor(vendor: &[u8], family: u32, model: u32) -> Gathers {
    match (vendor, family) {
        (b"GenuineIntel", 6) if SLOW.contains(&model) => Gathers::Emulated,
        (b"GenuineIntel", _) => Gathers::Native,
        _ => Gathers::Emulated,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_told_apart() {
        // Skylake, Ice Lake, Sapphire Rapids, Granite Rapids; Zen 2, Zen 4.
        let known = [(0x506e3, 6, 0x5e), (0x606a6, 6, 0x6a), (0x806f8, 6, 0x8f), (0xa06d1, 6, 0xad)];
        for (version, family, model) in known.into_iter().chain([(0x870f10, 0x17, 0x71), (0xa60f12, 0x19, 0x61)]) {
            assert_eq!(family_and_model(version), (family, model), "{version:x}");
        }
        let of = |vendor: &str, family, model| of_processor(vendor.as_bytes(), family, model);
        assert_eq!([0x5e, 0x6a].map(|model| of("GenuineIntel", 6, model)), [Gathers::Emulated; 2]);
        assert_eq!([0x8f, 0xad].map(|model| of("GenuineIntel", 6, model)), [Gathers::Native; 2]);
        assert_eq!(of("AuthenticAMD", 0x19, 0x61), Gathers::Emulated);
    }

    #[test]
    fn every_question_has_the_same_answer() {
        assert!((0..100).all(|_| gathers_here() == gathers_here()));
        assert!((0..100).all(|_| of_this_processor() == of_this_processor()));
    }
}
