//! The two float formats: their constants, and functions that all others use.

use super::arith::Arith;

/// A format and its constants, all of them exact in that format. The values are in `coefficients.rs`.
#[allow(missing_docs)]
pub trait Format {
    /// Bits after the binary point.
    const MANTISSA: u32;
    /// The exponent bias.
    const BIAS: i64;

    const LOG2_E: f64;
    const LN2: (f64, f64);
    const LN2_SHORT: (f64, f64);
    const PER_LN2: (f64, f64);
    const PER_LN10: (f64, f64);
    const LOG10_2_SHORT: (f64, f64);
    const TWO_PER_PI: f64;
    const PI: (f64, f64);
    const HALF_PI: (f64, f64);
    /// π/2 as a sum of three.
    const HALF_PI_PARTS: [f64; 3];
    const LARGE: f64;
    const TWO_PER_PI_DIGITS: &[f64];
    const LOG_ERFC_1: f64;
    const ERFC_SHIFTS: (f64, f64);
    const ERFC_START: (f64, f64);
    const TWO_THIRDS: (f64, f64);
    const CBRT_HALF: f64;
    const CBRT_QUARTER: f64;

    const EXP: &[f64];
    const EXPM1: &[f64];
    const LOG: &[f64];
    const LOG_S: &[f64];
    const SIN: &[f64];
    const COS: &[f64];
    const ERF: &[f64];
    const LOG_ERFC: &[f64];
    const ERFC: &[f64];
    const ATAN: &[f64];
    const ASIN: &[f64];
    const TANH: &[f64];
    const SINH: &[f64];
    const COSH: &[f64];
    const CBRT: &[f64];

    /// The bits of a number's exponent 0, that is of 1.0.
    const ONE_BITS: i64 = Self::BIAS << Self::MANTISSA;
    /// All bits of the mantissa.
    const MANTISSA_MASK: i64 = (1 << Self::MANTISSA) - 1;
}

/// `f64`
#[derive(Clone, Copy, Debug)]
pub struct F64;

/// `f32`
#[derive(Clone, Copy, Debug)]
pub struct F32;

/// 2 to a power that is a normal number of the format.
pub(super) fn two(power: i64) -> f64 {
    f64::from_bits(((power + 1023) as u64) << 52)
}

/// Added to a small number, this leaves the nearest integer in the low bits: see [`to_int`].
pub(super) fn rounder<W: Format>() -> f64 {
    1.5 * two(W::MANTISSA as i64)
}

/// `rounder + n`, where n is the integer nearest to `x * y`, and n. |n| is below 2^(mantissa bits - 1).
///
/// The low bits of the first are those of n in two's complement. Vector units have no cheap conversion between 64-bit
/// integers and floats; this is one addition.
#[inline(always)]
pub(super) fn to_int<W: Format, A: Arith>(a: &mut A, x: A::F, y: f64) -> (A::F, A::F) {
    let (y, rounder) = (a.f(y), a.f(rounder::<W>()));
    let shifted = a.fma(x, y, rounder);
    let n = a.sub(shifted, rounder);
    (shifted, n)
}

/// 2 to the power `n + plus` for `shifted = rounder + n`, if that is a normal number.
#[inline(always)]
pub(super) fn power_of_two<W: Format, A: Arith>(a: &mut A, shifted: A::F, plus: i64) -> A::F {
    let bits = a.bits_of(shifted);
    let exponent = a.shl(bits, W::MANTISSA);
    let bias = a.i((W::BIAS + plus) << W::MANTISSA);
    let bits = a.add_i(exponent, bias);
    a.of_bits(bits)
}

/// x clamped to an interval; NaN stays.
#[inline(always)]
pub(super) fn clamp<A: Arith>(a: &mut A, x: A::F, least: f64, most: f64) -> A::F {
    let (least, most) = (a.f(least), a.f(most));
    let x = a.max(least, x);
    a.min(most, x)
}

/// Whether x is anything but a positive normal number.
#[inline(always)]
pub(super) fn unusual<W: Format, A: Arith>(a: &mut A, x: A::F) -> A::M {
    // The bits of these are in an interval: one comparison, after the least integer was added to both sides.
    let (least, sign) = (1i64 << W::MANTISSA, if W::MANTISSA > 30 { i64::MIN } else { i64::from(i32::MIN) });
    let (shift, span) = (a.i(least.wrapping_add(sign)), a.i((W::BIAS * 2 * least).wrapping_add(sign)));
    let bits = a.bits_of(x);
    let shifted = a.sub_i(bits, shift);
    let usual = a.lt_i(shifted, span);
    a.not_m(usual)
}

/// A polynomial, lowest coefficient first, in Estrin's form: short dependency chains.
#[inline(always)]
pub(super) fn polynomial<A: Arith>(a: &mut A, x: A::F, c: &[f64]) -> A::F {
    let powers = powers(a, x, c.len());
    part32(a, &powers, c)
}

/// The same with the constant term added last, so that only one rounding is of the magnitude of the result.
#[inline(always)]
pub(super) fn polynomial_last<A: Arith>(a: &mut A, x: A::F, c: &[f64]) -> A::F {
    let rest = polynomial(a, x, &c[1..]);
    let constant = a.f(c[0]);
    a.fma(x, rest, constant)
}

/// x, x², x⁴, x⁸ and x¹⁶, as far as this many coefficients need them.
#[inline(always)]
pub(super) fn powers<A: Arith>(a: &mut A, x: A::F, coefficients: usize) -> [A::F; 5] {
    let mut powers = [x; 5];
    for i in 1..5 {
        powers[i] = if coefficients > 1 << i { a.mul(powers[i - 1], powers[i - 1]) } else { x };
    }
    powers
}

// A macro rather than a recursive function, so that it is fully inlined.
macro_rules! part {
    ($name:ident $half:ident $power:literal) => {
        #[inline(always)]
        fn $name<A: Arith>(a: &mut A, x: &[A::F; 5], c: &[f64]) -> A::F {
            const HALF: usize = 1 << $power;
            if c.len() <= HALF {
                return $half(a, x, c);
            }
            let low = $half(a, x, &c[..HALF]);
            let high = $half(a, x, &c[HALF..]);
            a.fma(high, x[$power], low)
        }
    };
}

#[inline(always)]
fn part1<A: Arith>(a: &mut A, _: &[A::F; 5], c: &[f64]) -> A::F {
    a.f(c[0])
}
part!(part2 part1 0);
part!(part4 part2 1);
part!(part8 part4 2);
part!(part16 part8 3);
part!(part32 part16 4);
