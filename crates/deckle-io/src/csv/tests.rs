//! Tests of how tables become values, and back.

use super::*;
use crate::testing::{byte, int, ints, real, reals, record, text, tuple, value, vector};
use crate::{Error, Result};
use deckle_ir::value::Value;

const TABLE: &str = "name,n,x\none,1,0.5\n\"t,wo\",2,-1e3\n";

fn read(text: &str, ty: &Type) -> Result<Value> {
    read_bytes(text.as_bytes(), b',', ty, None)
}

#[track_caller]
fn fails(table: &str, ty: &Type, place: (u64, u32), words: &str) -> Error {
    let e = read(table, ty).unwrap_err();
    assert!(e.message.contains(words), "{e}");
    assert_eq!((e.line, e.column), (Some(place.0), Some(place.1)), "{e}");
    e
}

#[test]
fn records_of_vectors_are_filled_by_name() {
    let ty = record(&[("x", vector(real())), ("name", vector(vector(byte()))), ("n", vector(int()))]);
    let names = Value::array(vec![text("one"), text("t,wo")]);
    assert_eq!(read(TABLE, &ty).unwrap(), Value::tuple(vec![reals(&[0.5, -1000.0]), names, ints(&[1, 2])]));
    let some = record(&[("n", vector(int()))]);
    assert_eq!(read(TABLE, &some).unwrap(), Value::tuple(vec![ints(&[1, 2])]));
    let none = record(&[("n", vector(int())), ("y", vector(real()))]);
    let e = read(TABLE, &none).unwrap_err();
    assert_eq!(e.message, "the table has no column `y`; it has `name`, `n`, `x`");
    let twice = read("n,n\n1,2\n", &some).unwrap_err();
    assert_eq!(twice.message, "the header has two columns `n`");
}

#[test]
fn vectors_of_records_and_tuples() {
    let ty = vector(record(&[("n", int()), ("name", vector(byte()))]));
    let row = |n: i64, s: &str| Value::tuple(vec![Value::int(n), text(s)]);
    assert_eq!(read(TABLE, &ty).unwrap(), Value::array(vec![row(1, "one"), row(2, "t,wo")]));
    let pairs = vector(tuple(&[int(), real()]));
    let expected = value("[(1, 2.5), (3, 4.0)]", &pairs);
    assert_eq!(read("1,2.5\n3, 4\n", &pairs).unwrap(), expected);
    assert_eq!(read("a,b\n1,2.5\n3,4\n", &pairs).unwrap(), expected);
    let points = vector(record(&[("x", int()), ("y", real())]));
    assert_eq!(read("1,2.5\n3,4\n", &points).unwrap(), expected);
    assert_eq!(read("", &pairs).unwrap(), Value::array(vec![]));
}

#[test]
fn vectors_and_matrices() {
    assert_eq!(read("1\n2\n\n3\n", &vector(int())).unwrap(), ints(&[1, 2, 3]));
    assert_eq!(read("n\n1\n", &vector(int())).unwrap(), ints(&[1]));
    assert_eq!(read_bytes(TABLE.as_bytes(), b',', &vector(int()), Some("n")).unwrap(), ints(&[1, 2]));
    let several = read(TABLE, &vector(int())).unwrap_err();
    assert_eq!(several.help.as_deref(), Some("pick one: @FILE.csv:NAME"));
    let m = vector(vector(real()));
    let expected = value("[[1, 2], [3, nan]]", &m);
    assert_eq!(read("1,2\n3,nan\n", &m).unwrap(), expected);
    assert_eq!(read("a,b\n1,2\n3,nan\n", &m).unwrap(), expected);
    assert_eq!(read_bytes(b"1\t2\n3\tnan\n", b'\t', &m, None).unwrap(), expected);
    assert_eq!(read("1,2\n", &Type::seq(vector(int()))).unwrap(), Value::seq(vec![ints(&[1, 2])]));
    assert_eq!(read("a\n", &vector(vector(byte()))).unwrap(), Value::array(vec![text("a")]));
}

#[test]
fn what_is_wrong_is_named_by_line_and_column() {
    let pairs = vector(tuple(&[int(), real()]));
    fails("1,2\n3\n", &pairs, (2, 1), "this line has 1 field, and the first one has 2");
    fails("1,2\n3,4,5\n", &pairs, (2, 2), "this line has 3 fields");
    fails("1,2\n3,\n", &pairs, (2, 2), "the field is empty");
    fails("1,2\n\n3,x\n", &pairs, (3, 2), "`x` is not of type `real`");
    fails("1,x\n3,4\n", &pairs, (1, 2), "`x` is not of type `real`");
    let hint = fails("1,2\n3.0,4\n", &pairs, (2, 1), "`3.0` is not of type `int`");
    assert_eq!(hint.help.as_deref(), Some("write `3`"));
    let ty = record(&[("n", vector(int())), ("b", vector(Type::BOOL))]);
    fails("n,b\n1,true\n2,yes\n", &ty, (3, 2), "`b`: `yes` is not of type `bool`");
    fails("1.2.3\n4\n", &vector(real()), (1, 1), "`1.2.3` is not of type `real`");
    fails("300\n", &vector(byte()), (1, 1), "outside the range");
    fails("1,\"2\n", &pairs, (1, 2), "never closed");
    assert!(read("1,2,3\n", &pairs).unwrap_err().message.contains("the table has 3 columns, and the type has 2"));
    assert!(read("1\n", &int()).unwrap_err().message.contains("a table is no `int`"));
}

#[test]
fn what_is_written_is_read() {
    let cases = [
        (vector(tuple(&[int(), real()])), "[(1, 2.5), (-3, 1e300)]", "1,2.5\n-3,1e300\n"),
        (vector(record(&[("x", int()), ("y", Type::BOOL)])), "[(1, true)]", "x,y\n1,true\n"),
        (record(&[("x", vector(int())), ("y", vector(real()))]), "([1, 2], [0, inf])", "x,y\n1,0.0\n2,inf\n"),
        (vector(vector(real())), "[[1, 2], [3, nan]]", "1.0,2.0\n3.0,nan\n"),
        (vector(vector(byte())), "[\"a,b\", \"\", \"c\\nd\", \"e\\\"f\"]", "\"a,b\"\n\"\"\n\"c\nd\"\n\"e\"\"f\"\n"),
        (vector(int()), "[]", ""),
    ];
    for (ty, written, table) in cases {
        let value = value(written, &ty);
        let bytes = write_bytes(b',', &ty, &value).unwrap();
        assert_eq!(String::from_utf8_lossy(&bytes), table);
        assert_eq!(read(table, &ty).unwrap(), value);
    }
    let uneven = record(&[("x", vector(int())), ("y", vector(int()))]);
    let e = write_bytes(b',', &uneven, &value("([1], [])", &uneven)).unwrap_err();
    assert!(e.message.contains("column 1 has 0 elements"), "{e}");
    let ragged = vector(vector(int()));
    assert!(write_bytes(b',', &ragged, &value("[[1], [2, 3]]", &ragged)).is_err());
    assert!(check_type(&tuple(&[int(), int()])).is_err());
}
