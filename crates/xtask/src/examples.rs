//! Runs the examples and compares their output.
//!
//! The leading comment of `examples/NAME.dk` has one or more lines `// run: ARGS`. For each of
//! them `deckle run NAME.dk ARGS --on interp` is executed in `examples/`; the output of all, in
//! order, is compared with `examples/expected/NAME.txt` if that exists. `DECKLE_BLESS=1` writes
//! it instead. Without `--on`, as users run it, the output must be the same except for the last digits of floats.

use crate::Faults;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the command and runs all examples with it.
pub fn run(root: &Path) -> Faults {
    let folder = root.join("examples");
    let names = stems(&folder, "dk");
    let mut faults = Faults::new();
    for orphan in stems(&folder.join("expected"), "txt").iter().filter(|n| !names.contains(n)) {
        faults.push(format!("examples/expected/{orphan}.txt: there is no examples/{orphan}.dk"));
    }
    if names.is_empty() {
        return faults;
    }
    let deckle = match build() {
        Ok(deckle) => deckle,
        Err(fault) => return vec![fault],
    };
    for name in &names {
        let verdict = match example(&folder, name, &deckle) {
            Ok(verdict) => verdict,
            Err(fault) => {
                faults.push(format!("examples/{name}.dk: {fault}"));
                "FAILED"
            }
        };
        eprintln!("xtask: example {name} ... {verdict}");
    }
    faults
}

/// The names, without `.ending`, of the files with that extension in a folder, in order.
fn stems(folder: &Path, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == ending));
    let mut names: Vec<String> = paths.filter_map(|p| Some(p.file_stem()?.to_str()?.to_string())).collect();
    names.sort();
    names
}

/// Builds the command. It is placed next to this program or, in a test, one folder up: both are built with the same
/// profile.
pub fn build() -> Result<PathBuf, String> {
    let profile = if cfg!(debug_assertions) { "dev" } else { "release" };
    crate::cargo(&["build", "--quiet", "--package", "deckle-cli", "--bin", "deckle", "--profile", profile])?;
    let this = std::env::current_exe().map_err(|e| format!("xtask: where am I? {e}"))?;
    let folder = this.parent().map(|p| if p.ends_with("deps") { p.parent().unwrap_or(p) } else { p });
    let name = format!("deckle{}", std::env::consts::EXE_SUFFIX);
    Ok(folder.unwrap_or(Path::new("")).join(name))
}

fn example(folder: &Path, name: &str, deckle: &Path) -> Result<&'static str, String> {
    let script = format!("{name}.dk");
    let text = std::fs::read_to_string(folder.join(&script)).map_err(|e| e.to_string())?;
    let runs = runs(&text)?;
    if runs.is_empty() {
        return Err("no line `// run: ARGS` in the leading comment".to_string());
    }
    let mut actual = String::new();
    let printed = |args: &[String], on: &[&str]| {
        let output = Command::new(deckle).arg("run").arg(&script).args(args).args(on).current_dir(folder).output();
        let output = output.map_err(|e| format!("{}: {e}", deckle.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!(
                "`deckle run {script} {} {}`: {}\n{said}",
                args.join(" "),
                on.join(" "),
                output.status
            ));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for args in runs {
        let reference = printed(&args, &["--on", "interp"])?;
        let usual = printed(&args, &[])?;
        if !agree(&reference, &usual) {
            return Err(format!("the interpreter prints\n{reference}but `deckle run` without `--on`\n{usual}"));
        }
        actual += &reference;
    }
    compare(&folder.join("expected").join(format!("{name}.txt")), &actual, crate::bless())
}

/// The arguments of every `// run:` line in the comment that a script starts with.
fn runs(text: &str) -> Result<Vec<Vec<String>>, String> {
    let header = text.lines().map(str::trim).take_while(|l| l.starts_with("//"));
    header.filter_map(|l| l.trim_start_matches('/').trim().strip_prefix("run:")).map(words).collect()
}

/// Splits words like a shell: blanks separate, single and double quotes join.
pub fn words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(q) if q == c => quote = None,
            Some(_) => word.get_or_insert_default().push(c),
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => words.extend(word.take()),
            None => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    match quote {
        Some(q) => Err(format!("a {q} is not closed in `{line}`")),
        None => Ok(words),
    }
}

/// Whether two texts are equal except for the last digits of numbers.
pub fn agree(a: &str, b: &str) -> bool {
    let inside = |c: char| c.is_ascii_alphanumeric() || ".+-_".contains(c);
    let pieces = |text: &str| -> Vec<String> {
        let mut pieces: Vec<String> = Vec::new();
        let mut was = None;
        for c in text.chars() {
            match (pieces.last_mut(), was == Some(inside(c))) {
                (Some(last), true) => last.push(c),
                _ => pieces.push(c.to_string()),
            }
            was = Some(inside(c));
        }
        pieces
    };
    let close = |a: &String, b: &String| match (a.parse::<f64>(), b.parse::<f64>()) {
        _ if a == b => true,
        (Ok(x), Ok(y)) if a.contains('.') => (x - y).abs() <= 1e-6 * x.abs().max(y.abs()).max(1e-9),
        _ => false,
    };
    let (a, b) = (pieces(a), pieces(b));
    a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| close(a, b))
}

fn compare(file: &Path, actual: &str, bless: bool) -> Result<&'static str, String> {
    let expected = std::fs::read_to_string(file).ok().map(|t| t.replace("\r\n", "\n"));
    if expected.as_deref() == Some(actual) {
        return Ok("ok");
    }
    if bless {
        let made = file.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(file, actual)).map_err(|e| format!("{}: {e}", file.display()))?;
        return Ok("blessed");
    }
    let Some(expected) = expected else { return Ok("ran (nothing to compare with)") };
    let same = expected.lines().zip(actual.lines()).take_while(|(e, a)| e == a).count();
    let line = |text: &str| text.lines().nth(same).unwrap_or("(the end)").to_string();
    let (expected, actual) = (line(&expected), line(actual));
    Err(format!("output differs in line {}\n  expected: {expected}\n    actual: {actual}", same + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_from_the_leading_comment() {
        let text = "// Sums.\n//\n// run: n=3 xs='[1, 2]'\n// run:\n\ndef main = 1\n// run: late\n";
        assert_eq!(runs(text), Ok(vec![vec!["n=3".to_string(), "xs=[1, 2]".to_string()], vec![]]));
        assert_eq!(runs("def main = 1\n"), Ok(vec![]));
    }

    #[test]
    fn only_the_last_digits_may_differ() {
        assert!(agree("[(1, 0.3000000001)]\n", "[(1, 0.3000000002)]\n"));
        assert!(!agree("[(1, 0.3)]", "[(2, 0.3)]") && !agree("0.3", "0.4") && !agree("1.0, 2.0", "1.0"));
    }

    #[test]
    fn quotes_join_and_must_close() {
        assert_eq!(words(r#" a "b 'c'" '' d"e"f "#).unwrap(), ["a", "b 'c'", "", "def"]);
        assert!(words("'a").is_err());
    }

    #[test]
    fn output_is_blessed_then_held_to() {
        let folder = std::env::temp_dir().join(format!("deckle-xtask-examples-{}", std::process::id()));
        let file = folder.join("expected").join("a.txt");
        assert_eq!(compare(&file, "1\n2\n", false), Ok("ran (nothing to compare with)"));
        assert_eq!(compare(&file, "1\n2\n", true), Ok("blessed"));
        assert_eq!(compare(&file, "1\n2\n", false), Ok("ok"));
        let fault = compare(&file, "1\n3\n", false).unwrap_err();
        assert_eq!(fault, "output differs in line 2\n  expected: 2\n    actual: 3");
        std::fs::remove_dir_all(&folder).expect("the folder was just written");
    }
}
