//! PageRank of a directed graph. The twin of `pagerank.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// One round: every vertex sums the shares of those that point to it; what cannot be passed on is shared by all.
fn spread(sources: Arr<Arr<i32>>, degree: Arr<i64>, rank: Arr<f64>) -> Arr<f64> {
    let each = rank.len().cast::<f64>();
    let share = rank.zip_with(degree, |r, d| choose(d.gt(0), || r / d.cast::<f64>(), || 0.0));
    let stuck = rank.zip(degree).stream().filter(|v| v.unpack().1.equals(0)).map(|v| v.unpack().0).sum();
    let base = (0.15 + 0.85 * stuck) / each;
    sources.map(|row| base + 0.85 * row.stream().map(|s| share.at(s.cast::<i64>())).sum())
}

/// The ranks, given the edges `src` into each vertex, where those of each begin, and where the edges out of each begin.
fn ranks(into: Arr<i64>, src: Arr<i32>, off: Arr<i64>, error: Exp<f64>) -> Arr<f64> {
    let n = off.len() - 1;
    let degree = iota(n).map(|v| off.at(v + 1) - off.at(v));
    let sources = src.split_offsets(into);
    let (rank, _) = loop_while(
        (fill(1.0 / n.cast::<f64>(), n), f64::INFINITY),
        |(_, change)| change.ge(error),
        |(rank, _)| {
            let next = spread(sources, degree, rank);
            (next, next.zip_with(rank, |a, b| (a - b).abs()).sum())
        },
    );
    rank
}

type Args = (Arr<i64>, Arr<i32>, Arr<i64>, Exp<f64>, Exp<i64>);

/// Builds the program.
pub fn program() -> Result<Compiled<Args, Arr<(i64, f64)>>, Error> {
    compile(|off: Arr<i64>, src: Arr<i32>, dst: Arr<i64>, error: Exp<f64>, top: Exp<i64>| {
        let counts = fill(1i64, dst.len()).histogram(dst, off.len() - 1, 0, |a, b| a + b);
        let into = counts.scan_full(0, |a, b| a + b);
        let rank = ranks(into, src.sort_with(dst), off, error);
        iota(rank.len()).zip(rank).sort_by_key(|v| 0.0 - v.unpack().1).take(top)
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    // A ring of four, and a fifth vertex that points at the first.
    let best = program()?.call([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4], [1, 2, 3, 0, 0], 1e-9, 3)?;
    println!("{:?}", best.to_vec());
    Ok(())
}
