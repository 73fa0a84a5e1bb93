//! PageRank of a directed graph. The twin of `pagerank.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// One round: every vertex passes its rank on to those it points to; what cannot be passed on is shared by all.
fn spread(src: Arr<i64>, dst: Arr<i64>, degree: Arr<i64>, rank: Arr<f64>) -> Arr<f64> {
    let n = rank.len();
    let each = n.cast::<f64>();
    let share = rank.zip_with(degree, |r, d| choose(d.gt(0), || r / d.cast::<f64>(), || 0.0));
    let stuck = rank.zip(degree).stream().filter(|v| v.unpack().1.equals(0)).map(|v| v.unpack().0).sum();
    let received = fill(0.0, n).permute(dst, src.map(|s| share.at(s)), |new, old| new + old);
    received.map(|r| (1.0 - 0.85) / each + 0.85 * (r + stuck / each))
}

type Args = (Arr<i64>, Arr<i64>, Arr<i64>, Exp<i64>, Exp<i64>);

/// Builds the program.
pub fn program() -> Result<Compiled<Args, Arr<(i64, f64)>>, Error> {
    compile(|off: Arr<i64>, src: Arr<i64>, dst: Arr<i64>, rounds: Exp<i64>, top: Exp<i64>| {
        let n = off.len() - 1;
        let degree = iota(n).map(|v| off.at(v + 1) - off.at(v));
        let start = fill(1.0 / n.cast::<f64>(), n);
        let rank = repeat(rounds, start, |_, rank| spread(src, dst, degree, rank));
        iota(rank.len()).zip(rank).sort_by_key(|v| 0.0 - v.unpack().1).take(top)
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    // A ring of four, and a fifth vertex that points at the first.
    let best = program()?.call([0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4], [1, 2, 3, 0, 0], 20, 3)?;
    println!("{:?}", best.to_vec());
    Ok(())
}
