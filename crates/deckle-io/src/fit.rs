//! The requirements of a type, and whether a number in a file is a value of it: common to all formats.

use crate::Error;
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;

/// The number of vectors and sequences around the innermost elements, and the type of those.
pub fn nesting(mut ty: &Type) -> (usize, &Type) {
    let mut depth = 0;
    while let Some(elem) = ty.elem() {
        (ty, depth) = (elem, depth + 1);
    }
    (depth, ty)
}

/// Whether every value of one type is a value of the other, of the same kind.
pub fn widens(from: ScalarType, to: ScalarType) -> bool {
    match (from.int_range(), to.int_range()) {
        (Some((a, b)), Some((lo, hi))) => lo <= a && b <= hi,
        _ => from == to || (from, to) == (ScalarType::F32, ScalarType::F64),
    }
}

/// An integer as a number of a type, if the type can represent it exactly.
pub fn exact(v: i128, ty: ScalarType) -> Option<Scalar> {
    match ty {
        ScalarType::Bool => None,
        ScalarType::F32 => Some(Scalar::F32(v as f32)).filter(|_| (v as f32) as i128 == v),
        ScalarType::F64 => Some(Scalar::F64(v as f64)).filter(|_| (v as f64) as i128 == v),
        _ => {
            let (lo, hi) = ty.int_range()?;
            (lo..=hi).contains(&v).then(|| Scalar::wrap_int(ty, v)).flatten()
        }
    }
}

/// The value is not of the type it should have.
pub fn confused() -> Error {
    Error::new("the value is not of the type that it is said to have")
}

/// `1 field`, `2 fields`.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// At most a few characters of a word of a file, none of which can disturb a terminal.
pub fn show(word: &[u8]) -> String {
    const LONGEST: usize = 32;
    let text = String::from_utf8_lossy(&word[..word.len().min(4 * LONGEST)]);
    let mut shown: String = text.chars().take(LONGEST).map(|c| if c.is_control() { '?' } else { c }).collect();
    if word.len() > shown.len() {
        shown.push_str("...");
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType as T;

    #[test]
    fn only_lossless_conversions_are_made() {
        assert!(widens(T::I32, T::I64) && widens(T::U8, T::I16) && widens(T::F32, T::F64) && widens(T::Bool, T::Bool));
        for (from, to) in [(T::I64, T::I32), (T::I8, T::U64), (T::U64, T::I64), (T::F64, T::F32), (T::I32, T::F64)] {
            assert!(!widens(from, to), "{from} {to}");
        }
        assert!(!widens(T::Bool, T::U8) && !widens(T::U8, T::Bool));
    }

    #[test]
    fn integers_are_kept_exactly_or_not_at_all() {
        assert_eq!(exact(255, T::U8), Some(Scalar::U8(255)));
        assert_eq!(exact(256, T::U8), None);
        assert_eq!(exact(3, T::F32), Some(Scalar::F32(3.0)));
        assert_eq!(exact((1 << 53) + 1, T::F64), None);
        assert_eq!(exact(1, T::Bool), None);
    }
}
