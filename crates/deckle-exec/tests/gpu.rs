//! Random programs, scheduled for a GPU, give on the simulator what they give in the interpreter: with many parts and with few, with a
//! thread and with a warp at each point. What the simulator refuses (races, accesses out of range, barriers that not all reach) fails a test.
//!
//! `DECKLE_SEED=17` runs that one seed; `DECKLE_CASES=100000` runs that many in the place of 1,000.

use deckle_diag::{Code, Diagnostic};
use deckle_exec::{Layout, Options, Settings, Simulated};
use deckle_gen::{Case, Config, Show, program, shrink};
use deckle_ir::scalar::ScalarType;
use deckle_ir::value::Value;

type Run = Result<Value, Box<Diagnostic>>;

const LAYOUTS: [Layout; 3] = [
    Layout { threads: 64, parts: Some(5), wide: Some(false) },
    Layout { threads: 64, parts: Some(3), wide: Some(true) },
    Layout { threads: 128, parts: None, wide: None },
];

/// Equal but for the rounding of floats, whose sums are grouped in another way.
fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Scalar(x), Value::Scalar(y)) => match (x.as_float(), y.as_float()) {
            (Some(p), Some(q)) if x.ty() == y.ty() => {
                let scale = if x.ty() == ScalarType::F32 { 1e-3 } else { 1e-8 };
                p == q || p.is_nan() && q.is_nan() || (p - q).abs() <= scale * p.abs().max(q.abs()).max(1e-9)
            }
            _ => x == y,
        },
        (Value::Tuple(x), Value::Tuple(y)) => x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| close(x, y)),
        (Value::Array(x), Value::Array(y)) | (Value::Seq(x), Value::Seq(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| close(x, y))
        }
        _ => false,
    }
}

fn agree(reference: &Run, other: &Run) -> bool {
    match (reference, other) {
        (Ok(a), Ok(b)) => close(a, b),
        // A limit of the run is no part of the meaning.
        (_, Err(b)) if b.code == Code::LimitExceeded => true,
        // Of several errors another one may come first, but never one of Deckle's own.
        (Err(_), Err(b)) => b.code != Code::Internal,
        _ => false,
    }
}

fn shown(run: &Run) -> String {
    match run {
        Ok(v) => Show(v).to_string(),
        Err(d) => format!("{}: {}", d.code, d.message),
    }
}

fn check(case: &Case, settings: &Settings, seed: u64) -> Result<(), String> {
    let limits = deckle_interp::Options { max_steps: Some(100_000), max_elements: 10_000, ..Default::default() };
    let reference = deckle_interp::run(&case.program, case.entry, &case.args, &limits).map(|o| o.value);
    if matches!(&reference, Err(e) if e.code == Code::LimitExceeded) {
        return Ok(());
    }
    for (k, layout) in LAYOUTS.into_iter().enumerate() {
        let fuse = !(seed + k as u64).is_multiple_of(3);
        let options = Options { fuse, given: Options::ALL, ..Options::default() };
        let simulated = Simulated::compile(&case.program, case.entry, options, layout);
        let simulated = simulated.map_err(|e| format!("{options:?}: {}", e.message))?;
        let run = simulated.run(&case.args, settings);
        if !agree(&reference, &run) {
            let (wanted, found) = (shown(&reference), shown(&run));
            let program = simulated.program();
            return Err(format!("{wanted}\nbut simulated with {layout:?}, {options:?}\n{found}\n{program}"));
        }
    }
    Ok(())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn sweep(name: &str, config: &Config, cases: u64) {
    let cases = number("DECKLE_CASES").map_or(cases, |n| n * cases / 1000);
    let (from, to) = number("DECKLE_SEED").map_or((0, cases), |seed| (seed, seed.saturating_add(1)));
    let settings = Settings::new(1, Some(1 << 30));
    let mut failed = Vec::new();
    for seed in from..to {
        let case = program(seed, config);
        if check(&case, &settings, seed).is_err() {
            let small = shrink(&case, &mut |c| check(c, &settings, seed).is_err());
            let why = check(&small, &settings, seed).err().unwrap_or_default();
            failed.push(format!("seed {seed} of `{name}`:\n{small}\n{why}"));
        }
        if failed.len() >= 3 {
            break;
        }
    }
    assert!(failed.is_empty(), "\n{}", failed.join("\n\n"));
}

#[test]
fn flat_arrays() {
    sweep("flat", &Config::flat(), 250);
}

#[test]
fn nested_arrays() {
    sweep("nested", &Config::nested(), 250);
}

#[test]
fn sequences() {
    sweep("sequences", &Config::default(), 250);
}
