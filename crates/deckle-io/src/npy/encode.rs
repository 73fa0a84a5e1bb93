//! From nested vectors in flat memory to the bytes of a file.

use super::MAX_DIMS;
use super::convert::swap;
use super::header::{MAGIC, dtype_code};
use crate::rows::{elements, other_len, row_len};
use crate::{Error, Result, fit};
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;
use deckle_runtime::Data;
use std::io::{self, Write};

/// The elements begin at a multiple of this.
const ALIGN: usize = 64;
/// The number of bytes that are reordered at once.
const SWAPPED: usize = 1 << 16;

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

/// The element type of the array of values of this type, if all their rows have equal length.
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

/// A value that is known to be a regular array, and the header of its file.
pub(crate) struct Plan<'d> {
    header: Vec<u8>,
    elem: ScalarType,
    scalars: &'d [u8],
}

impl<'d> Plan<'d> {
    /// For the only value, which is of the type.
    pub(crate) fn new(ty: &Type, data: &'d Data) -> Result<Self> {
        let elem = check_type(ty)?;
        let mut dims = Vec::new();
        let mut scalars = data;
        if ty.elem().is_some() {
            scalars = elements(data);
            dims.push(scalars.len());
            dims.extend(inner_shape(ty, Some(scalars).filter(|rows| !rows.is_empty())));
            scalars = check_rows(scalars, &dims[1..], 0)?;
        }
        let scalars = scalars.as_scalars().ok_or_else(fit::confused)?.as_slice();
        Ok(Plan { header: header(elem, &dims), elem, scalars })
    }

    /// The number of bytes of the file.
    pub(crate) fn len(&self) -> usize {
        self.header.len() + self.scalars.len()
    }

    /// Passes the bytes of the file to `put`, part after part.
    pub(crate) fn parts(&self, put: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        put(&self.header)?;
        little_endian(self.scalars, self.elem.bytes(), put)
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.parts(&mut |part| out.write_all(part))
    }
}

/// Passes elements of this width to `put`, in the byte order of a file.
pub(crate) fn little_endian(
    elements: &[u8],
    width: usize,
    put: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    if cfg!(target_endian = "little") {
        return put(elements);
    }
    elements.chunks(SWAPPED).try_for_each(|part| {
        let mut part = part.to_vec();
        swap(&mut part, width);
        put(&part)
    })
}

/// The shape of the first element of a vector or sequence of a type; without elements the type may still give the sizes.
pub(crate) fn inner_shape(ty: &Type, mut first: Option<&Data>) -> Vec<usize> {
    let mut dims = Vec::new();
    let mut inner = ty.elem();
    while let Some(row) = inner.filter(|ty| ty.elem().is_some()) {
        let size = first.map_or_else(|| written_size(row), |data| row_len(data, 0));
        dims.push(size);
        first = first.filter(|_| size > 0).map(elements);
        inner = row.elem();
    }
    dims
}

/// The scalars of elements that must all have this shape; those of an array from `begins` on.
pub(crate) fn check_rows<'d>(mut data: &'d Data, shape: &[usize], begins: usize) -> Result<&'d Data> {
    for (level, size) in shape.iter().enumerate() {
        if let Some((at, has)) = other_len(data, *size) {
            let mut place = vec![0; level + 1];
            let mut rest = at;
            for (k, n) in shape[..level].iter().enumerate().rev() {
                (place[k + 1], rest) = (rest % n, rest / n);
            }
            place[0] = begins + rest;
            return Err(ragged(&place, has, *size));
        }
        data = elements(data);
    }
    Ok(data)
}

/// The size of a vector that its type gives as a number, or 0.
fn written_size(ty: &Type) -> usize {
    let size = ty.as_array().and_then(|a| a.size.as_constant());
    size.and_then(|n| usize::try_from(n).ok()).unwrap_or(0)
}

/// The header of a file that holds elements of this type in this shape.
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

/// The row at this place has another size than the first one.
fn ragged(at: &[usize], has: usize, needs: usize) -> Error {
    let place: String = at.iter().map(|i| format!("[{i}]")).collect();
    let first: String = at.iter().map(|_| "[0]").collect();
    let message = format!(
        "a .npy file holds a regular array, and this one is ragged: row {place} has {has} elements, row {first} has {needs}"
    );
    Error::new(message).help("write it as .json, which keeps the rows as they are")
}
