//! Whether the process was started with standard input and output.
//!
//! Before `main` Rust opens `/dev/null` in place of closed standard files, so that no other file gets their
//! numbers. A result that is printed then vanishes without an error. So this module checks earlier: the loader calls `look` before
//! the runtime of Rust begins.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static NO_INPUT: AtomicBool = AtomicBool::new(false);
static NO_OUTPUT: AtomicBool = AtomicBool::new(false);

/// An error if standard input was closed when the process was started.
///
/// # Errors
/// See above.
pub fn check_input() -> io::Result<()> {
    check(&NO_INPUT, "standard input is closed")
}

/// An error if standard output was closed when the process was started.
///
/// # Errors
/// See above.
pub fn check_output() -> io::Result<()> {
    check(&NO_OUTPUT, "standard output is closed")
}

fn check(is_closed: &AtomicBool, message: &str) -> io::Result<()> {
    if is_closed.load(Ordering::Relaxed) { Err(io::Error::other(message)) } else { Ok(()) }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod early {
    #![allow(unsafe_code)] // A section that the loader reads, and a call of C.

    use super::{NO_INPUT, NO_OUTPUT, Ordering};

    // SAFETY: functions in this section are called once, on the only thread, with the C library ready. `look` uses nothing
    // of Rust's runtime and cannot panic.
    #[used]
    #[unsafe(link_section = ".init_array")]
    static LOOK: extern "C" fn() = look;

    extern "C" fn look() {
        // SAFETY: asking for the flags of a descriptor that may be closed changes nothing.
        let is_closed = |descriptor| unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1;
        NO_INPUT.store(is_closed(0), Ordering::Relaxed);
        NO_OUTPUT.store(is_closed(1), Ordering::Relaxed);
    }
}
