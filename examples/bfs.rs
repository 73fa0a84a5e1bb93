//! Breadth-first search: how many steps each vertex is from the start; -1 where it cannot be reached. The twin of `bfs.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// The frontier expands to the neighbours of its vertices, of which those not seen before are the next one.
fn search(off: Arr<i64>, dst: Arr<i64>, start: Exp<i64>) -> Arr<i64> {
    let n = off.len() - 1;
    let far = fill(-1, n).scatter(array([start]), array([0]));
    let (dist, _, _) = loop_while(
        (far, array([start]), 0),
        |(_, frontier, _)| !frontier.is_empty(),
        |(dist, frontier, steps)| {
            let near = frontier.expand(|v| off.at(v + 1) - off.at(v), |v, i| dst.at(off.at(v) + i));
            let new = near.filter(|v| dist.at(v).lt(0));
            let dist = dist.scatter(new, fill(steps + 1, new.len()));
            // A vertex found twice is kept once: the last of its finders claims it.
            let claim = fill(-1, n).scatter(new, iota(new.len()));
            (dist, new.compact(new.imap(|i, v| claim.at(v).equals(i))), steps + 1)
        },
    );
    dist
}

/// Builds the program: a graph is the targets of all edges, and where those of each vertex begin.
pub fn program() -> Result<Compiled<(Arr<i64>, Arr<i64>, Exp<i64>), Arr<i64>>, Error> {
    compile(search)
}

/// Builds the count of vertices at each distance.
pub fn levels() -> Result<Compiled<(Arr<i64>, Arr<i64>, Exp<i64>), Arr<i64>>, Error> {
    compile(|off: Arr<i64>, dst: Arr<i64>, start: Exp<i64>| {
        let dist = search(off, dst, start).filter(|d| d.ge(0));
        fill(1, dist.len()).histogram(dist, dist.max() + 1, 0, |a, b| a + b)
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let (off, dst) = ([0, 2, 4, 5, 6, 6, 7], [1, 2, 3, 2, 4, 4, 0]);
    println!("{:?}", program()?.call(off, dst, 0)?.to_vec());
    println!("{:?}", levels()?.call(off, dst, 0)?.to_vec());
    Ok(())
}
