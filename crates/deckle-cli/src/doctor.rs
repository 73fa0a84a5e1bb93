//! `deckle doctor`: what Deckle finds on this machine. It only reads, unless it is to clear the cache, and never fails.

use crate::args::DoctorArgs;
use crate::report::print;
use crate::stats::kibibytes;
use deckle_llvm::{Compiler, Description, DiskCache, Unavailable};
use deckle_runtime::cpu::{caches, usable_cores};
use deckle_runtime::cuda::{Cuda, CudaError, DeviceInfo, LEAST_CAPABILITY, Missing};
use deckle_runtime::pool::Bytes;
use std::env;
use std::fs;

/// Prints the list, or clears the cache, and returns the exit code, which is always 0.
pub fn doctor(args: &DoctorArgs) -> u8 {
    let cache_folder = DiskCache::from_env();
    // Errors of a closed standard output are ignored.
    if args.clear_cache {
        let said = clear(cache_folder.as_ref());
        let _ = print(|out| writeln!(out, "{said}"));
        return 0;
    }
    let found = Compiler::host().and_then(Compiler::describe);
    let gpus = gpus();
    let fits = |info: &DeviceInfo| info.compute_capability >= LEAST_CAPABILITY;
    let has_gpu = gpus.as_ref().is_ok_and(|(_, devices)| devices.iter().any(fits));
    let lines = [
        ("deckle", env!("CARGO_PKG_VERSION").to_string()),
        ("system", format!("{} on {}", env::consts::OS, env::consts::ARCH)),
        ("cpu", cpu(found.as_ref().ok())),
        ("cores", usable_cores().to_string()),
        ("caches", cache_sizes()),
        ("memory", memory()),
        ("llvm", found.as_ref().map_or_else(missing, llvm)),
        ("gpu", gpu(gpus)),
        ("cache", cache(cache_folder.as_ref())),
        ("runs on", runs_on(found.is_ok(), has_gpu)),
    ];
    let _ = print(|out| lines.iter().try_for_each(|(key, text)| writeln!(out, "{key:<8} {text}")));
    0
}

fn runs_on(compiled: bool, has_gpu: bool) -> String {
    let gpu = if has_gpu { "gpu, " } else { "" };
    if compiled {
        format!("cpu (all cores; the default), seq (one core), {gpu}interp (the reference)")
    } else {
        "interp (the reference); cpu, seq and gpu need LLVM".to_string()
    }
}

/// Code is compiled for the processor name that LLVM reports.
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

/// The reason why it is missing, and what to do.
fn missing(why: &Unavailable) -> String {
    let text = why.to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    format!("none: {}", lines.join("\n         "))
}

/// The driver, and its devices by number; or the reason why it is missing, and what to do.
fn gpu(found: Result<(Cuda, Vec<DeviceInfo>), CudaError>) -> String {
    let (cuda, devices) = match found {
        Ok(found) => found,
        Err(CudaError::Unavailable(missing)) => {
            let remedy = match missing {
                Missing::Driver(_) => "a GPU of NVIDIA needs its driver, and nothing else",
                Missing::Function(_) => "install a newer driver",
                Missing::Start(_) => "`nvidia-smi` and the log of the system may say more",
                _ => return format!("none: {missing}"),
            };
            return format!("none: {missing}\n         {remedy}");
        }
        Err(e) => return format!("none: {e}"),
    };
    let version = cuda.version().map_or("?".to_string(), |(major, minor)| format!("{major}.{minor}"));
    let driver = format!("driver for CUDA {version}");
    if devices.is_empty() {
        return format!("none: {}; {driver}", Missing::Device);
    }
    let lines = devices.iter().map(device);
    [driver].into_iter().chain(lines).collect::<Vec<_>>().join("\n         ")
}

fn device(info: &DeviceInfo) -> String {
    let DeviceInfo { ordinal, name, memory, compute_capability: (major, minor), .. } = info;
    let (a, b) = LEAST_CAPABILITY;
    let fits = if info.compute_capability < LEAST_CAPABILITY {
        format!(" (too old: {a}.{b} is the least)")
    } else {
        String::new()
    };
    format!("device {ordinal}: {name}, {}, compute capability {major}.{minor}{fits}", Bytes(*memory))
}

fn gpus() -> Result<(Cuda, Vec<DeviceInfo>), CudaError> {
    let cuda = Cuda::open()?;
    let devices = cuda.devices()?;
    Ok((cuda, devices))
}

/// The folder of compiled code, and its size.
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
    fn devices_are_numbered_and_told_apart() {
        let info = |compute_capability| DeviceInfo {
            ordinal: 1,
            name: "NVIDIA H200".into(),
            compute_capability,
            memory: 140 << 30,
            multiprocessors: 132,
            max_threads_per_block: 1024,
            max_shared_per_block: 227 << 10,
            warp_size: 32,
        };
        assert_eq!(device(&info((9, 0))), "device 1: NVIDIA H200, 140 GiB, compute capability 9.0");
        assert!(device(&info((6, 1))).ends_with("compute capability 6.1 (too old: 7.0 is the least)"));
        assert!(runs_on(true, true).contains("gpu") && !runs_on(true, false).contains("gpu"));
    }

    #[test]
    fn nothing_fails_where_nothing_is_found() {
        let none =
            Unavailable { rejected: vec![("/a/libLLVM.so".into(), "it is too old".into())], ..Unavailable::default() };
        let text = missing(&none);
        assert!(text.starts_with("none: no LLVM") && text.contains("/a/libLLVM.so: it is too old"), "{text}");
        assert_eq!(cache(None), "none");
        let why = |missing| gpu(Err(CudaError::Unavailable(missing)));
        let text = why(Missing::Driver("libcuda.so.1"));
        assert!(text.starts_with("none: there is no NVIDIA driver (libcuda.so.1"), "{text}");
        assert!(why(Missing::Function("cuLinkCreate_v2")).contains("too old"));
        assert_eq!(why(Missing::Device), "none: the NVIDIA driver finds no device");
        assert_eq!(doctor(&DoctorArgs { clear_cache: false }), 0);
    }
}
