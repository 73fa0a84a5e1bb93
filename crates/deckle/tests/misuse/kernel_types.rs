//! Types that are no elements.

#![allow(unused)]

use deckle::prelude::*;
use std::collections::HashMap;

#[kernel]
fn strings(s: &str, t: String) -> u8 {
    let _u = "text";
    1
}

#[kernel]
fn characters(c: char) -> bool {
    c == 'x'
}

#[kernel]
fn vectors(xs: Vec<f32>) -> f32 {
    let mut ys = Vec::new();
    ys.push(1.0);
    let zs = vec![1.0];
    xs[0] + ys[0] + zs[0]
}

#[kernel]
fn boxes(x: Box<f32>, y: std::rc::Rc<f32>) -> f32 {
    *Box::new(*x) + *y
}

#[kernel]
fn maps(m: HashMap<i32, i32>, n: i32) -> i32 {
    m[&n]
}

#[kernel]
fn wide(x: i128) -> u64 {
    x as u128 as u64
}

#[kernel]
fn options(x: i32) -> Option<i32> {
    if x > 0 { Some(x) } else { None }
}

#[kernel]
fn results(x: i32) -> Result<i32, i32> {
    if x > 0 { Ok(x) } else { Err(0) }
}

#[kernel]
fn objects(x: &dyn Fn(f32) -> f32, f: fn(f32) -> f32, g: impl Fn(f32) -> f32) -> f32 {
    x(1.0) + f(1.0) + g(1.0)
}

#[kernel]
fn lifetimes<'a>(xs: &'a [f32]) -> &'a [f32] {
    &xs[1..]
}

enum Shape {
    Circle(f32),
    Square,
}

#[kernel]
fn data(r: f32) -> f32 {
    let s = if r > 0.0 { Shape::Circle(r) } else { Shape::Square };
    match s {
        Shape::Circle(r) => r,
        Shape::Square => 0.0,
    }
}

#[kernel]
fn long(x: i32) -> i32 {
    let t = (x, 1, 2, 3, 4, 5, 6, 7, 8);
    t.0
}

fn main() {}
