//! NumPy's `.npy`: a header that describes the elements, and the elements.
//!
//! ```text
//! \x93NUMPY  1 0  118 0  {'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }   \n  48 bytes
//! magic      version     header, padded with blanks                                        elements
//! ```
//!
//! An array of n dimensions is n nested vectors, of constant sizes; one of zero dimensions is a scalar. All versions of the
//! format are read, in either byte order and with either dimension first; version 1.0, little endian and row after row,
//! is written.
//!
//! # What is rejected
//! A file whose length differs from what its header requires. Elements that the language does not have: half precision, complex,
//! text, times, records, Python objects (which could run code when unpickled). Shapes whose nested vectors would take much more
//! memory than the file: `(1000000000000, 0)` has no elements, and as many rows.

pub(crate) mod convert;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod header;

pub use encode::{check_type, dtype_name};

use crate::build::Build;
use crate::fit::{count, nesting, widens};
use crate::format::{self, Format};
use crate::text::type_name;
use crate::{Error, Result, contents, tree};
use deckle_ir::size::Size;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::path::Path;

/// NumPy's own limit on the number of dimensions.
pub const MAX_DIMS: usize = 64;

/// Reads a file.
///
/// # Errors
/// If it cannot be read, is damaged, or holds elements that the language does not have.
pub fn read(path: impl AsRef<Path>) -> Result<(Type, Value)> {
    let path = path.as_ref();
    let bytes = format::contents(path).map_err(|e| e.in_file(path))?;
    read_bytes(&bytes).map_err(|e| e.in_file(path))
}

/// The length of the prefix that identifies a `.npy` file.
pub(crate) const MAGIC_LEN: u64 = header::MAGIC.len() as u64;

/// Whether a file begins like a `.npy`.
pub(crate) fn is_begun(bytes: &[u8]) -> bool {
    bytes == header::MAGIC
}

/// Reads the contents of a file.
///
/// # Errors
/// If they are damaged, or hold elements that the language does not have.
pub fn read_bytes(bytes: &[u8]) -> Result<(Type, Value)> {
    let header = header::parse(bytes)?;
    let elem = Type::Scalar(header.elem);
    let ty = header.dims.iter().rev().fold(elem, |t, n| Type::array(Size::constant(*n as i128), t));
    let mut build = Build::new(&ty);
    fill(bytes, &ty, &mut build)?;
    let value = tree::value(&ty, &build.into_data(), 0);
    Ok((ty, value))
}

/// Reads the contents of a file as one value of a type, into flat memory: widened, and row after row.
pub(crate) fn fill(bytes: &[u8], ty: &Type, build: &mut Build) -> Result<()> {
    let header = header::parse(bytes)?;
    decode::check(bytes, &header)?;
    check_fit(header.dims.len(), &Type::Scalar(header.elem), ty)?;
    let into = nesting(ty).1.as_scalar().unwrap_or(header.elem);
    if let Some(scalars) = build.push_regular(&header.dims).scalars() {
        decode::elements(&bytes[header.data..], &header, into, scalars);
    }
    Ok(())
}

/// Whether an array with this number of dimensions and this element type is a value of the requested type.
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
    let data = tree::single(ty, value).map_err(|e| e.in_file(path))?;
    contents::write(path, Format::Npy, false, ty, &data)
}

/// The contents of the file that [`write()`] writes.
///
/// # Errors
/// If the value is no regular array of scalars.
pub fn write_bytes(ty: &Type, value: &Value) -> Result<Vec<u8>> {
    contents::bytes(Format::Npy, ty, value)
}

#[cfg(test)]
mod tests;
