//! Arguments that stand in files: `NAME=@FILE`.
//!
//! The ending says what the file holds: `.npy` an array; anything else text, which is the bytes themselves for a `[u8]`,
//! and for other types a `.txt` holds the value as one would write it on the command line.

use crate::bind::misfit;
use crate::report::bad_file;
use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_io::npy;
use deckle_io::text::{self, bytes_value, collection, is_text, type_name};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::path::Path;

/// Endings of formats that are planned, and mean something else than text.
const LATER: [&str; 9] = ["npz", "mtx", "gz", "csv", "tsv", "arrow", "feather", "parquet", "json"];

/// The value of a parameter from a file.
pub fn load(name: &str, ty: &Type, path: &Path, sources: &mut SourceMap) -> Result<Value, Diagnostic> {
    let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    if ending == "npy" {
        return from_npy(name, ty, path);
    }
    if LATER.contains(&ending.as_str()) {
        let message = format!("this version of Deckle does not read .{ending} files (`{}`)", path.display());
        return Err(
            Diagnostic::nowhere(Code::Unsupported, message).help("save the array with NumPy: np.save('a.npy', a)")
        );
    }
    if !is_text(ty) && ending != "txt" {
        let message = format!("cannot tell what `{}` holds by its ending", path.display());
        return Err(
            Diagnostic::nowhere(Code::BadFile, message).help("an array is read from .npy, a written value from .txt")
        );
    }
    let bytes = std::fs::read(path).map_err(|e| bad_file(&deckle_io::Error::io(&e).in_file(path)))?;
    if is_text(ty) {
        return Ok(bytes_value(&bytes, ty));
    }
    match String::from_utf8(bytes) {
        Ok(text) => {
            text::parse(&text, ty).map_err(|w| misfit(name, ty, w, &path.display().to_string(), &text, sources))
        }
        Err(e) => {
            let at = e.utf8_error().valid_up_to();
            Err(bad_file(&deckle_io::Error::at(at, "it is not UTF-8 text").in_file(path)))
        }
    }
}

fn from_npy(name: &str, ty: &Type, path: &Path) -> Result<Value, Diagnostic> {
    let (held, value) = npy::read(path).map_err(|e| bad_file(&e))?;
    let misfit = |message: String| Diagnostic::nowhere(Code::BadArgument, message);
    let (depth, elem) = nesting(ty);
    let (held_depth, held_elem) = nesting(&held);
    let (Type::Scalar(elem), Type::Scalar(held_elem)) = (elem, held_elem) else {
        return Err(misfit(format!("`{name}: {}` cannot come from a .npy file", type_name(ty)))
            .note("a .npy file holds one array of scalars"));
    };
    if depth != held_depth {
        return Err(misfit(format!(
            "`{name}: {}` needs {}, and `{}` has {}",
            type_name(ty),
            dimensions(depth),
            path.display(),
            dimensions(held_depth)
        )));
    }
    if !fits(*held_elem, *elem) {
        let (needed, has) = (npy::dtype_name(*elem), npy::dtype_name(*held_elem));
        let d =
            misfit(format!("`{name}: {}` needs the dtype {needed}, and `{}` has {has}", type_name(ty), path.display()));
        return Err(d.help(format!("save it as np.save('a.npy', a.astype('{needed}'))")));
    }
    Ok(if held_elem == elem && ty.is_concrete() { value } else { convert(value, ty) })
}

fn dimensions(n: usize) -> String {
    format!("{n} dimension{}", if n == 1 { "" } else { "s" })
}

/// How many vectors and sequences are around the innermost elements, and the type of those.
fn nesting(mut ty: &Type) -> (usize, &Type) {
    let mut depth = 0;
    while let Some(elem) = ty.elem() {
        (ty, depth) = (elem, depth + 1);
    }
    (depth, ty)
}

/// Whether every value of one type is a value of the other, of the same kind.
fn fits(from: ScalarType, to: ScalarType) -> bool {
    match (from.int_range(), to.int_range()) {
        (Some((a, b)), Some((lo, hi))) => lo <= a && b <= hi,
        _ => from == to || (from, to) == (ScalarType::F32, ScalarType::F64),
    }
}

/// The same elements at another type: widened, and streamed where the type is a sequence.
fn convert(value: Value, ty: &Type) -> Value {
    match (&value, ty) {
        (Value::Scalar(s), Type::Scalar(to)) => Value::Scalar(widen(*s, *to)),
        (Value::Array(items), Type::Array(_) | Type::Seq(_)) => {
            let Some(elem) = ty.elem() else { return value };
            collection(items.iter().map(|v| convert(v.clone(), elem)).collect(), ty)
        }
        _ => value,
    }
}

fn widen(s: Scalar, to: ScalarType) -> Scalar {
    if s.ty() == to { s } else { s.cast(to) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType as T;

    #[test]
    fn only_lossless_conversions_are_made() {
        assert!(fits(T::I32, T::I64) && fits(T::U8, T::I16) && fits(T::F32, T::F64) && fits(T::Bool, T::Bool));
        for (from, to) in [(T::I64, T::I32), (T::I8, T::U64), (T::U64, T::I64), (T::F64, T::F32), (T::I32, T::F64)] {
            assert!(!fits(from, to), "{from} {to}");
        }
        assert!(!fits(T::Bool, T::U8) && !fits(T::U8, T::Bool));
    }

    #[test]
    fn the_outer_dimension_is_streamed_where_the_type_says_so() {
        let row = |v: &[f32]| Value::array(v.iter().map(|x| Scalar::F32(*x).into()).collect());
        let ty = Type::seq(Type::array(2.into(), T::F64.into()));
        let rows = Value::array(vec![row(&[1.0, 2.0]), row(&[3.0, 4.5])]);
        let real = |v: &[f64]| Value::array(v.iter().map(|x| Value::real(*x)).collect());
        assert_eq!(convert(rows, &ty), Value::seq(vec![real(&[1.0, 2.0]), real(&[3.0, 4.5])]));
    }
}
