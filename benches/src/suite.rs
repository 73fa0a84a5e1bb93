//! All benchmarks: each in a process of its own, alternating with the rivals.

use crate::case::Case;
use crate::machine::Watch;
use crate::options::Options;
use crate::report::Row;
use crate::rivals::{Figure, Rivals};
use serde_json::{Value, json};
use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The time limit of one benchmark in one round.
const LONGEST: Duration = Duration::from_secs(600);

/// Runs benchmarks, group after group, and reports each row when it is known.
pub fn run(cases: &[Case], options: &Options, tell: &mut dyn FnMut(Row)) -> Result<(), String> {
    let mut groups: Vec<&str> = cases.iter().map(|c| c.group).collect();
    groups.sort_unstable();
    groups.dedup();
    let rivals = if options.peers { Some(Rivals::build(&groups)?) } else { None };
    for group in groups {
        let members: Vec<&Case> = cases.iter().filter(|c| c.group == group).collect();
        let mut figures: Vec<Figure> = Vec::new();
        let mut lines: Vec<Vec<Value>> = vec![Vec::new(); members.len()];
        for round in 0..options.rounds {
            if let Some(rivals) = &rivals {
                eprintln!("{group}: round {} of {}, {} rivals", round + 1, options.rounds, rivals.count(group));
                figures.extend(rivals.run(group));
            }
            for (case, lines) in members.iter().zip(&mut lines) {
                let watch = Watch::start();
                let mut new = worker(case, options);
                let others = watch.others();
                new.iter_mut().for_each(|l| l["others"] = json!(others));
                lines.extend(new);
                if options.rounds == 1 {
                    rows(lines, options, &figures).into_iter().for_each(&mut *tell);
                }
            }
        }
        if options.rounds > 1 {
            lines.iter().flat_map(|l| rows(l, options, &figures)).for_each(&mut *tell);
        }
    }
    Ok(())
}

/// A row for each number of threads.
fn rows(lines: &[Value], options: &Options, figures: &[Figure]) -> Vec<Row> {
    let of = |t: &usize| {
        let lines: Vec<Value> = lines.iter().filter(|l| l["threads"] == *t).cloned().collect();
        Row::new(&lines, figures)
    };
    options.threads.iter().filter_map(of).collect()
}

/// Runs one benchmark in another process, so that one that crashes or hangs does not stop the others.
fn worker(case: &Case, options: &Options) -> Vec<Value> {
    let threads: Vec<String> = options.threads.iter().map(usize::to_string).collect();
    let failed = |message: String| -> Vec<Value> {
        let line = |t: &usize| json!({"bench": case.name, "rival": case.rival, "size": case.size, "threads": t, "failed": "crash", "message": message});
        options.threads.iter().map(line).collect()
    };
    let Ok(this) = std::env::current_exe() else { return failed("this program is not to be found".into()) };
    let mut command = Command::new(this);
    command.args(["--inner-case", &case.name, "--threads", &threads.join(",")]);
    command.args(options.quick.then_some("--quick"));
    if let Some(file) = &options.schedule {
        command.args(["--schedule", file]);
    }
    // Compile time is measured as well, so nothing comes from the disk.
    command.env("DECKLE_CACHE", "off").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(e) => return failed(e.to_string()),
    };
    let (mut out, mut err) = (child.stdout.take(), child.stderr.take());
    let errors = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = err.as_mut().map(|e| e.read_to_string(&mut text));
        text
    });
    let output = std::thread::spawn(move || {
        let mut text = String::new();
        let _ = out.as_mut().map(|o| o.read_to_string(&mut text));
        text
    });
    let begun = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status.to_string(),
            Ok(None) if begun.elapsed() < LONGEST => std::thread::sleep(Duration::from_millis(10)),
            _ => {
                let _ = child.kill();
                let _ = child.wait();
                break "took too long".into();
            }
        }
    };
    let lines: Vec<Value> =
        output.join().unwrap_or_default().lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
    let errors = errors.join().unwrap_or_default();
    let missing = |t: &&usize| !lines.iter().any(|l| l["threads"] == **t);
    if options.threads.iter().any(|t| missing(&t)) {
        let last: Vec<&str> = errors.lines().filter(|l| !l.trim().is_empty()).collect();
        let lost = failed(format!("{status}: {}", last[last.len().saturating_sub(3)..].join(" / ")));
        return lines.into_iter().chain(lost).collect();
    }
    lines
}
