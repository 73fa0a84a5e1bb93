//! A picture in flat memory, written row after row.

use super::{Format, check_type, pixel, png, pnm};
use crate::rows::{elements, other_len, row_len};
use crate::{Error, Result, fit};
use deckle_ir::types::Type;
use deckle_runtime::{Data, Form};
use std::io::{self, Write};

/// A value that is known to be a picture.
pub(crate) struct Plan<'d> {
    pub(super) width: usize,
    pub(super) height: usize,
    /// The samples of each component of the pixels, as bytes.
    planes: Vec<&'d [u8]>,
    /// The number of bytes of a sample.
    bytes: usize,
}

impl<'d> Plan<'d> {
    /// For the only value, which is of the type.
    pub(crate) fn new(format: Format, ty: &Type, data: &'d Data) -> Result<Plan<'d>> {
        check_type(format, ty)?;
        let (_, sample) = pixel(ty).ok_or_else(fit::confused)?;
        let rows = elements(data);
        let (width, height) = (row_len(rows, 0), rows.len());
        if width == 0 {
            return Err(Error::new("a picture has at least one pixel, and this one has none"));
        }
        if let Some((i, has)) = other_len(rows, width) {
            let message = format!("a picture is regular, and row {i} has {has} pixels, row 0 has {width}");
            return Err(Error::new(message));
        }
        if format == Format::Png {
            png::check_sides(width, height)?;
        }
        let pixels = elements(rows);
        let parts = if let Form::Tuple(parts) = pixels.form() { &parts[..] } else { std::slice::from_ref(pixels) };
        let plane = |part: &'d Data| part.as_scalars().map(|b| b.as_slice::<u8>()).ok_or_else(fit::confused);
        let planes = parts.iter().map(plane).collect::<Result<_>>()?;
        Ok(Plan { width, height, planes, bytes: sample.bytes() })
    }

    /// The number of samples of a pixel.
    pub(super) fn channels(&self) -> usize {
        self.planes.len()
    }

    /// Whether samples have 16 bits and not 8.
    pub(super) fn is_deep(&self) -> bool {
        self.bytes == 2
    }

    /// Passes the samples of each row to `put`, pixel after pixel, the high byte of each first.
    pub(super) fn rows(&self, put: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let len = self.width * self.bytes;
        let is_swapped = self.is_deep() && cfg!(target_endian = "little");
        if let ([plane], false) = (&self.planes[..], is_swapped) {
            return plane.chunks_exact(len).try_for_each(put);
        }
        let mut row = vec![0; len * self.channels()];
        for at in (0..self.height).map(|i| i * len) {
            for (k, plane) in self.planes.iter().enumerate() {
                interleave(&plane[at..at + len], self.bytes, &mut row, k, self.channels());
            }
            if is_swapped {
                crate::npy::convert::swap(&mut row, 2);
            }
            put(&row)?;
        }
        Ok(())
    }

    pub(crate) fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Png => png::encode(self, out),
            Format::Pnm => pnm::encode(self, out),
        }
    }
}

/// Writes samples as the k-th ones of pixels with `channels` samples.
fn interleave(samples: &[u8], bytes: usize, row: &mut [u8], k: usize, channels: usize) {
    if bytes == 1 {
        row.chunks_exact_mut(channels).zip(samples).for_each(|(pixel, sample)| pixel[k] = *sample);
        return;
    }
    let samples = samples.as_chunks::<2>().0;
    row.as_chunks_mut::<2>().0.chunks_exact_mut(channels).zip(samples).for_each(|(pixel, sample)| pixel[k] = *sample);
}
