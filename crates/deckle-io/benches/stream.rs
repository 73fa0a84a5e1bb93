//! Measures the throughput of reading sequences from files: `cargo bench -p deckle-io [npy|bytes|lines|words|csv|mtx]`.
//!
//! The files are written first, so they are in the system's cache: this measures Deckle, not the disk.

use deckle_io::split_part;
use deckle_io::stream::open;
use deckle_ir::entity::SizeVar;
use deckle_ir::scalar::ScalarType as T;
use deckle_ir::size::Size;
use deckle_ir::types::Type;
use deckle_runtime::Pool;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// The approximate size of each file.
const BYTES: usize = 200 << 20;
/// The size of the requested blocks: the largest that a run requests.
const BLOCK: usize = 1 << 20;

fn main() -> std::io::Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let wants = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.starts_with(w.as_str()));
    let dir = std::env::temp_dir().join(format!("deckle-io-bench-{}", std::process::id()));
    std::fs::create_dir_all(&dir)?;
    let text = Type::seq(vector(T::U8.into()));
    let (int, real): (Type, Type) = (T::I64.into(), T::F64.into());
    let pair = |a: &Type, b: &Type| Type::tuple(vec![a.clone(), b.clone()]);
    let triple = Type::tuple(vec![int.clone(), int.clone(), real.clone()]);
    let n = BYTES / 8;
    let floats = made(&dir, "a.npy", &header(&format!("({n},)")), n, |i| (i as f64).sqrt().to_le_bytes())?;
    let rows = made(&dir, "b.npy", &header(&format!("({}, 16)", n / 16)), n, |i| (i as f64).to_le_bytes())?;
    let line = |i: usize| format!("{i}: a line of a log, of no great length {}\n", i % 97);
    let lines = made(&dir, "a.txt", b"", BYTES / 48, line)?;
    let words = ["the ", "quick ", "brown ", "jumped\n", "ox ", "seventeen "];
    let prose = made(&dir, "b.txt", b"", BYTES / 6, |i| words[i * 7 % 6])?;
    let record = |i: usize| format!("{i},{:.6},{}\n", (i as f64).sqrt(), i as f64 / 8.0);
    let table = made(&dir, "a.csv", b"n,x,y\n", BYTES / 30, record)?;
    let n = BYTES / 26;
    let head = format!("%%MatrixMarket matrix coordinate real general\n{} 1000000 {n}\n", n / 9 + 1);
    let entry = |i: usize| format!("{} {} {:.9}\n", i / 9 + 1, i % 9 * 90_000 + i % 77 + 1, (i as f64 * 0.37).sin());
    let matrix = made(&dir, "a.mtx", head.as_bytes(), n, entry)?;
    let part = |path: &Path, part: &str| PathBuf::from(format!("{}:{part}", path.display()));
    let records = Type::seq(Type::tuple(vec![int.clone(), real.clone(), real.clone()]));
    for (what, path, ty) in [
        ("npy, f64", floats, Type::seq(real.clone())),
        ("npy, f64, rows", rows, Type::seq(vector(real.clone()))),
        ("bytes", lines.clone(), Type::seq(T::U8.into())),
        ("lines", lines.clone(), text.clone()),
        ("lines, short", part(&prose, "lines"), text.clone()),
        ("words", part(&prose, "words"), text),
        ("csv, (int, real, real)", table.clone(), records),
        ("csv, one column", part(&table, "x"), Type::seq(real.clone())),
        ("mtx, entries", matrix.clone(), Type::seq(triple)),
        ("mtx, rows", matrix, Type::seq(vector(pair(&int, &real)))),
    ] {
        if wants(what) {
            measure(what, &path, &ty)?;
        }
    }
    std::fs::remove_dir_all(&dir)
}

fn vector(elem: Type) -> Type {
    Type::array(Size::var(SizeVar(0)), elem)
}

/// The header of a `.npy` of this shape.
fn header(shape: &str) -> Vec<u8> {
    let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((text.len() as u16).to_le_bytes());
    bytes.extend(text.bytes());
    bytes
}

/// A file of a number of pieces, each created from its number.
fn made<P: AsRef<[u8]>>(
    dir: &Path,
    name: &str,
    head: &[u8],
    n: usize,
    piece: impl Fn(usize) -> P,
) -> std::io::Result<PathBuf> {
    let path = dir.join(name);
    let mut out = BufWriter::new(File::create(&path)?);
    out.write_all(head)?;
    (0..n).try_for_each(|i| out.write_all(piece(i).as_ref()))?;
    out.flush()?;
    Ok(path)
}

fn measure(what: &str, path: &Path, ty: &Type) -> std::io::Result<()> {
    let mut best = f64::INFINITY;
    let mut elements = 0;
    for _ in 0..5 {
        let pool = Pool::new(None);
        let begun = Instant::now();
        let mut source = open(path, ty).map_err(std::io::Error::other)?;
        elements = 0;
        while let Some(block) = source.next(BLOCK, &pool).map_err(std::io::Error::other)? {
            elements += block.len();
        }
        best = best.min(begun.elapsed().as_secs_f64());
    }
    let bytes = std::fs::metadata(split_part(path).0)?.len();
    println!("{what:24} {:8.0} MB/s {elements:12} elements", bytes as f64 / best / 1e6);
    Ok(())
}
