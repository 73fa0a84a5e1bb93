//! `deckle doctor`: what Deckle finds on this machine. It only looks, unless told to clear the cache, and never fails.

use crate::args::DoctorArgs;
use crate::report::print;
use crate::stats::kibibytes;
use deckle_llvm::{Compiler, Description, DiskCache, Unavailable};
use deckle_runtime::cpu::{caches, usable_cores};
use deckle_runtime::pool::Bytes;
use std::env;
use std::fs;
use std::path::PathBuf;

/// Where the system keeps shared libraries.
const LIBRARIES: [&str; 7] = [
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib64",
    "/usr/lib/wsl/lib",
];

/// Prints the list, or clears the cache, and gives the exit code, which is always 0.
pub fn doctor(args: &DoctorArgs) -> u8 {
    let cache_folder = DiskCache::from_env();
    // With standard output gone there is nobody to tell.
    if args.clear_cache {
        let said = clear(cache_folder.as_ref());
        let _ = print(|out| writeln!(out, "{said}"));
        return 0;
    }
    let found = Compiler::host().and_then(Compiler::describe);
    let lines = [
        ("deckle", env!("CARGO_PKG_VERSION").to_string()),
        ("system", format!("{} on {}", env::consts::OS, env::consts::ARCH)),
        ("cpu", cpu(found.as_ref().ok())),
        ("cores", usable_cores().to_string()),
        ("caches", cache_sizes()),
        ("memory", memory()),
        ("llvm", found.as_ref().map_or_else(missing, llvm)),
        ("gpu", gpu()),
        ("cache", cache(cache_folder.as_ref())),
        ("runs on", runs_on(found.is_ok())),
    ];
    let _ = print(|out| lines.iter().try_for_each(|(key, text)| writeln!(out, "{key:<8} {text}")));
    0
}

fn runs_on(compiled: bool) -> String {
    if compiled {
        "cpu (all cores; the default), seq (one core), interp (the reference)".to_string()
    } else {
        "interp (the reference); cpu and seq need LLVM".to_string()
    }
}

/// What LLVM calls the processor is what code is compiled for.
fn cpu(found: Option<&Description>) -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split_once(':'));
    let model = model.map_or("unknown model", |(_, name)| name.trim());
    let name = found.map_or(String::new(), |d| format!(" ({})", d.cpu));
    let features = features();
    let features = if features.is_empty() { "no vector features known".to_string() } else { features.join(" ") };
    format!("{model}{name}: {features}")
}

fn cache_sizes() -> String {
    let c = caches();
    let bytes = |n: usize| Bytes(n as u64);
    format!("{} L1 and {} L2 for each core, {} L3, lines of {} B", bytes(c.l1), bytes(c.l2), bytes(c.l3), c.line)
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<&'static str> {
    macro_rules! detected {
        ($($name:tt)*) => { [$(($name, std::arch::is_x86_feature_detected!($name))),*] };
    }
    let all =
        detected!("sse4.2" "avx" "avx2" "fma" "bmi2" "f16c" "avx512f" "avx512dq" "avx512bw" "avx512vl" "avx512vnni");
    all.into_iter().filter(|f| f.1).map(|f| f.0).collect()
}

#[cfg(target_arch = "aarch64")]
fn features() -> Vec<&'static str> {
    macro_rules! detected {
        ($($name:tt)*) => { [$(($name, std::arch::is_aarch64_feature_detected!($name))),*] };
    }
    detected!("neon" "fp16" "dotprod" "sve" "sve2").into_iter().filter(|f| f.1).map(|f| f.0).collect()
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn features() -> Vec<&'static str> {
    Vec::new()
}

fn memory() -> String {
    let info = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let gib = |key| kibibytes(&info, key).map(|b| format!("{:.1} GiB", b as f64 / (1u64 << 30) as f64));
    match (gib("MemTotal:"), gib("MemAvailable:")) {
        (Some(total), Some(free)) => format!("{total}, {free} available"),
        (Some(total), None) => total,
        _ => "unknown".to_string(),
    }
}

fn llvm(found: &Description) -> String {
    let (major, minor, patch) = found.version;
    format!("{major}.{minor}.{patch}, {}", found.path.display())
}

/// Why there is none, and what to do.
fn missing(why: &Unavailable) -> String {
    let text = why.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    format!("none: {}", lines.join("\n         "))
}

fn gpu() -> String {
    const DRIVER: &str = "libcuda.so.1";
    let searched = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = env::split_paths(&searched).chain(LIBRARIES.iter().map(PathBuf::from));
    let driver = folders.map(|f| f.join(DRIVER)).find(|p| p.is_file()).or_else(|| from_loader_cache(DRIVER));
    match (driver, models()) {
        (Some(path), models) if models.is_empty() => format!("driver {}", path.display()),
        (Some(path), models) => format!("{}, driver {}", models.join(", "), path.display()),
        (None, _) => format!("none: {DRIVER} is not installed"),
    }
}

/// A library that the dynamic loader knows: its cache holds the paths as C strings.
fn from_loader_cache(name: &str) -> Option<PathBuf> {
    let cache = fs::read("/etc/ld.so.cache").ok()?;
    let ending = format!("/{name}");
    let found = cache.split(|b| *b == 0).filter_map(|s| std::str::from_utf8(s).ok()).find(|s| s.ends_with(&ending));
    found.map(PathBuf::from).filter(|p| p.is_file())
}

/// The names of the NVIDIA GPUs that the driver lists.
fn models() -> Vec<String> {
    let entries = fs::read_dir("/proc/driver/nvidia/gpus").into_iter().flatten().flatten();
    let model = |text: String| text.lines().find_map(|l| l.strip_prefix("Model:")).map(|m| m.trim().to_string());
    entries.filter_map(|e| fs::read_to_string(e.path().join("information")).ok().and_then(model)).collect()
}

/// Where compiled code is kept, and how much.
fn cache(folder: Option<&DiskCache>) -> String {
    folder.map_or("none".to_string(), |cache| {
        let stats = cache.stats();
        let entries = if stats.entries == 1 { "entry" } else { "entries" };
        let (n, bytes, limit) = (stats.entries, Bytes(stats.bytes), Bytes(stats.limit));
        format!("{}: {n} {entries}, {bytes} of {limit}", stats.path.display())
    })
}

fn clear(folder: Option<&DiskCache>) -> String {
    let Some(cache) = folder else { return "there is no cache".to_string() };
    let before = cache.stats();
    cache.clear();
    let after = cache.stats();
    let gone = before.entries.saturating_sub(after.entries);
    let entries = if gone == 1 { "entry" } else { "entries" };
    let bytes = Bytes(before.bytes.saturating_sub(after.bytes));
    format!("removed {gone} {entries} ({bytes}) from {}", cache.path().display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_fails_where_nothing_is_found() {
        let none =
            Unavailable { rejected: vec![("/a/libLLVM.so".into(), "it is too old".into())], ..Unavailable::default() };
        let text = missing(&none);
        assert!(text.starts_with("none: no LLVM") && text.contains("/a/libLLVM.so: it is too old"), "{text}");
        assert_eq!(cache(None), "none");
        assert_eq!(doctor(&DoctorArgs { clear_cache: false }), 0);
    }
}
