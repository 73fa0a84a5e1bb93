//! Shows what becomes of a script: its kernels and its loops. `show FILE [ENTRY] [--apart]`
use deckle_diag::SourceMap;
use deckle_passes::{flatten, schedule, simplify::simplify};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let text = std::fs::read(&args[0]).expect("a file");
    let mut sources = SourceMap::new();
    let mut load = |_: &str, written: &str| std::fs::read(written).map(|b| (written.to_string(), b)).map_err(|e| e.to_string());
    let compiled = deckle_syntax::compile(&mut sources, &args[0], text, &mut load).expect("a program");
    let entry = args.get(1).map_or("main", |e| e);
    let func = compiled.entries.iter().find(|e| e.name == entry).expect("an entry").func;
    let fuse = !args.iter().any(|a| a == "--apart");
    let program = simplify(&compiled.program);
    let flat = flatten::flatten(&program, func, flatten::Options { fuse }).expect("kernels");
    println!("{flat}");
    let mut all = Vec::new();
    fn each(flat: &deckle_ir::kernel::Program, steps: &[deckle_ir::kernel::Step], all: &mut Vec<deckle_ir::loops::Function>) {
        use deckle_ir::kernel::Step;
        for s in steps {
            match s {
                Step::Run(k) => match schedule::schedule(flat, k, &format!("k{}", all.len()), false) {
                    Ok(ls) => ls.iter().for_each(|l| all.extend(l.functions().cloned())),
                    Err(e) => println!("error: {e}"),
                },
                Step::If(_, a, b) => { each(flat, a, all); each(flat, b, all); }
                Step::While { test, body, .. } => { each(flat, test, all); each(flat, body, all); }
                _ => {}
            }
        }
    }
    each(&flat, &flat.steps, &mut all);
    for f in &all { println!("{f}"); }
    if args.iter().any(|a| a == "--llvm") { println!("{}", deckle_llvm::emit::host(&all)); }
    if args.iter().any(|a| a == "--asm") {
        let c = deckle_llvm::Compiler::host().expect("LLVM");
        println!("{}", c.assembly(&deckle_llvm::emit::host(&all), deckle_llvm::Pipeline::O3).expect("assembly"));
    }
}
