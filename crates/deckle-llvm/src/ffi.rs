//! The functions of LLVM's C API that Deckle calls, as tables of pointers into the opened library.
//!
//! Only functions that are the same from version 16 on are used. A table is loaded completely or not at all, so that a missing function is not discovered in the middle of
//! a compilation. [`Api`] contains what every library must have; [`Orc`] is loaded when an object needs it; targets are initialised by name
//! ([`initialize`]), as libraries are built with different sets of them.
//!
//! Ownership is stated where it is not obvious; the wrappers in `module.rs` and `orc.rs` follow it.

#![allow(unsafe_code, non_snake_case)]

use libloading::Library;
use std::ffi::{c_char, c_int, c_uint, c_void};

/// An opaque object of LLVM.
pub(crate) type Ref = *mut c_void;
/// Called for a diagnostic with the diagnostic and the user pointer.
pub(crate) type OnDiagnostic = extern "C" fn(Ref, *mut c_void);
/// Called with the reason before LLVM ends the process.
pub(crate) type OnFatal = extern "C" fn(*const c_char);
/// Called when a look-up is done: error, found pairs, their number, and the user pointer.
pub(crate) type OnLookup = extern "C" fn(Ref, *const SymbolPair, usize, *mut c_void);
/// Called with the user pointer and an error that it owns.
pub(crate) type OnError = extern "C" fn(*mut c_void, Ref);

/// `LLVMOrcCSymbolMapPair`.
#[repr(C)]
pub(crate) struct SymbolPair {
    pub name: Ref,
    pub address: u64,
    pub flags: [u8; 2],
}

/// `LLVMOrcCJITDylibSearchOrderElement`.
#[repr(C)]
pub(crate) struct SearchIn {
    pub dylib: Ref,
    pub flags: c_int,
}

/// `LLVMOrcCLookupSetElement`.
#[repr(C)]
pub(crate) struct SearchFor {
    pub name: Ref,
    pub flags: c_int,
}

macro_rules! table {
    ($(#[$doc:meta])* $table:ident { $($name:ident($($ty:ty),*) $(-> $ret:ty)?;)* }) => {
        $(#[$doc])*
        pub(crate) struct $table { $(pub $name: unsafe extern "C" fn($($ty),*) $(-> $ret)?,)* }

        impl $table {
            /// All functions of the table, or the name of a missing one.
            pub(crate) fn load(library: &Library) -> Result<$table, String> {
                Ok($table { $($name: {
                    let name = concat!(stringify!($name), "\0");
                    // SAFETY: the type is that of the function of this name in the headers of LLVM 17 to 22.
                    let symbol = unsafe { library.get(name.as_bytes()) };
                    *symbol.map_err(|_| concat!("it has no ", stringify!($name)).to_string())?
                },)* })
            }
        }
    };
}

table! {
    /// Core, targets, passes.
    Api {
        LLVMDisposeMessage(*mut c_char);
        LLVMGetErrorMessage(Ref) -> *mut c_char;
        LLVMDisposeErrorMessage(*mut c_char);
        LLVMInstallFatalErrorHandler(OnFatal);
        LLVMContextCreate() -> Ref;
        LLVMContextDispose(Ref);
        LLVMContextSetDiagnosticHandler(Ref, OnDiagnostic, *mut c_void);
        LLVMGetDiagInfoDescription(Ref) -> *mut c_char;
        LLVMGetDiagInfoSeverity(Ref) -> c_int;
        LLVMCreateMemoryBufferWithMemoryRangeCopy(*const c_char, usize, *const c_char) -> Ref;
        LLVMDisposeMemoryBuffer(Ref);
        LLVMGetBufferStart(Ref) -> *const c_char;
        LLVMGetBufferSize(Ref) -> usize;
        LLVMParseIRInContext(Ref, Ref, *mut Ref, *mut *mut c_char) -> c_int;
        LLVMDisposeModule(Ref);
        LLVMVerifyModule(Ref, c_int, *mut *mut c_char) -> c_int;
        LLVMPrintModuleToString(Ref) -> *mut c_char;
        LLVMGetFirstFunction(Ref) -> Ref;
        LLVMGetNextFunction(Ref) -> Ref;
        LLVMIsDeclaration(Ref) -> c_int;
        LLVMGetLinkage(Ref) -> c_int;
        LLVMGetValueName2(Ref, *mut usize) -> *const c_char;
        LLVMGetDefaultTargetTriple() -> *mut c_char;
        LLVMGetHostCPUName() -> *mut c_char;
        LLVMGetHostCPUFeatures() -> *mut c_char;
        LLVMGetTargetFromTriple(*const c_char, *mut Ref, *mut *mut c_char) -> c_int;
        LLVMCreateTargetMachine(Ref, *const c_char, *const c_char, *const c_char, c_int, c_int, c_int) -> Ref;
        LLVMDisposeTargetMachine(Ref);
        LLVMCreateTargetDataLayout(Ref) -> Ref;
        LLVMCopyStringRepOfTargetData(Ref) -> *mut c_char;
        LLVMDisposeTargetData(Ref);
        LLVMTargetMachineEmitToMemoryBuffer(Ref, Ref, c_int, *mut *mut c_char, *mut Ref) -> c_int;
        LLVMCreatePassBuilderOptions() -> Ref;
        LLVMDisposePassBuilderOptions(Ref);
        LLVMPassBuilderOptionsSetLoopVectorization(Ref, c_int);
        LLVMPassBuilderOptionsSetLoopInterleaving(Ref, c_int);
        LLVMPassBuilderOptionsSetLoopUnrolling(Ref, c_int);
        LLVMPassBuilderOptionsSetSLPVectorization(Ref, c_int);
        LLVMRunPasses(Ref, *const c_char, Ref, Ref) -> Ref;
    }
}

table! {
    /// LLVM's own linker.
    Orc {
        LLVMOrcCreateLLJIT(*mut Ref, Ref) -> Ref;
        LLVMOrcLLJITGetExecutionSession(Ref) -> Ref;
        LLVMOrcLLJITGetGlobalPrefix(Ref) -> c_char;
        LLVMOrcLLJITMangleAndIntern(Ref, *const c_char) -> Ref;
        LLVMOrcLLJITAddObjectFile(Ref, Ref, Ref) -> Ref;
        LLVMOrcExecutionSessionSetErrorReporter(Ref, OnError, *mut c_void);
        LLVMOrcExecutionSessionCreateBareJITDylib(Ref, *const c_char) -> Ref;
        LLVMOrcExecutionSessionLookup(Ref, c_int, *const SearchIn, usize, *const SearchFor, usize, OnLookup, *mut c_void);
        LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(*mut Ref, c_char, *mut c_void, *mut c_void) -> Ref;
        LLVMOrcJITDylibAddGenerator(Ref, Ref);
        LLVMOrcJITDylibClear(Ref) -> Ref;
    }
}

/// The version of an opened library, if it has the function that returns it (from 16 on).
pub(crate) fn version(library: &Library) -> Option<(u32, u32, u32)> {
    // SAFETY: the type is that of the function of this name.
    let get =
        unsafe { library.get::<unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint)>(b"LLVMGetVersion\0") };
    let (mut major, mut minor, mut patch) = (0, 0, 0);
    // SAFETY: the function writes three numbers.
    unsafe { get.ok()?(&mut major, &mut minor, &mut patch) };
    Some((major, minor, patch))
}

/// Initialises a target, `X86` or `NVPTX` for example. False if the library was built without it.
pub(crate) fn initialize(library: &Library, target: &str) -> bool {
    let part = |name: &str| {
        let symbol = format!("LLVMInitialize{target}{name}\0");
        // SAFETY: all functions of such names take and return nothing.
        unsafe { library.get::<unsafe extern "C" fn()>(symbol.as_bytes()) }
    };
    let needed = ["TargetInfo", "Target", "TargetMC", "AsmPrinter"].map(part);
    if needed.iter().any(Result::is_err) {
        return false;
    }
    // Only inline assembly needs the parser, and NVPTX has none.
    for initialize in needed.into_iter().chain([part("AsmParser")]).flatten() {
        // SAFETY: they may be called in this order, and once per process; `library.rs` and `ptx.rs` ensure that.
        unsafe { initialize() };
    }
    true
}
