//! What is known before a run: `check`, `explain`, `cost` and `run --materialize`, from outside.

use std::path::PathBuf;
use std::process::Command;

/// The file, removed when it goes.
struct Script(PathBuf);

impl Script {
    fn new(name: &str, text: &str) -> Script {
        let path = std::env::temp_dir().join(format!("deckle-knowing-{name}-{}.dk", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Script(path)
    }

    /// The exit code, standard output and standard error of a command on the file.
    fn deckle(&self, command: &str, args: &[&str]) -> (i32, String, String) {
        let mut deckle = Command::new(env!("CARGO_BIN_EXE_deckle"));
        let output = deckle.arg(command).arg(&self.0).args(args).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const TWICE: &str = "def main(n: int) =
  let s = { x * x : x in iota(n) }
  let m = sum(s)
  in sum({ x + m : x in s })
";

#[test]
fn what_cannot_be_streamed_is_refused_before_it_runs() {
    let script = Script::new("refused", TWICE);
    for command in ["check", "run"] {
        let args: &[&str] = if command == "run" { &["n=4"] } else { &[] };
        let (code, out, err) = script.deckle(command, args);
        assert_eq!((code, out.as_str()), (1, ""), "{err}");
        for word in ["D0209", "`sum(s)`", "materialise", "recompute", "restructure", "--materialize"] {
            assert!(err.contains(word), "{word} in\n{err}");
        }
    }
}

#[test]
fn materialize_runs_it_and_says_what_it_keeps() {
    let script = Script::new("kept", TWICE);
    for (on, kept) in [("interp", "kept 32 bytes: "), ("seq", "kept: ")] {
        let (code, out, err) = script.deckle("run", &["n=4", "--materialize", "--on", on]);
        assert_eq!((code, out.as_str()), (0, "70\n"), "{err}");
        assert!(err.contains(kept) && err.contains(":2:11, for ") && err.contains(":4:10"), "{err}");
    }
    let fine = Script::new("fine", "def main(n: int) = sum({ x * x : x in iota(n) })");
    assert_eq!(fine.deckle("run", &["n=4", "--materialize"]), (0, "14\n".into(), String::new()));
}

#[test]
fn a_function_that_is_not_run_hinders_nobody() {
    let script = Script::new("other", &format!("{}def other(n: int) = n + 1\n", TWICE.replace("main", "twice")));
    assert_eq!(script.deckle("run", &["n=4", "--entry", "other"]).0, 0);
    assert_eq!(script.deckle("check", &[]).0, 1);
}

#[test]
fn explain_tells_traversals_lifting_and_checks() {
    let script = Script::new("explain", "def main(deg: [int], xs: [real]) = [ sum(take(d, xs)) + xs[0] : d in deg ]");
    let (code, out, err) = script.deckle("explain", &[]);
    assert_eq!(code, 0, "{err}");
    for words in [
        "main(deg: [int], xs: [real])",
        "because its length `min(length(xs), deg[i])` depends on `i`",
        "invariant",
        "index checks: 0 of 1",
    ] {
        assert!(out.contains(words), "{words} in\n{out}");
    }
    let (code, out, _) = script.deckle("explain", &["--ir", "simple"]);
    assert!(code == 0 && out.starts_with("fn main"), "{out}");
    assert_eq!(script.deckle("explain", &["--entry", "nothing"]).0, 1);
}

#[test]
fn cost_prints_formulas_and_figures() {
    let script = Script::new("cost", "def main(n: int) = sum({ log(real(x + 1)) : x in iota(n) })");
    let (code, out, err) = script.deckle("cost", &[]);
    assert!(code == 0 && out.contains("7 n + 1") && !out.contains("predicted"), "{out}{err}");
    let (_, out, _) = script.deckle("cost", &["n=1000"]);
    let row = out.lines().find(|l| l.contains("work")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["work", "7", "n", "7_000", "7_000"], "{out}");
    let (_, out, _) = script.deckle("cost", &["n=1e9", "--memory", "1M", "--chunk", "100"]);
    assert!(
        out.contains("7_000_000_000")
            && out.contains("not run")
            && out.contains("1_048_576 bytes are enough for chunks of"),
        "{out}"
    );
    let (code, _, err) = script.deckle("cost", &["m=3"]);
    assert!(code == 1 && err.contains("`m`"), "{err}");
    for bad in [["--memory", "x"], ["--chunk", "0"], ["--threads", "0"]] {
        assert_eq!(script.deckle("cost", &[&["n=1"], &bad[..]].concat()).0, 2);
    }
    let (_, out, _) = script.deckle("cost", &["--memory", "1M"]);
    assert!(out.contains("whether 1_048_576 bytes are enough is not known"), "{out}");
    let (_, out, _) = script.deckle("cost", &["n=1000", "--memory", "3"]);
    assert!(out.contains("3 bytes are not enough"), "{out}");
}

#[test]
fn cost_takes_names_of_sizes() {
    let script = Script::new("sizes", "def main(xs: [real; n]) = sum(filter(\\x -> x > 0.0, xs))");
    let (code, out, err) = script.deckle("cost", &["n=1000"]);
    assert_eq!(code, 0, "{err}");
    let work = out.lines().find(|l| l.contains("work")).unwrap();
    assert!(work.ends_with("4_000"), "the bound k ≤ n is used:\n{out}");
    assert!(out.contains("k ≤ n, the number of elements that pass"), "{out}");
}

const GROUPS: &str = "def main(n: int) =
  let xs = { i * 7919 % 1000 : i in iota(n) | i % 5 != 4 }
  in max({ sum(g) : g in flagpart(xs, { i % 5 == 4 : i in iota(n) }) })
";

/// A number of the object that `--stats` prints.
fn stat(text: &str, key: &str) -> u64 {
    let stats: serde_json::Value = serde_json::from_str(text.lines().last().unwrap_or_default()).unwrap();
    stats[key].as_u64().unwrap()
}

#[test]
fn chunks_of_any_size_give_the_same() {
    let script = Script::new("chunks", GROUPS);
    let (_, wanted, _) = script.deckle("run", &["n=1000", "--on", "interp"]);
    for (chunk, count) in [("1", 1000), ("7", 143), ("1000", 1), ("auto", 1)] {
        let (code, out, err) = script.deckle("run", &["n=1000", "--chunk", chunk, "--stats"]);
        assert_eq!((code, &out), (0, &wanted), "{err}");
        assert!(stat(&err, "chunks") >= count, "{chunk}: {err}");
    }
    let (code, _, err) = script.deckle("run", &["n=1000", "--chunk", "0"]);
    assert!(code == 2 && err.contains("a positive number of elements"), "{err}");
    let (code, _, err) = script.deckle("run", &["n=1000", "--chunk", "7", "--on", "interp"]);
    assert!(code == 2 && err.contains("leave `--chunk` out"), "{err}");
    let (code, out, _) = script.deckle("explain", &[]);
    assert!(code == 0 && out.contains("in chunks: sequences are never in memory as a whole"), "{out}");
    let (code, out, _) = script.deckle("explain", &["--ir", "chunks"]);
    assert!(code == 0 && out.contains("stream(") && out.contains("chunk: i64"), "{out}");
}

#[test]
fn sequences_need_little_memory() {
    let groups = Script::new("little", GROUPS);
    let (code, _, err) = groups.deckle("run", &["n=20000000", "--memory", "8M", "--stats"]);
    assert!(code == 0 && stat(&err, "array_bytes") <= 8 << 20, "{err}");
    // LLVM's own pages are the most of it.
    let logsum = Script::new("logsum", "def main(n: int) = sum({ log(real(i)) : i in 1..n })\n");
    let (code, _, err) = logsum.deckle("run", &["n=200000000", "--stats"]);
    assert!(code == 0 && stat(&err, "peak_bytes") < 128 << 20, "{err}");
}

/// The first two programs of the streaming NESL paper, as large as they are there: two minutes, so not with all the others. `cargo test -p deckle-cli --test knowing -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn log_sums_as_large_as_in_the_paper_need_little_memory() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for args in [["n=68719476736", "--entry", "logsum"], ["n=4096", "--entry", "sum_of_logsums"]] {
        let mut deckle = Command::new(env!("CARGO_BIN_EXE_deckle"));
        let output = deckle.current_dir(&folder).args(["run", "logsum.dk", "--stats"]).args(args).output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success() && stat(&err, "peak_bytes") < 128 << 20, "{args:?}: {err}");
    }
}

/// The words of a line as a shell would tell them apart.
fn shell_words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for c in line.chars() {
        match c {
            '\'' => (quoted, any) = (!quoted, true),
            ' ' if !quoted => {
                if any || !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            c => word.push(c),
        }
    }
    if any || !word.is_empty() {
        words.push(word);
    }
    words
}

/// Everything that the examples say how to run: the file, and the arguments of `deckle cost`.
fn examples(folder: &std::path::Path) -> Vec<(String, Vec<String>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "dk") {
            continue;
        }
        let name = path.file_name().unwrap().to_str().unwrap().to_string();
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let Some(args) = line.strip_prefix("// run:") else { continue };
            let mut words = shell_words(args.trim()).into_iter();
            let mut args = Vec::new();
            while let Some(word) = words.next() {
                match word.as_str() {
                    "--out" => drop(words.next()),
                    "--json" | "--full" => {}
                    _ => args.push(word),
                }
            }
            all.push((name.clone(), args));
        }
    }
    all
}

#[test]
fn predicted_bytes_bound_what_every_example_takes() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut known = 0;
    for (file, args) in examples(&folder) {
        for more in [["--chunk", "4096", "--threads", "1"], ["--chunk", "16", "--threads", "2"]] {
            let mut deckle = Command::new(env!("CARGO_BIN_EXE_deckle"));
            let output = deckle.current_dir(&folder).arg("cost").arg(&file).args(&args).args(more).output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let line =
                text.lines().find(|l| l.contains("bytes at the peak")).unwrap_or_else(|| panic!("{file}: {text}"));
            let mut last = line.split_whitespace().rev().map(|w| w.replace('_', "").parse::<u64>());
            let (Some(Ok(measured)), Some(predicted)) = (last.next(), last.next()) else { panic!("{file}: {line}") };
            // Where data decides how often something is done, nothing is predicted.
            if let Ok(predicted) = predicted {
                assert!(measured <= predicted, "{file} {args:?} {more:?}\n{text}");
                known += 1;
            }
        }
    }
    assert!(known >= 40, "{known}");
}

/// So many rounds of loops for each unit of work, and beside: see `crates/deckle-engine/tests/work.rs`.
const ROUNDS: (u64, u64) = (8, 2000);

#[test]
fn every_example_takes_as_many_rounds_as_it_has_work() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for (file, args) in examples(&folder) {
        let stats = |on: &str, checked: &str, key: &str| {
            let mut deckle = Command::new(env!("CARGO_BIN_EXE_deckle"));
            deckle.current_dir(&folder).env("DECKLE_CHECKED", checked).arg("run").arg(&file).args(&args);
            let output = deckle.args(["--on", on, "--stats"]).output().unwrap();
            stat(&String::from_utf8_lossy(&output.stderr), key)
        };
        let (work, rounds) = (stats("interp", "0", "work"), stats("cpu", "1", "rounds"));
        assert!(rounds > 0 && rounds <= ROUNDS.0 * work + ROUNDS.1, "{file} {args:?}: {rounds} rounds, {work} work");
    }
}
