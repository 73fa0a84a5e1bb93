//! From nested vectors to the bytes of a file.

use super::MAX_DIMS;
use super::header::{MAGIC, dtype_code};
use crate::{Error, Result};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::io::{self, Write};

/// The elements begin at a multiple of this.
const ALIGN: usize = 64;

/// NumPy's name of a scalar type.
pub fn dtype_name(ty: ScalarType) -> &'static str {
    use ScalarType as T;
    match ty {
        T::Bool => "bool",
        T::I8 => "int8",
        T::I16 => "int16",
        T::I32 => "int32",
        T::I64 => "int64",
        T::U8 => "uint8",
        T::U16 => "uint16",
        T::U32 => "uint32",
        T::U64 => "uint64",
        T::F32 => "float32",
        T::F64 => "float64",
    }
}

/// The element type of the array that values of this type are, if all their rows are alike.
///
/// # Errors
/// If no value of this type can be a `.npy` file.
pub fn check_type(ty: &Type) -> Result<ScalarType> {
    let (mut ty, mut depth) = (ty, 0);
    while let Some(elem) = ty.elem() {
        (ty, depth) = (elem, depth + 1);
    }
    let what = match ty {
        Type::Scalar(_) if depth > MAX_DIMS => "has more dimensions than NumPy allows",
        Type::Scalar(elem) => return Ok(*elem),
        Type::Record(_) => "holds records",
        _ => "holds tuples",
    };
    Err(Error::new(format!("a .npy file holds one array of scalars, and this value {what}"))
        .help("write it as .json, or write each part to a file of its own"))
}

/// A value that is known to be a regular array, and what its header says.
pub(super) struct Plan<'a> {
    value: &'a Value,
    elem: ScalarType,
    dims: Vec<usize>,
}

impl<'a> Plan<'a> {
    pub(super) fn new(ty: &Type, value: &'a Value) -> Result<Self> {
        let elem = check_type(ty)?;
        // Where there is no row to measure, the type may still know the size.
        let mut dims = Vec::new();
        let (mut inner, mut row) = (ty, Some(value));
        while let Some(next) = inner.elem() {
            let items = row.and_then(Value::items);
            dims.push(items.map_or_else(|| written_size(inner), <[Value]>::len));
            (inner, row) = (next, items.and_then(<[Value]>::first));
        }
        check_rows(value, &dims, elem, &mut Vec::new())?;
        Ok(Plan { value, elem, dims })
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&header(self.elem, &self.dims))?;
        write_elements(self.value, out)
    }
}

/// The size of a vector that its type gives as a number, or none.
pub(crate) fn written_size(ty: &Type) -> usize {
    let size = ty.as_array().and_then(|a| a.size.as_constant());
    size.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// How a file begins that holds elements of this type in this shape.
pub(crate) fn header(elem: ScalarType, dims: &[usize]) -> Vec<u8> {
    let order = if elem.bytes() == 1 { '|' } else { '<' };
    let code = dtype_code(elem);
    let shown: String = dims.iter().map(|n| format!("{n}, ")).collect();
    // NumPy writes `(3,)` for one dimension and `(3, 4)` for two.
    let shown = if dims.len() == 1 { shown.trim_end() } else { shown.trim_end_matches(", ") };
    let mut text = format!("{{'descr': '{order}{code}', 'fortran_order': False, 'shape': ({shown}), }}");
    let start = MAGIC.len() + 4;
    let blanks = (start + text.len() + 1).next_multiple_of(ALIGN) - (start + text.len() + 1);
    text.extend(std::iter::repeat_n(' ', blanks));
    text.push('\n');
    let mut bytes = [MAGIC, &[1, 0]].concat();
    // At most 64 sizes of 20 digits: far below 65536.
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.into_bytes());
    bytes
}

/// Compares every row with the shape; `at` is where the value stands.
fn check_rows(value: &Value, dims: &[usize], elem: ScalarType, at: &mut Vec<usize>) -> Result<()> {
    match (value, dims) {
        (Value::Scalar(s), []) if s.ty() == elem => Ok(()),
        (Value::Array(items) | Value::Seq(items), [n, inner @ ..]) => {
            if items.len() != *n {
                return Err(ragged(at, items.len(), *n));
            }
            for (i, item) in items.iter().enumerate() {
                at.push(i);
                check_rows(item, inner, elem, at)?;
                at.pop();
            }
            Ok(())
        }
        _ => Err(Error::new("the value is not of the type that it is said to have")),
    }
}

/// The row at this place has another size than the first one.
pub(crate) fn ragged(at: &[usize], has: usize, needs: usize) -> Error {
    let place: String = at.iter().map(|i| format!("[{i}]")).collect();
    let first: String = at.iter().map(|_| "[0]").collect();
    let message = format!(
        "a .npy file holds a regular array, and this one is ragged: row {place} has {has} elements, row {first} has {needs}"
    );
    Error::new(message).help("write it as .json, which keeps the rows as they are")
}

fn write_elements(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    match value {
        Value::Scalar(s) => write_scalar(*s, out),
        Value::Tuple(parts) => parts.iter().try_for_each(|v| write_elements(v, out)),
        Value::Array(items) | Value::Seq(items) => items.iter().try_for_each(|v| write_elements(v, out)),
    }
}

fn write_scalar(s: Scalar, out: &mut dyn Write) -> io::Result<()> {
    match s {
        Scalar::Bool(v) => out.write_all(&[u8::from(v)]),
        Scalar::I8(v) => out.write_all(&v.to_le_bytes()),
        Scalar::I16(v) => out.write_all(&v.to_le_bytes()),
        Scalar::I32(v) => out.write_all(&v.to_le_bytes()),
        Scalar::I64(v) => out.write_all(&v.to_le_bytes()),
        Scalar::U8(v) => out.write_all(&v.to_le_bytes()),
        Scalar::U16(v) => out.write_all(&v.to_le_bytes()),
        Scalar::U32(v) => out.write_all(&v.to_le_bytes()),
        Scalar::U64(v) => out.write_all(&v.to_le_bytes()),
        Scalar::F32(v) => out.write_all(&v.to_le_bytes()),
        Scalar::F64(v) => out.write_all(&v.to_le_bytes()),
    }
}
