//! `deckle doctor`: what Deckle finds on this machine. It only looks, and never fails.

use crate::report::print;
use crate::stats::kibibytes;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the system keeps shared libraries.
const LIBRARIES: [&str; 9] = [
    "/usr/local/lib",
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/usr/lib64",
    "/usr/lib",
    "/lib64",
    "/usr/lib/wsl/lib",
    "/opt/homebrew/opt/llvm/lib",
    "/usr/local/opt/llvm/lib",
];

/// Prints the list and gives the exit code, which is always 0.
pub fn doctor() -> u8 {
    let lines = [
        ("deckle", env!("CARGO_PKG_VERSION").to_string()),
        ("system", format!("{} on {}", env::consts::OS, env::consts::ARCH)),
        ("cpu", cpu()),
        ("cores", std::thread::available_parallelism().map_or("unknown".into(), |n| n.to_string())),
        ("memory", memory()),
        ("llvm", llvm()),
        ("gpu", gpu()),
        ("cache", cache().map_or("none: no home directory is known".into(), |p| p.display().to_string())),
        ("runs on", "interp (this version has the interpreter only)".to_string()),
    ];
    // With standard output gone there is nobody to tell.
    let _ = print(|out| lines.iter().try_for_each(|(key, text)| writeln!(out, "{key:<8} {text}")));
    0
}

fn cpu() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find(|l| l.starts_with("model name")).and_then(|l| l.split_once(':'));
    let model = model.map_or("unknown model", |(_, name)| name.trim());
    let features = features();
    let features = if features.is_empty() { "no vector features known".to_string() } else { features.join(" ") };
    format!("{model}: {features}")
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

/// The library that would be opened: `$DECKLE_LLVM`, then the Rust toolchain's, then the system's.
fn llvm() -> String {
    if let Some(path) = env::var_os("DECKLE_LLVM").map(PathBuf::from) {
        let state = if path.is_file() { "" } else { ", which is not a file" };
        return format!("{} ($DECKLE_LLVM){state}", path.display());
    }
    if let Some(path) = sysroot().and_then(|root| newest(&root.join("lib"), is_llvm)) {
        return format!("{} (the Rust toolchain's)", path.display());
    }
    let mut folders: Vec<PathBuf> = LIBRARIES.iter().map(PathBuf::from).collect();
    folders.extend(versioned());
    match folders.iter().find_map(|f| newest(f, is_llvm)) {
        Some(path) => format!("{} (the system's)", path.display()),
        None => "not found: install Rust or LLVM 16 or later, or set $DECKLE_LLVM".to_string(),
    }
}

fn sysroot() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output().ok()?;
    let root = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(root.trim()))
}

/// `/usr/lib/llvm-20/lib` and the like.
fn versioned() -> Vec<PathBuf> {
    let entries = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let version = |e: fs::DirEntry| {
        let number = e.file_name().to_str()?.strip_prefix("llvm-")?.parse::<u32>().ok()?;
        Some((number, e.path().join("lib")))
    };
    let mut found: Vec<(u32, PathBuf)> = entries.filter_map(version).collect();
    found.sort();
    found.into_iter().rev().map(|v| v.1).collect()
}

fn is_llvm(name: &str) -> bool {
    name.starts_with("libLLVM") && (name.contains(".so") || name.ends_with(".dylib"))
}

/// The last file of a directory, by name, that is wanted.
fn newest(directory: &Path, wanted: fn(&str) -> bool) -> Option<PathBuf> {
    let entries = fs::read_dir(directory).ok()?.flatten();
    entries.filter(|e| wanted(&e.file_name().to_string_lossy())).map(|e| e.path()).max()
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

/// Where compiled code will be kept.
fn cache() -> Option<PathBuf> {
    let set = |key: &str| env::var_os(key).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = if cfg!(windows) {
        set("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        set("HOME").map(|h| h.join("Library/Caches"))
    } else {
        set("XDG_CACHE_HOME").filter(|p| p.is_absolute()).or_else(|| set("HOME").map(|h| h.join(".cache")))
    };
    base.map(|b| b.join("deckle"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn llvm_libraries_are_known_by_name() {
        assert!(is_llvm("libLLVM.so.20.1") && is_llvm("libLLVM-18.so") && is_llvm("libLLVM.dylib"));
        assert!(!is_llvm("libLLVM.a") && !is_llvm("libclang.so"));
    }

    #[test]
    fn nothing_fails_where_nothing_is_found() {
        assert_eq!(newest(Path::new("/nowhere"), is_llvm), None);
        assert_eq!(doctor(), 0);
    }
}
