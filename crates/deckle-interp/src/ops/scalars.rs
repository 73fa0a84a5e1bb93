//! Scalar operators, components and elements.

use super::{int, items, parts, scalar};
use crate::error::Result;
use crate::machine::Cx;
use deckle_diag::Diagnostic;
use deckle_ir::array::{BinOp, UnOp};
use deckle_ir::fault::Fault;
use deckle_ir::scalar::Scalar;
use deckle_ir::scalar_eval as arithmetic;
use deckle_ir::value::Value;

pub(super) fn unary(cx: &Cx<'_, '_>, op: UnOp, args: &[Value]) -> Result<Value> {
    let x = scalar(cx, &args[0])?;
    arithmetic::unary(op, x).map(Value::Scalar).map_err(|f| fault(cx, f, x, x))
}

pub(super) fn binary(cx: &Cx<'_, '_>, op: BinOp, args: &[Value]) -> Result<Value> {
    let (a, b) = (scalar(cx, &args[0])?, scalar(cx, &args[1])?);
    computed(cx, op, a, b).map(Value::Scalar)
}

/// A binary operator, with a rounding error if the run perturbs rounding.
pub(super) fn computed(cx: &Cx<'_, '_>, op: BinOp, a: Scalar, b: Scalar) -> Result<Scalar> {
    let exact = arithmetic::binary(op, a, b).map_err(|f| fault(cx, f, a, b))?;
    let is_rounded = matches!(op, BinOp::Add | BinOp::Sub | BinOp::Mul | BinOp::Div);
    Ok(match cx.rounding(exact).filter(|_| is_rounded) {
        None => exact,
        Some(error) => match exact {
            Scalar::F32(x) if x != 0.0 => Scalar::F32([x.next_down(), x, x.next_up()][error % 3]),
            Scalar::F64(x) if x != 0.0 => Scalar::F64([x.next_down(), x, x.next_up()][error % 3]),
            other => other,
        },
    })
}

/// A fault with the operands that caused it.
pub(super) fn fault(cx: &Cx<'_, '_>, fault: arithmetic::Fault, a: Scalar, b: Scalar) -> Box<Diagnostic> {
    let number = |s: Scalar| s.as_int().unwrap_or(0);
    match fault {
        arithmetic::Fault::DivideByZero => cx.fault(&Fault::DivideByZero(a.ty()), &[number(a)]),
        arithmetic::Fault::NegativeExponent => cx.fault(&Fault::NegativeExponent, &[number(a), number(b)]),
        arithmetic::Fault::IllTyped => cx.bug("operands of a type that it does not have"),
    }
}

pub(super) fn proj(cx: &Cx<'_, '_>, k: u32, args: &[Value]) -> Result<Value> {
    let parts = parts(cx, &args[0])?;
    parts.get(k as usize).cloned().ok_or_else(|| cx.bug("a tuple without that component"))
}

pub(super) fn index(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let mut v = &args[0];
    for i in &args[1..] {
        let i = int(cx, i)?;
        let elems = items(cx, v)?;
        v = usize::try_from(i)
            .ok()
            .and_then(|i| elems.get(i))
            .ok_or_else(|| cx.fault(&Fault::Index("index".into()), &[i.into(), elems.len() as i128]))?;
    }
    Ok(v.clone())
}

#[cfg(test)]
mod tests {
    use crate::testing::{Build, failure, ints, program, reals, rows, tuple, value};
    use crate::{Options, run};
    use deckle_diag::Code;
    use deckle_ir::array::{BinOp, Monoid, Op, Program};
    use deckle_ir::entity::Func;
    use deckle_ir::value::Value;

    #[test]
    fn an_index_outside_names_the_values() {
        let p = program(&["[i64; n0]", "i64"], |b, p| b.op(Op::Index, p));
        assert_eq!(value(&p, &[ints(&[4, 5]), Value::int(1)]), Value::int(5));
        let e = failure(&p, &[ints(&[0; 5]), Value::int(7)], Code::IndexRange);
        assert_eq!(e.message, "index 7 is out of range for an array of 5 elements");
        assert_eq!(e.notes, ["positions run from 0 to 4"]);
        let e = failure(&p, &[ints(&[]), Value::int(i64::MIN)], Code::IndexRange);
        assert_eq!(e.notes, ["an empty array has no elements"]);
        failure(&p, &[ints(&[1]), Value::int(-1)], Code::IndexRange);
    }

    /// The values of runs with different rounding errors.
    fn rounded(p: &Program, args: &[Value]) -> Vec<Value> {
        let run = |k| run(p, Func(0), args, &Options { rounding: Some(k), ..Options::default() });
        (0..16).map(|k| run(k).unwrap().value).collect()
    }

    #[test]
    fn errors_of_rounding_change_sums_of_floats_and_nothing_else() {
        let sum = |ty| program(&[ty], |b, p| b.op(Op::Reduce(Monoid::Sum), p));
        let (p, args) = (sum("[f64; n0]"), [reals(&[0.1, 0.2, 0.3])]);
        let float = |v: &Value| match v {
            Value::Scalar(x) => x.as_float().unwrap(),
            other => panic!("{other:?}"),
        };
        let exact = float(&value(&p, &args));
        let all: Vec<f64> = rounded(&p, &args).iter().map(float).collect();
        assert!(all.iter().any(|x| *x != exact), "{all:?}");
        assert!(all.iter().all(|x| (x - exact).abs() < 1e-15), "{all:?}");
        let (p, args) = (sum("[i64; n0]"), [ints(&[1, 2, 3])]);
        assert!(rounded(&p, &args).iter().all(|v| *v == Value::int(6)));
        // Values that are not computed are not rounded.
        let p = program(&["[f64; n0]"], |b, p| b.op(Op::Reduce(Monoid::Max), p));
        assert!(rounded(&p, &[reals(&[0.1, 0.3])]).iter().all(|v| float(v) == 0.3));
    }

    #[test]
    fn indices_of_jagged_rows_are_checked_row_by_row() {
        let p = program(&["[i0 -> [i64; n1(i0)]; n0]", "i64", "i64"], |b, p| b.op(Op::Index, p));
        let a = rows(&[&[1], &[2, 3], &[]]);
        assert_eq!(value(&p, &[a.clone(), Value::int(1), Value::int(1)]), Value::int(3));
        failure(&p, &[a.clone(), Value::int(0), Value::int(1)], Code::IndexRange);
        failure(&p, &[a, Value::int(2), Value::int(0)], Code::IndexRange);
    }

    #[test]
    fn division_by_zero_and_negative_powers() {
        let p = program(&["i64", "i64"], |b, p| b.bin(BinOp::Div, p[0], p[1]));
        let e = failure(&p, &[Value::int(8), Value::int(0)], Code::DivideByZero);
        assert_eq!(e.message, "the integer 8 is divided by zero");
        let p = program(&["i64", "i64"], |b, p| b.bin(BinOp::Pow, p[0], p[1]));
        let e = failure(&p, &[Value::int(2), Value::int(-3)], Code::BadSize);
        assert_eq!(e.message, "the integer 2 is raised to the negative power -3");
    }

    #[test]
    fn tuples_and_their_components() {
        let p = program(&["i64", "bool"], |b, p| {
            let t = b.op(Op::Tuple, &[p[0], p[1], p[0]]);
            let x = b.op(Op::Proj(1), &[t]);
            let unit = b.op(Op::Tuple, &[]);
            let y = b.op(Op::Select, &[x, p[0], p[0]]);
            b.op(Op::Tuple, &[x, unit, y])
        });
        let expected = tuple(&[Value::bool(true), tuple(&[]), Value::int(9)]);
        assert_eq!(value(&p, &[Value::int(9), Value::bool(true)]), expected);
    }
}
