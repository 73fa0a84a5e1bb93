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
//! Launches and copies go to a [`Stream`], and happen in the order in which they were enqueued. All of these calls return at once; an [`Event`] of the stream says
//! when they are done, and is also where a kernel's fault (an address out of range) is reported. After such a fault the driver refuses everything else in the
//! context.
//!
//! # Lifetimes
//!
//! Modules, functions, streams, events and memory hold their context, the context holds the driver. What is dropped is freed; freeing memory waits for
//! the kernels that may be using it.

#![allow(unsafe_code)] // Foreign functions and device memory.

mod driver;
mod launch;
mod memory;
mod stream;

pub use launch::{Arg, Function, Module};
pub use memory::{DeviceBuffer, Pinned};
pub use stream::{Event, Stream};

use driver::{DeviceHandle, Driver, Handle, attribute, status};
use std::ffi::{CStr, c_char, c_int};
use std::fmt;
use std::sync::Arc;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CudaError {
    /// No driver or no device: the program can run elsewhere.
    Unavailable(Missing),
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

/// Why no GPU can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The driver's library, of this name, cannot be opened.
    Driver(&'static str),
    /// The driver is too old: it has no function of this name.
    Function(&'static str),
    /// The driver does not start. Says why.
    Start(String),
    /// There is no device.
    Device,
    /// There is no device of this number.
    Number {
        /// The number.
        asked: usize,
        /// How many devices there are.
        devices: usize,
    },
    /// The device is older than what kernels are compiled for.
    Capability {
        /// Its name.
        name: String,
        /// Its compute capability.
        has: (u32, u32),
    },
}

/// The least compute capability that kernels are compiled for: from here on the threads of a warp are scheduled on their own, as barriers and shuffles rely on.
pub const LEAST_CAPABILITY: (u32, u32) = (7, 0);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Missing::Driver(name) => write!(f, "there is no NVIDIA driver ({name} cannot be opened)"),
            Missing::Function(name) => write!(f, "the NVIDIA driver is too old: it has no function {name}"),
            Missing::Start(why) => write!(f, "the NVIDIA driver does not start: {why}"),
            Missing::Device => f.write_str("the NVIDIA driver finds no device"),
            Missing::Number { asked, devices: 1 } => write!(f, "there is no device {asked}: the only one is device 0"),
            Missing::Number { asked, devices } => {
                write!(f, "there is no device {asked}: there are {devices}, from 0 to {}", devices.saturating_sub(1))
            }
            Missing::Capability { name, has: (major, minor) } => {
                let (a, b) = LEAST_CAPABILITY;
                write!(f, "{name} has compute capability {major}.{minor}, and {a}.{b} is the least that is supported")
            }
        }
    }
}

impl CudaError {
    /// Whether the device has no memory left.
    pub fn is_out_of_memory(&self) -> bool {
        matches!(self, CudaError::Driver { status: status::OUT_OF_MEMORY, .. })
    }

    /// Whether the device does not work any more.
    pub fn is_of_device(&self) -> bool {
        matches!(self, CudaError::Driver { status, .. } if status::DEVICE.contains(status))
    }

    /// Whether a kernel did what it must not: used an address out of range, for example.
    pub fn is_of_kernel(&self) -> bool {
        matches!(self, CudaError::Driver { status, .. } if status::KERNEL.contains(status))
    }
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
        self.driver.version()
    }

    /// All devices.
    pub fn devices(&self) -> Result<Vec<DeviceInfo>, CudaError> {
        (0..self.count()?).map(|ordinal| self.device(ordinal)).collect()
    }

    fn count(&self) -> Result<usize, CudaError> {
        let mut count: c_int = 0;
        // SAFETY: writes one int.
        self.driver.check("cuDeviceGetCount", unsafe { (self.driver.device_count)(&mut count) })?;
        Ok(count.max(0) as usize)
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

    /// The primary context of a device that kernels can be compiled for.
    pub fn context(&self, ordinal: usize) -> Result<Context, CudaError> {
        match self.count()? {
            0 => return Err(CudaError::Unavailable(Missing::Device)),
            devices if ordinal >= devices => {
                return Err(CudaError::Unavailable(Missing::Number { asked: ordinal, devices }));
            }
            _ => {}
        }
        let info = self.device(ordinal)?;
        if info.compute_capability < LEAST_CAPABILITY {
            return Err(CudaError::Unavailable(Missing::Capability { name: info.name, has: info.compute_capability }));
        }
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

    /// The newest CUDA version that the driver supports, as [`Cuda::version`].
    pub fn driver_version(&self) -> Result<(u32, u32), CudaError> {
        self.shared.driver.version()
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
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({})", self.shared.info.name)
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
    fn what_is_missing_is_said_in_words() {
        let said = |missing: Missing| CudaError::Unavailable(missing).to_string();
        assert_eq!(
            said(Missing::Function("cuStreamCreate")),
            "no GPU can be used: the NVIDIA driver is too old: it has no function cuStreamCreate"
        );
        assert_eq!(
            said(Missing::Number { asked: 3, devices: 2 }),
            "no GPU can be used: there is no device 3: there are 2, from 0 to 1"
        );
        let old = Missing::Capability { name: "GeForce GTX 1080".into(), has: (6, 1) };
        let expected =
            "no GPU can be used: GeForce GTX 1080 has compute capability 6.1, and 7.0 is the least that is supported";
        assert_eq!(said(old), expected);
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
