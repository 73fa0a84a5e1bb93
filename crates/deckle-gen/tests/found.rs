//! Programs that once went wrong, as the shrinker left them.

use deckle_interp::{Options, run};
use deckle_ir::array::{parse, verify};
use deckle_ir::entity::Func;
use deckle_ir::value::Value;

#[track_caller]
fn runs(text: &str, args: &[Value]) -> Value {
    let program = parse(text).unwrap();
    verify(&program).unwrap();
    let options = Options { check_sizes: true, ..Options::default() };
    run(&program, Func(0), args, &options).unwrap().value
}

fn ints(list: &[i64]) -> Value {
    Value::array(list.iter().map(|n| Value::int(*n)).collect())
}

/// The type promised `n0 - v1` elements: the bound of zero had been taken for superfluous.
#[test]
fn what_is_dropped_may_be_more_than_there_is() {
    let text = "fn main [n0] (v0 a: [i32; n0], v1 b: i64) -> [i32; max(0, n0 - v1)] {
  v2: [i32; max(0, n0 - v1)] = drop(v0, v1)
  v2
}
";
    assert_eq!(runs(text, &[Value::array(vec![]), Value::int(4)]), ints(&[]));
}

/// The result was promised to have two components of one size, because the start has.
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
