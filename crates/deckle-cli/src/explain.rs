//! `deckle explain`: what becomes of a program on its way. In this version that is its array IR.

use crate::args::{ExplainArgs, Ir};
use crate::report::{Outcome, fail, print};
use crate::source;
use clap::ValueEnum;
use deckle_diag::{Code, Diagnostic, SourceMap};

/// Explains a program and gives the exit code.
pub fn explain(args: &ExplainArgs) -> u8 {
    let mut sources = SourceMap::new();
    match show(args, &mut sources) {
        Ok(()) => 0,
        Err(diagnostics) => fail(&diagnostics, &sources),
    }
}

fn show(args: &ExplainArgs, sources: &mut SourceMap) -> Outcome<()> {
    check_level(args.ir).map_err(|d| vec![d])?;
    let compiled = source::compile(&args.file, sources)?;
    print(|out| write!(out, "{}", compiled.program))
}

fn check_level(ir: Option<Ir>) -> Result<(), Diagnostic> {
    let what = match ir {
        Some(Ir::Array) => return Ok(()),
        None => "an explanation of what is fused and streamed".to_string(),
        Some(level) => {
            let level = level.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string());
            format!("`--ir {level}`")
        }
    };
    let message = format!("{what} needs the compiler, and this version of Deckle has the interpreter only");
    Err(Diagnostic::nowhere(Code::Unsupported, message).help("write `--ir array` to see the array IR"))
}
