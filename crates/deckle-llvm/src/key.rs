//! What an object depends on, as one hash: the name of a cache entry.
//!
//! Two compilations have the same key only if everything that could make their objects differ is equal: the text of the IR, the pipeline, the processor and its features,
//! the LLVM, and Deckle's version. The processor is described by what it reports (`cpuid`), from which LLVM derives its name and features, and the LLVM by its file
//! ([`library::identity`]); so a key can be made without opening LLVM.

use crate::compile::Pipeline;
use crate::library;
use crate::ptx::Gpu;
use std::fmt;

/// The name of a cache entry.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key(pub [u8; 32]);

/// Keeps these hashes apart from each other and from any other use of the hash function. The number changes with the form of an [`Object`](crate::object::Object).
const PURPOSE: &str = "deckle-llvm object cache, form 1";
/// The same of PTX.
const PTX: &str = "deckle-llvm PTX cache, form 1";
/// The same of what a driver's compiler makes of PTX.
const BINARY: &str = "deckle-llvm driver binary cache, form 1";

impl Key {
    /// The key of a compilation for this machine. None if it is not known which LLVM would do it.
    pub(crate) fn of(ir: &str, pipeline: &Pipeline) -> Option<Key> {
        let llvm = library::identity()?;
        Some(Key::from_parts(
            PURPOSE,
            &[
                env!("CARGO_PKG_VERSION").as_bytes(),
                llvm.as_bytes(),
                &processor()?,
                pipeline.as_str().as_bytes(),
                ir.as_bytes(),
            ],
        ))
    }

    /// The key of PTX for a GPU: this machine's processor does not matter. None if it is not known which LLVM would make it.
    pub(crate) fn of_ptx(ir: &str, gpu: &Gpu, pipeline: &Pipeline) -> Option<Key> {
        let llvm = library::identity()?;
        Some(Key::from_parts(
            PTX,
            &[
                env!("CARGO_PKG_VERSION").as_bytes(),
                llvm.as_bytes(),
                gpu.cpu.as_bytes(),
                gpu.features.as_bytes(),
                pipeline.as_str().as_bytes(),
                ir.as_bytes(),
            ],
        ))
    }

    /// The key of what a driver's compiler makes of PTX.
    pub(crate) fn of_binary(ptx: &str, gpu: &Gpu, driver: &str) -> Key {
        Key::from_parts(BINARY, &[driver.as_bytes(), gpu.cpu.as_bytes(), ptx.as_bytes()])
    }

    fn from_parts(purpose: &str, parts: &[&[u8]]) -> Key {
        let mut hasher = blake3::Hasher::new_derive_key(purpose);
        for part in parts {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Key(*hasher.finalize().as_bytes())
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|b| write!(f, "{b:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What the processor reports about itself: family, model and stepping, all feature bits, and the registers that the system saves.
#[cfg(target_arch = "x86_64")]
fn processor() -> Option<Vec<u8>> {
    use std::arch::x86_64::{__cpuid, __cpuid_count, CpuidResult};
    use std::sync::OnceLock;
    static PROCESSOR: OnceLock<Vec<u8>> = OnceLock::new();
    let ask = || {
        #[allow(unused_unsafe, unsafe_code)]
        // SAFETY: every processor of this architecture has the instruction.
        let (cpuid, count) = (|leaf| unsafe { __cpuid(leaf) }, |leaf, sub| unsafe { __cpuid_count(leaf, sub) });
        let (most, most_extended) = (cpuid(0).eax, cpuid(0x8000_0000).eax);
        let mut words = Vec::new();
        let mut add = |r: CpuidResult| words.extend([r.eax, r.ebx, r.ecx, r.edx]);
        add(cpuid(0));
        // The second word of leaf 1 says which core this thread happens to be on.
        add(CpuidResult { ebx: 0, ..cpuid(1) });
        for (leaf, sub) in [(7, 0), (7, 1), (7, 2), (0xd, 1), (0x19, 0), (0x1e, 1), (0x24, 0)] {
            if leaf <= most {
                // Words two and three of 0xd are sizes and masks that follow from what the process has switched on.
                let r = count(leaf, sub);
                add(if leaf == 0xd { CpuidResult { ebx: 0, ecx: 0, edx: 0, ..r } } else { r });
            }
        }
        for leaf in [0x8000_0001, 0x8000_0008, 0x8000_0021] {
            if leaf <= most_extended {
                add(cpuid(leaf));
            }
        }
        let detected = [
            std::arch::is_x86_feature_detected!("avx"),
            std::arch::is_x86_feature_detected!("avx2"),
            std::arch::is_x86_feature_detected!("avx512f"),
        ];
        words.iter().flat_map(|w| w.to_le_bytes()).chain(detected.map(u8::from)).collect()
    };
    Some(PROCESSOR.get_or_init(ask).clone())
}

/// What LLVM says of the processor. Here objects are linked by LLVM anyway, so it may as well be opened.
#[cfg(not(target_arch = "x86_64"))]
fn processor() -> Option<Vec<u8>> {
    let host = crate::compile::host(library::open().ok()?);
    Some(format!("{} {}", host.cpu, host.features).into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_and_every_boundary_counts() {
        let key = Key::from_parts(PURPOSE, &[b"ab", b"c"]);
        assert_eq!(key, Key::from_parts(PURPOSE, &[b"ab", b"c"]));
        assert_ne!(key, Key::from_parts(PURPOSE, &[b"a", b"bc"]));
        assert_ne!(key, Key::from_parts(PURPOSE, &[b"ab", b"d"]));
        assert_ne!(key, Key::from_parts(BINARY, &[b"ab", b"c"]));
        assert_eq!(key.to_string().len(), 64);
    }

    #[test]
    fn binaries_belong_to_a_gpu_and_a_driver() {
        let key = |ptx, minor, driver| Key::of_binary(ptx, &Gpu::new(8, minor), driver);
        assert_eq!(key("x", 0, "12.4"), key("x", 0, "12.4"));
        assert!(
            [key("y", 0, "12.4"), key("x", 6, "12.4"), key("x", 0, "12.5")].iter().all(|k| *k != key("x", 0, "12.4"))
        );
    }

    #[test]
    fn the_processor_answers_the_same_every_time_and_on_every_thread() {
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(processor)).collect();
        let here = processor();
        assert!(threads.into_iter().all(|t| t.join().unwrap() == here));
    }

    #[test]
    fn pipelines_have_keys_of_their_own() {
        if library::expected().is_ok() && library::identity().is_some() {
            assert_ne!(Key::of("x", &Pipeline::O3), Key::of("x", &Pipeline::O2));
            assert_ne!(Key::of("x", &Pipeline::O3), Key::of("y", &Pipeline::O3));
        }
    }
}
