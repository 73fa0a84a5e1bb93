//! Sizes that are written inside sequences, in functions that are not the entry: checked for every element on every backend, since proofs of indices rest on them.

use deckle_diag::{Code, SourceMap};
use deckle_engine::{Chunks, Layout, Native, Options, Settings, Simulated};
use deckle_ir::value::Value;

const PROGRAMS: &str = "
def both(a: {[int; n]}, b: {[int; n]}) = { [ s[i] : i in iota(length(r)) ] : r in a; s in b }
def longer(a: {[int; n + 1]}, b: {[int; n]}) = { [ s[i] : i in iota(length(r) - 1) ] : r in a; s in b }
def twice(b: {[int; n]}, a: {[int; 2 * n]}) = { [ s[i] : i in iota(length(r) / 2) ] : r in a; s in b }
def pairs(a: {([int; n], [int; n])}) = { [ s[i] : i in iota(length(r)) ] : (r, s) in a }
def sums(a: {[int; n]}) = { sum(r) : r in a }
def use_both(p: [[int]], q: [[int]]) = tab(both(seq(p), seq(q)))
def use_longer(p: [[int]], q: [[int]]) = tab(longer(seq(p), seq(q)))
def use_twice(p: [[int]], q: [[int]]) = tab(twice(seq(q), seq(p)))
def use_pairs(p: [[int]], q: [[int]]) = tab(pairs(seq(zip(p, q))))
def use_sums(p: [[int]], q: [[int]]) = tab(sums(seq(p ++ q)))
def filtered(p: [[int]], q: [[int]]) = tab(both({ r : r in p | length(r) != 1 }, { r : r in q | length(r) != 1 }))
def dot(x: [int; n], y: [int; n]) = sum([ x[i] * y[i] : i in iota(n) ])
def dots(p: [[int]], q: [[int]]) = [ dot(r, s) : r in p; s in q ]
";

fn rows(lengths: &[usize]) -> Value {
    let row = |n: &usize| Value::array((0..*n as i64).map(Value::int).collect());
    Value::array(lengths.iter().map(row).collect())
}

/// Runs a function in the interpreter and on all backends, which must agree; whether and how it fails.
fn outcome(entry: &str, p: &[usize], q: &[usize]) -> Result<(), Code> {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "sizes.dk", PROGRAMS.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
    let (program, args) = (&compiled.program, [rows(p), rows(q)]);
    let expected = deckle_interp::run(program, func, &args, &deckle_interp::Options::default());
    let expected = expected.map(|o| o.value).map_err(|d| d.code);
    for fuse in [true, false] {
        for chunks in [Chunks::Needed, Chunks::Always] {
            let native = Native::compile(program, func, Options { fuse, chunks, ..Options::default() }).unwrap();
            for chunk in [None, Some(1), Some(2), Some(7)] {
                let settings = Settings { chunk, ..Settings::new(2, None) };
                let got = native.run(&args, &settings).map_err(|d| d.code);
                assert_eq!(got, expected, "{entry} {p:?} {q:?}, fused: {fuse}, {chunks:?}, in chunks of {chunk:?}");
            }
        }
        let layout = Layout { threads: 64, parts: None, wide: Some(fuse) };
        let simulated = Simulated::compile(program, func, Options { fuse, ..Options::default() }, layout).unwrap();
        let got = simulated.run(&args, &Settings::new(1, None)).map_err(|d| d.code);
        assert_eq!(got, expected, "{entry} {p:?} {q:?} on the simulator, fused: {fuse}");
    }
    expected.map(drop)
}

#[test]
fn sizes_that_agree_pass() {
    for n in [0, 1, 3] {
        for entry in ["use_both", "use_pairs", "use_sums", "filtered", "dots"] {
            assert_eq!(outcome(entry, &[n; 2], &[n; 2]), Ok(()), "{entry}");
            assert_eq!(outcome(entry, &[], &[]), Ok(()), "{entry}");
        }
        assert_eq!(outcome("use_longer", &[n + 1; 2], &[n; 2]), Ok(()));
        assert_eq!(outcome("use_twice", &[2 * n; 2], &[n; 2]), Ok(()));
    }
    assert_eq!(outcome("filtered", &[2, 1, 2], &[1, 2, 2]), Ok(()));
}

#[test]
fn sizes_that_differ_between_arguments_are_refused() {
    for entry in ["use_both", "use_longer", "use_twice", "use_pairs", "filtered", "dots"] {
        assert_eq!(outcome(entry, &[8], &[3]), Err(Code::SizeCheck), "{entry}");
        assert_eq!(outcome(entry, &[3000], &[2]), Err(Code::SizeCheck), "{entry}");
    }
    assert_eq!(outcome("filtered", &[2, 1, 2], &[1, 2, 3]), Err(Code::SizeCheck));
    assert_eq!(outcome("dots", &[3, 3, 3000], &[3, 3, 2]), Err(Code::SizeCheck));
}

#[test]
fn a_size_is_the_same_in_all_elements() {
    for entry in ["use_both", "use_pairs", "filtered"] {
        assert_eq!(outcome(entry, &[3, 2], &[3, 2]), Err(Code::NotRegular), "{entry}");
    }
    assert_eq!(outcome("use_sums", &[2, 2, 2], &[2, 3]), Err(Code::NotRegular));
    assert_eq!(outcome("use_both", &[3, 3], &[3, 2]), Err(Code::SizeCheck));
}

#[test]
fn what_is_left_for_a_size_is_not_negative() {
    assert_eq!(outcome("use_longer", &[0], &[0]), Err(Code::SizeCheck));
}

/// Elements that a type tells of, but no row has: none is loaded, not even outside of the loop over the rows.
#[test]
fn rows_that_are_not_there_are_not_read() {
    let text = "
        fn main () -> [[bool; 0]; 200] {
          v0: [[bool; 200]; 0] = use<[[bool; 200]; 0] = []>()
          v1: [[bool; 0]; 200] = transpose<[1, 0]>(v0)
          v1
        }";
    let program = deckle_ir::array::parse(text).unwrap();
    let options = Options { checked: true, ..Options::default() };
    let native = Native::compile(&program, deckle_ir::entity::Func(0), options).unwrap();
    let rows = native.run(&[], &Settings::checked(1, None)).unwrap();
    assert_eq!(rows, Value::array(vec![Value::array(vec![]); 200]));
}
