//! Writing.

use super::*;
use crate::testing::{byte, int, real, record, text, tuple, value, vector};
use crate::write_value;
use deckle_ir::scalar::ScalarType as T;

/// The blocks of a few elements each that make up a sequence.
fn blocks(elem: &Type, items: &[Value], few: usize, pool: &Pool) -> Vec<Data> {
    items.chunks(few).map(|some| tree::flat(elem, some, pool, "a block").unwrap()).collect()
}

/// Delivers all blocks.
fn put(path: &Path, ty: &Type, blocks: Vec<Data>) -> std::result::Result<(), stream::Error> {
    let mut sink = create(path, ty).unwrap().unwrap();
    blocks.into_iter().try_for_each(|block| sink.take(block))?;
    sink.finish()
}

/// Whether a sink writes the same as writing as a whole.
#[track_caller]
fn same(name: &str, ty: &Type, value: &Value) {
    let (folder, pool) = (Folder::new("put"), Pool::new(None));
    let (whole, parts) = (folder.0.join(format!("whole-{name}")), folder.0.join(format!("parts-{name}")));
    write_value(&whole, ty, value).unwrap();
    for few in [1, 2, 1000] {
        put(&parts, ty, blocks(ty.elem().unwrap(), value.items().unwrap(), few, &pool)).unwrap();
        let (whole, parts) = (std::fs::read(&whole).unwrap(), std::fs::read(&parts).unwrap());
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert!(parts == whole, "{name}: {} is not {}", shown(&parts), shown(&whole));
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 2);
}

#[track_caller]
fn written(name: &str, ty: &Type, shown: &[&str]) {
    shown.iter().for_each(|shown| same(name, ty, &value(shown, ty)));
}

#[test]
fn arrays() {
    written("a.npy", &seq(int()), &["{}", "{1, -2, 3}"]);
    written("a.npy", &seq(T::Bool), &["{true, false}"]);
    written("a.npy", &seq(T::F32), &["{1.5, nan}"]);
    written("a.npy", &seq(vector(real())), &["{}", "{[1, 2], [3, 4], [5, 6]}", "{[], []}"]);
    written("a.npy", &seq(seq(vector(byte()))), &["{}", "{{[1, 2]}, {[3, 4]}}", "{{}, {}}"]);
    let fixed = seq(Type::array(3.into(), T::I16.into()));
    written("a.npy", &fixed, &["{}", "{[1, 2, 3]}"]);
    let many = Value::seq((0..100_000).map(Value::int).collect());
    same("a.npy", &seq(int()), &many);
}

#[test]
fn tables() {
    written("a.csv", &seq(int()), &["{}", "{1, 2, 3}"]);
    written("a.csv.gz", &seq(int()), &["{}", "{1, 2, 3}"]);
    written("a.tsv", &seq(record(&[("x", real()), ("name", vector(byte()))])), &["{}", "{(1, \"a\tb\"), (nan, \"\")}"]);
    written("a.csv", &seq(tuple(&[int(), T::Bool.into()])), &["{}", "{(1, true), (2, false)}"]);
    written("a.csv", &seq(vector(real())), &["{}", "{[1, 2], [3, 4], [5, 6]}"]);
    written("a.csv", &seq(vector(byte())), &["{}", "{\"\", \"a,b\", \"c\"}"]);
}

#[test]
fn texts() {
    written("a.txt", &seq(vector(byte())), &["{}", "{\"a b\", \"\", \"c\"}"]);
    written("a.txt.gz", &seq(seq(byte())), &["{}", "{\"a b\", \"\", \"c\"}"]);
    written("a.txt", &seq(byte()), &["{}", "{1, 2, 10}"]);
    written("a.txt", &seq(int()), &["{}", "{1}", "{1, 2, 3}"]);
    written("a.txt", &seq(T::Bool), &["{true, false}"]);
    written("a.txt", &seq(tuple(&[])), &["{}", "{()}", "{(), ()}"]);
    let pair = seq(tuple(&[int(), real()]));
    written("a.txt", &pair, &["{}", "{(1, 2)}", "{(1, 2), (3, 4)}"]);
    let rows = |n: i64| Value::seq((0..n).map(|i| Value::tuple(vec![Value::int(i), Value::real(0.5)])).collect());
    (0..30).for_each(|n| same("a.txt", &pair, &rows(n)));
    let wide: Vec<(&str, Type)> = ["one", "two", "three", "four"].map(|name| (name, real())).to_vec();
    let wide = record(&wide.iter().cycle().take(12).map(|(n, t)| (*n, t.clone())).collect::<Vec<_>>());
    let one = Value::tuple(vec![Value::real(1.0 / 3.0); 12]);
    (1..4).for_each(|n| same("a.txt", &seq(wide.clone()), &Value::seq(vec![one.clone(); n])));
    written("a.txt", &seq(vector(vector(int()))), &["{}", "{[[1, 2], [3, 4]], [[5]], []}"]);
    written("a.txt", &seq(seq(int())), &["{}", "{{1, 2}, {}}"]);
    written("a.txt", &seq(tuple(&[int(), vector(int())])), &["{(1, [2, 3]), (4, [])}"]);
}

#[test]
fn json() {
    written("a.json", &seq(real()), &["{}", "{1, nan, 2.5}"]);
    written("a.json.gz", &seq(real()), &["{}", "{1, nan, 2.5}"]);
    written("a.json", &seq(record(&[("x", int()), ("ys", vector(seq(byte())))])), &["{}", "{(1, [[2], []]), (3, [])}"]);
    let many = Value::seq((0..50_000).map(|i| Value::int(i * i % 997)).collect());
    same("a.json.gz", &seq(int()), &many);
}

#[test]
fn rows_of_equal_size_need_no_offsets() {
    let (folder, pool) = (Folder::new("equal"), Pool::new(None));
    let rows = Data::equal(3, 2, Data::numbers(b"abcdef".to_vec())).unwrap();
    let ty = seq(vector(byte()));
    let whole = Value::seq(["ab", "cd", "ef"].map(text).to_vec());
    for name in ["a.txt", "a.npy", "a.csv", "a.json"] {
        put(&folder.0.join(name), &ty, vec![rows.clone(), rows.slice(1, 3, &pool).unwrap()]).unwrap();
        let twice = Value::seq([whole.items().unwrap(), &whole.items().unwrap()[1..]].concat());
        write_value(folder.0.join(format!("whole-{name}")), &ty, &twice).unwrap();
        let read = |name: &str| std::fs::read(folder.0.join(name)).unwrap();
        assert_eq!(read(name), read(&format!("whole-{name}")));
    }
}

#[test]
fn what_cannot_be_written_is_said_as_it_is_of_the_whole() {
    let (folder, pool) = (Folder::new("unfit"), Pool::new(None));
    let matrix = seq(vector(int()));
    let deep = seq(vector(vector(int())));
    for (name, ty, written) in [
        ("a.npy", &matrix, "{[1, 2], [3, 4], [5]}"),
        ("a.npy", &deep, "{[[1], [2]], [[3], [4]], [[5], [6, 7]]}"),
        ("a.npy", &deep, "{[[1], [2]], [[3], [4]], [[5]]}"),
        ("a.csv", &matrix, "{[1, 2], [3, 4], [5]}"),
        ("a.csv", &matrix, "{[]}"),
        ("a.txt", &seq(vector(byte())), "{\"a\", \"b\", \"c\\nd\"}"),
        ("a.txt", &seq(vector(byte())), "{\"a\\r\"}"),
    ] {
        let (path, value) = (folder.0.join(name), value(written, ty));
        let expected = write_value(&path, ty, &value).unwrap_err();
        for few in [1, 2, 1000] {
            let e = put(&path, ty, blocks(ty.elem().unwrap(), value.items().unwrap(), few, &pool)).unwrap_err();
            let stream::Error::Failed(e) = e else { panic!("{e}") };
            assert_eq!(*e.downcast::<Error>().unwrap(), Error { path: Some(path.clone()), ..expected.clone() });
        }
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 0);
    assert!(create(&folder.0.join("no/a.csv"), &matrix).is_err());
    assert!(create(&folder.0.join("a.xyz"), &matrix).is_err());
    assert!(create(&folder.0.join("a.npy"), &seq(tuple(&[int()]))).is_err());
}

#[test]
fn some_files_are_written_as_a_whole() {
    let folder = Folder::new("whole");
    for (name, ty) in [
        ("a.mtx", seq(vector(real()))),
        ("a.npz", seq(real())),
        ("a.pgm", seq(vector(byte()))),
        ("a.npy.gz", seq(int())),
        ("a.txt", seq(vector(int()))),
        ("a.csv", vector(int())),
    ] {
        let made = create(&folder.0.join(name), &ty);
        assert!(made.is_ok_and(|sink| sink.is_none()) || name == "a.npz", "{name}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/null", folder.0.join("null.npy")).unwrap();
        assert!(create(&folder.0.join("null.npy"), &seq(int())).unwrap().is_none());
    }
}

#[test]
fn a_sink_that_is_dropped_leaves_the_old_file_and_nothing_else() {
    let (folder, pool) = (Folder::new("dropped"), Pool::new(None));
    for name in ["a.npy", "a.csv", "a.json.gz", "a.txt"] {
        std::fs::write(folder.0.join(name), "old").unwrap();
        let mut sink = create(&folder.0.join(name), &seq(int())).unwrap().unwrap();
        sink.take(tree::flat(&int(), &vec![Value::int(1); 100_000], &pool, "a block").unwrap()).unwrap();
        drop(sink);
        assert_eq!(std::fs::read(folder.0.join(name)).unwrap(), b"old");
    }
    assert_eq!(std::fs::read_dir(&folder.0).unwrap().count(), 4);
}
