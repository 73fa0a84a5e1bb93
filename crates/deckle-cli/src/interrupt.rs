//! Ctrl-C while a program runs.
//!
//! The first one asks the run to stop: the interpreter looks at the flag at every step, native code between its kernels and tasks. A kernel
//! that goes on for ever looks nowhere; then the command ends without it, saying so. The second Ctrl-C ends the process at once. None of this
//! loses anything: results are delivered after the run, and files are written whole.

use crate::report::fail;
use deckle_diag::{Code, Diagnostic, SourceMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

/// The conventional exit code of a process that a Ctrl-C ends.
const INTERRUPTED: i32 = 130;
/// How long a run may take to stop.
const PATIENCE: Duration = Duration::from_millis(500);

/// States of a run. It leaves `RUNNING` once: by ending, or by being given up.
const IDLE: u8 = 0;
const RUNNING: u8 = 1;
const GIVEN_UP: u8 = 2;

/// Watches for Ctrl-C.
pub struct Interrupt {
    flag: Arc<AtomicBool>,
    state: Arc<AtomicU8>,
    started: Instant,
}

impl Interrupt {
    /// Begins to watch; once in a process.
    pub fn watch() -> Interrupt {
        let (flag, state, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU8::new(IDLE)), Instant::now());
        let (set, running) = (flag.clone(), state.clone());
        // Without a handler a Ctrl-C ends the process, which loses nothing: output is written whole.
        let _ = ctrlc::set_handler(move || {
            if set.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
            let running = running.clone();
            std::thread::spawn(move || {
                std::thread::sleep(PATIENCE);
                if running.compare_exchange(RUNNING, GIVEN_UP, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    let message = "interrupted".to_string();
                    let d = told(Diagnostic::nowhere(Code::LimitExceeded, message), started.elapsed());
                    std::process::exit(fail(&[d], &SourceMap::new()).into());
                }
            });
        });
        Interrupt { flag, state, started }
    }

    /// What a run looks at.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.flag.clone()
    }

    /// Runs something that may be given up: then this does not return.
    pub fn during<T>(&self, run: impl FnOnce() -> T) -> T {
        self.state.store(RUNNING, Ordering::Release);
        let result = run();
        while self.state.compare_exchange(RUNNING, IDLE, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            // The process is about to end.
            std::thread::park();
        }
        result
    }

    /// The error of a run, which says so if a Ctrl-C is the reason.
    pub fn explain(&self, d: Diagnostic) -> Diagnostic {
        if self.flag.load(Ordering::Relaxed) { told(d, self.started.elapsed()) } else { d }
    }
}

/// The diagnostic of a run that a Ctrl-C stopped, from the one that says where it was.
fn told(mut d: Diagnostic, after: Duration) -> Diagnostic {
    if d.code == Code::LimitExceeded {
        d.message = format!("the run was interrupted after {:.1} seconds", after.as_secs_f64());
        d = d.note("nothing has been written");
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_that_were_interrupted_are_told_so() {
        let d = |code| Diagnostic::nowhere(code, "m");
        assert_eq!(told(d(Code::IndexRange), Duration::ZERO), d(Code::IndexRange));
        let told = told(d(Code::LimitExceeded), Duration::from_millis(1500));
        assert_eq!(told.message, "the run was interrupted after 1.5 seconds");
        let quiet = Interrupt { flag: Arc::default(), state: Arc::default(), started: Instant::now() };
        assert_eq!(quiet.explain(d(Code::LimitExceeded)), d(Code::LimitExceeded));
        assert_eq!(quiet.during(|| 7), 7);
    }
}
