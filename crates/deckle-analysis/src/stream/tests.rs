//! Programs that can be streamed and programs that cannot, compared with the machine that streams one element at a time.

use super::*;
use deckle_diag::{SourceMap, render_all};

fn compiled(text: &str) -> (Program, SourceMap) {
    let mut sources = SourceMap::new();
    let none = &mut |_: &str, _: &str| Err(String::new());
    let compiled = deckle_syntax::compile(&mut sources, "test.dk", text.as_bytes().to_vec(), none)
        .unwrap_or_else(|e| panic!("{text}\n{}", render_all(&e, &sources, false)));
    (compiled.program, sources)
}

/// The paper's examples that can be streamed, and more.
const LEGAL: &[&str] = &[
    // Section 2.1.
    "def main(n: int) = sum({ log(real(x + 1)) : x in iota(n) })",
    "def main(s: {int}) = zip(s, scan(+, 0, { 1 : _ in s }))",
    "def main(s: {int}) = sum({ 1 : _ in s })",
    // Section 3.3.
    "def main(n: int) = let s = { log(real(x + 1)) : x in iota(n) } let m = sum(s) in sum({ x * x : x in s }) + real(length(s)) * m",
    "def main(n: int) = let v = tab({ log(real(x + 1)) : x in iota(n) }) let m = sum(seq(v)) in sum({ x * x + m : x in seq(v) })",
    "def main(s: {int}) = s ++ {sum(s)}",
    "def main(s: {int}) = scan(+, 0, s) ++ {sum(s)}",
    // Several consumers of one sequence.
    "def main(s: {real}) = (sum(s), max(s), length(s))",
    "def main(s: {real}) = real(sum({ 1 : _ in s })) / sum(s)",
    "def main(s: {int}) = (tab(s), sum({ x : x in s | x > 0 }))",
    "def main(s: {int}) = zip(s, { x * x : x in s })",
    "def main(s: {int}) = { x + y : x in s; y in scan(+, 0, s) }",
    // One after another.
    "def main(s: {int}, t: {int}) = let a = sum(s) in { x + a : x in t }",
    "def main(s: {int}, t: {int}) = let a = sum(s) in s ++ { x + a : x in t }",
    "def main(s: {int}) = s ++ {sum(s)} ++ {length(s)}",
    "def main(s: {int}, t: {int}) = let r = s ++ t in sum(r) + sum(s) * length(t)",
    "def main(s: {int}, t: {int}, u: {int}, v: {int}) = zip(s ++ t, u ++ v)",
    "def main(s: {int}, t: {int}) = zip(s ++ {sum(s)}, t ++ {sum(t)})",
    // Nested.
    "def main(ss: {{int}}) = { sum(s) : s in ss }",
    "def main(ss: {{int}}) = { (sum(s), max(s)) : s in ss }",
    "def main(ss: {{int}}) = sum({ sum(s) : s in ss }) + sum(concat(ss))",
    "def main(ss: {{int}}) = concat({ s ++ {sum(s)} : s in ss })",
    "def main(ss: {{int}}) = { { x + k : x in s } : s in ss; k in { sum(t) : t in {{1, 2}} } }",
    "def main(n: int) = { sum({ x * y : y in iota(x) }) : x in iota(n) }",
    "def main(ss: {{int}}, k: {int}) = let a = sum(k) in { { x + a : x in s } : s in ss }",
    "def main(ss: {{int}}) = zip({ sum(s) : s in ss }, { length(s) : s in ss })",
    "def main(n: int) = { sum(s) : s in {iota(n), {10, 20}, { i * i : i in iota(n) }} }",
    // Conditionals.
    "def main(s: {int}) = if empty(s) then 0 else max(s)",
    "def main(s: {int}, c: bool) = if c then sum(s) else length(s)",
    "def main(s: {int}, t: {int}) = if sum(s) > 0 then sum(t) else length(t)",
    "def main(s: {int}, c: bool) = sum(if c then s else { x * x : x in s })",
    "def main(s: {int}, c: bool) = zip(s, if c then s else { x * x : x in s })",
    "def main(s: {int}, c: bool) = sum(if c then s else { x : x in s | x > 0 })",
    "def main(s: {int}, t: {int}, c: bool) = if c then (let a = sum(t) in { x + a : x in s }) else (let a = sum(s) in { y + a : y in t })",
    "def main(s: {int}, c: bool) = { sum(s) | c }",
    "def main(s: {int}) = let e = empty(s) in { if e then 0 else x : x in s }",
    // Filters and flagpart.
    "def main(s: {int}) = zip({ x : x in s | x > 0 }, { x * 2 : x in s | x > 0 })",
    "def main(s: {int}) = zip({ x : x in s | x > 0 }, iota(length(tab({ 1 : x in seq([1, 2]) }))))",
    "def main(s: {int}, f: {bool}) = { sum(p) : p in flagpart(s, f) }",
    "def main(s: {int}) = flagpart({ x : x in s | x != 0 }, { x == 0 : x in s })",
    "def main(s: {int}) = flagpart({ x : x in s | x != 0 }, { x == 0 : x in s } ++ {true})",
    "def zero(x: int) = x == 0\ndef main(s: {int}) = { length(w) : w in flagpart({ x : x in s | !zero(x) }, { zero(x) : x in s } ++ {true}) }",
    "def main(s: {int}, f: {bool}) = zip(concat(flagpart(s, f)), s)",
    "def main(s: {int}) = flagpart(s, concat({ {false, true} : _ in s }))",
    "def main(s: {int}) = flagpart(s, concat({ if x < 0 then {true, false} else {false} : x in s }) ++ {true})",
    "def main(s: {int}) = zip(s, concat({ {x * x} : x in s }))",
    // Functions.
    "def mean(s: {real}) = sum(s) / real(length(s))\ndef main(s: {real}) = (mean(s), max(s))",
    "def more(s: {int}, k: int) = { x + k : x in s }\ndef main(s: {int}, t: {int}) = more(s, sum(t))",
    "def ends(s: {int}) = s ++ {sum(s)}\ndef main(s: {int}) = ends(ends(s))",
];

/// Those that cannot, and more.
const REFUSED: &[&str] = &[
    // Section 2.1.
    "def main(s: {int}) = zip(s, iota(length(s)))",
    // Section 3.3.
    "def main(n: int) = let s = { log(real(x + 1)) : x in iota(n) } let m = sum(s) in sum({ x * x + m : x in s })",
    "def main(s: {int}) = s ++ scan(+, 0, s)",
    "def main(s: {int}) = {sum(s)} ++ s",
    "def main(s: {int}) = {sum(s)} ++ scan(+, 0, s)",
    // The value of a fold in the traversal that it folds.
    "def main(s: {real}) = let total = sum(s) in { x / total : x in s }",
    "def main(s: {real}) = let total = sum({ x * x : x in s }) in { x / total : x in { y + 1.0 : y in s } }",
    "def main(s: {int}) = let v = tab(s) in { v[0] + x : x in s }",
    "def main(s: {int}) = fold(\\a b -> a + b, sum(s), s)",
    "def main(s: {int}) = let n = length(s) in scan(\\a b -> max(a, b), n, s)",
    "def main(s: {int}, t: {int}) = let a = sum(s) let b = sum({ x + a : x in t }) in { x + b : x in s }",
    "def main(s: {int}, t: {int}) = let z = zip(s, t) let a = sum(s) in { x + a : x in t }",
    "def main(s: {int}, t: {int}) = let a = sum(t) let b = sum(s) in (sum({ x * a : x in s }), sum({ y * b : y in t }))",
    // One after another.
    "def main(s: {int}) = s ++ s",
    "def main(s: {int}, t: {int}) = (s ++ t, t ++ s)",
    "def main(s: {int}, t: {int}) = let r = s ++ t let a = sum(s) in { x + a : x in r }",
    "def main(s: {int}, t: {int}) = let a = sum(t) in { x + a : x in s } ++ t",
    "def main(s: {int}, t: {int}) = zip(s ++ {sum(t)}, t ++ {sum(s)})",
    "def main(s: {int}, t: {int}, u: {int}, v: {int}) = let a = sum(u) in zip(s ++ { x + a : x in t }, u ++ v)",
    // Nested.
    "def main(ss: {{int}}) = { let a = sum(s) in { x + a : x in s } : s in ss }",
    "def main(ss: {{int}}) = { { x + a : x in s } : s in ss; a in { sum(s) : s in ss } }",
    "def main(ss: {{int}}) = let a = sum({ sum(s) : s in ss }) in { { x + a : x in s } : s in ss }",
    "def main(ss: {{int}}) = let a = sum(concat(ss)) in { sum(s) + a : s in ss }",
    "def main(ss: {{int}}) = let k = length(ss) in { x + k : x in concat(ss) }",
    // Rates.
    "def main(s: {int}) = zip({ x : x in s | x > 0 }, s)",
    "def main(s: {int}) = zip({ x : x in s | x > 0 }, { x : x in s | x < 0 })",
    "def main(ss: {{int}}) = zip(concat(ss), { sum(s) : s in ss })",
    "def main(s: {int}) = zip(s ++ {0}, {0} ++ s)",
    "def main(s: {int}) = flagpart(s, { x == 0 : x in s })",
    "def main(s: {int}) = flagpart(s, concat({ if x < 0 then {true, false} else {false, false} : x in s }) ++ {true})",
    "def main(s: {int}) = flagpart({ x : x in s | x > 0 }, { x == 0 : x in s })",
    "def main(s: {int}, t: {int}) = (zip({ x : x in s | x > 0 }, { x : x in t | x > 0 }), zip({ x : x in s | x < 0 }, { x : x in t | x < 0 }))",
    // Conditionals.
    "def main(s: {int}) = if sum(s) > 0 then s else { 0 - x : x in s }",
    "def main(s: {int}) = if max(s) > 0 then sum(s) else length(s)",
    "def main(s: {int}) = let a = sum(s) in { length(s) | a > 0 }",
    "def main(s: {int}, c: bool) = let q = if c then s else { x : x in s | x > 0 } in zip(q, s)",
    "def main(s: {int}, c: bool) = let q = if c then s else {1, 2} let a = sum(q) in { x + a : x in s }",
    // Functions.
    "def centred(s: {real}) = let m = sum(s) / real(length(s)) in { x - m : x in s }\ndef main(s: {real}) = sum({ x * x : x in centred(s) })",
    "def more(s: {int}, k: int) = { x + k : x in s }\ndef main(s: {int}) = more(s, sum(s))",
];

fn fault(text: &str) -> Option<Fault> {
    faults(&compiled(text).0).into_iter().next()
}

#[test]
fn legal_programs_are_accepted() {
    let wrong: Vec<_> = LEGAL.iter().filter_map(|p| fault(p).map(|f| format!("{p}\n  {f:?}\n"))).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.concat());
}

#[test]
fn illegal_programs_are_refused() {
    let wrong: Vec<_> = REFUSED.iter().filter(|p| fault(p).is_none()).map(|p| format!("{p}\n")).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.concat());
}

#[test]
fn every_fault_can_be_told() {
    for text in REFUSED {
        let (program, sources) = compiled(text);
        let told = render_all(&check(&program, &sources, None), &sources, false);
        assert!(told.contains("D0209") && told.matches("help:").count() >= 3, "{told}");
        println!("{told}");
    }
}

#[test]
fn keeping_sequences_mends_every_fault() {
    for text in REFUSED {
        let (program, _) = compiled(text);
        let Some((mended, kept)) = materialize(&program) else { panic!("{text}\n{program}") };
        assert!(!kept.is_empty());
        assert!(faults(&mended).is_empty(), "{text}\n{mended}");
        deckle_ir::array::verify(&mended).unwrap();
        for k in kept {
            let function = &mended.funcs[k.place.func.index()];
            assert!(function.inst(k.place.var).is_some_and(|i| matches!(i.op, deckle_ir::array::Op::Tab)), "{text}");
        }
    }
}

#[test]
fn a_legal_program_is_left_as_it_is() {
    for text in LEGAL {
        let (program, _) = compiled(text);
        assert_eq!(materialize(&program), Some((program, Vec::new())));
    }
}

/// Whether the machine that runs programs one element at a time ever gets stuck, with random lengths and conditions.
fn ever_stuck(program: &Program, trials: u64) -> bool {
    let func = Func(program.funcs.len() as u32 - 1);
    (0..trials)
        .any(|seed| matches!(deckle_interp::try_streaming(program, func, seed, 20_000), deckle_interp::Trial::Stuck(_)))
}

#[test]
fn the_machine_agrees_about_legal_programs() {
    let wrong: Vec<_> = LEGAL.iter().filter(|p| ever_stuck(&compiled(p).0, 300)).map(|p| format!("{p}\n")).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.concat());
}

#[test]
fn the_machine_agrees_about_illegal_programs() {
    let wrong: Vec<_> =
        REFUSED.iter().filter(|p| !ever_stuck(&compiled(p).0, 2000)).map(|p| format!("{p}\n")).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.concat());
}

#[test]
fn what_is_kept_does_not_get_stuck() {
    for text in REFUSED {
        let (mended, _) = materialize(&compiled(text).0).unwrap();
        assert!(!ever_stuck(&mended, 100), "{text}\n{mended}");
    }
}
