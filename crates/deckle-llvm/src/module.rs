//! Owners of LLVM's objects: each is freed once, by its wrapper, and cannot be used after that.
//!
//! A [`Module`] owns its [`Context`](Module#structfield.context), so compilations share nothing, and any number may run at once.

#![allow(unsafe_code)]

use crate::error::Stage;
use crate::ffi::{Api, Ref};
use crate::worker;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;
use std::rc::Rc;

/// LLVM's message, and the step.
pub(crate) type Fault = (Stage, String);

/// A message that LLVM allocated, copied and freed.
pub(crate) fn take_message(api: &Api, message: *mut c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    // SAFETY: LLVM returns a C string that `LLVMDisposeMessage` frees.
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        (api.LLVMDisposeMessage)(message);
        text
    }
}

/// The text of an `LLVMErrorRef`, which is consumed; null is no error.
pub(crate) fn take_error(api: &Api, error: Ref) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: `LLVMGetErrorMessage` consumes the error, and its string is freed by its own function.
    unsafe {
        let message = (api.LLVMGetErrorMessage)(error);
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        (api.LLVMDisposeErrorMessage)(message);
        Err(text)
    }
}

/// A memory buffer of LLVM.
pub(crate) struct Buffer<'a> {
    api: &'a Api,
    raw: Ref,
}

impl<'a> Buffer<'a> {
    /// A copy of `bytes`. LLVM requires a terminating null, which this adds.
    pub(crate) fn copy(api: &'a Api, bytes: &[u8], name: &CStr) -> Buffer<'a> {
        // SAFETY: the bytes are copied during the call.
        let raw = unsafe {
            (api.LLVMCreateMemoryBufferWithMemoryRangeCopy)(bytes.as_ptr().cast(), bytes.len(), name.as_ptr())
        };
        Buffer { api, raw }
    }

    /// Passes the buffer to a function that takes ownership.
    pub(crate) fn into_raw(self) -> Ref {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: start and size describe memory that lives as long as the buffer.
        unsafe {
            let start = (self.api.LLVMGetBufferStart)(self.raw).cast();
            std::slice::from_raw_parts(start, (self.api.LLVMGetBufferSize)(self.raw))
        }
    }
}

impl Drop for Buffer<'_> {
    fn drop(&mut self) {
        // SAFETY: `raw` is owned.
        unsafe { (self.api.LLVMDisposeMemoryBuffer)(self.raw) }
    }
}

/// A target machine: a processor with its features, and the options of code generation.
pub(crate) struct Machine<'a> {
    api: &'a Api,
    raw: Ref,
}

/// The parameters of a machine.
pub(crate) struct Target<'a> {
    pub triple: &'a str,
    pub cpu: &'a str,
    pub features: &'a str,
    /// 0 to 3.
    pub level: c_int,
}

const RELOC_PIC: c_int = 2;
const CODE_MODEL_SMALL: c_int = 3;

impl<'a> Machine<'a> {
    pub(crate) fn new(api: &'a Api, target: &Target<'_>) -> Result<Machine<'a>, Fault> {
        worker::enter(Stage::Target);
        let c = |text: &str| CString::new(text).map_err(|_| (Stage::Target, format!("a zero byte in {text:?}")));
        let (triple, cpu, features) = (c(target.triple)?, c(target.cpu)?, c(target.features)?);
        let (mut found, mut message) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: all strings are null-terminated; the outputs are written.
        let raw = unsafe {
            if (api.LLVMGetTargetFromTriple)(triple.as_ptr(), &mut found, &mut message) != 0 {
                return Err((Stage::Target, take_message(api, message)));
            }
            let (triple, cpu, features) = (triple.as_ptr(), cpu.as_ptr(), features.as_ptr());
            (api.LLVMCreateTargetMachine)(found, triple, cpu, features, target.level, RELOC_PIC, CODE_MODEL_SMALL)
        };
        if raw.is_null() {
            return Err((Stage::Target, format!("no machine for {} {}", target.triple, target.cpu)));
        }
        Ok(Machine { api, raw })
    }

    /// The data layout string.
    pub(crate) fn layout(&self) -> String {
        // SAFETY: the data layout is freed after its text was copied.
        unsafe {
            let data = (self.api.LLVMCreateTargetDataLayout)(self.raw);
            let text = take_message(self.api, (self.api.LLVMCopyStringRepOfTargetData)(data));
            (self.api.LLVMDisposeTargetData)(data);
            text
        }
    }
}

impl Drop for Machine<'_> {
    fn drop(&mut self) {
        // SAFETY: `raw` is owned.
        unsafe { (self.api.LLVMDisposeTargetMachine)(self.raw) }
    }
}

/// The output format of a module.
#[derive(Clone, Copy)]
pub(crate) enum Emit {
    Assembly = 0,
    Object = 1,
}

/// A module in a context of its own.
pub(crate) struct Module<'a> {
    api: &'a Api,
    raw: Ref,
    context: Ref,
    /// Errors that LLVM reported to the context's handler, which points here; reference-counted, because both own it.
    told: Rc<Told<'a>>,
}

struct Told<'a> {
    api: &'a Api,
    errors: RefCell<Vec<String>>,
}

/// `LLVMDSError`.
const SEVERITY_ERROR: c_int = 0;

extern "C" fn on_diagnostic(info: Ref, told: *mut c_void) {
    // SAFETY: `told` belongs to the module whose context calls, on the one thread that uses it.
    let told = unsafe { &*told.cast_const().cast::<Told<'_>>() };
    // SAFETY: `info` lives during the call.
    unsafe {
        if (told.api.LLVMGetDiagInfoSeverity)(info) == SEVERITY_ERROR {
            let text = take_message(told.api, (told.api.LLVMGetDiagInfoDescription)(info));
            told.errors.borrow_mut().push(text);
        }
    }
}

impl<'a> Module<'a> {
    /// Parses and verifies a text.
    pub(crate) fn parse(api: &'a Api, ir: &str) -> Result<Module<'a>, Fault> {
        worker::enter(Stage::Parse);
        let told = Rc::new(Told { api, errors: RefCell::default() });
        // SAFETY: a new context; `told` outlives it, as the module disposes the context before its fields are dropped.
        let context = unsafe {
            let context = (api.LLVMContextCreate)();
            (api.LLVMContextSetDiagnosticHandler)(context, on_diagnostic, Rc::as_ptr(&told).cast_mut().cast());
            context
        };
        let mut module = Module { api, raw: ptr::null_mut(), context, told };
        let mut message = ptr::null_mut();
        let buffer = Buffer::copy(api, ir.as_bytes(), c"deckle.ll").into_raw();
        // SAFETY: the parser takes ownership of the buffer, even on failure.
        if unsafe { (api.LLVMParseIRInContext)(context, buffer, &mut module.raw, &mut message) } != 0 {
            module.raw = ptr::null_mut();
            return Err((Stage::Parse, module.with_told(take_message(api, message))));
        }
        worker::enter(Stage::Verify);
        let mut message = ptr::null_mut();
        // SAFETY: the module is valid; the message is ours in both cases.
        let broken = unsafe { (api.LLVMVerifyModule)(module.raw, RETURN_STATUS, &mut message) } != 0;
        let message = take_message(api, message);
        if broken { Err((Stage::Verify, module.with_told(message))) } else { Ok(module) }
    }

    /// Runs a pipeline of passes, in the syntax of `opt -passes=`.
    pub(crate) fn optimise(&self, machine: &Machine<'_>, passes: &str) -> Result<(), Fault> {
        worker::enter(Stage::Optimise);
        let api = self.api;
        let text = CString::new(passes).map_err(|_| (Stage::Optimise, "a zero byte in the pipeline".to_string()))?;
        // SAFETY: module, machine and options are valid; the options are freed after their use.
        let error = unsafe {
            let options = (api.LLVMCreatePassBuilderOptions)();
            (api.LLVMPassBuilderOptionsSetLoopVectorization)(options, 1);
            (api.LLVMPassBuilderOptionsSetLoopInterleaving)(options, 1);
            (api.LLVMPassBuilderOptionsSetLoopUnrolling)(options, 1);
            // Off by default, although clang has it on.
            (api.LLVMPassBuilderOptionsSetSLPVectorization)(options, 1);
            let error = (api.LLVMRunPasses)(self.raw, text.as_ptr(), machine.raw, options);
            (api.LLVMDisposePassBuilderOptions)(options);
            error
        };
        take_error(api, error).map_err(|e| (Stage::Optimise, e))?;
        self.check_told(Stage::Optimise)
    }

    /// Writes machine code or assembly, or PTX. The module must not be used afterwards.
    pub(crate) fn emit(self, machine: &Machine<'_>, kind: Emit) -> Result<Vec<u8>, Fault> {
        worker::enter(Stage::Emit);
        let api = self.api;
        let (mut message, mut buffer) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: module and machine are valid; on success the buffer is ours.
        let failed = unsafe {
            (api.LLVMTargetMachineEmitToMemoryBuffer)(machine.raw, self.raw, kind as c_int, &mut message, &mut buffer)
                != 0
        };
        if failed {
            return Err((Stage::Emit, self.with_told(take_message(api, message))));
        }
        let buffer = Buffer { api, raw: buffer };
        self.check_told(Stage::Emit)?;
        Ok(buffer.bytes().to_vec())
    }

    /// The names of the functions that it defines with external linkage.
    pub(crate) fn functions(&self) -> Vec<String> {
        let mut names = Vec::new();
        // SAFETY: the list ends in null; the length of a name is the one that LLVM returns.
        unsafe {
            let mut function = (self.api.LLVMGetFirstFunction)(self.raw);
            while !function.is_null() {
                let external = (self.api.LLVMGetLinkage)(function) == LINKAGE_EXTERNAL;
                if external && (self.api.LLVMIsDeclaration)(function) == 0 {
                    let mut length = 0;
                    let start = (self.api.LLVMGetValueName2)(function, &mut length).cast();
                    let name = std::slice::from_raw_parts(start, length);
                    names.push(String::from_utf8_lossy(name).into_owned());
                }
                function = (self.api.LLVMGetNextFunction)(function);
            }
        }
        names
    }

    /// The module as text.
    pub(crate) fn text(&self) -> String {
        // SAFETY: the module is valid and the string ours.
        take_message(self.api, unsafe { (self.api.LLVMPrintModuleToString)(self.raw) })
    }

    /// A message together with the errors reported to the handler.
    fn with_told(&self, message: String) -> String {
        let told = self.told.errors.take();
        let parts = std::iter::once(message).chain(told).filter(|t| !t.is_empty());
        parts.collect::<Vec<_>>().join("\n")
    }

    fn check_told(&self, stage: Stage) -> Result<(), Fault> {
        if self.told.errors.borrow().is_empty() { Ok(()) } else { Err((stage, self.with_told(String::new()))) }
    }
}

/// `LLVMReturnStatusAction`.
const RETURN_STATUS: c_int = 2;
/// `LLVMExternalLinkage`.
const LINKAGE_EXTERNAL: c_int = 0;

impl Drop for Module<'_> {
    fn drop(&mut self) {
        // SAFETY: both are owned; the module is disposed before its context.
        unsafe {
            if !self.raw.is_null() {
                (self.api.LLVMDisposeModule)(self.raw);
            }
            (self.api.LLVMContextDispose)(self.context);
        }
    }
}
