//! How often each value occurs, in two ways: reduce by index, and group by key. The twin of `histogram.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// Builds the program.
pub fn program() -> Result<Compiled<(Exp<i64>, Arr<i64>), (Arr<i64>, Arr<(i64, i64)>)>, Error> {
    compile(|bins: Exp<i64>, xs: Arr<i64>| {
        let counts = fill(1, xs.len()).histogram(xs, bins, 0, |a, b| a + b);
        let groups = xs.group_by(|x| x).map(|group| {
            let (key, members) = group.unpack();
            (key, members.len())
        });
        (counts, groups)
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let (counts, groups) = program()?.call(4, [0, 3, 1, 3, 3, 0])?;
    println!("{:?}\n{:?}", counts.to_vec(), groups.to_vec());
    Ok(())
}
