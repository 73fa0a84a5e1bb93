//! From the bytes after the header to elements, row after row.

use super::convert::{swap, widen};
use super::header::Header;
use crate::{Error, Result};
use deckle_ir::scalar::ScalarType;

/// The number of vectors that a file may contain in addition to a few per byte.
const FREE_VECTORS: usize = 1 << 16;
/// The number of vectors per byte of the file.
const VECTORS_PER_BYTE: usize = 4;

/// The number of bytes of elements that are converted at once.
const SCRATCH: usize = 1 << 16;

/// Compares a header with the bytes behind it.
pub(super) fn check(bytes: &[u8], header: &Header) -> Result<()> {
    check_length(bytes.len(), header)?;
    check_vectors(bytes.len(), header)?;
    let data = &bytes[header.data..];
    match data.iter().position(|b| *b > 1).filter(|_| header.elem == ScalarType::Bool) {
        Some(at) => Err(no_bool(header.data + at, data[at])),
        None => Ok(()),
    }
}

/// Adds the elements, row after row, as those of another type that has all their values.
pub(super) fn elements(data: &[u8], header: &Header, into: ScalarType, to: &mut Vec<u8>) {
    let from = header.elem;
    let is_foreign = header.big_endian != cfg!(target_endian = "big");
    to.reserve_exact(data.len() / from.bytes() * into.bytes());
    let mut put = |part: &mut [u8]| {
        if is_foreign {
            swap(part, from.bytes());
        }
        if from == into {
            to.extend_from_slice(part);
            return;
        }
        let begin = to.len();
        to.resize(begin + part.len() / from.bytes() * into.bytes(), 0);
        widen(from, into, part, &mut to[begin..]);
    };
    if header.fortran && header.dims.len() > 1 {
        return transposed(data, header, &mut put);
    }
    let mut scratch = Vec::with_capacity(SCRATCH);
    for part in data.chunks(SCRATCH) {
        scratch.clear();
        scratch.extend_from_slice(part);
        put(&mut scratch);
    }
}

/// Passes elements to `put` row after row, if those of the first dimension are contiguous.
fn transposed(data: &[u8], header: &Header, put: &mut dyn FnMut(&mut [u8])) {
    let (width, dims) = (header.elem.bytes(), &header.dims);
    let strides: Vec<usize> =
        dims.iter().scan(width, |stride, n| Some(std::mem::replace(stride, stride.saturating_mul(*n)))).collect();
    let (mut index, mut at) = (vec![0; dims.len()], 0);
    let mut scratch = Vec::with_capacity(SCRATCH);
    for _ in 0..data.len() / width {
        scratch.extend_from_slice(&data[at..at + width]);
        if scratch.len() + width > SCRATCH {
            put(&mut scratch);
            scratch.clear();
        }
        // The last dimension varies fastest.
        for axis in (0..dims.len()).rev() {
            (index[axis], at) = (index[axis] + 1, at + strides[axis]);
            if index[axis] < dims[axis] {
                break;
            }
            at -= index[axis] * strides[axis];
            index[axis] = 0;
        }
    }
    put(&mut scratch);
}

pub(crate) fn no_bool(at: usize, byte: u8) -> Error {
    Error::at(at, format!("a bool is 0 or 1, and this is {byte}"))
}

/// The number of elements, if the file has exactly the length that they need.
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

/// The number of bytes that the elements need.
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

/// The error of a file that has this length and needs `needed` bytes after its header.
pub(crate) fn too_short(len: usize, needed: usize, header: &Header) -> Error {
    let message = format!(
        "the file ends too soon: shape {} of {} needs {needed} bytes after the header, and there are {}",
        shape(&header.dims),
        header.elem,
        len - header.data
    );
    Error::at(len, message)
}

/// Checks the number of vectors, rows and rows of rows that would be created.
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

/// The number of vectors, rows and rows of rows.
fn vectors(header: &Header) -> usize {
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
