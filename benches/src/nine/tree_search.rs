//! Many numbers, each led to a leaf by the decisions of a binary tree.

use super::hand::{ByHand, Plain, step};
use super::{Nine, floats, program};
use crate::case::{Bound, Size, vector};
use deckle::prelude::*;
use deckle_runtime::Pool;

/// The leaf of a number. The children of the decision `k` are `2 * k + 1` and `2 * k + 2`; those after the last decision are leaves.
#[kernel]
fn found(tree: &[f32], leaves: &[f32], x: f32) -> f32 {
    let mut node = 0;
    while node < tree.len() {
        node = if x < tree[node] { 2 * node + 1 } else { 2 * node + 2 };
    }
    let leaf = node - tree.len();
    if leaf < leaves.len() { leaves[leaf] } else { 0.0 }
}

struct Search {
    tree: Vec<f32>,
    leaves: Vec<f32>,
    xs: Vec<f32>,
}

const ROW: usize = 8192;

impl ByHand for Search {
    fn row<const VECTORS: bool>(&self, row: usize, out: &mut [f32]) {
        for (out, x) in out.iter_mut().zip(&self.xs[row * ROW..]) {
            let mut node = 0;
            while let Some(decision) = self.tree.get(node) {
                node = 2 * node + 1 + usize::from(*x >= *decision);
            }
            *out = self.leaves[node - self.tree.len()];
            step::<VECTORS>();
        }
    }
}

/// The decisions of a subtree, which divide an interval in the middle.
fn divide(tree: &mut [f32], node: usize, from: f32, to: f32) {
    if node < tree.len() {
        let middle = 0.5 * (from + to);
        tree[node] = middle;
        divide(tree, 2 * node + 1, from, middle);
        divide(tree, 2 * node + 2, middle, to);
    }
}

pub fn nine(pool: &Pool, size: Size) -> Nine {
    let (levels, rows) = size.of((16, 2442), (10, 24), (4, 1));
    let n = rows * ROW;
    let mut tree = vec![0.0; (1 << levels) - 1];
    divide(&mut tree, 0, 0.0, 1.0);
    let search = Search { leaves: floats(tree.len() + 1, 83, 0.0, 1.0), tree, xs: floats(n, 84, 0.0, 1.0) };
    Nine {
        size: format!("{levels} levels, {n} numbers"),
        paper: "16 levels, 20M numbers",
        script: "tree_search.dk",
        kernel: program(compile(|tree: Arr<f32>, leaves: Arr<f32>, xs: Arr<f32>| {
            xs.map(|x| found::kernel(tree, leaves, x))
        })),
        args: vec![vector(pool, &search.tree), vector(pool, &search.leaves), vector(pool, &search.xs)],
        branches: true,
        picture: None,
        planes: 1,
        rows,
        width: ROW,
        share: 1,
        work: Bound::none((levels * n) as f64, "step"),
        plain: Plain::new(search),
    }
}
