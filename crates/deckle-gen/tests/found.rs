//! Programs that failed once, as shrunk.

use deckle_interp::{Options, run};
use deckle_ir::array::{parse, verify};
use deckle_ir::value::Value;

#[track_caller]
fn runs(text: &str, args: &[Value]) -> Value {
    let program = parse(text).unwrap();
    verify(&program).unwrap();
    let options = Options { check_sizes: true, ..Options::default() };
    run(&program, program.find("main").unwrap(), args, &options).unwrap().value
}

fn ints(list: &[i64]) -> Value {
    Value::array(list.iter().map(|n| Value::int(*n)).collect())
}

/// The type had `n0 - v1` elements: the bound of zero had been considered redundant.
#[test]
fn what_is_dropped_may_be_more_than_there_is() {
    let text = "fn main [n0] (v0 a: [i32; n0], v1 b: i64) -> [i32; max(0, n0 - v1)] {
  v2: [i32; max(0, n0 - v1)] = drop(v0, v1)
  v2
}
";
    assert_eq!(runs(text, &[Value::array(vec![]), Value::int(4)]), ints(&[]));
}

/// The type of the result had two components of one size, because the start has.
#[test]
fn a_fold_may_change_equal_sizes_to_different_ones() {
    let text =
        "fn main [n0, n1, n2, n3, n4, n5, n6, n7] (v0 a: [([i64; n1], [i64; n1]); n0]) -> ([i64; n6], [i64; n7]) {
  v1: [i64; 0] = array<i64>()
  v2: ([i64; 0], [i64; 0]) = tuple(v1, v1)
  v7: ([i64; n6], [i64; n7]) = fold(v2, v0) ^1(v3: ([i64; n2], [i64; n3]), v4: ([i64; n4], [i64; n5])) {
    v5: [i64; n5] = proj<1>(v4)
    v6: ([i64; 0], [i64; n5]) = tuple(v1, v5)
    v6
  }
  v7
}
";
    let pair = Value::tuple(vec![ints(&[7, 8]), ints(&[7, 8])]);
    assert_eq!(runs(text, &[Value::array(vec![pair])]), Value::tuple(vec![ints(&[]), ints(&[7, 8])]));
}

/// The size of the result was `n0 + 2`: the simplified `max(0, n0 + 2 - 2)` was translated twice.
#[test]
fn the_sizes_of_a_call_are_those_of_its_arguments_once() {
    let text = "fn main [n0] (v0 a: [i64; n0]) -> [i64; n0] {
  v1: i64 = const<1i64>()
  v2: [i64; n0 + 2] = pad<0>(v0, v1, v1, v1)
  v3: [i64; n0] = call<@helper>(v2)
  v3
}
";
    let helper = "fn helper [n0] (v0 a: [i64; n0]) -> [i64; max(0, n0 - 2)] {
  v1: i64 = const<2i64>()
  v2: [i64; max(0, n0 - 2)] = drop(v0, v1)
  v2
}
";
    assert_eq!(runs(&format!("{helper}\n{text}"), &[ints(&[])]), ints(&[]));
}

/// The verifier recognised fresh sizes only if they occur alone, and here none does.
#[test]
fn a_size_that_a_callee_binds_may_come_with_a_constant() {
    let text = "fn helper [n0, n1] (v0 a: [i64; n0]) -> [i64; n1 + 1] {
  v1: [i64; n1] = ensure<[i64; n1]>(v0)
  v2: i64 = const<0i64>()
  v3: [i64; 1] = array<i64>(v2)
  v4: [i64; n1 + 1] = concat<0>(v1, v3)
  v4
}

fn main [n0, n1] (v0 a: [i64; n0]) -> i64 {
  v3: [i64; n0] = map(v0) ^1(v1: i64) {
    v2: [i64; n1 + 1] = call<@helper>(v0)
    v1
  }
  v4: i64 = length(v3)
  v4
}
";
    assert_eq!(runs(text, &[ints(&[5, 6])]), Value::int(2));
}

/// The callee assumed the length of missing rows to be 0, and the transposed matrix had none.
#[test]
fn a_callee_knows_the_size_of_rows_that_are_not_there() {
    let text = "fn turn [n0, n1] (v0 a: [[i64; n1]; n0]) -> [[i64; n0]; n1] {
  v1: [[i64; n0]; n1] = transpose<[1, 0]>(v0)
  v1
}

fn main (v0 n: i64) -> i64 {
  v1: [i64; 3] = array<i64>(v0, v0, v0)
  v2: [[i64; 3]; v0] = replicate(v1, v0)
  v3: [[i64; v0]; 3] = call<@turn>(v2)
  v4: i64 = length(v3)
  v4
}
";
    assert_eq!(runs(text, &[Value::int(0)]), Value::int(3));
}
