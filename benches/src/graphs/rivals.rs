//! The programs of graphs by hand: the algorithms of the GAP benchmark suite (Beamer, Asanović, Patterson, 2015) in plain Rust with rayon, and those that
//! are usual on one thread. All run in the pool of the caller; where a lock or an atomic operation can be left out on one thread, it is.

use rayon::prelude::*;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering::Relaxed};

/// The targets of the edges of all vertices one after another, and where those of each vertex begin.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    pub off: &'a [i64],
    pub ends: &'a [i32],
}

impl<'a> Rows<'a> {
    pub fn len(&self) -> usize {
        self.off.len() - 1
    }

    pub fn degree(&self, v: usize) -> usize {
        (self.off[v + 1] - self.off[v]) as usize
    }

    pub fn row(&self, v: usize) -> &'a [i32] {
        &self.ends[self.off[v] as usize..self.off[v + 1] as usize]
    }
}

/// How many vertices a task takes.
const GRAIN: usize = 1024;
/// How many vertices of a frontier a task takes.
const STEP: usize = 64;

/// Breadth-first search whose direction is chosen by the edges of the frontier: -1 where a vertex cannot be reached.
pub fn search(out: Rows<'_>, into: Rows<'_>, start: usize) -> Vec<i32> {
    let n = out.len();
    let dist: Vec<AtomicI32> = (0..n).map(|_| AtomicI32::new(-1)).collect();
    dist[start].store(0, Relaxed);
    let alone = rayon::current_num_threads() == 1;
    let mut frontier = vec![start as i32];
    let (mut edges_left, mut edges, mut steps) = (out.ends.len(), out.degree(start), 0);
    while !frontier.is_empty() {
        if edges > edges_left / 15 {
            let mut bits: Vec<AtomicU64> = (0..n.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
            frontier.iter().for_each(|v| *bits[*v as usize / 64].get_mut() |= 1 << (v % 64));
            let mut awake = frontier.len();
            loop {
                steps += 1;
                let word = |k: usize| {
                    let mut found = 0u64;
                    for (v, d) in (64 * k..).zip(&dist[64 * k..n.min(64 * k + 64)]) {
                        let leads = |u: &&i32| bits[**u as usize / 64].load(Relaxed) >> (**u % 64) & 1 == 1;
                        if d.load(Relaxed) < 0 && into.row(v).iter().find(leads).is_some() {
                            d.store(steps, Relaxed);
                            found |= 1 << (v % 64);
                        }
                    }
                    AtomicU64::new(found)
                };
                let next: Vec<AtomicU64> = (0..bits.len()).into_par_iter().with_min_len(16).map(word).collect();
                bits = next;
                let before = awake;
                awake = bits.iter().map(|b| b.load(Relaxed).count_ones() as usize).sum();
                if awake == 0 || awake < before && awake <= n / 18 {
                    break;
                }
            }
            frontier = (0..n as i32).filter(|v| bits[*v as usize / 64].load(Relaxed) >> (v % 64) & 1 == 1).collect();
            edges = 1;
        } else {
            edges_left -= edges.min(edges_left);
            steps += 1;
            let claims = |w: i32| {
                let at = &dist[w as usize];
                at.load(Relaxed) < 0
                    && if alone {
                        at.store(steps, Relaxed);
                        true
                    } else {
                        at.compare_exchange(-1, steps, Relaxed, Relaxed).is_ok()
                    }
            };
            let part = |part: &[i32]| {
                let mut new = Vec::new();
                for v in part {
                    new.extend(out.row(*v as usize).iter().copied().filter(|w| claims(*w)));
                }
                new
            };
            frontier = in_parts(&frontier, part);
            edges = frontier.iter().map(|v| out.degree(*v as usize)).sum();
        }
    }
    dist.into_iter().map(AtomicI32::into_inner).collect()
}

/// A function of parts of a frontier, whose results are joined.
fn in_parts<T: Send>(frontier: &[i32], f: impl Fn(&[i32]) -> Vec<T> + Send + Sync) -> Vec<T> {
    if frontier.len() <= STEP || rayon::current_num_threads() == 1 {
        return f(frontier);
    }
    let parts: Vec<Vec<T>> = frontier.par_chunks(STEP).map(f).collect();
    parts.into_iter().flatten().collect()
}

/// Shortest paths with a heap (Dijkstra).
pub fn paths_by_heap(g: Rows<'_>, weights: &[f64], start: usize) -> Vec<f64> {
    let mut dist = vec![f64::INFINITY; g.len()];
    dist[start] = 0.0;
    // The bits of floats that are not negative are in the order of the floats.
    let mut heap = BinaryHeap::from([Reverse((0u64, start as i32))]);
    while let Some(Reverse((bits, v))) = heap.pop() {
        let (d, v) = (f64::from_bits(bits), v as usize);
        if d > dist[v] {
            continue;
        }
        for (w, x) in g.row(v).iter().zip(&weights[g.off[v] as usize..]) {
            let new = d + x;
            if new < dist[*w as usize] {
                dist[*w as usize] = new;
                heap.push(Reverse((new.to_bits(), *w)));
            }
        }
    }
    dist
}

/// Shortest paths in steps of `delta` (Meyer and Sanders): all vertices of a step are relaxed together, until none of it changes.
pub fn paths_in_steps(g: Rows<'_>, weights: &[f64], start: usize, delta: f64) -> Vec<f64> {
    let dist: Vec<AtomicU64> = (0..g.len()).map(|_| AtomicU64::new(f64::INFINITY.to_bits())).collect();
    dist[start].store(0, Relaxed);
    let alone = rayon::current_num_threads() == 1;
    let lowers = |w: usize, new: f64| {
        let (at, new) = (&dist[w], new.to_bits());
        new < at.load(Relaxed)
            && if alone {
                at.store(new, Relaxed);
                true
            } else {
                at.fetch_min(new, Relaxed) > new
            }
    };
    let mut bins: Vec<Vec<i32>> = vec![vec![start as i32]];
    let mut k = 0;
    while k < bins.len() {
        let frontier = std::mem::take(&mut bins[k]);
        let part = |part: &[i32]| {
            let mut new = Vec::new();
            for v in part.iter().map(|v| *v as usize) {
                let d = f64::from_bits(dist[v].load(Relaxed));
                // A vertex of an earlier step was relaxed there.
                if d < delta * k as f64 {
                    continue;
                }
                for (w, x) in g.row(v).iter().zip(&weights[g.off[v] as usize..]) {
                    if lowers(*w as usize, d + x) {
                        new.push((k.max(((d + x) / delta) as usize), *w));
                    }
                }
            }
            new
        };
        for (bin, w) in in_parts(&frontier, part) {
            if bin >= bins.len() {
                bins.resize(bin + 1, Vec::new());
            }
            bins[bin].push(w);
        }
        if bins[k].is_empty() {
            k += 1;
        }
    }
    dist.into_iter().map(|d| f64::from_bits(d.into_inner())).collect()
}

/// Components by sets that are joined along edges; the name of a component is its least vertex.
pub fn components_by_sets(g: Rows<'_>) -> Vec<i32> {
    let mut parent: Vec<i32> = (0..g.len() as i32).collect();
    let root = |parent: &mut [i32], mut v: i32| {
        while parent[v as usize] != v {
            parent[v as usize] = parent[parent[v as usize] as usize];
            v = parent[v as usize];
        }
        v
    };
    for v in 0..g.len() {
        for w in g.row(v) {
            if *w as usize > v {
                let (a, b) = (root(&mut parent, v as i32), root(&mut parent, *w));
                parent[a.max(b) as usize] = a.min(b);
            }
        }
    }
    (0..g.len() as i32).map(|v| root(&mut parent, v)).collect()
}

/// Components by Afforest (Sutton, Ben-Nun, Barak, 2018): two edges of each vertex join most of them, and the edges of the largest component are skipped.
pub fn components_by_samples(g: Rows<'_>) -> Vec<i32> {
    let n = g.len();
    let parent: Vec<AtomicI32> = (0..n as i32).map(AtomicI32::new).collect();
    let at = |v: i32| parent[v as usize].load(Relaxed);
    let link = |u: i32, v: i32| {
        let (mut a, mut b) = (at(u), at(v));
        while a != b {
            let (high, low) = (a.max(b), a.min(b));
            let above = at(high);
            if above == low
                || above == high && parent[high as usize].compare_exchange(high, low, Relaxed, Relaxed).is_ok()
            {
                break;
            }
            (a, b) = (at(at(high)), at(low));
        }
    };
    let compress = || {
        (0..n as i32).into_par_iter().with_min_len(GRAIN).for_each(|v| {
            while at(v) != at(at(v)) {
                parent[v as usize].store(at(at(v)), Relaxed);
            }
        });
    };
    for k in 0..2 {
        (0..n).into_par_iter().with_min_len(GRAIN).for_each(|v| {
            if let Some(w) = g.row(v).get(k) {
                link(v as i32, *w);
            }
        });
        compress();
    }
    let mut samples: Vec<i32> =
        (0..1024u64).filter(|_| n > 0).map(|k| at((crate::data::mix(k) % n as u64) as i32)).collect();
    samples.sort_unstable();
    let most = samples.chunk_by(|a, b| a == b).max_by_key(|c| c.len()).map(|c| c[0]);
    (0..n).into_par_iter().with_min_len(GRAIN).for_each(|v| {
        if Some(at(v as i32)) != most {
            g.row(v).iter().skip(2).for_each(|w| link(v as i32, *w));
        }
    });
    compress();
    parent.into_iter().map(AtomicI32::into_inner).collect()
}

/// The number of triangles: each edge leads to the end of higher degree, and the rows of its ends are merged.
pub fn triangles(g: Rows<'_>) -> i64 {
    let n = g.len();
    let rank = |v: usize| (g.degree(v), v);
    let later: Vec<Vec<i32>> = (0..n)
        .into_par_iter()
        .with_min_len(GRAIN)
        .map(|v| g.row(v).iter().copied().filter(|w| rank(*w as usize) > rank(v)).collect())
        .collect();
    let common = |a: &[i32], b: &[i32]| {
        let (mut i, mut j, mut count) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            let (x, y) = (a[i], b[j]);
            count += i64::from(x == y);
            i += usize::from(x <= y);
            j += usize::from(y <= x);
        }
        count
    };
    let of = |v: usize| later[v].iter().map(|w| common(&later[v], &later[*w as usize])).sum::<i64>();
    (0..n).into_par_iter().with_min_len(STEP).map(of).sum()
}

/// Ranks, pulled along the edges into each vertex until they change by less than `error` in all, and the number of rounds.
pub fn ranks(into: Rows<'_>, out: Rows<'_>, error: f64) -> (Vec<f64>, usize) {
    let n = into.len();
    let mut rank = vec![1.0 / n as f64; n];
    let mut share = vec![0.0; n];
    let mut rounds = 0;
    loop {
        let stuck = (share.par_iter_mut(), &rank, 0..n).into_par_iter().with_min_len(GRAIN).map(|(s, r, v)| {
            let degree = out.degree(v);
            *s = if degree > 0 { r / degree as f64 } else { 0.0 };
            if degree > 0 { 0.0 } else { *r }
        });
        let base = (0.15 + 0.85 * stuck.sum::<f64>()) / n as f64;
        let change = rank.par_iter_mut().enumerate().with_min_len(GRAIN).map(|(v, r)| {
            let new = base + 0.85 * into.row(v).iter().map(|u| share[*u as usize]).sum::<f64>();
            let change = (new - *r).abs();
            *r = new;
            change
        });
        let change: f64 = change.sum();
        rounds += 1;
        if change < error {
            return (rank, rounds);
        }
    }
}

/// Betweenness of an undirected graph by the shortest paths from some vertices (Brandes): the threads share the vertices.
pub fn betweenness(g: Rows<'_>, starts: &[usize]) -> Vec<f64> {
    let parts: Vec<Vec<f64>> = starts.par_iter().with_max_len(1).map(|s| dependencies(g, *s)).collect();
    let mut sum = vec![0.0; g.len()];
    parts.iter().for_each(|part| sum.iter_mut().zip(part).for_each(|(s, d)| *s += 0.5 * d));
    sum
}

fn dependencies(g: Rows<'_>, start: usize) -> Vec<f64> {
    let n = g.len();
    let (mut dist, mut paths, mut delta) = (vec![-1i32; n], vec![0f64; n], vec![0f64; n]);
    (dist[start], paths[start]) = (0, 1.0);
    let mut order = vec![start as i32];
    let mut at = 0;
    while let Some(v) = order.get(at).map(|v| *v as usize) {
        at += 1;
        for w in g.row(v).iter().map(|w| *w as usize) {
            if dist[w] < 0 {
                dist[w] = dist[v] + 1;
                order.push(w as i32);
            }
            if dist[w] == dist[v] + 1 {
                paths[w] += paths[v];
            }
        }
    }
    for v in order.iter().rev().map(|v| *v as usize) {
        let later = g.row(v).iter().map(|w| *w as usize).filter(|w| dist[*w] == dist[v] + 1);
        delta[v] = later.map(|w| paths[v] / paths[w] * (1.0 + delta[w])).sum();
    }
    delta[start] = 0.0;
    delta
}
