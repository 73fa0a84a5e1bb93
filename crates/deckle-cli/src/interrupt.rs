//! Ctrl-C, and other termination requests, while a program runs.
//!
//! The first one ends all output at once ([`deckle_io::abandon`]) and asks the run to stop: the interpreter tests the
//! flag at every step, native code between its kernels and tasks. Code that does not test it (a kernel without end, a stalled read
//! from or write to a pipe) is abandoned after a moment: the command then exits without it. The second request ends
//! the process at once. No output is corrupted: files appear whole, and the first request removes temporary ones.
//!
//! The exit code is that of a process ended by the signal: 130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.

use crate::progress;
use crate::report::fail;
use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_engine::Progress;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The time that a run may take to stop.
const PATIENCE: Duration = Duration::from_millis(500);

/// States of a run. It leaves `RUNNING` once: by ending, or by being abandoned.
const RUNNING: u8 = 0;
const SETTLED: u8 = 1;
const GIVEN_UP: u8 = 2;

/// Watches for termination requests.
pub struct Interrupt {
    shared: Arc<Shared>,
}

struct Shared {
    flag: Arc<AtomicBool>,
    /// The exit code of the request; 0 without one.
    code: AtomicU8,
    state: AtomicU8,
    progress: Far,
    started: Instant,
}

/// The progress of a run, and whether its output is visible before its end.
type Far = Mutex<Option<(Arc<Progress>, bool)>>;

impl Interrupt {
    /// Starts to watch; once in a process.
    pub fn watch() -> Interrupt {
        let interrupt = Interrupt::quiet();
        // Without a handler a signal ends the process; a temporary file is then removed by the next run.
        let _ = listen(&interrupt.shared);
        interrupt
    }

    fn quiet() -> Interrupt {
        let shared = Shared {
            flag: Arc::default(),
            code: AtomicU8::new(0),
            state: AtomicU8::new(RUNNING),
            progress: Far::default(),
            started: Instant::now(),
        };
        Interrupt { shared: Arc::new(shared) }
    }

    /// Sets the progress of the current run; and whether its output is visible before its end.
    pub fn follow(&self, progress: &Arc<Progress>, is_seen: bool) {
        if let Ok(mut now) = self.shared.progress.lock() {
            *now = Some((progress.clone(), is_seen));
        }
    }

    /// The flag that a run tests.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.shared.flag.clone()
    }

    /// The run has ended, and its outcome is about to be reported. Does not return if it was abandoned.
    pub fn settle(&self) {
        let state = &self.shared.state;
        while state.compare_exchange(RUNNING, SETTLED, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // The process is about to exit.
            std::thread::park();
        }
    }

    /// The exit code, if the run was asked to stop.
    pub fn code(&self) -> Option<u8> {
        Some(self.shared.code.load(Ordering::Acquire)).filter(|code| *code != 0)
    }

    /// The errors of a run that was asked to stop: the request, and the place reached.
    pub fn explain(&self, errors: Vec<Diagnostic>) -> Vec<Diagnostic> {
        if self.code().is_none() {
            return errors;
        }
        let limit = errors.into_iter().find(|d| d.code == Code::LimitExceeded);
        vec![self.shared.told(limit.unwrap_or_else(|| Diagnostic::nowhere(Code::LimitExceeded, "interrupted")))]
    }
}

impl Shared {
    /// A termination request with this exit code.
    fn request(self: &Arc<Shared>, code: u8) {
        if self.code.compare_exchange(0, code, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            end(code);
        }
        deckle_io::abandon();
        self.flag.store(true, Ordering::Relaxed);
        let shared = self.clone();
        std::thread::spawn(move || {
            std::thread::sleep(PATIENCE);
            if shared.state.compare_exchange(RUNNING, GIVEN_UP, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                fail(&[shared.told(Diagnostic::nowhere(Code::LimitExceeded, "interrupted"))], &SourceMap::new());
                end(code);
            }
        });
    }

    /// The diagnostic of a run that was asked to stop, from the one with the place reached.
    fn told(&self, mut d: Diagnostic) -> Diagnostic {
        d.message = format!("the run was interrupted after {:.1} seconds", self.started.elapsed().as_secs_f64());
        let now = self.progress.lock().ok().and_then(|p| p.clone());
        let far = now.as_ref().and_then(|(p, _)| progress::far(p));
        d.notes.extend(far.map(|far| format!("it had come so far: {far}")));
        match now {
            Some((p, true)) if p.pushed.load(Ordering::Relaxed) > 0 => {
                d.note("what was printed is the beginning of the result")
            }
            _ => d.note("no file has been written"),
        }
    }
}

/// Ends the process without waiting for other threads, and without the exit handlers of libraries: these are still in use.
#[cfg(unix)]
fn end(code: u8) -> ! {
    signal_hook::low_level::exit(code.into())
}

#[cfg(not(unix))]
fn end(code: u8) -> ! {
    std::process::exit(code.into())
}

/// Forwards requests to `shared`, on a thread of their own.
#[cfg(unix)]
fn listen(shared: &Arc<Shared>) -> std::io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
    // A file that becomes too large is an error of the write, and does not end the process.
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    if !is_ignored(SIGHUP) {
        signals.add_signal(SIGHUP)?;
    }
    let shared = shared.clone();
    let thread = std::thread::Builder::new().name("deckle-signals".into());
    let listen = move || signals.forever().for_each(|signal| shared.request(128 + signal as u8));
    thread.spawn(listen).map(drop)
}

/// Sets a flag at every Ctrl-C, without other effects.
#[cfg(unix)]
pub fn on_ctrl_c(flag: Arc<AtomicBool>) -> std::io::Result<()> {
    signal_hook::flag::register(signal_hook::consts::SIGINT, flag).map(drop)
}

#[cfg(not(unix))]
pub fn on_ctrl_c(flag: Arc<AtomicBool>) -> Result<(), ctrlc::Error> {
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
}

/// Whether the process was started with a signal ignored, as `nohup` does.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
fn listen(shared: &Arc<Shared>) -> Result<(), ctrlc::Error> {
    let shared = shared.clone();
    ctrlc::set_handler(move || shared.request(130))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_that_were_interrupted_are_told_so() {
        let quiet = Interrupt::quiet();
        let d = |code| Diagnostic::nowhere(code, "m");
        let several = vec![d(Code::IndexRange), d(Code::LimitExceeded)];
        assert_eq!(quiet.explain(several.clone()), several);
        quiet.shared.code.store(130, Ordering::Relaxed);
        let told = quiet.explain(several);
        assert_eq!(told.len(), 1);
        assert!(told[0].message.starts_with("the run was interrupted after "), "{}", told[0].message);
        assert_eq!((quiet.code(), told[0].code), (Some(130), Code::LimitExceeded));
        quiet.settle();
    }
}
