//! PGM and PPM: a few numbers, then the samples as text (`P2`, `P3`) or as bytes (`P5`, `P6`).

use super::{Picture, Plan};
use crate::npy::convert::swap;
use crate::{Error, Result, fit};
use std::io::{self, Write};

pub(super) fn decode(bytes: &[u8]) -> Result<Picture> {
    let (channels, text) = match bytes.get(..2) {
        Some(b"P2") => (1, true),
        Some(b"P3") => (3, true),
        Some(b"P5") => (1, false),
        Some(b"P6") => (3, false),
        Some(b"P1" | b"P4" | b"P7") => {
            return Err(Error::at(0, "only P2, P3, P5 and P6 files are read").help("convert it to .png"));
        }
        _ => return Err(Error::at(0, "this is no .pgm or .ppm file: it does not begin with P2, P3, P5 or P6")),
    };
    let mut scan = Scan { bytes, at: 2 };
    let width = scan.number("the width")?;
    let height = scan.number("the height")?;
    let largest = scan.number("the largest sample")?;
    let Some(largest) = u16::try_from(largest).ok().filter(|n| *n > 0) else {
        return Err(scan.error(format!("the largest sample is {largest}, not 1 to 65535")));
    };
    let deep = largest > 255;
    let sample_bytes = if text || !deep { 1 } else { 2 };
    let count = width.checked_mul(height).and_then(|n| n.checked_mul(channels));
    // As text a sample takes two bytes at least, but for the last one.
    let needed = count.and_then(|n| n.checked_mul(if text { 2 } else { sample_bytes }));
    let have = bytes.len() - scan.at;
    if width == 0 || height == 0 {
        return Err(scan.error("the picture has no pixels"));
    }
    let (Some(count), Some(needed)) = (count, needed) else {
        return Err(scan.error(format!("a picture of {width} by {height} pixels is too large for any file")));
    };
    let after_header = have.saturating_sub(usize::from(!text));
    if needed > after_header + usize::from(text) {
        let message = format!(
            "the file ends too soon: {width} by {height} pixels need {needed} bytes, and {after_header} follow"
        );
        return Err(Error::at(bytes.len(), message));
    }
    let samples = if text { scan.samples(count, deep)? } else { raw(&mut scan, needed, deep)? };
    let largest_found = |(_, s): &(usize, u16)| *s > largest;
    let found = if deep {
        samples.chunks_exact(2).map(|b| u16::from_ne_bytes([b[0], b[1]])).enumerate().find(largest_found)
    } else {
        samples.iter().map(|b| u16::from(*b)).enumerate().find(largest_found)
    };
    match found {
        Some((k, sample)) => Err(scan.error(format!("sample {k} is {sample}, and the largest should be {largest}"))),
        None => Ok(Picture { width, height, channels, deep, samples }),
    }
}

fn raw(scan: &mut Scan, needed: usize, deep: bool) -> Result<Vec<u8>> {
    if !scan.bytes.get(scan.at).is_some_and(u8::is_ascii_whitespace) {
        return Err(scan.error("a blank is missing before the samples"));
    }
    let data = &scan.bytes[scan.at + 1..];
    if data.len() > needed {
        let more = data.len() - needed;
        return Err(Error::at(scan.at + 1 + needed, format!("{} after the last sample", fit::count(more, "byte"))));
    }
    let mut samples = data.to_vec();
    if deep && cfg!(target_endian = "little") {
        swap(&mut samples, 2);
    }
    Ok(samples)
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn error(&self, message: impl Into<String>) -> Error {
        Error::at(self.at, message)
    }

    fn skip_blanks(&mut self) {
        loop {
            match self.bytes.get(self.at) {
                Some(b) if b.is_ascii_whitespace() => self.at += 1,
                Some(b'#') => {
                    let rest = &self.bytes[self.at..];
                    self.at += rest.iter().position(|b| *b == b'\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    fn number(&mut self, what: &str) -> Result<usize> {
        self.skip_blanks();
        let rest = &self.bytes[self.at..];
        let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
        let number = std::str::from_utf8(&rest[..digits]).ok().and_then(|d| d.parse().ok());
        let number = number.ok_or_else(|| self.error(format!("{what} is missing, or is no number that can be")))?;
        self.at += digits;
        Ok(number)
    }

    fn samples(&mut self, count: usize, deep: bool) -> Result<Vec<u8>> {
        let mut samples = Vec::with_capacity(count);
        for k in 0..count {
            let sample = self.number("a sample")?;
            let sample = u16::try_from(sample).map_err(|_| self.error("a sample is larger than 65535"))?;
            match u8::try_from(sample) {
                _ if deep => samples.extend(sample.to_ne_bytes()),
                Ok(byte) => samples.push(byte),
                Err(_) => return Err(self.error(format!("sample {k} is {sample}, and the largest is below 256"))),
            }
        }
        self.skip_blanks();
        if self.at < self.bytes.len() {
            return Err(self.error("something follows the last sample"));
        }
        Ok(samples)
    }
}

/// Writes a grey or coloured picture.
pub(super) fn encode(picture: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let kind = if picture.channels() == 1 { "P5" } else { "P6" };
    let largest = if picture.is_deep() { u16::MAX } else { u8::MAX.into() };
    write!(out, "{kind}\n{} {}\n{largest}\n", picture.width, picture.height)?;
    picture.rows(&mut |row| out.write_all(row))
}
