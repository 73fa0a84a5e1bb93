//! Errors in building and running programs.

use deckle_diag::{Code, Diagnostic, SourceMap};
use deckle_runtime::OverBudget;
use std::fmt;
use std::panic::Location;
use std::sync::Arc;

/// A place in the Rust source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    file: &'static str,
    line: u32,
    column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.file, self.line, self.column)
    }
}

impl Place {
    pub fn of(at: &'static Location<'static>) -> Place {
        Place { file: at.file(), line: at.line(), column: at.column() }
    }

    pub fn unknown() -> Place {
        Place { file: "", line: 0, column: 0 }
    }

    fn is_known(&self) -> bool {
        self.line > 0
    }
}

/// The kinds of errors of a program.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// A handle was created, or used, outside of any program.
    NoProgram,
    /// A handle of one program is used in another.
    Mixed,
    /// A variable is used outside of the closure whose parameter, or local value, it is.
    Escaped,
    /// The closure does not terminate.
    Endless,
    /// An operator does not take these operands.
    Type(String),
    /// An argument does not fit its parameter.
    Argument(String),
    /// A value is needed before the sequence from which it is computed has been traversed.
    Stream(Box<Diagnostic>),
    /// A run-time error: an index out of range, for example.
    Run(Box<Diagnostic>),
}

/// Why a program could not be built or run.
#[derive(Clone, Debug)]
pub struct Error {
    fault: Fault,
    place: Option<Place>,
    /// The error of an iterator that produces elements.
    cause: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// Equal faults at the same place. Messages of causes are part of the fault.
impl PartialEq for Error {
    fn eq(&self, other: &Error) -> bool {
        (&self.fault, &self.place) == (&other.fault, &other.place)
    }
}

impl Error {
    pub(crate) fn new(fault: Fault, place: Option<Place>) -> Error {
        Error { fault, place: place.filter(Place::is_known), cause: None }
    }

    /// The same error with a cause.
    pub(crate) fn because(self, cause: Option<Box<dyn std::error::Error + Send + Sync>>) -> Error {
        Error { cause: cause.map(Arc::from), ..self }
    }

    /// The kind of error.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// The file and line of the Rust source of the error, if known.
    pub fn place(&self) -> Option<(&'static str, u32)> {
        self.place.map(|p| (p.file, p.line))
    }
}

/// An argument that does not fit.
pub(crate) fn argument(message: String) -> Error {
    Error::new(Fault::Argument(message), None)
}

/// Not enough memory.
pub(crate) fn limit(e: &OverBudget) -> Box<Diagnostic> {
    Box::new(Diagnostic::nowhere(Code::LimitExceeded, e.to_string()))
}

/// Not enough memory for a resident result.
pub(crate) fn over(e: OverBudget) -> Error {
    Error::new(Fault::Run(limit(&e)), None)
}

/// A result that does not have the types of the program.
pub(crate) fn misfit() -> Error {
    argument("the result is not of the type that the program promised".into())
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fault {
            Fault::NoProgram => write!(
                f,
                "a handle was used outside of any program: make expressions inside the closure that is given to `compile`"
            )?,
            Fault::Mixed => write!(
                f,
                "a handle of one program was used in another: pass it as an argument instead of capturing it"
            )?,
            Fault::Escaped => write!(
                f,
                "a variable was used outside of its closure: return it from the closure instead of storing it elsewhere"
            )?,
            Fault::Endless => write!(
                f,
                "the closure builds a program without end: repeat with `repeat` or `loop_while`, not with a Rust loop or recursion over handles"
            )?,
            Fault::Type(m) => write!(f, "{m}")?,
            Fault::Argument(m) => write!(f, "{m}")?,
            Fault::Stream(d) | Fault::Run(d) => {
                let text = deckle_diag::render(d, &SourceMap::new(), false);
                write!(f, "{}", text.trim_end())?;
            }
        }
        match self.place {
            Some(p) => write!(f, "\n  --> {p}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    /// The error of the iterator that produces elements, if that failed.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_deref().map(|e| e as _)
    }
}
