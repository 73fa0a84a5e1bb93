//! A round of PageRank over edges that come while it goes on: for each vertex the list of those that link to it. The twin of `links.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// Builds the program: the `top` vertices of highest rank after a round, with their ranks.
pub fn program() -> Result<Compiled<(Arr<i64>, Seq<i64>, Exp<i64>), Arr<(i64, f64)>>, Error> {
    compile(|off: Arr<i64>, src: Seq<i64>, top: Exp<i64>| {
        let n = off.len() - 1;
        let degree = |v: Exp<i64>| off.at(v + 1) - off.at(v);
        // A flag for each edge, and one that ends the list of a vertex.
        let ends = count_to(n).flat_map(|v| count_to(degree(v)).map(|_| false).chain(only_if(constant(true), || true)));
        let share = iota(n).map(|v| 1.0 / (n * degree(v).max(1)).cast::<f64>());
        let received = src.flagpart(ends).map(|list| list.map(|u| share.at(u)).sum()).tab();
        let rank = received.map(|r| 0.15 / n.cast::<f64>() + 0.85 * r);
        iota(rank.len()).zip(rank).sort_by_key(|v| 0.0 - v.unpack().1).take(top)
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let best = program()?.on(Cpu).call([0, 2, 4, 5, 6, 6, 7], feed(vec![1, 2, 3, 2, 4, 4, 0]), 3)?;
    println!("{:?}", best.to_vec());
    Ok(())
}
