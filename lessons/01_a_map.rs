//! Lesson 1: a map.
//!
//! Deckle is a language for arrays inside Rust. You write a closure over *handles*; Deckle runs it once, records
//! its operators as a program, and you call that program with ordinary values.

use deckle::prelude::*;

/// The lesson.
pub fn main() -> Result<(), Error> {
    // `Arr<f64>` is a vector of a program under construction. It holds no numbers: it is a handle, and it is `Copy`.
    // `map` takes a closure from one element to another; `x` is an `Exp<f64>`, on which arithmetic works as it does on `f64`.
    let squares = compile(|xs: Arr<f64>| xs.map(|x| x * x + 1.0))?;

    // Now it can be called, any number of times. Arguments are vectors, arrays and slices; the result is an `Array`.
    assert_eq!(squares.call([1.0, 2.0, 3.0])?.to_vec(), [2.0, 5.0, 10.0]);
    assert_eq!(squares.call(vec![])?.to_vec(), []);

    // The closure has become a program in the array IR: one statement per operator, in the body of the map. Two details matter.
    // The type of the vector contains its length, `n0`; and the result has the same length, because a map preserves it.
    println!("{}", squares.program());

    // Vectors that are traversed together are zipped. Rust's own type system ensures that this is a map over two vectors of `f32`,
    // not over an `f32` and an `f64`.
    let saxpy = compile(|a: Exp<f32>, xs: Arr<f32>, ys: Arr<f32>| xs.zip_with(ys, |x, y| a * x + y))?;
    assert_eq!(saxpy.call(2.0, [1.0, 2.0], [10.0, 20.0])?.to_vec(), [12.0, 24.0]);

    // Errors that only a run can find are returned with the responsible line of this file. They are never a panic, and never a
    // wrong answer.
    let error = saxpy.call(2.0, [1.0, 2.0], [10.0]).unwrap_err();
    println!("{error}");
    assert!(error.place().is_some_and(|(file, _)| file.ends_with("01_a_map.rs")));
    Ok(())
}
