//! A test file as a program: compiled once, checked once, and used by each of its commands.

use crate::backend::{self, BACKENDS, Prepared, Run};
use crate::command::{Call, Command};
use deckle_analysis::cost::predict;
use deckle_analysis::explain::explain;
use deckle_analysis::stream;
use deckle_diag::{Diagnostic, SourceMap, Span, render_all};
use deckle_engine::{Layout, Options, bind, entry, pipeline, source};
use deckle_interp::Outcome;
use deckle_io::{text, tree};
use deckle_ir::array::{Function, verify};
use deckle_ir::entity::Func;
use deckle_ir::loops::{Gathers, Stores};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_lower::simplify::simplify;
use deckle_runtime::Pool;
use deckle_syntax::Compiled;
use std::path::Path;

/// A compiled file, or all errors in it.
pub struct Program {
    sources: SourceMap,
    compiled: Result<Compiled, Vec<Diagnostic>>,
    prepared: Prepared,
}

/// The output of a command, or why the file is not a valid test.
type Answer = Result<String, String>;

impl Program {
    /// Compiles a file and its imports. Messages name files relative to its folder, so that they are the same everywhere.
    pub fn compile(path: &Path, text: &str) -> Program {
        let folder = path.parent().unwrap_or(Path::new(""));
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let mut load = |from: &str, written: &str| {
            let shown = source::resolve(Path::new(from), Path::new(written));
            let bytes = std::fs::read(folder.join(&shown)).map_err(|e| deckle_io::Error::io(&e).message)?;
            Ok((shown.display().to_string().replace('\\', "/"), bytes))
        };
        let mut sources = SourceMap::new();
        let compiled = deckle_syntax::compile(&mut sources, &name, text.as_bytes().to_vec(), &mut load);
        Program { sources, compiled, prepared: Prepared::default() }
    }

    /// The program, if it could be compiled.
    pub fn compiled(&self) -> Option<&Compiled> {
        self.compiled.as_ref().ok()
    }

    /// The function and the arguments of a call, if the program compiles and can be streamed and the arguments fit.
    pub fn bound(&self, call: &Call) -> Option<(Func, Vec<Value>)> {
        let compiled = self.compiled()?;
        let func = choose(compiled, call.entry.as_deref()).ok()?;
        if !stream::check(&compiled.program, &self.sources, Some(func)).is_empty() {
            return None;
        }
        Some((func, bind(&compiled.program.funcs[func.index()], &call.arguments).ok()?))
    }

    /// The properties of every program: it verifies, and its text is read back.
    pub fn check(&self) -> Result<(), String> {
        let Ok(compiled) = &self.compiled else { return Ok(()) };
        if let Err(errors) = verify(&compiled.program) {
            let errors: Vec<String> = errors.iter().map(|e| e.to_string()).collect();
            return Err(format!("the program does not verify:\n{}\n{}", errors.join("\n"), compiled.program));
        }
        let text = compiled.program.to_string();
        match deckle_ir::array::parse(&text) {
            Ok(read) if read == compiled.program => Ok(()),
            Ok(read) => Err(format!("the IR is read back as another one:\n{text}\nis read as\n{read}")),
            Err(e) => Err(format!("the text of the IR cannot be read back: {e}\n{text}")),
        }
    }

    /// Executes a command.
    pub fn answer(&self, command: &Command) -> Answer {
        let compiled = match &self.compiled {
            Ok(compiled) => compiled,
            Err(errors) => return Ok(self.render(errors)),
        };
        match command {
            Command::Run { call, full } => {
                let func = choose(compiled, call.entry.as_deref())?;
                let faults = stream::check(&compiled.program, &self.sources, Some(func));
                if !faults.is_empty() {
                    return Ok(self.render(&faults));
                }
                let (func, outcome) = execute(compiled, call, &self.prepared)?;
                let ty = compiled.program.funcs[func.index()].result_type();
                Ok(outcome.map_or_else(|d| self.render(&[*d]), |o| show(ty, &o.value, *full)))
            }
            Command::Cost(call) => {
                let (_, outcome) = execute(compiled, call, &self.prepared)?;
                Ok(outcome.map_or_else(|d| self.render(&[*d]), |o| cost(&o)))
            }
            Command::Check => match stream::check(&compiled.program, &self.sources, None) {
                faults if faults.is_empty() => Ok(signatures(compiled)),
                faults => Ok(self.render(&faults)),
            },
            Command::Explain(name) => {
                let funcs = self.chosen(compiled, name.as_deref())?;
                let told = explain(&compiled.program, &simplify(&compiled.program), &self.sources, &funcs);
                let one = |(func, told): (&Func, String)| {
                    let function = &compiled.program.funcs[func.index()];
                    format!("{}\n{told}", text::signature(&function.name, function))
                };
                Ok(funcs.iter().zip(told).map(one).collect::<Vec<_>>().join("\n"))
            }
            Command::Schedule { name, kernel, gpu } => {
                self.schedules(compiled, name.as_deref(), kernel.as_deref(), *gpu)
            }
            Command::Kernels(name) => {
                let one = |func: Func| match pipeline::counts(&compiled.program, func, lowering()) {
                    Ok(counts) if name.is_some() => counts.to_string(),
                    Ok(counts) => format!("{}: {counts}", compiled.program.funcs[func.index()].name),
                    Err(d) => self.render(&[*d]),
                };
                Ok(self.chosen(compiled, name.as_deref())?.into_iter().map(one).collect::<Vec<_>>().join("\n"))
            }
            Command::Kept => self.kept(compiled),
            Command::Predict(name) => {
                let predictions = predict(&compiled.program);
                let one = |func: Func| {
                    let p = &predictions[func.index()];
                    let known = p.symbols_used().into_iter().filter(|(_, s)| s.bound.is_some());
                    let known: Vec<String> = known.map(|(_, s)| format!("\n  {}", p.describe(s))).collect();
                    format!("{}: {}{}", compiled.program.funcs[func.index()].name, p.summary(), known.concat())
                };
                Ok(self.chosen(compiled, name.as_deref())?.into_iter().map(one).collect::<Vec<_>>().join("\n"))
            }
            Command::Ir(name) => printed(&compiled.program, name.as_deref()),
            Command::Simple(name) => printed(&simplify(&compiled.program), name.as_deref()),
        }
    }

    /// The function with a given name, or all.
    fn chosen(&self, compiled: &Compiled, name: Option<&str>) -> Result<Vec<Func>, String> {
        match name {
            Some(name) => compiled.program.find(name).map(|f| vec![f]).ok_or_else(|| format!("there is no `{name}`")),
            None => Ok((0..compiled.program.funcs.len() as u32).map(Func).collect()),
        }
    }

    /// The schedules of the function with a given name, or of all; of one kernel, the functions that it is lowered to.
    fn schedules(&self, compiled: &Compiled, name: Option<&str>, kernel: Option<&str>, gpu: bool) -> Answer {
        let (mut texts, program) = (Vec::new(), &compiled.program);
        for func in self.chosen(compiled, name)? {
            let scheduled = match gpu {
                true => pipeline::scheduled_on_grid(program, func, lowering(), Layout::default(), None),
                false => pipeline::scheduled(program, func, lowering(), None),
            };
            let mut schedule = match scheduled {
                Ok(schedule) => schedule,
                Err(d) => return Ok(self.render(&[*d])),
            };
            if let Some(kernel) = kernel {
                let is_of = |name: &str| name.strip_prefix(kernel).is_some_and(|n| n.is_empty() || n.starts_with('_'));
                schedule.functions.retain(|f| is_of(&f.name));
                if schedule.functions.is_empty() {
                    return Err(format!("there is no kernel `{kernel}`"));
                }
            }
            texts.push(schedule.to_string());
        }
        Ok(texts.join("\n"))
    }

    /// The materialised sequences, with the reasons. The program must run with them as it does without.
    fn kept(&self, compiled: &Compiled) -> Answer {
        let (program, kept) = stream::materialize(&compiled.program).ok_or("no `tab` helps")?;
        verify(&program).map_err(|e| format!("what is made does not verify: {e:?}"))?;
        let place = |span: Span| match self.sources.get(span.file) {
            Some(file) => {
                let (line, column) = file.line_col(span.lo);
                let text = file.text.get(span.lo as usize..span.hi as usize).unwrap_or("");
                format!("{line}:{column} `{text}`")
            }
            None => "somewhere".into(),
        };
        let lines: Vec<String> = kept.iter().map(|k| format!("{} for {}", place(k.span), place(k.at))).collect();
        Ok(if lines.is_empty() { "nothing".into() } else { lines.join("\n") })
    }

    fn render(&self, errors: &[Diagnostic]) -> String {
        render_all(errors, &self.sources, false)
    }
}

/// The lowering options of the commands that show schedules and count kernels: the same on every machine.
fn lowering() -> Options {
    Options { gathers: Some(Gathers::Native), stores: Some(Stores::InLines), given: Options::ALL, ..Options::default() }
}

/// The text of a program, or of one function of it.
fn printed(program: &deckle_ir::array::Program, name: Option<&str>) -> Answer {
    let text = program.to_string();
    let Some(name) = name else { return Ok(text) };
    // A function alone does not know the names of those that it calls.
    let mut functions = text.split("\n\n").filter(|f| f.starts_with(&format!("fn {name} ")));
    functions.next().map(str::to_string).ok_or_else(|| format!("there is no function `{name}` in\n{text}"))
}

fn signatures(compiled: &Compiled) -> String {
    let function = |func: Func| &compiled.program.funcs[func.index()];
    let lines = compiled.entries.iter().map(|e| text::signature(&e.name, function(e.func)));
    let lines: Vec<String> = lines.collect();
    if lines.is_empty() { "ok, but no function can be run".to_string() } else { lines.join("\n") }
}

fn cost(outcome: &Outcome) -> String {
    let c = outcome.cost;
    format!("work {}, depth {}, space {} / {}", c.work, c.depth, c.space.seq, c.space.par)
}

/// Runs a function on the reference and on every backend, which must agree.
fn execute(compiled: &Compiled, call: &Call, prepared: &Prepared) -> Result<(Func, Run<Outcome>), String> {
    let func = choose(compiled, call.entry.as_deref())?;
    let function = &compiled.program.funcs[func.index()];
    let args = bind(function, &call.arguments)?;
    let outcome = backend::reference(&compiled.program, func, &args);
    let value = outcome.clone().map(|o| o.value);
    let simplified = match &value {
        Ok(_) => value.clone(),
        Err(_) => backend::reference(&simplify(&compiled.program), func, &args).map(|o| o.value),
    };
    for b in BACKENDS {
        let other = prepared.run(*b, &compiled.program, func, &args);
        if !backend::agree(&value, &other, b.is_exact().then_some(&simplified)) {
            let shown = |run: &Run<Value>| match run {
                Ok(value) => show(function.result_type(), value, false),
                Err(d) => format!("{}: {}\n{}\n{}", d.code, d.message, d.notes.join("\n"), d.helps.join("\n")),
            };
            return Err(format!("{} gives\n{}\nbut the interpreter\n{}", b.name(), shown(&other), shown(&value)));
        }
    }
    Ok((func, outcome))
}

fn choose(compiled: &Compiled, name: Option<&str>) -> Result<Func, String> {
    entry::choose(compiled, name).map(|e| e.func).map_err(|d| said(&[d]))
}

fn bind(function: &Function, given: &[(String, String)]) -> Result<Vec<Value>, String> {
    let given: Vec<String> = given.iter().map(|(name, text)| format!("{name}={text}")).collect();
    bind::values(&function.name, function, &given, &mut SourceMap::new()).map_err(|ds| said(&ds))
}

fn said(diagnostics: &[Diagnostic]) -> String {
    render_all(diagnostics, &SourceMap::new(), false)
}

/// A value in readable form.
fn show(ty: &Type, value: &Value, full: bool) -> String {
    match tree::flat(ty, [value], &Pool::new(None), "a value") {
        Ok(data) => text::show(ty, &data, full),
        Err(e) => e.to_string(),
    }
}
