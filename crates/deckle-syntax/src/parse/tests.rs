//! Helpers for the tests of the parser, and properties of every text.

use deckle_diag::{Code, Diagnostic, FileId};

use super::{MAX_NESTING, parse};
use crate::ast::MAX_TREE_DEPTH;
use crate::lex::MAX_REPORTS;

fn in_def(expr: &str) -> String {
    format!("def main() =\n{expr}")
}

/// The shape of an expression without errors.
pub(super) fn shape(expr: &str) -> String {
    let (module, errors) = parse(FileId(0), &in_def(expr));
    assert!(errors.is_empty(), "{expr}: {errors:#?}");
    module.dump_expr(module.defs[0].body)
}

/// All items of a file without errors.
pub(super) fn dump(text: &str) -> String {
    let (module, errors) = parse(FileId(0), text);
    assert!(errors.is_empty(), "{errors:#?}");
    module.dump()
}

pub(super) fn first_error(text: &str) -> Diagnostic {
    let (_, errors) = parse(FileId(0), text);
    errors.into_iter().next().expect("an error")
}

/// The first error in an expression.
pub(super) fn expr_error(expr: &str) -> Diagnostic {
    // On the line of its `def`, so that lines count from 1.
    first_error(&format!("def main() = {expr}"))
}

pub(super) fn complaints(expr: &str) -> Vec<String> {
    parse(FileId(0), &in_def(expr)).1.into_iter().map(|d| d.message).collect()
}

/// The only error in an expression.
pub(super) fn complaint(expr: &str) -> String {
    let mut all = complaints(expr);
    assert_eq!(all.len(), 1, "{expr}: {all:#?}");
    all.remove(0)
}

/// A random number generator with a fixed seed.
struct Rng(u64);

impl Rng {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % n
    }
}

/// Parses, and checks the properties of the outcome for any text.
fn survive(text: &str) -> Vec<Diagnostic> {
    let (module, errors) = parse(FileId(0), text);
    assert!(errors.len() <= MAX_REPORTS);
    for label in errors.iter().flat_map(|e| &e.labels) {
        let (lo, hi) = (label.span.lo as usize, label.span.hi as usize);
        assert!(lo <= hi && text.is_char_boundary(lo) && text.is_char_boundary(hi), "{errors:#?}");
    }
    for expr in &module.exprs {
        assert!(text.get(expr.span.lo as usize..expr.span.hi as usize).is_some(), "{expr:?}");
    }
    module.dump();
    errors
}

#[test]
fn deep_programs_are_refused_once() {
    let n = 100_000;
    let nested = [
        "(",
        "[",
        "{",
        "-",
        "not ",
        "f(",
        "a[",
        "let x = ",
        "if ",
        "if a then b else ",
        "let x = 1 in ",
        "let x = 1 ",
        "\\x -> ",
        "\\(",
        "loop x = 1 for i < n do ",
        "loop x = ",
        "1 + ",
        "2 ** ",
        "v ! ",
        "x.",
        "a with (x = ",
        "{ x : x in ",
        "return ",
        "a < ",
        "1..",
        "let x: [",
        "let x: {",
        "\\x -> (",
        "f(x = ",
        "{ x | ",
        "v ! -",
        "1 + (",
    ];
    for part in nested {
        let errors = survive(&format!("def f() = {}x\ndef g() = 1", part.repeat(n)));
        assert!(!errors.is_empty() && (errors.len() <= 2 || part == "return "), "{part}: {errors:#?}");
    }
    for part in [" + 1", "(1)", "[1]", ".x", ".0", " ++ y", " ! 1", " with (x = 1)", " ** 2"] {
        let errors = survive(&format!("def f() = x{}\ndef g() = 1 1", part.repeat(n)));
        let codes: Vec<_> = errors.iter().map(|e| e.code).collect();
        assert_eq!(codes, [Code::TooDeep, Code::Unexpected], "{part}");
    }
    let balanced = format!("def f() = {}x{}\ndef g() = 1 1", "(".repeat(n), ")".repeat(n));
    assert_eq!(survive(&balanced).iter().map(|e| e.code).collect::<Vec<_>>(), [Code::TooDeep, Code::Unexpected]);
    survive(&format!("type t = {}", "{".repeat(n)));
    survive(&format!("type t = {}", "[i -> ".repeat(n)));
    survive(&"/*".repeat(n));
    survive(&"def f(".repeat(n));
    survive(&"def f(\n".repeat(n));
    survive(&format!("def f() = {}{}", "(".repeat(250), "[{(".repeat(n)));
    survive(&format!("def f() = ({}{}", ",(".repeat(n), "]".repeat(n)));
}

#[test]
fn programs_within_the_limits_are_accepted() {
    let depth = MAX_NESTING as usize - 1;
    shape(&format!("{}1{}", "(".repeat(depth), ")".repeat(depth)));
    shape(&format!("1{}", " + 1".repeat(MAX_TREE_DEPTH as usize - 1)));
    shape(&format!("{}1", "let x = 1\n".repeat(MAX_TREE_DEPTH as usize - 2) + "in "));
    shape(&format!("{}1", "if a then b else ".repeat(MAX_TREE_DEPTH as usize - 1)));
    shape(&format!("[{}]", "1, ".repeat(100_000)));
}

#[test]
fn nonsense_is_survived() {
    let mut rng = Rng(1);
    for bytes in [1 << 20, 1000, 1000, 1000, 1000] {
        let noise: Vec<u8> = (0..bytes).map(|_| rng.below(256) as u8).collect();
        survive(&String::from_utf8_lossy(&noise));
        let ascii: String = (0..bytes).map(|_| (rng.below(96) as u8 + 32) as char).collect();
        survive(&ascii);
    }
    for mark in
        ["'", "\"", "\\'", "'\\", "/", "*/", "#", "\n#", "- ", "é", "'a", ")", "]}", "def ", "def\n", "let ", "in "]
    {
        survive(&mark.repeat((1 << 20) / mark.len()));
    }
}

#[test]
fn any_jumble_of_tokens_is_survived() {
    let words: Vec<&str> = "def type import let in if then else loop while for do by with not true _ x y f fold 1 2.5 1u8 \
        'a' \"s\" ( ) [ ] { } ( ) [ ] { } , , ; : . .. ..< = == < | || & ^ << ++ + - * ** / % ! ~ \\ -> => \n \ndef f(x) = \
        \ntype t = return and or lambda -- # ≤"
        .split(' ')
        .collect();
    let mut rng = Rng(2);
    for round in 0..3000 {
        let mut text = String::from("def f(x) = ");
        for _ in 0..rng.below(60) {
            text.push_str(words[rng.below(words.len())]);
            text.push_str(if round % 2 == 0 { " " } else { "" });
        }
        survive(&text);
    }
}

#[test]
fn every_prefix_of_a_program_is_survived() {
    let text = "import \"a\" (b)\n/// Doc.\ntype csr[t] = [i -> [(u32, t); off[i + 1] - off[i]]; n]\n\
        def f(m: csr[real], (a, _): (int, {real})): real = let x: int = 1 let y = m[0, :, 1:a].0.1\n\
        in if x < 1 then fold(+, 0.0, { v * y : v in y; w in 0..<n by 2 | v > 0 }) else\n\
        loop s = p with (x = 'a') while s ! 1 do (\\z (q, r) -> -z ** 2)(\"é\\n\", 0x1f)\n";
    assert!(survive(text).is_empty());
    for end in (0..text.len()).filter(|i| text.is_char_boundary(*i)) {
        survive(&text[..end]);
        survive(&text[end..]);
    }
}
