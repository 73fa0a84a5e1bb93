//! Pictures: `.png`, and `.pgm`, `.ppm`, `.pnm`.
//!
//! | type | picture |
//! |---|---|
//! | `[[u8]]` | grey |
//! | `[[(u8, u8)]]` | grey with opacity |
//! | `[[(u8, u8, u8)]]` | red, green, blue |
//! | `[[(u8, u8, u8, u8)]]` | the same with opacity |
//!
//! The rows are from top to bottom; `u16` in place of `u8` is a picture of 16 bits a sample, and a record of as many fields is as good as a tuple.
//! A grey picture is also a coloured one, and a picture that is opaque everywhere may have opacity or not; colours are never made grey, and
//! opacity is never thrown away. Palettes and samples of fewer than 8 bits are expanded. Samples of a `.pgm` are taken as they stand, whatever the
//! largest one may be.

mod png;
mod pnm;

use crate::room::{self, Room};
use crate::text::{collection, type_name};
use crate::{Error, Result, fit};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;

/// Which format a picture is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.png`.
    Png,
    /// `.pgm`, `.ppm` or `.pnm`.
    Pnm,
}

/// Samples, row after row and pixel after pixel.
#[derive(Debug, PartialEq)]
struct Picture {
    width: usize,
    height: usize,
    /// 1: grey, 2: and opacity, 3: red, green, blue, 4: and opacity.
    channels: usize,
    /// Whether samples have 16 bits and not 8.
    deep: bool,
    samples: Vec<u16>,
}

const FORMS: &str = "a picture is [[u8]] (grey), [[(u8, u8, u8)]] (colour), or the same with u16";

/// A value of a type from the contents of a file.
///
/// # Errors
/// If the file is damaged, or the picture does not fit the type.
pub fn read_bytes(format: Format, bytes: &[u8], ty: &Type) -> Result<Value> {
    let misfit = || Error::misfit(format!("a picture is no `{}`", type_name(ty))).help(FORMS);
    let (pixel, sample) = pixel(ty).ok_or_else(misfit)?;
    let picture = match format {
        Format::Png => png::decode(bytes)?,
        Format::Pnm => pnm::decode(bytes)?,
    };
    let room = if format == Format::Png { Room::Packed(bytes.len()) } else { Room::Machine };
    room.check(room::picture((picture.width * picture.height) as u64, pixel as u64))?;
    picture.to_value(ty, pixel, sample)
}

/// The contents of a file that shows a value.
///
/// # Errors
/// If the value is no picture: its rows are of different length, or it has no pixels.
pub fn write_bytes(format: Format, ty: &Type, value: &Value) -> Result<Vec<u8>> {
    check_type(format, ty)?;
    let picture = Picture::from_value(ty, value)?;
    match format {
        Format::Png => png::encode(&picture),
        Format::Pnm => Ok(pnm::encode(&picture)),
    }
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

/// How many samples a pixel has, and their type.
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

impl Picture {
    fn opaque(&self) -> u16 {
        if self.deep { u16::MAX } else { u8::MAX.into() }
    }

    fn to_value(&self, ty: &Type, channels: usize, sample: ScalarType) -> Result<Value> {
        if self.deep != (sample == ScalarType::U16) {
            let bits = if self.deep { 16 } else { 8 };
            let message = format!("the picture has {bits} bits a sample, and `{}` has {}", type_name(ty), 24 - bits);
            return Err(Error::misfit(message).help(format!("ask for `u{bits}`")));
        }
        let coloured = self.channels > 2;
        let has_opacity = matches!(self.channels, 2 | 4);
        let see_through = has_opacity && self.samples.chunks(self.channels).any(|p| p.last() != Some(&self.opaque()));
        if (coloured && channels < 3) || (see_through && matches!(channels, 1 | 3)) {
            let message =
                format!("the picture is {}, and `{}` is {}", name(self.channels), type_name(ty), name(channels));
            return Err(Error::misfit(message).help(FORMS));
        }
        let scalar = |s: u16| Value::Scalar(if self.deep { Scalar::U16(s) } else { Scalar::U8(s as u8) });
        let make = |p: &[u16]| {
            let colour = if coloured { [p[0], p[1], p[2]] } else { [p[0]; 3] };
            let opacity = if has_opacity { p[self.channels - 1] } else { self.opaque() };
            match channels {
                1 => scalar(p[0]),
                2 => Value::tuple(vec![scalar(p[0]), scalar(opacity)]),
                3 => Value::tuple(colour.map(scalar).to_vec()),
                _ => Value::tuple(colour.into_iter().chain([opacity]).map(scalar).collect()),
            }
        };
        let row_ty = ty.elem().unwrap_or(ty);
        let line = (self.width * self.channels).max(1);
        let rows =
            self.samples.chunks(line).map(|row| collection(row.chunks(self.channels).map(make).collect(), row_ty));
        Ok(collection(rows.collect(), ty))
    }

    fn from_value(ty: &Type, value: &Value) -> Result<Picture> {
        let (channels, sample) = pixel(ty).unwrap_or((1, ScalarType::U8));
        let rows = fit::items(value)?;
        let width = rows.first().map_or(Ok(0), |r| fit::items(r).map(<[Value]>::len))?;
        if width == 0 {
            return Err(Error::new("a picture has at least one pixel, and this one has none"));
        }
        let mut samples = Vec::with_capacity(width * rows.len() * channels);
        for (i, row) in rows.iter().enumerate() {
            let row = fit::items(row)?;
            if row.len() != width {
                let message = format!("a picture is regular, and row {i} has {} pixels, row 0 has {width}", row.len());
                return Err(Error::new(message));
            }
            for pixel in row {
                let parts = if channels == 1 { std::slice::from_ref(pixel) } else { fit::parts(pixel)? };
                for part in parts {
                    samples.push(fit::scalar(part)?.as_int().unwrap_or(0) as u16);
                }
            }
        }
        Ok(Picture { width, height: rows.len(), channels, deep: sample == ScalarType::U16, samples })
    }
}

#[cfg(test)]
mod tests;
