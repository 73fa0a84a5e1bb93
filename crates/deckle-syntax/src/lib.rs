//! The `.dk` script language: from text to array IR.
//!
//! Four steps, each in its own folder: `lex` and `parse` build a tree, `infer` resolves names and types and reports every error
//! at once, `lower` builds array IR, one function for each combination of types at which a function is used.
//! `builtins` is the table of built-in functions, `library` the modules that come with Deckle.

pub mod ast;
pub mod builtins;
mod infer;
mod lex;
pub mod library;
mod lower;
mod modules;
mod parse;

pub use lex::{NotUtf8, decode};
pub use modules::Loader;
pub use parse::parse;

use deckle_diag::{Diagnostic, SourceMap, Span};
use deckle_ir::array::Program;
use deckle_ir::entity::Func;

/// A program that can be run.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The functions, each once for every combination of types with which it is used.
    pub program: Program,
    /// The functions of the root file that can be run from outside: those whose types are all known.
    pub entries: Vec<Entry>,
}

/// A function that can be run from outside.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name.
    pub name: String,
    /// Its handle in the program.
    pub func: Func,
    /// The `///` lines before it.
    pub doc: String,
    /// The place of its definition.
    pub span: Span,
}

/// Compiles a file and everything it imports, or reports all errors.
pub fn compile(
    sources: &mut SourceMap,
    name: &str,
    bytes: Vec<u8>,
    load: &mut Loader,
) -> Result<Compiled, Vec<Diagnostic>> {
    let mut loaded = modules::Load::new(sources, load);
    let root = loaded.file(name, bytes);
    let mut diags = std::mem::take(&mut loaded.diags);
    let modules = std::mem::take(&mut loaded.modules);
    let text = |m: &infer::env::Module| sources.get(m.ast.file).map(|f| f.text.clone()).unwrap_or_default();
    let texts = modules.iter().map(text).collect();
    let mut infer = infer::Infer::new(modules, texts);
    infer.run();
    diags.append(&mut infer.diags);
    if !diags.is_empty() {
        return Err(sorted(diags));
    }
    lower::lower(infer.facts, root).map_err(sorted)
}

fn sorted(mut diags: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let place = |d: &Diagnostic| d.labels.first().map_or((u32::MAX, 0), |l| (l.span.file.0, l.span.lo));
    diags.sort_by_key(place);
    diags.dedup();
    diags
}
