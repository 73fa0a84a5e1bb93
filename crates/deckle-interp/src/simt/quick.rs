//! The most frequent expressions, on the bits of whole warps.
//!
//! Most of a kernel is arithmetic of indices: scalars of `i64` and `bool`. These are computed here without a [`Scalar`](deckle_ir::scalar::Scalar) for each
//! thread; the rules are those of `scalar_eval`, which a test compares. Everything else is left to `eval`.

use super::warp::Warp;
use deckle_ir::array::BinOp;
use deckle_ir::loops::{Expr, Val};
use deckle_ir::scalar::ScalarType;

/// An operator on the bits of two scalars of one type.
type Rule = fn(u64, u64) -> u64;

/// Computes a value in the active threads, if this is one of the expressions for which there is a rule.
pub(super) fn define(w: &mut Warp<'_>, v: Val, expr: &Expr) -> bool {
    let is_scalar = |u: &Val| w.lanes(*u) == 1;
    match *expr {
        Expr::Const(s) if is_scalar(&v) => w.set_bits(v, [], |[]| s.bits()),
        Expr::Splat(a) if is_scalar(&v) && is_scalar(&a) => w.set_bits(v, [a], |[a]| a),
        Expr::Select(c, a, b) if [v, c, a, b].iter().all(is_scalar) => {
            w.set_bits(v, [c, a, b], |[c, a, b]| if c & 1 == 1 { a } else { b });
        }
        Expr::Binary(op, a, b) | Expr::Assoc(op, a, b) if [v, a, b].iter().all(is_scalar) => {
            let types = (w.function.vals[a.index()].scalar, w.function.vals[b.index()].scalar);
            let Some(rule) = rule(op, types) else { return false };
            w.set_bits(v, [a, b], |[a, b]| rule(a, b));
        }
        _ => return false,
    }
    true
}

fn rule(op: BinOp, types: (ScalarType, ScalarType)) -> Option<Rule> {
    Some(match (types, op) {
        ((ScalarType::I64, ScalarType::I64), _) => match op {
            BinOp::Add => u64::wrapping_add,
            BinOp::Sub => u64::wrapping_sub,
            BinOp::Mul => u64::wrapping_mul,
            BinOp::And => |a, b| a & b,
            BinOp::Or => |a, b| a | b,
            BinOp::Xor => |a, b| a ^ b,
            BinOp::Min => |a, b| (a as i64).min(b as i64) as u64,
            BinOp::Max => |a, b| (a as i64).max(b as i64) as u64,
            BinOp::Eq => |a, b| u64::from(a == b),
            BinOp::Ne => |a, b| u64::from(a != b),
            BinOp::Lt => |a, b| u64::from((a as i64) < b as i64),
            BinOp::Le => |a, b| u64::from(a as i64 <= b as i64),
            BinOp::Gt => |a, b| u64::from(a as i64 > b as i64),
            BinOp::Ge => |a, b| u64::from(a as i64 >= b as i64),
            _ => return None,
        },
        ((ScalarType::Bool, ScalarType::Bool), BinOp::And) => |a, b| a & b,
        ((ScalarType::Bool, ScalarType::Bool), BinOp::Or) => |a, b| a | b,
        ((ScalarType::Bool, ScalarType::Bool), BinOp::Xor) => |a, b| a ^ b,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::scalar::Scalar;
    use deckle_ir::scalar_eval;

    #[test]
    fn rules_are_those_of_the_interpreter() {
        let numbers = [0, 1, -1, 7, -8, 31, 63, 64, i64::MAX, i64::MIN, i64::MIN + 1, 1 << 60, -(1 << 60)];
        let numbers: Vec<Scalar> = numbers.into_iter().map(Scalar::I64).collect();
        let mut compared = 0;
        for scalars in [&numbers[..], &[Scalar::Bool(false), Scalar::Bool(true)]] {
            for op in BinOp::ALL.iter().copied() {
                for (a, b) in scalars.iter().flat_map(|a| scalars.iter().map(move |b| (*a, *b))) {
                    let Some(rule) = rule(op, (a.ty(), b.ty())) else { continue };
                    let expected = scalar_eval::binary(op, a, b).unwrap();
                    assert_eq!(rule(a.bits(), b.bits()), expected.bits(), "{op:?} of {a} and {b}");
                    compared += 1;
                }
            }
        }
        assert_eq!(compared, 14 * numbers.len() * numbers.len() + 3 * 4);
    }
}
