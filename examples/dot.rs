//! The dot product of two vectors. The twin of `dot.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// Builds the program.
pub fn program() -> Result<Compiled<(Arr<f64>, Arr<f64>), Exp<f64>>, Error> {
    compile(|xs: Arr<f64>, ys: Arr<f64>| xs.stream().zip_with(ys.stream(), |x, y| x * y).sum())
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    println!("{}", program()?.call([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])?);
    Ok(())
}
