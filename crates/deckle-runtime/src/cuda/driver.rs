//! The functions of `libcuda.so.1` that are used, with the driver's own signatures.
//!
//! Names end in `_v2` where the header `cuda.h` renames them: the plain names of these are the interfaces of CUDA 3, with 32-bit sizes,
//! and still exported.

#![allow(unsafe_code)] // Foreign functions.

use super::{CudaError, Missing};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

/// `CUresult`: 0 is success.
pub type Status = c_int;
/// `CUdevice`.
pub type DeviceHandle = c_int;
/// `CUcontext`, `CUmodule`, `CUfunction`, `CUstream`, `CUevent`, `CUlinkState`.
pub type Handle = *mut c_void;
/// `CUdeviceptr`.
pub type DevicePtr = u64;

/// `CUdevice_attribute`
pub mod attribute {
    use std::ffi::c_int;
    pub const MAX_THREADS_PER_BLOCK: c_int = 1;
    pub const WARP_SIZE: c_int = 10;
    pub const MULTIPROCESSOR_COUNT: c_int = 16;
    pub const COMPUTE_CAPABILITY_MAJOR: c_int = 75;
    pub const COMPUTE_CAPABILITY_MINOR: c_int = 76;
    pub const MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: c_int = 97;
}

/// `CUjit_option`
pub mod jit {
    use std::ffi::c_uint;
    pub const ERROR_LOG_BUFFER: c_uint = 5;
    pub const ERROR_LOG_BUFFER_SIZE_BYTES: c_uint = 6;
}

/// `CUfunction_attribute`
pub mod function {
    use std::ffi::c_int;
    pub const MAX_DYNAMIC_SHARED_SIZE_BYTES: c_int = 8;
}

/// `CUresult`
pub mod status {
    use std::ffi::c_int;
    pub const OUT_OF_MEMORY: c_int = 2;
    pub const NO_DEVICE: c_int = 100;
    pub const NOT_READY: c_int = 600;
    /// Errors of kernels: an address out of range, a misaligned one, an instruction or a program counter that is none, and others of launches.
    pub const KERNEL: [c_int; 7] = [700, 714, 715, 716, 717, 718, 719];
    /// Errors of devices: the driver has ended, the device is not available or not there, its context is gone, its memory or its links have failed, a kernel was stopped by the
    /// system, and what the driver has no other word for.
    pub const DEVICE: [c_int; 12] = [3, 4, 46, 101, 201, 214, 220, 226, 702, 709, 802, 999];
}

/// `CU_STREAM_NON_BLOCKING`: no order with the default stream, which other libraries in the process may use.
pub const NON_BLOCKING: c_uint = 1;
/// `CU_JIT_INPUT_PTX`
pub const INPUT_PTX: c_uint = 1;

macro_rules! driver {
    ($($(#[$doc:meta])* $field:ident = $name:literal ($($arg:ty),*);)*) => {
        /// The driver's functions. They stay valid for as long as the library is held.
        pub struct Driver {
            $($(#[$doc])* pub $field: unsafe extern "C" fn($($arg),*) -> Status,)*
            _library: Library,
        }

        impl Driver {
            /// Looks up every function, so that a driver that lacks one is refused at once.
            fn link(library: Library) -> Result<Driver, CudaError> {
                // SAFETY: the signatures are those of `cuda.h` for these names; the pointers are kept with the library.
                unsafe {
                    Ok(Driver {
                        $($field: *library
                            .get::<unsafe extern "C" fn($($arg),*) -> Status>(concat!($name, "\0").as_bytes())
                            .map_err(|_| CudaError::Unavailable(Missing::Function($name)))?,)*
                        _library: library,
                    })
                }
            }
        }
    };
}

driver! {
    /// flags (0)
    init = "cuInit" (c_uint);
    driver_version = "cuDriverGetVersion" (*mut c_int);
    error_name = "cuGetErrorName" (Status, *mut *const c_char);
    error_string = "cuGetErrorString" (Status, *mut *const c_char);
    device_count = "cuDeviceGetCount" (*mut c_int);
    /// device, ordinal
    device_get = "cuDeviceGet" (*mut DeviceHandle, c_int);
    /// name, its length, device
    device_name = "cuDeviceGetName" (*mut c_char, c_int, DeviceHandle);
    device_total_mem = "cuDeviceTotalMem_v2" (*mut usize, DeviceHandle);
    /// value, attribute, device
    device_attribute = "cuDeviceGetAttribute" (*mut c_int, c_int, DeviceHandle);
    primary_retain = "cuDevicePrimaryCtxRetain" (*mut Handle, DeviceHandle);
    primary_release = "cuDevicePrimaryCtxRelease_v2" (DeviceHandle);
    ctx_set_current = "cuCtxSetCurrent" (Handle);
    ctx_get_current = "cuCtxGetCurrent" (*mut Handle);
    /// stream, flags
    stream_create = "cuStreamCreate" (*mut Handle, c_uint);
    stream_destroy = "cuStreamDestroy_v2" (Handle);
    /// event, flags
    event_create = "cuEventCreate" (*mut Handle, c_uint);
    event_destroy = "cuEventDestroy_v2" (Handle);
    /// event, stream
    event_record = "cuEventRecord" (Handle, Handle);
    event_query = "cuEventQuery" (Handle);
    /// stream, event, flags
    stream_wait = "cuStreamWaitEvent" (Handle, Handle, c_uint);
    /// milliseconds, start, end
    event_elapsed = "cuEventElapsedTime" (*mut f32, Handle, Handle);
    /// module, image, number of options, options, their values
    module_load = "cuModuleLoadDataEx" (*mut Handle, *const c_void, c_uint, *mut c_uint, *mut *mut c_void);
    module_unload = "cuModuleUnload" (Handle);
    module_function = "cuModuleGetFunction" (*mut Handle, Handle, *const c_char);
    function_set_attribute = "cuFuncSetAttribute" (Handle, c_int, c_int);
    /// free, total
    mem_info = "cuMemGetInfo_v2" (*mut usize, *mut usize);
    mem_alloc = "cuMemAlloc_v2" (*mut DevicePtr, usize);
    mem_free = "cuMemFree_v2" (DevicePtr);
    /// memory, bytes, flags
    host_alloc = "cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    host_free = "cuMemFreeHost" (*mut c_void);
    /// to, from, bytes, stream
    copy_in = "cuMemcpyHtoDAsync_v2" (DevicePtr, *const c_void, usize, Handle);
    copy_out = "cuMemcpyDtoHAsync_v2" (*mut c_void, DevicePtr, usize, Handle);
    copy = "cuMemcpyDtoDAsync_v2" (DevicePtr, DevicePtr, usize, Handle);
    /// to, value, bytes, stream
    memset = "cuMemsetD8Async" (DevicePtr, u8, usize, Handle);
    /// number of options, options, their values, link
    link_create = "cuLinkCreate_v2" (c_uint, *mut c_uint, *mut *mut c_void, *mut Handle);
    /// link, type, data, bytes, name, number of options, options, their values
    link_add = "cuLinkAddData_v2"
        (Handle, c_uint, *mut c_void, usize, *const c_char, c_uint, *mut c_uint, *mut *mut c_void);
    /// link, image, bytes
    link_complete = "cuLinkComplete" (Handle, *mut *mut c_void, *mut usize);
    link_destroy = "cuLinkDestroy" (Handle);
    /// function, grid (3), block (3), shared bytes, stream, parameters, extra
    launch = "cuLaunchKernel"
        (Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void);
}

impl Driver {
    /// Opens the driver's library and starts it.
    pub fn open() -> Result<Driver, CudaError> {
        let name = if cfg!(windows) { "nvcuda.dll" } else { "libcuda.so.1" };
        // SAFETY: the library's initialisers are NVIDIA's; it is made to be opened like this.
        let library = unsafe { Library::new(name) }.map_err(|_| CudaError::Unavailable(Missing::Driver(name)))?;
        let driver = Driver::link(library)?;
        // SAFETY: the argument is that of the documentation.
        let code = unsafe { (driver.init)(0) };
        match driver.check("cuInit", code) {
            Err(_) if code == status::NO_DEVICE => Err(CudaError::Unavailable(Missing::Device)),
            Err(e) => Err(CudaError::Unavailable(Missing::Start(e.to_string()))),
            Ok(()) => Ok(driver),
        }
    }

    /// The newest CUDA version that it supports.
    pub fn version(&self) -> Result<(u32, u32), CudaError> {
        let mut version: c_int = 0;
        // SAFETY: writes one int.
        self.check("cuDriverGetVersion", unsafe { (self.driver_version)(&mut version) })?;
        Ok((version as u32 / 1000, version as u32 % 1000 / 10))
    }

    /// Makes a status an error with the driver's words.
    pub fn check(&self, call: &'static str, status: Status) -> Result<(), CudaError> {
        if status == 0 {
            return Ok(());
        }
        let text = |f: unsafe extern "C" fn(Status, *mut *const c_char) -> Status| {
            let mut text = std::ptr::null();
            // SAFETY: on success `text` is a static string of the driver; for an unknown status it is null.
            unsafe {
                let known = f(status, &mut text) == 0 && !text.is_null();
                known.then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
            }
        };
        let name = text(self.error_name).unwrap_or_else(|| format!("CUDA error {status}"));
        let message = text(self.error_string).unwrap_or_else(|| "unknown error".to_string());
        Err(CudaError::Driver { call, status, name, message })
    }
}
