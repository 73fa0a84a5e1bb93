//! Betweenness of the vertices of an undirected graph. The twin of `betweenness.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// The neighbours of each vertex: where they begin, and all of them.
#[derive(Clone, Copy)]
struct Graph {
    off: Arr<i64>,
    near: Arr<Arr<i32>>,
}

/// The number of shortest paths from the start to each vertex; all vertices that were reached, level by level, and where each level begins.
fn search(g: Graph, start: Exp<i64>) -> (Arr<f64>, Arr<i32>, Arr<i64>) {
    let n = g.near.len();
    let seen = fill(false, n).scatter(array([start]), array([true]));
    // `now` has the paths to the vertices of the frontier, and zeros.
    let now = fill(0.0, n).scatter(array([start]), array([1.0]));
    let order = fill(start.cast::<i32>(), n);
    let (_, _, paths, _, order, begins, _) = loop_while(
        (seen, now, now, fill(0i32, n), order, constant_array(&[0i64, 1]), array([start])),
        |(.., frontier)| !frontier.is_empty(),
        |(seen, now, paths, claim, order, begins, frontier)| {
            let degree = |v| g.off.at(v + 1) - g.off.at(v);
            let near = frontier.expand(degree, |v, i| g.near.at(v).at(i).cast::<i64>());
            let new = near.filter(|v| !seen.at(v));
            let claim = claim.scatter(new, iota(new.len()).map(|i| i.cast::<i32>()));
            let once = new.compact(new.imap(|i, v| claim.at(v).equals(i.cast::<i32>())));
            let counts = once.map(|v| g.near.at(v).stream().map(|u| now.at(u.cast::<i64>())).sum());
            let now = now.scatter(frontier, fill(0.0, frontier.len())).scatter(once, counts);
            let seen = seen.scatter(once, fill(true, once.len()));
            let last = begins.at(begins.len() - 1);
            let order = order.scatter(iota(once.len()).map(|i| last + i), once.map(|v| v.cast::<i32>()));
            let begins = begins.append(array([last + once.len()]));
            (seen, now, paths.scatter(once, counts), claim, order, begins, once)
        },
    );
    (paths, order, begins)
}

/// For each vertex the share of the shortest paths from the start that lead over it, summed over their ends.
fn dependencies(g: Graph, start: Exp<i64>) -> Arr<f64> {
    let (paths, order, begins) = search(g, start);
    let none = fill(0.0, g.near.len());
    let last = begins.len() - 2;
    // `after` has, for the vertices of the level after this one, what each path to them contributes, and zeros.
    let (share, _) = repeat(last, (none, none), |k, (share, after)| {
        let level = |k: Exp<i64>| order.slice(begins.at(last - 1 - k), begins.at(last - k)).map(|v| v.cast::<i64>());
        let (level, next) = (level(k), level(k - 1));
        let sum = |v: Exp<i64>| g.near.at(v).stream().map(|w| after.at(w.cast::<i64>())).sum();
        let over = level.map(|v| paths.at(v) * sum(v));
        let each = over.zip_with(level, |o, v| (1.0 + o) / paths.at(v));
        let after = after.scatter(next, fill(0.0, next.len())).scatter(level, each);
        (share.scatter(level, over), after)
    });
    share
}

/// Builds the program: a graph, of which each edge is given at both of its ends, and the vertices that paths start from.
pub fn program() -> Result<Compiled<(Arr<i64>, Arr<i32>, Arr<i64>), Arr<f64>>, Error> {
    compile(|off: Arr<i64>, dst: Arr<i32>, starts: Arr<i64>| {
        let g = Graph { off, near: dst.split_offsets(off) };
        repeat(starts.len(), fill(0.0, g.near.len()), |k, sum| {
            let shares = dependencies(g, starts.at(k));
            sum.zip_with3(shares, iota(sum.len()), |s, d, v| choose(v.equals(starts.at(k)), || s, || s + d / 2.0))
        })
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let (off, dst) = ([0, 2, 4, 6, 9, 10, 10], [1, 2, 0, 3, 0, 3, 1, 2, 4, 3]);
    println!("{:?}", program()?.call(off, dst, [0, 1, 2, 3, 4, 5])?.to_vec());
    Ok(())
}
