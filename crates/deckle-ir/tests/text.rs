//! The text form of the array IR: samples of every operator, and texts that are damaged.

use deckle_ir::array::{BinOp, Op, OperandClass, Program, UnOp, parse, verify};
use deckle_ir::scalar::ScalarType;
use std::collections::HashSet;

const SAMPLES: [(&str, &str); 7] = [
    ("scalars", include_str!("samples/scalars.ir")),
    ("control", include_str!("samples/control.ir")),
    ("construct", include_str!("samples/construct.ir")),
    ("shapes", include_str!("samples/shapes.ir")),
    ("moving", include_str!("samples/moving.ir")),
    ("folding", include_str!("samples/folding.ir")),
    ("sequences", include_str!("samples/sequences.ir")),
];

fn read(name: &str, text: &str) -> Program {
    parse(text).unwrap_or_else(|e| panic!("{name}:{e}"))
}

/// The names of the operators in a program, as in the table.
fn operators(program: &Program) -> HashSet<&'static str> {
    let vars = program.funcs.iter().flat_map(|f| (0..f.vars.len()).map(move |v| (f, v)));
    vars.filter_map(|(f, v)| f.inst(deckle_ir::entity::Var(v as u32))).map(|inst| inst.op.info().name).collect()
}

#[test]
fn samples_print_as_they_are_written_and_verify() {
    let mut wrong = String::new();
    for (name, text) in SAMPLES {
        let program = read(name, text);
        assert_eq!(program.to_string(), text, "{name}");
        if let Err(errors) = verify(&program) {
            errors.iter().for_each(|e| wrong += &format!("{name}: {e}\n"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn every_operator_has_a_sample() {
    let seen: HashSet<&str> = SAMPLES.iter().flat_map(|(name, text)| operators(&read(name, text))).collect();
    let missing: Vec<&str> = Op::TABLE.iter().map(|info| info.name).filter(|name| !seen.contains(name)).collect();
    assert!(missing.is_empty(), "no sample uses {missing:?}");
}

#[test]
fn every_scalar_operator_round_trips() {
    let operand = |class: OperandClass| ScalarType::ALL.into_iter().rev().find(|t| class.has(*t)).unwrap();
    let mut text = String::new();
    for op in UnOp::ALL {
        let t = operand(op.operands());
        let result = if op.name() == "is_nan" { ScalarType::Bool } else { t };
        text += &format!("fn {0}1 (v0 x: {t}) -> {result} {{\n  v1: {result} = {0}(v0)\n  v1\n}}\n\n", op.name());
    }
    for op in BinOp::ALL.iter().chain(BinOp::LOWERED) {
        let t = operand(op.operands());
        let result = if op.operands() == OperandClass::Any { ScalarType::Bool } else { t };
        let (head, name) = (format!("(v0 x: {t}, v1 y: {t}) -> {result}"), op.name());
        text += &format!("fn {name}2 {head} {{\n  v2: {result} = {name}(v0, v1)\n  v2\n}}\n\n");
    }
    let program = read("scalar operators", &text);
    assert_eq!(program.to_string(), text.trim_end().to_string() + "\n");
    assert_eq!(verify(&program), Ok(()));
}

/// A linear congruential generator: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n.max(1)
    }
}

/// Another number for one handle of a text: it still parses, more often than not.
fn confuse(text: &str, random: &mut Random) -> String {
    let digits: Vec<usize> = text.match_indices(|c: char| c.is_ascii_digit()).map(|(i, _)| i).collect();
    let at = digits[random.below(digits.len())];
    format!("{}{}{}", &text[..at], random.below(10), &text[at + 1..])
}

fn damage(text: &str, random: &mut Random) -> String {
    const NOISE: [&str; 16] =
        ["[", "]", "{", "}", "(", ")", "<", ">", "v0", "n1", "^1", "#0", "-", "\"", "é", "99999999999999999999"];
    let mut chars: Vec<String> = text.chars().map(String::from).collect();
    for _ in 0..1 + random.below(3) {
        let (i, j) = (random.below(chars.len()), random.below(chars.len()));
        match random.below(6) {
            0 => drop(chars.remove(i)),
            1 => chars.insert(i, chars[i].clone()),
            2 => chars.swap(i, j),
            3 => chars.truncate(i.max(9)),
            4 => chars.insert(i, NOISE[random.below(NOISE.len())].to_string()),
            _ => chars[i] = random.below(10).to_string(),
        }
    }
    chars.concat()
}

#[test]
fn damaged_texts_never_panic() {
    let mut random = Random(2024);
    let (mut refused, mut rejected) = (0, 0);
    for round in 0..6000 {
        let (name, text) = SAMPLES[round % SAMPLES.len()];
        let text = if round % 2 == 0 { damage(text, &mut random) } else { confuse(text, &mut random) };
        match parse(&text) {
            Err(e) => {
                assert!(e.line <= text.lines().count() + 1 && e.column >= 1, "{name}: {e}");
                refused += 1;
            }
            Ok(program) => {
                assert_eq!(parse(&program.to_string()).as_ref(), Ok(&program), "{name}:\n{text}");
                rejected += usize::from(verify(&program).is_err());
            }
        }
    }
    assert!(refused > 3000, "only {refused} of 6000 damaged texts do not parse");
    assert!(rejected > 500, "only {rejected} of 6000 damaged programs do not verify");
}

#[test]
fn errors_of_the_text_say_where() {
    let refused = |text: &str| parse(text).unwrap_err().to_string();
    let f = |body: &str| format!("fn f (v0 x: i64) -> i64 {{\n{body}\n}}\n");
    assert_eq!(refused(&f("  v2: i64 = neg(v0)\n  v2")), "2:3: this is v2, but the next number is v1");
    assert_eq!(refused(&f("  v1: i64 = negg(v0)\n  v1")), "2:13: there is no operator `negg` without attributes");
    assert_eq!(refused(&f("  v1: i64 = call<@g>(v0)\n  v1")), "2:19: no function before this one is called `g`");
    assert_eq!(refused(&f("  v1: {i64} = guard(v0) ^2() { v0 }\n  v0")), "2:25: this is ^2, but the next body is ^1");
    assert_eq!(refused(&f("  v1: f64 = cast<f64>(v0)\n  v1")), "1:21: this is not the type of the result v1");
    assert_eq!(refused(&f("  v1: i64 = const<3>()\n  v1")), "2:19: expected a scalar such as `3i64`, found `3`");
    assert_eq!(refused(&f("  v1: i64 = iota<list>(v0)\n  v1")), "2:18: expected one of `array`, `seq`, found `list`");
    assert_eq!(refused(&format!("{}{}", f("  v0"), f("  v0"))), "4:1: there are two functions called `f`");
    assert_eq!(refused("fn f [n1] (v0 x: i64) -> i64 { v0 }"), "1:7: the next size variable is n0");
    assert_eq!(refused("fn f [n0] (v0 x: i64) -> i64 { v0 }"), "1:6: no type mentions n0");
    assert_eq!(refused("fn f (v0 x: i64) -> i64 {"), "1:26: expected a variable, found the end of the text");
    assert_eq!(parse(" // nothing\n"), Ok(Program::default()));
}

/// A function with this many bodies inside one another.
fn nest(depth: usize) -> String {
    let ty = |k: usize| format!("{}bool{}", "{".repeat(k), "}".repeat(k));
    let open: String =
        (1..=depth).map(|k| format!("v{}: {} = guard(v0) ^{k}() {{ ", depth + 1 - k, ty(depth + 1 - k))).collect();
    let close: String = (0..depth).map(|k| format!("v{k} }} ")).collect();
    format!("fn f (v0 c: bool) -> {} {{ {open}{close}v{depth} }}", ty(depth))
}

#[test]
fn texts_that_nest_too_deeply_are_refused() {
    let deep = read("nest", &nest(90));
    assert_eq!(verify(&deep), Ok(()));
    assert_eq!(parse(&deep.to_string()), Ok(deep));
    assert!(parse(&nest(1000)).unwrap_err().message.contains("nested more than"));
    let bodies: String = (1..10_000).map(|k| format!("v1: i64 = guard(v0) ^{k}() {{ ")).collect();
    let text = format!("fn f (v0 x: bool) -> i64 {{ {bodies}");
    assert!(parse(&text).unwrap_err().message.contains("nested more than"));
    let value = format!("fn f () -> i64 {{ v0: i64 = use<i64 = {}", "[".repeat(100_000));
    assert!(parse(&value).unwrap_err().message.contains("nested more than"));
}
