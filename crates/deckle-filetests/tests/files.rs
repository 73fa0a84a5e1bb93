//! Runs every test file, and sees to it that no operator and no built-in function goes untested.

use deckle_filetests::{Selection, coverage, root, run};

#[test]
fn every_file_gives_what_it_says() {
    let selection = Selection::from_env();
    let report = run(&root().join("tests"), &selection);
    println!("{} files, {} commands, {} rewritten", report.files, report.commands, report.blessed.len());
    assert!(report.files > 0, "no test file has `{}` in its path", selection.filter);
    let n = report.faults.len();
    let help = "`DECKLE_BLESS=1 cargo test -p deckle-filetests` accepts what the commands give";
    assert!(report.faults.is_empty(), "\n\n{}\n{n} faults; {help}\n", report.faults.join("\n"));
}

#[test]
fn every_operator_and_every_function_is_tested() {
    let coverage = coverage::of(&root().join("tests/ops"));
    let operators: Vec<&str> = coverage::operators().filter(|name| !coverage.operators.contains(name)).collect();
    let functions: Vec<&str> =
        deckle_syntax::builtins::names().filter(|name| !coverage.words.contains(*name)).collect();
    assert!(operators.is_empty(), "operators that no file under tests/ops uses: {}", operators.join(", "));
    assert!(functions.is_empty(), "functions that no file under tests/ops uses: {}", functions.join(", "));
}
