//! The folder of tests for GPUs: built with a few cases, run on the simulator, and run again with a wrong expectation.
#![cfg(unix)]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn built(name: &str, args: &[&str]) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let made = Command::new(env!("CARGO_BIN_EXE_deckle-bench")).arg("gpu-bundle").arg(&dir).args(args).output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    dir
}

fn run(dir: &Path, args: &[&str]) -> (Output, Value) {
    let _ = fs::remove_file(dir.join("results.json"));
    let output = Command::new(dir.join("run.sh")).args(args).output().unwrap();
    let results = fs::read_to_string(dir.join("results.json")).unwrap_or_default();
    (output, serde_json::from_str(&results).unwrap_or_default())
}

/// The number of results of a kind.
fn of_kind(results: &Value, kind: &str) -> usize {
    results["results"].as_array().into_iter().flatten().filter(|r| r["kind"] == kind).count()
}

#[test]
fn a_folder_runs_on_the_simulator_and_reports_a_wrong_result() {
    let only =
        ["tests/ops/folding/fold.dk", "tests/errors/after-a-failure.dk", "examples/dot.dk", "dot-f64", "stream-"];
    let only = only.map(|name| ["--only", name]).concat();
    let dir = built("gpu-bundle", &[&["--random", "4", "--seed", "12"], &only[..]].concat());

    let (output, results) = run(&dir, &["--on", "simulated"]);
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((of_kind(&results, "random"), of_kind(&results, "example"), of_kind(&results, "benchmark")), (4, 1, 3));
    assert!(of_kind(&results, "file") > 0 && results["device"]["simulated"] == true);
    assert_eq!(results["failed"], 0, "{results:#}");
    let bench = results["results"].as_array().unwrap().iter().find(|r| r["name"] == "dot-f64").unwrap();
    assert!(
        bench["kernel_seconds"].as_f64() > Some(0.0) && bench["bytes_per_second"].as_f64() > Some(0.0),
        "{bench:#}"
    );

    let streams = results["results"].as_array().unwrap().iter();
    assert_eq!(streams.filter(|r| r["bytes_in_per_second"].as_f64() > Some(0.0)).count(), 2, "{results:#}");

    // The example gives 32.
    let files = fs::read_dir(dir.join("cases")).unwrap().map(|e| e.unwrap().path());
    let text = |path: &PathBuf| fs::read_to_string(path).unwrap();
    let path = files.into_iter().find(|path| text(path).contains("examples/dot.dk")).unwrap();
    let changed = text(&path).replace("\"value\":\"32.0f64\"", "\"value\":\"33.0f64\"");
    assert_ne!(changed, text(&path));
    fs::write(&path, changed).unwrap();
    let (output, results) = run(&dir, &["--on", "simulated", "--only", "examples/dot.dk"]);
    assert_eq!((output.status.code(), &results["failed"]), (Some(1), &Value::from(1)));
    assert_eq!(results["results"][0]["why"], "32.0f64 instead of 33.0f64 at ``");

    // Neither a machine without a driver has this device, nor one with eight.
    let (output, results) = run(&dir, &["--device", "4096"]);
    assert_eq!((output.status.code(), results), (Some(2), Value::Null));
    assert!(!output.stderr.is_empty());
}
