//! Callable code in memory.
//!
//! Two linkers load it. Deckle's own ([`elf`](crate::elf)) accepts ELF objects for x86-64 and needs no LLVM; it is tried first if it exists. LLVM's ORC
//! ([`orc`](crate::orc)) handles the rest: other processors and systems, and relocations that ours does not know.
//!
//! Reasons for two. Measured in fresh processes with LLVM 22, the library in the page cache, one kernel: opening LLVM 8.6 ms, starting ORC 1.8 ms, linking 0.7 ms.
//! Ours links the same object in under 0.1 ms, so a program whose objects are cached starts without any of this. `cargo run --release --example timings` measures it again.

#![allow(unsafe_code)]

use crate::object::Object;
use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Functions in executable memory. Dropping it frees the memory: a pointer returned by [`symbol`](Code::symbol) must not be used after that.
pub struct Code {
    functions: HashMap<String, NonNull<c_void>>,
    bytes: usize,
    linker: Linker,
    /// Dropped last: the memory of the functions.
    _memory: Memory,
}

/// The linker of a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linker {
    /// Deckle's own, for ELF on x86-64.
    Own,
    /// LLVM's ORC.
    Orc,
}

/// Stored for its `Drop`.
#[allow(dead_code)]
enum Memory {
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    Own(crate::elf::Image),
    Orc(crate::orc::Dylib),
}

// SAFETY: code and constants in memory do not change and belong to no thread. Concurrent calls that access shared data are the responsibility of the caller,
// who needs `unsafe` to call it.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Code {
    /// The address of a function that the IR defined with external linkage.
    pub fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        self.functions.get(name).copied()
    }

    /// The names of all such functions, in no order.
    pub fn symbols(&self) -> impl Iterator<Item = &str> {
        self.functions.keys().map(String::as_str)
    }

    /// The size of the object that it was linked from.
    pub fn object_bytes(&self) -> usize {
        self.bytes
    }

    /// Who linked it.
    pub fn linker(&self) -> Linker {
        self.linker
    }

    /// Links an object with the best linker that can.
    pub(crate) fn link(object: &Object) -> Result<Code, String> {
        #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
        return Code::link_own(object).or_else(|own| Code::link_orc(object).map_err(|orc| format!("{own}; {orc}")));
        #[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
        Code::link_orc(object)
    }

    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    pub(crate) fn link_own(object: &Object) -> Result<Code, String> {
        let image = crate::elf::link(&object.bytes)?;
        let address = |name: &String| {
            let found = image.symbol(name).ok_or_else(|| format!("the object does not define `{name}`"))?;
            Ok((name.clone(), found))
        };
        let functions = object.functions.iter().map(address).collect::<Result<_, String>>()?;
        Ok(Code { functions, bytes: object.bytes.len(), linker: Linker::Own, _memory: Memory::Own(image) })
    }

    pub(crate) fn link_orc(object: &Object) -> Result<Code, String> {
        let (dylib, functions) = crate::orc::link(object)?;
        Ok(Code { functions, bytes: object.bytes.len(), linker: Linker::Orc, _memory: Memory::Orc(dylib) })
    }
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Code").field("functions", &self.functions).field("linker", &self.linker).finish_non_exhaustive()
    }
}
