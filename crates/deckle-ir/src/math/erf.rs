//! The error function and its complement.

use super::arith::Arith;
use super::exp::{exp_normal, exp_sum};
use super::format::{Format, polynomial, polynomial_last};

/// erf(x): up to 1 an odd polynomial; beyond, one minus the exponential of a polynomial.
#[inline(always)]
pub fn erf<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let size = a.abs(x);
    let square = a.mul(x, x);
    let p = polynomial(a, square, W::ERF);
    let small = a.fma(x, p, x);
    // From here on the result is 1.
    let full = a.f(if W::MANTISSA == 52 { 6.0 } else { 3.9375 });
    let capped = a.min(full, size);
    let (one, start) = (a.f(1.0), a.f(W::LOG_ERFC_1));
    let t = a.sub(capped, one);
    let q = polynomial(a, t, W::LOG_ERFC);
    let q = a.fma(t, q, start);
    let e = exp_normal::<W, A>(a, q);
    let large = a.sub(one, e);
    let large = a.copysign(large, x);
    let is_small = a.lt(size, one);
    a.select(is_small, small, large)
}

/// 1 - erf(x) = exp(-x²) g / (|x| + b), where g is a polynomial in 1/(|x| + c) that varies little.
#[inline(always)]
pub fn erfc<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let size = a.abs(x);
    let most = a.f(if W::MANTISSA == 52 { 27.5 } else { 10.5 });
    let y = a.min(most, size);
    let (one, two, zero) = (a.f(1.0), a.f(2.0), a.f(0.0));
    let (b, c, stretch) = (a.f(W::ERFC_SHIFTS.0), a.f(W::ERFC_SHIFTS.1), a.f(2.0 * W::ERFC_SHIFTS.1));
    // One division for both quotients.
    let (first, second) = (a.add(y, b), a.add(y, c));
    let product = a.mul(first, second);
    let inverse = a.div(one, product);
    let t = a.mul(first, inverse);
    let factor = a.mul(second, inverse);
    let error = a.fnma(second, t, one);
    let t = a.fma(t, error, t);
    let v = a.fnma(stretch, t, one);
    let h = polynomial_last(a, v, W::ERFC);
    let (start, start_low) = (a.f(W::ERFC_START.0), a.f(W::ERFC_START.1));
    let g = a.fma(v, h, start);
    let lost = a.sub(start, g);
    let lost = a.fma(v, h, lost);
    let lost = a.add(lost, start_low);
    let lost = a.mul(lost, factor);
    let g = a.fma(g, factor, lost);
    // The relative error of the factor, and the rounding error of the square, are added to the exponent.
    let back = a.sub(first, b);
    let off = a.sub(y, back);
    let error = a.fnma(first, factor, one);
    let error = a.fnma(off, factor, error);
    let square = a.mul(y, y);
    let lost = a.fms(y, y, square);
    let low = a.sub(error, lost);
    let minus = a.neg(square);
    let e = exp_sum::<W, A>(a, minus, low, Some(g));
    let negative = a.lt(x, zero);
    let other = a.sub(two, e);
    a.select(negative, other, e)
}
