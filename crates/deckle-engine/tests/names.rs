//! Errors about memory name the array, and say where it stands.

use deckle_diag::{Code, SourceMap, render};
use deckle_engine::{Native, Options, Settings};
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;

/// What running a program on a number says, within a megabyte: the message and the text that it points at.
fn said(text: &str, n: i64) -> (String, String) {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let compiled = deckle_syntax::compile(&mut sources, "names.dk", text.as_bytes().to_vec(), &mut load)
        .unwrap_or_else(|d| panic!("{d:?}"));
    let func = compiled.entries.last().unwrap().func;
    let native = Native::compile(&compiled.program, func, Options::default()).unwrap();
    let settings = Settings { max_bytes: 1 << 40, ..Settings::new(1, Some(1 << 20)) };
    let d = native.run(&[Value::from(Scalar::I64(n))], &settings).unwrap_err();
    assert_eq!(d.code, Code::LimitExceeded, "{}", d.message);
    let place = d.labels.first().map_or(String::new(), |l| text[l.span.lo as usize..l.span.hi as usize].to_string());
    assert!(render(&d, &sources, false).contains(&d.message));
    (d.message.clone(), place)
}

fn names(text: &str, name: &str, place: &str) {
    let (message, at) = said(text, 1_000_000);
    assert!(message.starts_with(&format!("{name} needs 7.6 MiB, but ")), "{message}");
    assert_eq!(at, place, "{message}");
}

#[test]
fn a_variable_is_named() {
    names(
        "def main(n: int) = let ys = scan_incl(+, 0, iota(n)) in ys[n - 1] + sum(ys)",
        "`ys`",
        "scan_incl(+, 0, iota(n))",
    );
    names(
        "def main(n: int) = let (a, b) = (1, scan_incl(+, 0, iota(n))) in b[n - a]",
        "`b`",
        "scan_incl(+, 0, iota(n))",
    );
    names(
        "def sums(k: int) = let all = scan_incl(+, 0, iota(k)) in reverse(all)\ndef main(n: int) = sum(sums(n))",
        "`all`",
        "scan_incl(+, 0, iota(k))",
    );
}

#[test]
fn what_has_no_name_is_told_by_its_operator() {
    names(
        "def main(n: int) = sum(reverse(scan_incl(+, 0, iota(n))))",
        "the result of `scan`",
        "scan_incl(+, 0, iota(n))",
    );
    names(
        "def main(n: int) = sum(sort([ -i : i in iota(n) ]))",
        "the list of keys of the result of `sort`",
        "sort([ -i : i in iota(n) ])",
    );
}

#[test]
fn results_and_states_are_named() {
    names("def main(n: int) = [ i * i : i in iota(n) ]", "the result", "[ i * i : i in iota(n) ]");
    let text =
        "def main(n: int) = loop (ys, k) = ([0], 1) while k < n do ([ i + ys[0] : i in iota(k * 1000) ], k * 1000)";
    names(text, "`ys`", "loop (ys, k) = ([0], 1) while k < n do ([ i + ys[0] : i in iota(k * 1000) ], k * 1000)");
}

#[test]
fn parts_of_ragged_arrays_are_told() {
    let rows = "def main(n: int) = [ filter(\\j -> j % 2 == i % 2, iota(2)) : i in iota(n) ]";
    let (message, _) = said(rows, 1_000_000);
    assert!(message.starts_with("the list of sizes of the result of `filter` needs "), "{message}");
}

#[test]
fn what_is_too_large_for_any_memory_is_named() {
    let (message, place) = said("def main(n: int) = let ys = scan_incl(+, 0, iota(n)) in reverse(ys)", 1 << 50);
    assert_eq!(message, "`ys` comes to 1125899906842624 elements, more than there can be");
    assert_eq!(place, "scan_incl(+, 0, iota(n))");
}

#[test]
fn an_argument_is_named() {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, _: &str| Err("no imports".to_string());
    let text = "def main(xs: [int]) = sum(xs)";
    let compiled = deckle_syntax::compile(&mut sources, "names.dk", text.as_bytes().to_vec(), &mut load).unwrap();
    let native = Native::compile(&compiled.program, compiled.entries[0].func, Options::default()).unwrap();
    let xs = Value::array((0..200_000i64).map(|i| Value::from(Scalar::I64(i))).collect());
    let d = native.run(&[xs], &Settings::new(1, Some(1 << 20))).unwrap_err();
    assert!(d.message.starts_with("argument `xs` needs 1.5 MiB, but "), "{}", d.message);
}
