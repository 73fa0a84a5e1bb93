//! Shortest paths from a vertex to all others, along edges whose weights are not negative. The twin of `paths.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// The edges of each vertex: where they begin, and all of them.
#[derive(Clone, Copy)]
struct Graph {
    off: Arr<i64>,
    near: Arr<Arr<(i32, f64)>>,
}

/// The distances where paths may lead on from some vertices, and which vertices are nearer than before.
fn relax(g: Graph, dist: Arr<f64>, claim: Arr<i32>, from: Arr<i64>) -> (Arr<f64>, Arr<i32>, Arr<i64>) {
    let edge = |v: Exp<i64>, i| {
        let (w, x) = g.near.at(v).at(i).unpack();
        pack((w.cast::<i64>(), dist.at(v) + x))
    };
    let edges = from.expand(|v| g.off.at(v + 1) - g.off.at(v), edge);
    let better = edges.filter(|e| {
        let (w, d) = e.unpack();
        d.lt(dist.at(w))
    });
    let ends = better.map(|e| e.unpack().0);
    // A vertex found twice is kept once: the last of its finders claims it.
    let claim = claim.scatter(ends, iota(better.len()).map(|i| i.cast::<i32>()));
    let dist = dist.permute(ends, better.map(|e| e.unpack().1), |new, old| new.min(old));
    (dist, claim, ends.compact(ends.imap(|i, w| claim.at(w).equals(i.cast::<i32>()))))
}

fn paths(g: Graph, start: Exp<i64>, delta: Exp<f64>) -> Arr<f64> {
    let n = g.near.len();
    let dist = fill(f64::INFINITY, n).scatter(array([start]), array([0.0]));
    let (dist, ..) = loop_while(
        (dist, fill(0i32, n), delta, array([start])),
        |(_, _, _, now)| !now.is_empty(),
        |(dist, claim, limit, now)| {
            let (dist, claim, nearer) = relax(g, dist, claim, now);
            let again = nearer.filter(|v| dist.at(v).lt(limit));
            choose(
                !again.is_empty(),
                || (dist, claim, limit, again),
                || {
                    let least = dist.stream().filter(|d| d.ge(limit)).fold(f64::INFINITY, |a, b| a.min(b));
                    let next = delta + least;
                    (dist, claim, next, iota(n).compact(dist.map(|d| d.ge(limit).and(|| d.lt(next)))))
                },
            )
        },
    );
    dist
}

/// Builds the program: the edges of a graph, where those of each vertex begin, their weights, a vertex, and how far the limit rises.
pub fn program() -> Result<Compiled<(Arr<i64>, Arr<i32>, Arr<f64>, Exp<i64>, Exp<f64>), Arr<f64>>, Error> {
    compile(|off: Arr<i64>, dst: Arr<i32>, weight: Arr<f64>, start: Exp<i64>, delta: Exp<f64>| {
        paths(Graph { off, near: dst.zip(weight).split_offsets(off) }, start, delta)
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let (off, dst) = ([0, 2, 4, 5, 6, 6, 7], [1, 2, 3, 2, 4, 4, 0]);
    let weight = [5.0, 1.0, 1.0, 1.0, 1.0, 2.0, 1.0];
    println!("{:?}", program()?.call(off, dst, weight, 0, 2.0)?.to_vec());
    Ok(())
}
