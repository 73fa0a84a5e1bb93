//! The library `sparse` against SciPy: every operation on real and on degenerate matrices.
//!
//! `sparse/ops.dk` reduces each result to a few numbers that depend on every element and its place, and `sparse/reference.py` computes
//! the same with SciPy. Its output for `sparse/matrices` is stored in `sparse/expected.txt`; where SciPy is installed (`$DECKLE_SCIPY`
//! names the Python that has it), it runs again. `cargo test -p deckle-cli --test sparse -- --ignored` does so for the matrices of the
//! folder `$DECKLE_MATRICES`.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The numbers of one function on one matrix.
struct Expected {
    matrix: String,
    function: String,
    numbers: Vec<f64>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sparse")
}

/// The Matrix Market files of a folder.
fn matrices(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<PathBuf> = files.filter(|p| p.to_string_lossy().contains(".mtx")).collect();
    files.sort();
    files
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_string_lossy().split('.').next().unwrap().to_string()
}

fn parse(text: &str) -> Vec<Expected> {
    let line = |line: &str| {
        let mut words = line.split_whitespace().map(str::to_string);
        let (matrix, function) = (words.next().unwrap(), words.next().unwrap());
        Expected { matrix, function, numbers: words.map(|w| w.parse().unwrap()).collect() }
    };
    text.lines().map(line).collect()
}

/// What SciPy computes, if it is installed.
fn scipy(files: &[PathBuf]) -> Option<String> {
    let python = std::env::var("DECKLE_SCIPY").unwrap_or_else(|_| "python3".into());
    let found = Command::new(&python).args(["-c", "import scipy.sparse"]).output().is_ok_and(|o| o.status.success());
    if !found {
        eprintln!("SciPy is not installed for `{python}`: stored results are used");
        return None;
    }
    let output = Command::new(&python).arg("-Wignore").arg(folder().join("reference.py")).args(files).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The parts of a result: a vector of numbers for each.
fn run(function: &str, matrix: &Path) -> Vec<Vec<f64>> {
    let mut deckle = Command::new(env!("CARGO_BIN_EXE_deckle"));
    deckle.arg("run").arg(folder().join("ops.dk")).args(["--entry", function, "--json", "--threads", "3"]);
    let output = deckle.arg(format!("m=@{}", matrix.display())).output().unwrap();
    let failure = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{function} of {}: {failure}", matrix.display());
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The differences. The last number of a part is a sum of absolute values: the scale of its rounding errors.
fn compare(expected: &Expected, matrix: &Path) -> Vec<String> {
    let parts = run(&expected.function, matrix);
    let mut rest = expected.numbers.as_slice();
    let mut faults = Vec::new();
    for (k, part) in parts.iter().enumerate() {
        let scale = part.last().map_or(0.0, |x| x.abs());
        let (wanted, after) = rest.split_at(part.len().min(rest.len()));
        rest = after;
        let agrees = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * scale.max(a.abs());
        if wanted.len() != part.len() || !part.iter().zip(wanted).all(agrees) {
            let Expected { matrix, function, .. } = expected;
            faults.push(format!("{function} of {matrix}, result {k}: {part:?}, but SciPy has {wanted:?}"));
        }
    }
    if !rest.is_empty() {
        faults.push(format!("{} of {} has fewer results than SciPy", expected.function, expected.matrix));
    }
    faults
}

fn agree(folder: &Path, mut expected: Vec<Expected>) {
    let files = matrices(folder);
    // So that both halves compile other functions.
    expected.sort_by(|a, b| a.function.cmp(&b.function));
    let one = |e: &Expected| {
        let file = files.iter().find(|f| name(f) == e.matrix).unwrap_or_else(|| panic!("no matrix {}", e.matrix));
        compare(e, file)
    };
    let half = |half: &[Expected]| half.iter().flat_map(one).collect::<Vec<String>>();
    let (first, second) = expected.split_at(expected.len() / 2);
    let faults = std::thread::scope(|s| {
        let other = s.spawn(|| half(second));
        [half(first), other.join().unwrap()].concat()
    });
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_operation_agrees_with_scipy() {
    let (files, stored) = (matrices(&folder().join("matrices")), folder().join("expected.txt"));
    let stored = std::fs::read_to_string(stored).unwrap();
    let expected = parse(&scipy(&files).unwrap_or(stored));
    assert!(files.iter().all(|f| expected.iter().any(|e| e.matrix == name(f))));
    agree(&folder().join("matrices"), expected);
}

#[test]
#[ignore = "needs SciPy and a folder of matrices, $DECKLE_MATRICES; takes minutes"]
fn every_operation_agrees_with_scipy_on_all_matrices() {
    let folder =
        PathBuf::from(std::env::var("DECKLE_MATRICES").expect("$DECKLE_MATRICES names a folder of .mtx files"));
    let expected = scipy(&matrices(&folder)).expect("SciPy is installed");
    agree(&folder, parse(&expected));
}

/// Every definition of the library is used by the functions that are compared, directly or by another definition.
#[test]
fn every_definition_of_the_library_is_tested() {
    let library = deckle_syntax::library::text("sparse").unwrap();
    let ops = std::fs::read_to_string(folder().join("ops.dk")).unwrap();
    let small = std::fs::read_to_string(folder().join("../../../../tests/library/sparse.dk")).unwrap();
    let names = library.lines().filter_map(|l| l.strip_prefix("def ").or_else(|| l.strip_prefix("type ")));
    let names = names.map(|l| l.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap());
    let mentions =
        |text: &str, name: &str| text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| *w == name).count();
    let unused = |name: &&str| mentions(&ops, name) + mentions(&small, name) == 0 && mentions(library, name) < 2;
    assert_eq!(names.filter(unused).collect::<Vec<_>>(), Vec::<&str>::new());
}
