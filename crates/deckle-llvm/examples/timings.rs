//! How long it takes from a start to callable code, in fresh processes.
//!
//! ```text
//! cargo run --release -p deckle-llvm --example timings
//! ```
//!
//! The program starts itself again and again, with an empty cache and then with a full one, and prints the least and the middle time. Times start in `main` of the new process and end
//! when the address of a function is known. The marks: 5 ms with a cached object, 40 ms when one kernel has to be compiled.

use deckle_llvm::{Compiler, Pipeline};
use std::process::Command;
use std::time::Instant;

const SAXPY: &str = "
define void @saxpy(i64 %n, float %a, ptr noalias %x, ptr noalias %y) {
entry:
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %loop, label %done
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %px = getelementptr inbounds float, ptr %x, i64 %i
  %py = getelementptr inbounds float, ptr %y, i64 %i
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %ax = fmul contract float %a, %vx
  %sum = fadd contract float %ax, %vy
  store float %sum, ptr %py
  %next = add nuw nsw i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}
";

const RUNS: usize = 15;

/// What a fresh process does: times in milliseconds until the first function can be called, until a second module is compiled, and until the first is asked for again.
fn child() {
    let start = Instant::now();
    let since = |t: Instant| t.elapsed().as_secs_f64() * 1e3;
    let compiler = Compiler::host().expect("an LLVM");
    let first = compiler.load_timed(SAXPY, Pipeline::O3).expect("valid IR");
    assert!(first.code.symbol("saxpy").is_some());
    let ready = since(start);
    let second = Instant::now();
    let other = SAXPY.replace("fmul contract float %a, %vx", "fsub float %vx, %a");
    compiler.load(&other, Pipeline::O3).expect("valid IR");
    let another = since(second);
    let again = Instant::now();
    compiler.load(SAXPY, Pipeline::O3).expect("valid IR");
    println!("{ready} {another} {}", since(again));
}

/// The least and the middle, over fresh processes, of what [`child`] prints.
fn measure(cache: &std::path::Path, clear: bool) -> [(f64, f64); 3] {
    let run = || {
        if clear {
            let _ = std::fs::remove_dir_all(cache);
        }
        let exe = std::env::current_exe().expect("a path");
        let out = Command::new(exe).arg("child").env("DECKLE_CACHE", cache).output().expect("a process");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        text.split_whitespace().map(|n| n.parse().expect("a number")).collect::<Vec<f64>>()
    };
    run();
    let runs: Vec<Vec<f64>> = (0..RUNS).map(|_| run()).collect();
    [0, 1, 2].map(|column| {
        let mut times: Vec<f64> = runs.iter().map(|r| r[column]).collect();
        times.sort_by(f64::total_cmp);
        (times[0], times[RUNS / 2])
    })
}

fn main() {
    if std::env::args().nth(1).as_deref() == Some("child") {
        return child();
    }
    match Compiler::host().and_then(|c| c.describe()) {
        Ok(description) => println!("{description}"),
        Err(e) => return println!("{e}"),
    }
    let cache = std::env::temp_dir().join(format!("deckle-timings-{}", std::process::id()));
    println!("{RUNS} fresh processes each, in ms: least / middle");
    println!("{:<8}{:>18}{:>18}{:>18}", "cache", "first kernel", "second kernel", "from memory");
    for (name, clear) in [("empty", true), ("full", false)] {
        print!("{name:<8}");
        for (least, middle) in measure(&cache, clear) {
            print!("{:>18}", format!("{least:.3} / {middle:.3}"));
        }
        println!();
    }
    let _ = std::fs::remove_dir_all(&cache);
}
