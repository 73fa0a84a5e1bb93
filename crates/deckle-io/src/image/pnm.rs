//! PGM and PPM: a few numbers, then the samples as text (`P2`, `P3`) or as bytes (`P5`, `P6`).

use super::Plan;
use super::fill::{Asked, Fill, Head};
use crate::{Error, Result, fit};
use std::io::{self, Write};

pub(super) fn decode(bytes: &[u8], asked: Asked) -> Result<()> {
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
    // As text a sample takes at least two bytes, except the last one.
    let needed = count.and_then(|n| n.checked_mul(if text { 2 } else { sample_bytes }));
    let have = bytes.len() - scan.at;
    if width == 0 || height == 0 {
        return Err(scan.error("the picture has no pixels"));
    }
    let Some(needed) = needed else {
        return Err(scan.error(format!("a picture of {width} by {height} pixels is too large for any file")));
    };
    let after_header = have.saturating_sub(usize::from(!text));
    if needed > after_header + usize::from(text) {
        let message = format!(
            "the file ends too soon: {width} by {height} pixels need {needed} bytes, and {after_header} follow"
        );
        return Err(Error::at(bytes.len(), message));
    }
    let head = Head { width, height, channels, deep };
    if text {
        return scan.rows(&head, largest, &mut asked.begin(head)?);
    }
    let data = raw(&mut scan, needed)?;
    check_largest(data, deep, largest).map_err(|message| scan.error(message))?;
    let mut fill = asked.begin(head)?;
    data.chunks_exact(head.row()).try_for_each(|row| fill.row(row))
}

fn raw<'b>(scan: &mut Scan<'b>, needed: usize) -> Result<&'b [u8]> {
    if !scan.bytes.get(scan.at).is_some_and(u8::is_ascii_whitespace) {
        return Err(scan.error("a blank is missing before the samples"));
    }
    let data = &scan.bytes[scan.at + 1..];
    if data.len() > needed {
        let more = data.len() - needed;
        return Err(Error::at(scan.at + 1 + needed, format!("{} after the last sample", fit::count(more, "byte"))));
    }
    Ok(data)
}

/// Whether no sample exceeds the maximum in the header.
fn check_largest(data: &[u8], deep: bool, largest: u16) -> std::result::Result<(), String> {
    let mut samples: Box<dyn Iterator<Item = u16>> = match deep {
        _ if largest == if deep { u16::MAX } else { u8::MAX.into() } => return Ok(()),
        true => Box::new(data.as_chunks::<2>().0.iter().map(|b| u16::from_be_bytes(*b))),
        false => Box::new(data.iter().map(|b| u16::from(*b))),
    };
    let found = samples.by_ref().enumerate().find(|(_, sample)| *sample > largest);
    found.map_or(Ok(()), |(k, sample)| Err(too_large(k, sample, largest)))
}

fn too_large(k: usize, sample: u16, largest: u16) -> String {
    format!("sample {k} is {sample}, and the largest should be {largest}")
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

    /// The samples that are written as numbers.
    fn rows(&mut self, head: &Head, largest: u16, fill: &mut Fill) -> Result<()> {
        let mut row = Vec::with_capacity(head.row());
        for i in 0..head.height {
            row.clear();
            for j in 0..head.width * head.channels {
                let sample = self.number("a sample")?;
                let sample = u16::try_from(sample).map_err(|_| self.error("a sample is larger than 65535"))?;
                if sample > largest {
                    let k = i * head.width * head.channels + j;
                    return Err(self.error(too_large(k, sample, largest)));
                }
                row.extend_from_slice(&sample.to_be_bytes()[2 - head.sample()..]);
            }
            fill.row(&row)?;
        }
        self.skip_blanks();
        if self.at < self.bytes.len() {
            return Err(self.error("something follows the last sample"));
        }
        Ok(())
    }
}

/// Writes a grey or coloured picture.
pub(super) fn encode(picture: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let kind = if picture.channels() == 1 { "P5" } else { "P6" };
    let largest = if picture.is_deep() { u16::MAX } else { u8::MAX.into() };
    write!(out, "{kind}\n{} {}\n{largest}\n", picture.width, picture.height)?;
    picture.rows(&mut |row| out.write_all(row))
}
