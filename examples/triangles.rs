//! How many triangles an undirected graph has. The twin of `triangles.dk`; the merge of two rows is an ordinary Rust function.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// How many numbers two ascending rows have in common.
#[kernel]
fn common(a: &[i32], b: &[i32]) -> i64 {
    let (mut i, mut j, mut count) = (0, 0, 0);
    while i < a.len() && j < b.len() {
        let (x, y) = (a[i], b[j]);
        count += i64::from(x == y);
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    count
}

/// Builds the program: the neighbours of each vertex ascend, each once.
pub fn program() -> Result<Compiled<(Arr<i64>, Arr<i32>), Exp<i64>>, Error> {
    compile(|off: Arr<i64>, dst: Arr<i32>| {
        let near = dst.split_offsets(off);
        let degree = near.map(|row| row.len());
        let later = near.imap(|v, row| {
            row.filter(|w| {
                let (w, d) = (w.cast::<i64>(), row.len());
                degree.at(w).gt(d).or(|| degree.at(w).equals(d).and(|| w.gt(v)))
            })
        });
        later.map(|row| row.map(|w| common::kernel(row, later.at(w.cast::<i64>()))).sum()).sum()
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let (off, dst) = ([0, 3, 6, 9, 12, 12], [1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2]);
    println!("{:?}", program()?.call(off, dst)?);
    Ok(())
}
