//! What a run took, for `--stats`.

use deckle_interp::Cost;

/// What is known after a run.
pub struct Stats {
    pub seconds: f64,
    pub compile_seconds: f64,
    /// The bytes of each sequence that was kept, where they are known.
    pub kept: Vec<u64>,
    pub run: Run,
}

/// What only one way of running tells.
pub enum Run {
    /// The interpreter neither cuts a stream into chunks nor makes kernels, but meters the cost.
    Interp(Cost),
    /// `array_bytes` are those that `--memory` is about; `peak_bytes` are the whole process. `rounds` are those of all loops, which checked mode counts.
    Native { array_bytes: u64, chunks: u64, kernels: usize, threads: usize, rounds: u64 },
}

impl Stats {
    /// One JSON object on one line. Its keys are a contract: other tools read them.
    pub fn to_json(&self) -> String {
        let peak = peak_bytes().map_or("null".to_string(), |n| n.to_string());
        let (chunks, kernels, rest) = match &self.run {
            Run::Interp(Cost { work, depth, space, .. }) => {
                let space = format!("\"space_seq\":{},\"space_par\":{}", space.seq, space.par);
                (0, 0, format!("\"work\":{work},\"depth\":{depth},{space}"))
            }
            Run::Native { array_bytes, chunks, kernels, threads, rounds } => {
                let rounds = if *rounds > 0 { format!(",\"rounds\":{rounds}") } else { String::new() };
                (*chunks, *kernels, format!("\"array_bytes\":{array_bytes},\"threads\":{threads}{rounds}"))
            }
        };
        format!(
            "{{\"seconds\":{:.6},\"compile_seconds\":{:.6},\"peak_bytes\":{peak},\"chunks\":{chunks},\"kernels\":{kernels},{rest}}}",
            self.seconds, self.compile_seconds
        )
    }
}

/// The most memory that this process has had resident, where the system says.
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
        let native = Run::Native { array_bytes: 64, chunks: 3, kernels: 2, threads: 4, rounds: 0 };
        for (run, own) in [(Run::Interp(Cost::default()), &metered[..]), (native, &["array_bytes", "threads"])] {
            let stats = Stats { seconds: 0.5, compile_seconds: 0.25, kept: Vec::new(), run };
            let value: serde_json::Value = serde_json::from_str(&stats.to_json()).unwrap();
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
