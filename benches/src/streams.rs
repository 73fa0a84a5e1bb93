//! Programs over sequences: in chunks compared to the whole, and from files compared to arrays. The cost of bounded memory.

use crate::case::{rows, scalar, scalars, tuple, vector};
use crate::data::{offsets, words};
use crate::measure::{Times, seconds};
use crate::options::Options;
use crate::program::{self, Compiled};
use crate::report::Row;
use deckle_engine::{Chunks, Data, Input, Settings};
use deckle_ir::types::Type;
use deckle_runtime::{Form, Pool};
use serde_json::json;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

const NAMES: [&str; 8] = [
    "stream-filtered",
    "stream-groups",
    "stream-beside",
    "stream-squares",
    "stream-file",
    "stream-md5",
    "stream-inner",
    "stream-inner-groups",
];
const TRIES: usize = 7;

/// The names of the selected benchmarks.
pub fn wanted(options: &Options) -> Vec<&'static str> {
    let is_meant = |n: &&str| options.names.is_empty() || options.names.iter().any(|w| w == n || w == "stream");
    NAMES.into_iter().filter(is_meant).collect()
}

/// Runs them.
pub fn run(options: &Options, tell: &mut dyn FnMut(Row)) {
    for name in wanted(options) {
        let n: usize = match (name, options.quick) {
            (_, true) => 200_000,
            ("stream-md5", _) => 14_000_000,
            ("stream-inner", _) => 1_000_000_000,
            _ => 50_000_000,
        };
        let file = File::new(name, n);
        for &threads in &options.threads {
            let size = format!("{:.1}M elements", n as f64 / 1e6);
            let mut line = json!({"bench": name, "size": size, "threads": threads});
            match ways(name, n, &file).and_then(|ways| both(&ways, threads)) {
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

/// A file of elements, removed when dropped.
struct File(Option<PathBuf>);

impl File {
    /// The input of a benchmark, if it reads any.
    fn new(name: &str, n: usize) -> File {
        let path = std::env::temp_dir().join(format!("deckle-{name}-{}", std::process::id()));
        let (path, written) = match name {
            "stream-file" => {
                let path = path.with_extension("npy");
                (path.clone(), write_numbers(&path, n))
            }
            "stream-md5" => {
                let path = path.with_extension("txt");
                (path.clone(), write_words(&path, n))
            }
            _ => return File(None),
        };
        File(written.is_ok().then_some(path))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn number(i: usize) -> f64 {
    (i % 1000) as f64 * 0.25
}

fn write_numbers(path: &Path, n: usize) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n},), }}");
    header += &" ".repeat(63 - (header.len() + 10) % 64);
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16 + 1).to_le_bytes())?;
    writeln!(out, "{header}")?;
    (0..n).try_for_each(|i| out.write_all(&number(i).to_le_bytes()))?;
    out.flush()
}

fn write_words(path: &Path, n: usize) -> std::io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, std::fs::File::create(path)?);
    let (slots, lengths) = words(n);
    for (slot, length) in slots.iter().zip(&lengths) {
        out.write_all(&slot[..usize::from(*length)])?;
        out.write_all(b"\n")?;
    }
    out.flush()
}

type Args = dyn Fn(&Pool) -> Result<Vec<Input>, String>;

/// A program, and the function that creates its arguments.
struct Way {
    program: Compiled,
    args: Box<Args>,
}

/// As a whole, and in chunks.
fn ways(name: &str, n: usize, file: &File) -> Result<[Way; 2], String> {
    let entry = name.trim_start_matches("stream-");
    if let "inner" | "inner-groups" = entry {
        // The same elements without nesting, and as one inner sequence among many tiny ones.
        let entries = if entry == "inner" { ["inner_flat", "inner"] } else { ["groups", "inner_groups"] };
        return whole_and_streamed("streams.dk", entries, move |pool, _| Ok(vec![Input::Data(scalar(pool, n as i64))]));
    }
    if !matches!(name, "stream-squares" | "stream-file" | "stream-md5") {
        let way = |chunks| {
            let program = program::compile_with("streams.dk", entry, chunks)?;
            let args = Box::new(move |pool: &Pool| Ok(vec![Input::Data(scalar(pool, n as i64))]));
            Ok::<Way, String>(Way { program, args })
        };
        return Ok([way(Chunks::Never)?, way(Chunks::Always)?]);
    }
    if entry == "squares" {
        // All in memory: the cost of chunks alone.
        let numbers: Vec<f64> = (0..n).map(number).collect();
        let data = vector(&Pool::new(None), &numbers);
        return whole_and_streamed("streams.dk", ["squares_of_array", "squares"], move |_, _| {
            Ok(vec![Input::Data(data.clone())])
        });
    }
    let path = file.0.clone().ok_or("its file could not be written")?;
    let open = move |ty: &Type| deckle_io::stream::open(&path, ty).map(Input::Stream).map_err(|e| e.to_string());
    if entry == "file" {
        return whole_and_streamed("streams.dk", ["squares_of_array", "squares"], move |_, ty| {
            // An array is read as a whole, just before.
            let elem = ty.elem().cloned().ok_or("no elements")?;
            Ok(vec![open(&Type::seq(elem))?])
        });
    }
    // Words that are in memory before the clock starts, and words that are read while it runs.
    let (slots, lengths) = words(n);
    let held = Pool::new(None);
    let off = offsets(&lengths.iter().map(|l| i32::from(*l)).collect::<Vec<_>>());
    let text: Vec<u8> = slots.iter().zip(&lengths).flat_map(|(s, l)| &s[..usize::from(*l)]).copied().collect();
    let data = Data::array(rows(&held, &off, scalars(&held, &text)));
    whole_and_streamed("md5.dk", ["words", "streamed"], move |pool, ty| {
        let wanted = tuple((0..4u32).map(|k| scalar(pool, k)).collect());
        let first = if ty.is_seq() { open(ty)? } else { Input::Data(data.clone()) };
        Ok(vec![first, Input::Data(wanted)])
    })
}

/// Two functions of a file, the first of an array and the second of a sequence, and the function that creates their arguments, given the type of the first one.
fn whole_and_streamed(
    file: &str,
    entries: [&str; 2],
    args: impl Fn(&Pool, &Type) -> Result<Vec<Input>, String> + 'static,
) -> Result<[Way; 2], String> {
    let args = Rc::new(args);
    let way = |entry| {
        let program = program::compile_with(file, entry, Chunks::Needed)?;
        let (ty, args) = (program.native.param_types()[0].clone(), Rc::clone(&args));
        Ok::<Way, String>(Way { program, args: Box::new(move |pool| args(pool, &ty)) })
    };
    Ok([way(entries[0])?, way(entries[1])?])
}

struct Measured {
    times: Times,
    /// The peak bytes of arrays.
    peak: u64,
}

/// As a whole and in chunks, alternating.
fn both(ways: &[Way; 2], threads: usize) -> Result<[Measured; 2], String> {
    let settings = [(), ()].map(|()| Settings::new(threads, None));
    let mut times = [Vec::new(), Vec::new()];
    let mut results = [Vec::new(), Vec::new()];
    for k in 0..=TRIES {
        for (way, Way { program, args }) in ways.iter().enumerate() {
            let s = &settings[way];
            let args = args(&s.pool)?;
            let mut result = Err("it did not run".to_string());
            let took = seconds(|| result = program.native.stream(args, None, s).map_err(|d| d.message.clone()));
            results[way] = numbers(&result?);
            // The first run loads everything into memory.
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

/// The bits of the numbers of a result.
fn numbers(data: &Data) -> Vec<u64> {
    match data.form() {
        Form::Tuple(parts) => parts.iter().flat_map(numbers).collect(),
        Form::Scalars(_, b) => b.as_slice()[..1].to_vec(),
        Form::Equal(_, elem) | Form::Offsets(_, elem) => numbers(elem),
    }
}

/// Whether two numbers are equal except for the grouping of float sums. Integers must be equal: as floats they would be close to zero.
fn close(a: u64, b: u64) -> bool {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    a == b || (x - y).abs() <= 1e-9 * x.abs()
}
