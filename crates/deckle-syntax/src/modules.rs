//! Files and imports: from the root file to all modules of a program, imported ones first.

use crate::ast;
use crate::infer::env::{DefId, Module, TypeDefId, unknown};
use crate::{decode, parse};
use deckle_diag::{Code, Diagnostic, FileId, SourceMap, Span};
use std::collections::HashMap;
use std::rc::Rc;

/// Gives the shown name and the bytes of an imported file, from the name of the importing file and the path
/// as written.
pub type Loader<'a> = dyn FnMut(&str, &str) -> Result<(String, Vec<u8>), String> + 'a;

/// How many files a program may have.
const MAX_FILES: usize = 1000;

pub(crate) struct Load<'a, 'b> {
    sources: &'a mut SourceMap,
    loader: &'a mut Loader<'b>,
    by_name: HashMap<String, usize>,
    loading: Vec<String>,
    pub modules: Vec<Module>,
    pub diags: Vec<Diagnostic>,
}

impl<'a, 'b> Load<'a, 'b> {
    pub fn new(sources: &'a mut SourceMap, loader: &'a mut Loader<'b>) -> Self {
        Load { sources, loader, by_name: HashMap::new(), loading: Vec::new(), modules: Vec::new(), diags: Vec::new() }
    }

    /// Reads a file and everything it imports. Its number is that of its module, after those of its imports.
    pub fn file(&mut self, name: &str, bytes: Vec<u8>) -> usize {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let ast = self.parse(name, bytes);
            self.loading.push(name.to_string());
            let mut module = Module { ast, modules: HashMap::new(), funcs: HashMap::new(), types: HashMap::new() };
            for import in module.ast.imports.clone() {
                if let Some(target) = self.import(name, &import) {
                    self.bring(&mut module, &import, target);
                }
            }
            self.loading.pop();
            let number = self.modules.len();
            self.declare(&mut module, number);
            self.by_name.insert(name.to_string(), number);
            self.modules.push(module);
            number
        })
    }

    fn parse(&mut self, name: &str, bytes: Vec<u8>) -> ast::Module {
        let (text, bad) = match decode(bytes) {
            Ok(text) => (text, None),
            Err(e) => (e.lossy, Some(e.offset as u32)),
        };
        let file: FileId = self.sources.add(name, text);
        let text = self.sources.get(file).map(|f| f.text.clone()).unwrap_or_default();
        if let Some(at) = bad {
            let d = Diagnostic::new(
                Code::BadCharacter,
                "this file is not UTF-8 text",
                Span::new(file, at, at + 1),
                "the first bad byte",
            )
            .help("save the file as UTF-8; is it a program at all?");
            self.diags.push(d);
            return ast::Module { file, ..Default::default() };
        }
        let (module, diags) = parse(file, &text);
        self.diags.extend(diags);
        module
    }

    fn import(&mut self, from: &str, import: &ast::Import) -> Option<usize> {
        let fail = |message: String| Diagnostic::new(Code::BadImport, message, import.span, "imported here");
        if self.sources.files().count() >= MAX_FILES {
            self.diags.push(fail(format!("a program may have {MAX_FILES} files at most")));
            return None;
        }
        let (name, bytes) = match (self.loader)(from, &import.path) {
            Ok(found) => found,
            Err(why) => {
                let d = fail(format!("cannot read `{}`: {why}", import.path))
                    .note(format!("the path is relative to `{from}`"));
                self.diags.push(d);
                return None;
            }
        };
        if let Some(number) = self.by_name.get(&name) {
            return Some(*number);
        }
        if self.loading.contains(&name) {
            self.diags.push(
                fail(format!("`{name}` imports itself")).note(format!("the chain is {}", self.loading.join(" → "))),
            );
            return None;
        }
        Some(self.file(&name, bytes))
    }

    /// Makes an imported module, or the names listed of it, known in the importing one.
    fn bring(&mut self, module: &mut Module, import: &ast::Import, target: usize) {
        let found = &self.modules[target];
        let Some(names) = &import.names else {
            let stem = import.path.rsplit('/').next().unwrap_or("").trim_end_matches(".dk");
            let alias: Rc<str> = import.alias.as_ref().map_or(stem.into(), |a| a.text.clone());
            module.modules.insert(alias, target);
            return;
        };
        for name in names {
            let func = found.funcs.get(&name.text).copied();
            let ty = found.types.get(&name.text).copied();
            if func.is_none() && ty.is_none() {
                let known = found.funcs.keys().chain(found.types.keys()).map(|k| &**k);
                self.diags.push(
                    unknown("name", &name.text, name.span, known).note(format!("looked for in `{}`", import.path)),
                );
            }
            module.funcs.extend(func.map(|f| (name.text.clone(), f)));
            module.types.extend(ty.map(|t| (name.text.clone(), t)));
        }
    }

    /// Makes a module's own definitions known in it.
    fn declare(&mut self, module: &mut Module, number: usize) {
        let mut seen: HashMap<Rc<str>, Span> = HashMap::new();
        let names = module.ast.defs.iter().map(|d| &d.name).chain(module.ast.type_defs.iter().map(|d| &d.name));
        for name in names {
            if let Some(first) = seen.insert(name.text.clone(), name.span) {
                let d = Diagnostic::new(
                    Code::Duplicate,
                    format!("`{}` is defined twice", name.text),
                    name.span,
                    "again here",
                )
                .label(first, "first here");
                self.diags.push(d);
            }
        }
        for (index, def) in module.ast.defs.iter().enumerate() {
            module.funcs.insert(def.name.text.clone(), DefId { module: number, index });
        }
        for (index, def) in module.ast.type_defs.iter().enumerate() {
            module.types.insert(def.name.text.clone(), TypeDefId { module: number, index });
        }
    }
}
