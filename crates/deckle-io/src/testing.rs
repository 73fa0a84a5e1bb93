//! Types and values that the tests of the formats are made of.

use deckle_ir::entity::SizeVar;
use deckle_ir::scalar::ScalarType;
use deckle_ir::size::Size;
use deckle_ir::types::{RecordType, Type};
use deckle_ir::value::Value;
use std::sync::Arc;

pub fn int() -> Type {
    Type::INT
}

pub fn real() -> Type {
    ScalarType::F64.into()
}

pub fn byte() -> Type {
    ScalarType::U8.into()
}

/// A vector of unknown length.
pub fn vector(elem: impl Into<Type>) -> Type {
    Type::array(Size::var(SizeVar(0)), elem.into())
}

pub fn tuple(parts: &[Type]) -> Type {
    Type::tuple(parts.to_vec())
}

pub fn record(fields: &[(&str, Type)]) -> Type {
    let fields = fields.iter().map(|(name, ty)| (name.to_string(), ty.clone())).collect();
    Type::Record(Arc::new(RecordType { name: "r".into(), fields }))
}

/// The record of `off` and `rows`.
pub fn csr(elem: Type) -> Type {
    record(&[("off", vector(int())), ("rows", vector(vector(tuple(&[int(), elem]))))])
}

pub fn ints(v: &[i64]) -> Value {
    Value::array(v.iter().map(|x| Value::int(*x)).collect())
}

pub fn reals(v: &[f64]) -> Value {
    Value::array(v.iter().map(|x| Value::real(*x)).collect())
}

/// A text, as a `[u8]`.
pub fn text(s: &str) -> Value {
    crate::text::bytes_value(s.as_bytes(), &vector(byte()))
}

/// Reads a value as it is written.
#[track_caller]
pub fn value(written: &str, ty: &Type) -> Value {
    crate::text::parse(written, ty).unwrap()
}
