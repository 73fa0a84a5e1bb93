//! The two kinds of errors.
//!
//! - [`Unavailable`]: there is no usable LLVM. The interpreter still runs the program.
//! - [`Refusal`]: LLVM rejected the code, or its output could not be linked. That is an error of the code generator, never of the
//!   user of Deckle; the error contains the IR for inspection.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// The reason why [`Compiler`](crate::Compiler) failed.
#[derive(Clone, Debug)]
pub enum Error {
    /// There is no usable LLVM on this machine.
    Unavailable(Unavailable),
    /// LLVM, or the linker, rejected the code.
    Refused(Box<Refusal>),
}

/// There is no usable LLVM: the places searched, and the errors of the files found.
#[derive(Clone, Debug, Default)]
pub struct Unavailable {
    /// Files that were found and rejected, each with the reason.
    pub rejected: Vec<(PathBuf, String)>,
    /// Folders and names without a library.
    pub looked: Vec<String>,
}

/// Code that LLVM, or the linker, rejected.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The step that failed.
    pub stage: Stage,
    /// LLVM's message.
    pub message: String,
    /// The code, as passed in.
    pub ir: Arc<str>,
}

/// The steps from text to callable code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The target is unknown to this LLVM.
    Target,
    /// Parsing the text.
    Parse,
    /// Verifying the rules of LLVM IR.
    Verify,
    /// Running the passes.
    Optimise,
    /// Selecting instructions and writing the object, assembly or PTX.
    Emit,
    /// Placing the object in memory and resolving its references.
    Link,
}

impl Stage {
    fn verb(self) -> &'static str {
        match self {
            Stage::Target => "find the target of",
            Stage::Parse => "parse",
            Stage::Verify => "verify",
            Stage::Optimise => "optimise",
            Stage::Emit => "emit",
            Stage::Link => "link",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unavailable(e) => e.fmt(f),
            Error::Refused(e) => e.fmt(f),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LLVM could not {} the code: {}", self.stage.verb(), self.message.trim_end())
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "no LLVM of version {} or later can be used", crate::library::OLDEST)?;
        for (path, why) in &self.rejected {
            writeln!(f, "  {}: {why}", path.display())?;
        }
        if !self.looked.is_empty() {
            writeln!(f, "  nothing in: {}", self.looked.join(", "))?;
        }
        write!(
            f,
            "  install Rust (https://rustup.rs), which brings one, or `apt install libllvm19` or a newer one, \
             or set DECKLE_LLVM to a libLLVM or to the folder that holds it"
        )
    }
}

impl std::error::Error for Error {}
impl std::error::Error for Refusal {}
impl std::error::Error for Unavailable {}

impl From<Unavailable> for Error {
    fn from(e: Unavailable) -> Error {
        Error::Unavailable(e)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_what_was_rejected_and_what_to_do() {
        let e = Unavailable {
            rejected: vec![("/usr/lib/libLLVM-15.so.1".into(), "version 15 is too old".into())],
            looked: vec!["/usr/local/lib".into()],
        };
        let text = e.to_string();
        for part in ["libLLVM-15.so.1: version 15 is too old", "nothing in: /usr/local/lib", "DECKLE_LLVM", "rustup"] {
            assert!(text.contains(part), "{part:?} is missing in {text}");
        }
    }

    #[test]
    fn a_refusal_names_its_stage() {
        let e = Refusal { stage: Stage::Parse, message: "1:1: expected type\n".into(), ir: "x".into() };
        assert_eq!(e.to_string(), "LLVM could not parse the code: 1:1: expected type");
    }
}
