//! Threads on which LLVM runs.
//!
//! LLVM reports most errors, but for some (an instruction that it cannot select) it calls a handler and then ends the process. A handler must not return and cannot
//! unwind through LLVM's frames. So each job runs on a thread of its own, and the handler sends LLVM's message to the waiting thread, and then sleeps
//! forever. The thread and its memory are leaked, which is little; the program continues and can use the interpreter. LLVM calls the handler without holding a lock.
//!
//! The threads also have a large stack, because some of LLVM's analyses recurse, and starting one takes about 0.05 ms.
//!
//! When the process ends, LLVM's destructors run while threads may still be inside it. [`wait_for_all`] runs before them and waits for the threads.

#![allow(unsafe_code)]

use crate::error::Stage;
use crate::library::Llvm;
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Once, mpsc};
use std::time::{Duration, Instant};

/// LLVM's message before it would have ended the process, and the step reached.
pub(crate) struct Fatal {
    pub stage: Stage,
    pub message: String,
}

const STACK: usize = 64 << 20;
/// The time that the exiting process waits for threads in LLVM.
const PATIENCE: Duration = Duration::from_secs(5);

static RUNNING: AtomicUsize = AtomicUsize::new(0);
static ENDING: AtomicBool = AtomicBool::new(false);
static PREPARE: Once = Once::new();

/// Sends a fatal error to the thread that waits for this one.
type Escape = Box<dyn FnOnce(Fatal)>;

thread_local! {
    static STAGE: Cell<Stage> = const { Cell::new(Stage::Target) };
    static ESCAPE: RefCell<Option<Escape>> = const { RefCell::new(None) };
}

/// Records the step that this thread has reached, for the message of a fatal error.
pub(crate) fn enter(stage: Stage) {
    STAGE.set(stage);
}

/// Runs `job` on a thread of its own and waits for it.
pub(crate) fn run<T: Send + 'static>(llvm: &Llvm, job: impl FnOnce() -> T + Send + 'static) -> Result<T, Fatal> {
    PREPARE.call_once(|| prepare(llvm));
    let failed = |message: &str| Fatal { stage: Stage::Target, message: message.into() };
    let (send, receive) = mpsc::channel();
    let work = move || {
        let Some(_running) = Running::begin() else { return };
        let escape = send.clone();
        // The receiver is gone only if the waiting thread died, and then the result is not needed.
        ESCAPE.set(Some(Box::new(move |fatal| drop(escape.send(Err(fatal))))));
        let _ = send.send(Ok(job()));
        ESCAPE.set(None);
    };
    let thread = std::thread::Builder::new().name("deckle-llvm".into()).stack_size(STACK).spawn(work);
    if let Err(e) = thread {
        return Err(failed(&format!("no thread could be started: {e}")));
    }
    receive.recv().unwrap_or_else(|_| Err(failed("the compiling thread ended early")))
}

/// Runs `job`, which may open LLVM, on a thread that only the exit of the process waits for.
pub(crate) fn in_background(job: impl FnOnce() + Send + 'static) {
    wait_at_exit();
    let work = move || {
        if let Some(_running) = Running::begin() {
            job();
        }
    };
    // Without a thread the job is not done, and code that needs its effect does it itself.
    let _ = std::thread::Builder::new().name("deckle-llvm-open".into()).spawn(work);
}

/// Counts a thread as running, unless the process is exiting.
struct Running;

impl Running {
    fn begin() -> Option<Running> {
        // Both sides write first and read then, in one total order: either the exit sees this thread, or this thread sees the exit.
        RUNNING.fetch_add(1, Ordering::SeqCst);
        let running = Running;
        if ENDING.load(Ordering::SeqCst) { None } else { Some(running) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.fetch_sub(1, Ordering::SeqCst);
    }
}

fn prepare(llvm: &Llvm) {
    // Code that opened the library before may have installed its own handler, and LLVM has only one.
    if !llvm.shared {
        // SAFETY: called once; the handler lives as long as the process.
        unsafe { (llvm.api.LLVMInstallFatalErrorHandler)(on_fatal) };
    }
    wait_at_exit();
}

/// Makes the exit of the process wait for threads in LLVM. Exit handlers run in reverse order of registration: registered after the library was opened, this one runs before the library's destructors.
fn wait_at_exit() {
    #[cfg(unix)]
    // SAFETY: the function is never unloaded, and may run more than once.
    unsafe {
        libc::atexit(wait_for_all);
    }
}

extern "C" fn on_fatal(reason: *const c_char) {
    let Some(escape) = ESCAPE.take() else { return };
    // SAFETY: LLVM passes a C string that lives during the call.
    let message = unsafe { CStr::from_ptr(reason) }.to_string_lossy().into_owned();
    escape(Fatal { stage: STAGE.get(), message });
    RUNNING.fetch_sub(1, Ordering::SeqCst);
    loop {
        std::thread::park();
    }
}

#[cfg(unix)]
extern "C" fn wait_for_all() {
    ENDING.store(true, Ordering::SeqCst);
    let start = Instant::now();
    while RUNNING.load(Ordering::SeqCst) > 0 && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_micros(200));
    }
}
