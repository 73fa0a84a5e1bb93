//! The text of kernel programs reads back: those of the test files, the examples and the benchmarks, and of random programs.

use deckle_diag::SourceMap;
use deckle_gen::Config;
use deckle_ir::array;
use deckle_ir::entity::Func;
use deckle_ir::kernel::{Program, parse, verify};
use deckle_lower::flatten::{Options, flatten};
use deckle_lower::reuse::reuse;
use deckle_lower::simplify::simplify;
use std::path::{Path, PathBuf};

fn reads_back(program: &Program, what: &str) {
    let text = program.to_string();
    let again = parse(&text).unwrap_or_else(|e| panic!("{what}: {e}\n{text}"));
    assert_eq!(verify(&again), Ok(()), "{what}\n{text}");
    assert_eq!(again.to_string(), text, "{what}");
}

/// All functions of a program, fused and not, before and after memory is used again. How many there are that can be flattened.
fn functions_read_back(program: &array::Program, what: &str) -> usize {
    let simple = simplify(program);
    let mut count = 0;
    for k in 0..program.funcs.len() as u32 {
        for fuse in [true, false] {
            let Ok(mut flat) = flatten(&simple, Func(k), Options { fuse, ..Options::default() }) else { continue };
            let what = format!("{what}, function {k}, fuse {fuse}");
            reads_back(&flat, &what);
            reuse(&mut flat, u64::MAX);
            reads_back(&flat, &what);
            count += 1;
        }
    }
    count
}

fn scripts(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            scripts(&path, found);
        } else if path.extension().is_some_and(|e| e == "dk") {
            found.push(path);
        }
    }
}

#[test]
fn of_all_scripts() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    ["tests", "examples", "benches/programs"].iter().for_each(|f| scripts(&root.join(f), &mut files));
    let mut count = 0;
    for file in files {
        let mut load = |_: &str, _: &str| Err("nothing can be imported here".to_string());
        let text = std::fs::read(&file).unwrap();
        // Some are there to be wrong.
        if let Ok(compiled) = deckle_syntax::compile(&mut SourceMap::new(), "test.dk", text, &mut load) {
            count += functions_read_back(&compiled.program, &file.display().to_string());
        }
    }
    assert!(count > 1000, "{count}");
}

#[test]
fn of_random_programs() {
    for seed in 0..200 {
        for config in [Config::flat(), Config::nested(), Config::default()] {
            functions_read_back(&deckle_gen::program(seed, &config).program, &format!("seed {seed}"));
        }
    }
}

/// The rows of the last tile may be shorter than the others, so the size of a row is the largest of all, which is a fold.
#[test]
fn a_size_that_takes_a_loop_is_stored_before_the_host_asks_for_it() {
    let program = array::parse(
        "fn main [n0, n1/1, n2/1, n3/1, n4/1] (v0 a: [i64; n0]) -> [i64; n0] {
  v1: i64 = const<3i64>()
  v2: [[i64; n0]; 3] = replicate(v0, v1)
  v3: {i0 -> [[i64; n2(i0)]; n1(i0)]} = tiles<2>(v2, v1, v1)
  v4: [[i64; n2(0)]; n1(0)] = the(v3)
  v5: {i0 -> [[i64; n4(i0)]; n3(i0)]} = tiles<2>(v4, v1, v1)
  v0
}
",
    )
    .unwrap();
    for fuse in [true, false] {
        let flat = flatten(&program, Func(0), Options { fuse, ..Options::default() }).unwrap();
        reads_back(&flat, &format!("fuse {fuse}"));
    }
}
