//! What is known of functions before they run, in words.

use deckle_analysis::cost::predict;
use deckle_diag::SourceMap;
use deckle_io::text::signature;
use deckle_ir::array::Program;
use deckle_ir::entity::Func;
use deckle_lower::kernels;
use deckle_lower::simplify::simplify;

/// What is fused, kept, streamed, and why not: of each function in turn.
pub fn explain(program: &Program, sources: &SourceMap, funcs: &[Func]) -> String {
    let simple = simplify(program);
    let before = deckle_analysis::explain::explain(program, &simple, sources, funcs);
    let kernels = kernels::describe(&simple, funcs, sources);
    let one = |(func, (before, kernels)): (&Func, (&String, &String))| {
        let function = &program.funcs[func.index()];
        format!("{}\n{before}{kernels}", signature(&function.name, function))
    };
    let all: Vec<String> = funcs.iter().zip(before.iter().zip(&kernels)).map(one).collect();
    all.join("\n")
}

/// What a function costs by the cost model: formulas, and what their symbols stand for.
pub fn cost(program: &Program, func: Func) -> String {
    let prediction = &predict(program)[func.index()];
    let symbols = prediction.symbols_used().into_iter().map(|(_, s)| format!("\n  where {}", prediction.describe(s)));
    format!("{}{}", prediction.summary(), symbols.collect::<String>())
}
