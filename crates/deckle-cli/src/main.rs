//! The `deckle` command.
//!
//! Exit codes: 0 success, 1 the user's program or data is wrong, 2 usage, 3 a limitation, 101 a bug in Deckle, 128 plus
//! the number of the signal if a run was stopped by one.
//! Results go to standard output, everything else to standard error.

mod args;
mod check;
mod cost;
mod doctor;
mod explain;
mod interrupt;
mod output;
mod progress;
mod repl;
mod report;
mod run;
mod stats;

use args::{Cli, Command};
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse().checked().unwrap_or_else(|e| e.exit());
    let code = report::guard(|| match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Check(args) => check::check(args),
        Command::Cost(args) => cost::cost(args),
        Command::Explain(args) => explain::explain(args),
        Command::Repl(args) => repl::repl(&args.files),
        Command::Doctor(args) => doctor::doctor(args),
    });
    ExitCode::from(code)
}
