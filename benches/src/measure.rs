//! Timing.
#![allow(unsafe_code)] // The clock of the process is a call of the C library.

use std::time::Instant;

/// Times of one thing, sorted.
#[derive(Clone, Debug)]
pub struct Times(Vec<f64>);

impl Times {
    /// Sorts times.
    pub fn new(mut seconds: Vec<f64>) -> Times {
        seconds.sort_by(f64::total_cmp);
        Times(seconds)
    }

    /// The median.
    pub fn median(&self) -> f64 {
        let n = self.0.len();
        match n {
            0 => f64::NAN,
            _ if n % 2 == 1 => self.0[n / 2],
            _ => 0.5 * (self.0[n / 2 - 1] + self.0[n / 2]),
        }
    }

    /// The shortest.
    pub fn min(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::NAN)
    }

    /// The longest.
    pub fn max(&self) -> f64 {
        self.0.last().copied().unwrap_or(f64::NAN)
    }

    /// The number of times.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

/// Times `run`, which has been run before: at least 5 times, up to 21 while they take less than 0.3 s together; very long runs
/// less often. `run` returns its own seconds.
pub fn measure<E>(mut run: impl FnMut() -> Result<f64, E>) -> Result<Times, E> {
    let mut times: Vec<f64> = Vec::new();
    let mut total = 0.0;
    while times.len() < 5 && (total < 20.0 || times.is_empty()) || total < 0.3 && times.len() < 21 {
        let seconds = run()?;
        total += seconds;
        times.push(seconds);
    }
    Ok(Times::new(times))
}

/// The seconds of `f`.
pub fn seconds(f: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    f();
    begun.elapsed().as_secs_f64()
}

/// The CPU seconds of all threads of this process: on a busy machine, less than the elapsed time.
#[cfg(unix)]
pub fn cpu_seconds() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is written to `t`.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + 1e-9 * t.tv_nsec as f64
}

/// NaN: there is no such clock.
#[cfg(not(unix))]
pub fn cpu_seconds() -> f64 {
    f64::NAN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(Times::new(vec![3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(Times::new(vec![4.0, 1.0, 2.0, 3.0]).median(), 2.5);
    }

    #[test]
    fn at_least_five_runs() {
        let mut n = 0;
        let times = measure(|| -> Result<f64, ()> {
            n += 1;
            Ok(1.0)
        });
        assert_eq!((times.map(|t| t.len()), n), (Ok(5), 5));
    }
}
