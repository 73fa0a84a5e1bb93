//! Inverse trigonometric functions.

use super::arith::Arith;
use super::format::{Format, polynomial, polynomial_last, two};

/// atan(q) - q + more for |q| ≤ 1.
#[inline(always)]
fn atan_tail<W: Format, A: Arith>(a: &mut A, q: A::F, more: A::F) -> A::F {
    let z = a.mul(q, q);
    let p = polynomial_last(a, z, W::ATAN);
    let cube = a.mul(q, z);
    a.fma(cube, p, more)
}

/// The rounding error of the quotient, by a reciprocal accurate to three bits: the exponent negated.
#[inline(always)]
fn lost_by_division<W: Format, A: Arith>(a: &mut A, q: A::F, top: A::F, under: A::F) -> A::F {
    let rest = a.fnma(q, under, top);
    let bits = a.bits_of(under);
    let twice_bias = a.i(((2 * W::BIAS) << W::MANTISSA) - (W::MANTISSA_MASK >> 4));
    let bits = a.sub_i(twice_bias, bits);
    let inverse = a.of_bits(bits);
    let lost = a.mul(rest, inverse);
    let (zero, edge) = (a.f(0.0), a.f(two(W::BIAS - 1)));
    let ordinary = a.lt(under, edge);
    a.select(ordinary, lost, zero)
}

/// `base + x + tail`, where base is a sum of two and zero or larger than x.
#[inline(always)]
fn add_to<A: Arith>(a: &mut A, base: (A::F, A::F), x: A::F, tail: A::F) -> A::F {
    let sum = a.add(base.0, x);
    let lost = a.sub(base.0, sum);
    let lost = a.add(lost, x);
    let tail = a.add(tail, base.1);
    let tail = a.add(tail, lost);
    a.add(sum, tail)
}

/// The inverse tangent; beyond 1 that of the reciprocal, subtracted from π/2.
#[inline(always)]
pub fn atan<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let size = a.abs(x);
    let (zero, one) = (a.f(0.0), a.f(1.0));
    let large = a.lt(one, size);
    let minus = a.f(-1.0);
    let top = a.select(large, minus, size);
    let under = a.select(large, size, one);
    let q = a.div(top, under);
    let lost = lost_by_division::<W, A>(a, q, top, under);
    let (high, low) = (a.f(W::HALF_PI.0), a.f(W::HALF_PI.1));
    let base = a.select(large, high, zero);
    let base_low = a.select(large, low, zero);
    let tail = atan_tail::<W, A>(a, q, lost);
    let y = add_to(a, (base, base_low), q, tail);
    a.copysign(y, x)
}

/// The angle of the point (x, y), from -π to π.
#[inline(always)]
pub fn atan2<W: Format, A: Arith>(a: &mut A, y: A::F, x: A::F) -> A::F {
    let (zero, one, infinity) = (a.f(0.0), a.f(1.0), a.f(f64::INFINITY));
    let (width, height) = (a.abs(x), a.abs(y));
    let steep = a.lt(width, height);
    let top = a.select(steep, width, height);
    let under = a.select(steep, height, width);
    let q = a.div(top, under);
    let lost = lost_by_division::<W, A>(a, q, top, under);
    // 0/0 and ∞/∞
    let none = a.eq(top, zero);
    let q = a.select(none, zero, q);
    let lost = a.select(none, zero, lost);
    let both = a.eq(top, infinity);
    let q = a.select(both, one, q);
    let tail = atan_tail::<W, A>(a, q, lost);
    // From the right half, the left half or the vertical.
    let no_bits = a.i(0);
    let bits = a.bits_of(x);
    let left = a.lt_i(bits, no_bits);
    let base = [a.f(W::PI.0), a.f(W::PI.1)].map(|part| a.select(left, part, zero));
    let half = [a.f(W::HALF_PI.0), a.f(W::HALF_PI.1)];
    let base = [a.select(steep, half[0], base[0]), a.select(steep, half[1], base[1])];
    let (plus, minus) = (a.f(1.0), a.f(-1.0));
    let (when_left, when_right) = (a.select(steep, plus, minus), a.select(steep, minus, plus));
    let sign = a.select(left, when_left, when_right);
    let q = a.mul(q, sign);
    let tail = a.mul(tail, sign);
    let angle = add_to(a, (base[0], base[1]), q, tail);
    let angle = a.copysign(angle, y);
    let sum = a.add(x, y);
    let (x_nan, y_nan) = (a.is_nan(x), a.is_nan(y));
    let nan = a.or_m(x_nan, y_nan);
    a.select(nan, sum, angle)
}

/// `asin` of the smaller angle: asin(v) = v + tail, with v = |x| up to ½ and v = √((1 - |x|)/2) beyond.
struct Arc<A: Arith> {
    large: A::M,
    v: A::F,
    tail: A::F,
}

#[inline(always)]
fn arc<W: Format, A: Arith>(a: &mut A, x: A::F) -> Arc<A> {
    let size = a.abs(x);
    let half = a.f(0.5);
    let large = a.lt(half, size);
    let square = a.mul(x, x);
    let rest = a.fnma(half, size, half);
    let z = a.select(large, rest, square);
    let root = a.sqrt(z);
    let v = a.select(large, root, size);
    let p = polynomial(a, z, W::ASIN);
    let cube = a.mul(v, z);
    // The rounding error of the root: (z - v²) / 2v, by a reciprocal root accurate to five bits: the exponent halved and negated.
    let lost = a.fnma(v, v, z);
    let bits = a.bits_of(z);
    let bits = a.lshr(bits, 1);
    let magic = a.i(if W::MANTISSA == 52 { 0x5fe6_eb50_c7b5_37a9 - (1 << 52) } else { 0x5f37_59df - (1 << 23) });
    let bits = a.sub_i(magic, bits);
    let inverse = a.of_bits(bits);
    let zero = a.f(0.0);
    let inverse = a.select(large, inverse, zero);
    let lost = a.mul(lost, inverse);
    let tail = a.fma(cube, p, lost);
    Arc { large, v, tail }
}

/// The inverse sine.
#[inline(always)]
pub fn asin<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let Arc { large, v, tail } = arc::<W, A>(a, x);
    let (zero, one, minus_two) = (a.f(0.0), a.f(1.0), a.f(-2.0));
    let (high, low) = (a.f(W::HALF_PI.0), a.f(W::HALF_PI.1));
    let base = a.select(large, high, zero);
    let base_low = a.select(large, low, zero);
    let times = a.select(large, minus_two, one);
    let v = a.mul(v, times);
    let tail = a.mul(tail, times);
    let y = add_to(a, (base, base_low), v, tail);
    a.copysign(y, x)
}

/// The inverse cosine.
#[inline(always)]
pub fn acos<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::F {
    let Arc { large, v, tail } = arc::<W, A>(a, x);
    let (zero, one, two) = (a.f(0.0), a.f(1.0), a.f(2.0));
    // π/2 - asin(x) in the middle, π - 2 asin(v) on the left, 2 asin(v) on the right.
    let negative = a.lt(x, zero);
    let pi = [a.f(W::PI.0), a.f(W::PI.1)].map(|part| a.select(negative, part, zero));
    let half = [a.f(W::HALF_PI.0), a.f(W::HALF_PI.1)];
    let base = [a.select(large, pi[0], half[0]), a.select(large, pi[1], half[1])];
    let opposite = a.neg(x);
    let sign = a.select(large, x, opposite);
    let times = a.select(large, two, one);
    let times = a.copysign(times, sign);
    let v = a.mul(v, times);
    let tail = a.mul(tail, times);
    add_to(a, (base[0], base[1]), v, tail)
}
