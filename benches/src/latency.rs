//! Latencies before any computation: compiling for the first time and from the disk, waking the team, a call, a whole run of the command.

use crate::case::vector;
use crate::measure::{Times, seconds};
use crate::options::Options;
use crate::program;
use crate::report::Row;
use deckle_engine::Settings;
use deckle_runtime::Team;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

const NAMES: [&str; 5] = ["latency-compile", "latency-cached", "latency-dispatch", "latency-call", "latency-command"];
const TRIES: usize = 9;

/// The names of the selected benchmarks.
pub fn wanted(options: &Options) -> Vec<&'static str> {
    let is_meant = |n: &&str| options.names.is_empty() || options.names.iter().any(|w| w == n || w == "latency");
    NAMES.into_iter().filter(is_meant).collect()
}

/// Runs them.
pub fn run(options: &Options, tell: &mut dyn FnMut(Row)) {
    for name in wanted(options) {
        let threads: &[usize] =
            if name == "latency-dispatch" || name == "latency-call" { &options.threads } else { &[1] };
        for &t in threads {
            let (size, most, times) = match name {
                "latency-compile" => ("one kernel, new process", 40e-3, compiles(true)),
                "latency-cached" => ("one kernel, from disk", 5e-3, compiles(false)),
                "latency-dispatch" => ("a team wakes", 5e-6, dispatch(t)),
                "latency-call" => ("sum of 16 numbers", f64::INFINITY, call(t)),
                _ => ("deckle run of dot.dk", 100e-3, command()),
            };
            let mut line = json!({"bench": name, "size": size, "threads": t});
            match times {
                Ok(times) => {
                    line["seconds"] = json!(times.median());
                    line["min"] = json!(times.min());
                    line["max"] = json!(times.max());
                    line["runs"] = json!(times.len());
                    if most.is_finite() {
                        line["of_limit"] = json!(most / times.median());
                        line["limit"] = json!(format!("{} ms asked for", most * 1e3));
                    }
                }
                Err(message) => {
                    line["failed"] = json!("run");
                    line["message"] = json!(message);
                }
            }
            Row::new(&[line], &[]).into_iter().for_each(&mut *tell);
        }
    }
}

/// Compiles the program once, in this process, from text to a callable function, and prints the seconds.
pub fn compile_once(file: &str, entry: &str) -> Result<(), String> {
    let compiled = program::compile(file, entry, 0)?;
    println!("{}", json!({"seconds": compiled.seconds}));
    Ok(())
}

/// Compiles in new processes: with an empty folder each time, or with one that already holds the code.
fn compiles(cold: bool) -> Result<Times, String> {
    let folder = std::env::temp_dir().join(format!("deckle-bench-{}", std::process::id()));
    let this = std::env::current_exe().map_err(|e| e.to_string())?;
    let one = |folder: &Path| -> Result<f64, String> {
        let mut command = Command::new(&this);
        command.args(["--inner-compile", "saxpy.dk", "single"]).env("DECKLE_CACHE", folder).stderr(Stdio::inherit());
        let done = command.output().map_err(|e| e.to_string())?;
        let line: Value = serde_json::from_slice(&done.stdout).map_err(|_| format!("{}", done.status))?;
        line["seconds"].as_f64().ok_or("no figure".into())
    };
    let place = |k: usize| if cold { folder.join(k.to_string()) } else { folder.join("same") };
    let times: Result<Vec<f64>, String> = (0..=TRIES).map(|k| one(&place(k))).collect();
    let _ = std::fs::remove_dir_all(&folder);
    // The first run loads the files into memory, and fills the folder.
    Ok(Times::new(times?.split_off(1)))
}

fn dispatch(threads: usize) -> Result<Times, String> {
    let team = Team::new(threads);
    let once = || seconds(|| assert!(team.run(threads, &|_, _| {}).is_ok()));
    Ok(Times::new((0..11_000).map(|_| once()).skip(1000).collect()))
}

fn call(threads: usize) -> Result<Times, String> {
    let native = program::compile("sum.dk", "single", 0)?.native;
    let settings = Settings::new(threads, None);
    let args = vec![vector(&settings.pool, &[1f32; 16])];
    let once = || {
        let args = args.clone();
        let begun = Instant::now();
        let done = native.call(args, &settings);
        (begun.elapsed().as_secs_f64(), done.is_ok())
    };
    let times: Vec<(f64, bool)> = (0..10_000).map(|_| once()).collect();
    match times.iter().all(|t| t.1) {
        true => Ok(Times::new(times.into_iter().map(|t| t.0).collect())),
        false => Err("a call failed".into()),
    }
}

/// The whole command, which must be built and be placed next to this program.
fn command() -> Result<Times, String> {
    let beside = |this: PathBuf| this.with_file_name(format!("deckle{}", std::env::consts::EXE_SUFFIX));
    let deckle = std::env::current_exe().map(beside).map_err(|e| e.to_string())?;
    if !deckle.is_file() {
        return Err(format!("{} is not built: cargo build --release -p deckle-cli", deckle.display()));
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/dot.dk");
    let once = || -> Result<f64, String> {
        let mut command = Command::new(&deckle);
        command.arg("run").arg(&file).args(["xs=[1, 2, 3]", "ys=[4, 5, 6]"]).stdout(Stdio::null());
        let begun = Instant::now();
        let status = command.status().map_err(|e| e.to_string())?;
        let seconds = begun.elapsed().as_secs_f64();
        if status.success() { Ok(seconds) } else { Err(status.to_string()) }
    };
    once()?;
    (0..TRIES).map(|_| once()).collect::<Result<Vec<f64>, _>>().map(Times::new)
}
