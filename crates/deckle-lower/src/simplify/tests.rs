//! Each rule fires where it may, and does not where it must not.

use super::*;
use deckle_ir::array::verify;

fn compiled(text: &str) -> Program {
    let mut sources = deckle_diag::SourceMap::new();
    let none = &mut |_: &str, _: &str| Err(String::new());
    deckle_syntax::compile(&mut sources, "test.dk", text.as_bytes().to_vec(), none)
        .unwrap_or_else(|e| panic!("{text}\n{}", deckle_diag::render_all(&e, &sources, false)))
        .program
}

/// The operators of the last function, without constants.
fn ops(program: &Program) -> Vec<&'static str> {
    let func = program.funcs.last().unwrap();
    let name = |v: &VarData| match &v.def {
        Def::Inst(Inst { op: Op::Const(_), .. }) | Def::Param(..) => None,
        Def::Inst(Inst { op: Op::Binary(op), .. }) => Some(op.name()),
        Def::Inst(Inst { op: Op::Unary(op), .. }) => Some(op.name()),
        Def::Inst(inst) => Some(inst.op.info().name),
    };
    func.vars.iter().filter_map(name).collect()
}

fn becomes(text: &str, expected: &[&str]) {
    let simple = simplify(&compiled(text));
    assert!(verify(&simple).is_ok(), "{simple}");
    assert_eq!(ops(&simple), expected, "{text}\n{simple}");
    assert_eq!(simplify(&simple), simple);
}

fn stays(text: &str) {
    let program = compiled(text);
    let before = ops(&program);
    becomes(text, &before);
}

#[test]
fn constants_and_identities() {
    becomes("def main(x: int) = (x + 2 * 3 - 6) * 1 + (x - x)", &[]);
    becomes("def main(x: int, y: int) = x + y - x", &[]);
    becomes("def main(x: u8) = (x ^ x) | (x & 0u8)", &[]);
    becomes("def main(x: bool, y: bool) = !(!x)", &[]);
    becomes("def main(x: real) = x * 1.0 / 1.0 - 0.0", &[]);
    stays("def main(x: real) = x + 0.0");
    stays("def main(x: real) = x * 0.0");
    stays("def main(x: real) = x - x");
    stays("def main(x: int) = 1 / 0");
}

#[test]
fn tuples_that_are_taken_apart_are_not_made() {
    becomes("def main(x: int, y: int) = let (a, b) = (y, x) in a", &[]);
}

#[test]
fn lengths_come_from_types() {
    becomes("def main(n: int) = length(generate(n, \\i -> i))", &["generate"]);
    becomes("def main(xs: [int; 5]) = length(xs) + 1", &[]);
    becomes("def main(xs: [int]) = length([ x * x : x in xs ])", &["length"]);
}

#[test]
fn what_can_fail_stays_and_what_cannot_goes() {
    becomes("def main(xs: [int], i: int) = let a = sort(xs) let b = xs[i] in 3", &["index"]);
    becomes("def main(n: int) = let a = iota(n) in 3", &["iota"]);
    becomes("def main(xs: [int]) = let a = iota(length(xs)) in 3", &[]);
    becomes("def main(xs: [int]) = let a = min(xs) in sum(xs)", &["reduce", "reduce"]);
    becomes("def main(n: int) = let a = loop k = n while k > 0 do k - 1 in 3", &["gt", "sub", "while"]);
    becomes("def main(n: int) = let a = loop k = n for i < n do k - i in 3", &[]);
}

#[test]
fn calls_go_only_if_nothing_in_them_can_fail() {
    becomes("def f(x: int) = x * x\ndef main(n: int) = let a = f(n) in n", &[]);
    becomes("def f(x: int) = 1 / x\ndef main(n: int) = let a = f(n) in n", &["call"]);
    becomes(
        "def f(xs: [int; n], ys: [int; n]) = sum(xs)\ndef main(xs: [int], ys: [int]) = let a = f(xs, ys) in 1",
        &["call"],
    );
}

#[test]
fn the_same_work_is_done_once_but_sequences_are_not_shared() {
    becomes("def main(x: int, y: int) = (x * y) + (y * x)", &["mul", "add"]);
    becomes("def main(x: real, y: real) = (x * y) + (y * x)", &["mul", "mul", "add"]);
    becomes(
        "def main(xs: [int]) = sum([ x + 1 : x in xs ]) * sum([ y + 1 : y in xs ])",
        &["add", "map", "reduce", "mul"],
    );
    let twice = "def main(n: int) = sum({ x : x in iota(n) }) * sum({ x : x in iota(n) })";
    let simple = simplify(&compiled(twice));
    assert_eq!(ops(&simple).iter().filter(|o| **o == "iota").count(), 2, "{simple}");
}

#[test]
fn shapes_that_undo_one_another_vanish() {
    becomes("def main(a: [real; n, m]) = transpose(transpose(a))", &[]);
    becomes("def main(xs: [int]) = reverse(reverse(xs))", &[]);
    becomes("def main(xs: [int]) = tab(seq(xs))", &[]);
    becomes("def main(xs: [int; 6]) = reshape(reshape(xs, 2, 3), 6)", &[]);
    // The number of elements is not known to fit.
    becomes("def main(xs: [int], k: int) = flatten(reshape(xs, 2, k))", &["reshape"]);
    becomes("def main(xs: [int], k: int) = take(k, xs)", &["take"]);
    becomes("def main(xs: [int]) = take(length(xs), xs)", &[]);
}

#[test]
fn an_index_moves_only_where_its_check_stays_what_it_was() {
    // An error reports the index that was written.
    becomes("def main(a: [real; n, m], i: int, j: int) = transpose(a)[i, j]", &["transpose", "index"]);
    becomes(
        "def main(a: [real; 4, 3]) = let t = transpose(a) in generate(3, 4, \\i j -> t[i, j])",
        &["index", "generate"],
    );
    becomes("def main(xs: [int; 5], i: int) = reverse(xs)[i]", &["reverse", "index"]);
    becomes(
        "def main(xs: [int; 5]) = let ys = reverse(xs) in generate(5, \\i -> ys[i])",
        &["sub", "index", "generate"],
    );
    // In a row of two, index 2 is outside, though there are six elements.
    becomes("def main(xs: [int; 6], i: int, j: int) = reshape(xs, 3, 2)[i, j]", &["reshape", "index"]);
    becomes(
        "def main(xs: [int; 6]) = let a = reshape(xs, 3, 2) in generate(3, 2, \\i j -> a[i, j])",
        &["mul", "add", "index", "generate"],
    );
    becomes("def main(xs: [int; 6], i: int) = xs[1:3][i]", &["slice", "index"]);
    becomes("def main(xs: [int; 6], i: int) = take(2, xs)[i]", &["take", "index"]);
    becomes("def main(xs: [int; 6]) = let ys = xs[2:5] in generate(3, \\i -> ys[i])", &["add", "index", "generate"]);
    becomes("def main(n: int) = generate(n, \\i -> iota(n)[i])", &["generate"]);
}

#[test]
fn quotients_of_linear_indices_cancel_only_where_nothing_wraps() {
    becomes("def main(n: int, m: int) = generate(n, m, \\i j -> (i * m + j) / m)", &["generate"]);
    becomes("def main(n: int, m: int) = generate(n, m, \\i j -> (i * m + j) % m)", &["generate"]);
    becomes("def main(n: int, m: int) = generate(n, m, \\i j -> (i * n + j) / n)", &["mul", "add", "div", "generate"]);
    becomes("def main(i: int, m: int, j: int) = (i * m + j) / m", &["mul", "add", "div"]);
    becomes("def main(n: int) = generate(n, \\i -> (i * 4 + 3) % 4)", &["generate"]);
    becomes("def main(i: int) = (i * 8 + 3) % 8", &["mul", "add", "rem"]);
}

#[test]
fn conditionals() {
    becomes("def main(x: int) = if 1 < 2 then x else x / 0", &[]);
    becomes("def main(c: bool, x: int, y: int) = if c then x + 1 else y", &["add", "select"]);
    becomes("def main(c: bool, x: bool) = if c then x else false", &["and"]);
    becomes("def main(c: bool, x: int, y: int) = if c then x / y else y", &["div", "if"]);
    becomes("def main(c: bool, x: int, y: int) = if c then (x, 1) else (y, 1)", &["select", "tuple"]);
    becomes("def main(c: bool, xs: [int], i: int, j: int) = if c then xs[i] else xs[j]", &["select", "index"]);
    becomes("def main(c: bool, xs: [int], ys: [int]) = if c then xs[0] else ys[0]", &["index", "index", "if"]);
}
