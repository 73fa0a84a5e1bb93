//! `--out FILE`: the result in a file, complete or not at all, or on standard output (`--out -.csv`). How it is written is the business of `deckle-io`.

use deckle_diag::Diagnostic;
use deckle_engine::file::{self, fault};
use deckle_io::text::Ends;
use deckle_io::{Format, Kind, WRITTEN, check_writable, is_standard, write_data};
use deckle_ir::types::Type;
use deckle_runtime::Data;
use deckle_runtime::stream::{self, Sink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// A file to write, whose ending says how.
#[derive(Clone, Debug)]
pub struct Target {
    path: PathBuf,
}

impl Target {
    /// A path with an ending that means something.
    pub fn parse(path: &str) -> Result<Target, String> {
        // Standard output has no ending of its own.
        let path = PathBuf::from(if path == "-" { "-.txt" } else { path });
        match Format::of(&path) {
            (Format::Unknown, _) => Err(format!("the file must end in {WRITTEN}")),
            _ => Ok(Target { path }),
        }
    }

    /// Whether values of a type can be written at all: better said before a long run than after it.
    pub fn check(&self, ty: &Type) -> Result<(), Diagnostic> {
        check_writable(&self.path, ty).map_err(|e| fault(&e))
    }

    /// Begins to write a result whose elements come one after another. `None` if it can only be written as a whole.
    pub fn create(&self, ty: &Type) -> Result<Option<Box<dyn Sink>>, Diagnostic> {
        file::create(&self.path, ty)
    }

    /// Whether it is no file.
    pub fn is_standard_output(&self) -> bool {
        is_standard(&self.path)
    }

    /// Standard output, as JSON.
    pub fn json() -> Target {
        Target { path: PathBuf::from("-.json") }
    }

    /// Writes the result. A reader that has gone away (`| head`) has seen enough: that is no error.
    pub fn write(&self, ty: &Type, result: &Data) -> Result<(), Diagnostic> {
        match write_data(&self.path, ty, result) {
            Err(e) if e.kind != Kind::Closed => Err(fault(&e)),
            _ => Ok(()),
        }
    }
}

/// Keeps what is to be shown of a result.
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
