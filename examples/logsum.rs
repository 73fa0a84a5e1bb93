//! The logarithm of n!, and the sum of several of them, in constant space. The twin of `logsum.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// An ordinary Rust function is a function of the language.
fn logsum(n: Exp<i64>) -> Exp<f64> {
    count(1, n + 1).map(|i| i.cast::<f64>().ln()).sum()
}

/// Builds the program.
pub fn program() -> Result<Compiled<(Exp<i64>,), Exp<f64>>, Error> {
    compile(logsum)
}

/// Builds the sum of several of them.
pub fn sum_of_logsums() -> Result<Compiled<(Exp<i64>,), Exp<f64>>, Error> {
    compile(|n: Exp<i64>| count(1, n + 1).map(|i| logsum(i * i)).sum())
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    println!("{}", program()?.call(1000)?);
    println!("{}", sum_of_logsums()?.call(20)?);
    Ok(())
}
