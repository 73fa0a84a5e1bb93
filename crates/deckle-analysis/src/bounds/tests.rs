//! Which indices are proven, and which must not be.

use super::*;
use deckle_ir::array::Program;

fn compiled(text: &str) -> Program {
    let mut sources = deckle_diag::SourceMap::new();
    let none = &mut |_: &str, _: &str| Err(String::new());
    deckle_syntax::compile(&mut sources, "test.dk", text.as_bytes().to_vec(), none)
        .unwrap_or_else(|e| panic!("{text}\n{}", deckle_diag::render_all(&e, &sources, false)))
        .program
}

/// The number of accesses of the last function, and of those that are proven.
fn counted(text: &str) -> (usize, usize) {
    count(compiled(text).funcs.last().unwrap())
}

fn is_proven(text: &str) {
    let (all, proven) = counted(text);
    assert!(all > 0 && proven == all, "{proven} of {all}: {text}");
}

fn is_not_proven(text: &str) {
    let (all, proven) = counted(text);
    assert!(all > 0 && proven == 0, "{proven} of {all}: {text}");
}

#[test]
fn positions_are_below_the_size_they_run_over() {
    is_proven("def main(xs: [int]) = [ xs[i] : i in iota(length(xs)) ]");
    is_proven("def main(xs: [int; n], ys: [int; n]) = generate(length(xs), \\i -> ys[i])");
    is_proven("def main(xs: [int]) = loop s = 0 for i < length(xs) do s + xs[i]");
    is_proven("def main(xs: [int]) = [ xs[i - 1] : i in 1..<length(xs) ]");
    is_proven(
        "def main(a: [real; n, m], x: [real; m]) = [ [ a[i, j] * x[j] : j in iota(length(x)) ] : i in iota(length(a)) ]",
    );
    is_not_proven("def main(xs: [int], n: int) = [ xs[i] : i in iota(n) ]");
    is_not_proven("def main(xs: [int]) = [ xs[i + 1] : i in iota(length(xs)) ]");
    is_not_proven("def main(xs: [int]) = [ xs[i - 1] : i in iota(length(xs)) ]");
    is_not_proven("def main(xs: [int], ys: [int]) = [ ys[i] : i in iota(length(xs)) ]");
}

#[test]
fn rows_are_below_their_own_length() {
    is_proven("def main(a: [[int]]) = [ [ row[j] : j in iota(length(row)) ] : row in a ]");
    // There is a first row, but it may be shorter.
    assert_eq!(counted("def main(a: [[int]]) = [ [ a[0][j] : j in iota(length(row)) ] : row in a ]"), (2, 1));
}

#[test]
fn a_linear_index_of_a_flattened_matrix_is_proven() {
    is_proven(
        "def main(a: [real; n, m]) = let flat = flatten(a) let (n, m) = shape(a) in generate(n, m, \\i j -> flat[i * m + j])",
    );
    is_not_proven(
        "def main(a: [real; n, m]) = let flat = flatten(a) let (n, m) = shape(a) in generate(n, m, \\i j -> flat[i * n + j])",
    );
}

#[test]
fn remainders_quotients_and_extremes() {
    is_proven("def main(xs: [int; 8]) = [ xs[i % 8] : i in iota(100) ]");
    is_proven("def main(xs: [int; 8]) = [ xs[i / 4] : i in iota(32) ]");
    is_not_proven("def main(xs: [int; 8]) = [ xs[i / 4] : i in iota(33) ]");
    is_not_proven("def main(xs: [int; 8], k: int) = xs[k % 8]");
    is_proven("def main(xs: [int]) = [ xs[max(0, min(i - 1, length(xs) - 1))] : i in iota(length(xs)) ]");
    is_not_proven("def main(xs: [int]) = xs[max(0, length(xs) - 1)]");
    is_proven("def main(xs: [int]) = [ xs[0] + x : x in xs ]");
    is_proven("def main(xs: [int; 256], bytes: [u8]) = [ xs[int(b)] : b in bytes ]");
}

#[test]
fn a_least_of_what_may_wrap_is_not_taken_apart() {
    // `n * n` may wrap to anything.
    is_not_proven("def main(xs: [int; 8], n: int) = xs[max(0, min(n * n, 7)) - min(0, n * n)]");
    is_proven("def main(xs: [int; 8], n: int) = xs[max(0, min(n, 7))]");
}

#[test]
fn an_array_of_a_product_may_be_shorter_than_its_type_says() {
    // For n = m = 2³² the product wraps to 0, and there are no elements.
    is_not_proven(
        "def main(n: int, m: int) = let xs = iota(n * m) in loop s = 0 for i < n do loop t = s for j < m do t + xs[i * m + j]",
    );
    // Each position is one of a row, but a row may be empty.
    let rows =
        "def main(ns: [int]) = let rows = [ iota(n * n) : n in ns ] in [ rows[i][0 * ns[i]] : i in iota(length(ns)) ]";
    assert_eq!(counted(rows), (3, 2));
    is_not_proven("def main() = iota(4294967296 * 4294967296)[5]");
}

#[test]
fn parts_are_proven_as_a_whole() {
    is_proven("def main(xs: [int]) = [ xs[i:length(xs)] : i in iota(length(xs)) ]");
    is_not_proven("def main(xs: [int]) = xs[1:length(xs)]");
}
