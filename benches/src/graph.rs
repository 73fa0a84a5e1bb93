//! Graphs: a random one with a few vertices of high degree, the same as the rival programs', a grid, and those of files; and the results of breadth-first
//! search and PageRank on them.

use crate::check::Sum;
use crate::data::{generate, mix, shuffle};

/// A directed graph without loops and duplicate edges.
#[derive(Debug)]
pub struct Graph {
    /// The offsets of the edges out of each vertex.
    pub out: Vec<i64>,
    /// The target of each edge.
    pub dst: Vec<i32>,
    /// The offsets of the edges into each vertex.
    pub into: Vec<i64>,
    /// The source of each of these.
    pub src: Vec<i32>,
}

/// A Kronecker graph of `1 << scale` vertices and at most 16 times as many edges.
pub fn kronecker(scale: u32) -> Graph {
    let (n, m) = (1usize << scale, 1usize << (scale + 4));
    let mut names: Vec<i32> = (0..n as i32).collect();
    shuffle(&mut names, 7);
    let mut edges: Vec<u64> = generate(m, |e| {
        let (mut a, mut b) = (0usize, 0usize);
        for k in 0..scale as u64 {
            let u = (mix(e as u64 * 32 + k) >> 11) as f64 * (1.0 / (1u64 << 53) as f64);
            a = 2 * a + usize::from(u >= 0.76);
            b = 2 * b + usize::from((0.57..0.76).contains(&u) || u >= 0.95);
        }
        (names[a] as u64) << 32 | names[b] as u64
    });
    edges.sort_unstable();
    Graph::sorted(n, edges)
}

/// Square streets: every crossing leads to its neighbours in both directions, but one street in sixteen is closed.
pub fn grid(side: usize) -> Graph {
    let at = |x: usize, y: usize| (y * side + x) as u64;
    let is_open = |a: u64, b: u64| !mix(a << 32 | b).is_multiple_of(16);
    let places = (0..side * side).map(|v| (v % side, v / side));
    let streets = places.flat_map(|(x, y)| {
        let right = (x + 1 < side).then(|| (at(x, y), at(x + 1, y)));
        right.into_iter().chain((y + 1 < side).then(|| (at(x, y), at(x, y + 1))))
    });
    let open = streets.filter(|(a, b)| is_open(*a, *b));
    let mut edges: Vec<u64> = open.flat_map(|(a, b)| [a << 32 | b, b << 32 | a]).collect();
    edges.sort_unstable();
    Graph::sorted(side * side, edges)
}

/// The graph of a file of edges: two numbers on a line, and more that are not read; or Matrix Market. Lines that begin with `#` or `%` are comments.
/// Vertices are renumbered, so that there is none without edges.
pub fn read(path: &str) -> Result<Graph, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let (is_matrix, is_symmetric) =
        (text.starts_with("%%MatrixMarket"), text.lines().next().unwrap_or("").contains("symmetric"));
    let lines = text.lines().enumerate().filter(|(_, l)| !l.starts_with(['#', '%']) && !l.trim().is_empty());
    let mut pairs: Vec<(u64, u64)> = Vec::new();
    for (k, line) in lines.skip(usize::from(is_matrix)) {
        let mut words = line.split([' ', '\t', ',']).filter(|w| !w.is_empty()).map(str::parse);
        match (words.next(), words.next()) {
            (Some(Ok(a)), Some(Ok(b))) => pairs.push((a, b)),
            _ => return Err(format!("{path}:{}: two numbers expected", k + 1)),
        }
    }
    if is_symmetric {
        pairs.extend(pairs.clone().into_iter().map(|(a, b)| (b, a)));
    }
    let mut names: Vec<u64> = pairs.iter().flat_map(|(a, b)| [*a, *b]).collect();
    names.sort_unstable();
    names.dedup();
    let number = |name: u64| names.partition_point(|n| *n < name) as u64;
    let mut edges: Vec<u64> = pairs.into_iter().map(|(a, b)| number(a) << 32 | number(b)).collect();
    edges.sort_unstable();
    Ok(Graph::sorted(names.len(), edges))
}

/// Pairs as rows: all second components of equal first components, in order.
fn rows(n: usize, pairs: impl Iterator<Item = (usize, i32)> + Clone) -> (Vec<i64>, Vec<i32>) {
    let mut off = vec![0i64; n + 1];
    pairs.clone().for_each(|(i, _)| off[i + 1] += 1);
    (0..n).for_each(|i| off[i + 1] += off[i]);
    let mut next = off.clone();
    let mut items = vec![0i32; off[n] as usize];
    for (i, x) in pairs {
        items[next[i] as usize] = x;
        next[i] += 1;
    }
    (off, items)
}

impl Graph {
    /// A graph of edges in ascending order, source before target; loops and duplicates are left out.
    fn sorted(n: usize, mut edges: Vec<u64>) -> Graph {
        edges.dedup();
        edges.retain(|e| e >> 32 != e & 0xffff_ffff);
        let (out, dst) = rows(n, edges.iter().map(|e| ((e >> 32) as usize, *e as i32)));
        let (into, src) = rows(n, edges.iter().map(|e| (*e as u32 as usize, (e >> 32) as i32)));
        Graph { out, dst, into, src }
    }

    /// The same with each edge in both directions.
    pub fn undirected(&self) -> Graph {
        let ends = |v: usize| {
            self.dst[self.out[v] as usize..self.out[v + 1] as usize].iter().map(move |w| (v as u64, *w as u64))
        };
        let mut edges: Vec<u64> =
            (0..self.len()).flat_map(ends).flat_map(|(v, w)| [v << 32 | w, w << 32 | v]).collect();
        edges.sort_unstable();
        Graph::sorted(self.len(), edges)
    }

    /// The number of vertices.
    pub fn len(&self) -> usize {
        self.out.len() - 1
    }

    /// The vertex of the highest out-degree.
    pub fn hub(&self) -> usize {
        let degree = |v: usize| self.out[v + 1] - self.out[v];
        (1..self.len()).fold(0, |best, v| if degree(v) > degree(best) { v } else { best })
    }

    /// The distances from a vertex to all others, with a queue.
    pub fn distances(&self, start: usize) -> Vec<i32> {
        let mut dist = vec![-1i32; self.len()];
        dist[start] = 0;
        let mut queue = vec![start];
        let mut at = 0;
        while let Some(&v) = queue.get(at) {
            at += 1;
            for &w in &self.dst[self.out[v] as usize..self.out[v + 1] as usize] {
                if dist[w as usize] < 0 {
                    dist[w as usize] = dist[v] + 1;
                    queue.push(w as usize);
                }
            }
        }
        dist
    }

    /// Ten rounds of PageRank, pushed along the edges out of each vertex.
    pub fn ranks(&self) -> Vec<f64> {
        let n = self.len();
        let mut rank = vec![1.0 / n as f64; n];
        for _ in 0..10 {
            let mut next = vec![Sum::default(); n];
            let mut stuck = Sum::default();
            for (v, r) in rank.iter().enumerate() {
                let targets = &self.dst[self.out[v] as usize..self.out[v + 1] as usize];
                if targets.is_empty() {
                    stuck.add(*r);
                }
                targets.iter().for_each(|w| next[*w as usize].add(r / targets.len() as f64));
            }
            let base = (0.15 + 0.85 * stuck.total()) / n as f64;
            rank = next.into_iter().map(|r| base + 0.85 * r.total()).collect();
        }
        rank
    }
}
