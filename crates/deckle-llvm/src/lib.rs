//! LLVM, opened at run time: compiles textual IR to callable code, or to PTX.
//!
//! ```no_run
//! use deckle_llvm::{Compiler, Pipeline};
//!
//! let ir = "define i64 @add(i64 %a, i64 %b) { %c = add i64 %a, %b ret i64 %c }";
//! let code = Compiler::host()?.load(ir, Pipeline::O3)?;
//! let add = code.symbol("add").unwrap();
//! // SAFETY: this is the type that the IR gives it, and `code` is alive.
//! let add: extern "C" fn(i64, i64) -> i64 = unsafe { std::mem::transmute(add) };
//! assert_eq!(add(2, 3), 5);
//! # Ok::<(), deckle_llvm::Error>(())
//! ```
//!
//! There is nothing to install and nothing to link: every Rust toolchain contains a libLLVM. Only [`emit`] knows an IR of Deckle's own.
//!
//! | module | purpose |
//! |---|---|
//! | `search`, `library`, `ffi` | find libLLVM, open it once, and hold the functions of its C API |
//! | `worker`, `module`, `compile`, `ptx` | threads for LLVM, owners of its objects, text to object, assembly and PTX |
//! | `object`, `code`, `elf`, `orc` | an object, code in memory, and the two linkers that load one as the other |
//! | `key`, `memory`, `disk` | the inputs that determine an object, and the two caches |
//! | `processor`, `stores` | whether gather instructions are fast here, whether there are fused multiply-adds, and whether stores should be made in whole cache lines |
//! | [`emit`] | loop IR to textual LLVM IR |
//! | `compiler` | [`Compiler`], which combines these |

mod code;
mod compile;
mod compiler;
mod disk;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod elf;
pub mod emit;
mod error;
mod ffi;
mod key;
mod library;
mod memory;
mod module;
mod object;
mod orc;
mod processor;
mod ptx;
mod search;
mod worker;

pub use code::{Code, Linker};
pub use compile::Pipeline;
pub use compiler::{Compiler, Description, Loaded, Origin};
pub use disk::{CacheStats, DiskCache};
pub use error::{Error, Refusal, Stage, Unavailable};
pub use processor::{fuses_here, gathers_here, stores_here};
pub use ptx::Gpu;
