//! A program in chunks gives what it gives as a whole, whatever the size of a chunk: in the interpreter, on random programs.
//!
//! `DECKLE_CASES=100000` runs that many in the place of 4,000; `DECKLE_SEED=17` only that one.

use deckle_diag::{Code, Diagnostic};
use deckle_gen::{Case, Config, program, shrink};
use deckle_interp::{Options, run};
use deckle_ir::array::verify;
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;
use deckle_passes::chunk::chunk;
use deckle_passes::simplify::simplify;
use std::collections::BTreeMap;

type Run = Result<Value, Box<Diagnostic>>;

fn in_chunks(case: &Case, size: i64) -> Option<Run> {
    let simple = simplify(&case.program);
    let chunked = chunk(&simple, case.entry).ok()??;
    let func = chunked.funcs.len() - 1;
    verify(&chunked).unwrap_or_else(|e| panic!("{e:?}\n{simple}\n{chunked}"));
    let mut args = case.args.clone();
    args.push(Value::Scalar(Scalar::I64(size)));
    Some(run(&chunked, deckle_ir::entity::Func(func as u32), &args, &limits()).map(|o| o.value))
}

fn limits() -> Options {
    Options { max_steps: Some(400_000), max_elements: 40_000, ..Options::default() }
}

/// What is wrong with a case, if anything is.
fn wrong(case: &Case) -> Option<String> {
    let whole = run(&case.program, case.entry, &case.args, &limits()).map(|o| o.value);
    for size in [1, 2, 7, 64, i64::MAX] {
        let chunked = in_chunks(case, size)?;
        let fine = match (&whole, &chunked) {
            (Err(e), _) | (_, Err(e)) if e.code == Code::LimitExceeded => true,
            (Ok(a), Ok(b)) => a == b || format!("{a:?}") == format!("{b:?}"),
            // Of several errors another one may come first.
            (Err(_), Err(b)) => b.code != Code::Internal,
            _ => false,
        };
        if !fine {
            return Some(format!("in chunks of {size}: {chunked:?}\nas a whole: {whole:?}"));
        }
    }
    None
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_programs_give_the_same_in_chunks() {
    // Floats are added in another order.
    let config = Config { float_sums: false, ..Config::default() };
    let seeds = match number("DECKLE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("DECKLE_CASES").unwrap_or(4_000),
    };
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for seed in seeds {
        let case = program(seed, &config);
        let what = match chunk(&simplify(&case.program), case.entry) {
            Ok(Some(_)) => "in chunks".to_string(),
            Ok(None) => "no sequences".to_string(),
            Err(whole) => whole.why,
        };
        *seen.entry(what).or_default() += 1;
        if let Some(fault) = wrong(&case) {
            let small = shrink(&case, &mut |c| wrong(c).is_some());
            panic!("seed {seed}: {fault}\n{}\nshrunk: {}\n{:?}", case.program, small.program, wrong(&small));
        }
    }
    println!("{seen:#?}");
    assert!(number("DECKLE_SEED").is_some() || seen.get("in chunks").is_some_and(|n| *n > 100), "{seen:#?}");
}
