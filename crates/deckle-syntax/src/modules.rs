//! Files and imports: from the root file to all modules of a program, imported ones first.

use crate::ast;
use crate::infer::env::{DefId, Module, TypeDefId, unknown};
use crate::{decode, library, parse};
use deckle_diag::{Code, Diagnostic, FileId, SourceMap, Span};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Returns the shown name and the bytes of an imported file, given the name of the importing file and the path
/// as written.
pub type Loader<'a> = dyn FnMut(&str, &str) -> Result<(String, Vec<u8>), String> + 'a;

/// The maximal number of files of a program.
const MAX_FILES: usize = 1000;

pub(crate) struct Load<'a, 'b> {
    sources: &'a mut SourceMap,
    loader: &'a mut Loader<'b>,
    by_name: HashMap<String, usize>,
    loading: Vec<String>,
    unreadable: HashSet<String>,
    pub modules: Vec<Module>,
    pub diags: Vec<Diagnostic>,
}

impl<'a, 'b> Load<'a, 'b> {
    pub fn new(sources: &'a mut SourceMap, loader: &'a mut Loader<'b>) -> Self {
        Load {
            sources,
            loader,
            by_name: HashMap::new(),
            loading: Vec::new(),
            unreadable: HashSet::new(),
            modules: Vec::new(),
            diags: Vec::new(),
        }
    }

    /// Reads a file and everything it imports. Its number is that of its module, after those of its imports.
    pub fn file(&mut self, name: &str, bytes: Vec<u8>) -> usize {
        stacker::maybe_grow(64 * 1024, 1024 * 1024, || {
            let ast = self.parse(name, bytes);
            self.loading.push(name.to_string());
            let mut module = Module { ast, modules: HashMap::new(), funcs: HashMap::new(), types: HashMap::new() };
            for import in module.ast.imports.clone() {
                match self.import(name, &import) {
                    Some(target) => self.bring(&mut module, &import, target),
                    None => forgive(&mut module, &import),
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
                // It is shown as a replacement character, of three bytes.
                Span::new(file, at, at + 3),
                "the first bad byte",
            )
            .help("save the file as UTF-8; is it a program at all?");
            self.diags.push(d);
            self.unreadable.insert(name.to_string());
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
        let (name, bytes) = match &import.origin {
            ast::Origin::File(path) => match (self.loader)(from, path) {
                Ok(found) => found,
                Err(why) => {
                    let why = why.strip_prefix(&format!("cannot read `{path}`: ")).unwrap_or(&why);
                    let d =
                        fail(format!("cannot read `{path}`: {why}")).note(format!("the path is relative to `{from}`"));
                    self.diags.push(d);
                    return None;
                }
            },
            ast::Origin::Library(module) => match library::text(module) {
                Some(text) => (library::file_name(module), text.as_bytes().to_vec()),
                None => {
                    self.diags.push(no_such_module(module, import.span));
                    return None;
                }
            },
        };
        if self.unreadable.contains(&name) {
            return None;
        }
        if let Some(number) = self.by_name.get(&name) {
            return Some(*number);
        }
        if let Some(at) = self.loading.iter().position(|l| *l == name) {
            let chain = &self.loading[at..];
            let mut d = fail(format!("`{name}` imports itself"));
            if chain.len() > 1 && chain.len() <= 8 {
                d = d.note(format!("the imports are `{}` → `{name}`", chain.join("` → `")));
            }
            self.diags.push(d.help("move what both files need into a third one, and import that"));
            return None;
        }
        let number = self.file(&name, bytes);
        (!self.unreadable.contains(&name)).then_some(number)
    }

    /// Binds an imported module, or the names listed of it, in the importing one.
    fn bring(&mut self, module: &mut Module, import: &ast::Import, target: usize) {
        let found = &self.modules[target];
        let Some(names) = &import.names else {
            let alias = alias(import);
            if import.alias.is_none() && !is_name(&alias) {
                let d = Diagnostic::new(
                    Code::BadImport,
                    format!("`{alias}` cannot be the name of a module"),
                    import.span,
                    "needs another name",
                );
                self.diags.push(d.help(format!("give it one: `import {} as m`", import.origin)));
            }
            if let Some(old) = module.modules.insert(alias.clone(), target)
                && old != target
            {
                let d = Diagnostic::new(
                    Code::Duplicate,
                    format!("two modules are called `{alias}`"),
                    import.span,
                    "again here",
                );
                self.diags.push(d.help(format!("give one another name: `import {} as m`", import.origin)));
            }
            return;
        };
        for name in names {
            let func = found.funcs.get(&name.text).copied();
            let ty = found.types.get(&name.text).copied();
            if func.is_none() && ty.is_none() {
                module.ast.broken.push(name.clone());
                if found.ast.broken.iter().any(|b| b.text == name.text) {
                    continue;
                }
                let known = found.funcs.keys().chain(found.types.keys()).map(|k| &**k);
                self.diags.push(
                    unknown("function or type", &name.text, name.span, known)
                        .note(format!("looked for in `{}`", import.origin.name())),
                );
            }
            module.funcs.extend(func.map(|f| (name.text.clone(), f)));
            module.types.extend(ty.map(|t| (name.text.clone(), t)));
        }
    }

    /// Binds a module's own definitions in it.
    fn declare(&mut self, module: &mut Module, number: usize) {
        let mut seen: HashMap<Rc<str>, Span> = HashMap::new();
        let mut twice = Vec::new();
        let names = module.ast.defs.iter().map(|d| &d.name).chain(module.ast.type_defs.iter().map(|d| &d.name));
        for name in names {
            if let Some(first) = seen.insert(name.text.clone(), name.span) {
                let d = Diagnostic::new(
                    Code::Duplicate,
                    format!("`{}` is defined twice", name.text),
                    name.span,
                    "again here",
                )
                .label(first, "first here")
                .help("give one of them another name: what a name means does not depend on its arguments");
                self.diags.push(d);
                twice.push(name.clone());
            }
        }
        for (index, def) in module.ast.defs.iter().enumerate() {
            module.funcs.insert(def.name.text.clone(), DefId { module: number, index });
        }
        for (index, def) in module.ast.type_defs.iter().enumerate() {
            module.types.insert(def.name.text.clone(), TypeDefId { module: number, index });
        }
        // A use would be ambiguous.
        for name in twice {
            module.funcs.remove(&name.text);
            module.types.remove(&name.text);
            module.ast.broken.push(name);
        }
    }
}

/// The name by which an import is accessed.
fn alias(import: &ast::Import) -> Rc<str> {
    import.alias.as_ref().map_or(import.origin.stem().into(), |a| a.text.clone())
}

fn no_such_module(name: &str, span: Span) -> Diagnostic {
    let d = unknown("library module", name, span, library::names());
    let d = d
        .note(format!("the library has {}", library::names().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")));
    d.help(format!("a file is imported by its path in quotes: `import \"{name}.dk\"`"))
}

/// Whether a text is a valid name.
fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_') && chars.all(|c| c.is_alphanumeric() || c == '_')
}

/// Records the names that a failed import would have bound, so that their use is no second error.
fn forgive(module: &mut Module, import: &ast::Import) {
    match &import.names {
        Some(names) => module.ast.broken.extend(names.iter().cloned()),
        None => module.ast.broken.push(ast::Name { text: alias(import), span: import.span }),
    }
}
