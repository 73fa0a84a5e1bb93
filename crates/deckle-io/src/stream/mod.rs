//! Sequences in files, element by element: no file is ever in memory as a whole.
//!
//! [`open`] returns the elements that [`read_value`](crate::read_value) reads, and [`create`] writes the bytes that [`write_value`](crate::write_value) writes:
//!
//! | extension | read in blocks | written in blocks |
//! |---|---|---|
//! | `.npy` | `{t}` of a vector, `{[t]}` of a matrix, and deeper, row after row | scalars; rows of one length |
//! | `.csv`, `.tsv` | `{record}`, `{tuple}`, `{t}` of a column, `{[t]}` of rows | the same |
//! | `.mtx` | `{(int, int, t)}` and `{[(int, t)]}`, if the file is sorted | |
//! | `.wav` | `{i16}`, `{real}`, `{(real, real)}` and so on: moment after moment | |
//! | `.txt`, none | `{[u8]}` of lines or words, `{u8}` of bytes | lines and bytes; other values except vectors of scalars, whose columns are aligned |
//! | `.json` | | everything |
//!
//! The path `-` is standard input or output, with an extension for the format (`-.csv`); without one it is read and written like a `.txt`.
//!
//! All but `.npy` are also written compressed (`.gz`), and all are read compressed. There is no limit to the decompressed size, unlike for a file
//! that is read as a whole: only a block is in memory at a time.
//!
//! # Why files are read and not mapped
//! If another process truncates a mapped file, a process that reads it is killed, and the pages that it has read are counted as
//! its memory. A block that is read is in memory of the pool, under the budget, and an early end is an error.
//!
//! # How a format is read
//! A `Reader` sees a `Window`: the next bytes of the file. It takes the complete elements, requests more bytes if there
//! are none, and leaves the rest in the window. The window grows for an element larger than itself; its bytes are the pool's, too.

mod csv;
mod input;
mod mtx;
mod npy;
mod sink;
mod text;
mod wav;
mod whole;

pub use sink::create;
pub(crate) use sink::{Writer, writer};

use crate::format::{Format, check_readable};
use crate::{Error, Result, gz, plain};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::stream::{self, Source};
use deckle_runtime::{Data, OverBudget, Pool};
use input::{Input, Place, Window};
use std::path::{Path, PathBuf};
use whole::Whole;

/// Opens a file, or a part of it (`FILE:PART`), as the elements of a sequence type.
///
/// The path `-` is standard input, read like a `.txt`; an extension after it gives another format, as in `-.csv` or `-.txt:words`. Elements from a pipe or a
/// terminal are returned as soon as they are complete.
///
/// The beginning of a `.npy`, a `.mtx` and a table is read here, so this waits for the writer to standard input. Formats that cannot be read in
/// blocks are decoded here as a whole, into flat memory: pictures, `.npz`, parts of a `.mtx` and dense ones, sound with its rate, and a `.npy` of several
/// dimensions in Fortran order. Written values are read as trees.
///
/// # Errors
/// As [`read_value`](crate::read_value), as far as the beginning of the file shows them. The rest comes from the source, after the elements before it:
/// as [`stream::Error::Failed`] with an [`Error`] inside.
pub fn open(path: &Path, ty: &Type) -> Result<Box<dyn Source>> {
    let place = Place::of(path);
    let reader = reader(&place, Place::open, ty).map_err(|e| e.in_file(&place.path))?;
    Ok(Box::new(Stream { reader, path: place.path, failed: None, given: None }))
}

/// Whether [`open_whole`] reads a value of a type from a file of this name into flat memory. Others are read as trees.
pub fn is_flat(path: &Path, ty: &Type) -> bool {
    let place = Place::of(path);
    match Format::of(&place.name).0 {
        Format::Npy | Format::Npz | Format::Mtx | Format::Image(_) | Format::Wav => true,
        Format::Table(_) => ty.elem().is_some(),
        Format::Txt | Format::Unknown => plain::is_plain(ty),
        Format::Json | Format::Later => false,
    }
}

/// Opens a file, or a part of it, as a value of a type that will be in memory as a whole: as the elements of a vector or sequence, or as the only element if
/// it is neither. The decompressed size of a compressed file is limited ([`gz::limit`]).
///
/// # Errors
/// As [`open`], and after the elements that are within the limit.
pub fn open_whole(path: &Path, ty: &Type) -> Result<Box<dyn Source>> {
    let place = Place::of(path);
    let reader = whole_reader(&place, ty).map_err(|e| e.in_file(&place.path))?;
    let given = (Format::of(&place.name).1 && !reader.is_whole()).then_some(0);
    Ok(Box::new(Stream { reader, path: place.path, failed: None, given }))
}

fn whole_reader(place: &Place, ty: &Type) -> Result<Box<dyn Reader>> {
    match (ty.elem(), Format::of(&place.name).0) {
        // Entries in any order are sorted.
        (Some(_), Format::Mtx) => Ok(Box::new(Whole::new(place.read_flat(ty)?))),
        (Some(elem), _) => reader(place, Place::open, &Type::seq(elem.clone())),
        (None, _) => Ok(Box::new(Whole::single(place.read_flat(ty)?))),
    }
}

/// A value from standard input, all of it: read like a file of that name.
pub(crate) fn read_standard_input(path: &Path, ty: &Type) -> Result<Value> {
    let place = Place::of(path);
    place.read(ty).map_err(|e| e.in_file(&place.path))
}

fn reader(place: &Place, input: impl FnOnce(&Place) -> Result<Input>, ty: &Type) -> Result<Box<dyn Reader>> {
    if ty.as_seq().is_none() {
        return Err(Error::new(format!("`{}` is no sequence", crate::text::type_name(ty))));
    }
    check_readable(&place.name, ty)?;
    let part = place.part.as_deref();
    let window = || input(place).map(Window::new);
    match Format::of(&place.name).0 {
        Format::Npy => npy::open(window()?, ty),
        Format::Table(separator) => csv::open(window()?, separator, ty, part),
        Format::Mtx if part.is_none() && mtx::is_streamed(ty) => mtx::open(window()?, ty),
        Format::Wav if part.is_none() && wav::is_streamed(ty) => wav::open(window()?, ty),
        Format::Txt | Format::Unknown if plain::is_plain(ty) => text::open(window()?, ty, part),
        _ => Ok(Box::new(Whole::new(place.read_flat(ty)?))),
    }
}

/// Reads the elements of one format.
trait Reader: Send {
    /// Reads the next elements, of about `bytes` bytes; none at the end. Elements before an error are still returned.
    fn next(&mut self, bytes: usize, pool: &Pool, found: &mut Option<Data>) -> Outcome<()>;

    /// The number of bytes of the file that have been read, and its length, if known.
    fn progress(&self) -> (u64, Option<u64>);

    /// Whether the file was decoded as a whole, within its limits, when it was opened.
    fn is_whole(&self) -> bool {
        false
    }
}

type Outcome<T> = std::result::Result<T, Fault>;

/// Why there are no more elements.
enum Fault {
    File(Error),
    Room(OverBudget),
}

impl From<Error> for Fault {
    fn from(e: Error) -> Fault {
        Fault::File(e)
    }
}

impl From<OverBudget> for Fault {
    fn from(e: OverBudget) -> Fault {
        Fault::Room(e)
    }
}

impl Fault {
    /// The same for users of streams.
    fn at(self, path: &Path) -> stream::Error {
        match self {
            Fault::File(e) => stream::Error::Failed(Box::new(e.in_file(path))),
            Fault::Room(e) => e.into(),
        }
    }
}

/// Positions in decompressed bytes are not positions in the file.
pub(crate) fn unpacked(mut e: Error, is_packed: bool) -> Error {
    if let Some(at) = e.offset.filter(|_| is_packed) {
        (e.offset, e.message) = (None, format!("byte {at} of what it packs: {}", e.message));
    }
    e
}

/// A reader as a source.
struct Stream {
    reader: Box<dyn Reader>,
    path: PathBuf,
    /// The error after the elements that were returned last.
    failed: Option<Fault>,
    /// The number of bytes that have been returned, if that is limited.
    given: Option<u64>,
}

impl Stream {
    /// Counts the elements of a compressed file that will be in memory together.
    fn count(&mut self, found: Option<&Data>) -> Outcome<()> {
        let (Some(given), Some(block)) = (&mut self.given, found) else { return Ok(()) };
        *given += block.bytes() as u64;
        let (read, len) = self.reader.progress();
        let packed = len.unwrap_or(read);
        if *given <= gz::limit(usize::try_from(packed).unwrap_or(usize::MAX)) {
            return Ok(());
        }
        let message = format!("{packed} bytes unpack to more than {given}, which is taken for an attack");
        Err(Error::new(message)
            .help("if the file is meant to be that large, unpack it first, or take it as a sequence `{t}`")
            .into())
    }
}

impl Source for Stream {
    fn next(&mut self, bytes: usize, pool: &Pool) -> std::result::Result<Option<Data>, stream::Error> {
        if let Some(fault) = self.failed.take() {
            return Err(fault.at(&self.path));
        }
        let mut found = None;
        match self.reader.next(bytes, pool, &mut found) {
            Ok(()) => {}
            Err(fault) if found.is_some() => self.failed = Some(fault),
            Err(fault) => return Err(fault.at(&self.path)),
        }
        self.count(found.as_ref()).map_err(|fault| fault.at(&self.path))?;
        Ok(found)
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let (read, len) = self.reader.progress();
        len.map(|len| (read, len))
    }
}

#[cfg(test)]
mod tests;
