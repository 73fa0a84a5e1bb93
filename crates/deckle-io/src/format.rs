//! Formats of files, and the common functions to read and write all of them.
//!
//! The extension gives the format; `.gz` after it means that the file is compressed. A suffix after a colon selects a part of a file: `a.npz:x` an array, `a.mtx:off` a
//! vector of a matrix, `t.csv:price` a column, `book.txt:words` the words, `a.wav:rate` the rate.

use crate::build::Build;
use crate::room::{self, Room};
use crate::{Error, Result, contents, csv, fit, gz, image, is_standard, mtx, npy, npz, plain, stream, tree, wav};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::stream::Error as Stopped;
use deckle_runtime::{Data, OverBudget, Pool};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The format that an extension means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// NumPy's array: [`npy`].
    Npy,
    /// NumPy's archive of arrays: [`npz`].
    Npz,
    /// Matrix Market: [`mtx`].
    Mtx,
    /// A table with this byte between its fields: [`csv`].
    Table(u8),
    /// A picture: [`image`].
    Image(image::Format),
    /// Sound: [`wav`].
    Wav,
    /// Plain text: [`plain`].
    Txt,
    /// JSON, which is written only: [`json`](crate::json).
    Json,
    /// A format that is not yet supported.
    Later,
    /// An unknown extension: bytes or lines.
    Unknown,
}

const ENDINGS: [(&str, Format); 18] = [
    ("npy", Format::Npy),
    ("npz", Format::Npz),
    ("mtx", Format::Mtx),
    ("csv", Format::Table(b',')),
    ("tsv", Format::Table(b'\t')),
    ("png", Format::Image(image::Format::Png)),
    ("pgm", Format::Image(image::Format::Pnm)),
    ("ppm", Format::Image(image::Format::Pnm)),
    ("pnm", Format::Image(image::Format::Pnm)),
    ("wav", Format::Wav),
    ("txt", Format::Txt),
    ("json", Format::Json),
    ("arrow", Format::Later),
    ("feather", Format::Later),
    ("ipc", Format::Later),
    ("parquet", Format::Later),
    ("zst", Format::Later),
    ("bz2", Format::Later),
];

/// The extensions of files that can be written, for messages.
pub const WRITTEN: &str = ".npz, .mtx, .csv, .tsv, .png, .pgm, .ppm, .wav, .npy, .json or .txt";

impl Format {
    /// By the extension of a path; and whether the file is compressed.
    pub fn of(path: &Path) -> (Format, bool) {
        let packed = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
        let stem = if packed { path.file_stem().map(Path::new).unwrap_or(path) } else { path };
        let ending = stem.extension().and_then(OsStr::to_str).unwrap_or_default().to_ascii_lowercase();
        let found = ENDINGS.iter().find(|(e, _)| *e == ending);
        (found.map_or(Format::Unknown, |(_, format)| *format), packed)
    }

    /// Whether files of this format have parts that can be selected.
    fn has_parts(self) -> bool {
        matches!(self, Format::Npz | Format::Mtx | Format::Table(_) | Format::Txt | Format::Wav)
    }
}

/// Splits `FILE:PART`. If a file with the whole name exists, that is the file, and names with an extension without parts are not split.
pub fn split_part(path: &Path) -> (PathBuf, Option<String>) {
    if let Some((file, part)) = path.to_str().and_then(|p| p.rsplit_once(':'))
        && Format::of(Path::new(file)).0.has_parts()
        && !path.exists()
    {
        return (PathBuf::from(file), Some(part.to_string()));
    }
    (path.to_path_buf(), None)
}

/// Reads a value of a type from a file, or from a part of it (`FILE:PART`), by its extension; `-` is standard input, read to its end.
///
/// # Errors
/// If the file cannot be read or is damaged; if it holds no value of the type ([`Kind::Misfit`](crate::Kind)); if its format is not yet supported
/// ([`Kind::Unsupported`](crate::Kind)).
pub fn read_value(path: impl AsRef<Path>, ty: &Type) -> Result<Value> {
    if is_standard(path.as_ref()) {
        return stream::read_standard_input(path.as_ref(), ty);
    }
    let (path, part) = split_part(path.as_ref());
    let read = || {
        check_readable(&path, ty)?;
        read_value_bytes(&path, part.as_deref(), &contents(&path)?, ty)
    };
    read().map_err(|e| e.in_file(&path))
}

/// The same in flat memory of a pool. Only written values, and tables as columns, are read through trees.
///
/// # Errors
/// As [`read_value`], and if there is not enough memory.
pub fn read_data(path: impl AsRef<Path>, ty: &Type, pool: &Pool) -> Result<Data> {
    let path = path.as_ref();
    let over = |e: OverBudget| Error::new(e.to_string()).in_file(path);
    if !stream::is_flat(path, ty) {
        return tree::flat(ty, [&read_value(path, ty)?], pool, "a value from a file").map_err(over);
    }
    let (mut source, mut blocks) = (stream::open_whole(path, ty)?, Vec::new());
    // All of a file at once, if its size is known: then nothing is copied.
    let much = source.progress().map_or(1 << 20, |(_, all)| all.max(1 << 20) as usize);
    loop {
        match source.next(much, pool) {
            Ok(Some(block)) => blocks.push(block),
            Ok(None) => break,
            Err(Stopped::OverBudget(e)) => return Err(over(e)),
            Err(Stopped::Failed(e)) => {
                return Err(e.downcast::<Error>().map_or_else(|e| Error::new(e.to_string()), |e| *e));
            }
            Err(e) => return Err(Error::new(e.to_string())),
        }
    }
    match (ty.elem(), &blocks[..]) {
        (Some(elem), []) => Ok(Data::array(Build::new(elem).into_data())),
        (Some(_), blocks) => Data::join(blocks, pool).map(Data::array).map_err(over),
        (None, [value]) => Ok(value.clone()),
        (None, _) => Err(Error::new("it holds no value")),
    }
}

/// The bytes of a file. For a file with a `.npy` name and other contents, only the first bytes: it may be endless.
pub(crate) fn contents(path: &Path) -> Result<Vec<u8>> {
    let mut file = File::open(path).map_err(|e| Error::io(&e))?;
    let about = file.metadata().map_err(|e| Error::io(&e))?;
    let mut bytes = Vec::new();
    if Format::of(path) == (Format::Npy, false) {
        let first = file.by_ref().take(npy::MAGIC_LEN).read_to_end(&mut bytes);
        first.map_err(|e| Error::io(&e))?;
        if !npy::is_begun(&bytes) {
            return Ok(bytes);
        }
    }
    read_on(&mut file, if about.is_file() { about.len() } else { 0 }, bytes)
}

/// Reads everything, about `len` bytes, if there is enough memory.
pub(crate) fn read_all(from: &mut dyn Read, len: u64) -> Result<Vec<u8>> {
    read_on(from, len, Vec::new())
}

/// The same after the first bytes, which have been read.
fn read_on(from: &mut dyn Read, len: u64, mut bytes: Vec<u8>) -> Result<Vec<u8>> {
    const STEP: u64 = 32 << 20;
    let mut most = len.saturating_add(1).max(STEP);
    Room::Machine.check(len)?;
    bytes
        .try_reserve_exact(usize::try_from(len.saturating_add(1)).unwrap_or(usize::MAX))
        .map_err(|e| Error::new(format!("there is no memory for its {len} bytes: {e}")))?;
    loop {
        let before = bytes.len() as u64;
        Read::take(&mut *from, most - before).read_to_end(&mut bytes).map_err(|e| Error::io(&e))?;
        if (bytes.len() as u64) < most {
            return Ok(bytes);
        }
        most *= 2;
        Room::Machine.check(most)?;
    }
}

/// Whether a value of the type can be read from a file of this name at all: reported before the file is opened.
pub(crate) fn check_readable(path: &Path, ty: &Type) -> Result<()> {
    match Format::of(path).0 {
        Format::Later => Err(later(path, "read").help("save the array with NumPy: np.save('a.npy', a)")),
        Format::Json => Err(later(path, "read").help("write the value as one would write it in a program, in a .txt")),
        Format::Unknown if !plain::is_plain(ty) => Err(Error::new("its ending does not say what it holds")
            .help("an array is read from .npy, a matrix from .mtx, a table from .csv, a written value from .txt")),
        _ => Ok(()),
    }
}

fn later(path: &Path, verb: &str) -> Error {
    let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
    Error::unsupported(format!("this version of Deckle does not {verb} .{ending} files"))
}

/// Reads a value of a type from the contents of a file of this name.
///
/// # Errors
/// As [`read_value`].
pub fn read_value_bytes(name: &Path, part: Option<&str>, bytes: &[u8], ty: &Type) -> Result<Value> {
    decode(name, part, Cow::Borrowed(bytes), ty).and_then(|(decoded, room)| match decoded {
        Decoded::Tree(value) => Ok(value),
        Decoded::Flat(build) => {
            let data = build.into_data();
            room.check(tree::bytes(&data)).map(|()| tree::value(ty, &data, 0))
        }
    })
}

/// The same in flat memory.
pub(crate) fn read_flat_bytes(name: &Path, part: Option<&str>, bytes: Vec<u8>, ty: &Type) -> Result<Build> {
    decode(name, part, Cow::Owned(bytes), ty).map(|(decoded, _)| match decoded {
        Decoded::Flat(build) => build,
        Decoded::Tree(value) => {
            let mut build = Build::new(ty);
            build.push_value(&value);
            build
        }
    })
}

/// The decoded contents of a file.
enum Decoded {
    /// Its only value.
    Flat(Build),
    Tree(Value),
}

fn decode(name: &Path, part: Option<&str>, bytes: Cow<'_, [u8]>, ty: &Type) -> Result<(Decoded, Room)> {
    check_readable(name, ty)?;
    let (format, packed) = Format::of(name);
    let is_deflated = matches!(format, Format::Npz | Format::Image(image::Format::Png));
    let room = if packed || is_deflated { Room::Packed(bytes.len()) } else { Room::Machine };
    let bytes = if packed {
        let unpacked = gz::unpack(&bytes)?;
        drop(bytes);
        Cow::Owned(unpacked)
    } else {
        bytes
    };
    let mut build = Build::new(ty);
    let decoded = match format {
        Format::Npy => npy::fill(&bytes, ty, &mut build),
        Format::Npz => npz::fill(&bytes, ty, part, &mut build),
        Format::Mtx => mtx::parse(&bytes).and_then(|matrix| {
            drop(bytes);
            mtx::value::fill(matrix, ty, part, &mut build)
        }),
        Format::Image(format) => image::fill(format, &bytes, ty, &mut build),
        Format::Wav => wav::fill(&bytes, ty, part, &mut build),
        _ => {
            room.check(room::tree(format, &bytes, ty))?;
            let value = match format {
                Format::Table(separator) => csv::read_bytes(&bytes, separator, ty, part),
                Format::Txt | Format::Unknown => plain::read_bytes(&bytes, ty, part),
                _ => Err(later(name, "read")),
            };
            return value.map(|value| (Decoded::Tree(value), room)).map_err(|e| stream::unpacked(e, packed));
        }
    };
    decoded.map_err(|e| stream::unpacked(e, packed))?;
    // A compressed file may expand to this size, whatever it is read as.
    if packed {
        room.check(build.bytes() as u64)?;
    }
    Ok((Decoded::Flat(build), room))
}

/// Whether values of a type can be written to a file of this name: checked before a long run and not after it.
///
/// # Errors
/// If they cannot.
pub fn check_writable(path: impl AsRef<Path>, ty: &Type) -> Result<()> {
    let path = path.as_ref();
    let checked = match Format::of(path).0 {
        Format::Npy => npy::check_type(ty).map(drop),
        Format::Npz => npz::check_type(ty),
        Format::Mtx => mtx::check_type(ty),
        Format::Table(_) => csv::check_type(ty),
        Format::Image(format) => image::check_type(format, ty),
        Format::Wav => wav::check_type(ty),
        Format::Txt | Format::Json => Ok(()),
        Format::Later => Err(later(path, "write")),
        Format::Unknown => Err(Error::new(format!("the file must end in {WRITTEN}"))),
    };
    checked.map_err(|e| e.in_file(path))
}

/// Writes a value of a type to a file by its extension, complete or not at all.
///
/// # Errors
/// If the format cannot hold the value, or the file cannot be written.
pub fn write_value(path: impl AsRef<Path>, ty: &Type, value: &Value) -> Result<()> {
    let path = path.as_ref();
    check_writable(path, ty)?;
    write_data(path, ty, &tree::single(ty, value).map_err(|e| e.in_file(path))?)
}

/// Writes a value in flat memory to a file by its extension, complete or not at all. `data` holds exactly one value, of the type ([`tree::fits`]).
///
/// Arrays, pictures and sound are written from their memory; tables and texts in blocks. See [`stream::create`] for the rest.
///
/// # Errors
/// As [`write_value`].
pub fn write_data(path: impl AsRef<Path>, ty: &Type, data: &Data) -> Result<()> {
    let path = path.as_ref();
    check_writable(path, ty)?;
    if data.len() != 1 || !tree::fits(ty, data) {
        return Err(fit::confused().in_file(path));
    }
    let (format, is_packed) = Format::of(path);
    contents::write(path, format, is_packed, ty, data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;
    use crate::testing::{byte, csr, int, real, record, value, vector};

    #[test]
    fn the_ending_says_it() {
        let of = |name: &str| Format::of(Path::new(name));
        assert_eq!(of("a.mtx"), (Format::Mtx, false));
        assert_eq!(of("dir.npy/A.MTX.GZ"), (Format::Mtx, true));
        assert_eq!(of("a"), (Format::Unknown, false));
        assert_eq!(of("a.gz"), (Format::Unknown, true));
        assert_eq!(of("a.parquet"), (Format::Later, false));
    }

    #[test]
    fn a_part_stands_after_a_colon() {
        let split = |name: &str| {
            let (file, part) = split_part(Path::new(name));
            (file.display().to_string(), part)
        };
        assert_eq!(split("a.npz:x"), ("a.npz".into(), Some("x".into())));
        assert_eq!(split("no/such:dir/b.txt:words"), ("no/such:dir/b.txt".into(), Some("words".into())));
        assert_eq!(split("no/a.npy:x"), ("no/a.npy:x".into(), None));
        assert_eq!(split("no/12:30.txt"), ("no/12:30.txt".into(), None));
    }

    #[test]
    fn every_format_round_trips_through_a_file() {
        let dir = crate::atomic::tests::directory("formats");
        let grey = vector(vector(byte()));
        let i16_ = deckle_ir::scalar::ScalarType::I16;
        for (name, ty, written) in [
            ("a.npy", vector(real()), "[1, 2]"),
            ("a.npy.gz", vector(real()), "[1, 2]"),
            ("a.npz", record(&[("x", vector(real())), ("n", int())]), "([1, 2], 3)"),
            ("a.mtx", csr(real()), "([0, 1, 1, 3], [[(0, 7)], [], [(1, 2), (2, 3)]])"),
            ("a.mtx.gz", csr(real()), "([0, 1, 1, 3], [[(0, 7)], [], [(1, 2), (2, 3)]])"),
            ("a.csv", vector(record(&[("x", real()), ("n", int())])), "[(1, 2), (3, 4)]"),
            ("a.tsv.gz", vector(vector(int())), "[[1, 2], [3, 4]]"),
            ("a.png", grey.clone(), "[[1, 2], [3, 4]]"),
            ("a.pgm", grey.clone(), "[[1, 2], [3, 4]]"),
            ("a.wav", vector(i16_), "[1, -2]"),
            ("a.txt", grey.clone(), "[\"one\", \"two three\"]"),
            ("b.txt", vector(vector(int())), "[[1], [2, 3]]"),
        ] {
            let value = value(written, &ty);
            let path = dir.join(name);
            write_value(&path, &ty, &value).unwrap();
            assert_eq!(read_value(&path, &ty).unwrap(), value, "{name}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    /// A picture of one colour compresses to almost nothing, and is no attack.
    #[test]
    fn a_large_picture_that_packs_well_is_read_back() {
        let dir = crate::atomic::tests::directory("packs-well");
        let (path, n) = (dir.join("a.png"), 4096);
        let ty = vector(vector(byte()));
        let picture = Data::array(Data::equal(n, n, Data::numbers(vec![7u8; n * n])).unwrap());
        write_data(&path, &ty, &picture).unwrap();
        let back = read_data(&path, &ty, &Pool::new(None)).unwrap();
        assert_eq!((back.len(), back.bytes()), (1, n * n + 8 * (n + 1)));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn later_formats_are_a_limitation() {
        for name in ["a.parquet", "a.arrow", "a.json"] {
            let e = read_value(name, &vector(int())).unwrap_err();
            assert_eq!((e.kind, e.path.as_deref()), (Kind::Unsupported, Some(Path::new(name))));
        }
        assert_eq!(check_writable("a.parquet", &vector(int())).unwrap_err().kind, Kind::Unsupported);
        assert_eq!(check_writable("a.xls", &vector(int())).unwrap_err().kind, Kind::File);
        assert!(read_value("a.xls", &vector(int())).unwrap_err().message.contains("ending"));
    }

    #[test]
    fn a_value_that_does_not_fit_leaves_no_file() {
        let dir = crate::atomic::tests::directory("unfit");
        let rows = vector(vector(byte()));
        for name in ["a.npy", "a.png", "a.mtx"] {
            assert!(write_value(dir.join(name), &rows, &value("[[1], [2, 3]]", &rows)).is_err());
        }
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
