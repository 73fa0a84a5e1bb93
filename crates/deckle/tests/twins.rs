//! The examples in Rust and in script give the same results: the front ends meet in the IR, and here their values are compared. So are the backends: everything
//! that runs here also runs as native code, on one thread and on several.

use deckle_diag::SourceMap;
use deckle_interp::{Options, run};
use deckle_ir::array::{Program, verify};
use deckle_ir::entity::Func;
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;

#[path = "../../../examples/audio.rs"]
mod audio;
#[path = "../../../examples/betweenness.rs"]
mod betweenness;
#[path = "../../../examples/bfs.rs"]
mod bfs;
#[path = "../../../examples/components.rs"]
mod components;
#[path = "../../../examples/dot.rs"]
mod dot;
#[path = "../../../examples/histogram.rs"]
mod histogram;
#[path = "../../../examples/index.rs"]
mod index;
#[path = "../../../examples/kmeans.rs"]
mod kmeans;
#[path = "../../../examples/life.rs"]
mod life;
#[path = "../../../examples/links.rs"]
mod links;
#[path = "../../../examples/logsum.rs"]
mod logsum;
#[path = "../../../examples/mandelbrot.rs"]
mod mandelbrot;
#[path = "../../../examples/matvec.rs"]
mod matvec;
#[path = "../../../examples/md5.rs"]
mod md5;
#[path = "../../../examples/nbody.rs"]
mod nbody;
#[path = "../../../examples/pagerank.rs"]
mod pagerank;
#[path = "../../../examples/paths.rs"]
mod paths;
#[path = "../../../examples/render.rs"]
mod render;
#[path = "../../../examples/sieve.rs"]
mod sieve;
#[path = "../../../examples/solvers.rs"]
mod solvers;
#[path = "../../../examples/spmv.rs"]
mod spmv;
#[path = "../../../examples/triangles.rs"]
mod triangles;
#[path = "../../../examples/visits.rs"]
mod visits;
#[path = "../../../examples/words.rs"]
mod words;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/");

/// The value of a program built in Rust.
fn embedded(program: &Program, args: &[Value]) -> Value {
    assert_eq!(verify(program), Ok(()));
    let options = Options { check_sizes: true, ..Options::default() };
    let value = run(program, Func(0), args, &options).unwrap().value;
    natively(program, Func(0), args, &value);
    value
}

/// Native code gives the same result, bit for bit on any number of threads.
fn natively(program: &Program, func: Func, args: &[Value], expected: &Value) {
    let native = deckle_engine::Native::compile(program, func, deckle_engine::Options::default()).unwrap();
    let on = |threads| native.run(args, &deckle_engine::Settings::new(threads, None)).unwrap();
    let (one, three) = (on(1), on(3));
    assert!(close(expected, &one), "native code gives {one:?} in the place of {expected:?}");
    assert_eq!(format!("{one:?}"), format!("{three:?}"));
}

/// Equal except for the rounding of floats; cancellation may leave a small difference.
fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Scalar(x), Value::Scalar(y)) => match (x.as_float(), y.as_float()) {
            (Some(p), Some(q)) => {
                p == q || p.is_nan() && q.is_nan() || (p - q).abs() <= 1e-9 * p.abs().max(q.abs()).max(1e-6)
            }
            _ => x == y,
        },
        _ => match (a.items().or(a.parts()), b.items().or(b.parts())) {
            (Some(x), Some(y)) => x.len() == y.len() && x.iter().zip(y).all(|(x, y)| close(x, y)),
            _ => false,
        },
    }
}

/// The value of a function of a script.
fn scripted(file: &str, entry: &str, args: &[Value]) -> Value {
    let mut sources = SourceMap::new();
    let text = std::fs::read(format!("{EXAMPLES}{file}")).unwrap();
    let mut load = |_: &str, path: &str| {
        std::fs::read(format!("{EXAMPLES}{path}")).map(|b| (path.to_string(), b)).map_err(|e| e.to_string())
    };
    let compiled = deckle_syntax::compile(&mut sources, file, text, &mut load).unwrap();
    let entry = compiled.entries.iter().find(|e| e.name == entry).unwrap();
    let value = run(&compiled.program, entry.func, args, &Options::default()).unwrap().value;
    natively(&compiled.program, entry.func, args, &value);
    value
}

fn ints(v: &[i64]) -> Value {
    Value::array(v.iter().map(|x| Value::int(*x)).collect())
}

fn small_ints(v: &[i64]) -> Value {
    Value::array(v.iter().map(|x| Scalar::I32(*x as i32).into()).collect())
}

fn reals(v: &[f64]) -> Value {
    Value::array(v.iter().map(|x| Value::real(*x)).collect())
}

fn bytes(v: &[u8]) -> Value {
    Value::array(v.iter().map(|x| Scalar::U8(*x).into()).collect())
}

#[test]
fn dot_products_agree() {
    for n in [0, 1, 5] {
        let xs = reals(&(0..n).map(|i| i as f64 * 0.5).collect::<Vec<_>>());
        let args = [xs.clone(), xs];
        assert_eq!(embedded(dot::program().unwrap().program(), &args), scripted("dot.dk", "main", &args));
    }
}

#[test]
fn matrix_vector_products_agree() {
    let args = [Value::array(vec![reals(&[1.0, 2.0]), reals(&[3.0, 4.0])]), reals(&[10.0, 100.0])];
    assert_eq!(embedded(matvec::program().unwrap().program(), &args), scripted("matvec.dk", "main", &args));
}

#[test]
fn log_sums_agree() {
    for n in [0, 1, 20] {
        let args = [Value::int(n)];
        assert_eq!(embedded(logsum::program().unwrap().program(), &args), scripted("logsum.dk", "logsum", &args));
        let sums = logsum::sum_of_logsums().unwrap();
        assert_eq!(embedded(sums.program(), &args), scripted("logsum.dk", "sum_of_logsums", &args));
    }
}

#[test]
fn sparse_products_agree() {
    let args = [ints(&[0, 1, 1, 3]), ints(&[0, 1, 2]), reals(&[7.0, 2.0, 3.0]), reals(&[1.0, 10.0, 100.0])];
    assert_eq!(embedded(spmv::program().unwrap().program(), &args), scripted("spmv.dk", "main", &args));
}

#[test]
fn pictures_agree() {
    let vertices = [[0.0, 3.0, 0.0], [-2.0, 1.0, 2.0], [2.0, 1.0, 2.0], [2.0, 1.0, -2.0], [-2.0, 1.0, -2.0]];
    let vertices = Value::array(vertices.iter().map(|v| reals(v)).collect());
    // The third is seen from its edge, or covers nothing.
    for faces in [&[[0, 1, 2], [0, 2, 3], [1, 1, 2], [0, 3, 4], [0, 4, 1]][..], &[]] {
        let faces = Value::array(faces.iter().map(|f| ints(f)).collect());
        let args = [vertices.clone(), faces, Value::int(24), Value::int(18), Value::real(0.4)];
        assert_eq!(embedded(render::program().unwrap().program(), &args), scripted("render.dk", "main", &args));
    }
}

#[test]
fn sieves_agree() {
    for n in [3, 50, 200] {
        let args = [Value::int(n)];
        assert_eq!(embedded(sieve::program().unwrap().program(), &args), scripted("sieve.dk", "main", &args));
    }
}

#[test]
fn page_ranks_agree() {
    let args = |off: &[i64], src: &[i64], dst: &[i64]| {
        [ints(off), small_ints(src), ints(dst), Value::real(1e-9), Value::int(3)]
    };
    // The last two vertices lead nowhere, and nothing leads to them; then all lead nowhere.
    for args in [args(&[0, 1, 2, 3, 4, 5, 5], &[0, 1, 2, 3, 4], &[1, 2, 3, 0, 0]), args(&[0, 0, 0], &[], &[])] {
        assert_eq!(embedded(pagerank::program().unwrap().program(), &args), scripted("pagerank.dk", "main", &args));
    }
}

#[test]
fn histograms_agree() {
    let args = [Value::int(4), ints(&[0, 3, 1, 3, 3, 0])];
    assert_eq!(embedded(histogram::program().unwrap().program(), &args), scripted("histogram.dk", "main", &args));
}

#[test]
fn mandelbrot_sets_agree() {
    let args = [Value::int(20), Value::int(8), Value::int(30)];
    assert_eq!(embedded(mandelbrot::program().unwrap().program(), &args), scripted("mandelbrot.dk", "main", &args));
    assert_eq!(embedded(mandelbrot::picture().unwrap().program(), &args), scripted("mandelbrot.dk", "picture", &args));
}

#[test]
fn games_of_life_agree() {
    let args = [Value::int(8), Value::int(5), Value::int(2)];
    assert_eq!(embedded(life::program().unwrap().program(), &args[..2]), scripted("life.dk", "main", &args[..2]));
    assert_eq!(embedded(life::picture().unwrap().program(), &args), scripted("life.dk", "picture", &args));
}

#[test]
fn word_lengths_agree() {
    for text in ["", "a", "we the  people, of the united states"] {
        let args = [bytes(text.as_bytes())];
        assert_eq!(embedded(words::program().unwrap().program(), &args), scripted("words.dk", "main", &args));
    }
}

#[test]
fn clusters_agree() {
    for (n, k, rounds) in [(30, 3, 4), (7, 7, 1), (5, 1, 0)] {
        let args = [Value::int(n), Value::int(k), Value::int(rounds)];
        assert_eq!(embedded(kmeans::program().unwrap().program(), &args), scripted("kmeans.dk", "main", &args));
    }
}

/// Directed graphs by the vertices that each one leads to: one in parts, with vertices that cannot be reached or have no edges, loops, and edges that occur twice; and one that is wide
/// enough for all ways of a search.
fn directed() -> [Vec<Vec<i64>>; 2] {
    let parts =
        vec![vec![1, 2], vec![3, 2], vec![4], vec![4], vec![], vec![0], vec![], vec![7, 8, 8, 8], vec![8, 7], vec![9]];
    let wide = (0..200).map(|v| if v == 0 { (1..120).collect() } else { vec![v * 7 % 200, (v + 1) % 190, v] });
    [parts, wide.collect()]
}

/// The same with each edge at both of its ends, without loops and duplicates.
fn undirected(g: &[Vec<i64>]) -> Vec<Vec<i64>> {
    let mut both = vec![std::collections::BTreeSet::new(); g.len()];
    for (v, w) in g.iter().enumerate().flat_map(|(v, row)| row.iter().map(move |w| (v, *w as usize))) {
        if v != w {
            both[v].insert(w as i64);
            both[w].insert(v as i64);
        }
    }
    both.into_iter().map(|row| row.into_iter().collect()).collect()
}

/// Where the edges of each vertex begin, and their ends.
fn edges(g: &[Vec<i64>]) -> [Value; 2] {
    let off = g.iter().scan(0, |at, row| {
        *at += row.len() as i64;
        Some(*at)
    });
    [ints(&[0].into_iter().chain(off).collect::<Vec<_>>()), small_ints(&g.concat())]
}

#[test]
fn searches_agree() {
    for g in directed() {
        let into: Vec<Vec<i64>> = (0..g.len() as i64)
            .map(|w| (0..g.len()).filter(|v| g[*v].contains(&w)).map(|v| v as i64).collect())
            .collect();
        let ([out, dst], [into, src]) = (edges(&g), edges(&into));
        let args = [out.clone(), dst.clone(), into, src, Value::int(0)];
        assert_eq!(embedded(bfs::program().unwrap().program(), &args), scripted("bfs.dk", "main", &args));
        let args = [out, dst, Value::int(0)];
        assert_eq!(embedded(bfs::levels().unwrap().program(), &args), scripted("bfs.dk", "levels", &args));
    }
}

#[test]
fn shortest_paths_agree() {
    for g in directed() {
        let [off, dst] = edges(&g);
        let weights: Vec<f64> = (0..g.concat().len()).map(|e| (e * 5 % 7) as f64 * 0.5).collect();
        let args = [off, dst, reals(&weights), Value::int(0), Value::real(0.75)];
        let paths = embedded(paths::program().unwrap().program(), &args);
        assert_eq!(paths, scripted("paths.dk", "main", &args));
        assert_eq!(paths, reals(&bellman_ford(&g, &weights)));
    }
}

/// The distances from vertex 0, after as many rounds as there are vertices.
fn bellman_ford(g: &[Vec<i64>], weights: &[f64]) -> Vec<f64> {
    let mut dist = vec![f64::INFINITY; g.len()];
    dist[0] = 0.0;
    for _ in g {
        let ends = g.iter().enumerate().flat_map(|(v, row)| row.iter().map(move |w| (v, *w as usize)));
        ends.zip(weights).for_each(|((v, w), x)| dist[w] = dist[w].min(dist[v] + x));
    }
    dist
}

#[test]
fn components_agree() {
    for g in directed().iter().map(|g| undirected(g)).chain([vec![]]) {
        let args = edges(&g);
        let roots = embedded(components::program().unwrap().program(), &args);
        assert_eq!(roots, scripted("components.dk", "main", &args));
        // No edge joins two of them, and each is called after a vertex of its own, the least.
        let root = |v: usize| roots.items().unwrap()[v].as_scalar().unwrap().as_int().unwrap() as usize;
        for (v, row) in g.iter().enumerate() {
            assert!(root(v) <= v && root(root(v)) == root(v) && row.iter().all(|w| root(*w as usize) == root(v)));
        }
    }
}

#[test]
fn triangles_agree() {
    let full: Vec<Vec<i64>> = (0..9).map(|v| (0..9).filter(|w| *w != v).collect()).collect();
    for (g, known) in directed().iter().map(|g| (undirected(g), None)).chain([(full, Some(84)), (vec![], Some(0))]) {
        let args = edges(&g);
        let count = embedded(triangles::program().unwrap().program(), &args);
        assert_eq!(count, scripted("triangles.dk", "main", &args));
        assert_eq!(count, Value::int(known.unwrap_or_else(|| by_hand(&g))));
    }
}

#[test]
fn triangles_of_directed_graphs_are_those_of_undirected_ones() {
    let [parts, wide] = directed();
    for g in [parts, wide] {
        let count = scripted("triangles.dk", "both_ways", &edges(&g));
        assert_eq!(count, Value::int(by_hand(&undirected(&g))));
    }
}

fn by_hand(g: &[Vec<i64>]) -> i64 {
    let pairs =
        g.iter().enumerate().flat_map(|(v, row)| row.iter().map(move |w| (v as i64, *w)).filter(|(v, w)| v < w));
    pairs.map(|(v, w)| g[v as usize].iter().filter(|x| **x > w && g[w as usize].contains(x)).count() as i64).sum()
}

#[test]
fn betweenness_agrees() {
    for g in directed().iter().map(|g| undirected(g)) {
        let starts: Vec<i64> = (0..g.len() as i64).step_by(g.len() / 6 + 1).collect();
        let args = [&edges(&g)[..], &[ints(&starts)]].concat();
        let shares = embedded(betweenness::program().unwrap().program(), &args);
        assert!(close(&shares, &scripted("betweenness.dk", "main", &args)));
    }
    // In a chain, a vertex is between all on its left and all on its right.
    let chain = undirected(&(0..6).map(|v| if v < 5 { vec![v + 1] } else { vec![] }).collect::<Vec<_>>());
    let args = [&edges(&chain)[..], &[ints(&[0, 1, 2, 3, 4, 5])]].concat();
    assert_eq!(scripted("betweenness.dk", "main", &args), reals(&[0.0, 4.0, 6.0, 6.0, 4.0, 0.0]));
}

/// A matrix as the script takes it and as the program in Rust does.
fn matrix(rows: &[&[(i64, f64)]]) -> (Value, [Value; 2]) {
    let entry = |(j, v): &(i64, f64)| Value::tuple(vec![Value::int(*j), Value::real(*v)]);
    let each = Value::array(rows.iter().map(|r| Value::array(r.iter().map(entry).collect())).collect());
    let off: Vec<i64> = (0..=rows.len()).map(|i| rows[..i].iter().map(|r| r.len() as i64).sum()).collect();
    let csr = Value::tuple(vec![Value::int(rows.len() as i64), ints(&off), each]);
    (csr, [ints(&off), Value::array(rows.concat().iter().map(entry).collect())])
}

#[test]
fn solvers_agree() {
    let (symmetric, [off, entries]) =
        matrix(&[&[(0, 4.0), (2, -1.0)], &[(1, 3.0)], &[(0, -1.0), (2, 5.0), (3, 2.0)], &[(2, 2.0), (3, 4.0)]]);
    let b = reals(&[1.0, -2.0, 0.5, 3.0]);
    let rest = [b, Value::real(1e-10), Value::int(20)];
    let found = embedded(solvers::program().unwrap().program(), &[&[off, entries][..], &rest].concat());
    assert!(close(&found, &scripted("solvers.dk", "main", &[&[symmetric][..], &rest].concat())));

    let (any, [off, entries]) = matrix(&[
        &[(0, 4.0), (1, -3.0)],
        &[(1, 3.0), (2, 1.0)],
        &[(0, -1.0), (2, 5.0), (3, 2.0)],
        &[(3, 4.0), (0, 2.0)],
    ]);
    for (width, most) in [(4, 20), (2, 200)] {
        let b = reals(&[1.0, -2.0, 0.5, 3.0]);
        let rest = [b, Value::int(width), Value::real(1e-10), Value::int(most)];
        let args = [&[off.clone(), entries.clone()][..], &rest].concat();
        let found = embedded(solvers::any_matrix().unwrap().program(), &args);
        assert!(close(&found, &scripted("solvers.dk", "any_matrix", &[&[any.clone()][..], &rest].concat())));
    }
}

#[test]
fn indices_agree() {
    let texts =
        ["", "...", "a", "To be,\nor not\nto be\n", "incomprehensibility incomprehensible\nIncomprehensible it's its"];
    for text in texts {
        let args = [bytes(text.as_bytes())];
        assert_eq!(embedded(index::program().unwrap().program(), &args), scripted("index.dk", "main", &args));
    }
}

#[test]
fn bodies_agree() {
    for (n, steps) in [(0, 3), (1, 3), (12, 0), (12, 10)] {
        let args = [Value::int(n), Value::int(steps)];
        assert_eq!(embedded(nbody::program().unwrap().program(), &args), scripted("nbody.dk", "main", &args));
    }
}

#[test]
fn digests_agree() {
    // Lengths around the size of a block: 55 bytes fit into one with their padding, 56 do not.
    let mut words: Vec<Value> = ["abc", "message digest", ""].map(|w| bytes(w.as_bytes())).into();
    words.extend([55, 56, 64, 130].map(|n| bytes(&vec![b'x'; n])));
    let args = [Value::array(words)];
    let digests = embedded(md5::program().unwrap().program(), &args);
    assert_eq!(digests, scripted("md5.dk", "main", &args));
    assert_eq!(digests.items().unwrap()[0], bytes(b"900150983cd24fb0d6963f7d28e17f72"));

    let words = ["apple", "deckle", "paper"].map(|w| bytes(w.as_bytes()));
    for digest in [&[0x2e, 0x4a][..], &[], &[0]] {
        let args = [Value::array(words.to_vec()), bytes(digest)];
        assert_eq!(embedded(md5::find().unwrap().program(), &args), scripted("md5.dk", "find", &args));
    }
}

fn seq(elems: Vec<Value>) -> Value {
    Value::seq(elems)
}

#[test]
fn visits_agree() {
    let event = |i: i64| Value::tuple([i / 9, i * 700 + i / 4 * 1500, i * 10].map(Value::int).to_vec());
    for n in [1, 2, 40] {
        let args = [seq((0..n).map(event).collect())];
        assert_eq!(embedded(visits::program().unwrap().program(), &args), scripted("visits.dk", "main", &args));
    }
}

#[test]
fn sounds_agree() {
    for n in [0, 1, 300] {
        let sound = |t: i64| Value::real((t as f64 * (0.1 + t as f64 * 0.001)).sin());
        let args = [seq((0..n).map(sound).collect())];
        assert_eq!(embedded(audio::program().unwrap().program(), &args), scripted("audio.dk", "main", &args));
    }
}

#[test]
fn links_agree() {
    let src = [1, 2, 3, 2, 4, 4, 0].map(Value::int).to_vec();
    let args = [ints(&[0, 2, 4, 5, 6, 6, 7]), seq(src), Value::int(4)];
    assert_eq!(embedded(links::program().unwrap().program(), &args), scripted("links.dk", "main", &args));
}

/// Every script has a twin in this file.
#[test]
fn every_script_has_a_twin() {
    let here = include_str!("twins.rs");
    for entry in std::fs::read_dir(EXAMPLES).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|e| e == "dk") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            assert!(path.with_extension("rs").exists(), "examples/{name}.rs is missing");
            assert!(here.contains(&format!("scripted(\"{name}.dk\"")), "{name} is not compared");
        }
    }
}
