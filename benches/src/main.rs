//! The benchmarks of Deckle: one command, one line per figure.
//!
//! ```text
//! cargo run --release -p deckle-bench -- [NAME ...] [--json] [--peers] [--quick] [--threads 1,2]
//! cargo run --release -p deckle-bench -- gpu-bundle DIR
//! ```
//!
//! Each benchmark is a program of `programs/` and a file of `cases/` that creates its data, checks its result against a reference of higher
//! precision, and states its bound. It runs in a process of its own (`worker`), after which the limits of the machine are
//! measured on the same number of bytes (`limits`). `suite` does that for all of them, alternating with the programs of `rivals.list`; `goals.list` contains
//! the goals. `bundle` has the tests and benchmarks for a machine with a GPU.

mod bars;
mod bundle;
mod case;
mod cases;
mod check;
mod data;
mod fused;
mod goals;
mod graph;
mod graphs;
mod host;
mod latency;
mod limits;
mod machine;
mod measure;
mod nine;
mod options;
mod program;
mod report;
mod rivals;
mod sparse;
mod streams;
mod suite;
mod way;
mod worker;

use crate::options::{Inner, Options};
use crate::report::Row;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let Some(code) = bundle::command(&args) {
        return code;
    }
    if args.iter().any(|a| a == "--help" || a == "-h") {
        println!("{}", options::USAGE);
        return ExitCode::SUCCESS;
    }
    let done = options::parse(&args, deckle_runtime::cpu::usable_cores()).and_then(|options| run(&options));
    match done {
        Ok(code) => code,
        Err(message) => {
            eprintln!("{message}\n{}", options::USAGE);
            ExitCode::from(2)
        }
    }
}

fn run(options: &Options) -> Result<ExitCode, String> {
    let mut cases = cases::all();
    match &options.inner {
        Some(Inner::Compile(file, entry)) => {
            latency::compile_once(file, entry)?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Inner::Case(name)) => {
            let case = cases.iter().find(|c| c.name == *name).ok_or("no such benchmark")?;
            worker::run(case, options, &mut |line| println!("{line}"));
            return Ok(ExitCode::SUCCESS);
        }
        None => {}
    }
    let others = [latency::wanted, fused::wanted, host::wanted, nine::wanted, streams::wanted, graphs::wanted];
    let mut others = others.map(|wanted| wanted(options)).concat();
    let sparse = sparse::wanted(options);
    others.extend(sparse.iter().map(String::as_str));
    let groups = ["latency", "fused", "host", "nine", "stream", "graphs", "sparse"];
    let known = |w: &&String| {
        cases.iter().any(|c| c.answers_to(w)) || others.contains(&w.as_str()) || groups.contains(&w.as_str())
    };
    if let Some(word) = options.names.iter().find(|w| !known(w)) {
        return Err(format!("no benchmark is called `{word}`; --list tells their names"));
    }
    if !options.names.is_empty() {
        cases.retain(|c| options.names.iter().any(|w| c.answers_to(w)));
    }
    if options.list {
        cases.iter().for_each(|c| println!("{:22} {:20} {}: {} {}", c.name, c.program, c.group, c.rival, c.size));
        others.iter().for_each(|n| println!("{n}"));
        return Ok(ExitCode::SUCCESS);
    }
    if !options.json && !options.markdown {
        println!("{}\n{}", machine::describe(), report::plain_head());
    }
    let mut rows = Vec::new();
    let mut tell = |row: Row| {
        if options.json {
            println!("{}", row.json());
        } else if options.markdown {
            eprintln!("{}", report::plain(&row));
        } else {
            println!("{}", report::plain(&row));
        }
        rows.push(row);
    };
    match &options.from {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
            text.lines().filter_map(Row::from_json).for_each(&mut tell);
        }
        None => {
            latency::run(options, &mut tell);
            fused::run(options, &mut tell);
            host::run(options, &mut tell);
            nine::run(options, &mut tell);
            streams::run(options, &mut tell);
            graphs::run(options, &mut tell)?;
            sparse::run(options, &mut tell)?;
            suite::run(&cases, options, &mut tell)?;
        }
    }
    if options.markdown {
        println!("{}, {}\n\n{}", machine::today(), machine::describe(), report::markdown(&rows));
    }
    if let Some(path) = &options.plot {
        let picture = if rows.iter().any(fused::is_row) { fused::plot(&rows) } else { nine::plot(&rows) };
        std::fs::write(path, picture).map_err(|e| format!("{path}: {e}"))?;
    }
    let good = rows.iter().all(|r| !r.line["failed"].is_string() && !r.line["wrong"].is_string());
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
