//! `deckle check`: every error at once, or the functions that can be run.

use crate::args::CheckArgs;
use crate::report::{fail, print};
use deckle_diag::SourceMap;
use deckle_engine::entry::function;
use deckle_engine::{Outcome, source};
use deckle_io::text::signature;

/// Checks a program and returns the exit code.
pub fn check(args: &CheckArgs) -> u8 {
    let mut sources = SourceMap::new();
    match list(args, &mut sources) {
        Ok(()) => 0,
        Err(diagnostics) => fail(&diagnostics, &sources),
    }
}

fn list(args: &CheckArgs, sources: &mut SourceMap) -> Outcome<()> {
    let compiled = source::compile(&args.file, sources)?;
    let faults = deckle_analysis::stream::check(&compiled.program, sources, None);
    if !faults.is_empty() {
        return Err(faults);
    }
    print(|out| {
        let n = compiled.entries.len();
        writeln!(out, "ok: {n} function{}", if n == 1 { "" } else { "s" })?;
        compiled.entries.iter().try_for_each(|e| writeln!(out, "  {}", signature(&e.name, function(&compiled, e))))
    })
}
