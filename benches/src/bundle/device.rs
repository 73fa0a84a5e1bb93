//! The device: its description, and the bandwidth of copies on it, and between it and page-locked memory.

use super::Asked;
use crate::measure::Times;
use deckle_engine::{Gpu, Simulator};
use deckle_runtime::cuda::{Cuda, CudaError, Stream};
use serde_json::{Value, json};

/// The most bytes that are copied, and the number of copies.
const COPIED: u64 = 1 << 30;
const COPIES: usize = 12;

/// The bytes of a copy between page-locked memory and the device.
const TRANSFERRED: usize = 256 << 20;

/// Opens the device.
pub fn open(asked: &Asked) -> Result<Gpu, String> {
    open_with(asked, None)
}

/// Opens the device with a budget in bytes.
pub fn open_with(asked: &Asked, budget: Option<u64>) -> Result<Gpu, String> {
    if asked.simulated {
        return Ok(Gpu::simulated(Simulator::default(), budget));
    }
    Gpu::open(asked.device, budget).map_err(|d| [vec![d.message.clone()], d.notes.clone()].concat().join("\n"))
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
    Ok(2.0 * bytes as f64 / median(&stream, &mut || stream.copy(&from, &to, bytes))?)
}

/// The bytes that copies from page-locked memory to the device, and from the device, transfer in a second.
#[allow(unsafe_code)] // The host does not touch the memory before the copies are done.
pub fn transfer_bandwidth(number: usize) -> Result<[f64; 2], CudaError> {
    let context = Cuda::open()?.context(number)?;
    let (on_device, stream) = (context.alloc(TRANSFERRED)?, context.stream()?);
    let mut pinned = context.pinned(TRANSFERRED)?;
    // SAFETY: `median` waits for each copy.
    let there = median(&stream, &mut || unsafe { stream.copy_in(&on_device, 0, (&pinned, 0), TRANSFERRED) })?;
    // SAFETY: as above.
    let back = median(&stream, &mut || unsafe { stream.copy_out(&on_device, 0, (&mut pinned, 0), TRANSFERRED) })?;
    Ok([there, back].map(|seconds| TRANSFERRED as f64 / seconds))
}

/// The median of the seconds of several copies, after two that are not counted.
fn median(stream: &Stream, copy: &mut dyn FnMut() -> Result<(), CudaError>) -> Result<f64, CudaError> {
    let mut times = Vec::new();
    for _ in 0..COPIES {
        let begin = stream.record()?;
        copy()?;
        let end = stream.record()?;
        while !end.is_past()? {
            std::hint::spin_loop();
        }
        times.push(end.seconds_since(&begin)?);
    }
    Ok(Times::new(times.split_off(2)).median())
}
