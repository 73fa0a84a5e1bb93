//! From the bytes after the header to nested vectors.

use super::header::Header;
use crate::{Error, Result};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::size::Size;
use deckle_ir::types::Type;
use deckle_ir::value::Value;

/// How many vectors a file may give beyond a few for each of its bytes.
const FREE_VECTORS: usize = 1 << 16;
/// How many vectors a byte of the file may give.
const VECTORS_PER_BYTE: usize = 4;

pub(super) fn decode(bytes: &[u8], header: &Header) -> Result<(Type, Value)> {
    let count = check_length(bytes.len(), header)?;
    check_vectors(bytes.len(), header)?;
    let data = &bytes[header.data..];
    if header.elem == ScalarType::Bool
        && let Some(at) = data.iter().position(|b| *b > 1)
    {
        return Err(no_bool(header.data + at, data[at]));
    }
    let mut strides = vec![0; header.dims.len()];
    if count > 0 {
        let mut stride = 1;
        let order: &mut dyn Iterator<Item = usize> =
            if header.fortran { &mut (0..strides.len()) } else { &mut (0..strides.len()).rev() };
        for axis in order {
            strides[axis] = stride;
            stride *= header.dims[axis];
        }
    }
    let reader = Reader { data, header, strides };
    let elem = Type::Scalar(header.elem);
    let ty = header.dims.iter().rev().fold(elem, |t, n| Type::array(Size::constant(*n as i128), t));
    Ok((ty, reader.value(0, 0)))
}

pub(crate) fn no_bool(at: usize, byte: u8) -> Error {
    Error::at(at, format!("a bool is 0 or 1, and this is {byte}"))
}

/// The number of elements, if a file of this length is exactly as long as they need.
pub(crate) fn check_length(len: usize, header: &Header) -> Result<usize> {
    let needed = needed(header)?;
    let have = len - header.data;
    if have < needed {
        return Err(too_short(len, needed, header));
    }
    if have > needed {
        let message = format!("{} bytes follow the last element", have - needed);
        return Err(Error::at(header.data + needed, message));
    }
    Ok(needed / header.elem.bytes())
}

/// How many bytes the elements need.
pub(crate) fn needed(header: &Header) -> Result<usize> {
    // A size of zero makes the product zero whatever the others are.
    let none = header.dims.contains(&0);
    let product = header.dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    let count = if none { Some(0) } else { product };
    count.and_then(|n| n.checked_mul(header.elem.bytes())).ok_or_else(|| {
        let shape = shape(&header.dims);
        Error::at(header.shape_at, format!("the shape {shape} is too large for any file"))
    })
}

/// The error of a file that has this length and needs so many bytes after its header.
pub(crate) fn too_short(len: usize, needed: usize, header: &Header) -> Error {
    let message = format!(
        "the file ends too soon: shape {} of {} needs {needed} bytes after the header, and there are {}",
        shape(&header.dims),
        header.elem,
        len - header.data
    );
    Error::at(len, message)
}

/// Counts the vectors, rows and rows of rows that are to be made.
pub(crate) fn check_vectors(len: usize, header: &Header) -> Result<()> {
    let limit = len.saturating_mul(VECTORS_PER_BYTE).saturating_add(FREE_VECTORS);
    let total = vectors(header);
    if total <= limit {
        return Ok(());
    }
    let shape = shape(&header.dims);
    let message = format!("the shape {shape} would make {total} vectors out of {len} bytes");
    Err(Error::at(header.shape_at, message))
}

/// How many vectors, rows and rows of rows there are.
pub(super) fn vectors(header: &Header) -> usize {
    let (mut rows, mut total) = (1usize, 0usize);
    for dim in &header.dims {
        total = total.saturating_add(rows);
        rows = rows.saturating_mul(*dim);
    }
    total
}

fn shape(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    if dims.len() == 1 { format!("({},)", dims[0]) } else { format!("({})", dims.join(", ")) }
}

struct Reader<'a> {
    data: &'a [u8],
    header: &'a Header,
    /// In elements.
    strides: Vec<usize>,
}

impl Reader<'_> {
    fn value(&self, axis: usize, first: usize) -> Value {
        match self.header.dims.get(axis) {
            None => Value::Scalar(self.scalar(first)),
            Some(n) => Value::array((0..*n).map(|i| self.value(axis + 1, first + i * self.strides[axis])).collect()),
        }
    }

    fn scalar(&self, index: usize) -> Scalar {
        use ScalarType as T;
        match self.header.elem {
            T::Bool => Scalar::Bool(self.bytes::<1>(index)[0] != 0),
            T::I8 => Scalar::I8(i8::from_le_bytes(self.bytes(index))),
            T::I16 => Scalar::I16(i16::from_le_bytes(self.bytes(index))),
            T::I32 => Scalar::I32(i32::from_le_bytes(self.bytes(index))),
            T::I64 => Scalar::I64(i64::from_le_bytes(self.bytes(index))),
            T::U8 => Scalar::U8(u8::from_le_bytes(self.bytes(index))),
            T::U16 => Scalar::U16(u16::from_le_bytes(self.bytes(index))),
            T::U32 => Scalar::U32(u32::from_le_bytes(self.bytes(index))),
            T::U64 => Scalar::U64(u64::from_le_bytes(self.bytes(index))),
            T::F32 => Scalar::F32(f32::from_le_bytes(self.bytes(index))),
            T::F64 => Scalar::F64(f64::from_le_bytes(self.bytes(index))),
        }
    }

    /// The bytes of an element, the low one first. All are there: the length was checked.
    fn bytes<const N: usize>(&self, index: usize) -> [u8; N] {
        let mut bytes = [0; N];
        bytes.copy_from_slice(&self.data[index * N..][..N]);
        if self.header.big_endian {
            bytes.reverse();
        }
        bytes
    }
}
