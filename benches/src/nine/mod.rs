//! The nine programs of the paper on native offload: each as ordinary Rust functions with `#[kernel]`, as a script, and by hand, at the sizes of the paper.
//!
//! The rival is Rust by hand, with iterators on one thread and rayon on several. As in the paper, times are also compared to a baseline: the same by hand, on one thread and without
//! vectors. On a GPU the time is that of its kernels.

mod back_projection;
mod black_scholes;
mod conv1d;
mod conv2d;
mod hand;
mod matmul;
mod nbody;
mod plot;
mod stencil7;
mod tree_search;
mod volume;

use self::hand::Plain;
use crate::case::{Bound, Size, leaves};
use crate::measure::Times;
use crate::options::Options;
use crate::program;
use crate::report::Row;
use crate::way::Way;
use deckle_engine::{Branches, Data, Gpu, On};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_runtime::Pool;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Instant;

pub use plot::plot;

/// One of the nine.
pub struct Nine {
    size: String,
    /// The size in the paper.
    paper: &'static str,
    /// The file of the script.
    script: &'static str,
    /// The program of kernels.
    kernel: Program,
    /// Whether it is also measured with branches that are not merged.
    branches: bool,
    /// The square picture in the result, if there is one: the number of its first element, and its width.
    picture: Option<[usize; 2]>,
    /// The arguments of both.
    args: Vec<Data>,
    /// The arrays of the result, the rows of each, and the elements of a row.
    planes: usize,
    rows: usize,
    width: usize,
    /// The baseline computes one of so many rows.
    share: usize,
    /// The operations, and the bytes if they bound it.
    work: Bound,
    plain: Plain,
}

/// Creates the data of a program.
type Make = fn(&Pool, Size) -> Nine;

const ALL: [(&str, Make); 9] = [
    ("nine-conv1d", conv1d::nine),
    ("nine-conv2d", conv2d::nine),
    ("nine-stencil7", stencil7::nine),
    ("nine-back-projection", back_projection::nine),
    ("nine-black-scholes", black_scholes::nine),
    ("nine-matmul", matmul::nine),
    ("nine-nbody", nbody::nine),
    ("nine-tree-search", tree_search::nine),
    ("nine-volume", volume::nine),
];

/// The rounds, and the seconds after which there are no more than the fewest.
const ROUNDS: [usize; 2] = [3, 9];
const ENOUGH: f64 = 8.0;
/// Elements that may differ more than rounding explains, one of so many: in a volume another point may be the nearest.
const FAR: usize = 1000;

/// The names of the selected programs.
pub fn wanted(options: &Options) -> Vec<&'static str> {
    let is_meant = |n: &&str| options.names.is_empty() || options.names.iter().any(|w| w == n || w == "nine");
    ALL.into_iter().map(|(name, _)| name).filter(is_meant).collect()
}

/// Measures them.
pub fn run(options: &Options, tell: &mut dyn FnMut(Row)) {
    let wanted = wanted(options);
    for (name, make) in ALL.into_iter().filter(|(name, _)| wanted.contains(name)) {
        let nine = make(&Pool::new(None), if options.quick { Size::Quick } else { Size::Full });
        let head = |threads: &Value| json!({"bench": name, "size": nine.size, "paper": nine.paper, "threads": threads});
        match measured(&nine, options) {
            Ok(rows) => rows.into_iter().for_each(|(threads, mut line, rivals)| {
                head(&threads).as_object().into_iter().flatten().for_each(|(k, v)| line[k] = v.clone());
                (line["ops"], line["bytes"], line["unit"]) =
                    (json!(nine.work.ops), json!(nine.work.bytes), json!(nine.work.unit));
                tell(Row { line, rivals });
            }),
            Err(message) => {
                let mut line = head(&json!(options.threads[0]));
                (line["failed"], line["message"]) = (json!("run"), json!(message));
                tell(Row { line, rivals: BTreeMap::new() });
            }
        }
    }
}

/// A floating-point bound.
fn flops(ops: f64) -> Bound {
    Bound::flops::<f32>(ops)
}

/// Random numbers.
fn floats(n: usize, seed: u64, lo: f64, hi: f64) -> Vec<f32> {
    crate::data::floats(n, seed, lo, hi)
}

/// The program of a closure over kernels.
fn program<A, R>(compiled: Result<deckle::Compiled<A, R>, deckle::Error>) -> Program {
    compiled.unwrap_or_else(|e| panic!("{e}")).program().clone()
}

/// A line of figures: on how many threads, or where, and the seconds of rivals.
type Line = (Value, Value, BTreeMap<String, f64>);

const KERNEL: &str = "kernel";
const SCRIPT: &str = "script";
const APART: &str = "kernel, branches apart";

fn measured(nine: &Nine, options: &Options) -> Result<Vec<Line>, String> {
    let mut ways = Vec::new();
    let mut add = |place: &Value, on: &On, threads: usize| -> Result<(), String> {
        let (script, func) = program::read(nine.script, "single")?;
        let (kernel, merged) = (|| nine.kernel.clone(), deckle_engine::Options::default());
        let mut programs = vec![(KERNEL, kernel(), Func(0), merged), (SCRIPT, script, func, merged)];
        if nine.branches {
            let apart = deckle_engine::Options { branches: Branches::Apart, ..merged };
            programs.push((APART, kernel(), Func(0), apart));
        }
        for (what, program, func, options) in programs {
            let way = Way::new(format!("{what} {place}"), (program, func), options, on.clone(), threads);
            ways.push((place.clone(), what, way));
        }
        Ok(())
    };
    for &threads in &options.threads {
        add(&json!(threads), &On::Native, threads)?;
    }
    if options.gpu {
        let gpu = Gpu::open(0, None).map_err(|d| d.message)?;
        add(&json!("GPU"), &On::Gpu(gpu), 1)?;
    }
    let most = options.threads.iter().copied().max().unwrap_or(1);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(most).build().map_err(|e| e.to_string())?;
    let width = nine.planes * nine.width;
    let mut out = vec![f32::NAN; nine.rows * width];
    nine.plain.baseline(width, nine.share, &mut out);
    let some = out.clone();
    nine.plain.parallel(width, &mut out, &pool);
    let agree = some.iter().zip(&out).all(|(a, b)| a.is_nan() || (a - b).abs() <= 1e-3 * (b.abs() + 1.0));
    if !agree {
        return Err("by hand, the result depends on vectors".into());
    }
    for (_, _, way) in &ways {
        compare(nine, &way.result(&nine.args)?, &out).map_err(|m| format!("{}: {m}", way.name()))?;
        way.seconds(&nine.args)?;
    }
    if let (Some(folder), Some(picture), Some((_, _, way))) = (&options.pictures, nine.picture, ways.first()) {
        let path = format!("{folder}/{}.png", nine.script.trim_end_matches(".dk"));
        draw(&way.result(&nine.args)?, picture, &path)?;
    }
    let mut times = vec![Vec::new(); ways.len()];
    let (mut baseline, mut by_hand) = (Vec::new(), BTreeMap::<usize, Vec<f64>>::new());
    let begun = Instant::now();
    let timed = |f: &mut dyn FnMut()| crate::measure::seconds(f);
    for round in 0..ROUNDS[1] {
        if round >= ROUNDS[0] && begun.elapsed().as_secs_f64() > ENOUGH {
            break;
        }
        baseline.push(nine.share as f64 * timed(&mut || nine.plain.baseline(width, nine.share, &mut out)));
        for &threads in &options.threads {
            let seconds = match threads {
                1 => timed(&mut || nine.plain.sequential(width, &mut out)),
                _ => {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let pool = pool.map_err(|e| e.to_string())?;
                    timed(&mut || nine.plain.parallel(width, &mut out, &pool))
                }
            };
            by_hand.entry(threads).or_default().push(seconds);
        }
        for ((_, _, way), times) in ways.iter().zip(&mut times) {
            times.push(way.seconds(&nine.args)?);
        }
    }
    let baseline = Times::new(baseline).median();
    let figures: Vec<(&Value, &str, Times)> =
        ways.iter().zip(times).map(|((place, what, _), times)| (place, *what, Times::new(times))).collect();
    let line = |(place, _, times): &(&Value, &str, Times)| {
        let of = |way: &str| figures.iter().find(|(p, what, _)| p == place && *what == way).map(|(_, _, t)| t.median());
        let line = json!({"seconds": times.median(), "min": times.min(), "max": times.max(), "runs": times.len(),
            "script_seconds": of(SCRIPT), "apart_seconds": of(APART), "baseline_seconds": baseline});
        let threads = place.as_u64().unwrap_or_default() as usize;
        let name = if threads == 1 { "Rust by hand" } else { "rayon" };
        let rivals = by_hand.remove(&threads).map(|times| (name.to_string(), Times::new(times).median()));
        ((*place).clone(), line, rivals.into_iter().collect())
    };
    Ok(figures.iter().filter(|(_, what, _)| *what == KERNEL).map(line).collect())
}

/// Writes a square picture, the largest number white.
fn draw(result: &Data, [first, width]: [usize; 2], path: &str) -> Result<(), String> {
    let all = leaves(result).first().map_or(Vec::new(), |b| b.as_slice::<f32>().to_vec());
    let pixels = all.get(first..first + width * width).ok_or("the result has no such picture")?;
    let most = pixels.iter().copied().fold(f32::MIN_POSITIVE, f32::max);
    let grey = pixels.iter().map(|x| (255.0 * x.max(0.0) / most) as u8).collect();
    let picture = deckle::Array::<u8, deckle::D2>::new(&[width, width], grey).map_err(|e| e.to_string())?;
    deckle::io::write(path, &picture).map_err(|e| e.to_string())
}

/// Whether a result is what was computed by hand, within rounding.
fn compare(nine: &Nine, result: &Data, by_hand: &[f32]) -> Result<(), String> {
    let planes = leaves(result);
    if planes.len() != nine.planes || planes.iter().any(|b| b.len() != 4 * nine.rows * nine.width) {
        return Err("a result of another shape".into());
    }
    let mean = by_hand.iter().map(|x| f64::from(x.abs())).sum::<f64>() / by_hand.len() as f64;
    let mut far = 0;
    for (row, by_hand) in by_hand.chunks(nine.planes * nine.width).enumerate() {
        for (plane, by_hand) in planes.iter().zip(by_hand.chunks(nine.width)) {
            let got = &plane.as_slice::<f32>()[row * nine.width..][..nine.width];
            let near = |(a, b): &(&f32, &f32)| f64::from((**a - **b).abs()) <= 1e-3 * (f64::from(b.abs()) + mean);
            far += got.iter().zip(by_hand).filter(|pair| !near(pair)).count();
        }
    }
    match far {
        far if far * FAR > by_hand.len() => {
            Err(format!("{far} of {} elements differ from those by hand", by_hand.len()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_engine::{Interp, Options, Simulator};

    /// Kernels and scripts, everywhere.
    #[test]
    fn the_nine_agree_with_plain_rust() {
        let simulated = On::Gpu(Gpu::simulated(Simulator::default(), None));
        let places = [(On::Interp(Interp::default()), 1), (On::Native, 1), (On::Native, 2), (simulated, 1)];
        for (name, make) in ALL {
            let nine = make(&Pool::new(None), Size::Tiny);
            let width = nine.planes * nine.width;
            let mut by_hand = vec![f32::NAN; nine.rows * width];
            nine.plain.sequential(width, &mut by_hand);
            let mut again = by_hand.clone();
            nine.plain.baseline(width, 1, &mut again);
            let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-3 * (b.abs() + 1.0);
            assert!(by_hand.iter().zip(&again).all(close), "{name} without vectors");
            let script = program::read(nine.script, "single").unwrap();
            for (program, func) in [(nine.kernel.clone(), Func(0)), script] {
                for (on, threads) in places.clone() {
                    let place = format!("{name} on {on:?}");
                    let way = Way::new(place, (program.clone(), func), Options::default(), on, threads);
                    let result = way.result(&nine.args).unwrap_or_else(|e| panic!("{e}"));
                    compare(&nine, &result, &by_hand).unwrap_or_else(|e| panic!("{}: {e}", way.name()));
                }
            }
        }
    }
}
