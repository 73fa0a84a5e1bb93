//! Control flow that a kernel does not have.

#![allow(unused)]

use deckle::prelude::*;

#[kernel]
fn recursion(n: u32) -> u32 {
    if n == 0 { 1 } else { n * recursion(n - 1) }
}

#[kernel]
fn closures(x: f32) -> f32 {
    let double = |y: f32| y * 2.0;
    double(x)
}

#[kernel]
fn endless(x: f32) -> f32 {
    loop {
        let _y = x;
    }
}

#[kernel]
fn iterators(xs: &[f32]) -> f32 {
    let mut s = 0.0;
    for w in xs.windows(2) {
        s += w[0];
    }
    s + xs.iter().sum::<f32>()
}

#[kernel]
fn open_range(n: i32) -> i32 {
    for i in 0.. {
        if i > n {
            return i;
        }
    }
    0
}

#[kernel]
fn blocks(x: i32) -> i32 {
    'a: {
        if x > 0 {
            break 'a 1;
        }
        2
    }
}

#[kernel]
fn jumps(x: i32) -> i32 {
    if x > 0 && let 3 = x { 1 } else { 2 }
}

#[kernel]
fn question(x: f32) -> Option<f32> {
    let y = Some(x)?;
    None
}

fn main() {}
