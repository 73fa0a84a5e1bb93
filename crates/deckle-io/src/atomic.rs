//! Output that appears complete or not at all.
//!
//! The bytes go to a new file in the same directory, which replaces the old one when everything has been
//! written to disk. A target that is not a regular file (a pipe, a terminal, `/dev/null`) cannot be
//! replaced and is written to directly.

use crate::temporary::{Temporary, check_abandoned};
use crate::{Error, Result};
use deckle_runtime::standard;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, BufWriter, Seek, SeekFrom, Stdout, Write};
use std::path::{Path, PathBuf};

/// Writes `path` through `write`. On an error the file is as it was before.
///
/// # Errors
/// If the directory or the file cannot be written, or `write` fails.
pub fn atomic_write(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    write_whole(path, |out| write(out).map_err(|e| Error::io(&e)))
}

/// The same for `write` functions with other errors.
pub(crate) fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
    let io = |e: io::Error| Error::io(&e);
    let written = || {
        let mut out = Output::create(path).map_err(io)?;
        write(&mut out)?;
        out.finish().map_err(io)
    };
    written().map_err(|e| e.in_file(path))
}

/// A file that is being written. It appears when it is finished; if dropped earlier, it is removed. Or standard output, where bytes appear at once.
pub struct Output {
    out: BufWriter<To>,
    replaces: Option<Replaces>,
}

/// The destination of bytes.
enum To {
    File(File),
    Stdout(Stdout),
}

impl Write for To {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_abandoned()?;
        match self {
            To::File(file) => file.write(bytes),
            To::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            To::File(file) => file.flush(),
            To::Stdout(out) => out.flush(),
        }
    }
}

/// Whether a path means standard input or output: `-`, or that with an extension or a part.
pub fn is_standard(path: &Path) -> bool {
    let text = path.to_str().unwrap_or_default();
    text == "-" || (text.starts_with("-.") || text.starts_with("-:")) && !text.contains(['/', '\\'])
}

/// The file to be replaced when the output is complete.
struct Replaces {
    temporary: Temporary,
    target: PathBuf,
    permissions: Option<Permissions>,
}

impl Output {
    /// Standard output.
    ///
    /// # Errors
    /// If the process was started without one.
    pub fn standard() -> io::Result<Output> {
        standard::check_output()?;
        Ok(Output { out: BufWriter::with_capacity(1 << 16, To::Stdout(io::stdout())), replaces: None })
    }

    pub(crate) fn create(path: &Path) -> io::Result<Output> {
        if is_standard(path) {
            return Output::standard();
        }
        // A symbolic link stays one: its target is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let old = fs::metadata(&target).ok();
        let (file, replaces) = match &old {
            Some(m) if m.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
            Some(m) if !m.is_file() => (OpenOptions::new().write(true).open(&target)?, None),
            _ => {
                let name = target.file_name().ok_or(io::ErrorKind::IsADirectory);
                let (file, temporary) = name.map_err(io::Error::from).and_then(|_| Temporary::beside(&target))?;
                (file, Some(Replaces { temporary, target, permissions: old.map(|m| m.permissions()) }))
            }
        };
        Ok(Output { out: BufWriter::with_capacity(1 << 16, To::File(file)), replaces })
    }

    /// Overwrites the first bytes of a file, once everything else has been written.
    pub(crate) fn begin_with(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.flush()?;
        match self.out.get_mut() {
            To::File(file) => file.seek(SeekFrom::Start(0)).map(drop)?,
            To::Stdout(_) => return Err(io::ErrorKind::NotSeekable.into()),
        }
        self.out.write_all(bytes)
    }

    /// Whether other processes see the output before it is finished.
    pub(crate) fn is_seen(&self) -> bool {
        self.replaces.is_none()
    }

    /// Flushes the buffer and makes the file appear.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(self) -> io::Result<()> {
        let mut to = self.out.into_inner().map_err(io::IntoInnerError::into_error)?;
        let (To::File(file), Some(replaces)) = (&to, self.replaces) else { return to.flush() };
        let Replaces { temporary, target, permissions } = replaces;
        if let Some(permissions) = permissions {
            // Not worth failing for: some file systems have no permissions.
            let _ = file.set_permissions(permissions);
        }
        file.sync_all()?;
        temporary.rename(&target)
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// An empty directory of its own for a test.
    pub(crate) fn directory(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("deckle-io-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn names(dir: &Path) -> Vec<String> {
        fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_is_replaced_whole() {
        let dir = directory("whole");
        let path = dir.join("a.txt");
        atomic_write(&path, |w| w.write_all(b"one")).unwrap();
        atomic_write(&path, |w| w.write_all(b"two!")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two!");
        assert_eq!(names(&dir), ["a.txt"]);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn a_failure_leaves_the_old_file_and_nothing_else() {
        let dir = directory("failure");
        let path = dir.join("a.txt");
        fs::write(&path, "old").unwrap();
        let failed = atomic_write(&path, |w| {
            w.write_all(&[0; 100_000])?;
            Err(io::Error::other("stopped"))
        });
        assert_eq!(failed.unwrap_err().message, "stopped");
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(names(&dir), ["a.txt"]);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn directories_and_missing_directories_are_errors() {
        let dir = directory("missing");
        let of = |path: &Path| atomic_write(path, |_| Ok(())).unwrap_err();
        assert_eq!(of(&dir).message, "this is a directory, not a file");
        assert_eq!(of(&dir.join("no/a.txt")).message, "there is no such file");
        assert_eq!(of(&dir.join("no/a.txt")).path, Some(dir.join("no/a.txt")));
        fs::remove_dir_all(&dir).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_stay_what_they_are() {
        let dir = directory("links");
        fs::write(dir.join("real"), "old").unwrap();
        std::os::unix::fs::symlink("real", dir.join("link")).unwrap();
        atomic_write(&dir.join("link"), |w| w.write_all(b"new")).unwrap();
        assert_eq!(fs::read(dir.join("real")).unwrap(), b"new");
        assert!(fs::symlink_metadata(dir.join("link")).unwrap().is_symlink());
        std::os::unix::fs::symlink("/dev/null", dir.join("null")).unwrap();
        atomic_write(&dir.join("null"), |w| w.write_all(b"new")).unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file());
        fs::remove_dir_all(&dir).unwrap();
    }
}
