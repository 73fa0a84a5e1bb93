//! Pages under `docs/` that are generated from tables in the code.
//!
//! A page is a function without arguments that returns text. To add one, write the function and list it in
//! [`PAGES`]; `cargo xtask docs` then writes it, and a test fails if it is stale.

use crate::{Faults, operators};
use deckle_diag::{CODES, Class, CodeInfo};
use std::fmt::Write;
use std::path::Path;

struct Page {
    path: &'static str,
    source: &'static str,
    text: fn() -> String,
}

/// All generated pages.
const PAGES: &[Page] = &[
    Page { path: "docs/errors.md", source: "crates/deckle-diag/src/codes.rs", text: errors },
    Page {
        path: "docs/operators.md",
        source: "crates/deckle-syntax/src/builtins.rs and crates/deckle-ir/src/array",
        text: operators::page,
    },
];

/// Writes every page that differs from its table.
pub fn write(root: &Path) -> Faults {
    let mut faults = Faults::new();
    for page in stale(root) {
        let file = root.join(page.path);
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        match made.and_then(|()| std::fs::write(&file, whole(page))) {
            Ok(()) => eprintln!("xtask: wrote {}", page.path),
            Err(e) => faults.push(format!("{}: {e}", page.path)),
        }
    }
    faults
}

/// The pages that `write` would change.
pub fn check(root: &Path) -> Faults {
    stale(root).map(|p| format!("{}: not as {} says; run `cargo xtask docs`", p.path, p.source)).collect()
}

fn stale(root: &Path) -> impl Iterator<Item = &'static Page> {
    PAGES.iter().filter(move |p| std::fs::read_to_string(root.join(p.path)).ok() != Some(whole(p)))
}

fn whole(page: &Page) -> String {
    format!("<!-- Written by `cargo xtask docs` from {}. Do not edit. -->\n\n{}", page.source, (page.text)())
}

const ERRORS_HEAD: &str = "\
# Errors

Every error has a code that never changes and is never used for anything else.

| class | meaning | exit code |
|---|---|---|
| `error` | the program or its data is wrong | 1 |
| `limitation` | the program is right, but this version of Deckle cannot run it | 3 |
| `bug` | Deckle is wrong; please report it | 101 |

| code | class | |
|---|---|---|
";

fn errors() -> String {
    let mut out = ERRORS_HEAD.to_string();
    for (_, info) in CODES {
        let _ = writeln!(out, "| [{}](#{}) | {} | {} |", info.id, anchor(info), class(info), info.title);
    }
    for (_, info) in CODES {
        let _ = write!(out, "\n## {}: {}\n\n", info.id, info.title);
        if info.class != Class::User {
            let _ = write!(out, "Class: {}.\n\n", class(info));
        }
        for line in info.doc.lines() {
            let _ = writeln!(out, "{}", line.strip_prefix(' ').unwrap_or(line).trim_end());
        }
    }
    out
}

fn class(info: &CodeInfo) -> &'static str {
    match info.class {
        Class::User => "error",
        Class::Limitation => "limitation",
        Class::Bug => "bug",
    }
}

/// The anchor that Markdown viewers generate for a section's heading.
fn anchor(info: &CodeInfo) -> String {
    let heading = format!("{} {}", info.id, info.title).to_lowercase().replace(' ', "-");
    heading.chars().filter(|c| c.is_alphanumeric() || *c == '-' || *c == '_').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_row_and_a_section() {
        let text = errors();
        for (code, info) in CODES {
            assert!(text.contains(&format!("\n| [{code}](#{})", anchor(info))));
            assert!(text.contains(&format!("\n## {code}: {}\n\n", info.title)));
        }
    }

    #[test]
    fn a_missing_page_is_stale_until_written() {
        let root = std::env::temp_dir().join(format!("deckle-xtask-docs-{}", std::process::id()));
        assert_eq!(check(&root).len(), PAGES.len());
        assert_eq!(write(&root), Faults::new());
        assert_eq!(check(&root), Faults::new());
        std::fs::remove_dir_all(&root).expect("the folder was just written");
    }
}
