//! What tests cannot do without.

use deckle_llvm::{Compiler, DiskCache};

/// A compiler with the cache on disk, or without.
///
/// # Panics
/// Where no LLVM is found: a test that needs one fails, and says what to install.
pub fn compiler(disk: Option<DiskCache>) -> Compiler {
    let compiler = Compiler::with_cache(disk);
    let found = compiler.and_then(|c| c.describe().map(|_| c));
    found.unwrap_or_else(|e| panic!("this test needs LLVM: {e}"))
}
