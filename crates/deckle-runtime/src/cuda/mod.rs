//! The CUDA driver, opened at run time: devices, memory, modules from PTX, launches. No toolkit is needed.
//!
//! # Contexts
//!
//! A device's *primary* context is used, the one that the CUDA runtime library uses too, so memory can be shared with other
//! libraries in the process. The driver keeps a current context per thread; every call here makes its own context current on the
//! calling thread first. All handles can be used from any thread.
//!
//! # Order
//!
//! Everything goes to the default stream: launches and copies happen in the order of the calls. A launch returns before the kernel has run; copies out and
//! [`Context::synchronize`] wait for it, and are also where a kernel's fault (an address out of range) is reported. After such a fault
//! the driver refuses everything else in the context.
//!
//! # Lifetimes
//!
//! Modules, functions and memory hold their context, the context holds the driver. What is dropped is freed; freeing memory waits for
//! the kernels that may be using it.

#![allow(unsafe_code)] // Foreign functions and device memory.

mod driver;
mod launch;

pub use launch::{Arg, Function, Module};

use crate::buffer::Plain;
use driver::{DeviceHandle, DevicePtr, Driver, Handle, attribute};
use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::sync::Arc;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaError {
    /// No driver or no device: the program can run elsewhere. Says why.
    Unavailable(String),
    /// The driver refused a call.
    Driver {
        /// The driver's function.
        call: &'static str,
        /// `CUresult`
        status: i32,
        /// `CUDA_ERROR_OUT_OF_MEMORY`, for example.
        name: String,
        /// The driver's description.
        message: String,
    },
    /// PTX that the driver's compiler refused, with its log.
    Module {
        /// The driver's error in words.
        message: String,
        /// What its compiler printed.
        log: String,
    },
    /// A range outside of an allocation, or a launch that cannot be.
    Invalid(String),
}

impl std::error::Error for CudaError {}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CudaError::Unavailable(why) => write!(f, "no GPU can be used: {why}"),
            CudaError::Driver { call, name, message, .. } => write!(f, "{call} failed: {message} ({name})"),
            CudaError::Module { message, log } if log.is_empty() => write!(f, "the driver refused the PTX: {message}"),
            CudaError::Module { message, log } => write!(f, "the driver refused the PTX: {message}\n{log}"),
            CudaError::Invalid(what) => f.write_str(what),
        }
    }
}

/// The driver.
#[derive(Clone)]
pub struct Cuda {
    driver: Arc<Driver>,
}

/// What is known of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceInfo {
    /// The number to ask for it by.
    pub ordinal: usize,
    /// The vendor's name.
    pub name: String,
    /// The compute capability: `(9, 0)` is `sm_90`.
    pub compute_capability: (u32, u32),
    /// Bytes of device memory.
    pub memory: u64,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// The most threads of a block.
    pub max_threads_per_block: u32,
    /// The most bytes of shared memory of a block, when asked for with [`Function::allow_shared`].
    pub max_shared_per_block: u32,
    /// Lanes of a warp.
    pub warp_size: u32,
}

impl DeviceInfo {
    /// The target's name: `sm_90`.
    pub fn sm(&self) -> String {
        format!("sm_{}{}", self.compute_capability.0, self.compute_capability.1)
    }
}

impl Cuda {
    /// Opens the driver; [`CudaError::Unavailable`] says why there is none.
    pub fn open() -> Result<Cuda, CudaError> {
        Ok(Cuda { driver: Arc::new(Driver::open()?) })
    }

    /// The newest CUDA version that the driver supports: `(12, 4)`.
    pub fn version(&self) -> Result<(u32, u32), CudaError> {
        let mut version: c_int = 0;
        // SAFETY: writes one int.
        self.driver.check("cuDriverGetVersion", unsafe { (self.driver.driver_version)(&mut version) })?;
        Ok((version as u32 / 1000, version as u32 % 1000 / 10))
    }

    /// All devices.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>, CudaError> {
        let mut count: c_int = 0;
        // SAFETY: writes one int.
        self.driver.check("cuDeviceGetCount", unsafe { (self.driver.device_count)(&mut count) })?;
        (0..count.max(0) as usize).map(|ordinal| self.device(ordinal)).collect()
    }

    fn handle(&self, ordinal: usize) -> Result<DeviceHandle, CudaError> {
        let number = c_int::try_from(ordinal).unwrap_or(c_int::MAX);
        let mut device: DeviceHandle = 0;
        // SAFETY: writes one handle.
        self.driver.check("cuDeviceGet", unsafe { (self.driver.device_get)(&mut device, number) })?;
        Ok(device)
    }

    fn device(&self, ordinal: usize) -> Result<DeviceInfo, CudaError> {
        let d = &self.driver;
        let device = self.handle(ordinal)?;
        let mut name: [c_char; 256] = [0; 256];
        // SAFETY: writes at most as many characters as it is told, a zero among them.
        d.check("cuDeviceGetName", unsafe { (d.device_name)(name.as_mut_ptr(), name.len() as c_int, device) })?;
        name[name.len() - 1] = 0;
        // SAFETY: there is a zero at the end at the latest.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let mut memory = 0usize;
        // SAFETY: writes one size.
        d.check("cuDeviceTotalMem", unsafe { (d.device_total_mem)(&mut memory, device) })?;
        let get = |which: c_int| {
            let mut value: c_int = 0;
            // SAFETY: writes one int.
            d.check("cuDeviceGetAttribute", unsafe { (d.device_attribute)(&mut value, which, device) })?;
            Ok::<u32, CudaError>(value.max(0) as u32)
        };
        Ok(DeviceInfo {
            ordinal,
            name,
            compute_capability: (get(attribute::COMPUTE_CAPABILITY_MAJOR)?, get(attribute::COMPUTE_CAPABILITY_MINOR)?),
            memory: memory as u64,
            multiprocessors: get(attribute::MULTIPROCESSOR_COUNT)?,
            max_threads_per_block: get(attribute::MAX_THREADS_PER_BLOCK)?,
            max_shared_per_block: get(attribute::MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            warp_size: get(attribute::WARP_SIZE)?,
        })
    }

    /// The primary context of a device.
    pub fn context(&self, ordinal: usize) -> Result<Context, CudaError> {
        let info = self.device(ordinal)?;
        let device = self.handle(ordinal)?;
        let mut handle: Handle = std::ptr::null_mut();
        let d = &self.driver;
        // SAFETY: writes one handle; it is released when the last owner of the context is dropped.
        d.check("cuDevicePrimaryCtxRetain", unsafe { (d.primary_retain)(&mut handle, device) })?;
        Ok(Context { shared: Arc::new(ContextShared { driver: self.driver.clone(), device, handle, info }) })
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Cuda")
    }
}

/// A device, ready for work. Clones are handles to one and the same context.
#[derive(Clone)]
pub struct Context {
    shared: Arc<ContextShared>,
}

struct ContextShared {
    driver: Arc<Driver>,
    device: DeviceHandle,
    handle: Handle,
    info: DeviceInfo,
}

// SAFETY: the driver's functions may be called from any thread; handles are plain names for its objects.
unsafe impl Send for ContextShared {}
// SAFETY: as above.
unsafe impl Sync for ContextShared {}

impl Drop for ContextShared {
    fn drop(&mut self) {
        // The process may be past the driver's own end; there is nobody to tell.
        // SAFETY: retained once in `Cuda::context`.
        let _ = unsafe { (self.driver.primary_release)(self.device) };
    }
}

impl Context {
    /// The device.
    pub fn info(&self) -> &DeviceInfo {
        &self.shared.info
    }

    /// The driver, with this context current on the calling thread.
    fn enter(&self) -> Result<&Driver, CudaError> {
        let d = &*self.shared.driver;
        let mut current: Handle = std::ptr::null_mut();
        // SAFETY: writes one handle.
        d.check("cuCtxGetCurrent", unsafe { (d.ctx_get_current)(&mut current) })?;
        if current != self.shared.handle {
            // SAFETY: the context is retained for as long as `self` lives.
            d.check("cuCtxSetCurrent", unsafe { (d.ctx_set_current)(self.shared.handle) })?;
        }
        Ok(d)
    }

    /// Waits for everything that was launched, and reports its faults.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        let d = self.enter()?;
        // SAFETY: no arguments.
        d.check("cuCtxSynchronize", unsafe { (d.ctx_synchronize)() })
    }

    /// Free and total bytes of device memory.
    pub fn memory(&self) -> Result<(u64, u64), CudaError> {
        let d = self.enter()?;
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: writes two sizes.
        d.check("cuMemGetInfo", unsafe { (d.mem_info)(&mut free, &mut total) })?;
        Ok((free as u64, total as u64))
    }

    /// Device memory of `bytes`, with 64 more that can be read, as on the host; contents are unspecified.
    pub fn alloc(&self, bytes: usize) -> Result<DeviceBuffer, CudaError> {
        let d = self.enter()?;
        let mut start: DevicePtr = 0;
        // Never zero bytes: the driver refuses them.
        let padded = bytes.saturating_add(crate::block::PADDING);
        // SAFETY: writes one device address.
        d.check("cuMemAlloc", unsafe { (d.mem_alloc)(&mut start, padded) })?;
        Ok(DeviceBuffer { context: self.clone(), start, bytes })
    }

    /// Device memory with the given elements.
    pub fn alloc_from<T: Plain>(&self, elements: &[T]) -> Result<DeviceBuffer, CudaError> {
        let mut buffer = self.alloc(size_of_val(elements))?;
        buffer.copy_in(0, elements)?;
        Ok(buffer)
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.shared.info.name)
    }
}

/// Memory of a device.
pub struct DeviceBuffer {
    context: Context,
    start: DevicePtr,
    bytes: usize,
}

impl DeviceBuffer {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The device's address of the first byte.
    pub fn address(&self) -> u64 {
        self.start
    }

    fn range(&self, offset: usize, bytes: usize) -> Result<DevicePtr, CudaError> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.start + offset as u64),
            _ => {
                let what = format!("{bytes} bytes at {offset} are not within {} bytes of device memory", self.bytes);
                Err(CudaError::Invalid(what))
            }
        }
    }

    /// Copies elements to the place that begins `offset` bytes from the start.
    pub fn copy_in<T: Plain>(&mut self, offset: usize, elements: &[T]) -> Result<(), CudaError> {
        let bytes = size_of_val(elements);
        let to = self.range(offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let d = self.context.enter()?;
        // SAFETY: reads as many bytes as the slice has, writes within the allocation, and returns when it no longer needs
        // the slice.
        d.check("cuMemcpyHtoD", unsafe { (d.copy_in)(to, elements.as_ptr().cast(), bytes) })
    }

    /// Copies elements from the place that begins `offset` bytes from the start. Waits for what was launched before.
    pub fn copy_out<T: Plain>(&self, offset: usize, elements: &mut [T]) -> Result<(), CudaError> {
        let bytes = size_of_val(elements);
        let from = self.range(offset, bytes)?;
        if bytes == 0 {
            return Ok(());
        }
        let d = self.context.enter()?;
        // SAFETY: writes as many bytes as the slice has, any of which are a `T`; returns when they are written.
        d.check("cuMemcpyDtoH", unsafe { (d.copy_out)(elements.as_mut_ptr().cast(), from, bytes) })
    }

    /// Sets every byte.
    pub fn fill(&mut self, byte: u8) -> Result<(), CudaError> {
        let d = self.context.enter()?;
        // SAFETY: within the allocation.
        d.check("cuMemsetD8", unsafe { (d.memset)(self.start, byte, self.bytes.max(1)) })
    }
}

impl Drop for DeviceBuffer {
    fn drop(&mut self) {
        if let Ok(d) = self.context.enter() {
            // SAFETY: allocated once, freed once. The driver waits for kernels in flight.
            let _ = unsafe { (d.mem_free)(self.start) };
        }
    }
}

impl fmt::Debug for DeviceBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({} bytes)", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "opens a library")]
    fn without_a_driver_the_reason_is_given() {
        match Cuda::open() {
            Err(e @ CudaError::Unavailable(_)) => assert!(e.to_string().starts_with("no GPU can be used: "), "{e}"),
            Err(e) => panic!("not a reason to run elsewhere: {e}"),
            // A machine with a GPU.
            Ok(cuda) => assert!(cuda.devices().is_ok()),
        }
    }

    #[test]
    fn errors_say_what_the_driver_says() {
        let error = CudaError::Driver {
            call: "cuMemAlloc",
            status: 2,
            name: "CUDA_ERROR_OUT_OF_MEMORY".into(),
            message: "out of memory".into(),
        };
        assert_eq!(error.to_string(), "cuMemAlloc failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
        let error = CudaError::Module { message: "a PTX JIT compilation failed".into(), log: "line 3: syntax".into() };
        assert_eq!(error.to_string(), "the driver refused the PTX: a PTX JIT compilation failed\nline 3: syntax");
    }
}
