//! `--out FILE`: the result in a file, complete or not at all.

use crate::report::bad_file;
use deckle_diag::Diagnostic;
use deckle_io::text::{is_text, show};
use deckle_io::{atomic_write, json, npy};
use deckle_ir::scalar::Scalar;
use deckle_ir::types::Type;
use deckle_ir::value::Value;
use std::path::PathBuf;

/// A file to write, and how.
#[derive(Clone, Debug)]
pub struct Target {
    path: PathBuf,
    format: Format,
}

#[derive(Clone, Copy, Debug)]
enum Format {
    Npy,
    Json,
    /// The bytes of a `[u8]`; of anything else what would be printed, in full.
    Txt,
}

impl Target {
    /// By the ending of the path.
    pub fn parse(path: &str) -> Result<Target, String> {
        let path = PathBuf::from(path);
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        let format = match ending.as_str() {
            "npy" => Format::Npy,
            "json" => Format::Json,
            "txt" => Format::Txt,
            _ => return Err("the file must end in .npy, .json or .txt".to_string()),
        };
        Ok(Target { path, format })
    }

    /// Whether values of a type can be written at all: better said before a long run than after it.
    pub fn check(&self, ty: &Type) -> Result<(), Diagnostic> {
        match self.format {
            Format::Npy => npy::check_type(ty).map(drop).map_err(|e| bad_file(&e.in_file(&self.path))),
            Format::Json | Format::Txt => Ok(()),
        }
    }

    /// Writes the result.
    pub fn write(&self, ty: &Type, value: &Value) -> Result<(), Diagnostic> {
        let written = match self.format {
            Format::Npy => npy::write(&self.path, ty, value),
            Format::Json => atomic_write(&self.path, |out| {
                json::write(ty, value, out)?;
                out.write_all(b"\n")
            }),
            Format::Txt if is_text(ty) => atomic_write(&self.path, |out| {
                let items = value.items().unwrap_or_default().iter();
                let bytes: Vec<u8> = items
                    .filter_map(|v| if let Some(Scalar::U8(b)) = v.as_scalar() { Some(b) } else { None })
                    .collect();
                out.write_all(&bytes)
            }),
            Format::Txt => atomic_write(&self.path, |out| writeln!(out, "{}", show(ty, value, true))),
        };
        written.map_err(|e| bad_file(&e))
    }
}
