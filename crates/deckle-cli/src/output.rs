//! `--out FILE`: the result in a file, complete or not at all. How it is written is the business of `deckle-io`.

use crate::file::fault;
use deckle_diag::Diagnostic;
use deckle_io::{Format, WRITTEN, check_writable, write_value};
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::path::PathBuf;

/// A file to write, whose ending says how.
#[derive(Clone, Debug)]
pub struct Target {
    path: PathBuf,
}

impl Target {
    /// A path with an ending that means something.
    pub fn parse(path: &str) -> Result<Target, String> {
        let path = PathBuf::from(path);
        match Format::of(&path) {
            (Format::Unknown, _) => Err(format!("the file must end in {WRITTEN}")),
            _ => Ok(Target { path }),
        }
    }

    /// Whether values of a type can be written at all: better said before a long run than after it.
    pub fn check(&self, ty: &Type) -> Result<(), Diagnostic> {
        check_writable(&self.path, ty).map_err(|e| fault(&e))
    }

    /// Writes the result.
    pub fn write(&self, ty: &Type, value: &Value) -> Result<(), Diagnostic> {
        write_value(&self.path, ty, value).map_err(|e| fault(&e))
    }
}
