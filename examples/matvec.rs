//! A matrix times a vector, as a stream of rows. The twin of `matvec.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

fn dot(xs: Arr<f64>, ys: Arr<f64>) -> Exp<f64> {
    xs.stream().zip_with(ys.stream(), |x, y| x * y).sum()
}

/// Builds the program.
pub fn program() -> Result<Compiled<(Arr<f64, D2>, Arr<f64>), Arr<f64>>, Error> {
    compile(|a: Arr<f64, D2>, x: Arr<f64>| a.rows().stream().map(|row| dot(row, x)).tab())
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let a = Array::from_rows(vec![vec![1.0, 2.0], vec![3.0, 4.0], vec![5.0, 6.0]])?;
    println!("{:?}", program()?.call(a, [10.0, 100.0])?.to_vec());
    Ok(())
}
