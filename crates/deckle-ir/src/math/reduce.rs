//! An angle as a quadrant and a remainder.
//!
//! x = n π/2 + r with |r| ≤ π/4. Up to `LARGE` π/2 is represented as a sum of three numbers (Cody and Waite). Beyond, x times 2/π
//! is computed from the digits of 2/π that are relevant to it (Payne and Hanek): the digits before them only add
//! multiples of four quadrants, those after them are too small to matter.

use super::arith::Arith;
use super::format::{Format, rounder, to_int, two};

/// `r + low`, and the quadrant.
pub(super) struct Angle<F> {
    /// rounder + n
    pub shifted: F,
    pub r: F,
    /// The rounding error of r, *with the opposite sign*, so that a negative zero keeps its sign below.
    pub lost: F,
}

/// The quadrant and the remainder of any angle; NaN if it is not finite.
#[inline(always)]
pub(super) fn angle<W: Format, A: Arith>(a: &mut A, x: A::F) -> Angle<A::F> {
    let (shifted, n) = to_int::<W, A>(a, x, W::TWO_PER_PI);
    let [first, second, third] = W::HALF_PI_PARTS.map(|part| a.f(part));
    // Exact: a multiple of the last place of π/2, and below 1. So is n times the second part.
    let r0 = a.fnma(n, first, x);
    let r = a.fnma(n, second, r0);
    let lost = a.sub(r, r0);
    let lost = a.fma(n, second, lost);
    let lost = a.fma(n, third, lost);
    let size = a.abs(x);
    let edge = a.f(W::LARGE);
    let moderate = a.lt(size, edge);
    let beyond = a.not_m(moderate);
    let [shifted, r, lost] = a.if_any(beyond, [shifted, r, lost], |a| large::<W, A>(a, x));
    Angle { shifted, r, lost }
}

/// The number of digits of 2/π (each a mantissa long) that are relevant to one argument.
const WINDOW: usize = 5;

#[inline(always)]
fn large<W: Format, A: Arith>(a: &mut A, x: A::F) -> [A::F; 3] {
    let digit_bits = W::MANTISSA as i64 + 1;
    let size = a.abs(x);
    let bits = a.bits_of(size);
    let exponent = a.lshr(bits, W::MANTISSA);
    let carrier = a.i((W::BIAS + W::MANTISSA as i64) << W::MANTISSA);
    let exponent = a.or_i(exponent, carrier);
    let exponent = a.of_bits(exponent);
    let point = a.f(two(W::MANTISSA as i64) + (W::BIAS + 1) as f64);
    let exponent = a.sub(exponent, point);
    // The first digit that does not only add multiples of four. A quotient of integers below 2^11: the half keeps
    // its floor exact.
    let (half, per_digit, one, zero) = (a.f(0.5), a.f(1.0 / digit_bits as f64), a.f(1.0), a.f(0.0));
    let place = a.add(exponent, half);
    let place = a.mul(place, per_digit);
    let place = a.floor(place);
    let place = a.sub(place, one);
    let place = a.max(place, zero);
    let digits = window::<W, A>(a, place);
    // x over 2^(bits of the omitted digits), so that all digits count as if the first were the first.
    let (down, _) = to_int::<W, A>(a, place, digit_bits as f64);
    let down = a.bits_of(down);
    let down = a.shl(down, W::MANTISSA);
    let bits = a.bits_of(x);
    let bits = a.sub_i(bits, down);
    let mut x1 = a.of_bits(bits);
    let step = a.f(two(-digit_bits));
    let mut sum = [zero; 3];
    for (i, digit) in digits.into_iter().enumerate() {
        let product = a.mul(x1, digit);
        let lost = a.fms(x1, digit, product);
        for term in [product, lost] {
            let term = if i < 2 { modulo_four(a, term) } else { term };
            sum = accumulate(a, sum, term);
        }
        x1 = a.mul(x1, step);
    }
    let rounder = a.f(rounder::<W>());
    let shifted = a.add(sum[0], rounder);
    let n = a.sub(shifted, rounder);
    let whole = a.sub(sum[0], n);
    let (high, rest) = two_sum(a, whole, sum[1]);
    let rest = a.add(rest, sum[2]);
    let (high, low) = two_sum(a, high, rest);
    let (quarter, quarter_low) = (a.f(W::HALF_PI.0), a.f(W::HALF_PI.1));
    let r = a.mul(high, quarter);
    let lost = a.fms(high, quarter, r);
    let lost = a.fma(high, quarter_low, lost);
    let lost = a.fma(low, quarter, lost);
    // NaN where x is not finite.
    let lost = a.fma(x, zero, lost);
    let lost = a.neg(lost);
    [shifted, r, lost]
}

/// The digits of 2/π from a place on. Selects instead of a table in memory: shifted by 16 places, by 8, and so on.
#[inline(always)]
fn window<W: Format, A: Arith>(a: &mut A, place: A::F) -> [A::F; WINDOW] {
    let mut digits = [a.f(0.0); 40];
    for (to, from) in digits.iter_mut().zip(W::TWO_PER_PI_DIGITS) {
        *to = a.f(*from);
    }
    let (shifted, _) = to_int::<W, A>(a, place, 1.0);
    let bits = a.bits_of(shifted);
    let none = a.i(0);
    let mut by = W::TWO_PER_PI_DIGITS.len().next_power_of_two() / 2;
    while by > 0 {
        let mask = a.i(by as i64);
        let bit = a.and_i(bits, mask);
        let stay = a.eq_i(bit, none);
        // The digits that later shifts can still bring into the window.
        for i in 0..WINDOW + by - 1 {
            digits[i] = a.select(stay, digits[i], digits[i + by]);
        }
        by /= 2;
    }
    [digits[0], digits[1], digits[2], digits[3], digits[4]]
}

/// Subtracts a multiple of four, exactly.
#[inline(always)]
fn modulo_four<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (quarter, four) = (a.f(0.25), a.f(4.0));
    let n = a.mul(x, quarter);
    let n = a.rint(n);
    a.fnma(n, four, x)
}

/// A sum in three parts, plus one term.
#[inline(always)]
fn accumulate<A: Arith>(a: &mut A, sum: [A::F; 3], term: A::F) -> [A::F; 3] {
    let (high, rest) = two_sum(a, sum[0], term);
    let (middle, rest) = two_sum(a, sum[1], rest);
    let low = a.add(sum[2], rest);
    [high, middle, low]
}

/// The rounded sum, and its rounding error.
#[inline(always)]
fn two_sum<A: Arith>(a: &mut A, x: A::F, y: A::F) -> (A::F, A::F) {
    let sum = a.add(x, y);
    let y1 = a.sub(sum, x);
    let x1 = a.sub(sum, y1);
    let dx = a.sub(x, x1);
    let dy = a.sub(y, y1);
    let lost = a.add(dx, dy);
    (sum, lost)
}
