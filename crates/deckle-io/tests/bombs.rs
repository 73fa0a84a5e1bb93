//! Files that claim, expand to, or nest more than is plausible: each is read by a process of its own, which ends on its own and uses at most
//! 64 MiB plus four times the file.
//!
//! The process is this test again, with the file in its environment: its peak is known when it has ended. `DECKLE_BOMBS` gives the number of files; without it,
//! a sample of the 500. Valid files of the same formats must meet the same bound, where the resulting value counts as the file does.
#![cfg(target_os = "linux")]

use deckle_io::{gz, image, read_value, read_value_bytes, stream};
use deckle_ir::entity::SizeVar;
use deckle_ir::scalar::ScalarType as T;
use deckle_ir::size::Size;
use deckle_ir::types::{RecordType, Type};
use deckle_runtime::stream::Source;
use deckle_runtime::{Data, Pool};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The number of files, and of those that are tested unless `DECKLE_BOMBS` is set.
const ALL: usize = 500;
const SAMPLE: usize = 30;
/// The memory that any process may use, and the additional memory per byte of its file.
const FREE: u64 = 64 << 20;
const PER_BYTE: u64 = 4;

fn vector(elem: impl Into<Type>) -> Type {
    Type::array(Size::var(SizeVar(0)), elem.into())
}

fn tuple(parts: &[Type]) -> Type {
    Type::tuple(parts.to_vec())
}

/// The requested types of files, by name.
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
        ("csr", {
            let rows = vector(vector(tuple(&[T::I64.into(), T::F64.into()])));
            let fields = vec![("off".to_string(), vector(T::I64)), ("rows".to_string(), rows)];
            Type::Record(Arc::new(RecordType { name: "csr".into(), fields }))
        }),
        ("deep", (0..40).fold(T::I64.into(), |ty, _| vector(ty))),
    ]
}

/// A file: its name, its requested type, its bytes.
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
    // The same stream with the head and the checksum of zlib, which the decoder does not check.
    let data = [&[0x78, 0x9C][..], &packed[10..packed.len() - 8], &[0; 4]].concat();
    [b"\x89PNG\r\n\x1a\n", &chunk(b"IHDR", &header)[..], &chunk(b"IDAT", &data), &chunk(b"IEND", b"")].concat()
}

/// An archive of one array, compressed like this, whose header claims `claims` bytes.
fn npz(gz: &[u8], claims: usize) -> Vec<u8> {
    let packed = &gz[10..gz.len() - 8];
    let crc: [u8; 4] = gz[gz.len() - 8..gz.len() - 4].try_into().unwrap();
    let sizes = [crc, (packed.len() as u32).to_le_bytes(), (claims as u32).to_le_bytes()].concat();
    let head = [&[20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0][..], &sizes, &[9, 0, 0, 0]].concat();
    let member = [b"PK\x03\x04", &head[..], b"arr_0.npy", packed].concat();
    let entry = [b"PK\x01\x02\x14\0", &head[..], &[0; 14], b"arr_0.npy"].concat();
    let ends = [entry.len() as u32, member.len() as u32].map(u32::to_le_bytes).concat();
    [&member[..], &entry, b"PK\x05\x06\0\0\0\0\x01\0\x01\0", &ends, &[0, 0]].concat()
}

/// Compresses the output of `write`, which is never in memory as a whole.
fn pack(write: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Vec<u8> {
    pack_at(flate2::Compression::best(), write)
}

/// The same with the fastest compression.
fn pack_fast(bytes: &[u8]) -> Vec<u8> {
    pack_at(flate2::Compression::fast(), |out| out(bytes))
}

fn pack_at(level: flate2::Compression, write: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), level);
    write(&mut |bytes| encoder.write_all(bytes).unwrap());
    encoder.finish().unwrap()
}

/// A beginning followed by a repeated part, compressed: as members of one file, which are equal except the first.
fn repeated(begin: &[u8], part: &[u8], bytes: usize) -> Vec<u8> {
    let many = part.repeat((1 << 20) / part.len());
    let (first, other) = (pack(|out| out(begin)), pack(|out| out(&many)));
    [first, other.repeat(bytes / many.len())].concat()
}

/// The bomb of a number.
fn make(number: usize) -> Bomb {
    let (kind, k) = (number % 21, number / 21);
    let huge = [u64::MAX, 1 << 63, (1 << 62) + 1, 1 << 40, 99_999_999_999][k % 5] - k as u64;
    let mib = (40 + k) << 20;
    let descr = ["<f8", "|u1", "<i8"][k % 3];
    let part: &[u8] = [&b"\n"[..], b" ", b"a\n", b"1,", b"[],", b"1\n", b"\0", b"1,2\n", b"\"\"\n", b"[[[["][k % 10];
    match kind {
        // Headers with false sizes.
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
        // Small files that expand to large ones.
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
        19 => {
            let contents = npy("<f8", false, &format!("({},)", mib / 8), &vec![0; mib]);
            bomb("a.npz", "reals", npz(&pack(|out| out(&contents)), [contents.len(), 1000, u32::MAX as usize][k % 3]))
        }
        _ => bomb(
            ["a.csv", "a.txt"][k % 2],
            ["rows", "lines"][k % 2],
            [&b"\n"[..], b"1,\n", b"\"\n"][k % 3].repeat((1 + k) << 16),
        ),
    }
}

const FILE: &str = "DECKLE_BOMB_FILE";

/// Reads a file as native code does: into flat memory, or a written value as a tree.
fn read(path: &Path, ty: &Type) -> Result<(), String> {
    if !stream::is_flat(path, ty) {
        return read_value(path, ty).map(drop).map_err(|e| e.to_string());
    }
    let pool = Pool::new(None);
    let mut source = stream::open_whole(path, ty).map_err(|e| e.to_string())?;
    let mut blocks = Vec::new();
    let at_once = |source: &dyn Source| source.progress().map_or(1 << 20, |(_, all)| (1 << 20).max(all as usize));
    while let Some(block) = source.next(at_once(&*source), &pool).map_err(|e| e.to_string())? {
        blocks.push(block);
    }
    println!("bytes {}", blocks.iter().map(Data::bytes).sum::<usize>());
    Ok(())
}

/// Not a separate test: the process of a bomb.
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

/// The peak memory of the process of a bomb, the bytes of the value that it read, and its output.
fn explode(folder: &Path, bomb: &Bomb) -> (u64, u64, String) {
    let path: PathBuf = folder.join(&bomb.name);
    std::fs::write(&path, &bomb.bytes).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "in_a_process_of_its_own", "--nocapture", "--test-threads=1"]);
    let output = command.env(FILE, format!("{}={}", bomb.ty, path.display())).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}: {} {said}", bomb.name, output.status);
    let line = said.lines().find_map(|l| l.split_once("peak ")).unwrap_or_else(|| panic!("{said}")).1;
    let (peak, ended) = line.split_once(' ').unwrap();
    let bytes = said.lines().find_map(|l| l.split_once("bytes ")?.1.parse().ok()).unwrap_or(0);
    (peak.parse::<u64>().unwrap() << 10, bytes, ended.to_string())
}

/// The memory that the process of a bomb may use. The decompressed size counts if it was read, and, if it was rejected, the limit up to which a file is decompressed before
/// it is rejected, beyond the limit for any file.
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
        let (peak, _, said) = explode(&folder, &bomb);
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

/// Incompressible numbers.
fn noise(len: usize) -> Vec<u8> {
    let mut x = 88_172_645_463_325_252u64;
    let next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        x as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn sound_files_take_four_times_the_file_and_the_value() {
    let folder = std::env::temp_dir().join(format!("deckle-io-sound-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (side, n) = (1600, 1usize << 19);
    let picture = |kind: &str, bytes: Vec<u8>| [format!("{kind} {side} {side} 255\n").into_bytes(), bytes].concat();
    let grey = picture("P5", noise(side * side));
    let colours = picture("P6", noise(3 * side * side));
    let ty = |name: &str| types().into_iter().find(|(n, _)| *n == name).unwrap().1;
    let read = |name: &str, bytes: &[u8], ty: &Type| read_value_bytes(Path::new(name), None, bytes, ty).unwrap();
    let png = image::write_bytes(image::Format::Png, &ty("colours"), &read("a.ppm", &colours, &ty("colours"))).unwrap();
    let floats: Vec<u8> = (0..2 * n).flat_map(|i| (i as f64).to_le_bytes()).collect();
    let array = |fortran: bool| npy("<f8", fortran, &format!("({n}, 2)"), &floats);
    let entries: String = (0..n).map(|i| format!("{} {} {i}\n", i * 7919 % n + 1, i % 1000 + 1)).collect();
    let header = "%%MatrixMarket matrix coordinate real general\n";
    let matrix = format!("{header}{n} 1000 {n}\n{entries}").into_bytes();
    let files = [
        bomb("a.pgm", "grey", grey.clone()),
        bomb("a.pgm.gz", "grey", pack_fast(&grey)),
        bomb("a.ppm", "colours", colours),
        bomb("a.png", "colours", png),
        bomb("a.npy", "rows", array(false)),
        bomb("a.npy", "rows", array(true)),
        bomb("a.npz", "rows", npz(&pack_fast(&array(false)), array(false).len())),
        bomb("a.mtx", "matrix", matrix.clone()),
        bomb("a.mtx.gz", "csr", pack_fast(&matrix)),
    ];
    for file in &files {
        let (peak, value, said) = explode(&folder, file);
        assert_eq!(said, "a value", "{} as {}", file.name, file.ty);
        let most = FREE + PER_BYTE * (file.bytes.len() as u64 + value);
        let (name, ty, len) = (&file.name, file.ty, file.bytes.len());
        assert!(peak <= most, "{name} as {ty}: {len} bytes, a value of {value}, {} MiB", peak >> 20);
        if std::env::var_os("DECKLE_BOMBS").is_some() {
            println!("{name} as {ty}: {len} bytes, a value of {value}, {} MiB", peak >> 20);
        }
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
