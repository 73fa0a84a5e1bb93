//! The device: its description, and the bandwidth of copies on it.

use super::Asked;
use crate::measure::Times;
use deckle_engine::{Gpu, Simulator};
use deckle_runtime::cuda::{Cuda, CudaError};
use serde_json::{Value, json};

/// The most bytes that are copied, and the number of copies.
const COPIED: u64 = 1 << 30;
const COPIES: usize = 12;

/// Opens the device.
pub fn open(asked: &Asked) -> Result<Gpu, String> {
    if asked.simulated {
        return Ok(Gpu::simulated(Simulator::default(), None));
    }
    Gpu::open(asked.device, None).map_err(|d| [vec![d.message.clone()], d.notes.clone()].concat().join("\n"))
}

/// What is reported of it.
pub fn describe(asked: &Asked, gpu: &Gpu) -> Value {
    let mut all = json!({"name": gpu.name(), "simulated": asked.simulated, "budget_bytes": gpu.memory().budget});
    if !asked.simulated {
        let info = || -> Result<_, CudaError> {
            let cuda = Cuda::open()?;
            Ok((cuda.version()?, cuda.context(asked.device)?.info().clone()))
        };
        if let Ok(((major, minor), info)) = info() {
            all["cuda"] = json!(format!("{major}.{minor}"));
            all["sm"] = json!(info.sm());
            all["memory_bytes"] = json!(info.memory);
            all["multiprocessors"] = json!(info.multiprocessors);
        }
    }
    all
}

/// The bytes that a copy on the device reads and writes in a second: the median of several copies, after two that are not counted.
pub fn copy_bandwidth(number: usize) -> Result<f64, CudaError> {
    let context = Cuda::open()?.context(number)?;
    let bytes = COPIED.min(context.memory()?.0 / 4) as usize;
    let (from, to, stream) = (context.alloc(bytes)?, context.alloc(bytes)?, context.stream()?);
    stream.fill(&from, bytes, 1)?;
    let mut times = Vec::new();
    for _ in 0..COPIES {
        let begin = stream.record()?;
        stream.copy(&from, &to, bytes)?;
        let end = stream.record()?;
        while !end.is_past()? {
            std::hint::spin_loop();
        }
        times.push(end.seconds_since(&begin)?);
    }
    Ok(2.0 * bytes as f64 / Times::new(times.split_off(2)).median())
}
