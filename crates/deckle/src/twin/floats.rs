//! Methods of floats, with the meaning that they have in Rust.

use super::arithmetic::{binary, unary};
use super::methods::{number, pick};
use crate::elt::Float;
use crate::exp::Exp;
use crate::trace::{apply, constant_of};
use deckle_ir::array::{BinOp, Op, UnOp};
use deckle_ir::scalar::Scalar;

macro_rules! functions {
    ($($name:ident $op:ident;)*) => {$(
        /// The method of this name.
        #[track_caller]
        pub fn $name<T: Float>(x: Exp<T>) -> Exp<T> {
            unary(UnOp::$op, x)
        }
    )*};
}

functions! {
    sqrt Sqrt;
    cbrt Cbrt;
    exp Exp;
    exp2 Exp2;
    exp_m1 Expm1;
    ln Log;
    log2 Log2;
    log10 Log10;
    ln_1p Log1p;
    sin Sin;
    cos Cos;
    tan Tan;
    asin Asin;
    acos Acos;
    atan Atan;
    sinh Sinh;
    cosh Cosh;
    tanh Tanh;
    floor Floor;
    ceil Ceil;
    round Round;
    trunc Trunc;
}

#[track_caller]
pub(super) fn real<T: Float>(x: f64) -> Exp<T> {
    Exp::from_raw_elt(apply(Op::Const(Scalar::F64(x).cast(T::TYPE)), &[]))
}

/// `x.atan2(y)`
#[track_caller]
pub fn atan2<T: Float>(y: Exp<T>, x: Exp<T>) -> Exp<T> {
    binary(BinOp::Atan2, y, x)
}

/// `x.hypot(y)`
#[track_caller]
pub fn hypot<T: Float>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
    binary(BinOp::Hypot, x, y)
}

/// `x.mul_add(y, z)`, rounded once.
#[track_caller]
pub fn mul_add<T: Float>(x: Exp<T>, y: Exp<T>, z: Exp<T>) -> Exp<T> {
    x.mul_add(y, z)
}

/// `x.powf(y)`
#[track_caller]
pub fn powf<T: Float>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
    binary(BinOp::Pow, x, y)
}

/// The greatest constant exponent for which products are written out, as Rust computes them.
const WRITTEN_OUT: i128 = 64;

/// `x.powi(n)`
#[track_caller]
pub fn powi<T: Float>(x: Exp<T>, n: Exp<i32>) -> Exp<T> {
    let known = constant_of(n.raw_elt()).and_then(Scalar::as_int).filter(|n| n.abs() <= WRITTEN_OUT);
    let Some(n) = known else { return powf(x, n.cast()) };
    let (mut rest, mut square, mut made) = (n.unsigned_abs(), x, None);
    while rest > 0 {
        if rest % 2 == 1 {
            made = Some(made.map_or(square, |made| made * square));
        }
        rest /= 2;
        if rest > 0 {
            square = square * square;
        }
    }
    let made = made.unwrap_or_else(|| number(1));
    if n < 0 { number::<T>(1) / made } else { made }
}

/// `x.log(base)`
#[track_caller]
pub fn log<T: Float>(x: Exp<T>, base: Exp<T>) -> Exp<T> {
    ln(x) / ln(base)
}

/// `x.recip()`
#[track_caller]
pub fn recip<T: Float>(x: Exp<T>) -> Exp<T> {
    number::<T>(1) / x
}

/// `x.fract()`
#[track_caller]
pub fn fract<T: Float>(x: Exp<T>) -> Exp<T> {
    x - trunc(x)
}

/// `x.sin_cos()`
#[track_caller]
pub fn sin_cos<T: Float>(x: Exp<T>) -> Exp<(T, T)> {
    super::tuple2(sin(x), cos(x))
}

/// `x.to_degrees()`
#[track_caller]
pub fn to_degrees<T: Float>(x: Exp<T>) -> Exp<T> {
    x * real::<T>(180.0 / std::f64::consts::PI)
}

/// `x.to_radians()`
#[track_caller]
pub fn to_radians<T: Float>(x: Exp<T>) -> Exp<T> {
    x * real::<T>(std::f64::consts::PI / 180.0)
}

/// `x.is_nan()`
#[track_caller]
pub fn is_nan<T: Float>(x: Exp<T>) -> Exp<bool> {
    unary(UnOp::IsNan, x)
}

/// `x.is_infinite()`
#[track_caller]
pub fn is_infinite<T: Float>(x: Exp<T>) -> Exp<bool> {
    super::eq(super::abs(x), real(f64::INFINITY))
}

/// `x.is_finite()`
#[track_caller]
pub fn is_finite<T: Float>(x: Exp<T>) -> Exp<bool> {
    super::lt(super::abs(x), real(f64::INFINITY))
}

/// Whether the sign is negative, also of a zero. A NaN has no sign here.
#[track_caller]
pub(super) fn negative_sign<T: crate::elt::Num>(x: Exp<T>) -> Exp<bool> {
    let zero = binary::<T, bool>(BinOp::Eq, x, number(0));
    let below = binary::<T, bool>(BinOp::Lt, binary(BinOp::Div, number(1), x), number(0));
    pick(zero, below, binary(BinOp::Lt, x, number(0)))
}

/// `x.is_sign_negative()`
#[track_caller]
pub fn is_sign_negative<T: Float>(x: Exp<T>) -> Exp<bool> {
    negative_sign(x)
}

/// `x.is_sign_positive()`
#[track_caller]
pub fn is_sign_positive<T: Float>(x: Exp<T>) -> Exp<bool> {
    super::not(negative_sign(x))
}

/// `x.copysign(y)`
#[track_caller]
pub fn copysign<T: Float>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
    let size = super::abs(x);
    pick(negative_sign(y), -size, size)
}
