//! Tests of Matrix Market files and of how they become values.

use super::*;
use crate::testing::{byte, csr, int, ints, real, reals, record, tuple, value, vector};
use crate::tree;
use deckle_ir::types::Type;
use deckle_ir::value::Value;

const SMALL: &str =
    "%%MatrixMarket matrix coordinate real general\n% a comment\n\n3 4 3\n3 2 2.5\n1 1 7\n\n3 4 -1e-3\n";

fn read_as(text: &str, ty: &Type) -> Result<Value> {
    parse(text.as_bytes()).and_then(|m| to_value(m, ty, None))
}

fn part(text: &str, name: &str, ty: &Type) -> Result<Value> {
    parse(text.as_bytes()).and_then(|m| to_value(m, ty, Some(name)))
}

fn dense(text: &str) -> Result<Vec<Vec<f64>>> {
    let value = read_as(text, &vector(vector(real())))?;
    let row = |v: &Value| v.items().unwrap().iter().map(|x| x.as_scalar().unwrap().as_float().unwrap()).collect();
    Ok(value.items().unwrap().iter().map(row).collect())
}

fn with(header: &str, body: &str) -> String {
    format!("%%MatrixMarket matrix {header}\n{body}")
}

#[track_caller]
fn fails(text: &str, line: u64, words: &str) {
    let e = parse(text.as_bytes()).unwrap_err();
    assert!(e.message.contains(words), "{e}");
    assert_eq!(e.line, Some(line), "{e}");
}

#[test]
fn a_file_is_read_as_it_stands() {
    let m = parse(SMALL.as_bytes()).unwrap();
    assert_eq!((m.rows, m.cols, m.layout, m.symmetry), (3, 4, Layout::Coordinate, Symmetry::General));
    assert_eq!((&m.row[..], &m.col[..]), (&[2, 0, 2][..], &[1, 0, 3][..]));
    assert_eq!(m.values, Values::Real(vec![2.5, 7.0, -1e-3]));
}

#[test]
fn every_type_of_matrix_is_filled() {
    let ty = csr(real());
    let expected = value("([0, 1, 1, 3], [[(0, 7)], [], [(1, 2.5), (3, -1e-3)]])", &ty);
    assert_eq!(read_as(SMALL, &ty).unwrap(), expected);
    let rows = Type::seq(vector(tuple(&[int(), real()])));
    assert_eq!(read_as(SMALL, &rows).unwrap(), value("{[(0, 7)], [], [(1, 2.5), (3, -1e-3)]}", &rows));
    let triples = vector(tuple(&[int(), int(), real()]));
    assert_eq!(read_as(SMALL, &triples).unwrap(), value("[(0, 0, 7), (2, 1, 2.5), (2, 3, -1e-3)]", &triples));
    let coordinates = tuple(&[int(), int(), vector(int()), vector(int()), vector(real())]);
    let expected = value("(3, 4, [0, 2, 2], [0, 1, 3], [7, 2.5, -1e-3])", &coordinates);
    assert_eq!(read_as(SMALL, &coordinates).unwrap(), expected);
    let arrays = record(&[("val", vector(real())), ("col", vector(int())), ("off", vector(int())), ("nnz", int())]);
    let expected = value("([7, 2.5, -1e-3], [0, 1, 3], [0, 1, 1, 3], 3)", &arrays);
    assert_eq!(read_as(SMALL, &arrays).unwrap(), expected);
    let expected = [[7.0, 0.0, 0.0, 0.0], [0.0; 4], [0.0, 2.5, 0.0, -1e-3]];
    assert_eq!(dense(SMALL).unwrap(), expected);
    assert_eq!(part(SMALL, "off", &vector(int())).unwrap(), ints(&[0, 1, 1, 3]));
    assert_eq!(part(SMALL, "val", &vector(real())).unwrap(), reals(&[7.0, 2.5, -1e-3]));
    assert_eq!(part(SMALL, "rows", &int()).unwrap(), Value::int(3));
    assert_eq!(part(SMALL, "cols", &byte()).unwrap(), deckle_ir::scalar::Scalar::U8(4).into());
}

#[test]
fn all_kinds_and_symmetries() {
    let lower = "2 2 2\n1 1 4\n2 1 5\n";
    assert_eq!(dense(&with("coordinate integer symmetric", lower)).unwrap(), [[4.0, 5.0], [5.0, 0.0]]);
    assert_eq!(dense(&with("coordinate real skew-symmetric", "2 2 1\n2 1 5\n")).unwrap(), [[0.0, -5.0], [5.0, 0.0]]);
    assert_eq!(dense(&with("coordinate pattern general", "1 2 1\n1 2\n")).unwrap(), [[0.0, 1.0]]);
    assert_eq!(dense(&with("array real general", "2 2\n1\n2\n3\n4\n")).unwrap(), [[1.0, 3.0], [2.0, 4.0]]);
    let array = "3 3\n1\n2\n3\n4\n5\n6\n";
    let full = [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]];
    assert_eq!(dense(&with("array integer symmetric", array)).unwrap(), full);
    let skew = [[0.0, -1.0, -2.0], [1.0, 0.0, -3.0], [2.0, 3.0, 0.0]];
    assert_eq!(dense(&with("array real skew-symmetric", "3 3\n1\n2\n3\n")).unwrap(), skew);
    assert_eq!(dense(&with("array real general", "0 0\n")).unwrap(), [[0.0; 0]; 0]);
    let upper_case = "%%matrixmarket MATRIX Coordinate REAL General\r\n1 1 1\r\n1 1 2\r\n";
    assert_eq!(dense(upper_case).unwrap(), [[2.0]]);
    let flags = vector(vector(Type::BOOL));
    let pattern = with("coordinate pattern general", "1 2 1\n1 2\n");
    assert_eq!(read_as(&pattern, &flags).unwrap(), value("[[false, true]]", &flags));
    let neighbours = record(&[("off", vector(int())), ("rows", vector(vector(int())))]);
    assert_eq!(read_as(&pattern, &neighbours).unwrap(), value("([0, 1], [[1]])", &neighbours));
    assert!(read_as(SMALL, &neighbours).unwrap_err().message.contains("has no values"));
}

/// The lower half of a matrix, in every notation of a file, and the whole matrix.
#[test]
fn every_variant_that_exists_is_read() {
    let value = |field: &str, v: &str| if field == "pattern" { String::new() } else { format!(" {v}") };
    for field in ["real", "integer", "pattern"] {
        let [four, five] = if field == "pattern" { [1.0; 2] } else { [4.0, 5.0] };
        let (low, diagonal) = (value(field, "5"), value(field, "4"));
        for (symmetry, above, body) in [
            ("general", 0.0, format!("2 2 2\n1 1{diagonal}\n2 1{low}\n")),
            ("symmetric", five, format!("2 2 2\n1 1{diagonal}\n2 1{low}\n")),
            ("skew-symmetric", -five, format!("2 2 1\n2 1{low}\n")),
        ] {
            let text = with(&format!("coordinate {field} {symmetry}"), &body);
            if (field, symmetry) == ("pattern", "skew-symmetric") {
                fails(&text, 1, "skew-symmetric");
                continue;
            }
            let corner = if symmetry == "skew-symmetric" { 0.0 } else { four };
            assert_eq!(dense(&text).unwrap(), [[corner, above], [five, 0.0]], "{text}");
        }
    }
    for field in ["real", "integer"] {
        for (symmetry, body, whole) in [
            ("general", "1\n2\n3\n4\n", [[1.0, 3.0], [2.0, 4.0]]),
            ("symmetric", "1\n2\n4\n", [[1.0, 2.0], [2.0, 4.0]]),
            ("skew-symmetric", "2\n", [[0.0, -2.0], [2.0, 0.0]]),
        ] {
            let text = with(&format!("array {field} {symmetry}"), &format!("2 2\n{body}"));
            assert_eq!(dense(&text).unwrap(), whole, "{text}");
            let triples = vector(tuple(&[int(), int(), real()]));
            assert!(!read_as(&text, &triples).unwrap().items().unwrap().is_empty(), "{text}");
        }
    }
}

#[test]
fn entries_at_one_place_are_kept_in_order() {
    let text = with("coordinate real general", "2 2 4\n2 2 9\n1 2 3\n1 1 1\n1 2 2\n");
    let rows = vector(vector(tuple(&[int(), real()])));
    assert_eq!(read_as(&text, &rows).unwrap(), value("[[(0, 1), (1, 3), (1, 2)], [(1, 9)]]", &rows));
    assert_eq!(dense(&text).unwrap_err().message, "row 1, column 2 is there twice, and a dense matrix has one");
}

#[test]
fn what_is_wrong_is_named_by_its_line() {
    let general = |body: &str| with("coordinate real general", body);
    fails("", 1, "does not begin with `%%MatrixMarket`");
    fails("1 1 1\n", 1, "does not begin with `%%MatrixMarket`");
    fails("%%MatrixMarket matrix\n", 1, "followed by 1 word, not 4");
    fails(&with("coordinate complex general", "1 1 0\n"), 1, "complex numbers");
    fails(&with("coordinate complex hermitian", "1 1 0\n"), 1, "complex numbers");
    fails(&with("coordinate real hermitian", "1 1 0\n"), 1, "hermitian");
    fails(&with("sparse real general", "1 1 0\n"), 1, "the format `sparse` is not known");
    fails(&with("array pattern general", "1 1\n"), 1, "an array has values");
    fails(&general("% only a comment\n"), 2, "before the line with the sizes");
    fails(&general("2 2\n"), 2, "the number of entries is missing");
    fails(&general("-2 2 1\n"), 2, "the number of rows is negative");
    fails(&general("2 2.5 1\n"), 2, "no whole number: `2.5`");
    fails(&general("2 2 99999999999999999999\n"), 2, "too large to exist");
    fails(&general("2 2 1 7\n"), 2, "`7` is too much on this line");
    fails(&general("2 2 1\n0 1 5\n"), 3, "the row is 0: indices start at 1");
    fails(&general("2 2 1\n1 3 5\n"), 3, "the column is 3, and there are 2");
    fails(&general("2 2 1\n-1 1 5\n"), 3, "the row is no index: `-1`");
    fails(&general("2 2 1\nnan 1 5\n"), 3, "the row is no index: `nan`");
    fails(&general("2 2 1\n1.0 1 5\n"), 3, "the row is no index: `1.0`");
    fails(&general("2 2 1\n1 1\n"), 3, "the value is missing");
    fails(&general("2 2 1\n1 1 x\n"), 3, "the value is no number: `x`");
    fails(&general("2 2 1\n1 1 1e999\n"), 3, "outside the range of a double");
    fails(&general("2 2 1\n1 1 1 1\n"), 3, "`1` is too much on this line");
    fails(&general("2 2 2\n1 1 1\n"), 3, "the file ends after 1 of 2 entries");
    fails(&general("2 2 1\n1 1 1\n\n2 2 2\n"), 5, "one entry more than the 1");
    fails(&with("coordinate integer general", "1 1 1\n1 1 1.5\n"), 3, "no integer of 64 bits: `1.5`");
    fails(&with("coordinate pattern general", "1 1 1\n1 1 1\n"), 3, "`1` is too much on this line");
    fails(&with("coordinate real symmetric", "2 3 0\n"), 2, "a symmetric matrix is square");
    fails(&with("coordinate real symmetric", "2 2 1\n1 2 5\n"), 3, "this is row 1, column 2");
    fails(&with("coordinate real skew-symmetric", "2 2 1\n1 1 5\n"), 3, "below the diagonal only");
    fails(&with("array real general", "2 2\n1\n2\n"), 4, "the file ends after 2 of 4 entries");
    fails(&with("array real general", "9999999999 9999999999\n1\n"), 2, "too large to exist");
}

#[test]
fn sizes_that_nothing_justifies_are_refused() {
    let wide = with("coordinate real general", "1000000000000 1000000000000 1\n1 1000000000000 3\n");
    assert!(read_as(&wide, &csr(real())).unwrap_err().message.contains("1000000000000 rows are too many"));
    assert!(dense(&wide).unwrap_err().message.contains("is too large for 1 entries"));
    let triples = vector(tuple(&[int(), int(), real()]));
    assert_eq!(read_as(&wide, &triples).unwrap(), value("[(0, 999999999999, 3)]", &triples));
    fails(&with("coordinate real general", "9 9 1000000000000\n1 1 1\n"), 3, "ends after 1 of 1000000000000");
}

#[test]
fn what_does_not_fit_is_refused() {
    let message = |ty: &Type| read_as(SMALL, ty).unwrap_err().message;
    assert_eq!(message(&vector(real())), "a matrix is no `[real]`");
    assert_eq!(message(&csr(int())), "the entries are real numbers, not `int`");
    assert_eq!(message(&record(&[("of", vector(int()))])), "a matrix has no `of`");
    assert_eq!(message(&record(&[("off", int())])), "the `off` of a matrix is no `int`");
    let large = with("coordinate integer general", "1 1 1\n1 1 300\n");
    let bytes = vector(vector(byte()));
    assert_eq!(read_as(&large, &bytes).unwrap_err().message, "the entry 300 of row 1, column 1 is no `u8`");
}

#[test]
fn what_is_written_is_read() {
    let cases = [
        (
            csr(real()),
            "([0, 1, 1, 3], [[(0, 7)], [], [(1, 2), (2, 3)]])",
            "coordinate real general\n3 3 3\n1 1 7.0\n3 2 2.0\n3 3 3.0\n",
        ),
        (
            record(&[
                ("rows", int()),
                ("cols", int()),
                ("row", vector(int())),
                ("col", vector(int())),
                ("val", vector(int())),
            ]),
            "(3, 4, [0, 2], [1, 0], [5, -6])",
            "coordinate integer general\n3 4 2\n1 2 5\n3 1 -6\n",
        ),
        (
            record(&[("off", vector(int())), ("col", vector(int())), ("cols", int())]),
            "([0, 0, 2], [0, 1], 5)",
            "coordinate pattern general\n2 5 2\n2 1\n2 2\n",
        ),
        (vector(vector(real())), "[[1, nan], [inf, 4]]", "array real general\n2 2\n1.0\ninf\nNaN\n4.0\n"),
        (vector(tuple(&[int(), int(), Type::BOOL])), "[(0, 1, true)]", "coordinate pattern general\n1 2 1\n1 2\n"),
    ];
    for (ty, written, text) in cases {
        let value = value(written, &ty);
        let matrix = from_data(&ty, &tree::single(&ty, &value).unwrap()).unwrap();
        let bytes = write_bytes(&matrix);
        assert_eq!(String::from_utf8_lossy(&bytes), format!("%%MatrixMarket matrix {text}"));
        assert_eq!(parse(&bytes).unwrap().values.field(), matrix.values.field());
        let back = to_value(parse(&bytes).unwrap(), &ty, None).unwrap();
        assert_eq!(write_bytes(&from_data(&ty, &tree::single(&ty, &back).unwrap()).unwrap()), bytes);
    }
    assert!(check_type(&vector(real())).is_err());
    let off = record(&[("off", vector(int())), ("col", vector(int()))]);
    assert!(from_data(&off, &tree::single(&off, &value("([0, 3], [1])", &off)).unwrap()).is_err());
    let rows = vector(vector(tuple(&[int(), real()])));
    assert!(
        from_data(&rows, &tree::single(&rows, &value("[[(-1, 2)]]", &rows)).unwrap())
            .unwrap_err()
            .message
            .contains("no index")
    );
}

#[test]
fn files_round_trip_packed_and_not() {
    let dir = crate::atomic::tests::directory("mtx");
    let matrix = parse(SMALL.as_bytes()).unwrap();
    for name in ["a.mtx", "a.mtx.gz"] {
        write(dir.join(name), &matrix).unwrap();
        assert_eq!(read(dir.join(name)).unwrap(), matrix);
    }
    assert_eq!(read(dir.join("b.mtx")).unwrap_err().path, Some(dir.join("b.mtx")));
    std::fs::remove_dir_all(&dir).unwrap();
}
