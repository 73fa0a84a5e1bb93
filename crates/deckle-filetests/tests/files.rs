//! Runs every test file, and checks that every operator and every built-in function is tested.

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

#[test]
fn every_operator_and_every_function_has_a_schedule_that_is_shown() {
    let shown = coverage::shown(&root().join("tests/schedules"));
    assert!(shown.broken.is_empty(), "files without a program that compiles: {:?}", shown.broken);
    let operators: Vec<&str> = coverage::array_operators().filter(|name| !shown.operators.contains(name)).collect();
    let functions = deckle_syntax::builtins::BUILTINS.iter().filter(|b| b.chapter != "Scalars").map(|b| b.name);
    let functions: Vec<&str> = functions.filter(|name| !shown.words.contains(*name)).collect();
    let help = "add a small function with `//> kernels NAME` and `//> schedule NAME` under tests/schedules";
    assert!(operators.is_empty(), "operators whose schedule no file shows: {}; {help}", operators.join(", "));
    assert!(functions.is_empty(), "functions whose schedule no file shows: {}; {help}", functions.join(", "));
}

#[test]
fn every_example_has_its_kernels_counted() {
    let shown = coverage::shown(&root().join("tests/schedules/examples"));
    let mut missing = Vec::new();
    for path in deckle_filetests::files(&root().join("examples")) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (file, text) = (format!("examples/{name}"), std::fs::read_to_string(&path).unwrap());
        let uncounted = |entry: &&str| !shown.counted.contains(&(file.clone(), entry.to_string()));
        missing.extend(coverage::entries(&text).into_iter().filter(uncounted).map(|entry| format!("{file}: {entry}")));
    }
    let help = "add `//> kernels ENTRY` to its file under tests/schedules/examples";
    assert!(missing.is_empty(), "entries of examples whose kernels no file counts; {help}:\n{}", missing.join("\n"));
}
