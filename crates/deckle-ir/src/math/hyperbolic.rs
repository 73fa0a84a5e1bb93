//! Hyperbolic functions.
//!
//! |x| = n ln 2 + r, and sinh and cosh of the sum follow from those of r, which are polynomials:
//! `sinh x = sinh r (p + q) + cosh r (p - q)` with `p = 2^n / 2` and `q = 2^-n / 2`. There is no division, and for small x
//! (n = 0) no cancellation.

use super::arith::Arith;
use super::exp::{Reduced, exp_rest, reduce};
use super::format::{Format, polynomial, power_of_two, rounder};

/// The common parts of both functions of |x|.
struct Halves<F> {
    r: F,
    low: F,
    /// sinh r - r
    sinh: F,
    /// cosh r - 1
    cosh: F,
    /// 2^n / 4
    up: F,
    /// 2^-n / 4
    down: F,
}

#[inline(always)]
fn halves<W: Format, A: Arith>(a: &mut A, x: A::F) -> Halves<A::F> {
    let size = a.abs(x);
    // Just beyond where both overflow.
    let most = a.f((W::BIAS + 2) as f64 * std::f64::consts::LN_2 + 0.1);
    let size = a.min(most, size);
    let Reduced { shifted, r, low } = reduce::<W, A>(a, size);
    let z = a.mul(r, r);
    let s = polynomial(a, z, W::SINH);
    let cube = a.mul(r, z);
    let sinh = a.mul(cube, s);
    let c = polynomial(a, z, W::COSH);
    let cosh = a.mul(z, c);
    let up = power_of_two::<W, A>(a, shifted, -2);
    // 2^-n, which becomes negligible long before it is subnormal.
    let bits = a.bits_of(shifted);
    let exponent = a.shl(bits, W::MANTISSA);
    let bias = a.i((W::BIAS - 2) << W::MANTISSA);
    let bits = a.sub_i(bias, exponent);
    let down = a.of_bits(bits);
    let (zero, edge) = (a.f(0.0), a.f(rounder::<W>() + (2 * W::MANTISSA) as f64));
    let matters = a.lt(shifted, edge);
    let down = a.select(matters, down, zero);
    Halves { r, low, sinh, cosh, up, down }
}

/// `2 (base cosh r + cross sinh r)`
#[inline(always)]
fn join<A: Arith>(a: &mut A, h: Halves<A::F>, base: A::F, base_low: A::F, cross: A::F) -> A::F {
    let high = a.fma(h.r, cross, base);
    let lost = a.sub(base, high);
    let lost = a.fma(h.r, cross, lost);
    let lost = a.add(lost, base_low);
    let tail = a.add(h.sinh, h.low);
    let tail = a.fma(tail, cross, lost);
    let tail = a.fma(h.cosh, base, tail);
    let y = a.add(high, tail);
    a.add(y, y)
}

/// The hyperbolic sine.
#[inline(always)]
pub fn sinh<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let h = halves::<W, A>(a, x);
    let cross = a.add(h.up, h.down);
    let base = a.sub(h.up, h.down);
    let base_low = a.sub(h.up, base);
    let base_low = a.sub(base_low, h.down);
    let y = join(a, h, base, base_low, cross);
    // For tiny x halving loses the last bit of subnormal numbers.
    let size = a.abs(x);
    let tiny = a.f(super::format::two(-(W::MANTISSA as i64)));
    let is_tiny = a.lt(size, tiny);
    let y = a.select(is_tiny, size, y);
    a.copysign(y, x)
}

/// The hyperbolic cosine.
#[inline(always)]
pub fn cosh<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let h = halves::<W, A>(a, x);
    let cross = a.sub(h.up, h.down);
    let base = a.add(h.up, h.down);
    let base_low = a.sub(h.up, base);
    let base_low = a.add(base_low, h.down);
    join(a, h, base, base_low, cross)
}

/// The hyperbolic tangent: a polynomial up to 0.55, beyond `1 - 2/(exp(2x) + 1)`.
#[inline(always)]
pub fn tanh<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let size = a.abs(x);
    let z = a.mul(x, x);
    let p = polynomial(a, z, W::TANH);
    let cube = a.mul(size, z);
    let small = a.fma(cube, p, size);
    let full = a.f(if W::MANTISSA == 52 { 22.0 } else { 10.0 });
    let capped = a.min(full, size);
    let twice = a.add(capped, capped);
    // exp(2x) + 1 = 2^n (1 + u) + 1, rounded once, and its rounding error.
    let (shifted, u) = exp_rest::<W, A>(a, twice);
    let power = power_of_two::<W, A>(a, shifted, 0);
    let (one, two, half) = (a.f(1.0), a.f(2.0), a.f(0.5));
    let base = a.add(power, one);
    let under = a.fma(power, u, base);
    let lost = a.sub(base, under);
    let lost = a.fma(power, u, lost);
    let rest = a.div(two, under);
    let share = a.mul(rest, half);
    let share = a.mul(share, lost);
    let rest = a.fnma(rest, share, rest);
    let large = a.sub(one, rest);
    let edge = a.f(0.55);
    let is_small = a.lt(size, edge);
    let y = a.select(is_small, small, large);
    a.copysign(y, x)
}
