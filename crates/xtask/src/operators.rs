//! `docs/operators.md`: the functions of the script language and the operators of the array IR, from their tables.

use deckle_ir::array::{BinOp, Chapter, Op, OpInfo, ResultClass, UnOp};
use deckle_syntax::builtins::{self, BUILTINS, Builtin, CONSTANTS};
use std::fmt::Write;

const HEAD: &str = "\
# Operators

Two references in one page: the [functions of the script language](#part-one-functions-of-the-script-language), and the
[operators of the array IR](#part-two-operators-of-the-array-ir) that scripts and Rust programs are built of. The language
itself is described in [language.md](language.md), the text form of the IR in [array-ir.md](array-ir.md).

# Part one: functions of the script language

How to read a signature such as `fn(a, b) d, c<a>, c<b> -> c<d>`:

| notation | meaning |
|---|---|
| `x, y -> r` | takes two arguments and returns an `r` |
| `a`, `b`, `d` | any type, the same for the same letter |
| `n:num` | any type of a class; `num` integers and floats, `int` integers, `float` floats, `bits` integers and `bool`, `scalar` all scalars |
| `[a]`, `{a}` | a vector, a sequence |
| `c<a>` | a vector or a sequence, the same kind for the same letter |
| `(a, b)` | a tuple |
| `fn(a, b) r` | a function argument: a lambda, an operator, or the name of a function |

A name with several rows differs in the number of arguments, or in whether it takes numbers or a collection. Functions
without a signature take literals or arrays of any rank; their text says how. Run-time errors
(a negative size, an index out of range) are those of the IR operators in part two.
";

const COSTS: &str = "\
# Part two: operators of the array IR

An operator is written `name<attributes>(operands) { body } { body }`. A body is a small function that only an operator can
run; `{ x, i -> y }` takes `x` and `i` and returns `y`. *Flat* types are made of scalars, tuples and records; *concrete* types
hold no sequence. `[i -> T; n]` is a vector of `n` elements in whose type the position `i` may occur.

## How to read the costs

`W` is work and `D` is depth, after figure 3 of Madsen and Filinski, *Towards a streaming model for nested data parallelism*
(FHPC 2013). Space is given only where it is not that of the result: unless an entry says otherwise it is `‖result‖`, both
sequential (`M`) and parallel (`N`).

| sign | meaning |
|---|---|
| `‖v‖` | the size of a value: 1 for a scalar, the sum of the parts for a tuple, 1 + the sum of the elements for a vector; for a sequence the greatest element + 1 when one is there at a time (`M`), the sum of all elements + 1 each when all are (`N`). In work, `N`. |
| `l` | the number of elements of the main operand |
| *aux* | the widths of the variables that a body uses from outside, added up: a scalar or vector is 1 wide, a tuple as wide as its parts, a sequence 1 wider than its elements |
| `Wᵢ`, `Dᵢ`, `Mᵢ`, `Nᵢ` | the cost of a body at element `i` |

A body is *distributed* if it runs at each element: `W = (l+1)·aux + Σ Wᵢ`, `D = aux + max Dᵢ`, and

- over a sequence `M = 1 + aux + max(Mvᵢ + Mᵢ)`, `N = 1 + l·aux + Σ(Nvᵢ + Nᵢ)`, where `vᵢ` is the element;
- over a vector `M = 1 + aux + ‖result‖ + max Mᵢ`, `N = 1 + l·aux + ‖result‖ + Σ Nᵢ`: the whole result is in
  memory either way, the temporaries of all bodies only when all run at once.
";

/// The whole page.
pub fn page() -> String {
    let mut out = HEAD.to_string();
    functions(&mut out);
    out += "\n";
    out += COSTS;
    operators(&mut out);
    scalars(&mut out);
    out
}

fn functions(out: &mut String) {
    let all: Vec<Builtin> = BUILTINS.iter().copied().chain(builtins::mathematics()).collect();
    let mut chapters: Vec<&str> = Vec::new();
    for b in &all {
        if !chapters.contains(&b.chapter) {
            chapters.push(b.chapter);
        }
    }
    for chapter in chapters {
        let _ = write!(out, "\n## {chapter}\n\n| function | signature | |\n|---|---|---|\n");
        for b in all.iter().filter(|b| b.chapter == chapter) {
            let signature = if b.signature == "special" { String::new() } else { format!("`{}`", cell(b.signature)) };
            let _ = writeln!(out, "| `{}` | {signature} | {} |", b.name, cell(b.doc));
        }
    }
    *out += "\n## Constants\n\n| name | value | |\n|---|---|---|\n";
    for (name, value, doc) in CONSTANTS {
        let _ = writeln!(out, "| `{name}` | {value} | {} |", cell(doc));
    }
}

/// Text for a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn operators(out: &mut String) {
    let mut last = None;
    for info in Op::TABLE {
        if last != Some(info.chapter) {
            let _ = write!(out, "\n## {}\n", title(info.chapter));
            last = Some(info.chapter);
        }
        let (meaning, facts) = entry(info);
        let _ = write!(out, "\n### {}\n\n{meaning}\n\n", info.name);
        let bodies = match info.bodies {
            (0, 0) => String::new(),
            (1, 1) => ", one body".to_string(),
            (2, 2) => ", two bodies".to_string(),
            (lo, hi) => format!(", {lo} to {hi} bodies"),
        };
        let _ = writeln!(out, "- **Takes** {}{bodies}.", operands(info));
        for (label, text) in facts {
            let _ = writeln!(out, "- **{label}:** {text}");
        }
    }
}

fn title(chapter: Chapter) -> &'static str {
    match chapter {
        Chapter::Scalar => "Scalars and tuples",
        Chapter::Control => "Control",
        Chapter::Construct => "Making arrays",
        Chapter::Elementwise => "Mapping",
        Chapter::Shape => "Shapes",
        Chapter::Moving => "Permuting and selecting",
        Chapter::Folding => "Folds",
        Chapter::Scanning => "Scans",
        Chapter::Stencil => "Windows",
        Chapter::Sequence => "Streams",
    }
}

fn operands(info: &OpInfo) -> String {
    let s = |n: usize| if n == 1 { "" } else { "s" };
    match (info.min_args, info.max_args) {
        (0, Some(0)) => "no operands".to_string(),
        (0, None) => "any number of operands".to_string(),
        (lo, None) => format!("{lo} or more operands"),
        (lo, Some(hi)) if lo == hi => format!("{lo} operand{}", s(lo)),
        (lo, Some(hi)) => format!("{lo} to {hi} operands"),
    }
}

const LABELS: [&str; 5] = ["Type", "Size and cost", "Size", "Errors", "Cost"];

/// The meaning of an operator, and the text of its doc comment under each label.
fn entry(info: &OpInfo) -> (String, Vec<(&'static str, String)>) {
    let lines: Vec<&str> = info.doc.lines().map(str::trim).collect();
    let split = lines.iter().position(|l| l.is_empty()).unwrap_or(lines.len());
    let meaning = lines[..split].join(" ");
    let rest = lines[split..].join(" ");
    let mut places: Vec<(usize, &'static str)> = Vec::new();
    for label in LABELS {
        let sign = format!(" {label}: ");
        places.extend(rest.match_indices(&sign).map(|(at, _)| (at, label)));
    }
    places.sort_unstable();
    let ends = places.iter().skip(1).map(|p| p.0).chain([rest.len()]);
    let facts = places
        .iter()
        .zip(ends)
        .map(|((at, label), end)| (*label, rest[at + label.len() + 3..end].trim().to_string()))
        .collect();
    (meaning, facts)
}

fn scalars(out: &mut String) {
    let result = |r: ResultClass| if r == ResultClass::Bool { "`bool`" } else { "the same" };
    let head = "| operator | operands | result | |\n|---|---|---|---|\n";
    let _ = write!(out, "\n## Scalar operators of one operand\n\n{head}");
    for op in UnOp::ALL {
        let class = op.operands().describe();
        let _ = writeln!(out, "| `{}` | {class} | {} | {} |", op.name(), result(op.result()), cell(op.doc()));
    }
    let _ = write!(out, "\n## Scalar operators of two operands\n\nBoth operands are of one type.\n\n{head}");
    for op in BinOp::ALL {
        let class = op.operands().describe();
        let _ = writeln!(out, "| `{}` | {class} | {} | {} |", op.name(), result(op.result()), cell(op.doc()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operator_says_its_type_and_its_cost() {
        for info in Op::TABLE {
            let (meaning, facts) = entry(info);
            let labels: Vec<&str> = facts.iter().map(|f| f.0).collect();
            assert!(meaning.starts_with('`'), "{}: begin with how it is written", info.name);
            assert_eq!(labels.first(), Some(&"Type"), "{}: {labels:?}", info.name);
            assert!(labels.contains(&"Cost") || labels.contains(&"Size and cost"), "{}: {labels:?}", info.name);
        }
    }

    #[test]
    fn every_function_has_a_row() {
        let page = page();
        for name in builtins::names() {
            assert!(page.contains(&format!("\n| `{name}` | ")), "{name}");
        }
    }

    #[test]
    fn bars_do_not_end_cells() {
        assert_eq!(cell("{x | c}"), "{x \\| c}");
    }
}
