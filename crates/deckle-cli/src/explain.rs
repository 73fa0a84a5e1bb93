//! `deckle explain`: what is decided about a program before it runs, and what is made of it.

use crate::args::{ExplainArgs, Ir};
use crate::entry;
use crate::report::{Outcome, fail, print};
use crate::source;
use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_exec::{Native, Options};
use deckle_io::text::signature;
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_llvm::{Compiler, Pipeline, emit};
use deckle_passes::flatten::{self, flatten};
use deckle_passes::kernels;
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
    let one = |d: Diagnostic| vec![d];
    let compiled = source::compile(&args.file, sources)?;
    let program = &compiled.program;
    let chosen = |name: Option<&str>| -> Outcome<Func> { Ok(entry::choose(&compiled, name).map_err(one)?.func) };
    let text = match args.ir {
        Some(Ir::Array) => program.to_string(),
        Some(Ir::Simple) => simplify(program).to_string(),
        Some(level) => lowered(program, chosen(args.entry.as_deref())?, level).map_err(|d| one(*d))?,
        None => {
            let funcs: Vec<Func> = match &args.entry {
                Some(name) => vec![chosen(Some(name))?],
                None => (0..program.funcs.len() as u32).map(Func).collect(),
            };
            told(program, sources, &funcs)
        }
    };
    print(|out| write!(out, "{text}"))
}

/// Everything about some functions, in words.
fn told(program: &Program, sources: &SourceMap, funcs: &[Func]) -> String {
    let before = deckle_passes::explain::explain(program, sources, funcs);
    let kernels = kernels::describe(&simplify(program), funcs);
    let one = |(func, (before, kernels)): (&Func, (&String, &String))| {
        let function = &program.funcs[func.index()];
        format!("{}\n{before}{kernels}", signature(&function.name, function))
    };
    let all: Vec<String> = funcs.iter().zip(before.iter().zip(&kernels)).map(one).collect();
    all.join("\n")
}

/// A function at a level below the array IR.
fn lowered(program: &Program, func: Func, level: Ir) -> Result<String, Box<Diagnostic>> {
    match level {
        Ir::Kernel => {
            let mut flat = flatten(&simplify(program), func, flatten::Options { fuse: true })?;
            deckle_passes::reuse::reuse(&mut flat, Options::ALL);
            return Ok(format!("{flat}\n"));
        }
        Ir::Ptx => {
            let d = Diagnostic::nowhere(Code::Unsupported, "`--ir ptx` is not there yet");
            return Err(Box::new(d.help("write `--ir array`, `kernel`, `loop`, `llvm` or `asm`")));
        }
        _ => {}
    }
    let native = Native::compile(program, func, Options { given: Options::ALL, ..Options::default() })?;
    let functions: Vec<_> = native.functions().cloned().collect();
    if level == Ir::Loop {
        return Ok(functions.iter().map(|f| format!("{f}\n")).collect::<Vec<_>>().join("\n"));
    }
    let bug = |message: String| Box::new(Diagnostic::nowhere(Code::Internal, message));
    let compiler = Compiler::host().map_err(|e| bug(e.to_string()))?;
    let ir = emit::host(&functions, deckle_llvm::Gathers::measured());
    match level {
        Ir::Asm => compiler.assembly(&ir, Pipeline::O3),
        _ => compiler.optimised_ir(&ir, Pipeline::O3),
    }
    .map_err(|e| bug(e.to_string()))
}
