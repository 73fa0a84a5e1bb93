//! One benchmark, in a process of its own: compiles, checks and measures it, and prints one line for each number of threads.

use crate::case::{Case, leaves};
use crate::limits::Limits;
use crate::measure::{Times, cpu_seconds, measure};
use crate::program;
use deckle_engine::{Data, Settings};
use deckle_runtime::Pool;
use serde_json::{Value, json};
use std::time::Instant;

/// Runs a benchmark on each number of threads, with small data if asked for.
pub fn run(case: &Case, quick: bool, threads: &[usize], print: &mut dyn FnMut(Value)) {
    let size = if quick { format!("{} quick", case.size) } else { case.size.clone() };
    let head = |threads: usize| json!({"bench": case.name, "rival": case.rival, "size": size, "threads": threads});
    let failed = |threads: usize, stage: &str, message: &str| {
        let mut line = head(threads);
        line["failed"] = json!(stage);
        line["message"] = json!(message);
        line
    };
    let job = (case.make)(&Pool::new(None), quick);
    let given = job.again.map_or(0, |k| 1 << k);
    let compiled = match program::compile(case.program, &case.entry, given) {
        Ok(compiled) => compiled,
        Err(message) => return threads.iter().for_each(|t| print(failed(*t, "compile", &message))),
    };
    let mut first_bits = None;
    for &t in threads {
        let settings = Settings::new(t, None);
        let call = |args: Vec<Data>| {
            let begun = Instant::now();
            let result = compiled.native.call(args, &settings);
            (begun.elapsed().as_secs_f64(), result.map_err(|d| format!("{}: {}", d.code, d.message)))
        };
        let (first_seconds, first) = call(job.args.clone());
        let mut result = match first {
            Ok(result) => result,
            Err(message) => {
                print(failed(t, "run", &message));
                continue;
            }
        };
        let bits = bits(&result);
        let checked = (job.check)(&result);
        let mut on_cpu = Vec::new();
        let times = measure(|| -> Result<f64, String> {
            let mut args = job.args.clone();
            if let Some(k) = job.again {
                args[k] = std::mem::replace(&mut result, nothing());
            } else {
                result = nothing();
            }
            let cpu = cpu_seconds();
            let (seconds, new) = call(args);
            on_cpu.push(cpu_seconds() - cpu);
            result = new?;
            Ok(seconds)
        });
        let times = match times {
            Ok(times) => times,
            Err(message) => {
                print(failed(t, "run", &message));
                continue;
            }
        };
        drop(result);
        let mut line = head(t);
        line["seconds"] = json!(times.median());
        line["min"] = json!(times.min());
        line["max"] = json!(times.max());
        line["runs"] = json!(times.len());
        line["cpu_seconds"] = json!(Times::new(on_cpu).median());
        line["first"] = json!(first_seconds);
        line["compile_seconds"] = json!(compiled.seconds);
        line["kernels"] = json!(compiled.kernels);
        line["bytes"] = json!(job.bound.bytes);
        line["ops"] = json!(job.bound.ops);
        line["unit"] = json!(job.bound.unit);
        line["peak_bytes"] = json!(settings.pool.stats().peak);
        match checked {
            Ok(error) => line["error"] = json!(error),
            Err(message) => line["wrong"] = json!(message),
        }
        line["same_bits"] = json!(*first_bits.get_or_insert(bits) == bits);
        if let Some((least, limit)) = Limits::default().least(&job.bound, &settings.team) {
            line["limit"] = json!(limit);
            line["of_limit"] = json!(least / times.median());
        }
        print(line);
    }
}

/// A number that differs when the bits of a result do.
fn bits(data: &Data) -> u64 {
    let mut h = 0xcbf2_9ce4_8422_2325u64;
    for b in leaves(data) {
        let bytes = b.as_slice::<u8>();
        let mut words = bytes.chunks_exact(8);
        for w in &mut words {
            let w = u64::from_le_bytes([w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]]);
            h = (h ^ w).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        }
        words.remainder().iter().for_each(|b| h = (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3));
    }
    h
}

/// No result.
fn nothing() -> Data {
    Data::numbers(Vec::<u8>::new())
}
