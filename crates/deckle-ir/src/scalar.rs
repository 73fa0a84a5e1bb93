//! Scalar types and scalar values.
//!
//! Integers wrap on overflow, in two's complement. Floats follow IEEE 754; equality of [`Scalar`] is
//! equality of bits, so that a program that contains a NaN is equal to itself (the *language's* `==` is
//! [`crate::array::BinOp::Eq`], which is IEEE's).

use std::fmt;
use std::hash::{Hash, Hasher};

/// A type of at most one machine word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[allow(missing_docs)]
pub enum ScalarType {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
}

use ScalarType as T;

impl ScalarType {
    /// All of them.
    pub const ALL: [T; 11] = [T::Bool, T::I8, T::I16, T::I32, T::I64, T::U8, T::U16, T::U32, T::U64, T::F32, T::F64];

    /// As written in both languages.
    pub fn name(self) -> &'static str {
        match self {
            T::Bool => "bool",
            T::I8 => "i8",
            T::I16 => "i16",
            T::I32 => "i32",
            T::I64 => "i64",
            T::U8 => "u8",
            T::U16 => "u16",
            T::U32 => "u32",
            T::U64 => "u64",
            T::F32 => "f32",
            T::F64 => "f64",
        }
    }

    /// The type of that name.
    pub fn from_name(name: &str) -> Option<T> {
        Self::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Bytes in memory.
    pub fn bytes(self) -> usize {
        match self {
            T::Bool | T::I8 | T::U8 => 1,
            T::I16 | T::U16 => 2,
            T::I32 | T::U32 | T::F32 => 4,
            T::I64 | T::U64 | T::F64 => 8,
        }
    }

    /// Signed or unsigned integer.
    pub fn is_int(self) -> bool {
        !matches!(self, T::Bool | T::F32 | T::F64)
    }

    /// Signed integer.
    pub fn is_signed(self) -> bool {
        matches!(self, T::I8 | T::I16 | T::I32 | T::I64)
    }

    /// `f32` or `f64`.
    pub fn is_float(self) -> bool {
        matches!(self, T::F32 | T::F64)
    }

    /// Integer or float.
    pub fn is_num(self) -> bool {
        self != T::Bool
    }

    /// The minimum and maximum of an integer type; `None` for other types.
    pub fn int_range(self) -> Option<(i128, i128)> {
        Some(match self {
            T::I8 => (i8::MIN as i128, i8::MAX as i128),
            T::I16 => (i16::MIN as i128, i16::MAX as i128),
            T::I32 => (i32::MIN as i128, i32::MAX as i128),
            T::I64 => (i64::MIN as i128, i64::MAX as i128),
            T::U8 => (0, u8::MAX as i128),
            T::U16 => (0, u16::MAX as i128),
            T::U32 => (0, u32::MAX as i128),
            T::U64 => (0, u64::MAX as i128),
            _ => return None,
        })
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One scalar value.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum Scalar {
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
}

impl Scalar {
    /// Its type.
    pub fn ty(self) -> ScalarType {
        match self {
            Scalar::Bool(_) => T::Bool,
            Scalar::I8(_) => T::I8,
            Scalar::I16(_) => T::I16,
            Scalar::I32(_) => T::I32,
            Scalar::I64(_) => T::I64,
            Scalar::U8(_) => T::U8,
            Scalar::U16(_) => T::U16,
            Scalar::U32(_) => T::U32,
            Scalar::U64(_) => T::U64,
            Scalar::F32(_) => T::F32,
            Scalar::F64(_) => T::F64,
        }
    }

    /// The integer of that type with these low bits: the wrapping conversion. `None` for `bool` and floats.
    pub fn wrap_int(ty: ScalarType, v: i128) -> Option<Scalar> {
        Some(match ty {
            T::I8 => Scalar::I8(v as i8),
            T::I16 => Scalar::I16(v as i16),
            T::I32 => Scalar::I32(v as i32),
            T::I64 => Scalar::I64(v as i64),
            T::U8 => Scalar::U8(v as u8),
            T::U16 => Scalar::U16(v as u16),
            T::U32 => Scalar::U32(v as u32),
            T::U64 => Scalar::U64(v as u64),
            _ => return None,
        })
    }

    /// The float of that type nearest to `v`.
    pub fn float(ty: ScalarType, v: f64) -> Option<Scalar> {
        match ty {
            T::F32 => Some(Scalar::F32(v as f32)),
            T::F64 => Some(Scalar::F64(v)),
            _ => None,
        }
    }

    /// Its value, if it is an integer.
    #[inline]
    pub fn as_int(self) -> Option<i128> {
        Some(match self {
            Scalar::I8(v) => v as i128,
            Scalar::I16(v) => v as i128,
            Scalar::I32(v) => v as i128,
            Scalar::I64(v) => v as i128,
            Scalar::U8(v) => v as i128,
            Scalar::U16(v) => v as i128,
            Scalar::U32(v) => v as i128,
            Scalar::U64(v) => v as i128,
            _ => return None,
        })
    }

    /// Its value, if it is a float (exact).
    pub fn as_float(self) -> Option<f64> {
        match self {
            Scalar::F32(v) => Some(v as f64),
            Scalar::F64(v) => Some(v),
            _ => None,
        }
    }

    /// Its value, if it is a truth value.
    pub fn as_bool(self) -> Option<bool> {
        match self {
            Scalar::Bool(b) => Some(b),
            _ => None,
        }
    }

    /// The conversion `cast` of the language: integers wrap, floats truncate towards zero and saturate
    /// (NaN gives 0), `bool` becomes 0 or 1, and non-zero becomes `true`.
    pub fn cast(self, to: ScalarType) -> Scalar {
        if let Some(f) = self.as_float() {
            return match to {
                T::Bool => Scalar::Bool(f != 0.0),
                T::F32 => Scalar::F32(f as f32),
                T::F64 => Scalar::F64(f),
                T::U64 => Scalar::U64(f as u64),
                _ => {
                    let (lo, hi) = to.int_range().unwrap_or((0, 0));
                    let v = (f as i128).clamp(lo, hi);
                    Scalar::wrap_int(to, v).unwrap_or(Scalar::Bool(false))
                }
            };
        }
        let v = self.as_int().unwrap_or(self.as_bool().unwrap_or(false) as i128);
        match to {
            T::Bool => Scalar::Bool(v != 0),
            T::F32 => Scalar::F32(v as f32),
            T::F64 => Scalar::F64(v as f64),
            _ => Scalar::wrap_int(to, v).unwrap_or(Scalar::Bool(false)),
        }
    }

    /// The number zero (or `false`) of a type.
    pub fn zero(ty: ScalarType) -> Scalar {
        Scalar::Bool(false).cast(ty)
    }

    /// The number one (or `true`) of a type.
    pub fn one(ty: ScalarType) -> Scalar {
        Scalar::Bool(true).cast(ty)
    }

    /// Its bits: those of an integer extended by its sign, a truth value as 0 or 1.
    #[inline]
    pub fn bits(self) -> u64 {
        match self {
            Scalar::F32(v) => v.to_bits() as u64,
            Scalar::F64(v) => v.to_bits(),
            Scalar::Bool(b) => b as u64,
            other => other.as_int().unwrap_or(0) as u64,
        }
    }

    /// The value of a type with these low bits.
    #[inline]
    pub fn from_bits(ty: ScalarType, bits: u64) -> Scalar {
        match ty {
            T::Bool => Scalar::Bool(bits & 1 != 0),
            T::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            T::F64 => Scalar::F64(f64::from_bits(bits)),
            _ => Scalar::wrap_int(ty, bits as i128).unwrap_or(Scalar::Bool(false)),
        }
    }

    /// Reads what [`fmt::Display`] writes: `true`, `3i64`, `-1.5f64`, `inff32`, `nanf64`.
    pub fn parse(text: &str) -> Option<Scalar> {
        match text {
            "true" => return Some(Scalar::Bool(true)),
            "false" => return Some(Scalar::Bool(false)),
            _ => {}
        }
        let ty = ScalarType::ALL.into_iter().find(|t| *t != T::Bool && text.ends_with(t.name()))?;
        let digits = &text[..text.len() - ty.name().len()];
        if let Some(bits) = digits.strip_prefix("nan:") {
            let bits = u64::from_str_radix(bits, 16).ok()?;
            return Some(match ty {
                T::F32 => Scalar::F32(f32::from_bits(bits as u32)),
                T::F64 => Scalar::F64(f64::from_bits(bits)),
                _ => return None,
            });
        }
        match ty {
            T::F32 => digits.parse().ok().map(Scalar::F32),
            T::F64 => digits.parse().ok().map(Scalar::F64),
            _ => {
                let v: i128 = digits.parse().ok()?;
                let (lo, hi) = ty.int_range()?;
                (lo..=hi).contains(&v).then(|| Scalar::wrap_int(ty, v)).flatten()
            }
        }
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.ty() == other.ty() && self.bits() == other.bits()
    }
}

impl Eq for Scalar {}

impl Hash for Scalar {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.ty().hash(state);
        self.bits().hash(state);
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::F32(v) if v.is_nan() => write!(f, "nan:{:x}f32", v.to_bits()),
            Scalar::F64(v) if v.is_nan() => write!(f, "nan:{:x}f64", v.to_bits()),
            Scalar::F32(v) => write!(f, "{v:?}f32"),
            Scalar::F64(v) => write!(f, "{v:?}f64"),
            other => write!(f, "{}{}", other.as_int().unwrap_or(0), other.ty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips() {
        let all = [
            Scalar::Bool(true),
            Scalar::I8(-128),
            Scalar::U64(u64::MAX),
            Scalar::I64(i64::MIN),
            Scalar::F32(1.5e-45),
            Scalar::F64(-0.0),
            Scalar::F64(f64::NEG_INFINITY),
            Scalar::F64(f64::NAN),
            Scalar::F32(-f32::NAN),
            Scalar::F64(1e300),
        ];
        for s in all {
            assert_eq!(Scalar::parse(&s.to_string()), Some(s), "{s}");
        }
        assert_eq!(Scalar::parse("256u8"), None);
        assert_eq!(Scalar::parse("x"), None);
    }

    #[test]
    fn casts_wrap_integers_and_saturate_floats() {
        assert_eq!(Scalar::I64(300).cast(T::U8), Scalar::U8(44));
        assert_eq!(Scalar::F64(1e30).cast(T::I32), Scalar::I32(i32::MAX));
        assert_eq!(Scalar::F64(-1.0).cast(T::U64), Scalar::U64(0));
        assert_eq!(Scalar::F64(f64::NAN).cast(T::I64), Scalar::I64(0));
        assert_eq!(Scalar::F64(-1.9).cast(T::I8), Scalar::I8(-1));
        assert_eq!(Scalar::Bool(true).cast(T::F32), Scalar::F32(1.0));
        assert_eq!(Scalar::U64(u64::MAX).cast(T::I64), Scalar::I64(-1));
    }
}
