//! `--out FILE`: the result in a file, complete or not at all, or on standard output (`--out -.csv`). `deckle-io` implements the formats.

use deckle_diag::Diagnostic;
use deckle_engine::file::{self, fault};
use deckle_io::text::Ends;
use deckle_io::{Format, Kind, WRITTEN, check_writable, is_standard, write_data};
use deckle_ir::types::Type;
use deckle_runtime::Data;
use deckle_runtime::stream::{self, Sink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// An output file, whose extension selects the format.
#[derive(Clone, Debug)]
pub struct Target {
    path: PathBuf,
}

impl Target {
    /// A path with a known extension.
    pub fn parse(path: &str) -> Result<Target, String> {
        // Standard output has no extension of its own.
        let path = PathBuf::from(if path == "-" { "-.txt" } else { path });
        match Format::of(&path) {
            (Format::Unknown, _) => Err(format!("the file must end in {WRITTEN}")),
            _ => Ok(Target { path }),
        }
    }

    /// Whether values of a type can be written at all: checked before a long run, not after it.
    pub fn check(&self, ty: &Type) -> Result<(), Diagnostic> {
        check_writable(&self.path, ty).map_err(|e| fault(&e))
    }

    /// Starts writing a result whose elements arrive one after another. `None` if it can only be written as a whole.
    pub fn create(&self, ty: &Type) -> Result<Option<Box<dyn Sink>>, Diagnostic> {
        file::create(&self.path, ty)
    }

    /// Whether it is standard output.
    pub fn is_standard_output(&self) -> bool {
        is_standard(&self.path)
    }

    /// Standard output, as JSON.
    pub fn json() -> Target {
        Target { path: PathBuf::from("-.json") }
    }

    /// Writes the result. A closed pipe (`| head`) is not an error.
    pub fn write(&self, ty: &Type, result: &Data) -> Result<(), Diagnostic> {
        match write_data(&self.path, ty, result) {
            Err(e) if e.kind != Kind::Closed => Err(fault(&e)),
            _ => Ok(()),
        }
    }
}

/// Collects the part of a result that is shown.
pub fn ends(ends: &Arc<Mutex<Ends>>) -> Box<dyn Sink> {
    Box::new(Shown { ends: ends.clone() })
}

struct Shown {
    ends: Arc<Mutex<Ends>>,
}

impl Sink for Shown {
    fn take(&mut self, block: Data) -> Result<(), stream::Error> {
        if let Ok(mut ends) = self.ends.lock() {
            ends.push(&block);
        }
        Ok(())
    }
}
