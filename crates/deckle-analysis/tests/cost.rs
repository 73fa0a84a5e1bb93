//! Predicted costs compared with metered ones: the examples over sizes, the hand-computed programs, and random programs.
//!
//! `DECKLE_LARGE=1 cargo test --release -p deckle-analysis --test cost` goes up to a million elements for every example.

use deckle_analysis::cost::{Numbers, Prediction, predict};
use deckle_diag::SourceMap;
use deckle_interp::{Cost, Options};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A script and its predictions.
struct Script {
    program: Program,
    entries: Vec<(String, Func)>,
    predictions: Vec<Prediction>,
}

impl Script {
    fn load(file: &str) -> Script {
        let path = root().join(file);
        let folder = path.parent().unwrap().to_path_buf();
        let mut load = |_: &str, written: &str| {
            let bytes = std::fs::read(folder.join(written)).map_err(|e| e.to_string())?;
            Ok((written.to_string(), bytes))
        };
        let text = std::fs::read(&path).unwrap();
        let compiled = deckle_syntax::compile(&mut SourceMap::new(), file, text, &mut load).unwrap();
        let predictions = predict(&compiled.program);
        let entries = compiled.entries.iter().map(|e| (e.name.clone(), e.func)).collect();
        Script { program: compiled.program, entries, predictions }
    }

    fn entry(&self, name: &str) -> Func {
        self.entries.iter().find(|(n, _)| n == name).unwrap().1
    }

    fn prediction(&self, name: &str) -> &Prediction {
        &self.predictions[self.entry(name).index()]
    }

    fn metered(&self, name: &str, args: &[Value]) -> Cost {
        deckle_interp::run(&self.program, self.entry(name), args, &Options::default()).unwrap().cost
    }
}

fn fields(c: &Cost) -> [u64; 4] {
    [c.work, c.depth, c.space.seq, c.space.par]
}

/// The prediction for `main` or another function of an example, for arguments created from each size, is at least the metered cost, and at
/// most `factors` times as much: for work, depth, sequential and parallel space. `told` gives the symbols known only at run time.
fn holds(
    example: &str,
    entry: &str,
    factors: [f64; 4],
    sizes: &[u64],
    args: impl Fn(u64) -> Vec<Value>,
    told: impl Fn(u64) -> Vec<(&'static str, u64)>,
) {
    let script = Script::load(&match example {
        "search" => "crates/deckle-analysis/tests/search.dk".to_string(),
        _ => format!("examples/{example}.dk"),
    });
    let prediction = script.prediction(entry);
    let mut worst = [0.0f64; 4];
    for &n in sizes {
        let args = args(n);
        let mut numbers = Numbers::of_arguments(&args);
        for (name, value) in told(n) {
            assert!(numbers.set(prediction, name, value), "{example}: there is no `{name}`");
        }
        let predicted = prediction.evaluate(&numbers);
        let predicted = predicted.unwrap_or_else(|| panic!("{example} {entry}, {n}: {}", prediction.summary()));
        let metered = script.metered(entry, &args);
        for (k, (p, m)) in fields(&predicted).into_iter().zip(fields(&metered)).enumerate() {
            assert!(p >= m, "{example} {entry}, {n}: {predicted:?} is less than {metered:?}\n{}", prediction.summary());
            worst[k] = worst[k].max(p as f64 / m.max(1) as f64);
        }
    }
    let good = worst.iter().zip(factors).all(|(w, f)| *w <= f);
    assert!(good, "{example} {entry}: {worst:?} times what is metered, not {factors:?}\n{}", prediction.summary());
}

/// Sizes up to a quick limit; with `DECKLE_LARGE` set, up to a million elements, which takes minutes in a release build.
fn up_to(quick: u64, large: u64) -> Vec<u64> {
    let most = if std::env::var_os("DECKLE_LARGE").is_some() { large } else { quick };
    let round = [1, 2, 3, 10, 30, 100, 300, 1_000, 10_000, 100_000, 1_000_000];
    round.into_iter().filter(|n| *n <= most).collect()
}

const MILLION: u64 = 1_000_000;

fn int(n: u64) -> Value {
    Value::int(n as i64)
}

fn ints(list: impl IntoIterator<Item = u64>) -> Value {
    Value::array(list.into_iter().map(int).collect())
}

fn reals(n: u64) -> Value {
    Value::array((0..n).map(|i| Value::real(i as f64)).collect())
}

fn bytes(text: impl IntoIterator<Item = u8>) -> Value {
    Value::array(text.into_iter().map(|b| Value::Scalar(Scalar::U8(b))).collect())
}

fn nothing(_: u64) -> Vec<(&'static str, u64)> {
    Vec::new()
}

/// The number of layers of one width of a graph of about `n` vertices below its first vertex, and that width.
fn layers(n: u64) -> (u64, u64) {
    let count = (n - 1).min(20);
    (count, (n - 1).checked_div(count).unwrap_or(0))
}

/// A graph in layers: the first vertex has edges to all of the first layer, and every other one to one of the next layer. Returns the start of the edges of each
/// vertex, and their targets.
fn layered(n: u64) -> (Value, Value) {
    let (count, width) = layers(n);
    let vertices = 1 + count * width;
    let next = (1..vertices).map(|v| v + width).filter(|v| *v < vertices);
    let targets: Vec<u64> = (1..=width).chain(next).collect();
    // The first vertex has `width` edges, the last layer has none.
    let begins = (0..=vertices).map(|v| if v == 0 { 0 } else { (width + v - 1).min(targets.len() as u64) });
    (ints(begins), ints(targets.iter().copied()))
}

#[test]
fn breadth_first_search() {
    let args = |n| {
        let (off, dst) = layered(n);
        vec![off, dst, int(0)]
    };
    let told = |n| {
        let (count, width) = layers(n);
        vec![("t", count + 1), ("m", width.max(1)), ("m2", width.max(1))]
    };
    holds("search", "main", [1.5, 1.2, 1.4, 2.0], &up_to(10_000, MILLION), args, told);
}

#[test]
fn levels_of_a_search() {
    let args = |n| {
        let (off, dst) = layered(n);
        vec![off, dst, int(0)]
    };
    let told = |n| {
        let (count, width) = layers(n);
        vec![("t", count + 1), ("m", width.max(1)), ("m2", width.max(1)), ("x", count + 1), ("x2", count + 1)]
    };
    holds("search", "levels", [1.5, 1.2, 1.4, 2.0], &up_to(10_000, MILLION), args, told);
}

#[test]
fn dot() {
    holds("dot", "main", [1.0; 4], &up_to(MILLION, MILLION), |n| vec![reals(n), reals(n)], nothing);
}

#[test]
fn histogram() {
    let args = |n| vec![int(10), ints((0..n).map(|i| i % 10))];
    holds("histogram", "main", [1.0, 1.0, 1.1, 1.0], &up_to(10_000, MILLION), args, |n| vec![("g", n.min(10))]);
}

#[test]
fn kmeans() {
    holds(
        "kmeans",
        "main",
        [1.1, 1.1, 1.2, 2.1],
        &up_to(1_000, MILLION),
        |n| vec![int(n), int(3), int(2)],
        |n| vec![("g", n.min(3))],
    );
}

#[test]
fn life() {
    holds("life", "main", [1.2, 1.0, 1.0, 1.1], &up_to(100, 1_000)[3..], |n| vec![int(n), int(2)], |n| vec![("m", n)]);
    holds(
        "life",
        "picture",
        [1.2, 1.0, 1.0, 1.1],
        &up_to(30, 300)[3..],
        |n| vec![int(n), int(2), int(3)],
        |n| vec![("m", n)],
    );
}

#[test]
fn logsum() {
    holds("logsum", "main", [1.0; 4], &up_to(MILLION, MILLION), |n| vec![int(n)], nothing);
}

#[test]
fn sum_of_logsums() {
    holds("logsum", "sum_of_logsums", [1.0; 4], &up_to(100, 100), |n| vec![int(n)], nothing);
}

/// The maximal number of rounds of any point.
fn escape(n: u64, limit: u64) -> u64 {
    let points = (0..n).flat_map(|j| (0..n).map(move |i| (i, j)));
    let rounds = points.map(|(i, j)| {
        let (cx, cy) = (-2.2 + 3.2 * i as f64 / n as f64, -1.2 + 2.4 * j as f64 / n as f64);
        let (mut x, mut y, mut round) = (0.0, 0.0, 0);
        while round < limit && x * x + y * y <= 4.0 {
            (x, y, round) = (x * x - y * y + cx, 2.0 * x * y + cy, round + 1);
        }
        round
    });
    rounds.max().unwrap_or(0)
}

#[test]
fn mandelbrot() {
    for entry in ["main", "picture"] {
        let args = |n| vec![int(n), int(n), int(20)];
        holds("mandelbrot", entry, [3.0, 1.1, 1.0, 1.0], &up_to(100, 1_000), args, |n| vec![("t", escape(n, 20))]);
    }
}

#[test]
fn matvec() {
    let rows = |n: u64| Value::array((0..n).map(|_| reals(n)).collect());
    holds("matvec", "main", [1.0; 4], &up_to(300, 1_000), |n| vec![rows(n), reals(n)], nothing);
}

fn words(n: u64) -> Value {
    Value::array((0..n).map(|i| bytes((0..i % 100).map(|k| b'a' + (k % 26) as u8))).collect())
}

#[test]
fn md5() {
    holds("md5", "main", [1.3, 1.2, 1.0, 2.0], &up_to(100, 10_000), |n| vec![words(n)], nothing);
}

#[test]
fn md5_find() {
    holds("md5", "find", [1.3, 1.2, 1.0, 2.0], &up_to(100, 10_000), |n| vec![words(n), bytes([])], nothing);
}

#[test]
fn nbody() {
    holds("nbody", "main", [1.0, 1.0, 1.0, 1.4], &up_to(100, 1_000), |n| vec![int(n), int(2)], nothing);
}

#[test]
fn pagerank() {
    let small = |list: std::ops::Range<u64>| Value::array(list.map(|v| Value::Scalar(Scalar::I32(v as i32))).collect());
    // All ranks of a ring are equal, so the first round changes nothing.
    let ring =
        |n: u64| vec![ints(0..=n), small(0..n), ints((0..n).map(move |v| (v + 1) % n)), Value::real(1e-6), int(5)];
    holds("pagerank", "main", [1.1, 1.0, 1.4, 1.5], &up_to(10_000, MILLION), ring, |n| {
        vec![("t", 1), ("m", n), ("m2", n), ("into[]", n)]
    });
}

#[test]
fn sieve() {
    let is_prime = |p: &u64| *p > 1 && (2..*p).take_while(|d| d * d <= *p).all(|d| !p.is_multiple_of(d));
    let told = |n: u64| {
        let root = n.isqrt();
        let small: Vec<u64> = (2..=root).filter(is_prime).collect();
        let multiples = small.iter().map(|p| (n - 1) / p - 1).sum();
        let primes = (2..n).filter(is_prime).count() as u64;
        vec![("x", root), ("x2", root.isqrt()), ("k", small.len() as u64), ("m", multiples), ("k2", primes)]
    };
    holds("sieve", "main", [1.1, 2.2, 1.5, 1.8], &up_to(10_000, MILLION), |n| vec![int(n)], told);
}

#[test]
fn spmv() {
    let args = |n: u64| {
        let off: Vec<u64> = (0..=n).scan(0, |at, i| Some(std::mem::replace(at, *at + i % 5))).collect();
        let all = off[n as usize];
        vec![ints(off), ints((0..all).map(move |k| k % n)), reals(all), reals(n)]
    };
    holds("spmv", "main", [1.0, 1.5, 1.8, 1.4], &up_to(10_000, MILLION), args, nothing);
}

fn text(n: u64) -> Vec<Value> {
    vec![bytes((0..n).map(|i| if i % 6 == 5 { b' ' } else { b'a' }))]
}

#[test]
fn words_of_a_text() {
    holds("words", "main", [1.5, 1.4, 6.0, 1.2], &up_to(10_000, MILLION), text, nothing);
}

#[test]
fn word_lengths() {
    holds("words", "lengths", [1.5, 1.3, 6.0, 2.0], &up_to(10_000, MILLION), text, |n| vec![("s", n.min(5))]);
}

#[test]
fn the_programs_computed_by_hand() {
    let formula = |file: &str, entry: &str| Script::load(&format!("tests/cost/{file}.dk")).prediction(entry).summary();
    assert_eq!(formula("logsum", "main"), "work 7 n, depth 6, space 8 / 7 n + 1");
    let nbody = "work 5 |xs|² + 5 |xs| + 2, depth 7, space max(|xs| + 5, 11) / 5 |xs|² + 5 |xs| + 1";
    assert_eq!(formula("nbody", "main"), nbody);
    assert_eq!(formula("number", "main"), "work 3 |s| + 1, depth 4, space 8 / max(7 |s| + 1, 2 |s| + 2)");
    assert_eq!(formula("streamable", "again"), "work 11 n + 1, depth 10, space 8 / max(7 n + 1, 6 n + 2)");
    assert_eq!(formula("streamable", "once"), "work 10 n + 3, depth 12, space 10 / max(7 n + 1, 4 n + 6)");
    assert_eq!(formula("streamable", "stored"), "work 16 n + 2, depth 13, space n + 13 / 11 n + 3");
    let squares = "⌊(2 n³ + n - 3 n²) / 6⌋";
    let sums = format!("work 4 n + 7 {squares}, depth 9, space 13 / max(4 n + 1, 5 n + 7 {squares} + 1)");
    assert_eq!(formula("sum-of-logsums", "main"), sums);
}

#[test]
fn numbers_for_names_and_a_chunk_for_a_budget() {
    let script = Script::load("tests/cost/nbody.dk");
    let prediction = script.prediction("main");
    let mut numbers = Numbers::new();
    assert_eq!(prediction.evaluate(&numbers), None);
    assert!(!numbers.set(prediction, "n", 10));
    assert!(numbers.set(prediction, "xs", 10));
    assert_eq!(prediction.evaluate(&numbers).map(|c| fields(&c)), Some([552, 7, 15, 551]));
    numbers.set(prediction, "xs", 1_000_000);
    let chunk = prediction.chunk_for(&numbers, 64 << 20, 4).unwrap();
    assert!(prediction.peak_bytes(&numbers, chunk, 4).unwrap() <= 64 << 20);
    assert!(prediction.peak_bytes(&numbers, chunk + 1, 4).unwrap() > 64 << 20);
    assert_eq!(prediction.chunk_for(&numbers, 1 << 20, 4), None, "the result alone takes more");
}

#[test]
fn random_programs_cost_at_most_what_is_predicted() {
    let mut known = 0;
    for seed in 0..500u64 {
        let case = deckle_gen::program(seed, &deckle_gen::Config::default());
        let predictions = predict(&case.program);
        let prediction = &predictions[case.entry.index()];
        let numbers = Numbers::of_arguments(&case.args);
        let Ok(outcome) = deckle_interp::run(&case.program, case.entry, &case.args, &Options::default()) else {
            continue;
        };
        let Some(predicted) = prediction.evaluate(&numbers) else { continue };
        known += 1;
        let good = fields(&predicted).iter().zip(fields(&outcome.cost)).all(|(p, m)| *p >= m);
        assert!(good, "seed {seed}: {predicted:?}, not {:?}\n{}\n{case}", outcome.cost, prediction.summary());
    }
    assert!(known > 200, "only {known} predictions could be evaluated");
}
