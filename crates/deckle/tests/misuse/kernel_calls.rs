//! Calls that a kernel does not have, and items that are none.

#![allow(unused)]

use deckle::prelude::*;

struct Point {
    x: f32,
}

impl Point {
    fn new(x: f32) -> Point {
        Point { x }
    }

    #[kernel]
    fn length(&self) -> f32 {
        self.x
    }
}

#[kernel]
fn methods(x: f32, n: i32) -> f32 {
    let b = x.to_bits();
    let c = n.checked_add(1).unwrap();
    let s = x.sqr();
    let o = n.cmp(&1);
    b as f32 + s + c as f32
}

#[kernel]
fn associated(x: f32) -> f32 {
    Point::new(x).x
}

#[kernel]
fn library(x: f32) -> f32 {
    std::hint::black_box(x) + f32::from_bits(1)
}

#[kernel]
fn parts(xs: &[f32]) -> f32 {
    let ys = &xs[1..3];
    ys[0]
}

#[kernel]
fn items(x: f32) -> f32 {
    fn inner(x: f32) -> f32 {
        x
    }
    inner(x)
}

#[kernel]
fn alternatives(x: (i32, i32)) -> i32 {
    match x {
        (n, 0) | (0, n) => n,
        (ref n, _) => *n,
    }
}

#[kernel(fast)]
struct Arguments;

fn main() {}
