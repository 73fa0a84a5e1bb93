//! Simplified programs mean what they meant: random programs and all examples, run before and after.
//!
//! New programs on every run: see `deckle_gen::sweep`.

use deckle_analysis::bounds;
use deckle_diag::{Code, Diagnostic, FileId, SourceMap, Span};
use deckle_gen::sweep::Sweep;
use deckle_gen::{Case, Config, Show};
use deckle_interp::{Options, Outcome, run};
use deckle_ir::array::{Program, verify};
use deckle_ir::entity::{Func, Var};
use deckle_ir::scalar::Scalar;
use deckle_ir::value::Value;
use deckle_lower::simplify::simplify;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

type Run = Result<Outcome, Box<Diagnostic>>;

/// Equal, floats bit for bit but for the payload of NaN.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Scalar(Scalar::F64(x)), Value::Scalar(Scalar::F64(y))) => {
            x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
        }
        (Value::Scalar(Scalar::F32(x)), Value::Scalar(Scalar::F32(y))) => {
            x.to_bits() == y.to_bits() || x.is_nan() && y.is_nan()
        }
        (Value::Scalar(x), Value::Scalar(y)) => x == y,
        (Value::Tuple(x), Value::Tuple(y)) => x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| same(x, y)),
        (Value::Array(x), Value::Array(y)) | (Value::Seq(x), Value::Seq(y)) => {
            x.len() == y.len() && x.iter().zip(y.iter()).all(|(x, y)| same(x, y))
        }
        _ => false,
    }
}

fn options() -> Options {
    Options { check_sizes: true, max_steps: Some(100_000), max_elements: 40_000, ..Options::default() }
}

fn agree(before: &Run, after: &Run) -> bool {
    match (before, after) {
        (Ok(a), Ok(b)) => same(&a.value, &b.value),
        // A limit of the run is no part of the meaning.
        (Err(a), _) if a.code == Code::LimitExceeded => true,
        (_, Err(b)) if b.code == Code::LimitExceeded => true,
        (Err(a), Err(b)) => a.code == b.code,
        _ => false,
    }
}

fn shown(run: &Run) -> String {
    match run {
        Ok(o) => Show(&o.value).to_string(),
        Err(d) => format!("{}: {} {:?}", d.code, d.message, d.notes),
    }
}

/// Gives every statement a place of its own, so that an error tells which one it was.
fn placed(program: &Program) -> Program {
    let mut program = program.clone();
    for (k, f) in program.funcs.iter_mut().enumerate() {
        for (i, v) in f.vars.iter_mut().enumerate() {
            let at = ((k << 16) + i) as u32 + 1;
            v.span = Span { file: FileId(0), lo: at, hi: at + 1 };
        }
    }
    program
}

/// No access that is proven to be in range is out of range.
fn check_bounds(program: &Program, case: &Case) -> Result<(), String> {
    let program = placed(program);
    let run = run(&program, case.entry, &case.args, &options());
    let Err(error) = run else { return Ok(()) };
    let Some(place) = error.labels.first().filter(|_| error.code == Code::IndexRange) else { return Ok(()) };
    let (k, i) = ((place.span.lo - 1) as usize >> 16, (place.span.lo - 1) as usize & 0xffff);
    if bounds::proven(&program.funcs[k])[i] {
        return Err(format!("@{} v{i} is proven to be in range, but {}", program.funcs[k].name, error.message));
    }
    Ok(())
}

fn check(case: &Case) -> Result<(), String> {
    check_bounds(&case.program, case)?;
    let simple = simplify(&case.program);
    if let Err(errors) = verify(&simple) {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        return Err(format!("the simplified program does not verify: {}\n{simple}", errors.join("\n")));
    }
    let again = simplify(&simple);
    if again != simple {
        return Err(format!("simplifying twice is not once:\n{simple}\nand then\n{again}"));
    }
    check_bounds(&simple, case)?;
    let before = run(&case.program, case.entry, &case.args, &options());
    let after = run(&simple, case.entry, &case.args, &options());
    if !agree(&before, &after) {
        return Err(format!("{}\nbut simplified\n{}\n{simple}", shown(&before), shown(&after)));
    }
    Ok(())
}

fn statements(program: &Program) -> usize {
    program.funcs.iter().flat_map(|f| &f.bodies).map(|b| b.stmts.len()).sum()
}

/// Runs programs on all cores.
fn sweep(name: &str, config: &Config, cases: u64) {
    let totals = [const { AtomicU64::new(0) }; 5];
    let add = |k: usize, n: usize| totals[k].fetch_add(n as u64, Ordering::Relaxed);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let sweep = Sweep { test: ["deckle-lower", "simplify", name], config, cases, of: 4000, threads };
    sweep.run(&|case| {
        check(case)?;
        let simple = simplify(&case.program);
        add(0, statements(&case.program));
        add(1, statements(&simple));
        add(4, usize::from(simple == case.program));
        for f in &case.program.funcs {
            let (all, proven) = bounds::count(f);
            add(2, all);
            add(3, proven);
        }
        Ok(())
    });
    let [before, after, accesses, proven, unchanged] = totals.map(AtomicU64::into_inner);
    println!(
        "{name}: {before} statements, simplified {after}; {proven} of {accesses} accesses proven; {unchanged} unchanged"
    );
}

#[test]
fn flat_arrays() {
    sweep("flat_arrays", &Config::flat(), 1000);
}

#[test]
fn nested_arrays() {
    sweep("nested_arrays", &Config::nested(), 1200);
}

#[test]
fn sequences() {
    sweep("sequences", &Config::default(), 1000);
}

#[test]
fn careless_programs() {
    let config = Config { associative: false, retraverse: true, risk: 40, ..Config::default() };
    sweep("careless_programs", &config, 600);
}

#[test]
fn large_programs() {
    let config = Config { max_stmts: 24, body_stmts: 5, max_depth: 4, fuel: 90, risk: 4, ..Config::default() };
    sweep("large_programs", &config, 200);
}

#[test]
fn idioms() {
    sweep("idioms", &Config::default().with_idioms(), 800);
}

/// An example: its program, and the functions and arguments of its `// run:` lines that need no file.
fn example(path: &Path) -> (Program, Vec<(Func, Vec<Value>)>) {
    let folder = path.parent().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let mut load = |_: &str, written: &str| {
        let bytes = std::fs::read(folder.join(written)).map_err(|e| e.to_string())?;
        Ok((written.to_string(), bytes))
    };
    let mut sources = SourceMap::new();
    let name = path.display().to_string();
    let compiled = deckle_syntax::compile(&mut sources, &name, text.clone().into_bytes(), &mut load).unwrap();
    let mut calls = Vec::new();
    for line in text.lines().filter_map(|l| l.strip_prefix("// run:")).filter(|l| !l.contains('@')) {
        let mut words: Vec<String> = Vec::new();
        let mut open = false;
        for part in line.split(' ').filter(|w| !w.is_empty()) {
            match words.last_mut().filter(|_| open) {
                Some(word) => *word += &format!(" {part}"),
                None => words.push(part.to_string()),
            }
            open ^= part.matches('\'').count() % 2 == 1;
        }
        let entry = words.iter().position(|w| w == "--entry").and_then(|k| words.get(k + 1)).map_or("main", |w| w);
        let func = compiled.entries.iter().find(|e| e.name == entry).unwrap().func;
        let function = &compiled.program.funcs[func.index()];
        let argument = |(name, v): (&String, &Var)| {
            let word = words.iter().find_map(|w| w.strip_prefix(&format!("{name}="))).unwrap();
            deckle_io::text::parse(word.trim_matches('\''), function.ty(*v)).unwrap()
        };
        calls.push((func, function.param_names.iter().zip(function.params()).map(argument).collect()));
    }
    (compiled.program, calls)
}

#[test]
fn examples_mean_what_they_meant() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let files = std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path());
    let mut files: Vec<_> = files.filter(|p| p.extension().is_some_and(|e| e == "dk")).collect();
    files.sort();
    assert!(files.len() >= 10);
    for path in files {
        let (program, calls) = example(&path);
        let simple = simplify(&program);
        assert!(verify(&simple).is_ok(), "{}\n{simple}", path.display());
        assert_eq!(simplify(&simple), simple, "{}", path.display());
        let accesses = |p: &Program| p.funcs.iter().map(bounds::count).fold((0, 0), |s, c| (s.0 + c.0, s.1 + c.1));
        println!(
            "{}: {} statements, simplified {}; accesses and proven {:?}, simplified {:?}",
            path.file_stem().unwrap().display(),
            statements(&program),
            statements(&simple),
            accesses(&program),
            accesses(&simple)
        );
        for (func, args) in calls {
            let options = Options { check_sizes: true, ..Options::default() };
            let (before, after) = (run(&program, func, &args, &options), run(&simple, func, &args, &options));
            assert!(before.is_ok() && agree(&before, &after), "{}: {}", path.display(), shown(&after));
        }
    }
}
