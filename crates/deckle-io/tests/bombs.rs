//! Files that promise, unpack to, or nest more than anybody meant: each is read by a process of its own, which ends by itself and holds at most
//! 64 MiB and four times the file.
//!
//! The process is this test again, with the file in its environment: what it ever held is known when it is gone. `DECKLE_BOMBS` says how many there are; a
//! sample of the 500 without it.
#![cfg(target_os = "linux")]

use deckle_io::{gz, read_value, stream};
use deckle_ir::entity::SizeVar;
use deckle_ir::scalar::ScalarType as T;
use deckle_ir::size::Size;
use deckle_ir::types::{RecordType, Type};
use deckle_runtime::Pool;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// How many there are, and how many of them are tried unless `DECKLE_BOMBS` says otherwise.
const ALL: usize = 500;
const SAMPLE: usize = 45;
/// What any process may hold, and how much more for each byte of its file.
const FREE: u64 = 64 << 20;
const PER_BYTE: u64 = 4;

fn vector(elem: impl Into<Type>) -> Type {
    Type::array(Size::var(SizeVar(0)), elem.into())
}

fn tuple(parts: &[Type]) -> Type {
    Type::tuple(parts.to_vec())
}

/// The types that files are read as, by name.
fn types() -> Vec<(&'static str, Type)> {
    let fields = vec![("x".to_string(), vector(T::F64)), ("y".to_string(), vector(T::F64))];
    let columns = Type::Record(Arc::new(RecordType { name: "r".into(), fields }));
    vec![
        ("bytes", vector(T::U8)),
        ("lines", vector(vector(T::U8))),
        ("ints", vector(T::I64)),
        ("reals", vector(T::F64)),
        ("rows", vector(vector(T::F64))),
        ("pairs", vector(tuple(&[T::I64.into(), T::F64.into()]))),
        ("columns", columns),
        ("matrix", vector(vector(tuple(&[T::I64.into(), T::F64.into()])))),
        ("grey", vector(vector(T::U8))),
        ("colours", vector(vector(tuple(&[T::U8.into(), T::U8.into(), T::U8.into()])))),
        ("samples", vector(T::I16)),
        ("deep", (0..40).fold(T::I64.into(), |ty, _| vector(ty))),
    ]
}

/// A file: its name, the type that it is read as, its bytes.
struct Bomb {
    name: String,
    ty: &'static str,
    bytes: Vec<u8>,
}

fn bomb(name: impl Into<String>, ty: &'static str, bytes: Vec<u8>) -> Bomb {
    Bomb { name: name.into(), ty, bytes }
}

fn npy(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    header += &" ".repeat(63 - (header.len() + 10) % 64);
    header.push('\n');
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn wav(claims: u32, channels: u16, data: &[u8]) -> Vec<u8> {
    let format = [&1u16.to_le_bytes()[..], &channels.to_le_bytes(), &8000u32.to_le_bytes()].concat();
    let frame = 2 * channels;
    let rest = [&16000u32.to_le_bytes()[..], &frame.to_le_bytes(), &16u16.to_le_bytes()].concat();
    let head = [b"WAVEfmt ", &16u32.to_le_bytes()[..], &format, &rest, b"data", &claims.to_le_bytes()].concat();
    [b"RIFF", &(claims.saturating_add(36)).to_le_bytes()[..], &head, data].concat()
}

fn png(width: u32, height: u32, colour: u8, rows: usize) -> Vec<u8> {
    let chunk = |kind: &[u8], data: &[u8]| {
        let body = [kind, data].concat();
        let mut crc = flate2::Crc::new();
        crc.update(&body);
        [&(data.len() as u32).to_be_bytes()[..], &body, &crc.sum().to_be_bytes()].concat()
    };
    let channels = if colour == 2 { 3 } else { 1 };
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, colour, 0, 0, 0]].concat();
    let line = vec![0; 1 + width as usize * channels];
    let packed = pack(|out| (0..rows).for_each(|_| out(&line)));
    // The same stream with the head and the checksum of zlib, which the decoder does not insist on.
    let data = [&[0x78, 0x9C][..], &packed[10..packed.len() - 8], &[0; 4]].concat();
    [b"\x89PNG\r\n\x1a\n", &chunk(b"IHDR", &header)[..], &chunk(b"IDAT", &data), &chunk(b"IEND", b"")].concat()
}

/// What `write` writes, packed; it is nowhere as a whole.
fn pack(write: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    write(&mut |bytes| encoder.write_all(bytes).unwrap());
    encoder.finish().unwrap()
}

/// A beginning, and then a part again and again, packed: as members of one file, of which each but the first is the same.
fn repeated(begin: &[u8], part: &[u8], bytes: usize) -> Vec<u8> {
    let many = part.repeat((1 << 20) / part.len());
    let (first, other) = (pack(|out| out(begin)), pack(|out| out(&many)));
    [first, other.repeat(bytes / many.len())].concat()
}

/// The bomb of a number.
fn make(number: usize) -> Bomb {
    let (kind, k) = (number % 20, number / 20);
    let huge = [u64::MAX, 1 << 63, (1 << 62) + 1, 1 << 40, 99_999_999_999][k % 5] - k as u64;
    let mib = (40 + k) << 20;
    let descr = ["<f8", "|u1", "<i8"][k % 3];
    let part: &[u8] = [&b"\n"[..], b" ", b"a\n", b"1,", b"[],", b"1\n", b"\0", b"1,2\n", b"\"\"\n", b"[[[["][k % 10];
    match kind {
        // Headers that lie.
        0 => bomb("a.npy", "reals", npy("<f8", k % 2 == 0, &format!("({huge},)"), &[0; 16])),
        1 => bomb("a.npy", "rows", npy("<f8", k % 2 == 0, &format!("({huge}, {})", k + 2), &[0; 64])),
        2 => bomb("a.npy", "rows", npy("<f8", k % 2 == 0, &format!("({huge}, 0)"), &[])),
        3 => bomb("a.npy.gz", ["reals", "bytes", "ints"][k % 3], {
            repeated(&npy(descr, false, &format!("({huge},)"), &[]), &[0; 64], mib / 4)
        }),
        4 => bomb("a.wav", "samples", wav(huge as u32, 1 + k as u16, &[0; 100])),
        5 => bomb("a.wav.gz", "samples", repeated(&wav((u32::MAX - 40 - k as u32 * 2) & !1, 1, &[]), &[0; 64], mib)),
        6 => bomb("a.pgm", "grey", format!("P5 {huge} {} 255 abc", k + 1).into_bytes()),
        7 => bomb("a.mtx", "matrix", {
            let size = format!("{huge} {huge} {}", 1 + k % 2 * 1_000_000_000);
            format!("%%MatrixMarket matrix coordinate real general\n{size}\n1 1 1\n").into_bytes()
        }),
        8 => bomb("a.mtx", "rows", {
            format!("%%MatrixMarket matrix coordinate real general\n{} {} 1\n1 1 1\n", 1000 + k, 1000 * k * k)
                .into_bytes()
        }),
        9 => bomb("a.png", ["grey", "colours"][k % 2], png(huge as u32 >> 1, 1 + k as u32, 2 * (k % 2) as u8, 1)),
        // Little that unpacks to much.
        10 => bomb("a.png", ["grey", "colours"][k % 2], {
            let side = 3000 + 40 * k as u32;
            png(side, side, 2 * (k % 2) as u8, side as usize)
        }),
        11 => bomb("a.txt.gz", "lines", repeated(b"", part, mib)),
        12 => bomb("a.txt.gz", ["ints", "rows", "columns", "deep"][k % 4], repeated(b"[", part, mib)),
        13 => bomb("a.csv.gz", ["reals", "rows", "lines", "columns"][k % 4], repeated(b"", part, mib)),
        14 => bomb("a.csv.gz", ["pairs", "columns"][k % 2], repeated(b"x,y\n", b"1,2\n", mib)),
        15 => bomb("a.mtx.gz", ["matrix", "rows"][k % 2], {
            let head = "%%MatrixMarket matrix coordinate real general\n9 9 100000000\n";
            repeated(head.as_bytes(), b"1 1 1\n", mib)
        }),
        16 => bomb("a.pgm.gz", "grey", repeated(format!("P5 10000 {} 255 ", 4000 + 900 * k).as_bytes(), &[0; 64], mib)),
        // Nesting, and lines without end.
        17 => bomb(["a.txt", "a.txt.gz"][k % 2], ["deep", "rows"][k % 2], {
            let nested = b"[".repeat(100_000 * (1 + k));
            if k % 2 == 0 { nested } else { pack(|out| out(&nested)) }
        }),
        18 => bomb("a.csv", ["rows", "lines", "pairs"][k % 3], [b"1".repeat((1 + k) << 16), b",\n".to_vec()].concat()),
        _ => bomb(
            ["a.csv", "a.txt"][k % 2],
            ["rows", "lines"][k % 2],
            [&b"\n"[..], b"1,\n", b"\"\n"][k % 3].repeat((1 + k) << 16),
        ),
    }
}

const FILE: &str = "DECKLE_BOMB_FILE";

/// Reads a file as a program of native code does: vectors in blocks, everything else as a whole.
fn read(path: &Path, ty: &Type) -> Result<(), String> {
    if !stream::has_blocks(path, ty) {
        return read_value(path, ty).map(drop).map_err(|e| e.to_string());
    }
    let pool = Pool::new(None);
    let mut source = stream::open_vector(path, ty).map_err(|e| e.to_string())?;
    let mut blocks = Vec::new();
    while let Some(block) = source.next(1 << 20, &pool).map_err(|e| e.to_string())? {
        blocks.push(block);
    }
    Ok(())
}

/// Not a test of its own: what the process of a bomb does.
#[test]
fn in_a_process_of_its_own() {
    let Some((ty, path)) =
        std::env::var(FILE).ok().and_then(|s| s.split_once('=').map(|(a, b)| (a.to_string(), b.to_string())))
    else {
        return;
    };
    let ty = types().into_iter().find(|(name, _)| *name == ty).unwrap().1;
    let said = read(Path::new(&path), &ty);
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap().to_string();
    println!("peak {peak} {}", said.err().unwrap_or("a value".into()));
}

/// The most that the process of a bomb held, and what it said.
fn explode(folder: &Path, bomb: &Bomb) -> (u64, String) {
    let path: PathBuf = folder.join(&bomb.name);
    std::fs::write(&path, &bomb.bytes).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "in_a_process_of_its_own", "--nocapture", "--test-threads=1"]);
    let output = command.env(FILE, format!("{}={}", bomb.ty, path.display())).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {} {said}", bomb.name, output.status);
    let line = said.lines().find_map(|l| l.split_once("peak ")).unwrap_or_else(|| panic!("{said}")).1;
    let (peak, said) = line.split_once(' ').unwrap();
    (peak.parse::<u64>().unwrap() << 10, said.to_string())
}

/// What the process of a bomb may hold. The size of what is packed counts if it was read, and, if it was refused, what may be unpacked of a file before
/// it is refused, beyond what may be of any.
fn allowed(bomb: &Bomb, is_read: bool) -> u64 {
    let len = bomb.bytes.len();
    let counts = match bomb.name.ends_with(".gz") {
        true if is_read => PER_BYTE * gz::unpack(&bomb.bytes).unwrap().len() as u64,
        true => 2 * (gz::limit(len) - gz::limit(0)),
        false => 0,
    };
    FREE + counts.max(PER_BYTE * len as u64)
}

#[test]
fn bombs_are_errors_or_values_in_bounded_memory() {
    let tried = std::env::var("DECKLE_BOMBS").ok().and_then(|n| n.parse().ok()).unwrap_or(SAMPLE);
    let folder = std::env::temp_dir().join(format!("deckle-io-bombs-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (mut errors, mut worst) = (0, Vec::new());
    for number in (0..ALL).step_by(if tried >= ALL { 1 } else { (ALL / tried.max(1)) | 1 }) {
        let bomb = make(number);
        let (peak, said) = explode(&folder, &bomb);
        let most = allowed(&bomb, said == "a value");
        errors += usize::from(said != "a value");
        if peak > most {
            worst.push(format!(
                "{number}: {} as {}, {} bytes: {} MiB, {said}",
                bomb.name,
                bomb.ty,
                bomb.bytes.len(),
                peak >> 20
            ));
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(worst.is_empty(), "{}", worst.join("\n"));
    assert!(errors * 10 > tried * 8, "only {errors} of {tried} were refused");
}
