//! What programs of kernels become.

use deckle::prelude::*;
use deckle_engine::{Native, Options, pipeline};
use deckle_ir::array::BinOp;
use deckle_ir::entity::Func;
use deckle_ir::kernel::{Op, ROOT, Sink, Step};

#[kernel]
fn times_four(x: i64) -> i64 {
    x * 4
}

#[kernel]
fn squared(x: i64) -> i64 {
    x * x
}

/// The example `map2` of the paper on native offload, where indices of two dimensions and of memory met with two divisions and two remainders for each element.
#[test]
fn two_maps_of_a_matrix_are_a_load_two_products_and_a_store() {
    let map2 = compile(|a: Arr<i64, D2>| a.map(times_four::kernel).map(squared::kernel)).unwrap();
    let native = Native::compile(map2.program(), Func(0), Options::default()).unwrap();
    let program = native.program();
    let at_points = program.nodes.iter().filter(|n| n.space != ROOT);
    let (mut loads, mut products, mut divisions) = (0, 0, 0);
    for node in at_points {
        match node.op {
            Op::Load(..) => loads += 1,
            // Of elements: the index has one by the width, which is the same for a row.
            Op::Binary(BinOp::Mul, a, b) => products += usize::from(![a, b].iter().any(|x| is_index(program, *x))),
            Op::Binary(BinOp::Div | BinOp::Rem, ..) => divisions += 1,
            _ => {}
        }
    }
    let sinks: Vec<&Sink> = program
        .steps
        .iter()
        .filter_map(|s| if let Step::Run(kernel) = s { Some(&kernel.sinks) } else { None })
        .flatten()
        .collect();
    assert!(matches!(sinks[..], [Sink::Write { .. }]), "{program}");
    assert_eq!((loads, products, divisions), (1, 2, 0), "{program}");
    for target in [pipeline::Target::Cpu, pipeline::Target::Gpu] {
        let loops =
            pipeline::show(map2.program(), Func(0), Options::default(), (pipeline::Stage::Loop, target)).unwrap();
        assert!(!loops.contains("rem(") && !loops.contains("div("), "{loops}");
    }
}

/// Whether a node is a position.
fn is_index(program: &deckle_ir::kernel::Program, n: deckle_ir::kernel::Node) -> bool {
    matches!(program.node(n).op, Op::Pos)
}
