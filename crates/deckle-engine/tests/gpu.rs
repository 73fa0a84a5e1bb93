//! Random programs, scheduled for a GPU, give on the simulator what they give in the interpreter: with many parts and with few, with a
//! thread and with a warp at each point, and the same bits with blocks in another order. What the simulator refuses (races, accesses out of range, loads of what was never stored, barriers that not all
//! reach) fails a test.
//!
//! New programs on every run: see `deckle_gen::sweep`.

use deckle_engine::{Cuts, Layout, Options, Order, Settings, Simulated};
use deckle_gen::compare::{agree, is_limit, same_bits, shown};
use deckle_gen::sweep::Sweep;
use deckle_gen::{Case, Config};

const LAYOUTS: [Layout; 3] = [
    Layout { threads: 64, parts: Some(5), wide: Some(false) },
    Layout { threads: 64, parts: Some(3), wide: Some(true) },
    Layout { threads: 128, parts: None, wide: None },
];

fn check(case: &Case, settings: &Settings, seed: u64) -> Result<(), String> {
    let limits = deckle_interp::Options { max_steps: Some(100_000), max_elements: 10_000, ..Default::default() };
    let reference = deckle_interp::run(&case.program, case.entry, &case.args, &limits).map(|o| o.value);
    if matches!(&reference, Err(e) if is_limit(e)) {
        return Ok(());
    }
    for (k, layout) in LAYOUTS.into_iter().enumerate() {
        let fuse = !(seed + k as u64).is_multiple_of(3);
        let options = Options { fuse, given: Options::ALL, cuts: Cuts::simulated(), ..Options::default() };
        let simulated = Simulated::compile(&case.program, case.entry, options, layout);
        let simulated = simulated.map_err(|e| format!("{options:?}: {}", e.message))?;
        let run = simulated.run(&case.args, settings);
        if !agree(&case.program, &reference, &run) {
            let (wanted, found) = (shown(&reference), shown(&run));
            let program = simulated.program();
            return Err(format!("{wanted}\nbut simulated with {layout:?}, {options:?}\n{found}\n{program}"));
        }
        let order = if seed.is_multiple_of(2) { Order::Descending } else { Order::Shuffled(seed) };
        let again = simulated.run_in(order, &case.args, settings);
        if !matches!((&run, &again), (Ok(a), Ok(b)) if same_bits(a, b)) && !matches!((&run, &again), (Err(_), Err(_))) {
            let (ascending, other) = (shown(&run), shown(&again));
            let program = simulated.program();
            return Err(format!("{ascending}\nbut in {order:?} order with {layout:?}\n{other}\n{program}"));
        }
    }
    Ok(())
}

fn sweep(name: &str, config: &Config, cases: u64) {
    let sweep = Sweep { test: ["deckle-engine", "gpu", name], config, cases, of: 1000, threads: 2 };
    sweep.run(&|case| check(case, &Settings::new(1, Some(1 << 30)), case.seed));
}

#[test]
fn flat_arrays() {
    sweep("flat_arrays", &Config::flat(), 250);
}

#[test]
fn nested_arrays() {
    sweep("nested_arrays", &Config::nested(), 250);
}

#[test]
fn sequences() {
    sweep("sequences", &Config::default(), 250);
}

#[test]
fn what_failed_once() {
    // A group of threads without a point loaded what another block replaced.
    let seed = 617491871629;
    let case = deckle_gen::program(seed, &Config::default());
    check(&case, &Settings::new(1, Some(1 << 30)), seed).unwrap_or_else(|why| panic!("seed {seed}: {why}"));
}
