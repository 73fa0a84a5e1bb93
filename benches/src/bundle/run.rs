//! Runs a folder: one child process after another, until all cases have a result; then writes the results.

use super::{Asked, SCHEMA, child};
use crate::machine;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::str::FromStr;
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
    /// To the device, and from it.
    transfer: Option<[f64; 2]>,
    /// By the numbers of their cases.
    results: BTreeMap<usize, Value>,
    /// Why cases are missing.
    ended: Option<String>,
}

/// Cases that one child process after another runs: each `step`th one from `from` to `to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    pub from: usize,
    pub to: usize,
    pub step: usize,
}

/// As it is passed to a child process.
impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.from, self.to, self.step)
    }
}

impl FromStr for Part {
    type Err = String;

    fn from_str(text: &str) -> Result<Part, String> {
        let numbers: Option<Vec<usize>> = text.split(':').map(|n| n.parse().ok()).collect();
        match numbers.as_deref() {
            Some(&[from, to, step]) if step > 0 => Ok(Part { from, to, step }),
            _ => Err(format!("`{text}` is no part of the cases")),
        }
    }
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
    if let Some(part) = asked.part {
        return child::run(asked, dir, &files, part).map(|()| ExitCode::SUCCESS);
    }
    let tests = manifest["tests"].as_u64().map_or(0, |n| n as usize).min(files.len());
    let report = all(asked, dir, tests, files.len())?;
    let results = summed(&manifest, report);
    let json = asked.json.clone().unwrap_or_else(|| dir.join("results.json"));
    std::fs::write(&json, format!("{results:#}\n")).map_err(|e| format!("{}: {e}", json.display()))?;
    print(&results);
    println!("{}", json.display());
    let good = results["failed"] == 0 && results["ended_early"].is_null();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the tests, several at once, then the benchmarks, which have the device for themselves.
fn all(asked: &Asked, dir: &Path, tests: usize, count: usize) -> Result<Report, String> {
    let jobs = asked.jobs.clamp(1, tests.max(1));
    let parts = (0..jobs).map(|from| Part { from, to: tests, step: jobs });
    let ran: Result<Vec<Report>, String> = thread::scope(|scope| {
        let started: Vec<_> = parts.map(|part| scope.spawn(move || part_of(asked, dir, part))).collect();
        started.into_iter().map(|job| job.join().map_err(|_| "a thread panicked".to_string())?).collect()
    });
    let mut ran = ran?;
    ran.push(part_of(asked, dir, Part { from: tests, to: count, step: 1 })?);
    let mut report = Report::default();
    for part in ran {
        report.results.extend(part.results);
        report.copy = report.copy.or(part.copy);
        report.transfer = report.transfer.or(part.transfer);
        report.ended = report.ended.or(part.ended);
        if report.device.is_null() {
            report.device = part.device;
        }
    }
    if report.device.is_null() { Err(report.ended.unwrap_or_default()) } else { Ok(report) }
}

/// Starts child processes for a part, each where the one before it has ended.
fn part_of(asked: &Asked, dir: &Path, part: Part) -> Result<Report, String> {
    let (mut report, mut from) = (Report::default(), part.from);
    while from < part.to {
        match one(asked, dir, Part { from, ..part }, &mut report)? {
            Some(next) => from = next,
            None => break,
        }
    }
    Ok(report)
}

/// Runs a child process. If it ends before all cases are run, returns the next one.
fn one(asked: &Asked, dir: &Path, part: Part, report: &mut Report) -> Result<Option<usize>, String> {
    let fault = |e: std::io::Error| format!("a child process cannot be started: {e}");
    let mut command = Command::new(std::env::current_exe().map_err(fault)?);
    command.arg("gpu-run").arg(dir).args(["--inner-part", &part.to_string(), "--device", &asked.device.to_string()]);
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
    Ok(next.unwrap_or_else(|| broken(status, current, report).map(|k| k + part.step)))
}

/// One line of a child process. `next` is set if it says where to go on, or that nothing is left.
fn note(line: &str, report: &mut Report, current: &mut Option<(usize, Value)>, next: &mut Option<Option<usize>>) {
    let Ok(event) = serde_json::from_str::<Value>(line) else { return };
    if let Some(k) = event["begin"].as_u64() {
        *current = Some((k as usize, event["of"].clone()));
    } else if event["result"].is_object() {
        let Some((k, _)) = current.take() else { return };
        let result = event["result"].clone();
        if result["status"] != "passed" || result["kind"] == "benchmark" {
            println!("{}", told(&result));
        }
        report.results.insert(k, result);
    } else if event["device"].is_object() {
        report.device = event["device"].clone();
    } else if let Some(copy) = event["copy_bytes_per_second"].as_f64() {
        report.copy = Some(copy);
    } else if let [Some(there), Some(back)] = [0, 1].map(|k| event["transfer_bytes_per_second"][k].as_f64()) {
        report.transfer = Some([there, back]);
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
    report.results.insert(k, result);
    Some(k)
}

/// The contents of `results.json`.
fn summed(manifest: &Value, report: Report) -> Value {
    let Report { device, copy, transfer, results, ended } = report;
    let mut results: Vec<Value> = results.into_values().collect();
    for result in &mut results {
        if let (Some(copy), Some(rate)) = (copy, result["bytes_per_second"].as_f64()) {
            result["of_copy"] = json!(rate / copy);
        }
        if let (Some([there, _]), Some(rate)) = (transfer, result["bytes_in_per_second"].as_f64()) {
            result["of_transfer"] = json!(rate / there);
        }
    }
    let count = |status: &str| results.iter().filter(|r| r["status"] == status).count();
    let (passed, failed, skipped) = (count("passed"), count("failed"), count("skipped"));
    json!({
        "schema": SCHEMA, "made": manifest["made"], "run": machine::today(), "target": manifest["target"],
        "left_out": manifest["left_out"], "host": machine::describe(), "device": device,
        "copy_bytes_per_second": copy, "transfer_bytes_per_second": transfer, "passed": passed, "failed": failed, "skipped": skipped,
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
    if let (Some(seconds), Some(rate)) = (result["call_seconds"].as_f64(), result["bytes_in_per_second"].as_f64()) {
        line = format!("{line:36}{:12.3} ms{:10.1} GB/s to the device", 1e3 * seconds, rate / 1e9);
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
    if let [Some(there), Some(back)] = [0, 1].map(|k| results["transfer_bytes_per_second"][k].as_f64()) {
        println!("transfer {:.1} GB/s to the device, {:.1} GB/s back", there / 1e9, back / 1e9);
    }
    for result in results["results"].as_array().into_iter().flatten() {
        if let (Some(name), Some(part)) = (result["name"].as_str(), result["of_transfer"].as_f64()) {
            println!("{name}: {part:.2} of the transfer to the device");
        }
    }
    println!("{} passed, {} failed, {} skipped", count("passed"), count("failed"), count("skipped"));
    if let Some(why) = results["ended_early"].as_str() {
        println!("ended early: {why}");
    }
}
