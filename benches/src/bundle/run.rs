//! Runs a folder: one child process after another, until all cases have a result; then writes the results.

use super::{Asked, SCHEMA, child};
use crate::machine;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long a child process may be silent: it interrupts calls itself, unless the driver hangs.
const SILENCE: Duration = Duration::from_secs(600);

/// What has been reported so far.
#[derive(Default)]
struct Report {
    device: Value,
    copy: Option<f64>,
    results: Vec<Value>,
    /// Why cases are missing.
    ended: Option<String>,
}

/// Runs all cases, writes the JSON file and prints the summary.
pub fn run(asked: &Asked) -> Result<ExitCode, String> {
    let dir = asked.dir.as_deref().ok_or("`gpu-run` needs the folder of the bundle")?;
    let path = dir.join("manifest.json");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let manifest: Value = serde_json::from_str(&text).map_err(|e| format!("{}: {e}", path.display()))?;
    if manifest["schema"] != SCHEMA {
        return Err(format!("{}: it is of another version", path.display()));
    }
    let files = manifest["cases"].as_array().into_iter().flatten().filter_map(|f| f.as_str().map(String::from));
    let files: Vec<String> = files.collect();
    if let Some(from) = asked.from {
        return child::run(asked, dir, &files, from).map(|()| ExitCode::SUCCESS);
    }
    let report = all(asked, dir)?;
    let results = summed(&manifest, report);
    let json = asked.json.clone().unwrap_or_else(|| dir.join("results.json"));
    std::fs::write(&json, format!("{results:#}\n")).map_err(|e| format!("{}: {e}", json.display()))?;
    print(&results);
    println!("{}", json.display());
    let good = results["failed"] == 0 && results["ended_early"].is_null();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Starts child processes, each where the one before it has ended.
fn all(asked: &Asked, dir: &Path) -> Result<Report, String> {
    let (mut report, mut from) = (Report::default(), Some(0));
    while let Some(first) = from {
        from = one(asked, dir, first, &mut report)?;
        if report.ended.is_some() && report.device.is_null() {
            return Err(report.ended.unwrap_or_default());
        }
    }
    Ok(report)
}

/// Runs a child process. If it ends before all cases are run, returns the next one.
fn one(asked: &Asked, dir: &Path, from: usize, report: &mut Report) -> Result<Option<usize>, String> {
    let fault = |e: std::io::Error| format!("a child process cannot be started: {e}");
    let mut command = Command::new(std::env::current_exe().map_err(fault)?);
    command.arg("gpu-run").arg(dir).args(["--inner-from", &from.to_string(), "--device", &asked.device.to_string()]);
    command.args(asked.only.iter().flat_map(|text| ["--only", text]));
    command.args(asked.simulated.then_some(["--on", "simulated"]).into_iter().flatten());
    command.args(asked.quick.then_some("--quick"));
    let mut child = command.stdout(Stdio::piped()).spawn().map_err(fault)?;
    let lines = child.stdout.take().map(BufReader::new).ok_or("a child process has no output")?;
    let (send, received) = mpsc::channel();
    let reader = thread::spawn(move || lines.lines().map_while(Result::ok).all(|line| send.send(line).is_ok()));
    let (mut current, mut next) = (None, None);
    loop {
        match received.recv_timeout(SILENCE) {
            Ok(line) => note(&line, report, &mut current, &mut next),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                break;
            }
        }
    }
    let status = child.wait().map_err(fault)?;
    let _ = reader.join();
    Ok(next.unwrap_or_else(|| broken(status, current, report)))
}

/// One line of a child process. `next` is set if it says where to go on, or that nothing is left.
fn note(line: &str, report: &mut Report, current: &mut Option<(usize, Value)>, next: &mut Option<Option<usize>>) {
    let Ok(event) = serde_json::from_str::<Value>(line) else { return };
    if let Some(k) = event["begin"].as_u64() {
        *current = Some((k as usize, event["of"].clone()));
    } else if event["result"].is_object() {
        *current = None;
        let result = event["result"].clone();
        if result["status"] != "passed" || result["kind"] == "benchmark" {
            println!("{}", told(&result));
        }
        report.results.push(result);
    } else if event["device"].is_object() {
        report.device = event["device"].clone();
    } else if let Some(copy) = event["copy_bytes_per_second"].as_f64() {
        report.copy = Some(copy);
    } else if let Some(why) = event["unusable"].as_str() {
        report.ended = Some(why.into());
        *next = Some(None);
    } else if let Some(k) = event["again"].as_u64() {
        *next = Some(Some(k as usize));
    } else if event["end"] == true {
        *next = Some(None);
    }
}

/// A child process has ended without a word: its case fails, and the next one goes on.
fn broken(status: ExitStatus, current: Option<(usize, Value)>, report: &mut Report) -> Option<usize> {
    let why = format!("the process of the case has ended: {status}");
    let Some((k, mut result)) = current else {
        report.ended = Some(why);
        return None;
    };
    result["status"] = json!("failed");
    result["why"] = json!(why);
    println!("{}", told(&result));
    report.results.push(result);
    Some(k + 1)
}

/// The contents of `results.json`.
fn summed(manifest: &Value, report: Report) -> Value {
    let Report { device, copy, mut results, ended } = report;
    for result in &mut results {
        if let (Some(copy), Some(rate)) = (copy, result["bytes_per_second"].as_f64()) {
            result["of_copy"] = json!(rate / copy);
        }
    }
    let count = |status: &str| results.iter().filter(|r| r["status"] == status).count();
    let (passed, failed, skipped) = (count("passed"), count("failed"), count("skipped"));
    json!({
        "schema": SCHEMA, "made": manifest["made"], "run": machine::today(), "target": manifest["target"],
        "left_out": manifest["left_out"], "host": machine::describe(), "device": device,
        "copy_bytes_per_second": copy, "passed": passed, "failed": failed, "skipped": skipped,
        "ended_early": ended, "results": results,
    })
}

/// A result in one line.
fn told(result: &Value) -> String {
    let text = |name: &str| result[name].as_str().unwrap_or_default();
    let mut line = format!("{:8}{}", text("status"), text("name"));
    if let (Some(seconds), true) = (result["kernel_seconds"].as_f64(), result["kind"] == "benchmark") {
        line = format!("{line:36}{:12.3} ms", 1e3 * seconds);
        if let Some(rate) = result["bytes_per_second"].as_f64() {
            line += &format!("{:10.1} GB/s", rate / 1e9);
        } else if let Some(rate) = result["ops_per_second"].as_f64() {
            line += &format!("{:10.2} G {}/s", rate / 1e9, text("unit"));
        }
    }
    let why = text("why");
    if why.is_empty() { line } else { format!("{line}: {why}") }
}

fn print(results: &Value) {
    let count = |name: &str| results[name].as_u64().unwrap_or_default();
    println!("{}", results["device"]["name"].as_str().unwrap_or("no device"));
    if let Some(copy) = results["copy_bytes_per_second"].as_f64() {
        println!("copy {:.0} GB/s", copy / 1e9);
    }
    println!("{} passed, {} failed, {} skipped", count("passed"), count("failed"), count("skipped"));
    if let Some(why) = results["ended_early"].as_str() {
        println!("ended early: {why}");
    }
}
