//! A sparse matrix times a dense vector. The twin of `spmv.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

type Args = (Arr<i64>, Arr<i64>, Arr<f64>, Arr<f64>);

/// Builds the program.
pub fn program() -> Result<Compiled<Args, Arr<f64>>, Error> {
    compile(|off: Arr<i64>, col: Arr<i64>, val: Arr<f64>, x: Arr<f64>| {
        let rows = col.zip(val).split_offsets(off);
        let dot = |row: Arr<(i64, f64)>| {
            row.stream()
                .map(|entry| {
                    let (j, v) = entry.unpack();
                    v * x.at(j)
                })
                .sum()
        };
        rows.stream().map(dot).tab()
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let y = program()?.call([0, 1, 1, 3], [0, 1, 2], [7.0, 2.0, 3.0], [1.0, 10.0, 100.0])?;
    println!("{:?}", y.to_vec());
    Ok(())
}
