//! The state of a session: definitions, as text, and values, under the names that `let` gave them.
//!
//! Expressions run as native code, like programs; values stay in flat memory. Nothing is compiled ahead. To evaluate an expression, a unit is composed of the definitions that it needs, directly or
//! through others, and a function whose body is the expression and whose parameters are the values that it mentions. So
//! a new definition is used by everything that refers to its name, and a broken one affects only its users.

use super::item::{self, Item, Kind, Part, Source};
use super::scan::words;
use super::types::Known;
use super::unit::{Failure, Unit};
use deckle_diag::{Code, Diagnostic, FileId, SourceMap, Span};
use deckle_engine::source;
use deckle_engine::{Callable, Data, Input, Interp, On, Ran, RanOn, Settings, bind};
use deckle_interp::Cost;
use deckle_io::text::show;
use deckle_ir::array::Function;
use deckle_ir::fault::Fault;
use deckle_ir::types::Type;
use deckle_runtime::{Form, Team, cpu};
use deckle_syntax::ast::{ExprKind, Module, PatId, PatKind};
use deckle_syntax::{Compiled, Entry};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

/// The stack of an evaluation: programs nest deeply.
const STACK: usize = 64 << 20;
/// The interval at which an evaluation tests for an interrupt, and how long the session then waits for it.
const LOOK: Duration = Duration::from_millis(10);
const GRACE: Duration = Duration::from_millis(500);

/// The name of the last value.
pub const IT: &str = "it";

/// A result, or diagnostics.
pub type Answer<T> = Result<T, Box<Failure>>;

/// A named value.
#[derive(Clone, Debug)]
pub struct Kept {
    pub name: String,
    pub ty: Type,
    pub data: Data,
}

/// Definitions and values.
#[derive(Debug, Default)]
pub struct Session {
    pub items: Vec<Item>,
    pub values: Vec<Kept>,
    loaded: Vec<PathBuf>,
    /// Stops an evaluation; the code that sets it also clears it.
    pub interrupt: Arc<AtomicBool>,
    /// The threads and the memory, after the first run.
    settings: RefCell<Option<Arc<Settings>>>,
}

/// An expression that is ready to run.
pub struct Prepared {
    pub compiled: Compiled,
    entry: usize,
    arguments: Vec<Data>,
    unit: Unit,
    sources: SourceMap,
    pub compile_time: Duration,
}

impl Prepared {
    pub fn entry(&self) -> &Entry {
        &self.compiled.entries[self.entry]
    }

    pub fn function(&self) -> &Function {
        &self.compiled.program.funcs[self.entry().func.index()]
    }
}

/// The result of an evaluation.
pub struct Evaluated {
    pub ty: Type,
    pub data: Data,
    /// If it was metered.
    pub cost: Option<Cost>,
    pub compile_time: Duration,
    pub run_time: Duration,
}

impl Evaluated {
    /// As displayed.
    pub fn show(&self, full: bool) -> String {
        show(&self.ty, &self.data, full)
    }
}

/// The effect of a definition.
#[derive(Debug, Default)]
pub struct Defined {
    pub names: Vec<String>,
    /// Definitions that no longer compile.
    pub broken: Vec<String>,
}

impl Session {
    /// The value with a given name.
    pub fn value(&self, name: &str) -> Option<&Kept> {
        self.values.iter().find(|v| v.name == name)
    }

    /// The definition of a given name.
    pub fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|i| i.defines(name))
    }

    /// Adds definitions, if they are correct. They replace those of the same names.
    pub fn define(&mut self, source: &Rc<Source>) -> Answer<Defined> {
        let new = item::parse(source, None)?;
        self.accept(self.items.clone(), new)
    }

    /// Adds the definitions of a file. They also replace those that came from it before.
    pub fn load(&mut self, path: &Path) -> Answer<Defined> {
        let bytes = source::read(path).map_err(Failure::nowhere)?;
        let name = path.display().to_string();
        let text = deckle_syntax::decode(bytes).map_err(|e| {
            let at = e.offset as u32;
            let span = Span::new(FileId(0), at, at);
            let d = Diagnostic::new(Code::BadCharacter, "this is not UTF-8 text", span, "not text");
            Failure::in_source(&Source { name: name.clone(), text: e.lossy }, vec![d])
        })?;
        let new = item::parse(&Rc::new(Source { name, text }), Some(path))?;
        let old = self.items.iter().filter(|i| i.file.as_deref() != Some(path)).cloned().collect();
        let defined = self.accept(old, new)?;
        if !self.loaded.iter().any(|p| p == path) {
            self.loaded.push(path.to_path_buf());
        }
        Ok(defined)
    }

    /// The files that were loaded, in order.
    pub fn loaded(&self) -> &[PathBuf] {
        &self.loaded
    }

    fn accept(&mut self, old: Vec<Item>, new: Vec<Item>) -> Answer<Defined> {
        let names: Vec<String> = new.iter().flat_map(|i| i.names()).map(str::to_string).collect();
        let mut items = old;
        for name in &names {
            items = items.into_iter().filter_map(|i| i.without(name)).collect();
        }
        items.extend(new);
        let mut unit = Unit::default();
        needed(&items, names.clone()).for_each(|i| i.write(&mut unit));
        compile(&unit).map_err(|(ds, sources)| unit.translate(self.explain(ds, &sources), sources))?;
        let broken = broken(&items);
        self.items = items;
        self.values.retain(|v| !names.contains(&v.name));
        Ok(Defined { names, broken })
    }

    /// Explains why a definition cannot use a value.
    fn explain(&self, diagnostics: Vec<Diagnostic>, sources: &SourceMap) -> Vec<Diagnostic> {
        let explain = |d: Diagnostic| {
            let span = d.labels.first().filter(|_| d.code == Code::UnknownName)?.span;
            let name = sources.get(span.file)?.text.get(span.lo as usize..span.hi as usize)?;
            self.value(name)?;
            let note = format!("`{name}` is a value of this session, which expressions see and definitions do not");
            let help = format!("make it a parameter, or a function: `def {name}() = ...`");
            Some(d.clone().note(note).help(help))
        };
        diagnostics.into_iter().map(|d| explain(d.clone()).unwrap_or(d)).collect()
    }

    /// Compiles an expression.
    pub fn prepare(&self, expr: &Part) -> Answer<Prepared> {
        read(expr, "")?;
        self.prepare_with(expr, "")
    }

    /// Compiles an expression that glue completes.
    fn prepare_with(&self, expr: &Part, glue: &str) -> Answer<Prepared> {
        let started = Instant::now();
        let known = Known::new(&self.items);
        let mut roots: Vec<String> = words(expr.text()).map(str::to_string).collect();
        let (mut params, mut passed) = (Vec::new(), Vec::new());
        for kept in self.values.iter().filter(|v| roots.contains(&v.name)).collect::<Vec<_>>() {
            let ty = known.write(&kept.ty).map_err(|record| unnameable(expr, &kept.name, &record))?;
            roots.extend(words(&ty).map(str::to_string));
            params.push(format!("{}: {ty}", kept.name));
            passed.push(kept);
        }
        let mut unit = Unit::default();
        needed(&self.items, roots).for_each(|i| i.write(&mut unit));
        let mut name = IT.to_string();
        while self.items.iter().any(|i| i.defines(&name)) {
            name.push('\'');
        }
        unit.glue(&format!("def {name}({}) =\n", params.join(", ")));
        unit.copy(expr);
        unit.glue(&format!("\n{glue}"));
        let (compiled, sources) = compile(&unit).map_err(|(ds, sources)| unit.translate(ds, sources))?;
        let Some(entry) = compiled.entries.iter().position(|e| e.name == name) else {
            return Err(Failure::at(expr, |span| {
                Diagnostic::new(Code::Ambiguous, "the type of this is not known", span, "of which type?")
            })
            .into());
        };
        let arguments = passed.iter().map(|v| v.data.clone()).collect();
        let prepared = Prepared { compiled, entry, arguments, unit, sources, compile_time: started.elapsed() };
        let function = prepared.function();
        let changed = passed.iter().zip(function.params()).find(|(v, p)| !function.ty(**p).same_kind(&v.ty));
        match changed {
            Some((kept, _)) => Err(unnameable(expr, &kept.name, &deckle_io::text::type_name(&kept.ty)).into()),
            None => Ok(prepared),
        }
    }

    /// Compiles a definition with everything that it uses.
    pub fn prepare_item(&self, name: &str) -> Answer<Compiled> {
        let mut unit = Unit::default();
        needed(&self.items, vec![name.to_string()]).for_each(|i| i.write(&mut unit));
        match compile(&unit) {
            Ok((compiled, _)) => Ok(compiled),
            Err((ds, sources)) => Err(unit.translate(ds, sources).into()),
        }
    }

    fn settings(&self) -> Arc<Settings> {
        let new = || {
            let team = Team::with_interrupt(cpu::usable_cores(), self.interrupt.clone());
            Arc::new(Settings::with(team, deckle_engine::pool(None)))
        };
        self.settings.borrow_mut().get_or_insert_with(new).clone()
    }

    /// Calls a function. If it is interrupted in a loop that does not test for that, it is abandoned with its threads, and ends with the session.
    fn call(&self, callable: Callable, on: On, inputs: Vec<Input>) -> Result<Ran, Box<Diagnostic>> {
        let (settings, (to, answer)) = (self.settings(), std::sync::mpsc::channel());
        let run = move || to.send(callable.call(&on, inputs, None, &settings)).unwrap_or(());
        let bug = |message: &str| Box::new(Diagnostic::nowhere(Code::Internal, message));
        let thread = std::thread::Builder::new().name("deckle-repl".into()).stack_size(STACK).spawn(run);
        let thread = thread.map_err(|e| bug(&format!("there is no thread for the expression: {e}")))?;
        let mut left = GRACE;
        loop {
            match answer.recv_timeout(LOOK) {
                Ok(ran) => return ran,
                Err(RecvTimeoutError::Timeout) if !self.interrupt.load(Ordering::Relaxed) => {}
                Err(RecvTimeoutError::Timeout) if !left.is_zero() => left = left.saturating_sub(LOOK),
                Err(RecvTimeoutError::Timeout) => {
                    *self.settings.borrow_mut() = None;
                    return Err(Box::new(Fault::Interrupted.report(Span::NONE, &[])));
                }
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => return Err(bug("an expression without an answer")),
                },
            }
        }
    }

    /// Runs a prepared expression.
    pub fn run(&self, p: Prepared, on: On) -> Answer<Evaluated> {
        let faults = deckle_analysis::stream::check(&p.compiled.program, &p.sources, Some(p.entry().func));
        if !faults.is_empty() {
            return Err(p.unit.translate(faults, p.sources).into());
        }
        let ty = p.function().result_type().clone();
        let inputs = p.arguments.iter().cloned().map(Input::Lent).collect();
        let callable = Callable::new(p.compiled.program.clone(), p.entry().func);
        let started = Instant::now();
        match self.call(callable, on, inputs) {
            Ok(Ran { result: Some(data), report }) => {
                let cost = if let RanOn::Interp { cost, .. } = report.on { cost } else { None };
                let compiling = Duration::from_secs_f64(report.compile_seconds);
                let run_time = started.elapsed().saturating_sub(compiling);
                Ok(Evaluated { ty, data, cost, compile_time: p.compile_time + compiling, run_time })
            }
            Ok(_) => Err(Failure::nowhere(Diagnostic::nowhere(Code::Internal, "nobody took the result")).into()),
            Err(mut d) => {
                if self.interrupt.load(Ordering::Relaxed) && d.code == Code::LimitExceeded {
                    d.message = format!("interrupted after {:.1} seconds", started.elapsed().as_secs_f64());
                    d.helps.clear();
                }
                Err(p.unit.translate(vec![*d], p.sources).into())
            }
        }
    }

    /// Evaluates an expression and stores its value as `it`, if its type can be named.
    pub fn evaluate(&mut self, expr: &Part) -> Answer<Evaluated> {
        self.evaluate_on(expr, On::Best)
    }

    /// The same in the interpreter, which meters the cost.
    pub fn meter(&mut self, expr: &Part) -> Answer<Evaluated> {
        self.evaluate_on(expr, On::Interp(Interp { metered: true, ..Interp::default() }))
    }

    fn evaluate_on(&mut self, expr: &Part, on: On) -> Answer<Evaluated> {
        let evaluated = self.run(self.prepare(expr)?, on)?;
        let unit = matches!(&evaluated.ty, Type::Tuple(parts) if parts.is_empty());
        if !unit && Known::new(&self.items).write(&evaluated.ty).is_ok() {
            self.keep(IT, evaluated.ty.clone(), evaluated.data.clone());
        }
        Ok(evaluated)
    }

    /// Reads `NAME: TYPE = FILE`, stores the value, and returns the name.
    pub fn read(&mut self, input: &Part) -> Answer<String> {
        let text = input.text();
        let usage = || {
            Failure::at(input, |span| {
                Diagnostic::new(Code::Unexpected, "a name, a type and a file are needed", span, "")
                    .help("write `:read xs: [real] = data.npy`")
            })
        };
        let (name, rest) = text.split_once(':').ok_or_else(usage)?;
        let (ty, path) = rest.rsplit_once('=').ok_or_else(usage)?;
        let (name, path) = (name.trim().to_string(), path.trim().trim_matches('"').trim_start_matches('@'));
        if words(&name).next() != Some(&name) || ty.trim().is_empty() || path.is_empty() {
            return Err(usage().into());
        }
        // The identity function: its parameter is the content of the file.
        let begins = input.range.start + text.len() - rest.len();
        let part = Part { source: input.source.clone(), range: begins..begins + ty.len() };
        let mut unit = Unit::default();
        needed(&self.items, words(ty).map(str::to_string).collect()).for_each(|i| i.write(&mut unit));
        unit.glue(&format!("def {IT}({name}: "));
        unit.copy(&part);
        unit.glue(&format!(") = {name}\n"));
        let (compiled, mut sources) = compile(&unit).map_err(|(ds, sources)| unit.translate(ds, sources))?;
        let entry = compiled.entries.iter().find(|e| e.name == IT).ok_or_else(usage)?.func;
        let function = &compiled.program.funcs[entry.index()];
        let ty = function.ty(function.params()[0]).clone();
        let given = [format!("{name}=@{path}")];
        let inputs = bind::inputs(&name, function, &given, &self.settings().pool, &mut sources);
        let data = inputs.and_then(|inputs| {
            let callable = Callable::new(compiled.program.clone(), entry);
            let ran = self.call(callable, On::Best, inputs).map_err(|d| vec![*d])?;
            ran.result.ok_or_else(Vec::new)
        });
        let data = data.map_err(|ds| unit.translate(ds, sources))?;
        self.keep(&name, ty, data);
        Ok(name)
    }

    /// Evaluates `let NAME = EXPR`, once, stores the value, and returns the names.
    pub fn bind(&mut self, input: &Part) -> Answer<Vec<String>> {
        let (module, _) = read(input, "in ()")?;
        let names = bound(&module);
        let value = self.run(self.prepare_with(input, &format!("in ({})\n", names.join(", ")))?, On::Best)?;
        let known = Known::new(&self.items);
        known.write(&value.ty).map_err(|record| {
            Failure::at(input, |span| {
                Diagnostic::new(Code::Unsupported, "this value cannot be kept", span, "a type without a name here")
                    .note(format!("it holds a record `{record}`, whose definition this session cannot name"))
                    .help("import the file that defines the type")
            })
        })?;
        match (&names[..], value.ty.parts(), value.data.form()) {
            ([], ..) => {}
            ([name], ..) => self.keep(name, value.ty.clone(), value.data.clone()),
            (_, Some(types), Form::Tuple(parts)) => {
                for ((name, ty), part) in names.iter().zip(types).zip(parts) {
                    self.keep(name, ty.clone(), part.clone());
                }
            }
            _ => {}
        }
        Ok(names)
    }

    fn keep(&mut self, name: &str, ty: Type, data: Data) {
        self.values.retain(|v| v.name != name);
        self.values.push(Kept { name: name.to_string(), ty, data });
    }
}

/// Parses an expression that glue completes, so that errors are about the expression only.
fn read(expr: &Part, glue: &str) -> Result<(Module, Unit), Failure> {
    let mut unit = Unit::default();
    unit.glue("def it() =\n");
    unit.copy(expr);
    unit.glue(&format!("\n{glue}"));
    let mut sources = SourceMap::new();
    let file = sources.add(Unit::NAME, &unit.text);
    let (module, mut diagnostics) = deckle_syntax::parse(file, &unit.text);
    if diagnostics.is_empty() {
        let spans = module.defs.iter().skip(1).map(|d| d.span);
        let others = module.type_defs.iter().map(|d| d.span).chain(module.imports.iter().map(|i| i.span));
        diagnostics.extend(spans.chain(others).next().map(|span| {
            Diagnostic::new(Code::Unexpected, "a definition cannot follow an expression", span, "defined here")
                .help("give them one after another")
        }));
    }
    if diagnostics.is_empty() { Ok((module, unit)) } else { Err(unit.translate(diagnostics, sources)) }
}

/// The names that the `let`s of a binding bind, the last of each.
fn bound(module: &Module) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut expr = module.defs.first().map(|d| d.body);
    while let Some(ExprKind::Let { pat, body, .. }) = expr.map(|e| &module[e].kind) {
        pattern(module, *pat, &mut names);
        expr = Some(*body);
    }
    names
}

fn pattern(module: &Module, pat: PatId, names: &mut Vec<String>) {
    match &module[pat].kind {
        PatKind::Name(name) if !names.iter().any(|n| **n == *name.text) => names.push(name.text.to_string()),
        PatKind::Tuple(parts) => parts.iter().for_each(|p| pattern(module, *p, names)),
        _ => {}
    }
}

fn unnameable(expr: &Part, name: &str, record: &str) -> Failure {
    Failure::at(expr, |span| {
        let message = format!("`{name}` cannot be used any more");
        Diagnostic::new(Code::UnknownType, message, span, "used here")
            .note(format!("its type `{record}` has been defined anew or is gone"))
            .help(format!("compute it again: `let {name} = ...`"))
    })
}

/// The definitions that these names depend on, in order.
fn needed(items: &[Item], mut roots: Vec<String>) -> impl Iterator<Item = &Item> {
    let mut wanted = vec![false; items.len()];
    while let Some(name) = roots.pop() {
        for (item, wanted) in items.iter().zip(&mut wanted) {
            if !*wanted && item.defines(&name) {
                *wanted = true;
                roots.extend(words(item.part.text()).map(str::to_string));
            }
        }
    }
    items.iter().zip(wanted).filter(|(_, wanted)| *wanted).map(|(item, _)| item)
}

/// The definitions that do not compile.
fn broken(items: &[Item]) -> Vec<String> {
    let mut unit = Unit::default();
    items.iter().for_each(|i| i.write(&mut unit));
    let Err((diagnostics, sources)) = compile(&unit) else { return Vec::new() };
    let mut names: Vec<String> = Vec::new();
    for part in diagnostics.iter().filter_map(|d| unit.part_of(d, &sources)) {
        let same = |i: &&Item| Rc::ptr_eq(&i.part.source, &part.source) && i.part.range == part.range;
        let item = items.iter().find(same).filter(|i| !matches!(i.kind, Kind::Import { .. }));
        names.extend(item.and_then(|i| i.names().first().map(|n| n.to_string())));
    }
    names.sort();
    names.dedup();
    names
}

fn compile(unit: &Unit) -> Result<(Compiled, SourceMap), (Vec<Diagnostic>, SourceMap)> {
    let mut sources = SourceMap::new();
    let bytes = unit.text.clone().into_bytes();
    let mut load = |from: &str, written: &str| source::import(from, written);
    match deckle_syntax::compile(&mut sources, Unit::NAME, bytes, &mut load) {
        Ok(compiled) => Ok((compiled, sources)),
        Err(diagnostics) => Err((diagnostics, sources)),
    }
}

#[cfg(test)]
mod tests;
