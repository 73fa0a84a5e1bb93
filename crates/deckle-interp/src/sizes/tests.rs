//! Programs whose types are intricate: every run here compares all values with the sizes of their types.

use crate::testing::{Build, function, ints, program, rows, seq, tuple, value};
use deckle_ir::array::{BinOp, Coll, Direction, Monoid, Op, Program, ScanKind, Slicer, SplitBy};
use deckle_ir::entity::Func;
use deckle_ir::value::Value;

const JAGGED: &str = "[i0 -> [i64; n1(i0)]; n0]";

fn jagged() -> Value {
    rows(&[&[1, 2], &[], &[3, 4, 5]])
}

#[test]
fn parts_of_jagged_arrays() {
    let p = program(&[JAGGED, "i64"], |b, p| {
        let d = b.op(Op::Drop, p);
        let t = b.op(Op::Take, p);
        let one = b.int(1);
        let three = b.int(3);
        let s = b.op(Op::Slice(vec![Slicer::Range]), &[p[0], one, three]);
        let r = b.op(Op::Reverse(0), &[s]);
        b.op(Op::Tuple, &[d, t, s, r])
    });
    let expected = [rows(&[&[], &[3, 4, 5]]), rows(&[&[1, 2]]), rows(&[&[], &[3, 4, 5]]), rows(&[&[3, 4, 5], &[]])];
    assert_eq!(value(&p, &[jagged(), Value::int(1)]), tuple(&expected));
}

#[test]
fn cutting_undoes_flattening() {
    let p = program(&[JAGGED], |b, p| {
        let flat = b.op(Op::Flatten, p);
        let lengths = b.op1(Op::Map, p, |b, q| b.op(Op::Length, q));
        let zero = b.int(0);
        let offsets =
            b.op1(Op::Scan(Direction::Left, ScanKind::Full), &[zero, lengths], |b, q| b.bin(BinOp::Add, q[0], q[1]));
        let by_lengths = b.op(Op::Split(SplitBy::Lengths), &[flat, lengths]);
        let by_offsets = b.op(Op::Split(SplitBy::Offsets), &[flat, offsets]);
        let again = b.op(Op::Flatten, &[by_offsets]);
        b.op(Op::Tuple, &[by_lengths, by_offsets, again])
    });
    assert_eq!(value(&p, &[jagged()]), tuple(&[jagged(), jagged(), ints(&[1, 2, 3, 4, 5])]));
}

#[test]
fn bodies_that_bind_sizes_of_their_own() {
    let p = program(&[JAGGED, "i64"], |b, p| {
        let kept = b.op1(Op::Map, &[p[0]], |b, q| b.op1(Op::Filter, q, |b, r| b.bin(BinOp::Gt, r[0], p[1])));
        let sizes = b.op1(Op::Map, &[kept, p[0]], |b, q| {
            let both = b.op(Op::Concat(0), q);
            b.op(Op::Length, &[both])
        });
        b.op(Op::Tuple, &[kept, sizes])
    });
    assert_eq!(value(&p, &[jagged(), Value::int(3)]), tuple(&[rows(&[&[], &[], &[4, 5]]), ints(&[2, 0, 5])]));
}

#[test]
fn folding_and_scanning_rows() {
    let p = program(&[JAGGED], |b, p| {
        let longest = b.op1(Op::Fold1, p, |b, q| b.op(Op::Concat(0), q));
        let prefixes = b.op1(Op::Scan(Direction::Left, ScanKind::Inclusive), p, |b, q| b.op(Op::Concat(0), q));
        b.op(Op::Tuple, &[longest, prefixes])
    });
    let prefixes = rows(&[&[1, 2], &[1, 2], &[1, 2, 3, 4, 5]]);
    assert_eq!(value(&p, &[jagged()]), tuple(&[ints(&[1, 2, 3, 4, 5]), prefixes]));
}

#[test]
fn groups_and_their_members() {
    let p = program(&[JAGGED], |b, p| {
        let groups = b.op1(Op::GroupBy, p, |b, q| {
            let n = b.op(Op::Length, q);
            let two = b.int(2);
            b.bin(BinOp::Ge, n, two)
        });
        b.op1(Op::Map, &[groups], |b, q| {
            let members = b.op(Op::Proj(1), q);
            b.op(Op::Flatten, &[members])
        })
    });
    assert_eq!(value(&p, &[jagged()]), rows(&[&[], &[1, 2, 3, 4, 5]]));
}

#[test]
fn branches_inside_maps() {
    let p = program(&["[i64; n0]"], |b, p| {
        let rows = b.op1(Op::Map, p, |b, q| {
            let zero = b.int(0);
            let c = b.bin(BinOp::Gt, q[0], zero);
            b.op2(
                Op::If,
                &[c],
                |b, _| b.op(Op::Iota(Coll::Array), q),
                |b, _| b.op(Op::Array(deckle_ir::types::Type::INT), &[q[0], q[0]]),
            )
        });
        let sums = b.op1(Op::Map, &[rows], |b, q| b.op(Op::Reduce(Monoid::Sum), q));
        b.op(Op::Tuple, &[rows, sums])
    });
    assert_eq!(value(&p, &[ints(&[3, -1])]), tuple(&[rows(&[&[0, 1, 2], &[-1, -1]]), ints(&[3, -2])]));
}

#[test]
fn sequences_of_arrays() {
    let p = program(&[JAGGED, "{bool}"], |b, p| {
        let s = b.op(Op::Seq, &[p[0]]);
        let parts = b.op(Op::FlagPart, &[s, p[1]]);
        let tables = b.op1(Op::Map, &[parts], |b, q| {
            let t = b.op(Op::Tab, q);
            b.op(Op::Flatten, &[t])
        });
        b.op(Op::Tab, &[tables])
    });
    let flags = [false, true, false, false, true].map(Value::bool).to_vec();
    assert_eq!(value(&p, &[jagged(), Value::seq(flags)]), rows(&[&[1, 2], &[3, 4, 5]]));
    let p = program(&[JAGGED], |b, p| {
        let s = b.op(Op::Seq, p);
        let t = b.op(Op::Seq, p);
        let both = b.op(Op::Append, &[s, t]);
        b.op1(Op::Map, &[both], |b, q| b.op(Op::Length, q))
    });
    assert_eq!(value(&p, &[jagged()]), seq(&ints(&[2, 0, 3, 2, 0, 3])));
}

#[test]
fn columns_of_tuples_with_arrays() {
    let p = program(&[JAGGED, "[i64; n0]"], |b, p| {
        let z = b.op(Op::Zip, p);
        let sorted = b.op1(Op::SortBy, &[z], |b, q| b.op(Op::Proj(1), q));
        let columns = b.op(Op::Unzip, &[sorted]);
        let arrays = b.op(Op::Proj(0), &[columns]);
        let (yes, no) = {
            let both = b.op1(Op::Partition, &[arrays], |b, q| {
                let n = b.op(Op::Length, q);
                let zero = b.int(0);
                b.bin(BinOp::Gt, n, zero)
            });
            (b.op(Op::Proj(0), &[both]), b.op(Op::Proj(1), &[both]))
        };
        b.op(Op::Concat(0), &[yes, no])
    });
    assert_eq!(value(&p, &[jagged(), ints(&[9, 8, 7])]), rows(&[&[3, 4, 5], &[1, 2], &[]]));
}

#[test]
fn sizes_that_a_callee_computes() {
    let positive = function(&[], "positive", &["[i64; n0]"], |b, p| {
        let kept = b.op1(Op::Filter, p, |b, q| {
            let zero = b.int(0);
            b.bin(BinOp::Gt, q[0], zero)
        });
        b.op(Op::Tuple, &[kept, p[0]])
    });
    let funcs = [positive.clone()];
    let main = function(&funcs, "main", &[JAGGED], |b, p| {
        b.op1(Op::Map, p, |b, q| {
            let both = b.op(Op::Call(Func(0)), q);
            let kept = b.op(Op::Proj(0), &[both]);
            let all = b.op(Op::Proj(1), &[both]);
            b.op(Op::Concat(0), &[kept, all])
        })
    });
    let p = Program { funcs: vec![positive, main] };
    assert_eq!(value(&p, &[rows(&[&[1, -2], &[]])]), rows(&[&[1, 1, -2], &[]]));
}

#[test]
fn expanding_into_rows() {
    let p = program(&[JAGGED], |b, p| {
        b.op2(
            Op::Expand,
            p,
            |b, q| b.op(Op::Length, q),
            |b, q| {
                let one = b.int(1);
                let n = b.bin(BinOp::Add, q[1], one);
                b.op(Op::Take, &[q[0], n])
            },
        )
    });
    assert_eq!(value(&p, &[jagged()]), rows(&[&[1], &[1, 2], &[3], &[3, 4], &[3, 4, 5]]));
}
