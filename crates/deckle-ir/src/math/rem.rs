//! Rounding to whole numbers, and the remainder.

use super::arith::Arith;
use super::format::{Format, two};

/// The nearest integer, halves away from zero.
#[inline(always)]
pub fn round<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    // The number before one half: with one half itself, the number before it would round to 1.
    let almost = a.f(0.5 - two(-(W::MANTISSA as i64) - 2));
    let almost = a.copysign(almost, x);
    let sum = a.add(x, almost);
    a.trunc(sum)
}

/// -1, 0 or 1 with the sign of x; NaN and zeros unchanged.
#[inline(always)]
pub fn sign<A: Arith>(a: &mut A, x: A::F) -> A::F {
    let (zero, one) = (a.f(0.0), a.f(1.0));
    let size = a.abs(x);
    let other = a.lt(zero, size);
    let unit = a.copysign(one, x);
    a.select(other, unit, x)
}

/// x modulo y where the quotient is below 2^(mantissa bits): both at least zero.
#[inline(always)]
fn step<A: Arith>(a: &mut A, x: A::F, y: A::F) -> A::F {
    // The quotient may have been rounded up to an integer, and is then too large by one. Either remainder is exact.
    let q = a.div(x, y);
    let q = a.trunc(q);
    let r = a.fnma(q, y, x);
    let zero = a.f(0.0);
    let over = a.lt(r, zero);
    let back = a.add(r, y);
    a.select(over, back, r)
}

/// The remainder of x divided by y, exactly, with the sign of x; NaN if x is infinite or y is zero.
///
/// If the quotient has more bits than a mantissa it is found by long division, a mantissa of bits at a time: up
/// to 41 steps in `f64`, 13 in `f32`, under [`Arith::if_any`].
#[inline(always)]
pub fn rem<W: Format, A: Arith>(a: &mut A, x: A::F, y: A::F) -> A::F {
    let bits = W::MANTISSA as i64;
    let (n, d) = (a.abs(x), a.abs(y));
    let (zero, infinity) = (a.f(0.0), a.f(f64::INFINITY));
    let usual = step(a, n, d);
    let q = a.div(n, d);
    let edge = a.f(two(bits));
    let many = a.lt(edge, q);
    let finite = a.lt(n, infinity);
    let positive = a.lt(zero, d);
    let many = a.and_m(many, finite);
    let many = a.and_m(many, positive);
    let [r] = a.if_any(many, [usual], |a| {
        let (up, down) = (a.f(two(bits)), a.f(two(-bits)));
        // The divisor times powers of 2^bits, starting with the greatest not above x.
        let limit = a.mul(n, down);
        let times = ((W::BIAS + W::BIAS + bits) / bits + 1) as u32;
        let [most] = a.repeat(times, [d], |a, [d]| {
            let more = a.le(d, limit);
            let higher = a.mul(d, up);
            [a.select(more, higher, d)]
        });
        let [r, _] = a.repeat(times, [n, most], |a, [r, divisor]| {
            let live = a.le(d, divisor);
            let next = step(a, r, divisor);
            let r = a.select(live, next, r);
            // Below d the divisor may lose bits, and is no longer used.
            [r, a.mul(divisor, down)]
        });
        [r]
    });
    // A finite number modulo infinity is itself.
    let unbounded = a.eq(d, infinity);
    let whole = a.and_m(unbounded, finite);
    let r = a.select(whole, n, r);
    let r = a.copysign(r, x);
    let nan = a.is_nan(y);
    a.select(nan, y, r)
}
