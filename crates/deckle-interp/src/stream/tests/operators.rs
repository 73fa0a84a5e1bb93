//! Each operator on sequences, alone and inside others.

use super::*;
use crate::testing::{bools, program, rows as matrix, seq, tuple};
use deckle_diag::Code;
use deckle_ir::array::Coll;

/// The code of the error of a failing program.
#[track_caller]
fn fails(program: &Program, args: &[Value]) -> Code {
    run_streaming(program, main(program), whole(args), None, &Options::default()).unwrap_err().code
}

#[test]
fn sources() {
    let p = program(&["i64"], |b, p| b.op(Op::Iota(Coll::Seq), p));
    flows(&p, &[Value::int(3)]);
    flows(&p, &[Value::int(0)]);
    assert_eq!(fails(&p, &[Value::int(-1)]), Code::BadSize);
    never_sticks(&p);
    let p = program(&["i64", "i64", "i64"], |b, p| b.op(Op::Range(Coll::Seq, true), p));
    flows(&p, &[1, 7, 3].map(Value::int));
    never_sticks(&p);
    let p = program(&["[[i64; n1]; n0]"], |b, p| b.op(Op::Seq, p));
    flows(&p, &[matrix(&[&[1, 2], &[3, 4]])]);
    never_sticks(&p);
    let p = program(&["[i64; n0]", "i64"], |b, p| b.op(Op::Tiles(1), p));
    flows(&p, &[crate::testing::ints(&[1, 2, 3]), Value::int(2)]);
    never_sticks(&p);
    let p = program(&["i64"], |b, p| b.op1(Op::Produce, p, |b, q| b.op(Op::Iota(Coll::Seq), q)));
    flows(&p, &[Value::int(4)]);
    assert_eq!(fails(&p, &[Value::int(-1)]), Code::BadSize);
    never_sticks(&p);
}

#[test]
fn sinks() {
    let ops = [Op::Reduce(Monoid::Sum), Op::Length, Op::Tab, Op::Empty, Op::Reduce(Monoid::Max)];
    for op in ops {
        let p = program(&["{i64}"], |b, p| b.op(op.clone(), p));
        flows(&p, &[ints(&[4, 5])]);
        never_sticks(&p);
        let p = program(&["{{i64}}"], |b, p| b.op1(Op::Map, p, |b, q| b.op(op.clone(), q)));
        flows(&p, &[rows(&[&[1, 2], &[3]])]);
        never_sticks(&p);
    }
    let p = program(&["{i64}"], |b, p| b.op(Op::Reduce(Monoid::Max), p));
    assert_eq!(fails(&p, &[ints(&[])]), Code::Empty);
    let p = program(&["i64", "{i64}"], |b, p| b.op1(Op::Fold, p, |b, q| b.bin(BinOp::Sub, q[0], q[1])));
    flows(&p, &[Value::int(9), ints(&[1, 2])]);
    let p = program(&["{i64}"], |b, p| b.op1(Op::Fold1, p, |b, q| b.bin(BinOp::Sub, q[0], q[1])));
    flows(&p, &[ints(&[1, 2, 3])]);
    assert_eq!(fails(&p, &[ints(&[])]), Code::Empty);
    let p = program(&["[i64; n0]", "i64"], |b, p| {
        let tiles = b.op(Op::Tiles(1), p);
        b.op(Op::Tabulate(1), &[tiles])
    });
    flows(&p, &[crate::testing::ints(&[1, 2, 3]), Value::int(2)]);
    // The number of inner sequences does not need them.
    let p = program(&["{{i64}}"], |b, p| b.op(Op::Length, p));
    flows(&p, &[rows(&[&[1, 2], &[3]])]);
    never_sticks(&p);
}

#[test]
fn zips_and_unzips() {
    let p = program(&["{i64}", "{{i64}}"], |b, p| {
        let z = b.op(Op::Zip, p);
        b.op(Op::Unzip, &[z])
    });
    flows(&p, &[ints(&[1, 2]), rows(&[&[], &[3, 4]])]);
    assert_eq!(fails(&p, &[ints(&[1]), rows(&[])]), Code::LengthMismatch);
    never_sticks(&p);
    let p = program(&["{(i64, bool)}"], |b, p| b.op(Op::Unzip, p));
    flows(&p, &[Value::seq(vec![tuple(&[Value::int(1), Value::bool(true)])])]);
    never_sticks(&p);
    let p = program(&["{()}"], |b, p| b.op(Op::Unzip, p));
    flows(&p, &[Value::seq(vec![tuple(&[]), tuple(&[])])]);
    never_sticks(&p);
}

#[test]
fn flattening_and_cutting() {
    let p = program(&["{{{i64}}}"], |b, p| {
        let once = b.op(Op::Flatten, p);
        let twice = b.op(Op::Flatten, &[once]);
        b.op(Op::Tuple, &[once, twice])
    });
    flows(&p, &[Value::seq(vec![rows(&[&[1], &[]]), rows(&[]), rows(&[&[2, 3]])])]);
    never_sticks(&p);
    let p = program(&["{i64}", "{bool}"], |b, p| b.op(Op::FlagPart, p));
    let cut = |xs: &[i64], flags: &str| [ints(xs), seq(&bools(flags))];
    flows(&p, &cut(&[3, 1, 4, 1, 5, 9], "FFFTTFTFFT"));
    flows(&p, &cut(&[], ""));
    for (xs, flags) in [(&[1, 2][..], "FFTFT"), (&[1, 2], "FT"), (&[1, 2], "FTF"), (&[1], "")] {
        assert_eq!(fails(&p, &cut(xs, flags)), Code::BadSegments);
    }
    never_sticks(&p);
    let p = program(&["{{i64}}", "{bool}"], |b, p| {
        let parts = b.op(Op::FlagPart, p);
        b.op1(Op::Map, &[parts], |b, q| {
            let flat = b.op(Op::Flatten, q);
            sum(b, flat)
        })
    });
    flows(&p, &[rows(&[&[1, 2], &[3], &[4]]), seq(&bools("FFTTFT"))]);
    never_sticks(&p);
}

#[test]
fn the_only_element() {
    let p = program(&["{i64}"], |b, p| b.op(Op::The, p));
    flows(&p, &[ints(&[4])]);
    assert_eq!(fails(&p, &[ints(&[4, 5])]), Code::NotSingleton);
    let p = program(&["{({i64}, i64)}"], |b, p| b.op(Op::The, p));
    let pair = tuple(&[ints(&[1, 2]), Value::int(3)]);
    flows(&p, &[Value::seq(vec![pair.clone()])]);
    assert_eq!(fails(&p, &[Value::seq(vec![pair.clone(), pair.clone()])]), Code::NotSingleton);
    assert_eq!(fails(&p, &[Value::seq(vec![])]), Code::NotSingleton);
    never_sticks(&p);
    // At the end it is known to be the only one, and so is the number in it.
    let p = program(&["{({i64}, i64)}"], |b, p| {
        let t = b.op(Op::The, p);
        let s = b.op(Op::Proj(0), &[t]);
        let x = b.op(Op::Proj(1), &[t]);
        plus(b, s, x)
    });
    sticks(&p, &[Value::seq(vec![pair])]);
    may_stick(&p);
}

#[test]
fn scans() {
    for kind in [ScanKind::Inclusive, ScanKind::Exclusive, ScanKind::Full] {
        let p = program(&["{i64}"], |b, p| sums(b, p[0], kind));
        flows(&p, &[ints(&[1, 2, 3])]);
        flows(&p, &[ints(&[])]);
        never_sticks(&p);
    }
    // An exclusive scan does not combine the last element, so that it may be anything.
    let p = program(&["i64", "{i64}"], |b, p| {
        let left = deckle_ir::array::Direction::Left;
        b.op1(Op::Scan(left, ScanKind::Exclusive), p, |b, q| b.bin(BinOp::Div, q[0], q[1]))
    });
    flows(&p, &[Value::int(100), ints(&[5, 2, 0])]);
}
