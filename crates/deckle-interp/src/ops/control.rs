//! Branches and loops.

use super::{int, truth};
use crate::error::Result;
use crate::machine::{Cx, Place};
use deckle_ir::value::Value;

pub(super) fn if_(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let which = if truth(cx, &args[0])? { 0 } else { 1 };
    cx.body(which, Place::Once, &[])
}

pub(super) fn while_(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    rounds(cx, &args[0], Place::Step)
}

/// The source has no such loop, so its steps are not reported as places.
pub(super) fn stream(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    rounds(cx, &args[1], |_| Place::Once)
}

/// Applies the second body as long as the first gives `true`.
fn rounds(cx: &mut Cx<'_, '_>, init: &Value, place: fn(i64) -> Place<'static>) -> Result<Value> {
    let mut state = init.clone();
    let mut step = 0;
    loop {
        let go = cx.body(0, place(step), std::slice::from_ref(&state))?;
        if !truth(cx, &go)? {
            return Ok(state);
        }
        state = cx.body(1, place(step), &[state])?;
        step += 1;
    }
}

pub(super) fn for_(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let n = int(cx, &args[0])?;
    let mut state = args[1].clone();
    for i in 0..n {
        state = cx.body(0, Place::Step(i), &[Value::int(i), state])?;
    }
    Ok(state)
}

#[cfg(test)]
mod tests {
    use crate::testing::{Build, failure, function, ints, program, rows, value};
    use deckle_diag::Code;
    use deckle_ir::array::{BinOp, Coll, Op, Program};
    use deckle_ir::entity::Func;
    use deckle_ir::value::Value;

    #[test]
    fn only_one_branch_runs() {
        let p = program(&["i64"], |b, p| {
            let zero = b.int(0);
            let c = b.bin(BinOp::Eq, p[0], zero);
            b.op2(Op::If, &[c], |_, _| p[0], |b, _| b.bin(BinOp::Div, p[0], p[0]))
        });
        assert_eq!(value(&p, &[Value::int(0)]), Value::int(0));
        assert_eq!(value(&p, &[Value::int(5)]), Value::int(1));
    }

    #[test]
    fn branches_may_differ_in_size() {
        let p = program(&["bool", "[i64; n0]"], |b, p| {
            b.op2(Op::If, &[p[0]], |_, _| p[1], |b, _| b.op1(Op::Filter, &[p[1]], |_, _| p[0]))
        });
        assert_eq!(value(&p, &[Value::bool(true), ints(&[1, 2])]), ints(&[1, 2]));
        assert_eq!(value(&p, &[Value::bool(false), ints(&[1, 2])]), ints(&[]));
    }

    #[test]
    fn a_for_loop_that_is_not_positive_does_nothing() {
        let p = program(&["i64", "i64"], |b, p| b.op1(Op::For, p, |b, q| b.bin(BinOp::Add, q[0], q[1])));
        assert_eq!(value(&p, &[Value::int(4), Value::int(100)]), Value::int(106));
        assert_eq!(value(&p, &[Value::int(0), Value::int(100)]), Value::int(100));
        assert_eq!(value(&p, &[Value::int(i64::MIN), Value::int(100)]), Value::int(100));
    }

    #[test]
    fn the_state_of_a_loop_may_grow() {
        // Doubles an array until it has more than five elements.
        let p = program(&["[i64; n0]"], |b, p| {
            b.op2(
                Op::While,
                p,
                |b, q| {
                    let n = b.op(Op::Length, q);
                    let five = b.int(5);
                    b.bin(BinOp::Le, n, five)
                },
                |b, q| b.op(Op::Concat(0), &[q[0], q[0]]),
            )
        });
        assert_eq!(value(&p, &[ints(&[1, 2])]), ints(&[1, 2, 1, 2, 1, 2, 1, 2]));
        assert_eq!(value(&p, &[ints(&[0; 6])]), ints(&[0; 6]));
    }

    #[test]
    fn a_stream_is_a_loop_whose_steps_no_error_mentions() {
        let p = program(&["i64", "i64"], |b, p| {
            b.op2(Op::Stream, p, |b, q| b.bin(BinOp::Lt, q[0], p[0]), |b, q| b.bin(BinOp::Div, p[0], q[0]))
        });
        assert_eq!(value(&p, &[Value::int(7), Value::int(1)]), Value::int(7));
        assert_eq!(value(&p, &[Value::int(7), Value::int(9)]), Value::int(9));
        assert!(failure(&p, &[Value::int(7), Value::int(0)], Code::DivideByZero).notes.is_empty());
    }

    #[test]
    fn an_error_in_a_step_says_which() {
        let p = program(&["i64", "i64"], |b, p| b.op1(Op::For, p, |b, q| b.bin(BinOp::Div, q[1], q[0])));
        let e = failure(&p, &[Value::int(3), Value::int(1)], Code::DivideByZero);
        assert_eq!(e.notes, ["at step 0 of this `for`"]);
    }

    fn caller(params: &[&str]) -> Program {
        let callee = function(&[], "dot", &["[i64; n0]", "[i64; n0]"], |b, p| {
            b.op1(Op::Map, p, |b, q| b.bin(BinOp::Mul, q[0], q[1]))
        });
        let funcs = [callee.clone()];
        let main = function(&funcs, "main", params, |b, p| b.op(Op::Call(Func(0)), p));
        Program { funcs: vec![callee, main] }
    }

    #[test]
    fn calls_bind_and_check_sizes() {
        let p = caller(&["[i64; n0]", "[i64; n1]"]);
        assert_eq!(value(&p, &[ints(&[2, 3]), ints(&[5, 7])]), ints(&[10, 21]));
        let e = failure(&p, &[ints(&[2, 3]), ints(&[5])], Code::SizeCheck);
        assert_eq!(e.message, "argument `p1` of `dot` has 1 element, but its type says 2");
    }

    #[test]
    fn ensure_binds_and_checks() {
        let regular = program(&["[i0 -> [i64; n1(i0)]; n0]"], |b, p| {
            let ty = b.typed("[[i64; n2]; n0]");
            let a = b.op(Op::Ensure(ty), p);
            b.op(Op::Transpose(vec![1, 0]), &[a])
        });
        assert_eq!(value(&regular, &[rows(&[&[1, 2], &[3, 4]])]), rows(&[&[1, 3], &[2, 4]]));
        assert_eq!(value(&regular, &[rows(&[])]), rows(&[]));
        let e = failure(&regular, &[rows(&[&[1, 2], &[3, 4], &[5]])], Code::NotRegular);
        let expected = "this value needs rows of equal length, but row 2 has 1 element and a row before it 2";
        assert_eq!(e.message, expected);

        let written = program(&["i64"], |b, p| {
            let a = b.op(Op::Iota(Coll::Array), p);
            let ty = b.typed("[i64; 3]");
            b.op(Op::Ensure(ty), &[a])
        });
        assert_eq!(value(&written, &[Value::int(3)]), ints(&[0, 1, 2]));
        let e = failure(&written, &[Value::int(4)], Code::SizeCheck);
        assert_eq!(e.message, "this value has 4 elements, but its type says 3");
    }

    #[test]
    fn ensure_reads_sizes_bound_by_statements() {
        let p = program(&["[i64; n0]", "[i64; n1]"], |b, p| {
            let zero = b.int(0);
            let kept = b.op1(Op::Filter, &[p[0]], |b, q| b.bin(BinOp::Gt, q[0], zero));
            let ty = b.ty(kept).clone();
            b.op(Op::Ensure(ty), &[p[1]])
        });
        assert_eq!(value(&p, &[ints(&[1, -1, 2]), ints(&[7, 8])]), ints(&[7, 8]));
        failure(&p, &[ints(&[1, -1, -2]), ints(&[7, 8])], Code::SizeCheck);
    }
}
