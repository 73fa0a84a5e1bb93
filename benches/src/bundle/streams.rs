//! Streams through a GPU: sequences four times as large as the budget of the device. The bound is the bandwidth of copies between page-locked memory and the device.

use super::{Asked, device};
use crate::case::{Size, elements};
use crate::measure::Times;
use deckle_engine::{Callable, Data, Input, On, RanOn, Settings};
use deckle_runtime::cpu;
use deckle_runtime::stream::{Error, Sink};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// The file of the programs.
pub const PROGRAM: &str = "transfer.dk";
/// The names of the benchmarks, and their functions.
pub const ALL: [(&str, &str); 2] = [("stream-sum", "total"), ("stream-map", "scaled")];

/// The data is this many times as large as the budget.
const TIMES: usize = 4;
/// The number of runs after the first.
const RUNS: usize = 7;

/// The name of its function, if this is such a benchmark.
pub fn entry(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(own, _)| *own == name).map(|(_, entry)| *entry)
}

fn number(i: usize) -> f64 {
    (i % 1000) as f64 * 0.25
}

fn scaled(x: f64) -> f64 {
    1.5 * x + 2.0
}

/// Takes a result: the first time it is checked, then only counted.
#[derive(Clone, Default)]
struct Taken {
    is_checked: bool,
    count: Arc<AtomicU64>,
    wrong: Arc<AtomicU64>,
}

impl Sink for Taken {
    fn take(&mut self, block: Data) -> Result<(), Error> {
        let from = self.count.fetch_add(block.len() as u64, Relaxed) as usize;
        if self.is_checked {
            let all: &[f64] = elements(&block, block.len()).map_err(|e| Error::Failed(e.into()))?;
            let wrong = all.iter().zip(from..).filter(|(x, i)| **x != scaled(number(*i))).count();
            self.wrong.fetch_add(wrong as u64, Relaxed);
        }
        Ok(())
    }
}

/// Runs a benchmark and adds its figures.
pub fn run(name: &str, callable: &Callable, asked: &Asked, size: Size, result: &mut Value) -> Result<(), String> {
    // The simulator needs room for a block of floats that are combined together, and has no time for much more.
    let [budget, bytes] = size.of([1 << 30, TIMES << 30], [256 << 20, TIMES * (256 << 20)], [2 << 20, 512 << 10]);
    let n = bytes / size_of::<f64>();
    let gpu = device::open_with(asked, Some(budget as u64))?;
    // Chunks grow only while they are fast.
    let chunk = asked.simulated.then_some(1 << 15);
    let settings = Settings { chunk, ..Settings::new(cpu::usable_cores(), None) };
    let data = Data::array(Data::numbers((0..n).map(number).collect::<Vec<f64>>()));
    let is_map = name == "stream-map";
    let call = |is_checked: bool| {
        let taken = Taken { is_checked, ..Taken::default() };
        let sink = is_map.then(|| Box::new(taken.clone()) as Box<dyn Sink>);
        let begun = Instant::now();
        let ran = callable.call(&On::Gpu(gpu.clone()), vec![Input::Data(data.clone())], sink, &settings);
        let ran = ran.map_err(|d| super::compare::line(&d))?;
        let seconds = begun.elapsed().as_secs_f64();
        let RanOn::Gpu { traffic, .. } = ran.report.on else { return Err("not on a GPU".into()) };
        if is_map {
            let (count, wrong) = (taken.count.load(Relaxed), taken.wrong.load(Relaxed));
            if count != n as u64 || wrong > 0 {
                return Err(format!("{count} elements instead of {n}, {wrong} of them wrong"));
            }
        } else {
            let wanted: f64 = (0..n).map(number).sum();
            let sum = ran.result.as_ref().and_then(|r| elements::<f64>(r, 1).ok()).map_or(f64::NAN, |all| all[0]);
            // All partial sums are exact.
            if sum != wanted {
                return Err(format!("{sum} instead of {wanted}"));
            }
        }
        if traffic.device_bytes > budget as u64 {
            return Err(format!("{} bytes on the device, with a budget of {budget}", traffic.device_bytes));
        }
        Ok((seconds, traffic))
    };
    let (first, _) = call(true)?;
    let mut calls = Vec::new();
    for _ in 0..if asked.simulated { 1 } else { RUNS } {
        let (seconds, traffic) = call(false)?;
        calls.push(seconds);
        result["launches"] = json!(traffic.launches);
        result["peak_device_bytes"] = json!(traffic.device_bytes);
        result["bytes_early"] = json!(traffic.bytes_early);
    }
    let calls = Times::new(calls);
    result["size"] = json!(format!("{} KiB with {} KiB", bytes >> 10, budget >> 10));
    result["first_seconds"] = json!(first);
    result["call_seconds"] = json!(calls.median());
    result["call_seconds_min"] = json!(calls.min());
    result["call_seconds_max"] = json!(calls.max());
    result["runs"] = json!(calls.len());
    result["bytes_in"] = json!(bytes);
    result["bytes_in_per_second"] = json!(bytes as f64 / calls.median());
    Ok(())
}
