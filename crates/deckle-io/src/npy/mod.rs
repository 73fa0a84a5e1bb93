//! NumPy's `.npy`: a header that says what the elements are, and the elements.
//!
//! ```text
//! \x93NUMPY  1 0  118 0  {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n  48 bytes
//! magic      version     header, padded with blanks                                        elements
//! ```
//!
//! An array of n dimensions is n nested vectors, of constant sizes; one of none is a scalar. All versions of the
//! format are read, in either byte order and with either dimension first; version 1.0, little endian and row after row,
//! is written.
//!
//! # What is refused
//! A file that is not exactly as long as its header says. Elements that the language does not have: half precision, complex,
//! text, times, records, Python objects (which could run code when unpickled). Shapes whose nested vectors would take much more
//! room than the file does: `(1000000000000, 0)` has no elements, and as many rows.

pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod header;

pub use encode::{check_type, dtype_name};

use crate::fit::{convert, count, nesting, widens};
use crate::format::Format;
use crate::room::{self, Room};
use crate::text::type_name;
use crate::{Error, Result, atomic_write};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::io::Read;
use std::path::Path;

/// NumPy's own limit on the number of dimensions.
pub const MAX_DIMS: usize = 64;

/// Reads a file.
///
/// # Errors
/// If it cannot be read, is damaged, or holds elements that the language does not have.
pub fn read(path: impl AsRef<Path>) -> Result<(Type, Value)> {
    let path = path.as_ref();
    let bytes = contents(path).map_err(|e| Error::io(&e).in_file(path))?;
    read_bytes(&bytes).map_err(|e| e.in_file(path))
}

/// Reads a value of a type from a file.
pub(crate) fn read_value(path: &Path, ty: &Type) -> Result<Value> {
    let bytes = contents(path).map_err(|e| Error::io(&e))?;
    Room::Machine.check(room::tree(Format::Npy, &bytes, ty))?;
    read_bytes(&bytes).and_then(|(held, value)| fit(&held, value, ty))
}

/// The whole file, or only its first bytes if those already say that it is not `.npy` (it may be endless).
fn contents(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = std::fs::File::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(header::MAGIC.len() as u64).read_to_end(&mut bytes)?;
    if bytes == header::MAGIC {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// Reads the contents of a file.
///
/// # Errors
/// If they are damaged, or hold elements that the language does not have.
pub fn read_bytes(bytes: &[u8]) -> Result<(Type, Value)> {
    decode::decode(bytes, &header::parse(bytes)?)
}

/// How many scalars and vectors the array of a file has; `None` if its header lies about that.
pub(crate) fn size(bytes: &[u8]) -> Option<(u64, u64)> {
    let header = header::parse(bytes).ok()?;
    let scalars = decode::check_length(bytes.len(), &header).ok()?;
    decode::check_vectors(bytes.len(), &header).ok()?;
    Some((scalars as u64, decode::vectors(&header) as u64))
}

/// What a file holds, as a value of the type that is asked for: widened, and streamed where that is a sequence.
///
/// # Errors
/// If the number of dimensions is another one, or the elements would lose something.
pub fn fit(held: &Type, value: Value, ty: &Type) -> Result<Value> {
    let (depth, elem) = nesting(held);
    check_fit(depth, elem, ty)?;
    Ok(if elem == nesting(ty).1 && ty.is_concrete() { value } else { convert(value, ty) })
}

/// Whether an array of so many dimensions, with elements of a type, is a value of the type that is asked for.
pub(crate) fn check_fit(held_depth: usize, held_elem: &Type, ty: &Type) -> Result<()> {
    let (depth, elem) = nesting(ty);
    let (Type::Scalar(elem), Type::Scalar(held_elem)) = (elem, held_elem) else {
        return Err(Error::misfit(format!("`{}` is not one array of scalars, which the file holds", type_name(ty)))
            .help("the arrays of a record are read from one .npz"));
    };
    if depth != held_depth {
        let (needs, has) = (count(depth, "dimension"), count(held_depth, "dimension"));
        return Err(Error::misfit(format!("`{}` needs {needs}, and the array has {has}", type_name(ty))));
    }
    if !widens(*held_elem, *elem) {
        let (needs, has) = (dtype_name(*elem), dtype_name(*held_elem));
        let message = format!("`{}` needs the dtype {needs}, and the array has {has}", type_name(ty));
        return Err(Error::misfit(message).help(format!("save it as a.astype('{needs}')")));
    }
    Ok(())
}

/// Writes a value of a type to a file, complete or not at all.
///
/// # Errors
/// If the value is no regular array of scalars, or the file cannot be written.
pub fn write(path: impl AsRef<Path>, ty: &Type, value: &Value) -> Result<()> {
    let path = path.as_ref();
    let array = encode::Plan::new(ty, value).map_err(|e| e.in_file(path))?;
    atomic_write(path, |out| array.write(out))
}

/// The contents of the file that [`write()`] writes.
///
/// # Errors
/// If the value is no regular array of scalars.
pub fn write_bytes(ty: &Type, value: &Value) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    encode::Plan::new(ty, value)?.write(&mut out).map_err(|e| Error::io(&e))?;
    Ok(out)
}

#[cfg(test)]
mod tests;
