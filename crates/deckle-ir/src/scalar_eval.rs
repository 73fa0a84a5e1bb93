//! Scalar operators as pure functions, and the order of values.
//!
//! Transcendental functions are those of a portable library rather than of the machine, so that the reference returns the
//! same bits everywhere. For `f32` they are computed in `f64` and rounded once.

use crate::array::{BinOp, UnOp};
use crate::scalar::{Scalar, ScalarType};
use crate::value::Value;
use std::cmp::Ordering;

/// Why a scalar operator has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An integer divided by zero.
    DivideByZero,
    /// An integer to a negative power.
    NegativeExponent,
    /// Operands of a type that the operator does not have.
    IllTyped,
}

fn bits(ty: ScalarType) -> u32 {
    8 * ty.bytes() as u32
}

/// `x * y + z` of floats of one type, rounded once; of anything else `x`.
pub fn fma(x: Scalar, y: Scalar, z: Scalar) -> Scalar {
    match (x, y, z) {
        (Scalar::F32(x), Scalar::F32(y), Scalar::F32(z)) => Scalar::F32(x.mul_add(y, z)),
        (Scalar::F64(x), Scalar::F64(y), Scalar::F64(z)) => Scalar::F64(x.mul_add(y, z)),
        _ => x,
    }
}

/// Applies an operator of one operand.
pub fn unary(op: UnOp, x: Scalar) -> Result<Scalar, Fault> {
    let ty = x.ty();
    if !op.operands().has(ty) {
        return Err(Fault::IllTyped);
    }
    if let Some(b) = x.as_bool() {
        return Ok(Scalar::Bool(!b));
    }
    if let Some(v) = x.as_int() {
        return Scalar::wrap_int(ty, int_unary(op, v, bits(ty))).ok_or(Fault::IllTyped);
    }
    let v = x.as_float().ok_or(Fault::IllTyped)?;
    if op == UnOp::IsNan {
        return Ok(Scalar::Bool(v.is_nan()));
    }
    Scalar::float(ty, float_unary(op, v)).ok_or(Fault::IllTyped)
}

fn int_unary(op: UnOp, v: i128, bits: u32) -> i128 {
    let pattern = v as u128 & ((1u128 << bits) - 1);
    match op {
        UnOp::Neg => -v,
        UnOp::Not => !v,
        UnOp::Abs => v.abs(),
        UnOp::Sign => v.signum(),
        UnOp::Popcount => pattern.count_ones() as i128,
        UnOp::Clz => (pattern.leading_zeros() - (128 - bits)) as i128,
        UnOp::Ctz => pattern.trailing_zeros().min(bits) as i128,
        // The others take only floats.
        _ => v,
    }
}

fn float_unary(op: UnOp, x: f64) -> f64 {
    match op {
        UnOp::Neg => -x,
        UnOp::Abs => x.abs(),
        UnOp::Sign if x.is_nan() || x == 0.0 => x,
        UnOp::Sign => 1f64.copysign(x),
        UnOp::Sqrt => x.sqrt(),
        UnOp::Cbrt => libm::cbrt(x),
        UnOp::Exp => libm::exp(x),
        UnOp::Exp2 => libm::exp2(x),
        UnOp::Expm1 => libm::expm1(x),
        UnOp::Log => libm::log(x),
        UnOp::Log2 => libm::log2(x),
        UnOp::Log10 => libm::log10(x),
        UnOp::Log1p => libm::log1p(x),
        UnOp::Sin => libm::sin(x),
        UnOp::Cos => libm::cos(x),
        UnOp::Tan => libm::tan(x),
        UnOp::Asin => libm::asin(x),
        UnOp::Acos => libm::acos(x),
        UnOp::Atan => libm::atan(x),
        UnOp::Sinh => libm::sinh(x),
        UnOp::Cosh => libm::cosh(x),
        UnOp::Tanh => libm::tanh(x),
        UnOp::Erf => libm::erf(x),
        UnOp::Erfc => libm::erfc(x),
        UnOp::Floor => x.floor(),
        UnOp::Ceil => x.ceil(),
        UnOp::Round => x.round(),
        UnOp::Trunc => x.trunc(),
        // The others do not take floats, or do not return one.
        UnOp::Not | UnOp::IsNan | UnOp::Popcount | UnOp::Clz | UnOp::Ctz => x,
    }
}

/// Applies an operator of two operands of one type.
pub fn binary(op: BinOp, a: Scalar, b: Scalar) -> Result<Scalar, Fault> {
    let ty = a.ty();
    if ty != b.ty() || !op.operands().has(ty) {
        return Err(Fault::IllTyped);
    }
    if let Some(holds) = comparison(op, a, b) {
        return Ok(Scalar::Bool(holds));
    }
    match (a, b) {
        (Scalar::Bool(a), Scalar::Bool(b)) => match op {
            BinOp::And => Ok(Scalar::Bool(a & b)),
            BinOp::Or => Ok(Scalar::Bool(a | b)),
            BinOp::Xor => Ok(Scalar::Bool(a ^ b)),
            _ => Err(Fault::IllTyped),
        },
        (Scalar::F32(a), Scalar::F32(b)) => Ok(Scalar::F32(match op {
            BinOp::Add => a + b,
            BinOp::Sub => a - b,
            BinOp::Mul => a * b,
            BinOp::Div => a / b,
            BinOp::Rem => a % b,
            _ => float_binary(op, a as f64, b as f64) as f32,
        })),
        (Scalar::F64(a), Scalar::F64(b)) => Ok(Scalar::F64(float_binary(op, a, b))),
        _ => {
            let (Some(a), Some(b)) = (a.as_int(), b.as_int()) else { return Err(Fault::IllTyped) };
            let exact = int_binary(op, a, b, bits(ty))?;
            let value = match (op, ty.int_range()) {
                (BinOp::AddSat | BinOp::MulSat, Some((least, greatest))) => exact.clamp(least, greatest),
                _ => exact,
            };
            Scalar::wrap_int(ty, value).ok_or(Fault::IllTyped)
        }
    }
}

fn comparison(op: BinOp, a: Scalar, b: Scalar) -> Option<bool> {
    let order = match (a.as_float(), b.as_float()) {
        (Some(a), Some(b)) => a.partial_cmp(&b),
        _ => Some(compare_scalars(a, b)),
    };
    Some(match op {
        BinOp::Eq => order == Some(Ordering::Equal),
        BinOp::Ne => order != Some(Ordering::Equal),
        BinOp::Lt => order == Some(Ordering::Less),
        BinOp::Le => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        BinOp::Gt => order == Some(Ordering::Greater),
        BinOp::Ge => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        _ => return None,
    })
}

fn float_binary(op: BinOp, a: f64, b: f64) -> f64 {
    match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a * b,
        BinOp::Div => a / b,
        BinOp::Rem => a % b,
        BinOp::Pow => libm::pow(a, b),
        BinOp::Atan2 => libm::atan2(a, b),
        BinOp::Hypot => libm::hypot(a, b),
        BinOp::Min | BinOp::Max if a.is_nan() => a,
        BinOp::Min | BinOp::Max if b.is_nan() => b,
        BinOp::Min => {
            if a.total_cmp(&b).is_le() {
                a
            } else {
                b
            }
        }
        BinOp::Max => {
            if a.total_cmp(&b).is_ge() {
                a
            } else {
                b
            }
        }
        // The others do not take floats, or are comparisons.
        _ => a,
    }
}

fn int_binary(op: BinOp, a: i128, b: i128, bits: u32) -> Result<i128, Fault> {
    // Both are within 64 bits, so none of these overflows except the product of two u64, which wraps as intended.
    let shift = b as u32 & (bits - 1);
    Ok(match op {
        BinOp::Add => a + b,
        BinOp::Sub => a - b,
        BinOp::Mul => a.wrapping_mul(b),
        BinOp::AddSat => a + b,
        BinOp::MulSat => a.saturating_mul(b),
        BinOp::Div | BinOp::Rem if b == 0 => return Err(Fault::DivideByZero),
        BinOp::Div => a / b,
        BinOp::Rem => a % b,
        BinOp::Pow if b < 0 => return Err(Fault::NegativeExponent),
        BinOp::Pow => power(a, b),
        BinOp::Min => a.min(b),
        BinOp::Max => a.max(b),
        BinOp::And => a & b,
        BinOp::Or => a | b,
        BinOp::Xor => a ^ b,
        BinOp::Shl => a << shift,
        BinOp::Shr => a >> shift,
        _ => return Err(Fault::IllTyped),
    })
}

/// By squaring, modulo 2¹²⁸, and therefore correct in all lower bits.
fn power(mut base: i128, mut exponent: i128) -> i128 {
    let mut product = 1i128;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product = product.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    product
}

/// The order of `sort`: floats by value with -0.0 below 0.0 and every NaN last, `false` below `true`.
pub fn compare_scalars(a: Scalar, b: Scalar) -> Ordering {
    match (a.as_float(), b.as_float()) {
        (Some(a), Some(b)) => match (a.is_nan(), b.is_nan()) {
            (false, false) => a.total_cmp(&b),
            (x, y) => x.cmp(&y),
        },
        _ => a.as_int().cmp(&b.as_int()).then(a.as_bool().cmp(&b.as_bool())),
    }
}

/// The order of `sort` for flat values: component by component.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Scalar(a), Value::Scalar(b)) => compare_scalars(*a, *b),
        _ => {
            let (a, b) = (a.parts().unwrap_or_default(), b.parts().unwrap_or_default());
            a.iter().zip(b).map(|(x, y)| compare(x, y)).find(|o| o.is_ne()).unwrap_or(Ordering::Equal)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Scalar::*;

    fn bin(op: BinOp, a: Scalar, b: Scalar) -> Scalar {
        binary(op, a, b).unwrap()
    }

    fn un(op: UnOp, a: Scalar) -> Scalar {
        unary(op, a).unwrap()
    }

    #[test]
    fn integers_wrap() {
        assert_eq!(bin(BinOp::Add, I8(127), I8(1)), I8(-128));
        assert_eq!(bin(BinOp::Sub, U8(0), U8(1)), U8(255));
        assert_eq!(bin(BinOp::Mul, U64(u64::MAX), U64(u64::MAX)), U64(1));
        assert_eq!(bin(BinOp::Mul, I64(i64::MIN), I64(-1)), I64(i64::MIN));
        assert_eq!(bin(BinOp::Div, I64(i64::MIN), I64(-1)), I64(i64::MIN));
        assert_eq!(bin(BinOp::Rem, I64(i64::MIN), I64(-1)), I64(0));
        assert_eq!(un(UnOp::Neg, U16(1)), U16(65535));
        assert_eq!(un(UnOp::Abs, I8(-128)), I8(-128));
    }

    #[test]
    fn saturating_operators_stop_at_the_ends_of_the_range() {
        assert_eq!(bin(BinOp::AddSat, I64(i64::MAX), I64(1)), I64(i64::MAX));
        assert_eq!(bin(BinOp::AddSat, I8(-100), I8(-100)), I8(-128));
        assert_eq!(bin(BinOp::AddSat, U8(200), U8(100)), U8(255));
        assert_eq!(bin(BinOp::MulSat, I64(3), I64(6148914691236517206)), I64(i64::MAX));
        assert_eq!(bin(BinOp::MulSat, I64(i64::MIN), I64(2)), I64(i64::MIN));
        assert_eq!(bin(BinOp::MulSat, U64(u64::MAX), U64(u64::MAX)), U64(u64::MAX));
        assert_eq!(bin(BinOp::MulSat, I32(-7), I32(6)), I32(-42));
    }

    #[test]
    fn integer_division_truncates_and_faults_on_zero() {
        assert_eq!(bin(BinOp::Div, I64(-7), I64(2)), I64(-3));
        assert_eq!(bin(BinOp::Rem, I64(-7), I64(2)), I64(-1));
        assert_eq!(binary(BinOp::Div, I32(1), I32(0)), Err(Fault::DivideByZero));
        assert_eq!(binary(BinOp::Rem, U8(1), U8(0)), Err(Fault::DivideByZero));
        assert_eq!(bin(BinOp::Div, F64(1.0), F64(0.0)), F64(f64::INFINITY));
        assert_eq!(bin(BinOp::Rem, F64(-7.5), F64(2.0)), F64(-1.5));
    }

    #[test]
    fn powers() {
        assert_eq!(bin(BinOp::Pow, I64(3), I64(4)), I64(81));
        assert_eq!(bin(BinOp::Pow, U8(3), U8(200)), U8(3u8.wrapping_pow(200)));
        assert_eq!(bin(BinOp::Pow, I64(0), I64(0)), I64(1));
        assert_eq!(binary(BinOp::Pow, I64(2), I64(-1)), Err(Fault::NegativeExponent));
        assert_eq!(bin(BinOp::Pow, F64(2.0), F64(-1.0)), F64(0.5));
        assert_eq!(
            bin(BinOp::Pow, U64(7), U64(u64::MAX)),
            U64(7u64
                .wrapping_pow(u32::MAX)
                .wrapping_pow(1 << 16)
                .wrapping_pow(1 << 16)
                .wrapping_mul(7u64.wrapping_pow(u32::MAX)))
        );
    }

    #[test]
    fn extremes_propagate_nan_and_order_zeros() {
        assert!(bin(BinOp::Min, F64(f64::NAN), F64(1.0)).as_float().unwrap().is_nan());
        assert!(bin(BinOp::Max, F64(1.0), F64(f64::NAN)).as_float().unwrap().is_nan());
        assert_eq!(bin(BinOp::Min, F64(0.0), F64(-0.0)), F64(-0.0));
        assert_eq!(bin(BinOp::Max, F32(-0.0), F32(0.0)), F32(0.0));
        assert_eq!(bin(BinOp::Min, U64(3), U64(u64::MAX)), U64(3));
    }

    #[test]
    fn shifts_are_modulo_the_width() {
        assert_eq!(bin(BinOp::Shl, U8(1), U8(9)), U8(2));
        assert_eq!(bin(BinOp::Shr, I8(-128), I8(7)), I8(-1));
        assert_eq!(bin(BinOp::Shr, U8(128), U8(7)), U8(1));
        assert_eq!(bin(BinOp::Shl, I64(1), I64(-1)), I64(i64::MIN));
    }

    #[test]
    fn bits_are_counted_in_the_width_of_the_type() {
        assert_eq!(un(UnOp::Popcount, I8(-1)), I8(8));
        assert_eq!(un(UnOp::Clz, U16(1)), U16(15));
        assert_eq!(un(UnOp::Clz, I32(0)), I32(32));
        assert_eq!(un(UnOp::Ctz, I64(0)), I64(64));
        assert_eq!(un(UnOp::Ctz, I64(i64::MIN)), I64(63));
        assert_eq!(un(UnOp::Not, U8(1)), U8(254));
        assert_eq!(un(UnOp::Not, Bool(true)), Bool(false));
    }

    #[test]
    fn signs_keep_zeros_and_nan() {
        assert_eq!(un(UnOp::Sign, F64(-0.0)), F64(-0.0));
        assert_eq!(un(UnOp::Sign, F64(-3.5)), F64(-1.0));
        assert!(un(UnOp::Sign, F32(f32::NAN)).as_float().unwrap().is_nan());
        assert_eq!(un(UnOp::Sign, U8(9)), U8(1));
        assert_eq!(un(UnOp::Round, F64(-2.5)), F64(-3.0));
    }

    #[test]
    fn comparisons_are_ieee() {
        assert_eq!(bin(BinOp::Eq, F64(0.0), F64(-0.0)), Bool(true));
        assert_eq!(bin(BinOp::Ne, F64(f64::NAN), F64(f64::NAN)), Bool(true));
        assert_eq!(bin(BinOp::Le, F64(f64::NAN), F64(1.0)), Bool(false));
        assert_eq!(bin(BinOp::Lt, Bool(false), Bool(true)), Bool(true));
        assert_eq!(bin(BinOp::Ge, U64(u64::MAX), U64(1)), Bool(true));
    }

    #[test]
    fn sorting_puts_nan_last() {
        let mut v = [F64(f64::NAN), F64(1.0), F64(0.0), F64(-f64::NAN), F64(-0.0), F64(f64::INFINITY)];
        v.sort_by(|a, b| compare_scalars(*a, *b));
        assert_eq!(v[..4], [F64(-0.0), F64(0.0), F64(1.0), F64(f64::INFINITY)]);
        assert_eq!(compare_scalars(F64(f64::NAN), F64(-f64::NAN)), Ordering::Equal);
        let pair = |a: i64, b: bool| Value::tuple(vec![Value::int(a), Value::bool(b)]);
        assert_eq!(compare(&pair(1, true), &pair(1, false)), Ordering::Greater);
        assert_eq!(compare(&pair(0, true), &pair(1, false)), Ordering::Less);
    }

    #[test]
    fn single_precision_rounds_once() {
        assert_eq!(bin(BinOp::Add, F32(1.0), F32(1e-8)), F32(1.0));
        assert_eq!(un(UnOp::Sqrt, F32(2.0)), F32(2f32.sqrt()));
        assert_eq!(un(UnOp::Exp, F32(1.0)), F32(std::f64::consts::E as f32));
    }
}
