//! Operators, literals, casts, and variables.

use crate::agree;
use deckle::prelude::*;

#[kernel]
fn square(x: f32) -> f32 {
    x * x
}

#[kernel]
fn saxpy(a: f32, x: f32, y: f32) -> f32 {
    2.0 * a * x + y - 0.5
}

#[kernel]
fn integers(x: i32, y: i32) -> i32 {
    (x * 3 - y) * (x + y) - (-x)
}

#[kernel]
fn quotients(x: i32, y: i32) -> (i32, i32) {
    let y = if y == 0 { 3 } else { y };
    (x / y, x % y)
}

#[kernel]
fn float_quotients(x: f64, y: f64) -> (f64, f64) {
    (x / y, x % y)
}

#[kernel]
fn bits(x: u32, y: u32) -> u32 {
    (x & y) ^ (x | 0xf0f0) ^ !y
}

#[kernel]
fn shifts(x: u64, n: u32) -> u64 {
    let n = n % 64;
    (x << n) ^ (x >> (n / 2)) ^ (1 << 3)
}

#[kernel]
fn signed_shift(x: i16, n: u8) -> i16 {
    x >> (n & 15)
}

#[kernel]
fn truths(x: bool, y: bool) -> (bool, bool, bool) {
    (x & y | !x, x ^ y, x != y)
}

#[kernel]
fn comparisons(x: f32, y: f32) -> (bool, bool, bool) {
    (x < y && !(x >= y), x <= y || x > y, (x == y) != (x != y))
}

#[kernel]
fn lazy(x: i32, y: i32) -> bool {
    y != 0 && x / y > 1 || x == 7
}

#[kernel]
fn lazy_with_statements(x: i32, y: i32) -> bool {
    y != 0 && {
        let q = x / y;
        q * q > x
    }
}

#[kernel]
fn wide_casts(x: i8) -> (u8, i64, u64) {
    (x as u8, x as i64, x as u64)
}

#[kernel]
fn narrow_casts(x: i64) -> (i8, u16, i32) {
    (x as i8, x as u16, x as i32)
}

#[kernel]
fn float_casts(x: f64) -> (i32, u8, i64) {
    (x as i32, x as u8, x as i64)
}

#[kernel]
fn casts_to_floats(x: i64, y: u32) -> (f32, f64, f32) {
    (x as f32, x as f64, y as f32)
}

#[kernel]
fn between_floats(x: f64) -> (f32, f64) {
    (x as f32, x as f32 as f64)
}

#[kernel]
fn truth_casts(x: bool, y: u8) -> (i32, u8) {
    (x as i32 * 2, (y > 3) as u8 + x as u8)
}

#[kernel]
fn sizes(x: usize, y: i32) -> (usize, i64, f32) {
    let at = x / 2 + (y as usize % 8);
    (at, x as i64 - 1, x as f32)
}

#[kernel]
fn literals(x: u8) -> (u64, f32, u8) {
    (0xffu64 + x as u64 + 1_000, 1e-3 + 2f32, b'a' ^ x)
}

#[kernel]
fn literal_types(x: f32) -> f64 {
    let half = 0.5;
    let three = 3;
    let scale = -1;
    (x * half) as f64 + three as f64 * scale as f64
}

#[kernel]
fn shadowing(x: f32) -> f32 {
    let y = x + 1.0;
    let x = y * 2.0;
    let y = {
        let x = x - y;
        let y = x * x;
        y + x
    };
    x + y
}

#[kernel]
fn mutation(x: i32, y: i32) -> i32 {
    let mut a = x;
    let mut b = y;
    a += b;
    b -= a * 2;
    a ^= b;
    b &= 0xff;
    a |= 1;
    b <<= 2;
    b >>= 1;
    (a, b) = (b, a);
    a * 3 + b
}

#[kernel]
fn float_mutation(x: f64, y: f64) -> f64 {
    let mut z = x;
    z *= y;
    z /= 3.0;
    z %= 2.0;
    z -= 1.0;
    z
}

#[kernel]
fn assigned_later(x: i32) -> i32 {
    let y;
    let z: i64;
    if x > 0 {
        y = x * 2;
        z = 1;
    } else {
        y = -x;
        z = 2;
    }
    y + z as i32
}

#[kernel]
fn order_of_evaluation(x: i32) -> i32 {
    let mut a = x;
    let b = a * 10
        + {
            a += 1;
            a
        }
        + a * 100;
    b - a
}

#[kernel]
fn references(x: f32, y: f32) -> f32 {
    let p = &x;
    let q = &(*p + y);
    if *p < *q { *q - *p } else { *p }
}

#[test]
fn operators() {
    agree! {
        All: square(f32);
        All: saxpy(f32, f32, f32);
        Small: integers(i32, i32);
        Small: quotients(i32, i32);
        All: float_quotients(f64, f64);
        All: bits(u32, u32);
        All: shifts(u64, u32);
        All: signed_shift(i16, u8);
        All: truths(bool, bool);
        All: comparisons(f32, f32);
        Small: lazy(i32, i32);
        Small: lazy_with_statements(i32, i32);
    }
}

#[test]
fn casts() {
    agree! {
        All: wide_casts(i8);
        All: narrow_casts(i64);
        All: float_casts(f64);
        All: casts_to_floats(i64, u32);
        All: between_floats(f64);
        All: truth_casts(bool, u8);
        Small: sizes(usize, i32);
        All: literals(u8);
        All: literal_types(f32);
    }
}

#[test]
fn variables() {
    agree! {
        All: shadowing(f32);
        Small: mutation(i32, i32);
        All: float_mutation(f64, f64);
        Small: assigned_later(i32);
        Small: order_of_evaluation(i32);
        All: references(f32, f32);
    }
}
