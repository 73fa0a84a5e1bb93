//! Cube root and hypotenuse.

use super::arith::Arith;
use super::format::{Format, polynomial, power_of_two, to_int, two};

/// The cube root.
///
/// |x| = 8^k m with m from 1 to 8. `r = m^(-1/3)` from a polynomial, one step of third order, then `m r²`, mended by its
/// own error.
#[inline(always)]
pub fn cbrt<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let size = a.abs(x);
    let (zero, one, two_, infinity) = (a.f(0.0), a.f(1.0), a.f(2.0), a.f(f64::INFINITY));
    // Subnormal numbers are lifted by a power of eight.
    let lift = (W::MANTISSA as i64 + 5) / 3 * 3;
    let (least, up) = (a.f(two(1 - W::BIAS)), a.f(two(lift)));
    let low = a.lt(size, least);
    let lifted = a.mul(size, up);
    let size = a.select(low, lifted, size);
    let point = two(W::MANTISSA as i64) + W::BIAS as f64;
    let (point, lowered) = (a.f(point), a.f(point + lift as f64));
    let point = a.select(low, lowered, point);
    let bits = a.bits_of(size);
    let exponent = a.lshr(bits, W::MANTISSA);
    let carrier = a.i((W::BIAS + W::MANTISSA as i64) << W::MANTISSA);
    let exponent = a.or_i(exponent, carrier);
    let exponent = a.of_bits(exponent);
    let exponent = a.sub(exponent, point);
    // k = the nearest integer to (exponent - 1)/3, which is the floor of exponent/3; the rest is 0, 1 or 2.
    let previous = a.sub(exponent, one);
    let (k_shifted, k) = to_int::<W, A>(a, previous, 1.0 / 3.0);
    let three = a.f(3.0);
    let rest = a.fnma(k, three, exponent);
    let (rest_shifted, _) = to_int::<W, A>(a, rest, 1.0);
    let mask = a.i(W::MANTISSA_MASK);
    let mantissa = a.and_i(bits, mask);
    let unit = a.i(W::ONE_BITS);
    let mantissa = a.or_i(mantissa, unit);
    let mantissa = a.of_bits(mantissa);
    let (once, twice) = (a.eq(rest, one), a.eq(rest, two_));
    let (half, quarter) = (a.f(W::CBRT_HALF), a.f(W::CBRT_QUARTER));
    let factor = a.select(once, half, one);
    let factor = a.select(twice, quarter, factor);
    let r = polynomial(a, mantissa, W::CBRT);
    let r = a.mul(r, factor);
    let power = power_of_two::<W, A>(a, rest_shifted, 0);
    let m = a.mul(mantissa, power);
    // h = 1 - m r³; r (1 + h/3 + 2h²/9)
    let square = a.mul(r, r);
    let mr = a.mul(m, r);
    let h = a.fnma(mr, square, one);
    let (third, two_ninths) = (a.f(1.0 / 3.0), a.f(2.0 / 9.0));
    let g = a.fma(h, two_ninths, third);
    let g = a.mul(g, h);
    let r = a.fma(r, g, r);
    let square = a.mul(r, r);
    let y = a.mul(m, square);
    let y2 = a.mul(y, y);
    let y2_low = a.fms(y, y, y2);
    let error = a.fnma(y2, y, m);
    let error = a.fnma(y2_low, y, error);
    let slope = a.mul(square, third);
    let y = a.fma(error, slope, y);
    let power = power_of_two::<W, A>(a, k_shifted, 0);
    let y = a.mul(y, power);
    let y = a.copysign(y, x);
    // Zeros, infinities and NaN are their own roots.
    let size = a.abs(x);
    let positive = a.lt(zero, size);
    let finite = a.lt(size, infinity);
    let ordinary = a.and_m(positive, finite);
    a.select(ordinary, y, x)
}

/// √(x² + y²) without overflow; infinite if either is, even beside NaN.
#[inline(always)]
pub fn hypot<W: Format, A: Arith>(a: &mut A, x: A::F, y: A::F) -> A::F {
    let (x, y) = (a.abs(x), a.abs(y));
    let steep = a.lt(x, y);
    let long = a.select(steep, y, x);
    let short = a.select(steep, x, y);
    // Scaled so that no square overflows or loses bits.
    let by = W::BIAS / 2 + W::MANTISSA as i64 + 2;
    let (huge, tiny) = (a.f(two(W::BIAS / 2 - 1)), a.f(two(-W::BIAS / 2 + W::MANTISSA as i64)));
    let (down, up, one) = (a.f(two(-by)), a.f(two(by)), a.f(1.0));
    let (is_huge, is_tiny) = (a.lt(huge, long), a.lt(long, tiny));
    let scale = a.select(is_huge, down, one);
    let scale = a.select(is_tiny, up, scale);
    let back = a.select(is_huge, up, one);
    let back = a.select(is_tiny, down, back);
    let long1 = a.mul(long, scale);
    let short1 = a.mul(short, scale);
    let square = a.mul(short1, short1);
    let sum = a.fma(long1, long1, square);
    let root = a.sqrt(sum);
    let y1 = a.mul(root, back);
    let infinity = a.f(f64::INFINITY);
    let (a1, a2) = (a.eq(x, infinity), a.eq(y, infinity));
    let infinite = a.or_m(a1, a2);
    a.select(infinite, infinity, y1)
}
