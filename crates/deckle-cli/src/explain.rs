//! `deckle explain`: what is decided about a program before it runs.

use crate::args::{ExplainArgs, Ir};
use crate::entry;
use crate::report::{Outcome, fail, print};
use crate::source;
use clap::ValueEnum;
use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_io::text::signature;
use deckle_ir::entity::Func;
use deckle_passes::simplify::simplify;

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
    let program = &compiled.program;
    match args.ir {
        Some(Ir::Simple) => return print(|out| write!(out, "{}", simplify(program))),
        Some(_) => return print(|out| write!(out, "{program}")),
        None => {}
    }
    let funcs: Vec<Func> = match &args.entry {
        Some(name) => vec![entry::choose(&compiled, Some(name)).map_err(|d| vec![d])?.func],
        None => (0..program.funcs.len() as u32).map(Func).collect(),
    };
    let told = deckle_passes::explain::explain(program, sources, &funcs);
    print(|out| {
        for (k, (func, told)) in funcs.iter().zip(&told).enumerate() {
            let function = &program.funcs[func.index()];
            let blank = if k == 0 { "" } else { "\n" };
            writeln!(out, "{blank}{}", signature(&function.name, function))?;
            write!(out, "{told}")?;
        }
        Ok(())
    })
}

fn check_level(ir: Option<Ir>) -> Result<(), Diagnostic> {
    let level = match ir {
        None | Some(Ir::Array | Ir::Simple) => return Ok(()),
        Some(level) => level.to_possible_value().map_or_else(String::new, |v| v.get_name().to_string()),
    };
    let message = format!("`--ir {level}` needs the compiler, and this version of Deckle has the interpreter only");
    Err(Diagnostic::nowhere(Code::Unsupported, message).help("write `--ir array` to see the array IR"))
}
