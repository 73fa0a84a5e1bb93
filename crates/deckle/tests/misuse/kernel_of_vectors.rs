//! A slice is a vector of the language: an element is not.

#![allow(unused)]

use deckle::prelude::*;

#[kernel]
fn first(xs: &[f32]) -> f32 {
    xs[0]
}

#[kernel]
fn wraps(n: usize) -> usize {
    n.wrapping_sub(1)
}

fn main() {
    let _ = compile(|xs: Arr<f32>| xs.map(first::kernel));
}
