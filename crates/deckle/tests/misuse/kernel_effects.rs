//! Effects that a kernel does not have.

#![allow(unused)]

use deckle::prelude::*;

#[kernel]
fn prints(x: f32) -> f32 {
    println!("{x}");
    eprintln!("{x}");
    x
}

#[kernel]
fn panics(x: i32) -> i32 {
    assert!(x > 0);
    match x {
        1 => 2,
        _ => unreachable!(),
    }
}

#[kernel]
fn mutable_parameter(x: &mut f32) -> f32 {
    *x += 1.0;
    *x
}

#[kernel]
fn mutable_reference(x: f32) -> f32 {
    let mut y = x;
    let z = &mut y;
    *z
}

#[kernel]
fn nothing(x: f32) {
    let _y = x;
}

static mut COUNT: i32 = 0;

#[kernel]
fn effects(x: i32) -> i32 {
    unsafe {
        COUNT += x;
    }
    let mut y = x;
    let mut z = 1;
    std::mem::swap(&mut y, &mut z);
    y
}

#[kernel]
async fn waits(x: f32) -> f32 {
    std::future::ready(x).await
}

#[kernel]
unsafe fn reads(x: *const f32) -> f32 {
    *x
}

fn main() {}
