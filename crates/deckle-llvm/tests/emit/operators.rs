//! Every scalar operator and conversion at every type, on edge values, by LLVM's vectors and by explicit ones.

use super::{call, compile, same};
use deckle_interp::simt::BufferMem;
use deckle_ir::array::{BinOp, ResultClass, UnOp};
use deckle_ir::loops::{Access, Builder, Expr, Function, LoopHint, RECORD, Val};
use deckle_ir::math::{self, Native32, Native64};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::scalar_eval;

/// Values at which operators tend to go wrong.
fn edges(ty: ScalarType) -> Vec<Scalar> {
    if ty == ScalarType::Bool {
        return vec![Scalar::Bool(false), Scalar::Bool(true)];
    }
    let floats = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        0.3,
        2.0,
        3.0,
        -7.25,
        10.0,
        1e-3,
        100.5,
        127.0,
        128.0,
        255.5,
        32767.5,
        65535.9,
        2147483647.0,
        2147483648.0,
        -2147483649.0,
        4294967296.0,
        9.223372036854775e18,
        9.223372036854776e18,
        1.8446744073709552e19,
        -9.3e18,
        1e30,
        -1e30,
        1e-40,
        1e300,
        -1e300,
        1e-300,
        5e-324,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::NAN,
        0.49999999999999994,
        4503599627370497.5,
        16777217.0,
    ];
    if ty.is_float() {
        return floats.iter().filter_map(|&x| Scalar::float(ty, x)).collect();
    }
    let (lo, hi) = ty.int_range().unwrap();
    let near = [0, 1, 2, 3, 5, 7, 8, 10, 13, 31, 33, 63, 64, 100, 255, 1000, -1, -2, -3, -7, -64, -100];
    let all = near.into_iter().chain([lo, lo + 1, lo / 2, hi, hi - 1, hi / 2, hi / 3, 0x0f0f_0f0f_0f0f_0f0f]);
    all.filter_map(|n| Scalar::wrap_int(ty, n)).collect()
}

/// A function that applies something to each element of its first buffers: `lanes` at a time.
fn map(
    name: &str,
    from: &[ScalarType],
    to: ScalarType,
    lanes: u16,
    body: impl Fn(&mut Builder, &[Val]) -> Val,
) -> Function {
    let mut b = Builder::new(name);
    let inputs: Vec<_> = from.iter().map(|&ty| b.buffer(ty, Access::Read)).collect();
    let out = b.buffer(to, Access::Write);
    let n = b.scalar(ScalarType::I64);
    let zero = b.i64(0);
    let hint = if lanes == 1 { LoopHint::Independent } else { LoopHint::Plain };
    b.for_(zero, n, i64::from(lanes), &[], hint, |b, i, _| {
        let operands: Vec<Val> = inputs.iter().map(|&x| b.load_lanes(x, i, lanes, None)).collect();
        let result = body(b, &operands);
        b.store(out, i, result);
        Vec::new()
    });
    b.finish().unwrap()
}

/// A function, its operands, and what it should give.
type Case = (Function, Vec<Vec<Scalar>>, Vec<Scalar>);

/// Runs each function on its operands and compares with what is expected.
fn check(lanes: u16, cases: Vec<Case>) {
    let functions: Vec<Function> = cases.iter().map(|(f, ..)| f.clone()).collect();
    let code = compile(&functions);
    for (f, inputs, expected) in cases {
        let n = expected.len().next_multiple_of(usize::from(lanes));
        let padded = |items: &[Scalar], ty| {
            let mut items = items.to_vec();
            items.resize(n, Scalar::one(ty));
            BufferMem::of(ty, &items)
        };
        let mut buffers: Vec<BufferMem> =
            inputs.iter().zip(&f.buffers).map(|(items, p)| padded(items, p.elem)).collect();
        let to = f.buffers[inputs.len()].elem;
        buffers.push(BufferMem::new(to, n));
        assert_eq!(call(&code, &f.name, &mut buffers, &[Scalar::I64(n as i64)]), [0; RECORD]);
        let found = buffers[inputs.len()].scalars();
        for (k, &e) in expected.iter().enumerate() {
            let operands: Vec<String> = inputs.iter().map(|i| i[k].to_string()).collect();
            assert!(same(found[k], e), "{}({}) is {}, not {e}", f.name, operands.join(", "), found[k]);
        }
    }
}

/// Floats of operators that Deckle has its own functions for: the same bits as these give on this machine.
fn unary(op: UnOp, x: Scalar) -> Scalar {
    let own = match x {
        Scalar::F32(x) => math::unary::<math::F32, _>(&mut Native32, op, x).map(Scalar::F32),
        Scalar::F64(x) => math::unary::<math::F64, _>(&mut Native64, op, x).map(Scalar::F64),
        _ => None,
    };
    own.unwrap_or_else(|| scalar_eval::unary(op, x).unwrap())
}

fn binary(op: BinOp, x: Scalar, y: Scalar) -> Scalar {
    let own = match (x, y) {
        (Scalar::F32(x), Scalar::F32(y)) => math::binary::<math::F32, _>(&mut Native32, op, x, y).map(Scalar::F32),
        (Scalar::F64(x), Scalar::F64(y)) => math::binary::<math::F64, _>(&mut Native64, op, x, y).map(Scalar::F64),
        _ => None,
    };
    own.unwrap_or_else(|| scalar_eval::binary(op, x, y).unwrap_or(Scalar::zero(x.ty())))
}

#[test]
fn operators_of_one_operand() {
    for lanes in [1, 4] {
        let mut cases = Vec::new();
        for &op in UnOp::ALL {
            for ty in ScalarType::ALL.into_iter().filter(|&ty| op.operands().has(ty)) {
                let to = if op.result() == ResultClass::Bool { ScalarType::Bool } else { ty };
                let f = map(&format!("{}_{ty}", op.name()), &[ty], to, lanes, |b, x| b.unary(op, x[0]));
                let items = edges(ty);
                let expected = items.iter().map(|&x| unary(op, x)).collect();
                cases.push((f, vec![items], expected));
            }
        }
        check(lanes, cases);
    }
}

/// Every pair of edge values.
fn pairs(ty: ScalarType) -> (Vec<Scalar>, Vec<Scalar>) {
    let items = edges(ty);
    items.iter().flat_map(|&x| items.iter().map(move |&y| (x, y))).unzip()
}

#[test]
fn operators_of_two_operands() {
    for lanes in [1, 4] {
        let mut cases = Vec::new();
        for &op in BinOp::ALL.iter().chain(BinOp::LOWERED) {
            for ty in ScalarType::ALL.into_iter().filter(|&ty| op.operands().has(ty)) {
                let to = if op.result() == ResultClass::Bool { ScalarType::Bool } else { ty };
                let f = map(&format!("{}_{ty}", op.name()), &[ty, ty], to, lanes, |b, x| b.binary(op, x[0], x[1]));
                let (xs, ys) = pairs(ty);
                let expected = xs.iter().zip(&ys).map(|(&x, &y)| binary(op, x, y)).collect();
                cases.push((f, vec![xs, ys], expected));
            }
        }
        check(lanes, cases);
    }
}

#[test]
fn constant_divisors_and_exponents() {
    let mut cases = Vec::new();
    for ty in [ScalarType::I8, ScalarType::U16, ScalarType::I32, ScalarType::I64, ScalarType::U64] {
        for op in [BinOp::Div, BinOp::Rem, BinOp::Pow, BinOp::Shl, BinOp::Shr] {
            for n in [0, 1, 2, 3, 7, 10, -1, -2, 64, 65, 200] {
                let Some(y) = Scalar::wrap_int(ty, n) else { continue };
                let name = format!("{}_{ty}_{}", op.name(), if n < 0 { format!("m{}", -n) } else { n.to_string() });
                let f = map(&name, &[ty], ty, 1, |b, x| {
                    let y = b.constant(y);
                    b.binary(op, x[0], y)
                });
                let xs = edges(ty);
                let expected = xs.iter().map(|&x| scalar_eval::binary(op, x, y).unwrap_or(Scalar::zero(ty))).collect();
                cases.push((f, vec![xs], expected));
            }
        }
    }
    check(1, cases);
}

#[test]
fn conversions() {
    for lanes in [1, 4] {
        let mut cases = Vec::new();
        for from in ScalarType::ALL {
            for to in ScalarType::ALL {
                let f = map(&format!("cast_{from}_{to}"), &[from], to, lanes, |b, x| b.cast(to, x[0]));
                let items = edges(from);
                let expected = items.iter().map(|x| x.cast(to)).collect();
                cases.push((f, vec![items], expected));
                if from.bytes() == to.bytes() && from != ScalarType::Bool && to != ScalarType::Bool {
                    let f =
                        map(&format!("bits_{from}_{to}"), &[from], to, lanes, |b, x| b.let_(Expr::Bitcast(to, x[0])));
                    let items = edges(from);
                    let expected = items.iter().map(|x| Scalar::from_bits(to, x.bits())).collect();
                    cases.push((f, vec![items], expected));
                }
            }
        }
        check(lanes, cases);
    }
}

#[test]
fn rounding_and_signs() {
    for lanes in [1, 8] {
        let mut cases = Vec::new();
        for ty in [ScalarType::F32, ScalarType::F64] {
            let f = map(&format!("rint_{ty}"), &[ty], ty, lanes, |b, x| b.let_(Expr::Rint(x[0])));
            let items = edges(ty);
            let expected = items
                .iter()
                .map(|&x| match x {
                    Scalar::F32(x) => Scalar::F32(x.round_ties_even()),
                    Scalar::F64(x) => Scalar::F64(x.round_ties_even()),
                    other => other,
                })
                .collect();
            cases.push((f, vec![items], expected));
            let f = map(&format!("copysign_{ty}"), &[ty, ty], ty, lanes, |b, x| b.let_(Expr::CopySign(x[0], x[1])));
            let (xs, ys) = pairs(ty);
            let sign = |x: &Scalar, y: &Scalar| match (*x, *y) {
                (Scalar::F32(x), Scalar::F32(y)) => Scalar::F32(x.copysign(y)),
                (Scalar::F64(x), Scalar::F64(y)) => Scalar::F64(x.copysign(y)),
                (x, _) => x,
            };
            let expected = xs.iter().zip(&ys).map(|(x, y)| sign(x, y)).collect();
            cases.push((f, vec![xs, ys], expected));
        }
        check(lanes, cases);
    }
}
