//! Sine, cosine and tangent of any angle.

use super::arith::Arith;
use super::format::{Format, polynomial};
use super::reduce::{Angle, angle};

/// The sine and the cosine of a remainder, each as a sum of two: the second is *subtracted* from the sine.
struct Pair<F> {
    sin: (F, F),
    cos: (F, F),
}

#[inline(always)]
fn near_zero<W: Format, A: Arith>(a: &mut A, r: A::F, lost: A::F) -> Pair<A::F> {
    let z = a.mul(r, r);
    let s = polynomial(a, z, W::SIN);
    let c = polynomial(a, z, W::COS);
    let cube = a.mul(r, z);
    let (half, one) = (a.f(-0.5), a.f(1.0));
    let high = a.fma(z, half, one);
    // The sine changes by the cosine of r times the rounding error.
    let change = a.mul(lost, high);
    let below = a.fma(cube, s, change);
    let rest = a.sub(one, high);
    let rest = a.fma(z, half, rest);
    let rest = a.fma(r, lost, rest);
    let square = a.mul(z, z);
    let rest = a.fma(square, c, rest);
    Pair { sin: (r, below), cos: (high, rest) }
}

/// The sine of the angle plus `turn` quadrants.
#[inline(always)]
fn sine<W: Format, A: Arith>(a: &mut A, x: A::F, turn: i64) -> A::F {
    let Angle { shifted, r, lost } = angle::<W, A>(a, x);
    let Pair { sin, cos } = near_zero::<W, A>(a, r, lost);
    let sin = a.sub(sin.0, sin.1);
    let cos = a.add(cos.0, cos.1);
    let bits = a.bits_of(shifted);
    let turn = a.i(turn);
    let quadrant = a.add_i(bits, turn);
    let (one, none, two) = (a.i(1), a.i(0), a.i(2));
    let odd = a.and_i(quadrant, one);
    let even = a.eq_i(odd, none);
    let y = a.select(even, sin, cos);
    let second = a.and_i(quadrant, two);
    let sign = a.shl(second, sign_bit::<W>() - 1);
    let y = a.bits_of(y);
    let y = a.xor_i(y, sign);
    a.of_bits(y)
}

fn sign_bit<W: Format>() -> u32 {
    if W::MANTISSA == 52 { 63 } else { 31 }
}

/// The sine.
#[inline(always)]
pub fn sin<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    sine::<W, A>(a, x, 0)
}

/// The cosine.
#[inline(always)]
pub fn cos<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    sine::<W, A>(a, x, 1)
}

/// The tangent.
#[inline(always)]
pub fn tan<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let Angle { shifted, r, lost } = angle::<W, A>(a, x);
    let Pair { sin, cos } = near_zero::<W, A>(a, r, lost);
    let cos_sum = a.add(cos.0, cos.1);
    let cos_rest = a.sub(cos.0, cos_sum);
    let cos_rest = a.add(cos_rest, cos.1);
    let sin_sum = a.sub(sin.0, sin.1);
    let sin_rest = a.sub(sin.0, sin_sum);
    let sin_rest = a.sub(sin_rest, sin.1);
    // In odd quadrants -cos/sin.
    let bits = a.bits_of(shifted);
    let (one, none) = (a.i(1), a.i(0));
    let odd = a.and_i(bits, one);
    let even = a.eq_i(odd, none);
    let minus = [cos_sum, cos_rest].map(|x| a.neg(x));
    let top = a.select(even, sin_sum, minus[0]);
    let top_rest = a.select(even, sin_rest, minus[1]);
    let under = a.select(even, cos_sum, sin_sum);
    let under_rest = a.select(even, cos_rest, sin_rest);
    let one = a.f(1.0);
    let inverse = a.div(one, under);
    let y = a.mul(top, inverse);
    let rest = a.fnma(y, under, top);
    let rest = a.fnma(y, under_rest, rest);
    let rest = a.add(rest, top_rest);
    let refined = a.fma(rest, inverse, y);
    // Not for zeros, because the sum would lose their sign.
    let zero = a.f(0.0);
    let is_zero = a.eq(r, zero);
    a.select(is_zero, y, refined)
}
