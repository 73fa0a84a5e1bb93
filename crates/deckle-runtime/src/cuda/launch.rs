//! Modules from PTX or from the driver's binaries, and launches of their functions.

#![allow(unsafe_code)] // Foreign functions.

use super::driver::{Driver, Handle, INPUT_PTX, function, jit};
use super::{Context, CudaError, DeviceBuffer, Stream};
use std::ffi::{CString, c_int, c_uint, c_void};
use std::fmt;
use std::sync::Arc;

/// Bytes for the messages of the driver's compiler.
const LOG: usize = 16 << 10;

/// Compiled PTX. Clones are handles to one and the same module.
#[derive(Clone)]
pub struct Module {
    shared: Arc<ModuleShared>,
}

struct ModuleShared {
    context: Context,
    handle: Handle,
}

// SAFETY: a module is a name for an object of the driver, which takes calls from any thread.
unsafe impl Send for ModuleShared {}
// SAFETY: as above.
unsafe impl Sync for ModuleShared {}

impl Drop for ModuleShared {
    fn drop(&mut self) {
        if let Ok(d) = self.context.enter() {
            // SAFETY: loaded once, unloaded once; functions hold the module.
            let _ = unsafe { (d.module_unload)(self.handle) };
        }
    }
}

/// What the driver's compiler prints, and the options that ask for it.
struct Log {
    text: Vec<u8>,
    options: [c_uint; 2],
    values: [*mut c_void; 2],
}

impl Log {
    fn new() -> Log {
        let mut text = vec![0u8; LOG];
        let options = [jit::ERROR_LOG_BUFFER, jit::ERROR_LOG_BUFFER_SIZE_BYTES];
        // A value is what the option asks for, as wide as a pointer: an address for the buffer, a number for its size.
        let values = [text.as_mut_ptr().cast(), std::ptr::without_provenance_mut(LOG)];
        Log { text, options, values }
    }

    /// The error of a call that was given the log.
    fn explain(&self, error: CudaError) -> CudaError {
        let end = self.text.iter().position(|&b| b == 0).unwrap_or(LOG);
        let log = String::from_utf8_lossy(&self.text[..end]).trim().to_string();
        match error {
            CudaError::Driver { name, message, .. } => {
                CudaError::Module { message: format!("{message} ({name})"), log }
            }
            other => other,
        }
    }
}

/// A link under way, which owns the binary that it makes.
struct Link<'d> {
    driver: &'d Driver,
    handle: Handle,
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        // SAFETY: created once, destroyed once.
        let _ = unsafe { (self.driver.link_destroy)(self.handle) };
    }
}

impl Context {
    /// Has the driver compile PTX text to a binary for this device, for [`Context::module`] of this or a later process.
    pub fn binary(&self, ptx: &str) -> Result<Vec<u8>, CudaError> {
        let text = CString::new(ptx).map_err(|_| CudaError::Invalid("PTX with a zero character in it".to_string()))?;
        let d = self.enter()?;
        let mut log = Log::new();
        let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: two options with two values, which live until the link is destroyed (`log` is declared before `link`); writes one handle.
        d.check("cuLinkCreate", unsafe { (d.link_create)(2, options, values, &mut handle) })?;
        let link = Link { driver: d, handle };
        let bytes = text.as_bytes_with_nul();
        let (none, nothing) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the text is as long as it says, ends in zero, and is only read; no options; the name is a static string.
        let status = unsafe {
            let data = bytes.as_ptr().cast_mut().cast();
            (d.link_add)(handle, INPUT_PTX, data, bytes.len(), c"deckle".as_ptr(), 0, none, nothing)
        };
        d.check("cuLinkAddData", status).map_err(|e| log.explain(e))?;
        let (mut image, mut size): (*mut c_void, usize) = (std::ptr::null_mut(), 0);
        // SAFETY: writes an address and a size.
        let status = unsafe { (d.link_complete)(handle, &mut image, &mut size) };
        d.check("cuLinkComplete", status).map_err(|e| log.explain(e))?;
        // SAFETY: the image has so many bytes and lives until the link is destroyed.
        let binary = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), size) }.to_vec();
        drop(link);
        Ok(binary)
    }

    /// Loads a binary that [`Context::binary`] made, or PTX text that ends in a zero.
    ///
    /// # Safety
    /// The driver trusts lengths inside the image: it was made by [`Context::binary`] and not changed, or is text that ends in a zero.
    pub unsafe fn module(&self, image: &[u8]) -> Result<Module, CudaError> {
        let d = self.enter()?;
        let mut log = Log::new();
        let mut handle: Handle = std::ptr::null_mut();
        let (options, values) = (log.options.as_mut_ptr(), log.values.as_mut_ptr());
        // SAFETY: the image is whole, as the caller promises; there are two options with two values; the log is as long as it says.
        // The driver may write the length of the log to the second value.
        let status = unsafe { (d.module_load)(&mut handle, image.as_ptr().cast(), 2, options, values) };
        d.check("cuModuleLoadDataEx", status).map_err(|e| log.explain(e))?;
        Ok(Module { shared: Arc::new(ModuleShared { context: self.clone(), handle }) })
    }
}

impl Module {
    /// The kernel of a name.
    pub fn function(&self, name: &str) -> Result<Function, CudaError> {
        let d = self.shared.context.enter()?;
        let text = CString::new(name).map_err(|_| CudaError::Invalid("a name with a zero character".to_string()))?;
        let mut handle: Handle = std::ptr::null_mut();
        // SAFETY: writes one handle; the name ends in zero.
        let status = unsafe { (d.module_function)(&mut handle, self.shared.handle, text.as_ptr()) };
        d.check("cuModuleGetFunction", status)?;
        Ok(Function { module: self.clone(), handle })
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module({:?})", self.shared.handle)
    }
}

/// A kernel, with the module that it is of.
#[derive(Clone)]
pub struct Function {
    module: Module,
    handle: Handle,
}

// SAFETY: as for modules.
unsafe impl Send for Function {}
// SAFETY: as above.
unsafe impl Sync for Function {}

/// An argument of a kernel.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)] // The scalar variants are the types of parameters.
pub enum Arg<'a> {
    /// The address of device memory.
    Buffer(&'a DeviceBuffer),
    /// An address as a number, of the middle of a buffer for example.
    Address(u64),
    U8(u8),
    I8(i8),
    U16(u16),
    I16(i16),
    U32(u32),
    I32(i32),
    U64(u64),
    I64(i64),
    F32(f32),
    F64(f64),
}

impl Arg<'_> {
    /// The value's bytes from the lowest address on: what the driver reads, as many as the parameter has.
    fn slot(self) -> u64 {
        fn first<const N: usize>(bytes: [u8; N]) -> u64 {
            let mut slot = [0; 8];
            slot[..N].copy_from_slice(&bytes);
            u64::from_ne_bytes(slot)
        }
        match self {
            Arg::Buffer(b) => b.address(),
            Arg::Address(x) | Arg::U64(x) => x,
            Arg::U8(x) => first(x.to_ne_bytes()),
            Arg::I8(x) => first(x.to_ne_bytes()),
            Arg::U16(x) => first(x.to_ne_bytes()),
            Arg::I16(x) => first(x.to_ne_bytes()),
            Arg::U32(x) => first(x.to_ne_bytes()),
            Arg::I32(x) => first(x.to_ne_bytes()),
            Arg::I64(x) => x as u64,
            Arg::F32(x) => first(x.to_ne_bytes()),
            Arg::F64(x) => first(x.to_ne_bytes()),
        }
    }
}

impl Function {
    /// Allows launches with more dynamic shared memory than the 48 KiB that every device has.
    pub fn allow_shared(&self, bytes: u32) -> Result<(), CudaError> {
        let d = self.module.shared.context.enter()?;
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the handle is alive with its module.
        let status = unsafe { (d.function_set_attribute)(self.handle, function::MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes) };
        d.check("cuFuncSetAttribute", status)
    }

    /// Launches the kernel on a grid of blocks of threads, with bytes of dynamic shared memory. Returns at once; an empty grid is nothing to do.
    ///
    /// # Safety
    /// The arguments are as many and of the types that the kernel has, and with them it writes only to memory that may be
    /// written: nothing here knows what the kernel does.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        grid: [u32; 3],
        block: [u32; 3],
        shared_bytes: u32,
        args: &[Arg<'_>],
    ) -> Result<(), CudaError> {
        if grid.contains(&0) {
            return Ok(());
        }
        let d = self.module.shared.context.enter()?;
        let mut slots: Vec<u64> = args.iter().map(|a| a.slot()).collect();
        let mut places: Vec<*mut c_void> = slots.iter_mut().map(|s| std::ptr::from_mut(s).cast()).collect();
        let ([gx, gy, gz], [bx, by, bz]) = (grid, block);
        // SAFETY: one place for each parameter, each of 8 bytes (the caller's promise says as many as the kernel has);
        // the driver copies them before it returns.
        let status = unsafe {
            let (stream, extra) = (stream.handle, std::ptr::null_mut());
            (d.launch)(self.handle, gx, gy, gz, bx, by, bz, shared_bytes, stream, places.as_mut_ptr(), extra)
        };
        d.check("cuLaunchKernel", status)
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({:?})", self.handle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_lie_at_the_start_of_their_slot() {
        let bytes = |a: Arg<'_>| a.slot().to_ne_bytes();
        assert_eq!(bytes(Arg::U8(7))[0], 7);
        assert_eq!(bytes(Arg::I32(-2))[..4], (-2i32).to_ne_bytes());
        assert_eq!(bytes(Arg::F32(1.5))[..4], 1.5f32.to_ne_bytes());
        assert_eq!(bytes(Arg::F64(1.5)), 1.5f64.to_ne_bytes());
        assert_eq!(bytes(Arg::I64(-1)), [0xff; 8]);
    }
}
