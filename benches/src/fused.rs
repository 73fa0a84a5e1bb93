//! Expansions that are permuted at once, fused and not, on the distributions of sizes and targets of the thesis on fused expand and permute.
//!
//! The rival is the same program whose expansion is stored before it is permuted.

use crate::bars::Bars;
use crate::case::{leaves, scalar, vector};
use crate::data::mix;
use crate::measure::Times;
use crate::options::Options;
use crate::program;
use crate::report::Row;
use crate::way::Way;
use deckle_engine::{Data, Gpu, On, Options as Compiling};
use deckle_runtime::Pool;
use serde_json::{Value, json};

/// A distribution: of a thousand elements so many expand to a number between two; which share of a thousand is permuted; and the most elements.
struct Spread {
    name: &'static str,
    title: &'static str,
    sizes: &'static [(u64, [u64; 2])],
    kept: i64,
    most: usize,
}

const ALL: [Spread; 7] = [
    Spread { name: "fused-small", title: "0-10", sizes: &[(1000, [0, 10])], kept: 1000, most: 200_000 },
    Spread { name: "fused-medium", title: "0-100", sizes: &[(1000, [0, 100])], kept: 1000, most: 200_000 },
    Spread { name: "fused-large", title: "1000-3000", sizes: &[(1000, [1000, 3000])], kept: 1000, most: 10_000 },
    Spread {
        name: "fused-filter",
        title: "75% 1, 25% 0",
        sizes: &[(750, [1, 1]), (250, [0, 0])],
        kept: 1000,
        most: 200_000,
    },
    Spread {
        name: "fused-mixed",
        title: "90% 0-10, 10% 3000-3500",
        sizes: &[(900, [0, 10]), (100, [3000, 3500])],
        kept: 1000,
        most: 200_000,
    },
    Spread {
        name: "fused-mixed-filter",
        title: "the same, 75% kept",
        sizes: &[(900, [0, 10]), (100, [3000, 3500])],
        kept: 750,
        most: 200_000,
    },
    Spread { name: "fused-dropped", title: "0-10, 1% kept", sizes: &[(1000, [0, 10])], kept: 10, most: 200_000 },
];

/// There are at most so many targets, chosen at random.
const TARGETS: u64 = 1000;
/// The sizes of the input: the most, and parts of it.
const PARTS: [usize; 3] = [1, 20, 400];
const ROUNDS: usize = 9;

/// The names of the selected distributions.
pub fn wanted(options: &Options) -> Vec<&'static str> {
    let is_meant = |n: &&str| options.names.is_empty() || options.names.iter().any(|w| w == n || w == "fused");
    ALL.iter().map(|s| s.name).filter(is_meant).collect()
}

/// Measures them.
pub fn run(options: &Options, tell: &mut dyn FnMut(Row)) {
    let wanted = wanted(options);
    for spread in ALL.iter().filter(|s| wanted.contains(&s.name)) {
        for part in PARTS {
            let n = spread.most / part / if options.quick { 20 } else { 1 };
            let head = |place: &Value| json!({"bench": spread.name, "size": format!("{n} of {}", spread.title), "threads": place, "parts": part});
            match measured(spread, n, options) {
                Ok(figures) => figures.into_iter().for_each(|(place, line, unfused)| {
                    let mut whole = head(&place);
                    line.as_object().into_iter().flatten().for_each(|(k, v)| whole[k] = v.clone());
                    tell(Row { line: whole, rivals: [("not fused".to_string(), unfused)].into() });
                }),
                Err(message) => {
                    let mut line = head(&json!(options.threads[0]));
                    (line["failed"], line["message"]) = (json!("run"), json!(message));
                    tell(Row { line, rivals: Default::default() });
                }
            }
        }
    }
}

impl Spread {
    fn sizes(&self, n: usize) -> Vec<i64> {
        let size = |i: usize| {
            let (kind, mut at) = (mix(i as u64) % 1000, 0);
            let of = self.sizes.iter().find(|(share, _)| {
                at += share;
                kind < at
            });
            let [lo, hi] = of.map_or([0, 0], |(_, range)| *range);
            (lo + mix(!(i as u64)) % (hi - lo + 1)) as i64
        };
        (0..n).map(size).collect()
    }

    fn args(&self, pool: &Pool, n: usize) -> (Vec<Data>, u64) {
        let sizes = self.sizes(n);
        let total: i64 = sizes.iter().sum();
        let targets = TARGETS.min(total.max(1) as u64) as i64;
        (vec![vector(pool, &sizes), scalar(pool, targets), scalar(pool, self.kept)], total as u64)
    }
}

/// Where it ran, its figures, and the seconds without fusion.
type Figure = (Value, Value, f64);

fn measured(spread: &Spread, n: usize, options: &Options) -> Result<Vec<Figure>, String> {
    let (args, total) = spread.args(&Pool::new(None), n);
    let mut places: Vec<(Value, On, usize)> = options.threads.iter().map(|t| (json!(t), On::Native, *t)).collect();
    if options.gpu {
        places.push((json!("GPU"), On::Gpu(Gpu::open(0, None).map_err(|d| d.message)?), 1));
    }
    let mut figures = Vec::new();
    for (place, on, threads) in places {
        let way = |fuse: bool| -> Result<Way, String> {
            let name = format!("{} on {place}, {}", spread.name, if fuse { "fused" } else { "not fused" });
            let program = program::read("expand.dk", "single")?;
            Ok(Way::new(name, program, Compiling { fuse, ..Compiling::default() }, on.clone(), threads))
        };
        let ways = [way(true)?, way(false)?];
        let [a, b] = [ways[0].result(&args)?, ways[1].result(&args)?];
        let same = leaves(&a).iter().zip(leaves(&b)).all(|(a, b)| a.as_slice::<i64>() == b.as_slice::<i64>());
        if !same {
            return Err(format!("{}: the results differ", ways[0].name()));
        }
        let mut times = [Vec::new(), Vec::new()];
        for round in 0..=ROUNDS {
            for (way, times) in ways.iter().zip(&mut times) {
                let seconds = way.seconds(&args)?;
                if round > 0 {
                    times.push(seconds);
                }
            }
        }
        let [fused, unfused] = times.map(Times::new);
        let line = json!({"seconds": fused.median(), "min": fused.min(), "max": fused.max(), "runs": fused.len(),
            "ops": total, "unit": "element"});
        figures.push((place, line, unfused.median()));
    }
    Ok(figures)
}

/// Whether a row is of this benchmark.
pub fn is_row(row: &Row) -> bool {
    row.line["bench"].as_str().is_some_and(|b| b.starts_with("fused-"))
}

/// How many times as fast the fused program is, for the largest input of each distribution.
pub fn plot(rows: &[Row]) -> String {
    let large: Vec<&Row> = rows.iter().filter(|r| is_row(r) && r.line["parts"] == 1).collect();
    let mut places: Vec<&Value> = Vec::new();
    large.iter().for_each(|r| {
        if !places.contains(&&r.line["threads"]) {
            places.push(&r.line["threads"]);
        }
    });
    let name = |place: &Value| match place.as_u64() {
        Some(1) => "1 thread".to_string(),
        Some(n) => format!("{n} threads"),
        None => "GPU".to_string(),
    };
    let bars = |spread: &Spread| {
        let of = |place: &&Value| {
            let row = large.iter().find(|r| r.line["bench"] == spread.name && r.line["threads"] == **place)?;
            Some(row.rivals.values().next()? / row.line["seconds"].as_f64()?)
        };
        (spread.name.trim_start_matches("fused-").to_string(), places.iter().map(of).collect())
    };
    Bars {
        title: "times as fast as with the expansion stored".to_string(),
        series: places.iter().map(|p| name(p)).collect(),
        groups: ALL.iter().map(bars).collect(),
    }
    .svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_distribution() {
        for spread in &ALL {
            let sizes = spread.sizes(2000);
            let is_known = |s: &i64| spread.sizes.iter().any(|(_, [lo, hi])| (*lo as i64..=*hi as i64).contains(s));
            assert!(sizes.iter().all(is_known), "{}", spread.name);
            assert_eq!(spread.sizes.iter().map(|(share, _)| share).sum::<u64>(), 1000);
        }
        let mixed = ALL[4].sizes(10_000).iter().filter(|s| **s >= 3000).count();
        assert!((900..1100).contains(&mixed), "{mixed}");
    }
}
