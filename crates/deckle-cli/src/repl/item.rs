//! Definitions of a session: the source of each, and the names it defines.

use super::unit::{Failure, Unit};
use deckle_diag::{FileId, Span};
use deckle_engine::source;
use deckle_syntax::ast::{self, Origin};
use deckle_syntax::library;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Something that was typed, or a file that was loaded.
#[derive(Debug)]
pub struct Source {
    /// As shown to the user.
    pub name: String,
    pub text: String,
}

/// A part of a [`Source`].
#[derive(Clone, Debug)]
pub struct Part {
    pub source: Rc<Source>,
    pub range: Range<usize>,
}

impl Part {
    /// All of a source.
    pub fn whole(source: Rc<Source>) -> Part {
        let range = 0..source.text.len();
        Part { source, range }
    }

    pub fn text(&self) -> &str {
        &self.source.text[self.range.clone()]
    }

    fn of(source: &Rc<Source>, span: Span) -> Part {
        Part { source: source.clone(), range: span.lo as usize..span.hi as usize }
    }
}

/// A definition in the session.
#[derive(Clone, Debug)]
pub struct Item {
    pub kind: Kind,
    pub part: Part,
    /// The `///` lines before it.
    pub doc: String,
    /// The file from which it was loaded.
    pub file: Option<PathBuf>,
}

/// The kind of a definition.
#[derive(Clone, Debug)]
pub enum Kind {
    Def(String),
    Type(String),
    Import {
        /// Its path is relative to the working directory.
        origin: Origin,
        bring: Bring,
    },
}

/// The names of an import.
#[derive(Clone, Debug)]
pub enum Bring {
    /// The module, under this name.
    Module(String),
    /// These names.
    Names(Vec<String>),
}

impl Item {
    /// Whether it defines this name.
    pub fn defines(&self, name: &str) -> bool {
        match &self.kind {
            Kind::Def(n) | Kind::Type(n) | Kind::Import { bring: Bring::Module(n), .. } => n == name,
            Kind::Import { bring: Bring::Names(names), .. } => names.iter().any(|n| n == name),
        }
    }

    /// The names that it defines.
    pub fn names(&self) -> Vec<&str> {
        match &self.kind {
            Kind::Def(n) | Kind::Type(n) | Kind::Import { bring: Bring::Module(n), .. } => vec![n],
            Kind::Import { bring: Bring::Names(names), .. } => names.iter().map(String::as_str).collect(),
        }
    }

    /// The remainder of it after another definition takes over a name.
    pub fn without(mut self, name: &str) -> Option<Item> {
        if !self.defines(name) {
            return Some(self);
        }
        match &mut self.kind {
            Kind::Import { bring: Bring::Names(names), .. } if names.len() > 1 => {
                names.retain(|n| n != name);
                Some(self)
            }
            _ => None,
        }
    }

    /// Adds it to a unit.
    pub fn write(&self, unit: &mut Unit) {
        match &self.kind {
            Kind::Def(_) | Kind::Type(_) => unit.copy(&self.part),
            Kind::Import { origin, bring } => {
                let brought = match bring {
                    Bring::Module(name) => format!("as {name}"),
                    Bring::Names(names) => format!("({})", names.join(", ")),
                };
                unit.stand_for(&self.part, &format!("import {origin} {brought}"));
            }
        }
        unit.glue("\n");
    }
}

/// The definitions of a text, in order. Paths of imports are relative to `file`, or to the working directory.
pub fn parse(source: &Rc<Source>, file: Option<&Path>) -> Result<Vec<Item>, Failure> {
    let (module, diagnostics) = deckle_syntax::parse(FileId(0), &source.text);
    if !diagnostics.is_empty() {
        return Err(Failure::in_source(source, diagnostics));
    }
    let item = |kind, span, doc: &str| {
        let (part, file) = (Part::of(source, span), file.map(Path::to_path_buf));
        (span.lo, Item { kind, part, doc: doc.to_string(), file })
    };
    let mut items: Vec<(u32, Item)> = Vec::new();
    items.extend(module.imports.iter().map(|i| item(import(i, file), i.span, "")));
    items.extend(module.type_defs.iter().map(|t| item(Kind::Type(t.name.text.to_string()), t.span, &t.doc)));
    items.extend(module.defs.iter().map(|d| item(Kind::Def(d.name.text.to_string()), d.span, &d.doc)));
    items.sort_by_key(|i| i.0);
    Ok(items.into_iter().map(|i| i.1).collect())
}

/// The definitions of an imported module, if it can be read.
pub fn module(origin: &Origin) -> Option<ast::Module> {
    let text = match origin {
        Origin::File(path) => String::from_utf8(source::contents(Path::new(path)).ok()?).ok()?,
        Origin::Library(name) => library::text(name)?.to_string(),
    };
    Some(deckle_syntax::parse(FileId(0), &text).0)
}

fn import(import: &ast::Import, file: Option<&Path>) -> Kind {
    let origin = match &import.origin {
        Origin::File(path) => {
            let path = source::resolve(file.unwrap_or(Path::new("")), Path::new(path));
            Origin::File(path.display().to_string())
        }
        Origin::Library(name) => Origin::Library(name.clone()),
    };
    let bring = match (&import.names, &import.alias) {
        (Some(names), _) => Bring::Names(names.iter().map(|n| n.text.to_string()).collect()),
        (None, Some(alias)) => Bring::Module(alias.text.to_string()),
        (None, None) => Bring::Module(import.origin.stem().to_string()),
    };
    Kind::Import { origin, bring }
}
