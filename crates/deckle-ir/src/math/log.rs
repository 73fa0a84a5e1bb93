//! Logarithms.
//!
//! x = 2^k m with m from √½ to √2, and f = m - 1. With s = f / (2 + f), log(m) is 2 atanh(s), whose series has only odd terms: that justifies
//! a division. For other bases log(m) is needed to more digits than a number has, and is `f - f²/2 + f³ p(f)`: the first
//! two terms are represented as a sum of two numbers, so that their rounding does not affect the result.

use super::arith::Arith;
use super::format::{Format, polynomial, two, unusual};

/// x = 2^k (1 + f), for a positive finite x.
pub(super) struct Split<F, I> {
    pub f: F,
    pub k: F,
    /// k's power of two, as the exponent field in a number's bits, with the bias added.
    pub exponent: I,
}

/// √½ in the bits of the format.
fn root_half<W: Format>() -> i64 {
    if W::MANTISSA == 52 { 0.5f64.sqrt().to_bits() as i64 } else { 0.5f32.sqrt().to_bits() as i64 }
}

/// Splits x. If it may be unusual, it may be subnormal.
#[inline(always)]
pub(super) fn split<W: Format, A: Arith>(a: &mut A, x: A::F, unusual: Option<A::M>) -> Split<A::F, A::I> {
    let lift = W::MANTISSA as i64 + 2;
    let point = two(W::MANTISSA as i64) + W::BIAS as f64;
    let mut zero = a.f(point);
    let mut x = x;
    if let Some(unusual) = unusual {
        [x, zero] = a.if_any(unusual, [x, zero], |a| {
            let least = a.f(two(1 - W::BIAS));
            let low = a.lt(x, least);
            let up = a.f(two(lift));
            let lifted = a.mul(x, up);
            let lowered = a.f(point + lift as f64);
            [a.select(low, lifted, x), a.select(low, lowered, zero)]
        });
    }
    let bits = a.bits_of(x);
    let offset = a.i(root_half::<W>() - W::ONE_BITS);
    let moved = a.sub_i(bits, offset);
    // The exponent as the last bits of 2^mantissa + exponent, from which it becomes a float.
    let exponent = a.lshr(moved, W::MANTISSA);
    let carrier = a.i((W::BIAS + W::MANTISSA as i64) << W::MANTISSA);
    let carried = a.or_i(exponent, carrier);
    let carried = a.of_bits(carried);
    let k = a.sub(carried, zero);
    let mask = a.i(W::MANTISSA_MASK);
    let mantissa = a.and_i(moved, mask);
    let exponent = a.sub_i(moved, mantissa);
    let base = a.i(root_half::<W>());
    let mantissa = a.add_i(mantissa, base);
    let m = a.of_bits(mantissa);
    let one = a.f(1.0);
    let f = a.sub(m, one);
    Split { f, k, exponent }
}

/// log(1 + f) as a sum of two numbers, the second much the smaller.
#[inline(always)]
fn log_of_mantissa<W: Format, A: Arith>(a: &mut A, f: A::F) -> (A::F, A::F) {
    let p = polynomial(a, f, W::LOG);
    let half = a.f(-0.5);
    let h = a.mul(f, half);
    let high = a.fma(h, f, f);
    let lost = a.sub(f, high);
    let lost = a.fma(h, f, lost);
    let square = a.mul(f, f);
    let cube = a.mul(square, f);
    let low = a.fma(cube, p, lost);
    (high, low)
}

/// `high + low + k * unit`, where k times the first part of `unit` is exact, and large compared to `high` unless zero.
#[inline(always)]
fn add_exponent<A: Arith>(a: &mut A, k: A::F, unit: (f64, f64), high: A::F, low: A::F) -> A::F {
    let (whole, rest) = (a.f(unit.0), a.f(unit.1));
    let sum = a.fma(k, whole, high);
    let lost = a.fms(k, whole, sum);
    let lost = a.add(lost, high);
    let low = if unit.1 == 0.0 { low } else { a.fma(k, rest, low) };
    let low = a.add(low, lost);
    a.add(sum, low)
}

/// Inserts the values of the logarithm at zero, below zero, at infinity and of NaN.
#[inline(always)]
fn at_the_edges<A: Arith>(a: &mut A, x: A::F, y: A::F, unusual: A::M) -> A::F {
    let [y] = a.if_any(unusual, [y], |a| {
        let (infinity, zero) = (a.f(f64::INFINITY), a.f(0.0));
        let finite = a.lt(x, infinity);
        let y = a.select(finite, y, x);
        let positive = a.lt(zero, x);
        let is_zero = a.eq(x, zero);
        let (pole, nan) = (a.f(f64::NEG_INFINITY), a.f(f64::NAN));
        let edge = a.select(is_zero, pole, nan);
        [a.select(positive, y, edge)]
    });
    y
}

/// The natural logarithm.
#[inline(always)]
pub fn log<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let unusual = unusual::<W, A>(a, x);
    let Split { f, k, .. } = split::<W, A>(a, x, Some(unusual));
    // log(1 + f) = f - f²/2 + s (f²/2 + r), where 2s + s r = 2 atanh(s)
    let (two, half, thirds) = (a.f(2.0), a.f(0.5), a.f(W::TWO_THIRDS.0));
    let under = a.add(f, two);
    let s = a.quotient(f, under);
    let z = a.mul(s, s);
    let p = polynomial(a, z, W::LOG_S);
    let p = a.fma(z, p, thirds);
    let h = a.mul(f, half);
    let square = a.mul(h, f);
    let sum = a.fma(z, p, square);
    let (ln2, ln2_low) = (a.f(W::LN2_SHORT.0), a.f(W::LN2_SHORT.1));
    let small = a.mul(k, ln2_low);
    let small = a.fma(s, sum, small);
    let less = a.fms(h, f, small);
    let less = a.sub(less, f);
    let y = a.fms(k, ln2, less);
    at_the_edges(a, x, y, unusual)
}

/// The logarithm to a base: `per` is 1/ln(base), and `unit` is the logarithm of 2.
#[inline(always)]
fn log_to_base<W: Format, A: Arith>(a: &mut A, x: A::F, per: (f64, f64), unit: (f64, f64)) -> A::F {
    let unusual = unusual::<W, A>(a, x);
    let Split { f, k, .. } = split::<W, A>(a, x, Some(unusual));
    let (high, low) = log_of_mantissa::<W, A>(a, f);
    let sum = a.add(high, low);
    let rest = a.sub(high, sum);
    let rest = a.add(rest, low);
    let (per_high, per_low) = (a.f(per.0), a.f(per.1));
    let product = a.mul(sum, per_high);
    let lost = a.fms(sum, per_high, product);
    let lost = a.fma(sum, per_low, lost);
    let lost = a.fma(rest, per_high, lost);
    let y = add_exponent(a, k, unit, product, lost);
    at_the_edges(a, x, y, unusual)
}

/// The logarithm to base 2.
#[inline(always)]
pub fn log2<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    log_to_base::<W, A>(a, x, W::PER_LN2, (1.0, 0.0))
}

/// The logarithm to base 10.
#[inline(always)]
pub fn log10<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    log_to_base::<W, A>(a, x, W::PER_LN10, W::LOG10_2_SHORT)
}

/// log(1 + x)
#[inline(always)]
pub fn log1p<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let one = a.f(1.0);
    let sum = a.add(one, x);
    let unusual = unusual::<W, A>(a, sum);
    let Split { k, exponent, .. } = split::<W, A>(a, sum, None);
    // f = (1 + x) 2^-k - 1 from x itself, not from the rounded sum. The power may be subnormal: four times it is not.
    let top = a.i(if W::MANTISSA == 52 { i64::MIN } else { i32::MIN as i64 });
    let bits = a.sub_i(top, exponent);
    let four_times = a.of_bits(bits);
    let quarter = a.f(0.25);
    let power = a.mul(four_times, quarter);
    let base = a.sub(power, one);
    let f = a.fma(x, power, base);
    let lost = a.sub(base, f);
    let lost = a.fma(x, power, lost);
    let (high, low) = log_of_mantissa::<W, A>(a, f);
    // The derivative 1/(1 + f), roughly.
    let slope = a.sub(one, f);
    let low = a.fma(lost, slope, low);
    let y = add_exponent(a, k, W::LN2_SHORT, high, low);
    let y = a.copysign(y, x);
    at_the_edges(a, sum, y, unusual)
}
