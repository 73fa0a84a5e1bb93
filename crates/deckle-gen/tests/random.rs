//! Random programs, through everything that there is for the array IR: they verify, print and read back equal, and run without
//! panic and with the sizes that their types promise.
//!
//! `DECKLE_SEED=17` runs that one seed, with every configuration; `DECKLE_CASES=100000` runs that many in the place of
//! 10,000.

use deckle_diag::Class;
use deckle_gen::{Case, Config, Show, program, shrink};
use deckle_interp::{Options, run};
use deckle_ir::array::{parse, verify};
use std::cell::Cell;
use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// What went wrong: in which step, and how. A shrunken case must fail in the same step.
#[derive(Clone, Debug, PartialEq)]
struct Failure {
    step: &'static str,
    what: String,
}

fn fail<T>(step: &'static str, what: impl ToString) -> Result<T, Failure> {
    Err(Failure { step, what: what.to_string() })
}

/// How a run ended, for the statistics.
enum End {
    Value,
    Error(&'static str),
}

fn check(case: &Case) -> Result<End, Failure> {
    let program = &case.program;
    if let Err(errors) = verify(program) {
        return fail("verify", errors.iter().map(|e| format!("{e}\n")).collect::<String>());
    }
    let text = program.to_string();
    match parse(&text) {
        Ok(again) if again == *program => {}
        Ok(again) => return fail("parse", format!("reads as another program:\n{again}")),
        Err(e) => return fail("parse", e),
    }
    let options = Options { check_sizes: true, max_steps: Some(50_000), max_elements: 20_000, ..Options::default() };
    let first = run(program, case.entry, &case.args, &options);
    let second = run(program, case.entry, &case.args, &options);
    match (&first, &second) {
        (Ok(a), Ok(b)) if a == b => Ok(End::Value),
        (Err(a), Err(b)) if a == b => match a.class() {
            Class::User => Ok(End::Error(a.code.info().id)),
            _ => fail("run", &a.message),
        },
        _ => fail("run twice", format!("{}\nand then\n{}", outcome(&first), outcome(&second))),
    }
}

fn outcome<E: std::fmt::Debug>(result: &Result<deckle_interp::Outcome, E>) -> String {
    match result {
        Ok(o) => format!("{} at {:?}", Show(&o.value), o.cost),
        Err(e) => format!("{e:?}"),
    }
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// As `check`, with panics as failures.
fn attempt(case: &Case) -> Result<End, Failure> {
    QUIET.set(true);
    let result = catch_unwind(AssertUnwindSafe(|| check(case)));
    QUIET.set(false);
    result.unwrap_or_else(|e| {
        let text = e.downcast_ref::<String>().cloned().or(e.downcast_ref::<&str>().map(|s| s.to_string()));
        fail("panic", text.unwrap_or_default())
    })
}

fn report(case: &Case, failure: &Failure, name: &str) -> String {
    let mut fails = |c: &Case| attempt(c).is_err_and(|f| f.step == failure.step);
    let small = shrink(case, &mut fails);
    let last = attempt(&small).err().unwrap_or(failure.clone());
    let mut text = format!("seed {} of `{name}` fails: {}: {}\n\n", case.seed, last.step, last.what);
    let _ =
        write!(text, "{small}\nto see it again: DECKLE_SEED={} cargo test -p deckle-gen --test random\n", case.seed);
    text
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Runs the seeds of a configuration on all cores.
fn sweep(name: &str, config: &Config, cases: u64) {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !QUIET.get() {
            hook(info);
        }
    }));
    let cases = number("DECKLE_CASES").map_or(cases, |n| n * cases / 10_000);
    let (from, to) = number("DECKLE_SEED").map_or((0, cases), |seed| (seed, seed.saturating_add(1)));
    let next = AtomicU64::new(from);
    let failed = Mutex::new(Vec::new());
    let ends = Mutex::new(std::collections::BTreeMap::<&str, u64>::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= to || failed.lock().unwrap().len() >= 3 {
                        break;
                    }
                    let case = program(seed, config);
                    let end = match attempt(&case) {
                        Ok(End::Value) => "a value",
                        Ok(End::Error(id)) => id,
                        Err(failure) => {
                            let text = report(&case, &failure, name);
                            failed.lock().unwrap().push((seed, text));
                            continue;
                        }
                    };
                    *ends.lock().unwrap().entry(end).or_default() += 1;
                }
            });
        }
    });
    println!("{name}: {:?}", ends.lock().unwrap());
    let mut failed = failed.into_inner().unwrap();
    failed.sort();
    let texts: Vec<String> = failed.into_iter().map(|(_, text)| text).collect();
    assert!(texts.is_empty(), "\n{}", texts.join("\n"));
}

#[test]
fn flat_arrays() {
    sweep("flat", &Config::flat(), 2000);
}

#[test]
fn nested_arrays() {
    sweep("nested", &Config::nested(), 3000);
}

#[test]
fn sequences() {
    sweep("sequences", &Config::default(), 3000);
}

#[test]
fn careless_programs() {
    let config = Config { associative: false, retraverse: true, risk: 40, ..Config::default() };
    sweep("careless", &config, 1500);
}

#[test]
fn large_programs() {
    let config = Config { max_stmts: 24, body_stmts: 5, max_depth: 4, fuel: 90, risk: 4, ..Config::default() };
    sweep("large", &config, 500);
}
