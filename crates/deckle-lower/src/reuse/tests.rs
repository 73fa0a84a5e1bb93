//! Which kernels work in place, and which must not.

use super::*;
use crate::flatten::{Options, flatten};
use crate::simplify::simplify;
use deckle_ir::entity::Func;
use deckle_ir::kernel::verify;

const ALL: u64 = u64::MAX;

/// The program with its memory, which is well formed.
fn reused(text: &str, given: u64) -> Program {
    let mut sources = deckle_diag::SourceMap::new();
    let none = &mut |_: &str, _: &str| Err(String::new());
    let program = deckle_syntax::compile(&mut sources, "test.dk", text.as_bytes().to_vec(), none)
        .unwrap_or_else(|e| panic!("{text}\n{}", deckle_diag::render_all(&e, &sources, false)))
        .program;
    let last = Func(program.funcs.len() as u32 - 1);
    let mut flat = flatten(&simplify(&program), last, Options::default()).unwrap();
    reuse(&mut flat, given);
    verify(&flat).unwrap_or_else(|e| panic!("{e:?}\n{flat}"));
    flat
}

fn count(steps: &[Step], which: &dyn Fn(&Step) -> bool) -> usize {
    let inside = |s: &Step| match s {
        Step::If(_, yes, no) => count(yes, which) + count(no, which),
        Step::While { test, body, .. } => count(test, which) + count(body, which),
        _ => 0,
    };
    steps.iter().map(|s| usize::from(which(s)) + inside(s)).sum()
}

/// How many buffers take over memory.
fn taken(text: &str, given: u64) -> usize {
    count(&reused(text, given).steps, &|s| matches!(s, Step::Take(..)))
}

#[test]
fn maps_of_what_is_given_away_are_in_place() {
    assert_eq!(taken("def main(xs: [real]) = [ x * 2.0 : x in xs ]", ALL), 1);
    assert_eq!(taken("def main(xs: [real]) = [ x * 2.0 : x in xs ]", 0), 0);
    assert_eq!(taken("def main(m: [real; r, c]) = [ [ x * 2.0 : x in row ] : row in m ]", ALL), 1);
    assert_eq!(taken("def main(m: [[real]]) = [ [ x * 2.0 : x in row ] : row in m ]", ALL), 1);
    assert_eq!(taken("def main(xs: [(int, real)]) = [ (-n, sqrt(x)) : (n, x) in xs ]", ALL), 2);
    assert_eq!(taken("def main(xs: [real]) = [ if x > 0.0 then sqrt(x) else 0.0 : x in xs ]", ALL), 1);
    assert_eq!(taken("def main(xs: [real; n], m: [real; n, k]) = [ x + sum(row) : x in xs; row in m ]", ALL), 1);
}

#[test]
fn only_arguments_that_are_given_away_are_taken() {
    let axpy = "def main(a: real, xs: [real; n], ys: [real; n]) = [ a * x + y : x in xs; y in ys ]";
    for (given, wanted) in [(0, None), (0b001, None), (0b010, Some(1)), (0b100, Some(2)), (ALL, Some(1))] {
        let program = reused(axpy, given);
        let taken = program.steps.iter().find_map(|s| if let Step::Take(_, old, _) = s { Some(*old) } else { None });
        let param = taken.and_then(|b| program.params.iter().position(|p| program.rep_bufs(p).contains(&b)));
        assert_eq!(param, wanted, "{given:b}\n{program}");
    }
}

#[test]
fn what_is_read_elsewhere_is_not_overwritten() {
    for text in [
        // At other places.
        "def main(xs: [real]) = [ xs[i] + xs[0] : i in iota(length(xs)) ]",
        "def main(xs: [real]) = reverse(xs)",
        "def main(xs: [real]) = [ x + sum(xs) : x in xs ]",
        "def main(m: [real; r, c]) = [ [ x / sum(row) : x in row ] : row in m ]",
        "def main(xs: [real]) = scan_incl(+, 0.0, xs)",
        "def main(xs: [real]) = filter(\\x -> x > 0.0, xs)",
        // Of another type.
        "def main(xs: [real]) = [ f32(x) : x in xs ]",
        // Later.
        "def main(xs: [real]) = let ys = [ sqrt(x) : x in xs ] in (ys, sum(ys), xs)",
        // By a check, which is made again if it fails.
        "def main(xs: [int]) = [ 10 / x : x in xs ]",
        // And of another size.
        "def main(xs: [real]) = [ x * 2.0 : x in take(3, xs) ]",
    ] {
        assert_eq!(taken(text, ALL), 0, "{text}\n{}", reused(text, ALL));
    }
}

#[test]
fn two_sinks_do_not_share_what_one_overwrites() {
    // The second reads the first's old values.
    let text = "def main(xs: [real]) = ([ x + 1.0 : x in xs ], [ if x > 0.0 then sqrt(x) else 0.0 : x in xs ])";
    assert_eq!(taken(text, ALL), 0, "{}", reused(text, ALL));
}

#[test]
fn scatters_into_what_nobody_needs_copy_nothing() {
    let text = "def main(xs: [int], at: [int]) = scatter(xs, at, [ i * i : i in at ])";
    let run = |s: &Step| matches!(s, Step::Run(_));
    for (given, kernels) in [(0, 2), (ALL, 1)] {
        let program = reused(text, given);
        assert_eq!(count(&program.steps, &run), kernels, "{program}");
    }
}

#[test]
fn a_scatter_in_a_loop_copies_in_its_first_round_at_most() {
    let text = "def main(xs: [int], at: [int]) = loop ys = xs for i < 10 do scatter(ys, at, [ i : j in at ])";
    for given in [0, ALL] {
        assert_eq!(taken(text, given), 1, "{}", reused(text, given));
    }
    // Here the array is needed for the next scatter too.
    let both = "def main(xs: [int], at: [int]) =
        loop (ys, zs) = (xs, xs) for i < 10 do (scatter(ys, at, [ i : j in at ]), ys)";
    assert_eq!(taken(both, ALL), 0, "{}", reused(both, ALL));
}

#[test]
fn the_state_of_a_loop_is_updated_in_place_if_it_is_the_programs_own() {
    let text = |init: &str| format!("def main(xs: [real]) = loop ys = {init} for i < 10 do [ y * 0.5 : y in ys ]");
    assert_eq!(taken(&text("xs"), ALL), 1);
    assert_eq!(taken(&text("xs"), 0), 0);
    assert_eq!(taken(&text("[ sqrt(x) : x in xs ]"), 0), 1);
}

#[test]
fn memory_is_let_go_of_inside_loops_and_branches() {
    let text = "def main(xs: [real]) =
        loop ys = xs for i < 10 do
          let zs = scan_incl(+, 0.0, ys)
          in if zs[0] > 1.0 then reverse(zs) else [ z + ys[0] : z in zs ]";
    let program = reused(text, 0);
    let frees = count(&program.steps, &|s| matches!(s, Step::Free(_)));
    assert!(frees >= 5, "{program}");
    // No needed buffer is freed: before each step everything it needs exists.
    check_made(&program);
}

/// Fails if a step needs a buffer that has no memory, on any path; loops are run twice.
fn check_made(program: &Program) {
    let mut made: BTreeSet<Buf> = program.params.iter().flat_map(|p| program.rep_bufs(p)).collect();
    made.extend(program.data.iter().map(|(b, _)| *b));
    go(program, &program.steps, &mut made);
    assert!(made.is_superset(&program.rep_bufs(&program.result)), "{program}");
}

fn go(program: &Program, steps: &[Step], made: &mut BTreeSet<Buf>) {
    for step in steps {
        match step {
            Step::If(_, yes, no) => {
                let mut other = made.clone();
                go(program, yes, made);
                go(program, no, &mut other);
                *made = &*made & &other;
            }
            Step::While { test, body, .. } => {
                go(program, test, made);
                let end = made.clone();
                for _ in 0..2 {
                    go(program, body, made);
                    go(program, test, made);
                }
                *made = &*made & &end;
            }
            step => {
                let uses = program.step_uses(step).all;
                assert!(made.is_superset(&uses.needs), "{step:?} needs {:?}\n{program}", &uses.needs - made);
                made.extend(uses.makes);
                match step {
                    Step::Free(bufs) => made.retain(|b| !bufs.contains(b)),
                    Step::Take(_, from, _) => drop(made.remove(from)),
                    _ => {}
                }
            }
        }
    }
}
