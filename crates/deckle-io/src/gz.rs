//! gzip, with a limit: a small file cannot expand to a large value.
//!
//! A thousand bytes may expand to a million. Texts of numbers and noisy measurements expand far less, so a file
//! may expand to [`limit`] bytes; larger ones must be decompressed by the user.

use crate::{Error, Result};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Read, Write};

/// The size to which any file may expand.
pub(crate) const FREE: u64 = 24 << 20;
/// The size to which each byte of the file may expand.
const PER_BYTE: u64 = 200;
/// The number of bytes that are compressed at once.
const BUFFERED: usize = 1 << 16;

/// The maximal decompressed size of a compressed file of this length.
pub fn limit(packed: usize) -> u64 {
    (packed as u64).saturating_mul(PER_BYTE).max(FREE)
}

/// The contents of a `.gz` file, which may have several members.
///
/// # Errors
/// If the file is damaged, or expands to more than [`limit`].
pub fn unpack(packed: &[u8]) -> Result<Vec<u8>> {
    let mut decoder = MultiGzDecoder::new(packed);
    let mut bytes = Vec::new();
    let limit = limit(packed.len());
    let read = decoder.by_ref().take(limit + 1).read_to_end(&mut bytes);
    let at = packed.len() - decoder.get_ref().len();
    match read {
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
            Err(Error::at(packed.len(), "the file ends before what it packs does"))
        }
        Err(e) => Err(Error::at(at, format!("this is no gzip data: {e}"))),
        Ok(_) if bytes.len() as u64 > limit => Err(Error::at(
            at,
            format!("{} bytes unpack to more than {limit}, which is taken for an attack", packed.len()),
        )
        .help("if the file is meant to be that large, unpack it first: gunzip FILE.gz")),
        Ok(_) => Ok(bytes),
    }
}

/// Compresses bytes.
///
/// # Errors
/// If `out` cannot be written.
pub fn pack(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    let mut encoder = GzEncoder::new(out, Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish().map(drop)
}

/// Compresses the output of `write` while it is written.
pub(crate) fn pack_through(out: &mut dyn Write, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    // Texts are written a few bytes at a time.
    let mut encoder = BufWriter::with_capacity(BUFFERED, GzEncoder::new(out, Compression::default()));
    write(&mut encoder)?;
    let packed = encoder.into_inner().map_err(io::IntoInnerError::into_error).and_then(GzEncoder::finish);
    packed.map(drop).map_err(|e| Error::io(&e))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packed(bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        pack(&mut out, bytes).unwrap();
        out
    }

    #[test]
    fn what_is_packed_is_unpacked() {
        let two = [packed(b"one "), packed(b"two")].concat();
        assert_eq!(unpack(&two).unwrap(), b"one two");
    }

    #[test]
    fn damage_is_found() {
        let good = packed(b"some text, and some text");
        let short = unpack(&good[..good.len() - 3]).unwrap_err();
        assert!(short.message.contains("ends before"), "{short}");
        let mut wrong = good.clone();
        let at = wrong.len() - 6;
        wrong[at] ^= 1;
        assert!(unpack(&wrong).unwrap_err().message.contains("no gzip data"));
        assert!(unpack(&[&good[..], b"garbage at the end"].concat()).is_err());
        assert!(unpack(b"").is_err());
    }

    #[test]
    fn a_bomb_is_refused() {
        let bomb = packed(&vec![b' '; FREE as usize + 2]);
        assert!(bomb.len() < 100_000);
        assert!(unpack(&bomb).unwrap_err().message.contains("attack"));
    }
}
