//! Arguments, limits, and rejected runs.

use crate::testing::{Build, HERE, failure, function, ints, program, reals, rows, seq, value};
use crate::{Options, run};
use deckle_diag::{Code, Diagnostic};
use deckle_ir::array::{BinOp, Builder, Coll, Monoid, Op, Program};
use deckle_ir::entity::{Func, Var};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn error(p: &Program, args: &[Value], options: &Options) -> Diagnostic {
    *run(p, Func(0), args, options).unwrap_err()
}

#[test]
fn arguments_must_be_of_their_types() {
    let p = program(&["[f64; n0]", "(i64, {bool})"], |_, p| p[0]);
    let pair = |s: Value| Value::tuple(vec![Value::int(1), s]);
    let none = seq(&ints(&[]));
    let cases = [
        (vec![reals(&[])], "`main` takes 2 arguments, but 1 are given"),
        (vec![ints(&[1]), pair(none.clone())], "argument `p0` has `i64` where `f64` is needed"),
        (vec![reals(&[1.0]), pair(ints(&[]))], "argument `p1` has an array where a sequence is needed"),
        (vec![Value::real(0.5), pair(none.clone())], "argument `p0` has `f64` where an array is needed"),
        (vec![reals(&[1.0]), Value::tuple(vec![none])], "argument `p1` has a tuple of 1 where a tuple of 2 is needed"),
    ];
    for (args, message) in cases {
        assert_eq!(failure(&p, &args, Code::BadArgument).message, message);
    }
    assert_eq!(*run(&p, Func(7), &[], &Options::default()).unwrap_err().code.info().id, *"D0901");
}

#[test]
fn sizes_of_parameters_are_bound_and_checked() {
    let p = program(&["[[f64; n1]; n0]", "[f64; n1]", "[i64; n0 + 1]"], |_, p| p[1]);
    let matrix = Value::array(vec![reals(&[1.0, 2.0])]);
    assert_eq!(value(&p, &[matrix.clone(), reals(&[3.0, 4.0]), ints(&[0, 2])]), reals(&[3.0, 4.0]));
    let e = failure(&p, &[matrix.clone(), reals(&[3.0]), ints(&[0, 2])], Code::SizeCheck);
    assert_eq!(e.message, "argument `p1` of `main` has 1 element, but its type says 2");
    let e = failure(&p, &[matrix, reals(&[3.0, 4.0]), ints(&[0])], Code::SizeCheck);
    assert_eq!(e.message, "argument `p2` of `main` has 1 element, but its type says 2");
    // For a matrix without rows, the vector determines their length.
    assert_eq!(value(&p, &[rows(&[]), reals(&[3.0, 4.0]), ints(&[0])]), reals(&[3.0, 4.0]));
}

#[test]
fn sizes_may_be_read_from_arguments() {
    let p = program(&["[i64; n0]", "[i0 -> [f64; v0[i0 + 1] - v0[i0]]; n0 - 1]"], |b, p| {
        b.op1(Op::Map, &[p[1]], |b, q| b.op(Op::Length, q))
    });
    let jagged = Value::array(vec![reals(&[1.0, 2.0]), reals(&[]), reals(&[3.0])]);
    assert_eq!(value(&p, &[ints(&[0, 2, 2, 3]), jagged.clone()]), ints(&[2, 0, 1]));
    let e = failure(&p, &[ints(&[0, 1, 2, 3]), jagged], Code::SizeCheck);
    assert_eq!(e.message, "argument `p1` of `main` at [0] has 2 elements, but its type says 1");
}

#[test]
fn a_size_that_the_type_did_not_promise_is_a_bug() {
    let mut p = program(&["i64"], |b, p| b.op(Op::Iota(Coll::Array), p));
    p.funcs[0].vars[1].ty = Type::array_of(3.into(), &Type::INT);
    let checking = Options { check_sizes: true, ..Options::default() };
    assert!(run(&p, Func(0), &[Value::int(3)], &checking).is_ok());
    assert!(run(&p, Func(0), &[Value::int(4)], &Options::default()).is_ok());
    let e = error(&p, &[Value::int(4)], &checking);
    assert_eq!(e.code, Code::Internal);
    assert_eq!(e.message, "`iota` gave v1: [i64; 3] 4 elements at [], but the type promised 3");
}

/// A loop whose bodies have no statements.
fn endless() -> Program {
    program(&["bool"], |b, p| b.op2(Op::While, p, |_, q| q[0], |_, q| q[0]))
}

#[test]
fn steps_are_limited() {
    let options = Options { max_steps: Some(1000), ..Options::default() };
    let e = error(&endless(), &[Value::bool(true)], &options);
    assert_eq!((e.code, e.message.as_str()), (Code::LimitExceeded, "the run took more than 1000 steps"));
    assert!(run(&endless(), Func(0), &[Value::bool(false)], &options).is_ok());
    // A reduction has no body, and takes a step for each element.
    let p = program(&["[i64; n0]"], |b, p| b.op(Op::Reduce(Monoid::Sum), p));
    assert!(run(&p, Func(0), &[ints(&[0; 999])], &options).is_ok());
    assert_eq!(error(&p, &[ints(&[0; 1000])], &options).code, Code::LimitExceeded);
}

#[test]
fn a_run_can_be_interrupted() {
    let options = Options { interrupt: Some(Arc::new(AtomicBool::new(true))), ..Options::default() };
    let e = error(&endless(), &[Value::bool(true)], &options);
    assert_eq!((e.code, e.message.as_str()), (Code::LimitExceeded, "interrupted"));
}

#[test]
fn values_are_limited() {
    let p = program(&["[i64; n0]"], |b, p| b.op(Op::Concat(0), &[p[0], p[0]]));
    let options = Options { max_elements: 5, ..Options::default() };
    assert!(run(&p, Func(0), &[ints(&[1, 2])], &options).is_ok());
    assert_eq!(error(&p, &[ints(&[1, 2, 3])], &options).code, Code::LimitExceeded);
    assert_eq!(error(&p, &[ints(&[0; 9])], &options).code, Code::LimitExceeded);
    // The results of bodies are counted together, before all of them have run.
    let p = program(&["i64"], |b, p| b.op1(Op::Generate, p, |b, _| b.op(Op::Iota(Coll::Array), p)));
    let options = Options { max_elements: 1000, max_steps: Some(3000), ..Options::default() };
    let e = error(&p, &[Value::int(999)], &options);
    assert_eq!(e.message, "the result of `generate` comes to 2000 elements, more than the limit of 1000 for one value");
}

#[test]
fn deep_nests_of_bodies_do_not_exhaust_the_stack() {
    let mut b = Builder::new(&[], "main", HERE);
    let n = b.param("n", Type::INT, HERE);
    let mut open: Vec<(Var, _)> = Vec::new();
    let mut state = n;
    for _ in 0..3000 {
        let (body, params) = b.begin_body_of(&Op::For, &[n, state], 0, HERE).unwrap();
        open.push((state, body));
        state = b.bin(BinOp::Add, params[0], params[1]);
    }
    while let Some((start, body)) = open.pop() {
        b.end_body(state);
        state = b.push(Op::For, &[n, start], &[body], HERE).unwrap();
    }
    let p = Program { funcs: vec![b.finish(state)] };
    let outcome = run(&p, Func(0), &[Value::int(1)], &Options::default()).unwrap();
    assert_eq!(outcome.value, Value::int(1));
}

#[test]
fn a_chain_of_calls_runs_each_body() {
    let mut funcs = vec![function(&[], "f0", &["i64"], |b, p| b.bin(BinOp::Add, p[0], p[0]))];
    for k in 0..500 {
        let next = function(&funcs, &format!("f{}", k + 1), &["i64"], |b, p| b.op(Op::Call(Func(k)), p));
        funcs.push(next);
    }
    let p = Program { funcs };
    let last = Func(500);
    assert_eq!(run(&p, last, &[Value::int(21)], &Options::default()).unwrap().value, Value::int(42));
}
