//! A persistent team of threads that claims numbered tasks.
//!
//! [`Team::run`] runs a function for every task number below a bound. Free threads claim numbers in order, one at a
//! time; the caller takes part as worker 0. The assignment of tasks to workers is nondeterministic, so tasks must write to disjoint
//! places and be combined by number: then results do not depend on the number of threads.
//!
//! # Waiting
//!
//! No thread waits for a worker that has not joined. A job is *open* while tasks may be left; workers that notice join it; when the caller finds no
//! task left it *closes* the job and waits for those that have joined and are still inside a task. A worker that is asleep, or
//! that the system has not scheduled, does not take part: a small job costs the caller little more than doing it
//! alone, even with more threads than cores.
//!
//! # The state word
//!
//! One 64-bit atomic holds everything that must change together:
//!
//! ```text
//!   63        32   17      16     15      0
//!  | job number | SHUT |  OPEN  |  joined  |
//! ```
//!
//! ```text
//!  caller                                    worker
//!  write job, next = 0
//!  state = (number+1, OPEN, 0)    release ─► sees OPEN and a new number          acquire
//!  wake sleepers                             joined += 1, if state is unchanged  acquire (CAS)
//!  claim and run tasks                       claim and run tasks
//!  clear OPEN                                joined -= 1                         release
//!  wait until joined == 0         ◄─ acquire   if it was the last and not OPEN: unpark the caller
//! ```
//!
//! - *Reading the job is safe.* It is written before the release store of the state, and a worker reads it after a successful acquire CAS of a
//!   state that descends from that store only by read-modify-writes (joins and leaves), which continue its release
//!   sequence. Every other thread that could join is serialised by the same word.
//! - *Writing the next job is safe.* The caller writes it only while the state is closed and `joined` is 0. It read that 0 with acquire, and
//!   each leave is a release, so all accesses of the workers, to the job and to the caller's data, happened before.
//! - *No worker joins late.* A join is a CAS on the whole word: after OPEN is cleared, or during another job, it fails.
//! - *`next` can be relaxed.* It only hands out distinct numbers; the data of tasks is ordered by join and leave. It is set to 0 before the release
//!   store, and workers access it only between join and leave.
//! - *No wake-up is lost.* A worker announces sleep (`asleep = true`), then reads the state once more, then parks. The
//!   caller stores the state, then reads `asleep`. All four are sequentially consistent, so at least one of the two sees the
//!   other's store (store buffering is excluded); and `park` returns at once after an `unpark` that came first.
//!   A caller that waits parks too: it is unparked by the worker whose leave found the word closed and itself the last,
//!   and `joined` cannot have been 0 before that.

#![allow(unsafe_code)] // A job borrows from the caller's stack; the protocol above, not the type system, bounds its life.

use crate::cpu;
use std::any::Any;
use std::cell::{Cell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{JoinHandle, Thread};
use std::time::{Duration, Instant};

const JOINED: u64 = 0xffff;
const OPEN: u64 = 1 << 16;
const SHUT: u64 = 1 << 17;
const NUMBER: u32 = 32;

/// The maximal number of threads of a team.
pub const MOST_THREADS: usize = 4096;

/// How long to look for work before going to sleep, if every thread has a core of its own: the kernels of a program
/// follow one another faster than this, and waking a thread costs as much as some of them.
const SPIN: Duration = Duration::from_micros(50);
/// And if not: spinning keeps a core from a thread that has work.
const SPIN_CROWDED: Duration = Duration::from_micros(2);
/// How long to offer the core to others before going to sleep.
const YIELD: Duration = Duration::from_micros(20);

/// A run was stopped between two tasks because the team's interrupt flag was set. Some tasks may not have been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl std::error::Error for Interrupted {}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("interrupted")
    }
}

/// The function of a job, called with the numbers of a task and of the worker.
pub type Task<'a> = dyn Fn(usize, usize) + Sync + 'a;

/// A team of threads, the caller of [`Team::run`] included.
pub struct Team {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<()>>,
    /// Held by the caller whose job it is.
    turn: Mutex<()>,
}

struct Shared {
    state: Line<AtomicU64>,
    next: Line<AtomicUsize>,
    sleepers: Line<AtomicUsize>,
    /// For the workers 1, 2, ...
    asleep: Vec<Line<AtomicBool>>,
    job: UnsafeCell<Job>,
    /// The panic of the task with the lowest number, if one panicked.
    panic: Mutex<Option<(usize, Box<dyn Any + Send>)>>,
    interrupt: Arc<AtomicBool>,
    crowded: bool,
}

/// Alone in its cache lines (two: they are fetched in pairs).
#[repr(align(128))]
#[derive(Default)]
struct Line<T>(T);

struct Job {
    task: *const Task<'static>,
    tasks: usize,
    caller: Option<Thread>,
}

// SAFETY: `job` is the only part that is not `Sync` itself; the protocol of the header determines when it may be read and
// written. Its task is `Sync`, so it may be called from all threads.
unsafe impl Sync for Shared {}
// SAFETY: as above.
unsafe impl Send for Shared {}

thread_local! {
    /// The team (by address) and worker as which this thread is doing a task; `(0, 0)` outside of tasks.
    static DOING: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
}

impl Team {
    /// A team of `threads` threads, of which `threads - 1` are started. At least one: the caller itself.
    pub fn new(threads: usize) -> Team {
        Team::with_interrupt(threads, Arc::default())
    }

    /// A team whose runs stop between two tasks when `interrupt` is set. Its owner resets it.
    pub fn with_interrupt(threads: usize, interrupt: Arc<AtomicBool>) -> Team {
        let threads = threads.clamp(1, MOST_THREADS);
        let shared = Arc::new(Shared {
            state: Line::default(),
            next: Line::default(),
            sleepers: Line::default(),
            asleep: (1..threads).map(|_| Line::default()).collect(),
            job: UnsafeCell::new(Job { task: &|_, _| {}, tasks: 0, caller: None }),
            panic: Mutex::default(),
            interrupt,
            crowded: threads > cpu::usable_cores(),
        });
        let start = |worker| {
            let shared = shared.clone();
            std::thread::Builder::new().name(format!("deckle-{worker}")).spawn(move || shared.work(worker))
        };
        // If the system provides fewer threads than requested, the team is smaller; everything still works.
        let handles = (1..threads).map_while(|worker| start(worker).ok()).collect();
        Team { shared, handles, turn: Mutex::new(()) }
    }

    /// Threads of the team, the caller included: worker numbers are below this.
    pub fn threads(&self) -> usize {
        self.handles.len() + 1
    }

    /// The flag that stops runs.
    pub fn interrupt(&self) -> &Arc<AtomicBool> {
        &self.shared.interrupt
    }

    /// Calls `task(number, worker)` for every number below `tasks`, and returns when all are done.
    ///
    /// At no time do two tasks run with the same worker number, so workers may have scratch memory of their own. Runs of
    /// several callers take turns. A run inside a task of the same team is done by that task's worker alone; a task must
    /// not wait for a *different* thread that calls `run` on the same team.
    ///
    /// # Panics
    /// If a task panics, with its payload (of the lowest number, if several do), after all workers have stopped; unclaimed
    /// tasks are not done.
    pub fn run(&self, tasks: usize, task: &Task<'_>) -> Result<(), Interrupted> {
        let team = Arc::as_ptr(&self.shared) as usize;
        let outside = DOING.get();
        if outside.0 == team {
            return self.run_alone(tasks, outside.1, task);
        }
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let _doing = Doing::enter(team, 0);
        if tasks <= 1 || self.handles.is_empty() {
            return self.run_alone(tasks, 0, task);
        }
        self.open(tasks, task);
        self.shared.claim_tasks(task, tasks, 0);
        self.close();
        let panic = self.shared.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        match panic {
            Some((_, payload)) => resume_unwind(payload),
            None if self.shared.is_interrupted() => Err(Interrupted),
            None => Ok(()),
        }
    }

    fn run_alone(&self, tasks: usize, worker: usize, task: &Task<'_>) -> Result<(), Interrupted> {
        for number in 0..tasks {
            if self.shared.is_interrupted() {
                return Err(Interrupted);
            }
            task(number, worker);
        }
        Ok(())
    }

    fn open(&self, tasks: usize, task: &Task<'_>) {
        let shared = &*self.shared;
        let task: *const Task<'_> = task;
        // SAFETY: only the lifetime changes. The pointer is used by workers that have joined, and `close` returns when there
        // are none and none can join any more; `run` calls it on every path (tasks do not unwind out of `claim_tasks`).
        let task = unsafe { std::mem::transmute::<*const Task<'_>, *const Task<'static>>(task) };
        let state = shared.state.0.load(Ordering::Relaxed);
        debug_assert!(state & (OPEN | JOINED) == 0);
        // SAFETY: the state is closed, no worker has joined, and this thread has the turn: no other thread accesses the job.
        unsafe { *shared.job.get() = Job { task, tasks, caller: Some(std::thread::current()) } };
        shared.next.0.store(0, Ordering::Relaxed);
        let number = (state >> NUMBER).wrapping_add(1);
        // Release for the job; sequentially consistent for the sleepers (header).
        shared.state.0.store(number << NUMBER | OPEN, Ordering::SeqCst);
        self.wake(tasks - 1);
    }

    /// Wakes at most `wanted` workers.
    fn wake(&self, wanted: usize) {
        let shared = &*self.shared;
        if shared.sleepers.0.load(Ordering::SeqCst) == 0 {
            return;
        }
        let sleeping = shared.asleep.iter().zip(&self.handles).filter(|(a, _)| a.0.load(Ordering::SeqCst));
        for (asleep, handle) in sleeping.take(wanted) {
            // Cleared here and not by the worker, so that a second job does not wake it again.
            if asleep.0.swap(false, Ordering::SeqCst) {
                handle.thread().unpark();
            }
        }
    }

    fn close(&self) {
        let shared = &*self.shared;
        // Acquire: if no worker is inside, this read synchronises with the leaves of all workers.
        let mut state = shared.state.0.fetch_and(!OPEN, Ordering::Acquire);
        let mut patience = Patience::new(shared.crowded);
        while state & JOINED != 0 {
            if !patience.wait() {
                std::thread::park();
            }
            state = shared.state.0.load(Ordering::Acquire);
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        // `&mut self`: no run is under way. The number does not matter any more.
        self.shared.state.0.store(SHUT, Ordering::SeqCst);
        for handle in &self.handles {
            handle.thread().unpark();
        }
        for handle in self.handles.drain(..) {
            // A worker catches the panics of tasks and has none of its own.
            let _ = handle.join();
        }
    }
}

impl std::fmt::Debug for Team {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Team({} threads)", self.threads())
    }
}

impl Shared {
    fn is_interrupted(&self) -> bool {
        self.interrupt.load(Ordering::Relaxed)
    }

    /// The main function of a worker.
    fn work(&self, worker: usize) {
        let _doing = Doing::enter(std::ptr::from_ref(self) as usize, worker);
        let mut done = 0;
        while let Some(state) = self.next_job(worker, done) {
            let join = self.state.0.compare_exchange(state, state + 1, Ordering::Acquire, Ordering::Relaxed);
            if join.is_err() {
                continue;
            }
            done = state >> NUMBER;
            // SAFETY: joined, so the job stays as it is until this worker leaves (header).
            let (task, tasks, caller) = unsafe {
                let job = &*self.job.get();
                (&*job.task, job.tasks, job.caller.clone())
            };
            self.claim_tasks(task, tasks, worker);
            let before = self.state.0.fetch_sub(1, Ordering::Release);
            if before & (OPEN | JOINED) == 1
                && let Some(caller) = caller
            {
                caller.unpark();
            }
        }
    }

    /// Waits for an open job other than the one that this worker has already done, and returns the state with
    /// that job; `None` when the team is dropped.
    fn next_job(&self, worker: usize, done: u64) -> Option<u64> {
        let asleep = &self.asleep[worker - 1].0;
        let news = |order| {
            let state = self.state.0.load(order);
            (state & SHUT != 0 || state & OPEN != 0 && state >> NUMBER != done).then_some(state)
        };
        let mut patience = Patience::new(self.crowded);
        loop {
            if let Some(state) = news(Ordering::Relaxed) {
                return (state & SHUT == 0).then_some(state);
            }
            if patience.wait() {
                continue;
            }
            self.sleepers.0.fetch_add(1, Ordering::SeqCst);
            asleep.store(true, Ordering::SeqCst);
            // The thread that wakes this worker clears `asleep`; a spurious return of `park` is no reason to stay awake.
            while news(Ordering::SeqCst).is_none() && asleep.load(Ordering::SeqCst) {
                std::thread::park();
            }
            asleep.store(false, Ordering::SeqCst);
            self.sleepers.0.fetch_sub(1, Ordering::SeqCst);
            patience = Patience::new(self.crowded);
        }
    }

    /// Does tasks until none is left, one panics, or the flag is set. Never unwinds.
    fn claim_tasks(&self, task: &Task<'_>, tasks: usize, worker: usize) {
        while !self.is_interrupted() {
            let number = self.next.0.fetch_add(1, Ordering::Relaxed);
            if number >= tasks {
                return;
            }
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| task(number, worker))) {
                // No further tasks. Others may have passed the end already; the sum stays far from overflow.
                self.next.0.fetch_max(tasks, Ordering::Relaxed);
                let mut first = self.panic.lock().unwrap_or_else(PoisonError::into_inner);
                if first.as_ref().is_none_or(|(n, _)| number < *n) {
                    *first = Some((number, payload));
                }
                return;
            }
        }
    }
}

/// Marks this thread as doing tasks of a team; drop restores the previous mark, also after a panic.
struct Doing((usize, usize));

impl Doing {
    fn enter(team: usize, worker: usize) -> Doing {
        Doing(DOING.replace((team, worker)))
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        DOING.set(self.0);
    }
}

/// Waiting with back-off: spin, then yield, then give up (and sleep).
struct Patience {
    spin: Duration,
    since: Option<Instant>,
    rounds: u32,
}

impl Patience {
    fn new(crowded: bool) -> Patience {
        Patience { spin: if crowded { SPIN_CROWDED } else { SPIN }, since: None, rounds: 0 }
    }

    /// Waits a little; `false` when it is time to sleep.
    fn wait(&mut self) -> bool {
        self.rounds += 1;
        // The clock is read only now and then, and not at all if the wait is short.
        if !self.rounds.is_multiple_of(16) {
            std::hint::spin_loop();
            return true;
        }
        let waited = self.since.get_or_insert_with(Instant::now).elapsed();
        if waited < self.spin {
            std::hint::spin_loop();
            return true;
        }
        // From here on every round yields and reads the clock.
        self.rounds |= 15;
        std::thread::yield_now();
        waited < self.spin + YIELD
    }
}
