//! The contents of a file of a format: a value in flat memory, and how its bytes are written.
//!
//! Whether a value fits a format is decided before the first byte is written, so that a pipe, too, gets everything or nothing. Arrays, pictures and sound are written
//! straight from their buffers. Tables and texts are written in blocks of elements, of which a few are trees at a time. Other values are trees as a whole: matrices, single
//! records, and vectors of scalars in a `.txt`, whose columns are aligned.

use crate::atomic::write_whole;
use crate::format::{Format, WRITTEN};
use crate::rows::elements;
use crate::stream::{Writer, writer};
use crate::{Error, Result, csv, gz, image, json, mtx, npy, npz, tree, wav};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::{Data, Form, Pool};
use std::io::Write;
use std::path::Path;

/// The maximal number of elements that are trees at a time, and their approximate bytes. Few in tests, so that blocks end everywhere.
const MOST: usize = if cfg!(test) { 3 } else { 1 << 14 };
const BYTES: usize = if cfg!(test) { 64 } else { 1 << 18 };

/// A value that a format can hold.
enum Contents<'d> {
    Npy(npy::encode::Plan<'d>),
    Npz(npz::Plan<'d>),
    Image(image::Format, image::Plan<'d>),
    Wav(wav::Plan<'d>),
    /// Its elements, to be written in blocks.
    Elements(Box<dyn Writer>, Data),
    Bytes(Vec<u8>),
}

impl<'d> Contents<'d> {
    /// For the only value, which is of the type.
    fn new(format: Format, ty: &Type, data: &'d Data) -> Result<Contents<'d>> {
        Ok(match format {
            Format::Npy => Contents::Npy(npy::encode::Plan::new(ty, data)?),
            Format::Npz => Contents::Npz(npz::Plan::new(ty, data)?),
            Format::Image(format) => Contents::Image(format, image::Plan::new(format, ty, data)?),
            Format::Wav => Contents::Wav(wav::Plan::new(ty, data)?),
            Format::Mtx => Contents::Bytes(mtx::write_bytes(&mtx::from_data(ty, data)?)),
            Format::Table(_) | Format::Txt | Format::Json => match writer(format, ty) {
                Some(writer) => {
                    let elements = match data.form() {
                        Form::Tuple(columns) => csv::write::lines(columns)?,
                        _ => elements(data).clone(),
                    };
                    writer.check(&elements)?;
                    Contents::Elements(writer, elements)
                }
                None => Contents::Bytes(text(format, ty, data)?),
            },
            Format::Later | Format::Unknown => return Err(Error::new(format!("the file must end in {WRITTEN}"))),
        })
    }

    fn write(self, out: &mut dyn Write) -> Result<()> {
        let written = match self {
            Contents::Npy(array) => array.write(out),
            Contents::Npz(arrays) => arrays.write(out),
            Contents::Image(format, picture) => picture.write(format, out),
            Contents::Wav(sound) => sound.write(out),
            Contents::Elements(writer, elements) => return in_blocks(writer, &elements, out),
            Contents::Bytes(bytes) => out.write_all(&bytes),
        };
        written.map_err(|e| Error::io(&e))
    }
}

/// The text of a value that is written as a whole.
fn text(format: Format, ty: &Type, data: &Data) -> Result<Vec<u8>> {
    match format {
        Format::Json => {
            let mut bytes = Vec::new();
            json::write(ty, data, 0, &mut bytes).map_err(|e| Error::io(&e))?;
            bytes.push(b'\n');
            Ok(bytes)
        }
        Format::Txt => Ok((crate::text::show(ty, data, true) + "\n").into_bytes()),
        _ => csv::check_type(ty).map(|()| Vec::new()),
    }
}

fn in_blocks(mut writer: Box<dyn Writer>, elements: &Data, out: &mut dyn Write) -> Result<()> {
    let pool = Pool::new(None);
    let each = elements.bytes() / elements.len().max(1);
    let few = (BYTES / each.max(1)).clamp(1, MOST);
    for lo in (0..elements.len()).step_by(few) {
        let block = elements.slice(lo, (lo + few).min(elements.len()), &pool);
        writer.elements(&block.map_err(|e| Error::new(e.to_string()))?, out)?;
    }
    writer.end(out)
}

/// Writes the only value, which is of the type, to a file, complete or not at all.
pub(crate) fn write(path: &Path, format: Format, is_packed: bool, ty: &Type, data: &Data) -> Result<()> {
    let contents = Contents::new(format, ty, data).map_err(|e| e.in_file(path))?;
    write_whole(path, |out| match is_packed {
        true => gz::pack_through(out, |out| contents.write(out)),
        false => contents.write(out),
    })
}

/// The contents of a file that holds a value, before compression.
pub(crate) fn bytes(format: Format, ty: &Type, value: &Value) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    Contents::new(format, ty, &tree::single(ty, value)?)?.write(&mut out)?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::tests::directory;
    use crate::testing::{byte, csr, int, real, record, tuple, value, vector};
    use crate::{write_data, write_value};
    use deckle_ir::scalar::ScalarType as T;
    use deckle_runtime::Buffer;

    /// Data of an array type with one size everywhere, without offsets.
    fn without_offsets(data: &Data) -> Data {
        let (len, inner) = (data.len(), elements(data));
        match data.form() {
            Form::Offsets(..) => Data::equal(len, inner.len() / len, without_offsets(inner)).unwrap(),
            Form::Tuple(parts) => Data::tuples(len, parts.iter().map(without_offsets).collect()).unwrap(),
            _ => data.clone(),
        }
    }

    #[test]
    fn flat_data_is_written_as_trees_are() {
        let dir = directory("flat");
        let pixel = tuple(&[byte(), byte(), byte()]);
        let columns = record(&[("x", vector(real())), ("n", vector(int()))]);
        for (name, ty, written) in [
            ("a.npy", vector(vector(real())), "[[1, 2], [3, 4], [5, 6]]"),
            ("a.npy.gz", vector(vector(T::F32)), "[[1, 2], [3, 4], [5, 6]]"),
            ("a.npz", record(&[("x", vector(real())), ("n", int())]), "([1, 2], 3)"),
            ("a.mtx", vector(vector(real())), "[[1, 2], [3, 4]]"),
            ("a.csv", vector(vector(int())), "[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]"),
            ("a.tsv.gz", columns.clone(), "([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])"),
            ("b.csv", vector(tuple(&[int(), vector(byte())])), "[(1, \"ab\"), (2, \"cd\"), (3, \"e,\"), (4, \"gh\")]"),
            ("a.png", vector(vector(pixel.clone())), "[[(1, 2, 3), (4, 5, 6)], [(7, 8, 9), (0, 1, 2)]]"),
            ("b.png", vector(vector(T::U16)), "[[1, 300], [65535, 4]]"),
            ("a.pgm", vector(vector(byte())), "[[1, 2], [3, 4]]"),
            ("a.ppm.gz", vector(vector(pixel)), "[[(1, 2, 3), (4, 5, 6)]]"),
            ("a.wav", vector(T::I16), "[1, -2]"),
            ("b.wav", vector(vector(real())), "[[0.5, 1], [-0.5, -1], [0, 0]]"),
            ("c.wav", record(&[("rate", int()), ("samples", vector(tuple(&[byte(), byte()])))]), "(8000, [(1, 2)])"),
            ("a.txt", vector(byte()), "\"some text\""),
            ("b.txt", vector(vector(byte())), "[\"ab\", \"cd\", \"ef\", \"gh\"]"),
            ("c.txt", vector(vector(int())), "[[1, 2], [3, 40]]"),
            ("d.txt", vector(tuple(&[int(), real()])), "[(1, 2), (3, 4), (5, 6), (7, 8)]"),
            ("a.json.gz", vector(vector(int())), "[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]"),
            ("b.json", columns, "([1, 2], [3, 4])"),
        ] {
            let tree = value(written, &ty);
            let flat = tree::single(&ty, &tree).unwrap();
            write_value(dir.join(name), &ty, &tree).unwrap();
            let expected = std::fs::read(dir.join(name)).unwrap();
            for data in [&flat, &without_offsets(&flat)] {
                write_data(dir.join(name), &ty, data).unwrap();
                assert!(std::fs::read(dir.join(name)).unwrap() == expected, "{name}");
            }
            assert_eq!(crate::read_value(dir.join(name), &ty).ok(), (!name.contains("json")).then_some(tree), "{name}");
        }
        std::fs::remove_dir_all(&dir).unwrap();
    }

    /// The text of blocks is that of all elements together.
    #[test]
    fn blocks_are_cut_anywhere() {
        let shown = |name: &str, ty: &Type, tree: &Value| {
            let format = Format::of(Path::new(name)).0;
            String::from_utf8(bytes(format, ty, tree).unwrap()).unwrap()
        };
        let pair = vector(tuple(&[int(), real()]));
        for n in 0..30 {
            let tree = Value::array((0..n).map(|i| Value::tuple(vec![Value::int(i), Value::real(0.5)])).collect());
            assert_eq!(
                shown("a.txt", &pair, &tree),
                crate::text::show(&pair, &tree::single(&pair, &tree).unwrap(), true) + "\n"
            );
            assert_eq!(
                shown("a.json", &pair, &tree),
                String::from_utf8(text(Format::Json, &pair, &tree::single(&pair, &tree).unwrap()).unwrap()).unwrap()
            );
            assert_eq!(shown("a.csv", &pair, &tree).lines().count(), n as usize);
        }
        for (ty, written) in [
            (vector(int()), "[1, 2, 3, 4, 5, 6, 7]"),
            (vector(vector(vector(int()))), "[[[1], [2, 3]], [], [[4]], [[], [5]], []]"),
            (vector(Type::seq(int())), "[{1, 2}, {}, {3}, {4}]"),
            (vector(tuple(&[])), "[(), (), (), ()]"),
        ] {
            let tree = value(written, &ty);
            assert_eq!(
                shown("a.txt", &ty, &tree),
                crate::text::show(&ty, &tree::single(&ty, &tree).unwrap(), true) + "\n"
            );
        }
    }

    #[test]
    fn what_has_no_elements_is_written() {
        let dir = directory("nothing");
        for (name, ty, contents) in [
            ("a.csv", vector(int()), ""),
            ("b.csv", vector(record(&[("x", int()), ("y", int())])), "x,y\n"),
            ("c.csv", record(&[("x", vector(int())), ("y", vector(int()))]), "x,y\n"),
            ("a.txt", vector(byte()), ""),
            ("b.txt", vector(vector(byte())), ""),
            ("c.txt", vector(tuple(&[int()])), "[]\n"),
            ("d.txt", vector(vector(int())), "[]\n"),
            ("a.json", vector(int()), "[]\n"),
        ] {
            let tree = value(if ty.elem().is_some() { "[]" } else { "([], [])" }, &ty);
            write_data(dir.join(name), &ty, &tree::single(&ty, &tree).unwrap()).unwrap();
            assert_eq!(std::fs::read_to_string(dir.join(name)).unwrap(), contents, "{name}");
        }
        let nothing = tuple(&[]);
        write_value(dir.join("b.json"), &nothing, &Value::tuple(vec![])).unwrap();
        assert_eq!(std::fs::read(dir.join("b.json")).unwrap(), b"[]\n");
        for (name, ty) in [("a.npy", vector(vector(real()))), ("a.npz", vector(real())), ("a.wav", vector(T::I16))] {
            write_value(dir.join(name), &ty, &value("[]", &ty)).unwrap();
            assert_eq!(crate::read_value(dir.join(name), &ty).unwrap(), value("[]", &ty), "{name}");
        }
        let stereo = vector(tuple(&[T::I16.into(), T::I16.into()]));
        write_value(dir.join("b.wav"), &stereo, &value("[]", &stereo)).unwrap();
        assert_eq!(crate::read_value(dir.join("b.wav"), &stereo).unwrap(), value("[]", &stereo));
        std::fs::remove_dir_all(&dir).unwrap();
    }

    /// A pipe cannot be replaced: nothing is written to it before everything is known to fit.
    #[test]
    fn what_does_not_fit_is_found_before_the_first_byte() {
        let rows = vector(vector(int()));
        let texts = vector(vector(byte()));
        let frames = vector(vector(T::I16));
        let columns = tuple(&[vector(int()), vector(int())]);
        let long = "[[1], [2], [3], [4], [5], [6, 7]]";
        for (name, ty, written, message) in [
            (
                "a.npy",
                &rows,
                long,
                "a .npy file holds a regular array, and this one is ragged: row [5] has 2 elements, row [0] has 1",
            ),
            (
                "a.npz",
                &rows,
                long,
                "`arr_0`: a .npy file holds a regular array, and this one is ragged: row [5] has 2 elements, row [0] has 1",
            ),
            (
                "a.mtx",
                &vector(vector(real())),
                "[[1], []]",
                "a dense matrix is regular, and row 1 has 0 elements, row 0 has 1",
            ),
            ("a.csv", &rows, long, "a table is regular, and row 5 has 2 elements, row 0 has 1"),
            ("a.csv", &rows, "[[], [1]]", "a table is regular, and row 0 has 0 elements, row 0 has 0"),
            (
                "a.csv",
                &columns,
                "([1, 2], [3])",
                "the columns of a table are of one length: column 1 has 1 elements, column 0 has 2",
            ),
            ("a.png", &texts, long, "a picture is regular, and row 5 has 2 pixels, row 0 has 1"),
            ("a.pgm", &texts, "[[]]", "a picture has at least one pixel, and this one has none"),
            ("a.png", &texts, "[]", "a picture has at least one pixel, and this one has none"),
            ("a.wav", &frames, long, "moment 5 has 2 channels, and moment 0 has 1"),
            ("a.wav", &frames, "[[], []]", "a .wav file cannot have 0 channels"),
            ("a.wav", &tuple(&[int(), vector(T::I16)]), "(-1, [])", "the rate is -1, which is no index"),
            (
                "a.txt",
                &texts,
                "[\"a\", \"b\", \"c\", \"d\", \"e\\nf\"]",
                "the texts are written as lines, and text 4 holds a line end",
            ),
        ] {
            let data = tree::single(ty, &value(written, ty)).unwrap();
            let made = Contents::new(Format::of(Path::new(name)).0, ty, &data);
            assert_eq!(made.err().unwrap().message, message);
        }
    }

    #[test]
    fn data_is_one_value_of_the_type() {
        let dir = directory("one");
        let rows = Data::rows(Buffer::from_vec(vec![0i64, 1, 2]), Data::numbers(vec![1i64, 2])).unwrap();
        for (ty, data) in [
            (vector(int()), rows.clone()),
            (vector(real()), Data::array(Data::numbers(vec![1i64]))),
            (csr(real()), rows),
        ] {
            for name in ["a.npy", "a.csv", "a.json"] {
                let refused = write_data(dir.join(name), &ty, &data);
                assert_eq!(refused.unwrap_err().path, Some(dir.join(name)));
            }
        }
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 0);
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
