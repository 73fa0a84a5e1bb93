//! Damaged files of every format: each gives an error with a position, or a value, in bounded memory and time, and never a panic.
//!
//! Small valid files are damaged in many ways: truncated, with bytes
//! replaced, inserted, removed, doubled, with false numbers. Each change is a function of its number; `DECKLE_CASES`
//! gives the number of changes for each file.

use deckle_io::{Error, Kind, read_value, read_value_bytes, stream, text, write_value};
use deckle_ir::entity::SizeVar;
use deckle_ir::scalar::ScalarType as T;
use deckle_ir::size::Size;
use deckle_ir::types::{RecordType, Type};
use deckle_ir::value::Value;
use deckle_runtime::Pool;
use deckle_runtime::stream::Error as StreamError;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The number of changes to each valid file, in addition to truncation at every byte, unless `DECKLE_CASES` is set.
const ROUNDS: usize = 1_500;
const LONGEST: Duration = Duration::from_secs(10);
/// The maximal memory of the process, in KiB: far less than any of the false sizes would need.
const MOST_MEMORY: u64 = 400 << 10;

fn vector(elem: impl Into<Type>) -> Type {
    Type::array(Size::var(SizeVar(0)), elem.into())
}

fn record(fields: &[(&str, Type)]) -> Type {
    let fields = fields.iter().map(|(name, ty)| (name.to_string(), ty.clone())).collect();
    Type::Record(Arc::new(RecordType { name: "r".into(), fields }))
}

fn pair(a: impl Into<Type>, b: impl Into<Type>) -> Type {
    Type::tuple(vec![a.into(), b.into()])
}

/// A valid file.
struct Seed {
    name: &'static str,
    ty: Type,
    bytes: Vec<u8>,
}

fn seeds(test: &str) -> Vec<Seed> {
    let csr = record(&[("off", vector(T::I64)), ("rows", vector(vector(pair(T::I64, T::F64))))]);
    let dense = vector(vector(T::F64));
    let mtx = |header: &str, body: &str| format!("%%MatrixMarket matrix {header}\n% sizes\n{body}").into_bytes();
    let mut seeds = vec![
        Seed {
            name: "a.mtx",
            ty: csr.clone(),
            bytes: mtx("coordinate real general", "3 4 3\n1 1 7\n3 2 2.5\n3 4 -1e3\n"),
        },
        Seed { name: "a.mtx", ty: csr.clone(), bytes: mtx("coordinate integer symmetric", "3 3 2\n1 1 7\n3 2 2\n") },
        Seed { name: "a.mtx", ty: dense.clone(), bytes: mtx("coordinate pattern general", "2 2 2\n1 1\n2 2\n") },
        Seed { name: "a.mtx", ty: dense, bytes: mtx("array integer skew-symmetric", "3 3\n1\n2\n3\n") },
        Seed {
            name: "a.csv",
            ty: record(&[("n", vector(T::I64)), ("name", vector(vector(T::U8)))]),
            bytes: b"name,n,x\r\n\"on,e\",1,2.5\r\ntwo,-2,1e9\r\n".to_vec(),
        },
        Seed { name: "a.tsv", ty: vector(vector(T::F64)), bytes: b"1\t2.5\n3\tnan\n".to_vec() },
        Seed { name: "a.txt", ty: vector(vector(T::I64)), bytes: b"[[1, 2],\n [], [-3]]\n".to_vec() },
        Seed { name: "a.pgm", ty: vector(vector(T::U8)), bytes: b"P2\n# grey\n3 2\n255\n0 1 2\n3 4 255\n".to_vec() },
        Seed { name: "a.npz", ty: vector(T::I32), bytes: deflated_npz() },
    ];
    let pixel = Type::tuple(vec![T::U8.into(); 3]);
    let written = [
        ("a.npy", vector(vector(T::F64)), "[[1, 2, 3], [4, 5, 6]]"),
        ("a.npz", record(&[("x", vector(T::F32)), ("n", T::I64.into())]), "([1, 2], 3)"),
        ("a.mtx.gz", csr, "([0, 1, 3], [[(0, 7)], [(1, 2), (2, 3)]])"),
        ("a.png", vector(vector(T::U8)), "[[0, 128, 255], [1, 2, 3]]"),
        ("b.png", vector(vector(pixel.clone())), "[[(255, 0, 0), (0, 255, 0)], [(1, 2, 3), (4, 5, 6)]]"),
        ("a.pgm", vector(vector(T::U16)), "[[0, 65535], [300, 4]]"),
        ("a.ppm", vector(vector(pixel)), "[[(255, 0, 0), (0, 255, 0)]]"),
        ("a.wav", vector(T::I16), "[0, 1, -32768]"),
        ("b.wav", record(&[("rate", T::I64.into()), ("samples", vector(pair(T::F32, T::F32)))]), "(8000, [(0.5, -1)])"),
    ];
    let dir = std::env::temp_dir().join(format!("deckle-io-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    for (name, ty, value) in written {
        let path = dir.join(name);
        write_value(&path, &ty, &text::parse(value, &ty).unwrap()).unwrap();
        read_value(&path, &ty).unwrap();
        seeds.push(Seed { name, ty, bytes: std::fs::read(path).unwrap() });
    }
    std::fs::remove_dir_all(&dir).unwrap();
    for seed in &seeds {
        read_value_bytes(Path::new(seed.name), None, &seed.bytes, &seed.ty).unwrap();
    }
    seeds
}

/// The output of `np.savez_compressed(f, np.arange(3, dtype='i4'))`, except its time.
fn deflated_npz() -> Vec<u8> {
    let ty = Type::array(3.into(), T::I32.into());
    let contents = deckle_io::npy::write_bytes(&ty, &text::parse("[0, 1, 2]", &ty).unwrap()).unwrap();
    let packed = deflate(&contents);
    let sizes = [crc(&contents), packed.len() as u32, contents.len() as u32].map(u32::to_le_bytes).concat();
    let head = [&[20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0][..], &sizes, &[9, 0, 0, 0]].concat();
    let member = [b"PK\x03\x04", &head[..], b"arr_0.npy", &packed].concat();
    let entry = [b"PK\x01\x02\x14\0", &head[..], &[0; 14], b"arr_0.npy"].concat();
    let ends = [entry.len() as u32, member.len() as u32].map(u32::to_le_bytes).concat();
    [&member[..], &entry, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &ends, &[0, 0]].concat()
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn crc(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A deterministic sequence of numbers.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }
}

/// Words that are invalid in a text, or at some places.
const WORDS: [&[u8]; 16] = [
    b"0",
    b"-1",
    b"99999999",
    b"1000000000000",
    b"18446744073709551616",
    b"nan",
    b"1e999",
    b"\"",
    b",",
    b"\n",
    b"%",
    b"P5",
    b"\xFF\xFE",
    b"general",
    b"complex",
    b" ",
];
/// Numbers that are invalid in a binary header.
const NUMBERS: [[u8; 4]; 6] =
    [[0xFF; 4], [0; 4], [0xFF, 0xFF, 0xFF, 0x7F], [0x7F, 0xFF, 0xFF, 0xFF], [0, 0, 0, 0x40], [0, 1, 0, 0]];

fn damage(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len());
        match dice.below(9) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, dice.below(256) as u8),
            2 => drop(bytes.drain(at..(at + 1 + dice.below(4)).min(bytes.len()))),
            3 => {
                let part = bytes[at..(at + dice.below(40)).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
            4 => bytes.extend(WORDS[dice.below(WORDS.len())]),
            5 | 6 => {
                let word = WORDS[dice.below(WORDS.len())];
                let end = (at + 1 + dice.below(3)).min(bytes.len());
                bytes.splice(at..end.max(at), word.iter().copied());
            }
            7 => {
                let number = NUMBERS[dice.below(NUMBERS.len())];
                bytes.iter_mut().skip(at).zip(number).for_each(|(b, n)| *b = n);
            }
            _ => bytes.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << dice.below(8)),
        }
    }
}

/// Recomputes the checksums of a PNG file, so that damage passes them.
fn repair_png(bytes: &mut [u8]) {
    let mut at = 8;
    while let Some(head) = bytes.get(at..at + 8) {
        let len = head[..4].iter().fold(0usize, |n, b| n << 8 | usize::from(*b));
        if len > bytes.len() || at + 12 + len > bytes.len() {
            return;
        }
        let sum = crc(&bytes[at + 4..at + 8 + len]).to_be_bytes();
        bytes[at + 8 + len..at + 12 + len].copy_from_slice(&sum);
        at += 12 + len;
    }
}

/// Reads a damaged file; returns whether that was an error.
fn attempt(seed: &Seed, bytes: &[u8]) -> bool {
    let started = Instant::now();
    let result = read_value_bytes(Path::new(seed.name), None, bytes, &seed.ty);
    assert!(started.elapsed() < LONGEST, "{} took {:?}: {bytes:?}", seed.name, started.elapsed());
    match result {
        Ok(_) => false,
        Err(e) => {
            let somewhere = e.place().is_some() || e.message.contains("byte");
            assert!(somewhere || e.kind == Kind::Misfit, "{}: {e}: {bytes:?}", seed.name);
            true
        }
    }
}

#[test]
fn damaged_files_give_errors_or_values() {
    let rounds = std::env::var("DECKLE_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(ROUNDS);
    for (number, seed) in seeds("damaged").iter().enumerate() {
        let mut dice = Dice(0x9E37_79B9_7F4A_7C15 ^ (number as u64 + 1) << 32);
        let mut errors = 0;
        for len in 0..seed.bytes.len() {
            errors += usize::from(attempt(seed, &seed.bytes[..len]));
        }
        for round in 0..rounds {
            let mut bytes = seed.bytes.clone();
            damage(&mut bytes, &mut dice);
            if seed.name.ends_with("png") && round % 2 == 0 {
                repair_png(&mut bytes);
            }
            errors += usize::from(attempt(seed, &bytes));
        }
        assert!(errors > rounds / 5, "only {errors} of {} were noticed in {}", rounds + seed.bytes.len(), seed.name);
    }
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak =
            status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        assert!(peak.is_none_or(|kib| kib < MOST_MEMORY), "{peak:?} KiB");
    }
}

/// Compressed files of every format: damaged contents with valid compression, and damaged compression.
#[test]
fn damaged_contents_and_damaged_packing() {
    let mut dice = Dice(7);
    let pack = |bytes: &[u8]| {
        let mut packed = Vec::new();
        deckle_io::gz::pack(&mut packed, bytes).unwrap();
        packed
    };
    for seed in seeds("packed").iter().filter(|s| !s.name.ends_with(".gz")) {
        let name = format!("{}.gz", seed.name);
        for _ in 0..300 {
            let mut bytes = seed.bytes.clone();
            damage(&mut bytes, &mut dice);
            let alone = read_value_bytes(Path::new(seed.name), None, &bytes, &seed.ty);
            let in_pack = read_value_bytes(Path::new(&name), None, &pack(&bytes), &seed.ty);
            assert_eq!(alone.is_ok(), in_pack.is_ok());
            let mut packed = pack(&seed.bytes);
            damage(&mut packed, &mut dice);
            let started = Instant::now();
            let _ = read_value_bytes(Path::new(&name), None, &packed, &seed.ty);
            assert!(started.elapsed() < LONGEST, "{name} took {:?}: {packed:?}", started.elapsed());
        }
    }
}

/// The result of streaming a file: all elements, or the error after some.
fn streamed(path: &Path, ty: &Type, bytes: usize) -> Result<Vec<Value>, Error> {
    let (pool, mut all) = (Pool::new(None), Vec::new());
    let mut source = stream::open(path, ty)?;
    loop {
        match source.next(bytes, &pool) {
            Ok(None) => return Ok(all),
            Ok(Some(block)) => all.extend(deckle_io::tree::values(ty.elem().unwrap(), &block)),
            Err(StreamError::Failed(e)) => return Err(*e.downcast().unwrap()),
            Err(e) => panic!("{e}"),
        }
    }
}

/// Streaming reports a damaged file exactly if reading does, except for matrices in another order.
#[test]
fn damaged_files_are_streamed_as_they_are_read() {
    let coordinates = |kind: &str, body: &str| format!("%%MatrixMarket matrix coordinate {kind}\n{body}").into_bytes();
    let seq = |elem: Type| Type::seq(elem);
    let triple = |value: T| seq(Type::tuple(vec![T::I64.into(), T::I64.into(), value.into()]));
    let array = deckle_io::npy::write_bytes(&vector(vector(T::F64)), &{
        text::parse("[[1, 2, 3], [4, 5, 6]]", &vector(vector(T::F64))).unwrap()
    });
    let samples = vector(T::I16);
    let sound = deckle_io::wav::write_bytes(&samples, &text::parse("[0, 1, -32768]", &samples).unwrap());
    let table = b"name,n,x\r\n\"on,e\",1,2.5\r\n\"t\nwo\",-2,1e9\r\n".to_vec();
    let entries = coordinates("real general", "% sizes\n3 4 4\n1 1 7\n1 3 1\n3 2 2.5\n3 4 -1e3\n");
    let whole = coordinates("integer general", "2 2 3\n1 1 1\n1 2 2\n2 2 3\n");
    let seeds = [
        Seed { name: "a.npy", ty: seq(vector(T::F64)), bytes: array.unwrap() },
        Seed { name: "a.csv", ty: seq(record(&[("n", T::I64.into()), ("name", vector(T::U8))])), bytes: table.clone() },
        Seed { name: "a.csv", ty: seq(vector(vector(T::U8))), bytes: table },
        Seed { name: "a.csv", ty: seq(pair(T::I64, T::F64)), bytes: b"1,2.5\n3,4\n\n5,6\n".to_vec() },
        Seed { name: "a.mtx", ty: triple(T::F64), bytes: entries.clone() },
        Seed { name: "a.mtx", ty: triple(T::U8), bytes: whole },
        Seed { name: "a.mtx", ty: seq(vector(pair(T::I64, T::F64))), bytes: entries },
        Seed { name: "a.txt", ty: seq(vector(T::U8)), bytes: b"a line\r\n\nanother\n".to_vec() },
        Seed { name: "a.csv.gz", ty: seq(T::I64.into()), bytes: b"1\n2\n-3\n".to_vec() },
        Seed { name: "a.txt.gz", ty: seq(T::U8.into()), bytes: b"a line\r\n\nanother\n".to_vec() },
        Seed { name: "a.wav.gz", ty: seq(T::I16.into()), bytes: sound.unwrap() },
    ];
    let dir = std::env::temp_dir().join(format!("deckle-io-streamed-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let mut dice = Dice(11);
    for seed in &seeds {
        let path = dir.join(seed.name);
        for round in 0..600 {
            let mut bytes = seed.bytes.clone();
            if round > 0 {
                damage(&mut bytes, &mut dice);
            }
            if seed.name.ends_with(".gz") {
                let contents = std::mem::take(&mut bytes);
                deckle_io::gz::pack(&mut bytes, &contents).unwrap();
            }
            std::fs::write(&path, &bytes).unwrap();
            let read = read_value(&path, &seed.ty);
            let shown = String::from_utf8_lossy(&bytes);
            match (streamed(&path, &seed.ty, 1 + dice.below(100)), read) {
                (Ok(found), Ok(value)) => assert_eq!(found, value.items().unwrap(), "{shown}"),
                (Err(_), Err(_)) => {}
                (Err(e), Ok(_)) => assert!(round > 0 && e.help.is_some_and(|h| h.contains("as a whole")), "{shown}"),
                // Streaming sound does not read the bytes after the samples.
                (Ok(_), Err(e)) if seed.name == "a.wav.gz" && e.message.contains("chunk") => {}
                (Ok(_), Err(e)) => panic!("{e}: {shown}"),
            }
        }
    }
    std::fs::remove_dir_all(&dir).unwrap();
}
