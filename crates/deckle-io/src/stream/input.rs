//! The bytes of a stream, and the window through which a reader sees them.

use super::Outcome;
use crate::atomic::is_standard;
use crate::build::Build;
use crate::format::{Format, contents, read_all, read_flat_bytes, read_value_bytes, split_part};
use crate::{Error, Result, gz};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Buffer, Pool, standard};
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// The number of bytes that are read when a file is opened. Few in tests, so that blocks end everywhere.
const FIRST: usize = if cfg!(test) { 5 } else { 16 << 10 };
/// The number of compressed bytes that are read at once.
const PACKED: usize = 1 << 16;
const WHAT: &str = "the part of a file that is being read";

/// A file or standard input.
pub(super) struct Place {
    /// The path of the file, without the part.
    pub path: PathBuf,
    pub part: Option<String>,
    /// The name whose extension gives the format.
    pub name: PathBuf,
    is_stdin: bool,
}

impl Place {
    pub(super) fn of(path: &Path) -> Place {
        let text = path.to_str().unwrap_or_default();
        let is_stdin = is_standard(path);
        if !is_stdin {
            let (path, part) = split_part(path);
            return Place { name: path.clone(), path, part, is_stdin };
        }
        let (name, part) = match &text[1..] {
            ending if ending.starts_with('.') => split_part(path),
            ending => split_part(Path::new(&format!("-.txt{ending}"))),
        };
        Place { path: PathBuf::from("-"), part, name, is_stdin }
    }

    pub(super) fn open(&self) -> Result<Input> {
        let is_packed = Format::of(&self.name).1;
        if self.is_stdin {
            standard::check_input().map_err(|e| Error::io(&e))?;
            return Ok(Input::new(Box::new(io::stdin()), None, is_packed));
        }
        let file = File::open(&self.path).map_err(|e| Error::io(&e))?;
        let about = file.metadata().map_err(|e| Error::io(&e))?;
        Ok(Input::new(Box::new(file), about.is_file().then_some(about.len()), is_packed))
    }

    /// The value of a type, read as a whole.
    pub(super) fn read(&self, ty: &Type) -> Result<Value> {
        let bytes = self.contents()?;
        read_value_bytes(&self.name, self.part.as_deref(), &bytes, ty)
    }

    /// The same in flat memory.
    pub(super) fn read_flat(&self, ty: &Type) -> Result<Build> {
        read_flat_bytes(&self.name, self.part.as_deref(), self.contents()?, ty)
    }

    fn contents(&self) -> Result<Vec<u8>> {
        if !self.is_stdin {
            return contents(&self.path);
        }
        standard::check_input().map_err(|e| Error::io(&e))?;
        read_all(&mut io::stdin().lock(), 0)
    }
}

/// The bytes of a file, decompressed.
pub(super) struct Input {
    bytes: Bytes,
    /// The length of a regular file.
    len: Option<u64>,
}

enum Bytes {
    Plain(Counted),
    Packed(Box<MultiGzDecoder<BufReader<Counted>>>),
}

struct Counted {
    from: Box<dyn Read + Send>,
    count: u64,
}

impl Read for Counted {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(to)?;
        self.count += n as u64;
        Ok(n)
    }
}

impl Input {
    /// Bytes read from a file; `len` is known for regular ones.
    pub(super) fn new(from: Box<dyn Read + Send>, len: Option<u64>, is_packed: bool) -> Input {
        let counted = Counted { from, count: 0 };
        let bytes = if is_packed {
            Bytes::Packed(Box::new(MultiGzDecoder::new(BufReader::with_capacity(PACKED, counted))))
        } else {
            Bytes::Plain(counted)
        };
        Input { bytes, len }
    }

    pub(super) fn is_packed(&self) -> bool {
        matches!(self.bytes, Bytes::Packed(_))
    }

    fn read(&mut self, to: &mut [u8]) -> Result<usize> {
        loop {
            let n = match &mut self.bytes {
                Bytes::Plain(file) => file.read(to),
                Bytes::Packed(decoder) => decoder.read(to),
            };
            match n {
                Ok(n) => return Ok(n),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(self.error(&e)),
            }
        }
    }

    fn error(&self, e: &io::Error) -> Error {
        use io::ErrorKind as K;
        let Bytes::Packed(decoder) = &self.bytes else { return Error::io(e) };
        let at = decoder.get_ref().get_ref().count as usize - decoder.get_ref().buffer().len();
        match e.kind() {
            K::UnexpectedEof => Error::at(at, "the file ends before what it packs does"),
            K::InvalidInput | K::InvalidData => Error::at(at, format!("this is no gzip data: {e}")),
            _ => Error::io(e),
        }
    }

    fn count(&self) -> u64 {
        match &self.bytes {
            Bytes::Plain(file) => file.count,
            Bytes::Packed(decoder) => decoder.get_ref().get_ref().count,
        }
    }
}

/// The next bytes of a file.
///
/// # Invariants
/// - They are memory of the pool that was passed when the window had to grow.
/// - An error of the file comes after the bytes that were read before it.
pub(super) struct Window {
    input: Input,
    held: Buffer,
    /// The bytes read and not taken are those from `lo` below `hi`.
    lo: usize,
    hi: usize,
    has_ended: bool,
    failed: Option<Error>,
}

impl Window {
    pub(super) fn new(input: Input) -> Window {
        Window { input, held: Buffer::empty(), lo: 0, hi: 0, has_ended: false, failed: None }
    }

    /// The bytes in the window.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.held.as_slice()[self.lo..self.hi]
    }

    /// The complete lines: at the end of the file, everything.
    pub(super) fn lines(&self) -> &[u8] {
        let bytes = self.bytes();
        if self.has_ended { bytes } else { &bytes[..memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1)] }
    }

    /// Whether no bytes follow those in the window.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    pub(super) fn is_packed(&self) -> bool {
        self.input.is_packed()
    }

    /// Whether all bytes of the file are available without waiting for a writer.
    pub(super) fn is_eager(&self) -> bool {
        self.input.len.is_some()
    }

    /// The length of the file, if it is known and the file is not compressed.
    pub(super) fn file_len(&self) -> Option<u64> {
        self.input.len.filter(|_| !self.is_packed())
    }

    /// The number of bytes of the file that have been read, and its length.
    pub(super) fn progress(&self) -> (u64, Option<u64>) {
        (self.input.count(), self.input.len)
    }

    /// Drops the first bytes.
    pub(super) fn take(&mut self, n: usize) {
        self.lo += n;
    }

    /// Reads about `want` bytes, if available without waiting.
    pub(super) fn fill(&mut self, want: usize, pool: &Pool) -> Outcome<()> {
        // The remaining bytes are moved to the front before more are read, which is not worth it for a few bytes.
        if !self.is_eager() || self.hi - self.lo > want / 2 {
            return Ok(());
        }
        while self.hi - self.lo < want && !self.has_ended && self.failed.is_none() {
            self.make_room(want, pool)?;
            if let Err(e) = self.read() {
                self.failed = Some(e);
            }
        }
        Ok(())
    }

    /// Reads more bytes, or finds the end.
    pub(super) fn more(&mut self, want: usize, pool: &Pool) -> Outcome<()> {
        if let Some(e) = self.failed.take() {
            return Err(e.into());
        }
        self.make_room(want, pool)?;
        Ok(self.read()?)
    }

    /// Waits until there are `len` bytes, or the end; `want` of them if available without waiting.
    pub(super) fn wait(&mut self, len: usize, want: usize, pool: &Pool) -> Outcome<()> {
        self.fill(want, pool)?;
        while self.hi - self.lo < len && !self.has_ended {
            self.more(want, pool)?;
        }
        Ok(())
    }

    /// [`Window::more`] before there is a pool: when a file is opened.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.more(FIRST, &Pool::new(None)).map_err(|fault| match fault {
            super::Fault::File(e) => e,
            super::Fault::Room(e) => Error::new(e.to_string()),
        })
    }

    /// Fills `to` from the window and from the file after it, and returns the number of bytes.
    pub(super) fn read_into(&mut self, to: &mut [u8]) -> Result<usize> {
        let mut done = to.len().min(self.hi - self.lo);
        to[..done].copy_from_slice(&self.bytes()[..done]);
        self.lo += done;
        while done < to.len() && !self.has_ended {
            if let Some(e) = self.failed.take() {
                return Err(e);
            }
            let n = self.input.read(&mut to[done..])?;
            self.has_ended = n == 0;
            done += n;
        }
        Ok(done)
    }

    /// All remaining bytes.
    pub(super) fn rest(mut self) -> Result<Vec<u8>> {
        let mut all = self.bytes().to_vec();
        let mut part = vec![0; PACKED];
        while !self.has_ended {
            let n = self.input.read(&mut part)?;
            self.has_ended = n == 0;
            all.extend_from_slice(&part[..n]);
        }
        Ok(all)
    }

    /// Makes room after the present bytes: `want` altogether, or twice the previous capacity.
    fn make_room(&mut self, want: usize, pool: &Pool) -> Outcome<()> {
        let len = self.hi - self.lo;
        let room = if len < want { want } else { 2 * len };
        if room > self.held.len() {
            self.check_element(len)?;
            let mut larger = pool.alloc(room, WHAT)?;
            if let Some(to) = larger.get_mut::<u8>() {
                to[..len].copy_from_slice(self.bytes());
            }
            self.held = larger;
        } else if let Some(held) = self.held.get_mut::<u8>().filter(|_| self.lo > 0) {
            held.copy_within(self.lo..self.hi, 0);
        }
        (self.lo, self.hi) = (0, len);
        Ok(())
    }

    /// Whether one element may have this many bytes: for a compressed file less than its expansion limit, since an element is copied.
    fn check_element(&self, len: usize) -> Result<()> {
        let packed = self.input.len.unwrap_or(self.input.count());
        if !self.is_packed() || len as u64 <= gz::limit(usize::try_from(packed).unwrap_or(usize::MAX)) / 4 {
            return Ok(());
        }
        let message = format!("{packed} bytes unpack to an element of more than {len}, which is taken for an attack");
        Err(Error::new(message).help("if the file is meant to be like that, unpack it first: gunzip FILE.gz"))
    }

    fn read(&mut self) -> Result<()> {
        let to = self.held.get_mut::<u8>().unwrap_or_default();
        let n = self.input.read(&mut to[self.hi..])?;
        self.has_ended = n == 0;
        self.hi += n;
        Ok(())
    }
}
