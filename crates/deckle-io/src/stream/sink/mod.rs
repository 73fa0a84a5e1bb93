//! Sequences to files, block by block.

mod npy;
mod shown;

use crate::atomic::Output;
use crate::csv::write::{Elements, has_lines};
use crate::format::{Format, check_writable};
use crate::item::Item;
use crate::rows::elements;
use crate::text::is_text;
use crate::{Error, Kind, Result, json, plain};
use deckle_ir::types::Type;
use deckle_runtime::Data;
use deckle_runtime::stream::{self, Sink};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Creates a file for the elements of a sequence type. The output is what [`write_value`](crate::write_value) writes for all elements
/// together, and appears when the sink is finished; if the sink is dropped earlier, nothing remains.
///
/// `None` if such a file can only be written as a whole: `.mtx`, `.npz`, pictures, sound; a `.npy` that is compressed or no regular file, since its
/// first bytes come last; a `.txt` of vectors of scalars, whose columns are aligned.
///
/// # Errors
/// If values of the type cannot be written to such a file ([`check_writable`]), or it cannot be created.
pub fn create(path: &Path, ty: &Type) -> Result<Option<Box<dyn Sink>>> {
    check_writable(path, ty)?;
    if ty.as_seq().is_none() {
        return Ok(None);
    }
    let (format, is_packed) = Format::of(path);
    if format == Format::Npy {
        return npy::create(path, ty, is_packed);
    }
    let Some(writer) = writer(format, ty) else { return Ok(None) };
    let out = Output::create(path).map_err(|e| Error::io(&e).in_file(path))?;
    let out = if is_packed { Out::Packed(GzEncoder::new(out, Compression::default())) } else { Out::Plain(out) };
    Ok(Some(Box::new(Written { out, writer, path: path.to_path_buf() })))
}

/// The writer for the elements of a value of this type, or the lines of a table; `None` if they are not written one by one.
pub(crate) fn writer(format: Format, ty: &Type) -> Option<Box<dyn Writer>> {
    Some(match (format, ty.elem()) {
        (Format::Table(separator), _) if has_lines(ty) => Box::new(Table { lines: Elements::new(separator, ty) }),
        (Format::Json, Some(elem)) => Box::new(Json { elem: elem.clone(), any: false }),
        (Format::Txt, _) if is_text(ty) => Box::new(Bytes),
        (Format::Txt, _) if plain::is_lines(ty) => Box::new(Lines { count: 0 }),
        (Format::Txt, Some(elem)) => Box::new(shown::Shown::new(elem, ty.as_seq().is_some())?),
        _ => return None,
    })
}

/// Writes the elements of one format.
pub(crate) trait Writer: Send {
    /// Whether all elements of a materialised value can be written.
    fn check(&self, _: &Data) -> Result<()> {
        Ok(())
    }

    fn elements(&mut self, block: &Data, out: &mut dyn Write) -> Result<()>;

    /// Writes the text after the last element.
    fn end(&mut self, _: &mut dyn Write) -> Result<()> {
        Ok(())
    }
}

/// An error about a file, in the form of a sink's error.
fn failed(e: Error, path: &Path) -> stream::Error {
    match e.kind {
        Kind::Closed => stream::Error::Closed,
        _ => stream::Error::Failed(Box::new(e.in_file(path))),
    }
}

fn io(e: io::Error) -> Error {
    Error::io(&e)
}

/// A file that is written sequentially.
enum Out {
    Plain(Output),
    Packed(GzEncoder<Output>),
}

impl Out {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Out::Plain(out) => out,
            Out::Packed(out) => out,
        }
    }

    /// Whether other processes see the output before it is finished.
    fn is_seen(&self) -> bool {
        matches!(self, Out::Plain(out) if out.is_seen())
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Out::Plain(out) => out.finish(),
            Out::Packed(out) => out.finish()?.finish(),
        }
    }
}

struct Written {
    out: Out,
    writer: Box<dyn Writer>,
    path: PathBuf,
}

impl Sink for Written {
    fn take(&mut self, block: Data) -> std::result::Result<(), stream::Error> {
        let mut written = self.writer.elements(&block, self.out.writer());
        if self.out.is_seen() {
            written = written.and_then(|()| self.out.writer().flush().map_err(io));
        }
        written.map_err(|e| failed(e, &self.path))
    }

    fn finish(self: Box<Self>) -> std::result::Result<(), stream::Error> {
        let Written { mut out, mut writer, path } = *self;
        let finished = writer.end(out.writer()).and_then(|()| out.finish().map_err(io));
        finished.map_err(|e| failed(e, &path))
    }
}

/// `.csv` and `.tsv`.
struct Table {
    lines: Elements,
}

impl Writer for Table {
    fn check(&self, elements: &Data) -> Result<()> {
        self.lines.check(elements)
    }

    fn elements(&mut self, block: &Data, out: &mut dyn Write) -> Result<()> {
        (0..block.len()).try_for_each(|at| self.lines.push(Item { data: block, at }))?;
        self.end(out)
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        out.write_all(&self.lines.text()).map_err(io)
    }
}

/// `.json`.
struct Json {
    elem: Type,
    /// Whether an element has been written.
    any: bool,
}

impl Writer for Json {
    fn elements(&mut self, block: &Data, out: &mut dyn Write) -> Result<()> {
        for i in 0..block.len() {
            let before = if self.any { b"," } else { b"[" };
            self.any = true;
            out.write_all(before).and_then(|()| json::write(&self.elem, block, i, out)).map_err(io)?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut dyn Write) -> Result<()> {
        out.write_all(if self.any { b"]\n" } else { b"[]\n" }).map_err(io)
    }
}

/// `{u8}` as text.
struct Bytes;

impl Writer for Bytes {
    fn elements(&mut self, block: &Data, out: &mut dyn Write) -> Result<()> {
        let Some(b) = block.as_scalars() else { return Ok(()) };
        out.write_all(b.as_slice()).map_err(io)
    }
}

/// `{[u8]}` as text.
struct Lines {
    /// The number of lines so far.
    count: usize,
}

impl Writer for Lines {
    fn check(&self, elements: &Data) -> Result<()> {
        lines(elements).enumerate().try_for_each(|(i, line)| plain::check_line(line, i))
    }

    fn elements(&mut self, block: &Data, out: &mut dyn Write) -> Result<()> {
        for line in lines(block) {
            plain::check_line(line, self.count)?;
            self.count += 1;
            out.write_all(line).and_then(|()| out.write_all(b"\n")).map_err(io)?;
        }
        Ok(())
    }
}

fn lines(block: &Data) -> impl Iterator<Item = &[u8]> {
    let all = elements(block).as_scalars().map_or(&[][..], |b| b.as_slice::<u8>());
    (0..block.len()).filter_map(|i| block.row(i)).map(|(lo, hi)| &all[lo..hi])
}
