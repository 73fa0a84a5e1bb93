//! Operators that make arrays and sequences from numbers.

use super::{collect, nest, scalar, size};
use crate::error::Result;
use crate::machine::{Cx, Place};
use deckle_ir::array::Coll;
use deckle_ir::fault::Fault;
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;

pub(super) fn replicate(cx: &Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let n = size(cx, &args[1], "the number of copies")?;
    let each = args[0].space().par.max(1);
    cx.room((n as i128).saturating_mul(each as i128))?;
    let mut elems = cx.alloc(n)?;
    elems.resize(n, args[0].clone());
    Ok(Value::array(elems))
}

pub(super) fn generate(cx: &mut Cx<'_, '_>, args: &[Value]) -> Result<Value> {
    let dims = args.iter().map(|n| size(cx, n, "the size")).collect::<Result<Vec<_>>>()?;
    nest(cx, &dims, &mut |cx, at| {
        let indices: Vec<Value> = at.iter().map(|i| Value::int(*i)).collect();
        cx.collect(0, Place::Indices(at), &indices)
    })
}

pub(super) fn iota(cx: &Cx<'_, '_>, coll: Coll, args: &[Value]) -> Result<Value> {
    let n = size(cx, &args[0], "the length")?;
    let mut elems = cx.alloc(n)?;
    elems.extend((0..n as i64).map(Value::int));
    Ok(collect(coll, elems))
}

pub(super) fn range(cx: &Cx<'_, '_>, coll: Coll, inclusive: bool, args: &[Value]) -> Result<Value> {
    let ty = scalar(cx, &args[0])?.ty();
    let mut ends = [0i128; 3];
    for (end, arg) in ends.iter_mut().zip(args) {
        *end = scalar(cx, arg)?.as_int().ok_or_else(|| cx.bug("something that is not an integer"))?;
    }
    let [from, to, step] = ends;
    if step == 0 {
        return Err(cx.fault(&Fault::ZeroStep(ty), &[from, to]));
    }
    let way = if step > 0 { to - from } else { from - to };
    let way = if inclusive { way } else { way - 1 };
    let n = cx.room(if way < 0 { 0 } else { way / step.abs() + 1 })?;
    let mut elems = cx.alloc(n)?;
    for i in 0..n as i128 {
        let value = Scalar::wrap_int(ty, from + i * step).ok_or_else(|| cx.bug("something that is not an integer"))?;
        elems.push(Value::Scalar(value));
    }
    Ok(collect(coll, elems))
}

#[cfg(test)]
mod tests {
    use crate::testing::{Build, failure, ints, outcome, program, rows, seq, value};
    use deckle_diag::Code;
    use deckle_ir::array::{BinOp, Coll, Op};
    use deckle_ir::scalar::Scalar;
    use deckle_ir::types::Type;
    use deckle_ir::value::Value;

    #[test]
    fn iota_and_replicate() {
        let p = program(&["i64"], |b, p| b.op(Op::Iota(Coll::Seq), p));
        assert_eq!(value(&p, &[Value::int(3)]), seq(&ints(&[0, 1, 2])));
        assert_eq!(value(&p, &[Value::int(0)]), seq(&ints(&[])));
        assert_eq!(failure(&p, &[Value::int(-1)], Code::BadSize).message, "the length is -1, but must not be negative");
        let p = program(&["[i64; n0]", "i64"], |b, p| b.op(Op::Replicate, p));
        assert_eq!(value(&p, &[ints(&[1, 2]), Value::int(2)]), rows(&[&[1, 2], &[1, 2]]));
        failure(&p, &[ints(&[1]), Value::int(-5)], Code::BadSize);
    }

    #[test]
    fn impossible_sizes_are_refused_before_allocation() {
        let p = program(&["i64"], |b, p| b.op(Op::Iota(Coll::Array), p));
        for n in [i64::MAX, 1 << 40, (1 << 28) + 1] {
            failure(&p, &[Value::int(n)], Code::LimitExceeded);
        }
        let p = program(&["i64"], |b, p| {
            let a = b.op(Op::Replicate, &[p[0], p[0]]);
            let a = b.op(Op::Replicate, &[a, p[0]]);
            b.op(Op::Replicate, &[a, p[0]])
        });
        failure(&p, &[Value::int(1 << 12)], Code::LimitExceeded);
        let p = program(&["i64", "i64"], |b, p| b.op1(Op::Generate, p, |_, q| q[0]));
        failure(&p, &[Value::int(1 << 31), Value::int(1 << 31)], Code::LimitExceeded);
        failure(&p, &[Value::int(i64::MAX), Value::int(0)], Code::LimitExceeded);
        assert_eq!(value(&p, &[Value::int(0), Value::int(1 << 28)]), rows(&[]));
    }

    #[test]
    fn generate_runs_over_all_indices() {
        let p = program(&["i64", "i64"], |b, p| {
            b.op1(Op::Generate, p, |b, q| {
                let ten = b.int(10);
                let i = b.bin(BinOp::Mul, q[0], ten);
                b.bin(BinOp::Add, i, q[1])
            })
        });
        assert_eq!(value(&p, &[Value::int(2), Value::int(3)]), rows(&[&[0, 1, 2], &[10, 11, 12]]));
        assert_eq!(value(&p, &[Value::int(2), Value::int(0)]), rows(&[&[], &[]]));
        failure(&p, &[Value::int(2), Value::int(-1)], Code::BadSize);
    }

    #[test]
    fn generated_rows_may_depend_on_the_index() {
        let p = program(&["i64"], |b, p| b.op1(Op::Generate, p, |b, q| b.op(Op::Iota(Coll::Array), q)));
        assert_eq!(value(&p, &[Value::int(3)]), rows(&[&[], &[0], &[0, 1]]));
    }

    #[test]
    fn an_error_inside_names_the_innermost_elements() {
        let p = program(&["i64"], |b, p| {
            b.op1(Op::Generate, p, |b, q| {
                b.op1(Op::Generate, &[p[0], p[0]], |b, r| {
                    let a = b.op1(Op::Generate, p, |b, s| {
                        let d = b.bin(BinOp::Mul, r[0], r[1]);
                        b.bin(BinOp::Div, s[0], d)
                    });
                    let n = b.op(Op::Length, &[a]);
                    b.bin(BinOp::Add, n, q[0])
                })
            })
        });
        let e = failure(&p, &[Value::int(3)], Code::DivideByZero);
        assert_eq!(e.notes, ["at element 0 of this `generate`", "at element (0, 0) of this `generate`"]);
    }

    #[test]
    fn ranges_in_both_directions() {
        let range = |inclusive: bool, from: i64, to: i64, step: i64| {
            let p = program(&["i64", "i64"], |b, p| {
                let step = b.int(step);
                b.op(Op::Range(Coll::Array, inclusive), &[p[0], p[1], step])
            });
            value(&p, &[Value::int(from), Value::int(to)])
        };
        assert_eq!(range(true, 1, 7, 3), ints(&[1, 4, 7]));
        assert_eq!(range(false, 1, 7, 3), ints(&[1, 4]));
        assert_eq!(range(true, 3, 1, -1), ints(&[3, 2, 1]));
        assert_eq!(range(false, 3, 1, -1), ints(&[3, 2]));
        assert_eq!(range(true, 3, 1, 1), ints(&[]));
        assert_eq!(range(true, 1, 1, 5), ints(&[1]));
        assert_eq!(range(false, 1, 1, 5), ints(&[]));
        assert_eq!(range(true, i64::MAX - 1, i64::MAX, 1), ints(&[i64::MAX - 1, i64::MAX]));
        assert_eq!(range(true, i64::MIN, i64::MAX, i64::MAX), ints(&[i64::MIN, -1, i64::MAX - 1]));
    }

    #[test]
    fn ranges_of_other_types_and_bad_steps() {
        let p = program(&["u8", "u8", "u8"], |b, p| b.op(Op::Range(Coll::Seq, true), p));
        let bytes = |v: &[u8]| v.iter().map(|x| Value::Scalar(Scalar::U8(*x))).collect::<Vec<_>>();
        assert_eq!(value(&p, &bytes(&[250, 255, 2])), Value::seq(bytes(&[250, 252, 254])));
        failure(&p, &bytes(&[1, 2, 0]), Code::BadSize);
        let p = program(&["i64", "i64"], |b, p| {
            let one = b.int(1);
            b.op(Op::Range(Coll::Array, true), &[p[0], p[1], one])
        });
        failure(&p, &[Value::int(i64::MIN), Value::int(i64::MAX)], Code::LimitExceeded);
    }

    #[test]
    fn literals_may_be_empty_or_jagged() {
        let p = program(&[], |b, _| b.op(Op::Array(Type::INT), &[]));
        assert_eq!(value(&p, &[]), ints(&[]));
        let p = program(&["[i64; n0]", "[i64; n1]"], |b, p| {
            let ty = b.ty(p[0]).clone();
            b.op(Op::Array(ty), p)
        });
        assert_eq!(value(&p, &[ints(&[1]), ints(&[])]), rows(&[&[1], &[]]));
        assert!(outcome(&p, &[ints(&[1])]).is_err());
    }
}
