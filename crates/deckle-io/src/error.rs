//! What is wrong with a file, and where in it.

use std::fmt;
use std::path::{Path, PathBuf};

/// The result of reading or writing a file.
pub type Result<T> = std::result::Result<T, Error>;

/// A file that cannot be read or written, or whose contents are damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What is wrong, in one line that stands alone.
    pub message: String,
    /// The file, where it is known.
    pub path: Option<PathBuf>,
    /// The byte of the file at which it shows.
    pub offset: Option<u64>,
    /// What to do about it.
    pub help: Option<String>,
}

impl Error {
    /// An error about a file as a whole.
    pub fn new(message: impl Into<String>) -> Self {
        Error { message: message.into(), path: None, offset: None, help: None }
    }

    /// An error at a byte of the file.
    pub fn at(offset: usize, message: impl Into<String>) -> Self {
        Error { offset: Some(offset as u64), ..Error::new(message) }
    }

    /// An error of the operating system, in the words that people use for it.
    pub fn io(error: &std::io::Error) -> Self {
        use std::io::ErrorKind as K;
        Error::new(match error.kind() {
            K::NotFound => "there is no such file".to_string(),
            K::PermissionDenied => "permission denied".to_string(),
            K::IsADirectory => "this is a directory, not a file".to_string(),
            K::NotADirectory => "a part of its path is not a directory".to_string(),
            K::StorageFull => "no space is left on the device".to_string(),
            _ => error.to_string(),
        })
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
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        if let Some(offset) = self.offset {
            write!(f, "byte {offset}: ")?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_and_the_byte_come_first() {
        let e = Error::at(12, "no").in_file(Path::new("a.npy"));
        assert_eq!(e.to_string(), "a.npy: byte 12: no");
        assert_eq!(Error::new("no").to_string(), "no");
    }
}
