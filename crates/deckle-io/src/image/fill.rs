//! Decoding of a picture to flat memory, row after row: each component of its pixels separately.

use super::{FORMS, name};
use crate::build::Build;
use crate::npy::convert::swap;
use crate::text::type_name;
use crate::{Error, Result};
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;

/// The header of a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Head {
    pub width: usize,
    pub height: usize,
    /// 1: grey, 2: and opacity, 3: red, green, blue, 4: and opacity.
    pub channels: usize,
    /// Whether samples have 16 bits and not 8.
    pub deep: bool,
}

impl Head {
    /// The number of bytes of a sample.
    pub(super) fn sample(&self) -> usize {
        if self.deep { 2 } else { 1 }
    }

    /// The number of bytes of a row.
    pub(super) fn row(&self) -> usize {
        self.width * self.channels * self.sample()
    }
}

/// The requested type of a picture.
pub(super) struct Asked<'a> {
    pub ty: &'a Type,
    /// The number of samples of a pixel of the type, and their type.
    pub channels: usize,
    pub sample: ScalarType,
    pub build: &'a mut Build,
}

/// A picture whose rows are being decoded.
pub(super) struct Fill<'a> {
    head: Head,
    ty: &'a Type,
    asked: usize,
    planes: Vec<Plane<'a>>,
    /// The samples of a row for one component.
    scratch: Vec<u8>,
}

/// The samples of a component.
struct Plane<'a> {
    /// The component of a pixel of the file: none for opacity if the file has none; then it is full.
    from: Option<usize>,
    to: &'a mut Vec<u8>,
}

impl<'a> Asked<'a> {
    /// Compares a picture with the type, and allocates memory for it.
    pub(super) fn begin(self, head: Head) -> Result<Fill<'a>> {
        let Asked { ty, channels: asked, sample, build } = self;
        if head.deep != (sample == ScalarType::U16) {
            let bits = if head.deep { 16 } else { 8 };
            let message = format!("the picture has {bits} bits a sample, and `{}` has {}", type_name(ty), 24 - bits);
            return Err(Error::misfit(message).help(format!("ask for `u{bits}`")));
        }
        let is_coloured = head.channels > 2;
        if is_coloured && asked < 3 {
            return Err(misfit(&head, ty, asked));
        }
        let pixels = build.push_regular(&[head.height, head.width]);
        pixels.reserve(head.height * head.width);
        let plane = |(k, part): (usize, &'a mut Build)| {
            // The last sample of a type with opacity is the opacity, and grey is used for every colour.
            let from = match (k, asked) {
                (1, 2) | (3, 4) => matches!(head.channels, 2 | 4).then(|| head.channels - 1),
                _ => Some(if is_coloured { k } else { 0 }),
            };
            part.scalars().map(|to| Plane { from, to })
        };
        let planes = pixels.parts().iter_mut().enumerate().filter_map(plane).collect();
        Ok(Fill { head, ty, asked, planes, scratch: Vec::new() })
    }
}

fn misfit(head: &Head, ty: &Type, asked: usize) -> Error {
    let message = format!("the picture is {}, and `{}` is {}", name(head.channels), type_name(ty), name(asked));
    Error::misfit(message).help(FORMS)
}

impl Fill<'_> {
    /// The next row, from left to right; each sample has its high byte first.
    pub(super) fn row(&mut self, row: &[u8]) -> Result<()> {
        self.check_opacity(row)?;
        for Plane { from, to } in &mut self.planes {
            let begin = to.len();
            to.resize(begin + self.head.width * self.head.sample(), u8::MAX);
            if let Some(k) = *from {
                split(row, &self.head, k, &mut to[begin..]);
            }
        }
        Ok(())
    }

    /// Allocates memory for pixels that come in another order.
    pub(super) fn begin_passes(&mut self) {
        let len = self.head.width * self.head.height * self.head.sample();
        self.planes.iter_mut().for_each(|plane| plane.to.resize(len, u8::MAX));
    }

    /// Some pixels of a row. `expand` writes samples of pixels into the plane passed to it.
    pub(super) fn pass(&mut self, pixels: &[u8], expand: impl Fn(&mut [u8], &[u8])) -> Result<()> {
        self.check_opacity(pixels)?;
        self.scratch.resize(pixels.len() / self.head.channels, 0);
        for Plane { from, to } in &mut self.planes {
            if let Some(k) = *from {
                split(pixels, &self.head, k, &mut self.scratch);
                expand(to, &self.scratch);
            }
        }
        Ok(())
    }

    /// Opacity that is not requested must be full.
    fn check_opacity(&self, pixels: &[u8]) -> Result<()> {
        let bytes = self.head.sample();
        let is_lost = matches!(self.head.channels, 2 | 4) && matches!(self.asked, 1 | 3);
        let is_opaque = |pixel: &[u8]| pixel[pixel.len() - bytes..].iter().all(|b| *b == u8::MAX);
        if is_lost && !pixels.chunks_exact(self.head.channels * bytes).all(is_opaque) {
            return Err(misfit(&self.head, self.ty, self.asked));
        }
        Ok(())
    }
}

/// The k-th sample of each pixel, in the order of this machine.
fn split(pixels: &[u8], head: &Head, k: usize, to: &mut [u8]) {
    match (head.channels, head.deep) {
        (1, _) => to.copy_from_slice(pixels),
        (n, false) => to.iter_mut().zip(pixels.chunks_exact(n)).for_each(|(to, pixel)| *to = pixel[k]),
        (n, true) => {
            let pixels = pixels.as_chunks::<2>().0.chunks_exact(n);
            to.as_chunks_mut::<2>().0.iter_mut().zip(pixels).for_each(|(to, pixel)| *to = pixel[k]);
        }
    }
    if head.deep && cfg!(target_endian = "little") {
        swap(to, 2);
    }
}
