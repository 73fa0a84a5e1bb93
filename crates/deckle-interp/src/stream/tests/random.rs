//! Random programs: the discipline gives the interpreter's result or gets stuck.

use crate::{Options, Streamed, Trial, run, run_streaming, try_streaming};
use deckle_diag::Code;
use deckle_gen::{Case, Config, program};
use deckle_ir::value::Value;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ends {
    done: usize,
    stuck: usize,
    error: usize,
}

fn check(case: &Case, ends: &mut Ends) -> Result<(), String> {
    let options = Options { max_steps: Some(1_000_000), max_elements: 1 << 20, ..Options::default() };
    let whole = run(&case.program, case.entry, &case.args, &options);
    let streamed = run_streaming(&case.program, case.entry, super::whole(&case.args), None, &options);
    let (from_sources, elements) = super::from_sources(&case.program, case.entry, &case.args, &options);
    match (&streamed, from_sources) {
        (Ok(Streamed::Done(value)), Ok(Streamed::Consumed)) if *value == Value::seq(elements.clone()) => {}
        (Ok(a), Ok(b)) if *a == b || matches!((a, &b), (Streamed::Stuck(_), Streamed::Stuck(_))) => {}
        (Err(_), Err(_)) => {}
        // Which error comes first depends on when elements come.
        (Ok(Streamed::Stuck(_)), Err(_)) | (Err(_), Ok(Streamed::Stuck(_))) => {}
        (streamed, other) => return Err(format!("{streamed:?}\nbut from sources\n{other:?} {elements:?}")),
    }
    match (streamed, whole) {
        (Ok(Streamed::Stuck(_)), _) => ends.stuck += 1,
        (Ok(Streamed::Done(value)), Ok(outcome)) if value == outcome.value => ends.done += 1,
        (Err(_), Err(_)) => ends.error += 1,
        // Steps and elements are counted differently.
        (Err(e), _) | (_, Err(e)) if e.code == Code::LimitExceeded => ends.error += 1,
        (streamed, whole) => return Err(format!("{streamed:?}\nand\n{whole:?}")),
    }
    Ok(())
}

fn sweep(config: &Config, seeds: std::ops::Range<u64>) -> Ends {
    let mut ends = Ends::default();
    for seed in seeds {
        let case = program(seed, config);
        if check(&case, &mut ends).is_err() {
            let small = deckle_gen::shrink(&case, &mut |c| check(c, &mut Ends::default()).is_err());
            panic!("seed {seed}: {}\n{small}", check(&small, &mut ends).unwrap_err());
        }
    }
    ends
}

#[test]
fn random_programs_give_the_same_or_get_stuck() {
    let ends = sweep(&Config::default(), 0..2000);
    println!("{ends:?}");
    assert!(ends.done > 500 && ends.stuck > 50, "{ends:?}");
}

#[test]
fn large_random_programs_too() {
    let config = Config { max_stmts: 24, body_stmts: 5, max_depth: 4, fuel: 90, risk: 4, ..Config::default() };
    println!("{:?}", sweep(&config, 0..150));
}

#[test]
fn trials_of_random_programs_never_panic() {
    let mut ends = [0; 3];
    for seed in 0..600 {
        let case = program(seed, &Config::default());
        for trial in 0..4 {
            let k = match try_streaming(&case.program, case.entry, trial, 100_000) {
                Trial::Finished => 0,
                Trial::Stuck(_) => 1,
                Trial::Abandoned => 2,
            };
            ends[k] += 1;
        }
    }
    println!("{ends:?}");
    assert!(ends[0] > 100 && ends[1] > 10, "{ends:?}");
}
