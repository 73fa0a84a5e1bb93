//! Decisions about small programs.

use super::*;
use deckle_diag::SourceMap;
use deckle_ir::array::Program;

fn compiled(text: &str) -> Program {
    let none = &mut |_: &str, _: &str| Err(String::new());
    deckle_syntax::compile(&mut SourceMap::new(), "test.dk", text.as_bytes().to_vec(), none).unwrap().program
}

/// The decisions about the results of operators of that name, innermost body first.
fn lifts(text: &str, op: &str) -> Vec<Lift> {
    let program = compiled(text);
    let function = program.funcs.last().unwrap();
    decide(function)
        .into_iter()
        .filter(|d| function.inst(d.var).is_some_and(|i| i.op.info().name == op))
        .flat_map(|d| d.parts.into_iter().map(|(_, lift)| lift))
        .collect()
}

fn ragged(lift: &Lift) -> bool {
    matches!(lift, Lift::Ragged(_))
}

#[test]
fn what_does_not_use_the_element_is_invariant() {
    assert_eq!(lifts("def main(xs: [int], n: int) = [ x + sum(iota(n)) : x in xs ]", "reduce"), [Lift::Invariant]);
    assert_eq!(lifts("def main(xs: [int], k: int) = [ x : x in xs | k * k > x ]", "gt"), [] as [Lift; 0]);
}

#[test]
fn what_has_one_size_everywhere_is_regular() {
    assert_eq!(lifts("def main(xs: [int], n: int) = [ fill(x, n) : x in xs ]", "replicate"), [Lift::Regular]);
    assert_eq!(lifts("def main(a: [real; n, m]) = [ reverse(row) : row in a ]", "reverse"), [Lift::Regular]);
}

#[test]
fn what_has_another_size_at_each_element_is_ragged() {
    let by_value = lifts("def main(ns: [int]) = [ fill(1, n) : n in ns ]", "replicate");
    assert!(ragged(&by_value[0]) && by_value.len() == 1);
    assert!(ragged(&lifts("def main(a: [[real]]) = [ reverse(row) : row in a ]", "reverse")[0]));
    assert!(ragged(&lifts("def main(a: [real; n, m]) = [ filter(\\x -> x > 0.0, row) : row in a ]", "filter")[0]));
}

#[test]
fn filtering_the_same_for_all_is_invariant() {
    let text = "def main(xs: [int], ys: [int]) = [ x + length(filter(\\y -> y > 0, ys)) : x in xs ]";
    assert_eq!(lifts(text, "filter"), [Lift::Invariant]);
}

#[test]
fn tuples_are_decided_by_component() {
    let text = "def main(ns: [int], k: int) = [ (k * 2, fill(n, k), fill(k, n)) : n in ns ]";
    let found = lifts(text, "tuple");
    assert_eq!(found[..2], [Lift::Invariant, Lift::Regular]);
    assert!(ragged(&found[2]));
}

#[test]
fn each_body_around_decides_for_itself() {
    let text = "def main(a: [real; n, m], ks: [int]) = [ [ fill(k, length(row)) : row in a ] : k in ks ]";
    assert_eq!(
        lifts(text, "replicate"),
        [Lift::Invariant, Lift::Regular],
        "rows are all alike, and k is the same for each"
    );
    let text = "def main(ns: [int]) = [ [ fill(j, n) : j in 0..<3 ] : n in ns ]";
    let found = lifts(text, "replicate");
    assert_eq!(found[0], Lift::Regular, "over j");
    assert!(ragged(&found[1]), "over n");
}

#[test]
fn sequences_are_decided_by_their_length() {
    assert_eq!(
        lifts("def main(xs: [int], n: int) = [ sum({ x * i : i in iota(n) }) : x in xs ]", "map")[0],
        Lift::Regular
    );
    assert!(ragged(&lifts("def main(ns: [int]) = [ sum({ i * i : i in iota(n) }) : n in ns ]", "iota")[0]));
}
