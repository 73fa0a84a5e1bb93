//! Places in the source, diagnostics, and their rendering.
//!
//! Every crate that can find an error in a user's program or data reports it as a
//! [`Diagnostic`]: a stable code, a message that stands alone, labelled spans, and then
//! the reason and a remedy. Nothing here knows about types, sizes or kernels.

mod closest;
mod codes;
mod paint;
mod render;
mod source;
mod width;

pub use closest::closest;
pub use codes::{CODES, Code, CodeInfo};
pub use render::{render, render_all};
pub use source::{FileId, SourceFile, SourceMap, Span};

/// The class of a diagnostic. Only the first class is addressed to users about their programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The user's program or data is wrong. Exit code 1.
    User,
    /// The program is valid, but Deckle does not support it yet. Exit code 3.
    Limitation,
    /// A bug in Deckle. Exit code 101.
    Bug,
}

/// A span with a short text. The first label of a diagnostic is the primary one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// The text under the carets; may be empty.
    pub text: String,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its stable code, with a page in the error index.
    pub code: Code,
    /// The error, in one line that stands alone.
    pub message: String,
    /// The places; the first one is primary and is drawn with `^`, others with `-`.
    pub labels: Vec<Label>,
    /// Reasons: facts that explain the message.
    pub notes: Vec<String>,
    /// Remedies, each as text to write or an action to take.
    pub helps: Vec<String>,
}

/// A diagnostic represents itself wherever errors are passed on.
impl std::error::Error for Diagnostic {}

impl std::fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl Diagnostic {
    /// A diagnostic with its primary place.
    pub fn new(code: Code, message: impl Into<String>, span: Span, label: impl Into<String>) -> Self {
        let labels = vec![Label { span, text: label.into() }];
        Diagnostic { code, message: message.into(), labels, notes: Vec::new(), helps: Vec::new() }
    }

    /// A diagnostic without a place (a missing argument, for example).
    pub fn nowhere(code: Code, message: impl Into<String>) -> Self {
        Diagnostic { code, message: message.into(), labels: Vec::new(), notes: Vec::new(), helps: Vec::new() }
    }

    /// Adds a secondary place.
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Adds a reason.
    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    /// Adds a remedy.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.helps.push(text.into());
        self
    }

    /// Its class.
    pub fn class(&self) -> Class {
        self.code.info().class
    }
}
