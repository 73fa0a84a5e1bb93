//! Every operator occurs in the programs of a few thousand seeds.

use deckle_gen::{Config, program};
use deckle_ir::array::{BinOp, Op, UnOp};
use std::collections::HashMap;

fn count(seeds: u64, config: &Config) -> HashMap<&'static str, usize> {
    let mut counts = HashMap::new();
    for seed in 0..seeds {
        let case = program(seed, config);
        for func in &case.program.funcs {
            for v in 0..func.vars.len() {
                let Some(inst) = func.inst(deckle_ir::entity::Var(v as u32)) else { continue };
                *counts.entry(inst.op.info().name).or_default() += 1;
                match inst.op {
                    Op::Unary(op) => *counts.entry(op.name()).or_default() += 1,
                    Op::Binary(op) => *counts.entry(op.name()).or_default() += 1,
                    _ => {}
                }
            }
        }
    }
    counts
}

#[test]
fn every_operator_occurs() {
    let counts = count(2000, &Config::default());
    let table = Op::TABLE.iter().map(|info| info.name).filter(|n| !Op::OF_THE_COMPILER.contains(n));
    let scalar = UnOp::ALL.iter().map(|op| op.name()).chain(BinOp::ALL.iter().map(|op| op.name()));
    let seldom: Vec<_> = table.clone().filter(|n| counts.get(n).is_none_or(|c| *c < 20)).collect();
    let never: Vec<_> = scalar.filter(|n| !counts.contains_key(n)).collect();
    let mut all: Vec<_> = table.map(|n| (counts.get(n).copied().unwrap_or(0), n)).collect();
    all.sort_unstable();
    println!("{all:?}");
    assert!(seldom.is_empty() && never.is_empty(), "seldom: {seldom:?}, never: {never:?}");
}

#[test]
fn operators_that_are_to_be_avoided_do_not_occur() {
    let avoid = vec!["while", "concat", "sort", "expand"];
    let counts = count(300, &Config { avoid: avoid.clone(), ..Config::nested() });
    assert!(avoid.iter().all(|n| !counts.contains_key(n)), "{counts:?}");
    assert!(["tab", "seq", "mkseq", "guard"].iter().all(|n| !counts.contains_key(n)), "{counts:?}");
}
