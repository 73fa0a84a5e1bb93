//! What goes wrong while a program runs, in the words of the reference.

use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::kernel::{Fault, Program, Site};
use deckle_runtime::{Interrupted, OverBudget, stream};

/// What is said when whoever took the result has gone.
pub const CLOSED: &str = "nobody takes the result any more";

/// Why a run ends early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A check failed, with these operands.
    Check(Site, Vec<i64>),
    /// The budget is spent. Where the array stands in the source.
    Memory(OverBudget, Span),
    /// An argument is not of the parameter's type.
    Argument(String),
    /// The rows of an argument are not of one size: which one has how many elements, and how many the first has.
    Irregular { name: String, row: usize, len: i64, first: i64 },
    /// An array of so many elements. Where it stands in the source.
    TooLarge(String, i64, Span),
    /// From outside.
    Interrupted,
    /// Nobody takes the result any more.
    Closed,
    /// A sequence from outside, or whoever takes a result, says so.
    Stream(Box<dyn std::error::Error + Send + Sync>),
    /// Deckle's own.
    Bug(String),
}

impl From<OverBudget> for Failure {
    fn from(e: OverBudget) -> Failure {
        Failure::Memory(e, Span::NONE)
    }
}

impl From<stream::Error> for Failure {
    fn from(e: stream::Error) -> Failure {
        match e {
            stream::Error::OverBudget(e) => e.into(),
            stream::Error::Interrupted => Failure::Interrupted,
            stream::Error::Closed => Failure::Closed,
            stream::Error::Failed(e) => Failure::Stream(e),
        }
    }
}

impl From<Interrupted> for Failure {
    fn from(_: Interrupted) -> Failure {
        Failure::Interrupted
    }
}

impl Failure {
    pub(crate) fn bug(what: &str) -> Failure {
        Failure::Bug(format!("the host met {what}"))
    }

    /// A limit that is passed at a place of the source.
    pub(crate) fn at(self, span: Span) -> Failure {
        match self {
            Failure::Memory(e, _) => Failure::Memory(e, span),
            other => other,
        }
    }

    /// As an error with its place.
    pub(crate) fn report(self, program: &Program) -> Box<Diagnostic> {
        Box::new(match self {
            Failure::Bug(message) => Diagnostic::nowhere(Code::Internal, message),
            Failure::Argument(name) => {
                Diagnostic::nowhere(Code::BadArgument, format!("argument `{name}` is not of the type of its parameter"))
                    .help("give a value of the parameter's type")
            }
            Failure::Irregular { name, row, len, first } => {
                let has = elements(len);
                let message = format!(
                    "argument `{name}` needs rows of equal length, but the row at [{row}] has {has} and a row before it {first}"
                );
                Diagnostic::nowhere(Code::NotRegular, message)
                    .help("cut or pad the rows to one length, or use operators that work on jagged arrays")
            }
            Failure::TooLarge(name, n, span) => too_many(&name, n, span),
            Failure::Stream(e) => match e.downcast::<Diagnostic>() {
                Ok(d) => *d,
                Err(e) => Diagnostic::nowhere(Code::Stream, e.to_string())
                    .help("what came before it was gone through: see to what the elements come from, or go to"),
            },
            Failure::Closed => Diagnostic::nowhere(Code::Stream, CLOSED),
            Failure::Interrupted => Diagnostic::nowhere(Code::LimitExceeded, "interrupted".to_string()),
            Failure::Memory(e, span) => error(Code::LimitExceeded, e.to_string(), span, "this array")
                .help("raise the budget, or use a sequence instead of an array"),
            Failure::Check(site, operands) => match program.sites.get(site.index()) {
                Some(data) => report(&data.kind, data.span, &operands),
                None => Diagnostic::nowhere(Code::Internal, format!("{site} is not known")),
            },
        })
    }
}

fn elements(n: i64) -> String {
    if n == 1 { "1 element".into() } else { format!("{n} elements") }
}

fn too_many(what: &str, n: i64, span: Span) -> Diagnostic {
    let n = if n == i64::MAX { format!("{n} or more") } else { n.to_string() };
    let message = format!("{what} comes to {n} elements, more than there can be");
    error(Code::LimitExceeded, message, span, "this array").help("use a sequence instead of an array")
}

fn error(code: Code, message: String, span: Span, label: &str) -> Diagnostic {
    if span.is_none() { Diagnostic::nowhere(code, message) } else { Diagnostic::new(code, message, span, label) }
}

/// The operands in the places of `{}`.
fn fill(message: &str, operands: &[i64]) -> String {
    let mut out = String::new();
    let mut operands = operands.iter();
    let mut rest = message;
    while let Some((before, after)) = rest.split_once("{}") {
        out += before;
        out += &operands.next().map_or("?".to_string(), i64::to_string);
        rest = after;
    }
    out + rest
}

fn report(kind: &Fault, span: Span, operands: &[i64]) -> Diagnostic {
    let op = |i: usize| operands.get(i).copied().unwrap_or(0);
    let code = kind.code();
    match kind {
        Fault::Index(what) => {
            let message = format!("{what} {} is out of range for an array of {}", op(0), elements(op(1)));
            let why = match op(1) {
                0 => "an empty array has no elements".to_string(),
                n => format!("positions run from 0 to {}", n - 1),
            };
            let help = "check that the index is at least 0 and below the length before using it";
            error(code, message, span, "this index").note(why).help(help)
        }
        Fault::Range => {
            let (lo, hi, n) = (op(0), op(1), op(2));
            let message = format!("the range from {lo} to {hi} does not lie within an array of {}", elements(n));
            let why = format!("a slice needs 0 <= from <= to <= {n}; the end itself is left out");
            error(code, message, span, "this slice")
                .note(why)
                .help("clamp both ends to the length, or use `take` and `drop`, which do so")
        }
        Fault::Count(what) if op(0) >= 0 => {
            let message = format!("{what} is {}, more elements than there can be", op(0));
            error(Code::LimitExceeded, message, span, "computed here").help("use a sequence instead of an array")
        }
        Fault::TooMany(what) => too_many(what, op(0), span),
        Fault::Negative(what) | Fault::Count(what) => {
            let message = format!("{what} is {}, but must not be negative", op(0));
            error(code, message, span, "computed here")
                .help("use `max(0, ...)` where nothing is meant by less than zero")
        }
        Fault::BadSize(message, help) => error(code, fill(message, operands), span, "computed here").help(help.clone()),
        Fault::DivideByZero => {
            let message = format!("the integer {} is divided by zero", op(0));
            let help = "test the divisor first; `select` evaluates both of its values, `if` only one";
            error(code, message, span, "this division").help(help)
        }
        Fault::NegativeExponent => {
            let message = format!("the exponent of an integer is {}, but must not be negative", op(0));
            error(code, message, span, "computed here").help("convert the base to a float first")
        }
        Fault::Lengths(which) => {
            let ordinal = ["first", "second", "third", "fourth"].get(*which).copied().unwrap_or("next");
            let message =
                format!("equal lengths are needed, but one has {} and the {ordinal} {}", elements(op(0)), op(1));
            let help = "cut the longer one with `take(n, xs)`, or pad the shorter one with `pad(0, k, x, xs)`";
            error(code, message, span, "traversed together here").help(help)
        }
        Fault::Reshape => {
            let message = format!("{} cannot be given a shape of {}", elements(op(0)), elements(op(1)));
            error(code, message, span, "this reshape")
                .help("the product of the new sizes must be the number of elements")
        }
        Fault::Empty(name) => error(code, format!("`{name}` of no elements"), span, "this has no elements")
            .help("give it a start value (`fold`), or test for emptiness first"),
        Fault::NotRegular(what) => {
            let message = format!(
                "{what} needs rows of equal length, but there are rows of {} and of {}",
                elements(op(0)),
                op(1)
            );
            error(code, message, span, "this has rows of different length")
                .help("cut or pad the rows to one length, or use operators that work on jagged arrays")
        }
        Fault::NotSingleton => {
            let message = format!("`the` needs exactly one element, but the sequence has {}", elements(op(0)));
            error(code, message, span, "this sequence").help("use `fold` or `tab` for sequences of another length")
        }
        Fault::Segments(message, help) => error(code, fill(message, operands), span, "cut here").help(help.clone()),
        Fault::Size(what, written) => {
            let (have, n) = (elements(op(0)), op(1));
            let message = match written {
                Some(size) if *size != n.to_string() => {
                    format!("{what} has {have}, but its type says `{size}`, which is {n} here")
                }
                _ => format!("{what} has {have}, but its type says {n}"),
            };
            error(code, message, span, "this size is checked")
                .help("give values of the sizes that are written, or write another size")
        }
    }
}
