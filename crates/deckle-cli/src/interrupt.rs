//! Ctrl-C while a program runs.
//!
//! The first one asks the run to stop: the interpreter looks at the flag at every step, native code between its kernels and tasks. A kernel
//! that goes on for ever looks nowhere; then the command ends without it, saying so. The second Ctrl-C ends the process at once. None of this
//! loses anything: results are delivered after the run, and files are written whole.

use crate::progress;
use crate::report::fail;
use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_exec::Progress;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, Mutex};
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
    /// How far the run is.
    progress: Far,
    started: Instant,
}

/// How far a run is, and whether others see what it makes before its end.
type Far = Arc<Mutex<Option<(Arc<Progress>, bool)>>>;

impl Interrupt {
    /// Begins to watch; once in a process.
    pub fn watch() -> Interrupt {
        let (flag, state, started) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU8::new(IDLE)), Instant::now());
        let progress = Far::default();
        let (set, running, far) = (flag.clone(), state.clone(), progress.clone());
        // Without a handler a Ctrl-C ends the process, which loses nothing: output is written whole.
        let _ = ctrlc::set_handler(move || {
            if set.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
            let (running, far) = (running.clone(), far.clone());
            std::thread::spawn(move || {
                std::thread::sleep(PATIENCE);
                if running.compare_exchange(RUNNING, GIVEN_UP, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                    let message = "interrupted".to_string();
                    let d = told(Diagnostic::nowhere(Code::LimitExceeded, message), started.elapsed(), &far);
                    std::process::exit(fail(&[d], &SourceMap::new()).into());
                }
            });
        });
        Interrupt { flag, state, progress, started }
    }

    /// From now on, this is how far the run is; and whether others see what it makes before its end.
    pub fn follow(&self, progress: &Arc<Progress>, is_seen: bool) {
        if let Ok(mut now) = self.progress.lock() {
            *now = Some((progress.clone(), is_seen));
        }
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
        if self.flag.load(Ordering::Relaxed) { told(d, self.started.elapsed(), &self.progress) } else { d }
    }
}

/// The diagnostic of a run that a Ctrl-C stopped, from the one that says where it was.
fn told(mut d: Diagnostic, after: Duration, progress: &Far) -> Diagnostic {
    if d.code == Code::LimitExceeded {
        d.message = format!("the run was interrupted after {:.1} seconds", after.as_secs_f64());
        let now = progress.lock().ok().and_then(|p| p.clone());
        let far = now.as_ref().and_then(|(p, _)| progress::far(p));
        d.notes.extend(far.map(|far| format!("it had come so far: {far}")));
        d = match now {
            Some((p, true)) if p.pushed.load(Ordering::Relaxed) > 0 => {
                d.note("what was printed is the beginning of the result")
            }
            _ => d.note("nothing has been written"),
        };
    }
    d
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_runs_that_were_interrupted_are_told_so() {
        let d = |code| Diagnostic::nowhere(code, "m");
        let none = Far::default();
        assert_eq!(told(d(Code::IndexRange), Duration::ZERO, &none), d(Code::IndexRange));
        let told = told(d(Code::LimitExceeded), Duration::from_millis(1500), &none);
        assert_eq!(told.message, "the run was interrupted after 1.5 seconds");
        let quiet = Interrupt {
            flag: Arc::default(),
            state: Arc::default(),
            progress: Arc::default(),
            started: Instant::now(),
        };
        assert_eq!(quiet.explain(d(Code::LimitExceeded)), d(Code::LimitExceeded));
        assert_eq!(quiet.during(|| 7), 7);
    }
}
