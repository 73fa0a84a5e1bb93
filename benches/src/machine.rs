//! The machine, in words, and the load of other processes on it.
#![allow(unsafe_code)] // The resource usage of children is a call of the C library.

use std::fs::read_to_string;
use std::time::Instant;

/// Measures how long other processes use the cores.
#[derive(Debug)]
pub struct Watch {
    begun: Instant,
    all: f64,
    own: f64,
}

impl Watch {
    /// Starts now.
    pub fn start() -> Watch {
        Watch { begun: Instant::now(), all: busy_seconds(), own: children_seconds() }
    }

    /// The average number of cores used by others: 1.0 is one core all the time. Processes started since then must have ended.
    pub fn others(&self) -> f64 {
        let all = busy_seconds() - self.all;
        let own = children_seconds() - self.own;
        ((all - own) / self.begun.elapsed().as_secs_f64().max(1e-3)).max(0.0)
    }
}

/// The seconds that all cores have been busy since boot, including those of other guests.
fn busy_seconds() -> f64 {
    let stat = read_to_string("/proc/stat").unwrap_or_default();
    let first = stat.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = first.split_whitespace().skip(1).filter_map(|t| t.parse().ok()).collect();
    // User, nice, system, idle, waiting, interrupts (two), stolen; guests are counted twice after that.
    let at = |k: usize| ticks.get(k).copied().unwrap_or(0.0);
    [0, 1, 2, 5, 6, 7].map(at).iter().sum::<f64>() / 100.0
}

/// The seconds used by child processes that have ended.
#[cfg(unix)]
fn children_seconds() -> f64 {
    // SAFETY: all zeros are a value of it, and the call fills it in.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + 1e-6 * t.tv_usec as f64;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

/// Zero: there is no such counter.
#[cfg(not(unix))]
fn children_seconds() -> f64 {
    0.0
}

/// The processor, its cores, memory and kernel, and the current load of others.
pub fn describe() -> String {
    let file = |path: &str| read_to_string(path).unwrap_or_default();
    let cpu = file("/proc/cpuinfo");
    let field = |name: &str| {
        let line = cpu.lines().find(|l| l.split(':').next().is_some_and(|k| k.trim() == name));
        line.and_then(|l| l.split_once(':')).map_or("?", |(_, v)| v.trim()).to_string()
    };
    let caches = deckle_runtime::cpu::caches();
    let flags = field("flags");
    let wide = ["avx512f", "avx2", "sse2"].into_iter().find(|f| flags.split(' ').any(|g| g == *f)).unwrap_or("?");
    let memory = file("/proc/meminfo");
    let total =
        memory.lines().find_map(|l| l.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<f64>().ok());
    let huge = file("/sys/kernel/mm/transparent_hugepage/enabled");
    let huge = huge.split_once('[').and_then(|(_, r)| r.split_once(']')).map_or("?", |(h, _)| h);
    let load = file("/proc/loadavg");
    format!(
        "{} (family {} model {}, {wide}), {} cores usable, caches {caches:?}, {:.0} GiB, transparent huge pages: {huge}, kernel {}, load {}",
        field("model name"),
        field("cpu family"),
        field("model"),
        deckle_runtime::cpu::usable_cores(),
        total.unwrap_or(0.0) / f64::from(1 << 20),
        file("/proc/sys/kernel/osrelease").trim(),
        load.split_whitespace().next().unwrap_or("?"),
    )
}

/// The day, by the clock of this machine.
pub fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_secs());
    date(since / 86_400)
}

/// The date of a day counted from the first of January 1970.
fn date(days: u64) -> String {
    // Years begin in March, so that the leap day is the last; 400 years repeat.
    let days = days + 719_468;
    let era = days / 146_097;
    let day = days % 146_097;
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = (year + 400 * era + u64::from(month >= 10), if month < 10 { month + 3 } else { month - 9 });
    format!("{year}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    #[test]
    fn dates() {
        assert_eq!(super::date(0), "1970-01-01");
        assert_eq!(super::date(19_782), "2024-02-29");
        assert_eq!(super::date(20_772), "2026-11-15");
    }
}
