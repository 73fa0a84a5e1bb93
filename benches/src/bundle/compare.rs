//! Whether the result of a device is the expected one.

use super::stored::Stored;
use deckle_diag::{Class, Code, Diagnostic};
use deckle_gen::Show;
use deckle_gen::compare::{Run, agree, close, differ_by_rounding, is_limit};
use deckle_ir::value::Value;

/// An error in one line.
pub fn line(d: &Diagnostic) -> String {
    format!("{}: {}", d.code, d.message)
}

/// Compares a result with the expected one; the error is the difference. Integers must be equal, and floats equal but for rounding. If an error is expected, any error of the user's
/// data or a limit will do: several checks may fail, and without LLVM a device only reports that one has failed.
pub fn compare(case: &Stored, found: &Run) -> Result<(), String> {
    match (&case.expected, found) {
        (None, _) => Err("there is no expected result".into()),
        (Some(Ok(wanted)), Ok(value)) => {
            let reference = Ok(wanted.clone());
            if agree(&case.program, &reference, found) || is_rounding(case, &reference, found) {
                return Ok(());
            }
            Err(difference(wanted, value, "").unwrap_or_else(|| "the floats differ".into()))
        }
        (Some(Ok(_)), Err(d)) => Err(line(d)),
        (Some(Err(_)), Err(d)) if d.class() == Class::User || is_limit(d) || d.code == Code::NoLlvm => Ok(()),
        (Some(Err(wanted)), Err(d)) => Err(format!("{} instead of {wanted}", line(d))),
        (Some(Err(wanted)), Ok(_)) => Err(format!("a result instead of {wanted}")),
    }
}

/// Whether the interpreter, with perturbed rounding, gives results that differ as much. It is only asked if it gives the expected result without.
fn is_rounding(case: &Stored, reference: &Run, found: &Run) -> bool {
    let run = |rounding| {
        let options = deckle_interp::Options { rounding, ..Default::default() };
        deckle_interp::run(&case.program, case.func, &case.args, &options).map(|o| o.value)
    };
    if !matches!((reference, &run(None)), (Ok(a), Ok(b)) if close(a, b)) {
        return false;
    }
    differ_by_rounding(reference, found, &(0..8).map(|seed| run(Some(seed))).collect::<Vec<_>>())
}

/// The first place where two values differ.
fn difference(wanted: &Value, found: &Value, place: &str) -> Option<String> {
    let parts = |v: &Value| v.items().or(v.parts()).map(<[Value]>::to_vec);
    match (parts(wanted), parts(found)) {
        (Some(x), Some(y)) if x.len() != y.len() => {
            Some(format!("{} elements instead of {} at `{place}`", y.len(), x.len()))
        }
        (Some(x), Some(y)) => {
            let mut pairs = x.iter().zip(&y).enumerate();
            pairs.find_map(|(i, (x, y))| difference(x, y, &format!("{place}[{i}]")))
        }
        _ if close(wanted, found) => None,
        _ => Some(format!("{} instead of {} at `{place}`", Show(found), Show(wanted))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_a_place() {
        let rows = |x: i64| Value::array(vec![Value::array(vec![Value::int(1), Value::int(x)]), Value::array(vec![])]);
        assert_eq!(difference(&rows(2), &rows(3), ""), Some("3i64 instead of 2i64 at `[0][1]`".into()));
        assert_eq!(difference(&rows(2), &rows(2), ""), None);
        let short = Value::array(vec![]);
        assert_eq!(difference(&rows(2), &short, ""), Some("0 elements instead of 2 at ``".into()));
    }
}
