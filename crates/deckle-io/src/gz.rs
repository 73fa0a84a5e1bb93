//! gzip, under a limit: a small file cannot make a large value.
//!
//! A thousand bytes may unpack to a million. What text of numbers and noisy measurements need is far less, so a file
//! may unpack to [`limit`] bytes, and one that is meant to be larger must be unpacked by hand.

use crate::{Error, Result};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io::{self, BufWriter, Read, Write};

/// What any file may unpack to.
pub(crate) const FREE: u64 = 24 << 20;
/// What a byte of the file may unpack to.
const PER_BYTE: u64 = 200;
/// How many bytes are packed at once.
const BUFFERED: usize = 1 << 16;

/// The most bytes that a packed file of this length may unpack to.
pub fn limit(packed: usize) -> u64 {
    (packed as u64).saturating_mul(PER_BYTE).max(FREE)
}

/// The contents of a `.gz` file, which may have several members.
///
/// # Errors
/// If the file is damaged, or unpacks to more than [`limit`].
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

/// Packs bytes.
///
/// # Errors
/// If `out` cannot be written.
pub fn pack(out: &mut dyn Write, bytes: &[u8]) -> io::Result<()> {
    let mut encoder = GzEncoder::new(out, Compression::default());
    encoder.write_all(bytes)?;
    encoder.finish().map(drop)
}

/// Packs what `write` writes, while it is written.
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
