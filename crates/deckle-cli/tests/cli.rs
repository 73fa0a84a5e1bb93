//! The command from outside: what it prints, and how it exits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// A directory of its own, which goes away with it.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("deckle-cli-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Dir(path)
    }

    fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, contents).unwrap();
        path
    }

    fn deckle(&self, args: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deckle"));
        Ran::of(command.args(args).current_dir(&self.0).env_remove("DECKLE_LLVM").output().unwrap())
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(&self.0).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

struct Ran {
    code: Option<i32>,
    out: String,
    err: String,
}

impl Ran {
    fn of(output: Output) -> Ran {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Ran { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    #[track_caller]
    fn prints(&self, out: &str) {
        assert_eq!((self.code, self.out.as_str()), (Some(0), out), "{}", self.err);
        assert_eq!(self.err, "");
    }

    #[track_caller]
    fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{}", self.err);
        for word in words {
            assert!(self.err.contains(word), "`{word}` is not in\n{}", self.err);
        }
    }
}

/// Runs a program of one file.
fn run(test: &str, program: &str, args: &[&str]) -> Ran {
    let dir = Dir::new(test);
    dir.file("a.dk", program);
    dir.deckle(&[&["run", "a.dk"], args].concat())
}

/// A `.npy` file of one dimension.
fn npy(descr: &str, len: usize, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len},), }}\n");
    [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
}

fn reals(v: &[f64]) -> Vec<u8> {
    npy("<f8", v.len(), &v.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

const MEAN: &str = "def main(xs: [real]): real = sum(xs) / real(length(xs))\n";
const SAME: &str = "def main(xs: [int]): [int] = xs\n";

#[test]
fn a_program_runs() {
    run("mean", MEAN, &["xs=[1, 2, 4.5]"]).prints("2.5\n");
    run("text", "def main(s: [u8]): [u8] = reverse(s)", &["s=abc"]).prints("\"cba\"\n");
    run("tuple", "def main(p: (int, real)): (real, int) = (p.1, p.0)", &["p=(1, 2)"]).prints("(2.0, 1)\n");
    run("bool", "def main(a: bool, b: bool): bool = a & b", &["b=true", "a=true"]).prints("true\n");
}

#[test]
fn arrays_and_sequences_are_shown_readably() {
    let program = "def main(n: int): [[int]] = generate(n, 2, \\i j -> 10 * i * i + j)\n";
    run("matrix", program, &["n=3"]).prints("[[ 0,  1],\n [10, 11],\n [40, 41]]\n");
    run("jagged", "def main(r: [[int]]): [[int]] = r", &["r=[[1, 2], [], [3]]"]).prints("[[1, 2],\n [],\n [3]]\n");
    run("seq", "def main(s: {int}): {int} = { x + 1 : x in s }", &["s={1, 2}"]).prints("{2, 3}\n");
    let long = "def main(n: int): [int] = generate(n, \\i -> i)";
    let shown = "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ..., 997, 998, 999] (1,000 elements)\n";
    run("long", long, &["n=1000"]).prints(shown);
    assert!(run("full", long, &["n=1000", "--full"]).out.contains("500, 501, 502"));
}

#[test]
fn records_are_named() {
    let program = "type point = { x: real, y: real }\n\
                   def main(p: point): point = point(x = p.y, y = p.x)\n";
    run("record", program, &["p=(x = 1, y = 2)"]).prints("point(x = 2.0, y = 1.0)\n");
    run("record-json", program, &["p=(1, 2)", "--json"]).prints("{\"x\":2.0,\"y\":1.0}\n");
}

#[test]
fn json_is_complete_and_exact() {
    run("json", SAME, &["xs=[1, 9223372036854775807]", "--json"]).prints("[1,9223372036854775807]\n");
    let program = "def main(xs: [real]): [real] = xs";
    run("json-nan", program, &["xs=[nan, inf, -inf, 0.1]", "--json"]).prints("[\"nan\",\"inf\",\"-inf\",0.1]\n");
}

#[test]
fn stats_are_one_object_on_standard_error() {
    let stats = |on: &str| -> serde_json::Value {
        let ran = run("stats", MEAN, &["xs=[1, 3]", "--stats", "--on", on]);
        assert_eq!((ran.code, ran.out.as_str(), ran.err.lines().count()), (Some(0), "2.0\n", 1));
        let stats: serde_json::Value = serde_json::from_str(&ran.err).unwrap();
        assert!(stats["seconds"].is_number() && stats["compile_seconds"].is_number() && stats["chunks"] == 0);
        stats
    };
    let native = stats("seq");
    assert!(native["kernels"].as_u64().unwrap() > 0 && native["array_bytes"].as_u64().unwrap() > 0, "{native}");
    assert_eq!(native["threads"], 1);
    let stats = stats("interp");
    assert_eq!(stats["kernels"], 0);
    assert!(stats["work"].as_u64().unwrap() > 0 && stats["depth"].as_u64().unwrap() > 0);
    assert!(stats["space_seq"].is_u64() && stats["space_par"].is_u64() && stats.get("peak_bytes").is_some());
}

#[test]
fn the_entry_is_chosen() {
    let two = "def main(x: int): int = x\ndef twice(x: int): int = 2 * x\n";
    run("main", two, &["x=3"]).prints("3\n");
    run("entry", two, &["x=3", "--entry", "twice"]).prints("6\n");
    run("only", "def only(x: int): int = x", &["x=3"]).prints("3\n");
    let none = run("no-entry", two, &["--entry", "twize"]);
    none.fails(1, &["D0401", "`twize`", "main(x: int): int", "twice(x: int): int", "--entry twice"]);
    let several = "def a(x: int): int = x\ndef b(x: int): int = x\n";
    run("several", several, &["x=1"]).fails(1, &["D0401", "none of them is `main`", "b(x: int): int"]);
}

#[test]
fn wrong_arguments_are_reported_together() {
    let program = "def main(count: int, scale: real): real = real(count) * scale\n";
    let ran = run("arguments", program, &["cuont=1", "scale=2", "scale=3"]);
    let words =
        ["no parameter `cuont`", "did you mean `count`?", "given twice", "not given `count: int`", "scale: real"];
    ran.fails(1, &words);
    assert!(ran.err.contains("3 errors"), "{}", ran.err);
    run("value", SAME, &["xs=[1, 2.5]"]).fails(1, &["D0402", "argument xs:1:5", "`2.5` is not of type `int`"]);
    run("range", "def main(b: u8): u8 = b", &["b=300"]).fails(1, &["0 to 255"]);
}

#[test]
fn arrays_come_from_npy() {
    let dir = Dir::new("npy");
    dir.file("mean.dk", MEAN);
    dir.file("same.dk", SAME);
    dir.file("seq.dk", "def main(s: {real}): real = sum(s)\n");
    dir.file("reals.npy", reals(&[1.0, 2.0, 6.0]));
    dir.file("small.npy", npy("<i2", 2, &[1, 0, 0xFF, 0xFF]));
    dir.file("short.npy", npy("<f8", 2, &[0; 12]));
    dir.deckle(&["run", "mean.dk", "xs=@reals.npy"]).prints("3.0\n");
    dir.deckle(&["run", "seq.dk", "s=@reals.npy"]).prints("9.0\n");
    dir.deckle(&["run", "same.dk", "xs=@small.npy"]).prints("[1, -1]\n");
    dir.deckle(&["run", "same.dk", "xs=@reals.npy"]).fails(1, &["needs the dtype int64", "has float64"]);
    dir.deckle(&["run", "mean.dk", "xs=@short.npy"]).fails(1, &["D0403", "ends too soon", "at byte"]);
    dir.deckle(&["run", "mean.dk", "xs=@none.npy"]).fails(1, &["D0403", "`none.npy`", "no such file"]);
    dir.deckle(&["run", "mean.dk", "xs=@t.parquet"]).fails(3, &["limitation", ".parquet", "`t.parquet`"]);
}

#[test]
fn text_comes_from_files() {
    let dir = Dir::new("txt");
    dir.file("len.dk", "def main(s: [u8]): int = length(s)\n");
    dir.file("rows.dk", "def main(r: [[int]]): int = length(r)\n");
    dir.file("book.txt", b"one\ntwo\xFF");
    dir.file("rows.txt", "[[1, 2],\n [3]]\n");
    dir.file("bad.txt", "[[1, 2],\n [x]]\n");
    dir.deckle(&["run", "len.dk", "s=@book.txt"]).prints("8\n");
    dir.deckle(&["run", "rows.dk", "r=@rows.txt"]).prints("2\n");
    dir.deckle(&["run", "rows.dk", "r=@bad.txt"]).fails(1, &["bad.txt:2:3", "`x` is not of type `int`"]);
}

#[test]
fn results_go_to_files() {
    let dir = Dir::new("out");
    dir.file("a.dk", "def main(xs: [real]): [real] = map(\\x -> 2.0 * x, xs)\n");
    dir.file("jagged.dk", "def main(r: [[int]]): [[int]] = r\n");
    dir.file("pair.dk", "def main(): (int, int) = (1, 2)\n");
    dir.deckle(&["run", "a.dk", "xs=[1, 2]", "--out", "r.npy"]).prints("");
    dir.deckle(&["run", "a.dk", "xs=@r.npy"]).prints("[4.0, 8.0]\n");
    dir.deckle(&["run", "a.dk", "xs=[1, 2]", "--out", "r.json"]).prints("");
    assert_eq!(fs::read_to_string(dir.0.join("r.json")).unwrap(), "[2.0,4.0]\n");
    dir.deckle(&["run", "a.dk", "xs=[1, 2]", "--out", "r.txt"]).prints("");
    assert_eq!(fs::read_to_string(dir.0.join("r.txt")).unwrap(), "[2.0, 4.0]\n");
    let before = dir.names();
    dir.deckle(&["run", "jagged.dk", "r=[[1], []]", "--out", "j.npy"]).fails(1, &["D0403", "ragged", ".json"]);
    dir.deckle(&["run", "pair.dk", "--out", "p.npy"]).fails(1, &["D0403", "tuples"]);
    dir.deckle(&["run", "a.dk", "xs=[1]", "--out", "no/r.npy"]).fails(1, &["D0403", "no such file"]);
    assert_eq!(dir.names(), before);
    let usage = dir.deckle(&["run", "a.dk", "xs=[1]", "--out", "r.xls"]);
    assert_eq!(usage.code, Some(2), "{}", usage.err);
}

#[test]
fn a_schedule_is_printed_changed_and_followed() {
    let dir = Dir::new("schedule");
    dir.file("sum.dk", "def main(xs: [int]) = sum(xs)\n");
    let shown = dir.deckle(&["explain", "sum.dk", "--ir", "schedule"]);
    assert!(shown.out.contains("function k0 {") && shown.out.contains("lanes 8 x 4 apart"), "{}", shown.out);
    dir.file("chosen.txt", &shown.out);
    dir.file("other.txt", shown.out.replace("lanes 8 x 4 apart", "accumulators 2"));
    for file in ["chosen.txt", "other.txt"] {
        dir.deckle(&["run", "sum.dk", "xs=[1, 2, 3, 4, 5]", "--schedule", file]).prints("15\n");
    }
    dir.file("three.txt", shown.out.replace("lanes 8 x 4", "lanes 3 x 4"));
    let refused = |file: &str, words: &[&str]| {
        dir.deckle(&["run", "sum.dk", "xs=[1]", "--schedule", file]).fails(1, words);
    };
    refused("three.txt", &["D0403", "the schedule of `k0` is not legal", "powers of two", "explain --ir schedule"]);
    dir.file("no.txt", "function k0 {\n  s1: fold {\n");
    refused("no.txt", &["D0403", "`no.txt`", "2:12: expected a node"]);
    dir.file("far.txt", "function k9 { }\n");
    refused("far.txt", &["D0403", "`k9`, which the program does not have"]);
    refused("none.txt", &["D0403", "`none.txt`", "No such file"]);
    let on = ["run", "sum.dk", "xs=[1]", "--schedule", "chosen.txt", "--on", "interp"];
    dir.deckle(&on).fails(3, &["`--schedule` is for compiled programs"]);
}

#[test]
fn errors_while_running_show_the_place() {
    let ran = run("index", "def main(xs: [int], i: int): int = xs[i]\n", &["xs=[1, 2]", "i=2"]);
    ran.fails(1, &["D0301", "a.dk:1:"]);
    run("zero", "def main(a: int): int = 1 / a\n", &["a=0"]).fails(1, &["D0303"]);
}

#[test]
fn check_lists_what_there_is() {
    let dir = Dir::new("check");
    dir.file("good.dk", "def f(xs: [real]): real = sum(xs)\ndef main(n: int, s: {int}): {int} = { n * x : x in s }\n");
    dir.file("bad.dk", "def main(x: int): int = x + true\ndef g(y: int): int = z\n");
    dir.deckle(&["check", "good.dk"])
        .prints("ok: 2 functions\n  f(xs: [real]): real\n  main(n: int, s: {int}): {int}\n");
    let bad = dir.deckle(&["check", "bad.dk"]);
    bad.fails(1, &["bad.dk:1:", "bad.dk:2:", "2 errors"]);
}

#[test]
fn imports_are_found_beside_the_importing_file() {
    let dir = Dir::new("import");
    dir.file("lib/inner.dk", "def one(): int = 1\n");
    dir.file("lib/outer.dk", "import \"inner.dk\" as inner\ndef two(): int = inner.one() + inner.one()\n");
    dir.file("main.dk", "import \"lib/outer.dk\" as outer\ndef main(): int = outer.two() + 1\n");
    dir.file("bad.dk", "import \"lib/none.dk\" as none\ndef main(): int = none.x()\n");
    dir.deckle(&["run", "main.dk"]).prints("3\n");
    dir.deckle(&["run", "bad.dk"]).fails(1, &["D0006", "lib/none.dk", "no such file"]);
}

#[test]
fn files_that_are_no_programs_are_refused() {
    let dir = Dir::new("files");
    dir.file("prog.dk", MEAN);
    dir.file("latin.dk", b"def main(): int = 1 // caf\xE9\n");
    fs::create_dir(dir.0.join("folder.dk")).unwrap();
    dir.deckle(&["run", "porg.dk"]).fails(1, &["D0403", "`porg.dk`", "no such file", "did you mean `prog.dk`?"]);
    dir.deckle(&["check", "prog"]).fails(1, &["did you mean `prog.dk`?"]);
    dir.deckle(&["run", "folder.dk"]).fails(1, &["D0403", "directory"]);
    dir.deckle(&["run", "latin.dk"]).fails(1, &["D0001", "UTF-8"]);
}

#[test]
fn usage_errors_exit_with_2() {
    let dir = Dir::new("usage");
    for args in [&[][..], &["run"], &["fly"], &["run", "a.dk", "--no-such"], &["check"]] {
        assert_eq!(dir.deckle(args).code, Some(2), "{args:?}");
    }
}

#[test]
fn help_has_examples() {
    let dir = Dir::new("help");
    for (args, words) in [
        (&["--help"][..], "deckle run mean.dk"),
        (&["run", "--help"], "xs=@data.npy"),
        (&["check", "--help"], "ok: 1 function"),
        (&["doctor", "--help"], "LLVM"),
    ] {
        let ran = dir.deckle(args);
        assert_eq!(ran.code, Some(0));
        assert!(ran.out.contains(words), "{}", ran.out);
    }
}

#[test]
fn the_doctor_never_fails() {
    let bare =
        Command::new(env!("CARGO_BIN_EXE_deckle")).arg("doctor").env_clear().current_dir(Path::new("/")).output();
    let ran = Ran::of(bare.unwrap());
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    for key in ["deckle", "system", "cpu", "cores", "memory", "llvm", "gpu", "cache"] {
        assert!(ran.out.lines().any(|l| l.starts_with(key)), "{key}\n{}", ran.out);
    }
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_says_so() {
    let dir = Dir::new("interrupt");
    dir.file("a.dk", "def main(n: int): int = loop s = 0 for i < n do (s + i) % 7\n");
    // Native code has one kernel here, which is given up; the interpreter stops where it is.
    interrupted(&dir, "interp", &["interrupted after", "a.dk:1:"]);
    interrupted(&dir, "cpu", &["interrupted after", "no file has been written"]);
}

#[cfg(unix)]
#[track_caller]
fn interrupted(dir: &Dir, on: &str, words: &[&str]) {
    // On a busy machine the signal may come before the run has begun.
    for wait in [300, 1_000, 3_000, 10_000] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deckle"));
        command.args(["run", "a.dk", "n=1000000000000000000", "--on", on]).current_dir(&dir.0);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
        let ran = Ran::of(child.wait_with_output().unwrap());
        if ran.code == Some(130) && words.iter().all(|w| ran.err.contains(w)) || wait == 10_000 {
            return ran.fails(130, words);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let dir = Dir::new("pipe");
    dir.file("a.dk", "def main(n: int): [int] = generate(n, \\i -> i)\n");
    let line = format!("'{}' run a.dk n=200000 --full | head -c 3", env!("CARGO_BIN_EXE_deckle"));
    let ran = Ran::of(Command::new("sh").args(["-c", &line]).current_dir(&dir.0).output().unwrap());
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "[0,", ""));
}
