//! The errors of a run, one function each, so that all operators word them alike.

use deckle_diag::{Code, Diagnostic, Span};
use std::fmt::Display;

/// What everything here returns.
pub(crate) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

fn error(code: Code, message: String, span: Span, label: &str) -> Diagnostic {
    if span.is_none() { Diagnostic::nowhere(code, message) } else { Diagnostic::new(code, message, span, label) }
}

/// `1 element`, `2 elements`.
pub(crate) fn elements(n: impl Display) -> String {
    let n = n.to_string();
    if n == "1" { "1 element".into() } else { format!("{n} elements") }
}

/// D0301: one index.
pub(crate) fn index(what: &str, at: i64, len: usize, span: Span) -> Box<Diagnostic> {
    let message = format!("{what} {at} is out of range for an array of {}", elements(len));
    let why = match len {
        0 => "an empty array has no elements".to_string(),
        _ => format!("positions run from 0 to {}", len - 1),
    };
    let help = "check that the index is at least 0 and below the length before using it";
    Box::new(error(Code::IndexRange, message, span, "this index").note(why).help(help))
}

/// D0301: a half-open range.
pub(crate) fn range(lo: i64, hi: i64, len: usize, span: Span) -> Box<Diagnostic> {
    let message = format!("the range from {lo} to {hi} does not lie within an array of {}", elements(len));
    let why = format!("a slice needs 0 <= from <= to <= {len}; the end itself is left out");
    let help = "clamp both ends to the length, or use `take` and `drop`, which do so";
    Box::new(error(Code::IndexRange, message, span, "this slice").note(why).help(help))
}

/// D0302: a negative size or count.
pub(crate) fn negative(what: &str, n: i64, span: Span) -> Box<Diagnostic> {
    let message = format!("{what} is {n}, but must not be negative");
    let help = "use `max(0, ...)` where nothing is meant by less than zero";
    Box::new(error(Code::BadSize, message, span, "computed here").help(help))
}

/// D0302: any other size, step or exponent that makes no sense.
pub(crate) fn bad_size(message: String, help: &str, span: Span) -> Box<Diagnostic> {
    Box::new(error(Code::BadSize, message, span, "computed here").help(help))
}

/// D0303.
pub(crate) fn divide_by_zero(dividend: impl Display, span: Span) -> Box<Diagnostic> {
    let message = format!("the integer {dividend} is divided by zero");
    let help = "test the divisor first; `select` evaluates both of its values, `if` only one";
    Box::new(error(Code::DivideByZero, message, span, "this division").help(help))
}

/// D0304.
pub(crate) fn lengths(first: usize, which: usize, other: usize, span: Span) -> Box<Diagnostic> {
    let ordinal = ["first", "second", "third", "fourth"].get(which).copied().unwrap_or("next");
    let message = format!("equal lengths are needed, but one has {} and the {ordinal} {other}", elements(first));
    let help = "cut the longer one with `take(n, xs)`, or pad the shorter one with `pad(0, k, x, xs)`";
    Box::new(error(Code::LengthMismatch, message, span, "traversed together here").help(help))
}

/// D0304: a reshape to another number of elements.
pub(crate) fn reshape(have: usize, want: &str, span: Span) -> Box<Diagnostic> {
    let message = format!("{} cannot be given the shape {want}", elements(have));
    let help = "the product of the new sizes must be the number of elements";
    Box::new(error(Code::LengthMismatch, message, span, "this reshape").help(help))
}

/// D0305.
pub(crate) fn empty(op: &str, span: Span) -> Box<Diagnostic> {
    let message = format!("`{op}` of no elements");
    let help = "give it a start value (`fold`), or test for emptiness first";
    Box::new(error(Code::Empty, message, span, "this has no elements").help(help))
}

/// D0306. `what` is the operator or the name of the value.
pub(crate) fn not_regular(what: &str, first: i128, row: &str, len: usize, span: Span) -> Box<Diagnostic> {
    let message =
        format!("{what} needs rows of equal length, but {row} has {} and a row before it {first}", elements(len));
    let help = "cut or pad the rows to one length, or use operators that work on jagged arrays";
    Box::new(error(Code::NotRegular, message, span, "this has rows of different length").help(help))
}

/// D0307.
pub(crate) fn not_singleton(len: usize, span: Span) -> Box<Diagnostic> {
    let message = format!("`the` needs exactly one element, but the sequence has {}", elements(len));
    let help = "use `fold` or `tab` for sequences of another length";
    Box::new(error(Code::NotSingleton, message, span, "this sequence").help(help))
}

/// D0308.
pub(crate) fn segments(message: String, help: &str, span: Span) -> Box<Diagnostic> {
    Box::new(error(Code::BadSegments, message, span, "cut here").help(help))
}

/// D0309.
pub(crate) fn size_check(message: String, span: Span) -> Diagnostic {
    error(Code::SizeCheck, message, span, "this size is checked")
}

/// D0310: too large a value.
pub(crate) fn too_large(what: &str, n: impl Display, limit: u64, span: Span) -> Box<Diagnostic> {
    let message = format!("{what} comes to {n} elements, more than the limit of {limit} for one value");
    let help = "use a sequence instead of an array, or raise the limit of the run";
    Box::new(error(Code::LimitExceeded, message, span, "made here").help(help))
}

/// D0310: memory that the machine does not have.
pub(crate) fn no_memory(n: usize, span: Span) -> Box<Diagnostic> {
    let message = format!("there is no memory for an array of {}", elements(n));
    let help = "use a sequence instead of an array, or run a backend that needs less memory";
    Box::new(error(Code::LimitExceeded, message, span, "made here").help(help))
}

/// D0310: too many steps.
pub(crate) fn too_long(limit: u64, span: Span) -> Box<Diagnostic> {
    let message = format!("the run took more than {limit} steps");
    let help = "check that every loop ends, or raise the limit of the run";
    Box::new(error(Code::LimitExceeded, message, span, "running this").help(help))
}

/// D0310: stopped from outside.
pub(crate) fn interrupted(span: Span) -> Box<Diagnostic> {
    Box::new(error(Code::LimitExceeded, "interrupted".into(), span, "while running this"))
}

/// D0402.
pub(crate) fn argument(message: String) -> Box<Diagnostic> {
    let help = "give a value of the parameter's type";
    Box::new(Diagnostic::nowhere(Code::BadArgument, message).help(help))
}

/// D0901: the program is not what its types say.
pub(crate) fn bug(message: String, span: Span) -> Box<Diagnostic> {
    let note = "the interpreter runs only programs that the verifier accepts";
    Box::new(error(Code::Internal, message, span, "running this").note(note))
}

/// Says at which element or step of an operator an error arose, for the two innermost ones.
pub(crate) fn within(mut diagnostic: Box<Diagnostic>, place: String) -> Box<Diagnostic> {
    let known = diagnostic.notes.iter().filter(|n| n.starts_with("at ") && n.contains(" of this `")).count();
    if known < 2 {
        diagnostic.notes.push(place);
    }
    diagnostic
}
