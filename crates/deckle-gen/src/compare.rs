//! Whether two backends agree on a program: the one place that says so, for all tests.

use deckle_diag::{Class, Code, Diagnostic};
use deckle_ir::fault::agrees;
use deckle_ir::scalar::ScalarType;
use deckle_ir::value::Value;

use crate::Show;

/// How a run ended.
pub type Run = Result<Value, Box<Diagnostic>>;

/// Equal but for the rounding of floats, whose sums may be grouped in another way.
pub fn close(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Scalar(x), Value::Scalar(y)) => match (x.as_float(), y.as_float()) {
            (Some(p), Some(q)) if x.ty() == y.ty() => {
                let scale = if x.ty() == ScalarType::F32 { 1e-3 } else { 1e-8 };
                p == q || p.is_nan() && q.is_nan() || (p - q).abs() <= scale * p.abs().max(q.abs()).max(1e-9)
            }
            _ => x == y,
        },
        (Value::Tuple(x), Value::Tuple(y)) => x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| close(x, y)),
        (Value::Array(x), Value::Array(y)) | (Value::Seq(x), Value::Seq(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| close(x, y))
        }
        _ => false,
    }
}

/// Equal to the last bit, but that any NaN is as good as another.
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
/// Where several statements of a program fail, another one may come first: native code simplifies, and makes a check where its value is needed, not where it is written. So of errors
/// at different places of the source, or of different arguments of one call, only the kind is compared. Of one check the first element that fails is reported by all.
/// One of them may be that a limit is reached; where the reference succeeds, nothing is an agreement but its value.
pub fn agree(reference: &Run, other: &Run) -> bool {
    match (reference, other) {
        (Ok(a), Ok(b)) => close(a, b),
        // A limit of the reference says nothing about the meaning.
        (Err(a), _) if is_limit(a) => !matches!(other, Err(b) if b.class() == Class::Bug),
        (Err(a), Err(b)) if a.code == b.code && place(a) == place(b) && argument(a) == argument(b) => agrees(a, b),
        (Err(_), Err(b)) => b.class() == Class::User || is_limit(b),
        _ => false,
    }
}

/// Whether an error is one of a limit of the run, which is no part of the meaning of a program.
pub fn is_limit(error: &Diagnostic) -> bool {
    error.code == Code::LimitExceeded
}

fn place(d: &Diagnostic) -> Option<deckle_diag::Span> {
    d.labels.first().map(|l| l.span)
}

/// The argument of a call whose size is not what its type says.
fn argument(d: &Diagnostic) -> Option<&str> {
    d.message.strip_prefix("argument `")?.split('`').next()
}

/// Whether two errors are of one code, at one place, and say the same.
pub fn same_error(a: &Diagnostic, b: &Diagnostic) -> bool {
    a.code == b.code && place(a) == place(b) && a.message == b.message
}

/// How a run ended, as text.
pub fn shown(run: &Run) -> String {
    match run {
        Ok(v) => Show(v).to_string(),
        Err(d) => {
            let at = d.labels.first().map_or(String::new(), |l| format!(", at statement {}", l.span.lo));
            format!("{}: {}{at} {:?}", d.code, d.message, d.notes)
        }
    }
}
