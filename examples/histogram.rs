//! How often each value occurs: reduce by index. The twin of the first half of `histogram.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// Builds the program.
pub fn program() -> Result<Compiled<(Exp<i64>, Arr<i64>), Arr<i64>>, Error> {
    compile(|bins: Exp<i64>, xs: Arr<i64>| fill(0, bins).permute(xs, fill(1, xs.len()), |new, old| new + old))
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    println!("{:?}", program()?.call(4, [0, 3, 1, 3, 3, 0])?.to_vec());
    Ok(())
}
