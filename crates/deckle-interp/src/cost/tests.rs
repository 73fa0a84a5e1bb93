//! Costs computed by hand from the rules, compared with the meter.

use super::*;
use crate::testing::{self, Build, bools, function, ints, program, rows, seq, value};
use deckle_ir::array::{BinOp, Builder, Coll, Direction, Monoid, Program, ScanKind, UnOp};
use deckle_ir::entity::Var;
use deckle_ir::scalar::ScalarType;

fn log_sum(b: &mut Builder<'_>, n: Var) -> Var {
    let s = b.op(Op::Iota(Coll::Seq), &[n]);
    let m = b.op1(Op::Map, &[s], |b, p| {
        let r = b.op(Op::Cast(ScalarType::F64), &[p[0]]);
        b.op(Op::Unary(UnOp::Log), &[r])
    });
    b.op(Op::Reduce(Monoid::Sum), &[m])
}

#[test]
fn the_log_sum() {
    // n = 3. iota: ‖s‖ = (2, 6), cost (6, 1; 2, 6).
    // Body: two unit operations, let r in log(r): (2, 2; max(1, 1+1)) = (2, 2; 2, 2).
    // Map: (0 + 3·2, 0 + 2; 1 + (1+2), 1 + 3·(1+2)) = (6, 2; 4, 10), ‖m‖ = (2, 6). Sum: (3, 1; 1, 1).
    // Space from the end: 1; max((4, 10), (2, 6) + 1) = (4, 10); max((2, 6), (2, 6) + (4, 10)) = (6, 16).
    let p = program(&["i64"], |b, p| log_sum(b, p[0]));
    assert_eq!(testing::cost(&p, &[Value::int(3)]), [15, 4, 6, 16]);
    // n = 0: iota (0, 1; 0, 0), map (0, 0; 1, 1), sum (0, 1; 1, 1).
    assert_eq!(testing::cost(&p, &[Value::int(0)]), [0, 2, 1, 1]);
    assert_eq!(value(&p, &[Value::int(0)]), Value::real(0.0));
}

#[test]
fn a_sum_of_log_sums() {
    // ks = [2, 1]. seq: (4, 1; 2, 4).
    // k = 2: iota (4, 1; 2, 4), map (4, 2; 4, 7), sum (2, 1; 1, 1): (10, 4; (2, 4) + (4, 7)) = (10, 4; 6, 11).
    // k = 1: iota (2, 1; 2, 2), map (2, 2; 4, 4), sum (1, 1; 1, 1): (5, 4; (2, 2) + (4, 4)) = (5, 4; 6, 6).
    // Outer map: (15, 4; 1 + (1+6), 1 + (1+11) + (1+6)) = (15, 4; 8, 20). Sum: (2, 1; 1, 1).
    // Total: W 4+15+2, D 1+4+1, space (2, 4) + (8, 20).
    let p = program(&["[i64; n0]"], |b, p| {
        let ks = b.op(Op::Seq, &[p[0]]);
        let sums = b.op1(Op::Map, &[ks], |b, p| log_sum(b, p[0]));
        b.op(Op::Reduce(Monoid::Sum), &[sums])
    });
    assert_eq!(testing::cost(&p, &[ints(&[2, 1])]), [21, 6, 10, 24]);
}

fn positives() -> Program {
    program(&["[i64; n0]"], |b, p| {
        let xs = b.op(Op::Seq, &[p[0]]);
        let parts = b.op1(Op::Map, &[xs], |b, p| {
            let z = b.int(0);
            let c = b.bin(BinOp::Gt, p[0], z);
            b.op1(Op::Guard, &[c], |_, _| p[0])
        });
        b.op(Op::Flatten, &[parts])
    })
}

#[test]
fn a_guarded_comprehension() {
    // concat({ {x | x > 0} : x in {5, -1} }), seq: (4, 1; 2, 4).
    // The guard uses x: aux = 1. True: (1+0, 1+0; 1+1+1) = (1, 1; 3, 3). False: (1, 1; 1, 1).
    // Body at 5: (3, 3; 1+1+3) = (3, 3; 5, 5); at -1: (3, 3; 1+1+1) = (3, 3; 3, 3).
    // Map: (6, 3; 1 + (1+5), 1 + (1+5) + (1+3)) = (6, 3; 7, 11); ‖{{5}, {}}‖ = (3, 3+1).
    // Concat: W is the length 2: (2, 1; 2, 2). Space: (2, 2); max((7, 11), (3, 4) + (2, 2)) = (7, 11); + (2, 4).
    let p = positives();
    assert_eq!(testing::cost(&p, &[ints(&[5, -1])]), [12, 5, 9, 15]);
    assert_eq!(value(&p, &[ints(&[5, -1])]), seq(&ints(&[5])));
}

#[test]
fn a_conditional_is_two_guards() {
    // let n = not c in let s = {x+x | c} in let t = {x | n} in let u = s ++ t in the(u); aux is 1 in both.
    // True: n (1, 1; 1), s (2, 2; 3) of size 2, t (1, 1; 1) of size 0, u (2, 1; 2) of size 2, the (0, 1; 1).
    // Space: 1; 2+1 = 3; max(1, 0+3) = 3; max(3, 2+3) = 5; 1+5 = 6.
    // False: s (1, 1; 1) of size 0, t (1, 1; 3) of size 2: work 5, depth 5, space 1; 3; max(3, 2+3); max(1, 0+5); 1+5.
    let p = program(&["bool", "i64"], |b, p| b.op2(Op::If, &[p[0]], |b, _| b.bin(BinOp::Add, p[1], p[1]), |_, _| p[1]));
    assert_eq!(testing::cost(&p, &[Value::bool(true), Value::int(1)]), [6, 6, 6, 6]);
    assert_eq!(testing::cost(&p, &[Value::bool(false), Value::int(1)]), [5, 5, 6, 6]);
}

#[test]
fn a_vector_used_in_a_comprehension_is_a_pointer() {
    // sum({xs!i : i in iota(3)}): aux = 1. iota (6, 1; 2, 6), body (1, 1; 1, 1).
    // Map: ((3+1)·1 + 3, 1 + 1; 1 + 1 + (1+1), 1 + 3·1 + 3·(1+1)) = (7, 2; 4, 10). Sum: (3, 1; 1, 1).
    let p = program(&["[i64; n0]", "i64"], |b, p| {
        let s = b.op(Op::Iota(Coll::Seq), &[p[1]]);
        let m = b.op1(Op::Map, &[s], |b, q| b.op(Op::Index, &[p[0], q[0]]));
        b.op(Op::Reduce(Monoid::Sum), &[m])
    });
    assert_eq!(testing::cost(&p, &[ints(&[1, 2, 3, 4, 5]), Value::int(3)]), [16, 4, 6, 16]);
}

#[test]
fn flagpart_costs_its_result() {
    // ‖{{3,1,4}, {}, {1}, {5,9}}‖ = (max(2+1, 0+1), (6+1) + (0+1) + (2+1) + (4+1)) = (3, 16).
    let p = program(&["{i64}", "{bool}"], |b, p| b.op(Op::FlagPart, p));
    let args = [seq(&ints(&[3, 1, 4, 1, 5, 9])), seq(&bools("FFFTTFTFFT"))];
    assert_eq!(testing::cost(&p, &args), [16, 1, 3, 16]);
}

#[test]
fn concat_costs_its_length_in_sequences_and_its_result_in_vectors() {
    let s = program(&["{{i64}}"], |b, p| b.op(Op::Flatten, p));
    let arg = Value::seq(vec![seq(&ints(&[3, 1, 4])), seq(&ints(&[])), seq(&ints(&[1]))]);
    assert_eq!(testing::cost(&s, &[arg]), [3, 1, 2, 8]);
    let v = program(&["[i0 -> [i64; n1(i0)]; n0]"], |b, p| b.op(Op::Flatten, p));
    assert_eq!(testing::cost(&v, &[rows(&[&[1, 2], &[], &[3]])]), [4, 1, 4, 4]);
}

#[test]
fn scans_combine_in_logarithmic_depth() {
    // {3, 5, 4, 2} exclusive: ‖{0, 3, 8, 12}‖ = (2, 8), and + is a basic monoid: W 8, D 1.
    let p = program(&["{i64}", "i64"], |b, p| {
        b.op1(Op::Scan(Direction::Left, ScanKind::Exclusive), &[p[1], p[0]], |b, q| b.bin(BinOp::Add, q[0], q[1]))
    });
    let args = [seq(&ints(&[3, 5, 4, 2])), Value::int(0)];
    assert_eq!(testing::cost(&p, &args), [8, 1, 2, 8]);
    assert_eq!(value(&p, &args), seq(&ints(&[0, 3, 8, 12])));
    // The same with a body of two operators, (2, 2; 2, 2): three combinations, W 8 + 3·2, D 1 + ⌈log₂ 5⌉·2, M 2 + 2, N 8 + 3·2.
    let p = program(&["{i64}", "i64"], |b, p| {
        b.op1(Op::Scan(Direction::Left, ScanKind::Exclusive), &[p[1], p[0]], |b, q| {
            let sum = b.bin(BinOp::Add, q[0], q[1]);
            b.bin(BinOp::Max, sum, q[1])
        })
    });
    assert_eq!(testing::cost(&p, &args), [14, 7, 4, 14]);
}

#[test]
fn maps_over_vectors_hold_their_result() {
    // [x + 1 : x in [7, 8]]: body (2, 2; 2, 2), ‖result‖ = 3, no aux: (4, 2; 1 + 3 + 2, 1 + 3 + 2·2).
    let p = program(&["[i64; n0]"], |b, p| {
        b.op1(Op::Map, p, |b, q| {
            let one = b.int(1);
            b.bin(BinOp::Add, q[0], one)
        })
    });
    assert_eq!(testing::cost(&p, &[ints(&[7, 8])]), [4, 2, 6, 8]);
    // Two operands are zipped, D + 1: body (1, 1; 1, 1): (2, 1 + 1; 1 + 3 + 1, 1 + 3 + 2).
    let p = program(&["[i64; n0]"], |b, p| b.op1(Op::Map, &[p[0], p[0]], |b, q| b.bin(BinOp::Mul, q[0], q[1])));
    assert_eq!(testing::cost(&p, &[ints(&[7, 8])]), [2, 2, 5, 6]);
}

#[test]
fn filters_add_a_pass() {
    // x > y over [1, 5, 9] with y = 4 from outside: aux = 1, body (1, 1; 1, 1), ‖[5, 9]‖ = 3.
    // W (3+1)·1 + 3·1 + 3, D 1 + 1 + 1, M 1 + 1 + 3 + 1, N 1 + 3·1 + 3 + 3·1.
    let p = program(&["[i64; n0]", "i64"], |b, p| b.op1(Op::Filter, &[p[0]], |b, q| b.bin(BinOp::Gt, q[0], p[1])));
    assert_eq!(testing::cost(&p, &[ints(&[1, 5, 9]), Value::int(4)]), [10, 3, 6, 10]);
}

#[test]
fn sorting_by_a_key_makes_the_keys_first() {
    // [3, 1, 2] by -x: keys (3·1, 1; 1 + 4 + 1, 1 + 4 + 3) of size 4, then sort (3·2 + 4, 2 + 1; 4, 4).
    // Space: max((6, 8), 4 + 4) = (8, 8).
    let p = program(&["[i64; n0]"], |b, p| b.op1(Op::SortBy, p, |b, q| b.op(Op::Unary(UnOp::Neg), q)));
    assert_eq!(testing::cost(&p, &[ints(&[3, 1, 2])]), [13, 4, 8, 8]);
}

#[test]
fn expanding_counts_first() {
    // [2, 1] by x -> x, (x, i) -> i, all without statements: bodies (0, 0; 1, 1).
    // Counts: (0, 0; 1 + 3 + 1, 1 + 3 + 2) of size 3. Elements: ‖[0, 1, 0]‖ = 4: (0, 0; 1 + 4 + 1, 1 + 4 + 3).
    // Space: max((5, 6), 3 + (6, 8)) = (9, 11).
    let p = program(&["[i64; n0]"], |b, p| b.op2(Op::Expand, p, |_, q| q[0], |_, q| q[1]));
    assert_eq!(testing::cost(&p, &[ints(&[2, 1])]), [0, 0, 9, 11]);
    assert_eq!(value(&p, &[ints(&[2, 1])]), ints(&[0, 1, 0]));
}

#[test]
fn loops_add_up_their_steps() {
    // while s < 2 from 0: three tests and two steps, each (2, 2; 2, 2) plus a state of size 1.
    let p = program(&["i64"], |b, p| {
        b.op2(
            Op::While,
            p,
            |b, q| {
                let two = b.int(2);
                b.bin(BinOp::Lt, q[0], two)
            },
            |b, q| {
                let one = b.int(1);
                b.bin(BinOp::Add, q[0], one)
            },
        )
    });
    assert_eq!(testing::cost(&p, &[Value::int(0)]), [10, 10, 3, 3]);
    // for: the index is held in addition to the state. 4 steps of (1, 1; 1, 1): space 2 + 1.
    let p = program(&["i64"], |b, p| b.op1(Op::For, &[p[0], p[0]], |b, q| b.bin(BinOp::Add, q[0], q[1])));
    assert_eq!(testing::cost(&p, &[Value::int(4)]), [4, 4, 3, 3]);
}

#[test]
fn producing_is_a_comprehension_over_iota() {
    // n = 2: iota (4, 1; 2, 4); body i: (0, 0; 1, 1); map (0, 0; 1 + (1+1), 1 + 2·(1+1)); space (2, 4) + (3, 5).
    let p = program(&["i64"], |b, p| b.op1(Op::Produce, p, |_, q| q[0]));
    assert_eq!(testing::cost(&p, &[Value::int(2)]), [4, 1, 5, 9]);
}

#[test]
fn a_call_costs_its_body() {
    let callee = function(&[], "f", &["i64"], |b, p| log_sum(b, p[0]));
    let funcs = [callee.clone()];
    let caller = function(&funcs, "main", &["i64"], |b, p| b.op(Op::Call(deckle_ir::entity::Func(0)), p));
    let p = Program { funcs: vec![callee, caller] };
    assert_eq!(testing::cost(&p, &[Value::int(3)]), [15, 4, 6, 16]);
}

#[test]
fn permuting_costs_result_elements_and_combinations() {
    // A histogram of [1, 1, 0] into [0, 0] with ones: ‖result‖ = 3, W 3 + 3 + 3·1, D 1 + 1, M 3 + 1, N 3 + 3·1.
    let p = program(&["[i64; n0]", "[i64; n1]"], |b, p| {
        b.op1(Op::Permute, &[p[0], p[1], p[1]], |b, q| b.bin(BinOp::Add, q[0], q[1]))
    });
    assert_eq!(testing::cost(&p, &[ints(&[0, 0]), ints(&[1, 1, 0])]), [9, 2, 4, 6]);
}

#[test]
fn folds_hold_the_operands_of_an_application() {
    // fold over {3, 5, 4} with max(a + b, b), a body of (2, 2; 2, 2): W 3 + 3·2, D 1 + ⌈log₂ 4⌉·2, M 2 + 2, N 3·(2 + 2).
    let p = program(&["{i64}", "i64"], |b, p| {
        b.op1(Op::Fold, &[p[1], p[0]], |b, q| {
            let sum = b.bin(BinOp::Add, q[0], q[1]);
            b.bin(BinOp::Max, sum, q[1])
        })
    });
    assert_eq!(testing::cost(&p, &[seq(&ints(&[3, 5, 4])), Value::int(0)]), [9, 5, 4, 12]);
    // A basic monoid is a primitive: W 3, D 1, ‖result‖.
    let p = program(&["{i64}", "i64"], |b, p| b.op1(Op::Fold, &[p[1], p[0]], |b, q| b.bin(BinOp::Mul, q[0], q[1])));
    assert_eq!(testing::cost(&p, &[seq(&ints(&[3, 5, 4])), Value::int(1)]), [3, 1, 1, 1]);
}
