//! Tests of the archive format and of how its members become a value.

use super::*;
use crate::testing::{int, ints, real, reals, record, vector};
use deckle_ir::scalar::ScalarType as T;
use std::io::Write;

/// The output of `np.savez(f, off=np.array([0, 1], 'i4'), val=[2.5])`, except the name of the method and the times.
fn archive(method: u16) -> Vec<u8> {
    let mut all = Vec::new();
    let mut directory = Vec::new();
    let members = [
        ("off.npy", npy::write_bytes(&vector(T::I32), &Value::array(vec![i32_(0), i32_(1)])).unwrap()),
        ("val.npy", npy::write_bytes(&vector(real()), &reals(&[2.5])).unwrap()),
    ];
    for (name, contents) in &members {
        let packed = if method == 0 { contents.clone() } else { deflated(contents) };
        let mut crc = flate2::Crc::new();
        crc.update(contents);
        let at = all.len() as u32;
        let sizes = [crc.sum(), packed.len() as u32, contents.len() as u32].map(u32::to_le_bytes).concat();
        let fixed = [&[45, 0, 0, 0][..], &method.to_le_bytes(), &[0, 0, 0x21, 0], &sizes, &7u16.to_le_bytes()].concat();
        // NumPy always reserves 64-bit sizes in the local header.
        let extra = [&[1, 0, 16, 0][..], &[0; 16]].concat();
        all.extend([b"PK\x03\x04", &fixed[..], &20u16.to_le_bytes(), name.as_bytes(), &extra, &packed].concat());
        directory.extend([b"PK\x01\x02\x2d\x03", &fixed[..], &[0; 12], &at.to_le_bytes(), name.as_bytes()].concat());
    }
    let (at, len) = (all.len() as u32, directory.len() as u32);
    all.extend(directory);
    all.extend(b"PK\x05\x06\0\0\0\0\x02\0\x02\0");
    all.extend([len.to_le_bytes(), at.to_le_bytes()].concat());
    all.extend([0, 0]);
    all
}

fn i32_(v: i32) -> Value {
    deckle_ir::scalar::Scalar::I32(v).into()
}

fn deflated(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_record_is_filled_by_name() {
    let ty = record(&[("val", vector(real())), ("off", vector(int()))]);
    for method in [0, 8] {
        let value = read_bytes(&archive(method), &ty, None).unwrap();
        assert_eq!(value, Value::tuple(vec![reals(&[2.5]), ints(&[0, 1])]));
    }
}

#[test]
fn one_array_is_picked() {
    let file = archive(8);
    assert_eq!(read_bytes(&file, &vector(int()), Some("off")).unwrap(), ints(&[0, 1]));
    assert_eq!(read_bytes(&file, &vector(int()), Some("off.npy")).unwrap(), ints(&[0, 1]));
    let several = read_bytes(&file, &vector(int()), None).unwrap_err();
    assert_eq!(several.message, "the file holds `off`, `val`, and `[int]` is one");
    assert_eq!(several.help.as_deref(), Some("pick one: @FILE.npz:off"));
    let missing = read_bytes(&file, &vector(int()), Some("vall")).unwrap_err();
    assert_eq!(missing.message, "the file has no array `vall`; it holds `off`, `val`");
    assert_eq!(missing.help.as_deref(), Some("did you mean `val`?"));
    let wrong = read_bytes(&file, &vector(int()), Some("val")).unwrap_err();
    assert!(wrong.message.starts_with("in `val`: `[int]` needs the dtype int64"), "{wrong}");
}

#[test]
fn what_is_written_is_read() {
    let ty = record(&[("a", vector(real())), ("n", int())]);
    let value = Value::tuple(vec![reals(&[1.0, -0.5]), Value::int(7)]);
    let file = write_bytes(&ty, &value).unwrap();
    assert_eq!(read_bytes(&file, &ty, None).unwrap(), value);
    let pair = Type::tuple(vec![vector(real()), int()]);
    let file = write_bytes(&pair, &value).unwrap();
    assert_eq!(read_bytes(&file, &pair, None).unwrap(), value);
    let file = write_bytes(&vector(real()), &reals(&[3.0])).unwrap();
    assert_eq!(read_bytes(&file, &vector(real()), None).unwrap(), reals(&[3.0]));
    let nested = record(&[("p", vector(Type::tuple(vec![int(), int()])))]);
    assert!(check_type(&nested).unwrap_err().message.starts_with("`p`: a .npy file holds"));
}

#[test]
fn damage_is_named() {
    let good = archive(8);
    let ty = vector(real());
    let fails = |bytes: &[u8], words: &str| {
        let e = read_bytes(bytes, &ty, Some("val")).unwrap_err();
        assert!(e.message.contains(words), "{e}");
        assert!(e.offset.is_some(), "{e}");
    };
    fails(&good[..good.len() - 1], "the end of its directory is missing");
    fails(&[&good[..], b"more"].concat(), "something follows it");
    fails(b"not a zip", "does not begin with `PK`");
    fails(b"", "does not begin with `PK`");
    let stored = archive(0);
    let mut flipped = stored.clone();
    // A byte of the last element of `val`.
    let end = stored.windows(4).position(|w| w == b"PK\x01\x02").unwrap();
    flipped[end - 1] ^= 1;
    fails(&flipped, "its checksum is another one");
    let directory = good.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    for (offset, byte, words) in [
        (8, 1, "encrypted"),
        (10, 12, "packed by method 12"),
        (24, 200, "as the directory says"),
        (27, 0x7F, "taken for an attack"),
        (45, 0x7F, "beyond the end of the file"),
        (0, b'X', "the directory is damaged"),
    ] {
        let mut bad = good.clone();
        bad[directory + offset] = byte;
        fails(&bad, words);
    }
}
