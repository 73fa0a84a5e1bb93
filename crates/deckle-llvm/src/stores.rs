//! Whether this processor stores vectors slowly that cross the end of a cache line.
//!
//! Rows of different lengths end anywhere, so most vectors that are stored for them cross the end of a line. On Emerald Rapids such stores to arrays that do not fit the caches wait for one
//! line after the other: prefix sums of 10 million rows with 160 million `f32` took 272 ms on one core, and 128 ms where the same results left in whole lines (a program in C). On
//! Cascade Lake both take as long. What a schedule does about it changes no bit of a result. As for [gathers](crate::processor), the processor is looked up and never measured.
//!
//! `DECKLE_STORES=lines` or `DECKLE_STORES=anywhere` in the environment decides otherwise.

use deckle_ir::loops::Stores;
use std::sync::OnceLock;

/// What holds on this machine.
pub fn stores_here() -> Stores {
    static HERE: OnceLock<Stores> = OnceLock::new();
    *HERE.get_or_init(|| match std::env::var("DECKLE_STORES").as_deref() {
        Ok("lines") => Stores::InLines,
        Ok("anywhere") => Stores::Anywhere,
        _ => of_this_processor(),
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn of_this_processor() -> Stores {
    Stores::Anywhere
}

#[cfg(target_arch = "x86_64")]
fn of_this_processor() -> Stores {
    let (vendor, family, model) = crate::processor::processor();
    of_processor(&vendor, family, model)
}

/// Processors of Intel, family 6, by model: Sapphire Rapids and Emerald Rapids, which have the same core.
#[cfg(any(target_arch = "x86_64", test))]
const SLOW: [u32; 2] = [0x8f, 0xcf];

#[cfg(any(target_arch = "x86_64", test))]
fn of_processor(vendor: &[u8], family: u32, model: u32) -> Stores {
    match (vendor, family) {
        (b"GenuineIntel", 6) if SLOW.contains(&model) => Stores::InLines,
        _ => Stores::Anywhere,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_told_apart() {
        let of = |vendor: &str, family, model| of_processor(vendor.as_bytes(), family, model);
        assert_eq!([0x8f, 0xcf].map(|model| of("GenuineIntel", 6, model)), [Stores::InLines; 2]);
        assert_eq!([0x55, 0x6a].map(|model| of("GenuineIntel", 6, model)), [Stores::Anywhere; 2]);
        assert_eq!(of("AuthenticAMD", 0x19, 0x61), Stores::Anywhere);
    }

    #[test]
    fn every_question_has_the_same_answer() {
        assert!((0..100).all(|_| stores_here() == stores_here()));
    }
}
