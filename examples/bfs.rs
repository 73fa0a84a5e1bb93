//! Breadth-first search: how many steps each vertex is from the start; -1 where it cannot be reached. The twin of `bfs.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// The vertices that each vertex leads to: where those of each begin, and all of them.
#[derive(Clone, Copy)]
struct Graph {
    off: Arr<i64>,
    near: Arr<Arr<i32>>,
}

impl Graph {
    fn new(off: Arr<i64>, ends: Arr<i32>) -> Graph {
        Graph { off, near: ends.split_offsets(off) }
    }

    fn degree(self, v: Exp<i64>) -> Exp<i64> {
        self.off.at(v + 1) - self.off.at(v)
    }

    fn end(self, v: Exp<i64>, k: Exp<i64>) -> Exp<i64> {
        self.near.at(v).at(k).cast()
    }
}

type State = (Arr<i32>, Arr<i32>, Arr<i64>, Exp<i64>);

fn down(out: Graph, dist: Arr<i32>, claim: Arr<i32>, frontier: Arr<i64>, steps: Exp<i32>) -> State {
    let near = frontier.expand(|v| out.degree(v), |v, i| out.end(v, i));
    let new = near.filter(|v| dist.at(v).lt(0));
    // A vertex found twice is kept once: the last of its finders claims it.
    let claim = claim.scatter(new, iota(new.len()).map(|i| i.cast::<i32>()));
    let once = new.compact(new.imap(|i, v| claim.at(v).equals(i.cast::<i32>())));
    (dist.scatter(once, fill(steps, once.len())), claim, once, once.len())
}

/// Whether a vertex of the frontier leads to one whose edges come from these.
fn is_next(row: Arr<i32>, dist: Arr<i32>, steps: Exp<i32>) -> Exp<bool> {
    let other = |k| dist.at(row.at(k).cast::<i64>()).differs(steps - 1);
    let k = loop_while(constant(0i64), |k| k.lt(row.len()).and(|| other(k)), |k| k + 1);
    k.lt(row.len())
}

fn up(into: Graph, dist: Arr<i32>, claim: Arr<i32>, steps: Exp<i32>) -> State {
    let next = |d: Exp<i32>, row| choose(d.lt(0).and(|| is_next(row, dist, steps)), || steps, || d);
    let dist = dist.zip_with(into.near, next);
    let found = dist.map(|d| d.equals(steps).cast::<i64>()).sum();
    let all = || iota(dist.len()).compact(dist.map(|d| d.equals(steps)));
    let frontier = choose(is_large(found, dist), || constant_array::<i64>(&[]), all);
    (dist, claim, frontier, found)
}

fn is_large(found: Exp<i64>, dist: Arr<i32>) -> Exp<bool> {
    found.gt(dist.len() / 32 + 1)
}

/// The search along edges `out` of each vertex, and the same edges `into` each vertex.
fn search(out: Graph, into: Graph, start: Exp<i64>) -> Arr<i32> {
    let n = out.near.len();
    let dist = fill(-1i32, n).scatter(array([start]), array([0i32]));
    let state = (dist, fill(0i32, n), array([start]), 1, 1i32);
    let (dist, ..) = loop_while(
        state,
        |(_, _, _, found, _)| found.gt(0),
        |(dist, claim, frontier, found, steps)| {
            let up = || up(into, dist, claim, steps);
            let (dist, claim, frontier, found) =
                choose(is_large(found, dist), up, || down(out, dist, claim, frontier, steps));
            (dist, claim, frontier, found, steps + 1)
        },
    );
    dist
}

/// Builds the program: a graph is the targets of all edges, and where those of each vertex begin; then the same the other way around.
pub fn program() -> Result<Compiled<(Arr<i64>, Arr<i32>, Arr<i64>, Arr<i32>, Exp<i64>), Arr<i32>>, Error> {
    compile(|out: Arr<i64>, dst: Arr<i32>, into: Arr<i64>, src: Arr<i32>, start: Exp<i64>| {
        search(Graph::new(out, dst), Graph::new(into, src), start)
    })
}

/// All edges the other way around: those into each vertex, if these go out of it.
fn turned(g: Graph) -> Graph {
    let n = g.near.len();
    let src = g.near.imap(|v, row| row.map(|_| v.cast::<i32>())).flatten();
    let dst = g.near.flatten().map(|w| w.cast::<i64>());
    let off = fill(1i64, dst.len()).histogram(dst, n, 0, |a, b| a + b).scan_full(0, |a, b| a + b);
    Graph::new(off, src.sort_with(dst))
}

/// Builds the count of vertices at each distance.
pub fn levels() -> Result<Compiled<(Arr<i64>, Arr<i32>, Exp<i64>), Arr<i64>>, Error> {
    compile(|off: Arr<i64>, dst: Arr<i32>, start: Exp<i64>| {
        let g = Graph::new(off, dst);
        let dist = search(g, turned(g), start).filter(|d| d.ge(0)).map(|d| d.cast::<i64>());
        fill(1, dist.len()).histogram(dist, dist.max() + 1, 0, |a, b| a + b)
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    let (out, dst) = ([0, 2, 4, 5, 6, 6, 7], [1, 2, 3, 2, 4, 4, 0]);
    let (into, src) = ([0, 1, 2, 4, 5, 7, 7], [5, 0, 0, 1, 1, 2, 3]);
    println!("{:?}", program()?.call(out, dst, into, src, 0)?.to_vec());
    println!("{:?}", levels()?.call(out, dst, 0)?.to_vec());
    Ok(())
}
