//! Arrays, pictures and sound are written from flat memory and read into it: a process that does either uses little more than the value and the file.
//!
//! Each is written and read by a process of its own, which is this test again: its peak is known at its end (`VmHWM`). A counting allocator would not
//! see the mappings of pools. `DECKLE_PEAKS=1` prints each peak.
#![cfg(target_os = "linux")]

use deckle_io::{stream, tree, write_data};
use deckle_ir::entity::SizeVar;
use deckle_ir::scalar::ScalarType as T;
use deckle_ir::size::Size;
use deckle_ir::types::{RecordType, Type};
use deckle_runtime::{Data, Form, Number, Pool};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// The documented bound: this many hundredths of the value, plus this constant.
const PROMISED: (u64, u64) = (220, 64 << 20);
/// The memory of the process, buffers and tables of compressors, besides values and files.
const BESIDE: u64 = 12 << 20;
/// The approximate number of bytes of a value.
const BYTES: usize = 36 << 20;
/// The sides of pictures, which take time to compress.
const SIDE: usize = 3456;

const WHAT: &str = "DECKLE_PEAKS_OF";

/// A value, the file that it is written to, and the type that is read.
struct Case {
    file: &'static str,
    ty: Type,
    make: fn() -> Data,
    read_as: Type,
    /// Whether it is read in blocks that are joined, since it is larger than its file.
    is_joined: bool,
}

fn vector(elem: impl Into<Type>) -> Type {
    Type::array(Size::var(SizeVar(0)), elem.into())
}

fn tuple(elem: T, n: usize) -> Type {
    Type::tuple(vec![elem.into(); n])
}

fn cases() -> Vec<Case> {
    let case = |file, ty: Type, make| Case { file, read_as: ty.clone(), ty, make, is_joined: false };
    let widened = |file, ty, make, read_as| Case { file, ty, make, read_as, is_joined: true };
    let fields = vec![("rate".to_string(), T::I64.into()), ("samples".to_string(), vector(T::I16))];
    let with_rate = Type::Record(Arc::new(RecordType { name: "sound".into(), fields }));
    vec![
        case("f32.npy", vector(T::F32), || one(numbers(BYTES / 4, |k| k as f32))),
        case("rows.npz", vector(vector(T::F64)), || one(rows(numbers(BYTES / 8, |k| k as f64), 1024))),
        widened("u8.npy", vector(T::U8), || one(numbers(BYTES / 8, |k| k as u8)), vector(T::I64)),
        widened("f32-as-f64.npy", vector(T::F32), || one(numbers(BYTES / 8, |k| k as f32)), vector(T::F64)),
        case("grey.png", vector(vector(T::U8)), || one(rows(plane(0), SIDE))),
        case("colour.png", vector(vector(tuple(T::U8, 3))), || one(rows(pixels(3), SIDE))),
        case("deep.png", vector(vector(T::U16)), || one(rows(numbers(SIDE * SIDE, |k| noise(k) as u16), SIDE))),
        case("colour.ppm", vector(vector(tuple(T::U8, 3))), || one(rows(pixels(3), SIDE))),
        case("mono.wav", vector(T::I16), || one(numbers(BYTES / 2, |k| k as i16))),
        case("stereo.wav", vector(tuple(T::F64, 2)), || {
            let channel = |sign: f64| numbers(BYTES / 16, |k| sign * (k % 1000) as f64 / 1024.0);
            one(Data::tuples(BYTES / 16, vec![channel(1.0), channel(-1.0)]).unwrap())
        }),
        case("rate.wav", with_rate, || {
            let samples = one(numbers(BYTES / 2, |k| k as i16));
            Data::tuples(1, vec![Data::numbers(vec![48_000i64]), samples]).unwrap()
        }),
    ]
}

fn one(elements: Data) -> Data {
    Data::array(elements)
}

fn numbers<N: Number>(len: usize, number: impl Fn(usize) -> N) -> Data {
    let mut all = Vec::with_capacity(len + 64);
    all.extend((0..len).map(number));
    Data::numbers(all)
}

fn rows(elements: Data, width: usize) -> Data {
    Data::equal(elements.len() / width, width, elements).unwrap()
}

/// Incompressible bits.
fn noise(k: usize) -> u64 {
    let x = (k as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 31
}

fn plane(channel: usize) -> Data {
    numbers(SIDE * SIDE, |k| noise(3 * k + channel) as u8)
}

fn pixels(channels: usize) -> Data {
    Data::tuples(SIDE * SIDE, (0..channels).map(plane).collect()).unwrap()
}

/// Reads a file as a whole, like native code.
fn read(path: &Path, ty: &Type) -> Data {
    let pool = Pool::new(None);
    assert!(stream::is_flat(path, ty));
    let mut source = stream::open_whole(path, ty).unwrap();
    let mut blocks = Vec::new();
    let at_once = |all: Option<(u64, u64)>| all.map_or(1 << 20, |(_, all)| (1 << 20).max(all as usize));
    while let Some(block) = source.next(at_once(source.progress()), &pool).unwrap() {
        blocks.push(block);
    }
    drop(source);
    let all = Data::join(&blocks, &pool).unwrap();
    if ty.elem().is_some() { one(all) } else { all }
}

/// A checksum of all scalars, in their order.
fn sum(data: &Data) -> u64 {
    let mix = |sum: u64, x: u64| (sum ^ x).wrapping_mul(0x0100_0000_01B3).rotate_left(17);
    match data.form() {
        Form::Scalars(_, b) => b.as_slice::<u8>().iter().fold(b.len() as u64, |sum, x| mix(sum, u64::from(*x))),
        Form::Tuple(parts) => parts.iter().map(sum).fold(data.len() as u64, mix),
        Form::Equal(_, elem) | Form::Offsets(_, elem) => mix(sum(elem), data.len() as u64),
    }
}

/// Not a separate test: the code of a process.
#[test]
fn in_a_process_of_its_own() {
    let Ok(what) = std::env::var(WHAT) else { return };
    let (verb, path) = what.split_once('=').unwrap();
    let path = Path::new(path);
    let case = cases().into_iter().find(|case| path.ends_with(case.file)).unwrap();
    let data = if verb == "write" { (case.make)() } else { read(path, &case.read_as) };
    if verb == "write" {
        write_data(path, &case.ty, &data).unwrap();
    } else {
        assert!(tree::fits(&case.read_as, &data));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")).unwrap();
    println!("held {peak} {} {}", data.bytes(), sum(&data));
}

/// The peak memory of a process, and the bytes and the checksum of its value.
fn held(verb: &str, path: &Path) -> (u64, u64, u64) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "in_a_process_of_its_own", "--nocapture", "--test-threads=1"]);
    let output = command.env(WHAT, format!("{verb}={}", path.display())).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{verb} {}: {said}{}", path.display(), String::from_utf8_lossy(&output.stderr));
    let line = said.lines().find_map(|l| l.split_once("held ")).unwrap_or_else(|| panic!("{said}")).1;
    let numbers: Vec<u64> = line.split_whitespace().map(|n| n.parse().unwrap()).collect();
    (numbers[0] << 10, numbers[1], numbers[2])
}

#[test]
fn writing_holds_the_value_and_reading_the_value_and_its_file() {
    let folder = std::env::temp_dir().join(format!("deckle-io-peaks-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut worst = Vec::new();
    for case in cases() {
        let path = folder.join(case.file);
        let mut sums = Vec::new();
        for verb in ["write", "read"] {
            let (peak, value, sum) = held(verb, &path);
            sums.push(sum);
            let file = std::fs::metadata(&path).unwrap().len();
            let needed = match verb {
                "write" => value,
                _ if case.is_joined => 2 * value,
                _ => value + file,
            };
            let most = (needed + BESIDE).min(value * PROMISED.0 / 100 + PROMISED.1);
            let mib = |n: u64| n >> 20;
            let said = format!("{verb} {}: {} MiB, a file of {}: {}", case.file, mib(value), mib(file), mib(peak));
            if std::env::var_os("DECKLE_PEAKS").is_some() {
                println!("{said}");
            }
            if peak > most {
                worst.push(format!("{said} and not {}", mib(most)));
            }
        }
        assert!(case.is_joined || sums[0] == sums[1], "{}: what is read is not what was written", case.file);
        std::fs::remove_file(&path).unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(worst.is_empty(), "MiB held:\n{}", worst.join("\n"));
}
