//! Chores of the repository, as `cargo xtask <chore>`.
//!
//! `test` is everything that continuous integration runs. The quick chores (`tidy`, `docs --check`, `snippets`) are also
//! tests of this crate, so that `cargo test` alone finds their faults.

mod docs;
mod examples;
mod operators;
mod snippets;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The faults of the tree, one line or paragraph each; empty if there are none.
type Faults = Vec<String>;

const USAGE: &str = "\
usage: cargo xtask <chore>

  test             format, lints, tests, then the examples
  examples         run the examples and compare their output; DECKLE_BLESS=1 accepts it
  snippets         try the programs in README.md and docs/; DECKLE_BLESS=1 accepts their output
  tidy             headers, file sizes, white space, the crate list, the error index
  docs [--check]   write the generated pages under docs/, or fail if one is stale
  gpu-bundle [DIR] [--random N]
                   build a folder of tests and benchmarks for a machine with a GPU (docs/gpu.md)";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let faults = match args[..] {
        ["test"] => test(),
        ["examples"] => examples::run(&root()),
        ["snippets"] => snippets::run(&root()),
        ["tidy"] => tidy::check(&root()),
        ["docs"] => docs::write(&root()),
        ["docs", "--check"] => docs::check(&root()),
        ["gpu-bundle", ref rest @ ..] => gpu_bundle(rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    for fault in &faults {
        eprintln!("{fault}");
    }
    if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Stops at the first step that fails: later failures would mostly be consequences.
fn test() -> Faults {
    // The examples are compiled by clippy and run by tests of their crates: as programs of their own they would only be linked.
    let steps: [&[&str]; 5] = [
        &["fmt", "--all", "--check"],
        &["clippy", "--workspace", "--all-targets", "--features", "deckle/ndarray", "--", "-D", "warnings"],
        &["rustdoc", "-p", "deckle", "--features", "ndarray", "--", "-D", "warnings"],
        &["test", "--workspace", "--features", "deckle/ndarray", "--lib", "--bins", "--tests"],
        &["test", "--workspace", "--features", "deckle/ndarray", "--doc"],
    ];
    for step in steps {
        if let Err(fault) = cargo(step) {
            return vec![fault];
        }
    }
    examples::run(&root())
}

/// The program that builds the folder is also the one that runs it, so it is a release build.
fn gpu_bundle(rest: &[&str]) -> Faults {
    let run = ["run", "--release", "--package", "deckle-bench", "--", "gpu-bundle"];
    cargo(&[&run, rest].concat()).err().into_iter().collect()
}

fn cargo(args: &[&str]) -> Result<(), String> {
    let line = format!("cargo {}", args.join(" "));
    eprintln!("xtask: {line}");
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    match Command::new(program).args(args).current_dir(root()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("xtask: `{line}` failed: {status}")),
        Err(e) => Err(format!("xtask: `{line}` could not be started: {e}")),
    }
}

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("crates/xtask lies two levels below the root").to_path_buf()
}

/// Whether expected text is replaced by the output of a run.
fn bless() -> bool {
    std::env::var_os("DECKLE_BLESS").is_some_and(|v| v == "1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn none(faults: Faults) {
        assert!(faults.is_empty(), "\n{}\n", faults.join("\n"));
    }

    #[test]
    fn the_tree_is_tidy() {
        none(tidy::check(&root()));
    }

    #[test]
    fn the_generated_pages_are_fresh() {
        none(docs::check(&root()));
    }

    #[test]
    fn the_programs_in_the_documentation_do_as_it_says() {
        none(snippets::run(&root()));
    }
}
