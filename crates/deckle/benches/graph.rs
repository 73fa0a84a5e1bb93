//! The time to build a graph of 100,000 nodes, and to drop it. Prints one JSON line.

use deckle::prelude::*;
use std::time::Instant;

const NODES: usize = 100_000;

fn main() {
    let mut build = f64::INFINITY;
    let mut drop_ = f64::INFINITY;
    let mut nodes = 0;
    for _ in 0..5 {
        let start = Instant::now();
        let program = compile(|x: Exp<f64>| (0..NODES / 3).fold(x, |y, k| y * x + k as f64)).expect("a graph");
        build = build.min(start.elapsed().as_secs_f64());
        nodes = program.program().funcs[0].vars.len();
        let start = Instant::now();
        drop(program);
        drop_ = drop_.min(start.elapsed().as_secs_f64());
    }
    let rate = nodes as f64 / build;
    println!(
        "{{\"benchmark\":\"graph\",\"nodes\":{nodes},\"build_seconds\":{build:.6},\"drop_seconds\":{drop_:.6},\"nodes_per_second\":{rate:.0}}}"
    );
}
