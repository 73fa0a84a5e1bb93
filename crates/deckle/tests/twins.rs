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
#[path = "../../../examples/bfs.rs"]
mod bfs;
#[path = "../../../examples/dot.rs"]
mod dot;
#[path = "../../../examples/histogram.rs"]
mod histogram;
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
#[path = "../../../examples/render.rs"]
mod render;
#[path = "../../../examples/sieve.rs"]
mod sieve;
#[path = "../../../examples/spmv.rs"]
mod spmv;
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
    let args =
        [ints(&[0, 1, 2, 3, 4, 5, 5]), ints(&[0, 1, 2, 3, 4]), ints(&[1, 2, 3, 0, 0]), Value::int(20), Value::int(3)];
    assert_eq!(embedded(pagerank::program().unwrap().program(), &args), scripted("pagerank.dk", "main", &args));
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

#[test]
fn searches_agree() {
    // Vertex 5 cannot be reached from 0, and vertex 2 is found twice in one round.
    let (off, dst) = (ints(&[0, 2, 4, 5, 6, 6, 7]), ints(&[1, 2, 3, 2, 4, 4, 0]));
    for start in [0, 3, 4, 5] {
        let args = [off.clone(), dst.clone(), Value::int(start)];
        assert_eq!(embedded(bfs::program().unwrap().program(), &args), scripted("bfs.dk", "main", &args));
        assert_eq!(embedded(bfs::levels().unwrap().program(), &args), scripted("bfs.dk", "levels", &args));
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
