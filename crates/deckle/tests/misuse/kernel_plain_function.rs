//! A kernel calls kernels only.

#![allow(unused)]

use deckle::prelude::*;

fn plain(x: f32) -> f32 {
    x
}

#[kernel]
fn calls(x: f32) -> f32 {
    plain(x) + 1.0
}

fn main() {}
