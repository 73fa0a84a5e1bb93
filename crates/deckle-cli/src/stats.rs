//! The resources of a run, for `--stats`.

use deckle_engine::{RanOn, Report, Traffic};
use deckle_interp::Cost;

/// One JSON object on one line. Its keys are a contract: other tools read them. `array_bytes` is the memory that `--memory` limits, `peak_bytes` that of the whole process, `seconds` the run without compiling.
pub fn to_json(report: &Report, seconds: f64) -> String {
    let peak = peak_bytes().map_or("null".to_string(), |n| n.to_string());
    let (chunks, kernels, rest) = match &report.on {
        RanOn::Interp { cost, .. } => {
            // Streamed sequences are not metered.
            let figures = |c: &Cost| [c.work, c.depth, c.space.seq, c.space.par].map(|n| n.to_string());
            let figures = cost.as_ref().map_or(["null"; 4].map(str::to_string), figures);
            let keys = ["work", "depth", "space_seq", "space_par"].into_iter().zip(figures);
            let shown: Vec<String> = keys.map(|(key, figure)| format!("\"{key}\":{figure}")).collect();
            (0, 0, shown.join(","))
        }
        RanOn::Native { array_bytes, chunks, kernels, threads, rounds } => {
            let rounds = if *rounds > 0 { format!(",\"rounds\":{rounds}") } else { String::new() };
            (*chunks, *kernels, format!("\"array_bytes\":{array_bytes},\"threads\":{threads}{rounds}"))
        }
        RanOn::Gpu { array_bytes, chunks, kernels, traffic } => (*chunks, *kernels, on_gpu(*array_bytes, traffic)),
    };
    format!(
        "{{\"seconds\":{:.6},\"compile_seconds\":{:.6},\"peak_bytes\":{peak},\"chunks\":{chunks},\"kernels\":{kernels},{rest}}}",
        seconds, report.compile_seconds
    )
}

/// The additional keys of a run on a GPU: `kernel_seconds` by the clock of the device, copies as their number and their bytes.
fn on_gpu(array_bytes: u64, traffic: &Traffic) -> String {
    let Traffic { launches, kernel_seconds, copies_in, bytes_in, bytes_early, copies_out, bytes_out, device_bytes } =
        traffic;
    format!(
        "\"array_bytes\":{array_bytes},\"device_bytes\":{device_bytes},\"launches\":{launches},\"kernel_seconds\":{kernel_seconds:.6},\
         \"copies_in\":{copies_in},\"bytes_in\":{bytes_in},\"bytes_early\":{bytes_early},\"copies_out\":{copies_out},\"bytes_out\":{bytes_out}"
    )
}

/// The peak resident memory of this process, if the system reports it.
fn peak_bytes() -> Option<u64> {
    kibibytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

/// The bytes of a line like `VmHWM:  1234 kB`.
pub fn kibibytes(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|l| l.strip_prefix(key))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_object_has_the_keys_of_the_contract() {
        let metered = ["work", "depth", "space_seq", "space_par"];
        let native = RanOn::Native { array_bytes: 64, chunks: 3, kernels: 2, threads: 4, rounds: 0 };
        let interp = RanOn::Interp { cost: Some(Cost::default()), watched: Vec::new() };
        let gpu = RanOn::Gpu { array_bytes: 64, chunks: 0, kernels: 2, traffic: Traffic::default() };
        let of_gpu = [
            "launches",
            "kernel_seconds",
            "copies_in",
            "bytes_in",
            "bytes_early",
            "copies_out",
            "bytes_out",
            "device_bytes",
        ];
        for (on, own) in [(interp, &metered[..]), (native, &["array_bytes", "threads"]), (gpu, &of_gpu)] {
            let report = Report { compile_seconds: 0.25, on };
            let value: serde_json::Value = serde_json::from_str(&to_json(&report, 0.5)).unwrap();
            assert_eq!(value["seconds"], 0.5);
            for key in ["compile_seconds", "peak_bytes", "chunks", "kernels"].iter().chain(own) {
                assert!(value.get(key).is_some(), "{key}");
            }
        }
    }

    #[test]
    fn lines_of_proc_are_read() {
        assert_eq!(kibibytes("VmPeak: 1 kB\nVmHWM:\t    12 kB\n", "VmHWM:"), Some(12 << 10));
        assert_eq!(kibibytes("", "VmHWM:"), None);
    }
}
