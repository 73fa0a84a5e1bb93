//! Cube root, one over the square root, and hypotenuse.

use super::arith::Arith;
use super::format::{Format, polynomial, power_of_two, to_int, two, unusual};

/// One over the square root, within 1.1 units in the last place: neither the root nor the quotient is computed.
///
/// Half the exponent, negated, is a first guess, off by 3.5 %. With `e = 1 - x y²` the value sought is `y (1 - e)^(-1/2)`; two steps with the first terms of
/// that series are sufficient. Zeros, infinities, NaN, negative and subnormal numbers are computed by root and division.
#[inline(always)]
pub fn rsqrt<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (guess, double) = if W::MANTISSA < 30 { (0x5f37_59df, false) } else { (0x5fe6_eb50_c7b5_37a9, true) };
    let bits = a.bits_of(x);
    let half = a.lshr(bits, 1);
    let guess = a.i(guess);
    let first = a.sub_i(guess, half);
    let mut y = a.of_bits(first);
    let (one, by_1, by_2, by_3) = (a.f(1.0), a.f(0.5), a.f(0.375), a.f(0.3125));
    for _ in 0..2 {
        let xy = a.mul(x, y);
        let e = a.fnma(xy, y, one);
        let series = if double { a.fma(e, by_3, by_2) } else { by_2 };
        let series = a.fma(e, series, by_1);
        let step = a.mul(y, e);
        y = a.fma(step, series, y);
    }
    let rare = unusual::<W, A>(a, x);
    let [y] = a.if_any(rare, [y], |a| {
        let root = a.sqrt(x);
        [a.div(one, root)]
    });
    y
}

/// The cube root.
///
/// |x| = 8^k m with m from 1 to 8. `r = m^(-1/3)` from a polynomial, one step of third order, then `m r²`, corrected by its
/// own error.
#[inline(always)]
pub fn cbrt<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let size = a.abs(x);
    let (zero, one, two_, infinity) = (a.f(0.0), a.f(1.0), a.f(2.0), a.f(f64::INFINITY));
    // Subnormal numbers are scaled by a power of eight.
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

/// √(x² + y²) without overflow; infinite if either is, even if the other is NaN.
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

#[cfg(test)]
mod tests {
    use super::super::{F32, F64, Native32, Native64};
    use super::rsqrt;

    #[test]
    fn one_over_the_square_root_of_singles() {
        let mut worst = 0f64;
        for k in 0..4_000_000u32 {
            let x = f32::from_bits(0x0080_0000 + (k.wrapping_mul(2_654_435_761) % (0x7f80_0000 - 0x0080_0000)));
            let y = rsqrt::<F32, _>(&mut Native32, x);
            let exact = 1.0 / f64::from(x).sqrt();
            let unit = f64::from(f32::from_bits((exact as f32).to_bits() + 1)) - f64::from(exact as f32);
            worst = worst.max((f64::from(y) - exact).abs() / unit);
        }
        assert!(worst < 1.1, "{worst}");
    }

    #[test]
    fn one_over_the_square_root_of_doubles() {
        let mut worst = 0f64;
        for k in 0..4_000_000u64 {
            let x =
                f64::from_bits(0x0010_0000_0000_0000 + (k.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 0x7fe0_0000_0000_0000));
            let y = rsqrt::<F64, _>(&mut Native64, x);
            // x y² - 1 without losing digits, of numbers near 1: twice the relative error.
            let scale = 2f64.powi(-(y.log2().floor() as i32));
            let (x, y) = (x / scale / scale, y * scale);
            let (square, low) = (y * y, y.mul_add(y, -(y * y)));
            let error = x.mul_add(square, -1.0) + x * low;
            worst = worst.max((error / 2.0 / f64::EPSILON * y).abs());
        }
        assert!(worst < 1.1, "{worst}");
    }

    #[test]
    fn one_over_the_square_root_of_what_is_rare() {
        let wide =
            [0.0, -0.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 5e-324, 1e-310, f64::MAX, f64::MIN_POSITIVE];
        for x in wide {
            let (y, exact) = (rsqrt::<F64, _>(&mut Native64, x), 1.0 / x.sqrt());
            assert!(y == exact || y.is_nan() && exact.is_nan() || (y / exact - 1.0).abs() < 3e-16, "{x}: {y}");
        }
        for x in wide.map(|x| x as f32).into_iter().chain([1e-45, 1e-40, f32::MAX, f32::MIN_POSITIVE]) {
            let (y, exact) = (rsqrt::<F32, _>(&mut Native32, x), 1.0 / x.sqrt());
            assert!(y == exact || y.is_nan() && exact.is_nan() || (y / exact - 1.0).abs() < 2e-7, "{x}: {y}");
        }
    }
}
