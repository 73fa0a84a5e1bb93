//! Values and sequences from files and into them: what a file holds, and how that becomes a value, is the business of `deckle-io`; here its errors become those of arguments and results.

use crate::bind::misfit;
use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_io::text::{self, type_name};
use deckle_io::{Error, Format, Kind, plain, read_value, split_part};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use deckle_runtime::stream::{self, Sink, Source};
use deckle_runtime::{Data, Pool};
use std::path::Path;

/// The value of a parameter from a file.
///
/// # Errors
/// As [`read_value`], said of the parameter.
pub fn load(name: &str, ty: &Type, path: &Path, sources: &mut SourceMap) -> Result<Value, Diagnostic> {
    if let Some(text) = written(ty, path) {
        return text::parse(&text, ty)
            .map_err(|wrong| misfit(name, ty, wrong, &path.display().to_string(), &text, sources));
    }
    read_value(path, ty).map_err(|e| misread(name, ty, &e))
}

/// The elements of a sequence from a file, read while the program runs.
///
/// # Errors
/// As [`deckle_io::stream::open`], said of the parameter; what is found later comes from the source, as a [`Diagnostic`].
pub fn open(name: &str, ty: &Type, path: &Path) -> Result<Box<dyn Source>, Diagnostic> {
    let source = deckle_io::stream::open(path, ty).map_err(|e| misread(name, ty, &e))?;
    Ok(Box::new(Told { name: name.to_string(), ty: ty.clone(), source }))
}

/// A value from a file, read into flat memory just before the run: the elements of a vector, or the value as the only element.
///
/// # Errors
/// As [`open`].
pub fn open_whole(name: &str, ty: &Type, path: &Path) -> Result<Box<dyn Source>, Diagnostic> {
    let source = deckle_io::stream::open_whole(path, ty).map_err(|e| misread(name, ty, &e))?;
    Ok(Box::new(Told { name: name.to_string(), ty: ty.clone(), source }))
}

/// A source whose errors are said as those of arguments are.
struct Told {
    name: String,
    ty: Type,
    source: Box<dyn Source>,
}

impl Source for Told {
    fn next(&mut self, bytes: usize, pool: &Pool) -> Result<Option<Data>, stream::Error> {
        self.source.next(bytes, pool).map_err(|e| match e {
            stream::Error::Failed(e) => match e.downcast::<Error>() {
                Ok(e) => stream::Error::Failed(Box::new(misread(&self.name, &self.ty, &e))),
                Err(e) => stream::Error::Failed(e),
            },
            other => other,
        })
    }

    fn progress(&self) -> Option<(u64, u64)> {
        self.source.progress()
    }
}

fn misread(name: &str, ty: &Type, e: &Error) -> Diagnostic {
    match e.kind {
        Kind::Misfit => {
            let file = e.path.as_ref().map_or(String::new(), |p| format!(" from `{}`", p.display()));
            let message = format!("`{name}: {}` cannot come{file}: {}", type_name(ty), e.message);
            placed(Diagnostic::nowhere(Code::BadArgument, message), e)
        }
        Kind::File | Kind::Unsupported | Kind::Closed => fault(e),
    }
}

/// The text of a file that holds a value as one would write it: what is wrong with it can be shown in it.
fn written(ty: &Type, path: &Path) -> Option<String> {
    let is_written = Format::of(path) == (Format::Txt, false) && split_part(path).1.is_none() && !plain::is_plain(ty);
    if is_written { std::fs::read_to_string(path).ok() } else { None }
}

/// Begins to write a result whose elements come one after another. `None` if it can only be written as a whole.
///
/// # Errors
/// The file cannot be written; what is found later comes from the sink, as a [`Diagnostic`].
pub fn create(path: &Path, ty: &Type) -> Result<Option<Box<dyn Sink>>, Diagnostic> {
    let sink = deckle_io::stream::create(path, ty).map_err(|e| fault(&e))?;
    Ok(sink.map(|sink| Box::new(Written(sink)) as Box<dyn Sink>))
}

/// A sink whose errors are said as those of files are.
struct Written(Box<dyn Sink>);

fn told(e: stream::Error) -> stream::Error {
    match e {
        stream::Error::Failed(e) => stream::Error::Failed(match e.downcast::<Error>() {
            Ok(e) => Box::new(fault(&e)),
            Err(e) => e,
        }),
        other => other,
    }
}

impl Sink for Written {
    fn take(&mut self, block: Data) -> Result<(), stream::Error> {
        self.0.take(block).map_err(told)
    }

    fn finish(self: Box<Self>) -> Result<(), stream::Error> {
        self.0.finish().map_err(told)
    }
}

/// The diagnostic of a file that cannot be used.
pub fn bad_file(error: &Error) -> Diagnostic {
    let file = error.path.as_ref().map_or("a file".to_string(), |p| format!("`{}`", p.display()));
    let mut d = Diagnostic::nowhere(Code::BadFile, format!("cannot use {file}: {}", error.message));
    if let Some(offset) = error.offset {
        d = d.note(format!("at byte {offset} of the file"));
    }
    if let Some(help) = &error.help {
        d = d.help(help);
    }
    d
}

/// The diagnostic of a file that cannot be used, or not yet.
pub fn fault(error: &Error) -> Diagnostic {
    match error.kind {
        Kind::Unsupported => {
            let file = error.path.as_ref().map_or(String::new(), |p| format!(" (`{}`)", p.display()));
            placed(Diagnostic::nowhere(Code::Unsupported, format!("{}{file}", error.message)), error)
        }
        Kind::File | Kind::Misfit | Kind::Closed => {
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
