//! Streamability, on the examples and on random programs, compared with the machine that runs a program one element at a time.

use deckle_analysis::stream;
use deckle_diag::{SourceMap, render_all};
use deckle_gen::{Case, Config, program, shrink};
use deckle_interp::{Argument, Options, Streamed, Trial, run_streaming, try_streaming};
use deckle_syntax::Compiled;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn compiled(path: &Path) -> (Result<Compiled, String>, SourceMap) {
    let mut sources = SourceMap::new();
    let mut load = |from: &str, written: &str| {
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(written);
        std::fs::read(&path).map(|bytes| (path.display().to_string(), bytes)).map_err(|e| e.to_string())
    };
    let bytes = std::fs::read(path).unwrap();
    let result = deckle_syntax::compile(&mut sources, &path.display().to_string(), bytes, &mut load);
    (result.map_err(|e| render_all(&e, &sources, false)), sources)
}

#[test]
fn every_example_can_be_streamed() {
    let mut wrong = String::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "dk") {
            continue;
        }
        let (compiled, sources) = compiled(&path);
        let program = compiled.unwrap().program;
        wrong += &render_all(&stream::check(&program, &sources, None), &sources, false);
        seen += 1;
    }
    assert!(seen >= 14 && wrong.is_empty(), "{wrong}");
}

fn accepted(case: &Case) -> bool {
    stream::faults_of(&case.program, case.entry).is_empty()
}

/// In one of this many trials the machine, which draws lengths and conditions at random, must get stuck on a rejected program.
const TRIALS: u64 = 600;

/// A rejected program may have its fault in a part that never runs because a condition is always the same (`x >= x` of floats, a
/// literal without elements). Of a thousand rejected programs at most this many may be like that: of nine thousand programs 3 of 508 and 9 of 516 were, and here there are eighty.
const NEVER_RUN: u64 = 30;

fn gets_stuck(case: &Case, trials: u64) -> bool {
    (0..trials).any(|seed| matches!(try_streaming(&case.program, case.entry, seed, 50_000), Trial::Stuck(_)))
}

/// The error in accepting a program, if any.
fn wrongly_accepted(case: &Case) -> Option<&'static str> {
    if gets_stuck(case, 40) {
        return Some("gets stuck for some data");
    }
    let options = Options { max_steps: Some(50_000), max_elements: 20_000, ..Options::default() };
    let whole = deckle_interp::run(&case.program, case.entry, &case.args, &options);
    let args = case.args.iter().cloned().map(Argument::Value).collect();
    match (whole, run_streaming(&case.program, case.entry, args, None, &options)) {
        (_, Ok(Streamed::Stuck(_))) => Some("gets stuck for its arguments"),
        (Ok(a), Ok(Streamed::Done(b))) if format!("{:?}", a.value) != format!("{b:?}") => {
            Some("streams to another value")
        }
        _ => None,
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn sweep(name: &str, config: &Config, cases: u64) {
    let cases = number("DECKLE_CASES").map_or(cases, |n| n * cases / 10_000);
    let (first, last) = number("DECKLE_SEED").map_or((0, cases), |seed| (seed, seed + 1));
    let (mut yes, mut no) = (0, 0);
    let mut never_run = Vec::new();
    for seed in first..last {
        let case = program(seed, config);
        if accepted(&case) {
            yes += 1;
            if let Some(what) = wrongly_accepted(&case) {
                let small = shrink(&case, &mut |c| accepted(c) && wrongly_accepted(c) == Some(what));
                panic!("seed {seed} of `{name}` is accepted, but {what}\n{small}");
            }
        } else {
            no += 1;
            if !gets_stuck(&case, TRIALS) {
                never_run.push(seed);
            }
        }
    }
    println!("{name}: {yes} accepted; {no} refused, of which {} never get stuck: {never_run:?}", never_run.len());
    if cases >= 500 && number("DECKLE_SEED").is_none() {
        assert!(yes > 50 && no > 50, "{yes} accepted and {no} refused prove little");
        assert!(never_run.len() as u64 * 1000 <= no * NEVER_RUN, "refused, but never get stuck: seeds {never_run:?}");
    }
}

#[test]
fn random_programs_with_sequences() {
    sweep("sequences", &Config::default(), 1500);
}

#[test]
fn random_programs_of_little_else() {
    let config = Config { max_stmts: 10, body_stmts: 4, nesting: 1, helpers: 1, risk: 0, ..Config::default() };
    sweep("little else", &config, 1500);
}
