//! PNG, through the `png` crate, which only gets files whose parts are consistent.

use super::Plan;
use super::fill::{Asked, Head};
use crate::{Error, Result, fit, gz};
use flate2::Crc;
use png::{BitDepth, ColorType, InterlaceInfo, Transformations};
use std::io::{self, BufRead, Cursor, Seek, Write};

const MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The maximal expansion of a byte by deflate.
const LARGEST_RATIO: u64 = 1040;
/// The number of compressed bytes of a chunk.
const CHUNK: usize = 1 << 16;

/// Reads a picture row by row, or the passes of an interlaced one.
pub(super) fn decode(bytes: &[u8], asked: Asked) -> Result<()> {
    check_chunks(bytes)?;
    check_size(bytes)?;
    let mut decoder = png::Decoder::new(Cursor::new(bytes));
    decoder.set_transformations(Transformations::EXPAND);
    decoder.set_limits(png::Limits { bytes: usize::try_from(gz::limit(bytes.len())).unwrap_or(usize::MAX) });
    let wrong = |e: png::DecodingError| Error::at(MAGIC.len(), format!("the picture is damaged: {e}"));
    let short = || Error::at(MAGIC.len(), "the picture has not as many samples as it says");
    let mut reader = decoder.read_info().map_err(wrong)?;
    let head = head(&reader)?;
    let (is_interlaced, first) = (reader.info().interlaced, reader.info().frame_control);
    // The first frame of several could be a part of the picture.
    if first.is_some_and(|f| (f.width as usize, f.height as usize) != (head.width, head.height)) {
        return Err(short());
    }
    let mut fill = asked.begin(head)?;
    if is_interlaced {
        fill.begin_passes();
    }
    let (stride, bits) = (head.width * head.sample(), 8 * head.sample() as u8);
    let mut rows = 0;
    while let Some(row) = reader.next_interlaced_row().map_err(wrong)? {
        match row.interlace() {
            InterlaceInfo::Adam7(place) => {
                let expand = |to: &mut [u8], from: &[u8]| png::expand_interlaced_row(to, stride, from, place, bits);
                fill.pass(row.data(), expand)?;
            }
            InterlaceInfo::Null(_) if row.data().len() != head.row() => return Err(short()),
            InterlaceInfo::Null(_) => fill.row(row.data())?,
        }
        rows += 1;
    }
    reader.finish().map_err(wrong)?;
    if is_interlaced || rows == head.height { Ok(()) } else { Err(short()) }
}

fn head<R: BufRead + Seek>(reader: &png::Reader<R>) -> Result<Head> {
    let (colour, depth) = reader.output_color_type();
    let channels = match colour {
        ColorType::Grayscale => 1,
        ColorType::GrayscaleAlpha => 2,
        ColorType::Rgb => 3,
        ColorType::Rgba => 4,
        ColorType::Indexed => return Err(Error::at(MAGIC.len(), "the picture has no palette")),
    };
    let (width, height) = reader.info().size();
    Ok(Head { width: width as usize, height: height as usize, channels, deep: depth == BitDepth::Sixteen })
}

/// A PNG file is a sequence of chunks: a length, a name, as many bytes, a checksum. The last one is `IEND`.
fn check_chunks(bytes: &[u8]) -> Result<()> {
    if !bytes.starts_with(MAGIC) {
        return Err(Error::at(0, "this is no PNG file: it does not begin with `\\x89PNG`"));
    }
    let mut at = MAGIC.len();
    loop {
        let Some(head) = bytes.get(at..at + 8) else {
            return Err(Error::at(bytes.len(), "the file ends without its `IEND` chunk"));
        };
        let (len, kind) = head.split_at(4);
        let len = len.iter().fold(0usize, |n, b| n << 8 | usize::from(*b));
        let Some(next) = at.checked_add(12).and_then(|n| n.checked_add(len)).filter(|n| *n <= bytes.len()) else {
            let message =
                format!("the file ends within the chunk `{}`, which should have {len} bytes", fit::show(kind));
            return Err(Error::at(at, message));
        };
        let mut crc = Crc::new();
        crc.update(&bytes[at + 4..next - 4]);
        if crc.sum().to_be_bytes() != bytes[next - 4..next] {
            let message = format!("the chunk `{}` is damaged: its checksum is another one", fit::show(kind));
            return Err(Error::at(at, message));
        }
        match kind {
            b"IEND" if next == bytes.len() => return Ok(()),
            b"IEND" => return Err(Error::at(next, format!("{} bytes follow the picture", bytes.len() - next))),
            _ => at = next,
        }
    }
}

/// Any file may expand to this size: a picture of one colour compresses to almost nothing.
const ANYWAY: u64 = 48 << 20;

/// Compares the size in the header with the maximum for a file of this length.
fn check_size(bytes: &[u8]) -> Result<()> {
    let number = |at: usize| bytes.get(at..at + 4).map(|b| b.iter().fold(0u64, |n, b| n << 8 | u64::from(*b)));
    let at = MAGIC.len() + 8;
    let (Some(b"IHDR"), Some(width), Some(height), Some(kind)) =
        (bytes.get(at - 4..at), number(at), number(at + 4), bytes.get(at + 8..at + 10))
    else {
        return Err(Error::at(at - 4, "the file does not begin with an `IHDR` chunk"));
    };
    let (depth, channels) = (
        u64::from(kind[0]),
        match kind[1] {
            2 => 3,
            4 => 2,
            6 => 4,
            _ => 1,
        },
    );
    let stored = width.saturating_mul(height).saturating_mul(channels).saturating_mul(depth) / 8;
    // With opacity, which may be anywhere in the file, and the colours of a palette.
    let samples = if matches!(kind[1], 0 | 4) { 2 } else { 4 };
    let expanded = width.saturating_mul(height).saturating_mul(samples).saturating_mul(depth.div_ceil(8));
    let most = (bytes.len() as u64).saturating_mul(LARGEST_RATIO);
    if stored > most || expanded > gz::limit(bytes.len()).max(ANYWAY) {
        let message =
            format!("a picture of {width} by {height} pixels is too large for a file of {} bytes", bytes.len());
        return Err(Error::at(at, message));
    }
    Ok(())
}

/// Whether a picture may have this width and height.
pub(super) fn check_sides(width: usize, height: usize) -> Result<()> {
    // Sides of 31 bits are all that the format has.
    let fits = [width, height].into_iter().all(|n| i32::try_from(n).is_ok());
    if fits { Ok(()) } else { Err(Error::new("the picture is too large for a PNG file")) }
}

/// Writes a picture whose sides were checked, compressing row by row.
pub(super) fn encode(picture: &Plan, out: &mut dyn Write) -> io::Result<()> {
    let mut out = Checked { out, failed: None };
    let written = chunks(picture, &mut out);
    match out.failed {
        Some(e) => Err(e),
        None => written.map_err(io::Error::from),
    }
}

fn chunks(picture: &Plan, out: &mut Checked) -> std::result::Result<(), png::EncodingError> {
    let mut encoder = png::Encoder::new(out, picture.width as u32, picture.height as u32);
    encoder.set_color(match picture.channels() {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    });
    encoder.set_depth(if picture.is_deep() { BitDepth::Sixteen } else { BitDepth::Eight });
    let mut writer = encoder.write_header()?;
    let mut rows = writer.stream_writer_with_size(CHUNK)?;
    picture.rows(&mut |row| rows.write_all(row))?;
    rows.finish()?;
    writer.finish()
}

/// Records the first error: the `png` crate finds some errors when it drops a chunk.
struct Checked<'w> {
    out: &'w mut dyn Write,
    failed: Option<io::Error>,
}

impl Checked<'_> {
    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        done.map_err(|e| {
            let kind = e.kind();
            // Retried after a signal, as with all writers.
            if kind != io::ErrorKind::Interrupted {
                self.failed.get_or_insert(e);
            }
            kind.into()
        })
    }
}

impl Write for Checked<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes);
        self.note(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.out.flush();
        self.note(flushed)
    }
}
