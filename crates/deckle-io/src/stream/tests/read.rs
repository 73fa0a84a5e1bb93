//! Reading.

use super::*;
use crate::testing::{byte, int, real, record, tuple, vector};
use deckle_ir::scalar::ScalarType as T;

/// Whether the elements of `FILE:PART` are those that are read as a whole, compressed and not.
#[track_caller]
fn same(name: &str, part: &str, contents: &[u8], ty: &Type) {
    let folder = Folder::new("same");
    for name in [name.to_string(), format!("{name}.gz")] {
        let path = PathBuf::from(format!("{}{part}", folder.file(&name, contents).display()));
        let expected = read_value(&path, ty).unwrap();
        for (found, error) in streamed(&path, ty) {
            assert_eq!(error, None);
            assert_eq!(found, expected.items().unwrap(), "{name}");
        }
    }
}

/// Whether streaming fails as reading does, with these words in the message.
#[track_caller]
fn fails(name: &str, contents: &[u8], ty: &Type, words: &str) {
    let folder = Folder::new("fails");
    let path = folder.file(name, contents);
    let expected = read_value(&path, ty).unwrap_err();
    assert!(expected.message.contains(words), "{expected}");
    for (_, error) in streamed(&path, ty) {
        assert_eq!(error.as_ref(), Some(&expected));
    }
}

/// Whether streaming alone fails, with these words.
#[track_caller]
fn refused(name: &str, contents: &[u8], ty: &Type, words: &str) -> Error {
    let folder = Folder::new("refused");
    let path = folder.file(name, contents);
    read_value(&path, ty).unwrap();
    let errors: Vec<Option<Error>> = streamed(&path, ty).into_iter().map(|(_, error)| error).collect();
    assert!(errors.windows(2).all(|w| w[0] == w[1]));
    let e = errors[0].clone().unwrap();
    assert!(e.message.contains(words), "{e}");
    e
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

fn array(descr: &str, shape: &str, fortran: bool, data: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    npy(&format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n"), data)
}

#[test]
fn lines_words_and_bytes() {
    let (texts, nested) = (seq(vector(byte())), seq(seq(byte())));
    let long = format!("{}\r\n{}", "long ".repeat(100), "x".repeat(1000));
    for text in ["", "\n", "a", "a\n", "a b\r\n\nc", "\r\n\r\n", "a\r", "\n\n\na\n \n", "a\rb\n\r", &long] {
        for name in ["a.txt", "a"] {
            for ty in [&texts, &nested] {
                same(name, "", text.as_bytes(), ty);
            }
            same(name, "", text.as_bytes(), &seq(byte()));
        }
        same("a.txt", ":lines", text.as_bytes(), &texts);
        same("a.txt", ":words", text.as_bytes(), &texts);
    }
    same("a.txt", ":words", b"  one two\tthree\x0Cfour\r\n\xFFfive\x0Bsix ", &texts);
    same("a.txt", ":words", &b"0123456789abcdef0123456789abcdef x ".repeat(50), &nested);
}

#[test]
fn arrays_of_every_shape_and_type() {
    let numbers: Vec<u8> = (0u8..=239).collect();
    for (descr, held) in
        [("<i8", T::I64), ("<f8", T::F64), (">i8", T::I64), ("<u4", T::U32), (">f4", T::F32), (">i2", T::I16)]
    {
        let count = numbers.len() / held.bytes();
        for into in T::ALL.into_iter().filter(|into| crate::fit::widens(held, *into)) {
            same("a.npy", "", &array(descr, &format!("({count},)"), false, &numbers), &seq(into));
            let rows = array(descr, &format!("({}, 3)", count / 3), false, &numbers);
            same("a.npy", "", &rows, &seq(vector(into)));
            same("a.npy", "", &rows, &seq(seq(into)));
        }
    }
    let deep = seq(vector(vector(T::U8)));
    same("a.npy", "", &array("|u1", "(10, 4, 6)", false, &numbers), &deep);
    same("a.npy", "", &array("|u1", "(10, 4, 6)", true, &numbers), &deep);
    same("a.npy", "", &array("|u1", "(240,)", true, &numbers), &seq(byte()));
    same("a.npy", "", &array("|b1", "(3, 1)", false, &[1, 0, 1]), &seq(vector(T::Bool)));
    for shape in ["(0,)", "(240,)"] {
        let data = if shape == "(0,)" { &[][..] } else { &numbers };
        same("a.npy", "", &array("|u1", shape, false, data), &seq(byte()));
    }
    same("a.npy", "", &array("<f8", "(5, 0)", false, &[]), &seq(vector(real())));
    same("a.npy", "", &array("<f8", "(0, 5)", false, &[]), &seq(vector(real())));
    same("a.npy", "", &array("<f8", "(2, 3, 0)", false, &[]), &seq(vector(vector(real()))));
}

#[test]
fn damaged_arrays() {
    let ints = seq(int());
    let good = array("<i8", "(3,)", false, &[1; 24]);
    for cut in [0, 3, 6, 7, 9, 30, good.len() - 25] {
        fails("a.npy", &good[..cut], &ints, "");
    }
    fails("a.npy", b"no array at all", &ints, "this is no .npy file");
    fails("a.npy", &array("<f8", "(3,)", false, &[1; 24]), &ints, "needs the dtype int64");
    fails("a.npy", &array("<i8", "(3, 1)", false, &[1; 24]), &ints, "needs 1 dimension");
    fails("a.npy", &good, &seq(tuple(&[int(), int()])), "is not one array of scalars");
    fails("a.npy", &array("<i8", "(1000000000000, 0)", false, &[]), &seq(vector(int())), "would make");
    let mut bools = array("|b1", "(100,)", false, &[1; 100]);
    let at = bools.len() - 50;
    bools[at] = 2;
    fails("a.npy", &bools, &seq(T::Bool), "a bool is 0 or 1, and this is 2");
    let folder = Folder::new("bools");
    for (found, _) in streamed(&folder.file("a.npy", &bools), &seq(T::Bool)) {
        assert_eq!(found.len(), 50);
    }
    // The length of a compressed file is known at its end.
    let short = folder.file("a.npy.gz", &good[..good.len() - 9]);
    let (expected, all) = (read_value(&short, &ints).unwrap_err(), streamed(&short, &ints));
    assert!(all.iter().all(|(found, e)| found.len() <= 1 && e.as_ref() == Some(&expected)), "{expected}");
    let files = BYTES.len();
    let short = folder.file("a.npy", &good[..good.len() - 9]);
    let expected = read_value(&short, &ints).unwrap_err();
    assert!(streamed(&short, &ints)[..files].iter().all(|(_, e)| e.as_ref() == Some(&expected)));
    assert!(streamed(&short, &ints).iter().all(|(_, e)| e.as_ref() == Some(&expected)));
    let long = folder.file("b.npy", &[&good[..], b"x"].concat());
    for (_, error) in streamed(&long, &ints) {
        let (found, expected) = (error.unwrap(), read_value(&long, &ints).unwrap_err());
        assert!(found.message.ends_with("bytes follow the last element") && found.offset == expected.offset, "{found}");
    }
}

#[test]
fn tables() {
    let table = b"name,n,x\r\none,1,0.5\r\n\"t,wo \"\"2\"\"\nlines\",-2,-1e3\r\n\r\n\"\",3,nan";
    let row = record(&[("x", real()), ("name", vector(byte())), ("n", int())]);
    same("a.csv", "", table, &seq(row));
    same("a.csv", "", table, &seq(record(&[("n", T::I16.into()), ("x", T::F32.into())])));
    same("a.csv", "", table, &seq(tuple(&[vector(byte()), int(), real()])));
    same("a.csv", ":n", table, &seq(int()));
    same("a.csv", ":name", table, &seq(vector(byte())));
    same("a.csv", ":name", table, &seq(seq(byte())));
    same("a.csv", "", b"\xEF\xBB\xBFn\n1\n\n2\n", &seq(int()));
    same("a.csv", "", b"\xEF\xBB\xBF1\n2", &seq(int()));
    same("a.csv", "", b"a\n\"\"\nb", &seq(vector(byte())));
    same("a.tsv", "", b"a\tb\n1\t2\n3\t 4 \n", &seq(vector(real())));
    same("a.csv", "", b"1,2\n3,4\n", &seq(seq(T::I32)));
    same("a.csv", "", b"a,b\nc,\"d\ne\"\n", &seq(vector(vector(byte()))));
    same("a.csv", "", b"true,1\nfalse,0x10\n", &seq(tuple(&[T::Bool.into(), byte()])));
    for empty in ["", "\n\n", "\u{FEFF}"] {
        same("a.csv", "", empty.as_bytes(), &seq(int()));
        same("a.csv", "", empty.as_bytes(), &seq(vector(int())));
    }
    let many: String = (0..1000).map(|i| format!("{i},{}\n", f64::from(i) / 7.0)).collect();
    same("a.csv", "", many.as_bytes(), &seq(tuple(&[int(), real()])));
}

#[test]
fn damaged_tables() {
    let pairs = seq(tuple(&[int(), real()]));
    for (table, words) in [
        ("1,2\n3\n", "this line has 1 field"),
        ("1,2\n3,4,5\n", "this line has 3 fields"),
        ("1,2\n\n\n3,x\n", "`x` is not of type `real`"),
        ("1,2\n3,\n4,5\n", "the field is empty"),
        ("1,2\n3,\"4\n5\n", "never closed"),
        ("1,2\n\"3\"4,5\n", "goes on after its closing quote"),
        ("\"1,2\n", "never closed"),
        ("1,2,3\n", "the table has 3 columns"),
    ] {
        fails("a.csv", table.as_bytes(), &pairs, words);
    }
    fails("a.csv", b"a,b\n1,2\n", &seq(record(&[("c", int())])), "the table has no column `c`");
    fails("a.csv", b"a,a\n1,2\n", &seq(record(&[("a", int())])), "two columns `a`");
    fails("a.csv", b"1\n", &seq(vector(vector(int()))), "a table is no");
    let folder = Folder::new("tables");
    let table = folder.file("a.csv", b"a,b\n1,2\n3,4\n5,x\n");
    for (found, error) in streamed(&table, &pairs) {
        assert_eq!((found.len(), error.unwrap().line), (2, Some(4)));
    }
}

const SORTED: &str =
    "%%MatrixMarket matrix coordinate real general\n% a comment\n\n5 4 4\n1 1 7\n1 3 2.5\r\n\n1 3 -1e-3\n4 2 1";

#[test]
fn sorted_matrices() {
    let entry = |i: T, j: T, v: T| seq(tuple(&[i.into(), j.into(), v.into()]));
    let rows = |v: T| seq(vector(tuple(&[int(), v.into()])));
    for v in [T::F64, T::F32] {
        same("a.mtx", "", SORTED.as_bytes(), &entry(T::I64, T::I64, v));
        same("a.mtx", "", SORTED.as_bytes(), &entry(T::U8, T::I32, v));
        same("a.mtx", "", SORTED.as_bytes(), &rows(v));
    }
    same("a.mtx", "", SORTED.as_bytes(), &seq(record(&[("i", int()), ("j", int()), ("v", real())])));
    let pattern = b"%%MatrixMarket matrix coordinate pattern general\n3 3 2\n2 1\n2 2\n";
    let whole = b"%%MatrixMarket matrix coordinate integer general\n3 3 2\n2 1 200\n2 2 1\n";
    for v in [T::Bool, T::I64, T::F64] {
        same("a.mtx", "", pattern, &entry(T::I64, T::I64, v));
        same("a.mtx", "", pattern, &rows(v));
    }
    for v in [T::U8, T::I64, T::F64] {
        same("a.mtx", "", whole, &entry(T::I64, T::I64, v));
        same("a.mtx", "", whole, &rows(v));
    }
    let none = b"%%MatrixMarket matrix coordinate real general\n4 4 0\n";
    same("a.mtx", "", none, &entry(T::I64, T::I64, T::F64));
    same("a.mtx", "", none, &rows(T::F64));
    same("a.mtx", "", b"%%MatrixMarket matrix coordinate real general\n0 0 0", &rows(T::F64));
    // These are read as a whole.
    let dense = b"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n";
    same("a.mtx", "", dense, &entry(T::I64, T::I64, T::F64));
    same("a.mtx", "", dense, &rows(T::F64));
    same("a.mtx", "", b"%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 7\n", &seq(vector(real())));
}

#[test]
fn matrices_that_cannot_be_streamed() {
    let triples = seq(tuple(&[int(), int(), real()]));
    let rows = seq(vector(tuple(&[int(), real()])));
    let mixed = b"%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 1\n2 3 2\n2 1 3\n";
    for ty in [&triples, &rows] {
        let e = refused("a.mtx", mixed, ty, "the entries are not sorted: row 2, column 1 comes after row 2, column 3");
        assert_eq!((e.kind, e.line), (Kind::Misfit, Some(5)));
        assert!(e.help.unwrap().starts_with("sort the file by row and column, or take the parameter as a vector `["));
        let symmetric = b"%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 1\n";
        let e = refused("a.mtx", symmetric, ty, "a symmetric matrix lists one half");
        assert!(e.help.unwrap().contains("which is read as a whole"));
    }
}

#[test]
fn damaged_matrices() {
    let triples = seq(tuple(&[int(), int(), real()]));
    let rows = seq(vector(tuple(&[int(), real()])));
    let with = |body: &str| format!("%%MatrixMarket matrix coordinate real general\n{body}").into_bytes();
    for (body, words) in [
        ("2 2 2\n1 1 1\n", "the file ends after 1 of 2 entries"),
        ("2 2 2\n1 1 1\n\n% more\n", "the file ends after 1 of 2 entries"),
        ("2 2 1\n1 1 1\n2 2 2\n", "this is one entry more than the 1"),
        ("2 2 2\n1 1 1\n3 1 2\n", "the row is 3, and there are 2"),
        ("2 2 2\n1 1 1\n2 0 2\n", "the column is 0"),
        ("2 2 2\n1 1 1\n2 x 2\n", "the column is no index"),
        ("2 2 2\n1 1 1\n2\n", "the column is missing"),
        ("2 2 2\n1 1 1\n2 2\n", "the value is missing"),
        ("2 2 2\n1 1 1\n2 2 z\n", "the value is no number"),
        ("2 2 2\n1 1 1\n2 2 1 1\n", "is too much on this line"),
        ("2 2\n", "the number of entries is missing"),
        ("% nothing\n", "the file ends before the line with the sizes"),
        ("", "the file ends before the line with the sizes"),
    ] {
        fails("a.mtx", &with(body), &triples, words);
        fails("a.mtx", &with(body), &rows, words);
    }
    fails("a.mtx", b"", &triples, "this is no Matrix Market file");
    fails("a.mtx", b"garbage", &triples, "this is no Matrix Market file");
    fails("a.mtx", &with("2 2 1\n1 1 1\n"), &seq(tuple(&[int(), int(), int()])), "the entries are real numbers");
    let large = b"%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 300\n";
    fails("a.mtx", large, &seq(tuple(&[int(), int(), byte()])), "the entry 300 of row 1, column 2");
    fails("a.mtx", &with("900 2 1\n900 1 1\n"), &seq(tuple(&[byte(), int(), real()])), "which is no `u8`");
    fails("a.mtx", &with("99999999999 2 1\n1 1 1\n"), &rows, "rows are too many");
}

/// A sound of 16 bits: a head, an unknown chunk, and the samples.
fn sound(channels: u16, samples: &[i16]) -> Vec<u8> {
    let mut body = b"WAVEfmt ".to_vec();
    body.extend(16u32.to_le_bytes());
    for field in [1, channels] {
        body.extend(u16::to_le_bytes(field));
    }
    body.extend(8000u32.to_le_bytes());
    body.extend((16_000 * u32::from(channels)).to_le_bytes());
    body.extend((2 * channels).to_le_bytes());
    body.extend(16u16.to_le_bytes());
    body.extend(b"note\x03\0\0\0abc\0data");
    body.extend((2 * samples.len() as u32).to_le_bytes());
    samples.iter().for_each(|s| body.extend(s.to_le_bytes()));
    let mut file = b"RIFF".to_vec();
    file.extend((body.len() as u32).to_le_bytes());
    [file, body].concat()
}

#[test]
fn sounds() {
    let samples: Vec<i16> = (0..50).map(|i| i * 601 - 9000).collect();
    let (mono, stereo) = (sound(1, &samples), sound(2, &samples));
    for ty in [T::I16, T::F64, T::I32] {
        same("a.wav", "", &mono, &seq(ty));
        same("a.wav", "", &stereo, &seq(tuple(&[ty.into(), ty.into()])));
        same("a.wav", "", &stereo, &seq(vector(ty)));
        same("a.wav", "", &sound(1, &[]), &seq(ty));
    }
    let ty = seq(T::I16);
    fails("a.wav", &stereo, &ty, "2 channels");
    // The length of a pipe is not known in advance.
    let folder = Folder::new("sounds");
    for len in [mono.len() - 2, 50, 20] {
        let path = folder.file("a.wav", &mono[..len]);
        assert!(read_value(&path, &ty).is_err());
        assert!(streamed(&path, &ty).into_iter().all(|(_, error)| error.is_some()), "{len}");
    }
    fails("a.wav", b"RIFX", &ty, "does not begin with");
}

#[test]
fn everything_else_is_read_as_a_whole() {
    same("a.txt", "", b"{1, 2, 3}", &seq(int()));
    same("a.txt", "", b"[(1, [2.5]), (3, [])]", &seq(tuple(&[int(), vector(real())])));
    same("a.txt", "", b"{}", &seq(tuple(&[])));
    same("a.pgm", "", b"P2 2 2 255 1 2 3 4", &seq(vector(byte())));
    same("a.mtx", ":col", SORTED.as_bytes(), &seq(int()));
    fails("a.txt", b"{1, x}", &seq(int()), "`x` is not of type `int`");
    fails("a.json", b"[1]", &seq(int()), "does not read .json");
    fails("a.xyz", b"1", &seq(int()), "its ending does not say");
}

#[test]
fn files_that_cannot_be_opened() {
    let folder = Folder::new("missing");
    for (name, ty) in
        [("a.npy", seq(int())), ("a.txt", seq(byte())), ("a.csv", seq(int())), ("a.txt:words", seq(vector(byte())))]
    {
        let path = folder.0.join(name);
        let e = open(&path, &ty).err().unwrap();
        assert_eq!(e, read_value(&path, &ty).unwrap_err());
    }
    let e = open(&folder.file("a.txt", b""), &int()).err().unwrap();
    assert!(e.message.contains("is no sequence"));
    let text = folder.file("a.txt", b"a b");
    for (part, ty) in [("verses", seq(vector(byte()))), ("words", seq(byte()))] {
        let path = format!("{}:{part}", text.display());
        assert_eq!(open(Path::new(&path), &ty).err().unwrap(), read_value(&path, &ty).unwrap_err());
    }
}

#[test]
fn damage_of_packed_files_comes_behind_the_elements_before_it() {
    let folder = Folder::new("packed");
    let text: String = (0..20_000).map(|i| format!("{}\n", i * 7919 % 10_007)).collect();
    let path = folder.file("a.csv.gz", text.as_bytes());
    let packed = std::fs::read(&path).unwrap();
    std::fs::write(&path, &packed[..packed.len() - 3]).unwrap();
    let expected = read_value(&path, &seq(int())).unwrap_err();
    let mut source = open(&path, &seq(int())).unwrap();
    let (found, error) = collected(&mut *source, &int(), 1 << 10);
    assert_eq!((found.len(), error), (20_000, Some(expected)));
    assert_eq!(source.progress(), Some((packed.len() as u64 - 3, packed.len() as u64 - 3)));
}

#[test]
fn blocks_are_about_as_large_as_they_are_to_be() {
    let folder = Folder::new("blocks");
    let text = "a line of text\n".repeat(10_000);
    let numbers = array("<f8", "(20000,)", false, &[0; 160_000]);
    let cases =
        [(folder.file("a.txt", text.as_bytes()), seq(vector(byte()))), (folder.file("a.npy", &numbers), seq(real()))];
    for (path, ty) in cases {
        let (mut source, pool) = (open(&path, &ty).unwrap(), Pool::new(Some(1 << 20)));
        let mut sizes = Vec::new();
        while let Some(block) = source.next(4096, &pool).unwrap() {
            sizes.push(block.bytes());
        }
        sizes.pop();
        assert!(sizes.iter().all(|n| (2000..5000).contains(n)), "{sizes:?}");
        assert!(pool.stats().peak < 20_000);
    }
}

#[test]
fn an_element_larger_than_the_budget_is_refused() {
    let folder = Folder::new("budget");
    let path = folder.file("a.txt", &vec![b'x'; 1 << 20]);
    let mut source = open(&path, &seq(vector(byte()))).unwrap();
    assert!(matches!(source.next(1000, &Pool::new(Some(100_000))), Err(stream::Error::OverBudget(_))));
    let entries = "1 1 2.5\n".repeat(50_000);
    let path =
        folder.file("a.mtx", format!("%%MatrixMarket matrix coordinate real general\n1 1 50000\n{entries}").as_bytes());
    let mut source = open(&path, &seq(vector(tuple(&[int(), real()])))).unwrap();
    assert!(matches!(source.next(1000, &Pool::new(Some(100_000))), Err(stream::Error::OverBudget(_))));
}

#[test]
fn a_pipe_is_not_waited_for() {
    struct Two(usize);
    impl Read for Two {
        fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
            self.0 += 1;
            assert!(self.0 < 3, "there are two elements already");
            to[..4].copy_from_slice(b"1\n2\n");
            Ok(4)
        }
    }
    for (name, ty) in [("-", seq(vector(byte()))), ("-.csv", seq(int())), ("-:words", seq(vector(byte())))] {
        let place = Place::of(Path::new(name));
        let input = |_: &Place| Ok(Input::new(Box::new(Two(0)), None, false));
        let mut reader = reader(&place, input, &ty).unwrap();
        let mut found = None;
        assert!(reader.next(1 << 20, &Pool::new(None), &mut found).is_ok());
        assert!(found.unwrap().len() >= 2);
        assert_eq!(reader.progress().1, None);
    }
}

#[test]
fn standard_input_is_named_by_a_dash() {
    let of = |path: &str| {
        let place = Place::of(Path::new(path));
        (place.name.display().to_string(), place.part, place.path.display().to_string())
    };
    let (dash, words) = ("-".to_string(), Some("words".to_string()));
    assert_eq!(of("-"), ("-.txt".into(), None, dash.clone()));
    assert_eq!(of("-:words"), ("-.txt".into(), words.clone(), dash.clone()));
    assert_eq!(of("-.txt:words"), ("-.txt".into(), words, dash.clone()));
    assert_eq!(of("-.csv.gz"), ("-.csv.gz".into(), None, dash));
    assert_eq!(of("./-.csv"), ("./-.csv".into(), None, "./-.csv".into()));
    assert_eq!(of("-a.csv"), ("-a.csv".into(), None, "-a.csv".into()));
}
