//! `deckle explain`: the decisions about a program before it runs, and the stages of its compilation.

use crate::args::{Device, ExplainArgs};
use crate::report::{fail, print};
use deckle_diag::{Diagnostic, SourceMap};
use deckle_engine::pipeline::{self, Stage, Target};
use deckle_engine::{Native, Options, Outcome, entry, source};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;

/// Explains a program and returns the exit code.
pub fn explain(args: &ExplainArgs) -> u8 {
    let mut sources = SourceMap::new();
    match show(args, &mut sources) {
        Ok(()) => 0,
        Err(diagnostics) => fail(&diagnostics, &sources),
    }
}

fn show(args: &ExplainArgs, sources: &mut SourceMap) -> Outcome<()> {
    let one = |d: Diagnostic| vec![d];
    let compiled = source::compile(&args.file, sources)?;
    let program = &compiled.program;
    let chosen = |name: Option<&str>| -> Outcome<Func> { Ok(entry::choose(&compiled, name).map_err(one)?.func) };
    // As `deckle run` does.
    let options = Options { given: Options::ALL, ..Options::default() };
    let target = match args.on {
        Some(Device::Gpu) => Target::Gpu,
        Some(Device::Cpu) | None => Target::Cpu,
    };
    let text = match args.ir {
        Some(stage @ (Stage::Array | Stage::Simple)) => shown(program, Func(0), options, (stage, target))?,
        Some(stage) => shown(program, chosen(args.entry.as_deref())?, options, (stage, target))?,
        None if args.timing => {
            let func = chosen(args.entry.as_deref())?;
            Native::compile(program, func, options).map_err(|d| one(*d))?.timings().to_string()
        }
        None => {
            let funcs: Vec<Func> = match &args.entry {
                Some(name) => vec![chosen(Some(name))?],
                None => (0..program.funcs.len() as u32).map(Func).collect(),
            };
            deckle_engine::explain(program, sources, &funcs)
        }
    };
    print(|out| write!(out, "{text}"))
}

fn shown(program: &Program, func: Func, options: Options, stage: (Stage, Target)) -> Outcome<String> {
    pipeline::show(program, func, options, stage).map_err(|d| vec![*d])
}
