//! The processor as available to a program.

use std::path::Path;

/// Sizes of one core's caches in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caches {
    /// First level, data.
    pub l1: usize,
    /// Second level.
    pub l2: usize,
    /// Third level, in total: it is shared among cores.
    pub l3: usize,
    /// A line.
    pub line: usize,
}

/// Assumed if the system gives no information.
pub const USUAL_CACHES: Caches = Caches { l1: 32 << 10, l2: 512 << 10, l3: 8 << 20, line: 64 };

/// The number of threads that can run at once, within affinity and control groups. At least one.
pub fn usable_cores() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get())
}

/// The caches of this machine's first core, with [`USUAL_CACHES`] for unknown values.
pub fn caches() -> Caches {
    caches_in(Path::new("/sys/devices/system/cpu/cpu0/cache"))
}

/// The memory that is free for this process: of the machine, of its control group, and of the addresses it may map (`ulimit -v`). `None` if the system gives no information.
pub fn free_memory() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let available = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        available.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    });
    let number = |name: &str| std::fs::read_to_string(name).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max")
        .map(|most| most.saturating_sub(number("/sys/fs/cgroup/memory.current").unwrap_or(0)));
    machine.into_iter().chain(group).chain(free_addresses()).min()
}

/// How much more the process may map, if that is limited.
fn free_addresses() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let most = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most = most.split_whitespace().next()?.parse::<u64>().ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let mapped = status.lines().find_map(|line| line.strip_prefix("VmSize:"))?;
    let mapped = mapped.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)?;
    Some(most.saturating_sub(mapped))
}

fn caches_in(folder: &Path) -> Caches {
    let mut caches = USUAL_CACHES;
    for index in 0..8 {
        let read = |name: &str| {
            std::fs::read_to_string(folder.join(format!("index{index}")).join(name)).ok().map(|s| s.trim().to_string())
        };
        let (Some(level), Some(kind)) = (read("level"), read("type")) else { continue };
        let Some(size) = read("size").and_then(|s| bytes_of(&s)).filter(|_| kind != "Instruction") else { continue };
        match level.as_str() {
            "1" => {
                caches.l1 = size;
                caches.line = read("coherency_line_size").and_then(|s| s.parse().ok()).unwrap_or(caches.line);
            }
            "2" => caches.l2 = size,
            "3" => caches.l3 = size,
            _ => {}
        }
    }
    caches
}

/// `32K`, `1024K`, `33792K`, `8M`.
fn bytes_of(text: &str) -> Option<usize> {
    let (digits, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let unit = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<usize>().ok()?.checked_mul(unit).filter(|&bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let sizes = ["32K", "8M", "64", "0K", "K", "1T", ""].map(bytes_of);
        assert_eq!(sizes, [Some(32768), Some(8 << 20), Some(64), None, None, None, None]);
    }

    #[test]
    fn what_is_not_known_is_assumed() {
        assert_eq!(caches_in(Path::new("/nowhere")), USUAL_CACHES);
    }

    #[test]
    fn this_machine_has_a_core_and_caches_that_grow() {
        let caches = caches();
        assert!(usable_cores() >= 1 && caches.l1 <= caches.l2 && caches.line.is_power_of_two(), "{caches:?}");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no files")]
    fn the_system_is_believed() {
        let folder = std::env::temp_dir().join(format!("deckle-caches-{}", std::process::id()));
        let entries = [("0", "1", "Data", "48K"), ("1", "1", "Instruction", "64K"), ("2", "2", "Unified", "2M")];
        for (index, level, kind, size) in entries {
            let index = folder.join(format!("index{index}"));
            std::fs::create_dir_all(&index).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("size", size), ("coherency_line_size", "128")] {
                std::fs::write(index.join(name), format!("{text}\n")).unwrap();
            }
        }
        let found = caches_in(&folder);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(found, Caches { l1: 48 << 10, l2: 2 << 20, l3: USUAL_CACHES.l3, line: 128 });
    }
}
