//! Where programs run, from outside: `--on`, `--threads`, `--memory`, machines without LLVM, the cache, and what is made of a program.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A directory of its own with a program in it and a cache, which goes away with it.
struct Dir(PathBuf);

impl Dir {
    fn new(name: &str, program: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("deckle-backends-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join("a.dk"), program).unwrap();
        Dir(path)
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_deckle"));
        command.args(words.split(' ')).current_dir(&self.0).env("DECKLE_CACHE", self.0.join("cache"));
        command
    }

    fn deckle(&self, words: &str) -> (i32, String, String) {
        ran(&mut self.command(words))
    }

    /// As on a machine on which no LLVM is found.
    fn without_llvm(&self, words: &str) -> (i32, String, String) {
        ran(self.command(words).env("DECKLE_LLVM", Path::new("/nowhere")))
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn ran(command: &mut Command) -> (i32, String, String) {
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

const ROOTS: &str = "def main(n: int): [real] = [ sqrt(real(i)) : i in iota(n) ]\n";
const TOTAL: &str = "def main(n: int): int = sum({ i * i % 7 : i in iota(n) })\n";

#[test]
fn a_program_gives_the_same_everywhere() {
    let dir = Dir::new("same", TOTAL);
    for on in ["", " --on interp", " --on seq", " --on cpu", " --threads 3", " --on cpu --threads 1", " --memory 1G"] {
        assert_eq!(dir.deckle(&format!("run a.dk n=100000{on}")), (0, "199999\n".into(), String::new()), "{on}");
    }
    assert_eq!(dir.deckle("run a.dk n=1 --on tpu").0, 2);
    assert_eq!(dir.deckle("run a.dk n=1 --on seq --threads 2").0, 2);
}

#[test]
fn what_is_not_there_is_a_limitation() {
    let dir = Dir::new("limitation", TOTAL);
    let (code, out, err) = dir.deckle("run a.dk n=1 --on interp --memory 1G");
    let said = "the interpreter does not count";
    assert!(code == 3 && out.is_empty() && err.contains("limitation[D0801]") && err.contains(said), "{err}");
}

#[test]
fn without_llvm_the_interpreter_runs_programs_and_says_so() {
    let dir = Dir::new("without", TOTAL);
    let (code, out, err) = dir.without_llvm("run a.dk n=10");
    assert_eq!((code, out.as_str(), err.lines().count()), (0, "19\n", 1), "{err}");
    assert!(err.contains("no LLVM") && err.contains("interpreter") && err.contains("install Rust"), "{err}");
    // What was asked for is not quietly replaced, and a budget that nobody counts is not promised.
    for words in
        ["run a.dk n=10 --on cpu", "run a.dk n=10 --on seq", "run a.dk n=10 --memory 1G", "explain a.dk --ir asm"]
    {
        let (code, out, err) = dir.without_llvm(words);
        assert!(code == 3 && out.is_empty() && err.contains("D0802") && err.contains("DECKLE_LLVM"), "{words}: {err}");
    }
    let quiet = dir.without_llvm("run a.dk n=10 --on interp");
    assert_eq!(quiet, (0, "19\n".into(), String::new()));
    let (code, out, _) = dir.without_llvm("doctor");
    assert!(code == 0 && out.contains("llvm     none: no LLVM") && out.contains("runs on  interp"), "{out}");
    assert_eq!(dir.without_llvm("explain a.dk --ir kernel").0, 0);
}

#[test]
fn more_memory_than_the_budget_is_an_error() {
    let dir = Dir::new("memory", ROOTS);
    assert_eq!(dir.deckle("run a.dk n=1000 --memory 1M").0, 0);
    let (code, out, err) = dir.deckle("run a.dk n=10000000 --memory 1M");
    assert!(code == 1 && out.is_empty(), "{err}");
    for words in ["D0310", "76.3 MiB", "the memory budget is 1 MiB"] {
        assert!(err.contains(words), "{words} in {err}");
    }
    assert_eq!(dir.deckle("run a.dk n=1 --memory lots").0, 2);
}

#[test]
fn errors_are_those_of_the_interpreter() {
    let dir = Dir::new("errors", "def main(xs: [int], i: int): [int] = [ x / xs[i] : x in xs ]\n");
    for args in ["xs=[1,2] i=2", "xs=[1,0] i=1", "xs=[1] i=x", "i=1"] {
        let (code, out, err) = dir.deckle(&format!("run a.dk {args} --on seq"));
        let (code_i, out_i, err_i) = dir.deckle(&format!("run a.dk {args} --on interp"));
        assert_eq!((code, &out, err.lines().next()), (code_i, &out_i, err_i.lines().next()));
        assert_eq!(code, 1);
    }
}

#[test]
fn compiled_code_is_kept_and_can_be_cleared() {
    let dir = Dir::new("cache", TOTAL);
    assert_eq!(dir.deckle("run a.dk n=10").0, 0);
    let (_, out, _) = dir.deckle("doctor");
    let cache = out.lines().find(|l| l.starts_with("cache ")).unwrap();
    // An entry for each module, and as many modules as there are threads to compile them.
    let count = ["1 entry", "2 entries"].into_iter().find(|count| cache.contains(count));
    let count = count.unwrap_or_else(|| panic!("{cache}"));
    assert!(cache.contains(&dir.0.join("cache").display().to_string()), "{cache}");
    let (code, out, _) = dir.deckle("doctor --clear-cache");
    assert!(code == 0 && out.starts_with(&format!("removed {count}")), "{out}");
    assert!(dir.deckle("doctor").1.contains("0 entries"));
}

#[test]
fn every_level_is_printed() {
    let dir = Dir::new("levels", TOTAL);
    for (level, words) in [
        ("kernel", "fold"),
        ("memory", "free"),
        ("schedule", "function k0"),
        ("loop", "fn k0"),
        ("llvm", "define"),
        ("asm", "k0"),
        ("ptx", ".entry g0"),
    ] {
        let (code, out, err) = dir.deckle(&format!("explain a.dk --ir {level}"));
        assert!(code == 0 && out.contains(words), "{level}: {out}{err}");
    }
    let (code, out, err) = dir.deckle("explain a.dk --timing");
    let passes: Vec<&str> = out.lines().filter_map(|l| l.split_whitespace().next()).collect();
    let wanted = ["pass", "simplify", "flatten", "reuse", "lower", "emit", "load", "verify", "all"];
    assert!(code == 0 && passes == wanted, "{out}{err}");
    let (code, out, err) = dir.deckle("explain a.dk");
    assert!(code == 0 && out.contains("  kernels: ") && out.contains("folds with add over `n` (dense)"), "{out}{err}");
}

/// A loop that never ends is given no answer.
#[test]
fn a_loop_that_never_ends_does_not_end() {
    let program = "def main(n: int) = [ loop x = n + 2 * i while x != 0 do x * x * 2 + 1 : i in iota(10) ]";
    let dir = Dir::new("endless", program);
    for on in ["cpu", "seq"] {
        let mut command = dir.command(&format!("run a.dk n=1 --on {on}"));
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        std::thread::sleep(Duration::from_secs(2));
        let ended = child.try_wait().unwrap();
        let _ = child.kill();
        let _ = child.wait();
        assert_eq!(ended, None, "on {on}");
    }
}

/// On a machine without a driver, as those that run these tests are for the most part.
#[test]
fn without_a_gpu_the_error_says_what_is_missing() {
    let dir = Dir::new("gpu", TOTAL);
    let (code, out, err) = dir.deckle("run a.dk n=100000 --on gpu");
    if code == 0 {
        assert_eq!((out.as_str(), err.as_str()), ("199999\n", ""));
        let (code, _, err) = dir.deckle("run a.dk n=1 --on gpu --device 99");
        assert!(code == 3 && err.contains("D0803") && err.contains("there is no device 99"), "{err}");
        return;
    }
    assert!(code == 3 && out.is_empty() && err.starts_with("limitation[D0803]: no GPU can be used: "), "{err}");
    assert!(err.contains("deckle doctor"), "{err}");
    let (_, out, _) = dir.deckle("doctor");
    assert!(out.contains("gpu      none: "), "{out}");
    // What cannot run is not read for.
    let (code, _, err) = dir.deckle("run a.dk n=@missing.npy --on gpu");
    assert!(code == 3 && err.contains("D0803"), "{err}");
}

#[test]
fn options_of_gpus_are_for_gpus() {
    let dir = Dir::new("gpu-options", TOTAL);
    for words in
        ["run a.dk n=1 --device 0", "run a.dk n=1 --on seq --device-memory 1G", "run a.dk n=1 --on gpu --device -1"]
    {
        let (code, _, err) = dir.deckle(words);
        assert!(code == 2, "{words}: {err}");
    }
    let (_, help, _) = dir.deckle("run --help");
    assert!(help.contains("--device-memory <SIZE>") && !help.contains("simulat"), "{help}");
}

/// The command, with a simulated GPU in the place of a real one.
#[test]
fn a_gpu_gives_what_the_cores_do() {
    let dir = Dir::new("gpu-runs", TOTAL);
    assert_eq!(dir.deckle("run a.dk n=1000 --on simulated"), (0, "2001\n".into(), String::new()));
    let (code, _, err) = dir.deckle("run a.dk n=1000 --on simulated --stats");
    let stats: serde_json::Value = serde_json::from_str(&err).unwrap();
    assert!(code == 0 && stats["launches"].as_u64() > Some(0) && stats["bytes_in"].as_u64() > Some(0), "{err}");

    let dir = Dir::new("gpu-errors", "def main(xs: [int], i: int): [int] = [ x / xs[i] : x in xs ]\n");
    for args in ["xs=[1,2] i=2", "xs=[1,0] i=1", "xs=[1] i=x", "i=1"] {
        let (code, out, err) = dir.deckle(&format!("run a.dk {args} --on simulated"));
        let (code_i, out_i, err_i) = dir.deckle(&format!("run a.dk {args} --on interp"));
        assert_eq!((code, &out, err.lines().next()), (code_i, &out_i, err_i.lines().next()));
    }

    let dir = Dir::new("gpu-memory", ROOTS);
    let (code, out, err) = dir.deckle("run a.dk n=1000000 --on simulated --device-memory 1M");
    assert!(code == 1 && out.is_empty(), "{err}");
    for words in ["D0310", "7.6 MiB of the GPU's memory", "the budget is 1 MiB", "--device-memory"] {
        assert!(err.contains(words), "{words} in {err}");
    }
}
