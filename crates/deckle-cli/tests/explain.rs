//! `deckle explain` from outside.

use std::path::Path;
use std::process::{Command, Output};

fn explain(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_deckle")).arg("explain").args(args).current_dir(folder).output().unwrap()
}

#[test]
fn the_array_ir_is_printed() {
    let folder = std::env::temp_dir().join(format!("deckle-explain-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.dk"), "def twice(x: int) = x + x\ndef main(n: int) = twice(n)\n").unwrap();
    std::fs::write(folder.join("bad.dk"), "def main() = nothing\n").unwrap();
    let whole = "\
fn twice (v0 x: i64) -> i64 {
  v1: i64 = add(v0, v0)
  v1
}

fn main (v0 n: i64) -> i64 {
  v1: i64 = call<@twice>(v0)
  v1
}
";
    let shown = explain(&folder, &["a.dk", "--ir", "array"]);
    assert_eq!((shown.status.code(), String::from_utf8_lossy(&shown.stdout).as_ref()), (Some(0), whole));
    let refused = explain(&folder, &["a.dk", "--ir", "nothing"]);
    let err = String::from_utf8_lossy(&refused.stderr);
    assert!(err.contains("array, simple, chunks, kernel, memory, schedule, loop, llvm, asm, ptx"), "{err}");
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(explain(&folder, &["a.dk", "--ir", "array", "--timing"]).status.code(), Some(2));
    assert_eq!(explain(&folder, &["bad.dk", "--ir", "array"]).status.code(), Some(1));
    for (stage, word) in [("schedule", "threads one"), ("loop", "thread")] {
        let shown = explain(&folder, &["a.dk", "--ir", stage, "--on", "gpu"]);
        let out = String::from_utf8_lossy(&shown.stdout);
        assert!(out.contains("g0") && out.contains(word), "{out}");
    }
    for wrong in [
        &["--on", "gpu"][..],
        &["--timing", "--on", "gpu"],
        &["--ir", "asm", "--on", "gpu"],
        &["--ir", "ptx", "--on", "cpu"],
    ] {
        assert_eq!(explain(&folder, &[&["a.dk"], wrong].concat()).status.code(), Some(2), "{wrong:?}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn it_is_told_why_kernels_stay_apart() {
    let folder = std::env::temp_dir().join(format!("deckle-apart-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = "\
def main(xs: [f64], ks: [int]) =
  let high = max(xs)
  let near = filter(\\x -> x > high / 2.0, xs)
  in (near, scatter(fill(0, length(near)), ks, ks), [ k * k : k in ks ])
";
    std::fs::write(folder.join("a.dk"), text).unwrap();
    let shown = explain(&folder, &["a.dk"]);
    let out = String::from_utf8_lossy(&shown.stdout);
    for why in [
        "it reads `high`, all of which it needs",
        "how far it goes depends on the size of `near`",
        "how large `near` is depends on the size of `near`",
        "which must be there",
        "it goes over other points",
    ] {
        assert!(out.contains(why), "{why}\n{out}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
