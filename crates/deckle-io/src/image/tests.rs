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

/// A PNG of unfiltered rows, each after its filter byte.
fn png(width: u32, height: u32, [depth, colour, interlace]: [u8; 3], more: &[(&[u8], &[u8])], rows: &[u8]) -> Vec<u8> {
    let chunk = |kind: &[u8], data: &[u8]| {
        let mut crc = flate2::Crc::new();
        crc.update(&[kind, data].concat());
        [&(data.len() as u32).to_be_bytes()[..], kind, data, &crc.sum().to_be_bytes()].concat()
    };
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    std::io::Write::write_all(&mut packer, rows).unwrap();
    let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[depth, colour, 0, 0, interlace]].concat();
    let more: Vec<u8> = more.iter().flat_map(|(kind, data)| chunk(kind, data)).collect();
    let data = chunk(b"IDAT", &packer.finish().unwrap());
    [b"\x89PNG\r\n\x1a\n", &chunk(b"IHDR", &header)[..], &more, &data, &chunk(b"IEND", b"")].concat()
}

/// Where the pixels of the passes of an interlaced picture begin, and how far they are apart: columns and rows.
const PASSES: [[usize; 4]; 7] =
    [[0, 8, 0, 8], [4, 8, 0, 8], [0, 4, 4, 8], [2, 4, 0, 4], [0, 2, 2, 4], [1, 2, 0, 2], [0, 1, 1, 2]];

#[test]
fn interlaced_pictures_are_those_that_are_not() {
    for (width, height) in [(1, 1), (3, 2), (5, 9), (8, 8), (17, 11)] {
        for (colour, channels, depth) in [(0, 1, 8), (2, 3, 8), (4, 2, 8), (6, 4, 8), (0, 1, 16), (2, 3, 16)] {
            let bytes = channels * depth / 8;
            let pixel = |i: usize, j: usize| (0..bytes).map(move |k| (i * 31 + j * 7 + k * 101) as u8);
            let row = |i: usize, columns: &mut dyn Iterator<Item = usize>| -> Vec<u8> {
                std::iter::once(0).chain(columns.flat_map(|j| pixel(i, j).collect::<Vec<_>>())).collect()
            };
            let plain: Vec<u8> = (0..height).flat_map(|i| row(i, &mut (0..width))).collect();
            let passes = PASSES.iter().filter(|[j, ..]| *j < width).flat_map(|[j, by_j, i, by_i]| {
                (*i..height).step_by(*by_i).flat_map(|i| row(i, &mut (*j..width).step_by(*by_j)))
            });
            let passes: Vec<u8> = passes.collect();
            let sample = Type::Scalar(if depth == 16 { ScalarType::U16 } else { ScalarType::U8 });
            let of = if channels == 1 { sample } else { tuple(&vec![sample; channels]) };
            let ty = vector(vector(of));
            let file = |interlace: u8, rows: &[u8]| {
                png(width as u32, height as u32, [depth as u8, colour, interlace], &[], rows)
            };
            let expected = read_bytes(Format::Png, &file(0, &plain), &ty).unwrap();
            assert_eq!(read_bytes(Format::Png, &file(1, &passes), &ty).unwrap(), expected);
            let pixels = expected.items().unwrap();
            assert_eq!((pixels.len(), pixels[0].items().unwrap().len()), (height, width));
        }
    }
}

#[test]
fn opacity_is_left_out_if_it_is_full_and_made_if_there_is_none() {
    let with_opacity = vector(vector(tuple(&[byte(), byte(), byte(), byte()])));
    let grey_opacity = vector(vector(tuple(&[byte(), byte()])));
    let read = |file: &[u8], ty: &Type| read_bytes(Format::Png, file, ty);
    let opaque = png(2, 1, [8, 6, 0], &[], &[0, 1, 2, 3, 255, 4, 5, 6, 255]);
    assert_eq!(read(&opaque, &colour()).unwrap(), value("[[(1, 2, 3), (4, 5, 6)]]", &colour()));
    let clear = png(2, 1, [8, 6, 0], &[], &[0, 1, 2, 3, 255, 4, 5, 6, 254]);
    assert!(read(&clear, &colour()).unwrap_err().message.contains("with opacity"));
    let plain = png(2, 1, [8, 0, 0], &[], &[0, 1, 2]);
    let expected = value("[[(1, 1, 1, 255), (2, 2, 2, 255)]]", &with_opacity);
    assert_eq!(read(&plain, &with_opacity).unwrap(), expected);
    assert_eq!(read(&plain, &grey_opacity).unwrap(), value("[[(1, 255), (2, 255)]]", &grey_opacity));
    // Bits and palettes are expanded.
    let bits = png(3, 1, [1, 0, 0], &[], &[0, 0b1010_0000]);
    assert_eq!(read(&bits, &grey()).unwrap(), value("[[255, 0, 255]]", &grey()));
    let palette = png(3, 1, [8, 3, 0], &[(b"PLTE", &[9, 8, 7, 1, 2, 3])], &[0, 1, 0, 1]);
    assert_eq!(read(&palette, &colour()).unwrap(), value("[[(1, 2, 3), (9, 8, 7), (1, 2, 3)]]", &colour()));
}

#[test]
fn pictures_with_too_few_rows_are_damaged() {
    let short = png(2, 2, [8, 0, 0], &[], &[0, 1, 2]);
    let e = read_bytes(Format::Png, &short, &grey()).unwrap_err();
    assert!(e.message.starts_with("the picture is damaged"), "{e}");
}

#[test]
fn samples_beyond_the_largest_are_refused() {
    for (file, words) in [(&b"P5 2 1 9 \x09\x0a"[..], "sample 1 is 10"), (b"P2 2 1 9 9 10", "sample 1 is 10")] {
        let e = read_bytes(Format::Pnm, file, &grey()).unwrap_err();
        assert_eq!(e.message, format!("{words}, and the largest should be 9"));
    }
    let deep = vector(vector(Type::Scalar(ScalarType::U16)));
    assert!(read_bytes(Format::Pnm, b"P5 1 1 256 \x01\x01", &deep).is_err());
    assert_eq!(read_bytes(Format::Pnm, b"P5 1 1 256 \x01\x00", &deep).unwrap(), value("[[256]]", &deep));
    assert_eq!(read_bytes(Format::Pnm, b"P2 2 1 300 1 300", &deep).unwrap(), value("[[1, 300]]", &deep));
}
