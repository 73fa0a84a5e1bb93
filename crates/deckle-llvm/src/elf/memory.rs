//! Memory that can be made executable, and names that other libraries of the process define.

#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_void};
use std::ops::Range;

/// Pages of this process; writable until they are protected, and unmapped when dropped.
pub(crate) struct Mapping {
    start: *mut u8,
    size: usize,
    /// Set by the first protection: from then on [`bytes`](Mapping::bytes) must not be called.
    sealed: bool,
}

/// The permissions of protected pages.
#[derive(Clone, Copy)]
pub(crate) enum Access {
    Read,
    Execute,
}

impl Mapping {
    /// Zeroed pages.
    pub(crate) fn new(size: usize) -> Result<Mapping, String> {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a new anonymous mapping at an address that the system chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), size, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return Err(format!("no memory for code: {}", std::io::Error::last_os_error()));
        }
        Ok(Mapping { start: start.cast(), size, sealed: false })
    }

    pub(crate) fn address(&self) -> u64 {
        self.start as u64
    }

    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        assert!(!self.sealed, "the pages are protected");
        // SAFETY: the mapping is ours alone, zeroed, and writable until it is sealed.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.size) }
    }

    /// Changes the permissions of pages. `range` is of whole pages.
    pub(crate) fn protect(&mut self, range: &Range<usize>, access: Access) -> Result<(), String> {
        self.sealed = true;
        assert!(range.end <= self.size);
        if range.is_empty() {
            return Ok(());
        }
        let access = match access {
            Access::Read => libc::PROT_READ,
            Access::Execute => libc::PROT_READ | libc::PROT_EXEC,
        };
        // SAFETY: the range is in the mapping; no reference to its bytes remains.
        let failed = unsafe { libc::mprotect(self.start.add(range.start).cast(), range.len(), access) } != 0;
        if failed { Err(format!("pages cannot be protected: {}", std::io::Error::last_os_error())) } else { Ok(()) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours and nothing refers to it; callers of compiled code hold the `Code` that owns it.
        unsafe { libc::munmap(self.start.cast(), self.size) };
    }
}

/// The address of a function of the C library, or of the libraries that compilers call for arithmetic: libm, and libgcc for 128-bit integers and 16-bit floats.
pub(crate) fn external(name: &str) -> Option<u64> {
    let name = CString::new(name).ok()?;
    let find = |handle: *mut c_void| {
        // SAFETY: the handle is that of an open library, or denotes the whole process.
        let address = unsafe { libc::dlsym(handle, name.as_ptr()) };
        if address.is_null() { None } else { Some(address as u64) }
    };
    // The files are opened only for names that the process does not define, and stay open.
    let open = |file: &CStr| {
        // SAFETY: system libraries whose constructors do not affect us.
        let handle = unsafe { libc::dlopen(file.as_ptr(), libc::RTLD_LAZY | libc::RTLD_LOCAL) };
        if handle.is_null() { None } else { find(handle) }
    };
    find(libc::RTLD_DEFAULT).or_else(|| open(c"libm.so.6")).or_else(|| open(c"libgcc_s.so.1"))
}
