//! Random programs give on native code what they give in the interpreter, fused and not, on one thread and on several.
//!
//! `DECKLE_SEED=17` runs that one seed, with every configuration; `DECKLE_CASES=100000` runs that many in the place of 4,000.

use deckle_diag::{Code, Diagnostic};
use deckle_exec::{Chunks, Grain, Native, Options, Settings};
use deckle_gen::{Case, Config, Show, program, shrink};
use deckle_ir::loops::Gathers;
use deckle_ir::scalar::ScalarType;
use deckle_ir::value::Value;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

type Run = Result<Value, Box<Diagnostic>>;

/// Equal but for the rounding of floats, whose sums may be grouped in another way.
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
        (Err(a), _) if a.code == Code::LimitExceeded => true,
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

fn check(case: &Case, settings: &[Settings]) -> Result<(), String> {
    let limits = deckle_interp::Options { max_steps: Some(100_000), max_elements: 40_000, ..Default::default() };
    let reference = deckle_interp::run(&case.program, case.entry, &case.args, &limits).map(|o| o.value);
    if matches!(&reference, Err(e) if e.code == Code::LimitExceeded) {
        return Ok(());
    }
    for fuse in [true, false] {
        let gathers = Some(if fuse { Gathers::Native } else { Gathers::Emulated });
        let options =
            Options { fuse, chunks: Chunks::Never, quick: true, gathers, given: Options::ALL, ..Options::default() };
        let native = match Native::compile(&case.program, case.entry, options) {
            Ok(native) => native,
            Err(e) => return Err(format!("fuse {fuse}: {}", e.message)),
        };
        let mut first: Option<Run> = None;
        for s in settings {
            let run = native.run(&case.args, s);
            if !agree(&reference, &run) {
                let threads = s.team.threads();
                return Err(format!(
                    "{}\nbut native, fuse {fuse}, {threads} threads\n{}\n{}",
                    shown(&reference),
                    shown(&run),
                    native.program()
                ));
            }
            match &first {
                Some(f) if shown(f) != shown(&run) => {
                    return Err(format!("{}\nbut on another number of threads\n{}", shown(f), shown(&run)));
                }
                Some(_) => {}
                None => first = Some(run),
            }
        }
    }
    Ok(())
}

/// In chunks of any size, on one thread and on two, it gives what the interpreter gives, with the same bits.
fn check_chunks(case: &Case, settings: &[Settings]) -> Result<(), String> {
    let limits = deckle_interp::Options { max_steps: Some(100_000), max_elements: 40_000, ..Default::default() };
    let reference = deckle_interp::run(&case.program, case.entry, &case.args, &limits).map(|o| o.value);
    if matches!(&reference, Err(e) if e.code == Code::LimitExceeded) {
        return Ok(());
    }
    let options = Options { chunks: Chunks::Always, quick: true, given: Options::ALL, ..Options::default() };
    let native = Native::compile(&case.program, case.entry, options).map_err(|e| e.message.clone())?;
    let mut first: Option<Run> = None;
    for s in settings {
        let run = native.run(&case.args, s);
        let (threads, chunk) = (s.team.threads(), s.chunk.unwrap_or(0));
        if !agree(&reference, &run) {
            let (wanted, got) = (shown(&reference), shown(&run));
            return Err(format!("{wanted}\nbut in chunks of {chunk}, {threads} threads\n{got}\n{}", native.program()));
        }
        match &first {
            Some(f) if f.is_ok() && shown(f) != shown(&run) => {
                return Err(format!("{}\nbut in chunks of {chunk}, {threads} threads\n{}", shown(f), shown(&run)));
            }
            Some(_) => {}
            None => first = Some(run),
        }
    }
    Ok(())
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Small arrays in many blocks, and rows of a few elements that all threads share.
const FINE: Grain = Grain { worth: 1, block: Some(3), row: 2, long: 3 };

/// Finds what is wrong with a case, with each of the settings.
type Check = fn(&Case, &[Settings]) -> Result<(), String>;

fn sweep(name: &str, config: &Config, cases: u64) {
    // How what is not associative is grouped, nobody has promised.
    let grain = if config.associative { FINE } else { Grain::default() };
    let settings = || [1, 2, 5].map(|threads| Settings { grain, ..Settings::new(threads, Some(1 << 30)) }).into();
    sweep_with(name, config, cases, check, &settings);
}

fn sweep_with(name: &str, config: &Config, cases: u64, check: Check, settings: &(dyn Fn() -> Vec<Settings> + Sync)) {
    let cases = number("DECKLE_CASES").map_or(cases, |n| n * cases / 4000);
    let (from, to) = number("DECKLE_SEED").map_or((0, cases), |seed| (seed, seed.saturating_add(1)));
    let next = AtomicU64::new(from);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let settings = settings();
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= to || failed.lock().unwrap().len() >= 3 {
                        break;
                    }
                    let case = program(seed, config);
                    if check(&case, &settings).is_err() {
                        let small = shrink(&case, &mut |c| check(c, &settings).is_err());
                        let why = check(&small, &settings).err().unwrap_or_default();
                        failed.lock().unwrap().push(format!("seed {seed} of `{name}`:\n{small}\n{why}"));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "\n{}", failed.join("\n\n"));
}

#[test]
fn flat_arrays() {
    sweep("flat", &Config::flat(), 100);
}

#[test]
fn nested_arrays() {
    sweep("nested", &Config::nested(), 100);
}

#[test]
fn sequences() {
    sweep("sequences", &Config::default(), 100);
}

/// Chunks of several sizes, and of sizes that are found out, on one thread and on two.
fn chunk_sizes() -> Vec<Settings> {
    let sizes = [(1, Some(1)), (1, Some(2)), (2, Some(7)), (1, Some(64)), (2, None)];
    sizes.map(|(threads, chunk)| Settings { chunk, ..Settings::new(threads, Some(1 << 30)) }).into()
}

#[test]
fn sequences_in_chunks() {
    sweep_with("chunks", &Config::default(), 100, check_chunks, &chunk_sizes);
}

/// Programs that once failed: checks after the state of a loop was new, a condition that holds in no lane, loops inside a traversal.
#[test]
fn what_failed_once() {
    for seed in [504, 559, 709, 714, 837] {
        let case = program(seed, &Config::default());
        check_chunks(&case, &chunk_sizes()).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
    }
}

#[test]
fn careless_programs() {
    let config = Config { associative: false, retraverse: true, risk: 40, ..Config::default() };
    sweep("careless", &config, 60);
}
