//! Arrays of NumPy, row after row.

use super::input::Window;
use super::whole::Whole;
use super::{Outcome, Reader, unpacked};
use crate::build::Build;
use crate::npy::convert::{swap, widen};
use crate::npy::decode::{check_length, check_vectors, needed, no_bool, too_short};
use crate::npy::header::{self, Header};
use crate::npy::{self, check_fit};
use crate::{Error, Result, fit};
use deckle_ir::scalar::ScalarType;
use deckle_ir::types::Type;
use deckle_runtime::{Data, OverBudget, Pool};

/// The longest header that is read.
const LONGEST_HEADER: usize = 1 << 20;
/// The number of bytes of elements of another type that are converted at once.
const SCRATCH: usize = 1 << 16;
const WHAT: &str = "a part of an array";

pub(super) fn open(mut window: Window, ty: &Type) -> Result<Box<dyn Reader>> {
    let is_packed = window.is_packed();
    let header = begin(&mut window)?;
    check(&header, window.file_len(), ty).map_err(|e| unpacked(e, is_packed))?;
    if header.fortran && header.dims.len() > 1 {
        let mut build = Build::new(ty);
        npy::fill(&window.rest()?, ty, &mut build).map_err(|e| unpacked(e, is_packed))?;
        return Ok(Box::new(Whole::new(build)));
    }
    window.take(header.data);
    let elem = fit::nesting(ty).1.as_scalar().unwrap_or(header.elem);
    Ok(Box::new(Rows { window, elem, header, given: 0, scratch: Vec::new() }))
}

/// Reads the header, which stays in the window.
fn begin(window: &mut Window) -> Result<Header> {
    loop {
        let bytes = window.bytes();
        let is_sound = bytes.iter().zip(header::MAGIC).all(|(a, b)| a == b);
        let needs = match bytes {
            [_, _, _, _, _, _, 1, _, a, b, ..] => 10 + usize::from(u16::from_le_bytes([*a, *b])),
            [_, _, _, _, _, _, 2 | 3, _, a, b, c, d, ..] => 12 + u32::from_le_bytes([*a, *b, *c, *d]) as usize,
            [_, _, _, _, _, _, 2 | 3, ..] => 12,
            _ => 10,
        };
        if bytes.len() >= needs || window.has_ended() || !is_sound {
            return header::parse(bytes).map_err(|e| unpacked(e, window.is_packed()));
        }
        if needs > LONGEST_HEADER {
            return Err(Error::new(format!("its header is said to have {needs} bytes, which no array needs")));
        }
        window.begin()?;
    }
}

/// Compares the header with the length of the file, if that is known, and with the type.
fn check(header: &Header, len: Option<u64>, ty: &Type) -> Result<()> {
    if let Some(len) = len.and_then(|len| usize::try_from(len).ok()) {
        check_length(len, header)?;
    }
    check_vectors(header.data.saturating_add(needed(header)?), header)?;
    check_fit(header.dims.len(), &Type::Scalar(header.elem), ty)
}

/// An array whose rows, or scalars, are returned one after another.
struct Rows {
    window: Window,
    header: Header,
    /// The requested type.
    elem: ScalarType,
    /// The number of rows that have been returned.
    given: usize,
    scratch: Vec<u8>,
}

impl Reader for Rows {
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Data>) -> Outcome<()> {
        let (all, inner) = (self.header.dims[0], &self.header.dims[1..]);
        if self.given == all {
            return self.check_end(pool);
        }
        let scalars: usize = inner.iter().product();
        // The bytes of a row in the file, and here.
        let (held, takes) = (scalars * self.header.elem.bytes(), scalars * self.elem.bytes());
        let mut n = (bytes / (takes + 8 * vectors(inner)).max(1)).clamp(1, all - self.given);
        if held > 0 && self.window.file_len().is_none() {
            // There may be fewer than the header claims.
            self.window.wait(held, bytes, pool)?;
            n = n.min(self.window.bytes().len() / held);
        }
        if n == 0 {
            let e = too_short(self.begins(held) + self.window.bytes().len(), all * held, &self.header);
            return Err(unpacked(e, self.window.is_packed()).into());
        }
        let mut buffer = pool.alloc(n * takes, WHAT)?;
        let read = self.read(buffer.get_mut::<u8>().unwrap_or_default())?;
        let fault = self.fault(buffer.as_slice(), held, read, n * held);
        let good = fault.as_ref().map_or(n, |(at, _)| at / held);
        if good > 0 {
            buffer.shrink(good * takes);
            let scalars = Data::scalars(self.elem, buffer).expect("what is no element was found before");
            *found = Some(regular(good, &self.header.dims[1..], scalars, pool)?);
        }
        self.given += good;
        fault.map_or(Ok(()), |(_, e)| Err(unpacked(e, self.window.is_packed()).into()))
    }

    fn progress(&self) -> (u64, Option<u64>) {
        self.window.progress()
    }
}

impl Rows {
    /// Fills `to` with elements of the requested type, and returns their number of bytes in the file.
    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        let (from, into) = (self.header.elem, self.elem);
        let is_foreign = self.header.big_endian != cfg!(target_endian = "big");
        if from == into {
            let read = self.window.read_into(to)?;
            if is_foreign {
                swap(to, from.bytes());
            }
            return Ok(read);
        }
        self.scratch.resize(SCRATCH, 0);
        let mut done = 0;
        for part in to.chunks_mut(SCRATCH / from.bytes() * into.bytes()) {
            let raw = &mut self.scratch[..part.len() / into.bytes() * from.bytes()];
            let read = self.window.read_into(raw)?;
            if is_foreign {
                swap(raw, from.bytes());
            }
            widen(from, into, raw, part);
            done += read;
            if read < raw.len() {
                break;
            }
        }
        Ok(done)
    }

    /// The position of the next row in the file.
    fn begins(&self, row: usize) -> usize {
        self.header.data + self.given * row
    }

    /// An error in the elements, and its position among the bytes that were read.
    fn fault(&self, elements: &[u8], row: usize, read: usize, wanted: usize) -> Option<(usize, Error)> {
        if self.header.elem == ScalarType::Bool
            && let Some(at) = elements[..read].iter().position(|b| *b > 1)
        {
            return Some((at, no_bool(self.begins(row) + at, elements[at])));
        }
        (read < wanted).then(|| (read, too_short(self.begins(row) + read, self.header.dims[0] * row, &self.header)))
    }

    /// Nothing may follow the last element: the length of a file was compared, but not that of compressed data or of a pipe.
    fn check_end(&mut self, pool: &Pool) -> Outcome<()> {
        if self.window.file_len().is_some() {
            return Ok(());
        }
        self.window.wait(1, 1, pool)?;
        if self.window.bytes().is_empty() {
            return Ok(());
        }
        let at = self.header.data + needed(&self.header)?;
        Err(unpacked(Error::at(at, "bytes follow the last element"), self.window.is_packed()).into())
    }
}

/// The number of vectors in a row.
fn vectors(inner: &[usize]) -> usize {
    inner.iter().fold((0, 1), |(total, rows), m| (total + rows, rows * m)).0
}

/// `n` rows of equal size, with offsets.
fn regular(n: usize, inner: &[usize], scalars: Data, pool: &Pool) -> std::result::Result<Data, OverBudget> {
    let [m, rest @ ..] = inner else { return Ok(scalars) };
    let mut offsets = pool.alloc((n + 1) * 8, WHAT)?;
    for (i, at) in offsets.get_mut::<i64>().into_iter().flatten().enumerate() {
        *at = (i * m) as i64;
    }
    Ok(Data::rows(offsets, regular(n * m, rest, scalars, pool)?).expect("rows of one size"))
}
