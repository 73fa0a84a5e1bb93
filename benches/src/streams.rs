//! Programs over sequences, in chunks beside the same as a whole: what bounded memory costs.

use crate::case::vector;
use crate::measure::{Times, seconds};
use crate::options::Options;
use crate::program;
use crate::report::Row;
use deckle_exec::{Chunks, Data, Settings};
use serde_json::json;

const NAMES: [&str; 3] = ["stream-filtered", "stream-groups", "stream-beside"];
const TRIES: usize = 7;

/// The names of these benchmarks that are meant.
pub fn wanted(options: &Options) -> Vec<&'static str> {
    let is_meant = |n: &&str| options.names.is_empty() || options.names.iter().any(|w| w == n || w == "stream");
    NAMES.into_iter().filter(is_meant).collect()
}

/// Runs them.
pub fn run(options: &Options, tell: &mut dyn FnMut(Row)) {
    let n: i64 = if options.quick { 1_000_000 } else { 50_000_000 };
    for name in wanted(options) {
        for &threads in &options.threads {
            let mut line = json!({"bench": name, "size": format!("{}M elements", n / 1_000_000), "threads": threads});
            match both(name, n, threads) {
                Ok([whole, chunks]) => {
                    line["seconds"] = json!(chunks.times.median());
                    line["min"] = json!(chunks.times.min());
                    line["max"] = json!(chunks.times.max());
                    line["runs"] = json!(chunks.times.len());
                    line["peak_bytes"] = json!(chunks.peak);
                    line["of_limit"] = json!(whole.times.median() / chunks.times.median());
                    let (more, less) = (whole.peak >> 20, chunks.peak >> 20);
                    line["limit"] = json!(format!("as a whole, with {less} MiB for {more}"));
                }
                Err(message) => {
                    line["failed"] = json!("run");
                    line["message"] = json!(message);
                }
            }
            Row::new(&[line], &[]).into_iter().for_each(&mut *tell);
        }
    }
}

struct Measured {
    times: Times,
    /// The bytes of arrays at most.
    peak: u64,
}

/// As a whole and in chunks, in turns.
fn both(name: &str, n: i64, threads: usize) -> Result<[Measured; 2], String> {
    let entry = name.trim_start_matches("stream-");
    let ways = [Chunks::Never, Chunks::Always];
    let programs = ways.map(|chunks| program::compile_with("streams.dk", entry, chunks));
    let settings = ways.map(|_| Settings::new(threads, None));
    let mut times = [Vec::new(), Vec::new()];
    let mut results = [Vec::new(), Vec::new()];
    for k in 0..=TRIES {
        for (way, program) in programs.iter().enumerate() {
            let program = program.as_ref().map_err(Clone::clone)?;
            let s = &settings[way];
            let args = vec![scalar(vector(&s.pool, &[n]))];
            let mut result = Err("it did not run".to_string());
            let took = seconds(|| result = program.native.call(args, s).map_err(|d| d.message.clone()));
            results[way] = numbers(&result?);
            // The first brings everything into memory.
            if k > 0 {
                times[way].push(took);
            }
        }
    }
    let [a, b] = &results;
    if a.len() != b.len() || !a.iter().zip(b).all(|(x, y)| close(*x, *y)) {
        return Err(format!("as a whole {a:?}, but in chunks {b:?}, as bits"));
    }
    let [whole, chunks] = times.map(Times::new);
    let [a, b] = settings.map(|s| s.pool.stats().peak);
    Ok([Measured { times: whole, peak: a }, Measured { times: chunks, peak: b }])
}

/// The only element of a vector.
fn scalar(data: Data) -> Data {
    match data {
        Data::Equal(_, elem) => *elem,
        other => other,
    }
}

/// The bits of the numbers of a result.
fn numbers(data: &Data) -> Vec<u64> {
    match data {
        Data::Tuple(parts) => parts.iter().flat_map(numbers).collect(),
        Data::Scalars(b) => b.as_slice()[..1].to_vec(),
        Data::Equal(_, elem) | Data::Offsets(_, elem) => numbers(elem),
    }
}

/// Whether two numbers are the same but for how sums of floats are grouped. Integers are not close unless they are equal: as floats they are next to nothing.
fn close(a: u64, b: u64) -> bool {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    a == b || (x - y).abs() <= 1e-9 * x.abs()
}
