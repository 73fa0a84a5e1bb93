//! Arguments that stand in files: `NAME=@FILE`. What a file holds, and how that becomes a value, is the business of `deckle-io`.

use crate::bind::misfit;
use crate::report::bad_file;
use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_io::text::{self, type_name};
use deckle_io::{Error, Format, Kind, plain, read_value, split_part};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::path::Path;

/// The value of a parameter from a file.
pub fn load(name: &str, ty: &Type, path: &Path, sources: &mut SourceMap) -> Result<Value, Diagnostic> {
    if let Some(text) = written(ty, path) {
        return text::parse(&text, ty)
            .map_err(|wrong| misfit(name, ty, wrong, &path.display().to_string(), &text, sources));
    }
    read_value(path, ty).map_err(|e| match e.kind {
        Kind::Misfit => {
            let file = e.path.as_ref().map_or(String::new(), |p| format!(" from `{}`", p.display()));
            let message = format!("`{name}: {}` cannot come{file}: {}", type_name(ty), e.message);
            placed(Diagnostic::nowhere(Code::BadArgument, message), &e)
        }
        Kind::File | Kind::Unsupported => fault(&e),
    })
}

/// The text of a file that holds a value as one would write it: what is wrong with it can be shown in it.
fn written(ty: &Type, path: &Path) -> Option<String> {
    let is_written = Format::of(path) == (Format::Txt, false) && split_part(path).1.is_none() && !plain::is_plain(ty);
    if is_written { std::fs::read_to_string(path).ok() } else { None }
}

/// The diagnostic of a file that cannot be used, or not yet.
pub fn fault(error: &Error) -> Diagnostic {
    match error.kind {
        Kind::Unsupported => {
            let file = error.path.as_ref().map_or(String::new(), |p| format!(" (`{}`)", p.display()));
            placed(Diagnostic::nowhere(Code::Unsupported, format!("{}{file}", error.message)), error)
        }
        Kind::File | Kind::Misfit => {
            let d = bad_file(error);
            match (error.line, error.place()) {
                (Some(_), Some(place)) => d.note(format!("at {place} of the file")),
                _ => d,
            }
        }
    }
}

/// Says where in the file it is, and what to do about it.
fn placed(mut d: Diagnostic, error: &Error) -> Diagnostic {
    if let Some(place) = error.place() {
        d = d.note(format!("at {place} of the file"));
    }
    match &error.help {
        Some(help) => d.help(help),
        None => d,
    }
}
