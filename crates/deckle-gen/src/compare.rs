//! Whether two backends agree on a program: the only definition, for all tests.

use deckle_diag::{Class, Code, Diagnostic, Span};
use deckle_ir::array::{Function, Inst, Op, Program};
use deckle_ir::entity::Var;
use deckle_ir::fault::{MOST_PLACES, agrees};
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;
use deckle_ir::value::Value;

use crate::Show;

/// The outcome of a run.
pub type Run = Result<Value, Box<Diagnostic>>;

/// Equal except for the rounding of floats, whose sums may be grouped differently, and whose functions have errors of their own.
pub fn close(a: &Value, b: &Value) -> bool {
    close_to(a, b, ScalarType::F64)
}

/// The same, for values computed from floats of a type, or of wider ones.
fn close_to(a: &Value, b: &Value, floats: ScalarType) -> bool {
    let all = |x: &[Value], y: &[Value]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| close_to(x, y, floats));
    match (a, b) {
        (Value::Scalar(x), Value::Scalar(y)) => match (x.as_float(), y.as_float()) {
            (Some(p), Some(q)) if x.ty() == y.ty() => {
                let scale = if [x.ty(), floats].contains(&ScalarType::F32) { 1e-3 } else { 1e-8 };
                p == q || p.is_nan() && q.is_nan() || (p - q).abs() <= scale * p.abs().max(q.abs()).max(1e-9)
            }
            _ => x == y,
        },
        (Value::Tuple(x), Value::Tuple(y)) => all(x, y),
        (Value::Array(x), Value::Array(y)) | (Value::Seq(x), Value::Seq(y)) => all(x, y),
        _ => false,
    }
}

/// Whether two values of a program differ by rounding: by no more than the perturbations of rounding in other runs of the reference change.
pub fn differ_by_rounding(reference: &Run, other: &Run, rounded: &[Run]) -> bool {
    let (Ok(a), Ok(b)) = (reference, other) else { return false };
    let (alike, others): (Vec<&Value>, Vec<&Value>) =
        rounded.iter().filter_map(|run| run.as_ref().ok()).partition(|r| is_of_shape(r, a));
    is_within(a, b, &alike) || others.iter().any(|r| is_of_shape(r, b))
}

/// Whether two values are equal except for their floats.
fn is_of_shape(a: &Value, b: &Value) -> bool {
    let all = |x: &[Value], y: &[Value]| x.len() == y.len() && x.iter().zip(y).all(|(x, y)| is_of_shape(x, y));
    match (a, b) {
        (Value::Scalar(x), Value::Scalar(y)) => x.ty() == y.ty() && x.ty().is_float() || x == y,
        (Value::Tuple(x), Value::Tuple(y)) => all(x, y),
        (Value::Array(x), Value::Array(y)) | (Value::Seq(x), Value::Seq(y)) => all(x, y),
        _ => false,
    }
}

/// The factor by which a difference may exceed the change due to perturbed rounding.
const ROUNDING: f64 = 64.0;

/// Whether the floats of two values of one shape differ by no more than those of other values of that shape do.
fn is_within(a: &Value, b: &Value, others: &[&Value]) -> bool {
    let parts = |v: &Value| match v {
        Value::Tuple(parts) => Some(parts.to_vec()),
        Value::Array(elems) | Value::Seq(elems) => Some(elems.to_vec()),
        Value::Scalar(_) => None,
    };
    match (a, b, parts(a), parts(b)) {
        (Value::Scalar(x), Value::Scalar(y), ..) => match (x.as_float(), y.as_float()) {
            (Some(p), Some(q)) => {
                let change = |other: &&Value| match other {
                    Value::Scalar(r) => r.as_float().map_or(0.0, |r| (p - r).abs()),
                    _ => 0.0,
                };
                let most = others.iter().map(change).fold(0.0, f64::max);
                close(a, b) || !most.is_finite() || (p - q).abs() <= ROUNDING * most
            }
            _ => x == y,
        },
        (_, _, Some(x), Some(y)) if x.len() == y.len() => {
            let others: Vec<Vec<Value>> = others.iter().filter_map(|v| parts(v)).collect();
            (0..x.len()).all(|k| is_within(&x[k], &y[k], &others.iter().filter_map(|o| o.get(k)).collect::<Vec<_>>()))
        }
        _ => false,
    }
}

/// Equal to the last bit, except that all NaNs are equal.
pub fn same_bits(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Scalar(x), Value::Scalar(y)) => {
            let nan = |v: Option<f64>| v.is_some_and(f64::is_nan);
            x.ty() == y.ty() && (x.bits() == y.bits() || nan(x.as_float()) && nan(y.as_float()))
        }
        (Value::Tuple(x), Value::Tuple(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| same_bits(x, y))
        }
        (Value::Array(x), Value::Array(y)) | (Value::Seq(x), Value::Seq(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| same_bits(x, y))
        }
        _ => false,
    }
}

/// Whether a backend agrees with the reference: on the value, or on the error ([`agrees`]).
///
/// If several checks of a program fail, another one may come first: native code simplifies, and makes a check where its value is needed, not where it is written. So for errors
/// at different places of the source, or about different things there, or of different components, sizes or dimensions, or in a function that is called at several places, or in steps of loops and ordered folds inside a `map`, only the kind is
/// compared. For one check all report the first element that fails, except if some elements are also accessed separately: by their index, or as a part of the array.
/// One of them may be that a limit is reached; if the reference succeeds, only its value agrees.
pub fn agree(program: &Program, reference: &Run, other: &Run) -> bool {
    match (reference, other) {
        (Ok(a), Ok(b)) => close_to(a, b, narrowest(program)),
        // A limit of the reference says nothing about the meaning.
        (Err(a), _) if is_limit(a) => !matches!(other, Err(b) if b.class() == Class::Bug),
        (Err(a), Err(b)) if is_one_check(program, a, b) => agrees(a, b) || same_error(a, b) && asks_for_some(program),
        (Err(_), Err(b)) => b.class() == Class::User || is_limit(b),
        _ => false,
    }
}

/// The type of floats from which others are computed: `f32`, if any `f32` becomes an `f64`.
fn narrowest(program: &Program) -> ScalarType {
    let widens = |f: &Function, v: Var| match f.inst(v) {
        Some(Inst { op: Op::Cast(ScalarType::F64), args, .. }) => *f.ty(args[0]) == Type::Scalar(ScalarType::F32),
        _ => false,
    };
    let any = program.funcs.iter().any(|f| (0..f.vars.len() as u32).any(|v| widens(f, Var(v))));
    if any { ScalarType::F32 } else { ScalarType::F64 }
}

/// Whether an error is a limit of the run, which is no part of the meaning of a program.
pub fn is_limit(error: &Diagnostic) -> bool {
    error.code == Code::LimitExceeded
}

fn place(d: &Diagnostic) -> Option<Span> {
    d.labels.first().map(|l| l.span)
}

/// Whether two errors are of the same check, and native code reaches its elements in the same order.
fn is_one_check(program: &Program, a: &Diagnostic, b: &Diagnostic) -> bool {
    let is_once = || place(a).is_none_or(|span| calls(program, span) <= 1 && !compares_several(program, span));
    a.code == b.code && place(a) == place(b) && about(a) == about(b) && is_once() && !is_in_step_of_element(a)
}

/// Whether a program accesses some elements of an array: a failing one may be accessed before the others are computed.
fn asks_for_some(program: &Program) -> bool {
    let is_index = |f: &Function, v: u32| {
        matches!(f.inst(Var(v)), Some(Inst { op: Op::Index | Op::Take | Op::Drop | Op::Slice(_) | Op::Reverse(_), .. }))
    };
    program.funcs.iter().any(|f| (0..f.vars.len() as u32).any(|v| is_index(f, v)))
}

/// Whether a statement compares several sizes at one place: those of the components of an operand, of several operands or dimensions, or several given ones.
fn compares_several(program: &Program, span: Span) -> bool {
    let compares = |f: &Function, v: Var| match f.inst(v) {
        Some(inst) if f.span(v) == span => {
            let is_typed = matches!(inst.op, Op::Call(_) | Op::Ensure(_));
            let sizes = matches!(inst.op, Op::Generate) && inst.args.len() > 1;
            sizes || inst.args.len() > 2 || is_typed && inst.args.iter().any(|arg| has_several(f.ty(*arg)))
        }
        _ => false,
    };
    program.funcs.iter().any(|f| (0..f.vars.len() as u32).any(|v| compares(f, Var(v))))
}

/// Whether a type has components, or rows of rows.
fn has_several(ty: &Type) -> bool {
    ty.parts().is_some()
        || ty.elem().and_then(Type::elem).is_some_and(|t| t.elem().is_some())
        || ty.elem().is_some_and(has_several)
}

/// Whether an error arose at a step of a loop, or of an ordered fold, for an element: native code may run the first step for all elements before the second for any. Of the
/// places around an error the innermost are reported: further ones are unknown.
fn is_in_step_of_element(d: &Diagnostic) -> bool {
    let is_step = |n: &String| n.starts_with("at step") || n.contains("`fold_ordered`") || n.contains("`scan_ordered`");
    let step = d.notes.iter().position(is_step);
    let cut = d.notes.iter().filter(|n| n.starts_with("at ")).count() == MOST_PLACES;
    let is_around = |n: &String| n.starts_with("at element");
    step.is_some_and(|step| cut && step + 1 == d.notes.len() || d.notes[step + 1..].iter().any(is_around))
}

/// The nesting depth of calls at which a statement is run: 1 for the function that is run itself.
fn calls(program: &Program, span: Span) -> usize {
    let here = |f: &Function| (0..f.vars.len() as u32).any(|v| f.span(Var(v)) == span);
    // Functions are not recursive.
    fn of(program: &Program, func: usize) -> usize {
        let is_call = |inst: Option<&Inst>| matches!(inst, Some(Inst { op: Op::Call(g), .. }) if g.index() == func);
        let places = |f: &Function| (0..f.vars.len() as u32).filter(|v| is_call(f.inst(Var(*v)))).count();
        let callers = program.funcs.iter().map(places).enumerate().filter(|(_, n)| *n > 0);
        callers.map(|(caller, n)| n * of(program, caller)).sum::<usize>().max(1)
    }
    program.funcs.iter().position(here).map_or(1, |func| of(program, func))
}

/// The subject of a check: its message without the operands.
fn about(d: &Diagnostic) -> String {
    let words =
        d.message.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.starts_with(|c: char| c.is_ascii_digit()));
    words.filter(|w| !w.is_empty()).map(|w| if w == "element" { "elements" } else { w }).collect::<Vec<_>>().join(" ")
}

/// Whether two errors have the same code, place and message.
pub fn same_error(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.code == b.code && place(a) == place(b) && a.message == b.message
}

/// The outcome of a run as text.
pub fn shown(run: &Run) -> String {
    match run {
        Ok(v) => Show(v).to_string(),
        Err(d) => {
            let at = d.labels.first().map_or(String::new(), |l| format!(", at statement {}", l.span.lo));
            format!("{}: {}{at} {:?}", d.code, d.message, d.notes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deckle_ir::scalar::Scalar;

    fn float(x: f64) -> Run {
        Ok(Value::Scalar(Scalar::F64(x)))
    }

    #[test]
    fn what_rounding_changes_may_differ_and_nothing_else() {
        // 4 is less than the rounding error of a sum of 3.4e38; for small numbers it is not.
        assert!(differ_by_rounding(&float(0.0), &float(4.0), &[float(0.0), float(3.8e22)]));
        assert!(!differ_by_rounding(&float(0.0), &float(4.0), &[float(0.0), float(1e-16)]));
        assert!(!differ_by_rounding(&float(0.0), &float(4.0), &[]));
        // A condition on a float decides.
        let truth = |x| Ok(Value::Scalar(Scalar::Bool(x)));
        assert!(differ_by_rounding(&truth(true), &truth(false), &[truth(true), truth(false)]));
        assert!(!differ_by_rounding(&truth(true), &truth(false), &[truth(true)]));
        let error = || Err(Box::new(Diagnostic::nowhere(Code::Internal, "no")));
        assert!(!differ_by_rounding(&float(0.0), &error(), &[error()]));
    }
}
