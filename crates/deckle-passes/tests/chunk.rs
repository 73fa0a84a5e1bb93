//! A program in chunks gives what it gives as a whole, whatever the size of a chunk: in the interpreter, on random programs.
//!
//! `DECKLE_CASES=100000` runs that many in the place of 4,000; `DECKLE_SEED=17` only that one.

use deckle_diag::{Code, Diagnostic};
use deckle_gen::{Case, Config, program, shrink};
use deckle_interp::{Options, run};
use deckle_ir::array::{parse, verify};
use deckle_ir::entity::Func;
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_passes::chunk::{Chunked, chunk};
use deckle_passes::simplify::simplify;
use std::collections::BTreeMap;

type Run = Result<Value, Box<Diagnostic>>;

fn in_chunks(case: &Case, size: i64) -> Option<Run> {
    let simple = simplify(&case.program);
    let result = simple.funcs[case.entry.index()].result_type();
    let Chunked { program: chunked, pushes } = chunk(&simple, case.entry).ok()??;
    let func = chunked.funcs.len() - 1;
    assert_eq!(parse(&chunked.to_string()).unwrap().to_string(), chunked.to_string());
    verify(&chunked).unwrap_or_else(|e| panic!("{e:?}\n{simple}\n{chunked}"));
    let mut args = case.args.clone();
    args.push(Value::Scalar(Scalar::I64(size)));
    let outcome = run(&chunked, Func(func as u32), &args, &limits());
    Some(outcome.map(|o| given(&o.value, result, &o.pushed, &mut pushes.into_iter())))
}

/// The result, with the elements that were handed over where it says how many there were.
fn given(value: &Value, ty: &Type, pushed: &[Vec<Value>], pushes: &mut dyn Iterator<Item = u32>) -> Value {
    match ty {
        Type::Seq(elem) => {
            let all = pushed.get(pushes.next().unwrap() as usize).map_or(&[][..], |all| all);
            assert_eq!(*value, Value::int(all.len() as i64));
            Value::seq(all.iter().map(|v| streamed(v, elem)).collect())
        }
        _ if ty.is_concrete() => value.clone(),
        _ => {
            let parts = value.parts().unwrap().iter().zip(ty.parts().unwrap());
            Value::tuple(parts.map(|(v, t)| given(v, t, pushed, pushes)).collect())
        }
    }
}

/// A value with sequences where the type has them.
fn streamed(value: &Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::Tuple(parts), _) => {
            Value::tuple(parts.iter().zip(ty.parts().unwrap()).map(|(v, t)| streamed(v, t)).collect())
        }
        (Value::Array(items) | Value::Seq(items), _) => {
            let all = items.iter().map(|v| streamed(v, ty.elem().unwrap())).collect();
            if ty.is_seq() { Value::seq(all) } else { Value::array(all) }
        }
        _ => value.clone(),
    }
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
