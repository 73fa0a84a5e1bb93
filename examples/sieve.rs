//! Prime numbers by Eratosthenes' sieve: `scatter` after `expand`. The twin of `sieve.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

fn root(n: Exp<i64>) -> Exp<i64> {
    n.cast::<f64>().sqrt().cast()
}

fn small_primes(n: Exp<i64>) -> Arr<i64> {
    range(2, root(n) + 1).filter(|p| !range(2, root(p) + 1).map(|d| (p % d).equals(0)).any())
}

/// Builds the program.
pub fn program() -> Result<Compiled<(Exp<i64>,), Arr<i64>>, Error> {
    compile(|n: Exp<i64>| {
        let multiples = small_primes(n).expand(|p| (n - 1) / p - 1, |p, i| p * (i + 2));
        let prime = fill(true, n).scatter(multiples, fill(false, multiples.len()));
        range(2, n).filter(|i| prime.at(i))
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    println!("{:?}", program()?.call(200)?.to_vec());
    Ok(())
}
