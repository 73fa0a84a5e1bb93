//! Files made by hand: NumPy is not needed to test its format.

use super::*;
use deckle_ir::scalar::{Scalar, ScalarType as T};

/// A file of a version, with the header as given and no padding.
fn file(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn plain(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    file(1, &format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"), data)
}

/// The dimensions of a type, and its scalar.
fn shape(ty: &Type) -> (Vec<i128>, T) {
    let (mut ty, mut dims) = (ty, Vec::new());
    while let Some(a) = ty.as_array() {
        dims.push(a.size.as_constant().unwrap());
        ty = &a.elem;
    }
    (dims, ty.as_scalar().unwrap())
}

fn ints(v: &[i64]) -> Value {
    Value::array(v.iter().map(|x| Value::int(*x)).collect())
}

fn le(v: &[i64]) -> Vec<u8> {
    v.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[track_caller]
fn refused(bytes: &[u8], offset: u64, words: &str) {
    let error = read_bytes(bytes).unwrap_err();
    assert!(error.message.contains(words), "{error}");
    assert_eq!(error.offset, Some(offset), "{error}");
}

#[test]
fn every_version_is_read() {
    let header = "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }   \n";
    for version in 1..=3 {
        let (ty, value) = read_bytes(&file(version, header, &le(&[1, -2, 3]))).unwrap();
        assert_eq!(shape(&ty), (vec![3], T::I64));
        assert_eq!(value, ints(&[1, -2, 3]));
    }
    refused(&file(4, header, &le(&[1, -2, 3])), 6, "version 4.0");
}

#[test]
fn every_dtype_is_read_in_both_byte_orders() {
    let cases: [(&str, &[u8], Scalar); 11] = [
        ("b1", &[1], Scalar::Bool(true)),
        ("i1", &[0xFE], Scalar::I8(-2)),
        ("u1", &[0xFE], Scalar::U8(254)),
        ("i2", &[0xFF, 0xFE], Scalar::I16(-2)),
        ("u2", &[1, 2], Scalar::U16(258)),
        ("i4", &[0xFF, 0xFF, 0xFF, 0xFE], Scalar::I32(-2)),
        ("u4", &[1, 0, 0, 2], Scalar::U32(0x0100_0002)),
        ("i8", &[0x80, 0, 0, 0, 0, 0, 0, 0], Scalar::I64(i64::MIN)),
        ("u8", &[0x80, 0, 0, 0, 0, 0, 0, 1], Scalar::U64((1 << 63) + 1)),
        ("f4", &[0x3F, 0xC0, 0, 0], Scalar::F32(1.5)),
        ("f8", &[0xC0, 0, 0, 0, 0, 0, 0, 0], Scalar::F64(-2.0)),
    ];
    for (code, big, scalar) in cases {
        let little: Vec<u8> = big.iter().rev().copied().collect();
        for (order, data) in [(">", big), ("<", &little), ("|", &little), ("", &little)] {
            let (ty, value) = read_bytes(&plain(&format!("{order}{code}"), "()", data)).unwrap();
            assert_eq!((ty, value), (Type::Scalar(scalar.ty()), Value::Scalar(scalar)));
        }
    }
}

#[test]
fn either_dimension_may_come_first() {
    let of = |order: &str| {
        let header = format!("{{'descr': '<i8', 'fortran_order': {order}, 'shape': (2, 3)}}");
        read_bytes(&file(1, &header, &le(&[1, 2, 3, 4, 5, 6]))).unwrap().1
    };
    assert_eq!(of("False"), Value::array(vec![ints(&[1, 2, 3]), ints(&[4, 5, 6])]));
    assert_eq!(of("True"), Value::array(vec![ints(&[1, 3, 5]), ints(&[2, 4, 6])]));
}

#[test]
fn empty_dimensions_keep_their_shape() {
    for (text, dims, rows) in [("(0,)", vec![0], 0), ("(3, 0)", vec![3, 0], 3), ("(0, 5L, 2)", vec![0, 5, 2], 0)] {
        let (ty, value) = read_bytes(&plain("<f4", text, &[])).unwrap();
        assert_eq!(shape(&ty), (dims, T::F32));
        assert_eq!(value.items().unwrap().len(), rows);
        let (again, _) = read_bytes(&write_bytes(&ty, &value).unwrap()).unwrap();
        assert_eq!(again, ty);
    }
}

#[test]
fn what_the_language_does_not_have_is_refused() {
    for (descr, words) in [
        ("<f2", "half-precision"),
        ("<f16", "extended-precision"),
        ("<c16", "complex"),
        ("|O", "Python objects"),
        ("<U5", "text"),
        ("<M8[ns]", "times"),
        ("|V8", "raw records"),
        ("<q9", "no known type"),
        ("", "no known type"),
    ] {
        refused(&plain(descr, "(1,)", &[0; 16]), 20, words);
    }
    let header = "{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,)}";
    refused(&file(1, header, &[0; 8]), 20, "structured dtype");
}

#[test]
fn files_that_lie_are_refused_at_the_byte() {
    let good = plain("<i8", "(3,)", &le(&[1, 2, 3]));
    let data = good.len() as u64 - 24;
    refused(b"", 0, "no .npy file");
    refused(b"PK\x03\x04", 0, "no .npy file");
    refused(b"\x93NUMPX", 5, "no .npy file");
    refused(&good[..4], 4, "ends within its magic");
    refused(&good[..9], 9, "ends within its header length");
    refused(&good[..40], 40, "ends within its header");
    refused(&good[..good.len() - 1], data + 23, "needs 24 bytes after the header, and there are 23");
    refused(&[&good[..], b"xx"].concat(), data + 24, "2 bytes follow the last element");
    refused(&plain("<i8", "(-3,)", &[]), 61, "negative size");
    refused(&plain("<i8", "(99999999999999999999,)", &[]), 61, "too large to exist");
    refused(&plain("<i8", "(4611686018427387904, 4)", &[]), 60, "too large for any file");
    let short = plain("<i8", "(1000000000000,)", &[]);
    refused(&short, short.len() as u64, "needs 8000000000000 bytes");
    refused(&plain("<i8", "(1000000000000, 0)", &[]), 60, "would make 1000000000001 vectors");
    refused(&plain("<i8", &format!("({})", "1, ".repeat(65)), &[0; 8]), 60 + 1 + 3 * 64, "more than 64 dimensions");
    refused(&plain("|b1", "(2,)", &[1, 2]), data + 1, "a bool is 0 or 1");
}

#[test]
fn damaged_headers_are_refused() {
    for (header, words) in [
        ("", "`{` is missing"),
        ("{", "quoted word"),
        ("{'descr'", "`:` is missing"),
        ("{'descr: 1", "not closed"),
        ("{'descr': '<f8'", "`}` is missing"),
        ("{'descr': '<f8', 'descr': '<f8'}", "twice"),
        ("{'other': 1}", "no meaning"),
        ("{'fortran_order': true}", "`True` or `False`"),
        ("{'shape': (1, 2}", "`)` is missing"),
        ("{'shape': (a)}", "a size of the shape"),
        ("{'descr': '<f8', 'shape': ()}", "no `fortran_order`"),
        ("{'fortran_order': False, 'shape': ()}", "no `descr`"),
        ("{'descr': '<f8', 'fortran_order': False, 'shape': ()} 1", "goes on"),
    ] {
        let error = read_bytes(&file(1, header, &[])).unwrap_err();
        assert!(error.message.contains(words) && error.offset.is_some(), "{header}: {error}");
    }
}

#[test]
fn the_bytes_are_those_that_numpy_writes() {
    let ty = Type::array(2.into(), Type::array(2.into(), T::I16.into()));
    let row = |a, b| Value::array(vec![Scalar::I16(a).into(), Scalar::I16(b).into()]);
    let bytes = write_bytes(&ty, &Value::array(vec![row(1, 2), row(3, -1)])).unwrap();
    let header = "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 2), }";
    assert_eq!(bytes[..10], *b"\x93NUMPY\x01\x00\x76\x00");
    assert_eq!(&bytes[10..10 + header.len()], header.as_bytes());
    assert_eq!((bytes[127], bytes.len()), (b'\n', 136));
    assert_eq!(bytes[128..], [1, 0, 2, 0, 3, 0, 0xFF, 0xFF]);
    let one = write_bytes(&Type::array(1.into(), T::Bool.into()), &Value::array(vec![Value::bool(true)])).unwrap();
    assert!(one[10..].starts_with(b"{'descr': '|b1', 'fortran_order': False, 'shape': (1,), }"));
}

#[test]
fn a_sequence_of_equal_rows_is_an_array() {
    let ty = Type::seq(Type::array(2.into(), Type::INT));
    let value = Value::seq(vec![ints(&[1, 2]), ints(&[3, 4])]);
    let (ty, back) = read_bytes(&write_bytes(&ty, &value).unwrap()).unwrap();
    assert_eq!(shape(&ty), (vec![2, 2], T::I64));
    assert_eq!(back, Value::array(vec![ints(&[1, 2]), ints(&[3, 4])]));
}

#[test]
fn ragged_arrays_and_tuples_are_refused() {
    let jagged = Type::array(2.into(), Type::array(deckle_ir::size::Size::pos(0), Type::INT));
    let error = write_bytes(&jagged, &Value::array(vec![ints(&[1, 2]), ints(&[3])])).unwrap_err();
    assert!(error.message.ends_with("this one is ragged: row [1] has 1 elements, row [0] has 2"), "{error}");
    let pair = Type::array(0.into(), Type::tuple(vec![Type::INT, Type::INT]));
    let error = write_bytes(&pair, &Value::array(vec![])).unwrap_err();
    assert!(error.message.contains("holds tuples"), "{error}");
    let wrong = write_bytes(&Type::INT, &Value::real(1.0)).unwrap_err();
    assert!(wrong.message.contains("not of the type"), "{wrong}");
}

#[test]
fn files_round_trip() {
    let dir = crate::atomic::tests::directory("npy");
    let path = dir.join("a.npy");
    let ty = Type::array(3.into(), T::F64.into());
    let value = Value::array([0.1, f64::NAN, f64::NEG_INFINITY].map(Value::real).to_vec());
    write(&path, &ty, &value).unwrap();
    let (back_ty, back) = read(&path).unwrap();
    assert_eq!((back_ty, back), (ty, value));
    let missing = read(dir.join("b.npy")).unwrap_err();
    assert_eq!((missing.path, missing.message.as_str()), (Some(dir.join("b.npy")), "there is no such file"));
    assert_eq!(read(&dir).unwrap_err().message, "this is a directory, not a file");
    std::fs::remove_dir_all(&dir).unwrap();
}

/// Changes bytes of valid files at random; values read from them must be no larger than the file.
#[test]
fn no_damage_panics_or_grows() {
    let seeds = [
        plain("<i8", "(3,)", &le(&[1, 2, 3])),
        plain(">f4", "(2, 3)", &[7; 24]),
        plain("|b1", "(4, 0)", &[]),
        file(2, "{'descr': '<u2', 'fortran_order': True, 'shape': (2, 2, 2)}  \n", &[9; 16]),
    ];
    let interesting = b"(){}[],'\"0123456789L-<>|=bifuTF:\x00\x93\xFF \n";
    let mut state = 0x9E37_79B9_7F4A_7C15u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    for round in 0..60_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=next(4) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, interesting[next(interesting.len())]),
                _ if at < bytes.len() => bytes[at] = interesting[next(interesting.len())],
                _ => {}
            }
        }
        if let Ok((ty, value)) = read_bytes(&bytes) {
            let room = value.space().par;
            assert!(room <= 8 * bytes.len() as u64 + (1 << 17), "{room}");
            write_bytes(&ty, &value).unwrap();
        }
    }
}
