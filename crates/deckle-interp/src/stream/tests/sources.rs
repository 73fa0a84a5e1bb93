//! Arguments from sources, and results for consumers.

use super::*;
use crate::Elements;
use crate::testing::program;
use deckle_diag::Code;
use deckle_ir::array::Direction;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

type Outcome = Result<Streamed, Box<Diagnostic>>;

/// All integers from 0 on.
fn counter() -> Elements<'static> {
    let mut n = 0;
    Box::new(move || {
        n += 1;
        Ok(Some(Value::int(n - 1)))
    })
}

/// These, and then an error.
fn failing(v: &[i64]) -> Elements<'_> {
    let mut items = v.iter();
    Box::new(move || match items.next() {
        Some(x) => Ok(Some(Value::int(*x))),
        None => Err(Box::new(Diagnostic::nowhere(Code::BadFile, "the file ends in the midst of a number"))),
    })
}

/// Runs with a consumer that wants `n` elements, and returns those delivered to it.
fn first(n: usize, program: &Program, args: Vec<Argument<'_>>) -> (Outcome, Vec<Value>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let consumer: Consumer<'_> = Box::new(|x| {
        let mut seen = seen.lock().unwrap();
        seen.push(x);
        if seen.len() < n { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    let outcome = run_streaming(program, main(program), args, Some(consumer), &Options::default());
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (outcome, seen)
}

/// The first three elements of the result for all integers from 0 on.
#[track_caller]
fn three(program: &Program, expected: &[Value]) {
    let (outcome, seen) = first(3, program, vec![Argument::Elements(counter())]);
    assert_eq!((outcome, seen), (Ok(Streamed::Consumed), expected.to_vec()), "\n{program}");
}

fn odd(b: &mut Builder<'_>, s: Var) -> Var {
    let rests = b.op1(Op::Map, &[s], |b, q| {
        let two = b.int(2);
        let odd = b.bin(BinOp::Rem, q[0], two);
        b.bin(BinOp::Mul, odd, q[0])
    });
    nonzero(b, rests)
}

#[test]
fn an_endless_source_through_maps_scans_and_filters() {
    let int = |v: &[i64]| v.iter().map(|x| Value::int(*x)).collect::<Vec<_>>();
    three(&program(&["{i64}"], |_, p| p[0]), &int(&[0, 1, 2]));
    three(&program(&["{i64}"], |b, p| b.op1(Op::Map, p, |b, q| b.bin(BinOp::Mul, q[0], q[0]))), &int(&[0, 1, 4]));
    three(&program(&["{i64}"], |b, p| odd(b, p[0])), &int(&[1, 3, 5]));
    for (kind, expected) in
        [(ScanKind::Inclusive, [1, 4, 9]), (ScanKind::Exclusive, [0, 1, 4]), (ScanKind::Full, [0, 1, 4])]
    {
        let p = program(&["{i64}"], |b, p| {
            let odd = odd(b, p[0]);
            sums(b, odd, kind)
        });
        three(&p, &int(&expected));
    }
}

#[test]
fn folds_inside_an_endless_sequence() {
    let p = program(&["{i64}"], |b, p| {
        let numbers = b.op1(Op::Map, p, |b, q| {
            let all = b.op(Op::Iota(deckle_ir::array::Coll::Seq), q);
            let zero = b.int(0);
            let total = b.op1(Op::Fold, &[zero, all], |b, q| b.bin(BinOp::Add, q[0], q[1]));
            b.op(Op::Tuple, &[total, all])
        });
        b.op1(Op::Map, &[numbers], |_, q| q[0])
    });
    let pair = |t: i64, v: &[i64]| crate::testing::tuple(&[Value::int(t), ints(v)]);
    three(&p, &[pair(0, &[]), pair(0, &[0]), pair(1, &[0, 1])]);
}

#[test]
fn a_total_beside_an_endless_sequence_is_never_needed() {
    // The fold reads in lockstep and never ends.
    let p = program(&["{i64}"], |b, p| {
        let t = sum(b, p[0]);
        let end = single(b, t);
        b.op(Op::Append, &[p[0], end])
    });
    three(&p, &[Value::int(0), Value::int(1), Value::int(2)]);
}

#[test]
fn an_endless_source_gets_stuck_where_a_value_does() {
    let p = program(&["{i64}"], |b, p| {
        let t = sum(b, p[0]);
        plus(b, p[0], t)
    });
    let (outcome, seen) = first(3, &p, vec![Argument::Elements(counter())]);
    assert!(matches!(outcome, Ok(Streamed::Stuck(_))) && seen.is_empty(), "{outcome:?}");
}

#[test]
fn sources_of_sequences_and_several_sources() {
    let p = program(&["{{i64}}"], |b, p| b.op(Op::Flatten, p));
    let mut n = 0;
    let rows: Elements<'_> = Box::new(move || {
        n += 1;
        Ok(Some(ints(&[n, -n])))
    });
    let (outcome, seen) = first(3, &p, vec![Argument::Elements(rows)]);
    assert_eq!((outcome, seen), (Ok(Streamed::Consumed), [1, -1, 2].map(Value::int).to_vec()));
    let p = program(&["{i64}", "i64", "{i64}"], |b, p| {
        let s = plus(b, p[0], p[1]);
        b.op1(Op::Map, &[s, p[2]], |b, q| b.bin(BinOp::Mul, q[0], q[1]))
    });
    let args = vec![Argument::Elements(counter()), Value::int(10).into(), ints(&[2, 3, 4, 5]).into()];
    let (outcome, seen) = first(3, &p, args);
    assert_eq!((outcome, seen), (Ok(Streamed::Consumed), [20, 33, 48].map(Value::int).to_vec()));
}

#[test]
fn a_source_is_asked_for_no_more_than_is_needed() {
    let asked = AtomicUsize::new(0);
    let p = program(&["{i64}"], |b, p| odd(b, p[0]));
    let mut next = counter();
    let source: Elements<'_> = Box::new(|| {
        asked.fetch_add(1, Ordering::Relaxed);
        next()
    });
    let (outcome, _) = first(3, &p, vec![Argument::Elements(source)]);
    assert_eq!((outcome, asked.into_inner()), (Ok(Streamed::Consumed), 6));
}

#[test]
fn elements_that_were_combined_are_released() {
    const N: usize = 100_000;
    let p = program(&["{i0 -> [i64; n0(i0)]}"], |b, p| {
        let lengths = b.op1(Op::Map, p, |b, q| b.op(Op::Length, q));
        let zero = b.int(0);
        b.op1(Op::Fold, &[zero, lengths], |b, q| b.bin(BinOp::Add, q[0], q[1]))
    });
    let (mut n, mut before) = (0, Weak::new());
    let source: Elements<'_> = Box::new(|| {
        assert!(before.upgrade().is_none(), "element {n} is still there");
        n += 1;
        let row = crate::testing::ints(&[1, 2, 3]);
        if let Value::Array(items) = &row {
            before = Arc::downgrade(items);
        }
        Ok((n <= N).then_some(row))
    });
    let streamed = run_streaming(&p, main(&p), vec![Argument::Elements(source)], None, &Options::default());
    assert_eq!(streamed, Ok(Streamed::Done(Value::int(3 * N as i64))));
}

#[test]
fn all_folds_of_a_source() {
    let source = || {
        let mut items = vec![3, 9, 4].into_iter().map(Value::int);
        let source: Elements<'static> = Box::new(move || Ok(items.next()));
        vec![Argument::Elements(source)]
    };
    for (monoid, _) in Monoid::ALL {
        if matches!(monoid, Monoid::Any | Monoid::All) {
            continue;
        }
        let p = program(&["{i64}"], |b, p| b.op(Op::Reduce(monoid), p));
        let streamed = run_streaming(&p, main(&p), source(), None, &Options::default());
        assert_eq!(streamed, Ok(Streamed::Done(value(&p, &[ints(&[3, 9, 4])]))), "{monoid:?}");
    }
    let p = program(&["{i64}"], |b, p| b.op1(Op::Fold1, p, |b, q| b.bin(BinOp::Sub, q[0], q[1])));
    let streamed = run_streaming(&p, main(&p), source(), None, &Options::default());
    assert_eq!(streamed, Ok(Streamed::Done(Value::int(-10))));
    let p = program(&["{i64}"], |b, p| b.op1(Op::Scan(Direction::Left, ScanKind::Inclusive), p, |_, q| q[1]));
    let streamed = run_streaming(&p, main(&p), source(), None, &Options::default());
    assert_eq!(streamed, Ok(Streamed::Done(ints(&[3, 9, 4]))));
}

#[test]
fn an_error_of_a_source_comes_behind_all_that_is_complete() {
    let p = program(&["{i64}"], |b, p| plus_one(b, p[0]));
    let (outcome, seen) = first(9, &p, vec![Argument::Elements(failing(&[1, 2]))]);
    assert_eq!((outcome.unwrap_err().code, seen), (Code::BadFile, [2, 3].map(Value::int).to_vec()));
    // Earlier parts of the result do not need the source that fails.
    let p = program(&["{i64}", "{i64}"], |b, p| {
        let (s, t) = (plus_one(b, p[0]), plus_one(b, p[1]));
        b.op(Op::Append, &[s, t])
    });
    let args = vec![ints(&[1, 2, 3]).into(), Argument::Elements(failing(&[]))];
    let (outcome, seen) = first(9, &p, args);
    assert_eq!((outcome.unwrap_err().code, seen), (Code::BadFile, [2, 3, 4].map(Value::int).to_vec()));
    let args = vec![Argument::Elements(counter()), Argument::Elements(failing(&[]))];
    let (outcome, seen) = first(2, &p, args);
    assert_eq!((outcome, seen), (Ok(Streamed::Consumed), [1, 2].map(Value::int).to_vec()));
}

fn plus_one(b: &mut Builder<'_>, s: Var) -> Var {
    let one = b.int(1);
    plus(b, s, one)
}

#[test]
fn limits_end_an_endless_run() {
    let p = program(&["{i64}"], |b, p| sum(b, p[0]));
    let run = |options: &Options| {
        run_streaming(&p, main(&p), vec![Argument::Elements(counter())], None, options).unwrap_err().code
    };
    assert_eq!(run(&Options { max_steps: Some(10_000), ..Options::default() }), Code::LimitExceeded);
    let flag = Arc::new(AtomicBool::new(false));
    let mut next = counter();
    let stopping: Elements<'_> = Box::new(|| {
        let x = next()?;
        flag.store(x == Some(Value::int(1000)), Ordering::Relaxed);
        Ok(x)
    });
    let options = Options { interrupt: Some(Arc::clone(&flag)), ..Options::default() };
    let e = run_streaming(&p, main(&p), vec![Argument::Elements(stopping)], None, &options).unwrap_err();
    assert_eq!(e.code, Code::LimitExceeded);
}

#[test]
fn arguments_and_elements_of_another_type() {
    let p = program(&["{i64}", "i64"], |b, p| plus(b, p[0], p[1]));
    let error = |args| run_streaming(&p, main(&p), args, None, &Options::default()).unwrap_err();
    let e = error(vec![ints(&[]).into(), Argument::Elements(counter())]);
    let message = "argument `p1` has elements that come one after another where a value is needed";
    assert_eq!((e.code, e.message.as_str()), (Code::BadArgument, message));
    let mut items = [Value::int(1), Value::real(2.0)].into_iter();
    let mixed: Elements<'_> = Box::new(move || Ok(items.next()));
    let e = error(vec![Argument::Elements(mixed), Value::int(1).into()]);
    let message = "element 1 of argument `p0` has `f64` where `i64` is needed";
    assert_eq!((e.code, e.message.as_str()), (Code::BadArgument, message));
    assert_eq!(error(vec![ints(&[]).into()]).code, Code::BadArgument);
}
