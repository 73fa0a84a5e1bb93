//! Tests of pictures in and out.

use super::*;
use crate::testing::{byte, real, tuple, value, vector};

fn grey() -> Type {
    vector(vector(byte()))
}

fn colour() -> Type {
    vector(vector(tuple(&[byte(), byte(), byte()])))
}

const GREY: &str = "[[0, 128, 255], [1, 2, 3]]";
const COLOUR: &str = "[[(255, 0, 0), (0, 255, 0)]]";

#[test]
fn what_is_written_is_read() {
    let deep = vector(vector(Type::Scalar(ScalarType::U16)));
    let with_opacity = vector(vector(tuple(&[byte(), byte(), byte(), byte()])));
    for (ty, written) in [(grey(), GREY), (colour(), COLOUR), (deep, "[[0, 65535], [300, 4]]")] {
        let value = value(written, &ty);
        for format in [Format::Png, Format::Pnm] {
            let bytes = write_bytes(format, &ty, &value).unwrap();
            assert_eq!(read_bytes(format, &bytes, &ty).unwrap(), value);
        }
    }
    let value = value("[[(1, 2, 3, 4)]]", &with_opacity);
    let bytes = write_bytes(Format::Png, &with_opacity, &value).unwrap();
    assert_eq!(read_bytes(Format::Png, &bytes, &with_opacity).unwrap(), value);
    assert!(write_bytes(Format::Pnm, &with_opacity, &value).unwrap_err().message.contains("opacity"));
    let lost = read_bytes(Format::Png, &bytes, &colour()).unwrap_err();
    assert!(lost.message.contains("the picture is coloured with opacity"), "{lost}");
}

#[test]
fn grey_is_a_colour_and_not_the_reverse() {
    let file = write_bytes(Format::Png, &grey(), &value("[[7]]", &grey())).unwrap();
    assert_eq!(read_bytes(Format::Png, &file, &colour()).unwrap(), value("[[(7, 7, 7)]]", &colour()));
    let file = write_bytes(Format::Png, &colour(), &value(COLOUR, &colour())).unwrap();
    let e = read_bytes(Format::Png, &file, &grey()).unwrap_err();
    assert_eq!(e.message, "the picture is coloured, and `[[u8]]` is grey");
    let e = read_bytes(Format::Png, &file, &vector(vector(real()))).unwrap_err();
    assert_eq!(e.message, "a picture is no `[[real]]`");
}

#[test]
fn text_and_comments_are_read() {
    let file = b"P2 # grey\n# two by two\n2 2\n15\n0 5\n10 15\n";
    assert_eq!(read_bytes(Format::Pnm, file, &grey()).unwrap(), value("[[0, 5], [10, 15]]", &grey()));
    let file = b"P3 1 1 255 1 2 3";
    assert_eq!(read_bytes(Format::Pnm, file, &colour()).unwrap(), value("[[(1, 2, 3)]]", &colour()));
}

#[test]
fn files_that_lie_are_refused() {
    for (file, words) in [
        (&b"P5\n2 2\n255\nabc"[..], "ends too soon"),
        (b"P5\n2 2\n255\nabcde", "1 byte after the last sample"),
        (b"P5\n9000000000 9000000000\n255\n", "too large for any file"),
        (b"P2\n1000000 1000000\n255\n1 2 3", "ends too soon"),
        (b"P2\n1 1\n255\n300", "sample 0 is 300"),
        (b"P2\n1 1\n255\n3 4", "something follows"),
        (b"P2\n-1 1\n255\n3 4", "the width is missing"),
        (b"P2\n1 1\n0\n3", "not 1 to 65535"),
        (b"P2\n0 1\n9\n", "no pixels"),
        (b"P4\n1 1\n", "only P2"),
        (b"", "this is no .pgm"),
    ] {
        let e = read_bytes(Format::Pnm, file, &grey()).unwrap_err();
        assert!(e.message.contains(words) && e.offset.is_some(), "{e}");
    }
    let png = write_bytes(Format::Png, &grey(), &value(GREY, &grey())).unwrap();
    let mut huge = png.clone();
    huge[16] = 0x7F;
    let mut sum = flate2::Crc::new();
    sum.update(&huge[12..29]);
    huge[29..33].copy_from_slice(&sum.sum().to_be_bytes());
    let mut crc = png.clone();
    crc[29] ^= 1;
    for (file, words) in [
        (&png[..png.len() - 1], "ends within the chunk `IEND`"),
        (&[&png[..], b"x"].concat(), "1 bytes follow"),
        (&huge, "too large for a file"),
        (&crc, "the chunk `IHDR` is damaged: its checksum is another one"),
        (b"GIF89a", "no PNG file"),
    ] {
        let e = read_bytes(Format::Png, file, &grey()).unwrap_err();
        assert!(e.message.contains(words) && e.offset.is_some(), "{e}");
    }
}

#[test]
fn pictures_have_pixels_and_even_rows() {
    for written in ["[]", "[[]]", "[[1], [2, 3]]"] {
        assert!(write_bytes(Format::Png, &grey(), &value(written, &grey())).is_err());
    }
    assert!(check_type(Format::Png, &vector(byte())).is_err());
}
