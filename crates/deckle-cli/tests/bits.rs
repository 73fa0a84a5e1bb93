//! The bits of a result do not depend on threads, on the sizes of chunks, on the run or on the process: every run here is a process of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Float programs over a million elements: folds, scans, filters, rows, groups and scatters, of vectors and of sequences.
const PROGRAMS: &str = r"
def x(i: int) = real(i * 7919 % 10007) / 10007.0 - 0.5
def xs(n: int) = [ x(i) : i in iota(n) ]
def ss(n: int) = { x(i) : i in iota(n) }
def total(n: int) = sum(ss(n))
def total_vector(n: int) = sum(xs(n))
def products(n: int) = sum([ a * b : a in xs(n); b in reverse(xs(n)) ])
def logs(n: int) = sum({ log(real(i)) : i in 1..n })
def kept(n: int) = sum([ a : a in xs(n) | a > 0.1 ])
def kept_stream(n: int) = sum({ a : a in ss(n) | a > 0.1 })
def means(n: int) = let s = { a : a in ss(n) | a > 0.0 } in (sum(s), length(s), max(s))
def running(n: int) = let s = scan(+, 0.0, xs(n)) in (s[n / 2], s[n - 1])
def running_stream(n: int) = sum(scan_incl(+, { a * 0.001 : a in ss(n) }))
def twice(n: int) = scan_incl(+, scan_incl(+, xs(n)))[n - 1]
def rows(n: int) = sum([ sum(r) * sum(r) : r in split(xs(n), fill(1000, n / 1000)) ])
def ragged(n: int) = sum([ sum([ x(i + j) : j in iota(i % 37) ]) : i in iota(n / 18) ])
def groups(n: int) = sum({ sum(g) * real(length(g)) : g in flagpart({ x(i) : i in iota(n) | i % 5 != 4 }, { i % 5 == 4 : i in iota(n) }) })
def bins(n: int) = sum(histogram(+, 0.0, 1000, [ i * 31 % 1000 : i in iota(n) ], xs(n)))
def matrix(n: int) = sum([ [ v * v : v in r ] : r in [ [ x(i * 1000 + j) : j in iota(1000) ] : i in iota(n / 1000) ] ][3])
def affine(n: int) = fold(\(a, b) (c, d) -> (a * c, b * c + d), (1.0, 0.0), [ (1.0 - 0.000001 * a, a) : a in xs(n) ])
def smooth(n: int) = sum(stencil(1, \i -> 0.0, \w -> (w[0] + 2.0 * w[1] + w[2]) / 4.0, xs(n)))
def nested(n: int) = sum({ sum({ x(i * j) : j in iota(100) }) : i in iota(n / 100) })
def joined(n: int) = sum({ a : a in ss(n) } ++ { a * 0.5 : a in ss(n) })
def single(n: int) = sum([ f32(a) : a in xs(n) ])
";

fn deckle(folder: &Path, args: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_deckle")).current_dir(folder).args(args).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{args:?}\n{}", text(&output.stderr));
    text(&output.stdout)
}

/// The ways to run a program whose results must be the same.
const WAYS: [&[&str]; 8] = [
    &["--threads", "1"],
    &["--threads", "1"],
    &["--threads", "2"],
    &["--threads", "3", "--chunk", "1000"],
    &["--threads", "7", "--chunk", "4096"],
    &["--threads", "2", "--chunk", "65537"],
    &["--threads", "5", "--chunk", "auto"],
    &["--on", "seq"],
];

#[track_caller]
fn agree(folder: &Path, args: &[&str], ways: &[&[&str]]) {
    let all: Vec<String> = ways.iter().map(|way| deckle(folder, &[args, way].concat())).collect();
    for (way, other) in ways.iter().zip(&all) {
        assert_eq!(all[0], *other, "{args:?} {way:?}");
    }
}

#[test]
fn float_programs_of_a_million_elements_give_the_same_bits() {
    let path = std::env::temp_dir().join(format!("deckle-bits-{}.dk", std::process::id()));
    std::fs::write(&path, PROGRAMS).unwrap();
    let mut count = 0;
    for entry in PROGRAMS.lines().filter_map(entry) {
        agree(Path::new("."), &["run", path.to_str().unwrap(), "--entry", entry, "n=1000000", "--json"], &WAYS);
        count += 1;
    }
    let _ = std::fs::remove_file(&path);
    assert!(count >= 20, "{count}");
}

/// The name of a program of [`PROGRAMS`] that takes `n`, by its line; those that only make data are left out.
fn entry(line: &str) -> Option<&str> {
    let (name, _) = line.strip_prefix("def ")?.split_once("(n: int) =")?;
    (name != "xs" && name != "ss").then_some(name)
}

/// The `// run:` lines of the examples, without what is about output.
fn examples(folder: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let mut all = Vec::new();
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|f| f.unwrap().path()).collect();
    files.sort();
    for path in files.into_iter().filter(|p| p.extension().is_some_and(|e| e == "dk")) {
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let Some(args) = line.strip_prefix("// run:") else { continue };
            if args.contains("--out") || args.contains('"') || args.contains('\'') {
                continue;
            }
            let args = args.split_whitespace().filter(|w| *w != "--json" && *w != "--full").map(str::to_string);
            all.push((path.clone(), args.collect()));
        }
    }
    all
}

#[test]
fn examples_give_the_same_bits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let all = examples(&folder);
    assert!(all.len() >= 15, "{}", all.len());
    for (path, args) in &all {
        let mut line = vec!["run", path.to_str().unwrap()];
        line.extend(args.iter().map(String::as_str));
        line.extend(["--full"]);
        agree(&folder, &line, &WAYS);
    }
}
