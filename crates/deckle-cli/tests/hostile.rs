//! Programs that are small and ask for much: they are compiled or refused within bounds.

use std::fmt::Write;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// More than any of these takes, however slow the machine: what is quadratic in its size takes minutes.
const CEILING: Duration = Duration::from_secs(120);

/// What the command says to a program.
fn deckle(name: &str, program: &str, args: &[&str]) -> Output {
    let path = std::env::temp_dir().join(format!("deckle-hostile-{}-{name}.dk", std::process::id()));
    std::fs::write(&path, program).unwrap();
    let start = Instant::now();
    let mut command = Command::new(env!("CARGO_BIN_EXE_deckle"));
    let output = command.arg(args[0]).arg(&path).args(&args[1..]).output().unwrap();
    let _ = std::fs::remove_file(&path);
    assert!(start.elapsed() < CEILING, "{name} took {:?}", start.elapsed());
    output
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
            let output = deckle(&format!("{name}{levels}"), &program, &["run", "--on", "cpu", argument]);
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "{name}, {levels} levels: {err}");
            assert!(err.contains("D0801") && err.contains("statements"), "{err}");
        }
    }
}
