//! What fails in Rust fails in the twin, with the place in the kernel.

use crate::agree;
use deckle::prelude::*;

#[kernel]
fn divide(x: i32, y: i32) -> i32 {
    x / y
}

#[kernel]
fn element(xs: &[f32], i: usize) -> f32 {
    xs[i]
}

#[kernel]
fn of_array(x: i32, i: usize) -> i32 {
    let a = [x, 2, 3];
    a[i]
}

#[kernel]
fn of_table(i: usize) -> i32 {
    const TABLE: [i32; 4] = [1, 2, 3, 4];
    TABLE[i]
}

#[kernel]
fn guarded(xs: &[f32], i: i32) -> f32 {
    if i >= 0 && (i as usize) < xs.len() { xs[i as usize] } else { 0.0 }
}

/// The message on every backend is that of the interpreter, and names this file.
macro_rules! fails {
    ($program:expr, $code:literal, ($($arg:expr),+)) => {{
        let program = $program.unwrap();
        let e = program.on(Interp).call($($arg),+).unwrap_err();
        assert!(e.to_string().contains($code), "{e}");
        assert!(e.place().is_some_and(|p| p.0.ends_with("errors.rs")), "{e}");
        assert_eq!(program.on(deckle::Seq).call($($arg),+).unwrap_err().to_string(), e.to_string());
        assert_eq!(program.on(Cpu).call($($arg),+).unwrap_err().to_string(), e.to_string());
        assert_eq!(program.on(agree::Simulated).call($($arg),+).unwrap_err().to_string(), e.to_string());
    }};
}

#[test]
fn division_by_zero_is_an_error() {
    fails!(compile(|xs: Arr<i32>, ys: Arr<i32>| xs.zip_with(ys, divide::kernel)), "D0303", ([1, 2], [1, 0]));
}

#[test]
fn an_index_out_of_range_is_an_error() {
    let xs = [1.0f32, 2.0];
    fails!(compile(|xs: Arr<f32>, at: Arr<usize>| at.map(|i| element::kernel(xs, i))), "D0301", (xs, [1usize, 2]));
    fails!(compile(|at: Arr<usize>| at.map(|i| of_array::kernel(1, i))), "D0301", ([2usize, 3]));
    fails!(compile(|at: Arr<usize>| at.map(of_table::kernel)), "D0301", ([4usize]));
}

#[test]
fn what_is_not_evaluated_does_not_fail() {
    let f = compile(|xs: Arr<f32>, at: Arr<i32>| at.map(|i| guarded::kernel(xs, i))).unwrap();
    let (xs, at) = ([1.0f32, 2.0], [-1, 0, 1, 2]);
    let expected: Vec<f32> = at.iter().map(|i| guarded(&xs, *i)).collect();
    assert_eq!(f.call(xs, at).unwrap().to_vec(), expected);
    assert_eq!(f.on(Interp).call(xs, at).unwrap().to_vec(), expected);
}
