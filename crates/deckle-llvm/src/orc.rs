//! Linking with LLVM's ORC: for objects that Deckle's own linker rejects.
//!
//! There is one `LLJIT` in the process. Every object gets a dylib of its own, so that equal names do not conflict; undefined names are looked up in the process
//! (`memcpy`, `fmod`). LLVM's C API cannot remove a dylib, so a cleared one is reused for the next object.

#![allow(unsafe_code)]

use crate::ffi::{Orc, Ref, SearchFor, SearchIn, SymbolPair};
use crate::library::{self, Llvm};
use crate::module::{Buffer, take_error};
use crate::object::Object;
use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};

/// ORC's state.
struct Session {
    llvm: &'static Llvm,
    orc: Orc,
    jit: Ref,
    session: Ref,
    /// Empty dylibs, for reuse.
    free: Mutex<Vec<Raw>>,
}

/// A dylib's address.
struct Raw(Ref);

// SAFETY: ORC locks its session in every function that is called here.
unsafe impl Send for Raw {}
// SAFETY: as above; the fields are set once.
unsafe impl Send for Session {}
// SAFETY: as above.
unsafe impl Sync for Session {}

/// The dylib of one object; cleared and returned when dropped.
pub(crate) struct Dylib {
    session: &'static Session,
    raw: Ref,
}

fn session() -> Result<&'static Session, String> {
    static SESSION: OnceLock<Result<Session, String>> = OnceLock::new();
    SESSION.get_or_init(Session::start).as_ref().map_err(Clone::clone)
}

impl Session {
    fn start() -> Result<Session, String> {
        let llvm = library::open().map_err(|e| e.to_string())?;
        let orc = Orc::load(&llvm.library)?;
        llvm.make_global();
        let mut jit = ptr::null_mut();
        // SAFETY: null requests the defaults; the session belongs to the LLJIT, which is never disposed.
        let session = unsafe {
            take_error(&llvm.api, (orc.LLVMOrcCreateLLJIT)(&mut jit, ptr::null_mut()))?;
            let session = (orc.LLVMOrcLLJITGetExecutionSession)(jit);
            (orc.LLVMOrcExecutionSessionSetErrorReporter)(session, on_error, (&raw const llvm.api).cast_mut().cast());
            session
        };
        Ok(Session { llvm, orc, jit, session, free: Mutex::new(Vec::new()) })
    }

    fn dylib(&'static self) -> Result<Dylib, String> {
        if let Some(raw) = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(Dylib { session: self, raw: raw.0 });
        }
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let name = format!("deckle.{}\0", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut process = ptr::null_mut();
        // SAFETY: the name is new and null-terminated; the dylib takes ownership of the generator.
        unsafe {
            let prefix = (self.orc.LLVMOrcLLJITGetGlobalPrefix)(self.jit);
            let (none, none_too) = (ptr::null_mut(), ptr::null_mut());
            let generator =
                (self.orc.LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess)(&mut process, prefix, none, none_too);
            take_error(&self.llvm.api, generator)?;
            let raw = (self.orc.LLVMOrcExecutionSessionCreateBareJITDylib)(self.session, name.as_ptr().cast());
            (self.orc.LLVMOrcJITDylibAddGenerator)(raw, process);
            Ok(Dylib { session: self, raw })
        }
    }
}

/// The error that ORC reported separately: a failed look-up returns only the failure, this is the reason.
static REPORTED: Mutex<Vec<String>> = Mutex::new(Vec::new());

extern "C" fn on_error(api: *mut c_void, error: Ref) {
    // SAFETY: `api` is that of the library, which lives as long as the process.
    let api = unsafe { &*api.cast_const().cast() };
    if let Err(text) = take_error(api, error) {
        REPORTED.lock().unwrap_or_else(PoisonError::into_inner).push(text);
    }
}

/// Links an object and finds its functions.
pub(crate) fn link(object: &Object) -> Result<(Dylib, HashMap<String, NonNull<c_void>>), String> {
    let dylib = session()?.dylib()?;
    let session = dylib.session;
    let buffer = Buffer::copy(&session.llvm.api, &object.bytes, c"deckle.o").into_raw();
    // SAFETY: ORC takes ownership of the buffer, even on failure.
    let added = unsafe { (session.orc.LLVMOrcLLJITAddObjectFile)(session.jit, dylib.raw, buffer) };
    take_error(&session.llvm.api, added)?;
    let find = |name: &String| Ok((name.clone(), dylib.find(name)?));
    let functions = object.functions.iter().map(find).collect::<Result<_, String>>()?;
    Ok((dylib, functions))
}

type Answer = mpsc::Sender<Result<u64, Ref>>;

extern "C" fn on_found(error: Ref, pairs: *const SymbolPair, count: usize, answer: *mut c_void) {
    // SAFETY: it is the box that `find` passed, and this is called once.
    let answer = unsafe { Box::from_raw(answer.cast::<Answer>()) };
    // SAFETY: without an error, one name was requested and one pair is returned.
    let found = if error.is_null() && count == 1 { Ok(unsafe { (*pairs).address }) } else { Err(error) };
    let _ = answer.send(found);
}

/// `LLVMOrcLookupKindStatic`.
const STATIC: c_int = 0;
/// `LLVMOrcJITDylibLookupFlagsMatchExportedSymbolsOnly`, and `LLVMOrcSymbolLookupFlagsRequiredSymbol`.
const DEFAULT: c_int = 0;

impl Dylib {
    fn find(&self, name: &str) -> Result<NonNull<c_void>, String> {
        let Session { llvm, orc, jit, session, .. } = self.session;
        let c_name = CString::new(name).map_err(|_| format!("a zero byte in {name:?}"))?;
        let (send, receive) = mpsc::channel();
        let answer: Box<Answer> = Box::new(send);
        // SAFETY: both arrays have one element and are read during the call; the look-up takes ownership of the interned name.
        unsafe {
            let search_in = SearchIn { dylib: self.raw, flags: DEFAULT };
            let search_for =
                SearchFor { name: (orc.LLVMOrcLLJITMangleAndIntern)(*jit, c_name.as_ptr()), flags: DEFAULT };
            let answer = Box::into_raw(answer).cast();
            (orc.LLVMOrcExecutionSessionLookup)(*session, STATIC, &search_in, 1, &search_for, 1, on_found, answer);
        }
        let missing = || format!("`{name}` was not found");
        match receive.recv() {
            Ok(Ok(address)) => NonNull::new(address as usize as *mut c_void).ok_or_else(missing),
            Ok(Err(error)) => {
                let mut texts = std::mem::take(&mut *REPORTED.lock().unwrap_or_else(PoisonError::into_inner));
                texts.push(take_error(&llvm.api, error).err().unwrap_or_else(missing));
                Err(texts.join("; "))
            }
            Err(_) => Err(missing()),
        }
    }
}

// SAFETY: ORC locks its session in every function that is called here.
unsafe impl Send for Dylib {}
// SAFETY: as above.
unsafe impl Sync for Dylib {}

impl Drop for Dylib {
    fn drop(&mut self) {
        // SAFETY: this dylib has no other user.
        let cleared = unsafe { (self.session.orc.LLVMOrcJITDylibClear)(self.raw) };
        if take_error(&self.session.llvm.api, cleared).is_ok() {
            self.session.free.lock().unwrap_or_else(PoisonError::into_inner).push(Raw(self.raw));
        }
    }
}
