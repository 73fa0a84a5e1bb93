//! The errors of a run: the faults of the common table, and those that only the interpreter has.

use deckle_diag::{Code, Diagnostic, Span};
use deckle_ir::fault::{Fault, MOST_PLACES, Place, is_place};

/// The result of every function here.
pub(crate) type Result<T> = std::result::Result<T, Box<Diagnostic>>;

/// A fault with its operands.
pub(crate) fn fault(fault: &Fault, operands: &[i128], span: Span) -> Box<Diagnostic> {
    Box::new(fault.report(span, operands))
}

/// D0402.
pub(crate) fn argument(message: String) -> Box<Diagnostic> {
    let help = "give a value of the parameter's type";
    Box::new(Diagnostic::nowhere(Code::BadArgument, message).help(help))
}

/// D0311. `op` is the operator that combines elements, at `span`; its function computes its result at `body`. `operands` and
/// `results` are in the form to be shown.
pub(crate) fn not_associative(
    op: &str,
    (span, body): (Span, Span),
    [a, b, c]: [String; 3],
    [left, right]: [String; 2],
) -> Box<Diagnostic> {
    let message = format!("the operator of `{op}` is not associative");
    let mut d = match span.is_none() {
        true => Diagnostic::nowhere(Code::NotAssociative, message),
        false => Diagnostic::new(Code::NotAssociative, message, span, "elements are combined here"),
    };
    if !body.is_none() && body != span {
        d = d.label(body, "by this operator");
    }
    let tried = format!("with a = {a}, b = {b} and c = {c}, (a · b) · c is {left}, but a · (b · c) is {right}");
    let why = format!("`{op}` may group elements in any way, so that its result depends on where and how it runs");
    let help = "use `fold_ordered` or `scan_ordered`, which take one element after another, or an operator that is associative";
    Box::new(d.note(tried).note(why).help(help))
}

/// D0901: the program does not match its types.
pub(crate) fn bug(message: String, span: Span) -> Box<Diagnostic> {
    let note = "the interpreter runs only programs that the verifier accepts";
    let d = match span.is_none() {
        true => Diagnostic::nowhere(Code::Internal, message),
        false => Diagnostic::new(Code::Internal, message, span, "running this"),
    };
    Box::new(d.note(note))
}

/// Adds the element or step of an operator at which an error arose, for the innermost ones.
pub(crate) fn within(mut diagnostic: Box<Diagnostic>, place: &Place, at: &[i128]) -> Box<Diagnostic> {
    let known = diagnostic.notes.iter().filter(|n| is_place(n)).count();
    if known < MOST_PLACES {
        diagnostic.notes.push(place.note(at));
    }
    diagnostic
}
