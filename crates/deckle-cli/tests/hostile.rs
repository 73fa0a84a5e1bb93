//! Programs that are small and ask for much: they are compiled and run, or refused with a limitation, in time and memory that their size explains.
//!
//! No test knows how fast the machine is. The time of processors is compared for a program and one twice as large ([`grows`]): a pass that is quadratic or worse
//! takes four times as long or more, once that is more than starting a process takes. Everything is compiled anew, in 2 GiB of addresses.

#![cfg(unix)]

use std::fmt::Write;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// What a run that does not end is given.
const CEILING: Duration = Duration::from_secs(120);
/// How much longer a program may take that is twice as large, and what any may take: starting the process, and noise.
const GROWTH: f64 = 3.5;
const FREE: Duration = Duration::from_millis(600);
/// The most addresses that a process may have, in KiB, and so the memory: LLVM maps more than it uses.
const MEMORY: u64 = 2 << 20;

/// What the command says to a program, and the time of processors that it took, which does not depend on what else runs.
fn deckle(name: &str, program: &str, args: &[&str]) -> (Output, Duration) {
    let path: PathBuf = std::env::temp_dir().join(format!("deckle-hostile-{}-{name}.dk", std::process::id()));
    std::fs::write(&path, program).unwrap();
    let start = Instant::now();
    let mut command = Command::new("sh");
    let line = format!("ulimit -v {MEMORY} 2>/dev/null; \"$0\" \"$@\"; code=$?; times >&2; exit $code");
    command.args(["-c", &line, env!("CARGO_BIN_EXE_deckle"), args[0]]).arg(&path).args(&args[1..]);
    let output = command.env("DECKLE_CACHE", "off").output().unwrap();
    assert!(start.elapsed() < CEILING, "{name} took {:?}", start.elapsed());
    let _ = std::fs::remove_file(&path);
    let took = seconds(&String::from_utf8_lossy(&output.stderr));
    (output, Duration::from_secs_f64(took))
}

/// The last line of what `times` prints: the user's and the system's, as in `0m1.25s 0m0.10s`.
fn seconds(text: &str) -> f64 {
    let of = |word: &str| {
        let (minutes, seconds) = word.strip_suffix('s')?.split_once('m')?;
        Some(minutes.parse::<f64>().ok()? * 60.0 + seconds.parse::<f64>().ok()?)
    };
    text.lines().last().unwrap_or_default().split_whitespace().filter_map(of).sum()
}

/// A program is run or refused natively, and so is one twice as large, in a time that follows their sizes.
fn grows(name: &str, sizes: [usize; 2], program: impl Fn(usize) -> String, args: &[&str]) {
    let took = sizes.map(|n| {
        let args = [&["run", "--on", "cpu"], args].concat();
        let (output, took) = deckle(&format!("{name}{n}"), &program(n), &args);
        let (code, err) = (output.status.code(), String::from_utf8_lossy(&output.stderr));
        let is_refused = code == Some(3) && (err.contains("D0801") || err.contains("D0005"));
        assert!(code == Some(0) || is_refused, "{name} of {n}: {code:?} {err}");
        took
    });
    let most = FREE + took[0].mul_f64(GROWTH * sizes[1] as f64 / sizes[0] as f64 / 2.0);
    assert!(took[1] <= most, "{name} of {} took {:?}, of {} {:?}", sizes[0], took[0], sizes[1], took[1]);
}

/// Each function calls the one before it twice.
fn doubling(levels: usize, first: &str, ty: &str, twice: impl Fn(usize) -> String) -> String {
    let mut text = format!("def f0(x: {ty}) = {first}\n");
    for i in 1..=levels {
        let _ = writeln!(text, "def f{i}(x: {ty}) = {}", twice(i - 1));
    }
    let _ = writeln!(text, "def main(x: {ty}) = f{levels}(x)");
    text
}

#[test]
fn functions_that_double_each_other_are_refused_natively() {
    let scalars = |f: usize| format!("f{f}(x) + f{f}(x + 1)");
    let vectors = |f: usize| format!("f{f}(f{f}(x))");
    for levels in [20, 30, 200] {
        for (name, program, argument) in [
            ("scalars", doubling(levels, "x + 1", "int", scalars), "x=1"),
            ("vectors", doubling(levels, "map(\\a -> a + 1, x)", "[int]", vectors), "x=[1]"),
        ] {
            let (output, _) = deckle(&format!("{name}{levels}"), &program, &["run", "--on", "cpu", argument]);
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{name}, {levels} levels: {err}");
            assert!(err.contains("D0801") && err.contains("statements"), "{err}");
        }
    }
}

/// Each function is two of the one before it, in a vector or a tuple.
#[test]
fn values_that_double_at_every_level_are_compiled_or_refused() {
    grows("lists", [11, 12], |n| doubling(n, "x", "int", |f| format!("[f{f}(x), f{f}(x + 1)]")), &["x=1"]);
    grows("tuples", [15, 30], |n| doubling(n, "x", "int", |f| format!("(f{f}(x), f{f}(x + 1))")), &["x=1"]);
}

#[test]
fn long_chains_of_conditions_compile() {
    let chain = |n: usize, then: fn(usize) -> String| {
        (0..n).fold(String::new(), |all, i| all + &format!("if x == {i} then {} else ", then(i)))
    };
    let scalar: fn(usize) -> String = |i| (i * 7 % 11).to_string();
    grows("ifs", [500, 1000], |n| format!("def main(x: int) = {}0", chain(n, scalar)), &["x=700"]);
    let vector: fn(usize) -> String = |i| format!("[v[{}]]", i % 3);
    let program = |n| format!("def main(x: int, v: [int]) = {}v", chain(n, vector));
    grows("vectors", [250, 500], program, &["x=5", "v=[1, 2, 3]"]);
    let program = |n| format!("def main(v: [int]) = [ {}0 : x in v ]", chain(n, scalar));
    grows("elements", [250, 500], program, &["v=[1, 2, 3]"]);
}

#[test]
fn vectors_in_vectors_are_compiled_or_refused() {
    grows("nested", [30, 60], |n| format!("def main(x: int) = {}x{}", "[".repeat(n), "]".repeat(n)), &["x=1"]);
    grows("deep", [600, 1200], |n| format!("def main(x: int) = {}x{}", "[".repeat(n), "]".repeat(n)), &["x=1"]);
    let generators = |n| (0..n).fold(String::new(), |all, i| all + &format!(" : x{i} in xs ]"));
    let program = |n: usize| format!("def main(xs: [int]) = {}x0{}", "[ ".repeat(n), generators(n));
    grows("comprehensions", [30, 60], program, &["xs=[1]"]);
}

#[test]
fn many_generators_are_compiled_or_refused() {
    let names = |n| (0..n).map(|i| format!("x{i}"));
    let generators = |n| names(n).map(|x| format!("{x} in xs")).collect::<Vec<_>>().join("; ");
    grows("first", [10_000, 20_000], |n| format!("def main(xs: [int]) = [ x0 : {} ]", generators(n)), &["xs=[1, 2]"]);
    let sum = |n| names(n).collect::<Vec<_>>().join(" + ");
    let program = |n| format!("def main(xs: [int]) = [ {} : {} ]", sum(n), generators(n));
    grows("all", [500, 1000], program, &["xs=[1, 2]"]);
}

#[test]
fn long_chains_of_scans_compile() {
    let program = |n: usize| {
        let scans = (0..n).fold(String::new(), |all, i| all + &format!("  let v{} = scan_incl(+, v{i})\n", i + 1));
        format!("def main(v0: [int]) =\n{scans}  in v{n}\n")
    };
    grows("scans", [16, 32], program, &["v0=[1, 2]"]);
}
