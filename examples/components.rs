//! The connected components of an undirected graph: for each vertex the least vertex that is connected with it. The twin of `components.dk`.

#![allow(clippy::type_complexity)]

use deckle::prelude::*;

/// Makes the root of its root the root of every vertex, until that is the same.
fn followed(root: Arr<i32>) -> Arr<i32> {
    let (root, _) = loop_while(
        (root, constant(true)),
        |(_, changed)| changed,
        |(root, _)| {
            let next = root.map(|r| root.at(r.cast::<i64>()));
            (next, root.zip_with(next, |a, b| a.differs(b)).any())
        },
    );
    root
}

/// Makes the roots at both ends of every edge one.
fn joined(root: Arr<i32>, edges: Arr<(i32, i32)>) -> Arr<i32> {
    let (root, _) = loop_while(
        (root, edges),
        |(_, edges)| !edges.is_empty(),
        |(root, edges)| {
            let ends = edges.map(|e| {
                let (u, v) = e.unpack();
                pack((root.at(u.cast::<i64>()), root.at(v.cast::<i64>())))
            });
            let apart = ends.filter(|e| e.unpack().0.differs(e.unpack().1));
            let greater = apart.map(|e| e.unpack().0.max(e.unpack().1).cast::<i64>());
            let lesser = apart.map(|e| e.unpack().0.min(e.unpack().1));
            (followed(root.permute(greater, lesser, |new, old| new.min(old))), apart)
        },
    );
    root
}

/// Builds the program: a graph is the targets of all edges, of which each is given at both of its ends, and where those of each vertex begin.
pub fn program() -> Result<Compiled<(Arr<i64>, Arr<i32>), Arr<i32>>, Error> {
    compile(|off: Arr<i64>, dst: Arr<i32>| {
        let near = dst.split_offsets(off);
        let n = near.len();
        let first = repeat(2, iota(n).map(|v| v.cast::<i32>()), |k, root| {
            let has = near.map(|row| k.lt(row.len()));
            let edges = iota(n).compact(has).map(|v| pack((v.cast::<i32>(), near.at(v).at(k))));
            joined(root, edges)
        });
        let size = fill(1i64, n).histogram(first.map(|r| r.cast::<i64>()), n, 0, |a, b| a + b);
        let largest = choose(n.equals(0), || constant(0i32), || size.argmax().cast::<i32>());
        let others = iota(n).compact(first.map(|r| r.differs(largest)));
        let more = |v: Exp<i64>| (off.at(v + 1) - off.at(v) - 2).max(0);
        joined(first, others.expand(more, |v, i| pack((v.cast::<i32>(), near.at(v).at(i + 2)))))
    })
}

#[allow(dead_code)]
fn main() -> Result<(), Error> {
    println!("{:?}", program()?.call([0, 1, 3, 4, 4, 6, 7], [1, 0, 2, 1, 4, 5, 4])?.to_vec());
    Ok(())
}
