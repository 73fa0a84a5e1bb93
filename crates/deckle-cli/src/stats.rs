//! What a run took, for `--stats`.

use deckle_interp::Cost;

/// What is known after a run.
pub struct Stats {
    pub seconds: f64,
    pub compile_seconds: f64,
    pub cost: Cost,
}

impl Stats {
    /// One JSON object on one line. Its keys are a contract: other tools read them.
    pub fn to_json(&self) -> String {
        let peak = peak_bytes().map_or("null".to_string(), |n| n.to_string());
        let Cost { work, depth, space, .. } = self.cost;
        // The interpreter neither cuts a stream into chunks nor makes kernels.
        format!(
            "{{\"seconds\":{:.6},\"compile_seconds\":{:.6},\"peak_bytes\":{peak},\"chunks\":0,\"kernels\":0,\
             \"work\":{work},\"depth\":{depth},\"space_seq\":{},\"space_par\":{}}}",
            self.seconds, self.compile_seconds, space.seq, space.par
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
        let stats = Stats { seconds: 0.5, compile_seconds: 0.25, cost: Cost::default() };
        let value: serde_json::Value = serde_json::from_str(&stats.to_json()).unwrap();
        assert_eq!(value["seconds"], 0.5);
        for key in ["compile_seconds", "peak_bytes", "chunks", "kernels", "work", "depth", "space_seq", "space_par"] {
            assert!(value.get(key).is_some(), "{key}");
        }
    }

    #[test]
    fn lines_of_proc_are_read() {
        assert_eq!(kibibytes("VmPeak: 1 kB\nVmHWM:\t    12 kB\n", "VmHWM:"), Some(12 << 10));
        assert_eq!(kibibytes("", "VmHWM:"), None);
    }
}
