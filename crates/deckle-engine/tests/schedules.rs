//! Schedules that are given: what is not legal is refused with the reason, before any code is made.

use deckle_diag::{Code, SourceMap};
use deckle_engine::{Options, pipeline};
use deckle_ir::schedule::{Level, Nest, Schedule, Walk, When, parse};
use deckle_syntax::Compiled;

fn compiled(text: &str) -> Compiled {
    let mut load = |_: &str, _: &str| Err("nothing is imported".to_string());
    deckle_syntax::compile(&mut SourceMap::new(), "a.dk", text.as_bytes().to_vec(), &mut load).unwrap()
}

/// Why a program refuses a schedule in which the nest of the outermost walk is another.
fn refusal(text: &str, nest: impl Fn(&Walk) -> Nest) -> String {
    let Compiled { program, .. } = compiled(text);
    let func = program.find("main").unwrap();
    let chosen = pipeline::scheduled(&program, func, Options::default(), None).unwrap();
    let mut function = chosen.functions[0].clone();
    function.walks = function.walks.iter().map(|w| Walk { nest: nest(w), ..w.clone() }).collect();
    let given = Schedule { functions: vec![function] };
    let refused = pipeline::scheduled(&program, func, Options::default(), Some(&given)).expect_err("it is not legal");
    assert_eq!(refused.code, Code::BadFile, "{}", refused.message);
    refused.message.clone()
}

/// The same with a level that is written out, and nothing inside.
fn refused_level(text: &str, level: &str) -> String {
    let read = parse(&format!("function f {{ s1: {{ {level} }} }}")).unwrap();
    refusal(text, |_| read.functions[0].walks[0].nest.clone())
}

#[test]
fn what_an_operator_forbids_is_refused() {
    let in_order = "def main(xs: [real]) = fold_ordered(\\s x -> 0.5 * s + x, 0.0, xs)";
    assert!(refused_level(in_order, "lanes 8 x 1").contains("one after another"));
    assert!(refused_level(in_order, "accumulators 4").contains("only folds with operators"));
    assert!(refused_level(in_order, "independent").contains("order of points matters"));
    let scatter = "def main(keys: [int], n: int) = histogram(+, 0, n, keys, fill(1, length(keys)))";
    let scan = "def main(xs: [int]) = scan_incl(+, xs)";
    assert!(refused_level(scan, "lanes 8 x 2").contains("one vector after another"));
    assert!(refused_level(scan, "accumulators 2").contains("only folds"));
    let sum = "def main(xs: [real]) = sum(xs)";
    for level in ["lanes 3 x 1", "lanes 32 x 1", "lanes 1 x 1", "lanes 8 x 3"] {
        assert!(refused_level(sum, level).contains("powers of two"), "{level}");
    }
    assert!(refused_level(sum, "unrolled").contains("a few points"));
    assert!(refused_level(sum, "lanes 8 x 4 non_temporal").contains("non-temporal"));
    assert!(refused_level(sum, "windows 512 lanes 8").contains("no rows"));
    assert!(refused_level(sum, "tile 6 lanes 8 x 4").contains("cannot be tiled"));
    assert!(refused_level(sum, "when interior { serial } else { serial }").contains("grouped otherwise"));
    assert!(refused_level(scatter, "when interior { serial } else { serial }").contains("no edges"));
}

#[test]
fn what_is_missing_or_too_much_is_refused() {
    let rows = "def main(rows: [[real]]) = [ sum(r) : r in rows ]";
    let without = |w: &Walk| match &w.nest {
        Nest::Level { level, .. } => Nest::level(*level, [], ""),
        nest => nest.clone(),
    };
    assert!(refusal(rows, without).contains("there is no walk over"));
    let twice = |w: &Walk| {
        let inner = Walk { nest: Nest::level(Level::Serial, [], ""), ..w.clone() };
        match &w.nest {
            Nest::Level { level, inside, .. } => Nest::level(*level, [&inside[..], &[inner]].concat(), ""),
            nest => nest.clone(),
        }
    };
    assert!(refusal(rows, twice).contains("nothing has to be traversed by"));
    let sum = "def main(xs: [int]) = sum(xs)";
    let negative = |w: &Walk| Nest::when(When::Fewer(-1), w.nest.clone(), w.nest.clone());
    assert!(refusal(sum, negative).contains("when fewer -1"));
}
