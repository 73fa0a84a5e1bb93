//! Running a check on many random programs.
//!
//! Every run of a test has new seeds, from the clock, except in continuous integration (`CI`), where they are the same every time; `DECKLE_SEED=17` runs that one. `DECKLE_CASES=200000` runs that many instead of the usual
//! number, divided among the tests of a file in the same way. A failing program is shrunk and reported with its seed and the command that repeats it.
//! The current seed is in a file, in case the process dies.

use crate::{Case, Config, program, shrink};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// A test of random programs.
#[derive(Clone, Copy, Debug)]
pub struct Sweep<'a> {
    /// The package and the file of the test, and its name.
    pub test: [&'a str; 3],
    /// The kind of programs.
    pub config: &'a Config,
    /// The usual number.
    pub cases: u64,
    /// The usual total of the tests of this file, with which `DECKLE_CASES` is compared.
    pub of: u64,
    /// The number of threads that run them.
    pub threads: usize,
}

/// The time limit for shrinking a failing program.
const PATIENCE: Duration = Duration::from_secs(20);

/// A number from the environment.
pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Panics inside of [`caught`] are not printed: they are reported with the program.
fn silence() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let hook = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                hook(info);
            }
        }));
    });
}

/// Runs a check; a panic is an error.
fn caught<T>(check: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(check));
    QUIET.set(false);
    result.unwrap_or_else(|e| {
        let text = e.downcast_ref::<String>().cloned().or(e.downcast_ref::<&str>().map(|s| (*s).to_string()));
        Err(format!("it panicked: {}", text.unwrap_or_default()))
    })
}

impl Sweep<'_> {
    /// Runs the seeds.
    ///
    /// # Panics
    /// If a check fails, with the programs.
    pub fn run(&self, check: &(dyn Fn(&Case) -> Result<(), String> + Sync)) {
        silence();
        let [package, file, name] = self.test;
        let (from, cases) = seeds(self.cases, self.of);
        println!("{name}: {cases} programs from DECKLE_SEED={from} on");
        let (next, failed, begun) = (AtomicU64::new(0), Mutex::new(Vec::new()), Instant::now());
        let lock = || failed.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::thread::scope(|scope| {
            for thread in 0..self.threads.max(1) {
                let next = &next;
                scope.spawn(move || {
                    let mark = self.mark(thread);
                    loop {
                        let k = next.fetch_add(1, Ordering::Relaxed);
                        if k >= cases || lock().len() >= 3 {
                            break;
                        }
                        let seed = from.wrapping_add(k);
                        let _ = std::fs::write(&mark, format!("{seed}\n"));
                        let case = program(seed, self.config);
                        if let Err(why) = caught(|| check(&case)) {
                            let until = Instant::now() + PATIENCE;
                            let small = shrink(&case, &mut |c| Instant::now() < until && caught(|| check(c)).is_err());
                            let why = caught(|| check(&small)).err().unwrap_or(why);
                            let again = format!("DECKLE_SEED={seed} cargo test -p {package} --test {file} {name}");
                            // Printed at once, since a long run may be cut short: everything is reported at the end.
                            println!("{name}: seed {seed} fails; to see it again: {again}");
                            lock().push(format!("seed {seed} of `{name}`:\n{small}\n{why}\nto see it again: {again}"));
                        }
                    }
                    let _ = std::fs::remove_file(&mark);
                });
            }
        });
        let took = begun.elapsed().as_secs_f64();
        println!("{name}: {cases} programs in {took:.1} s, {:.1} in a second", cases as f64 / took.max(1e-9));
        let failed = failed.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        assert!(failed.is_empty(), "\n{}", failed.join("\n\n"));
    }

    /// The file that holds the current seed.
    fn mark(&self, thread: usize) -> PathBuf {
        let [package, file, name] = self.test;
        let mut path = std::env::temp_dir();
        path.push(format!("{package}-{file}-{name}-{thread}.seed"));
        path
    }
}

/// The first seed and the number of seeds, for a test that usually runs `cases` of the `of` programs of its file.
pub fn seeds(cases: u64, of: u64) -> (u64, u64) {
    let cases = number("DECKLE_CASES").map_or(cases, |n| n.saturating_mul(cases).div_ceil(of.max(1)));
    number("DECKLE_SEED").map_or((new_seed(), cases), |seed| (seed, 1))
}

/// The first seed if `CI` is set.
const CI_SEED: u64 = 20_000_000;

/// A seed that differs from that of the last run. In continuous integration it is always the same: there a change is tested, and must not fail because of an error
/// that another run would have found, too.
fn new_seed() -> u64 {
    if std::env::var_os("CI").is_some_and(|v| !v.is_empty()) {
        return CI_SEED;
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64);
    // Short enough to be typed, and far from those of other tests that begin at the same time.
    crate::Rng::new(now).bits() % 1_000_000_000_000
}
