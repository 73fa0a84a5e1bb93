//! `deckle-bench graphs`: the graph programs of `examples/` beside plain Rust with rayon ([`rivals`]), on generated graphs or on those of files (`--graph`).
//!
//! All are called in turns on the same data, and every result is compared with that of the first rival. The time of a call is that from the edges of a graph in memory
//! to the result; what an algorithm prepares (edges ordered by degree, bins, bit sets) is part of it.

mod rivals;

use crate::case::{elements, scalar, vector};
use crate::check::{each, same};
use crate::data::mix;
use crate::graph::{Graph, grid, kronecker, read};
use crate::measure::Times;
use crate::options::Options;
use crate::program::{self, Compiled};
use crate::report::Row;
use deckle_engine::{Data, Settings};
use deckle_runtime::Pool;
use rivals::Rows;
use serde_json::json;
use std::time::Instant;

const NAMES: [&str; 6] =
    ["graph-bfs", "graph-paths", "graph-components", "graph-triangles", "graph-pagerank", "graph-betweenness"];

/// How often each is timed, after a call that is not.
const TRIES: usize = 5;

/// How many vertices betweenness starts from.
const STARTS: usize = 8;

/// The names of the selected benchmarks.
pub fn wanted(options: &Options) -> Vec<&'static str> {
    let is_meant = |n: &&str| options.names.is_empty() || options.names.iter().any(|w| w == n || w == "graphs");
    NAMES.into_iter().filter(is_meant).collect()
}

/// Runs them.
pub fn run(options: &Options, tell: &mut dyn FnMut(Row)) -> Result<(), String> {
    let names = wanted(options);
    if names.is_empty() {
        return Ok(());
    }
    let generated = || {
        let (scale, side) = if options.quick { (8, 16) } else { (16, 256) };
        vec![(format!("kronecker {scale}"), kronecker(scale)), (format!("grid {side}"), grid(side))]
    };
    let stem = |f: &str| std::path::Path::new(f).file_stem().map_or(f.to_string(), |s| s.to_string_lossy().to_string());
    let graphs = match &options.graphs[..] {
        [] => generated(),
        files => files.iter().map(|f| Ok((stem(f), read(f)?))).collect::<Result<_, String>>()?,
    };
    for (name, directed) in graphs {
        let input = Input::new(name, directed);
        for bench in &names {
            let compiled =
                program::compile(&format!("../../examples/{}", input.program(bench).0), input.program(bench).1, 0)?;
            for &threads in &options.threads {
                let mut line = json!({"bench": bench, "threads": threads, "size": input.name});
                let mut others = Vec::new();
                match times(&input, bench, &compiled, threads) {
                    Ok((mine, theirs)) => {
                        line["seconds"] = json!(mine.median());
                        line["min"] = json!(mine.min());
                        line["max"] = json!(mine.max());
                        line["runs"] = json!(mine.len());
                        others = theirs;
                    }
                    Err(message) => (line["failed"], line["message"]) = (json!("run"), json!(message)),
                }
                tell(Row { line, rivals: others.into_iter().collect() });
            }
        }
    }
    Ok(())
}

/// A graph, and the arguments made of it.
struct Input {
    name: String,
    directed: Graph,
    undirected: Graph,
    weights: Vec<f64>,
    start: usize,
    starts: Vec<usize>,
}

/// A result.
enum Found {
    Ints(Vec<i32>),
    Count(i64),
    Reals(Vec<f64>),
}

/// A program by hand: its name, whether it has threads, and its function.
type Rival<'a> = (&'static str, bool, Box<dyn Fn() -> Found + Send + Sync + 'a>);

impl Input {
    fn new(name: String, directed: Graph) -> Input {
        let undirected = directed.undirected();
        // Both directions of an edge have the same weight: 1 to 256.
        let ends = |v: usize| undirected.dst[undirected.out[v] as usize..undirected.out[v + 1] as usize].iter();
        let weight = |v: usize, w: usize| (mix((v.min(w) as u64) << 32 | v.max(w) as u64) % 256 + 1) as f64;
        let weights = (0..undirected.len()).flat_map(|v| ends(v).map(move |w| weight(v, *w as usize))).collect();
        let (start, n) = (directed.hub(), directed.len());
        let starts =
            (0..STARTS.min(n)).map(|k| if k == 0 { start } else { (mix(k as u64) % n as u64) as usize }).collect();
        let edges = (directed.dst.len(), undirected.dst.len());
        let name = format!("{name}: {n} vertices, {} / {} edges", edges.0, edges.1);
        Input { name, directed, undirected, weights, start, starts }
    }

    fn out(&self) -> Rows<'_> {
        Rows { off: &self.directed.out, ends: &self.directed.dst }
    }

    fn into(&self) -> Rows<'_> {
        Rows { off: &self.directed.into, ends: &self.directed.src }
    }

    fn both(&self) -> Rows<'_> {
        Rows { off: &self.undirected.out, ends: &self.undirected.dst }
    }

    /// The file and the function.
    fn program(&self, bench: &str) -> (&'static str, &'static str) {
        match bench {
            "graph-bfs" => ("bfs.dk", "main"),
            "graph-paths" => ("paths.dk", "main"),
            "graph-components" => ("components.dk", "main"),
            "graph-triangles" => ("triangles.dk", "main"),
            "graph-pagerank" => ("pagerank.dk", "ranks"),
            _ => ("betweenness.dk", "main"),
        }
    }

    fn args(&self, bench: &str, pool: &Pool) -> Vec<Data> {
        let rows = |r: Rows<'_>| [vector(pool, r.off), vector(pool, r.ends)];
        match bench {
            "graph-bfs" => [&rows(self.out())[..], &rows(self.into()), &[scalar(pool, self.start as i64)]].concat(),
            "graph-paths" => {
                let more =
                    [vector(pool, &self.weights), scalar(pool, self.start as i64), scalar(pool, self.longer_delta())];
                [&rows(self.both())[..], &more].concat()
            }
            "graph-pagerank" => {
                [&rows(self.into())[..], &[vector(pool, &self.directed.out), scalar(pool, ERROR)]].concat()
            }
            "graph-betweenness" => {
                let starts: Vec<i64> = self.starts.iter().map(|s| *s as i64).collect();
                [&rows(self.both())[..], &[vector(pool, &starts)]].concat()
            }
            _ => rows(self.both()).to_vec(),
        }
    }

    /// The steps of shortest paths: the more edges a vertex has, the less.
    fn delta(&self) -> f64 {
        (512.0 / self.degree()).ceil()
    }

    /// Those that are best for Deckle: where frontiers are small, a round costs more than their edges, so longer steps pay.
    fn longer_delta(&self) -> f64 {
        if self.degree() < 8.0 { 4.0 * self.delta() } else { self.delta() }
    }

    /// How many edges a vertex has on average.
    fn degree(&self) -> f64 {
        (self.weights.len() as f64 / self.undirected.len().max(1) as f64).max(1.0)
    }

    fn rivals(&self, bench: &str) -> Vec<Rival<'_>> {
        let (out, into, both) = (self.out(), self.into(), self.both());
        match bench {
            "graph-bfs" => vec![(
                "Rust, direction chosen",
                true,
                Box::new(move || Found::Ints(rivals::search(out, into, self.start))),
            )],
            "graph-paths" => vec![
                (
                    "Rust, heap",
                    false,
                    Box::new(move || Found::Reals(rivals::paths_by_heap(both, &self.weights, self.start))),
                ),
                (
                    "Rust, delta-stepping",
                    true,
                    Box::new(move || {
                        Found::Reals(rivals::paths_in_steps(both, &self.weights, self.start, self.delta()))
                    }),
                ),
            ],
            "graph-components" => vec![
                ("Rust, union-find", false, Box::new(move || Found::Ints(rivals::components_by_sets(both)))),
                ("Rust, Afforest", true, Box::new(move || Found::Ints(rivals::components_by_samples(both)))),
            ],
            "graph-triangles" => vec![("Rust, merge", true, Box::new(move || Found::Count(rivals::triangles(both))))],
            "graph-pagerank" => {
                vec![("Rust, pull", true, Box::new(move || Found::Reals(rivals::ranks(into, out, ERROR).0)))]
            }
            _ => vec![("Rust, Brandes", true, Box::new(move || Found::Reals(rivals::betweenness(both, &self.starts))))],
        }
    }
}

/// The change of all ranks at which PageRank ends.
const ERROR: f64 = 1e-6;

/// The times of a program and of its rivals, in turns.
fn times(
    input: &Input,
    bench: &str,
    compiled: &Compiled,
    threads: usize,
) -> Result<(Times, Vec<(String, f64)>), String> {
    let crew = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| e.to_string())?;
    let settings = Settings::new(threads, None);
    let args = input.args(bench, &settings.pool);
    let rivals: Vec<_> = input.rivals(bench).into_iter().filter(|r| r.1 || threads == 1).collect();
    let mut mine = Vec::new();
    let mut theirs = vec![Vec::new(); rivals.len()];
    for round in 0..=TRIES {
        let mut wanted = None;
        for ((name, _, run), times) in rivals.iter().zip(&mut theirs) {
            let begun = Instant::now();
            let found = crew.install(run);
            times.push(begun.elapsed().as_secs_f64());
            if round == 0 {
                match &wanted {
                    None => wanted = Some(found),
                    Some(first) => agree(&found, first).map_err(|e| format!("{name}: {e}"))?,
                }
            }
        }
        let given = args.clone();
        let begun = Instant::now();
        let result = compiled.native.call(given, &settings).map_err(|d| format!("{}: {}", d.code, d.message))?;
        mine.push(begun.elapsed().as_secs_f64());
        if let Some(wanted) = wanted {
            let n = input.directed.len();
            let found = match &wanted {
                Found::Ints(_) => Found::Ints(elements::<i32>(&result, n)?.to_vec()),
                Found::Count(_) => Found::Count(elements::<i64>(&result, 1)?[0]),
                Found::Reals(_) => Found::Reals(elements::<f64>(&result, n)?.to_vec()),
            };
            agree(&found, &wanted)?;
        }
    }
    let median = |times: &[f64]| Times::new(times[1..].to_vec());
    Ok((median(&mine), rivals.iter().zip(&theirs).map(|(r, t)| (r.0.to_string(), median(t).median())).collect()))
}

/// Whether two results are the same, except for the rounding of floats.
fn agree(found: &Found, wanted: &Found) -> Result<(), String> {
    match (found, wanted) {
        (Found::Ints(a), Found::Ints(b)) => same(a, b).map(drop),
        (Found::Count(a), Found::Count(b)) => same(&[*a], &[*b]).map(drop),
        (Found::Reals(a), Found::Reals(b)) => each(a, 0..b.len(), 1e-9, |i| (b[i], b[i])).map(drop),
        _ => Err("results of different kinds".to_string()),
    }
}
