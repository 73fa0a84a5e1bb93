//! Repository rules that a program can check.
//!
//! - a `.rs` file under `crates/` opens with a `//!` header;
//! - no `.rs` file outside `tests/` is longer than [`LONGEST`] lines;
//! - no tabs, trailing blanks or carriage returns in text files, and a newline at their end;
//! - every crate is named in `ARCHITECTURE.md`;
//! - `docs/errors.md` has a section for every error code, and no other;
//! - no unfinished code: none of [`UNFINISHED`] under `crates/`.

use crate::Faults;
use std::path::Path;

const LONGEST: usize = 800;
const TEXT: [&str; 4] = ["rs", "dk", "md", "toml"];
const UNFINISHED: [&str; 3] = ["todo!(", "unimplemented!(", "dbg!("];
const THIS: &str = "crates/xtask/src/tidy.rs";
/// Folders with foreign files: build output, history, and third-party texts.
const FOREIGN: [&str; 4] = ["target", ".git", "papers", "shared"];

/// All violations in the tree.
pub fn check(root: &Path) -> Faults {
    let mut faults = Faults::new();
    let mut files = Vec::new();
    if let Err(e) = walk(root, "", &mut files) {
        faults.push(format!("{}: {e}", root.display()));
    }
    for path in &files {
        match std::fs::read_to_string(root.join(path)) {
            Ok(text) => check_file(path, &text, &mut faults),
            Err(e) => faults.push(format!("{path}: {e}")),
        }
    }
    let crates = files.iter().filter_map(|f| f.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap_or_default();
    check_crates(crates, &read("ARCHITECTURE.md"), &mut faults);
    check_errors(deckle_diag::CODES.iter().map(|(_, info)| info.id), &read("docs/errors.md"), &mut faults);
    faults
}

/// Collects the text files under `folder`, as paths relative to the root with `/` as separator.
fn walk(root: &Path, folder: &str, files: &mut Vec<String>) -> std::io::Result<()> {
    let mut entries = std::fs::read_dir(root.join(folder))?.collect::<Result<Vec<_>, _>>()?;
    entries.sort_by_key(|e| e.file_name());
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
        let kind = entry.file_type()?;
        if kind.is_dir() && !FOREIGN.contains(&name.as_str()) {
            walk(root, &path, files)?;
        } else if kind.is_file() && TEXT.contains(&extension(&path)) {
            files.push(path);
        }
    }
    Ok(())
}

fn extension(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(_, ending)| ending)
}

fn check_file(path: &str, text: &str, faults: &mut Faults) {
    for (i, line) in text.split('\n').enumerate() {
        let mut fault = |what: &str| faults.push(format!("{path}:{}: {what}", i + 1));
        if line.contains('\t') {
            fault("a tab");
        }
        if line.ends_with(char::is_whitespace) {
            fault("trailing white space");
        }
        if path.starts_with("crates/") && path != THIS && extension(path) == "rs" {
            for word in UNFINISHED.into_iter().filter(|w| line.contains(w)) {
                fault(&format!("`{word}` left in the code"));
            }
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        faults.push(format!("{path}: no newline at the end"));
    }
    if extension(path) == "rs" {
        check_rust(path, text, faults);
    }
}

fn check_rust(path: &str, text: &str, faults: &mut Faults) {
    let test_folder = path.find("/tests/").map(|at| at + "/tests/".len());
    let test_folder = if path.starts_with("tests/") { Some("tests/".len()) } else { test_folder };
    let is_data = test_folder.is_some_and(|at| path[at..].contains('/'));
    if path.starts_with("crates/") && !is_data && !text.starts_with("//!") {
        faults.push(format!("{path}:1: no `//!` header"));
    }
    let lines = text.lines().count();
    if test_folder.is_none() && lines > LONGEST {
        faults.push(format!("{path}: {lines} lines, over {LONGEST}: it is two things"));
    }
}

fn check_crates<'a>(crates: impl Iterator<Item = &'a str>, architecture: &str, faults: &mut Faults) {
    let words: Vec<&str> = architecture.split(|c: char| !c.is_alphanumeric() && c != '-' && c != '_').collect();
    for name in crates.filter(|n| !words.contains(n)) {
        faults.push(format!("ARCHITECTURE.md: the crate `{name}` is not named"));
    }
}

fn check_errors<'a>(codes: impl Iterator<Item = &'a str>, page: &str, faults: &mut Faults) {
    let headings = page.lines().filter_map(|l| l.strip_prefix("## "));
    let sections: Vec<&str> = headings.map(|h| h.split([':', ' ']).next().unwrap_or(h)).collect();
    let codes: Vec<&str> = codes.collect();
    for code in codes.iter().filter(|c| !sections.contains(c)) {
        faults.push(format!("docs/errors.md: no section for {code}"));
    }
    for section in sections.iter().filter(|s| !codes.contains(s)) {
        faults.push(format!("docs/errors.md: the section {section} is of no known code"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(path: &str, text: &str) -> Faults {
        let mut faults = Faults::new();
        check_file(path, text, &mut faults);
        faults
    }

    #[test]
    fn blanks_are_found_where_they_are() {
        assert_eq!(faults_of("a.md", "x\ny \n\tz\n"), ["a.md:2: trailing white space", "a.md:3: a tab"]);
        assert_eq!(faults_of("a.dk", "x\r\n"), ["a.dk:1: trailing white space"]);
        assert_eq!(faults_of("a.toml", "x"), ["a.toml: no newline at the end"]);
    }

    #[test]
    fn headers_are_asked_of_code_and_not_of_data() {
        assert_eq!(faults_of("crates/a/src/lib.rs", "fn f() {}\n"), ["crates/a/src/lib.rs:1: no `//!` header"]);
        assert_eq!(faults_of("crates/a/tests/all.rs", "fn f() {}\n"), ["crates/a/tests/all.rs:1: no `//!` header"]);
        assert!(faults_of("crates/a/tests/data/bad.rs", "fn f() {}\n").is_empty());
    }

    #[test]
    fn long_files_are_found_outside_tests() {
        let text = format!("//! Long.\n{}", "//\n".repeat(LONGEST));
        assert_eq!(faults_of("crates/a/src/lib.rs", &text).len(), 1);
        assert!(faults_of("crates/a/tests/all.rs", &text).is_empty());
    }

    #[test]
    fn unfinished_code_is_found() {
        let found = faults_of("crates/a/src/lib.rs", "//! A.\nfn f() { todo!() }\n");
        assert_eq!(found, ["crates/a/src/lib.rs:2: `todo!(` left in the code"]);
    }

    #[test]
    fn crates_are_matched_as_whole_words() {
        let mut faults = Faults::new();
        check_crates(["deckle-ir", "deckle"].into_iter(), "`deckle-ir`: sizes", &mut faults);
        assert_eq!(faults, ["ARCHITECTURE.md: the crate `deckle` is not named"]);
    }

    #[test]
    fn the_error_index_is_held_to_the_codes() {
        let mut faults = Faults::new();
        check_errors(["D0001", "D0002"].into_iter(), "# Errors\n## D0001: a\n## D0009\n", &mut faults);
        let expected =
            ["docs/errors.md: no section for D0002", "docs/errors.md: the section D0009 is of no known code"];
        assert_eq!(faults, expected);
    }
}
