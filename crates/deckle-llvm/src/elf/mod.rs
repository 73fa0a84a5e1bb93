//! A linker for the objects that LLVM writes for x86-64 Linux: a relocatable ELF file becomes code in this process.
//!
//! It exists to reduce start-up time: a cached object is callable in under 0.1 ms, whereas opening LLVM and starting its own linker takes 11 ms
//! (see [`code`](crate::code)). It is deliberately minimal:
//!
//! 1. [`mod@file`]: the tables of the file, every offset and length checked; a file from a cache is not trusted to be well-formed.
//! 2. [`layout`]: the offset of each section. Code, constants and data are in one mapping, so that each reaches the others within 32 bits.
//! 3. [`relocate`]: relocations are applied. External symbols are accessed through a table of addresses, and called through a stub.
//! 4. [`memory`]: the mapping; code is made executable, constants read-only, and nothing is ever writable and executable at once.
//!
//! Unsupported features (thread-local data, constructors, indirect functions, unknown relocations) are an error, and the caller uses LLVM's linker instead.
//! Unwinding tables are omitted: nothing may unwind through compiled code.

mod file;
mod layout;
mod memory;
mod relocate;

use std::collections::HashMap;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Linked code; freed when dropped.
pub(crate) struct Image {
    symbols: HashMap<String, u64>,
    _memory: memory::Mapping,
}

impl Image {
    /// The address of a global symbol that the object defines.
    pub(crate) fn symbol(&self, name: &str) -> Option<NonNull<c_void>> {
        NonNull::new(*self.symbols.get(name)? as usize as *mut c_void)
    }
}

/// Links an object.
pub(crate) fn link(bytes: &[u8]) -> Result<Image, String> {
    let file = file::File::read(bytes)?;
    let plan = layout::Layout::plan(&file)?;
    let mut mapping = memory::Mapping::new(plan.size)?;
    let base = mapping.address();
    for (section, place) in file.sections.iter().zip(&plan.places) {
        if let Some(offset) = *place {
            let data = section.data;
            mapping.bytes()[offset..offset + data.len()].copy_from_slice(data);
        }
    }
    let symbols = relocate::relocate(&file, &plan, base, mapping.bytes(), &memory::external)?;
    mapping.protect(&plan.code, memory::Access::Execute)?;
    mapping.protect(&plan.constants, memory::Access::Read)?;
    Ok(Image { symbols, _memory: mapping })
}

#[cfg(test)]
mod tests;
