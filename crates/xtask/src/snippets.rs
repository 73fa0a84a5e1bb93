//! Programs in the documentation, compiled, run and compared.
//!
//! The first line of a fenced block of `README.md` or `docs/*.md` says how it is tested:
//!
//! | first line | the block |
//! |---|---|
//! | `dk` | compiles |
//! | `dk file NAME` | compiles, and is available as NAME to the blocks after it |
//! | `dk error` | does not compile; a `text` block right after it holds the message |
//! | `dk run ARGS` | runs, and prints the `text` block right after it |
//! | `dk fails ARGS` | compiles, but the run fails; a `text` block right after it holds the message |
//! | `dk stats ARGS` | runs with `--stats`; the block after it holds its output from `work` on |
//! | `dk ir` | compiles and verifies; the block after it holds the array IR |
//!
//! ARGS are those of `deckle run`, quoted as for a shell. `DECKLE_BLESS=1` writes the output into the `text`
//! blocks instead of comparing. The output of the interpreter is compared: its digits and notes are the same on every machine. Without `--on`, as users
//! run them, programs must have the same exit code and print the same except for the last digits of floats.

use crate::Faults;
use crate::examples::{agree, build, words};
use deckle_diag::SourceMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name under which a program is run, which appears in its messages.
const PROGRAM: &str = "example.dk";

/// Builds the command and runs every program of every page with it.
pub fn run(root: &Path) -> Faults {
    let deckle = match build() {
        Ok(deckle) => deckle,
        Err(fault) => return vec![fault],
    };
    let mut faults = Faults::new();
    for path in pages(root) {
        let shown = path.strip_prefix(root).unwrap_or(&path).display().to_string();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) => {
                faults.push(format!("{shown}: {e}"));
                continue;
            }
        };
        let folder = std::env::temp_dir().join(format!("deckle-snippets-{}", std::process::id()));
        let new = page(&shown, &text, &folder, &deckle, crate::bless(), &mut faults);
        let _ = std::fs::remove_dir_all(&folder);
        if new != text
            && let Err(e) = std::fs::write(&path, new)
        {
            faults.push(format!("{shown}: {e}"));
        }
    }
    faults
}

fn pages(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root.join("docs")).into_iter().flatten().flatten();
    let mut pages: Vec<PathBuf> =
        entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    pages.push(root.join("README.md"));
    pages.retain(|p| p.exists());
    pages.sort();
    pages
}

/// A fenced block: the text after the fence, and the lines between the fences.
#[derive(Debug, PartialEq)]
struct Block<'a> {
    info: &'a str,
    /// The number, from 0, of the line after the opening fence.
    first: usize,
    lines: &'a [&'a str],
}

impl Block<'_> {
    fn text(&self) -> String {
        self.lines.iter().fold(String::new(), |text, line| text + line + "\n")
    }

    /// The number of the line after the closing fence.
    fn end(&self) -> usize {
        self.first + self.lines.len() + 1
    }
}

fn blocks<'a>(lines: &'a [&'a str]) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let first = at + 1;
        if let Some(info) = lines[at].strip_prefix("```") {
            let length = lines[first..].iter().take_while(|l| !l.starts_with("```")).count();
            blocks.push(Block { info: info.trim(), first, lines: &lines[first..first + length] });
            at = first + length;
        }
        at += 1;
    }
    blocks
}

/// Runs the blocks of a page in order, and returns its text, with the new output if that is blessed.
fn page(shown: &str, text: &str, folder: &Path, deckle: &Path, bless: bool, faults: &mut Faults) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let blocks = blocks(&lines);
    let mut changes: Vec<(&Block, String)> = Vec::new();
    for (k, block) in blocks.iter().enumerate() {
        let after = blocks.get(k + 1).filter(|b| b.info == "text" && b.first <= block.end() + 2);
        let mut fault = |what: String| faults.push(format!("{shown}:{}: {what}", block.first + 1));
        let printed = match attempt(block, folder, deckle) {
            Ok(Some(printed)) => printed,
            Ok(None) => continue,
            Err(what) => {
                fault(what);
                continue;
            }
        };
        match after {
            Some(expected) if expected.text() == printed => {}
            Some(expected) if bless => changes.push((expected, printed)),
            Some(expected) => fault(difference(&expected.text(), &printed)),
            None if !block.info.starts_with("dk error") && !block.info.starts_with("dk fails") => {
                fault("no `text` block with the output follows".to_string())
            }
            None => {}
        }
    }
    let mut new = lines.clone();
    for (block, printed) in changes.iter().rev() {
        new.splice(block.first..block.first + block.lines.len(), printed.lines());
    }
    new.join("\n") + "\n"
}

/// Tests a block as its first line says; returns the output, if that is to be compared.
fn attempt(block: &Block, folder: &Path, deckle: &Path) -> Result<Option<String>, String> {
    let info = words(block.info)?;
    let info: Vec<&str> = info.iter().map(String::as_str).collect();
    let (file, command, args, code): (&str, _, &[&str], _) = match &info[..] {
        ["dk", "ir"] => return array_ir(&block.text()).map(Some),
        ["dk"] => (PROGRAM, "check", &[], 0),
        ["dk", "file", name] => (name, "check", &[], 0),
        ["dk", "error"] => (PROGRAM, "check", &[], 1),
        ["dk", "run" | "stats", args @ ..] => (PROGRAM, "run", args, 0),
        ["dk", "fails", args @ ..] => (PROGRAM, "run", args, 1),
        ["dk", ..] => return Err(format!("`{}`: what is to be done with it?", block.info)),
        _ => return Ok(None),
    };
    let path = folder.join(file);
    let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    made.and_then(|()| std::fs::write(&path, block.text())).map_err(|e| format!("{}: {e}", path.display()))?;
    let stats: &[&str] = if info[1..].first() == Some(&"stats") { &["--stats"] } else { &[] };
    let said = |more: &[&str]| {
        let output = Command::new(deckle).arg(command).arg(file).args(args).args(more).current_dir(folder).output();
        let output = output.map_err(|e| format!("{}: {e}", deckle.display()))?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        if output.status.code() != Some(code) {
            return Err(format!("`deckle {command} {}`: {}, not {code}\n{out}{err}", more.join(" "), output.status));
        }
        Ok((out, err))
    };
    let on: &[&str] = if command == "run" && !args.contains(&"--on") { &["--on", "interp"] } else { &[] };
    let (out, err) = said(&[on, stats].concat())?;
    if !on.is_empty() {
        let (usual, _) = said(&[])?;
        if !agree(&out, &usual) {
            return Err(format!("the interpreter prints\n{out}but `deckle run` without `--on`\n{usual}"));
        }
    }
    Ok(match info[1..] {
        ["run", ..] => Some(out),
        ["error"] | ["fails", ..] => Some(err),
        // The keys before `work` are times and bytes, which vary from run to run.
        ["stats", ..] => err.find("\"work\"").map(|at| format!("{out}{{..., {}", &err[at..])),
        _ => None,
    })
}

fn array_ir(text: &str) -> Result<String, String> {
    let mut sources = SourceMap::new();
    let mut load = |_: &str, path: &str| Err(format!("`{path}` is not there"));
    let compiled = deckle_syntax::compile(&mut sources, PROGRAM, text.as_bytes().to_vec(), &mut load);
    let program = match compiled {
        Ok(compiled) => compiled.program,
        Err(diagnostics) => return Err(diagnostics.into_iter().map(|d| d.message + "\n").collect()),
    };
    let verified = deckle_ir::array::verify(&program);
    verified.map_err(|errors| errors.iter().map(|e| format!("{e}\n")).collect::<String>())?;
    Ok(program.to_string())
}

fn difference(expected: &str, printed: &str) -> String {
    let mut out = "the output differs (`DECKLE_BLESS=1` accepts it)\n".to_string();
    for (mark, text) in [("written", expected), ("printed", printed)] {
        let _ = writeln!(out, "  {mark}:");
        text.lines().for_each(|line| {
            let _ = writeln!(out, "    {line}");
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# A\n```dk run n=1\ndef main(n: int) = n\n```\n```text\n1\n```\n\n```\nplain\n```\n";

    #[test]
    fn blocks_know_their_place() {
        let lines: Vec<&str> = PAGE.lines().collect();
        let found = blocks(&lines);
        let infos: Vec<&str> = found.iter().map(|b| b.info).collect();
        assert_eq!(infos, ["dk run n=1", "text", ""]);
        assert_eq!((found[1].first, found[1].end(), found[1].text()), (5, 7, "1\n".to_string()));
    }

    #[test]
    fn an_unclosed_block_ends_with_the_page() {
        let found = blocks(&["```dk", "def main() = 1"]);
        assert_eq!(found[0].lines, ["def main() = 1"]);
    }

    #[test]
    fn an_unknown_first_line_is_a_fault() {
        let lines = ["```dk rum", "def main() = 1", "```"];
        let found = blocks(&lines);
        let fault = attempt(&found[0], Path::new("nowhere"), Path::new("deckle")).unwrap_err();
        assert_eq!(fault, "`dk rum`: what is to be done with it?");
    }
}
