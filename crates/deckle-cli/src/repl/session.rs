//! What a session knows: definitions, as text, and values, under the names that `let` gave them.
//!
//! Nothing is compiled ahead. To evaluate an expression, a unit is put together from the definitions that it needs, directly or
//! through others, and a function whose body is the expression and whose parameters are the values that it mentions. So
//! a new definition is seen by everything that uses its name, and a broken one only harms what uses it.

use super::item::{self, Item, Kind, Part, Source};
use super::scan::words;
use super::types::Known;
use super::unit::{Failure, Unit};
use deckle_diag::{Code, Diagnostic, FileId, SourceMap, Span};
use deckle_engine::source;
use deckle_interp::{Cost, Options};
use deckle_ir::array::Function;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_syntax::ast::{ExprKind, Module, PatId, PatKind};
use deckle_syntax::{Compiled, Entry};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The name of the last value.
pub const IT: &str = "it";

/// What goes right, or what is wrong.
pub type Answer<T> = Result<T, Box<Failure>>;

/// A value under a name.
#[derive(Clone, Debug)]
pub struct Kept {
    pub name: String,
    pub ty: Type,
    pub value: Value,
}

/// Definitions and values.
#[derive(Debug, Default)]
pub struct Session {
    pub items: Vec<Item>,
    pub values: Vec<Kept>,
    loaded: Vec<PathBuf>,
    /// Stops an evaluation; whoever sets it also clears it.
    pub interrupt: Arc<AtomicBool>,
}

/// An expression that is ready to run.
pub struct Prepared {
    pub compiled: Compiled,
    entry: usize,
    arguments: Vec<Value>,
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

/// What an evaluation gives.
pub struct Evaluated {
    pub ty: Type,
    pub value: Value,
    pub cost: Cost,
    pub compile_time: Duration,
    pub run_time: Duration,
}

/// What a definition did.
#[derive(Debug, Default)]
pub struct Defined {
    pub names: Vec<String>,
    /// Definitions that no longer compile.
    pub broken: Vec<String>,
}

impl Session {
    /// The value of a name.
    pub fn value(&self, name: &str) -> Option<&Kept> {
        self.values.iter().find(|v| v.name == name)
    }

    /// The definition of a name.
    pub fn item(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|i| i.defines(name))
    }

    /// Takes definitions in, if they are right. Those of the same names go.
    pub fn define(&mut self, source: &Rc<Source>) -> Answer<Defined> {
        let new = item::parse(source, None)?;
        self.accept(self.items.clone(), new)
    }

    /// Takes the definitions of a file in. Those that came from it before go, too.
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

    /// Says why a definition does not see a value.
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

    /// Compiles an expression that glue makes whole.
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
        let arguments = passed.iter().map(|v| v.value.clone()).collect();
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

    /// Runs what has been prepared.
    pub fn run(&self, p: Prepared) -> Answer<Evaluated> {
        let faults = deckle_passes::stream::check(&p.compiled.program, &p.sources, Some(p.entry().func));
        if !faults.is_empty() {
            return Err(p.unit.translate(faults, p.sources).into());
        }
        let options = Options { interrupt: Some(self.interrupt.clone()), ..Options::default() };
        let started = Instant::now();
        let outcome = deckle_interp::run(&p.compiled.program, p.entry().func, &p.arguments, &options);
        let run_time = started.elapsed();
        let ty = p.function().result_type().clone();
        match outcome {
            Ok(o) => Ok(Evaluated { ty, value: o.value, cost: o.cost, compile_time: p.compile_time, run_time }),
            Err(mut d) => {
                if self.interrupt.load(Ordering::Relaxed) && d.code == Code::LimitExceeded {
                    d.message = format!("interrupted after {:.1} seconds", run_time.as_secs_f64());
                    d.helps.clear();
                }
                Err(p.unit.translate(vec![*d], p.sources).into())
            }
        }
    }

    /// Evaluates an expression and keeps its value as `it`, if its type can be named.
    pub fn evaluate(&mut self, expr: &Part) -> Answer<Evaluated> {
        let evaluated = self.run(self.prepare(expr)?)?;
        let unit = matches!(&evaluated.ty, Type::Tuple(parts) if parts.is_empty());
        if !unit && Known::new(&self.items).write(&evaluated.ty).is_ok() {
            self.keep(IT, evaluated.ty.clone(), evaluated.value.clone());
        }
        Ok(evaluated)
    }

    /// Evaluates `let NAME = EXPR`, once, keeps the value, and gives the names.
    pub fn bind(&mut self, input: &Part) -> Answer<Vec<String>> {
        let (module, _) = read(input, "in ()")?;
        let names = bound(&module);
        let value = self.run(self.prepare_with(input, &format!("in ({})\n", names.join(", ")))?)?;
        let known = Known::new(&self.items);
        known.write(&value.ty).map_err(|record| {
            Failure::at(input, |span| {
                Diagnostic::new(Code::Unsupported, "this value cannot be kept", span, "a type without a name here")
                    .note(format!("it holds a record `{record}`, whose definition this session cannot name"))
                    .help("import the file that defines the type")
            })
        })?;
        match (&names[..], value.ty.parts(), &value.value) {
            ([], ..) => {}
            ([name], ..) => self.keep(name, value.ty.clone(), value.value.clone()),
            (_, Some(types), Value::Tuple(values)) => {
                for ((name, ty), value) in names.iter().zip(types).zip(values.iter()) {
                    self.keep(name, ty.clone(), value.clone());
                }
            }
            _ => {}
        }
        Ok(names)
    }

    fn keep(&mut self, name: &str, ty: Type, value: Value) {
        self.values.retain(|v| v.name != name);
        self.values.push(Kept { name: name.to_string(), ty, value });
    }
}

/// Parses an expression that glue makes whole, so that nothing wrong is said about anything else.
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

/// The definitions that these names lead to, in order.
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
