//! The discipline on single operators, on typical programs, and on random ones.

mod operators;
mod programs;
mod random;
mod sizes;
mod sources;

use crate::testing::{Build, value};
use crate::{Argument, Consumer, Options, Streamed, Stuck, Trial, run_streaming, try_streaming};
use deckle_diag::Diagnostic;
use deckle_ir::array::{BinOp, Builder, Monoid, Op, Program, ScanKind};
use deckle_ir::entity::{Func, Var};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::ops::ControlFlow;

fn main(program: &Program) -> Func {
    Func(program.funcs.len() as u32 - 1)
}

fn whole(args: &[Value]) -> Vec<Argument<'static>> {
    args.iter().cloned().map(Argument::Value).collect()
}

/// A source of the elements of a sequence; another value unchanged.
fn source(arg: &Value) -> Argument<'_> {
    match arg {
        Value::Seq(items) => {
            let mut items = items.iter().cloned();
            Argument::Elements(Box::new(move || Ok(items.next())))
        }
        _ => arg.clone().into(),
    }
}

/// Runs with a source for each sequence among the arguments, and returns the elements delivered to the consumer.
fn from_sources(
    program: &Program,
    func: Func,
    args: &[Value],
    options: &Options,
) -> (Result<Streamed, Box<Diagnostic>>, Vec<Value>) {
    let seen = std::sync::Mutex::new(Vec::new());
    let consumer: Consumer<'_> = Box::new(|x| {
        seen.lock().unwrap().push(x);
        ControlFlow::Continue(())
    });
    let outcome = run_streaming(program, func, args.iter().map(source).collect(), Some(consumer), options);
    (outcome, seen.into_inner().unwrap())
}

fn streamed(program: &Program, args: &[Value]) -> Streamed {
    match run_streaming(program, main(program), whole(args), None, &Options::default()) {
        Ok(streamed) => streamed,
        Err(e) => panic!("{e:?}\n{program}"),
    }
}

/// The program finishes with the interpreter's result.
#[track_caller]
fn flows(program: &Program, args: &[Value]) {
    match streamed(program, args) {
        Streamed::Done(result) => assert_eq!(result, value(program, args), "\n{program}"),
        other => panic!("{other:?}\n{program}"),
    }
}

/// The program gets stuck.
#[track_caller]
fn sticks(program: &Program, args: &[Value]) -> Stuck {
    // The interpreter runs it.
    value(program, args);
    match streamed(program, args) {
        Streamed::Stuck(stuck) => stuck,
        other => panic!("{other:?}\n{program}"),
    }
}

/// The numbers of 200 trials that finish, get stuck, and are abandoned.
fn trials(program: &Program) -> [usize; 3] {
    let mut counts = [0; 3];
    for seed in 0..200 {
        let k = match try_streaming(program, main(program), seed, 100_000) {
            Trial::Finished => 0,
            Trial::Stuck(_) => 1,
            Trial::Abandoned => 2,
        };
        counts[k] += 1;
    }
    counts
}

/// No data make the program stuck, and with some it finishes.
#[track_caller]
fn never_sticks(program: &Program) {
    let [finished, stuck, _] = trials(program);
    assert!(finished > 0 && stuck == 0, "{:?}\n{program}", trials(program));
}

/// Some data make the program stuck.
#[track_caller]
fn may_stick(program: &Program) {
    let [_, stuck, _] = trials(program);
    assert!(stuck > 0, "{:?}\n{program}", trials(program));
}

fn sum(b: &mut Builder<'_>, s: Var) -> Var {
    b.op(Op::Reduce(Monoid::Sum), &[s])
}

/// `{x + y : x in s}`.
fn plus(b: &mut Builder<'_>, s: Var, y: Var) -> Var {
    b.op1(Op::Map, &[s], |b, q| b.bin(BinOp::Add, q[0], y))
}

/// The elements that are not 0: a `flatten` of guards.
fn nonzero(b: &mut Builder<'_>, s: Var) -> Var {
    let each = b.op1(Op::Map, &[s], |b, q| {
        let zero = b.int(0);
        let c = b.bin(BinOp::Ne, q[0], zero);
        b.op1(Op::Guard, &[c], |_, _| q[0])
    });
    b.op(Op::Flatten, &[each])
}

/// The sums of all prefixes.
fn sums(b: &mut Builder<'_>, s: Var, kind: ScanKind) -> Var {
    let zero = b.int(0);
    b.op1(Op::Scan(deckle_ir::array::Direction::Left, kind), &[zero, s], |b, q| b.bin(BinOp::Add, q[0], q[1]))
}

fn single(b: &mut Builder<'_>, x: Var) -> Var {
    let ty: Type = b.ty(x).clone();
    b.op(Op::MkSeq(ty), &[x])
}

/// A sequence of integers.
fn ints(v: &[i64]) -> Value {
    Value::seq(v.iter().map(|x| Value::int(*x)).collect())
}

/// A sequence of sequences of integers.
fn rows(v: &[&[i64]]) -> Value {
    Value::seq(v.iter().map(|row| ints(row)).collect())
}
