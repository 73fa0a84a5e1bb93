//! One benchmark, in a process of its own: compiles, checks and measures it, and prints one line for each number of threads.

use crate::case::{Case, Job, Size, leaves};
use crate::limits::Limits;
use crate::measure::{Times, cpu_seconds, measure};
use crate::options::Options;
use crate::program::{self, Compiled};
use deckle_engine::{Data, Settings};
use deckle_runtime::Pool;
use serde_json::{Value, json};
use std::time::Instant;

/// A program, and its last result.
struct Runner<'a> {
    compiled: &'a Compiled,
    result: Data,
}

impl Runner<'_> {
    /// The seconds of a call. If the benchmark says so, the last result is an argument.
    fn call(&mut self, job: &Job, settings: &Settings) -> Result<f64, String> {
        let mut args = job.args.clone();
        let last = std::mem::replace(&mut self.result, nothing());
        match job.again {
            Some(k) => args[k] = last,
            None => drop(last),
        }
        let (seconds, result) = timed(self.compiled, args, settings);
        self.result = result?;
        Ok(seconds)
    }
}

/// Calls a program, and measures the time.
fn timed(compiled: &Compiled, args: Vec<Data>, settings: &Settings) -> (f64, Result<Data, String>) {
    let begun = Instant::now();
    let result = compiled.native.call(args, settings);
    (begun.elapsed().as_secs_f64(), result.map_err(|d| format!("{}: {}", d.code, d.message)))
}

/// Runs a benchmark on each number of threads, with small data on request; if a schedule is given, alternating with the chosen one.
pub fn run(case: &Case, options: &Options, print: &mut dyn FnMut(Value)) {
    let (quick, threads) = (options.quick, &options.threads);
    let size = if quick { format!("{} quick", case.size) } else { case.size.clone() };
    let head = |threads: usize| json!({"bench": case.name, "rival": case.rival, "size": size, "threads": threads});
    let failed = |threads: usize, stage: &str, message: &str| {
        let mut line = head(threads);
        line["failed"] = json!(stage);
        line["message"] = json!(message);
        line
    };
    let job = (case.make)(&Pool::new(None), if quick { Size::Quick } else { Size::Full });
    let given = job.again.map_or(0, |k| 1 << k);
    let chosen = program::compile(case.program, &case.entry, given);
    let both = match &options.schedule {
        None => chosen.map(|chosen| (chosen, None)),
        Some(file) => {
            let follows = program::compile_as(case.program, &case.entry, given, file);
            chosen.and_then(|chosen| Ok((follows?, Some(chosen))))
        }
    };
    let (compiled, chosen) = match both {
        Ok(both) => both,
        Err(message) => return threads.iter().for_each(|t| print(failed(*t, "compile", &message))),
    };
    let mut first_bits = None;
    for &t in threads {
        let settings = Settings::new(t, None);
        let (first_seconds, first) = timed(&compiled, job.args.clone(), &settings);
        let result = match first {
            Ok(result) => result,
            Err(message) => {
                print(failed(t, "run", &message));
                continue;
            }
        };
        let bits = bits(&result);
        let checked = (job.check)(&result);
        let mut other = match &chosen {
            None => None,
            Some(chosen) => match timed(chosen, job.args.clone(), &settings).1 {
                Ok(result) => Some(Runner { compiled: chosen, result }),
                Err(message) => {
                    print(failed(t, "run", &message));
                    continue;
                }
            },
        };
        let mut runner = Runner { compiled: &compiled, result };
        let (mut on_cpu, mut of_chosen) = (Vec::new(), Vec::new());
        let times = measure(|| -> Result<f64, String> {
            if let Some(other) = &mut other {
                of_chosen.push(other.call(&job, &settings)?);
            }
            let cpu = cpu_seconds();
            let seconds = runner.call(&job, &settings)?;
            on_cpu.push(cpu_seconds() - cpu);
            Ok(seconds)
        });
        let times = match times {
            Ok(times) => times,
            Err(message) => {
                print(failed(t, "run", &message));
                continue;
            }
        };
        drop((runner, other));
        let mut line = head(t);
        line["seconds"] = json!(times.median());
        line["min"] = json!(times.min());
        line["max"] = json!(times.max());
        line["runs"] = json!(times.len());
        line["cpu_seconds"] = json!(Times::new(on_cpu).median());
        line["first"] = json!(first_seconds);
        if chosen.is_some() {
            line["chosen_seconds"] = json!(Times::new(of_chosen).median());
        }
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

/// A hash of the bits of a result.
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
