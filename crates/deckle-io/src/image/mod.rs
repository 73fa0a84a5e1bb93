//! Pictures: `.png`, and `.pgm`, `.ppm`, `.pnm`.
//!
//! | type | picture |
//! |---|---|
//! | `[[u8]]` | grey |
//! | `[[(u8, u8)]]` | grey with opacity |
//! | `[[(u8, u8, u8)]]` | red, green, blue |
//! | `[[(u8, u8, u8, u8)]]` | the same with opacity |
//!
//! The rows are from top to bottom; `u16` in place of `u8` is a picture of 16 bits per sample, and a record with the same number of fields is accepted for a tuple.
//! A grey picture can be read as a coloured one, and a picture that is opaque everywhere with or without opacity; colours are never converted to grey, and
//! opacity is never discarded. Palettes and samples of fewer than 8 bits are expanded. Samples of a `.pgm` are not rescaled, whatever its
//! maximum is.

mod fill;
mod plan;
mod png;
mod pnm;

pub(crate) use plan::Plan;

use crate::build::Build;
use crate::text::type_name;
use crate::{Error, Result, contents, format, tree};
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;
use deckle_ir::value::Value;

/// The format of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.png`.
    Png,
    /// `.pgm`, `.ppm` or `.pnm`.
    Pnm,
}

const FORMS: &str = "a picture is [[u8]] (grey), [[(u8, u8, u8)]] (colour), or the same with u16";

/// A value of a type from the contents of a file.
///
/// # Errors
/// If the file is damaged, or the picture does not fit the type.
pub fn read_bytes(format: Format, bytes: &[u8], ty: &Type) -> Result<Value> {
    let mut build = Build::new(ty);
    fill(format, bytes, ty, &mut build)?;
    Ok(tree::value(ty, &build.into_data(), 0))
}

/// The same into flat memory.
pub(crate) fn fill(format: Format, bytes: &[u8], ty: &Type, build: &mut Build) -> Result<()> {
    let misfit = || Error::misfit(format!("a picture is no `{}`", type_name(ty))).help(FORMS);
    let (channels, sample) = pixel(ty).ok_or_else(misfit)?;
    let asked = fill::Asked { ty, channels, sample, build };
    match format {
        Format::Png => png::decode(bytes, asked),
        Format::Pnm => pnm::decode(bytes, asked),
    }
}

/// The contents of the picture file of a value.
///
/// # Errors
/// If the value is no picture: its rows are of different length, or it has no pixels.
pub fn write_bytes(format: Format, ty: &Type, value: &Value) -> Result<Vec<u8>> {
    check_type(format, ty)?;
    contents::bytes(format::Format::Image(format), ty, value)
}

/// Whether values of a type can be written.
///
/// # Errors
/// If no value of this type is a picture.
pub fn check_type(format: Format, ty: &Type) -> Result<()> {
    match (pixel(ty), format) {
        (None, _) => Err(Error::new(format!("`{}` is no picture", type_name(ty))).help(FORMS)),
        (Some((2 | 4, _)), Format::Pnm) => {
            Err(Error::new("a .pgm or .ppm file has no opacity").help("write .png, or leave it out"))
        }
        _ => Ok(()),
    }
}

/// The number of samples of a pixel, and their type.
fn pixel(ty: &Type) -> Option<(usize, ScalarType)> {
    let pixel = ty.elem()?.elem()?;
    let (channels, sample) = match (pixel.as_scalar(), pixel.parts()) {
        (Some(s), _) => (1, s),
        (None, Some(parts)) if (2..=4).contains(&parts.len()) => {
            let first = parts[0].as_scalar()?;
            (parts.len(), Some(first).filter(|s| parts.iter().all(|p| p.as_scalar() == Some(*s)))?)
        }
        _ => return None,
    };
    matches!(sample, ScalarType::U8 | ScalarType::U16).then_some((channels, sample))
}

fn name(channels: usize) -> &'static str {
    match channels {
        1 => "grey",
        2 => "grey with opacity",
        3 => "coloured",
        _ => "coloured with opacity",
    }
}

#[cfg(test)]
mod tests;
