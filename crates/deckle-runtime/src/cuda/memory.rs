//! Memory of a device, and memory of this machine that the device copies from and to.

#![allow(unsafe_code)] // Foreign functions and device memory.

use super::driver::DevicePtr;
use super::{Context, CudaError};
use std::ffi::c_void;
use std::fmt;
use std::ptr::NonNull;

impl Context {
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

    /// Page-locked memory of this machine, of zeros: only from and to such memory does the driver copy without a copy of its own, while the caller goes on.
    pub fn pinned(&self, bytes: usize) -> Result<Pinned, CudaError> {
        let d = self.enter()?;
        let mut start: *mut c_void = std::ptr::null_mut();
        // SAFETY: writes one address.
        d.check("cuMemHostAlloc", unsafe { (d.host_alloc)(&mut start, bytes.max(1), 0) })?;
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| CudaError::Invalid("the driver gave no page-locked memory".to_string()))?;
        // SAFETY: the driver allocated as many bytes.
        unsafe { start.as_ptr().write_bytes(0, bytes) };
        Ok(Pinned { context: self.clone(), start, bytes })
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

    /// The address `offset` bytes from the start, if as many bytes follow.
    pub(super) fn range(&self, offset: usize, bytes: usize) -> Result<DevicePtr, CudaError> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(self.start + offset as u64),
            _ => {
                let what = format!("{bytes} bytes at {offset} are not within {} bytes of device memory", self.bytes);
                Err(CudaError::Invalid(what))
            }
        }
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

/// Page-locked memory of this machine.
pub struct Pinned {
    context: Context,
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: the memory is tied to no thread.
unsafe impl Send for Pinned {}
// SAFETY: through a shared reference the bytes are only read.
unsafe impl Sync for Pinned {}

impl Pinned {
    /// Length in bytes.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// The address of the byte `start`, if as many bytes follow.
    pub(super) fn place(&self, start: usize, bytes: usize) -> Result<*mut u8, CudaError> {
        match start.checked_add(bytes) {
            // SAFETY: within the allocation.
            Some(end) if end <= self.bytes => Ok(unsafe { self.start.as_ptr().add(start) }),
            _ => {
                let what =
                    format!("{bytes} bytes at {start} are not within {} bytes of page-locked memory", self.bytes);
                Err(CudaError::Invalid(what))
            }
        }
    }

    /// The bytes. Copies that are under way may be changing them: see [`super::Stream::copy_out`].
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: as many bytes were allocated, and all were initialised.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    /// The bytes, for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; the handle is borrowed for as long as the slice lives.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Ok(d) = self.context.enter() {
            // SAFETY: allocated once, freed once.
            let _ = unsafe { (d.host_free)(self.start.as_ptr().cast()) };
        }
    }
}

impl fmt::Debug for Pinned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({} bytes)", self.bytes)
    }
}
