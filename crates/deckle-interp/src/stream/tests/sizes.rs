//! Sizes in the types of sequences: the errors that the interpreter finds are found element by element.

use super::*;
use crate::run;
use crate::testing::{function, program};
use deckle_diag::Code;
use deckle_ir::array::{Coll, Function};

fn row(n: usize) -> Value {
    crate::testing::ints(&vec![7; n])
}

/// A sequence of rows of these lengths.
fn seq(lengths: &[usize]) -> Value {
    Value::seq(lengths.iter().map(|n| row(*n)).collect())
}

/// The interpreter, the streaming machine with materialised arguments and that with sources end with the same code.
#[track_caller]
fn fails(program: &Program, args: &[Value], code: Code) {
    let options = Options::default();
    let expected = run(program, main(program), args, &options).map(|o| o.value);
    let streamed = run_streaming(program, main(program), whole(args), None, &options);
    let (from_sources, _) = from_sources(program, main(program), args, &options);
    for (what, found) in [("run", expected.err()), ("streamed", streamed.err()), ("from sources", from_sources.err())] {
        assert_eq!(found.map(|e| e.code), Some(code), "{what}\n{program}");
    }
}

/// `{ length(r) : r in s }`.
fn lengths(b: &mut Builder<'_>, s: Var) -> Var {
    b.op1(Op::Map, &[s], |b, q| b.op(Op::Length, q))
}

fn two_lengths(b: &mut Builder<'_>, p: &[Var]) -> Var {
    let (s, t) = (lengths(b, p[0]), lengths(b, p[1]));
    b.op(Op::Append, &[s, t])
}

/// A function called by one whose sequences have rows of any lengths.
fn called(params: &[&str], f: impl FnOnce(&mut Builder<'_>, &[Var]) -> Var) -> Program {
    let callee = function(&[], "callee", params, f);
    let funcs = [callee.clone()];
    let jagged: Vec<String> = (0..params.len()).map(|i| format!("{{i0 -> [i64; n{i}(i0)]}}")).collect();
    let jagged: Vec<&str> = jagged.iter().map(String::as_str).collect();
    let main = function(&funcs, "main", &jagged, |b, p| b.op(Op::Call(Func(0)), p));
    Program { funcs: vec![callee, main] }
}

const SAME: [&str; 2] = ["{[i64; n0]}", "{[i64; n0]}"];

#[test]
fn rows_of_one_sequence() {
    for p in [program(&SAME[..1], |b, p| lengths(b, p[0])), called(&SAME[..1], |b, p| lengths(b, p[0]))] {
        flows(&p, &[seq(&[2, 2, 2])]);
        flows(&p, &[seq(&[])]);
        fails(&p, &[seq(&[2, 2, 3])], Code::NotRegular);
    }
}

#[test]
fn rows_of_two_sequences() {
    for p in [program(&SAME, two_lengths), called(&SAME, two_lengths)] {
        flows(&p, &[seq(&[2, 2]), seq(&[2])]);
        flows(&p, &[seq(&[]), seq(&[3, 3])]);
        fails(&p, &[seq(&[2]), seq(&[3])], Code::SizeCheck);
        fails(&p, &[seq(&[2, 2]), seq(&[2, 3])], Code::SizeCheck);
        fails(&p, &[seq(&[2, 3]), seq(&[2])], Code::NotRegular);
        fails(&p, &[seq(&[]), seq(&[2, 3])], Code::NotRegular);
    }
}

#[test]
fn sizes_that_other_parameters_give() {
    let p = program(&["[i64; n0]", "{[i64; n0]}"], |b, p| lengths(b, p[1]));
    flows(&p, &[row(3), seq(&[3, 3])]);
    fails(&p, &[row(2), seq(&[3])], Code::SizeCheck);
    // The vector is available before an element of the sequence shows whether it is correct.
    let p = program(&["{[i64; n0]}", "[i64; n1]", "[i64; n0 + n1]"], |b, p| lengths(b, p[0]));
    flows(&p, &[seq(&[3, 3]), row(2), row(5)]);
    flows(&p, &[seq(&[]), row(2), row(2)]);
    fails(&p, &[seq(&[3]), row(2), row(4)], Code::SizeCheck);
    fails(&p, &[seq(&[]), row(2), row(4)], Code::SizeCheck);
    let p = program(&["{[i64; n0 + 1]}", "[i64; n0]"], |b, p| lengths(b, p[0]));
    flows(&p, &[seq(&[3, 3]), row(2)]);
    fails(&p, &[seq(&[3]), row(3)], Code::SizeCheck);
    fails(&p, &[seq(&[0]), row(0)], Code::SizeCheck);
}

#[test]
fn rows_at_the_same_positions() {
    let p = program(&["{i0 -> [i64; n0(i0)]}", "{i0 -> [i64; n0(i0)]}"], two_lengths);
    flows(&p, &[seq(&[1, 2, 3]), seq(&[1, 2])]);
    fails(&p, &[seq(&[1, 2, 3]), seq(&[1, 2, 2])], Code::SizeCheck);
    let p = program(&["{i0 -> ([i64; n0(i0)], [i64; n0(i0)])}"], |b, p| b.op(Op::Length, p));
    let pairs =
        |v: &[(usize, usize)]| Value::seq(v.iter().map(|(n, m)| crate::testing::tuple(&[row(*n), row(*m)])).collect());
    flows(&p, &[pairs(&[(1, 1), (4, 4)])]);
    fails(&p, &[pairs(&[(1, 1), (4, 3)])], Code::SizeCheck);
}

#[test]
fn rows_of_inner_sequences() {
    let p = program(&["{{[i64; n0]}}"], |b, p| b.op1(Op::Map, p, |b, q| lengths(b, q[0])));
    flows(&p, &[Value::seq(vec![seq(&[2, 2]), seq(&[]), seq(&[2])])]);
    fails(&p, &[Value::seq(vec![seq(&[2, 2]), seq(&[3])])], Code::NotRegular);
    // The element of a sequence is the argument of a function.
    let callee = function(&[], "callee", &SAME[..1], |b, p| lengths(b, p[0]));
    let funcs = [callee.clone()];
    let main = function(&funcs, "main", &["{i0 -> {i1 -> [i64; n0(i0, i1)]}}"], |b, p| {
        b.op1(Op::Map, p, |b, q| b.op(Op::Call(Func(0)), q))
    });
    let p = Program { funcs: vec![callee, main] };
    flows(&p, &[Value::seq(vec![seq(&[2, 2]), seq(&[]), seq(&[3])])]);
    fails(&p, &[Value::seq(vec![seq(&[2, 2]), seq(&[3, 2])])], Code::NotRegular);
}

/// `ensure` of a sequence, with the size of a parameter.
fn ensured(b: &mut Builder<'_>, v: Var, ty: &str) -> Var {
    let ty = b.typed(ty);
    b.op(Op::Ensure(ty), &[v])
}

#[test]
fn sequences_that_are_ensured() {
    let p = program(&["[i64; n0]", "{i64}"], |b, p| {
        let rows = b.op1(Op::Map, &p[1..], |b, q| b.op(Op::Iota(Coll::Array), q));
        let rows = ensured(b, rows, "{[i64; n0]}");
        lengths(b, rows)
    });
    flows(&p, &[row(2), ints(&[2, 2])]);
    fails(&p, &[row(2), ints(&[2, 3])], Code::SizeCheck);
}

#[test]
fn vectors_that_are_ensured_to_be_as_long_as_rows() {
    let p = program(&["i64", "{[i64; n0]}"], |b, p| {
        let v = b.op(Op::Iota(Coll::Array), &p[..1]);
        let v = ensured(b, v, "[i64; n0]");
        let n = b.op(Op::Length, &[v]);
        let s = lengths(b, p[1]);
        b.op(Op::Tuple, &[n, s])
    });
    flows(&p, &[Value::int(2), seq(&[2, 2])]);
    flows(&p, &[Value::int(0), seq(&[])]);
    fails(&p, &[Value::int(3), seq(&[2, 2])], Code::SizeCheck);
    fails(&p, &[Value::int(3), seq(&[])], Code::SizeCheck);
    // In a body for each element of another sequence.
    let p = program(&["{i64}", "{[i64; n0]}"], |b, p| {
        let s = b.op1(Op::Map, &p[..1], |b, q| {
            let v = b.op(Op::Iota(Coll::Array), q);
            let v = ensured(b, v, "[i64; n0]");
            b.op(Op::Length, &[v])
        });
        let t = lengths(b, p[1]);
        b.op(Op::Append, &[s, t])
    });
    flows(&p, &[ints(&[2, 2]), seq(&[2])]);
    fails(&p, &[ints(&[2, 3]), seq(&[2])], Code::SizeCheck);
    // In a body for each element of a vector.
    let p = program(&["[i64; n0]", "{[i64; n1]}"], |b, p| {
        let s = b.op1(Op::Map, &p[..1], |b, q| {
            let v = b.op(Op::Iota(Coll::Array), q);
            let v = ensured(b, v, "[i64; n1]");
            b.op(Op::Length, &[v])
        });
        let t = lengths(b, p[1]);
        b.op(Op::Tuple, &[s, t])
    });
    flows(&p, &[crate::testing::ints(&[2, 2]), seq(&[2])]);
    fails(&p, &[crate::testing::ints(&[2, 3]), seq(&[2])], Code::SizeCheck);
}

#[test]
fn sizes_that_the_caller_gives() {
    let callee = |funcs: &[Function]| function(funcs, "callee", &SAME, two_lengths);
    let funcs = [callee(&[])];
    // No row of the first argument determines the length, but its type does.
    let main = function(&funcs, "main", &["[i64; n0]", "{[i64; n0]}", "{i0 -> [i64; n1(i0)]}"], |b, p| {
        b.op(Op::Call(Func(0)), &p[1..])
    });
    let p = Program { funcs: vec![callee(&[]), main] };
    flows(&p, &[row(2), seq(&[]), seq(&[2])]);
    fails(&p, &[row(2), seq(&[]), seq(&[3])], Code::SizeCheck);
}

#[test]
fn elements_before_the_wrong_one_are_handed_over() {
    let p = program(&SAME[..1], |b, p| lengths(b, p[0]));
    let (outcome, seen) = from_sources(&p, main(&p), &[seq(&[2, 2, 3, 2])], &Options::default());
    assert_eq!(outcome.unwrap_err().code, Code::NotRegular);
    assert!(seen.starts_with(&[Value::int(2), Value::int(2)]), "{seen:?}");
}
