//! Powers: `e^(y log|x|)`, with the logarithm as a sum of two numbers.
//!
//! The exponent may be in the hundreds, and its absolute error is the result's relative one; so the logarithm needs
//! about eleven bits (f64) or eight (f32) beyond the format's. It is `2 atanh(s)` for `s = f/(2 + f)`, whose series needs
//! only its first two terms in double length.

use super::arith::Arith;
use super::exp::{exp_sum, limits};
use super::format::{Format, polynomial, unusual};
use super::log::{Split, split};

/// log(x) for a positive finite x, as a sum of two.
#[inline(always)]
fn log_sum<W: Format, A: Arith>(a: &mut A, x: A::F) -> (A::F, A::F) {
    let unusual = unusual::<W, A>(a, x);
    let Split { f, k, .. } = split::<W, A>(a, x, Some(unusual));
    let (one, two) = (a.f(1.0), a.f(2.0));
    // s = f / (2 + f)
    let under = a.add(f, two);
    let back = a.sub(under, two);
    let off = a.sub(f, back);
    let inverse = a.div(one, under);
    let s = a.mul(f, inverse);
    let rest = a.fnma(s, under, f);
    let rest = a.fnma(s, off, rest);
    let s_low = a.mul(rest, inverse);
    // z = s²
    let z = a.mul(s, s);
    let twice = a.add(s, s);
    let z_low = a.fms(s, s, z);
    let z_low = a.fma(twice, s_low, z_low);
    // t = ⅔ + z p(z)
    let p = polynomial(a, z, W::LOG_S);
    let p = a.mul(z, p);
    let (thirds, thirds_low) = (a.f(W::TWO_THIRDS.0), a.f(W::TWO_THIRDS.1));
    let t = a.add(thirds, p);
    let t_low = a.sub(thirds, t);
    let t_low = a.add(t_low, p);
    let t_low = a.add(t_low, thirds_low);
    let w = product(a, (z, z_low), (t, t_low));
    let v = product(a, (s, s_low), w);
    // 2s + v, and k ln 2
    let m = a.add(twice, v.0);
    let m_low = a.sub(twice, m);
    let m_low = a.add(m_low, v.0);
    let rest = a.fma(two, s_low, v.1);
    let m_low = a.add(m_low, rest);
    let (ln2, ln2_low) = (a.f(W::LN2_SHORT.0), a.f(W::LN2_SHORT.1));
    let sum = a.fma(k, ln2, m);
    let low = a.fms(k, ln2, sum);
    let low = a.add(low, m);
    let m_low = a.fma(k, ln2_low, m_low);
    let low = a.add(low, m_low);
    let high = a.add(sum, low);
    let rest = a.sub(sum, high);
    let low = a.add(rest, low);
    (high, low)
}

#[inline(always)]
fn product<A: Arith>(a: &mut A, x: (A::F, A::F), y: (A::F, A::F)) -> (A::F, A::F) {
    let high = a.mul(x.0, y.0);
    let low = a.fms(x.0, y.0, high);
    let low = a.fma(x.0, y.1, low);
    let low = a.fma(x.1, y.0, low);
    (high, low)
}

/// x to the power y, with the special cases of IEEE 754.
#[inline(always)]
pub fn pow<W: Format, A: Arith>(a: &mut A, x: A::F, y: A::F) -> A::F {
    let (zero, one, half) = (a.f(0.0), a.f(1.0), a.f(0.5));
    let (infinity, minus_infinity) = (a.f(f64::INFINITY), a.f(f64::NEG_INFINITY));
    let size = a.abs(x);
    let (log, log_low) = log_sum::<W, A>(a, size);
    // At zero, infinity and NaN the logarithm is a special value, and exact.
    let finite = a.lt(size, infinity);
    let log = a.select(finite, log, size);
    let is_zero = a.eq(size, zero);
    let log = a.select(is_zero, minus_infinity, log);
    // An infinite power is equivalent to a very large one, and its product with zero is not NaN.
    let greatest = if W::MANTISSA == 52 { f64::MAX } else { f32::MAX as f64 };
    let (least, most) = (a.f(-greatest), a.f(greatest));
    let bounded = a.max(least, y);
    let bounded = a.min(most, bounded);
    let exponent = a.mul(bounded, log);
    let low = a.fms(bounded, log, exponent);
    let low = a.fma(bounded, log_low, low);
    // Beyond the range of results the low part may be NaN, and is ignored.
    let (under, over) = limits::<W>();
    let (under, over) = (a.f(under), a.f(over));
    let above = a.lt(under, exponent);
    let below = a.lt(exponent, over);
    let within = a.and_m(above, below);
    let low = a.select(within, low, zero);
    let magnitude = exp_sum::<W, A>(a, exponent, low, None);
    // The sign, and NaN for a fractional power of a negative number.
    let nearest = a.rint(y);
    let whole = a.eq(nearest, y);
    let halved = a.mul(y, half);
    let nearest = a.rint(halved);
    let even = a.eq(nearest, halved);
    let signed = a.copysign(magnitude, x);
    let power = a.select(even, magnitude, signed);
    let power = a.select(whole, power, magnitude);
    let negative = a.lt(x, zero);
    let negative = a.and_m(negative, finite);
    let broken = a.not_m(whole);
    let wrong = a.and_m(negative, broken);
    let nan = a.f(f64::NAN);
    let power = a.select(wrong, nan, power);
    let no_power = a.eq(y, zero);
    let of_one = a.eq(x, one);
    let trivial = a.or_m(no_power, of_one);
    a.select(trivial, one, power)
}
