//! The help texts of commands, functions, operators and keywords.

use super::command::COMMANDS;
use deckle_syntax::builtins::{self, Builtin, CONSTANTS};
use std::fmt::Write;

/// An operator: its syntax, its type, and its meaning.
pub const OPERATORS: &[(&str, &str, &str)] = &[
    ("+", "n:num, n -> n", "sum"),
    ("-", "n:num, n -> n", "difference, or with one operand the negative"),
    ("*", "n:num, n -> n", "product"),
    ("/", "n:num, n -> n", "quotient; of integers, truncated towards zero"),
    ("%", "n:num, n -> n", "remainder, with the sign of the dividend"),
    ("**", "n:num, n -> n", "power"),
    ("++", "c<a>, c<a> -> c<a>", "one collection after another"),
    ("..", "int, int -> c<int>", "range with its end; `by` sets a step"),
    ("..<", "int, int -> c<int>", "range without its end"),
    ("==", "s:scalar, s -> bool", "equal"),
    ("!=", "s:scalar, s -> bool", "not equal"),
    ("<", "s:scalar, s -> bool", "less"),
    ("<=", "s:scalar, s -> bool", "less or equal"),
    (">", "s:scalar, s -> bool", "greater"),
    (">=", "s:scalar, s -> bool", "greater or equal"),
    ("&&", "bool, bool -> bool", "and; the right side only if needed"),
    ("||", "bool, bool -> bool", "or; the right side only if needed"),
    ("!", "bool -> bool, or [a], int -> a", "not; between two operands, index"),
    ("~", "b:bits -> b", "bits flipped"),
    ("&", "b:bits, b -> b", "bits: and"),
    ("|", "b:bits, b -> b", "bits: or; in a comprehension, a condition"),
    ("^", "b:bits, b -> b", "bits: exclusive or"),
    ("<<", "b:bits, b -> b", "shift to the left"),
    (">>", "b:bits, b -> b", "shift to the right"),
];

/// Keywords, with their purpose.
pub const KEYWORDS: &[(&str, &str)] = &[
    ("def", "def NAME(PARAMETERS) = EXPR: a function"),
    ("type", "type NAME = TYPE: a type, or a record { x: T, y: U }"),
    ("import", "import \"FILE.dk\" [as NAME | (NAMES)]: the definitions of a file; import NAME: of the library"),
    ("as", "import \"FILE.dk\" as NAME"),
    ("let", "let PATTERN = EXPR in EXPR; without `in`, a name for the session"),
    ("in", "let PATTERN = EXPR in EXPR, or a generator [ EXPR : PATTERN in EXPR ]"),
    ("if", "if EXPR then EXPR else EXPR"),
    ("then", "if EXPR then EXPR else EXPR"),
    ("else", "if EXPR then EXPR else EXPR"),
    ("loop", "loop PATTERN = EXPR while EXPR do EXPR, or ... for NAME < EXPR do EXPR"),
    ("while", "loop PATTERN = EXPR while EXPR do EXPR"),
    ("for", "loop PATTERN = EXPR for NAME < EXPR do EXPR"),
    ("do", "loop PATTERN = EXPR while EXPR do EXPR"),
    ("with", "RECORD with (FIELD = EXPR): a copy with other fields"),
    ("not", "not EXPR: logical not"),
    ("by", "EXPR..EXPR by EXPR: a range with a step"),
    ("true", "bool"),
    ("false", "bool"),
];

/// `sum: c<n:num> -> n`.
pub fn signature(b: &Builtin) -> String {
    // Functions without a signature begin their page with their form.
    match (b.signature, b.doc.split_once('`').and_then(|(_, d)| d.split_once('`'))) {
        ("special", Some((form, _))) => form.to_string(),
        ("special", None) => b.name.to_string(),
        (signature, _) => format!("{}: {signature}", b.name),
    }
}

/// The possible inputs.
pub fn overview() -> String {
    let mut out = "\
Type an expression to see its value, which is then `it`; `let NAME = EXPR` to keep a value;
`def`, `type` or `import` to define something. Open brackets and lines that end in an
operator or `=` go on in the next line. Tab completes. Ctrl-C stops an evaluation, Ctrl-D leaves.
"
    .to_string();
    for c in COMMANDS {
        let usage = format!(":{} {}", c.name, c.takes);
        let _ = write!(out, "\n  {usage:<18} {}", c.doc);
    }
    out + "\n\nThe first letters of a command are enough: `:t` is `:type`."
}

/// The help text of a name, operator, keyword or command.
pub fn about(name: &str) -> Option<String> {
    let entries = builtins::lookup(name);
    if !entries.is_empty() {
        let pages: Vec<String> = entries.iter().map(|b| format!("{}\n  {}", signature(b), b.doc)).collect();
        return Some(pages.join("\n"));
    }
    let constant = CONSTANTS.iter().find(|c| c.0 == name).map(|c| format!("{name}: real\n  {}", c.2));
    let operator = OPERATORS.iter().find(|o| o.0 == name).map(|o| format!("{name}: {}\n  {}", o.1, o.2));
    let keyword = KEYWORDS.iter().find(|k| k.0 == name).map(|k| k.1.to_string());
    let command = name.strip_prefix(':').and_then(|n| COMMANDS.iter().find(|c| c.name == n));
    let command = command.map(|c| format!("{name} {}\n  {}", c.takes, c.doc));
    constant.or(operator).or(keyword).or(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_has_a_page() {
        let names = builtins::names().chain(OPERATORS.iter().map(|o| o.0)).chain(KEYWORDS.iter().map(|k| k.0));
        for name in names {
            assert!(about(name).is_some_and(|t| !t.is_empty()), "{name}");
        }
        assert!(about(":load").is_some());
        assert_eq!(about("nothing"), None);
    }

    #[test]
    fn all_entries_of_a_name_are_shown() {
        let text = about("fill").unwrap();
        assert!(text.contains("fill: a, int -> [a]\n") && text.contains("fill: a, int, int -> [[a]]\n"), "{text}");
        assert!(about("shape").unwrap().starts_with("shape(a)\n"));
    }
}
