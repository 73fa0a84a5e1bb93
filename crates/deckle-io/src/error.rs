//! Errors about files, with their position.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of reading or writing a file.
pub type Result<T> = std::result::Result<T, Error>;

/// The cause of an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The file cannot be read or written, or is damaged.
    File,
    /// The file is valid, but does not hold a value of the requested type.
    Misfit,
    /// The file may be valid: this version of Deckle does not know its format.
    Unsupported,
    /// A pipe whose reader has closed it, which is not an error of the program.
    Closed,
}

/// A file that cannot be read or written, is damaged, or does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The cause.
    pub kind: Kind,
    /// What is wrong, in one line that stands alone.
    pub message: String,
    /// The file, if known.
    pub path: Option<PathBuf>,
    /// The byte of the file, from 0.
    pub offset: Option<u64>,
    /// The line of the file, from 1.
    pub line: Option<u64>,
    /// The column of the line, from 1: for a table the field, for other texts the character.
    pub column: Option<u32>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Error {
    /// An error about a file as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        let message = message.into();
        Error { kind: Kind::File, message, path: None, offset: None, line: None, column: None, help: None }
    }

    /// An error at a byte of the file.
    pub fn at(offset: usize, message: impl Into<String>) -> Self {
        Error { offset: Some(offset as u64), ..Error::new(message) }
    }

    /// An error at a line of the file.
    pub fn at_line(line: u64, message: impl Into<String>) -> Self {
        Error { line: Some(line), ..Error::new(message) }
    }

    /// An error at a column of a line of the file.
    pub fn at_column(line: u64, column: usize, message: impl Into<String>) -> Self {
        Error { column: Some(u32::try_from(column).unwrap_or(u32::MAX)), ..Error::at_line(line, message) }
    }

    /// A valid file without a value of the requested type.
    pub fn misfit(message: impl Into<String>) -> Self {
        Error { kind: Kind::Misfit, ..Error::new(message) }
    }

    /// A format that is not yet supported.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Error { kind: Kind::Unsupported, ..Error::new(message) }
    }

    /// An error of the operating system, in common words.
    pub fn io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind as K;
        let kind = if error.kind() == K::BrokenPipe { Kind::Closed } else { Kind::File };
        let message = match error.kind() {
            K::NotFound => "there is no such file".to_string(),
            K::PermissionDenied => "permission denied".to_string(),
            K::IsADirectory => "this is a directory, not a file".to_string(),
            K::NotADirectory => "a part of its path is not a directory".to_string(),
            K::StorageFull => "no space is left on the device".to_string(),
            K::FileTooLarge => "it becomes larger than a file may be".to_string(),
            _ => error.to_string(),
        };
        Error { kind, ..Error::new(message) }
    }

    /// The same error, with the file it is about.
    pub fn in_file(mut self, path: &Path) -> Self {
        self.path = Some(path.to_path_buf());
        self
    }

    /// The same error, with a remedy.
    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// The position in the file: `byte 12`, `line 3` or `line 3, column 2`.
    pub fn place(&self) -> Option<String> {
        match (self.line, self.column, self.offset) {
            (Some(line), Some(column), _) => Some(format!("line {line}, column {column}")),
            (Some(line), None, _) => Some(format!("line {line}")),
            (None, _, Some(offset)) => Some(format!("byte {offset}")),
            (None, _, None) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(place) = self.place() {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_and_the_place_come_first() {
        let e = Error::at(12, "no").in_file(Path::new("a.npy"));
        assert_eq!(e.to_string(), "a.npy: byte 12: no");
        assert_eq!(Error::at_line(3, "no").to_string(), "line 3: no");
        assert_eq!(Error::at_column(3, 2, "no").to_string(), "line 3, column 2: no");
        assert_eq!(Error::new("no").to_string(), "no");
    }
}
