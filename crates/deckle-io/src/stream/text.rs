//! Lines, words and bytes of a text, as [`plain`] divides it.

use super::input::Window;
use super::{Outcome, Reader};
use crate::{Result, plain};
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;
use deckle_runtime::{Buffer, Data, Pool};

const WHAT: &str = "a part of a text";
/// The number of bytes that are searched for words between two tests whether there are enough.
const PIECE: usize = if cfg!(test) { 64 } else { 1 << 10 };
/// Lines and words up to this length are copied as a piece of this length.
const SHORT: usize = 16;

pub(super) fn open(window: Window, ty: &Type, part: Option<&str>) -> Result<Box<dyn Reader>> {
    // Reports an error in the part, if there is one.
    plain::read_bytes(b"", ty, part)?;
    if !plain::is_lines(ty) {
        return Ok(Box::new(Bytes { window }));
    }
    let words = part == Some("words");
    Ok(Box::new(Texts { window, words, searched: 0, ends: Vec::new() }))
}

/// `{u8}`.
struct Bytes {
    window: Window,
}

impl Reader for Bytes {
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Data>) -> Outcome<()> {
        if self.window.file_len().is_none() {
            self.window.wait(1, bytes, pool)?;
            let len = self.window.bytes().len().min(bytes);
            if len > 0 {
                *found = Some(Data::copied(&self.window.bytes()[..len], pool, WHAT)?);
            }
            self.window.take(len);
            return Ok(());
        }
        let mut buffer = pool.alloc(bytes.max(1), WHAT)?;
        let len = self.window.read_into(buffer.get_mut::<u8>().unwrap_or_default())?;
        buffer.shrink(len);
        *found = (len > 0).then(|| bytes_in(buffer));
        Ok(())
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.window.progress()
    }
}

/// `{[u8]}`.
struct Texts {
    window: Window,
    words: bool,
    /// The number of bytes of the window without a line end.
    searched: usize,
    /// A 0 and the ends of the texts of a block.
    ends: Vec<i64>,
}

impl Reader for Texts {
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Data>) -> Outcome<()> {
        loop {
            self.window.fill(bytes, pool)?;
            *found = self.texts(bytes, pool)?;
            if found.is_some() || self.window.has_ended() {
                return Ok(());
            }
            self.window.more(bytes, pool)?;
        }
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.window.progress()
    }
}

impl Texts {
    /// The complete ones, of about `bytes` bytes.
    fn texts(&mut self, bytes: usize, pool: &Pool) -> Outcome<Option<Data>> {
        let text = self.window.bytes();
        let mut buffer = pool.alloc(text.len() + SHORT, WHAT)?;
        let to = buffer.get_mut::<u8>().unwrap_or_default();
        self.ends.clear();
        self.ends.push(0);
        let is_last = self.window.has_ended();
        let (taken, len) = if self.words {
            words(text, is_last, bytes, to, &mut self.ends)
        } else {
            lines(text, is_last, self.searched, bytes, to, &mut self.ends)
        };
        self.searched = if taken == 0 { text.len() } else { 0 };
        self.window.take(taken);
        let n = self.ends.len() - 1;
        if n == 0 {
            return Ok(None);
        }
        buffer.shrink(len);
        let offsets = pool.alloc_from(&self.ends, WHAT)?;
        Ok(Some(Data::rows(offsets, bytes_in(buffer)).expect("texts end where they were copied to")))
    }
}

fn bytes_in(buffer: Buffer) -> Data {
    Data::scalars(ScalarType::U8, buffer).expect("bytes are bytes")
}

/// Copies the complete lines, until they take `bytes` bytes. Returns the numbers of bytes read and written. `to` has [`SHORT`] bytes to spare.
fn lines(
    text: &[u8],
    is_last: bool,
    searched: usize,
    bytes: usize,
    to: &mut [u8],
    ends: &mut Vec<i64>,
) -> (usize, usize) {
    let (mut taken, mut len) = (0, 0);
    let mut line = |from: usize, below: usize, len: &mut usize| {
        let line = &text[from..below];
        let n = line.strip_suffix(b"\r").unwrap_or(line).len();
        put(text, [from, from + n], to, *len);
        *len += n;
        ends.push(*len as i64);
        *len + 8 * ends.len() > bytes
    };
    let (parts, rest) = text[searched..].as_chunks::<64>();
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    for (i, part) in parts.iter().chain([&last]).enumerate() {
        let mut ends_here = newlines(part);
        while ends_here != 0 {
            let (begins, end) = (taken, searched + 64 * i + ends_here.trailing_zeros() as usize);
            ends_here &= ends_here - 1;
            taken = end + 1;
            if line(begins, end, &mut len) {
                return (taken, len);
            }
        }
    }
    if is_last && taken < text.len() {
        line(taken, text.len(), &mut len);
        taken = text.len();
    }
    (taken, len)
}

/// Copies the complete words, until they take `bytes` bytes. Returns the numbers of bytes read, including the blanks around them, and written.
/// `to` has [`SHORT`] bytes to spare.
fn words(text: &[u8], is_last: bool, bytes: usize, to: &mut [u8], ends: &mut Vec<i64>) -> (usize, usize) {
    let whole = if is_last { text.len() } else { behind_blank(text) };
    let (mut at, mut len) = (0, 0);
    let mut edges = Edges { places: [0; PIECE + 2], count: 0, was_blank: 1 };
    while at < whole && (ends.len() == 1 || len + 8 * ends.len() < bytes) {
        let piece = &text[at..whole.min(at + PIECE)];
        edges.find(piece, at);
        at += piece.len();
        len = copy(edges.words(), text, to, len, ends);
        edges.forget();
    }
    match edges.begun() {
        Some(from) if is_last && at == whole => len = copy(&[[from, whole]], text, to, len, ends),
        Some(from) => at = from,
        None => {}
    }
    (at, len)
}

/// Copies a part of a text after `len` bytes; if it is short, with the bytes after it, which are overwritten later.
#[inline]
fn put(text: &[u8], [from, below]: [usize; 2], to: &mut [u8], len: usize) {
    match (text[from..].first_chunk::<SHORT>(), to[len..].first_chunk_mut::<SHORT>()) {
        (Some(piece), Some(to)) if below - from <= SHORT => *to = *piece,
        _ => to[len..len + below - from].copy_from_slice(&text[from..below]),
    }
}

/// Copies words after `len` bytes, and returns the new length.
fn copy(words: &[[usize; 2]], text: &[u8], to: &mut [u8], mut len: usize, ends: &mut Vec<i64>) -> usize {
    ends.extend(words.iter().map(|[from, below]| {
        put(text, [*from, *below], to, len);
        len += below - from;
        len as i64
    }));
    len
}

/// Where words begin and end, alternately.
struct Edges {
    places: [usize; PIECE + 2],
    count: usize,
    /// 1 if the byte before was blank.
    was_blank: u64,
}

impl Edges {
    /// Finds the edges in the next bytes, the first of which has this position. 64 bytes are examined together, without branches on where words end.
    fn find(&mut self, piece: &[u8], begins: usize) {
        let (parts, rest) = piece.as_chunks::<64>();
        let mut last = [b' '; 64];
        last[..rest.len()].copy_from_slice(rest);
        let last = (!rest.is_empty()).then_some(&last);
        let &mut Edges { ref mut places, mut count, mut was_blank } = self;
        for (i, part) in parts.iter().chain(last).enumerate() {
            let blank = blanks(part);
            let mut edges = blank ^ (blank << 1 | was_blank);
            was_blank = blank >> 63;
            while edges != 0 {
                places[count] = begins + 64 * i + edges.trailing_zeros() as usize;
                count += 1;
                edges &= edges - 1;
            }
        }
        (self.count, self.was_blank) = (count, was_blank);
    }

    /// The complete words.
    fn words(&self) -> &[[usize; 2]] {
        self.places[..self.count].as_chunks().0
    }

    /// Removes the complete words.
    fn forget(&mut self) {
        let begun = self.count % 2;
        if begun == 1 {
            self.places[0] = self.places[self.count - 1];
        }
        self.count = begun;
    }

    /// The start of an incomplete word.
    fn begun(&self) -> Option<usize> {
        (self.count == 1).then_some(self.places[0])
    }
}

/// A bit for each byte, the low one for the first: whether it is blank.
fn blanks(part: &[u8; 64]) -> u64 {
    of_bytes(part, |all| {
        // Whether the low bits of each byte are at least `n`.
        let least = |n: u64| (all & !HIGH).wrapping_add((0x80 - n) * ONES);
        (least(9) & !least(14) & !(least(11) & !least(12)) | least(32) & !least(33)) & !all
    })
}

/// A bit for each byte: whether it ends a line.
fn newlines(part: &[u8; 64]) -> u64 {
    of_bytes(part, |all| {
        let others = all ^ (u64::from(b'\n') * ONES);
        !((others & !HIGH).wrapping_add(!HIGH) | others)
    })
}

const ONES: u64 = 0x0101_0101_0101_0101;
const HIGH: u64 = 0x80 * ONES;

/// A bit for each byte, from the high bits that `each` returns for the bytes of a word.
#[inline(always)]
fn of_bytes(part: &[u8; 64], each: impl Fn(u64) -> u64) -> u64 {
    let mut bits = 0;
    for (i, eight) in part.as_chunks::<8>().0.iter().enumerate() {
        let high = each(u64::from_le_bytes(*eight)) & HIGH;
        // Gathers the high bits in the highest byte.
        bits |= ((high >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
    }
    bits
}

/// The first byte after the last blank.
fn behind_blank(text: &[u8]) -> usize {
    text.iter().rposition(u8::is_ascii_whitespace).map_or(0, |at| at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_divides_words_as_the_standard_library_has_it() {
        for byte in 0..=u8::MAX {
            for at in 0..64 {
                let mut text = [b'x'; 64];
                text[at] = byte;
                assert_eq!(blanks(&text), u64::from(byte.is_ascii_whitespace()) << at, "{byte} at {at}");
                assert_eq!(newlines(&text), u64::from(byte == b'\n') << at, "{byte} at {at}");
            }
        }
    }
}
