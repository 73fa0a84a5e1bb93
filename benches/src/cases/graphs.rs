//! Breadth-first search and PageRank.

use super::case;
use crate::case::{Bound, Case, Job, Size, elements, scalar, vector};
use crate::check::{each, same};
use crate::data::Float;
use crate::graph::{Graph, kronecker};
use deckle_engine::Data;
use deckle_runtime::Pool;

pub(super) fn cases() -> Vec<Case> {
    let mut cases = vec![case("bfs", ("11-expand", "bfs", "rmat20"), ("bfs.dk", "main"), bfs)];
    pagerank::<f64>(&mut cases);
    pagerank::<f32>(&mut cases);
    cases
}

fn graph(size: Size) -> Graph {
    kronecker(size.of(20, 15, 8))
}

fn bfs(pool: &Pool, size: Size) -> Job {
    let g = graph(size);
    let start = g.hub();
    let wanted = g.distances(start);
    let n = g.len();
    let edges = [(&g.out, &g.dst), (&g.into, &g.src)];
    let edges = edges.iter().flat_map(|(off, ends)| [vector(pool, off), vector(pool, ends)]);
    let args = edges.chain([scalar(pool, start as i64)]).collect();
    let check = Box::new(move |d: &Data| same(elements::<i32>(d, n)?, &wanted));
    let edges = g.dst.len() as f64;
    Job { args, again: None, check, bound: Bound::read(4.0 * edges + 12.0 * n as f64, edges, "edge") }
}

fn pagerank<T: Float>(cases: &mut Vec<Case>) {
    let what = ("10-pagerank", "pagerank x10", format!("rmat20 {}", T::NAME));
    cases.push(case(format!("pagerank-{}", T::NAME), what, ("pagerank.dk", T::ENTRY), |pool, size| {
        let g = graph(size);
        let (n, edges, size) = (g.len(), g.src.len() as f64, size_of::<T>() as f64);
        let wanted = g.ranks();
        let args = vec![vector(pool, &g.into), vector(pool, &g.src), vector(pool, &g.out)];
        // Errors of a vertex propagate to others, but hardly grow.
        let check =
            Box::new(move |d: &Data| each(elements::<T>(d, n)?, 0..n, 200.0 * T::EPSILON, |i| (wanted[i], wanted[i])));
        let bytes = 10.0 * (4.0 * edges + n as f64 * (8.0 + 4.0 * size));
        Job { args, again: None, check, bound: Bound::read(bytes, 10.0 * edges, "edge") }
    }));
}
