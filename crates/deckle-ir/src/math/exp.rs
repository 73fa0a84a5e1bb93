//! Exponentials.
//!
//! x = n ln 2 + r with |r| ≤ ½ ln 2; exp(r) is a polynomial, and 2^n is made from the bits of n.

use super::arith::Arith;
use super::format::{Format, clamp, polynomial, power_of_two, rounder, to_int, two};

/// Arguments outside of which the exponential is zero or infinite.
pub(super) fn limits<W: Format>() -> (f64, f64) {
    let ln2 = std::f64::consts::LN_2;
    (-((W::BIAS + W::MANTISSA as i64 + 1) as f64) * ln2, (W::BIAS + 1) as f64 * ln2 + 0.25)
}

/// `y * 2^n` for `shifted = rounder + n`, rounded once, also if that is subnormal or overflows; 2^-8 < y < 2.
#[inline(always)]
pub(super) fn scale<W: Format, A: Arith>(a: &mut A, y: A::F, shifted: A::F) -> A::F {
    // Two factors: the first is always a normal number and the first product exact.
    let by = 2 * W::MANTISSA as i64;
    let edge = a.f(rounder::<W>() - (W::BIAS - 10) as f64);
    let low = a.lt(shifted, edge);
    let bits = a.bits_of(shifted);
    let exponent = a.shl(bits, W::MANTISSA);
    let (raised, lowered) = (a.i((W::BIAS + by) << W::MANTISSA), a.i((W::BIAS - 1) << W::MANTISSA));
    let bias = a.select_i(low, raised, lowered);
    let bits = a.add_i(exponent, bias);
    let first = a.of_bits(bits);
    let (small, double) = (a.f(two(-by)), a.f(2.0));
    let second = a.select(low, small, double);
    let y = a.mul(y, first);
    a.mul(y, second)
}

/// The remainder of x after subtracting the nearest multiple of ln 2.
pub(super) struct Reduced<F> {
    /// rounder + n
    pub shifted: F,
    /// The remainder r,
    pub r: F,
    /// and its rounding error.
    pub low: F,
}

#[inline(always)]
pub(super) fn reduce<W: Format, A: Arith>(a: &mut A, x: A::F) -> Reduced<A::F> {
    let (shifted, n) = to_int::<W, A>(a, x, W::LOG2_E);
    let (high, low) = (a.f(W::LN2.0), a.f(W::LN2.1));
    // Exact: a multiple of the last place of ln 2, and below 1/2.
    let r0 = a.fnma(n, high, x);
    let r = a.fnma(n, low, r0);
    let lost = a.sub(r0, r);
    let low = a.fnma(n, low, lost);
    Reduced { shifted, r, low }
}

/// x = n ln 2 + r: rounder + n, and exp(r) - 1 = `r + r² q`.
///
/// r is a difference `r0 - small` whose first part is exact. The polynomial uses the rounded r, the sum uses the parts.
#[inline(always)]
pub(super) fn exp_rest<W: Format, A: Arith>(a: &mut A, x: A::F) -> (A::F, A::F) {
    let (shifted, n) = to_int::<W, A>(a, x, W::LOG2_E);
    let (high, low) = (a.f(W::LN2.0), a.f(W::LN2.1));
    let r0 = a.fnma(n, high, x);
    let small = a.mul(n, low);
    let r = a.sub(r0, small);
    let q = polynomial(a, r, W::EXP);
    let square = a.mul(r, r);
    let tail = a.fms(square, q, small);
    (shifted, a.add(r0, tail))
}

/// exp(r + low) - 1 for a reduced r.
#[inline(always)]
fn near_zero<W: Format, A: Arith>(a: &mut A, r: A::F, low: A::F) -> A::F {
    let q = polynomial(a, r, W::EXP);
    let square = a.mul(r, r);
    let y = a.fma(square, q, r);
    // low times exp(r), which is not quite 1
    let low = a.fma(low, y, low);
    let tail = a.fma(square, q, low);
    a.add(r, tail)
}

/// e^x
#[inline(always)]
pub fn exp<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (least, most) = limits::<W>();
    let x = clamp(a, x, least, most);
    let (shifted, y) = exp_rest::<W, A>(a, x);
    let one = a.f(1.0);
    let y = a.add(one, y);
    scale::<W, A>(a, y, shifted)
}

/// `factor * e^(x + low)`, for a `low` that is small compared to 1 and does not affect overflow, and 2^-7 < factor < 1.4.
#[inline(always)]
pub(super) fn exp_sum<W: Format, A: Arith>(a: &mut A, x: A::F, low: A::F, factor: Option<A::F>) -> A::F {
    let (least, most) = limits::<W>();
    let x = clamp(a, x, least, most);
    let reduced = reduce::<W, A>(a, x);
    let low = a.add(reduced.low, low);
    let y = near_zero::<W, A>(a, reduced.r, low);
    let one = a.f(1.0);
    let y = match factor {
        None => a.add(one, y),
        Some(factor) => a.fma(factor, y, factor),
    };
    scale::<W, A>(a, y, reduced.shifted)
}

/// e^x if the result is known to be a normal number.
#[inline(always)]
pub(super) fn exp_normal<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (shifted, y) = exp_rest::<W, A>(a, x);
    let power = power_of_two::<W, A>(a, shifted, 0);
    a.fma(power, y, power)
}

/// 2^x
#[inline(always)]
pub fn exp2<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let x = clamp(a, x, -((W::BIAS + W::MANTISSA as i64 + 1) as f64), (W::BIAS + 2) as f64);
    let (shifted, n) = to_int::<W, A>(a, x, 1.0);
    let rest = a.sub(x, n);
    let (ln2, ln2_low) = (a.f(W::LN2.0), a.f(W::LN2.1));
    let r = a.mul(rest, ln2);
    let low = a.fms(rest, ln2, r);
    let low = a.fma(rest, ln2_low, low);
    let q = polynomial(a, r, W::EXP);
    let square = a.mul(r, r);
    let tail = a.fma(square, q, low);
    let y = a.add(r, tail);
    let one = a.f(1.0);
    let y = a.add(one, y);
    scale::<W, A>(a, y, shifted)
}

/// e^x - 1
#[inline(always)]
pub fn expm1<W: Format, A: Arith>(a: &mut A, x0: A::F) -> A::F {
    let (_, most) = limits::<W>();
    let x = clamp(a, x0, -((W::MANTISSA + 4) as f64) * std::f64::consts::LN_2, most);
    let Reduced { shifted, r, low } = reduce::<W, A>(a, x);
    let q = polynomial(a, r, W::EXPM1);
    let square = a.mul(r, r);
    let tail = a.fma(square, q, low);
    // All halved: 2^n may overflow even if the result does not.
    let power = power_of_two::<W, A>(a, shifted, -1);
    let half = a.f(0.5);
    let base = a.sub(power, half);
    let high = a.fma(power, r, base);
    let lost = a.sub(base, high);
    let lost = a.fma(power, r, lost);
    let low = a.fma(power, tail, lost);
    let y = a.add(high, low);
    let y = a.add(y, y);
    // Tiny arguments are their own result: halving would lose their last bit, and adding the sign of a zero.
    let size = a.abs(x0);
    let tiny = a.f(two(-(W::MANTISSA as i64) - 3));
    let tiny = a.lt(size, tiny);
    a.select(tiny, x0, y)
}
