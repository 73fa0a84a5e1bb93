//! Random programs, through all parts of the array IR: they verify, print and parse back equal, and run without
//! panic and with the sizes in their types.
//!
//! New programs on every run: see `deckle_gen::sweep`.

use deckle_diag::Class;
use deckle_gen::sweep::Sweep;
use deckle_gen::{Case, Config, Show};
use deckle_interp::{Options, run};
use deckle_ir::array::{parse, verify};
use std::collections::BTreeMap;
use std::sync::Mutex;

/// A failure: the step, and the error.
#[derive(Debug)]
struct Failure {
    step: &'static str,
    what: String,
}

fn fail<T>(step: &'static str, what: impl ToString) -> Result<T, Failure> {
    Err(Failure { step, what: what.to_string() })
}

/// The outcome of a run, for the statistics.
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

/// Runs programs on all cores, and counts their outcomes.
fn sweep(name: &str, config: &Config, cases: u64) {
    let ends = Mutex::new(BTreeMap::<&str, u64>::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let sweep = Sweep { test: ["deckle-gen", "random", name], config, cases, of: 10_000, threads };
    sweep.run(&|case| {
        let end = match check(case).map_err(|failure| format!("{}: {}", failure.step, failure.what))? {
            End::Value => "a value",
            End::Error(id) => id,
        };
        *ends.lock().unwrap().entry(end).or_default() += 1;
        Ok(())
    });
    println!("{name}: {:?}", ends.lock().unwrap());
}

#[test]
fn flat_arrays() {
    sweep("flat_arrays", &Config::flat(), 2000);
}

#[test]
fn nested_arrays() {
    sweep("nested_arrays", &Config::nested(), 3000);
}

#[test]
fn sequences() {
    sweep("sequences", &Config::default(), 3000);
}

#[test]
fn careless_programs() {
    let config = Config { associative: false, retraverse: true, risk: 40, ..Config::default() };
    sweep("careless_programs", &config, 1500);
}

#[test]
fn large_programs() {
    let config = Config { max_stmts: 24, body_stmts: 5, max_depth: 4, fuel: 90, risk: 4, ..Config::default() };
    sweep("large_programs", &config, 500);
}

#[test]
fn idioms() {
    sweep("idioms", &Config::default().with_idioms(), 2000);
}

#[test]
fn idioms_of_arrays() {
    sweep("idioms_of_arrays", &Config::nested().with_idioms(), 1000);
}
