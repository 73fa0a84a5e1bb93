//! Sound: `.wav`, with samples that are integers (PCM) or floats.
//!
//! | type | contents |
//! |---|---|
//! | `[i16]` | the samples of one channel; any integer type that holds them, `u8` for 8 bits |
//! | `[real]`, `[f32]` | the same; integers are scaled to between -1 and 1 |
//! | `[(t, t)]` | two channels: left and right at each moment |
//! | `[[t]]` | any number of channels: a vector for each moment |
//! | `{ rate: int, samples: ... }`, `(int, ...)` | the number of samples per second, and any of the above |
//!
//! Samples of 8, 16, 24 and 32 bits and floats of 32 and 64 bits are read. `u8`, `i16` and `i32` are written unchanged, floats in 32 bits.
//! A value without a rate is written at [`RATE`] samples per second.

use crate::build::Build;
use crate::fit::{count, exact, show, widens};
use crate::item::Item;
use crate::rows::{elements, other_len, row_len};
use crate::text::{scalar_name, type_name};
use crate::{Error, Result, contents, fit, tree};
use deckle_ir::scalar::{Scalar, ScalarType};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Buffer, Data, Form as Place, Plain};
use std::io::{self, Write};

/// The rate of a value that has none.
pub const RATE: u32 = 44_100;

pub(crate) const NO_WAV: &str = "this is no .wav file: it does not begin with `RIFF....WAVE`";
const FORMS: &str = "sound is [i16], [real] or [(real, real)], or { rate: int, samples: ... } of these, say";
const PCM: u64 = 1;
const FLOAT: u64 = 3;
/// The kind is at the beginning of a longer identifier.
const EXTENSIBLE: u64 = 0xFFFE;
/// The number of moments that are assembled at once.
const MOMENTS: usize = 1 << 13;

/// How a type is filled from a sound.
pub(crate) struct Form {
    /// The type of the rate, and whether it comes first.
    pub rate: Option<(ScalarType, bool)>,
    pub sample: ScalarType,
    pub frame: Frame,
}

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Frame {
    Mono,
    Tuple(usize),
    Vector,
}

impl Form {
    pub(crate) fn of(ty: &Type) -> Option<Form> {
        let (rate, samples) = match ty {
            Type::Record(r) => match &r.fields[..] {
                [(a, Type::Scalar(rate)), (b, samples)] if a == "rate" && b == "samples" => {
                    (Some((*rate, true)), samples)
                }
                [(b, samples), (a, Type::Scalar(rate))] if a == "rate" && b == "samples" => {
                    (Some((*rate, false)), samples)
                }
                _ => return None,
            },
            Type::Tuple(parts) => match &parts[..] {
                [Type::Scalar(rate), samples] => (Some((*rate, true)), samples),
                _ => return None,
            },
            _ => (None, ty),
        };
        let frame = samples.elem()?;
        let (sample, frame) = match (frame, frame.parts(), frame.elem()) {
            (Type::Scalar(s), ..) => (*s, Frame::Mono),
            (_, Some(parts), _) => {
                let first = parts.first()?.as_scalar()?;
                let alike = parts.iter().all(|p| p.as_scalar() == Some(first));
                (Some(first).filter(|_| alike)?, Frame::Tuple(parts.len()))
            }
            (_, None, Some(elem)) => (elem.as_scalar()?, Frame::Vector),
            _ => return None,
        };
        let fits = sample != ScalarType::Bool && rate.is_none_or(|(r, _)| r.is_int());
        fits.then_some(Form { rate, sample, frame })
    }
}

/// The layout of samples in a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Layout {
    pub float: bool,
    pub channels: usize,
    pub rate: u32,
    /// Bytes of a sample.
    pub width: usize,
}

/// A value of a type from the contents of a file; the part `rate` is the number of samples per second.
///
/// # Errors
/// If the file is damaged, or the sound does not fit the type.
pub fn read_bytes(bytes: &[u8], ty: &Type, part: Option<&str>) -> Result<Value> {
    let mut build = Build::new(ty);
    fill(bytes, ty, part, &mut build)?;
    Ok(tree::value(ty, &build.into_data(), 0))
}

/// The same into flat memory.
pub(crate) fn fill(bytes: &[u8], ty: &Type, part: Option<&str>, build: &mut Build) -> Result<()> {
    let (layout, data) = chunks(bytes)?;
    let rate_of = |ty: ScalarType| {
        let rate = exact(layout.rate.into(), ty).filter(|_| ty.is_int());
        rate.ok_or_else(|| Error::misfit(format!("the rate is {}, which is no `{}`", layout.rate, scalar_name(ty))))
    };
    match (part, ty) {
        (None, _) => {}
        (Some("rate"), Type::Scalar(s)) => {
            build.push(rate_of(*s)?);
            return Ok(());
        }
        (Some(other), _) => {
            let message = format!("a sound has no `{other}` that is a `{}`", type_name(ty));
            return Err(Error::misfit(message).help("it has a `rate: int`"));
        }
    }
    let form = fits(&layout, ty)?;
    let mut samples = build;
    if let Some((ty, is_first)) = form.rate {
        let (rate, of) = if is_first { (0, 1) } else { (1, 0) };
        samples.parts()[rate].push(rate_of(ty)?);
        samples = &mut samples.parts()[of];
    }
    let moments = data.len() / layout.moment();
    layout.reserve(moments, form.frame, samples.inner());
    layout.decode(data, form.frame, form.sample, samples.inner());
    samples.end_row(moments);
    Ok(())
}

impl Layout {
    /// Bytes of a moment: a sample of each channel.
    pub(crate) fn moment(&self) -> usize {
        self.width * self.channels
    }

    /// The type that holds the samples unchanged.
    fn held(&self) -> ScalarType {
        match (self.float, self.width) {
            (true, 4) => ScalarType::F32,
            (true, _) => ScalarType::F64,
            (false, 1) => ScalarType::U8,
            (false, 2) => ScalarType::I16,
            (false, _) => ScalarType::I32,
        }
    }

    /// Reserves memory for this number of moments.
    pub(crate) fn reserve(&self, moments: usize, frame: Frame, build: &mut Build) {
        build.reserve(moments);
        if frame == Frame::Vector {
            build.inner().reserve(moments * self.channels);
        }
    }

    /// Adds moments, whose bytes are complete.
    pub(crate) fn decode(&self, bytes: &[u8], frame: Frame, ty: ScalarType, build: &mut Build) {
        if frame == Frame::Vector {
            self.channel(bytes, self.width, ty, build.inner());
            (0..bytes.len() / self.moment()).for_each(|_| build.end_row(self.channels));
            return;
        }
        for (k, part) in build.parts().iter_mut().enumerate() {
            self.channel(&bytes[(k * self.width).min(bytes.len())..], self.moment(), ty, part);
        }
    }

    /// Adds the samples at the first byte and at every `stride` bytes after it.
    fn channel(&self, bytes: &[u8], stride: usize, ty: ScalarType, to: &mut Build) {
        let is_same = self.held() == ty && self.width == ty.bytes() && cfg!(target_endian = "little");
        let samples = bytes.chunks(stride).map(|moment| &moment[..self.width]);
        match to.scalars().filter(|_| is_same) {
            Some(to) if stride == self.width => to.extend_from_slice(bytes),
            Some(to) => samples.for_each(|sample| to.extend_from_slice(sample)),
            None => samples.for_each(|bytes| to.push(sample(bytes, self.float, ty))),
        }
    }
}

/// How a type is filled from a sound of this layout.
pub(crate) fn fits(layout: &Layout, ty: &Type) -> Result<Form> {
    let form = Form::of(ty).ok_or_else(|| Error::misfit(format!("a sound is no `{}`", type_name(ty))).help(FORMS))?;
    let channels = match form.frame {
        Frame::Mono => 1,
        Frame::Tuple(n) => n,
        Frame::Vector => layout.channels,
    };
    if channels != layout.channels {
        let has = count(layout.channels, "channel");
        return Err(Error::misfit(format!("the sound has {has}, and `{}` has {channels}", type_name(ty))).help(FORMS));
    }
    check_sample(layout, form.sample)?;
    Ok(form)
}

/// Whether all samples of a file are values of a type.
fn check_sample(layout: &Layout, ty: ScalarType) -> Result<()> {
    use ScalarType as T;
    let held = layout.held();
    // A double represents every integer sample exactly, a float those of 24 bits.
    let scaled = !layout.float && (ty == T::F64 || ty == T::F32 && layout.width < 4);
    if scaled || widens(held, ty) {
        return Ok(());
    }
    let message = format!("the samples are `{}`, and `{}` is asked for", scalar_name(held), scalar_name(ty));
    Err(Error::misfit(message).help(format!("ask for `{}`", scalar_name(held))))
}

/// One sample, whose bytes are complete.
fn sample(bytes: &[u8], float: bool, ty: ScalarType) -> Scalar {
    let bits = bytes.iter().rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
    if float {
        let held =
            if bytes.len() == 4 { Scalar::F32(f32::from_bits(bits as u32)) } else { Scalar::F64(f64::from_bits(bits)) };
        return if held.ty() == ty { held } else { held.cast(ty) };
    }
    let unused = 64 - 8 * bytes.len() as u32;
    let signed = ((bits << unused) as i64) >> unused;
    // 8 bits are unsigned, and silence is 128.
    let (value, middle) = if bytes.len() == 1 { (bits as i64, 128) } else { (signed, 0) };
    if ty.is_float() {
        let full = f64::from(1u32 << (8 * bytes.len() as u32 - 1));
        return Scalar::F64((value - middle) as f64 / full).cast(ty);
    }
    Scalar::wrap_int(ty, value.into()).unwrap_or(Scalar::zero(ty))
}

/// The layout and the bytes of the samples.
fn chunks(bytes: &[u8]) -> Result<(Layout, &[u8])> {
    if bytes.len() < 12 || !bytes.starts_with(b"RIFF") || &bytes[8..12] != b"WAVE" {
        return Err(Error::at(0, NO_WAV));
    }
    check_length(number(&bytes[4..8]), bytes.len() as u64)?;
    let (mut at, mut layout, mut data) = (12, None, None);
    while at < bytes.len() {
        let Some(head) = bytes.get(at..at + 8) else {
            // A byte of padding may be the last one.
            if bytes.len() - at == 1 && bytes[at] == 0 {
                break;
            }
            return Err(Error::at(at, "the file ends within the head of a chunk"));
        };
        let (name, len) = (&head[..4], number(&head[4..]));
        let end = (at as u64 + 8).saturating_add(len);
        let Some(body) = usize::try_from(end).ok().and_then(|end| bytes.get(at + 8..end)) else {
            let message = format!("the file ends within its chunk `{}`, which should have {len} bytes", show(name));
            return Err(Error::at(at, message));
        };
        match name {
            b"fmt " if layout.is_none() => layout = Some(format(body, at)?),
            b"data" if data.is_none() => data = Some((at + 8, body)),
            b"fmt " | b"data" => return Err(Error::at(at, format!("a second chunk `{}`", show(name)))),
            _ => {}
        }
        // Chunks begin at even bytes.
        at += 8 + body.len() + body.len() % 2;
    }
    let layout = layout.ok_or_else(|| Error::at(bytes.len(), "the file has no chunk `fmt `"))?;
    let (at, data) = data.ok_or_else(|| Error::at(bytes.len(), "the file has no chunk `data`"))?;
    check_frames(data.len() as u64, &layout, at)?;
    Ok((layout, data))
}

/// Compares the claimed length of a file with its actual length.
pub(crate) fn check_length(said: u64, len: u64) -> Result<()> {
    if said + 8 != len && said + 9 != len {
        return Err(Error::at(4, format!("the file has {len} bytes, and says that it has {}", said + 8)));
    }
    Ok(())
}

/// Whether this number of bytes is a whole number of moments of all channels.
pub(crate) fn check_frames(len: u64, layout: &Layout, at: usize) -> Result<()> {
    if !len.is_multiple_of((layout.width * layout.channels) as u64) {
        let message = format!("{len} bytes are no whole number of samples for {}", count(layout.channels, "channel"));
        return Err(Error::at(at, message));
    }
    Ok(())
}

pub(crate) fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

pub(crate) fn format(body: &[u8], at: usize) -> Result<Layout> {
    if body.len() < 16 {
        return Err(Error::at(at, "the chunk `fmt ` is too short"));
    }
    let field = |at: usize, len: usize| number(&body[at..at + len]);
    let kind = match field(0, 2) {
        EXTENSIBLE if body.len() >= 26 => field(24, 2),
        other => other,
    };
    let (channels, bits) = (field(2, 2) as usize, field(14, 2));
    let float = match (kind, bits) {
        (PCM, 8 | 16 | 24 | 32) => false,
        (FLOAT, 32 | 64) => true,
        (PCM | FLOAT, _) => return Err(Error::at(at + 22, format!("samples of {bits} bits are not known"))),
        _ => {
            let message = format!("the samples are packed (format {kind})");
            return Err(Error::at(at + 8, message).help("convert it to PCM: ffmpeg -i in.wav -c:a pcm_s16le out.wav"));
        }
    };
    let width = bits as usize / 8;
    if channels == 0 || field(12, 2) != (channels * width) as u64 {
        let message = format!("{} of {bits} bits do not take {} bytes", count(channels, "channel"), field(12, 2));
        return Err(Error::at(at + 10, message));
    }
    Ok(Layout { float, channels, rate: field(4, 4) as u32, width })
}

/// Whether values of a type can be written.
///
/// # Errors
/// If no value of this type is a sound.
pub fn check_type(ty: &Type) -> Result<()> {
    let Some(form) = Form::of(ty) else {
        return Err(Error::new(format!("a .wav file holds no `{}`", type_name(ty))).help(FORMS));
    };
    width(form.sample).map(drop)
}

/// The bytes of a sample in an output file.
fn width(ty: ScalarType) -> Result<usize> {
    match ty {
        ScalarType::U8 => Ok(1),
        ScalarType::I16 => Ok(2),
        ScalarType::I32 | ScalarType::F32 | ScalarType::F64 => Ok(4),
        other => Err(Error::new(format!("samples of type `{}` cannot be written", scalar_name(other)))
            .help("convert them to i16, i32, f32 or real")),
    }
}

/// The contents of a file that holds a sound.
///
/// # Errors
/// If the value is no sound: the channels differ in number, or the rate is impossible.
pub fn write_bytes(ty: &Type, value: &Value) -> Result<Vec<u8>> {
    check_type(ty)?;
    contents::bytes(crate::format::Format::Wav, ty, value)
}

/// A value that is known to be a sound.
pub(crate) struct Plan<'d> {
    header: Vec<u8>,
    /// The samples of each channel, or of all of them interleaved.
    samples: Vec<&'d Buffer>,
    sample: ScalarType,
}

impl<'d> Plan<'d> {
    /// For the only value, which is of the type.
    pub(crate) fn new(ty: &Type, data: &'d Data) -> Result<Plan<'d>> {
        check_type(ty)?;
        let form = Form::of(ty).ok_or_else(fit::confused)?;
        let (rate, samples) = match (form.rate, data.form()) {
            (Some((_, is_first)), Place::Tuple(parts)) if parts.len() == 2 => {
                let (rate, samples) = if is_first { (&parts[0], &parts[1]) } else { (&parts[1], &parts[0]) };
                let n = Item { data: rate, at: 0 }.index("the rate")?;
                (u32::try_from(n).map_err(|_| Error::new(format!("the rate is {n}, which is too large")))?, samples)
            }
            _ => (RATE, data),
        };
        let frames = elements(samples);
        let channels = match form.frame {
            Frame::Mono => 1,
            Frame::Tuple(n) => n,
            Frame::Vector if frames.is_empty() => 1,
            Frame::Vector => row_len(frames, 0),
        };
        if form.frame == Frame::Vector
            && let Some((k, has)) = other_len(frames, channels)
        {
            let message = format!("moment {k} has {}, and moment 0 has {channels}", count(has, "channel"));
            return Err(Error::new(message));
        }
        let header = header(&form, rate, channels, frames.len())?;
        let parts = match frames.form() {
            Place::Tuple(parts) => &parts[..],
            _ => std::slice::from_ref(elements(frames)),
        };
        let samples = parts.iter().map(|part| part.as_scalars().ok_or_else(fit::confused)).collect::<Result<_>>()?;
        Ok(Plan { header, samples, sample: form.sample })
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        out.write_all(&self.header)?;
        let mut written = 0;
        match self.sample {
            ScalarType::U8 => self.samples::<u8, 1>(|v| [v], &mut written, out),
            ScalarType::I16 => self.samples::<i16, 2>(i16::to_le_bytes, &mut written, out),
            ScalarType::I32 => self.samples::<i32, 4>(i32::to_le_bytes, &mut written, out),
            ScalarType::F32 => self.samples::<f32, 4>(f32::to_le_bytes, &mut written, out),
            _ => self.samples::<f64, 4>(|v| (v as f32).to_le_bytes(), &mut written, out),
        }?;
        // Chunks have an even number of bytes.
        out.write_all(&[0][..written % 2])
    }

    /// Writes samples of a type, moment after moment, and counts their bytes.
    fn samples<T: Plain, const N: usize>(
        &self,
        bytes: impl Fn(T) -> [u8; N],
        written: &mut usize,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let channels: Vec<&[T]> = self.samples.iter().map(|b| b.as_slice::<T>()).collect();
        let moments = channels.first().map_or(0, |c| c.len());
        let mut scratch = Vec::new();
        for lo in (0..moments).step_by(MOMENTS) {
            let hi = (lo + MOMENTS).min(moments);
            scratch.resize((hi - lo) * channels.len(), [0; N]);
            for (k, channel) in channels.iter().enumerate() {
                let to = scratch.iter_mut().skip(k).step_by(channels.len());
                to.zip(&channel[lo..hi]).for_each(|(to, sample)| *to = bytes(*sample));
            }
            out.write_all(scratch.as_flattened())?;
            *written += scratch.len() * N;
        }
        Ok(())
    }
}

/// The header of a file: everything before the samples.
fn header(form: &Form, rate: u32, channels: usize, moments: usize) -> Result<Vec<u8>> {
    let width = width(form.sample)?;
    let channels_16 = u16::try_from(channels).ok().filter(|n| *n > 0 && usize::from(*n) * width <= 0xFFFF);
    let Some(channels_16) = channels_16 else {
        return Err(Error::new(format!("a .wav file cannot have {}", count(channels, "channel"))));
    };
    let length = u32::try_from(moments * channels * width).ok().filter(|n| *n < u32::MAX - 64);
    let length = length.ok_or_else(|| Error::new("a .wav file of 4 GiB or more cannot be written"))?;
    let kind = if form.sample.is_float() { FLOAT } else { PCM } as u16;
    let mut out = b"RIFF".to_vec();
    out.extend((length + length % 2 + 36).to_le_bytes());
    out.extend(b"WAVEfmt \x10\0\0\0".iter().copied().chain(kind.to_le_bytes()).chain(channels_16.to_le_bytes()));
    let block = channels_16 * width as u16;
    out.extend(rate.to_le_bytes().into_iter().chain(rate.saturating_mul(block.into()).to_le_bytes()));
    out.extend(block.to_le_bytes().into_iter().chain((8 * width as u16).to_le_bytes()));
    out.extend(b"data".iter().copied().chain(length.to_le_bytes()));
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{byte, int, real, record, tuple, value, vector};
    use ScalarType as T;

    #[track_caller]
    fn round_trip(ty: &Type, written: &str) -> Vec<u8> {
        let value = value(written, ty);
        let bytes = write_bytes(ty, &value).unwrap();
        assert_eq!(read_bytes(&bytes, ty, None).unwrap(), value);
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let file = round_trip(&vector(T::I16), "[0, -32768, 32767]");
        assert_eq!(file.len(), 44 + 6);
        assert_eq!(read_bytes(&file, &vector(int()), None).unwrap(), value("[0, -32768, 32767]", &vector(int())));
        let ty = vector(real());
        assert_eq!(read_bytes(&file, &ty, None).unwrap(), value("[0, -1, 0.999969482421875]", &ty));
        round_trip(&vector(T::F32), "[0.1, -2.5]");
        round_trip(&vector(real()), "[0.5, -2.5]");
        round_trip(&vector(byte()), "[1, 2, 255]");
        round_trip(&vector(T::I32), "[-2147483648, 5]");
        round_trip(&vector(tuple(&[T::I16.into(), T::I16.into()])), "[(1, 2), (3, 4)]");
        round_trip(&vector(vector(T::I16)), "[[1, 2, 3], [4, 5, 6]]");
        round_trip(&vector(T::I16), "[]");
    }

    /// A file with this header and these samples.
    fn file(kind: u64, channels: u16, width: u16, samples: &[u8]) -> Vec<u8> {
        let format = [&(kind as u16).to_le_bytes()[..], &channels.to_le_bytes(), &8000u32.to_le_bytes()].concat();
        let rest = [&[0; 4][..], &(channels * width).to_le_bytes(), &(8 * width).to_le_bytes()].concat();
        let head = [b"WAVEfmt ", &16u32.to_le_bytes()[..], &format, &rest, b"data"].concat();
        let len = samples.len() as u32;
        [b"RIFF", &(len + 36).to_le_bytes()[..], &head, &len.to_le_bytes(), samples].concat()
    }

    #[test]
    fn samples_of_every_width_are_read_by_channel() {
        let pair = |t: T| vector(tuple(&[t.into(), t.into()]));
        let bytes = [1u8, 2, 3, 0xFF, 0xFF, 0x7F, 0, 0, 0x80, 4, 5, 6];
        for (width, ty, written) in [
            (1, pair(T::U8), "[(1, 2), (3, 255), (255, 127), (0, 0), (128, 4), (5, 6)]"),
            (2, pair(T::I16), "[(513, -253), (32767, 0), (1152, 1541)]"),
            (3, pair(T::I32), "[(197121, 8388607), (-8388608, 394500)]"),
            (3, pair(T::I64), "[(197121, 8388607), (-8388608, 394500)]"),
            (3, vector(vector(T::I32)), "[[197121, 8388607], [-8388608, 394500]]"),
            (2, vector(vector(T::I64)), "[[513, -253], [32767, 0], [1152, 1541]]"),
        ] {
            assert_eq!(read_bytes(&file(PCM, 2, width, &bytes), &ty, None).unwrap(), value(written, &ty));
        }
        let floats: Vec<u8> = [0.5f32, -1.0, 0.25, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        for ty in [pair(T::F32), pair(T::F64)] {
            let read = read_bytes(&file(FLOAT, 2, 4, &floats), &ty, None).unwrap();
            assert_eq!(read, value("[(0.5, -1), (0.25, 2)]", &ty));
        }
    }

    #[test]
    fn a_record_has_the_rate() {
        let ty = record(&[("rate", int()), ("samples", vector(T::I16))]);
        let file = round_trip(&ty, "(8000, [1, 2])");
        assert_eq!(read_bytes(&file, &int(), Some("rate")).unwrap(), Value::int(8000));
        round_trip(&record(&[("samples", vector(T::I16)), ("rate", int())]), "([1, 2], 8000)");
        round_trip(&tuple(&[int(), vector(T::I16)]), "(96000, [1])");
        round_trip(&tuple(&[int(), vector(vector(T::I16))]), "(96000, [[1, 2], [3, 4]])");
        round_trip(&tuple(&[int(), vector(tuple(&[real(), real()]))]), "(96000, [(0.5, 1), (0.25, -1)])");
        assert!(read_bytes(&file, &int(), Some("length")).is_err());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let stereo = vector(tuple(&[T::I16.into(), T::I16.into()]));
        let file = write_bytes(&stereo, &value("[(1, 2)]", &stereo)).unwrap();
        let message = |ty: &Type| read_bytes(&file, ty, None).unwrap_err().message;
        assert_eq!(message(&vector(T::I16)), "the sound has 2 channels, and `[i16]` has 1");
        assert_eq!(message(&vector(tuple(&[byte(), byte()]))), "the samples are `i16`, and `u8` is asked for");
        assert_eq!(message(&int()), "a sound is no `int`");
        assert!(check_type(&vector(int())).unwrap_err().message.contains("`int` cannot be written"));
        assert!(write_bytes(&vector(vector(T::I16)), &value("[[1], []]", &vector(vector(T::I16)))).is_err());
    }

    #[test]
    fn files_that_lie_are_refused() {
        let good = write_bytes(&vector(T::I16), &value("[1, 2]", &vector(T::I16))).unwrap();
        let fails = |at: usize, byte: u8, words: &str| {
            let mut bad = good.clone();
            bad[at] = byte;
            let e = read_bytes(&bad, &vector(T::I16), None).unwrap_err();
            assert!(e.message.contains(words) && e.offset.is_some(), "{e}");
        };
        fails(0, b'X', "no .wav file");
        fails(4, 99, "says that it has");
        fails(20, 85, "packed (format 85)");
        fails(22, 0, "0 channels");
        fails(34, 12, "12 bits");
        fails(32, 3, "do not take 3 bytes");
        fails(43, 0x7F, "ends within its chunk `data`");
        fails(40, 3, "no whole number of samples");
        fails(36, b'X', "no chunk `data`");
        fails(12, b'X', "no chunk `fmt `");
        assert!(read_bytes(&good[..good.len() - 2], &vector(T::I16), None).is_err());
    }
}
