//! Temporary files in the folder of the files that they replace, none of which outlives its use.
//!
//! A temporary is named `.deckle-PID-N.tmp` and locked while its process writes it. It is removed
//! - when it is dropped without having been renamed: an error, a full disk;
//! - by [`abandon`], which a process calls when it is terminated: threads that still write cannot be waited for;
//! - by the next process that writes to the same directory, if its process could not clean up (`kill -9`, a power cut).
//!
//! # Which process may remove which file
//! The operating system releases a lock when the last handle of the file is closed, however its process ends. So a
//! temporary whose lock can be taken belongs to no process. It is removed under that lock; a process that has just created a
//! file and not locked it yet detects this when it takes the lock, and creates another. If a file system has no locks, none can be
//! taken, and nothing is removed.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of names that are tried.
const TRIES: u32 = 100;
const PREFIX: &str = ".deckle-";
const SUFFIX: &str = ".tmp";

/// The temporaries of this process that are still to be renamed or removed.
static LIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
/// Written under the lock of `LIVE`.
static ABANDONED: AtomicBool = AtomicBool::new(false);

fn live() -> MutexGuard<'static, Vec<PathBuf>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends all output of this process: temporaries are removed, and from now on every write, and every file that would
/// appear, is an error. For a process that is being terminated; a file that is complete by now stays.
pub fn abandon() {
    let mut live = live();
    ABANDONED.store(true, Ordering::Relaxed);
    for path in live.drain(..) {
        let _ = fs::remove_file(path);
    }
}

/// An error after [`abandon`] has been called.
pub(crate) fn check_abandoned() -> io::Result<()> {
    // Not `ErrorKind::Interrupted`, after which a write would be retried.
    if ABANDONED.load(Ordering::Relaxed) { Err(io::Error::other("the process was told to end")) } else { Ok(()) }
}

/// A file that is removed when this is dropped, unless it is renamed.
pub(crate) struct Temporary {
    path: PathBuf,
}

impl Temporary {
    /// Creates one in the directory of `target`, after removing those that dead processes have left there.
    pub(crate) fn beside(target: &Path) -> io::Result<(File, Temporary)> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        sweep(target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new(".")));
        for _ in 0..TRIES {
            let n = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = target.with_file_name(format!("{PREFIX}{}-{n}{SUFFIX}", std::process::id()));
            let mut live = live();
            check_abandoned()?;
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) if is_ours(&file) => {
                    live.push(path.clone());
                    return Ok((file, Temporary { path }));
                }
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::other("no name is free for a temporary file beside it"))
    }

    /// Lets the file replace another. It must still be open, and so locked.
    pub(crate) fn rename(self, target: &Path) -> io::Result<()> {
        let mut live = live();
        check_abandoned()?;
        let renamed = fs::rename(&self.path, target);
        if renamed.is_ok() {
            live.retain(|p| *p != self.path);
        }
        // Dropping `self` takes the lock.
        drop(live);
        renamed
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let mut live = live();
        if let Some(at) = live.iter().position(|p| *p == self.path) {
            live.swap_remove(at);
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Locks a file that was just created. False if another process considered it abandoned and removed it.
fn is_ours(file: &File) -> bool {
    match file.try_lock() {
        Ok(()) => !is_unlinked(file),
        Err(TryLockError::WouldBlock) => false,
        // Without locks, other processes cannot take it either.
        Err(TryLockError::Error(_)) => true,
    }
}

#[cfg(unix)]
fn is_unlinked(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.metadata().is_ok_and(|m| m.nlink() == 0)
}

/// On other systems an open file is not removed.
#[cfg(not(unix))]
fn is_unlinked(_: &File) -> bool {
    false
}

/// Removes the temporaries of dead processes. Files that cannot be removed are left for the next process.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let is_file = entry.file_type().is_ok_and(|t| t.is_file());
        if is_file && entry.file_name().to_str().is_some_and(is_temporary) {
            let path = entry.path();
            if let Ok(file) = OpenOptions::new().write(true).open(&path)
                && file.try_lock().is_ok()
            {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// Whether [`Temporary::beside`] creates such names.
fn is_temporary(name: &str) -> bool {
    let is_number = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    name.strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX)?.split_once('-'))
        .is_some_and(|(pid, n)| is_number(pid) && is_number(n))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::tests::directory;
    use std::io::Write;

    #[test]
    fn what_dead_processes_left_is_removed_and_nothing_else() {
        let dir = directory("sweep");
        let others = [".deckle-1-x.tmp", ".deckle-1.tmp", "deckle-1-1.tmp", ".deckle-1-1.tmp.txt", ".deckle--.tmp"];
        for name in [".deckle-1-1.tmp", ".deckle-99999999-0.tmp"].iter().chain(&others) {
            fs::write(dir.join(name), "left").unwrap();
        }
        fs::create_dir(dir.join(".deckle-2-2.tmp")).unwrap();
        let (mut mine, temporary) = Temporary::beside(&dir.join("a")).unwrap();
        // One that is being written is not considered abandoned.
        let (second, other) = Temporary::beside(&dir.join("b")).unwrap();
        mine.write_all(b"mine").unwrap();
        temporary.rename(&dir.join("a")).unwrap();
        other.rename(&dir.join("b")).unwrap();
        drop((mine, second));
        let mut names: Vec<String> =
            fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        let mut wanted: Vec<String> = others.iter().map(|s| s.to_string()).collect();
        wanted.extend(["a".into(), "b".into(), ".deckle-2-2.tmp".into()]);
        names.sort();
        wanted.sort();
        assert_eq!(names, wanted);
        assert_eq!(fs::read(dir.join("a")).unwrap(), b"mine");
        fs::remove_dir_all(&dir).unwrap();
    }
}
