//! The error function and its complement.

use super::arith::Arith;
use super::exp::{exp_normal, exp_sum};
use super::format::{Format, clamp, polynomial};

/// erf(x): up to 1 an odd polynomial; beyond, one less the exponential of a polynomial.
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

/// 1 - erf(x) = exp(-x²) g(x), where g is a polynomial in 1/(|x| + c).
#[inline(always)]
pub fn erfc<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let size = a.abs(x);
    let y = clamp(a, size, 0.0, if W::MANTISSA == 52 { 27.5 } else { 10.5 });
    let (one, two, zero, shift) = (a.f(1.0), a.f(2.0), a.f(0.0), a.f(W::ERFC_SHIFT));
    let sum = a.add(y, shift);
    let t = a.div(one, sum);
    let (centre, stretch) = (a.f(W::ERFC_CENTRE), a.f(2.0 * W::ERFC_SHIFT));
    let v = a.fnma(stretch, t, centre);
    let g = polynomial(a, v, W::ERFC);
    let g = a.mul(g, t);
    // The relative error of t, times what g makes of it (about 1 + 2c t), is mended in the exponent.
    let back = a.sub(sum, shift);
    let off = a.sub(y, back);
    let error = a.fnma(sum, t, one);
    let error = a.fnma(off, t, error);
    let weight = a.fma(stretch, t, one);
    let square = a.mul(y, y);
    let lost = a.fms(y, y, square);
    let low = a.fms(error, weight, lost);
    let minus = a.neg(square);
    let e = exp_sum::<W, A>(a, minus, low, Some(g));
    let negative = a.lt(x, zero);
    let other = a.sub(two, e);
    a.select(negative, other, e)
}
