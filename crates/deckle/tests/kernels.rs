//! Kernels of every construct agree with their functions, on every backend.

#[macro_use]
#[path = "kernels/agree.rs"]
mod agree;

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
fn early(x: f64) -> f64 {
    if x < 0.0 {
        return -1.0;
    }
    let y = x.sqrt();
    if y > 2.0 {
        return y;
    }
    y * 2.0
}

#[kernel]
fn collatz(n: u32) -> u32 {
    let mut n = n as u64 + 1;
    let mut steps = 0;
    while n != 1 {
        if n % 2 == 0 {
            n /= 2;
        } else {
            n = 3 * n + 1;
        }
        steps += 1;
    }
    steps
}

#[kernel]
fn first_divisor(n: i32) -> i32 {
    let n = n + 12;
    for d in 2..n {
        if n % d == 0 {
            return d;
        }
    }
    n
}

#[kernel]
fn sum_to(n: i32) -> i32 {
    let mut s = 0;
    for i in 0..n {
        s += i;
    }
    s
}

#[kernel]
fn classify(n: i32) -> i32 {
    match n {
        0 => 100,
        1 | 2 => 200,
        3..=6 => 300,
        x if x < 0 => -x,
        x => x * 2,
    }
}

#[test]
fn a_first_few() {
    agree! {
        Small: square(f32);
        Small: saxpy(f32, f32, f32);
        All: early(f64);
        Small: collatz(u32);
        Small: first_divisor(i32);
        Small: sum_to(i32);
        Small: classify(i32);
    }
}
