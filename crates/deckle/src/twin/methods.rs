//! Methods of integers and of all numbers, with the meaning that they have in Rust.
//!
//! The macro finds them by name, so functions that floats and integers share (`min`, `abs`) dispatch on the type while tracing.

use super::arithmetic::{apply1, apply2, binary, convert, ordered, unary};
use super::{Castable, cast, lit};
use crate::control::select;
use crate::elt::{Int, Num, Scalars};
use crate::exp::Exp;
use crate::trace::{Raw, apply, constant_of};
use deckle_ir::array::{BinOp, Op, UnOp};
use deckle_ir::scalar::{Scalar, ScalarType};

#[track_caller]
pub(super) fn number<T: Scalars>(x: i128) -> Exp<T> {
    let scalar = Scalar::wrap_int(T::TYPE, x).or_else(|| Scalar::float(T::TYPE, x as f64));
    Exp::from_raw_elt(apply(Op::Const(scalar.unwrap_or(Scalar::zero(T::TYPE))), &[]))
}

pub(super) fn is_float<T: Scalars>() -> bool {
    T::TYPE.is_float()
}

#[track_caller]
pub(super) fn pick<T: Scalars>(c: Exp<bool>, a: Exp<T>, b: Exp<T>) -> Exp<T> {
    match constant_of(c.raw_elt()).and_then(Scalar::as_bool) {
        Some(true) => a,
        Some(false) => b,
        None => select(c, a, b),
    }
}

/// `x.min(y)`: of floats, the other operand if one is NaN.
#[track_caller]
pub fn min<T: Num>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
    extreme(BinOp::Min, x, y)
}

/// `x.max(y)`
#[track_caller]
pub fn max<T: Num>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
    extreme(BinOp::Max, x, y)
}

#[track_caller]
fn extreme<T: Num>(op: BinOp, x: Exp<T>, y: Exp<T>) -> Exp<T> {
    let made = ordered(op, x, y);
    match is_float::<T>() {
        false => made,
        true => {
            let is_nan = |v: Exp<T>| constant_of(v.raw_elt()).and_then(Scalar::as_float).is_some_and(|v| !v.is_nan());
            let made = if is_nan(y) { made } else { pick(unary(UnOp::IsNan, y), x, made) };
            if is_nan(x) { made } else { pick(unary(UnOp::IsNan, x), y, made) }
        }
    }
}

/// `x.clamp(lo, hi)`: NaN stays.
#[track_caller]
pub fn clamp<T: Num>(x: Exp<T>, lo: Exp<T>, hi: Exp<T>) -> Exp<T> {
    let above = pick(ordered(BinOp::Gt, x, hi), hi, x);
    pick(ordered(BinOp::Lt, x, lo), lo, above)
}

/// `x.abs()`
#[track_caller]
pub fn abs<T: Num>(x: Exp<T>) -> Exp<T> {
    unary(UnOp::Abs, x)
}

/// `x.signum()`: of a float, 1 or -1 with its sign, also of zeros.
#[track_caller]
pub fn signum<T: Num>(x: Exp<T>) -> Exp<T> {
    match is_float::<T>() {
        false => unary(UnOp::Sign, x),
        true => {
            let one = pick(super::negative_sign(x), number(-1), number(1));
            pick(unary(UnOp::IsNan, x), x, one)
        }
    }
}

/// `x.is_negative()`
#[track_caller]
pub fn is_negative<T: Int>(x: Exp<T>) -> Exp<bool> {
    super::lt(x, number(0))
}

/// `x.is_positive()`
#[track_caller]
pub fn is_positive<T: Int>(x: Exp<T>) -> Exp<bool> {
    super::gt(x, number(0))
}

/// `x.rem_euclid(y)`
#[track_caller]
pub fn rem_euclid<T: Num>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
    let r = super::rem(x, y);
    if !T::TYPE.is_signed() && !is_float::<T>() || T::POSITION {
        return r;
    }
    pick(binary(BinOp::Lt, r, number(0)), binary(BinOp::Add, r, unary(UnOp::Abs, y)), r)
}

/// `x.div_euclid(y)`
#[track_caller]
pub fn div_euclid<T: Num>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
    let q = super::div(x, y);
    if !T::TYPE.is_signed() && !is_float::<T>() || T::POSITION {
        return q;
    }
    let q = if is_float::<T>() { unary(UnOp::Trunc, q) } else { q };
    let one = number::<T>(1);
    let lower = pick(binary(BinOp::Gt, y, number(0)), binary(BinOp::Sub, q, one), binary(BinOp::Add, q, one));
    pick(binary(BinOp::Lt, super::rem(x, y), number(0)), lower, q)
}

/// `x.pow(n)`, which wraps.
#[track_caller]
pub fn pow<T: Int>(x: Exp<T>, n: Exp<u32>) -> Exp<T> {
    // In 64 bits the exponent is positive, and the low bits of a product are those of its factors.
    let wide = apply2(BinOp::Pow, convert(x.raw_elt(), ScalarType::I64), convert(n.raw_elt(), ScalarType::I64));
    Exp::from_raw_elt(if T::TYPE == ScalarType::I64 { wide } else { convert(wide, T::TYPE) })
}

macro_rules! counts {
    ($($name:ident $op:ident $of:expr;)*) => {$(
        /// The method of this name.
        #[track_caller]
        pub fn $name<T: Int>(x: Exp<T>) -> Exp<u32> {
            let x: Raw = ($of)(x.raw_elt());
            Exp::from_raw_elt(convert(apply1(UnOp::$op, x), ScalarType::U32))
        }
    )*};
}

counts! {
    count_ones Popcount |x| x;
    count_zeros Popcount |x| apply1(UnOp::Not, x);
    leading_zeros Clz |x| x;
    leading_ones Clz |x| apply1(UnOp::Not, x);
    trailing_zeros Ctz |x| x;
    trailing_ones Ctz |x| apply1(UnOp::Not, x);
}

/// `x.is_power_of_two()`
#[track_caller]
pub fn is_power_of_two<T: Int>(x: Exp<T>) -> Exp<bool> {
    super::eq(count_ones(x), lit(1u32))
}

/// `x.is_multiple_of(y)`: of zero, zero only.
#[track_caller]
pub fn is_multiple_of<T: Int>(x: Exp<T>, y: Exp<T>) -> Exp<bool> {
    let none = super::eq(y, number(0));
    let rest = super::rem(x, pick(none, number(1), y));
    super::eq(pick(none, x, rest), number(0))
}

/// An integer whose bits can be counted on to wrap: all but `usize`, which is a position.
#[diagnostic::on_unimplemented(
    message = "in a kernel a `{Self}` is a position and does not wrap",
    label = "use `u64`, or `isize` and a comparison with 0"
)]
pub trait Wraps: Int {
    /// The unsigned integer of the same width.
    type Unsigned: Int;
}

macro_rules! wraps {
    ($($t:ty: $unsigned:ty;)*) => {$(impl Wraps for $t { type Unsigned = $unsigned; })*};
}

wraps! { i8: u8; i16: u16; i32: u32; i64: u64; u8: u8; u16: u16; u32: u32; u64: u64; isize: u64; }

/// `x.wrapping_neg()`
#[track_caller]
pub fn wrapping_neg<T: Wraps>(x: Exp<T>) -> Exp<T> {
    unary(UnOp::Neg, x)
}

macro_rules! wrapping {
    ($($name:ident $op:ident;)*) => {$(
        /// The method of this name.
        #[track_caller]
        pub fn $name<T: Wraps>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
            binary(BinOp::$op, x, y)
        }
    )*};
}

wrapping! {
    wrapping_add Add;
    wrapping_sub Sub;
    wrapping_mul Mul;
    wrapping_div Div;
    wrapping_rem Rem;
}

/// `x.wrapping_shl(n)`
#[track_caller]
pub fn wrapping_shl<T: Int>(x: Exp<T>, n: Exp<u32>) -> Exp<T> {
    super::shl(x, n)
}

/// `x.wrapping_shr(n)`
#[track_caller]
pub fn wrapping_shr<T: Int>(x: Exp<T>, n: Exp<u32>) -> Exp<T> {
    super::shr(x, n)
}

/// `x.wrapping_abs()`
#[track_caller]
pub fn wrapping_abs<T: Wraps>(x: Exp<T>) -> Exp<T> {
    abs(x)
}

/// `x.unsigned_abs()`
#[track_caller]
pub fn unsigned_abs<T: Wraps + Castable>(x: Exp<T>) -> Exp<T::Unsigned> {
    cast(abs(x))
}

/// `x.abs_diff(y)`
#[track_caller]
pub fn abs_diff<T: Wraps + Castable>(x: Exp<T>, y: Exp<T>) -> Exp<T::Unsigned> {
    cast(super::sub(max(x, y), min(x, y)))
}

#[track_caller]
fn rotate<T: Wraps>(x: Exp<T>, left: Raw, right: Raw) -> Exp<T> {
    let unsigned = <T::Unsigned as Scalars>::TYPE;
    let bits = convert(x.raw_elt(), unsigned);
    let (left, right) = (convert(left, unsigned), convert(right, unsigned));
    let both = apply2(BinOp::Or, apply2(BinOp::Shl, bits, left), apply2(BinOp::Shr, bits, right));
    Exp::from_raw_elt(convert(both, T::TYPE))
}

/// `x.rotate_left(n)`: shift counts are modulo the width, so the other shift is by minus the count.
#[track_caller]
pub fn rotate_left<T: Wraps>(x: Exp<T>, n: Exp<u32>) -> Exp<T> {
    rotate(x, n.raw_elt(), apply1(UnOp::Neg, n.raw_elt()))
}

/// `x.rotate_right(n)`
#[track_caller]
pub fn rotate_right<T: Wraps>(x: Exp<T>, n: Exp<u32>) -> Exp<T> {
    rotate(x, apply1(UnOp::Neg, n.raw_elt()), n.raw_elt())
}

#[track_caller]
fn bounds<T: Int>() -> (Exp<T>, Exp<T>) {
    let (least, greatest) = if T::POSITION { (0, i128::from(i64::MAX)) } else { T::TYPE.int_range().unwrap_or((0, 0)) };
    (number(least), number(greatest))
}

#[track_caller]
fn bits<T: Int>(op: BinOp, x: Exp<T>, y: Exp<T>) -> Exp<T> {
    binary(op, x, y)
}

/// `x.saturating_add(y)`
#[track_caller]
pub fn saturating_add<T: Int>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
    let (least, greatest) = bounds::<T>();
    let sum = binary(BinOp::Add, x, y);
    if !T::TYPE.is_signed() || T::POSITION {
        return pick(binary(BinOp::Lt, sum, x), greatest, sum);
    }
    let end = pick(binary(BinOp::Lt, y, number(0)), least, greatest);
    let over = bits(BinOp::And, bits(BinOp::Xor, sum, x), bits(BinOp::Xor, sum, y));
    pick(binary(BinOp::Lt, over, number(0)), end, sum)
}

/// `x.saturating_sub(y)`
#[track_caller]
pub fn saturating_sub<T: Int>(x: Exp<T>, y: Exp<T>) -> Exp<T> {
    let (least, greatest) = bounds::<T>();
    let difference = binary(BinOp::Sub, x, y);
    if !T::TYPE.is_signed() || T::POSITION {
        return pick(super::lt(x, y), least, difference);
    }
    let end = pick(binary(BinOp::Lt, y, number(0)), greatest, least);
    let over = bits(BinOp::And, bits(BinOp::Xor, x, y), bits(BinOp::Xor, difference, x));
    pick(binary(BinOp::Lt, over, number(0)), end, difference)
}
