//! The methods of numbers.

use crate::agree;
use deckle::prelude::*;

#[kernel]
fn roots(x: f64) -> (f64, f64) {
    (x.sqrt(), x.cbrt())
}

#[kernel]
fn exponentials(x: f64) -> (f64, f64, f64) {
    (x.exp(), x.exp2(), x.exp_m1())
}

#[kernel]
fn logarithms(x: f64) -> (f64, f64, (f64, f64)) {
    (x.ln(), x.log2(), (x.log10(), x.ln_1p()))
}

#[kernel]
fn waves(x: f64) -> (f64, f64, (f64, f64)) {
    (x.sin(), x.cos(), (x.tan(), x.atan()))
}

#[kernel]
fn inverse_waves(x: f32) -> (f32, f32) {
    (x.asin(), x.acos())
}

#[kernel]
fn hyperbolic(x: f64) -> (f64, f64, f64) {
    (x.sinh(), x.cosh(), x.tanh())
}

#[kernel]
fn both_waves(x: f64) -> f64 {
    let (s, c) = x.sin_cos();
    s * s + c * c
}

#[kernel]
fn angles(y: f64, x: f64) -> (f64, f64) {
    (y.atan2(x), y.hypot(x))
}

#[kernel]
fn degrees(x: f64) -> (f64, f64) {
    (x.to_degrees(), x.to_radians())
}

#[kernel]
fn powers(x: f64, y: f64) -> f64 {
    x.abs().powf(y)
}

#[kernel]
fn integer_powers(x: f64) -> (f64, f64, f64) {
    (x.powi(3), x.powi(-2), x.powi(0))
}

#[kernel]
fn computed_power(x: f64, n: i32) -> f64 {
    x.powi(n)
}

#[kernel]
fn logarithm_to_base(x: f64) -> f64 {
    (x.abs() + 2.0).log(3.0)
}

#[kernel]
fn rounding(x: f32) -> (f32, f32, (f32, f32)) {
    (x.floor(), x.ceil(), (x.round(), x.trunc()))
}

#[kernel]
fn parts(x: f32) -> (f32, f32) {
    (x.fract(), x.recip())
}

#[kernel]
fn fused(x: f32, y: f32, z: f32) -> f32 {
    x.mul_add(y, z)
}

#[kernel]
fn float_extremes(x: f32, y: f32) -> (f32, f32) {
    (x.min(y), x.max(y))
}

#[kernel]
fn float_clamp(x: f64) -> f64 {
    x.clamp(-1.5, 2.0)
}

#[kernel]
fn float_signs(x: f64) -> (f64, f64, bool) {
    (x.abs(), x.signum(), x.is_sign_negative() && !x.is_nan())
}

#[kernel]
fn copied_signs(x: f64, y: f64) -> f64 {
    if y.is_nan() { x } else { x.copysign(y) }
}

#[kernel]
fn kinds(x: f32) -> (bool, bool, bool) {
    (x.is_nan(), x.is_finite(), x.is_infinite())
}

#[kernel]
fn integer_extremes(x: i32, y: i32) -> (i32, i32, i32) {
    (x.min(y), x.max(y), x.clamp(-3, 8))
}

#[kernel]
fn integer_signs(x: i32) -> (i32, bool, bool) {
    (x.signum(), x.is_negative(), x.is_positive())
}

#[kernel]
fn euclid(x: i32, y: i32) -> (i32, i32) {
    let y = if y == 0 { -4 } else { y };
    (x.rem_euclid(y), x.div_euclid(y))
}

#[kernel]
fn float_euclid(x: f64, y: f64) -> (f64, f64) {
    (x.rem_euclid(y), x.div_euclid(y))
}

#[kernel]
fn counts(x: u32) -> (u32, u32, (u32, u32)) {
    (x.count_ones(), x.count_zeros(), (x.leading_zeros(), x.trailing_zeros()))
}

#[kernel]
fn signed_counts(x: i8) -> (u32, u32, (u32, u32)) {
    (x.count_ones(), x.leading_ones(), (x.trailing_ones(), x.leading_zeros()))
}

#[kernel]
fn wrapping(x: i32, y: i32) -> (i32, i32, i32) {
    (x.wrapping_add(y), x.wrapping_sub(y), x.wrapping_mul(y))
}

#[kernel]
fn wrapping_more(x: i8, y: u8) -> (i8, i8, u8) {
    (x.wrapping_neg(), x.wrapping_shl(y as u32), y.wrapping_add(200).wrapping_shr(x as u8 as u32))
}

#[kernel]
fn saturating(x: i64, y: i64) -> (i64, i64) {
    (x.saturating_add(y), x.saturating_sub(y))
}

#[kernel]
fn saturating_unsigned(x: u8, y: u8) -> (u8, u8) {
    (x.saturating_add(y), x.saturating_sub(y))
}

#[kernel]
fn differences(x: i16, y: i16) -> (u16, u16) {
    (x.abs_diff(y), x.unsigned_abs())
}

#[kernel]
fn rotations(x: i16, n: u32) -> (i16, i16) {
    (x.rotate_left(n), x.rotate_right(n))
}

#[kernel]
fn power_of_integer(x: i16, n: u32) -> i16 {
    (x % 5).pow(n % 6)
}

#[kernel]
fn powers_of_two(x: u64, y: u64) -> (bool, bool) {
    (x.is_power_of_two(), x.is_multiple_of(y))
}

#[kernel]
fn hash(x: u32) -> u32 {
    let mut h = x;
    h ^= h >> 16;
    h = h.wrapping_mul(0x85eb_ca6b);
    h ^= h >> 13;
    h = h.wrapping_mul(0xc2b2_ae35);
    h ^ h >> 16
}

#[test]
fn functions_of_floats() {
    near!(3.0, All: roots(f64));
    near!(4.0, Small: exponentials(f64));
    near!(4.0, All: logarithms(f64));
    near!(8.0, Small: waves(f64));
    near!(4.0, Small: inverse_waves(f32));
    near!(8.0, Small: hyperbolic(f64));
    near!(8.0, Small: both_waves(f64));
    near!(6.0, All: angles(f64, f64));
    near!(2.0, Small: degrees(f64));
}

#[test]
fn powers_of_floats() {
    near!(6.0, Small: powers(f64, f64));
    near!(2.0, All: integer_powers(f64));
    near!(32.0, Small: computed_power(f64, i32));
    near!(8.0, Small: logarithm_to_base(f64));
}

#[test]
fn exact_functions_of_floats() {
    agree! {
        All: rounding(f32);
        All: parts(f32);
        All: fused(f32, f32, f32);
        All: float_extremes(f32, f32);
        All: float_clamp(f64);
        All: float_signs(f64);
        All: copied_signs(f64, f64);
        All: kinds(f32);
        Small: float_euclid(f64, f64);
    }
}

#[test]
fn functions_of_integers() {
    agree! {
        All: integer_extremes(i32, i32);
        All: integer_signs(i32);
        Small: euclid(i32, i32);
        All: counts(u32);
        All: signed_counts(i8);
        All: wrapping(i32, i32);
        All: wrapping_more(i8, u8);
        All: saturating(i64, i64);
        All: saturating_unsigned(u8, u8);
        Small: differences(i16, i16);
        All: rotations(i16, u32);
        All: power_of_integer(i16, u32);
        All: powers_of_two(u64, u64);
        All: hash(u32);
    }
}
